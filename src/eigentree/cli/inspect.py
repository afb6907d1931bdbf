"""The command ``inspect``: what is in a model."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from eigentree.cli._options import (
    JsonOption,
    OptionalModelArgument,
    OptionalModelOption,
    model_and_files,
)
from eigentree.errors import SettingsError

# By the kind of a model, the module that prints its summary.
_SHOWN_BY = {
    "parser": "eigentree.cli.constituency.inspect",
    "ensemble": "eigentree.cli.constituency.ensemble",
    "dependency parser": "eigentree.cli.dependency.inspect",
    "bracketing parser": "eigentree.cli.bracketing.inspect",
}


def inspect(
    arguments: OptionalModelArgument = None,
    model: OptionalModelOption = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Nonterminals or tags to list, most frequent first.")
    ] = 20,
    ascii_only: Annotated[
        bool, typer.Option("--ascii", help="Draw spectra in ASCII characters.")
    ] = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Measure how much faster charts in Kruskal form are, on random words.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Describe a model: sizes, settings, and the states of each nonterminal or tag.

    A spectrum shows the singular values of a nonterminal relative to the largest; those behind a
    line have no states.  In a model learned by clustering, states are clusters in the space of all
    of them, and may be more.  For a model in Kruskal form, the errors of its rules, the cost of
    charts and bounds on the error of a sentence's probability are printed.
    """
    from eigentree.base import kind_of, load
    from eigentree.cli.constituency.inspect import NO_KRUSKAL_FORM, add_measured
    from eigentree.constituency.ensemble.model_folder import sizes_of
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.data.catalogue import displayed_model, resolve_model
    from eigentree.model_file import wrong_kind

    name, _ = model_and_files(model, arguments or [], "")
    path = resolve_model(name)
    kind = kind_of(path)
    if kind not in _SHOWN_BY:
        raise wrong_kind(path, kind, *_SHOWN_BY)
    if measure and kind != "parser":
        raise SettingsError(NO_KRUSKAL_FORM)
    module = import_module(_SHOWN_BY[kind])
    parser: Any
    if kind == "ensemble":
        parser = EnsembleParser.load(path, low_memory=True, verify=False)
    else:
        parser = load(path)
    summary = parser.summary()
    if measure:
        add_measured(parser, summary["kruskal"])
    if kind == "ensemble":
        n_bytes, n_bytes_of_work = sizes_of(path, parser.stacking.config)
        sizes = {"bytes": n_bytes, "bytes_of_work": n_bytes_of_work}
    else:
        sizes = {"bytes": path.stat().st_size}
    report = {"file": displayed_model(path), **sizes, **summary}
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        module.show(report, limit, ascii_only=ascii_only or not _encodes_bars())


def _encodes_bars() -> bool:
    try:
        "█│".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
