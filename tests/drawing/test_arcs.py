"""Dependency trees as arcs: levels, text and SVG."""

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree._core.printable import columns
from eigentree.drawing.arcs import Arcs, arcs_of, draw_arcs_svg, draw_arcs_text, levels_of
from eigentree.drawing.tree_svg import text_width
from eigentree.errors import SettingsError
from eigentree.treebank.io.conllu import Sentence, Word
from eigentree.treebank.projective import is_projective
from tests.drawing.test_tree_text import texts

NAME = "{http://www.w3.org/2000/svg}"
WORDS = ["the", "old", "dog", "saw", "it", "."]
HEADS = [3, 3, 4, 0, 4, 4]
RELATIONS = ["det", "amod", "nsubj", "root", "obj", "punct"]


@st.composite
def dependency_trees(draw, most=9):
    """Heads of any tree, projective or not, with one root or several."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]])) if place else 0
    return heads


def ends_of(heads):
    return [(min(w, h - 1), max(w, h - 1)) for w, h in enumerate(heads) if h]


def meet(one, other):
    return max(one[0], other[0]) < min(one[1], other[1])


@given(dependency_trees())
def test_arcs_that_meet_have_levels_of_their_own(heads):
    ends = ends_of(heads)
    levels = dict(zip(ends, levels_of(ends), strict=True))
    for one, other in combinations(levels, 2):
        if meet(one, other):
            assert levels[one] != levels[other]
            shorter, longer = sorted((one, other), key=lambda arc: arc[1] - arc[0])
            if longer[1] - longer[0] > shorter[1] - shorter[0]:
                assert levels[shorter] < levels[longer]


@given(dependency_trees())
def test_levels_of_projective_trees_are_depths_of_nesting(heads):
    if not is_projective(heads):
        return
    ends = ends_of(heads)

    def depth(arc):
        inner = [o for o in ends if o != arc and arc[0] <= o[0] and o[1] <= arc[1]]
        return 1 + max(map(depth, inner), default=0)

    assert levels_of(ends) == [depth(arc) for arc in ends]


def test_long_sentences_take_no_time():
    assert max(levels_of([(word, word + 1) for word in range(100_000)])) == 1
    assert levels_of([]) == []


# Text ------------------------------------------------------------------------------------


def test_text():
    tree = Arcs(WORDS, HEADS, RELATIONS, ["DET", "ADJ", "NOUN", "VERB", "PRON", "PUNCT"])
    assert draw_arcs_text(tree).splitlines() == [
        "┌───▶ 1  the  DET    3  det",
        "│ ┌─▶ 2  old  ADJ    3  amod",
        "└─┼─▶ 3  dog  NOUN   4  nsubj",
        "┌─┼─▶ 4  saw  VERB   0  root",
        "│ └─▶ 5  it   PRON   4  obj",
        "└───▶ 6  .    PUNCT  4  punct",
    ]
    plain = draw_arcs_text(tree, ascii_only=True)
    assert plain.isascii()
    assert plain.splitlines()[2] == "+-+-> 3  dog  NOUN   4  nsubj"


def test_text_of_little():
    assert draw_arcs_text(Arcs(["go"], [0])) == " 1  go  0"
    assert draw_arcs_text(Arcs([], [])) == ""
    shown = draw_arcs_text(Arcs(["a", "b"], [0, 1], confidence=[None, 0.125]))
    assert shown.splitlines() == ["┌─▶ 1  a  0", "└─▶ 2  b  1  12%"]


def arcs_in(drawing):
    """The arcs that a drawing has, read from its lines: pairs of rows, without direction."""
    rows = [line.split("▶")[0] if "▶" in line else "" for line in drawing.splitlines()]
    found = []
    open_at = {}
    for number, row in enumerate(rows):
        for column, character in enumerate(row):
            if column % 2:
                continue
            ends = character in "└├┴┼" and column in open_at
            begins = character in "┌├┬┼"
            if ends:
                found.append((open_at.pop(column), number))
            if begins:
                open_at[column] = number
    return found


@given(dependency_trees())
def test_text_shows_each_arc(heads):
    if not is_projective(heads):
        return
    drawing = draw_arcs_text(Arcs(["w"] * len(heads), heads))
    assert sorted(arcs_in(drawing)) == sorted(ends_of(heads))


@given(dependency_trees(), st.data())
def test_any_text_stays_in_its_line(heads, data):
    words = [data.draw(texts) for _ in heads]
    tree = Arcs(words, heads, words, words, [0.5] * len(heads))
    assert draw_arcs_text(tree).count("\n") == len(heads) - 1
    assert "\x1b" not in draw_arcs_text(tree)
    ElementTree.fromstring(draw_arcs_svg([tree]).encode())


# SVG -------------------------------------------------------------------------------------


def paths_of(drawing):
    """Arcs of a drawing as (left, right, top, base), and lines to roots as (x, x, top, base)."""
    found = []
    for path in re.findall(r'<path d="([^"]*)" marker-end', drawing):
        numbers = [float(each) for each in re.findall(r"[0-9.]+", path)]
        base = numbers[1]
        if len(numbers) == 3:
            found.append((numbers[0], numbers[0], base, numbers[2]))
            continue
        begin, top, end = numbers[0], numbers[6], numbers[10]
        found.append((min(begin, end), max(begin, end), top, base))
    return found


def crossings(lines):
    """Pairs of lines that cross: a way up of the one and the way along of the other."""
    return [
        (one, other)
        for one in lines
        for other in lines
        for x in one[:2]
        if other[0] < x < other[1] and one[2] < other[2]
    ]


@given(dependency_trees())
def test_arcs_of_projective_trees_never_cross(heads):
    if not is_projective(heads) or heads.count(0) > 1:
        return
    lines = paths_of(draw_arcs_svg([Arcs(["w"] * len(heads), heads, ["rel"] * len(heads))]))
    assert len(lines) == len(heads)
    assert crossings(lines) == []
    # No two ends stand at one place.
    ends = [x for left, right, _, _ in lines for x in {left, right}]
    assert len(ends) == len(set(ends)) == 2 * len(heads) - 1


def test_crossing_arcs_are_seen_to_cross():
    heads = [3, 4, 0, 3]
    assert not is_projective(heads)
    assert len(crossings(paths_of(draw_arcs_svg([Arcs(list("abcd"), heads)])))) > 0


@given(dependency_trees(), st.data())
def test_names_stand_within_their_arcs(heads, data):
    relations = [data.draw(st.sampled_from(["a", "nsubj:pass", "x" * 40])) for _ in heads]
    drawing = draw_arcs_svg([Arcs(["w"] * len(heads), heads, relations)])
    root = ElementTree.fromstring(drawing.encode())
    width = float(root.get("width"))
    texts_of = [t for t in root.iter(f"{NAME}text") if t.text in relations]
    boxes = []
    for text in texts_of:
        half = text_width(text.text, 12) / 2
        x, y = float(text.get("x")), float(text.get("y"))
        boxes.append((x - half, x + half, y))
        assert x - half + 24 > 0
        assert x + half < width
    for one, other in combinations(boxes, 2):
        same_line = abs(one[2] - other[2]) < 5
        assert not (same_line and one[0] < other[1] and other[0] < one[1])


def test_svg_of_a_sentence():
    words = tuple(
        Word(n, form, upos="X", head=head, deprel=relation)
        for n, (form, head, relation) in enumerate(
            zip(WORDS, HEADS, RELATIONS, strict=True), start=1
        )
    )
    drawing = draw_arcs_svg([arcs_of(Sentence(words))])
    root = ElementTree.fromstring(drawing.encode())
    shown = [text.text for text in root.iter(f"{NAME}text")]
    assert sorted(shown) == sorted([*RELATIONS, *WORDS, *["X"] * 6])
    assert root.get("aria-label") == " ".join(WORDS)
    # Of two sentences the second stands below the first.
    two = draw_arcs_svg([arcs_of(Sentence(words))] * 2)
    assert float(ElementTree.fromstring(two.encode()).get("height")) > float(root.get("height"))
    assert draw_arcs_svg([]).startswith("<?xml")


def test_columns_without_values_are_left_out():
    bare = Sentence((Word(1, "a", head=2), Word(2, "b", xpos="N", head=0)))
    assert arcs_of(bare) == Arcs(["a", "b"], [2, 0], None, ["_", "N"])
    assert arcs_of(Sentence((Word(1, "a", head=0),))).tags is None


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (Arcs(["a"], [2]), "the head of word 1 is 2; it must be another word, from 1 to 1"),
        (Arcs(["a"], [1]), "the head of word 1 is 1"),
        (Arcs(["a"], [-1]), "the head of word 1 is -1"),
        (Arcs(["a"], []), "there are 0 heads for 1 word"),
        (Arcs(["a"], [0], ["x", "y"]), "there are 2 relations for 1 word"),
        (Arcs(["a"], [0], confidence=[]), "confidence has 0 values"),
    ],
)
def test_what_is_no_tree(tree, told):
    for draw in (draw_arcs_text, lambda one: draw_arcs_svg([one])):
        with pytest.raises(SettingsError, match=told):
            draw(tree)


def test_words_from_right_to_left_stay_in_their_columns():
    heads, tags = [2, 0, 2], ["NOUN", "VERB", "NOUN"]
    latin, hebrew = (
        draw_arcs_text(Arcs(words, heads, tags=tags)).splitlines()
        for words in (["ooo", "oooo", "o"], ["ילד", "תפוח", "ה"])
    )
    for row, other, word in zip(hebrew, latin, ["ילד", "תפוח", "ה"], strict=True):
        assert f"\u2068{word}\u2069" in row
        assert columns(row) == len(other)
        assert re.sub(r"[\u05d0-\u05ea]", "o", re.sub("[\u2068\u2069]", "", row)) == other
