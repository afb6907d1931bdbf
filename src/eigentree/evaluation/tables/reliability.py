"""Reliability of probabilities as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eigentree.evaluation.reliability import Reliability
from eigentree.evaluation.tables.table import TextTable


class ReliabilityRow(NamedTuple):
    """The reliability of a named set of probabilities; ``colour`` is its colour in the diagram."""

    name: str
    measured: Reliability
    colour: int


def reliability_table(rows: Sequence[ReliabilityRow]) -> TextTable:
    """A table of count, mean confidence, accuracy, calibration errors, Brier score and log loss."""
    header = [
        *("", "number", "confidence, %", "accuracy, %", "ECE", "adaptive ECE", "Brier", "log loss"),
    ]
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
    return TextTable("", header, lines)
