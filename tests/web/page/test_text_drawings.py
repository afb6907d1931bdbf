"""Drawings in text characters, as a program shows them that follows the bidirectional algorithm."""

from __future__ import annotations

import pytest

from eigentree.drawing.arcs import Arcs, draw_arcs_text
from eigentree.drawing.tree_text import draw_text
from eigentree.treebank.io.brackets import parse_tree

# Where the words of a text are, by the middle of each.
MIDDLES = """([text, words]) => {
  const pre = document.createElement("pre");
  pre.dir = "auto";
  pre.textContent = text;
  document.body.replaceChildren(pre);
  return words.map((word) => {
    const range = document.createRange();
    const start = text.indexOf(word);
    range.setStart(pre.firstChild, start);
    range.setEnd(pre.firstChild, start + word.length);
    const { left, width, top } = range.getBoundingClientRect();
    return [left + width / 2, top];
  });
}"""


@pytest.fixture
def blank(context):
    page = context.new_page()
    yield page
    page.close()


def test_words_from_right_to_left_are_below_their_tags(blank):
    tree = parse_tree("(S (VB הלך) (NN ילד) (CD 3) (NN סוס) (PU .))")
    drawn = draw_text(tree)
    words = ["הלך", "ילד", "3", "סוס"]
    middles = [x for x, _ in blank.evaluate(MIDDLES, [drawn, words])]
    assert middles == sorted(middles)
    bare = drawn.replace("\u2068", "").replace("\u2069", "")
    middles = [x for x, _ in blank.evaluate(MIDDLES, [bare, words])]
    assert middles != sorted(middles)


def test_columns_of_arcs_stay_in_order(blank):
    """Without tags, a word is beside figures, which a run from right to left would take in."""
    drawn = draw_arcs_text(
        Arcs(["הלך", "ילד", "סוס"], [0, 1, 1], relations=["שורש", "נושא", "מושא"])
    )
    for line in drawn.splitlines():
        cells = line.replace("\u2068", "").replace("\u2069", "").split()[-4:]
        middles = [x for x, _ in blank.evaluate(MIDDLES, [line, cells[:2] + cells[3:]])]
        assert middles == sorted(middles)
