"""A whole treebank in memory: files read, cleaned, counted, with the place of each tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

from eigentree.corpus.brackets import OnError, read_brackets
from eigentree.corpus.cleaning import CleaningOptions, clean, wrapper_of
from eigentree.corpus.export import read_export
from eigentree.corpus.files import STANDARD_STREAM, Problem, open_text
from eigentree.corpus.trees import Tree, collector_paused

TreeFormat = Literal["auto", "brackets", "export"]


class Place(NamedTuple):
    """Where a tree begins; lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Treebank:
    """Trees with what was met on the way to them.

    Attributes
    ----------
    trees
        In the order of the files.
    places
        Where each of `trees` begins; same length.
    problems
        What was skipped, in order; empty unless reading went on after errors.
    notices
        What was read but deserves telling: comments, repaired leaves.
    vanished
        Places of trees that held nothing but empty elements.
    no_parse
        Places of ``(())``, the mark of a sentence without a parse.
    counts
        By name: ``trees``, ``problems``, ``notices``, ``vanished``, ``no_parse``, and for
        export files ``crossing_trees`` and ``crossing_nodes``.
    wrapper
        The outer bracket that most trees carried before cleaning; None for none.
    """

    trees: list[Tree]
    places: list[Place]
    problems: list[Problem]
    notices: list[Problem]
    vanished: list[Place]
    no_parse: list[Place]
    counts: dict[str, int]
    wrapper: str | None


def read_treebank(
    paths: str | Path | Sequence[str | Path],
    *,
    on_error: OnError = "raise",
    cleaning: CleaningOptions | None = CleaningOptions(),
    format: TreeFormat = "auto",
) -> Treebank:
    """Read and clean the trees of one or more files.

    Parameters
    ----------
    paths
        A path or several; ``-`` is standard input.  Files may be compressed with gzip.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` collects the problems.
    cleaning
        How trees are cleaned; None keeps them as they stand.
    format
        ``"auto"`` takes files that begin with ``#FORMAT``, ``#BOS`` or ``%%`` for the NEGRA
        export format and all others for brackets.

    Raises
    ------
    TreebankFormatError
        When a file can't be read, or under ``"raise"`` holds a malformed tree.
    """
    if isinstance(paths, str | Path):
        paths = [paths]
    raw: list[Tree] = []
    places: list[Place] = []
    problems: list[Problem] = []
    notices: list[Problem] = []
    no_parse: list[Place] = []
    counts: Counter[str] = Counter()
    with collector_paused():
        for path in paths:
            name = "<standard input>" if str(path) == STANDARD_STREAM else str(path)
            with open_text(path) as lines:
                records = _records(lines, name, on_error, format, cleaning, notices.append, counts)
                for tree, line, problem in records:
                    if tree is not None:
                        raw.append(tree)
                        places.append(Place(name, line))
                    elif problem is not None:
                        problems.append(problem)
                    else:
                        no_parse.append(Place(name, line))
        cleaned = raw if cleaning is None else [clean(tree, cleaning) for tree in raw]
    kept = [i for i, tree in enumerate(cleaned) if tree is not None]
    vanished = [places[i] for i, tree in enumerate(cleaned) if tree is None]
    counts.update(
        trees=len(kept),
        problems=len(problems),
        notices=len(notices),
        vanished=len(vanished),
        no_parse=len(no_parse),
    )
    return Treebank(
        trees=[tree for tree in cleaned if tree is not None],
        places=[places[i] for i in kept],
        problems=problems,
        notices=notices,
        vanished=vanished,
        no_parse=no_parse,
        counts=dict(counts),
        wrapper=wrapper_of(raw),
    )


def _records(
    lines: TextIO,
    name: str,
    on_error: OnError,
    format: TreeFormat,
    cleaning: CleaningOptions | None,
    notice: Callable[[Problem], object],
    counts: Counter[str],
) -> Iterator[tuple[Tree | None, int, Problem | None]]:
    """The trees of one file in whichever format it has."""
    start: list[str] = []
    if format == "auto":
        start = _up_to_first_content(lines)
        format = "export" if start and _looks_like_export(start) else "brackets"
    text: Iterable[str] = chain(start, lines)
    if format == "brackets":
        yield from read_brackets(text, name=name, on_error=on_error, notice=notice)
        return
    edge_labels = cleaning is None or cleaning.keep_function_tags
    for sentence in read_export(text, name=name, on_error=on_error, edge_labels=edge_labels):
        counts["crossing_trees"] += sentence.n_crossing > 0
        counts["crossing_nodes"] += sentence.n_crossing
        yield sentence.tree, sentence.line, sentence.problem


def _up_to_first_content(lines: Iterable[str]) -> list[str]:
    """The first lines up to one that is neither blank nor a ``%%`` comment."""
    start: list[str] = []
    for line in lines:
        start.append(line)
        if line.strip() and not line.startswith("%%"):
            break
    return start


def _looks_like_export(start: list[str]) -> bool:
    return start[-1].startswith(("#FORMAT", "#BOS", "#BOT"))
