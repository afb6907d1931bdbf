"""What commands print: tables, pictures, settings, and a note before a compilation."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from eigentree.cli._common import message
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from eigentree.evaluation.tables.table import TextTable

_WIDTH_IN_PIPES = 100
_MAIN_FIGURES = ("F1, %", "UAS, %", "LAS, %")

# What may have to be compiled, by name: what messages call it, and a kernel that shows it.
_KERNELS = {
    "em": ("EM", "constituency.learn._kernels_em.outside_pass"),
    "parsing": ("the parser", "constituency.chart._kernels_inside_outside.outside_pass"),
    "prefixes": ("prefix probabilities", "constituency.chart._kernels_dense.forward_of_prefixes"),
    "clusters": ("Brown clusters", "words._kernels_brown.fill_cells"),
    "bracketing": ("minimum evolution", "bracketing.chart._kernels_minimum_evolution.fill"),
    "dependencies": (
        "the dependency parser",
        "dependency.chart._kernels_head_automata.head_marginals",
    ),
}  # fmt: skip


def warn_of_compilation(*parts: str, quiet: bool) -> None:
    """Report that the first run is going to compile kernels, where it is.

    Parameters
    ----------
    parts
        What is going to run: em, parsing, prefixes, clusters, bracketing or dependencies.
    quiet
        Report nothing.
    """
    from eigentree._core.jit import needs_compiling

    names = []
    for part in parts:
        name, place = _KERNELS[part]
        module, _, kernel = place.rpartition(".")
        if needs_compiling(getattr(import_module(f"eigentree.{module}"), kernel)):
            names.append(name)
    if names:
        message(
            f"first run: compiling {' and '.join(names)} (about 30 s, once per installation)",
            quiet=quiet,
        )


def write_picture(svg: str, file: str, *, as_png: bool, scale: float = 2.0) -> None:
    """Write a drawing as SVG or as PNG.

    Raises
    ------
    SettingsError
        When a PNG is too large, would go to a terminal, or requires a package that is missing.
    """
    from eigentree.treebank.io.text_files import write_whole

    if not as_png:
        with write_whole(file) as text:
            text.write(svg)
        return
    from eigentree.drawing import png

    pixels = png.as_png(svg, scale=scale)
    with write_whole(file, binary=True) as out:
        if out.isatty():
            raise SettingsError("a terminal can't show a PNG; name a file with --output-file")
        out.write(pixels)


def result_console() -> Console:
    """A console for tables on standard output, which may be a closed pipe."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else _WIDTH_IN_PIPES
    return _Console(highlight=False, markup=False, emoji=False, width=width)


def show_table(table: TextTable) -> None:
    """Print a table of figures, with lines and colours on a terminal and plain elsewhere.

    Rows whose figure is the one to look at, F1 or an attachment score, are bold.
    """
    if not sys.stdout.isatty():
        from eigentree.evaluation.tables.table import format_table

        typer.echo(format_table(table))
        return
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=table.title or None, header_style="bold")
    for place, name in enumerate(table.header):
        drawn.add_column(Text(name), justify="right" if place else "left")
    for row in table.rows:
        style = "bold" if row[0] in _MAIN_FIGURES else None
        drawn.add_row(*map(Text, row), style=style)
    Console().print(drawn)


def show_settings(console: Console, settings: dict[str, Any]) -> None:
    """Print a line for each setting, without empty tables."""
    for name, value in settings.items():
        if value != {}:
            console.print(f"  {name}: {plain(value)}")


def plain(value: Any) -> str:
    """A setting's value in one line: tables as names and values, lists with blanks."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain_item(inner)}" for name, inner in value.items())
    return _plain_item(value)


def _plain_item(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(str(item) for item in value) or "none"
    return str(value)
