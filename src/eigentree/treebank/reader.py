"""A whole treebank in memory: files read, cleaned, counted, with the place of each tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from eigentree._core.arguments import check_choice, check_type
from eigentree.errors import TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions, clean, wrapper_of
from eigentree.treebank.io.brackets import BracketRecord, OnError, read_brackets
from eigentree.treebank.io.negra import read_export_graphs
from eigentree.treebank.io.recognition import recognise, wrong_kind
from eigentree.treebank.io.text_files import (
    OpenText,
    Problem,
    TellNotice,
    check_lines,
    listed_sources,
    opened_text,
)
from eigentree.treebank.io.tiger import read_tiger_graphs
from eigentree.treebank.syntax_graph import (
    ContinuousRecord,
    GraphRecord,
    SyntaxGraph,
    continuous_records,
    graph_of_tree,
)
from eigentree.treebank.tree import Tree, collector_paused

TreeFormat = Literal["auto", "brackets", "export", "tiger"]
# By format; brackets are read as trees.
_GRAPH_READERS: dict[str | None, Callable[..., Iterator[GraphRecord]]] = {
    "export": read_export_graphs,
    "tiger": read_tiger_graphs,
}


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
        Remarks on what was read: comments, repaired leaves, byte-order marks.
    vanished
        Places of trees that held nothing but empty elements.
    no_parse
        Places of ``(())``, the mark of a sentence without a parse.
    counts
        By name: ``trees``, ``problems``, ``notices``, ``vanished``, ``no_parse``, and for
        NEGRA export and TIGER-XML ``crossing_trees``, ``crossing_nodes`` and
        ``secondary_edges``.
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
    paths: str | Path | OpenText | Sequence[str | Path | OpenText],
    *,
    on_error: OnError = "raise",
    cleaning: CleaningOptions | None = CleaningOptions(),
    format: TreeFormat = "auto",
) -> Treebank:
    """Read and clean the trees of one or more files.

    Parameters
    ----------
    paths
        A path or several; ``-`` is standard input.  Files may be compressed with gzip or xz.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` collects the problems, and a byte
        that isn't UTF-8 then costs one tree rather than the file.
    cleaning
        How trees are cleaned; None leaves them unchanged.
    format
        ``"auto"`` recognises the format of each file by its content.

    Raises
    ------
    TreebankFormatError
        When a file can't be read, or under ``"raise"`` holds a malformed tree or none of these
        formats, such as CoNLL-U.
    """
    check_type(
        cleaning, (CleaningOptions, type(None)), "cleaning", "CleaningOptions, or None for none"
    )
    check_choice(OnError, on_error=on_error)
    check_choice(TreeFormat, format=format)
    raw: list[Tree] = []
    places: list[Place] = []
    problems: list[Problem] = []
    notices: list[Problem] = []
    no_parse: list[Place] = []
    counts: Counter[str] = Counter()
    with collector_paused():
        keep = on_error == "skip"
        for path in listed_sources(paths):
            with opened_text(path, keep_bad_bytes=keep, notice=notices.append) as (name, lines):
                for record in read_trees(
                    lines,
                    name=name,
                    on_error=on_error,
                    format=format,
                    edge_labels=cleaning is None or cleaning.keep_function_tags,
                    notice=notices.append,
                ):
                    if isinstance(record, ContinuousRecord):
                        counts["crossing_trees"] += record.n_crossing > 0
                        counts["crossing_nodes"] += record.n_crossing
                        counts["secondary_edges"] += record.n_secondary
                    if record.tree is not None:
                        raw.append(record.tree)
                        places.append(Place(name, record.line))
                    elif record.problem is not None:
                        problems.append(record.problem)
                    else:
                        no_parse.append(Place(name, record.line))
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


def read_trees(
    lines: Iterable[str],
    *,
    name: str = "<input>",
    on_error: OnError = "raise",
    format: TreeFormat = "auto",
    edge_labels: bool = False,
    notice: TellNotice | None = None,
) -> Iterator[BracketRecord | ContinuousRecord]:
    """Read the trees of one text in whichever format it has, each as soon as it is complete.

    Parameters
    ----------
    lines
        Lines of text, such as an open file.
    name
        What messages call the text.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` gives a record with the problem.
    format
        As in `read_treebank`.
    edge_labels
        Write the edge labels of NEGRA export and TIGER-XML into the labels.
    notice
        Called with remarks on what was read.

    Yields
    ------
    BracketRecord or ContinuousRecord
        One for each tree or sentence.  At the top of a graph, a nonterminal ``VROOT`` and a missing
        one are the same.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line and what is wrong.
    """
    check_lines(lines)
    check_choice(OnError, on_error=on_error)
    check_choice(TreeFormat, format=format)
    text: Iterable[str] = lines
    if format == "auto":
        found = recognise(lines)
        problem = wrong_kind(found, "constituents", name)
        if problem is not None:
            if on_error == "raise":
                raise TreebankFormatError(str(problem))
            yield BracketRecord(None, problem.line, problem)
            return
        text = found.lines
        if found.format == "export" or found.format == "tiger":
            format = found.format
    read = _GRAPH_READERS.get(format)
    if read is None:
        yield from read_brackets(text, name=name, on_error=on_error, notice=notice)
    else:
        graphs = read(text, name=name)
        yield from continuous_records(
            graphs, name, on_error, edge_labels=edge_labels, notice=notice
        )


def read_graphs(lines: Iterable[str], *, name: str = "<input>") -> Iterator[GraphRecord]:
    """Read the sentences of one text as graphs, with crossing branches where the format has them.

    Parameters
    ----------
    lines
        Lines of text, such as an open file: NEGRA export, TIGER-XML or brackets.
    name
        What messages call the text.

    Yields
    ------
    GraphRecord
        One for each sentence; one that is malformed has a problem.
    """
    check_lines(lines)
    found = recognise(lines)
    problem = wrong_kind(found, "constituents", name)
    if problem is not None:
        yield GraphRecord(None, problem.line, problem)
    elif read := _GRAPH_READERS.get(found.format):
        yield from read(found.lines, name=name)
    else:
        for record in read_brackets(found.lines, name=name, on_error="skip"):
            tree, graph = record.tree, None
            if record.problem is None:
                graph = SyntaxGraph(()) if tree is None else graph_of_tree(tree)
            yield GraphRecord(graph, record.line, record.problem)
