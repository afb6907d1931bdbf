"""Arguments of other types are refused by name at the entry points that users call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eigentree.bracketing.parser import BracketingParser
from eigentree.constituency.calibrate import calibrate
from eigentree.constituency.parser import ConstituencyParser
from eigentree.dependency.parser import DependencyParser
from eigentree.evaluation.attachment import score_attachment
from eigentree.evaluation.parseval import score
from eigentree.evaluation.unlabelled import score_unlabelled
from eigentree.treebank.binarise import binarise
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.io.conllu import read_dependencies
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree
from eigentree.words.brown import learn_brown
from tests.demo import demo_parser

CALLS: dict[str, Callable[[Any], object]] = {
    "text": parse_tree,
    "tree": format_tree,
    "label": lambda value: Tree(value, (), "a"),
    "word": lambda value: Tree("A", (Tree("B", (), "b"),), value),
    "paths": read_treebank,
    "data": lambda value: ConstituencyParser.train(value),
    "gold": lambda value: demo_parser().evaluate(value),
    "trees": lambda value: calibrate(demo_parser(), value),
    "sentences": learn_brown,
    "constraints": lambda value: demo_parser().parse(["dog"], constraints=value),
    "kbest": lambda value: demo_parser().parse(["dog"], kbest=value),
    "marginals": lambda value: demo_parser().parse(["dog"], marginals=value),
    "jobs": lambda value: list(demo_parser().parse_many([], jobs=value)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_message_names_the_argument_and_the_type(name):
    with pytest.raises(TypeError, match=rf"^{name} must be .* \(got Other\)"):
        CALLS[name](Other())


class Other:
    """A value of a type that nothing expects."""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score(["(S (NN a))"], []), r"gold must be a list of Tree or None \(item 1 is str"),
        (lambda: score([], "bank.mrg"), r"parsed must be .* \(got str 'bank.mrg'\)"),
        (lambda: score_attachment(3, []), r"gold must be a list of Sentence or None \(got int 3"),
        (lambda: score_unlabelled([], [3]), r"parsed must be .* \(item 1 is int 3"),
        (lambda: DependencyParser.train(["a"]), r"data must be .* read_dependencies .*item 1 is s"),
        (lambda: BracketingParser.train(["a"]), r"data must be a list of pairs of words and tags"),
        (lambda: read_dependencies([3]), r"paths must be a list of paths \(item 1 is int 3"),
        (lambda: binarise("(S a)"), r"tree must be a Tree \(got str '\(S a\)'\)"),
        (lambda: format_tree(None), r"a result without a parse has None \(got NoneType\)"),
        (lambda: Constraints(["a"]), r"constraints must be a list of .* \(item 1 is str 'a'\)"),
        (
            lambda: demo_parser().parse(["dog"], kbest=10**30),
            "kbest is .*; it must be at least 1 and",
        ),
        (lambda: list(demo_parser().parse_many([], jobs=10**30)), "jobs is .* and below 1025"),
        (lambda: Constraints.of(None), "required is None; expected a list of"),
        (lambda: Constraints((("a",),)), "a constraint is .*; expected its kind, start, end"),
    ],
)
def test_items_of_other_types_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
