"""The drawing surface of pictures: lines, boxes and texts of one SVG document.

The document is as large as its contents.  Text is as wide as in the widest of the fonts
that `eigentree.drawing.tree_svg` names, since no font metrics are available here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from eigentree.drawing.tree_svg import FONT, INK, LEADER, LINE, escaped, plain, text_width
from eigentree.drawing.tree_text import lay_out
from eigentree.treebank.tree import Tree

TEXT = "#222222"
FAINT = "#66707c"
# Pairs of line and fill colours that colour-blind readers can distinguish.
BLUE, BLUE_FILL = "#1d5f9f", "#dcebf8"
ORANGE, ORANGE_FILL = "#b4540a", "#fbe6d3"
GREEN, GREEN_FILL = "#2c7a4b", "#dff1e4"
VIOLET, VIOLET_FILL = "#6b4a9e", "#ebe4f6"
GREY_FILL = "#eef0f3"
SIZE = 13
MARGIN = 18
LEVEL = 46

Point = tuple[float, float]


class Canvas:
    """A picture in the making; x goes to the right and y down, in pixels."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._parts: list[str] = []
        self._low = [float("inf"), float("inf")]
        self._high = [float("-inf"), float("-inf")]
        self._arrows: set[str] = set()

    def _reach(self, *points: Point) -> None:
        for point in points:
            for axis in (0, 1):
                self._low[axis] = min(self._low[axis], point[axis])
                self._high[axis] = max(self._high[axis], point[axis])

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SIZE,
        at: str = "middle",
        colour: str = TEXT,
        bold: bool = False,
        italic: bool = False,
    ) -> None:
        """A line of text whose baseline is at y; `at` is start, middle or end."""
        width = text_width(text, size, bold=bold)
        left = x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[at]
        self._reach((left, y - 0.8 * size), (left + width, y + 0.25 * size))
        weight = ' font-weight="bold"' if bold else ""
        style = ' font-style="italic"' if italic else ""
        self._parts.append(
            f'<text x="{plain(x)}" y="{plain(y)}" font-size="{plain(size)}" text-anchor="{at}" '
            f'fill="{colour}"{weight}{style}>{escaped(text)}</text>'
        )

    def note(self, x: float, y: float, *lines: str, at: str = "start", size: float = 12) -> None:
        """A few small lines."""
        for number, line in enumerate(lines):
            self.text(x, y + number * (size + 5), line, size=size, at=at, colour=FAINT)

    def line(
        self,
        *points: Point,
        colour: str = LINE,
        width: float = 1.2,
        dashed: bool = False,
        arrow: bool = False,
    ) -> None:
        """A line through points, perhaps with a head at its end."""
        start, *others = (f"{plain(x)} {plain(y)}" for x, y in points)
        self._reach(*points)
        self._stroke(f"M{start}L{'L'.join(others)}", colour, width, dashed, arrow)

    def arc(
        self,
        start: Point,
        end: Point,
        height: float,
        *,
        colour: str = LINE,
        width: float = 1.2,
        dashed: bool = False,
        arrow: bool = False,
    ) -> None:
        """A curve from one point to another whose middle is `height` above them, or below."""
        (x, y), (right, bottom) = start, end
        top = (y + bottom) / 2 - height * 4 / 3
        self._reach(start, end, ((x + right) / 2, (y + bottom) / 2 - height))
        path = (
            f"M{plain(x)} {plain(y)}C{plain(x)} {plain(top)} {plain(right)} {plain(top)} "
            f"{plain(right)} {plain(bottom)}"
        )
        self._stroke(path, colour, width, dashed, arrow)

    def _stroke(self, path: str, colour: str, width: float, dashed: bool, arrow: bool) -> None:
        marks = ' stroke-dasharray="3 3"' if dashed else ""
        if arrow:
            self._arrows.add(colour)
            marks += f' marker-end="url(#head-{colour[1:]})"'
        self._parts.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{plain(width)}"{marks}/>'
        )

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        colour: str = "none",
        radius: float = 0,
        dashed: bool = False,
    ) -> None:
        """A rectangle, by its upper left corner."""
        self._reach((x, y), (x + width, y + height))
        corner = f' rx="{plain(radius)}"' if radius else ""
        dash = ' stroke-dasharray="3 3"' if dashed else ""
        self._parts.append(
            f'<rect x="{plain(x)}" y="{plain(y)}" width="{plain(width)}" '
            f'height="{plain(height)}" fill="{fill}" stroke="{colour}"{corner}{dash}/>'
        )

    def dot(self, x: float, y: float, radius: float, *, fill: str, colour: str = "none") -> None:
        """A circle, by its centre."""
        self._reach((x - radius, y - radius), (x + radius, y + radius))
        self._parts.append(
            f'<circle cx="{plain(x)}" cy="{plain(y)}" r="{plain(radius)}" fill="{fill}" '
            f'stroke="{colour}"/>'
        )

    def area(self, *points: Point, fill: str, colour: str = "none") -> None:
        """A polygon."""
        self._reach(*points)
        path = "L".join(f"{plain(x)} {plain(y)}" for x, y in points)
        self._parts.append(f'<path d="M{path}Z" fill="{fill}" stroke="{colour}"/>')

    def cells(
        self,
        x: float,
        y: float,
        rows: Sequence[Sequence[str]],
        *,
        side: float = 18,
        colour: str = LINE,
    ) -> None:
        """A matrix as small squares, each with its fill."""
        for row, fills in enumerate(rows):
            for column, fill in enumerate(fills):
                self.box(x + side * column, y + side * row, side, side, fill=fill, colour=colour)

    def document(self) -> str:
        """The whole picture."""
        left, top = (value - MARGIN for value in self._low)
        width, height = (
            high - low + 2 * MARGIN for low, high in zip(self._low, self._high, strict=True)
        )
        heads = "".join(
            f'<marker id="head-{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
            'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
            f'<path d="M0 0L8 4L0 8Z" fill="{colour}"/></marker>'
            for colour in sorted(self._arrows)
        )
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{plain(width)}" '
            f'height="{plain(height)}" viewBox="{plain(left)} {plain(top)} {plain(width)} '
            f'{plain(height)}" role="img" aria-label="{escaped(self._description)}" '
            f'font-family="{FONT}">\n<defs>{heads}</defs>\n'
            f'<rect x="{plain(left)}" y="{plain(top)}" width="{plain(width)}" '
            f'height="{plain(height)}" fill="#ffffff"/>\n{body}\n</svg>\n'
        )


