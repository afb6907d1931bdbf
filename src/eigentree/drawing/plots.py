"""Plots of points and lines as SVG, for a page that styles them.

Colours are classes (``s0`` to ``s7``, ``reference``), so that a page can be light or dark and
print well; each point carries its values as a title that browsers show.  Equal input gives
equal bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from eigentree._core.printable import columns, visible

WIDTH, HEIGHT = 760, 430
LEFT, RIGHT, BOTTOM = 58, 22, 50
LEGEND_LINE = 22
LETTER = 6.6  # width of a letter, about
N_COLOURS = 8

_Box = tuple[float, float, float, float]  # left, top, right, bottom


class Point(NamedTuple):
    """A point; ``title`` is its tooltip, ``low`` and ``high`` are the ends of its interval."""

    x: float
    y: float
    title: str
    label: str = ""
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """Points of one kind.

    ``colour`` counts from 0, None is for references; a series without a name is not in the
    legend and takes the form of its colour.  ``shift`` moves all of it to the right, so that
    intervals at the same values are side by side.
    """

    name: str
    points: Sequence[Point]
    colour: int | None
    line: bool = True
    marks: bool = True
    hollow: bool = False
    shift: float = 0.0


class _Scale:
    """From values to places along one axis."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, log: bool) -> None:
        self.log = log
        low, high = (self._of(value) for value in (min(values), max(values)))
        room = 0.06 * (high - low) or (0.15 if log else max(1.0, 0.05 * abs(high)))
        self._low, self._high, self._start, self._end = low - room, high + room, start, end

    def _of(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def __call__(self, value: float) -> float:
        share = (self._of(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[tuple[float, str]]:
        """Round values within the axis, with their names."""
        if self.log:
            powers = range(math.floor(self._low), math.ceil(self._high) + 1)
            decades = self._high - self._low
            steps = (1, 2, 3, 4, 5, 6, 8) if decades < 0.8 else (1, 2, 5) if decades < 3 else (1,)
            values = [step * 10.0**power for power in powers for step in steps]
        else:
            step = _round_step((self._high - self._low) / 7)
            first, last = math.ceil(self._low / step), math.floor(self._high / step)
            values = [number * step for number in range(first, last + 1)]
        shown = [value for value in values if self._low <= self._of(value) <= self._high]
        return self.named(shown)

    @staticmethod
    def named(values: Sequence[float]) -> list[tuple[float, str]]:
        return [(value, f"{value:,.10g}") for value in values]


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * 0.999)


def plot(
    title: str,
    description: str,
    series: Sequence[Series],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    x_ticks: Sequence[float] | None = None,
    name: str = "plot",
) -> str:
    """Draw series of points.

    Parameters
    ----------
    title, description
        For those who do not see the plot.
    series
        At least one with a point.
    x_label, y_label
        What the axes show.
    log_x
        Whether the horizontal axis is logarithmic.
    x_ticks
        Values that it names, where round ones would not do.
    name
        Unique in the page; parts of the SVG refer to one another by it.
    """
    points = [point for one in series for point in one.points]
    legend = list(_legend([one for one in series if one.name]))
    top = 12 + LEGEND_LINE * (1 + max((line for line, _, _ in legend), default=-1))
    x = _Scale([point.x for point in points], LEFT, WIDTH - RIGHT, log=log_x)
    ends = [end for point in points for end in (point.low, point.y, point.high) if end is not None]
    y = _Scale(ends, HEIGHT - BOTTOM, top, log=False)
    drawn = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" xmlns="http://www.w3.org/2000/svg">',
        f'<title id="{name}-title">{_text(title)}</title>',
        f'<desc id="{name}-desc">{_text(description)}</desc>',
        *_axes(x, y, top, x.named(x_ticks) if x_ticks else x.ticks(), x_label, y_label),
    ]
    # Lines below, then marks, and labels where these leave room.
    for one in series:
        drawn.extend(_lines(one, x, y))
    taken: list[tuple[_Box, int]] = []  # and how bad it is to write over it
    for one in series:
        if one.line:
            corners = [(x(point.x) + one.shift, y(point.y)) for point in one.points]
            taken.extend((box, 1) for box in _along(corners))
        for point in one.points if one.marks else ():
            px, py = x(point.x) + one.shift, y(point.y)
            taken.append(((px - 5, py - 5, px + 5, py + 5), 5))
            drawn.append(_mark(one, px, py, point.title))
    bounds = (LEFT, top, WIDTH - RIGHT + 18, HEIGHT - BOTTOM)
    for one in series:
        for point in one.points:
            if point.label:
                at = x(point.x) + one.shift
                drawn.append(_label(one, at, y(point.y), point.label, taken, bounds))
    for line, begin, one in legend:
        at = 14 + LEGEND_LINE * line
        if one.line:
            path = f"M{begin:.1f} {at}h22"
            drawn.append(f'<path class="line {_class(one)}" d="{path}"/>')
        if one.marks:
            drawn.append(_mark(one, begin + 11, at, ""))
        drawn.append(
            f'<text class="key" x="{begin + 30:.1f}" y="{at + 4}">{_text(one.name)}</text>'
        )
    return "\n".join([*drawn, "</svg>"])


def _text(text: str) -> str:
    return escape(visible(text))


def _class(one: Series) -> str:
    kind = "reference" if one.colour is None else f"s{one.colour % N_COLOURS}"
    return f"{kind} hollow" if one.hollow else kind


def _legend(series: Sequence[Series]) -> Iterator[tuple[int, float, Series]]:
    """Line and place of each name."""
    line, begin = 0, float(LEFT)
    for one in series:
        width = 30 + LETTER * columns(one.name) + 22
        if begin + width > WIDTH and begin > LEFT:
            line, begin = line + 1, float(LEFT)
        yield line, begin, one
        begin += width


def _axes(
    x: _Scale,
    y: _Scale,
    top: float,
    x_ticks: Sequence[tuple[float, str]],
    x_label: str,
    y_label: str,
) -> Iterator[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for value, shown in y.ticks():
        at = y(value)
        yield f'<path class="grid" d="M{LEFT} {at:.1f}H{right}"/>'
        yield f'<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{shown}</text>'
    for value, shown in x_ticks:
        at = x(value)
        yield f'<path class="grid" d="M{at:.1f} {top}V{bottom}"/>'
        yield (
            f'<text class="tick" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{shown}</text>'
        )
    yield f'<path class="axis" d="M{LEFT} {bottom}H{right}"/>'
    middle = (LEFT + right) / 2
    yield (
        f'<text class="name" x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{_text(x_label)}</text>"
    )
    across = (top + bottom) / 2
    yield (
        f'<text class="name" transform="translate(16 {across:.1f}) rotate(-90)" '
        f'text-anchor="middle">{_text(y_label)}</text>'
    )


def _lines(one: Series, x: _Scale, y: _Scale) -> Iterator[str]:
    for point in one.points:
        if point.low is not None and point.high is not None:
            at = x(point.x) + one.shift
            path = f"M{at:.1f} {y(point.low):.1f}V{y(point.high):.1f}"
            yield f'<path class="interval {_class(one)}" d="{path}"/>'
    if one.line and len(one.points) > 1:
        path = "L".join(f"{x(point.x) + one.shift:.1f} {y(point.y):.1f}" for point in one.points)
        thin = "" if one.marks else " thin"
        yield f'<path class="line {_class(one)}{thin}" d="M{path}"/>'


def _mark(one: Series, px: float, py: float, title: str) -> str:
    """A marker with a shape for each colour, so that series differ without colour."""
    if one.colour is None:
        path = f"M{px:.1f} {py - 6:.1f}l6 6l-6 6l-6 -6z"
    elif one.colour % 4 == 0:
        path = f"M{px - 5:.1f} {py:.1f}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"
    elif one.colour % 4 == 1:
        path = f"M{px - 4.5:.1f} {py - 4.5:.1f}h9v9h-9z"
    elif one.colour % 4 == 2:
        path = f"M{px:.1f} {py - 6:.1f}l5.5 10h-11z"
    else:
        path = f"M{px:.1f} {py + 6:.1f}l5.5 -10h-11z"
    tooltip = f"<title>{_text(title)}</title>" if title else ""
    return f'<path class="mark {_class(one)}" d="{path}">{tooltip}</path>'


def _label(
    one: Series,
    px: float,
    py: float,
    label: str,
    taken: list[tuple[_Box, int]],
    bounds: _Box,
) -> str:
    """A label beside its point, where it covers least, the first place of equals."""
    width = LETTER * columns(label)
    corners = [
        (px + 9, py - 6),
        (px - 9 - width, py - 6),
        (px - width / 2, py - 22),
        (px - width / 2, py + 9),
        (px + 7, py - 19),
        (px + 7, py + 6),
        (px - 7 - width, py - 19),
        (px - 7 - width, py + 6),
        (px - width / 2, py - 36),
        (px - width / 2, py + 23),
    ]
    # A long name near the right end may begin to the left of its point.
    corners += [(bounds[2] - width, py + down) for down in (-22, 9, -36, 23)]
    boxes = [(left, up, left + width, up + 13) for left, up in corners]
    inside = [
        box
        for box in boxes
        if box[0] >= bounds[0] and box[1] >= bounds[1]
        if box[2] <= bounds[2] and box[3] <= bounds[3]
    ]
    box = min(
        inside or boxes, key=lambda box: sum(bad for other, bad in taken if _meet(box, other))
    )
    taken.append((box, 20))
    return (
        f'<text class="label {_class(one)}" x="{box[0]:.1f}" y="{box[1] + 10.5:.1f}">'
        f"{_text(label)}</text>"
    )


def _along(corners: Sequence[tuple[float, float]]) -> Iterator[_Box]:
    """Small boxes on a line, so that no label is written over it."""
    for (x0, y0), (x1, y1) in pairwise(corners):
        steps = max(1, round(math.hypot(x1 - x0, y1 - y0) / LETTER))
        for step in range(1, steps):
            at, up = x0 + (x1 - x0) * step / steps, y0 + (y1 - y0) * step / steps
            yield at - 1, up - 1, at + 1, up + 1


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
