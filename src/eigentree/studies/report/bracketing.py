"""The report of a study of bracketing: Tables 1 and 2 and Figure 4 of Parikh et al. 2014."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median, pstdev
from typing import Any

from eigentree.drawing.plots import Point, Series, plot
from eigentree.errors import counted
from eigentree.evaluation.unlabelled import CONVENTIONS
from eigentree.studies.report.page import Report, provenance
from eigentree.studies.report.tables import NOTHING, Cell, Section, Table, percent, seconds

PAPER = (
    "The paper that sections refer to is Parikh, Cohen and Xing (2014), Spectral Unsupervised "
    "Parsing with Additive Tree Metrics, ACL."
)
TOLD = {
    "klein-manning": "F1 of all spans, the sentence's own among them (Klein-Manning)",
    "sentence": "mean of sentence F1, without the sentence's own span",
}
TOPS = {"verbs": "rule", "free": "free", "gold": "gold"}
# What looks at gold trees is no rival of what does not.
_BIN = 2.0  # points of F1

Record = Mapping[str, Any]


def bracketing_report(figures: Mapping[str, Any]) -> Report:
    """All that the report of such a study says.

    Parameters
    ----------
    figures
        As ``results.json`` holds them.
    """
    records = figures["records"]
    made = [
        _contexts(figures),
        _accuracy(figures),
        _by_length(figures),
        *(_by_number(figures, name) for name in ("rank", "bandwidth", "floor", "iterations")),
        _starts(figures),
        _time(records),
    ]
    return Report(
        figures["title"],
        _subtitle(figures),
        list(_summary(figures)),
        PAPER,
        figures["failures"],
        [section for section in made if section.tables or section.plots],
        [
            *provenance(figures),
            ("scores", "spans of two words or more without punctuation, each once; sentences of "
             "one word don't count"),
        ],
    )  # fmt: skip


def _limit(limit: int | None) -> str:
    return "all" if limit is None else f"up to {limit}"


def _subtitle(figures: Mapping[str, Any]) -> str:
    n, words = figures["text"]
    told = [f"text: {counted(n, 'sentence')}, {counted(words, 'word')}"]
    for name, sizes in figures["tests"].items():
        parts = (
            f"{size:,} {_limit(limit)}"
            for size, limit in zip(sizes, figures["limits"], strict=True)
        )
        told.append(f"{name}: sentences of two words or more {', '.join(parts)} words")
    return f"{'; '.join(told)}; tags by the map {figures['tag_map']}"


def _figure(record: Record, test: str, convention: str, limit: int | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(
        one
        for one in record["scores"][test]["figures"]
        if (one["convention"], one["longest"]) == (convention, limit)
    )
    return found


def _f1(record: Record, test: str, convention: str, limit: int | None) -> float:
    return float(_figure(record, test, convention, limit)["f1"] or 0.0)


def _looks_at_gold(record: Record) -> bool:
    settings: Mapping[str, Any] = record["settings"]
    return bool(settings["method"] == "best-binary" or settings.get("top") == "gold")


def _one_seed(records: Sequence[Record]) -> list[Record]:
    """Records without those of further seeds."""
    kept: dict[str, Record] = {}
    for each in records:
        settings = {name: value for name, value in each["settings"].items() if name != "seed"}
        kept.setdefault(repr(sorted(settings.items(), key=str)), each)
    return list(kept.values())


def _summary(figures: Mapping[str, Any]) -> Iterator[str]:
    rivals = [each for each in _one_seed(figures["records"]) if not _looks_at_gold(each)]
    rivals = [each for each in rivals if not _is_random(each)]
    for test in figures["tests"] if rivals else ():
        told: dict[str, list[str]] = {}
        for limit in figures["limits"]:
            best = max(rivals, key=lambda each: _f1(each, test, CONVENTIONS[0], limit))
            f1 = percent(_f1(best, test, CONVENTIONS[0], limit))
            words = "of all lengths" if limit is None else f"up to {limit} words"
            told.setdefault(best["name"], []).append(f"{f1} {words}")
        shown = "; ".join(f"{name} ({', '.join(own)})" for name, own in told.items())
        yield f"Klein-Manning F1 on {test} is best with {shown}."


def _is_random(record: Record) -> bool:
    return "random" in (record["settings"].get("start"), record["settings"]["method"])


def _interval(figure: Mapping[str, Any]) -> str:
    ends = figure["interval"]
    return NOTHING if ends is None else f"{percent(ends[0], 1)} to {percent(ends[1], 1)}"


def _scores(
    figures: Mapping[str, Any], records: Sequence[Record], test: str, convention: str, caption: str
) -> Table:
    """F1 of models by the length of sentences, with intervals."""
    limits = figures["limits"]
    header = ["model", "top bracket"]
    for limit in limits:
        header += [_limit(limit), "95 % interval"]
    best = {
        limit: max(
            (_f1(each, test, convention, limit) for each in records if not _looks_at_gold(each)),
            default=0.0,
        )
        for limit in limits
    }
    rows = []
    for each in records:
        row = [Cell(each["name"]), Cell(TOPS.get(each["settings"].get("top", ""), NOTHING))]
        for limit in limits:
            figure = _figure(each, test, convention, limit)
            is_best = not _looks_at_gold(each) and figure["f1"] == best[limit]
            row += [Cell(percent(figure["f1"]), best=is_best), Cell(_interval(figure))]
        rows.append(row)
    return Table(caption, header, rows, text_columns=2)


def _accuracy(figures: Mapping[str, Any]) -> Section:
    records = _one_seed(figures["records"])
    tables = [
        _scores(figures, records, test, convention, f"{test}: {TOLD[convention]}")
        for test in figures["tests"]
        for convention in CONVENTIONS
    ]
    text = (
        "As in the paper's table 2. The root parts a sentence by the paper's rule, where the tree "
        "is best (free), or where the gold tree does. What looks at gold trees is no rival: the "
        "best of the others stands out. Of what begins by chance the first seed is told."
    )
    return Section("Accuracy", text, tables if records else [], [])


def _contexts(figures: Mapping[str, Any]) -> Section:
    own = [
        each
        for each in _one_seed(figures["records"])
        if each["settings"]["method"] == "constituent-context" and not _is_random(each)
    ]
    tables = [
        _scores(figures, own, test, CONVENTIONS[0], f"{test}: {TOLD[CONVENTIONS[0]]}")
        for test in figures["tests"]
    ]
    text = (
        "As in the paper's table 1: tags as given or universal, alone or crossed with Brown "
        "clusters. Unless a model says how long its sentences are, each length has a model of its "
        "own, learned from sentences up to that length, as in the paper."
    )
    return Section("The constituent-context model", text, tables if len(own) > 1 else [], [])


def _by_length(figures: Mapping[str, Any]) -> Section:
    limits = [limit for limit in figures["limits"] if limit is not None]
    firsts: dict[str, Record] = {}
    for each in figures["records"]:
        firsts.setdefault(each["settings"]["model"], each)
    if len(limits) < 2 or not firsts:
        return Section("", "", [], [])
    plots = []
    for number, test in enumerate(figures["tests"]):
        series: list[Series] = []
        for colour, (name, each) in enumerate(firsts.items()):
            points = []
            for limit in limits:
                figure = _figure(each, test, CONVENTIONS[0], limit)
                if figure["f1"] is not None:
                    shown = f"{name}, up to {limit}: {percent(figure['f1'])}"
                    points.append(Point(limit, 100 * figure["f1"], shown))
            series.append(Series(name, points, colour))
        plots.append(
            plot(
                f"F1 by length, {test}",
                f"Klein-Manning F1 on {test} by the most words of a sentence",
                series,
                x_label="words of a sentence, at most",
                y_label=f"F1 on {test}, %",
                x_ticks=limits,
                name=f"lengths-{number}",
            )
        )
    note = "The first row of each model."
    return Section("Length of sentences", "", [], plots, note)


def _by_number(figures: Mapping[str, Any], name: str) -> Section:
    """F1 by one number, for models that have several values of it."""
    groups: dict[str, dict[str, list[Record]]] = {}
    for each in _one_seed(figures["records"]):
        if name in each["settings"]:
            rest = {key: value for key, value in each["settings"].items() if key != name}
            groups.setdefault(each["settings"]["model"], {}).setdefault(
                repr(sorted(rest.items(), key=str)), []
            ).append(each)
    several = {
        model: [own for own in groups[model].values() if len(own) > 1][:1] for model in groups
    }
    chosen = {model: own[0] for model, own in several.items() if own}
    if not chosen:
        return Section("", "", [], [])
    limits = [figures["limits"][0], figures["limits"][-1]]
    plots = []
    for number, test in enumerate(figures["tests"]):
        series: list[Series] = []
        for model, own in chosen.items():
            for limit in dict.fromkeys(limits):
                words = "all lengths" if limit is None else f"up to {limit} words"
                points = []
                for each in own:
                    f1 = _f1(each, test, CONVENTIONS[0], limit)
                    title = f"{each['name']}: {percent(f1)}"
                    points.append(Point(each["settings"][name], 100 * f1, title))
                points.sort()
                series.append(Series(f"{model}, {words}", points, len(series)))
        plots.append(
            plot(
                f"F1 by {name}, {test}",
                f"Klein-Manning F1 on {test} by {name}",
                series,
                x_label=name,
                y_label=f"F1 on {test}, %",
                name=f"{name}-{number}",
            )
        )
    return Section(name.capitalize(), "", [], plots)


def _starts(figures: Mapping[str, Any]) -> Section:
    """Random starts of the constituent-context model, as in the paper's figure 4."""
    groups: dict[str, list[Record]] = {}
    for each in figures["records"]:
        if each["settings"].get("start") == "random":
            groups.setdefault(each["settings"]["model"], []).append(each)
    chosen = {model: own for model, own in groups.items() if len(own) > 1}
    if not chosen:
        return Section("", "", [], [])
    limit = figures["limits"][0]
    plots, tables = [], []
    for number, test in enumerate(figures["tests"]):
        rows: list[list[Cell]] = []
        series: list[Series] = []
        for model, own in chosen.items():
            found = [100 * _f1(each, test, CONVENTIONS[0], limit) for each in own]
            told = (min(found), fmean(found), median(found), max(found), pstdev(found))
            rows.append([Cell(model), Cell(str(len(found))), *(Cell(f"{one:.2f}") for one in told)])
            series.append(_histogram(model, found, len(series)))
        for each in _one_seed(figures["records"]):
            if each["settings"].get("start") == "split":
                f1 = 100 * _f1(each, test, CONVENTIONS[0], limit)
                point = Point(f1, 0.0, f"{each['name']}: {f1:.2f}")
                series.append(Series(each["name"], [point], None, line=False))
        header = ["model", "starts", "least F1", "mean", "median", "largest", "deviation"]
        tables.append(Table(f"{test}, {_limit(limit)} words", header, rows))
        plots.append(
            plot(
                f"Random starts, {test}",
                f"How many random starts have which F1 on {test}, {_limit(limit)} words",
                series,
                x_label=f"F1 on {test}, {_limit(limit)} words, %",
                y_label="starts",
                name=f"starts-{number}",
            )
        )
    text = "As in the paper's figure 4: expectation maximisation depends on where it begins."
    note = "Diamonds on the axis are models that begin with splits of equal probability."
    return Section("Random starts", text, tables, plots, note)


