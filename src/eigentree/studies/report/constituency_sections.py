"""Tables and plots in the report of a study of constituency parsers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eigentree.drawing.plots import Point, Series, plot
from eigentree.errors import counted
from eigentree.studies.report.ensembles import ensemble_sections
from eigentree.studies.report.parsing_time import parsing_time
from eigentree.studies.report.tables import (
    NOTHING,
    Cell,
    Figures,
    Row,
    Section,
    Table,
    file_size,
    in_percent,
    in_points,
    interval,
    p_value,
    percent,
    seconds,
)

_APART = 7.0  # between intervals of different models at the same number of states
# What sentences are parsed from.
TAGS = {"gold": "gold tags", "own": "words only"}


def sections(figures: Figures) -> list[Section]:
    """The sections of the report, without empty ones."""
    made = [
        _accuracy(figures),
        _time_and_accuracy(figures),
        _iterations(figures),
        _times_of_training(figures),
        parsing_time(figures),
        _ablations(figures),
        _learning_curve(figures),
        _comparisons(figures),
        *ensemble_sections(figures),
    ]
    return [section for section in made if section.tables or section.plots]


def _models(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["model"] for row in rows))


def _colours(figures: Figures) -> dict[str, int]:
    return {name: number for number, name in enumerate(_models(figures["models"]))}


def _accuracy(figures: Figures) -> Section:
    rows = figures["models"]
    if not rows:
        return Section("Accuracy", "", [], [])
    text = (
        "F1 in percent. The best models are selected on dev; test is scored for all but not used "
        "for selection."
        if "test" in figures["parts"]
        else "F1 in percent."
    )
    numbers = {len(row["seeds"]) for row in rows}
    if max(numbers) > 1:
        trained = f"Each model was trained with {max(numbers)} seeds"
        if len(numbers) > 1:
            trained = f"Models were trained with {min(numbers)} to {max(numbers)} seeds"
        text += f" {trained}; F1 is over the brackets of all of them; times and sizes are means."
    tables = [_details(figures)]
    if any(row["states"] is not None for row in rows):
        tables.insert(0, _matrix(figures))
    lines = [
        Series(
            name,
            [_point_by_states(row) for row in rows if row["model"] == name and row["states"]],
            colour,
        )
        for name, colour in _colours(figures).items()
    ]
    lines = [one for one in lines if len(one.points) > 1]
    lines = [
        one._replace(shift=_APART * (number - (len(lines) - 1) / 2))
        for number, one in enumerate(lines)
    ]
    plots = []
    if lines:
        plots.append(
            plot(
                "F1 on dev by number of latent states",
                "One line per model with 95 % bootstrap intervals; the values are in the table.",
                lines,
                x_label="latent states",
                y_label="F1 on dev, %",
                x_ticks=sorted({point.x for one in lines for point in one.points}),
                name="states",
            )
        )
    return Section("Accuracy", text, tables, plots)


def _point_by_states(row: Row) -> Point:
    scores = row["scores"]["dev"]
    title = f"{row['name']}: {percent(scores['f1'])} ({interval(scores)})"
    ends = in_percent(scores["low"]), in_percent(scores["high"])
    return Point(row["states"], 100 * scores["f1"], title, "", *ends)


def _matrix(figures: Figures) -> Table:
    """F1 by states and model, as in table 2 of the paper."""
    rows = [row for row in figures["models"] if row["states"] is not None]
    found = {(row["model"], row["states"]): row for row in rows}
    parts = list(figures["parts"])
    best = {
        part: max((row["scores"][part]["f1"], row["name"]) for row in rows)[1] for part in parts
    }
    lines: list[list[Cell]] = []
    for states in sorted({row["states"] for row in rows}):
        line = [Cell(f"m = {states}")]
        for part in parts:
            for model in _models(rows):
                row = found.get((model, states))
                if row is None:
                    line.append(Cell(NOTHING))
                else:
                    f1 = percent(row["scores"][part]["f1"])
                    line.append(Cell(f1, row["name"] == best[part]))
        lines.append(line)
    header = ["states", *(f"{model}, {part}" for part in parts for model in _models(rows))]
    note = "The highest of each part is in bold."
    return Table("F1 by method and number of states (the paper's table 2)", header, lines, note)


def _details(figures: Figures) -> Table:
    rows, parts = figures["models"], list(figures["parts"])
    several = any(len(row["seeds"]) > 1 for row in rows)
    header = ["model"]
    for part in parts:
        header += [f"{part} F1", "95 % interval", *(["by seed"] if several else [])]
    header += ["mean"] if len(parts) > 1 else []
    header += ["fall-backs", "negative", "training CPU s", "parsing ms per sentence"]
    header += ["tagging, %"] if figures["tags"] == "own" else []
    header += ["parameters", "model file"]
    best = max((row["scores"]["dev"]["f1"] for row in rows), default=None)
    lines = []
    for row in rows:
        scores = [row["scores"][part] for part in parts]
        line = [Cell(row["name"])]
        for part, one in zip(parts, scores, strict=True):
            line += [Cell(percent(one["f1"]), part == "dev" and one["f1"] == best)]
            line += [Cell(interval(one))]
            if several:
                spread = f"{percent(min(one['by_seed']))} to {percent(max(one['by_seed']))}"
                line.append(Cell(spread if len(one["by_seed"]) > 1 else NOTHING))
        if len(parts) > 1:
            line.append(Cell(percent(row["mean_f1"])))
        line += [Cell(" / ".join(f"{one[name]:g}" for one in scores)) for name in _COUNTED]
        line.append(Cell(seconds(row["cpu_seconds"])))
        line.append(Cell(" / ".join(f"{one['ms_a_sentence']:.1f}" for one in scores)))
        if figures["tags"] == "own":
            line.append(Cell(" / ".join(percent(one["tagging_accuracy"]) for one in scores)))
        line += [Cell(f"{row['parameters']:,}"), Cell(file_size(row["bytes"]))]
        lines.append(line)
    note = (
        "Intervals are by the bootstrap over sentences. Fall-backs are sentences without a tree "
        "under the unmodified grammar; negative are those with a negative value"
        + (", dev / test. " if len(parts) > 1 else ". ")
        + "Parameters are counted if they are not zero."
    )
    left_out = sum(one["not_compared"] for row in rows for one in row["scores"].values())
    if left_out:
        note += f" EVALB skips {left_out:g} sentences over all models and parts."
    return Table("Every model", header, lines, note)


_COUNTED = ("fallbacks", "negative")


def _time_and_accuracy(figures: Figures) -> Section:
    """F1 against training time, on dev with the iterations of EM and on parts of references."""
    rows = figures["models"]
    if not rows:
        return Section("F1 against training time", "", [], [])
    wanted = ["dev", *(one["on"] for one in figures["references"])]
    wanted += ["mean"] if "test" in figures["parts"] else []
    parts = [part for part in dict.fromkeys(wanted) if f1_on(rows[0], part) is not None]
    plots = []
    for part in parts:
        series = list(_by_time(figures, part))
        on = part_name(part)
        plots.append(
            plot(
                f"F1 on {on} against CPU seconds of training",
                "One point per model, labelled with its states"
                + (", and one line per course of EM" if part == "dev" else "")
                + "; the values are in the tables.",
                series,
                x_label="CPU seconds of training (logarithmic)",
                y_label=f"F1 on {on}, %",
                log_x=True,
                name=f"time-{part}",
            )
        )
    shown = [one for one in figures["references"] if one["on"] in parts]
    tables = []
    if figures["references"]:
        tables = [
            Table(
                "References",
                ["name", "tags", "on", "F1", "training CPU s"],
                [
                    [
                        Cell(one["name"]),
                        Cell(TAGS[one["tags"]]),
                        Cell(one["on"]),
                        Cell(percent(one["f1"])),
                        Cell(seconds(one["cpu_seconds"])),
                    ]
                    for one in figures["references"]
                ],
                "Published results, from the study file.",
                text_columns=3,
            )
        ]
    text = "Up and to the left is better."
    if "dev" in parts and figures["iterations"]:
        text += " Thin lines are the iterations of EM" + _a_line(figures) + "."
    if any(one["tags"] != figures["tags"] for one in shown):
        text += f" Hollow references were not parsed from {TAGS[figures['tags']]}."
    return Section("F1 against training time", "", tables, plots, text)


def _a_line(figures: Figures) -> str:
    """How many curves of EM each model has."""
    return ", one line per seed" if len(figures["seeds"]) > 1 else ""


def _by_time(figures: Figures, part: str) -> Iterator[Series]:
    colours = _colours(figures)
    if part == "dev":
        for curve in figures["iterations"]:
            points = [
                Point(one["cpu_seconds"], 100 * one["f1"], "")
                for one in curve["iterations"]
                if one["f1"] is not None and one["cpu_seconds"] > 0
            ]
            if points:
                yield Series("", points, colours[curve["model"]], marks=False)
    for name, colour in colours.items():
        rows = [row for row in figures["models"] if row["model"] == name]
        points = [
            Point(
                max(row["cpu_seconds"], 1e-3),
                100 * (f1_on(row, part) or 0.0),
                f"{row['name']}: {percent(f1_on(row, part))} after "
                f"{seconds(row['cpu_seconds'])} CPU s",
                "" if row["states"] is None else str(row["states"]),
            )
            for row in rows
        ]
        has_course = part == "dev" and any(one["model"] == name for one in figures["iterations"])
        yield Series(name, points, colour, line=len(points) > 1 and not has_course)
    shown = [one for one in figures["references"] if one["on"] == part]
    for name, tags in dict.fromkeys((one["name"], one["tags"]) for one in shown):
        points_of = [one for one in shown if (one["name"], one["tags"]) == (name, tags)]
        named = max(points_of, key=lambda one: one["f1"])
        points = [
            Point(
                one["cpu_seconds"],
                100 * one["f1"],
                f"{name}, {TAGS[tags]}: {percent(one['f1'])} after "
                f"{seconds(one['cpu_seconds'])} CPU s",
                # One label per line.
                _reference_label(one, figures["tags"]) if one is named else "",
            )
            for one in sorted(points_of, key=lambda one: one["cpu_seconds"])
        ]
        yield Series("", points, None, line=True, hollow=tags != figures["tags"])


def _reference_label(reference: Row, tags: str) -> str:
    same = reference["tags"] == tags
    return reference["name"] if same else f"{reference['name']} ({TAGS[reference['tags']]})"


def _iterations(figures: Figures) -> Section:
    """The iterations of EM, as in table 1 of the paper, with iterations as rows."""
    curves = figures["iterations"]
    judged = {
        id(curve): {one["iteration"]: one for one in curve["iterations"] if one["f1"] is not None}
        for curve in curves
    }
    curves = [curve for curve in curves if judged[id(curve)]]
    if not curves:
        return Section("EM by iteration", "", [], [])
    several = len(figures["seeds"]) > 1
    numbers = sorted({number for curve in curves for number in judged[id(curve)]})
    lines = []
    for number in numbers:
        line = [Cell(str(number))]
        for curve in curves:
            one = judged[id(curve)].get(number)
            shown = NOTHING if one is None else percent(one["f1"])
            line.append(Cell(shown, number == curve["best"]))
        lines.append(line)
    header = [
        "iteration",
        *(curve["name"] + (f", seed {curve['seed']}" if several else "") for curve in curves),
    ]
    table = Table(
        "F1 on dev by iteration (the paper's table 1)",
        header,
        lines,
        "The iteration in bold is selected. Dev is parsed from gold tags here and scored against "
        "its trees without function tags and traces. As the iteration is selected on dev, F1 on "
        "dev is slightly optimistic for EM. Log-likelihoods are in results.json.",
    )
    colours = _colours(figures)
    seen: set[str] = set()
    series = []
    for curve in curves:
        points = [
            Point(
                number,
                100 * one["f1"],
                f"{curve['name']}, iteration {number}: {percent(one['f1'])}",
                str(curve["states"]) if number == numbers_of[-1] else "",
            )
            for numbers_of in [sorted(judged[id(curve)])]
            for number, one in sorted(judged[id(curve)].items())
        ]
        name = "" if curve["model"] in seen else curve["model"]
        seen.add(curve["model"])
        series.append(Series(name, points, colours[curve["model"]]))
    drawn = plot(
        "F1 on dev by iteration of EM",
        "One line per model, labelled with its states; the values are in the table.",
        series,
        x_label="iteration",
        y_label="F1 on dev, %",
        name="iterations",
    )
    note = f"One line per model{' and seed' if several else ''}, labelled with m."
    return Section("EM by iteration", "", [table], [drawn], note)


def _times_of_training(figures: Figures) -> Section:
    """CPU seconds by stage, as in table 3 of the paper."""
    rows = figures["models"]
    if not rows:
        return Section("Training time", "", [], [])
    stages = list(dict.fromkeys(stage for row in rows for stage in row["stages"]))
    has_em = any(row["best_iteration"] is not None for row in rows)
    spectral = {row["states"]: row for row in rows[::-1] if row["method"] == "spectral"}
    header = ["model", "to the best model"]
    header += ["per EM iteration", "best iteration", "all iterations"] if has_em else []
    header += ["times as long as spectral"] if has_em and spectral else []
    header += stages
    lines = []
    for row in rows:
        line = [Cell(row["name"]), Cell(seconds(row["cpu_seconds"]))]
        is_em = row["best_iteration"] is not None
        if has_em:
            line.append(Cell(seconds(row["iteration_cpu_seconds"])))
            line.append(Cell(f"{row['best_iteration']:g}" if is_em else NOTHING))
            line.append(Cell(seconds(row["all_cpu_seconds"]) if is_em else NOTHING))
        if has_em and spectral:
            base = spectral.get(row["states"])
            ratio = (
                row["cpu_seconds"] / base["cpu_seconds"]
                if is_em and base is not None and base["cpu_seconds"]
                else None
            )
            line.append(Cell(NOTHING if ratio is None else f"{ratio:.1f}"))
        line += [Cell(seconds(row["stages"].get(stage))) for stage in stages]
        lines.append(line)
    note = "CPU seconds of one thread, without reading the trees. The last columns are stages."
    if has_em:
        note += (
            " The time to the best model of EM is up to its best iteration, without the parsing of "
            "dev that selects it; the EM stage includes both."
        )
    if has_em and spectral:
        note += " Ratios are to the first spectral model with the same number of states."
    table = Table("CPU seconds of training by stage (the paper's table 3)", header, lines, note)
    return Section("Training time", "", [table], [])


def _ablations(figures: Figures) -> Section:
    rows = figures["ablations"]
    if not rows:
        return Section("Ablations", "", [], [])
    parts = list(figures["parts"])
    whole = {row["name"]: row for row in figures["models"]}
    header = ["model", "without"]
    for part in parts:
        header += [f"{part} F1", "difference", "95 % interval", "p"]
    header += ["negative"]
    lines: list[list[Cell]] = []
    for base in dict.fromkeys(row["of"] for row in rows):
        line = [Cell(base), Cell(NOTHING)]
        for part in parts:
            line += [Cell(percent(whole[base]["scores"][part]["f1"])), *[Cell("")] * 3]
        lines.append([*line, Cell(_counts(whole[base], "negative"))])
        for row in rows:
            if row["of"] != base:
                continue
            line = [Cell(base), Cell(row["without"].removeprefix("no "))]
            for part in parts:
                test = row["tests"][part]
                line.append(Cell(percent(row["scores"][part]["f1"])))
                line += _tested(test)
            lines.append([*line, Cell(_counts(row, "negative"))])
    table = Table(
        "Models without one component (the paper's section 4.3)",
        header,
        lines,
        "Differences in points of F1 from the whole model, with bootstrap intervals and p-values "
        "of approximate randomisation over sentences. Models without richer features have two "
        "simple ones: the rule below and the rule above a node.",
        text_columns=2,
    )
    for line in table.rows:
        if line[1].text == "simple features":
            line[1] = Cell("richer features")
    return Section("Ablations", "", [table], [])


def _counts(row: Row, name: str) -> str:
    # Means over seeds may be fractional.
    return " / ".join(f"{round(scores[name], 1):g}" for scores in row["scores"].values())


def _tested(test: Row | None) -> list[Cell]:
    if test is None:
        return [Cell(NOTHING)] * 3
    return [
        Cell(in_points(test["difference"])),
        Cell(f"{in_points(test['low'])} to {in_points(test['high'])}"),
        Cell(p_value(test["p_randomisation"])),
    ]


def _learning_curve(figures: Figures) -> Section:
    rows = figures["learning_curve"]
    if not rows:
        return Section("Learning curves", "", [], [])
    parts = list(figures["parts"])
    header = ["model", "trees"]
    for part in parts:
        header += [f"{part} F1", "95 % interval"]
    lines = []
    for row in rows:
        line = [Cell(_without_share(row)), Cell(f"{row['trees']:,} ({100 * row['share']:g} %)")]
        for part in parts:
            scores = row["scores"][part]
            line += [Cell(percent(scores["f1"])), Cell(interval(scores))]
        lines.append([*line, Cell(seconds(row["cpu_seconds"]))])
    table = Table("F1 by number of training trees", [*header, "training CPU s"], lines)
    by_model: dict[str, list[Row]] = {}
    for row in rows:
        by_model.setdefault(_without_share(row), []).append(row)
    series = [
        Series(
            name,
            [
                Point(
                    row["trees"],
                    100 * row["scores"]["dev"]["f1"],
                    f"{name}, {counted(row['trees'], 'tree')}: "
                    f"{percent(row['scores']['dev']['f1'])}",
                    "",
                    in_percent(row["scores"]["dev"]["low"]),
                    in_percent(row["scores"]["dev"]["high"]),
                )
                for row in model_rows
            ],
            colour,
        )
        for colour, (name, model_rows) in enumerate(by_model.items())
    ]
    drawn = plot(
        "F1 on dev by number of training trees",
        "One line per model with 95 % bootstrap intervals; the values are in the table.",
        series,
        x_label="training trees (logarithmic)",
        y_label="F1 on dev, %",
        log_x=True,
        name="learning",
    )
    text = "Smaller sets of trees are random subsets of the larger ones."
    return Section("Learning curves", text, [table], [drawn])


def _without_share(row: Row) -> str:
    states = "" if row["states"] is None else f", m = {row['states']}"
    return f"{row['model']}{states}"


def _comparisons(figures: Figures) -> Section:
    tests = figures["comparisons"]
    if not tests:
        return Section("Tests", "", [], [])
    lines = [
        [
            Cell(test["part"]),
            Cell(test["second"]),
            Cell(test["first"]),
            *_tested(test),
            Cell(p_value(test["p_bootstrap"])),
            Cell(str(test["sentences"])),
        ]
        for test in tests
    ]
    table = Table(
        "Paired tests between the best rows of the models on dev",
        [
            "part",
            "model",
            "against",
            "difference",
            "95 % interval",
            "p, randomisation",
            "p, bootstrap",
            "sentences",
        ],
        lines,
        "Differences in points of F1. Both p-values are two-sided and not corrected for multiple "
        f"testing, with up to {max(test['draws'] for test in tests):,} samples each.",
        text_columns=3,
    )
    return Section("Tests", "", [table], [])


def f1_on(row: Row, part: str) -> float | None:
    """F1 on ``dev``, on ``test`` or their ``mean``; None without scores."""
    if part == "mean":
        return row["mean_f1"] if len(row["scores"]) > 1 else None
    f1: float | None = row["scores"][part]["f1"] if part in row["scores"] else None
    return f1


def part_name(part: str) -> str:
    """A part, or the mean of both, in words."""
    return "the mean of dev and test" if part == "mean" else part
