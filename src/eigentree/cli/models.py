"""The command ``models``: the bundled models, and their cards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentree.cli._options import JsonOption
from eigentree.cli._output import result_console

if TYPE_CHECKING:
    from eigentree.base import BundledModel


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print the card of this model.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the bundled models, or print the card of one.

    Every option for a model accepts these names.  The card lists what a model was trained on, the
    licences under which it may be used, and its scores.
    """
    from eigentree.base import available_models
    from eigentree.errors import SettingsError

    by_name = {each.name: each for each in available_models()}
    if name is not None and name not in by_name:
        raise SettingsError(f"no bundled model {name!r}; there are {', '.join(by_name)}")
    if as_json:
        records = [_record(each) for each in by_name.values() if name in (None, each.name)]
        report = records if name is None else records[0]
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    elif name is None:
        _list([*by_name.values()])
    else:
        typer.echo(in_markdown(by_name[name]), nl=False)


def _record(model: BundledModel) -> dict[str, Any]:
    return {**model._asdict(), "path": str(model.path)}


def _list(listed: list[BundledModel]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "kind", "size", "score from words"):
        table.add_column(column, justify="right" if column == "size" else "left", no_wrap=True)
    for model in listed:
        size = f"{model.n_bytes / 1e6:.1f} MB"
        table.add_row(model.name, model.kind, size, headline(model))
    result_console().print(table)


def headline(model: BundledModel) -> str:
    """The last score of a card on the first test set from words without tags."""
    scores = [score for score in model.card["scores"] if score["from"] == "tokens"]
    score = [each for each in scores if each["on"] == scores[0]["on"]][-1]
    measure, on = score["measure"].removeprefix("labelled "), score["on"].partition(",")[0]
    return f"{100 * score['value']:.1f} {measure} on {on}"


def in_markdown(model: BundledModel) -> str:
    """A card as a section of a page."""
    card = model.card
    lines = [f"## {model.name}", "", card["about"], ""]
    lines += [f"A {model.kind} of {model.n_bytes / 1e6:.1f} MB; licence: {card['licence']}.", ""]
    lines += ["| trained on | licence | sentences | words |", "| --- | --- | ---: | ---: |"]
    lines += [
        f"| {data['name']} | {data['licence']} | {data['sentences']:,} | {data['words']:,} |"
        for data in card["data"]
    ]
    lines += ["", "| scored on | from | measure | |", "| --- | --- | --- | ---: |"]
    lines += [
        f"| {score['on']} | {score['from']} | {score['measure']} | {100 * score['value']:.2f} |"
        for score in card["scores"]
    ]
    lines += ["", "Attribution:", ""]
    lines += [f"- {credit}" for credit in card["attribution"]]
    return "\n".join(lines) + "\n"
