"""Reliability diagrams: observed accuracy against mean predicted probability."""

from __future__ import annotations

from collections.abc import Sequence

from eigentree.drawing.plots import Point, Series, plot
from eigentree.evaluation.reliability import BINS
from eigentree.evaluation.tables.reliability import ReliabilityRow

# A stand-alone picture has no page style.  Orange and blue are distinguishable with every kind of
# colour vision.
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


def draw_reliability(rows: Sequence[ReliabilityRow], title: str) -> str:
    """Draw a reliability diagram as an SVG document.

    Parameters
    ----------
    rows
        One line each, through the mean probability and the accuracy of its bins.
    title
        What was parsed, and by which model.
    """
    diagonal = [Point(0.0, 0.0, ""), Point(1.0, 1.0, "")]
    series = [Series("perfect calibration", diagonal, None, marks=False)]
    for row in rows:
        points = [
            Point(
                each.mean,
                each.share,
                f"{each.size:,}: predicted {each.mean:.3f}, accuracy {each.share:.3f}",
            )
            for each in row.measured.bins
        ]
        series.append(Series(row.name, points, row.colour))
    drawn = plot(
        title,
        f"Accuracy against mean predicted probability in {BINS} bins of equal width. "
        "Calibrated probabilities are on the diagonal.",
        series,
        x_label="mean predicted probability",
        y_label="accuracy",
    )
    first, rest = drawn.split("\n", 1)
    return f"{first}\n{_STYLE}\n{rest}\n"
