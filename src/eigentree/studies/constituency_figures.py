"""The figures of the report on constituency parsers, from records: one dictionary, fit for JSON.

A row is a model with a number of states.  With several seeds, its F1 is that of the bracket counts
summed over seeds sentence by sentence, so that intervals and paired tests are still over
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
from eigentree.studies.constituency_tables import ConstituencyTables
from eigentree.studies.ensemble_figures import ensemble_figures
from eigentree.studies.ensemble_runs import EnsembleRun
from eigentree.studies.intervals import ends_of, f1_of, interval_of, paired_comparison
from eigentree.studies.model_runs import ModelRun, RunKey
from eigentree.studies.run import FORMAT, Outcome

Record = Mapping[str, Any]
Row = dict[str, Any]

# Maximum number of models that are tested against each other.
MAX_COMPARED = 6


def figures_of(study: ConstituencyTables, outcome: Outcome) -> dict[str, Any]:
    """All figures of a study, fit for JSON."""
    groups: dict[tuple[object, ...], list[tuple[ModelRun, Record]]] = {}
    ensembles: dict[str, Record] = {}
    for run, record in zip(outcome.runs, outcome.records, strict=True):
        if record is None:
            continue
        if isinstance(run, EnsembleRun):
            ensembles[run.ensemble] = record
        elif isinstance(run, ModelRun):
            groups.setdefault(run.key[:-1], []).append((run, record))  # all but the seed
    rows = [_ModelRow(group) for group in groups.values()]
    whole = [row for row in rows if row.key.without is None and row.key.share == 1]
    names = [model.name for model in study.model]
    whole.sort(key=lambda row: names.index(row.key.model))
    done = outcome.done()
    seeds = {run.key.seed for run in outcome.runs if isinstance(run, ModelRun)}
    return {
        "format": FORMAT,
        "title": study.title,
        "command": outcome.command,
        "tags": study.tags,
        "seeds": sorted(seeds | set(study.seeds[:1] if study.ensemble else ())),
        "longest": study.longest,
        # Numbers of sentences of all lengths, if the lengths are limited.
        "all_sentences": {
            part: done[0]["all_sentences"][part]
            for part in study.parts
            if done and study.longest is not None
        },
        "parts": {part: _scores_of(done[0])[part]["sentences"] for part in study.parts if done},
        "trees": max((one["trees"] for one in done), default=0),
        "words": max((one["words"] for one in done), default=0),
        "data": {
            part: {"file": path.name, "sha256": outcome.data[part]}
            for part, path in study.files.items()
            if done
        },
        "best": None if not whole else max(whole, key=_dev_f1).name,
        "models": [row.figures() for row in whole],
        "iterations": [curve for row in whole for curve in row.iterations()],
        "ablations": _ablations(rows, whole),
        "learning_curve": [
            row.figures()
            for row in sorted(
                rows,
                key=lambda row: (names.index(row.key.model), row.key.states or 0, row.key.share),
            )
            if row.key.without is None and _in_curve(study, row.key)
        ],
        "comparisons": _comparisons(whole),
        "ensembles": [
            ensemble_figures(ensembles[each.name])
            for each in study.ensemble
            if each.name in ensembles
        ],
        "references": [
            {**reference.model_dump(), "f1": reference.f1 / 100} for reference in study.reference
        ],
        "failures": dict(outcome.failures),
        "machines": _distinct(one["machine"] for one in done),
        "processes": sorted(
            _distinct(one["processes"] for one in done if "combinations" not in one)
        ),
        "versions": _distinct(one["versions"] for one in done),
        "finished": max((one["finished"] for one in done), default=None),
    }


def _scores_of(record: Record) -> dict[str, Any]:
    scores: dict[str, Any] = (record["combinations"][0] if "combinations" in record else record)[
        "scores"
    ]
    return scores


def _in_curve(study: ConstituencyTables, key: RunKey) -> bool:
    curve = study.learning_curve
    if curve is None or key.share not in curve.sizes:
        return False
    selected = curve.models is None or key.model in curve.models
    return selected and (curve.states is None or key.states is None or key.states in curve.states)


def _distinct(values: Iterable[Any]) -> list[Any]:
    distinct: list[Any] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


class _ModelRow:
    """The runs of a row, which differ in their seeds only."""

    def __init__(self, group: Sequence[tuple[ModelRun, Record]]) -> None:
        run = group[0][0]
        self.key, self.method, self.options = run.key, run.method, run.options
        self.name = run.key.row
        self.seeds = [each.key.seed for each, _ in group]
        self.records = [record for _, record in group]
        self._counts: dict[str, list[NDArray[np.int64] | None]] = {}

    @property
    def parts(self) -> list[str]:
        return list(self.records[0]["scores"])

    def counts(self, part: str) -> list[NDArray[np.int64] | None]:
        """Counts of each sentence, summed over seeds."""
        if part not in self._counts:
            seeds = [record["scores"][part]["counts"] for record in self.records]
            self._counts[part] = [
                None if None in each else np.sum(each, axis=0) for each in zip(*seeds, strict=True)
            ]
        return self._counts[part]

    def f1(self, part: str) -> float:
        return f1_of(self.counts(part))

    def figures(self) -> Row:
        """The figures of the row in tables."""
        first = self.records[0]
        parts = {part: self._scores(part) for part in self.parts}
        times = [_times(record) for record in self.records]
        return {
            "name": self.name,
            "model": self.key.model,
            "method": self.method,
            "states": self.key.states,
            "without": self.key.without,
            "share": self.key.share,
            "seeds": self.seeds,
            "trees": first["trees"],
            "exhaustive": self.options.parsing.exhaustive,
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
        """Settings of the binarisation; None if they follow from the treebank."""
        binarisation = self.options.treebank.binarise
        return None if binarisation is None else asdict(binarisation)

    def _decomposition(self) -> Row | None:
        """Settings of the decomposition, and the means of what records have of its results."""
        options = self.options.decomposition
        if options is None:
            return None
        reports = [record.get("decomposition") or {} for record in self.records]
        seconds = [record["stages"].get(DECOMPOSING) for record in self.records]
        return {
            "method": options.method,
            "rank": _mean([one.get("rank", options.rank) for one in reports]),
            "single": options.single,
            "relative_error": _mean_or_none([one.get("relative_error") for one in reports]),
            "cpu_seconds": _mean_or_none(seconds),
        }

    def _scores(self, part: str) -> dict[str, Any]:
        scores = [record["scores"][part] for record in self.records]
        by_seed = [one["f1"] or 0.0 for one in scores]
        sentences = scores[0]["sentences"]
        ms = [1000 * one["parsing_cpu_seconds"] / max(1, sentences) for one in scores]
        return {
            "f1": self.f1(part),
            **ends_of(interval_of(self.counts(part))),
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
        """The iterations of EM for each seed; empty for other methods."""
        return [
            {
                "name": self.name,
                "model": self.key.model,
                "states": self.key.states,
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
    """CPU seconds of a training, without the evaluation of EM iterations on dev.

    ``best`` is the time to the selected model, ``all`` to the last iteration, ``before`` to the
    first.
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


