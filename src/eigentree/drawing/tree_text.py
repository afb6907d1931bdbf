"""Trees drawn as text, and the layout that text and SVG share.

A tree that fits is drawn top-down with its words in the last line; a tree that is too wide or deep
is drawn indented, one phrase or word per line.  The text is safe to print: control characters, and
characters that reorder text, are replaced by visible symbols; words written from right to left
are isolated from their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from eigentree._core.printable import character_columns, columns, isolated, visible
from eigentree.errors import SettingsError
from eigentree.treebank.tree import Tree

Style = Literal["auto", "tree", "indented"]
Confidence = Sequence[float | None]

NAMELESS = "·"  # shown for the empty label of an outer bracket
GAP = 2  # columns between neighbours
MAX_LINES = 60  # of a top-down drawing when the style is "auto"
MAX_CELLS = 10_000_000  # more would take gigabytes
MAX_INDENT = 90  # columns of indentation before the outer ones are elided

# Which of its four arms a line character has: up, down, left, right.
BOXES = {
    (1, 1, 0, 0): "│",
    (0, 0, 1, 1): "─",
    (0, 1, 0, 1): "┌",
    (0, 1, 1, 0): "┐",
    (1, 0, 0, 1): "└",
    (1, 0, 1, 0): "┘",
    (0, 1, 1, 1): "┬",
    (1, 0, 1, 1): "┴",
    (1, 1, 0, 1): "├",
    (1, 1, 1, 0): "┤",
    (1, 1, 1, 1): "┼",
}
ASCII = dict(zip(map(ord, "│─┌┐└┘┬┴├┤┼⋯"), "|-+++++++++~", strict=True))


class Placed(NamedTuple):
    """A node in the plane; ``centre`` is in the unit of the widths that the layout was given."""

    node: Tree
    depth: int
    centre: float
    children: list[int]  # places in the list of placed nodes, which is in the order of nodes()


def shown_label(node: Tree, confidence: float | None = None) -> str:
    """The drawn label of a node, with its confidence in percent if it has one."""
    label = visible(node.label) or NAMELESS
    return label if confidence is None else f"{label} {100 * confidence:.0f}%"


def check_confidence(confidence: Confidence | None, n_nodes: int) -> Confidence:
    """Check that there is one value per node; None stands for no values."""
    if confidence is None:
        return [None] * n_nodes
    if len(confidence) != n_nodes:
        raise SettingsError(
            f"confidence has {len(confidence)} values; expected {n_nodes}, one per node"
        )
    return confidence


def lay_out(tree: Tree, width: Callable[[int, Tree], float], gap: float) -> list[Placed]:
    """Place nodes so that no two at one depth overlap, with parents over their children.

    Parameters
    ----------
    tree
        Any tree.
    width
        The width of a node, from its position in ``tree.nodes()`` and the node.
    gap
        Space between neighbours.

    Returns
    -------
    list of Placed
        In the order of ``tree.nodes()``; the drawing starts at 0.
    """
    nodes = list(tree.nodes())
    children: list[list[int]] = [[] for _ in nodes]
    depths = [0] * len(nodes)
    own = [width(place, node) for place, node in enumerate(nodes)]
    block = list(own)
    below = [0.0] * len(nodes)
    waiting: list[int] = []
    for place in reversed(range(len(nodes))):
        for _ in nodes[place].children:
            children[place].append(waiting.pop())
        if children[place]:
            room = sum(block[child] for child in children[place])
            below[place] = room + gap * (len(children[place]) - 1)
            block[place] = max(own[place], below[place])
        waiting.append(place)
    left = [0.0] * len(nodes)
    for place in range(len(nodes)):
        begin = left[place] + (block[place] - below[place]) / 2
        for child in children[place]:
            left[child], depths[child] = begin, depths[place] + 1
            begin += block[child] + gap
    centres = [0.0] * len(nodes)
    for place in reversed(range(len(nodes))):
        middle = left[place] + block[place] / 2
        if children[place]:
            middle = (centres[children[place][0]] + centres[children[place][-1]]) / 2
        # A label wider than what is below it must stay within the room of its node.
        room = own[place] / 2
        centres[place] = min(max(middle, left[place] + room), left[place] + block[place] - room)
    return [Placed(*found) for found in zip(nodes, depths, centres, children, strict=True)]


def draw_text(
    tree: Tree,
    *,
    style: Style = "auto",
    width: int = 100,
    ascii_only: bool = False,
    confidence: Confidence | None = None,
) -> str:
    """Draw a tree as text.

    Parameters
    ----------
    tree
        Any tree, of any depth.
    style
        "tree" for top-down with the words in the last line, "indented" for one line per phrase or
        word, or "auto" for "tree" if it fits, otherwise "indented".
    width
        Maximum number of columns for "auto".
    ascii_only
        Use ``|``, ``-`` and ``+`` for lines; labels and words are not changed.
    confidence
        A fraction for each node in the order of ``tree.nodes()``, None for no value.

    Returns
    -------
    str
        Lines without trailing white space, and without a final newline.

    Raises
    ------
    SettingsError
        When `confidence` does not have one value per node, or when a tree is too large for
        "tree".

    Examples
    --------
    >>> noun = Tree("NP", [Tree("DT", word="the"), Tree("NN", word="ice")])
    >>> print(draw_text(Tree("S", [noun, Tree("VP", [Tree("VBZ", word="melts")])])))
            S
        ┌───┴───┐
       NP       VP
     ┌──┴─┐     │
     DT   NN   VBZ
    the  ice  melts
    >>> print(draw_text(noun, style="indented"))
    NP
    ├─ DT the
    └─ NN ice
    """
    nodes = list(tree.nodes())
    values = check_confidence(confidence, len(nodes))
    labels = [shown_label(node, value) for node, value in zip(nodes, values, strict=True)]
    lines: dict[int, str] = ASCII if ascii_only else {}
    if style != "indented":
        drawing = _draw_from_root(tree, labels, lines, width if style == "auto" else None)
        if drawing is not None:
            return drawing
    return _draw_indented(tree, labels, lines)


def _draw_from_root(
    tree: Tree, labels: list[str], lines: dict[int, str], room: int | None
) -> str | None:
    """The tree with its words in the last line; None if it needs more than `room` columns."""

    def width(place: int, node: Tree) -> int:
        return max(columns(labels[place]), columns(visible(node.word or "")))

    placed = lay_out(tree, width, GAP)
    n_columns = 1 + max(
        int(one.centre + width(place, one.node) / 2 + 0.5) for place, one in enumerate(placed)
    )
    # Two lines for each level of phrases, then the tags and the words.
    tag_line = 2 * (1 + max((one.depth for one in placed if one.children), default=-1))
    if room is not None and (n_columns > room or tag_line + 2 > MAX_LINES):
        return None
    if n_columns * (tag_line + 2) > MAX_CELLS:
        raise SettingsError(
            f"a drawing of {tag_line + 2} lines and {n_columns} columns is too large for style "
            "tree; indented has no limit"
        )
    canvas = [[" "] * n_columns for _ in range(tag_line + 2)]

    def write(line: int, centre: float, text: str) -> None:
        first = at = int(centre - columns(text) / 2 + 0.5)
        for character in text:
            if character_columns(character):
                canvas[line][at] = character
                canvas[line][at + 1 : at + character_columns(character)] = [""] * (
                    character_columns(character) - 1
                )
                at += character_columns(character)
            else:
                canvas[line][at - 1] += character
        if (marked := isolated(text)) != text:
            canvas[line][first] = marked[0] + canvas[line][first]
            canvas[line][at - 1] += marked[-1]

    for place, (node, depth, centre, children) in enumerate(placed):
        if node.word is not None:
            write(tag_line, centre, labels[place])
            write(tag_line + 1, centre, visible(node.word))
            continue
        write(2 * depth, centre, labels[place])
        stem = int(centre)
        feet = [int(placed[child].centre) for child in children]
        first, last = min(*feet, stem), max(*feet, stem)
        for column in range(first, last + 1):
            arms = (column == stem, column in feet, column > first, column < last)
            canvas[2 * depth + 1][column] = BOXES[arms].translate(lines)
        for child, foot in zip(children, feet, strict=True):
            if placed[child].node.word is not None:
                for line in range(2 * depth + 2, tag_line):
                    canvas[line][foot] = "│".translate(lines)
    return "\n".join("".join(line).rstrip(" ") for line in canvas)


def _draw_indented(tree: Tree, labels: list[str], lines: dict[int, str]) -> str:
    """One line per phrase or word; chains of single children share one."""
    chain, elided = " ─ ".translate(lines), "⋯  ".translate(lines)
    inner, rail = "├─ ".translate(lines), "│  ".translate(lines)
    last, blank = "└─ ".translate(lines), "   "
    drawn: list[str] = []
    numbered = iter(labels)
    # A node with the prefix of its line, and the prefix of the lines below it.
    stack: list[tuple[Tree, str, str]] = [(tree, "", "")]
    while stack:
        node, before, below = stack.pop()
        names = [isolated(next(numbered))]
        while len(node.children) == 1:
            node = node.children[0]
            names.append(isolated(next(numbered)))
        word = "" if node.word is None else " " + isolated(visible(node.word))
        drawn.append(f"{before}{chain.join(names)}{word}")
        if not node.children:
            continue
        if len(below) > MAX_INDENT:
            below = elided + below[-MAX_INDENT // 2 :]
        stack.append((node.children[-1], below + last, below + blank))
        stack.extend((child, below + inner, below + rail) for child in node.children[-2::-1])
    return "\n".join(drawn)