def _histogram(name: str, values: Sequence[float], colour: int) -> Series:
    """Numbers of values in bins, as an outline."""
    first, last = int(min(values) // _BIN), int(max(values) // _BIN)
    points = [Point(_BIN * first, 0.0, name)]
    for at in range(first, last + 1):
        n = float(sum(int(value // _BIN) == at for value in values))
        points += [Point(_BIN * at, n, name), Point(_BIN * (at + 1), n, name)]
    points.append(Point(_BIN * (last + 1), 0.0, name))
    return Series(name, points, colour, marks=False)


def _time(records: Sequence[Record]) -> Section:
    learned = [each for each in _one_seed(records) if each["seconds"] is not None]
    rows = []
    for each in learned:
        parsed = list(each["scores"].values())
        n = sum(one["sentences"] for one in parsed)
        spent = sum(one["seconds"] for one in parsed)
        rows.append(
            [
                Cell(each["name"]),
                Cell(f"{each['learned_from']:,}"),
                Cell(seconds(each["word_seconds"])),
                Cell(seconds(each["seconds"])),
                Cell(f"{1000 * spent / n:.2f}"),
            ]
        )
    header = ["model", "sentences learned from", "CPU s of words", "CPU s of learning",
              "CPU ms a sentence"]  # fmt: skip
    note = (
        "Of models for several lengths the time is that of all of them, sentences are those of "
        "the longest. Words are Brown clusters or vectors of the text."
    )
    table = Table("Times", header, rows, note)
    return Section("Time", "", [table] if learned else [], [])
