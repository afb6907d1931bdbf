"""Raw text in parsers and commands: offsets, one tree per sentence, rejected options."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import ModelFileError, SettingsError
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.cleaning import clean
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.io.conllu import new_sentence, read_conllu
from eigentree.treebank.io.negra import EXPORT
from eigentree.treebank.io.tiger import TIGER
from eigentree.treebank.reader import read_trees
from eigentree.treebank.syntax_graph import graph_of_tree
from tests.demo import demo_parser, run_verb
from tests.samples import whole_parser

TEXT = 'The dog slept. She didn\'t see the "old" cat!'
WORDS = [
    ["The", "dog", "slept", "."],
    ["She", "did", "n't", "see", "the", "``", "old", "''", "cat", "!"],
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    demo_parser().save(folder / "trees.egt")
    whole_parser().save(folder / "arcs.egt")
    return folder


@pytest.fixture(autouse=True)
def folder(models, monkeypatch):
    monkeypatch.chdir(models)


# In Python --------------------------------------------------------------------------------


def test_a_text_is_a_sentence():
    result = demo_parser().parse("The dog slept.")
    assert result.words == WORDS[0]
    assert result.offsets == ((0, 3), (4, 7), (8, 13), (13, 14))
    assert replace(result, offsets=None) == demo_parser().parse(WORDS[0])
    empty = demo_parser().parse(" ")
    assert (empty.tree, empty.fallback, empty.offsets) == (None, "empty", ())
    assert demo_parser().parse(WORDS[0]).offsets is None


def test_pairs_are_words_with_tags():
    pairs = [("She", "PRP"), ("slept", {"VBD": 2, "NN": 1})]
    apart = demo_parser().parse(*zip(*pairs, strict=True))
    assert demo_parser().parse(pairs) == apart
    with pytest.raises(SettingsError, match="tags are given twice"):
        demo_parser().parse(pairs, ["PRP", "VBD"])
    with pytest.raises(SettingsError, match="tags are given for a text"):
        demo_parser().parse("She slept", ["PRP", "VBD"])


def test_a_text_of_several_sentences():
    results = demo_parser().parse_text(TEXT, kbest=2)
    assert [result.words for result in results] == WORDS
    for result in results:
        assert len(result.offsets) == len(result.words)
        assert 1 <= len(result.alternatives) <= 2
    assert [TEXT[start:end] for start, end in results[1].offsets][5] == '"'
    assert demo_parser().parse_text("\n ") == []


def test_many_sentences_may_be_texts():
    results = list(
        demo_parser().parse_many(["The dog slept.", (WORDS[0], None), ("She left", None)])
    )
    assert results[0].tree == results[1].tree
    assert results[0].offsets is not None
    assert results[1].offsets is None
    assert results[2].words == ["She", "left"]


def test_dependencies_of_text():
    parser = whole_parser()
    (result,) = parser.parse_text("she saw the old dog .")
    assert result.words == ["she", "saw", "the", "old", "dog", "."]
    assert result.offsets[-1] == (20, 21)
    assert replace(result, offsets=None) == parser.parse(result.words)
    again = parser.parse(list(zip(result.words, result.tags, strict=True)))
    assert again.heads == result.heads
    assert [each.words for each in parser.parse_many(["it left", (["it"], None)])] == [
        ["it", "left"],
        ["it"],
    ]


# In model files ---------------------------------------------------------------------------


def test_the_convention_is_in_the_model(models):
    parser = ConstituencyParser.load(models / "trees.egt")
    assert parser.tokenisation == demo_parser().tokenisation
    assert parser.tokenisation.mode == "penn"
    assert "``" in parser.tokenisation.marks


def test_older_models_are_read_off_their_lexicon(models):
    parser = ConstituencyParser.load(models / "trees.egt")
    description = {key: value for key, value in parser.description.items() if key != "text"}
    old = replace(parser, description=description)
    assert old.tokenisation.mode == "penn"
    assert old.parse("The dog didn't sleep.").words == ["The", "dog", "did", "n't", "sleep", "."]
    bare = replace(whole_parser(), description={}, lexical=None)
    assert bare.tokenisation == TokenisationScheme.of_words([])


def test_a_damaged_convention_is_reported(tmp_path):
    for parser in (demo_parser(), whole_parser()):
        bad = replace(parser, description={**parser.description, "text": {"mode": "other"}})
        bad.save(tmp_path / "bad.egt")
        with pytest.raises(ModelFileError, match="no tokeniser 'other'"):
            type(parser).load(tmp_path / "bad.egt")


# Verbs ------------------------------------------------------------------------------------


def parse(folder, text, *options, verb=("parse",), model="trees.egt"):
    path = folder / "text.txt"
    path.write_text(text, "utf-8")
    return run_verb(*verb, "-m", model, *options, "-q", path)


def test_a_tree_for_each_sentence_and_an_empty_line_for_each(tmp_path):
    code, out, _ = parse(tmp_path, f"{TEXT}\n\nThe dog\nslept.\n")
    lines = out.split("\n")[:-1]
    assert code == 0
    found = [parse_tree(line).words() if line else [] for line in lines]
    assert found == [*WORDS, [], ["The", "dog"], ["slept", "."]]


def test_wrapped_lines(tmp_path):
    code, out, _ = parse(tmp_path, "The dog\nslept. She\n\nslept\n", "--wrapped")
    assert code == 0
    assert [parse_tree(line).words() for line in out.split("\n")[:-1]] == [
        ["The", "dog", "slept", "."],
        ["She"],
        ["slept"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_json_reports_where_words_stand(tmp_path, jobs):
    code, out, _ = parse(tmp_path, f"\n{TEXT}\n", "--output-format", "json", "-j", jobs)
    assert code == 0
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert [record["line"] for record in records] == [1, 2, 2]
    assert records[0]["offsets"] is None
    surfaces = [TEXT[start:end] for start, end in records[2]["offsets"]]
    assert surfaces == ["She", "did", "n't", "see", "the", '"', "old", '"', "cat", "!"]
    # Words that are given as tokens have no offsets.
    code, out, _ = parse(
        tmp_path, "The dog .\n", "--output-format", "json", "--input-format", "tokens"
    )
    assert "offsets" not in json.loads(out)


def test_constraints_are_of_sentences(tmp_path):
    constraints = tmp_path / "wanted.jsonl"
    constraints.write_text('\n{"required": [[0, 2]]}\n', "utf-8")
    code, out, err = parse(tmp_path, "It left. The dog slept.\n", "--constraints", constraints)
    assert (code, err) == (0, "")
    assert (0, 2) in {(start, end) for _, start, end in parse_tree(out.split("\n")[1]).spans()}


def test_bytes_that_are_no_text_cost_no_other_line(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"The dog slept.\n\xff\nShe left.\n")
    code, out, err = run_verb("parse", "-m", "trees.egt", path, "-q")
    assert code == 2
    assert [bool(line) for line in out.split("\n")[:-1]] == [True, False, True]
    assert f"{path}:2:1: " in err


GO = "1\tIt\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tleft\t_\tVERB\tVBD\t_\t0\troot\t_\t_\n"
LEFT = "(S (NP (PRP It)) (VP (VBD left)))"
TREES = [
    (f"( {LEFT})\n", "bracketed trees"),
    (f"# a comment\n{GO}", "CoNLL-U"),
    ("".join(EXPORT.text([graph_of_tree(parse_tree(LEFT))])), "NEGRA export"),
    ("".join(TIGER.text([graph_of_tree(parse_tree(LEFT))])), "TIGER-XML"),
]


@pytest.mark.parametrize("verb", ["parse", "surprisal"])
@pytest.mark.parametrize(("text", "name"), TREES)
def test_trees_are_recognised_by_their_content(tmp_path, text, name, verb):
    code, out, err = parse(tmp_path, text, verb=(verb,))
    assert (code, err) == (0, "")
    assert "It" in out
    code, loud, err = run_verb(verb, "-m", "trees.egt", tmp_path / "text.txt")
    assert (code, loud) == (0, out)
    assert f"text.txt: recognised as {name}\n" in err
    raw = ("--input-format", "raw")
    code, _, err = run_verb(verb, "-m", "trees.egt", tmp_path / "text.txt", *raw)
    assert code == 0
    assert f"text.txt looks like {name}, but is read as raw text; see --input-format\n" in err


def test_options_of_raw_text_make_it_raw(tmp_path):
    code, out, _ = parse(tmp_path, f"{LEFT}\n", "--tokeniser", "penn")
    assert code == 0
    assert "-LRB-" in out
    assert "-LRB-" not in parse(tmp_path, f"{LEFT}\n")[1]


@pytest.mark.parametrize("text", ["(See (a) below.) It left.\n", f"It left.\n{LEFT}\n"])
def test_text_is_not_taken_for_trees(tmp_path, text):
    (tmp_path / "text.txt").write_text(text, "utf-8")
    code, out, err = run_verb("parse", "-m", "trees.egt", tmp_path / "text.txt")
    assert code == 0
    assert out
    assert not re.search("looks like|recognised", err)


def test_xml_is_named(tmp_path):
    code, out, err = parse(tmp_path, '<?xml version="1.0"?>\n<TEI>\n<p>It left.</p></TEI>\n')
    assert (code, out) == (2, "\n")
    assert "text.txt:1:1: XML with the root element <TEI> is no format of the input; extract" in err
    (tmp_path / "text.txt").write_text("<p>It left.</p>\n", "utf-8")
    code, _, err = run_verb("parse", "-m", "trees.egt", tmp_path / "text.txt")
    assert code == 0
    assert "text.txt looks like XML, but is read as raw text" in err


def test_the_dependency_parser_refuses_constituency_trees(tmp_path):
    verb = ("dependencies", "parse", "-m", "arcs.egt")
    path = tmp_path / "bank"
    for text, name in TREES:
        path.write_text(text, "utf-8")
        code, out, err = run_verb(*verb, path)
        if name == "CoNLL-U":
            assert code == 0
            assert "recognised as CoNLL-U" in err
            assert out.startswith("# a comment\n1\tIt\t")
        else:
            assert (code, out) == (2, "")
            assert f"bank:1:1: expected CoNLL-U, not {name}; for constituency trees" in err


@pytest.mark.parametrize("form", ["export", "tiger"])
def test_parses_are_written_as_graphs(tmp_path, form):
    text = "It left.\n\nThe dog slept.\n"
    code, out, _ = parse(tmp_path, text, "--output-format", form)
    assert code == 0
    brackets = parse(tmp_path, text)[1].splitlines()
    trees = [record.tree for record in read_trees(out.splitlines())]
    assert [tree and clean(tree) for tree in trees] == [
        clean(parse_tree(line)) if line else None for line in brackets
    ]


def test_a_word_that_xml_cant_hold_costs_no_other(tmp_path):
    options = ("--output-format", "tiger", "--input-format", "tokens")
    code, out, err = parse(tmp_path, "It left\na\x01b\nIt left\n", *options)
    assert code == 2
    assert "text.txt:2: 'a\\x01b' contains U+0001, which XML can't hold" in err
    records = list(read_trees(out.splitlines()))
    assert [record.tree is None for record in records] == [False, True, False]


@pytest.mark.parametrize(
    ("options", "error_text"),
    [
        (
            ("--wrapped", "--input-format", "tokens"),
            "--wrapped is for raw text, but --input-format is tokens",
        ),
        (("--tokeniser", "penn", "--input-format", "trees"), "--tokeniser is for raw text"),
        (("--tokeniser", "other"), "there is no tokeniser 'other'"),
    ],
)
@pytest.mark.parametrize("verb", ["parse", "surprisal"])
def test_options_of_raw_text(tmp_path, options, error_text, verb):
    code, out, err = parse(tmp_path, "a\n", *options, verb=(verb,))
    assert (code, out) == (2, "")
    assert error_text in err


def test_another_tokeniser(tmp_path):
    code, out, _ = parse(tmp_path, "The dog's well-known\n", "--tokeniser", "unicode")
    assert code == 0
    assert parse_tree(out).words() == ["The", "dog's", "well", "-", "known"]


def test_a_spacy_that_is_absent_is_reported_at_once(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    code, out, err = parse(tmp_path, "a\n", "--tokeniser", "spacy:xx")
    assert (code, out) == (2, "")
    assert "the package spacy is not installed" in err


def test_surprisal_of_raw_text(tmp_path):
    code, out, _ = parse(tmp_path, "The dog slept.\n", verb=("surprisal",))
    assert code == 0
    words = [row.split("\t")[2] for row in out.split("\n")[1:-1]]
    assert words == ["The", "dog", "slept", ".", ""]


@pytest.mark.slow
def test_sentences_come_out_before_the_next_line_goes_in(models):
    command = [sys.executable, "-c", "from eigentree.cli.app import main; main()", "parse", "-q"]
    with subprocess.Popen(
        [*command, "-m", str(models / "trees.egt")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        for text, n_lines in (("The dog slept. She left.", 2), ("", 1), ("It left", 1)):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            for _ in range(n_lines):
                assert process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_dependencies_with_exact_text(tmp_path):
    verb = ("dependencies", "parse")
    text = "she saw  the old dog. it left\n\nit left"
    code, out, _ = parse(tmp_path, text, verb=verb, model="arcs.egt")
    assert code == 0
    sentences = [each.sentence for each in read_conllu(out.split("\n"))]
    assert [each.forms() for each in sentences] == [
        ["she", "saw", "the", "old", "dog", "."],
        ["it", "left"],
        ["it", "left"],
    ]
    assert sentences[0].comments == ("# sent_id = 1", "# text = she saw  the old dog.")
    assert sentences[0].space_after() == [True, True, True, True, False, True]
    code, out, _ = parse(tmp_path, text, "--output-format", "json", verb=verb, model="arcs.egt")
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert [record["line"] for record in records] == [1, 1, 2, 3]
    assert records[1]["offsets"] == [[22, 24], [25, 29]]
    assert records[2]["offsets"] is None


def test_words_of_one_range_in_conllu():
    sentence = new_sentence(
        ["vient", "de", "le", "parc", "."],
        [(1, 6), (7, 9), (7, 9), (10, 14), (14, 15)],
        " vient du\tparc. Et",
        sent_id="7",
    )
    assert sentence.comments == ("# sent_id = 7", "# text = vient du parc.")
    (extra,) = sentence.extras
    assert (extra.after, extra.cells[:2]) == (1, ("2-3", "du"))
    assert list(extra.covers) == [2, 3]
    assert sentence.space_after() == [True, False, True, False, True]
