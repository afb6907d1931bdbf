"""Small models of every kind, in files as a service opens them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eigentree.constituency.ensemble.config import make_config
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.dependency.learn.head_automata import HeadAutomataOptions
from eigentree.dependency.options import DependencyTrainingOptions
from eigentree.dependency.parser import DependencyParser
from eigentree.simulation import clauses
from tests.bracketing.test_parser import parser as bracketing_parser
from tests.demo import any_length_parser, demo_parser, demo_trees

# Words that keep a worker busy for minutes.
SLOW = ["a", "b"] * 900


def save_demo(folder: Path) -> Path:
    demo_parser().save(folder / "demo.egt")
    return folder / "demo.egt"


def save_slow(folder: Path) -> Path:
    """A parser that parses sentences of any length in one piece."""
    parser = any_length_parser()
    replace(parser, options=replace(parser.options, max_words=100_000)).save(folder / "slow.egt")
    return folder / "slow.egt"


def save_dependencies(folder: Path) -> Path:
    options = DependencyTrainingOptions(HeadAutomataOptions(method="det"), lexical=None)
    DependencyParser.train(clauses(40, seed=0), options).save(folder / "clauses.egt")
    return folder / "clauses.egt"


def save_brackets(folder: Path) -> Path:
    bracketing_parser().save(folder / "brackets.egt")
    return folder / "brackets.egt"


def save_ensemble(folder: Path) -> Path:
    families = [{"name": name, "method": "pcfg", "states": 1} for name in ("one", "two")]
    combinations = [{"name": "all", "how": "tree-coverage", "inputs": ["one", "two"]}]
    description = make_config({"family": families, "combination": combinations})
    train_ensemble(demo_trees()[:60], description, folder / "many", wrapper="", seed=1)
    return folder / "many"
