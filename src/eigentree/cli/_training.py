"""What the verbs that learn share: trees to learn from and to score on, stages of the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from eigentree.cli._common import message, progress
from eigentree.errors import TreebankFormatError, counted
from eigentree.workers import cpu_seconds

if TYPE_CHECKING:
    from eigentree.corpus.cleaning import CleaningOptions
    from eigentree.corpus.treebank import Treebank
    from eigentree.corpus.trees import Tree

Options = TypeVar("Options", bound=Any)

TreesArgument = Annotated[
    list[str], typer.Argument(help="Bracket or NEGRA export files; - is standard input.")
]
FunctionTagsOption = Annotated[
    bool, typer.Option("--keep-function-tags", help="NP-SBJ stays NP-SBJ.")
]
CutTagsOption = Annotated[
    bool, typer.Option("--cut-tags", help="Cut function tags of part-of-speech tags too.")
]
SeparatorsOption = Annotated[
    str | None, typer.Option(help="Where the function tags of a label begin.")
]
TraceLabelsOption = Annotated[
    str | None, typer.Option(help="Tags removed with their words; blanks between them.")
]
TraceWordsOption = Annotated[
    str | None, typer.Option(help="Words removed wherever they are; blanks between them.")
]
OnErrorOption = Annotated[
    Literal["raise", "skip"], typer.Option(help="Stop at a malformed tree, or go on.")
]


def changed(options: Options, **given: object) -> Options:
    """A copy of some options with those values that are given, so not None."""
    return replace(options, **{name: value for name, value in given.items() if value is not None})


def cleaning_settings(
    keep_function_tags: bool,
    cut_tags: bool,
    function_separators: str | None,
    trace_labels: str | None,
    trace_words: str | None,
) -> dict[str, Any]:
    """Those fields of `CleaningOptions` that the command line has something to say about."""
    given = {
        "keep_function_tags": keep_function_tags or None,
        "cut_tags": cut_tags or None,
        "function_separators": function_separators,
        "trace_labels": None if trace_labels is None else tuple(trace_labels.split()),
        "trace_words": None if trace_words is None else tuple(trace_words.split()),
    }
    return {name: value for name, value in given.items() if value is not None}


def held_out_trees(
    dev: str, cleaning: CleaningOptions, on_error: Literal["raise", "skip"]
) -> list[tuple[Tree, Tree]]:
    """Held-out trees as they stand and cleaned, without those that hold nothing."""
    from eigentree.corpus.cleaning import clean
    from eigentree.corpus.treebank import read_treebank

    treebank = read_treebank(dev, cleaning=None, on_error=on_error)
    for problem in treebank.problems:
        message(f"eigentree: skipped: {problem}")
    pairs = [(tree, clean(tree, cleaning)) for tree in treebank.trees]
    kept = [(tree, cleaned) for tree, cleaned in pairs if cleaned is not None]
    if not kept:
        raise TreebankFormatError(f"{dev}: no tree to score on; at least one is needed")
    return kept


def tell_of_treebank(treebank: Treebank, quiet: bool) -> None:
    """What was skipped, what is odd, and how many trees there are."""
    for problem in treebank.problems:
        message(f"eigentree: skipped: {problem}")
    if treebank.notices:
        number = counted(len(treebank.notices), "notice")
        message(f"{number}, the first: {treebank.notices[0]}", quiet=quiet)
    message(counted(len(treebank.trees), "tree"), quiet=quiet)


class Stages:
    """Progress over the stages of training, with the CPU time of each at its end."""

    def __init__(self, quiet: bool, notes: Mapping[str, str] | None = None) -> None:
        self._quiet = quiet
        self._notes = notes or {}  # what is told when a stage begins
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
        # After a failure the bar goes as well, or the terminal would stay without a cursor.
        if kind is None:
            self._finish()
        self._bar.__exit__(kind, error, trace)

    def __call__(self, stage: str, share: float) -> None:
        if stage != self._stage:
            self._finish()
            if stage in self._notes:
                message(self._notes[stage], quiet=self._quiet)
            self._stage, self._shown, self._began = stage, 0, cpu_seconds()
            self._advance = self._bar.enter_context(progress(stage, 100, quiet=self._quiet))
        percent = int(100 * share)
        if percent > self._shown:
            self._advance(percent - self._shown)
            self._shown = percent

    def _finish(self) -> None:
        self._bar.close()
        if self._stage is not None:
            seconds = cpu_seconds() - self._began
            message(f"{self._stage}: {seconds:.1f} CPU s", quiet=self._quiet)
