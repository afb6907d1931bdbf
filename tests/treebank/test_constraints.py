"""Constraints as data, from JSON and from partial brackets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.constraints import (
    Constraint,
    Constraints,
    MalformedError,
    read_bracketed,
    read_half_tree,
)
from eigentree.treebank.escaping import escape_token
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.io.sentences import read_sentences
from tests.strategies import words as any_words

LABELS = {"NP", "VP", "S", "A"}
TREE = parse_tree("(S (NP (DT the) (JJ old) (NN man)) (VP (S (VP (VBD ran)))) (. .))")


def required(*spans: tuple) -> tuple[Constraint, ...]:
    return Constraints.of(required=spans).each


# As data ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "is_kept"),
    [
        (("required", 0, 3), True),
        (("required", 0, 3, "NP"), True),
        (("required", 0, 3, "VP"), False),
        (("required", 0, 2), False),
        (("required", 3, 4, "VP"), True),
        (("required", 3, 4, "S"), True),
        (("required", 3, 4, "VBD"), False),  # a tag is no phrase
        (("required", 0, 1), False),
        (("required", 0, 5, "S"), True),
        (("forbidden", 0, 3), False),
        (("forbidden", 0, 3, "NP"), False),
        (("forbidden", 0, 3, "VP"), True),
        (("forbidden", 0, 1), True),
        (("forbidden", 0, 2), True),
        (("tag", 1, 2, "JJ"), True),
        (("tag", 1, 2, "NN"), False),
    ],
)
def test_what_a_tree_keeps(constraint, is_kept):
    one = Constraint(*constraint)
    assert Constraints((one,)).broken_by(TREE) == (() if is_kept else (one,))


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (("required", 0, 3), ("required", 2, 5), "cross"),
        (("required", 2, 5), ("required", 0, 3), "cross"),
        (("required", 0, 3), ("required", 0, 5), None),
        (("required", 0, 3), ("required", 3, 5), None),
        (("required", 0, 3, "NP"), ("required", 0, 3, "S"), None),
        (("required", 0, 3), ("forbidden", 2, 5), None),
        (("required", 0, 3), ("forbidden", 0, 3), "contradict each other"),
        (("required", 0, 3), ("forbidden", 0, 3, "NP"), None),
        (("required", 0, 3, "NP"), ("forbidden", 0, 3), "contradict each other"),
        (("forbidden", 0, 3, "NP"), ("required", 0, 3, "NP"), "contradict each other"),
        (("required", 0, 3, "NP"), ("forbidden", 0, 3, "S"), None),
        (("tag", 0, 1, "DT"), ("tag", 0, 1, "NN"), "contradict each other"),
        (("tag", 0, 1, "DT"), ("tag", 1, 2, "NN"), None),
        (("tag", 0, 1, "DT"), ("forbidden", 0, 1, "DT"), None),
    ],
)
def test_pairs_that_no_tree_keeps(one, other, why):
    first, second = Constraint(*one), Constraint(*other)
    assert first.clashes(second) == second.clashes(first) == why
    expected = None if why is None else ((first, second), why)
    assert Constraints((first, Constraint("required", 0, 9), second)).clash() == expected


def test_the_order_is_that_of_the_record():
    record = {"tags": [[1, "JJ"]], "forbidden": [[0, 2]], "required": [[0, 3, "NP"], [3, 4]]}
    found = Constraints.from_json(record)
    assert list(map(str, found.each)) == [
        "tag JJ over 1-2",
        "forbidden span over 0-2",
        "required NP over 0-3",
        "required span over 3-4",
    ]
    assert found.tags == {1: "JJ"}
    assert found.spans == found.each[1:]
    assert set(found.each) == set(Constraints.of([(0, 3, "NP"), (3, 4)], [(0, 2)], {1: "JJ"}).each)
    assert not Constraints.from_json(None)
    assert not Constraints.from_json({})


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ([], "constraints are []; expected an object with the keys"),
        ({"must": []}, "constraints are {'must': []}; expected an object with the keys"),
        ({"required": 3}, "required is 3; expected a list of [start, end] or [start, end, label]"),
        ({"required": [3]}, "required: item 1 is 3; expected [start, end] or"),
        ({"required": [[0, 1], [1]]}, "required: item 2 is [1]; expected [start, end] or"),
        ({"tags": [[1, 2, "NN"]]}, "tags: item 1 is [1, 2, 'NN']; expected [position, tag]"),
        ({"required": [[0, 10**5000]]}, "is from 0 to a value of type int that is too large"),
        (
            {"required": [[2, 2]]},
            "the span of a required constraint is from 2 to 2; expected positions",
        ),
        ({"forbidden": [[-1, 2]]}, "from -1 to 2"),
        ({"required": [[0, 1.5]]}, "from 0 to 1.5"),
        ({"required": [[False, 1]]}, "from False to 1"),
        ({"required": [["0", 1]]}, "from '0' to 1"),
        ({"required": [[0, 1, ""]]}, "label '' must be text"),
        ({"required": [[0, 1, 5]]}, "label 5 must be text"),
        ({"required": [[0, 1, "N P"]]}, "label 'N P' must be text without white space"),
        ({"tags": [["0", "NN"]]}, "the span of a tag constraint is from '0'"),
        ({"tags": [[0, None]]}, "is not a tag of one word"),
    ],
)
def test_what_is_no_constraint_is_refused(record, told):
    with pytest.raises(SettingsError, match=re.escape(told)):
        Constraints.from_json(record)


def test_what_is_made_by_hand_is_checked_too():
    with pytest.raises(SettingsError, match="of unknown kind 'other'"):
        Constraints((Constraint("other", 0, 1),))  # type: ignore[arg-type]  # a kind that there is not
    with pytest.raises(SettingsError, match="over 2-5 reaches beyond the sentence of 4 words"):
        Constraints.of([(2, 5, "NP")]).check_length(4)
    with pytest.raises(AttributeError):
        Constraints().each = ()  # type: ignore[misc]  # what is frozen must refuse it


# Square brackets --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words", "spans"),
    [
        ("[the old man] the boats", "the old man the boats", [(0, 3)]),
        ("[NP the old man] boats", "the old man boats", [(0, 3, "NP")]),
        ("[ NP the ] end", "NP the end", [(0, 2)]),
        ("[NPS the] end", "NPS the end", [(0, 2)]),
        ("[S[NP he]left]", "he left", [(0, 2, "S"), (0, 1, "NP")]),
        ("a [b [VP c d]] [e]", "a b c d e", [(1, 4), (2, 4, "VP"), (4, 5)]),
        (r"\[ a \] b\]c \\ \/ [d]", "[ a ] b]c \\ \\/ d", [(6, 7)]),
        ("-LRB- [a -RRB-]", "( a )", [(1, 3)]),
        ("", "", []),
        ("a ( b", "a ( b", []),
        ("\t[a\u00a0b c]\r\n", "a\u00a0b c", [(0, 2)]),
    ],
)
def test_square_brackets(line, words, spans):
    assert read_bracketed(line, LABELS) == (
        [word for word in words.split(" ") if word],
        Constraints(required(*spans)),
    )


@pytest.mark.parametrize(
    ("line", "column", "told"),
    [
        ("a ] b", 3, "closing bracket without an opening one"),
        ("a [b [c]", 3, "bracket is never closed"),
        ("a [] b", 3, "bracket without a word"),
        ("a [NP ] b", 3, "bracket without a word"),
    ],
)
def test_brackets_that_do_not_match(line, column, told):
    with pytest.raises(MalformedError, match=told) as caught:
        read_bracketed(line, LABELS)
    assert caught.value.column == column


@given(st.lists(any_words(), min_size=1, max_size=6), st.data())
def test_any_words_come_back_from_square_brackets(words: list[str], data: st.DataObject):
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    texts = [re.sub(r"([\\\[\]])", r"\\\1", escape_token(word)) for word in words]
    texts[start:end] = ["[", *texts[start:end], "]"]
    assert read_bracketed(" ".join(texts), LABELS) == (words, Constraints(required((start, end))))


# Trees that lack brackets -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words", "record"),
    [
        (
            "(S (NP (DT the) old man) boats)",
            "the old man boats",
            {"required": [[0, 4, "S"], [0, 3, "NP"]], "tags": [[0, "DT"]]},
        ),
        ("( (S (NP he) left))", "he left", {"required": [[0, 2, "S"]], "tags": [[0, "NP"]]}),
        ("(ROOT (NP-SBJ=1 a b) c)", "a b c", {"required": [[0, 2, "NP"]]}),
        ("(NP ( he)) left", "he left", {"required": [[0, 1, "NP"]]}),
        ("( the old man) boats", "the old man boats", {"required": [[0, 3]]}),
        ("a b", "a b", {}),
        ("(NP (-LRB- -LRB-) x)", "( x", {"required": [[0, 2, "NP"]], "tags": [[0, "-LRB-"]]}),
        ("", "", {}),
    ],
)
def test_half_trees(line, words, record):
    found, constraints = read_half_tree(line)
    assert found == words.split()
    assert constraints.each == Constraints.from_json(record).each


def test_a_whole_tree_asks_for_itself():
    words, constraints = read_half_tree(repr(TREE))
    assert words == TREE.words()
    assert constraints.broken_by(TREE) == ()
    assert {tuple(each[1:]) for each in constraints.spans} == {
        (start, end, label) for label, start, end in TREE.spans()
    }
    assert list(constraints.tags.values()) == TREE.tags()


def test_function_tags_stay_where_the_model_has_them():
    own = CleaningOptions(keep_function_tags=True, root_labels=("TOP",))
    _, constraints = read_half_tree("(TOP (NP-SBJ-1 a b))", own)
    assert constraints.each == required((0, 2, "NP-SBJ"))


# As input ---------------------------------------------------------------------------------


def test_sentences_come_with_their_constraints():
    lines = ["[NP a b] c", "", "[a", "d"]
    found = list(read_sentences(lines, "bracketed", on_error="skip", labels=LABELS))
    assert [each.words for each in found] == [["a", "b", "c"], [], [], ["d"]]
    assert found[0].constraints == Constraints(required((0, 2, "NP")))
    assert str(found[2].problem) == "<input>:3:1: bracket is never closed: [a"
    assert found[3].constraints == Constraints()
    with pytest.raises(TreebankFormatError, match="without an opening one"):
        list(read_sentences(["a)"], "half-trees"))
    (half,) = read_sentences(["(S (A a) b)"], "half-trees")
    assert half.words == ["a", "b"]
    assert half.constraints is not None
    assert half.constraints.tags == {0: "A"}
