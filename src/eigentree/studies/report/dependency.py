"""The report of a study of dependency parsers: Figures 1 and 2 and Table 1 of Luque et al. 2012."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eigentree.drawing.plots import Point, Series, plot
from eigentree.errors import counted
from eigentree.studies.report.page import Report, provenance
from eigentree.studies.report.tables import (
    NOTHING,
    Cell,
    Section,
    Table,
    interval,
    percent,
    seconds,
)

PAPER = (
    "The paper that sections refer to is Luque, Quattoni, Balle and Carreras (2012), Spectral "
    "Learning for Non-Deterministic Dependency Parsing, EACL."
)
Record = Mapping[str, Any]
# Maximum number of points that are drawn with marks.
_MAX_MARKS = 20


def dependency_report(figures: Mapping[str, Any]) -> Report:
    """The report of a study of dependency parsers.

    Parameters
    ----------
    figures
        As in ``results.json``.
    """
    records = figures["records"]
    made = [
        _all_models(records, _parts(figures)),
        _by_states(records),
        _by_iterations(records),
        _with_words(records),
    ]
    return Report(
        figures["title"],
        _subtitle(figures),
        _summary(records),
        PAPER,
        figures["failures"],
        [section for section in made if section.tables or section.plots],
        [
            *provenance(figures),
            ("scores", "heads of all words including punctuation, parsed with gold tags"),
        ],
    )


def _parts(figures: Mapping[str, Any]) -> list[str]:
    return [part for part in figures["sizes"] if part != "train"]


def _subtitle(figures: Mapping[str, Any]) -> str:
    sizes = [
        f"{part}: {counted(n, 'sentence')}, {counted(words, 'word')}"
        for part, (n, words) in figures["sizes"].items()
    ]
    longest = figures["longest"]
    lengths = "" if longest is None else f"; scored on sentences up to {longest} words"
    return f"{'; '.join(sizes)}{lengths}; tags: {figures['tags']}"


def _summary(records: Sequence[Record]) -> list[str]:
    sentences = []
    for kind, chosen in (
        ("tags only", [each for each in records if each["settings"]["lexical"] == "none"]),
        ("words and tags", [each for each in records if each["settings"]["lexical"] != "none"]),
    ):
        if chosen:
            best = max(chosen, key=lambda each: each["scores"]["dev"]["uas"] or 0.0)
            scores = best["scores"]
            test = f" and {percent(scores['test']['uas'])} on test" if "test" in scores else ""
            sentences.append(
                f"The best on dev by {kind} is {best['name']}: UAS {percent(scores['dev']['uas'])}"
                f"{test}, trained in {seconds(best['seconds'])} CPU s."
            )
    return sentences


def _all_models(records: Sequence[Record], parts: Sequence[str]) -> Section:
    header = ["model", "lexical model", "states", "CPU s of training", "parameters"]
    for part in parts:
        header += [
            f"{part} UAS",
            "95 % interval",
            "without punctuation",
            "up to 10 words",
            "sentences per CPU s",
            "back-offs",
        ]
    best = {
        part: max((each["scores"][part]["uas"] or 0.0 for each in records), default=0.0)
        for part in parts
    }
    rows = []
    for each in records:
        settings = each["settings"]
        row = [
            Cell(each["name"]),
            Cell(_lexical(each)),
            Cell(NOTHING if settings["states"] is None else str(settings["states"])),
            Cell(seconds(each["seconds"])),
            Cell(f"{each['parameters']:,}"),
        ]
        for part in parts:
            scores = each["scores"][part]
            row += [
                Cell(percent(scores["uas"]), best=scores["uas"] == best[part]),
                Cell(interval(scores)),
                Cell(percent(scores["uas_without_punctuation"])),
                Cell(percent(scores["uas_up_to_10"])),
                Cell(f"{scores['sentences'] / max(scores['seconds'], 1e-9):,.0f}"),
                Cell(str(scores["fallbacks"])),
            ]
        rows.append(row)
    table = Table(
        "Unlabelled attachment of all models (the paper's table 1)",
        header,
        rows,
        "Parameters are non-zero values or stored counts. Training includes the selection of the "
        "best iteration and of the lexical model's weight on dev. Back-offs are sentences without "
        "a usable value under signed automata.",
        text_columns=2,
    )
    return Section("Accuracy", "", [table], [])


def _lexical(record: Record) -> str:
    lexical: str = record["settings"]["lexical"]
    return "" if lexical == "none" else f"{lexical}, weight {record['lexical_weight']:g}"


def _groups(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records of each model with seed 0, in the order of their states."""
    groups: dict[str, list[Record]] = {}
    for each in records:
        if not each["settings"]["seed"]:
            groups.setdefault(each["settings"]["model"], []).append(each)
    return groups


