"""The summary of a bracketing parser as text, for the command ``inspect``."""

from __future__ import annotations

from typing import Any

import typer

from eigentree.cli._output import plain


def show(report: dict[str, Any], limit: int, *, ascii_only: bool = False) -> None:  # noqa: ARG001
    """Print a line for each item; there is nothing that is limited, or beyond ASCII."""
    trained = {**report["trained"]}
    method = trained.pop("method", "unknown method")
    typer.echo(f"{report['file']}: {report['bytes'] / 1e6:.2f} MB, brackets, {method}")
    for name, value in {**trained, "parsing": report["parsing"]}.items():
        typer.echo(f"{name.replace('_', ' ')}: {plain(value)}")
