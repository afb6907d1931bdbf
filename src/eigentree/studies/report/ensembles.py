"""Ensembles in the report of a study: combinations, families, members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eigentree.drawing.plots import Point, Series, plot
from eigentree.errors import counted
from eigentree.studies.report.tables import (
    BY_CHANCE,
    NOTHING,
    Cell,
    Figures,
    Row,
    Section,
    Table,
    file_size,
    in_points,
    interval,
    p_value,
    percent,
    seconds,
)

PAPER_OF_ENSEMBLES = (
    "The paper that sections on ensembles refer to is Narayan and Cohen (2015), Diversity in "
    "Spectral Learning for Natural Language Parsing, EMNLP."
)
_ALL = "all members"
_HOW = {
    "tree-coverage": "tree coverage",
    "marginal-coverage": "marginal coverage",
    "maxent": "reranker",
}


def ensemble_summary(ensemble: Row) -> str:
    """The main results in a sentence or two."""
    best = next(row for row in ensemble["combinations"] if row["name"] == ensemble["best"])
    single = ensemble["best_member"]
    scores = best["scores"]
    text = (
        f"The best combination of ensemble {ensemble['name']} on dev is {best['name']}: F1 "
        f"{percent(scores['dev']['f1'])} ({interval(scores['dev'])})"
    )
    if "test" in scores:
        text += f" and {percent(scores['test']['f1'])} on test"
    alone = " and ".join(
        f"{percent(each['f1'])} on {part}" for part, each in single["scores"].items()
    )
    text += f"; the best of its {counted(len(ensemble['members']), 'member')} has {alone}"
    # Selected on dev, so tested on test if there is one.
    part = "test" if "test" in scores else "dev"
    test = best["gain"][part]
    if test is not None:
        p = test["p_bootstrap"]
        text += f". The gain on {part} has p {'' if p < 0.001 else '= '}{p_value(p)}"
        text += ", which may be due to chance" if p >= BY_CHANCE else ""
    return f"{text}."


def ensemble_sections(figures: Figures) -> Iterator[Section]:
    """A section for each ensemble."""
    for number, ensemble in enumerate(figures["ensembles"], start=1):
        yield Section(
            f"Ensemble {ensemble['name']}",
            _text(ensemble),
            [_combinations(ensemble), _families(ensemble), _growth(ensemble)],
            [
                _plot_of_members(ensemble, f"ensemble-{number}-members"),
                *_plot_of_growth(ensemble, f"ensemble-{number}-growth"),
            ],
            "Colours are families. Hollow marks in the second plot are the oracle: the best tree "
            "among those of the members."
            if _grows(ensemble)
            else "Colours are families.",
        )


def _parts(ensemble: Row) -> list[str]:
    return list(ensemble["best_member"]["scores"])


def _families_of(ensemble: Row) -> list[str]:
    return list(dict.fromkeys(member["family"] for member in ensemble["members"]))


def _text(ensemble: Row) -> str:
    training, families = ensemble["training"], _families_of(ensemble)
    members = counted(len(ensemble["members"]), "member")
    sentences = [
        f"{members} of {counted(len(families), 'family', 'families')}, "
        f"trained with seed {ensemble['seed']} on {counted(ensemble['trees'], 'tree')} in "
        f"{seconds(training['cpu_seconds'])} CPU seconds ({seconds(training['wall_seconds'])} "
        f"seconds of wall-clock time, {counted(ensemble['processes'], 'process', 'processes')})"
        + ("." if training["whole"] else ", without the work of an earlier process.")
    ]
    times = " / ".join(f"{ms:,.1f}" for ms in ensemble["ms_a_sentence"].values())
    sentences.append(
        f"Parsing with all members and combinations takes {times} ms of CPU time per sentence of "
        f"{' / '.join(_parts(ensemble))}."
    )
    if ensemble["most_memory"] is not None:
        sentences.append(
            f"The peak memory of a process was {ensemble['most_memory'] / 1e9:.2f} GB."
        )
    sentences.append(
        "The best member and the best combination are selected on dev"
        + ("; test is only scored." if len(_parts(ensemble)) > 1 else ".")
    )
    return " ".join(sentences)


def _combinations(ensemble: Row) -> Table:
    """Combinations in the order of the description, after the best member."""
    parts, single = _parts(ensemble), ensemble["best_member"]
    header = ["combination", "decoder", "inputs", "members"]
    for part in parts:
        header += [f"{part} F1", "95 % interval", "gain", "p"]
    header += ["mean F1"] if len(parts) > 1 else []
    line = [Cell(single["name"]), Cell("best member"), Cell(""), Cell("1")]
    for part in parts:
        scores = single["scores"][part]
        line += [Cell(percent(scores["f1"])), Cell(interval(scores)), Cell(""), Cell("")]
    if len(parts) > 1:
        f1 = [single["scores"][part]["f1"] for part in parts]
        line.append(Cell(percent(sum(f1) / len(f1))))
    lines = [line]
    for row in ensemble["combinations"]:
        is_best = row["name"] == ensemble["best"]
        line = [
            Cell(row["name"]),
            Cell(_HOW[row["how"]]),
            Cell(" + ".join(row["inputs"])),
            Cell(str(row["members"])),
        ]
        for part in parts:
            scores, test = row["scores"][part], row["gain"][part]
            line += [Cell(percent(scores["f1"]), is_best), Cell(interval(scores))]
            line.append(Cell(NOTHING if test is None else in_points(test["difference"])))
            line.append(Cell(NOTHING if test is None else p_value(test["p_bootstrap"])))
        line += [Cell(percent(row["mean_f1"]))] if len(parts) > 1 else []
        lines.append(line)
    note = (
        "Gains are points of F1 over the best member, with two-sided p-values of the paired "
        "bootstrap over sentences, not corrected for multiple testing. The combination that is "
        "best on dev is in bold. As the best member is selected on dev, its F1 there is slightly "
        "optimistic and gains are slightly pessimistic. Members are those whose trees are direct "
        "or indirect inputs of a combination."
    )
    left_out = max(
        row["scores"][part]["not_compared"] for row in ensemble["combinations"] for part in parts
    )
    if left_out:
        note += f" EVALB skips up to {counted(left_out, 'sentence')} of a part."
    return Table(
        f"Combinations of {ensemble['name']} (the paper's tables 1 to 4)",
        header,
        lines,
        note,
        text_columns=3,
    )


def _families(ensemble: Row) -> Table:
    """Members by family, and all members."""
    parts = _parts(ensemble)
    header = ["family", "members", "parameters", "model file"]
    for part in parts:
        header += [
            f"{part}: mean F1",
            "lowest",
            "best on dev",
            "oracle",
            "trees per sentence",
            "F1 of pairs",
            "all agree, %",
        ]
    lines = []
    for group in ensemble["groups"]:
        line = [
            Cell(_group_name(group)),
            Cell(str(group["members"])),
            Cell(f"{group['parameters']:,}"),
            Cell(file_size(group["bytes"])),
        ]
        for part in parts:
            of = group["parts"][part]
            line += [Cell(percent(of[name])) for name in ("mean", "lowest", "best", "oracle")]
            line += [Cell(f"{of['distinct']:.1f}"), Cell(percent(of["pair_f1"]))]
            line.append(Cell(percent(of["all_agree"], 1)))
        lines.append(line)
    note = (
        "The oracle is the F1 of the best tree of each sentence among those of the members; F1 of "
        "pairs is the mean F1 of one member's trees against another's. Parameters (counted if not "
        "zero) and file sizes are means."
    )
    lost = sum(sum(member["no_tree"].values()) for member in ensemble["members"])
    if lost:
        note += (
            f" Over all sentences, members found no tree {counted(lost, 'time')}; these are scored "
            "with a flat tree."
        )
    return Table(f"Members of {ensemble['name']} by family", header, lines, note)


def _group_name(group: Row) -> str:
    return _ALL if group["family"] is None else str(group["family"])


def _growth(ensemble: Row) -> Table:
    """F1 on dev by number of members."""
    curves = ensemble["growth"]
    found = [{n: place for place, n in enumerate(curve["members"])} for curve in curves]
    lines = []
    for n in sorted({n for places in found for n in places}):
        line = [Cell(str(n))]
        for curve, places in zip(curves, found, strict=True):
            for what in ("tree_coverage", "oracle"):
                line.append(Cell(percent(curve[what][places[n]]) if n in places else NOTHING))
        lines.append(line)
    header = ["members"]
    for curve in curves:
        header += [f"{_group_name(curve)}: tree coverage", "oracle"]
    return Table(
        f"F1 on dev of the first members of {ensemble['name']}",
        header,
        lines,
        "Members alternate between noise levels" + (" and families." if len(curves) > 1 else "."),
    )


def _plot_of_members(ensemble: Row, name: str) -> str:
    """F1 of each member, as in figure 3 of the paper."""
    series = [
        Series(
            family,
            [
                Point(
                    member["number"],
                    100 * member["f1"]["dev"],
                    f"{member['name']}: {percent(member['f1']['dev'])}",
                )
                for member in ensemble["members"]
                if member["family"] == family
            ],
            colour,
            line=False,
        )
        for colour, family in enumerate(_families_of(ensemble))
    ]
    return plot(
        f"F1 on dev of each member of {ensemble['name']}",
        "One point per member by its number in its family, as in the paper's figure 3.",
        series,
        x_label="number of the member in its family",
        y_label="F1 on dev, %",
        x_ticks=_integer_ticks(max(member["number"] for member in ensemble["members"])),
        name=name,
    )


def _integer_ticks(last: int) -> Sequence[int]:
    """The first number, the last, and round numbers between."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, last) if last <= 10 * step)
    return [1, *(n for n in range(step, last - step // 2, step) if n > 1), *({last} - {1})]


def _grows(ensemble: Row) -> bool:
    return any(len(curve["members"]) > 1 for curve in ensemble["growth"])


def _plot_of_growth(ensemble: Row, name: str) -> Iterator[str]:
    """F1 by number of members, if there are several."""
    if not _grows(ensemble):
        return
    series = []
    for colour, curve in enumerate(ensemble["growth"]):
        for what, shown in (("tree_coverage", "tree coverage"), ("oracle", "oracle")):
            points = [
                Point(
                    n,
                    100 * f1,
                    f"{_group_name(curve)}, {shown} of {counted(n, 'member')}: {percent(f1)}",
                )
                for n, f1 in zip(curve["members"], curve[what], strict=True)
                if f1 is not None
            ]
            is_oracle = what == "oracle"
            if points:
                name_shown = "" if is_oracle else _group_name(curve)
                series.append(Series(name_shown, points, colour, hollow=is_oracle))
    yield plot(
        f"F1 on dev by number of members of {ensemble['name']}",
        "Two lines per family, tree coverage and oracle; the values are in the table.",
        series,
        x_label="members (logarithmic)",
        y_label="F1 on dev, %",
        log_x=True,
        x_ticks=sorted({point.x for one in series for point in one.points}),
        name=name,
    )
