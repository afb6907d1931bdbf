from __future__ import annotations

import gzip
import lzma
from itertools import chain, repeat

import pytest

from eigentree.errors import TreebankFormatError
from eigentree.treebank.io.conllu import read_conllu, read_dependencies
from eigentree.treebank.io.recognition import recognise, recognise_trees_in_text
from eigentree.treebank.io.unlabelled import read_bracketings
from eigentree.treebank.reader import read_treebank, read_trees
from tests.treebank.io.test_tiger import PLAIN, corpus

CONLLU = "1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
EXPORT = "#BOS 1 0 0 0\nGo\tVB\t--\t--\t0\n#EOS 1\n"
TEXTS = {
    "brackets": [
        "( (S (VB Go)) )\n",
        "(S\n  (VB Go))\n",
        "% a comment\n\n(S (VB Go))\n",
        "<DOC>\n<S ID=1>\n(S (VB Go))\n</S>\n",
        "<corpus>\n(S (VB Go))\n",
        "*x* copyright *x*\n(S (VB Go))\n",
        "(())\n",
    ],
    "export": [EXPORT, f"%% a comment\n#FORMAT 4\n{EXPORT}", f"#BOT ORIGIN\n#EOT ORIGIN\n{EXPORT}"],
    "tiger": [
        corpus(PLAIN),
        corpus(),
        PLAIN,
        f"<subcorpus>{PLAIN}</subcorpus>",
        f"<corpus><head>{'<value/>' * 50_000}</head><body>{PLAIN}</body></corpus>",
    ],
    "conllu": [
        CONLLU,
        f"# sent_id = 1\n{CONLLU}",
        f"\n# x\n1-2\tam\t_\t_\t_\t_\t_\t_\t_\t_\n{CONLLU}",
        f"0.1\tgo\t_\t_\t_\t_\t_\t_\t0:root\t_\n{CONLLU}",
        CONLLU.rstrip("\n"),
        "1\tGo\tgo\tVB\tO\t0\tROOT\n",  # as CoreNLP writes it
        "1\tGo" + "\t_" * 13 + "\n",  # as of 2009
    ],
    "xml": ['<?xml version="1.0"?>\n<TEI><text/></TEI>\n', "<!DOCTYPE html>\n<html>\n(a)</html>\n"],
    None: ["", "\n\n", "% nothing\n", "Go home.\n", "1\tGo\tgo\n", "1\tGo home\t2 p.m.\ta\tb\tc\n"],
}
EACH = [(form, text) for form, texts in TEXTS.items() for text in texts]


@pytest.mark.parametrize(("form", "text"), EACH)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_content_decides(form, text, mark):
    lines = text.splitlines(keepends=True)
    found = recognise((mark + text).splitlines(keepends=True))
    assert found.format == form
    assert [line for line in found.lines if line] == lines


# Trees that text can't be taken for.
CLEAR = [
    (form, text)
    for form, text in EACH
    if "*x*" not in text and not text.startswith(("<corpus>\n(", "<DOC>", "% a", "(())", "<s "))
]


@pytest.mark.parametrize(("form", "text"), CLEAR)
def test_trees_are_recognised_where_text_is_expected(form, text):
    lines = text.splitlines(keepends=True)
    found = recognise_trees_in_text(iter(lines))
    assert found.format == form
    assert list(found.lines) == lines


@pytest.mark.parametrize(
    "text",
    [
        "(See (a) below.) It left.\n",
        "((citation needed) here)\n",
        "(Aside)\n(S (VB Go))\n",
        "# Heading\n\n(An aside.) Text.\n",
        "% of it\n(S (VB Go))\n",
        "; x\n(S (VB Go))\n",
        "<b>Bold</b> text\n",
        "< 5\n",
        "(\n" * 30,
        "It left.\n(S (NP (PRP It)) (VP (VBD left)))\n",
    ],
)
def test_text_stays_text(text):
    lines = text.splitlines(keepends=True)
    found = recognise_trees_in_text(iter(lines))
    assert found.format is None
    assert list(found.lines) == lines


@pytest.mark.parametrize("first", ["(S (VB Go))\n", CONLLU[:-1], "Go home.\n", "(See below.)\n"])
def test_no_more_is_read_than_is_needed(first):
    def lines():
        yield first
        raise AssertionError

    assert next(recognise_trees_in_text(lines()).lines) == first
    assert next(recognise(lines()).lines) == first


def test_endless_xml_is_given_up():
    lines = chain(["<?xml version='1.0'?>\n", "<TEI>\n"], repeat("<p>word</p>\n" * 100))
    assert recognise(lines).format == "xml"


