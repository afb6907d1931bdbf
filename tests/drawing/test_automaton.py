"""Graphs of states as text, DOT and SVG: all is there, escaped, and labels keep apart."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.automata.sequences import Sequences
from eigentree.automata.state_graph import (
    PrefixCount,
    State,
    StateGraph,
    StateGraphOptions,
    Transition,
    state_graph,
)
from eigentree.drawing.automaton import (
    LABEL_SIZE,
    arcs,
    draw_graph_dot,
    draw_graph_svg,
    draw_graph_text,
)
from eigentree.drawing.tree_svg import text_width
from tests.oracles.automata import draw, random_automaton, random_operators

NAME = "{http://www.w3.org/2000/svg}"

# Of 100 sequences 60 read "the", 2 of which a rare way, and 40 stop at once.
GRAPH = StateGraph(
    (
        State((PrefixCount((), 100),), 1, 100, 38, 0),
        State((PrefixCount(("the",), 58), PrefixCount(("x", "the"), 2)), 4, 70, 60, 0),
        State((PrefixCount(("x",), 2),), 1, 2, 2, 0),
    ),
    (
        Transition(0, "the", 1, 58),
        Transition(0, "a", 1, 2),
        Transition(0, "x", 2, 2),
        Transition(1, "the", 1, 10),
    ),
    100,
    2,
    3,
)


def random_graph(seed, clusters=6):
    rng = np.random.default_rng(seed)
    sequences = draw(random_automaton(3, "abcd", rng), 150, rng)
    model = random_operators(4, "abcd", rng)
    options = StateGraphOptions(clusters, least_count=10)
    return state_graph(model, Sequences.of(sequences, "abcd"), options)


def test_rare_arcs_and_symbols_are_hidden_but_no_state():
    found = {(arc.source, arc.target): (arc.symbols, arc.n_more) for arc in arcs(GRAPH, 0.05)}
    # The arc to state 2 is rare, but there is no other.
    assert found == {(0, 1): (("the",), 1), (0, 2): (("x",), 0), (1, 1): (("the",), 0)}
    assert {(arc.source, arc.target) for arc in arcs(GRAPH, 0.2)} == {(0, 1), (0, 2)}
    assert sum(arc.times for arc in arcs(GRAPH, 0.0)) == 72


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]))
def test_every_state_can_be_reached_by_what_is_drawn(seed, least_share):
    graph = random_graph(seed)
    shown = arcs(graph, least_share)
    reached = {0}
    for _ in graph.states:
        reached |= {arc.target for arc in shown if arc.source in reached}
    assert reached == set(range(len(graph.states)))


def test_text_has_the_figures():
    text = draw_graph_text(GRAPH, "left of X", least_share=0.05)
    rows = [line.split() for line in text.splitlines()]
    assert text.startswith("left of X\n100 sequences; prefixes of 2 or more were clustered; 3 clu")
    assert ["0", "100", "38.0", "0.0", "·", "(100)"] in rows
    assert "the (58), x the (2) and 2 more" in text
    assert ["0", "the", "1", "58", "58.0"] in rows
    assert ["1", "the", "1", "10", "14.3"] in rows
    assert text.endswith("and 2 that less than 5 % of visits take, 4 times in all")
    assert "take" not in draw_graph_text(GRAPH, "left of X", least_share=0.0)


def test_dot_has_start_stop_and_quotes():
    graph = StateGraph(
        (State((PrefixCount((), 4),), 1, 8, 4, 0),), (Transition(0, '"\\N', 0, 4),), 4, 1, 1
    )
    dot = draw_graph_dot(graph, 'of "x"')
    assert dot.startswith('digraph "of \\"x\\"" {\n')
    assert "  start -> 0;\n" in dot
    assert '  0 -> stop [style=dotted, label="50%"];\n' in dot
    assert '  0 -> 0 [label="\\"\\\\N"];\n' in dot
    assert dot.endswith("}\n")
    bare = re.sub(r'"(?:\\.|[^"\\])*"', "", dot)
    assert '"' not in bare


def test_svg_is_well_formed_and_escaped():
    symbol = "\"><script>alert('x')</script>&amp;\x07"
    graph = StateGraph(
        (State((PrefixCount((symbol,), 4),), 1, 8, 4, 0),), (Transition(0, symbol, 0, 4),), 4, 1, 1
    )
    drawing = draw_graph_svg(graph, symbol)
    root = ElementTree.fromstring(drawing.encode())
    known = {"svg", "title", "desc", "defs", "marker", "path", "rect", "g", "text"}
    assert {element.tag.removeprefix(NAME) for element in root.iter()} == known
    assert "<script" not in drawing
    shown = symbol.replace("\x07", "\u2407")
    assert root[0].text == shown
    assert root.get("aria-labelledby") == "title desc"
    (label,) = (text[0].tail for text in root.iter(f"{NAME}text") if len(text))
    assert label == shown


def test_svg_says_in_words_what_it_shows():
    root = ElementTree.fromstring(draw_graph_svg(GRAPH, "left of X", least_share=0.05).encode())
    assert root[1].tag == f"{NAME}desc"
    assert root[1].text == (
        "state 0 stops at 38% of 100 visits, the +1 to 1 (60%), x to 2 (2%); "
        "state 1 stops at 86% of 70 visits, the to 1 (14%); state 2 stops at 100% of 2 visits"
    )
    texts = ["".join(text.itertext()) for text in root.iter(f"{NAME}text")]
    assert {"START", "STOP 38%", "STOP 86%", "STOP 100%", "0", "1", "2"} <= set(texts)


@pytest.mark.parametrize("seed", range(12))
def test_labels_and_lines_keep_apart(seed):
    graph = random_graph(seed, clusters=4 + seed % 5)
    drawing = draw_graph_svg(graph, "t", least_share=0.0)
    root = ElementTree.fromstring(drawing.encode())
    width, height = float(root.get("width")), float(root.get("height"))
    group = next(g for g in root.iter(f"{NAME}g") if g.get("paint-order"))
    boxes = []
    for text in group:
        half = text_width(text[0].tail, LABEL_SIZE) / 2
        x, y = float(text.get("x")), float(text.get("y"))
        boxes.append((x - half, x + half, y - LABEL_SIZE, y))
    assert len(boxes) == len(arcs(graph, 0.0))
    for one, other in combinations(boxes, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart
    ends = [
        (side, float(x))
        for path in root.iter(f"{NAME}path")
        if (found := re.fullmatch(r"M(\S+) (\S+?)V.*Q(\S+) .*V\S+", path.get("d")))
        for side, x in ((found[2], found[1]), (found[2], found[3]))
    ]
    assert len(set(ends)) == len(ends) == 2 * len(boxes)
    shift = [float(v) for v in re.search(r"translate\(([\d.]+) ([\d.]+)\)", drawing).groups()]
    for left, right, top, bottom in boxes:
        assert min(left + shift[0], top + shift[1]) >= 0
        assert right + shift[0] <= width
        assert bottom + shift[1] <= height


def test_equal_graphs_give_equal_pictures():
    assert draw_graph_svg(random_graph(1), "t") == draw_graph_svg(random_graph(1), "t")
