"""What all commands share: exit codes, messages and progress.

Standard output is for results alone.  Messages and progress go to standard error: a moving
bar on a terminal, and elsewhere plain lines, few enough for a log file.
"""

from __future__ import annotations

import errno
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer

from eigentree.errors import EigentreeError, WorkerError, counted

Item = TypeVar("Item")

BAD_INPUT = 2
FAILED = 1
CLOSED_PIPE = 141  # what a shell reports for a program ended by SIGPIPE, as head's feeders are

SECONDS_BETWEEN_LINES = 10.0
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WorkFailedError(Exception):
    """Work that failed for a reason other than the input; the message explains it."""


def error_boundary(work: Callable[[], object], *, debug: bool) -> object:
    """Run a command, and turn an error into one line and an exit code.

    Parameters
    ----------
    work
        Called once; its value is returned.
    debug
        Print the traceback as well.

    Raises
    ------
    typer.Exit
        With 2 for what the user can fix (an `EigentreeError`, a wrong command line, a file that
        can't be read), 1 for anything else, a full disk among it, and 141 when the reader of
        standard output has gone.
    """
    try:
        value = work()
        sys.stdout.flush()
        return value
    except (typer.Exit, typer.Abort):
        raise
    except BrokenPipeError:
        _discard_output()
        raise typer.Exit(CLOSED_PIPE) from None
    except (WorkerError, WorkFailedError) as error:
        _report(str(error), debug)
        raise typer.Exit(FAILED) from None
    except EigentreeError as error:
        _report(str(error), debug)
        raise typer.Exit(FAILED if _lacks_room(error) else BAD_INPUT) from None
    except typer.TyperException as error:
        _report(_usage(error), debug)
        raise typer.Exit(BAD_INPUT) from None
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        _report(f"{error.filename}: {error.strerror}", debug)
        raise typer.Exit(BAD_INPUT) from None
    except MemoryError as error:
        details = f": {error}" if str(error) else ""
        _report(f"out of memory{details}", debug)
        raise typer.Exit(FAILED) from None
    except OSError as error:
        summary = f"{type(error).__name__}: {error} (add --debug for a traceback)"
        if error.errno == errno.EBADF:
            _discard_output()
            summary = "the output can't be written: standard output is closed"
        elif _lacks_room(error):
            _discard_output()  # what is left in it would fail again
            summary = f"the output can't be written: {error.strerror}"
        _report(summary, debug)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        summary = f"{type(error).__name__}: {error}"
        _report(summary if debug else f"{summary} (add --debug for a traceback)", debug)
        raise typer.Exit(FAILED) from None


def _lacks_room(error: BaseException | None) -> bool:
    """Whether an error, or one that it was raised from, is that of a full disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        error = error.__cause__
    return False


def _usage(error: typer.TyperException) -> str:
    """The command-line library's message, with the command whose help explains more."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = "eigentree" if context is None else context.command_path
    return f"{text[:1].lower()}{text[1:]}; see {command} --help"


def _report(problem: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    message("eigentree: " + " ".join(problem.split("\n")))


def _discard_output() -> None:
    # Python flushes standard output once more on its way out, which must not fail again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def message(text: str, *, quiet: bool = False) -> None:
    """Print one line on standard error, unless quiet."""
    if not quiet:
        typer.echo(text, err=True)


def notice(remark: object) -> None:
    """Print a remark on an input file on standard error."""
    message(f"eigentree: {remark}")


@contextmanager
def progress(
    doing: str, total: int | None = None, *, unit: str = "sentence", quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show how far a task is; the value is a function to call with each number of steps done.

    Parameters
    ----------
    doing
        What is going on, as in "parsing".
    total
        Number of steps, or None when it is not known, as on a pipe.
    unit
        What one step is, in the singular; "%" where the steps are percentages.
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
            task = bar.add_task(doing, total=total, so_far=_so_far(0, total, unit))
            done = 0

            def advance(steps: int) -> None:
                nonlocal done
                done += steps
                bar.update(task, completed=done, so_far=_so_far(done, total, unit))

            yield advance
    else:
        lines = _Lines(doing, total, unit)
        yield lines.advance
        lines.close()


def _so_far(done: int, total: int | None, unit: str) -> str:
    """How many steps are done: "20 of 40 sentences", "1 sentence", "40 %"."""
    if unit == "%":
        return f"{done} %"
    return counted(done, unit) if total is None else f"{done} of {counted(total, unit)}"


def track(
    items: Iterable[Item],
    doing: str,
    total: int | None = None,
    *,
    unit: str = "sentence",
    quiet: bool = False,
) -> Iterator[Item]:
    """Yield items and show progress; an item counts as done when the next is requested."""
    with progress(doing, total, unit=unit, quiet=quiet) as advance:
        for item in items:
            yield item
            advance(1)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[so_far]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _Lines:
    """Progress for log files: a line at times, and one at the end of what took a while."""

    def __init__(self, doing: str, total: int | None, unit: str) -> None:
        self.doing = doing
        self.total = total
        self.unit = unit
        self.done = 0
        self.started = self.reported = time.monotonic()

    def advance(self, steps: int) -> None:
        self.done += steps
        now = time.monotonic()
        if now - self.reported >= SECONDS_BETWEEN_LINES:
            self.reported = now
            so_far = _so_far(self.done, self.total, self.unit)
            message(f"{self.doing}: {so_far} after {now - self.started:.0f} s")

    def close(self) -> None:
        if self.reported > self.started:
            so_far = _so_far(self.done, None, self.unit)
            message(f"{self.doing}: {so_far} in {time.monotonic() - self.started:.0f} s")
