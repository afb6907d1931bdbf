"""One small parser of each product, made once: the subjects of all contracts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from eigentree.bracketing.parser import BracketingParser
from eigentree.constituency.ensemble.training import train_ensemble
from tests.constituency.ensemble.samples import described, sampled_trees
from tests.demo import demo_parser, demo_trees
from tests.samples import treebank, whole_parser

Tagged = tuple[list[str], list[str]]


class Product(NamedTuple):
    """A parser with sentences that it can parse; `tagger` if it can find their tags."""

    make: Callable[[], Any]
    sentences: Callable[[], list[Tagged]]
    tagger: bool = True


@cache
def ensemble_folder() -> Path:
    return Path(mkdtemp()) / "ensemble"


@cache
def ensemble() -> Any:
    return train_ensemble(sampled_trees(), described(), ensemble_folder())


@cache
def contexts() -> BracketingParser:
    return BracketingParser.train(demo_text(), method="constituent-context")


def demo_text() -> list[Tagged]:
    return [(tree.words(), tree.tags()) for tree in demo_trees()]


def sampled_text() -> list[Tagged]:
    return [(tree.words(), tree.tags()) for tree in sampled_trees()]


def dependency_text() -> list[Tagged]:
    return [
        ([word.form for word in each.words], [word.upos for word in each.words])
        for each in treebank(40, 3)
    ]


PRODUCTS = {
    "constituency": Product(demo_parser, demo_text),
    "dependency": Product(whole_parser, dependency_text),
    "bracketing": Product(contexts, demo_text, tagger=False),
    "ensemble": Product(ensemble, sampled_text),
}
