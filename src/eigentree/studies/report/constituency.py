"""The report of a study of constituency parsers.

The figures are the dictionary that ``results.json`` holds.  Equal figures give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eigentree.errors import counted
from eigentree.studies.report.constituency_sections import TAGS, f1_on, part_name, sections
from eigentree.studies.report.ensembles import PAPER_OF_ENSEMBLES, ensemble_summary
from eigentree.studies.report.page import Report
from eigentree.studies.report.tables import (
    BY_CHANCE,
    Figures,
    Row,
    interval,
    p_value,
    percent,
    seconds,
)

PAPER = (
    "The paper that sections and tables refer to is Cohen, Stratos, Collins, Foster and Ungar "
    "(2013), Experiments with Spectral Learning of Latent-Variable PCFGs, NAACL-HLT. As there, m "
    "is the maximum number of latent states of a nonterminal."
)


def constituency_report(figures: Figures) -> Report:
    """The report of a study of constituency parsers.

    Parameters
    ----------
    figures
        As in ``results.json``.
    """
    return Report(
        figures["title"],
        subtitle(figures),
        summary(figures),
        paper(figures),
        figures["failures"],
        sections(figures),
        list(facts(figures)),
    )


def paper(figures: Figures) -> str:
    """The papers that the report refers to."""
    papers = [PAPER] if figures["models"] or not figures["ensembles"] else []
    return " ".join([*papers, *([PAPER_OF_ENSEMBLES] if figures["ensembles"] else [])])


def subtitle(figures: Figures) -> str:
    """Numbers of trees and sentences."""
    parts = ", ".join(
        f"{counted(number, 'sentence')} of {part}" for part, number in figures["parts"].items()
    )
    trained = f"{counted(figures['trees'], 'training tree')} ({counted(figures['words'], 'word')})"
    longest = figures["longest"]
    lengths = "" if longest is None else f" with up to {counted(longest, 'word')}"
    scored = f"{parts or 'nothing'}{lengths}"
    return f"{trained}; scored on {scored}; parsed from {TAGS[figures['tags']]}"


def summary(figures: Figures) -> list[str]:
    """The main results in sentences."""
    rows = sorted(figures["models"], key=lambda row: -row["scores"]["dev"]["f1"])
    of_ensembles = [ensemble_summary(one) for one in figures["ensembles"]]
    if not rows:
        return of_ensembles or ["No model was trained; there is nothing to compare."]
    best = rows[0]
    scores = best["scores"]
    on_test = f" and {percent(scores['test']['f1'])} on test" if "test" in scores else ""
    sentences = [
        f"The best model on dev is {best['name']}: F1 {percent(scores['dev']['f1'])} "
        f"({interval(scores['dev'])}){on_test}, after {seconds(best['cpu_seconds'])} CPU seconds "
        "of training."
    ]
    pair = _rivals(rows)
    if pair is not None:
        sentences.append(_against(figures, *pair))
    same = [one for one in figures["references"] if one["tags"] == figures["tags"]]
    same = [one for one in same if f1_on(best, one["on"]) is not None]
    if same:
        reference = max(same, key=lambda one: one["f1"])
        f1 = f1_on(best, reference["on"]) or 0.0
        part = part_name(reference["on"])
        sentences.append(
            f"The best reference, {reference['name']}, has {percent(reference['f1'])} on {part} "
            f"after {seconds(reference['cpu_seconds'])} CPU seconds, where the best model has "
            f"{percent(f1)}."
        )
    return sentences + of_ensembles


def _rivals(rows: Sequence[Row]) -> tuple[Row, Row] | None:
    """The two models that the summary compares, the better one first, out of models sorted by F1.

    They are the best spectral and EM models, or the best EM models of both initialisations;
    otherwise, the best model and the best one with another name.
    """
    of_kind: dict[str, Row] = {}
    for row in rows:
        of_kind.setdefault(row["method"], row)
        if "em" in row["method"].split("+"):
            of_kind.setdefault("any em", row)
    for kinds in (("spectral", "any em"), ("em", "spectral+em")):
        if all(kind in of_kind for kind in kinds):
            one, other = (of_kind[kind] for kind in kinds)
            is_better = one["scores"]["dev"]["f1"] >= other["scores"]["dev"]["f1"]
            return (one, other) if is_better else (other, one)
    rival = next((row for row in rows if row["model"] != rows[0]["model"]), None)
    return None if rival is None else (rows[0], rival)


def _against(figures: Figures, one: Row, other: Row) -> str:
    """Compare a model with one that is not better, in F1 on dev and in time."""
    apart = one["scores"]["dev"]["f1"] - other["scores"]["dev"]["f1"]
    than = f"{other['name']} ({percent(other['scores']['dev']['f1'])})"
    if abs(apart) < 5e-5:
        text = f"On dev, {one['name']} is as accurate as {than}"
    else:
        text = f"On dev, {one['name']} is {100 * apart:.2f} points above {than}"
    names = {one["name"], other["name"]}
    for test in figures["comparisons"]:
        if test["part"] == "dev" and {test["first"], test["second"]} == names:
            p = test["p_randomisation"]
            text += f", p {'' if p < 0.001 else '= '}{p_value(p)}"
            text += ", which may be due to chance" if p >= BY_CHANCE else ""
    fast, slow = sorted((one, other), key=lambda row: row["cpu_seconds"])
    spent = f"{seconds(fast['cpu_seconds'])} CPU seconds against {seconds(slow['cpu_seconds'])}"
    if fast["cpu_seconds"] > 0:
        ratio = slow["cpu_seconds"] / fast["cpu_seconds"]
        times = f"{ratio:.{1 if ratio < 10 else 0}f}"
        if times == "1.0":
            return f"{text}; training took equally long ({spent})."
        return f"{text}; {fast['name']} trained {times} times as fast ({spent})."
    return f"{text}; training took {spent}."


def facts(figures: Figures) -> Iterator[tuple[str, str]]:
    """Provenance: what is needed to reproduce the study."""
    if figures["command"]:
        yield "command", figures["command"]
    if figures["finished"]:
        yield "last model finished", figures["finished"].replace("T", " ").replace("+00:00", " UTC")
    for one in figures["versions"]:
        yield "versions", ", ".join(f"{name} {number}" for name, number in one.items())
    for one in figures["machines"]:
        yield "machine", f"{one['processor']}, {counted(one['cores'], 'core')}, {one['system']}"
    if figures["processes"]:
        yield "runs at a time", " or ".join(map(str, figures["processes"]))
    for part, data in figures["data"].items():
        yield f"{part} data", f"{data['file']}, SHA-256 {data['sha256']}"
    yield "seeds", ", ".join(map(str, figures["seeds"]))
    longest = figures["longest"]
    if longest is not None:
        numbers = (
            f"{number:,} of {figures['all_sentences'][part]:,} of {part}"
            for part, number in figures["parts"].items()
        )
        yield f"sentences up to {counted(longest, 'word')}", ", ".join(numbers)
    lengths = "of all lengths" if longest is None else f"up to {counted(longest, 'word')}"
    yield (
        "scores",
        f"labelled brackets as EVALB counts them with COLLINS.prm, sentences {lengths}, "
        "against the unmodified files",
    )
