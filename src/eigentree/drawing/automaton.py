"""Graphs of an automaton's states, as tables of text and in the DOT language of Graphviz."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from eigentree._core.printable import visible
from eigentree.errors import counted
from eigentree.evaluation.tables.table import TextTable, format_table

if TYPE_CHECKING:
    from eigentree.automata.state_graph import Prefix, State, StateGraph

# The share of a state's visits below which its transitions are hidden.
MIN_SHARE = 0.03
# Symbols that the label of a transition names; it counts the others.
MAX_SYMBOLS = 3
NO_SYMBOL = "·"  # represents the empty prefix


class DrawnTransition(NamedTuple):
    """All transitions from one state to another.

    Attributes
    ----------
    source, target
        Numbers of the states.
    symbols
        Symbols that the label names, the most frequent first.
    n_more
        Number of symbols that are too rare to be named.
    times
        How often the sequences take the transitions.
    share
        The same as a share of the visits of the source, 0 to 1.
    """

    source: int
    target: int
    symbols: tuple[str, ...]
    n_more: int
    times: int
    share: float


def drawn_transitions(graph: StateGraph, min_share: float = MIN_SHARE) -> list[DrawnTransition]:
    """The transitions that are drawn.

    Parameters
    ----------
    graph
        The graph.
    min_share
        Transitions with a smaller share of their source's visits are hidden, unless there is no
        other path to a state; labels name the symbols with at least this share, but at least one.

    Returns
    -------
    list of DrawnTransition
        Sorted by source and target.
    """
    all_drawn: list[DrawnTransition] = []
    by_ends = sorted(graph.transitions, key=lambda each: (each.source, each.target, -each.times))
    for (source, target), group in groupby(by_ends, lambda each: (each.source, each.target)):
        members = list(group)
        count = sum(each.times for each in members)
        named = [each.symbol for each in members if graph.share(each) >= min_share]
        named = (named or [members[0].symbol])[:MAX_SYMBOLS]
        share = count / graph.states[source].visits
        n_more = len(members) - len(named)
        all_drawn.append(DrawnTransition(source, target, tuple(named), n_more, count, share))
    # The most frequent transitions that reach all states.
    needed: set[DrawnTransition] = set()
    reached = {0}
    while onwards := [
        each for each in all_drawn if each.source in reached and each.target not in reached
    ]:
        best = max(onwards, key=lambda each: each.times)
        needed.add(best)
        reached.add(best.target)
    return [each for each in all_drawn if each.share >= min_share or each in needed]


def draw_graph_text(graph: StateGraph, title: str, *, min_share: float = MIN_SHARE) -> str:
    """Draw a graph of states as two tables, of states, counted from 1, and of transitions.

    Parameters
    ----------
    graph, min_share
        As in `drawn_transitions`.
    title
        The first line.

    Returns
    -------
    str
        Lines, without a newline at the end.
    """
    states = [
        [
            str(number),
            f"{state.visits:,}",
            _percent(state.stops, state.visits),
            _percent(state.lost, state.visits),
            _prefixes(state),
        ]
        for number, state in enumerate(graph.states, start=1)
    ]
    shown = [each for each in graph.transitions if graph.share(each) >= min_share]
    steps = [
        [
            str(each.source + 1),
            visible(each.symbol),
            str(each.target + 1),
            f"{each.times:,}",
            f"{100 * graph.share(each):.1f}",
        ]
        for each in shown
    ]
    tables = [
        TextTable("", ["state", "visits", "stop, %", "lost, %", "frequent prefixes"], states),
        TextTable("", ["from", "symbol", "to", "count", "%"], steps),
    ]
    lines = [visible(title), *map(visible, _notes(graph)), ""]
    lines += [format_table(tables[0]), "", format_table(tables[1])]
    if len(shown) < len(graph.transitions):
        rest = [each for each in graph.transitions if graph.share(each) < min_share]
        lines.append(
            f"hidden: {len(rest)} with less than {100 * min_share:g} % of visits, "
            f"{sum(each.times for each in rest):,} steps in total"
        )
    return "\n".join(lines)


def draw_graph_dot(graph: StateGraph, title: str, *, min_share: float = MIN_SHARE) -> str:
    """Draw a graph of states, counted from 1, in the DOT language of Graphviz, with start and stop.

    Parameters
    ----------
    graph, min_share
        As in `drawn_transitions`.
    title
        The label of the graph.

    Returns
    -------
    str
        A digraph that ends with a newline.
    """
    lines = [
        f"digraph {_quoted(title)} {{",
        f"  graph [rankdir=LR, label={_quoted(title)}];",
        "  start [shape=plaintext, label=START];",
        "  stop [shape=plaintext, label=STOP];",
        "  start -> 1;",
    ]
    for number, state in enumerate(graph.states, start=1):
        share = state.stops / state.visits
        shape = "doublecircle" if share >= 0.5 else "circle"
        lines.append(f"  {number} [shape={shape}, tooltip={_quoted(_prefixes(state))}];")
        if state.stops and share >= min_share:
            lines.append(f"  {number} -> stop [style=dotted, label={_quoted(f'{share:.0%}')}];")
    lines += [
        f"  {each.source + 1} -> {each.target + 1} [label={_quoted(_label(each))}];"
        for each in drawn_transitions(graph, min_share)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _label(transition: DrawnTransition) -> str:
    more = f" +{transition.n_more}" if transition.n_more else ""
    return " ".join(map(visible, transition.symbols)) + more


def _prefixes(state: State) -> str:
    """The most frequent prefixes of a state, with their counts."""
    shown = ", ".join(f"{_prefix(prefix)} ({count:,})" for prefix, count in state.prefixes)
    more = state.n_prefixes - len(state.prefixes)
    return f"{shown} and {more} more" if more else shown


def _prefix(prefix: Prefix) -> str:
    return " ".join(map(visible, prefix)) or NO_SYMBOL


def _notes(graph: StateGraph) -> list[str]:
    notes = [
        f"{graph.n_sequences:,} sequences; prefixes of {graph.least_count} or more were clustered; "
        f"{counted(graph.n_clusters, 'cluster')}, merged into "
        f"{counted(len(graph.states), 'state')}"
    ]
    if graph.n_without:
        notes.append(f"prefixes without a value under the automaton: {graph.n_without}")
    return notes


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f}"


def _quoted(text: str) -> str:
    """A DOT string, in which a backslash would begin an escape."""
    escaped_text = visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped_text}"'
