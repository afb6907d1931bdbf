"""Parsing time against F1: the effect of rule decompositions and of pruning.

As in table 1 of Cohen, Satta and Collins (2013).  Models are compared with others that have the
same symbols: one with exhaustive parsing, and one with pruning.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from eigentree.drawing.plots import Point, Series, plot
from eigentree.studies.report.tables import (
    NOTHING,
    Cell,
    Figures,
    Row,
    Section,
    Table,
    percent,
    seconds,
)

TITLE = "Parsing time"
_MARKOVISATION = {"vertical": "v", "horizontal": "h"}
# The minimum on the logarithmic axis, for times below the resolution of the clock.
_MIN_MS = 1e-3


def parsing_time(figures: Figures) -> Section:
    """A table of all models and F1 on dev against time, if some model isn't parsed with pruning."""
    rows = figures["models"]
    if not any(row["decomposition"] or row["exhaustive"] for row in rows):
        return Section(TITLE, "", [], [])
    several = any(len(row["seeds"]) > 1 for row in rows)
    return Section(
        TITLE,
        "As in table 1 of Cohen, Satta and Collins (2013), Approximate PCFG Parsing Using Tensor "
        "Decomposition, NAACL-HLT. Times are CPU times of one thread, without reading and scoring.",
        [_table(figures, several=several)],
        [_plot(rows)],
        "Up and to the left is better."
        + (" Points are labelled with ranks." if any(row["decomposition"] for row in rows) else "")
        + (" Error bars are one standard deviation over seeds." if several else ""),
    )


def _table(figures: Figures, *, several: bool) -> Table:
    rows, parts = figures["models"], list(figures["parts"])
    bases = {
        "exhaustive": _first(rows, lambda row: row["exhaustive"] and not row["decomposition"]),
        "pruned": _first(rows, lambda row: not (row["exhaustive"] or row["decomposition"])),
    }
    bases = {name: found for name, found in bases.items() if found}
    decomposed = any(row["decomposition"] for row in rows)
    header = ["model", "symbols"]
    header += ["decomposition", "rank", "relative error", "its CPU s"] if decomposed else []
    header += [f"{part} F1" for part in parts] + [f"{part} ms per sentence" for part in parts]
    header += ["sentences per second", *(f"times as fast as {name}" for name in bases)]
    lines = []
    for row in rows:
        scores = [row["scores"][part] for part in parts]
        line = [Cell(row["name"]), Cell(_symbols(row))]
        if decomposed:
            line += _decomposition(row["decomposition"])
        line += [Cell(_spread(100 * one["f1"], _in_percent(one), 2)) for one in scores]
        line += [
            Cell(_spread(one["ms_a_sentence"], one["by_seed_ms_a_sentence"], 1)) for one in scores
        ]
        ms = _ms(row)
        line.append(Cell(f"{1000 / ms:,.1f}" if ms else NOTHING))
        for found in bases.values():
            base = found.get(_grammar(row), row)
            comparable = ms and base is not row
            line.append(Cell(f"{_ms(base) / ms:.2f}" if comparable else NOTHING))
        lines.append(line)
    note = (
        "Sentences per second and speed ratios are over all held-out sentences. Exhaustive is the "
        "first exhaustive model without a decomposition, pruned the first model with neither, both "
        "with the same states and symbols. In symbols, v is the vertical and h the horizontal "
        "order of Markovisation."
    )
    if decomposed:
        note += (
            " The relative error of the rule tensor is in the Frobenius norm; its CPU s are the "
            "time of the decomposition."
        )
    if several:
        note += (
            " Values after ± are standard deviations over seeds; F1 is over the brackets of all "
            "seeds, other figures are means."
        )
    return Table("F1 and parsing time", header, lines, note, 3 if decomposed else 2)


