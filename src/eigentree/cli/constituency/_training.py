"""What the verbs that learn share: trees to learn from and to score on, stages of the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from eigentree._core.processes import cpu_seconds
from eigentree.cli._common import message, progress, track
from eigentree.cli.constituency._output import warn_of_compilation
from eigentree.errors import SettingsError, TreebankFormatError, counted

if TYPE_CHECKING:
    from eigentree.constituency.parser import Parser
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.reader import Treebank
    from eigentree.treebank.tree import Tree

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
    from eigentree.treebank.cleaning import clean
    from eigentree.treebank.reader import read_treebank

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


def check_writable(output: str, files: list[str], *, model: bool = True) -> None:
    """Refuse a place for the model before the work rather than after it.

    Parameters
    ----------
    output
        Where something is to be written.
    files
        What is read.
    model
        Whether it is to be a model, which replaces a model only.
    """
    path = Path(output)
    if any(path.exists() and Path(file).exists() and path.samefile(file) for file in files):
        raise SettingsError(f"{output}: holds trees, which the model would replace; name another")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise SettingsError(f"{output}: can't be written; name a file in a folder of your own")
    if model and path.is_file():
        with path.open("rb") as file:
            start = file.read(9)
        # The size of the header, then the header.
        if start and start[8:] != b"{":
            raise SettingsError(
                f"{output}: is there, and no model; name another file, or remove it"
            )


def tell_iterations(run: dict[str, Any], n_trees: int, quiet: bool) -> None:
    """The record of expectation maximisation as a table, with the iteration that was kept."""
    message("iteration  log-likelihood a tree     F1  CPU s", quiet=quiet)
    for row in run["record"]:
        f1 = "" if row["f1"] is None else f"{100 * row['f1']:.2f}"
        kept = "  kept" if row["iteration"] == run["best"] else ""
        message(
            f"{row['iteration']:9}  {row['log_likelihood'] / n_trees:21.3f}  {f1:>5}  "
            f"{row['cpu_seconds']:5.1f}{kept}",
            quiet=quiet,
        )


def score_on(parser: Parser, dev: str, held_out: list[tuple[Tree, Tree]], quiet: bool) -> None:
    """Parse the held-out trees by their own tags, and by the tagger's, and score both."""
    from eigentree.evaluation.parseval import score
    from eigentree.evaluation.settings import EVALB_COLLINS

    warn_of_compilation(quiet=quiet)
    gold, clean = ([pair[side] for pair in held_out] for side in (0, 1))
    ways = [("gold tags", False)]
    if parser.tagger is not None:
        ways.append(("own tags", True))
    for name, own in ways:
        results = [
            parser.parse(tree.words(), None if own else tree.tags())
            for tree in track(clean, f"parsing {dev}", len(clean), quiet=quiet)
        ]
        fallbacks = [result.fallback is not None for result in results]
        scores = score(
            gold, [result.tree for result in results], EVALB_COLLINS, fallbacks=fallbacks
        )
        f1 = scores.all.f1
        shown = "not defined" if f1 is None else f"{100 * f1:.2f}"
        message(
            f"{dev}, {name}: F1 {shown} (EVALB, all lengths), "
            f"{counted(sum(fallbacks), 'fall-back')} in {counted(len(clean), 'sentence')}",
            quiet=quiet,
        )


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
