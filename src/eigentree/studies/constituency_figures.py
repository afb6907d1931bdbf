"""From the records of cells to the figures of a report: one dictionary, fit for JSON.

A row is a model with a number of states.  With several seeds its F1 is that of the bracket
counts summed over seeds sentence by sentence, so that intervals and paired tests are still over
sentences; times and sizes are means.  Fractions are from 0 to 1, times CPU seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.learn.em import STAGE
from eigentree.linalg.cp import STAGE as DECOMPOSING
from eigentree.studies.bootstrap import f1_of, interval_of, tested
from eigentree.studies.constituency import Study
from eigentree.studies.ensemble_figures import ensemble_figures
from eigentree.studies.runs import FORMAT, Cell, Place

Record = Mapping[str, Any]
Row = dict[str, Any]

# Best models that are tested against each other.
MOST_COMPARED = 6


def results_of(
    study: Study,
    cells: Sequence[Cell],
    records: Mapping[Place, Record],
    of_ensembles: Mapping[str, Record],
    failures: Mapping[str, str],
    *,
    command: str = "",
) -> dict[str, Any]:
    """All figures of a study.

    Parameters
    ----------
    study
        What was asked for.
    cells
        Its cells.
    records
        Those of the cells that are done.
    of_ensembles
        Those of the ensembles that are done, by name.
    failures
        Why the others are not.
    command
        What was run.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        if cell.place in records:
            groups.setdefault(_row_key(cell), []).append(cell)
    rows = [_Group(group, records) for group in groups.values()]
    whole = [row for row in rows if row.cell.without is None and row.cell.share == 1]
    names = [model.name for model in study.model]
    whole.sort(key=lambda row: names.index(row.cell.model))
    found = [*records.values(), *of_ensembles.values()]
    return {
        "format": FORMAT,
        "title": study.title,
        "command": command,
        "tags": study.tags,
        "seeds": sorted(
            {cell.seed for cell in cells} | set(study.seeds[:1] if study.ensemble else ())
        ),
        "longest": study.longest,
        # Of all lengths; records without it are of studies that take every sentence.
        "all_sentences": {
            part: found[0]["all_sentences"][part]
            for part in study.parts
            if found and study.longest is not None
        },
        "parts": {part: _scores_of(found[0])[part]["sentences"] for part in study.parts if found},
        "trees": max((one["trees"] for one in found), default=0),
        "words": max((one["words"] for one in found), default=0),
        "data": {
            part: {"file": path.name, "sha256": found[0]["data"][part]}
            for part, path in ({"train": study.train} | study.parts).items()
            if found
        },
        "best": None if not whole else max(whole, key=_dev_f1).name,
        "models": [row.figures() for row in whole],
        "iterations": [curve for row in whole for curve in row.iterations()],
        "ablations": _ablations(rows, whole),
        "learning_curve": [
            row.figures()
            for row in sorted(
                rows,
                key=lambda row: (names.index(row.cell.model), row.cell.states or 0, row.cell.share),
            )
            if row.cell.without is None and _in_curve(study, row.cell)
        ],
        "comparisons": _comparisons(whole),
        "ensembles": [
            ensemble_figures(of_ensembles[each.name])
            for each in study.ensemble
            if each.name in of_ensembles
        ],
        "references": [
            {**reference.model_dump(), "f1": reference.f1 / 100} for reference in study.reference
        ],
        "failures": dict(failures),
        "machines": _distinct(one["machine"] for one in found),
        "processes": sorted(_distinct(one["processes"] for one in records.values())),
        "versions": _distinct(one["versions"] for one in found),
        "finished": max((one["finished"] for one in found), default=None),
    }


def _scores_of(record: Record) -> dict[str, Any]:
    scores: dict[str, Any] = (record["combinations"][0] if "ensemble" in record else record)[
        "scores"
    ]
    return scores


def _row_key(cell: Cell) -> tuple[Any, ...]:
    return cell.place[:-1]  # all but the seed


def _in_curve(study: Study, cell: Cell) -> bool:
    curve = study.learning_curve
    if curve is None or cell.share not in curve.sizes:
        return False
    named = curve.models is None or cell.model in curve.models
    return named and (curve.states is None or cell.states is None or cell.states in curve.states)