def _decomposition(found: Row | None) -> list[Cell]:
    if found is None:
        return [Cell(NOTHING)] * 4
    error = found["relative_error"]
    return [
        Cell(_method(found)),
        Cell(f"{found['rank']:g}"),
        Cell(NOTHING if error is None else f"{error:.3f}"),
        Cell(seconds(found["cpu_seconds"])),
    ]


def _method(decomposition: Row) -> str:
    return f"{decomposition['method']}{', single' if decomposition['single'] else ''}"


def _first(rows: Sequence[Row], matches: Callable[[Row], bool]) -> dict[Hashable, Row]:
    """The first row that satisfies a condition, for each kind of grammar."""
    found: dict[Hashable, Row] = {}
    for row in rows:
        if matches(row):
            found.setdefault(_grammar(row), row)
    return found


def _grammar(row: Row) -> tuple[str, str]:
    """What comparable rows have in common: method, states and symbols."""
    states = "" if row["states"] is None else f"{row['method']}, m = {row['states']}"
    return states, _symbols(row)


def _symbols(row: Row) -> str:
    """The binarisation, in a few words."""
    settings = row["binarise"]
    if settings is None:
        return "default"
    marks = [f"{mark} = {settings[name]}" for name, mark in _MARKOVISATION.items()]
    return ", ".join([settings["direction"], *marks])


def _ms(row: Row) -> float:
    """CPU milliseconds per sentence over all parts."""
    scores = row["scores"].values()
    n_sentences = sum(one["sentences"] for one in scores)
    spent = sum(one["ms_a_sentence"] * one["sentences"] for one in scores)
    return float(spent / max(1, n_sentences))


def _in_percent(scores: Row) -> list[float]:
    return [100 * f1 for f1 in scores["by_seed"]]


def _deviation(by_seed: Sequence[float]) -> float | None:
    """The standard deviation over seeds, None for one seed."""
    return float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None


def _spread(value: float, by_seed: Sequence[float], digits: int) -> str:
    deviation = _deviation(by_seed)
    shown = f"{value:.{digits}f}"
    return shown if deviation is None else f"{shown} ± {deviation:.{digits}f}"


def _plot(rows: Sequence[Row]) -> str:
    return plot(
        "F1 on dev against CPU milliseconds per sentence",
        "One line per decomposition, labelled with ranks, and points for models without a "
        "decomposition; the values are in the table.",
        list(_series(rows)),
        x_label="CPU milliseconds per sentence of dev (logarithmic)",
        y_label="F1 on dev, %",
        log_x=True,
        name="parsing-time",
    )


def _series(rows: Sequence[Row]) -> Iterator[Series]:
    of_kind: dict[tuple[str, str, str], list[Row]] = {}
    whole = []
    for row in rows:
        if row["decomposition"]:
            of_kind.setdefault((_method(row["decomposition"]), *_grammar(row)), []).append(row)
        else:
            whole.append(row)
    # Names have only what differs.
    columns = list(zip(*of_kind, strict=True))
    differing = [place for place, names in enumerate(columns) if place == 0 or len(set(names)) > 1]
    for colour, (kind, mine) in enumerate(of_kind.items()):
        name = ", ".join(kind[place] for place in differing if kind[place])
        mine = sorted(mine, key=lambda row: row["decomposition"]["rank"])
        points = [_point(row, f"{row['decomposition']['rank']:g}") for row in mine]
        yield Series(name, points, colour)
    if whole:
        yield Series("", [_point(row, row["name"]) for row in whole], None, line=False)


def _point(row: Row, label: str) -> Point:
    scores = row["scores"]["dev"]
    f1, deviation = 100 * scores["f1"], _deviation(_in_percent(scores))
    ms = scores["ms_a_sentence"]
    title = f"{row['name']}: {percent(scores['f1'])} with {ms:.1f} CPU ms per sentence"
    ends = (None, None) if deviation is None else (f1 - deviation, f1 + deviation)
    return Point(max(ms, _MIN_MS), f1, title, label, *ends)
