"""How much partially annotated trees are worth, by how many of their brackets are kept.

    python validation/partial/run.py WSJ_SAMPLE

WSJ_SAMPLE is a folder with train.mrg and dev.mrg.  Every tenth tree is complete and makes the
initial model; of the phrases of all others a share is kept at random, the root always.  Rows of the
table are the initial model, retrained ones, and one trained on all trees complete.  Sentences have
at most 20 words, and tags are given.
"""

from __future__ import annotations

import os
import random
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from eigentree import Parser, Tree, read_treebank
from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions
from eigentree.constituency.training_options import TrainingOptions
from eigentree.constituency.validation import ValidationSet
from eigentree.treebank.tree import fold

LONGEST = 20
SHARES = (0.0, 0.3, 0.6, 1.0)
SEED = 1


def thinned(tree: Tree, kept: float, rng: random.Random) -> Tree:
    """A tree of which each phrase but the root is kept with a probability."""

    def build(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if node.word is not None:
            return [node]
        children = [child for part in below for child in part]
        return [Tree(node.label, children)] if node is tree or rng.random() < kept else children

    return fold(tree, build)[0]


def row(name: str, parser: Parser, dev: list[Tree], left_out: str, seconds: float) -> None:
    f1 = ValidationSet(dev, parser.grammar.backbone, parser.options).f1(parser.grammar)
    print(f"| {name} | {100 * f1:.2f} | {left_out} | {seconds:.1f} |", flush=True)


def main(folder: Path) -> None:
    train, dev = (
        [tree for tree in read_treebank(folder / name).trees if len(tree.words()) <= LONGEST]
        for name in ("train.mrg", "dev.mrg")
    )
    complete, rest = train[::10], [tree for number, tree in enumerate(train) if number % 10]
    print(f"{len(complete)} complete trees, {len(rest)} partial ones, {len(dev)} dev trees")
    for states in (1, 8):
        settings = replace(TrainingOptions(method="em"), tagger=False).with_shortcuts(None, states)
        print(f"\n| states {states} | dev F1 | left out | CPU s |\n| --- | --- | --- | --- |")
        began = time.process_time()
        initial = Parser.train(complete, settings=settings, seed=SEED)
        row("initial", initial, dev, "", time.process_time() - began)
        for share in SHARES:
            rng = random.Random(SEED)
            partial = [thinned(tree, share, rng) for tree in rest]
            began = time.process_time()
            parser, skipped = initial.retrained(partial, ConstrainedEMOptions(iterations=6))
            seconds = time.process_time() - began
            row(f"{100 * share:.0f} % of the brackets", parser, dev, str(len(skipped)), seconds)
        began = time.process_time()
        supervised = Parser.train(train, settings=settings, seed=SEED)
        row("all trees complete", supervised, dev, "", time.process_time() - began)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
