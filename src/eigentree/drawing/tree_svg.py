"""Trees drawn as SVG: self-contained documents without scripts, style sheets or web fonts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from eigentree._core.printable import columns, isolated, visible
from eigentree.drawing.tree_text import Confidence, check_confidence, lay_out, shown_label
from eigentree.treebank.tree import Tree

FONT = "'DejaVu Sans', 'Noto Sans', Verdana, 'Segoe UI', sans-serif"
LABEL_SIZE, WORD_SIZE = 14, 15
LEVEL = 50  # from one depth to the next
MARGIN = 24
GAP = 16
PAGE_GAP = 36
LEGEND_WIDTH = 270.0

INK, WORD_INK, LINE, LEADER = "#1f3a5f", "#111111", "#7d8897", "#c3cad3"
# Orange to blue through pale grey: distinguishable with every kind of colour vision.
LOW, MIDDLE, HIGH = (244, 165, 110), (242, 240, 230), (140, 190, 235)


class Drawing(NamedTuple):
    """A drawing to place on a page; its coordinates start at 0."""

    width: float
    height: float
    body: str


def draw_svg(tree: Tree, *, confidence: Confidence | None = None) -> str:
    """Draw a tree as an SVG document.

    Parameters
    ----------
    tree
        Any tree, of any depth.  Labels and words may be any text; they are escaped.
    confidence
        A fraction for each node in the order of ``tree.nodes()``, None for no value; it is
        shown as the colour behind the label and in its tooltip.

    Returns
    -------
    str
        An SVG 1.1 document that ends with a newline.

    Raises
    ------
    SettingsError
        When `confidence` has another length than the tree has nodes.
    """
    return draw_svg_page([tree], confidence=[confidence])


def draw_svg_page(
    trees: Sequence[Tree], *, confidence: Sequence[Confidence | None] | None = None
) -> str:
    """Draw trees one below the other in one SVG document; see `draw_svg`."""
    values = [None] * len(trees) if confidence is None else confidence
    figures = [_figure(*pair) for pair in zip(trees, values, strict=True)]
    description = " / ".join(" ".join(map(visible, tree.words())) for tree in trees)
    return page_of(figures, description, legend=any(one is not None for one in values))


def page_of(
    figures: Sequence[Drawing], description: str, *, legend: bool, definitions: str = ""
) -> str:
    """Figures one below the other in one SVG document.

    Parameters
    ----------
    figures
    description
        Accessible description of the drawing.
    legend
        Whether to add a legend of the colours of confidences.
    definitions
        SVG definitions that the figures refer to.
    """
    width = max((figure.width for figure in figures), default=0.0)
    height = float(MARGIN - PAGE_GAP)
    bodies = [definitions]
    for figure in figures:
        height += PAGE_GAP
        bodies.append(f'<g transform="translate({MARGIN} {plain(height)})">\n{figure.body}</g>\n')
        height += figure.height
    if legend:
        width = max(width, LEGEND_WIDTH)
        bodies.append(_legend(MARGIN, height + 18))
        height += 40
    across, down = plain(width + 2 * MARGIN), plain(max(height, 0.0) + MARGIN)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{across}" height="{down}" '
        f'viewBox="0 0 {across} {down}" role="img" aria-label="{escaped(description)}" '
        f'font-family="{FONT}" text-anchor="middle">\n'
        f'<rect width="{across}" height="{down}" fill="#ffffff"/>\n'
        f"{''.join(bodies)}</svg>\n"
    )


def _figure(tree: Tree, confidence: Confidence | None) -> Drawing:
    nodes = list(tree.nodes())
    values = check_confidence(confidence, len(nodes))
    labels = [shown_label(node) for node in nodes]

    def width(place: int, node: Tree) -> float:
        label = text_width(labels[place], LABEL_SIZE, bold=True) + 12
        return max(label, text_width(visible(node.word or ""), WORD_SIZE))

    placed = lay_out(tree, width, GAP)
    right = max(one.centre + width(place, one.node) / 2 for place, one in enumerate(placed))
    top = LABEL_SIZE  # baseline of the root
    word_line = top + LEVEL * max(one.depth for one in placed) + 34
    edges, leaders, pills, names, words = [], [], [], [], []
    for place, (node, depth, centre, children) in enumerate(placed):
        base = top + LEVEL * depth
        for child in children:
            edges.append(
                f"M{plain(centre)} {base + 7}L{plain(placed[child].centre)} {base + LEVEL - 17}"
            )
        if node.word is not None:
            words.append(text_at(centre, word_line, visible(node.word)))
            if word_line - base > 40:
                leaders.append(f"M{plain(centre)} {base + 8}V{word_line - 18}")
        value = values[place]
        if value is not None:
            room = text_width(labels[place], LABEL_SIZE, bold=True) + 10
            pills.append(
                f'<rect x="{plain(centre - room / 2)}" y="{base - 15}" width="{plain(room)}" '
                f'height="21" rx="5" fill="{colour_of(value)}"/>\n'
            )
        title = "" if value is None else f"{labels[place]}: {100 * value:.1f} %"
        names.append(text_at(centre, base, labels[place], title))
    body = (
        f'<path d="{"".join(leaders)}" fill="none" stroke="{LEADER}" stroke-dasharray="2 3"/>\n'
        f'<path d="{"".join(edges)}" fill="none" stroke="{LINE}" stroke-width="1.2"/>\n'
        f"{''.join(pills)}"
        f'<g font-size="{LABEL_SIZE}" font-weight="bold" fill="{INK}">\n{"".join(names)}</g>\n'
        f'<g font-size="{WORD_SIZE}" fill="{WORD_INK}">\n{"".join(words)}</g>\n'
    )
    return Drawing(right, word_line + 6, body)


def _legend(left: float, top: float) -> str:
    steps = 24
    bars = "".join(
        f'<rect x="{plain(left + 84 + 5 * step)}" y="{plain(top)}" width="5.5" height="12" '
        f'fill="{colour_of(step / (steps - 1))}"/>\n'
        for step in range(steps)
    )
    base = top + 10
    return (
        f'<g font-size="11" fill="#444444">\n{bars}'
        f"{text_at(left + 32, base, 'confidence')}{text_at(left + 74, base, '0')}"
        f"{text_at(left + 226, base, '100 %')}</g>\n"
    )


def text_at(x: float, y: float, text: str, title: str = "") -> str:
    """A text centred at x, with a tooltip if `title` is not empty."""
    tooltip = f"<title>{escaped(title)}</title>" if title else ""
    shown = isolated(escaped(text))
    return f'<text x="{plain(x)}" y="{plain(y)}">{tooltip}{shown}</text>\n'


def escaped(text: str) -> str:
    """A text escaped for XML."""
    return html.escape(visible(text), quote=True)


def plain(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of a text in pixels, an upper bound over the fonts in `FONT`."""
    ems = sum(_ems(character) for character in text)
    return size * ems * (1.12 if bold else 1.0)


def _ems(character: str) -> float:
    if character in "iljtfrI.,:;'|!()[]`":
        return 0.42
    if character in "mwMW@%":
        return 0.98
    if columns(character) != 1:
        return 1.05 * columns(character) / 2
    return 0.72 if character.isupper() else 0.64


def colour_of(value: float) -> str:
    """The colour of a confidence, as ``#rrggbb``."""
    share = min(max(value, 0.0), 1.0)
    start, end, weight = (LOW, MIDDLE, 2 * share) if share < 0.5 else (MIDDLE, HIGH, 2 * share - 1)
    mixed = (round(a + (b - a) * weight) for a, b in zip(start, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