class Node(NamedTuple):
    """Where a node of a tree was drawn, by the baseline of its label; below it, its word."""

    x: float
    y: float
    tree: Tree
    children: list[int]


def draw_tree(
    canvas: Canvas,
    tree: Tree,
    x: float,
    y: float,
    *,
    colour: Callable[[int], str] = lambda _: INK,
    dashed: Callable[[int], bool] = lambda _: False,
    gap: float = 14,
    level: float = LEVEL,
) -> list[Node]:
    """Draw a tree with its words in one line, and return the positions of its nodes.

    Nodes are numbered in the order of ``tree.nodes()``; `colour` is that of a node and the
    edge above it, `dashed` whether that edge is.
    """

    def width(_: int, node: Tree) -> float:
        return max(text_width(node.label, SIZE, bold=True), text_width(node.word or "", SIZE)) + 4

    placed = lay_out(tree, width, gap)
    bottom = y + level * max(one.depth for one in placed) + 30
    nodes = [
        Node(x + each.centre, y + level * each.depth, each.node, each.children) for each in placed
    ]
    for node in nodes:
        for child in node.children:
            canvas.line(
                (node.x, node.y + 6),
                (nodes[child].x, nodes[child].y - SIZE),
                colour=colour(child),
                dashed=dashed(child),
            )
    for number, node in enumerate(nodes):
        canvas.text(node.x, node.y, node.tree.label, bold=True, colour=colour(number))
        if node.tree.word is not None:
            if bottom - node.y > 36:
                canvas.line((node.x, node.y + 6), (node.x, bottom - 16), colour=LEADER, dashed=True)
            canvas.text(node.x, bottom, node.tree.word)
    return nodes
