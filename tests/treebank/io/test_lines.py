"""Byte-order marks within a text, and bytes that are no text, in every reader of lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from eigentree.errors import TreebankFormatError
from eigentree.evaluation.settings import read_parameters
from eigentree.tokenisation.reader import read_text
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.heads import read_head_rules
from eigentree.treebank.io.brackets import read_brackets
from eigentree.treebank.io.conllu import read_conllu
from eigentree.treebank.io.sentences import read_sentences
from eigentree.treebank.io.text_files import open_text
from eigentree.treebank.io.unlabelled import read_bracketings
from eigentree.treebank.reader import read_trees
from eigentree.treebank.universal_tags import read_tag_map
from eigentree.words.brown_files import parse_clusters
from eigentree.words.vectors import parse_vectors

MARK = "\ufeff"


class Reader(NamedTuple):
    """A reader that yields an item, with or without a problem, for each piece of text.

    ``good`` is a piece with the word Go in it.
    """

    read: Callable[[Iterable[str]], Iterator[Any]]
    good: str


def sentences(form: Any, good: str) -> Reader:
    return Reader(lambda lines: read_sentences(lines, form, on_error="skip"), good)


def text(lines: Iterable[str]) -> Iterator[Any]:
    return read_text(lines, TokenisationScheme(), name="in")


ROW = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
EXPORT = "#BOS 1\nGo\tVB\t--\tHD\t500\n#500\tS\t--\t--\t0\n#EOS 1\n"
READERS = {
    "text": Reader(text, "Go\n"),
    "tokens": sentences("tokens", "Go .\n"),
    "tagged": sentences("tagged", "Go_VB\n"),
    "conllu sentences": sentences("conllu", ROW),
    "trees": sentences("trees", "(S (VB Go))\n"),
    "bracketed": sentences("bracketed", "[Go home]\n"),
    "half-trees": sentences("half-trees", "(S Go)\n"),
    "json": sentences("json", '{"words": ["Go"]}\n'),
    "brackets": Reader(lambda lines: read_brackets(lines, on_error="skip"), "(S (VB Go))\n"),
    "export": Reader(lambda lines: read_trees(lines, on_error="skip"), EXPORT),
    "conllu": Reader(lambda lines: read_conllu(lines, on_error="skip"), ROW),
    "plain": Reader(
        lambda lines: read_bracketings(lines, notation="plain", on_error="skip"), "(Go home)\n"
    ),
    "spans": Reader(
        lambda lines: read_bracketings(lines, notation="spans", on_error="skip"), "Go on\t0-2\n"
    ),
}


@pytest.fixture(params=READERS.values(), ids=READERS)
def reader(request) -> Reader:
    return request.param


def content(item: Any) -> Any:
    """What was read, without places."""
    sentence = getattr(item, "sentence", None)
    return item._replace(line=0, **({"text": ""} if hasattr(item, "text") else {})), sentence


def test_byte_order_marks_change_nothing(reader):
    plain = list(reader.read((reader.good * 3).splitlines(keepends=True)))
    joined = MARK + reader.good + MARK + reader.good + MARK * 2 + reader.good
    marked = list(reader.read(joined.splitlines(keepends=True)))
    assert list(map(content, marked)) == list(map(content, plain))
    assert [each.problem for each in marked] == [None] * 3


@pytest.mark.parametrize(
    ("bad", "told"), [("\0", "NUL byte"), ("\udcff", "byte 0xff is not UTF-8")]
)
@pytest.mark.parametrize("n_before", [0, 2000])
def test_a_byte_that_is_no_text_costs_one_sentence(reader, bad, told, n_before, tmp_path):
    given = reader.good * n_before + reader.good.replace("Go", f"G{bad}o") + reader.good
    path = tmp_path / "in"
    path.write_bytes(given.encode(errors="surrogateescape"))
    with open_text(path, keep_bad_bytes=True) as lines:
        *before, wrong, right = reader.read(lines)
    assert [each.problem for each in (*before, right)] == [None] * (n_before + 1)
    assert told in str(wrong.problem)
    assert str(wrong.problem).isprintable() or "\t" in str(wrong.problem)


TABLES: dict[str, tuple[Callable[[Iterable[str]], Any], str]] = {
    "vectors": (parse_vectors, "a 1 2\n{}b 1 2\n"),
    "clusters": (parse_clusters, "0\ta\t3\n{}1\tb\t2\n"),
    "heads": (read_head_rules, "NP leftmost NN\n{}VP leftmost VB\n"),
    "tag map": (read_tag_map, "NN\tNOUN\n{}VB\tVERB\n"),
}


def written(table: Any) -> str:
    return str(table.format() if hasattr(table, "format") else table)


@pytest.mark.parametrize("name", TABLES)
def test_tables_may_have_byte_order_marks_too(name):
    read, table = TABLES[name]
    plain, marked = (read(table.format(mark).splitlines(True)) for mark in ("", MARK))
    assert written(marked) == written(plain)


def test_parameter_files_are_read_like_all_text(tmp_path):
    path = tmp_path / "own.prm"
    path.write_text(f"{MARK}CUTOFF_LEN 10\n{MARK}DELETE_LABEL TOP\n", "utf-8")
    options = read_parameters(path)
    assert (options.cut_off, options.delete_labels) == (10, ("TOP",))
    for bad in (b"\0", b"\xff"):
        path.write_bytes(b"CUTOFF_LEN 10\nDELETE_LABEL T" + bad)
        with pytest.raises(TreebankFormatError, match=r"own.prm:2:15: (NUL byte|byte 0xff)"):
            read_parameters(path)
