"""The verb ``dependencies convert``: trees, tables, messages and refusals."""

from __future__ import annotations

import pytest

from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.io.conllu import format_sentence
from eigentree.treebank.reader import read_treebank
from tests.constituency.test_from_dependencies import CAT, DOG, MODIFIED, SEEN, tagged
from tests.demo import demo_parser, run_verb

PAIRS = 40
UNKNOWN = tagged(CAT, 4, "XYZ")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convert")
    demo_parser().save(folder / "demo.egt")
    write(folder / "in.conllu", [CAT, DOG, UNKNOWN])
    write(folder / "both.conllu", [CAT, DOG] * PAIRS)
    # Trees of the same words are used in their order.
    (folder / "both.mrg").write_text(f"( {SEEN})\n( {MODIFIED})\n" * PAIRS, "utf-8")
    return folder


@pytest.fixture(autouse=True)
def folder(models, monkeypatch):
    monkeypatch.chdir(models)
    return models


def write(path, sentences):
    path.write_text("".join(map(format_sentence, sentences)), "utf-8")


def convert(*arguments):
    return run_verb("dependencies", "convert", "-m", "demo.egt", *arguments)


LEARNING = ("--learn-from", "both.mrg", "both.conllu")


def test_trees_are_written_in_the_bracket_of_the_treebank():
    code, out, err = convert("in.conllu", *LEARNING, "-q")
    assert (code, err) == (0, "")
    assert out == f"( {SEEN})\n( {MODIFIED})\n( {SEEN})\n"


def test_kept_trees_and_unknown_tags_are_counted():
    code, _, err = convert("in.conllu", *LEARNING, "-o", "counted.mrg")
    assert code == 0
    assert "learning phrases from 80 sentences with both trees, of 80\n" in err
    assert "3 trees from 3 sentences, " in err
    assert "tags unknown to the model, replaced by its tagger's: XYZ (1)\n" in err
    assert "left out" not in err
    assert read_treebank("counted.mrg").trees == [SEEN, MODIFIED, SEEN]


def test_sentences_left_out_are_counted_by_reason_and_listed(tmp_path):
    table = tmp_path / "table.tsv"
    code, out, err = convert(
        "in.conllu", *LEARNING, "--min-confidence", "1", "--per-sentence", table
    )
    assert (code, out) == (0, "")
    assert "0 trees from 3 sentences, 0 required phrases\n" in err
    assert "left out: low confidence: 3 sentences\n" in err
    header, *rows = [line.split("\t") for line in table.read_text("utf-8").splitlines()]
    assert header[:4] == ["sentence", "place", "words", "phrases"]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert rows[1][1] == "in.conllu:11"
    assert {row[-1] for row in rows} == {"low confidence"}


def test_without_trees_of_both_kinds_the_model_is_learned_from():
    code, out, err = convert("in.conllu", "--rounds", "1", "--min-share", "0.5")
    assert code == 0
    assert len(out.splitlines()) == 3
    assert all(parse_tree(line).words() == CAT.forms() for line in out.splitlines())
    assert "parsing without constraints: " in err


def test_a_malformed_sentence_is_skipped_on_request(tmp_path):
    broken = tmp_path / "broken.conllu"
    broken.write_text(f"1\tword\n\n{format_sentence(CAT)}", "utf-8")
    assert convert(broken, *LEARNING)[:2] == (2, "")
    code, out, err = convert(broken, *LEARNING, "--on-error", "skip")
    assert (code, out) == (0, f"( {SEEN})\n")
    assert f"eigentree: skipped: {broken}:1" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in.conllu", *LEARNING, "--rounds", "2"), "--rounds and --learn-from are mutually excl"),
        (("in.conllu", "--learn-from", "both.mrg", "other.conllu"), "other.conllu: none of 1 sent"),
        (("in.conllu", "-o", "in.conllu"), "in.conllu: is an input file"),
        (("in.conllu", "--tag-column", "upos"), "demo.egt: 27 of 27 words have tags in UPOS that"),
        (("-", "--learn-from", "both.mrg", "-"), "only one of the files can be standard input"),
        (("none.conllu",), "none.conllu: can't be read"),
        (("empty.conllu",), "empty.conllu: no sentences to convert"),
        (("in.conllu", "--min-share", "2"), "--min-share"),
    ],
)
def test_what_cannot_be_converted_is_refused(folder, arguments, message):
    word = CAT.words[0]._replace(head=0, deprel="root")
    write(folder / "other.conllu", [type(CAT)((word,))])
    (folder / "empty.conllu").write_text("", "utf-8")
    code, out, err = convert(*arguments)
    assert (code, out) == (2, "")
    assert message in err
