"""What it is worth to let a parser choose among several likely tags of a word.

    python validation/uncertain_tags/run.py TREEBANK PART [PART ...] [OPTION ...]

TREEBANK is a folder with train.mrg and a file of trees for each PART, such as dev.  The same parser
is given the words with their gold tags, with the one best tag of its own tagger, and alone: then
all tags with a probability of at least 1 % go into its chart.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from eigentree import Parser, Tree, read_treebank, score
from eigentree.constituency.training_options import TrainingOptions
from eigentree.evaluation.settings import EVALB_COLLINS

STATES = {"spectral": 24, "clustering": 24, "pcfg": 1}


def trees_of(path: Path, most: int | None) -> list[Tree]:
    return list(islice(read_treebank(path).trees, most))


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("treebank", type=Path)
    given.add_argument("parts", nargs="+")
    given.add_argument("--train", type=int, help="training trees, from the first on")
    given.add_argument("--methods", nargs="+", default=[*STATES], choices=STATES)
    given.add_argument("--first", type=int, help="sentences of each part, from the first on")
    asked = given.parse_args()
    train = trees_of(asked.treebank / "train.mrg", asked.train)
    parts = {name: trees_of(asked.treebank / f"{name}.mrg", asked.first) for name in asked.parts}
    print(f"{len(train)} training trees")
    print("| part, method | gold tags | one best tag | several tags | tags right, % | CPU s |")
    print("| --- | --- | --- | --- | --- | --- |")
    tagger = None
    for method in asked.methods:
        settings = TrainingOptions(tagger=tagger is None).with_shortcuts(method, STATES[method])
        parser = Parser.train(train, settings=settings)
        tagger = tagger or parser.tagger
        assert tagger is not None
        parser = replace(parser, tagger=tagger)
        for part, gold in parts.items():
            words = [tree.words() for tree in gold]
            own_tags = [tree.tags() for tree in gold]
            best_tags = [tagger.tag(each) for each in words]
            pairs = [
                pair for own, best in zip(own_tags, best_tags, strict=True)
                for pair in zip(own, best, strict=True)
            ]  # fmt: skip
            right = sum(one == other for one, other in pairs) / len(pairs)
            f1, seconds = [], []
            for tags in (own_tags, best_tags, [None] * len(gold)):
                began = time.process_time()
                found = parser.parse_many(zip(words, tags, strict=True))
                f1.append(score(gold, [each.tree for each in found], EVALB_COLLINS).all.f1 or 0.0)
                seconds.append(time.process_time() - began)
            columns = [f"{100 * value:.2f}" for value in (*f1, right)]
            columns.append(" / ".join(f"{value:.0f}" for value in seconds))
            print(f"| {part}, {method} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    main()
