"""The verb ``models``: the models that come with the package, and their cards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentree.cli._common import JsonOption, result_console

if TYPE_CHECKING:
    from eigentree.base import BundledModel


def models(
    name: Annotated[str | None, typer.Argument(help="Show the card of this one.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the models that come with the package, or show one's card.

    A name in the list may stand wherever a model is asked for.  The card tells what a model was
    trained on, under which licences it may be used, and its scores.
    """
    from eigentree.base import available_models
    from eigentree.errors import SettingsError

    found = {each.name: each for each in available_models()}
    if name is not None and name not in found:
        raise SettingsError(f"no model {name!r} comes with eigentree; {', '.join(found)} do")
    if as_json:
        told = [_record(each) for each in found.values() if name in (None, each.name)]
        typer.echo(json.dumps(told if name is None else told[0], ensure_ascii=False, indent=2))
    elif name is None:
        _list([*found.values()])
    else:
        typer.echo(in_markdown(found[name]), nl=False)


def _record(model: BundledModel) -> dict[str, Any]:
    return {**model._asdict(), "path": str(model.path)}


def _list(found: list[BundledModel]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "kind", "size", "licence"):
        table.add_column(column, justify="right" if column == "size" else "left", no_wrap=True)
    for model in found:
        size = f"{model.n_bytes / 1e6:.1f} MB"
        table.add_row(model.name, model.kind, size, model.card["licence"])
    result_console().print(table)


def in_markdown(model: BundledModel) -> str:
    """A card as a section of a page, for people."""
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
