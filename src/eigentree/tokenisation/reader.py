"""Sentences from files of raw text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.sentences import split_text
from eigentree.tokenisation.tokens import RawSentence
from eigentree.treebank.io.text_files import Problem, check_lines, unreadable, without_marks


class ReadText(NamedTuple):
    """A sentence with its surrounding text, or a problem.

    Attributes
    ----------
    sentence
        With offsets into `text`; None for an empty line, or if the text cannot be read.
    text
        A line, or with ``wrapped`` all lines of a paragraph, without the final line end.
    line
        Number of the first line, from 1.
    problem
        Why the text cannot be read.
    """

    sentence: RawSentence | None
    text: str
    line: int
    problem: Problem | None = None


def read_text(
    lines: Iterable[str], scheme: TokenisationScheme, *, name: str, wrapped: bool = False
) -> Iterator[ReadText]:
    """Split lines into sentences, each available as soon as its line or paragraph is read.

    Parameters
    ----------
    lines
        With or without line ends.
    scheme
        What counts as a word.
    name
        Name of the text in messages.
    wrapped
        Whether sentences may span lines, so that only an empty line always ends one.  Otherwise
        each line is a text of its own, and an empty line also gives a record.
    """
    check_lines(lines)
    lines = without_marks(lines)
    for number, text in _paragraphs(lines) if wrapped else enumerate(lines, start=1):
        text = text.rstrip("\r\n")
        problem = _unreadable(name, number, text)
        if problem is not None:
            yield ReadText(None, text, number, problem)
            continue
        sentences = split_text(text, scheme)
        for sentence in sentences:
            yield ReadText(sentence, text, number)
        if not sentences:
            yield ReadText(None, text, number)


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Runs of non-empty lines, each with the number of its first."""
    run: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            run.append(line.rstrip("\r\n"))
        elif run:
            yield number - len(run), "\n".join(run)
            run = []
    if run:
        yield number - len(run) + 1, "\n".join(run)


def _unreadable(name: str, first: int, text: str) -> Problem | None:
    """The first byte of a text that can't be read."""
    for number, line in enumerate(text.split("\n"), start=first):
        problem = unreadable(name, number, line)
        if problem is not None:
            return problem
    return None
