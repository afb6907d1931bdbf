"""Graphs of states as text and DOT: everything is there, and escaped."""

from __future__ import annotations

import re

import numpy as np
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
    draw_graph_dot,
    draw_graph_text,
    drawn_transitions,
)
from tests.oracles.automata import draw, random_automaton, random_operators

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
    found = {
        (arc.source, arc.target): (arc.symbols, arc.n_more)
        for arc in drawn_transitions(GRAPH, 0.05)
    }
    # The arc to state 2 is rare, but there is no other.
    assert found == {(0, 1): (("the",), 1), (0, 2): (("x",), 0), (1, 1): (("the",), 0)}
    assert {(arc.source, arc.target) for arc in drawn_transitions(GRAPH, 0.2)} == {(0, 1), (0, 2)}
    assert sum(arc.times for arc in drawn_transitions(GRAPH, 0.0)) == 72


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]))
def test_every_state_can_be_reached_by_what_is_drawn(seed, min_share):
    graph = random_graph(seed)
    shown = drawn_transitions(graph, min_share)
    reached = {0}
    for _ in graph.states:
        reached |= {arc.target for arc in shown if arc.source in reached}
    assert reached == set(range(len(graph.states)))


def test_text_has_the_figures():
    text = draw_graph_text(GRAPH, "left of X", min_share=0.05)
    rows = [line.split() for line in text.splitlines()]
    assert text.startswith("left of X\n100 sequences; prefixes of 2 or more were clustered; 3 clu")
    assert ["1", "100", "38.0", "0.0", "·", "(100)"] in rows
    assert "the (58), x the (2) and 2 more" in text
    assert ["1", "the", "2", "58", "58.0"] in rows
    assert ["2", "the", "2", "10", "14.3"] in rows
    assert text.endswith("hidden: 2 with less than 5 % of visits, 4 steps in total")
    assert "hidden" not in draw_graph_text(GRAPH, "left of X", min_share=0.0)


def test_dot_has_start_stop_and_quotes():
    graph = StateGraph(
        (State((PrefixCount((), 4),), 1, 8, 4, 0),), (Transition(0, '"\\N', 0, 4),), 4, 1, 1
    )
    dot = draw_graph_dot(graph, 'of "x"')
    assert dot.startswith('digraph "of \\"x\\"" {\n')
    assert "  start -> 1;\n" in dot
    assert '  1 -> stop [style=dotted, label="50%"];\n' in dot
    assert '  1 -> 1 [label="\\"\\\\N"];\n' in dot
    assert dot.endswith("}\n")
    bare = re.sub(r'"(?:\\.|[^"\\])*"', "", dot)
    assert '"' not in bare
