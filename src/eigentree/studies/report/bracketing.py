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
CONVENTION_NAMES = {
    "klein-manning": "F1 of all spans, including those of whole sentences (Klein-Manning)",
    "sentence": "mean sentence F1, without spans of whole sentences",
}
ROOT_SPLITS = {"verbs": "rule", "free": "free", "gold": "gold"}
_BIN = 2.0  # points of F1

Record = Mapping[str, Any]


def bracketing_report(figures: Mapping[str, Any]) -> Report:
    """The report of a study of unsupervised bracketing.

    Parameters
    ----------
    figures
        As in ``results.json``.
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
            ("scores", "distinct spans of two or more words without punctuation; sentences of one "
             "word are not scored"),
        ],
    )  # fmt: skip


def _limit(limit: int | None) -> str:
    return "all" if limit is None else f"up to {limit}"


def _subtitle(figures: Mapping[str, Any]) -> str:
    n, words = figures["text"]
    sizes = [f"text: {counted(n, 'sentence')}, {counted(words, 'word')}"]
    for name, test_sizes in figures["tests"].items():
        parts = (
            f"{size:,} {_limit(limit)}"
            for size, limit in zip(test_sizes, figures["limits"], strict=True)
        )
        sizes.append(f"{name}: sentences of two or more words: {', '.join(parts)} words")
    return f"{'; '.join(sizes)}; tags by the map {figures['tag_map']}"


def _figure(record: Record, test: str, convention: str, limit: int | None) -> Mapping[str, Any]:
    figure: Mapping[str, Any] = next(
        one
        for one in record["scores"][test]["figures"]
        if (one["convention"], one["longest"]) == (convention, limit)
    )
    return figure


def _f1(record: Record, test: str, convention: str, limit: int | None) -> float:
    return float(_figure(record, test, convention, limit)["f1"] or 0.0)


def _looks_at_gold(record: Record) -> bool:
    settings: Mapping[str, Any] = record["settings"]
    return bool(settings["method"] == "best-binary" or settings.get("top") == "gold")


def _one_seed(records: Sequence[Record]) -> list[Record]:
    """The records of the first seed of each model."""
    first: dict[str, Record] = {}
    for each in records:
        settings = {name: value for name, value in each["settings"].items() if name != "seed"}
        first.setdefault(repr(sorted(settings.items(), key=str)), each)
    return list(first.values())


def _summary(figures: Mapping[str, Any]) -> Iterator[str]:
    rivals = [each for each in _one_seed(figures["records"]) if not _looks_at_gold(each)]
    rivals = [each for each in rivals if not _is_random(each)]
    for test in figures["tests"] if rivals else ():
        results: dict[str, list[str]] = {}
        for limit in figures["limits"]:
            best = max(rivals, key=lambda each: _f1(each, test, CONVENTIONS[0], limit))
            f1 = percent(_f1(best, test, CONVENTIONS[0], limit))
            words = "of all lengths" if limit is None else f"up to {limit} words"
            results.setdefault(best["name"], []).append(f"{f1} {words}")
        shown = "; ".join(f"{name} ({', '.join(scores)})" for name, scores in results.items())
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
    header = ["model", "root split"]
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
        row = [Cell(each["name"]), Cell(ROOT_SPLITS.get(each["settings"].get("top", ""), NOTHING))]
        for limit in limits:
            figure = _figure(each, test, convention, limit)
            is_best = not _looks_at_gold(each) and figure["f1"] == best[limit]
            row += [Cell(percent(figure["f1"]), best=is_best), Cell(_interval(figure))]
        rows.append(row)
    return Table(caption, header, rows, text_columns=2)


def _accuracy(figures: Mapping[str, Any]) -> Section:
    records = _one_seed(figures["records"])
    tables = [
        _scores(figures, records, test, convention, f"{test}: {CONVENTION_NAMES[convention]}")
        for test in figures["tests"]
        for convention in CONVENTIONS
    ]
    text = (
        "As in the paper's table 2. The root split is by the paper's rule, free, or that of the "
        "gold tree. The best result is in bold, without models that use gold trees. Only the "
        "first seed of each model is shown."
    )
    return Section("Accuracy", text, tables if records else [], [])


def _contexts(figures: Mapping[str, Any]) -> Section:
    models = [
        each
        for each in _one_seed(figures["records"])
        if each["settings"]["method"] == "constituent-context" and not _is_random(each)
    ]
    tables = [
        _scores(
            figures, models, test, CONVENTIONS[0], f"{test}: {CONVENTION_NAMES[CONVENTIONS[0]]}"
        )
        for test in figures["tests"]
    ]
    text = (
        "As in the paper's table 1: tags as given or universal, alone or crossed with Brown "
        "clusters. Unless a model has a limit of its own, there is one model for each limit, "
        "trained on sentences up to that length, as in the paper."
    )
    return Section("The constituent-context model", text, tables if len(models) > 1 else [], [])


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
                f"Klein-Manning F1 on {test} by maximum sentence length",
                series,
                x_label="maximum sentence length, words",
                y_label=f"F1 on {test}, %",
                x_ticks=limits,
                name=f"lengths-{number}",
            )
        )
    note = "The first row of each model."
    return Section("Length of sentences", "", [], plots, note)


def _by_number(figures: Mapping[str, Any], name: str) -> Section:
    """F1 by a parameter, for models that have several values of it."""
    groups: dict[str, dict[str, list[Record]]] = {}
    for each in _one_seed(figures["records"]):
        if name in each["settings"]:
            rest = {key: value for key, value in each["settings"].items() if key != name}
            groups.setdefault(each["settings"]["model"], {}).setdefault(
                repr(sorted(rest.items(), key=str)), []
            ).append(each)
    several = {
        model: [group for group in groups[model].values() if len(group) > 1][:1] for model in groups
    }
    chosen = {model: found[0] for model, found in several.items() if found}
    if not chosen:
        return Section("", "", [], [])
    limits = [figures["limits"][0], figures["limits"][-1]]
    plots = []
    for number, test in enumerate(figures["tests"]):
        series: list[Series] = []
        for model, group in chosen.items():
            for limit in dict.fromkeys(limits):
                words = "all lengths" if limit is None else f"up to {limit} words"
                points = []
                for each in group:
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
    chosen = {model: group for model, group in groups.items() if len(group) > 1}
    if not chosen:
        return Section("", "", [], [])
    limit = figures["limits"][0]
    plots, tables = [], []
    for number, test in enumerate(figures["tests"]):
        rows: list[list[Cell]] = []
        series: list[Series] = []
        for model, group in chosen.items():
            values = [100 * _f1(each, test, CONVENTIONS[0], limit) for each in group]
            summary = (min(values), fmean(values), median(values), max(values), pstdev(values))
            cells = [Cell(f"{one:.2f}") for one in summary]
            rows.append([Cell(model), Cell(str(len(values))), *cells])
            series.append(_histogram(model, values, len(series)))
        for each in _one_seed(figures["records"]):
            if each["settings"].get("start") == "split":
                f1 = 100 * _f1(each, test, CONVENTIONS[0], limit)
                point = Point(f1, 0.0, f"{each['name']}: {f1:.2f}")
                series.append(Series(each["name"], [point], None, line=False))
        header = ["model", "starts", "minimum F1", "mean", "median", "maximum", "deviation"]
        tables.append(Table(f"{test}, {_limit(limit)} words", header, rows))
        plots.append(
            plot(
                f"Random starts, {test}",
                f"Histogram of F1 on {test} over random starts, {_limit(limit)} words",
                series,
                x_label=f"F1 on {test}, {_limit(limit)} words, %",
                y_label="starts",
                name=f"starts-{number}",
            )
        )
    text = "As in the paper's figure 4: EM depends on its initialisation."
    note = "Diamonds on the axis are models initialised with uniform splits."
    return Section("Random starts", text, tables, plots, note)


def _histogram(name: str, values: Sequence[float], colour: int) -> Series:
    """A histogram, as an outline."""
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
    header = ["model", "training sentences", "CPU s of words", "CPU s of training",
              "CPU ms per sentence"]  # fmt: skip
    note = (
        "For models of several lengths, the time is that of all of them, and the sentences are "
        "those of the longest. Words are Brown clusters or vectors of the text."
    )
    table = Table("Times", header, rows, note)
    return Section("Time", "", [table] if learned else [], [])
