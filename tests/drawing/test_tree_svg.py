"""Trees drawn as SVG: well formed, escaped, legible."""

from xml.etree import ElementTree

import pytest
from hypothesis import given

from eigentree._core.printable import isolated, visible
from eigentree.drawing.tree_svg import draw_svg, draw_svg_page
from eigentree.drawing.tree_text import NAMELESS
from eigentree.errors import SettingsError
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.drawing.test_tree_text import SENTENCE, deep, trees

NAME = "{http://www.w3.org/2000/svg}"


def texts(drawing):
    root = ElementTree.fromstring(drawing.encode())
    return [(element.text or "") for element in root.iter(f"{NAME}text")]


@given(trees())
def test_any_text_is_escaped_and_shown(tree):
    drawing = draw_svg(tree)
    root = ElementTree.fromstring(drawing.encode())
    shown = texts(drawing)
    labels = [visible(node.label) or NAMELESS for node in tree.nodes()]
    assert shown == [isolated(text) for text in labels + [visible(w) for w in tree.words()]]
    assert root.get("aria-label") == " ".join(map(visible, tree.words()))


def test_scripts_stay_text():
    word = "\"><script>alert('x')</script>"
    label = "\"onload='x'<b>&amp;"
    tree = Tree(label, [Tree("NN", word=word.replace("(", "[").replace(")", "]"))])
    drawing = draw_svg(tree, confidence=[0.5, None])
    root = ElementTree.fromstring(drawing.encode())
    known = {"svg", "rect", "g", "path", "text", "title"}
    assert {element.tag.removeprefix(NAME) for element in root.iter()} == known
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    assert "<script" not in drawing


def test_everything_lies_within_the_picture():
    root = ElementTree.fromstring(draw_svg(SENTENCE).encode())
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    for element in root.iter(f"{NAME}text"):
        assert 0 < float(element.get("x")) < width
        assert 0 < float(element.get("y")) < height


def test_confidence_is_colour_and_title():
    values = [0.0, 1.0, None, None, 0.125, None, None]
    drawing = draw_svg(SENTENCE, confidence=values)
    root = ElementTree.fromstring(drawing.encode())
    assert [title.text for title in root.iter(f"{NAME}title")] == [
        "S: 0.0 %",
        "NP: 100.0 %",
        "VP: 12.5 %",
    ]
    first, second = (element.get("fill") for element in list(root.iter(f"{NAME}rect"))[1:3])
    assert (first, second) == ("#f4a56e", "#8cbeeb")
    assert "confidence" in drawing
    assert "confidence" not in draw_svg(SENTENCE)
    with pytest.raises(SettingsError, match="confidence has 1 values; expected 7"):
        draw_svg(SENTENCE, confidence=[0.5])


def test_page_holds_its_trees_one_below_the_other():
    other = parse_tree("(NP (NN snow))")
    drawing = draw_svg_page([SENTENCE, other])
    root = ElementTree.fromstring(drawing.encode())
    tops = [
        float(group.get("transform").rstrip(")").split()[1])
        for group in root.iter(f"{NAME}g")
        if group.get("transform")
    ]
    assert tops[1] > tops[0] + 150
    assert texts(drawing)[-3:] == ["NP", "NN", "snow"]
    assert ElementTree.fromstring(draw_svg_page([]).encode()).get("width") == "48"


@pytest.mark.slow
def test_deep_trees_are_drawn_in_linear_size():
    assert len(draw_svg(deep(20_000))) < 20_000 * 500