def _by_states(records: Sequence[Record]) -> Section:
    plain = [each for each in records if each["settings"]["lexical"] == "none"]
    several = {name: group for name, group in _groups(plain).items() if len(group) > 1}
    if not several:
        return Section("", "", [], [])
    drawn = plot(
        "UAS by number of states",
        "Unlabelled attachment on dev by the number of hidden states",
        [*_series(several), *_levels(plain, several)],
        x_label="hidden states",
        y_label="UAS on dev, %",
        name="states",
    )
    return Section(
        "States",
        "",
        [],
        [drawn],
        "As in the paper's figure 1. Models without hidden states are horizontal lines.",
    )


def _series(groups: Mapping[str, Sequence[Record]]) -> Iterator[Series]:
    for colour, (name, group) in enumerate(groups.items()):
        points = [
            Point(each["settings"]["states"], 100 * each["scores"]["dev"]["uas"], each["name"])
            for each in group
        ]
        yield Series(name, points, colour)


def _levels(records: Sequence[Record], groups: Mapping[str, Sequence[Record]]) -> Iterator[Series]:
    """Models without states, as horizontal lines over the range of the others."""
    states = [each["settings"]["states"] for group in groups.values() for each in group]
    for colour, each in enumerate(
        (one for one in records if one["settings"]["states"] is None), start=len(groups)
    ):
        uas = 100 * each["scores"]["dev"]["uas"]
        ends = [Point(at, uas, each["name"]) for at in (min(states), max(states))]
        yield Series(each["name"], ends, colour, marks=False)


def _by_iterations(records: Sequence[Record]) -> Section:
    # Words are added after training, so combinations have the same iterations.
    learned = [
        each for each in records if each["em"]["record"] and each["settings"]["lexical"] == "none"
    ]
    if not learned:
        return Section("", "", [], [])
    series = []
    rows = []
    for colour, each in enumerate(learned):
        record = each["em"]["record"]
        best = record[each["em"]["best"]]
        points = [
            Point(at, 100 * row["uas"], f"{each['name']}, iteration {at}")
            for at, row in enumerate(record, start=1)
            if row["uas"] is not None
        ]
        series.append(Series(each["name"], points, colour, marks=len(points) <= _MAX_MARKS))
        rows.append(
            [
                Cell(each["name"]),
                Cell(str(len(record))),
                Cell(str(each["em"]["best"] + 1)),
                Cell(percent(best["uas"])),
                Cell(f"{best['log_likelihood']:,.0f}"),
                Cell(seconds(each["seconds"])),
            ]
        )
    table = Table(
        "Expectation maximisation",
        ["model", "iterations", "best", "its UAS", "its log-likelihood, nats", "CPU s"],
        rows,
        "UAS of iterations is on up to 500 sentences of dev. Time includes all iterations and "
        "their scores.",
    )
    drawn = [
        plot(
            "UAS by iterations",
            "Unlabelled attachment on dev after each EM iteration",
            series,
            x_label="iterations",
            y_label="UAS on dev, %",
            name="iterations",
        )
    ]
    shown = drawn if any(one.points for one in series) else []
    note = "As in the other half of the paper's figure 1."
    return Section("Iterations", "", [table], shown, note)


def _with_words(records: Sequence[Record]) -> Section:
    lexical = [each for each in records if each["settings"]["lexical"] != "none"]
    groups = {n: g for n, g in _groups(lexical).items() if g[0]["settings"]["states"] is not None}
    if not any(len(group) > 1 for group in groups.values()):
        return Section("", "", [], [])
    drawn = plot(
        "UAS of combinations with words",
        "Unlabelled attachment on dev by the number of hidden states and the lexical model",
        [*_series(groups), *_levels(lexical, groups)],
        x_label="hidden states",
        y_label="UAS on dev, %",
        name="words",
    )
    return Section(
        "Words",
        "",
        [],
        [drawn],
        "As in the paper's figure 2: lexical models alone are horizontal lines.",
    )