WRONG = [
    (read_trees, CONLLU, "t:1:1: expected bracketed trees, NEGRA export or TIGER-XML, not CoNLL-U"),
    (read_bracketings, CONLLU, "not CoNLL-U; for dependency trees, use eigentree dependencies"),
    (read_conllu, "(S (VB Go))\n", "t:1:1: expected CoNLL-U, not bracketed trees; for constit"),
    (read_conllu, EXPORT, "expected CoNLL-U, not NEGRA export"),
    (read_conllu, corpus(PLAIN), "expected CoNLL-U, not TIGER-XML"),
    (read_trees, TEXTS["xml"][0], "t:1:1: .* not XML with the root element <TEI>; convert the"),
    (read_conllu, TEXTS["xml"][0], "expected CoNLL-U, not XML with the root element <TEI>"),
]


@pytest.mark.parametrize(("read", "text", "message"), WRONG)
def test_another_kind_of_file_has_one_sentence(read, text, message):
    lines = (text * 3).splitlines(keepends=True)
    with pytest.raises(TreebankFormatError, match=message) as refused:
        list(read(lines, name="t"))
    (record,) = read(lines, name="t", on_error="skip")
    assert str(record.problem) == str(refused.value)


def test_the_other_files_of_a_treebank_are_read(tmp_path):
    for name, text in (("a.mrg", CONLLU), ("b.conllu", "(S (VB Go))\n"), ("c", corpus(PLAIN))):
        (tmp_path / name).write_text(text, "utf-8")
    bank = read_treebank([tmp_path / name for name in ("a.mrg", "b.conllu", "c")], on_error="skip")
    assert [tree.words() for tree in bank.trees] == [["Go"], ["Tee", "wird"]]
    assert len(bank.problems) == 1
    sentences = read_dependencies([tmp_path / "a.mrg", tmp_path / "b.conllu"], on_error="skip")
    assert [each.forms() for each in sentences.sentences] == [["Go"]]
    assert len(sentences.problems) == 1


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bytes])
def test_compressed_files_are_recognised(tmp_path, compress):
    path = tmp_path / "bank"
    for text in ("(S (NN Tee) (VAFIN wird))\n", corpus(PLAIN)):
        path.write_bytes(compress(text.encode()))
        assert [tree.words() for tree in read_treebank(path).trees] == [["Tee", "wird"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lzma.compress(b"(S (NN a))" * 500)[:-20], "damaged compressed file"),
        (b"BZh91AY&SY\xf6\xc7", "compressed with bzip2; gzip and xz are supported"),
        (b"PK\x03\x04\x14\0\0\0\xff", "compressed with zip"),
        (b"\x28\xb5\x2f\xfd\x04\0", "compressed with zstd"),
        (
            gzip.compress(gzip.compress(b"(S (NN a))", mtime=0), mtime=0),
            "bank: compressed twice; decompress it once$",
        ),
        (lzma.compress(gzip.compress(b"(S (NN a))", mtime=0)), "bank: compressed twice"),
        (b"<?xml version='1.0'?>", "not XML without any element; the file may be cut off"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, message):
    (tmp_path / "bank").write_bytes(content)
    with pytest.raises(TreebankFormatError, match=message):
        read_treebank(tmp_path / "bank")


TIGER = corpus(PLAIN)
BRACKETS = "(S (VB Go))\n"


@pytest.mark.parametrize(
    ("text", "n_trees", "message"),
    [
        (BRACKETS + EXPORT, 1, "2:1: text outside any tree; NEGRA export must be in a file of its"),
        (BRACKETS + TIGER, 1, "text outside any tree; TIGER-XML must be in a file of its own"),
        (EXPORT + BRACKETS + EXPORT, 2, "4:1: text outside any tree; each format must be in"),
        (EXPORT + TIGER, 1, "text outside any tree; each format must be in a file of its own"),
        (TIGER + BRACKETS, 1, "text outside any tree; each format must be in a file of its own"),
        (TIGER + EXPORT, 1, "text outside any tree; NEGRA export must be in a file of its own"),
        (TIGER + CONLLU, 1, "text outside any tree; CoNLL-U is for dependencies"),
    ],
)
def test_a_second_format_in_a_file_is_reported(text, n_trees, message):
    records = list(read_trees(text.splitlines(keepends=True), on_error="skip"))
    problems = [str(record.problem) for record in records if record.problem]
    assert sum(record.tree is not None for record in records) == n_trees
    assert message in problems[0]


def test_tables_of_an_export_file_are_passed_over():
    text = f"%% words\n#FORMAT 3\n#BOT WORDTAG\n1 VB verb\n#EOT WORDTAG\n{EXPORT}%% the end\n"
    (record,) = read_trees(text.splitlines(keepends=True))
    assert record.tree is not None
