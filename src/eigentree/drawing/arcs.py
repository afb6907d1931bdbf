"""Dependency trees drawn as arcs: as text, one word per line, and as SVG, words in a row.

Arcs are assigned levels from the shortest to the longest, each above all arcs that it overlaps.
Arcs of a projective tree never cross, and those of other trees only where they must.  Arcs at a
word are ordered so that none cross there: on either side the longest is nearest the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eigentree._core.printable import columns, isolated, visible
from eigentree.drawing.tree_svg import (
    INK,
    LINE,
    WORD_INK,
    WORD_SIZE,
    Drawing,
    colour_of,
    page_of,
    plain,
    text_at,
    text_width,
)
from eigentree.drawing.tree_text import ASCII, BOXES, check_confidence
from eigentree.errors import SettingsError, counted
from eigentree.treebank.io.conllu import EMPTY, ROOT, Sentence

LABEL_SIZE, TAG_SIZE = 12, 12
LEVEL = 27  # from one level of arcs to the next
PORT = 7  # from one arc to the next at a word
CORNER = 8
GAP = 18  # between words
TO_ROOT = "root"
_HEAD = "▶"


class Arcs(NamedTuple):
    """A dependency tree to draw.

    Attributes
    ----------
    words
    heads
        One per word: words count from 1, and 0 is the root.
    relations
        One per word, or None.
    tags
        One per word, or None.
    confidence
        A fraction per arc, None for no value; or None.
    """

    words: Sequence[str]
    heads: Sequence[int]
    relations: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    confidence: Sequence[float | None] | None = None


class _Arc(NamedTuple):
    """The arc to a word from another, both counted from 0, at a level that counts from 1."""

    head: int
    word: int
    level: int

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.head, self.word), max(self.head, self.word)


def arcs_of(sentence: Sentence) -> Arcs:
    """The arcs of a CoNLL-U sentence; tags are UPOS, or XPOS where UPOS is empty.

    Raises
    ------
    TreebankFormatError
        When a word has no head.
    """
    tags = [word.upos if word.upos != EMPTY else word.xpos for word in sentence.words]
    relations = sentence.relations()
    return Arcs(
        sentence.forms(),
        sentence.heads(),
        None if set(relations) <= {EMPTY} else relations,
        None if set(tags) <= {EMPTY} else tags,
    )


def levels_of(ends: Sequence[tuple[int, int]]) -> list[int]:
    """A level for each arc, from 1, above all shorter arcs that it overlaps.

    Parameters
    ----------
    ends
        The words at the ends of each arc, counted from 0, the left one first.

    Returns
    -------
    list of int
        In the order of `ends`.  Arcs that nest have the depth of their nesting.

    Cost
    ----
    The summed length of the arcs.
    """
    top = [0] * max((right for _, right in ends), default=0)  # over the gap after each word
    levels = [0] * len(ends)
    for place in sorted(range(len(ends)), key=lambda place: ends[place][1] - ends[place][0]):
        left, right = ends[place]
        levels[place] = 1 + max(top[left:right])
        top[left:right] = [levels[place]] * (right - left)
    return levels


def _laid_out(tree: Arcs) -> list[_Arc]:
    """The arcs between words, in the order of the dependents."""
    n = len(tree.words)
    for name in ("heads", "relations", "tags"):
        values = getattr(tree, name)
        if values is not None and len(values) != n:
            raise SettingsError(
                f"there are {counted(len(values), name[:-1])} for {counted(n, 'word')}; "
                "one for each is expected"
            )
    for word, head in enumerate(tree.heads, start=1):
        if not 0 <= head <= n or head == word:
            raise SettingsError(
                f"the head of word {word} is {head}; it must be another word, from 1 to {n}, or "
                "0 for the root"
            )
    pairs = [(head - 1, word) for word, head in enumerate(tree.heads) if head != ROOT]
    levels = levels_of([(min(pair), max(pair)) for pair in pairs])
    return [_Arc(*pair, level) for pair, level in zip(pairs, levels, strict=True)]


# Text -------------------------------------------------------------------------------------


def draw_arcs_text(tree: Arcs, *, ascii_only: bool = False) -> str:
    """Draw a dependency tree as text, one word per line after its arcs.

    Parameters
    ----------
    tree
    ascii_only
        Use ``|``, ``-``, ``+`` and ``>`` for lines; words are not changed.

    Returns
    -------
    str
        Lines with the arcs, number, word, tag, head and relation of each word, and its
        confidence in percent if there are any; without a final newline.

    Raises
    ------
    SettingsError
        When lists differ in length, or a head is not another word.

    Examples
    --------
    >>> print(draw_arcs_text(Arcs("the dog saw it".split(), [2, 3, 0, 3])))
    ┌─▶ 1  the  2
    ├─▶ 2  dog  3
    ├─▶ 3  saw  0
    └─▶ 4  it   3
    """
    arcs = _laid_out(tree)
    confidence = check_confidence(tree.confidence, len(tree.words))
    n_levels = max((arc.level for arc in arcs), default=0)
    # Arms of each cell: up, down, left, right.
    arms = [[[0, 0, 0, 0] for _ in range(2 * n_levels)] for _ in tree.words]
    for arc in arcs:
        column = 2 * (n_levels - arc.level)
        first, last = arc.ends
        for row in range(first, last + 1):
            arms[row][column][0] |= row > first
            arms[row][column][1] |= row < last
        for row in (first, last):
            arms[row][column][3] = 1
            for cell in arms[row][column + 1 :]:
                cell[2] = cell[3] = 1
    lines = {**ASCII, ord(_HEAD): ">"} if ascii_only else {}
    drawn = []
    for cells in arms:
        text = "".join(BOXES.get((up, down, left, right), " ") for up, down, left, right in cells)
        drawn.append(f"{text}{_HEAD}".translate(lines) if n_levels else "")
    table = [[str(number) for number in range(1, len(tree.words) + 1)], map(visible, tree.words)]
    table += [map(visible, each) for each in (tree.tags,) if each is not None]
    table.append(map(str, tree.heads))
    table += [map(visible, each) for each in (tree.relations,) if each is not None]
    if any(value is not None for value in confidence):
        table.append("" if value is None else f"{100 * value:.0f}%" for value in confidence)
    cells_of = [list(column) for column in table]
    widths = [max(map(columns, column), default=0) for column in cells_of]
    rows = []
    for row, arrows in enumerate(drawn):
        shown = [
            isolated(column[row]) + " " * (width - columns(column[row]))
            for column, width in zip(cells_of, widths, strict=True)
        ]
        rows.append(f"{arrows} {'  '.join(shown)}".rstrip(" "))
    return "\n".join(rows)


# SVG --------------------------------------------------------------------------------------

_MARKER = (
    '<defs><marker id="arc-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">'
    f'<path d="M0 0.8L8 4L0 7.2z" fill="{LINE}"/></marker></defs>\n'
)


def draw_arcs_svg(trees: Sequence[Arcs]) -> str:
    """Draw dependency trees as arcs, one below the other in one SVG document.

    Parameters
    ----------
    trees
        A confidence is shown as the colour behind the relation and in its tooltip.

    Returns
    -------
    str
        An SVG 1.1 document that ends with a newline.

    Raises
    ------
    SettingsError
        As in `draw_arcs_text`.
    """
    description = " / ".join(" ".join(map(visible, tree.words)) for tree in trees)
    figures = [_figure(tree) for tree in trees]
    legend = any(tree.confidence is not None for tree in trees)
    return page_of(figures, description, legend=legend, definitions=_MARKER)


def _figure(tree: Arcs) -> Drawing:
    arcs = _laid_out(tree)
    n = len(tree.words)
    confidence = check_confidence(tree.confidence, n)
    shown = [visible(word) for word in tree.words]
    tags = ["" for _ in shown] if tree.tags is None else [visible(tag) for tag in tree.tags]
    labels = ["" for _ in shown]
    if tree.relations is not None:
        labels = [visible(relation) for relation in tree.relations]
    room_of = [text_width(label, LABEL_SIZE) + 10 for label in labels]
    ports = _ports(arcs, n)
    widths = [
        max(
            text_width(shown[word], WORD_SIZE),
            text_width(tags[word], TAG_SIZE),
            PORT * len(ports[word]),
            text_width(labels[word] or TO_ROOT, LABEL_SIZE) if tree.heads[word] == ROOT else 0.0,
        )
        for word in range(n)
    ]
    offset = {
        (word, other): PORT * (place - (len(others) - 1) / 2)
        for word, others in enumerate(ports)
        for place, other in enumerate(others)
    }
    centres = _centres(arcs, widths, room_of, offset)
    n_levels = max((arc.level for arc in arcs), default=0)
    base = LEVEL * (n_levels + 1) + LABEL_SIZE
    lines, names = [], []

    def name(middle: float, height: float, word: int, label: str) -> None:
        value = confidence[word]
        if not label:
            return
        if value is not None:
            room = text_width(label, LABEL_SIZE) + 6
            names.append(
                f'<rect x="{plain(middle - room / 2)}" y="{plain(height - 16)}" '
                f'width="{plain(room)}" height="14" rx="4" fill="{colour_of(value)}"/>\n'
            )
        title = "" if value is None else f"{label}: {100 * value:.1f} %"
        names.append(text_at(middle, height - 5, label, title))

    for arc in arcs:
        begin = centres[arc.head] + offset[arc.head, arc.word]
        end = centres[arc.word] + offset[arc.word, arc.head]
        height = base - LEVEL * arc.level
        turn = CORNER if end > begin else -CORNER
        lines.append(
            f"M{plain(begin)} {plain(base)}V{plain(height + CORNER)}"
            f"Q{plain(begin)} {plain(height)} {plain(begin + turn)} {plain(height)}"
            f"H{plain(end - turn)}"
            f"Q{plain(end)} {plain(height)} {plain(end)} {plain(height + CORNER)}V{plain(base)}"
        )
        name((begin + end) / 2, height, arc.word, labels[arc.word])
    for word, head in enumerate(tree.heads):
        if head == ROOT:
            at, height = centres[word] + offset[word, -1], base - LEVEL * (n_levels + 1)
            lines.append(f"M{plain(at)} {plain(height)}V{plain(base)}")
            name(at, height, word, labels[word] or TO_ROOT)
    paths = "".join(f'<path d="{line}" marker-end="url(#arc-head)"/>\n' for line in lines)
    word_line = base + WORD_SIZE + 5
    words = "".join(text_at(*each) for each in zip(centres, [word_line] * n, shown, strict=True))
    tag_line = word_line + TAG_SIZE + 7
    below = "".join(
        text_at(centre, tag_line, tag) for centre, tag in zip(centres, tags, strict=True) if tag
    )
    # Lines of crossing arcs may run behind a label, so labels without a background get an outline.
    rim = ' stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke"'
    if tree.confidence is not None:
        rim = ""
    body = (
        f'<g fill="none" stroke="{LINE}" stroke-width="1.2">\n{paths}</g>\n'
        f'<g font-size="{LABEL_SIZE}" fill="{INK}"{rim}>\n{"".join(names)}</g>\n'
        f'<g font-size="{WORD_SIZE}" fill="{WORD_INK}">\n{words}</g>\n'
        f'<g font-size="{TAG_SIZE}" fill="{LINE}">\n{below}</g>\n'
    )
    right = max((c + w / 2 for c, w in zip(centres, widths, strict=True)), default=0.0)
    return Drawing(right, (tag_line if below else word_line) + 6, body)


def _ports(arcs: Sequence[_Arc], n_words: int) -> list[list[int]]:
    """For each word the words at the other ends of its arcs, from left to right; -1 for the root.

    The longest is nearest the middle, so that its vertical part is clear of shorter arcs.
    """
    others: list[list[int]] = [[] for _ in range(n_words)]
    has_head = [False] * n_words
    for arc in arcs:
        others[arc.head].append(arc.word)
        others[arc.word].append(arc.head)
        has_head[arc.word] = True
    return [
        [
            *sorted((other for other in own if other < word), reverse=True),
            *([] if has_head[word] else [-1]),
            *sorted((other for other in own if other > word), reverse=True),
        ]
        for word, own in enumerate(others)
    ]


def _centres(
    arcs: Sequence[_Arc],
    widths: Sequence[float],
    room_of: Sequence[float],
    offset: dict[tuple[int, int], float],
) -> list[float]:
    """Positions of words, far enough apart for the words and the labels of their arcs."""
    ending: list[list[_Arc]] = [[] for _ in widths]
    for arc in arcs:
        ending[arc.ends[1]].append(arc)
    centres: list[float] = []
    for word, width in enumerate(widths):
        min_centre = width / 2
        if word:
            min_centre = centres[-1] + widths[word - 1] / 2 + GAP + width / 2
        for arc in ending[word]:
            left = arc.ends[0]
            apart = offset[left, word] - offset[word, left] + room_of[arc.word] + 2 * CORNER
            min_centre = max(min_centre, centres[left] + apart)
        centres.append(min_centre)
    return centres
