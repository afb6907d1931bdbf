"""Word vectors, and the files that store them.

Files are text in the format of word2vec and GloVe, a word and its numbers per line, with or without
a first line with the numbers of words and dimensions; or ``.npz``, which is smaller and faster to
read.  A row named ``<unk>`` or ``*UNKNOWN*`` is the vector of all words without one.  Words and
numbers are separated by spaces and tabs only.  Published files also have words with spaces inside,
which are read as no-break spaces, as in CoNLL-U, and rows whose word is a space, which are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.printable import shown
from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import EigentreeError, GrammarError, ModelFileError, TreebankFormatError
from eigentree.treebank.io.text_files import (
    check_lines,
    displayed_name,
    first_bytes,
    open_text,
    without_marks,
    write_whole,
)
from eigentree.types import Singles

UNKNOWN = "<unk>"
_UNKNOWN_ROWS = (UNKNOWN, "*UNKNOWN*")
_PARTS = ("words", "matrix", "unknown")
_ZIP_MAGIC = b"PK"
_SIZE = re.compile("[0-9]{1,18}")
_SEPARATORS = " \t"
_NO_BREAK_SPACE = "\u00a0"
# The first bytes of binary files of fastText and word2vec.
_FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
_WORD2VEC_START = re.compile(rb"[0-9]{1,12} [0-9]{1,9}\n")
_PEEKED_BYTES = 1000


class Neighbour(NamedTuple):
    """A word and the cosine of the angle between its vector and another."""

    word: str
    cosine: float


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors of D numbers.

    Attributes
    ----------
    words
        Distinct words, without ``<unk>``.
    matrix : float32, axes (V, D)
        A row a word.
    unknown : float32, axes (D)
        The vector of any other word.

    Raises
    ------
    ShapeError
        When the arrays don't agree.
    GrammarError
        When a number isn't finite, there is no word or no dimension, or a word occurs twice.
    """

    words: tuple[str, ...]
    matrix: Singles
    unknown: Singles
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        arrays = {"matrix": (self.matrix, "V D"), "unknown": (self.unknown, "D")}
        sizes = check_shapes("WordVectors", arrays, V=len(self.words))
        types = {"matrix": (self.matrix, np.float32), "unknown": (self.unknown, np.float32)}
        check_types("WordVectors", types)
        numbers = {word: number for number, word in enumerate(self.words)}
        object.__setattr__(self, "_numbers", numbers)
        if not sizes["V"] or not sizes["D"]:
            raise GrammarError(
                f"there are {sizes['V']} words with vectors of {sizes['D']} numbers; there must be "
                "at least one of each"
            )
        if len(numbers) < len(self.words):
            raise GrammarError("duplicate word in the word vectors")
        if UNKNOWN in numbers:
            raise GrammarError(f"{UNKNOWN} is reserved for unknown words")
        bad = [UNKNOWN] if not np.isfinite(self.unknown).all() else []
        bad += [self.words[at] for at in np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))]
        if bad:
            raise GrammarError(f"the vector of {bad[0]!r} has a number that isn't finite")

    @property
    def dimensions(self) -> int:
        return len(self.unknown)

    def number(self, word: str) -> int | None:
        """The row of a word or else of its lower-case form; None for an unknown word."""
        return self._numbers.get(word, self._numbers.get(word.lower()))

    def lookup(self, words: Sequence[str]) -> Singles:
        """The vectors of a sentence's words, axes (n, D).

        A word without a vector gets that of its lower-case form, or else that of unknown words.

        Raises
        ------
        TypeError
            When `words` is one string.
        """
        if isinstance(words, str):
            raise TypeError("words: a list of words is expected, not one string")
        found = np.empty((len(words), self.dimensions), dtype=np.float32)
        for position, word in enumerate(words):
            number = self.number(word)
            found[position] = self.unknown if number is None else self.matrix[number]
        return found

    def nearest(self, word: str, number: int = 10) -> list[Neighbour]:
        """The words whose vectors have the largest cosine with that of a word, in O(V D).

        A zero vector has the cosine 0 with all others.
        """
        row = self.number(word)
        vector = (self.unknown if row is None else self.matrix[row]).astype(np.float64)
        lengths = np.linalg.norm(self.matrix.astype(np.float64), axis=1) * np.linalg.norm(vector)
        products = self.matrix @ vector
        cosine = np.divide(products, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        order = np.argsort(-cosine, kind="stable")
        others = [each for each in order[: number + 1].tolist() if each != row]
        return [Neighbour(self.words[each], float(cosine[each])) for each in others[:number]]


def mean_of_rarest(matrix: Singles, count: NDArray[np.int64]) -> Singles:
    """The mean vector of the rarest words, which represents unknown words."""
    rows = matrix[count == count.min()]
    return np.asarray(rows.mean(axis=0, dtype=np.float64), dtype=np.float32)


def read_vectors(path: str | Path) -> WordVectors:
    """Read word vectors from text or ``.npz``, detected by content.

    Parameters
    ----------
    path
        A file; text may be compressed, and ``-`` is standard input.  Without a row
        for unknown words, these get the mean of all vectors.

    Raises
    ------
    TreebankFormatError
        For text that can't be read: a row with other numbers of numbers than the first, a number
        that isn't finite, a word that is there twice; with file and line.
    ModelFileError
        For an ``.npz`` file of something else.
    """
    start = first_bytes(path, _PEEKED_BYTES)
    if start.startswith(_ZIP_MAGIC):
        return _read_npz(Path(path))
    if _is_binary(start):
        raise ModelFileError(
            f"{path}: is a binary file of word2vec or fastText; save its vectors as text first"
        )
    with open_text(path) as lines:
        return parse_vectors(lines, name=displayed_name(path))


def _is_binary(start: bytes) -> bool:
    """Whether a file begins like a binary one of word2vec or fastText."""
    if start.startswith(_FASTTEXT_MAGIC):
        return True
    header = _WORD2VEC_START.match(start)
    if header is None:
        return False
    try:
        # A row of text is longer than 100 bytes, and its last character may be cut.
        start[header.end() : -4].decode("utf-8")
    except UnicodeDecodeError:
        return True
    return b"\0" in start


def parse_vectors(lines: Iterable[str], *, name: str = "<input>") -> WordVectors:
    """Read the text of word vectors, as `read_vectors` does.

    Parameters
    ----------
    lines
        With or without line ends; empty lines are skipped.
    name
        Name of the text in messages.
    """
    check_lines(lines)
    rows = _Rows(name)
    header: tuple[int, int] | None = None
    dimensions = n_blank = 0
    for number, line in enumerate(without_marks(lines), start=1):
        fields = line.rstrip("\r\n \t").replace("\t", " ").split(" ")
        fields = [each for each in fields if each]
        if not fields:
            continue
        if not rows.lines:
            if header is None and _is_header(fields):
                header = int(fields[0]), int(fields[1])
                continue
            dimensions = header[1] if header else _n_numbers(fields)
        if len(fields) == dimensions and line[0] in _SEPARATORS:
            n_blank += 1
            continue
        last = len(fields) - dimensions
        if last > 1 and dimensions and not _is_number(fields[last - 1]):
            fields = [_NO_BREAK_SPACE.join(fields[:last]), *fields[last:]]
        if not rows.lines and header is not None and len(fields) != header[1] + 1:
            raise TreebankFormatError(
                f"{name}:{number}: has {len(fields) - 1} numbers after its word; the "
                f"first line specifies {header[1]}"
            )
        rows.add(number, fields)
    if not rows.lines.keys() - set(_UNKNOWN_ROWS):
        raise TreebankFormatError(f"{name}: has no word with a vector; at least one is needed")
    n_rows = len(rows.lines) + n_blank
    if header is not None and header[0] != n_rows:
        raise TreebankFormatError(
            f"{name}: has {n_rows} words; the first line specifies {header[0]}"
        )
    return rows.vectors()


def _n_numbers(fields: list[str]) -> int:
    """The number of fields after the word, which ends at the last that isn't a number."""
    word_ends = [at for at, field in enumerate(fields) if at == 0 or not _is_number(field)]
    return len(fields) - word_ends[-1] - 1


def _is_header(fields: list[str]) -> bool:
    return len(fields) == 2 and all(map(_SIZE.fullmatch, fields))


class _Rows:
    """The rows of a text, checked one by one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[str, int] = {}
        self.rows: list[Singles] = []

    def add(self, number: int, fields: list[str]) -> None:
        word, *texts = fields
        where = f"{self.name}:{number}"
        if not texts:
            raise TreebankFormatError(
                f"{where}: {shown(word)} has no numbers; a vector must follow"
            )
        if self.rows and len(texts) != len(self.rows[0]):
            raise TreebankFormatError(
                f"{where}: has {len(texts)} numbers after its word, where the first vector has "
                f"{len(self.rows[0])}"
            )
        if word in self.lines:
            raise TreebankFormatError(
                f"{where}: {shown(word)} has a vector in line {self.lines[word]} already"
            )
        try:
            # A number too large for single precision becomes infinite, and is refused so.
            with np.errstate(over="ignore"):
                row = np.array([float(text) for text in texts]).astype(np.float32)
        except ValueError:
            bad = next(text for text in texts if not _is_number(text))
            raise TreebankFormatError(
                f"{where}: {shown(bad)} in the vector of {shown(word)} isn't a number"
            ) from None
        if not np.isfinite(row).all():
            bad = texts[int(np.argmin(np.isfinite(row)))]
            raise TreebankFormatError(
                f"{where}: the vector of {shown(word)} holds {shown(bad)}; numbers must be finite"
            )
        self.lines[word] = number
        self.rows.append(row)

    def vectors(self) -> WordVectors:
        matrix = np.stack(self.rows)
        words = list(self.lines)
        at = next((words.index(each) for each in _UNKNOWN_ROWS if each in self.lines), None)
        if at is None:
            return WordVectors(
                tuple(words), matrix, matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
            )
        rest = np.delete(matrix, at, axis=0)
        return WordVectors((*words[:at], *words[at + 1 :]), rest, matrix[at])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_vectors(vectors: WordVectors, path: str | Path) -> None:
    """Write word vectors: ``.npz`` if the path ends so, otherwise text with a header line.

    Both preserve the numbers exactly.  The row of unknown words comes first.

    Raises
    ------
    EigentreeError
        When the file can't be written, or a word contains white space.
    """
    for word in vectors.words:
        if not word or any(mark in word for mark in " \t\r\n"):
            raise EigentreeError(
                f"{path}: {shown(word)} can't be written: it is empty or has a blank"
            )
    if str(path).endswith(".npz"):
        with write_whole(path, binary=True) as out:
            text = np.frombuffer("\n".join(vectors.words).encode(), dtype=np.uint8)
            np.savez(out, words=text, matrix=vectors.matrix, unknown=vectors.unknown)
        return
    with write_whole(path) as lines:
        lines.write(f"{len(vectors.words) + 1} {vectors.dimensions}\n")
        rows = zip((UNKNOWN, *vectors.words), (vectors.unknown, *vectors.matrix), strict=True)
        for word, row in rows:
            # Nine digits determine a single-precision number.
            lines.write(f"{word} {' '.join(f'{number:.9g}' for number in row.tolist())}\n")


def _read_npz(path: Path) -> WordVectors:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            names = stored.files
            parts = [stored[name] for name in _PARTS if name in names]
    except Exception as error:  # of nearly any type, from zipfile, its decompressors and NumPy
        reason = str(error) or type(error).__name__
        raise ModelFileError(f"{path}: isn't a file of word vectors: {reason}") from error
    if sorted(names) != sorted(_PARTS):
        raise ModelFileError(
            f"{path}: has {', '.join(names) or 'nothing'}; expected {', '.join(_PARTS)}"
        )
    text, matrix, unknown = parts
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ModelFileError(f"{path}: its words aren't UTF-8 text, one a line")
    try:
        words = tuple(text.tobytes().decode("utf-8").split("\n"))
        return WordVectors(words, matrix, unknown)
    except (UnicodeDecodeError, EigentreeError) as error:
        raise ModelFileError(f"{path}: {error}") from error
