"""What the verbs share: exit codes, messages, progress and the options with one meaning.

Standard output is for results alone.  Messages and progress go to standard error: a moving
bar on a terminal, and elsewhere plain lines, few enough for a log file.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from eigentree.errors import EigentreeError, SettingsError, TreebankFormatError, WorkerError

if TYPE_CHECKING:
    from eigentree.evaluation.tables.table import TextTable

Item = TypeVar("Item")

BAD_INPUT = 2
FAILED = 1
CLOSED_PIPE = 141  # what a shell reports for a program ended by SIGPIPE, as head's feeders are

SECONDS_BETWEEN_LINES = 10.0
_WIDTH_IN_PIPES = 100
_MAIN_FIGURES = ("F1, %", "UAS, %", "LAS, %")

# How a tree begins, and hardly any text: a phrase that holds another.
_TREE_START = re.compile(r"\(\s*[^\s()]*\s*\([^\s()]+\s+[^\s)]")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

SeedOption = Annotated[
    int, typer.Option("--seed", min=0, help="Same seed, same result, to the byte.")
]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Processes to use; the result is the same.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only errors.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
OutputOption = Annotated[
    str, typer.Option("--output-file", "-o", help="File to write; - is standard output.")
]


class WorkFailedError(Exception):
    """Work that failed through nobody's input, with a sentence that says all."""


def guarded(work: Callable[[], object], *, debug: bool) -> object:
    """Do a verb's work, and turn what goes wrong into one line and an exit code.

    Parameters
    ----------
    work
        Called once; its value comes back.
    debug
        Show the traceback as well.

    Raises
    ------
    typer.Exit
        With 2 for what the caller can mend (an `EigentreeError`, words of the command line
        that can't be used, a file that can't be read), 1 for anything else, 141 when the
        reader of standard output has gone.
    """
    try:
        value = work()
        sys.stdout.flush()
        return value
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(CLOSED_PIPE) from None
    except (WorkerError, WorkFailedError) as error:
        _report(str(error), debug)
        raise typer.Exit(FAILED) from None
    except EigentreeError as error:
        _report(str(error), debug)
        raise typer.Exit(BAD_INPUT) from None
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        _report(f"{error.filename}: {error.strerror}", debug)
        raise typer.Exit(BAD_INPUT) from None
    except MemoryError as error:
        why = f"; {error}" if str(error) else ""
        _report(f"the work needs more memory than there is{why}", debug)
        raise typer.Exit(FAILED) from None
    except OSError as error:
        what = f"{type(error).__name__}: {error} (add --debug to see where)"
        if error.errno in _NO_ROOM:
            _discard_output()  # what is left in it would fail again
            what = f"the output can't be written: {error.strerror}"
        _report(what, debug)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        if type(error).__module__.startswith("typer"):
            if not hasattr(error, "format_message"):
                raise  # exits are typer's to obey
            _report(_usage(error), debug)
            raise typer.Exit(BAD_INPUT) from None
        what = f"{type(error).__name__}: {error}"
        _report(what if debug else f"{what} (add --debug to see where)", debug)
        raise typer.Exit(FAILED) from None


def _usage(error: Any) -> str:
    """What is wrong with the command line, in one sentence.

    The error is one of typer's own, whose names for most of them are private.
    """
    text = error.format_message()
    if isinstance(error, typer.BadParameter) and error.message:
        text = error.message
        # What didn't become a number or a choice; pydantic is typer's way to say so.
        seen: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
        if error.param is not None and seen:
            name = "/".join(error.param.opts) if error.param.opts else error.param.name
            value, right = _seen_and_right(seen[0])
            text = f"{name} is {value}, which must be {right}"
    text = " ".join(text.split()).rstrip(".")
    command = "eigentree" if error.ctx is None else error.ctx.command_path
    return f"{text[:1].lower()}{text[1:]}; see {command} --help"


def _seen_and_right(details: dict[str, Any]) -> tuple[str, str]:
    """The value that was refused, and what would have been taken."""
    limits = details.get("ctx", {})
    choices = details["msg"].partition("is not one of ")[2]
    if "ge" in limits:
        right = f"{limits['ge']} or more"
    elif choices:
        right = "one of " + choices.rstrip(".").replace("'", "")
    elif details["type"].startswith("int"):
        right = "a whole number"
    elif details["type"].startswith("float"):
        right = "a number"
    else:
        right = details["msg"]
    return str(details["input"]) if "ge" in limits else repr(details["input"]), right


