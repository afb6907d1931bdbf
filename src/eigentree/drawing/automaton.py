"""Graphs of an automaton's states: as text, in the language of Graphviz, and as a picture.

The picture has the states in a row, in the order in which they are usually reached.  Arcs to later
states go above the row, those to earlier ones and to the same state below it.  Each arc goes up or
down from its state, along a line of its own, and to the other state, so that no label meets
another, however many arcs there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from eigentree._core.printable import visible
from eigentree.drawing.tree_svg import FONT, INK, LINE, MARGIN, WORD_INK, escaped, plain, text_width
from eigentree.errors import counted
from eigentree.evaluation.tables.table import TextTable, format_table

if TYPE_CHECKING:
    from eigentree.automata.state_graph import Prefix, State, StateGraph

LEAST_SHARE = 0.03
# Symbols that an arc names; it tells how many others there are.
MOST_SYMBOLS = 3
NO_SYMBOL = "·"  # stands for the empty prefix

LABEL_SIZE, STATE_SIZE, NOTE_SIZE = 12, 15, 12
PORT = 18  # from one arc to the next at a state
LEVEL = 26  # from one line of arcs to the next
STATE_HEIGHT, STATE_WIDTH = 44, 76
BEFORE = 70  # room for the start
GAP = 46  # between states
CORNER = 7
TITLE_ROOM = 46
NOTE_LINE = 18
KEY_COLUMNS = (0.0, 24.0, 134.0, 234.0)
FILL, STOPPING = "#f2f0e6", "#8cbeeb"


class Arc(NamedTuple):
    """What leads from one state to another: its symbols, the most frequent first, and all shown.

    ``n_more`` symbols are too rare to be named.
    """

    source: int
    target: int
    symbols: tuple[str, ...]
    n_more: int
    times: int
    share: float


def arcs(graph: StateGraph, least_share: float = LEAST_SHARE) -> list[Arc]:
    """The arcs between states that are drawn.

    Parameters
    ----------
    graph
    least_share
        Arcs that fewer of their source's visits take are left out, unless no other way leads to
        a state; of the symbols of an arc only those that as many take are named, but one always.

    Returns
    -------
    list of Arc
        By source and target.
    """
    every: list[Arc] = []
    by_ends = sorted(graph.transitions, key=lambda each: (each.source, each.target, -each.times))
    for (source, target), group in groupby(by_ends, lambda each: (each.source, each.target)):
        own = list(group)
        count = sum(each.times for each in own)
        named = [each.symbol for each in own if graph.share(each) >= least_share]
        named = (named or [own[0].symbol])[:MOST_SYMBOLS]
        share = count / graph.states[source].visits
        every.append(Arc(source, target, tuple(named), len(own) - len(named), count, share))
    # The most frequent arcs that reach all states.
    needed: set[Arc] = set()
    reached = {0}
    while onwards := [
        each for each in every if each.source in reached and each.target not in reached
    ]:
        best = max(onwards, key=lambda each: each.times)
        needed.add(best)
        reached.add(best.target)
    return [each for each in every if each.share >= least_share or each in needed]


def draw_graph_text(graph: StateGraph, title: str, *, least_share: float = LEAST_SHARE) -> str:
    """Tables of the states and of the transitions that ``least_share`` of visits take.

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
        for number, state in enumerate(graph.states)
    ]
    shown = [each for each in graph.transitions if graph.share(each) >= least_share]
    steps = [
        [
            str(each.source),
            visible(each.symbol),
            str(each.target),
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
        rest = [each for each in graph.transitions if graph.share(each) < least_share]
        lines.append(
            f"and {len(rest)} that less than {100 * least_share:g} % of visits take, "
            f"{sum(each.times for each in rest):,} times in all"
        )
    return "\n".join(lines)


def draw_graph_dot(graph: StateGraph, title: str, *, least_share: float = LEAST_SHARE) -> str:
    """The arcs of `arcs` in the language of Graphviz, with a node for the start and the end.

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
        "  start -> 0;",
    ]
    for number, state in enumerate(graph.states):
        share = state.stops / state.visits
        shape = "doublecircle" if share >= 0.5 else "circle"
        lines.append(f"  {number} [shape={shape}, tooltip={_quoted(_prefixes(state))}];")
        if state.stops and share >= least_share:
            lines.append(f"  {number} -> stop [style=dotted, label={_quoted(f'{share:.0%}')}];")
    lines += [
        f"  {arc.source} -> {arc.target} [label={_quoted(_label(arc))}];"
        for arc in arcs(graph, least_share)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def draw_graph_svg(graph: StateGraph, title: str, *, least_share: float = LEAST_SHARE) -> str:
    """The arcs of `arcs` as an SVG document, and below them what stands for each state.

    Returns
    -------
    str
        An SVG 1.1 document that ends with a newline; symbols may be any text, they are escaped.
    """
    shown = arcs(graph, least_share)
    figure = _figure(graph, shown)
    notes = [*_notes(graph), *_rest(graph, shown, least_share)]
    key = _key(graph, notes, figure.bottom + 2 * NOTE_LINE)
    left = min(figure.left, 0.0)
    right = max(figure.right, key.right, text_width(title, STATE_SIZE, bold=True))
    across, down = plain(right - left + 2 * MARGIN), plain(key.bottom + 2 * MARGIN)
    spoken = "; ".join(_sentence(number, state, shown) for number, state in enumerate(graph.states))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" '
        f'viewBox="0 0 {across} {down}" role="img" aria-labelledby="title desc" '
        f'font-family="{FONT}">\n'
        f'<title id="title">{escaped(title)}</title>\n<desc id="desc">{escaped(spoken)}</desc>\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 0L8 4L0 8Z" fill="{LINE}"/></marker></defs>\n'
        f'<rect width="{across}" height="{down}" fill="#ffffff"/>\n'
        f'<g transform="translate({plain(MARGIN - left)} {MARGIN})">\n'
        f'<text x="0" y="{STATE_SIZE}" font-size="{STATE_SIZE}" font-weight="bold" fill="{INK}">'
        f"{escaped(title)}</text>\n{figure.body}{key.body}</g>\n</svg>\n"
    )


class _Figure(NamedTuple):
    """A part of the picture and the room that it takes; all begins at 0, or left of it."""

    body: str
    left: float
    right: float
    bottom: float


def _figure(graph: StateGraph, shown: Sequence[Arc]) -> _Figure:
    """The states in their row, with the arcs above and below."""
    forward = [arc for arc in shown if arc.target > arc.source]
    back = [arc for arc in shown if arc.target <= arc.source]
    states = range(len(graph.states))
    above = [_ports(forward, state) for state in states]
    below = [_ports(back, state) for state in states]
    width: list[float] = []
    centre: list[float] = []
    right = float(BEFORE - GAP)
    for state in states:
        n_ports = max(len(above[state]), len(below[state]))
        # The label of a loop has the width of its state to itself.
        loop = max((_room(arc) for arc in back if arc.source == arc.target == state), default=0.0)
        width.append(max(STATE_WIDTH, (n_ports + 1) * PORT, loop - GAP + 8))
        centre.append(right + GAP + width[-1] / 2)
        right += GAP + width[-1]

    def lines(own: list[Arc], ports: list[list[tuple[Arc, bool]]]) -> list[_Line]:
        at = {
            port: centre[state] + PORT * (place - (len(ports[state]) - 1) / 2)
            for state in states
            for place, port in enumerate(ports[state])
        }
        return _levels([(arc, at[arc, True], at[arc, False]) for arc in own])

    over, under = lines(forward, above), lines(back, below)
    top = TITLE_ROOM + LEVEL * _n_levels(over)
    edges = [(over, top, -1), (under, top + STATE_HEIGHT, 1)]
    paths = [_line(line, edge, way) for own, edge, way in edges for line in own]
    labels = [_line_label(line, edge, way, graph) for own, edge, way in edges for line in own]
    boxes = [
        _state(number, state, centre[number], width[number], top)
        for number, state in enumerate(graph.states)
    ]
    middle = top + STATE_HEIGHT / 2
    body = (
        f'<text x="{plain(BEFORE - 30)}" y="{plain(middle + 4)}" text-anchor="end" '
        f'font-size="{LABEL_SIZE}" fill="{INK}">START</text>\n'
        f'<g fill="none" stroke="{LINE}">\n<path d="M{plain(BEFORE - 26)} {plain(middle)}'
        f'H{plain(BEFORE - 3)}" stroke-width="1.2" marker-end="url(#head)"/>\n'
        f"{''.join(paths)}</g>\n{''.join(boxes)}"
        # Lines of other arcs may run behind a label, which has a white rim.
        f'<g font-size="{LABEL_SIZE}" fill="{WORD_INK}" text-anchor="middle" stroke="#ffffff" '
        f'stroke-width="4" stroke-linejoin="round" paint-order="stroke">\n{"".join(labels)}</g>\n'
    )
    left = min((line.left for line in (*over, *under)), default=0.0)
    right = max([right, *(line.right for line in (*over, *under))])
    return _Figure(body, left, right, top + STATE_HEIGHT + LEVEL * _n_levels(under))


def _key(graph: StateGraph, notes: Sequence[str], top: float) -> _Figure:
    """Notes, and a line for each state."""
    rows = [
        (
            str(number),
            f"{state.visits:,} visits",
            f"STOP {_percent(state.stops, state.visits)} %",
            _prefixes(state),
        )
        for number, state in enumerate(graph.states)
    ]
    lines = [*(((0.0, note),) for note in notes), ()]
    lines += [tuple(zip(KEY_COLUMNS, row, strict=True)) for row in rows]
    body = "".join(
        f'<text x="{plain(x)}" y="{plain(top + NOTE_LINE * place)}">{escaped(text)}</text>\n'
        for place, line in enumerate(lines)
        for x, text in line
    )
    right = max(x + text_width(text, NOTE_SIZE) for line in lines for x, text in line)
    body = f'<g font-size="{NOTE_SIZE}" fill="{WORD_INK}">\n{body}</g>\n'
    return _Figure(body, 0.0, right, top + NOTE_LINE * (len(lines) - 1))


class _Line(NamedTuple):
    """An arc in the plane: where it begins and ends, and the room of its line and label."""

    arc: Arc
    begin: float
    end: float
    left: float
    right: float
    level: int


def _ports(own: Sequence[Arc], state: int) -> list[tuple[Arc, bool]]:
    """The ends of arcs at a state, from left to right; True where the arc begins.

    What goes further lies further out, so it has to leave nearer the middle.
    """

    def other(end: tuple[Arc, bool]) -> int:
        return end[0].target if end[1] else end[0].source

    ends = [(arc, True) for arc in own if arc.source == state]
    ends += [(arc, False) for arc in own if arc.target == state]
    before = sorted((end for end in ends if other(end) < state), key=other, reverse=True)
    same = [end for end in ends if other(end) == state]
    after = sorted((end for end in ends if other(end) > state), key=other, reverse=True)
    return [*before, *same, *after]


def _levels(own: Sequence[tuple[Arc, float, float]]) -> list[_Line]:
    """Give each arc the nearest level where neither its line nor its label meets another."""
    placed: list[_Line] = []
    for arc, begin, end in sorted(own, key=lambda each: abs(each[2] - each[1])):
        middle, half = (begin + end) / 2, max(abs(end - begin), _room(arc)) / 2
        left, right = middle - half, middle + half
        taken = {line.level for line in placed if line.left < right and left < line.right}
        level = next(level for level in range(len(taken) + 1) if level not in taken)
        placed.append(_Line(arc, begin, end, left, right, level))
    return placed


def _n_levels(own: Sequence[_Line]) -> int:
    return 1 + max((line.level for line in own), default=0)


def _line(line: _Line, edge: float, way: int) -> str:
    """An arc from the edge of the row outwards, along, and back; ``way`` is -1 for upwards."""
    arc, begin, end = line.arc, line.begin, line.end
    height = edge + way * LEVEL * (line.level + 1)
    turn = CORNER if end > begin else -CORNER
    path = (
        f"M{plain(begin)} {plain(edge)}V{plain(height - way * CORNER)}"
        f"Q{plain(begin)} {plain(height)} {plain(begin + turn)} {plain(height)}"
        f"H{plain(end - turn)}"
        f"Q{plain(end)} {plain(height)} {plain(end)} {plain(height - way * CORNER)}"
        f"V{plain(edge + 3 * way)}"
    )
    thickness = plain(1.0 + 2.0 * arc.share)
    return f'<path d="{path}" stroke-width="{thickness}" marker-end="url(#head)"/>\n'


def _line_label(line: _Line, edge: float, way: int, graph: StateGraph) -> str:
    """The symbols of an arc on the outer side of its line."""
    arc = line.arc
    height = edge + way * LEVEL * (line.level + 1) + (-5 if way < 0 else LABEL_SIZE + 2)
    told = f"{arc.source} to {arc.target}: {arc.times:,} of {graph.states[arc.source].visits:,}"
    return (
        f'<text x="{plain((line.begin + line.end) / 2)}" y="{plain(height)}">'
        f"<title>{escaped(told)}</title>{escaped(_label(arc))}</text>\n"
    )


def _state(number: int, state: State, centre: float, width: float, top: float) -> str:
    """A box with a number and, as far as it is filled, how often sequences stop there."""
    stop = state.stops / state.visits
    box = f'x="{plain(centre - width / 2)}" height="{STATE_HEIGHT}" y="{plain(top)}" rx="6"'
    lower = top + STATE_HEIGHT - 9
    return (
        f"<g><title>{escaped(_prefixes(state))}</title>\n"
        f'<rect {box} width="{plain(width)}" fill="{FILL}"/>\n'
        f'<rect {box} width="{plain(width * stop)}" fill="{STOPPING}"/>\n'
        f'<rect {box} width="{plain(width)}" fill="none" stroke="{INK}" stroke-width="1.2"/>\n'
        f'<text x="{plain(centre)}" y="{plain(top + 19)}" text-anchor="middle" '
        f'font-size="{STATE_SIZE}" font-weight="bold" fill="{INK}">{number}</text>\n'
        f'<text x="{plain(centre)}" y="{plain(lower)}" text-anchor="middle" font-size="11" '
        f'fill="{WORD_INK}">STOP {stop:.0%}</text></g>\n'
    )


def _label(arc: Arc) -> str:
    more = f" +{arc.n_more}" if arc.n_more else ""
    return " ".join(map(visible, arc.symbols)) + more


def _room(arc: Arc) -> float:
    return text_width(_label(arc), LABEL_SIZE) + 10


def _prefixes(state: State) -> str:
    """The most frequent prefixes of a state, with their counts."""
    shown = ", ".join(f"{_prefix(prefix)} ({count:,})" for prefix, count in state.prefixes)
    more = state.n_prefixes - len(state.prefixes)
    return f"{shown} and {more} more" if more else shown


def _prefix(prefix: Prefix) -> str:
    return " ".join(map(visible, prefix)) or NO_SYMBOL


def _sentence(number: int, state: State, shown: Sequence[Arc]) -> str:
    onwards = [
        f"{_label(arc)} to {arc.target} ({arc.share:.0%})" for arc in shown if arc.source == number
    ]
    stops = f"state {number} stops at {state.stops / state.visits:.0%} of {state.visits:,} visits"
    return ", ".join([stops, *onwards])


def _notes(graph: StateGraph) -> list[str]:
    notes = [
        f"{graph.n_sequences:,} sequences; prefixes of {graph.least_count} or more were clustered; "
        f"{counted(graph.n_clusters, 'cluster')}, merged into "
        f"{counted(len(graph.states), 'state')}"
    ]
    if graph.n_without:
        notes.append(f"prefixes that the automaton can't read: {graph.n_without}")
    return notes


def _rest(graph: StateGraph, shown: Sequence[Arc], least_share: float) -> list[str]:
    every = sum(each.times for each in graph.transitions)
    left_out = every - sum(arc.times for arc in shown)
    if not left_out:
        return []
    return [
        f"arcs that less than {100 * least_share:g} % of visits take are left out: "
        f"{left_out:,} of {every:,} steps"
    ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.1f}"


def _quoted(text: str) -> str:
    """A string of Graphviz's, in which a backslash would begin an escape."""
    escaped_text = visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped_text}"'
