"""The summary of a dependency parser as text, for the command ``inspect``."""

from __future__ import annotations

from typing import Any

from eigentree.cli._output import result_console, show_settings
from eigentree.errors import counted

_OF_EM = ("iterations", "restarts", "judge_every")
_ROOT_NAME = "root"  # in tables; automata have no printable name for it


def show(report: dict[str, Any], limit: int, *, ascii_only: bool = False) -> None:  # noqa: ARG001
    """Print it, with no more than `limit` tags; it has no characters beyond ASCII."""
    from rich.table import Table

    console = result_console()
    trained = report["trained"]
    method = trained.get("automata", {}).get("method", "unknown method")
    kind = "signed values" if report["signed"] else "probabilities"
    console.print(
        f"{report['file']}: {report['bytes'] / 1e6:.2f} MB, dependency parser, {method}, {kind}"
    )
    if {"sentences", "words", "seed"} <= trained.keys():
        console.print(
            f"trained on {counted(trained['sentences'], 'tree')}, "
            f"{counted(trained['words'], 'word')}, seed {trained['seed']}"
        )
    crossing = trained.get("crossing", {})
    if crossing.get("trees"):
        what = f"{counted(crossing['lifted'], 'word')} lifted" if crossing["lifted"] else "left out"
        console.print(f"trees with crossing arcs: {crossing['trees']}, {what}")
    tagger, lexical = report["tagger"], report["lexical"]
    tagger_line = "no tagger" if tagger is None else f"tagger with {counted(tagger['tags'], 'tag')}"
    console.print(f"tags from {report['tag_scheme']}; {tagger_line}")
    if lexical is None:
        console.print("no lexical model")
    else:
        alone = ", instead of the automata" if lexical["alone"] else ""
        console.print(f"lexical model: {lexical['states']}, weight {lexical['weight']:g}{alone}")
    console.print("\nsettings", style="bold")
    settings = {**trained.get("automata", {}), **report["parsing"]}
    if "em" not in method:
        settings = {name: value for name, value in settings.items() if name not in _OF_EM}
    show_settings(console, settings)
    em = trained.get("em", {}).get("record")
    if em:
        best = em[trained["em"]["best"]]
        uas = "" if best["uas"] is None else f", UAS {100 * best['uas']:.2f}"
        console.print(f"  iteration kept: {trained['em']['best'] + 1} of {len(em)}{uas}")
    sizes = Table("size", "number", box=None, pad_edge=False)
    sizes.columns[1].justify = "right"
    for name, number in report["sizes"].items():
        sizes.add_row(name, f"{number:,}")
    console.print()
    console.print(sizes)
    console.print()
    table = Table("head", "count", "states to the left", "to the right", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row(_ROOT_NAME, "", "", str(report["root"]["right states"]))
    for row in report["tags"][:limit]:
        table.add_row(
            row["tag"], f"{row['count']:,}", str(row["left states"]), str(row["right states"])
        )
    console.print(table)