def _report(problem: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    message("eigentree: " + " ".join(problem.split("\n")))


def _discard_output() -> None:
    # Python flushes standard output once more on its way out, which must not fail again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def check_inputs(inputs: Iterable[str]) -> None:
    """Refuse files that can't be read, before any of them is opened.

    Raises
    ------
    TreebankFormatError
        For the first that is missing, a folder or not for this user to read.
    """
    for file in inputs:
        if file == "-":
            continue
        why = None
        if not os.path.exists(file):
            why = errno.ENOENT
        elif os.path.isdir(file):
            why = errno.EISDIR
        elif not os.access(file, os.R_OK):
            why = errno.EACCES
        if why is not None:
            raise TreebankFormatError(f"{file}: can't be read: {os.strerror(why)}")


def keep_inputs(output: str, inputs: Iterable[str]) -> None:
    """Refuse to write over a file that is read.

    Raises
    ------
    SettingsError
        When the output is one of the inputs, under whatever name.
    """
    path = Path(output)
    for file in inputs:
        named = "-" not in (output, file) and path.is_file() and Path(file).is_file()
        if named and path.samefile(file):
            raise SettingsError(f"{output}: is read, so it can't be written; name another")


def write_picture(svg: str, file: str, *, as_png: bool, scale: float = 2.0) -> None:
    """Write a drawing as SVG or as PNG.

    Raises
    ------
    SettingsError
        When a PNG is too large, would go to a terminal, or wants a package that is missing.
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


def result_console() -> Any:
    """A console for tables on standard output, whose reader may leave."""
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


def message(text: str, *, quiet: bool = False) -> None:
    """Print one line on standard error, unless quiet."""
    if not quiet:
        typer.echo(text, err=True)


def text_lines(lines: Iterable[str], name: str) -> Iterator[str]:
    """Lines of raw text, with a message where the first with something on it looks like a tree.

    Parameters
    ----------
    lines
        As they stand.
    name
        What the message calls their file.
    """
    from eigentree.treebank.io.brackets import CONLLU_LINE

    is_begun = False
    for line in lines:
        seen = line.strip()
        if seen and not is_begun and not seen.startswith("#"):
            is_begun = True
            for what, look in (("bracketed trees", _TREE_START), ("CoNLL-U", CONLLU_LINE)):
                if look.match(seen):
                    told = f"{name} begins like {what}, but is read as text; see --input"
                    message(f"eigentree: {told}")
        yield line


@contextmanager
def progress(
    doing: str, total: int | None = None, *, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show how far a task is; the value is a function to call with each number of steps done.

    Parameters
    ----------
    doing
        What is going on, as in "parsing".
    total
        Number of steps, or None when it is not known, as on a pipe.
    quiet
        Show nothing.

    Examples
    --------
    >>> with progress("counting", 2, quiet=True) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    if quiet:
        yield lambda steps: None  # noqa: ARG005 - a step that shows nothing
    elif sys.stderr.isatty():
        with _bar() as bar:
            task = bar.add_task(doing, total=total)
            yield lambda steps: bar.advance(task, steps)
    else:
        lines = _Lines(doing, total)
        yield lines.advance
        lines.close()


def track(
    items: Iterable[Item], doing: str, total: int | None = None, *, quiet: bool = False
) -> Iterator[Item]:
    """Hand on items one by one and show progress; each counts as done when the next is asked."""
    with progress(doing, total, quiet=quiet) as advance:
        for item in items:
            yield item
            advance(1)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _Lines:
    """Progress for log files: a line at times, and one at the end of what took a while."""

    def __init__(self, doing: str, total: int | None) -> None:
        self.doing = doing
        self.total = "" if total is None else f" of {total}"
        self.done = 0
        self.begun = self.told = time.monotonic()

    def advance(self, steps: int) -> None:
        self.done += steps
        now = time.monotonic()
        if now - self.told >= SECONDS_BETWEEN_LINES:
            self.told = now
            message(f"{self.doing}: {self.done}{self.total} after {now - self.begun:.0f} s")

    def close(self) -> None:
        if self.told > self.begun:
            message(f"{self.doing}: {self.done} done in {time.monotonic() - self.begun:.0f} s")