def _distinct(values: Iterable[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


class _Group:
    """The cells of a row, which differ in their seeds alone."""

    def __init__(self, cells: Sequence[Cell], records: Mapping[Place, Record]) -> None:
        self.cell = cells[0]
        self.seeds = [cell.seed for cell in cells]
        self.records = [records[cell.place] for cell in cells]
        self.name = str(self.cell).removesuffix(f", seed {self.cell.seed}")
        self._counts: dict[str, list[NDArray[np.int64] | None]] = {}

    @property
    def parts(self) -> list[str]:
        return list(self.records[0]["scores"])

    def counts(self, part: str) -> list[NDArray[np.int64] | None]:
        """Counts of each sentence, summed over seeds."""
        if part not in self._counts:
            seeds = [record["scores"][part]["counts"] for record in self.records]
            self._counts[part] = [
                None if None in found else np.sum(found, axis=0)
                for found in zip(*seeds, strict=True)
            ]
        return self._counts[part]

    def f1(self, part: str) -> float:
        return f1_of(self.counts(part))

    def figures(self) -> Row:
        """What the tables say of a row."""
        first = self.records[0]
        parts = {part: self._scores(part) for part in self.parts}
        times = [_times(record) for record in self.records]
        return {
            "name": self.name,
            "model": self.cell.model,
            "method": self.cell.method,
            "states": self.cell.states,
            "without": self.cell.without,
            "share": self.cell.share,
            "seeds": self.seeds,
            "trees": first["trees"],
            "exhaustive": self.cell.options.parsing.exhaustive,
            "binarise": self._binarisation(),
            "decomposition": self._decomposition(),
            "scores": parts,
            "mean_f1": _mean([scores["f1"] for scores in parts.values()]),
            "cpu_seconds": _mean([one["best"] for one in times]),
            "all_cpu_seconds": _mean([one["all"] for one in times]),
            "stages": {
                stage: _mean([record["stages"].get(stage, 0.0) for record in self.records])
                for stage in first["stages"]
            },
            "iteration_cpu_seconds": _mean_or_none([one["iteration"] for one in times]),
            "best_iteration": _mean_or_none([one["best_iteration"] for one in times]),
            "parameters": round(_mean([record["parameters"] for record in self.records])),
            "bytes": round(_mean([record["bytes"] for record in self.records])),
        }

    def _binarisation(self) -> dict[str, Any] | None:
        """Its settings, None where the treebank decides."""
        binarisation = self.cell.options.treebank.binarise
        return None if binarisation is None else asdict(binarisation)

    def _decomposition(self) -> Row | None:
        """What was asked for and what came of it, as means where records tell of it."""
        options = self.cell.options.decomposition
        if options is None:
            return None
        found = [record.get("decomposition") or {} for record in self.records]
        spent = [record["stages"].get(DECOMPOSING) for record in self.records]
        return {
            "method": options.method,
            "rank": _mean([one.get("rank", options.rank) for one in found]),
            "single": options.single,
            "relative_error": _mean_or_none([one.get("relative_error") for one in found]),
            "cpu_seconds": _mean_or_none(spent),
        }

    def _scores(self, part: str) -> dict[str, Any]:
        scores = [record["scores"][part] for record in self.records]
        interval = interval_of(self.counts(part))
        by_seed = [one["f1"] or 0.0 for one in scores]
        sentences = scores[0]["sentences"]
        ms = [1000 * one["parsing_cpu_seconds"] / max(1, sentences) for one in scores]
        return {
            "f1": self.f1(part),
            "low": interval.low,
            "high": interval.high,
            "by_seed": by_seed,
            "sentences": sentences,
            **{
                name: _mean([one[name] for one in scores])
                for name in ("not_compared", "fallbacks", "negative")
            },
            "tagging_accuracy": _mean_or_none([one["tagging_accuracy"] for one in scores]),
            "ms_a_sentence": _mean(ms),
            "by_seed_ms_a_sentence": ms,
        }

    def iterations(self) -> list[Row]:
        """The course of EM, one for each seed; nothing for other methods."""
        return [
            {
                "name": self.name,
                "model": self.cell.model,
                "states": self.cell.states,
                "seed": seed,
                "best": record["em"]["best"],
                "iterations": [
                    {**one, "cpu_seconds": _times(record)["before"] + one["cpu_seconds"]}
                    for one in record["em"]["record"]
                ],
            }
            for seed, record in zip(self.seeds, self.records, strict=True)
            if record["em"] is not None
        ]


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known and len(known) == len(values) else None


def _times(record: Record) -> dict[str, Any]:
    """CPU seconds of a training, without the judging of EM's iterations.

    ``best`` is what it takes to the model that was kept, ``all`` to the last iteration,
    ``before`` to the first.
    """
    total = sum(record["stages"].values())
    em = record["em"]
    if em is None:
        return {"best": total, "all": total, "before": 0, "iteration": None, "best_iteration": None}
    iterations = em["record"]
    outside = total - record["stages"].get(STAGE, 0.0)
    spent = {one["iteration"]: one["cpu_seconds"] for one in iterations}
    last = iterations[-1]
    return {
        "best": outside + spent[em["best"]],
        "all": outside + last["cpu_seconds"],
        "before": outside,
        "iteration": last["cpu_seconds"] / max(1, last["iteration"]),
        "best_iteration": em["best"],
    }


def _dev_f1(row: _Group) -> float:
    return row.f1("dev")


def _tested(first: _Group, second: _Group, part: str) -> Row | None:
    """The second against the first, if any sentence was scored for both."""
    # Counts that are sums over as many seeds: the test exchanges them between the two.
    both = lcm(len(first.seeds), len(second.seeds))
    counts = [
        [None if one is None else one * (both // len(row.seeds)) for one in row.counts(part)]
        for row in (first, second)
    ]
    test = tested(*counts)
    return test and {"part": part, "first": first.name, "second": second.name, **test}


def _comparisons(whole: Sequence[_Group]) -> list[Row]:
    """The best row of each model on dev, each against each."""
    best: dict[str, _Group] = {}
    for row in sorted(whole, key=_dev_f1, reverse=True):
        best.setdefault(row.cell.model, row)
    compared = list(best.values())[:MOST_COMPARED]
    tests = [
        _tested(worse, better, part)
        for part in (whole[0].parts if whole else ())
        for better, worse in combinations(compared, 2)
    ]
    return [test for test in tests if test is not None]


def _ablations(rows: Sequence[_Group], whole: Sequence[_Group]) -> list[Row]:
    """Rows with a part taken off, tested against the whole model."""
    unablated = {row.cell.place[:2]: row for row in whole}  # by model and states
    found = []
    for row in rows:
        base = unablated.get(row.cell.place[:2])
        if row.cell.without is not None and base is not None:
            tests = {part: _tested(base, row, part) for part in row.parts}
            found.append({**row.figures(), "of": base.name, "tests": tests})
    return found
