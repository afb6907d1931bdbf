"""What notebooks show."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given

from eigentree.bracketing.result import BracketingResult
from eigentree.constituency.chart.marginals import Marginal
from eigentree.constituency.result import Bracket, ParseResult
from eigentree.dependency.result import Arc, DependencyResult
from eigentree.drawing.tree_svg import colour_of
from eigentree.evaluation.attachment import score_attachment
from eigentree.evaluation.parseval import score
from eigentree.evaluation.unlabelled import gold_bracketing, score_unlabelled
from eigentree.integrations import jupyter
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.io.unlabelled import bracketing_of
from eigentree.treebank.tree import Tree
from tests.demo import demo_parser
from tests.drawing.test_tree_text import deep, trees
from tests.samples import treebank, whole_parser

EVIL = "</pre></svg><script>alert(1)</script>"
TREE = parse_tree("(S (NP (N ice)) (VP (V melts)))")


@given(trees())
def test_a_tree_is_a_picture_of_any_text(tree):
    ElementTree.fromstring(tree._repr_svg_().encode())
    assert tree._repr_html_() is None


def test_a_parse_has_colours_of_its_confidence():
    brackets = (Bracket("NP", 0, 1, 0.25), Bracket("VP", 1, 2, 0.5), Bracket("S", 0, 2, 1.0))
    drawn = ParseResult(["ice", "melts"], ["N", "V"], TREE, brackets)._repr_svg_()
    titles = re.findall(r"<title>([^<]*)</title>", drawn)
    assert titles == ["S: 100.0 %", "NP: 25.0 %", "VP: 50.0 %"]
    assert colour_of(0.25) in drawn
    calibrated = tuple(each._replace(calibrated=0.75) for each in brackets)
    drawn = ParseResult(["ice", "melts"], ["N", "V"], TREE, calibrated)._repr_svg_()
    assert "NP: 75.0 %" in drawn
    # Without confidences there is no legend.
    assert "confidence" not in ParseResult(["ice", "melts"], ["N", "V"], TREE)._repr_svg_()


def test_chains_of_one_label_keep_their_confidences_apart():
    tree = parse_tree("(S (S (V go)))")
    result = ParseResult(["go"], ["V"], tree, (Bracket("S", 0, 1, 0.1), Bracket("S", 0, 1, 0.9)))
    assert re.findall(r"S: [0-9.]+ %", result._repr_svg_()) == ["S: 90.0 %", "S: 10.0 %"]


@pytest.mark.slow
def test_real_parses_are_shown():
    assert BracketingResult(["ice", "melts"], ["N", "V"], TREE)._repr_svg_() == TREE._repr_svg_()
    result = demo_parser().parse(["The", "old", "man", "saw", "the", "dog", "."], marginals=0.01)
    assert isinstance(result.marginals[0], Marginal)
    assert result._repr_svg_().count("<title>") == len(result.brackets)
    arcs = whole_parser().parse(["the", "old", "dog", "saw", "it", "."])
    drawn = arcs._repr_svg_()
    assert drawn.count("marker-end") == 6
    assert "nsubj: " in drawn


def test_dependencies_of_evil_words():
    evil = DependencyResult([EVIL], [EVIL], (Arc(1, 0, EVIL, None),))
    assert "<script" not in evil._repr_svg_()
    ElementTree.fromstring(evil._repr_svg_().encode())
    many = DependencyResult(
        [EVIL] * 300, [EVIL] * 300, tuple(Arc(i, i - 1, EVIL, 0.5) for i in range(1, 301))
    )
    assert many._repr_svg_() is None
    assert "<script" not in many._repr_html_()
    assert "100 more lines" in many._repr_html_()


@pytest.mark.parametrize("tree", [deep(5000), Tree("S", [Tree("N", word=EVIL[:20])] * 5000)])
def test_huge_trees_are_text_that_ends(tree):
    for shown in (tree, ParseResult(tree.words(), tree.tags(), tree)):
        assert shown._repr_svg_() is None
        text = shown._repr_html_()
        assert text.startswith("<pre>")
        assert text.endswith("more lines</pre>") or tree.height() > 4000
        assert len(text) < 100_000
        assert "</pre>" not in text[:-6]


def test_nothing_to_show():
    for empty in (ParseResult([], [], None, fallback="empty"), DependencyResult([], [])):
        assert empty._repr_svg_() is None
        assert empty._repr_html_() == "<p>no tree: there are no words</p>"


def test_scores_are_tables():
    result = score([TREE], [TREE])
    root = ElementTree.fromstring(result._repr_html_())
    rows = {row[0].text: row[1].text for row in root.iter("tr") if len(row) > 1}
    assert rows["F1, %"] == "100.00"
    assert result._repr_svg_() is None
    gold = list(treebank(3, 2))
    table = score_attachment(gold, gold)._repr_html_()
    assert "<td>100.00</td>" in table
    tree = parse_tree("(S (NP (D the) (N ice)) (V melts))")
    unlabelled = score_unlabelled([gold_bracketing(tree)], [bracketing_of(tree)])
    assert unlabelled._repr_html_().count("<table>") == 2


def test_nothing_of_it_is_loaded_before_it_is_requested():
    assert jupyter.as_html.__module__ == "eigentree.integrations.jupyter"
    from eigentree._core.display import DRAWN_BY, NotebookDisplay

    assert jupyter.__name__ == DRAWN_BY
    assert NotebookDisplay.__slots__ == ()
    with pytest.raises(AttributeError):
        TREE.anything = 1  # a mixin must not open the tree
