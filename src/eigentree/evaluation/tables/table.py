"""Tables of text: a header, rows of cells, and their plain form in aligned columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from eigentree._core.printable import columns, isolated, one_line

NOT_DEFINED = "n/a"
LISTED_PROBLEMS = 20


class TextTable(NamedTuple):
    """Cells of a table; the first column is text, the others are figures."""

    title: str
    header: list[str]
    rows: list[list[str]]


def format_table(table: TextTable) -> str:
    """Format a table in columns, the first aligned left and the others right."""
    lines = [table.header, *table.rows]
    widths = [max(map(columns, cells)) for cells in zip(*lines, strict=True)]
    formatted = []
    for first, *others in lines:
        cells = [isolated(first) + " " * (widths[0] - columns(first))]
        cells += [
            " " * (width - columns(cell)) + isolated(cell)
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        formatted.append("  ".join(cells).rstrip())
    return "\n".join([*([table.title] if table.title else []), *formatted])


def percent(fraction: float | None) -> str:
    """A fraction in percent with two decimals; ``n/a`` for None."""
    return NOT_DEFINED if fraction is None else f"{100 * fraction:.2f}"


def interval_in_percent(ends: Sequence[float] | None) -> str:
    """The ends of an interval in percent; ``n/a`` for None."""
    return NOT_DEFINED if ends is None else " to ".join(map(percent, ends))


def tab_separated(cells: Iterable[object]) -> str:
    """A row of tab-separated values, which is one line whatever names and messages hold."""
    return "\t".join(one_line(str(cell)) for cell in cells)


def first_problems(lines: Sequence[str], max_lines: int = LISTED_PROBLEMS) -> Iterator[str]:
    """The first of a list of problems, one per line, and the number of the others."""
    yield from lines[:max_lines]
    if len(lines) > max_lines:
        yield f"and {len(lines) - max_lines} more; --per-sentence and --json list all of them"
