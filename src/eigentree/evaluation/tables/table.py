"""Tables of text: a header, rows of cells, and their plain form in aligned columns."""

from __future__ import annotations

from typing import NamedTuple

from eigentree._core.printable import columns

NOT_DEFINED = "n/a"


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
        cells = [first + " " * (widths[0] - columns(first))]
        cells += [
            " " * (width - columns(cell)) + cell
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        formatted.append("  ".join(cells).rstrip())
    return "\n".join([*([table.title] if table.title else []), *formatted])


def percent(fraction: float | None) -> str:
    """A fraction in percent with two decimals; ``n/a`` for None."""
    return NOT_DEFINED if fraction is None else f"{100 * fraction:.2f}"
