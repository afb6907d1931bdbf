"""Reading unlabelled trees in each notation, and what is said of malformed ones."""

from __future__ import annotations

import pytest
from hypothesis import given

from eigentree import parse_tree
from eigentree.errors import TreebankFormatError
from eigentree.treebank.escaping import escape_token
from eigentree.treebank.io.unlabelled import Bracketing, bracketing_of, read_bracketings
from tests.strategies import trees

CAT = Bracketing(("the", "cat", "slept"), frozenset({(0, 2), (0, 3)}))


def read(text, **settings):
    return list(read_bracketings(text.split("\n"), name="file", **settings))


@pytest.mark.parametrize(
    ("notation", "text"),
    [
        ("trees", "(S (X (A the) (B cat)) (C slept))"),
        ("trees", "( (S (X (X (A the) (B cat))) (-NONE- *T*) (Y (C slept))))"),
        ("plain", "((the cat) slept)"),
        ("plain", "( ( the  (cat) ) ((slept)) )"),
        ("spans", "the cat slept\t0-2 0-3"),
        ("spans", " the  cat slept \t0-3  0-2 2-3 0-2"),
    ],
)
def test_one_tree_in_each_notation(notation, text):
    (record,) = read(text, notation=notation)
    assert (record.bracketing, record.line, record.problem) == (CAT, 1, None)


@pytest.mark.parametrize("notation", ["plain", "spans"])
def test_one_line_is_one_sentence(notation):
    cat = {"plain": "((the cat) slept)", "spans": "the cat slept\t0-2 0-3"}[notation]
    bare = {"plain": "the", "spans": "the\t"}[notation]
    records = read(f"{cat}\n\n(())\n{bare}", notation=notation)
    assert [one.bracketing for one in records] == [
        CAT,
        None,
        None,
        Bracketing(("the",), frozenset()),
    ]
    assert [one.line for one in records] == [1, 2, 3, 4]


@given(trees())
def test_plain_brackets_and_spans_give_back_what_trees_have(tree):
    found = bracketing_of(tree, ())
    pieces, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif node.word is not None:
            pieces.append(escape_token(node.word))
        else:
            stack += [")", *reversed(node.children), "("]
    (record,) = read_bracketings([" ".join(pieces)], notation="plain")
    assert record.bracketing == found
    listed = " ".join(f"{start}-{end}" for start, end in found.spans)
    (record,) = read_bracketings([" ".join(found.words) + "\t" + listed], notation="spans")
    assert record.bracketing == found


@pytest.mark.parametrize(
    ("notation", "line", "message"),
    [
        ("plain", "((the cat) slept", "file:1:16: bracket is never closed"),
        ("plain", "(the cat)) slept", "file:1:10: closing bracket without an opening one"),
        ("plain", "(the () cat)", "file:1:7: bracket without a word"),
        ("spans", "the cat slept", "file:1:1: the line has no tab"),
        ("spans", "the cat\t0-2 1:2", "file:1:13: '1:2' is not a span such as 0-2"),
        ("spans", f"the cat\t0-{'9' * 5000}", "file:1:9: '0-99999"),
        ("spans", "the cat\t0-3", "file:1:9: span 0-3 doesn't lie in a sentence of 2 words"),
        ("spans", "the cat\t1-1", "span 1-1 doesn't lie"),
        ("spans", "the old cat\t0-2 1-3", "file:1:17: span 1-3 crosses 0-2"),
    ],
)
def test_malformed_lines(notation, line, message):
    with pytest.raises(TreebankFormatError, match=message.replace("(", r"\(")):
        read(line, notation=notation)
    good = {"plain": "((the cat) slept)", "spans": "the cat slept\t0-2 0-3"}[notation]
    bad, after = read(f"{line}\n{good}", notation=notation, on_error="skip")
    assert message in str(bad.problem)
    assert (bad.bracketing, after.bracketing) == (None, CAT)


def test_empty_elements_are_no_words():
    tree = parse_tree("(S (NP (-NONE- *)) (VP (V go) (NP (N home) (-NONE- *T*))))")
    assert bracketing_of(tree) == Bracketing(("go", "home"), frozenset({(0, 2)}))
    assert bracketing_of(tree, ()).words == ("*", "go", "home", "*T*")
