"""A small treebank, drawn from a grammar, and small ensembles of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from eigentree.constituency.ensemble.config import EnsembleConfig, make_config
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.noise import Noise
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training import train
from eigentree.constituency.training_options import TrainingOptions
from eigentree.simulation import attachment_grammar, sample_trees
from eigentree.treebank.binarise import unbinarise
from eigentree.treebank.tree import Tree

ADDITIVE = {"name": "additive", "noise": "additive", "sigma": [0.5, 1.0], "copies": 2, "states": 3}
DROPOUT = {"name": "dropout", "noise": "dropout", "sigma": [0.3], "copies": 3, "states": 2}
COARSE = {
    "name": "coarse",
    "copies": 2,
    "states": 2,
    "treebank": {"lexicon": {"rare_threshold": 40}},
}
RERANKER = {"least": 1, "function_words": 3, "maxent": {"iterations": 30}}
# All kinds of combinations, over families with two backbones and over combinations.
NETWORK: dict[str, Any] = {
    "family": [ADDITIVE, DROPOUT, COARSE],
    "combination": [
        {"name": "trees", "how": "tree-coverage", "inputs": ["additive", "coarse"]},
        {"name": "marginals", "how": "marginal-coverage", "inputs": ["additive", "dropout"]},
        {"name": "first", "how": "maxent", "inputs": ["additive", "trees"], "reranker": RERANKER},
        {
            "name": "second",
            "how": "maxent",
            "inputs": ["dropout", "first", "marginals"],
            "reranker": RERANKER,
        },
        {"name": "last", "how": "tree-coverage", "inputs": ["second", "first", "marginals"]},
    ],
    "jackknife": {"folds": 2},
}


@cache
def sampled_trees(most_words: int = 20) -> tuple[Tree, ...]:
    """Clauses with ambiguous attachments, with a maximum number of words."""
    drawn = (unbinarise(tree) for tree in sample_trees(attachment_grammar(), 120, seed=1))
    return tuple(tree for tree in drawn if len(tree.words()) <= most_words)


def described(**changes: Any) -> EnsembleConfig:
    return make_config({**NETWORK, **changes})


@cache
def members(
    method: str = "clustering", number: int = 3, sigma: float = 2.0
) -> tuple[ConstituencyParser, ...]:
    """Parsers of one backbone that differ in their noise."""
    noise = Noise("none", 0.0) if method == "pcfg" else Noise("additive", sigma)
    options = TrainingOptions(noise=noise, tagger=False).with_shortcuts(method, 4)
    return tuple(train(sampled_trees(), options, seed=seed) for seed in range(number))


def of_family(name: str, parsers: Sequence[ConstituencyParser]) -> list[tuple[str, LPCFG]]:
    return [(name, parser.grammar) for parser in parsers]


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file under a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
