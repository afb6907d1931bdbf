"""The figures of an ensemble in the report, from its record: one dictionary, fit for JSON.

The best member and the best combination have the highest F1 on dev; ties go to the first.  Every
combination is tested against the best member, on the same sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eigentree.studies.intervals import ends_of, f1_of, interval_of, paired_comparison

Record = Mapping[str, Any]
Row = dict[str, Any]

_COPIED = ("precision", "recall", "exact_match", "tagging_accuracy", "sentences", "not_compared")


def ensemble_figures(record: Record) -> Row:
    """The figures of an ensemble.

    Parameters
    ----------
    record
        As made by `eigentree.studies.ensembles.run_ensemble`.
    """
    single = record["best_member"]
    combinations = [_combination(each, single) for each in record["combinations"]]
    parts = list(single["scores"])
    members = [
        {
            **{name: each[name] for name in each if name != "scores"},
            "f1": {part: each["scores"][part]["f1"] or 0.0 for part in parts},
            "no_tree": {part: each["scores"][part]["fallbacks"] for part in parts},
        }
        for each in record["members"]
    ]
    sentences = {part: single["scores"][part]["sentences"] for part in parts}
    return {
        "name": record["ensemble"]["name"],
        "seed": record["ensemble"]["seed"],
        "settings": record["description"],
        "trees": record["trees"],
        "best": max(combinations, key=_on_dev)["name"],
        "best_member": {"name": single["name"], "scores": _parts(single)},
        "combinations": combinations,
        "members": members,
        "groups": [_group(each, members) for each in record["groups"]],
        "growth": record["growth"],
        "training": record["training"],
        "ms_a_sentence": {
            part: 1000 * spent / max(1, sentences[part])
            for part, spent in record["parsing_cpu_seconds"].items()
        },
        "most_memory": record["most_memory"],
        "processes": record["processes"],
    }


def _on_dev(row: Row) -> float:
    f1: float = row["scores"]["dev"]["f1"]
    return f1


def _parts(scored: Record) -> dict[str, Row]:
    """F1 with its interval, and other figures, of each part."""
    parts = {}
    for part, scores in scored["scores"].items():
        parts[part] = {
            "f1": f1_of(scores["counts"]),
            **ends_of(interval_of(scores["counts"])),
            **{name: scores[name] for name in (*_COPIED, "fallbacks")},
        }
    return parts


def _combination(combination: Record, single: Record) -> Row:
    scores = _parts(combination)
    return {
        **{name: combination[name] for name in ("name", "how", "inputs", "members")},
        "scores": scores,
        "mean_f1": _mean([each["f1"] for each in scores.values()]),
        "gain": {
            part: paired_comparison(single["scores"][part]["counts"], each["counts"])
            for part, each in combination["scores"].items()
        },
    }


def _group(group: Record, members: Sequence[Row]) -> Row:
    """The figures of a family, or of all members."""
    names = set(group["members"])
    group_members = [each for each in members if each["name"] in names]
    best = max(group_members, key=lambda each: each["f1"]["dev"])
    of_f1: dict[str, Callable[[Sequence[float]], float]] = {
        "mean": _mean, "lowest": min, "highest": max,
    }  # fmt: skip
    return {
        "family": group["family"],
        "members": len(group_members),
        "best": best["name"],
        "parts": {
            part: {
                **{
                    name: of([each["f1"][part] for each in group_members])
                    for name, of in of_f1.items()
                },
                "best": best["f1"][part],
                **figures,
            }
            for part, figures in group["parts"].items()
        },
        "parameters": round(_mean([each["parameters"] for each in group_members])),
        "bytes": round(_mean([each["bytes"] for each in group_members])),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
