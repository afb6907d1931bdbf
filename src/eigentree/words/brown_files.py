"""Files of Brown clusters: the common text format, and model files.

The text has a word per line, with path, word and count separated by tabs, sorted by cluster; other
programs for Brown clustering read and write it.  A model file, with a name that ends in ``.egt``,
also keeps the order of words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree._core.printable import shown
from eigentree.errors import EigentreeError, ModelFileError, TreebankFormatError
from eigentree.model_file import open_model, save_model
from eigentree.treebank.io.text_files import (
    check_lines,
    displayed_name,
    first_bytes,
    open_text,
    without_marks,
    write_whole,
)
from eigentree.words.brown import BrownClusters

KIND = "brown clusters"
_COLUMNS = 3
_DIGITS = re.compile("[0-9]{1,19}")


def write_clusters(clusters: BrownClusters, path: str | Path) -> None:
    """Write clusters: a model file if the path ends in ``.egt``, otherwise text.

    Raises
    ------
    EigentreeError
        When the file can't be written, or a word contains a tab or a line end.
    """
    for word in clusters.words:
        if not word or any(mark in word for mark in "\t\r\n"):
            raise EigentreeError(
                f"{path}: {shown(word)} can't be written: it is empty or has a tab"
            )
    if str(path).endswith(".egt"):
        header = {"kind": KIND, "paths": list(clusters.paths)}
        arrays: dict[str, NDArray[Any]] = {"cluster": clusters.cluster, "count": clusters.count}
        save_model(path, header, arrays, {"words": "\n".join(clusters.words).encode()})
        return
    with write_whole(path) as lines:
        for number in sorted(range(len(clusters)), key=lambda each: clusters.paths[each]):
            at = np.flatnonzero(clusters.cluster == number)
            for word in at[np.argsort(-clusters.count[at], kind="stable")].tolist():
                row = clusters.paths[number], clusters.words[word], str(clusters.count[word])
                lines.write("\t".join(row) + "\n")


def read_clusters(path: str | Path) -> BrownClusters:
    """Read clusters from text or a model file, detected by content.

    Parameters
    ----------
    path
        A file; text may be compressed, and ``-`` is standard input.

    Raises
    ------
    TreebankFormatError
        For text that can't be read, with file and line.
    ModelFileError
        For a model file of something else.
    """
    start = first_bytes(path, 9)
    # The length at the beginning of a model has zeros; text has none.
    if b"\0" in start[:8] and start[8:] == b"{":
        return _read_model(Path(path))
    with open_text(path) as lines:
        return parse_clusters(lines, name=displayed_name(path))


def parse_clusters(lines: Iterable[str], *, name: str = "<input>") -> BrownClusters:
    """Read the text of clusters, as `read_clusters` does.

    Parameters
    ----------
    lines
        With or without line ends; empty lines are skipped.
    name
        Name of the text in messages.
    """
    check_lines(lines)
    rows: dict[str, tuple[str, int]] = {}
    line_of: dict[str, int] = {}
    for number, line in enumerate(without_marks(lines), start=1):
        line = line.rstrip("\r\n")
        if not line:
            continue
        fields = line.split("\t")
        where = f"{name}:{number}"
        if len(fields) != _COLUMNS:
            raise TreebankFormatError(
                f"{where}: has {len(fields)} columns; expected path, word and count (tabs)"
            )
        path, word, count = fields
        if not word:
            raise TreebankFormatError(f"{where}: the word is empty")
        if not is_path(path):
            raise TreebankFormatError(f"{where}: {shown(path)} isn't a path of bits 0 and 1")
        if not is_count(count):
            raise TreebankFormatError(f"{where}: {shown(count)} isn't a count")
        if word in rows:
            raise TreebankFormatError(
                f"{where}: {shown(word)} has a path in line {line_of[word]} too"
            )
        rows[word], line_of[word] = (path, int(count)), number
    if not rows:
        raise TreebankFormatError(f"{name}: has no word with a path; at least one is needed")
    ordered = sorted(rows, key=lambda word: -rows[word][1])
    numbers: dict[str, int] = {}
    cluster = [numbers.setdefault(rows[word][0], len(numbers)) for word in ordered]
    count_of = [rows[word][1] for word in ordered]
    try:
        return BrownClusters(
            tuple(ordered),
            np.array(cluster, dtype=np.int32),
            np.array(count_of, dtype=np.int64),
            tuple(numbers),
        )
    except EigentreeError as error:
        raise TreebankFormatError(f"{name}: {error}") from error


def is_path(text: str) -> bool:
    """Whether a text is the path of a cluster."""
    return bool(text) and set(text) <= {"0", "1"}


def is_count(text: str) -> bool:
    """Whether a text is a count below 2^62."""
    return _DIGITS.fullmatch(text) is not None and int(text) < 2**62


def _read_model(path: Path) -> BrownClusters:
    model = open_model(path, kind=KIND)
    try:
        words = tuple(model.blobs["words"].decode("utf-8").split("\n"))
        paths = model.header["paths"]
        if not isinstance(paths, list) or not all(isinstance(each, str) for each in paths):
            raise ModelFileError("its paths aren't a list of strings")
        return BrownClusters(words, model.arrays["cluster"], model.arrays["count"], tuple(paths))
    except KeyError as error:
        raise ModelFileError(f"{path}: lacks {error}, which clusters have") from error
    except (UnicodeDecodeError, EigentreeError) as error:
        raise ModelFileError(f"{path}: {error}") from error
