"""What commands print: tables, pictures, settings, and the compilation of kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from eigentree.cli._common import message, progress
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from rich.console import Console

    from eigentree.evaluation.tables.table import TextTable

_WIDTH_IN_PIPES = 100
_MAIN_FIGURES = ("F1, %", "UAS, %", "LAS, %")


def compile_kernels(*parts: str, quiet: bool) -> int:
    """Compile the kernels of a command, where that has not been done, and show how far that is.

    Parameters
    ----------
    parts
        What is going to run, of `eigentree._core.kernel_parts.PARTS`.
    quiet
        Show nothing.
    """
    from eigentree._core.jit import compile_parts, show_compilation

    @contextmanager
    def monitor(names: str, n_kernels: int) -> Iterator[Callable[[int], object]]:
        message(
            f"first run: compiling {names} ({counted(n_kernels, 'kernel')}, once per installation)",
            quiet=quiet,
        )
        with progress("compiling", n_kernels, unit="kernel", quiet=quiet) as advance:
            yield advance

    show_compilation(monitor)
    return compile_parts(parts)


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
