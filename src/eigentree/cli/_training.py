"""What all commands that learn share: progress by stages, and options of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

import typer

from eigentree._core.processes import cpu_seconds
from eigentree.cli._common import message, progress
from eigentree.errors import SettingsError, counted

Options = TypeVar("Options", bound=Any)
# By the name of an option's parameter, the methods that use it.
UsedBy = Mapping[str, tuple[str, ...]]


def report_notices(notices: Sequence[object], *, quiet: bool) -> None:
    """Report how many remarks there are on what was read, and the first."""
    if notices:
        message(f"{counted(len(notices), 'notice')}, the first: {notices[0]}", quiet=quiet)


def method_option(used_by: UsedBy, name: str, spelling: str | None = None, **about: Any) -> Any:
    """An option that some methods use, in a section of help for these methods."""
    return typer.Option(
        spelling or f"--{name.replace('_', '-')}",
        rich_help_panel=f"Options of --method {_listed(used_by[name])}",
        **about,
    )


def check_used(method: str, used_by: UsedBy, given: Mapping[str, object]) -> None:
    """Refuse an option that the method would ignore.

    Parameters
    ----------
    method
        The method that is to be used.
    used_by
        By name of a parameter, the methods that use it.
    given
        Values of parameters by name; None, and False of a flag, for those not given.

    Raises
    ------
    SettingsError
        For the first option that has a value though the method doesn't use it.
    """
    for name, methods in used_by.items():
        if method not in methods and given[name] is not None and given[name] is not False:
            raise SettingsError(
                f"--{name.replace('_', '-')} is for --method {_listed(methods)}, not for {method}"
            )


def _listed(methods: tuple[str, ...]) -> str:
    *first, last = methods
    return f"{', '.join(first)} and {last}" if first else last


def changed(options: Options, **given: object) -> Options:
    """A copy of options with those values that are not None."""
    return replace(options, **{name: value for name, value in given.items() if value is not None})


class Stages:
    """Progress over the stages of training, with the CPU time of each at its end."""

    def __init__(self, quiet: bool, notes: Mapping[str, str] | None = None) -> None:
        self._quiet = quiet
        self._notes = notes or {}  # messages for the beginning of stages
        self._stage: str | None = None
        self._began = 0.0
        self._bar = ExitStack()
        self._advance: Callable[[int], None] = lambda steps: None  # noqa: ARG005 - no stage yet
        self._shown = 0

    def __enter__(self) -> Stages:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The bar is removed after a failure too, or the terminal would lose its cursor.
        if kind is None:
            self._finish()
        self._bar.__exit__(kind, error, trace)

    def __call__(self, stage: str, share: float) -> None:
        if stage != self._stage:
            self._finish()
            if stage in self._notes:
                message(self._notes[stage], quiet=self._quiet)
            self._stage, self._shown, self._began = stage, 0, cpu_seconds()
            self._advance = self._bar.enter_context(
                progress(stage, 100, unit="%", quiet=self._quiet)
            )
        percent = int(100 * share)
        if percent > self._shown:
            self._advance(percent - self._shown)
            self._shown = percent

    def _finish(self) -> None:
        self._bar.close()
        if self._stage is not None:
            seconds = cpu_seconds() - self._began
            message(f"{self._stage}: {seconds:.1f} CPU s", quiet=self._quiet)
