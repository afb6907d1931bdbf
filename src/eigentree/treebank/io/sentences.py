"""The sentences to be parsed: tokens, tagged tokens, CoNLL-U, trees or JSON, one after the other.

Every reader takes lines and gives sentences, each as soon as its last line has come, in
order and without leaving any out: an empty line is an empty sentence, and a sentence that
can't be read gives its place to a problem.  Tokens separate at ASCII white space only, so
U+00A0, U+2028 or U+3000 may be within a word.  In tokens and tagged tokens brackets may
be written as they are or as ``-LRB-`` and ``-RRB-``, as in a treebank.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

from eigentree._core.arguments import check_choice
from eigentree._core.json_text import JsonTextError, parse_json
from eigentree._core.printable import shown
from eigentree.errors import SettingsError, TreebankFormatError, counted
from eigentree.treebank.cleaning import CleaningOptions, clean
from eigentree.treebank.constraints import (
    Constraints,
    MalformedError,
    read_bracketed,
    read_half_tree,
)
from eigentree.treebank.escaping import unescape_token
from eigentree.treebank.io.brackets import OnError
from eigentree.treebank.io.conllu import EMPTY as NO_VALUE
from eigentree.treebank.io.conllu import read_conllu
from eigentree.treebank.io.text_files import (
    Problem,
    check_lines,
    snippet_at,
    unreadable,
    without_marks,
)
from eigentree.treebank.reader import read_trees
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL, SEPARATORS

InputFormat = Literal["tokens", "tagged", "conllu", "trees", "bracketed", "half-trees", "json"]
Separator = Literal["_", "/"]
TagColumn = Literal["xpos", "upos"]

# The tag of a word, or several with their weights.
Tag = str | Mapping[str, float]

_TOKEN = re.compile(r"[^ \t\r\n\x0b\x0c]+")
_SEPARATORS = get_args(Separator)
_KEYS = {"words", "tags", "constraints"}
# NUL, and halves of characters, which JSON can write and UTF-8 can't.
_UNUSABLE = re.compile("[\0\ud800-\udfff]")


class TaggedSentence(NamedTuple):
    """One sentence, with the line where it begins.

    Attributes
    ----------
    words
        The real characters: ``(``, not ``-LRB-``.
    tags
        One for each word, or several with weights; None where the input has none.
    line
        Counted from 1.
    problem
        Why the sentence could not be read; its words are then empty.
    constraints
        Its tree in the input; None for formats without trees.
    """

    words: list[str]
    tags: Sequence[Tag] | None
    line: int
    problem: Problem | None = None
    constraints: Constraints | None = None


def read_sentences(
    lines: Iterable[str],
    form: InputFormat,
    *,
    name: str = "<input>",
    on_error: OnError = "raise",
    separator: Separator | None = None,
    tag_column: TagColumn = "xpos",
    cleaning: CleaningOptions | None = None,
    labels: Collection[str] = (),
) -> Iterator[TaggedSentence]:
    """Read sentences in any of the input formats.

    Parameters
    ----------
    lines
        Lines of text with or without their ends, such as an open file.
    form
        ``"tokens"``: a sentence a line.  ``"tagged"``: a sentence a line, each token as
        ``word_TAG`` or ``word/TAG``; the last separator of a token counts.  ``"conllu"``:
        a word a line.  ``"trees"``: the words and tags of trees, bracketed or in the NEGRA export
        format, after cleaning.  ``"bracketed"`` and ``"half-trees"``: a sentence a line with
        some brackets of its tree, see `eigentree.treebank.constraints`.  ``"json"``: an object a
        line with the keys ``words``, ``tags`` and ``constraints``, of which only the first is
        needed; words are as they are, tags as of `check_tags`, constraints as of
        `eigentree.treebank.constraints.Constraints.from_json`.
    name
        What messages call the text; usually the path.
    on_error
        ``"raise"`` stops at the first problem; ``"skip"`` gives an empty sentence with the
        problem in its place.
    separator
        Separates a word from its tag.  Default: in each line the one that all of its
        tokens have; where all have both, whichever comes last in a token.
    tag_column
        The column of CoNLL-U that holds the tags.
    cleaning
        How trees are cleaned.  Default: the default options.
    labels
        What counts as a label in ``"bracketed"``; the tags that may have weights in ``"json"``,
        none for any.

    Raises
    ------
    TreebankFormatError
        Under ``"raise"``, with file, line, column and a snippet.
    SettingsError
        For a name of a format or column that doesn't exist.
    TypeError
        When `lines` is one string.
    """
    check_lines(lines)
    check_choice(OnError, on_error=on_error)
    if form not in get_args(InputFormat):
        known = ", ".join(get_args(InputFormat))
        raise SettingsError(f"unknown input format {form!r}; expected one of {known}")
    if tag_column not in get_args(TagColumn):
        raise SettingsError(f"unknown tag column {tag_column!r}; expected xpos or upos")
    if separator is not None and separator not in _SEPARATORS:
        raise SettingsError(f"{separator!r} can't separate words from tags; '_' and '/' can")
    lines = without_marks(lines)
    if form == "tokens":
        sentences = _read_tokens(lines, name)
    elif form == "tagged":
        sentences = _read_tagged(lines, name, separator)
    elif form == "conllu":
        sentences = _read_conllu(lines, name, tag_column)
    elif form == "bracketed":
        sentences = _read_with_brackets(lines, name, partial(read_bracketed, labels=labels))
    elif form == "half-trees":
        own = cleaning or CleaningOptions()
        sentences = _read_with_brackets(lines, name, partial(read_half_tree, cleaning=own))
    elif form == "json":
        sentences = _read_json(lines, name, labels)
    else:
        sentences = _read_trees(lines, name, on_error, cleaning or CleaningOptions())
    return _refuse_or_pass(sentences, on_error)


def _refuse_or_pass(
    sentences: Iterator[TaggedSentence], on_error: OnError
) -> Iterator[TaggedSentence]:
    for sentence in sentences:
        if sentence.problem is not None and on_error == "raise":
            raise TreebankFormatError(str(sentence.problem))
        yield sentence


def _read_tokens(lines: Iterable[str], name: str) -> Iterator[TaggedSentence]:
    for number, line in enumerate(lines, start=1):
        problem = unreadable(name, number, line)
        tokens = _TOKEN.findall(line) if problem is None else []
        yield TaggedSentence([unescape_token(token) for token in tokens], None, number, problem)


def _read_tagged(
    lines: Iterable[str], name: str, separator: Separator | None
) -> Iterator[TaggedSentence]:
    for number, line in enumerate(lines, start=1):
        problem = unreadable(name, number, line)
        tokens = list(_TOKEN.finditer(line)) if problem is None else []
        marks = [separator] if separator else _separators_of([token.group() for token in tokens])
        words: list[str] = []
        tags: list[str] = []
        for token in tokens:
            text = token.group()
            cut = max(text.rfind(mark) for mark in marks)
            word, tag = text[: max(cut, 0)], text[cut + 1 :]
            if not word or not _is_tag(tag):
                what = f"token {len(words) + 1} isn't {' or '.join(f'word{m}TAG' for m in marks)}"
                column = token.start() + 1
                problem = Problem(name, number, column, what, snippet_at(line, column))
                break
            words.append(unescape_token(word))
            tags.append(tag)
        if problem is None:
            yield TaggedSentence(words, tags, number)
        else:
            yield TaggedSentence([], None, number, problem)


def _separators_of(tokens: list[str]) -> Sequence[str]:
    """The separators that every token has, or all where none is in every token."""
    everywhere = [mark for mark in _SEPARATORS if all(mark in token for token in tokens)]
    return everywhere or _SEPARATORS


def _read_conllu(lines: Iterable[str], name: str, column: TagColumn) -> Iterator[TaggedSentence]:
    for record in read_conllu(lines, name=name, on_error="skip", heads="ignore"):
        if record.sentence is None:
            yield TaggedSentence([], None, record.line, record.problem)
            continue
        # Some languages write numbers with spaces; between trees' brackets a space would
        # separate, and a no-break space is what typographers would have set.
        words = [form.strip(" ").replace(" ", "\u00a0") for form in record.sentence.forms()]
        tags = record.sentence.tags(column)
        unusable = _unusable(words, tags, column)
        if unusable is not None:
            number, what = unusable
            line = record.line + record.sentence.row_of(number)
            problem = Problem(name, line, 1, f"{what} (word {number} of the sentence)", "")
            yield TaggedSentence([], None, record.line, problem)
        else:
            yield TaggedSentence(words, None if NO_VALUE in tags else tags, record.line)


def _unusable(words: list[str], tags: list[str], column: TagColumn) -> tuple[int, str] | None:
    """The first word that can't be in a tree with its tag, and why; None if all can."""
    for number, (word, tag) in enumerate(zip(words, tags, strict=True), start=1):
        if not _TOKEN.fullmatch(word):
            return number, f"the word holds white space: {shown(word)}"
        if tag != NO_VALUE and not _is_tag(tag):
            return number, f"column {column.upper()} holds white space or brackets: {shown(tag)}"
    if 0 < tags.count(NO_VALUE) < len(tags):
        return tags.index(NO_VALUE) + 1, "the word has no tag, but others have"
    return None


def _read_with_brackets(
    lines: Iterable[str], name: str, read: Callable[[str], tuple[list[str], Constraints]]
) -> Iterator[TaggedSentence]:
    for number, line in enumerate(lines, start=1):
        words, constraints, problem = list[str](), None, unreadable(name, number, line)
        if problem is None:
            try:
                words, constraints = read(line)
            except MalformedError as error:
                snippet = snippet_at(line, error.column)
                problem = Problem(name, number, error.column, str(error), snippet)
        yield TaggedSentence(words, None, number, problem, constraints)


def _read_json(lines: Iterable[str], name: str, known: Collection[str]) -> Iterator[TaggedSentence]:
    for number, line in enumerate(lines, start=1):
        problem, found = unreadable(name, number, line), None
        if problem is None and line.strip():
            try:
                found = _of_record(parse_json(line.rstrip("\r\n")), known, number)
            except (TypeError, SettingsError, JsonTextError) as error:
                column = error.column if isinstance(error, JsonTextError) else 1
                problem = Problem(name, number, column, str(error), snippet_at(line, column))
        yield found or TaggedSentence([], None, number, problem)


def _of_record(record: object, known: Collection[str], line: int) -> TaggedSentence:
    if not isinstance(record, dict) or "words" not in record or not record.keys() <= _KEYS:
        raise SettingsError("expected an object with words and, optionally, tags and constraints")
    words, tags = check_words(record["words"]), record.get("tags")
    constraints = Constraints.from_json(record.get("constraints"))
    constraints.check_length(len(words))
    if tags is not None:
        tags = check_tags(tags, len(words), known or None)
    return TaggedSentence(words, tags, line, constraints=constraints or None)


def check_words(words: Sequence[str], *, spaces: bool = False) -> list[str]:
    """The words of a sentence as a caller passed them.

    Parameters
    ----------
    words
        A list or another iterable of strings.
    spaces
        Whether a word may hold white space, as CoNLL-U lets it.

    Raises
    ------
    TypeError
        When they are one string, or not all of them strings.
    SettingsError
        When one is nothing that a tree can hold.
    """
    words = _listed(words, "words")
    for number, word in enumerate(words, start=1):
        if not isinstance(word, str):
            raise TypeError(f"word {number} is {shown(word)}; all words must be strings")
        if not word.strip(SEPARATORS):
            raise SettingsError(
                f"word {number} of {len(words)} is {shown(word)}, which is empty; leave it out"
            )
        if not spaces and any(mark in word for mark in SEPARATORS):
            raise SettingsError(f"word {number} is {shown(word)}; split it at its white space")
        check_text(word, f"word {number}")
    return words


def check_text(text: str, what: str) -> None:
    """Refuse a text that holds NUL or half of a character, as JSON can write them.

    Raises
    ------
    SettingsError
        With the text, which is called `what`.
    """
    bad = None if text.isascii() and "\0" not in text else _UNUSABLE.search(text)
    if bad is not None:
        kind = "half of a character" if ord(bad[0]) else "NUL"
        raise SettingsError(
            f"{what} is {shown(text)}, which holds U+{ord(bad[0]):04X}, {kind}; expected UTF-8 text"
        )


def check_tags(
    tags: Sequence[Tag], n_words: int, known: Collection[str] | None = None
) -> list[Tag]:
    """The tags of a sentence as a caller passed them, without those of weight 0.

    Parameters
    ----------
    tags
        One for each word, or several with weights, of which only the ratios count.
    n_words
        How many there are to be.
    known
        The tags that may have weights; None for any.

    Raises
    ------
    TypeError
        When they are one string, or not all of them strings or weights.
    SettingsError
        When there are more or fewer tags than words, one is nothing that a tree can hold, or
        weights are wrong.
    """
    tags = _listed(tags, "tags")
    if len(tags) != n_words:
        raise SettingsError(f"{counted(n_words, 'word')} but {counted(len(tags), 'tag')}")
    found: list[Tag] = []
    for number, tag in enumerate(tags, start=1):
        if isinstance(tag, str):
            if not _is_tag(tag):
                raise SettingsError(
                    f"tag {number} is {shown(tag)}, which is empty or holds white space or brackets"
                )
            check_text(tag, f"tag {number}")
            found.append(tag)
        elif isinstance(tag, Mapping):
            found.append(_check_weights(tag, f"word {number}", known))
        else:
            raise TypeError(
                f"tag {number} is {shown(tag)}; all tags must be strings, or weights by tag such "
                "as {'NN': 0.7, 'VB': 0.3}"
            )
    return found


def _check_weights(
    weights: Mapping[str, float], where: str, known: Collection[str] | None
) -> dict[str, float]:
    kept: dict[str, float] = {}
    for tag, weight in weights.items():
        if not isinstance(weight, Real) or isinstance(weight, bool):
            raise TypeError(
                f"the weight of {shown(tag)} at {where} is {shown(weight)}; it must be a number"
            )
        if not 0.0 <= weight <= sys.float_info.max:
            raise SettingsError(
                f"the weight of {shown(tag)} at {where} is {shown(weight)}; it must be finite, and "
                "0 or more"
            )
        if known is not None and tag not in known:
            raise SettingsError(
                f"{shown(tag)} at {where} has a weight, but the parser has no such tag; leave it "
                "out"
            )
        if not (isinstance(tag, str) and _is_tag(tag)):
            what = "is empty or holds white space or brackets"
            raise SettingsError(f"the tag {shown(tag)} at {where} {what}")
        if weight:
            kept[tag] = float(weight)
    if not kept or not math.isfinite(sum(kept.values())):
        raise SettingsError(
            f"the weights at {where} are {shown(dict(weights))}; their sum must be finite and "
            "positive"
        )
    return kept


def _listed(values: Any, name: str) -> list[Any]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        what = "one string" if isinstance(values, str) else shown(values)
        raise TypeError(f"{name} is {what}; expected a list of {name}, as from split()")
    return list(values)


def _read_trees(
    lines: Iterable[str], name: str, on_error: OnError, cleaning: CleaningOptions
) -> Iterator[TaggedSentence]:
    edge_labels = cleaning.keep_function_tags
    for record in read_trees(lines, name=name, on_error=on_error, edge_labels=edge_labels):
        tree = None if record.tree is None else clean(record.tree, cleaning)
        if record.problem is not None:
            yield TaggedSentence([], None, record.line, record.problem)
        elif tree is None:
            yield TaggedSentence([], [], record.line)
        else:
            yield TaggedSentence(tree.words(), tree.tags(), record.line)


def _is_tag(text: str) -> bool:
    return bool(text) and FORBIDDEN_IN_LABEL.isdisjoint(text)
