"""The parser of the demonstration treebank, made once for all tests that need a real one."""

from __future__ import annotations

import contextlib
import io
from functools import cache
from pathlib import Path

from eigentree import data
from eigentree.cli import app
from eigentree.constituency.parser import ConstituencyParser
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

TREEBANK = Path(data.__file__).parent / "demo" / "train.mrg"
HELD_OUT = TREEBANK.with_name("heldout.mrg")

# Trees over "a" and "b" of any length from 1 on, under one root label.
ANY_LENGTH = tuple(
    parse_tree(text)
    for text in (
        "(S (A a))",
        "(S (B b))",
        "(S (A a) (S (B b)))",
        "(S (B b) (S (A a)))",
        "(S (A a) (S (A a)))",
        "(S (B b) (S (B b)))",
        "(S (A a) (S (B b) (S (A a))))",
        "(S (B b) (S (A a) (S (A a) (S (B b)))))",
    )
)


@cache
def demo_trees() -> tuple[Tree, ...]:
    return tuple(read_treebank(TREEBANK).trees)


@cache
def demo_parser() -> ConstituencyParser:
    return ConstituencyParser.train(demo_trees(), states=4, wrapper="")


@cache
def any_length_parser() -> ConstituencyParser:
    """A parser that gives every row of "a" and "b" a right-branching tree."""
    return ConstituencyParser.train(ANY_LENGTH * 5, states=2)


def blocks_of(output: str) -> list[list[list[str]]]:
    """The lists of trees that ``parse --kbest`` prints: number and tree of each."""
    blocks: list[list[list[str]]] = [[]]
    for line in output.split("\n")[:-1]:
        if line:
            blocks[-1].append(line.split("\t"))
        else:
            blocks.append([])
    assert blocks.pop() == []
    return blocks


def run_verb(*arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app.main([str(argument) for argument in arguments])
        except SystemExit as leaving:
            return int(leaving.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()
