"""How well raw text is cut into sentences and words, by the text of Universal Dependencies.

A file's paragraphs are put together from ``# text`` with a space between sentences, cut by the
convention read off the words of another file, and compared by the characters of words and of
sentences.  White space doesn't count.  Words of a range have characters of their own where they
make up the range; otherwise the range counts as one word, and so do tokens that share characters.

    python validation/raw_text/run.py NAME=TRAIN,TEST [--mode MODE] [--errors N]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from eigentree.corpus.conllu import Sentence, read_conllu
from eigentree.dependency_training import convention_of_treebank
from eigentree.text.convention import TokenConvention
from eigentree.text.sentences import split_text


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
    """Paragraphs where the file tells of them, else all of a document, else all."""
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


def f1(right: int, found: int, gold: int) -> float:
    return 200.0 * right / max(1, found + gold)


def measure(name: str, train: str, test: str, mode: str | None, n_errors: int) -> None:
    convention = convention_of_treebank(sentences_of(train))
    if mode is not None:
        convention = TokenConvention.of_mode(mode)
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for gold in paragraphs(sentences_of(test)):
        found = split_text(gold.text, convention)
        words = {offset for sentence in found for offset in sentence.offsets}
        spans = {(each.start, each.end) for each in found}
        counts["words"] += len(words)
        counts["gold words"] += len(gold.words)
        counts["right words"] += len(words & set(gold.words))
        counts["sentences"] += len(spans)
        counts["gold sentences"] += len(gold.sentences)
        counts["right sentences"] += len(spans & set(gold.sentences))
        if n_errors:
            errors.update(differences(gold, words, spans))
    token = f1(counts["right words"], counts["words"], counts["gold words"])
    sentence = f1(counts["right sentences"], counts["sentences"], counts["gold sentences"])
    sizes = f"{counts['gold words']:,} | {counts['gold sentences']:,}"
    print(f"| {name} | {convention.mode} | {sizes} | {token:.2f} | {sentence:.2f} |")
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
    parser.add_argument("pairs", nargs="+", metavar="NAME=TRAIN,TEST")
    parser.add_argument("--mode", help="a convention that nothing was read off for")
    parser.add_argument("--errors", type=int, default=0)
    given = parser.parse_args()
    print("| treebank | mode | words | sentences | word F1 | sentence F1 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for pair in given.pairs:
        name, files = pair.split("=", 1)
        train, test = files.split(",")
        measure(name, train, test, given.mode, given.errors)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