def _dev_f1(row: _ModelRow) -> float:
    return row.f1("dev")


def _tested(first: _ModelRow, second: _ModelRow, part: str) -> Row | None:
    """Test the second against the first, if any sentence was scored for both."""
    # Scaled to sums over equal numbers of seeds, as the test exchanges counts between the two.
    both = lcm(len(first.seeds), len(second.seeds))
    counts = [
        [None if one is None else one * (both // len(row.seeds)) for one in row.counts(part)]
        for row in (first, second)
    ]
    test = paired_comparison(*counts)
    return test and {"part": part, "first": first.name, "second": second.name, **test}


def _comparisons(whole: Sequence[_ModelRow]) -> list[Row]:
    """Paired tests between the best rows on dev of the models."""
    best: dict[str, _ModelRow] = {}
    for row in sorted(whole, key=_dev_f1, reverse=True):
        best.setdefault(row.key.model, row)
    compared = list(best.values())[:MAX_COMPARED]
    tests = [
        _tested(worse, better, part)
        for part in (whole[0].parts if whole else ())
        for better, worse in combinations(compared, 2)
    ]
    return [test for test in tests if test is not None]


def _ablations(rows: Sequence[_ModelRow], whole: Sequence[_ModelRow]) -> list[Row]:
    """Rows without some component, tested against the whole model."""
    unablated = {row.key[:2]: row for row in whole}  # by model and states
    ablations = []
    for row in rows:
        base = unablated.get(row.key[:2])
        if row.key.without is not None and base is not None:
            tests = {part: _tested(base, row, part) for part in row.parts}
            ablations.append({**row.figures(), "of": base.name, "tests": tests})
    return ablations
