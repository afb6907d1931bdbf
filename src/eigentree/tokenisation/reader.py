"""Sentences of files of raw text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.sentences import split_text
from eigentree.tokenisation.tokens import RawSentence
from eigentree.treebank.io.text_files import Problem, undecoded


class ReadText(NamedTuple):
    """A sentence with the text that it stands in, or a problem.

    Attributes
    ----------
    sentence
        With places in `text`; None for an empty line, and where the text can't be read.
    text
        A line, or under ``wrapped`` all lines of a paragraph, without the last one's end.
    line
        Counted from 1, where the text begins.
    problem
        Why it can't be read.
    """

    sentence: RawSentence | None
    text: str
    line: int
    problem: Problem | None = None


def read_text(
    lines: Iterable[str], scheme: TokenisationScheme, *, name: str, wrapped: bool = False
) -> Iterator[ReadText]:
    """The sentences of lines, each as soon as its line, or paragraph, has come.

    Parameters
    ----------
    lines
        With or without their ends.
    scheme
        What counts as a word.
    name
        What messages call the text.
    wrapped
        Whether sentences go on over ends of lines, so that only an empty line ends one for sure.
        Otherwise each line is a text of its own, and an empty line gives a record too.
    """
    for number, text in _paragraphs(lines) if wrapped else enumerate(lines, start=1):
        text = text.rstrip("\r\n")
        problem = _undecoded(name, number, text)
        if problem is not None:
            yield ReadText(None, text, number, problem)
            continue
        sentences = split_text(text, scheme)
        for sentence in sentences:
            yield ReadText(sentence, text, number)
        if not sentences:
            yield ReadText(None, text, number)


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Runs of lines with something on them, each with the number of its first."""
    run: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            run.append(line.rstrip("\r\n"))
        elif run:
            yield number - len(run), "\n".join(run)
            run = []
    if run:
        yield number - len(run) + 1, "\n".join(run)


def _undecoded(name: str, first: int, text: str) -> Problem | None:
    """The first byte of a text that is no UTF-8."""
    for number, line in enumerate(text.split("\n"), start=first):
        problem = undecoded(name, number, line)
        if problem is not None:
            return problem
    return None
