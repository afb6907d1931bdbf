"""Trees drawn with characters."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree._core.printable import columns, isolated, visible
from eigentree.drawing.tree_text import NAMELESS, draw_text, lay_out
from eigentree.errors import SettingsError
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree

SENTENCE = parse_tree("(S (NP (DT the) (NN ice)) (VP (VBZ melts)) (. .))")

# Texts with wide letters, accents and characters that a terminal would obey.
texts = st.text(
    st.sampled_from(
        "abcW.<>&\"'日本שع٣é\u0301\u200d\u00a0\u0007\u001b\u0085\u2028\u202e\ud800\ufffe"
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def trees(draw):
    nodes = [Tree(draw(texts), word=word) for word in draw(st.lists(texts, min_size=1, max_size=8))]
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(start + 1, len(nodes)))
        nodes[start:end] = [Tree(draw(texts), nodes[start:end])]
    return nodes[0] if len(nodes) == 1 else Tree("", nodes)


def test_tree_from_the_root_down():
    assert draw_text(SENTENCE).splitlines() == [
        "          S",
        "    ┌─────┴─┬────┐",
        "   NP       VP   │",
        " ┌──┴─┐     │    │",
        " DT   NN   VBZ   .",
        "the  ice  melts  .",
    ]


def test_tree_in_lines_of_ascii_keeps_the_words():
    tree = parse_tree("(S (NP (NN ─│)) (VP (VBZ melts)))")
    drawn = draw_text(tree, ascii_only=True)
    assert "─│" in drawn
    assert set(drawn.replace("─│", "")) <= set(" \n|-+SNPVBZmelts")
    assert draw_text(SENTENCE, style="indented", ascii_only=True).splitlines() == [
        "S",
        "+- NP",
        "|  +- DT the",
        "|  +- NN ice",
        "+- VP - VBZ melts",
        "+- . .",
    ]


def test_indented_tree():
    assert draw_text(SENTENCE, style="indented").splitlines() == [
        "S",
        "├─ NP",
        "│  ├─ DT the",
        "│  └─ NN ice",
        "├─ VP ─ VBZ melts",
        "└─ . .",
    ]


def test_auto_draws_indented_what_is_too_wide():
    assert draw_text(SENTENCE, width=15) == draw_text(SENTENCE, style="indented")
    assert draw_text(SENTENCE, width=40) == draw_text(SENTENCE, style="tree")


def test_confidence_stands_beside_the_label():
    values = [0.5, 1.0, None, None, 0.254, None, None]
    drawn = draw_text(SENTENCE, style="indented", confidence=values)
    assert drawn.splitlines()[:2] == ["S 50%", "├─ NP 100%"]
    assert "VP 25% ─ VBZ melts" in drawn
    with pytest.raises(SettingsError, match="confidence has 2 values; expected 7"):
        draw_text(SENTENCE, confidence=[0.5, 0.5])


def test_bare_word_and_nameless_bracket():
    assert draw_text(Tree("NN", word="ice")) == " NN\nice"
    assert draw_text(Tree("", [Tree("NN", word="ice")])).splitlines()[0].strip() == NAMELESS


@given(trees())
def test_words_are_all_there_in_order_and_nothing_a_terminal_obeys(tree):
    last = draw_text(tree, style="tree").splitlines()[-1]
    found = "".join(last.split(" "))
    shown = "".join(isolated(visible(word)) for word in tree.words())
    assert found == shown.replace(" ", "")
    for style in ("tree", "indented"):
        drawn = draw_text(tree, style=style)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\ud800\ufffe]", drawn)
    assert len(draw_text(tree, style="indented").split("\n")) <= len(list(tree.nodes()))


@given(trees())
def test_neighbours_never_overlap(tree):
    widths = [max(columns(visible(n.label)), columns(visible(n.word or ""))) for n in tree.nodes()]
    placed = lay_out(tree, lambda place, _: widths[place], 2)
    by_depth = {}
    for place, (node, depth, centre, children) in enumerate(placed):
        assert centre >= widths[place] / 2
        left = centre - widths[place] / 2
        assert left >= by_depth.get(depth, 0)
        by_depth[depth] = left + widths[place] + 2
        assert [placed[child].node for child in children] == list(node.children)


def deep(size):
    tree = Tree("X", [Tree("A", word="a"), Tree("B", word="b")])
    for _ in range(size):
        tree = Tree("X", [Tree("A", word="a"), tree])
    return tree


@pytest.mark.slow
def test_deep_trees_have_lines_of_bounded_length():
    lines = draw_text(deep(100_000)).split("\n")
    assert len(lines) == 200_003
    assert max(map(len, lines)) < 120
    tower = Tree("A", word="a")
    for _ in range(50_000):
        tower = Tree("X", [tower])
    assert draw_text(tower).count("X") == 50_000


def test_drawing_too_large_for_memory_is_refused():
    with pytest.raises(SettingsError, match=r"lines and \d+ columns is too large for style tree"):
        draw_text(deep(3000), style="tree")


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("👩\u200d🚀", 4), ("\u200b", 0), ("½", 1)],
)
def test_columns(text, width):
    assert columns(text) == width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\x1b[31m", "a␉b␛[31m"),
        ("\x7f\u202e\u2028\ufffe", "\N{REPLACEMENT CHARACTER}" * 4),
        ("\u0301a", "◌\u0301a"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_visible(text, shown):
    assert visible(text) == shown


def test_words_from_right_to_left_are_isolated_and_take_no_more_room():
    hebrew = parse_tree("(S (VP (VB הלך) (NP (DT ה) (NN ילד))) (PU .))")
    latin = parse_tree("(S (VP (VB ooo) (NP (DT o) (NN ooo))) (PU .))")
    for style in ("tree", "indented"):
        drawn, other = (draw_text(tree, style=style) for tree in (hebrew, latin))
        plain = re.sub("[\u2068\u2069]", "", drawn)
        assert re.sub(r"[\u05d0-\u05ea]", "o", plain) == other
        assert [columns(line) for line in drawn.splitlines()] == list(map(len, other.splitlines()))
        for word in ("הלך", "ה", "ילד"):
            assert f"\u2068{word}\u2069" in drawn
        assert "\u2068.\u2069" not in drawn


@pytest.mark.parametrize("word", ["سلام", "٣٤", "abcש", "«ש", "ש3"])
def test_isolates_are_around_anything_from_right_to_left(word):
    assert isolated(word) == f"\u2068{word}\u2069"
    assert columns(isolated(word)) == columns(word)
    drawn = draw_text(Tree(word, [Tree("NN", word=word)]), confidence=[0.5, None])
    assert drawn.count("\u2068") == drawn.count("\u2069") == 2


def test_what_reorders_text_within_a_word_is_still_replaced():
    drawn = draw_text(Tree("NN", word="\u2069ש\u2067"))
    assert "\u2068�ש�\u2069" in drawn
