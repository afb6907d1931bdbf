"""What is in a model of ``induce train``, for the verb ``inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer


def describe_brackets(path: str) -> dict[str, Any]:
    """The file and `BracketingParser.summary`."""
    from eigentree.bracketing.parser import BracketingParser

    parser = BracketingParser.load(path)
    return {"file": path, "bytes": Path(path).stat().st_size, **parser.summary()}


def show_brackets(report: dict[str, Any]) -> None:
    """A line for the file, and one for each thing that there is to tell."""
    trained = {**report["trained"]}
    method = trained.pop("method", "unknown method")
    typer.echo(f"{report['file']}: {report['bytes'] / 1e6:.2f} MB, brackets, {method}")
    for name, value in {**trained, "parsing": report["parsing"]}.items():
        typer.echo(f"{name.replace('_', ' ')}: {_plain(value)}")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain_item(inner)}" for name, inner in value.items())
    return _plain_item(value)


def _plain_item(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
