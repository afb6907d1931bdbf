"""The command ``parse``: formats of input, and input that can't be read."""

from __future__ import annotations

import gzip
import io
import json
import re

import pytest

from eigentree.treebank.io.brackets import parse_tree, read_brackets
from tests.demo import demo_trees, run_verb


@pytest.mark.parametrize("form", ["raw", "tokens"])
def test_the_bracket_reader_finds_as_many_trees_as_sentences(model, tmp_path, form):
    texts = [" ".join(tree.words()) for tree in demo_trees()[:30]]
    texts += ["(", ") (", "a(b)c", "-LRB- -L\\RB-", "x" * 3000, "\\/ / _", "10\u00a0000 a\u2028b"]
    source = tmp_path / "in.txt"
    source.write_text("\n".join(texts) + "\n", "utf-8")
    code, out, _ = run_verb("parse", "-m", model, "--input-format", form, source)
    assert code == 0
    # Lines end at line feeds only: other separators are parts of words.
    records = list(read_brackets(io.StringIO(out, newline="\n")))
    assert [record.problem for record in records] == [None] * len(texts)
    assert len(records) == len(texts) == out.count("\n")


CONLLU = """\
# text = The dog
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_

1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t0\troot\t_\t_
2.1\tsees\tsee\tVERB\tVBZ\t_\t_\t_\t_\t_

"""


@pytest.mark.parametrize(
    ("form", "text", "words", "tags"),
    [
        ("tokens", "The  dog\tsees\r\n\r\nA cat\n", ["The dog sees", "", "A cat"], None),
        (
            "tagged",
            "The_DT a/b_NN\nA/B/NN\n\n-LRB-_-LRB- x_XX\n",
            ["The a/b", "A/B", "", "( x"],
            ["DT NN", "NN", "", "-LRB- XX"],
        ),
        ("conllu", CONLLU, ["The dog", "the cat"], ["DT NN", "DT NN"]),
        (
            "trees",
            "( (S (NP-SBJ (DT The) (NN dog)) (-NONE- *T*)\n(VP (VBZ sees)))) (())\n(NN x)",
            ["The dog sees", "", "x"],
            ["DT NN VBZ", "", "NN"],
        ),
    ],
)
@pytest.mark.parametrize("compress", [False, True])
def test_forms_of_input(model, tmp_path, form, text, words, tags, compress):
    path = tmp_path / "input"
    content = "\ufeff".encode() + text.encode()
    path.write_bytes(gzip.compress(content) if compress else content)
    code, out, err = run_verb(
        "parse", "-m", model, "--input-format", form, "--output-format", "json", path
    )
    assert code == 0, err
    records = [json.loads(line) for line in out.splitlines()]
    assert [" ".join(record["words"]) for record in records] == words
    if tags is not None:
        assert [" ".join(record["tags"]) for record in records] == tags


def test_trees_of_an_export_file_are_an_input(model, tmp_path):
    path = tmp_path / "dogs.export"
    path.write_text(
        "#BOS 1\nthe\tDT\t--\tX\t500\ndog\tNN\t--\tHD\t500\n#500\tNP\t--\t--\t0\n#EOS 1\n"
    )
    code, out, _ = run_verb(
        "parse", "-m", model, "--input-format", "trees", "--output-format", "json", path
    )
    assert code == 0
    record = json.loads(out)
    assert (record["words"], record["tags"]) == (["the", "dog"], ["DT", "NN"])


def test_tags_of_the_input_can_be_ignored(model, tmp_path):
    path = tmp_path / "input"
    path.write_text("The_XX dog_XX sees_XX the_XX old_XX cat_XX ._XX\n")
    out = run_verb("parse", "-m", model, "--input-format", "tagged", "--ignore-tags", path)[1]
    assert parse_tree(out).tags() == ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]


def test_universal_tags_can_be_taken(model, tmp_path):
    path = tmp_path / "input"
    path.write_text(CONLLU)
    arguments = ("parse", "-m", model, "--input-format", "conllu", "--tag-column", "upos", path)
    code, out, err = run_verb(*arguments)
    assert code == 0
    assert parse_tree(out.split("\n")[0]).tags() == ["DET", "NOUN"]
    assert f"{path}:2: fall-back: tags" in err


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("form", "text", "bad_line", "n_words"),
    [
        ("tagged", "The_DT dog_NN\nthe dog_NN\nA_DT cat_NN\n", 2, [2, 0, 2]),
        ("conllu", CONLLU + "1\tonly\tthree\n\n" + CONLLU, 10, [2, 2, 0, 2, 2]),
        ("trees", "(NP (DT a) (NN b))\n(S (S 1) + (S 2))\n(NN x)\n", 2, [2, 0, 1]),
    ],
)
def test_the_rest_is_parsed_after_a_problem(model, tmp_path, form, text, bad_line, n_words, jobs):
    path = tmp_path / "input"
    path.write_text(text)
    code, out, err = run_verb("parse", "-m", model, "--input-format", form, "-j", jobs, path)
    assert code == 2
    lines = out.split("\n")[:-1]
    assert [len(parse_tree(line).words()) if line else 0 for line in lines] == n_words
    assert re.search(rf"^eigentree: {re.escape(str(path))}:{bad_line}:\d+: ", err, re.MULTILINE)
    assert "fall-back: empty" not in err


@pytest.mark.parametrize(
    ("form", "pieces"),
    [
        ("tokens", [b"the dog\n", b"caf\xe9\n", b"the cat\n"]),
        ("tagged", [b"the_DT dog_NN\n", b"caf\xe9_NN\n", b"the_DT cat_NN\n"]),
        (
            "conllu",
            [b"1\t%s\t_\t_\tNN\t_\t_\t_\t_\t_\n\n" % word for word in (b"dog", b"caf\xe9", b"cat")],
        ),
        ("trees", [b"(NP (NN dog))\n", b" (N caf\xe9)\n", b"(NP (NN cat))\n"]),
    ],
)
def test_a_byte_that_is_not_utf8_costs_one_sentence(model, tmp_path, form, pieces):
    path = tmp_path / "sentences"
    path.write_bytes(b"".join(pieces))
    code, out, err = run_verb("parse", "-m", model, "--input-format", form, path)
    assert code == 2
    first, middle, last, end = out.split("\n")
    assert (middle, end) == ("", "")
    assert "dog" in first
    assert "cat" in last
    line, column = {"conllu": (3, 6), "trees": (2, 8)}.get(form, (2, 4))
    assert f"eigentree: {path}:{line}:{column}: byte 0xe9 is not UTF-8; the text may be" in err
    assert "café" in err
