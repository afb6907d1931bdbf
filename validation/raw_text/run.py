"""Accuracy of tokenisation and sentence splitting, on texts of Universal Dependencies.

Paragraphs are reconstructed from the words of a file and its ``SpaceAfter``, with one space between
sentences, so that line ends reveal nothing.  The tokenisation scheme is learned from another file,
or from the first half of the same one, in three ways: by its ``mode`` only; from its ``words``, as
in a treebank of trees; from its ``text``, with spaces and multiword tokens.  Words and sentences
are correct if they have exactly the characters of a gold one.  Words of a multiword token have
their own characters if they add up to the token; otherwise it counts as one word, as do words that
share their characters.

    python validation/raw_text/run.py NAME=FILE[,TEST] ... [--ways mode words text] [--errors N]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from eigentree.dependency.training import scheme_of_treebank
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.sentences import split_text
from eigentree.treebank.io.conllu import Sentence, read_conllu

WAYS = ("mode", "words", "text")


class Gold(NamedTuple):
    """A paragraph with the spans of its words and sentences."""

    text: str
    words: list[tuple[int, int]]
    sentences: list[tuple[int, int]]


def sentences_of(path: str) -> list[Sentence]:
    with Path(path).open(encoding="utf-8") as lines:
        records = list(read_conllu(lines, name=path, on_error="skip", heads="ignore"))
    return [record.sentence for record in records if record.sentence is not None]


def surface(sentence: Sentence) -> tuple[str, list[tuple[int, int]]]:
    """The text of a sentence, made of its words, and the spans of these."""
    spaces = sentence.space_after()
    ranges = {each.covers[0]: each for each in sentence.extras if each.covers is not None}
    text, spans, at = "", [], 0
    while at < len(sentence.words):
        found = ranges.get(at + 1)
        if found is None:
            parts, stop, form = [sentence.words[at].form], at + 1, sentence.words[at].form
        else:
            stop, form = found.covers[-1], found.cells[1]
            parts = [word.form for word in sentence.words[at:stop]]
            parts = parts if "".join(parts) == form else [form]
        start = len(text)
        for part in parts:
            spans.append((start, start + len(part)))
            start += len(part)
        text += form + (" " if spaces[stop - 1] else "")
        at = stop
    return text.rstrip(), spans


def paragraphs(sentences: list[Sentence]) -> Iterator[Gold]:
    """Paragraphs as marked in the file, otherwise documents, otherwise the whole file."""
    marks = ("# newpar", "# newdoc")
    current = Gold("", [], [])
    for sentence in sentences:
        starts = any(comment.startswith(marks) for comment in sentence.comments)
        if starts and current.text:
            yield current
            current = Gold("", [], [])
        text, spans = surface(sentence)
        start = len(current.text) + bool(current.text)
        current.words.extend((start + a, start + b) for a, b in spans)
        current.sentences.append((start, start + len(text)))
        current = current._replace(text=current.text + " " * bool(current.text) + text)
    if current.text:
        yield current


def conventions(train: list[Sentence]) -> dict[str, TokenisationScheme]:
    """The convention by each way of finding it."""
    words = TokenisationScheme.of_words(each.forms() for each in train)
    return {
        "mode": TokenisationScheme.of_mode(words.mode),
        "words": words,
        "text": scheme_of_treebank(train),
    }


def measure(
    name: str, train: list[Sentence], test: list[Sentence], ways: list[str], n_errors: int
) -> None:
    gold = list(paragraphs(test))
    by_way = conventions(train)
    figures = []
    for way in ways:
        counts: Counter[str] = Counter()
        errors: Counter[str] = Counter()
        for each in gold:
            found = split_text(each.text, by_way[way])
            words = {offset for sentence in found for offset in sentence.offsets}
            spans = {(sentence.start, sentence.end) for sentence in found}
            counts["words"] += len(words) + len(each.words)
            counts["right words"] += len(words & set(each.words))
            counts["sentences"] += len(spans) + len(each.sentences)
            counts["right sentences"] += len(spans & set(each.sentences))
            errors.update(differences(each, words, spans))
        for what in ("words", "sentences"):
            figures.append(f"{200.0 * counts[f'right {what}'] / counts[what]:.2f}")
    n_words = sum(len(each.words) for each in gold)
    n_sentences = sum(len(each.sentences) for each in gold)
    mode = by_way["words"].mode
    print(f"| {name} | {mode} | {n_words:,} | {n_sentences:,} | {' | '.join(figures)} |")
    for what, count in errors.most_common(n_errors):
        print(f"    {count:5d}  {what}")


def differences(
    gold: Gold, words: set[tuple[int, int]], spans: set[tuple[int, int]]
) -> Iterator[str]:
    for start, end in sorted(set(gold.words) - words):
        inside = sorted(each for each in words if each[0] < end and start < each[1])
        got = " ".join(gold.text[a:b] for a, b in inside)
        yield f"word {gold.text[start:end]!r} came out as {got!r}"
    ends = {end for _, end in gold.sentences}
    for _, end in sorted(spans):
        if end not in ends:
            yield f"wrong end {gold.text[max(0, end - 25) : end]!r} + {gold.text[end : end + 20]!r}"
    found = {end for _, end in spans}
    for end in sorted(ends - found):
        yield f"missed end {gold.text[max(0, end - 25) : end]!r} + {gold.text[end : end + 20]!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="NAME=FILE[,TEST]")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--errors", type=int, default=0, help="the most frequent, of the last way")
    given = parser.parse_args()
    columns = [f"{way}: {what}" for way in given.ways for what in ("words", "sentences")]
    print(f"| treebank | mode | words | sentences | {' | '.join(columns)} |")
    print(f"|{' --- |' * (4 + len(columns))}")
    for pair in given.files:
        name, files = pair.split("=", 1)
        first, *rest = (sentences_of(path) for path in files.split(","))
        half = len(first) // 2
        train, test = (first, rest[0]) if rest else (first[:half], first[half:])
        measure(name, train, test, given.ways, given.errors)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
