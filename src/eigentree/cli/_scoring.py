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
from eigentree.errors import SettingsError, counted

Item = TypeVar("Item")


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


def paired(
    gold: tuple[str, int],
    parsed: tuple[str, Sequence[Item | None], Sequence[int]],
    noun: str,
    by_words: Callable[[], tuple[list[Item | None], Sequence[int]]] | None,
    n_lines: int | None = None,
) -> tuple[list[Item | None], list[str]]:
    """A parse, or None, for each gold tree, with remarks on what doesn't fit.

    Parameters
    ----------
    gold
        Name of the file and number of its trees.
    parsed
        Name of the file, its parses, and the line where each begins.
    noun
        What remarks call a parse.
    by_words
        Pairs the parses by their words, and gives the positions of those left over; None to pair
        them in order.
    n_lines
        Lines of the parsed file, where an empty one may be a missing parse.
    """
    from eigentree.evaluation.tables.scoring import align_by_lines

    (gold_name, n_gold), (name, parses, lines) = gold, parsed
    if by_words is not None:
        chosen, left_over = by_words()
        if not left_over:
            return chosen, []
        places = ", ".join(str(lines[place]) for place in left_over)
        number = counted(len(left_over), f"{noun} has", f"{noun}s have")
        where = f"on {'line' if len(left_over) == 1 else 'lines'} {places}"
        return chosen, [f"{name}: {number} words that match no remaining gold sentence, {where}"]
    in_order = list(parses)
    if n_lines is not None and len(in_order) != n_gold:
        in_order = align_by_lines(in_order, lines, n_lines, n_gold)
    if len(in_order) == n_gold:
        return in_order, []
    remark = (
        f"{name} has {counted(len(in_order), noun)} and {gold_name} {n_gold}, paired in order; "
        "--align pairs them by their words"
    )
    return [*in_order, *[None] * n_gold][:n_gold], [remark]


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
