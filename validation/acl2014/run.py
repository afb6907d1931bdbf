"""Bracketing by tree metrics on real treebanks, next to the figures of Parikh et al. (2014).

    python validation/acl2014/run.py FOLDER [MAP]

FOLDER has train.mrg, dev.mrg and test.mrg.  Words and tags of all parts are learned from, and all
parts are scored on.  MAP is the map to universal tags, penn unless it is given.  Tables are
printed in Markdown: Klein-Manning F1 in percent, with the sentence's own span, of sentences up to
10, 20 and 40 words without punctuation.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")


from eigentree import CleaningOptions, Tree, read_treebank
from eigentree.bracketing.learn.tree_metric import MetricOptions, Moments, count_moments, metric_of
from eigentree.bracketing.models import MetricModel
from eigentree.bracketing.options import BracketingOptions
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.root_split import gold_top_bracket
from eigentree.evaluation.unlabelled import GoldBracketing, gold_bracketing, score_unlabelled
from eigentree.treebank.io.unlabelled import Bracketing, bracketing_of
from eigentree.treebank.universal_tags import TagMap, tag_map
from eigentree.words.brown import BrownOptions, learn_brown
from eigentree.words.vectors import WordVectors

PARTS = ("train", "dev", "test")
LENGTHS = (10, 20, 40)
CLUSTERS = 100
FLOORS = (1e-3, 1e-2)
RANKS = (1, 3, 7, 15)
BANDWIDTHS = (0.1, 0.4, 0.8)


class Treebank(NamedTuple):
    """Gold trees of at most as many words as are scored, and what is learned from."""

    tags: TagMap
    trees: list[Tree]
    gold: list[GoldBracketing]
    text: list[tuple[list[str], list[str]]]

    @classmethod
    def read(cls, folder: Path, name: str, most: int | None = None) -> Treebank:
        tags = tag_map(name)
        files = [folder / f"{part}.mrg" for part in (PARTS if most is None else PARTS[:1])]
        trees = read_treebank(files, cleaning=CleaningOptions(cut_tags=True)).trees[:most]
        marks = {tag for tree in trees for tag in tree.tags() if tags.is_punctuation(tag)}
        gold = [gold_bracketing(tree, punctuation=marks) for tree in trees]
        scored = [at for at, one in enumerate(gold) if len(one.words) <= max(LENGTHS)]
        return cls(
            tags,
            [trees[at] for at in scored],
            [gold[at] for at in scored],
            [(tree.words(), tree.tags()) for tree in trees],
        )

    def clusters(self, lower: bool, marks: bool) -> WordVectors:
        """Vectors of Brown clusters of the text, in lower case or with punctuation."""
        sentences = [
            [
                word.lower() if lower else word
                for word, tag in zip(words, tags, strict=True)
                if marks or not self.tags.is_punctuation(tag)
            ]
            for words, tags in self.text
        ]
        return learn_brown(sentences, BrownOptions(CLUSTERS)).vectors()

    def f1(self, parsed: Sequence[Bracketing]) -> list[str]:
        result = score_unlabelled(self.gold, parsed, lengths=LENGTHS)
        found = [result.figure("klein-manning", length).f1 for length in LENGTHS]
        return ["-" if each is None else f"{100 * each:.2f}" for each in found]

    def parsed(self, parser: BracketingParser, *, oracle: bool = False) -> list[Bracketing]:
        found = []
        for tree in self.trees:
            top = gold_top_bracket(tree, self.tags) if oracle else None
            result = parser.parse(tree.words(), tree.tags(), top=top)
            found.append(
                Bracketing((), frozenset()) if result.tree is None else bracketing_of(result.tree)
            )
        return found

    def moments(self, vectors: WordVectors, tags: TagMap | None = None) -> Moments:
        return count_moments(
            self.text, vectors, tags or self.tags, MetricOptions().largest_distance
        )


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def head(*cells: str) -> None:
    print()
    row(*cells)
    row(*["---"] * len(cells))


def main(folder: Path, name: str) -> None:
    bank = Treebank.read(folder, name)
    numbers = [sum(2 <= len(one.words) <= longest for one in bank.gold) for longest in LENGTHS]
    print(f"{folder.name}: {len(bank.text)} sentences; scored, of two words or more: {numbers}")
    columns = [f"up to {length}" for length in LENGTHS]

    head("clusters of", "floor", "top bracket", *columns)
    kinds = [(True, True), (False, True), (True, False), (False, False)]
    for lower, marks in kinds:
        moments = bank.moments(bank.clusters(lower, marks))
        told = ("lower-case words" if lower else "words") + ("" if marks else ", no punctuation")
        for floor in FLOORS:
            metric = metric_of(moments, bank.tags, MetricOptions(floor=floor))
            parser = BracketingParser(MetricModel(metric))
            row(told, floor, "rule", *bank.f1(bank.parsed(parser)))
            row(told, floor, "gold", *bank.f1(bank.parsed(parser, oracle=True)))

    vectors = bank.clusters(*kinds[0])
    began = time.process_time()
    moments = bank.moments(vectors)
    counted = time.process_time()
    parser = BracketingParser(MetricModel(metric_of(moments, bank.tags, MetricOptions())))
    learned = time.process_time()
    bank.parsed(parser)
    seconds = time.process_time() - learned
    head("setting", *columns)
    free = replace(parser, options=BracketingOptions(top="free"))
    squares = replace(parser, model=replace(parser.model, least_squares=True))
    row("default, floor 0.01, rank 7, bandwidth 0.4", *bank.f1(bank.parsed(parser)))
    row("lengths of least squares", *bank.f1(bank.parsed(squares)))
    row("root where the tree is shortest", *bank.f1(bank.parsed(free)))
    for rank in RANKS:
        metric = metric_of(moments, bank.tags, MetricOptions(rank=rank))
        row(f"rank {rank}", *bank.f1(bank.parsed(BracketingParser(MetricModel(metric)))))
    for bandwidth in BANDWIDTHS:
        metric = metric_of(moments, bank.tags, MetricOptions(bandwidth=bandwidth))
        row(f"bandwidth {bandwidth}", *bank.f1(bank.parsed(BracketingParser(MetricModel(metric)))))
    for direction in ("left", "right"):
        row(f"{direction}-branching", *bank.f1([branched(one, direction) for one in bank.gold]))
    print(
        f"\nCPU seconds: {counted - began:.2f} to count, {learned - counted:.2f} for distances, "
        f"{seconds:.2f} to parse {len(bank.trees)} sentences "
        f"({1e3 * seconds / len(bank.trees):.2f} ms each)"
    )


def branched(one: GoldBracketing, direction: str) -> Bracketing:
    n = len(one.words)
    spans = {(0, k) if direction == "left" else (n - k, n) for k in range(2, n + 1)}
    return Bracketing(one.words, frozenset(spans))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "penn")
