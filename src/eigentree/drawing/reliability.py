"""Reliability in a table and as a diagram: what was told against what came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eigentree.drawing.plots import Point, Series, plot
from eigentree.evaluation.reliability import BINS, Reliability
from eigentree.evaluation.tables.scores import Table

# A picture alone has no page to give it colours; orange and blue stay apart for every eye.
_STYLE = """<style>
text { fill: #1b1f24; font: 12px system-ui, 'DejaVu Sans', 'Segoe UI', sans-serif }
.grid { fill: none; stroke: #e3e6ea } .axis { fill: none; stroke: #59636e }
.line { fill: none; stroke-width: 2 } .mark { stroke: #fff }
.line.reference { stroke: #59636e; stroke-dasharray: 4 4 }
.line.s0 { stroke: #c8641e } .mark.s0 { fill: #c8641e }
.line.s1 { stroke: #2465a8 } .mark.s1 { fill: #2465a8 }
.line.s2 { stroke: #f0b080 } .mark.s2 { fill: #f0b080 }
.line.s3 { stroke: #8cb8e6 } .mark.s3 { fill: #8cb8e6 }
</style>
<rect width="100%" height="100%" fill="#fff"/>"""


class Row(NamedTuple):
    """Some probabilities with their name; ``colour`` is that in the diagram."""

    name: str
    measured: Reliability
    colour: int


def reliability_table(rows: Sequence[Row]) -> Table:
    """A line for each: number, mean, share right, errors, Brier score and log loss."""
    header = ["", "number", "told, %", "right, %", "ECE", "adaptive ECE", "Brier", "log loss"]
    lines = [
        [
            row.name,
            f"{row.measured.size:,}",
            f"{100 * row.measured.mean:.2f}",
            f"{100 * row.measured.share:.2f}",
            f"{row.measured.error:.4f}",
            f"{row.measured.adaptive_error:.4f}",
            f"{row.measured.brier:.4f}",
            f"{row.measured.log_loss:.4f}",
        ]
        for row in rows
    ]
    return Table("", header, lines)


def draw_reliability(rows: Sequence[Row], title: str) -> str:
    """A reliability diagram as an SVG document.

    Parameters
    ----------
    rows
        Each a line through its bins, at mean probability and share right.
    title
        What was parsed by what.
    """
    diagonal = [Point(0.0, 0.0, ""), Point(1.0, 1.0, "")]
    series = [Series("as told", diagonal, None, marks=False)]
    for row in rows:
        points = [
            Point(each.mean, each.share, f"{each.size:,}: told {each.mean:.3f}, {each.share:.3f}")
            for each in row.measured.bins
        ]
        series.append(Series(row.name, points, row.colour))
    drawn = plot(
        title,
        f"What share is right of all that is told with a probability, in {BINS} bins of equal "
        "width; on the diagonal probabilities are what they say.",
        series,
        x_label="mean probability told",
        y_label="share right",
    )
    first, rest = drawn.split("\n", 1)
    return f"{first}\n{_STYLE}\n{rest}\n"
