"""Constituent-context models taught by distances, next to what they are made of.

    python validation/acl2014/taught.py FOLDER [MAP] [MOST]

FOLDER has train.mrg, dev.mrg and test.mrg.  Words and tags of all parts are learned from, and all
parts are scored on; with MOST, so many sentences of train and none of the others.  MAP is the map
to universal tags, penn unless it is given.  One table is printed in Markdown: F1 in percent, of
sentences up to 10, 20 and 40 words without punctuation, by the convention of Klein and Manning, and
as the mean over sentences without their own span.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")


from run import LENGTHS, Treebank, head, row

from eigentree.bracketing.learn.ccm_from_metric import METRIC_DEFAULTS
from eigentree.bracketing.models import ContextPairModel
from eigentree.bracketing.options import BracketingTrainingOptions
from eigentree.bracketing.parser import BracketingParser
from eigentree.evaluation.baselines import binary_completion, left_branching, right_branching
from eigentree.evaluation.unlabelled import CONVENTIONS, GoldBracketing, score_unlabelled
from eigentree.treebank.io.unlabelled import Bracketing, Pair, bracketing_of


def figures(bank: Treebank, parsed: list[Bracketing]) -> list[str]:
    result = score_unlabelled(bank.gold, parsed, lengths=LENGTHS)
    found = [result.figure(kind, length).f1 for kind in CONVENTIONS for length in LENGTHS]
    return ["-" if each is None else f"{100 * each:.1f}" for each in found]


def parsers(bank: Treebank) -> Iterator[tuple[str, BracketingParser, float]]:
    """Names, parsers, and CPU seconds of learning."""
    began = time.process_time()
    vectors = bank.clusters(lower=True, marks=True)
    clustered = time.process_time() - began

    def timed(learn: Callable[[], BracketingParser]) -> tuple[BracketingParser, float]:
        began = time.process_time()
        return learn(), time.process_time() - began

    own = {"tag_map": bank.tags}
    text = bank.text
    taught, seconds = timed(lambda: BracketingParser.train(text, vectors=vectors, **own))
    yield "taught contexts", taught, seconds + clustered
    assert isinstance(taught.model, ContextPairModel)
    free = replace(taught, model=replace(taught.model, charge=0.0))
    yield "- without the charge on punctuation", free, seconds + clustered
    alone = BracketingParser(replace(taught.model, own=taught.model.universal))
    alone = replace(alone, options=taught.options)
    yield "- universal tags alone", alone, seconds + clustered
    paper, seconds = timed(
        lambda: BracketingParser.train(text, method="metric", vectors=vectors, **own)
    )
    yield "distances, rank 7", paper, seconds + clustered
    teaching = BracketingTrainingOptions("metric", metric=METRIC_DEFAULTS)
    teacher, seconds = timed(lambda: BracketingParser.train(text, teaching, vectors=vectors, **own))
    yield f"distances, rank {METRIC_DEFAULTS.rank}, which teach", teacher, seconds + clustered
    contexts = timed(lambda: BracketingParser.train(text, method="constituent-context", **own))
    yield "constituent-context model", *contexts


def main(folder: Path, name: str, most: int | None) -> None:
    bank = Treebank.read(folder, name, most)
    numbers = [sum(2 <= len(one.words) <= longest for one in bank.gold) for longest in LENGTHS]
    print(f"{folder.name}: {len(bank.text)} sentences; scored, of two words or more: {numbers}")
    columns = [f"{'F1' if kind == CONVENTIONS[0] else 'mean'}, {length}"
               for kind in CONVENTIONS for length in LENGTHS]  # fmt: skip
    head("method", *columns, "learning, s", "parsing, ms")
    for told, parser, seconds in parsers(bank):
        began = time.process_time()
        results = [parser.parse(tree.words(), tree.tags()).tree for tree in bank.trees]
        spent = 1e3 * (time.process_time() - began) / len(results)
        parsed = [
            Bracketing((), frozenset()) if tree is None else bracketing_of(tree) for tree in results
        ]
        row(told, *figures(bank, parsed), f"{seconds:.0f}", f"{spent:.1f}")
    trees: dict[str, Callable[[GoldBracketing], frozenset[Pair]]] = {
        "right-branching": lambda one: right_branching(len(one.words)),
        "left-branching": lambda one: left_branching(len(one.words)),
        "best binary": lambda one: binary_completion(one.spans, len(one.words)),
    }
    for told, tree_of in trees.items():
        parsed = [Bracketing(one.words, tree_of(one)) for one in bank.gold]
        row(told, *figures(bank, parsed), "", "")


if __name__ == "__main__":
    given = sys.argv[2:]
    main(
        Path(sys.argv[1]),
        given[0] if given else "penn",
        int(given[1]) if len(given) > 1 else None,
    )
