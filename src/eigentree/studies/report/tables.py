"""Tables and sections of a report, and how numbers are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Figures = Mapping[str, Any]
Row = Mapping[str, Any]

NOTHING = "–"
# Differences with a larger p-value are reported as possibly due to chance.
BY_CHANCE = 0.05


class Cell(NamedTuple):
    """A cell of a table; the best one of a column is in bold."""

    text: str
    best: bool = False


class Table(NamedTuple):
    """A table with an explanatory note; its first columns have text."""

    caption: str
    header: list[str]
    rows: list[list[Cell]]
    note: str = ""
    text_columns: int = 1


class Section(NamedTuple):
    """A section of the report; the note explains its plots."""

    title: str
    text: str
    tables: list[Table]
    plots: list[str]
    plot_note: str = ""


def percent(share: float | None, digits: int = 2) -> str:
    """A fraction in percent, without the sign."""
    return NOTHING if share is None else f"{100 * share:.{digits}f}"


def seconds(value: float | None) -> str:
    """CPU seconds with about three significant digits."""
    if value is None:
        return NOTHING
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def p_value(value: float) -> str:
    """A p-value."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def in_points(difference: float) -> str:
    """A difference in percentage points, with its sign."""
    return f"{100 * difference:+.2f}".replace("-", "−")


def file_size(n_bytes: int) -> str:
    """The size of a file."""
    return f"{n_bytes / 1e6:.2f} MB" if n_bytes >= 1e5 else f"{n_bytes / 1e3:.1f} kB"


def in_percent(share: float | None) -> float | None:
    """A fraction as a number of percent, of an end of an interval for example."""
    return None if share is None else 100 * share


def interval(scores: Row) -> str:
    """The ends of an interval."""
    if scores["low"] is None:
        return NOTHING
    return f"{percent(scores['low'], 1)} to {percent(scores['high'], 1)}"
