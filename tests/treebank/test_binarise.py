"""Binarising: shapes worked by hand, and the round trip for everything."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError
from eigentree.treebank.binarise import BinariseOptions, BinaryTree, Symbol, binarise, unbinarise
from eigentree.treebank.io.brackets import parse_tree, read_brackets
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree
from tests.strategies import trees


class FirstOf:
    """The head is the first child with one of these labels, else the first child."""

    def __init__(self, *labels: str) -> None:
        self._labels = labels

    def head(self, label: str, children: Sequence[str]) -> int:
        del label
        for wanted in self._labels:
            if wanted in children:
                return list(children).index(wanted)
        return 0


class AnyChild:
    """A head that depends on nothing sensible, but always on the same thing."""

    def head(self, label: str, children: Sequence[str]) -> int:
        return (len(label) * 7 + len(children) * 3) % len(children)


def shown(binary: BinaryTree) -> str:
    """The binary tree in brackets, with the names of its symbols."""
    built: list[str] = []
    words = iter(binary.words)
    for symbol, left, right in zip(binary.symbols, binary.left, binary.right, strict=True):
        below = next(words) if left < 0 else f"{built[left]} {built[right]}"
        built.append(f"({symbol} {below})")
    return built[-1]


FLAT = "(VP (V a) (NP b) (PP c) (S d))"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (BinariseOptions("left"), "(VP (@VP (@VP (V a) (NP b)) (PP c)) (S d))"),
        (BinariseOptions("right"), "(VP (V a) (@VP (NP b) (@VP (PP c) (S d))))"),
        # Outward from PP: first its right neighbour, then the left ones from the inside out.
        (BinariseOptions("head"), "(VP (V a) (@VP (NP b) (@VP (PP c) (S d))))"),
        (
            BinariseOptions("left", horizontal=1),
            "(VP (@VP[PP] (@VP[NP] (V a) (NP b)) (PP c)) (S d))",
        ),
        (
            BinariseOptions("left", horizontal=2),
            "(VP (@VP[PP,NP] (@VP[NP,V] (V a) (NP b)) (PP c)) (S d))",
        ),
        (
            BinariseOptions("left", horizontal=9),
            "(VP (@VP[PP,NP,V] (@VP[NP,V] (V a) (NP b)) (PP c)) (S d))",
        ),
        (
            BinariseOptions("right", horizontal=1),
            "(VP (V a) (@VP[NP] (NP b) (@VP[PP] (PP c) (S d))))",
        ),
        (
            BinariseOptions("head", horizontal=2),
            "(VP (V a) (@VP[NP,S] (NP b) (@VP[S,PP] (PP c) (S d))))",
        ),
    ],
)
def test_four_children(options: BinariseOptions, expected: str):
    assert shown(binarise(parse_tree(FLAT), options, FirstOf("PP"))) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("V", "(VP (@VP (@VP (V a) (NP b)) (PP c)) (S d))"),
        ("NP", "(VP (V a) (@VP (@VP (NP b) (PP c)) (S d)))"),
        ("S", "(VP (V a) (@VP (NP b) (@VP (PP c) (S d))))"),
    ],
)
def test_outward_from_each_head(head: str, expected: str):
    options = BinariseOptions("head")
    assert shown(binarise(parse_tree(FLAT), options, FirstOf(head))) == expected


def test_unary_chains_become_symbols():
    tree = parse_tree("(ROOT (S (NP (PRP it)) (VP (V is))))")
    binary = binarise(tree)
    assert binary.symbols == [
        Symbol("preterminal", ("NP", "PRP")),
        Symbol("preterminal", ("VP", "V")),
        Symbol("interminal", ("ROOT", "S")),
    ]
    assert [symbol.label for symbol in binary.symbols] == ["PRP", "V", "S"]
    assert shown(binary) == "(ROOT+S (NP+PRP it) (VP+V is))"
    assert unbinarise(binary) == tree


def test_one_word():
    binary = binarise(parse_tree("(ROOT (UH (INTJ yes)))"))
    assert binary == BinaryTree(
        [Symbol("preterminal", ("ROOT", "UH", "INTJ"))], [-1], [-1], [0], ["yes"]
    )
    assert binary.n_nodes == 1


@pytest.mark.parametrize(
    ("vertical", "expected"),
    [
        (1, "(S (NP (NP (D a) (N b)) (PP (P c) (N d))) (V e))"),
        (2, "(S (NP^S (NP^NP (D a) (N b)) (PP^NP (P c) (N d))) (V e))"),
        (3, "(S (NP^S (NP^NP^S (D a) (N b)) (PP^NP^S (P c) (N d))) (V e))"),
        (9, "(S (NP^S (NP^NP^S (D a) (N b)) (PP^NP^S (P c) (N d))) (V e))"),
    ],
)
def test_vertical_context_of_phrases_but_not_of_tags(vertical: int, expected: str):
    tree = parse_tree("(S (NP (NP (D a) (N b)) (PP (P c) (N d))) (V e))")
    binary = binarise(tree, BinariseOptions(vertical=vertical))
    assert shown(binary) == expected
    assert unbinarise(binary) == tree


def test_intermediate_symbols_keep_the_context_of_their_phrase():
    tree = parse_tree("(S (NP (D a) (A b) (N c)) (V e))")
    options = BinariseOptions(vertical=2, horizontal=1)
    expected = "(S (NP^S (@NP[A]^S (D a) (A b)) (N c)) (V e))"
    assert shown(binarise(tree, options)) == expected


def test_vertical_context_counts_every_label_of_a_chain():
    # Above NP stand VP and S, though they are one symbol.
    tree = parse_tree("(S (VP (V a) (NP (D b) (N c))))")
    binary = binarise(tree, BinariseOptions(vertical=3))
    assert shown(binary) == "(S+VP (V a) (NP^VP^S (D b) (N c)))"


def test_head_words_for_each_direction():
    # saw is the head of VP and S, cat and dog of their NPs.
    tree = parse_tree("(S (NP (D the) (A old) (N cat)) (VP (V saw) (NP (D a) (N dog)) (X x)))")
    heads = FirstOf("VP", "V", "N")
    for direction in ("left", "right", "head"):
        binary = binarise(tree, BinariseOptions(direction), heads)
        words = [
            (str(symbol), binary.words[head])
            for symbol, head in zip(binary.symbols, binary.head, strict=True)
            if symbol.kind == "interminal"
        ]
        assert sorted(words) == [("NP", "cat"), ("NP", "dog"), ("S", "saw"), ("VP", "saw")]


def test_head_of_a_part_without_the_head_is_the_word_nearest_to_it():
    tree = parse_tree("(NP (D the) (A old) (A grey) (N cat) (PP x))")
    binary = binarise(tree, BinariseOptions("left"), FirstOf("N"))
    heads = [
        binary.words[head]
        for symbol, head in zip(binary.symbols, binary.head, strict=True)
        if symbol.kind != "preterminal"
    ]
    # the old, the old grey, the old grey cat, and everything.
    assert heads == ["old", "grey", "cat", "cat"]


ALL_OPTIONS = st.builds(
    BinariseOptions,
    st.sampled_from(["left", "right", "head"]),
    st.integers(1, 4),
    st.integers(0, 3),
)


@given(trees(), ALL_OPTIONS)
def test_round_trip(tree: Tree, options: BinariseOptions):
    binary = binarise(tree, options, AnyChild())
    check_form(binary, tree)
    assert unbinarise(binary) == tree


def check_form(binary: BinaryTree, tree: Tree) -> None:
    """What every reader of binary trees relies on."""
    assert binary.words == tree.words()
    assert binary.n_nodes == 2 * len(binary.words) - 1
    leaves = [node for node in range(binary.n_nodes) if binary.left[node] < 0]
    assert [binary.symbols[node].kind == "preterminal" for node in leaves] == [True] * len(leaves)
    assert [binary.symbols[node].label for node in leaves] == tree.tags()
    spans: list[tuple[int, int]] = []
    position = 0
    for node, (left, right) in enumerate(zip(binary.left, binary.right, strict=True)):
        if left < 0:
            assert right < 0
            assert binary.head[node] == position
            spans.append((position, position + 1))
            position += 1
        else:
            assert max(left, right) < node
            assert spans[left][1] == spans[right][0]
            spans.append((spans[left][0], spans[right][1]))
            assert binary.head[node] in (binary.head[left], binary.head[right])
            assert binary.symbols[node].kind != "preterminal"
    assert spans[-1] == (0, len(binary.words))
    assert binary.symbols[-1].kind != "intermediate"


def test_labels_that_look_like_ours_stay_apart():
    tree = Tree(
        "@X",
        (
            Tree("S+VP", (Tree("A|B", word="1"),)),
            Tree("S", (Tree("VP", (Tree("A|B", word="2"),)),)),
            Tree("NP^S", (Tree("@X", word="3"), Tree("@@X", word="4"))),
            Tree("", (Tree("", word="5"), Tree("X[Y]", word="6"), Tree("^", word="7"))),
        ),
    )
    for direction in ("left", "right", "head"):
        binary = binarise(tree, BinariseOptions(direction, vertical=3, horizontal=2))
        assert unbinarise(binary) == tree
        # (S+VP (A|B 1)) and (S (VP (A|B 2))) have one name but are two symbols.
        same = [symbol for symbol in binary.symbols if str(symbol) == "S+VP+A|B"]
        assert len(same) == len(set(same)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "unary"), [("left", True), ("left", False), ("head", False)])
def test_depth_of_a_hundred_thousand(direction: str, unary: bool):
    depth = 100_000
    tree = Tree("t", word="w")
    for _ in range(depth):
        tree = Tree("A", (tree,) if unary else (tree, Tree("t", word="v")))
    binary = binarise(tree, BinariseOptions(direction, vertical=2, horizontal=1))
    assert len(binary.words) == (1 if unary else depth + 1)
    assert unbinarise(binary) == tree


def test_any_binary_tree_gives_a_tree():
    # A decoder may put an intermediate symbol anywhere, even at the root or below a stranger.
    part, leaf = Symbol("intermediate", ("NP",)), Symbol("preterminal", ("t",))
    inner = Symbol("interminal", ("S", "VP"))
    binary = BinaryTree(
        [leaf, leaf, part, leaf, inner, leaf, part],
        [-1, -1, 0, -1, 2, -1, 4],
        [-1, -1, 1, -1, 3, -1, 5],
        None,
        ["a", "b", "c", "d"],
    )
    assert unbinarise(binary) == parse_tree("(NP (S (VP (t a) (t b) (t c))) (t d))")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "direction is 'up'; it must be left, right or head"),
        ({"vertical": 0}, "vertical is 0 and horizontal 0; the minimum is 1 and 0"),
        ({"horizontal": -1}, "vertical is 1 and horizontal -1; the minimum is 1 and 0"),
    ],
)
def test_wrong_options(options: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        BinariseOptions(**options)


SAMPLE = 150


def test_round_trip_of_every_treebank(treebanks: Path):
    files = sorted(treebanks.glob("*/*.mrg"))
    assert len(files) > 20
    options = [
        BinariseOptions("left"),
        BinariseOptions("right", 2, 1),
        BinariseOptions("head", 3, 2),
    ]
    for number, path in enumerate(files):
        read = 0
        lines = path.read_text("utf-8").split("\n")
        random.Random(number).shuffle(lines)
        for line in lines:
            if read == SAMPLE or not line.strip():
                continue
            tree = parse_one(line)
            if tree is None:
                continue
            read += 1
            for each in options:
                binary = binarise(tree, each, AnyChild())
                check_form(binary, tree)
                assert unbinarise(binary) == tree, path
        assert read > 0, path


def parse_one(line: str) -> Tree | None:
    return next((record.tree for record in read_brackets([line], on_error="skip")), None)


def test_round_trip_of_discontinuous_treebanks(treebanks: Path):
    files = sorted(treebanks.glob("*/[ad]*.export"))
    assert len(files) >= 3
    for path in files:
        trees_of = read_treebank(path, on_error="skip").trees
        assert len(trees_of) > 50
        for tree in trees_of[:: max(1, len(trees_of) // SAMPLE)]:
            assert unbinarise(binarise(tree, BinariseOptions("head", 2, 1), AnyChild())) == tree
