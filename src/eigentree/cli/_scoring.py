"""How every product scores parsed files from the command line.

Options, checks of files, the table of all sentences, the pairing of files with its remarks, and
the report on standard output are the same for all; a product gives its tables as `ScoreTables`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import typer

from eigentree.cli._common import FAILED
from eigentree.cli._files import check_output
from eigentree.cli._output import show_table
from eigentree.errors import SettingsError, TreebankFormatError


class System(Protocol):
    """The scores of one parsed file."""

    @property
    def name(self) -> str: ...
    @property
    def remarks(self) -> Sequence[str]: ...
    @property
    def result(self) -> Any: ...
    def _replace(self, *, name: str) -> Any: ...


Scored = TypeVar("Scored", bound=System)


class ScoreTables(NamedTuple, Generic[Scored]):
    """What a product prints about scores.

    Attributes
    ----------
    scores
        The table of figures, of all systems.
    labels
        The table by label, of one system.
    settings
        The settings of a comparison as pairs of name and value.
    problems
        A line for each sentence of a system that couldn't be compared.
    """

    scores: Callable[[Sequence[Scored]], Any]
    labels: Callable[[Scored], Any]
    settings: Callable[[Any], Iterable[tuple[str, str]]]
    problems: Callable[[Scored], Iterable[str]]


def check_scored_files(inputs: Sequence[str], per_sentence: str | None) -> None:
    """Refuse two files from standard input, and a table that would replace an input.

    Raises
    ------
    SettingsError
        In either case.
    """
    if inputs.count("-") > 1:
        raise SettingsError("only one of the files can be standard input")
    check_output(per_sentence or "-", inputs)


def check_gold(name: str, trees: Iterable[object]) -> None:
    """Refuse a gold file without trees, against which nothing can be scored.

    Raises
    ------
    TreebankFormatError
    """
    if all(tree is None for tree in trees):
        raise TreebankFormatError(f"{name}: no gold trees to score against")


def write_rows(per_sentence: str | None, rows: Iterator[str]) -> None:
    """Write the table of all sentences, if there is to be one."""
    from eigentree.treebank.io.text_files import write_whole

    if per_sentence is not None:
        with write_whole(per_sentence) as out:
            out.writelines(f"{row}\n" for row in rows)


def print_json(report: Mapping[str, Any], *, seed: int, samples: int) -> None:
    """Print a report with the seed and the number of samples of its intervals."""
    whole = {**report, "seed": seed, "samples": samples}
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=2))


def print_scores(
    gold: str,
    systems: Sequence[Scored],
    tables: ScoreTables[Scored],
    comparisons: Sequence[str],
    *,
    labels: bool,
) -> None:
    """Print the figures of one or two systems, the settings, and all remarks.

    Parameters
    ----------
    gold
        Name of the gold file.
    systems
    tables
        How the product prints its scores.
    comparisons
        Lines on the difference of two systems, which they call A and B.
    labels
        Add the table of each label.
    """
    typer.echo(f"gold: {gold}")
    named = list(systems)
    if len(systems) > 1:
        # Paths are too long for headings of columns.
        for letter, system in zip("AB", systems, strict=True):
            typer.echo(f"{letter}: {system.name}")
        named = [one._replace(name=letter) for letter, one in zip("AB", systems, strict=True)]
    else:
        typer.echo(f"parsed: {systems[0].name}")
    typer.echo()
    show_table(tables.scores(named))
    if comparisons:
        typer.echo()
    for line in comparisons:
        typer.echo(line)
    for system in named if labels else ():
        typer.echo()
        show_table(tables.labels(system))
    typer.echo()
    for name, value in tables.settings(systems[0].result.options):
        typer.echo(f"{name}: {value}")
    for system in systems:
        lines = [*system.remarks, *system.result.notes, *tables.problems(system)]
        if lines:
            typer.echo(f"\nremarks on {system.name}:")
        for line in lines:
            typer.echo(f"  {line}")


def leave(*, failed: bool) -> None:
    """End the command with exit code 1 if some sentences couldn't be compared."""
    if failed:
        raise typer.Exit(FAILED)
