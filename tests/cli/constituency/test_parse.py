"""The command ``parse``: what is written, and where."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from eigentree.constituency.result import in_brackets, wrapped
from eigentree.treebank.io.brackets import parse_tree
from tests.cli.constituency.samples import SENTENCES
from tests.demo import blocks_of, demo_parser, run_verb


def test_a_tree_for_every_line_in_order(model, sentences):
    code, out, err = run_verb("parse", "-m", model, sentences)
    assert code == 0
    lines = out.split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(SENTENCES)
    assert lines[0] == (
        "( (S (NP (DT The) (NN dog)) (VP (VBZ sees) (NP (DT the) (JJ old) (NN cat))) (. .)))"
    )
    assert lines[1] == ""
    for line, text in zip(lines, SENTENCES, strict=True):
        assert (parse_tree(line).words() if line else []) == text.split()
    assert f"eigentree: {sentences}:2: fall-back: empty\n" in err
    assert f"eigentree: {sentences}:3: fall-back: flat\n" in err
    assert f"{sentences}:1:" not in err


def test_quiet_leaves_only_errors(model, sentences):
    code, _, err = run_verb("parse", "-m", model, sentences, "--quiet")
    assert (code, err) == (0, "")


def test_json_has_everything(model, sentences):
    code, out, _ = run_verb("parse", "-m", model, sentences, "--output-format", "json")
    assert code == 0
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert [record["words"] for record in records] == [text.split() for text in SENTENCES]
    assert [record["fallback"] for record in records][:3] == [None, "empty", "flat"]
    assert records[1]["tree"] is None
    first = records[0]
    assert first["tags"] == ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]
    assert {key: first["brackets"][1][key] for key in ("label", "start", "end")} == {
        "label": "NP",
        "start": 3,
        "end": 6,
    }
    assert 0.0 < first["confidence"] <= 1.0


@pytest.mark.slow
def test_several_trees_in_brackets(model, sentences):
    options = ("-m", model, sentences, "--quiet", "--kbest", "4")
    code, out, _ = run_verb("parse", *options)
    assert code == 0
    _, alone, _ = run_verb("parse", "-m", model, sentences, "--quiet")
    blocks = blocks_of(out)
    # One without words is an empty line and nothing else.
    assert ["".join(tree for _, tree in own[:1]) for own in blocks] == alone.split("\n")[:-1]
    numbers, trees = zip(*blocks[0], strict=True)
    assert 1 < len(set(trees)) == len(trees) <= 4
    assert [float(each) for each in numbers] == sorted(map(float, numbers), reverse=True)
    _, two, _ = run_verb("parse", *options, "--jobs", "2")
    assert two == out
    flat = next(tree for tree in alone.split("\n") if "????" in tree)
    assert [["", flat]] in blocks  # a fall-back without a number
    _, ordered, _ = run_verb("parse", *options, "--kbest-order", "value")
    numbers, again = zip(*blocks_of(ordered)[0], strict=True)
    assert set(again) == set(trees)
    assert [float(each) for each in numbers] == sorted(map(float, numbers), reverse=True)


def test_several_trees_in_json(model, sentences):
    options = ("-m", model, sentences, "--quiet", "--output-format", "json")
    _, out, _ = run_verb("parse", *options, "--kbest", "3")
    _, alone, _ = run_verb("parse", *options)
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    for record, plain in zip(records, alone.split("\n")[:-1], strict=True):
        several = record.pop("alternatives")
        assert record == json.loads(plain)
        assert [each["tree"] for each in several][:1] == [record["tree"]] * bool(several)
        assert bool(several) is (record["tree"] is not None)
        for each in several:
            assert (each["log_value"] is None) == (each["sign"] is None)
            assert set(each) == {
                "tree", "objective", "log_value", "sign", "probability", "confidence",
            }  # fmt: skip


def test_json_distinguishes_unreadable_from_empty(model, tmp_path):
    path = tmp_path / "tagged"
    path.write_text("\nthe_DT dog\nzorgle_XYZ zorgle_XYZ\nthe_DT dog_NN\n", "utf-8")
    options = ("--input-format", "tagged", "--output-format", "json")
    code, out, err = run_verb("parse", "-m", model, *options, path)
    assert code == 2
    assert "fall-back: unreadable" not in err
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert [record["fallback"] for record in records][:2] == ["empty", "unreadable"]
    assert ["problem" in record for record in records] == [False, True, False, False]
    assert f"eigentree: {records[1]['problem']}\n" in err
    for record in records:
        assert (record["log_value"] is None) == (record["sign"] is None)
    assert [record["sign"] for record in records][:2] == [None, None]
    assert records[3]["sign"] == 1


def test_drawings(model, sentences):
    code, out, _ = run_verb("parse", "-m", model, sentences, "--output-format", "drawing")
    assert code == 0
    assert (
        len(
            re.findall(
                r"^confidence \d+ % \(whole tree\), \d+ % \(mean of brackets\)$", out, re.MULTILINE
            )
        )
        >= 1
    )
    assert "confidence unknown, fall-back: flat" in out
    for word in ("dog", "????", "😀"):
        assert word in out


def test_into_a_file(model, sentences, tmp_path):
    target = tmp_path / "trees.mrg"
    code, out, _ = run_verb("parse", "-m", model, sentences, "-o", target)
    assert (code, out) == (0, "")
    assert target.read_text("utf-8") == run_verb("parse", "-m", model, sentences)[1]


def test_several_files_stand_one_after_the_other(model, tmp_path):
    for name, text in (("a", "The dog\n"), ("b", "A cat"), ("c", "")):
        (tmp_path / name).write_text(text)
    code, out, _ = run_verb("parse", "-m", model, *(tmp_path / name for name in "abc"))
    assert code == 0
    assert [parse_tree(line).words() for line in out.splitlines()] == [["The", "dog"], ["A", "cat"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "can't be read: No such file"),
        (b"", "is empty"),
        (b"PK\x03\x04" + b"\0" * 60, "isn't an eigentree model"),
        (b"\x80\x04\x95" + b"\0" * 60, "looks like a pickle"),
        (b"(S (NN dog))\n", "isn't an eigentree model"),
    ],
)
@pytest.mark.parametrize("verb", [("parse", "-m"), ("inspect",)])
def test_no_model(tmp_path, content, message, verb):
    path = tmp_path / "model.egt"
    if content is not None:
        path.write_bytes(content)
    code, out, err = run_verb(*verb, path)
    assert (code, out) == (2, "")
    assert err.startswith(f"eigentree: {path}: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--threshold", "2"), "threshold is 2.0; it must be at least 0 and below 1"),
        (("--max-words", "1"), "max_words is 1; it must be at least 2"),
        (("--objective", "viterbi"), "viterbi requires one latent state per symbol"),
        (("--objective", "viterbi", "-j", "2"), "viterbi requires one latent state per symbol"),
        (
            ("--kbest", "2", "--output-format", "drawing"),
            "--kbest requires --output-format brackets or json",
        ),
        (("--kbest-order", "value"), "--kbest-order requires --kbest"),
    ],
)
def test_options_that_do_not_fit(model, sentences, options, message):
    code, out, err = run_verb("parse", "-m", model, sentences, *options)
    assert (code, out) == (2, "")
    assert message in err


def test_a_folder_that_is_no_ensemble_is_not_searched(sentences, tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "rglob", lambda *_: pytest.fail("a folder was searched"))
    code, out, err = run_verb("parse", "-m", tmp_path, sentences, "-o", tmp_path / "new")
    assert (code, out) == (2, "")
    assert err.startswith(f"eigentree: {tmp_path}: has no ensemble.egt; it is not an ensemble")


@pytest.mark.parametrize(
    ("name", "why"), [("none.txt", "No such file or directory"), (".", "Is a directory")]
)
def test_all_files_are_looked_for_before_anything_is_written(model, sentences, tmp_path, name, why):
    bad = tmp_path / name
    code, out, err = run_verb("parse", "-m", model, sentences, bad, sentences)
    assert (code, out) == (2, "")
    assert err == f"eigentree: {bad}: can't be read: {why}\n"


@pytest.mark.parametrize(
    ("wrapper", "text", "expected"),
    [
        ("", "(S (A a) (B b))", "( (S (A a) (B b)))"),
        ("ROOT", "(S (A a) (B b))", "(ROOT (S (A a) (B b)))"),
        (None, "(S (A a) (B b))", "(S (A a) (B b))"),
        ("", "(ROOT (S (A a)) (. .))", "( (S (A a)) (. .))"),
        ("ROOT", "(ROOT (S (A a)) (. .))", "(ROOT (S (A a)) (. .))"),
        (None, "(ROOT (S (A a)) (. .))", "(ROOT (S (A a)) (. .))"),
        ("", "(A a)", "( (A a))"),
        (None, "(A a)", "(A a)"),
        ("", "(ROOT a)", "( (ROOT a))"),  # a tag of that name
    ],
)
def test_the_outer_bracket(wrapper, text, expected):
    tree = parse_tree(text)
    assert wrapped(tree, wrapper, "ROOT") == parse_tree(expected)
    result = demo_parser().parse(tree.words())
    result = result.__class__(tree.words(), tree.tags(), tree)
    assert in_brackets(result, wrapper, "ROOT") == expected


@pytest.mark.parametrize(
    "texts",
    [
        ["( (S (A a) (B b)) )", "( (S (A a) (B b) (C c)) )"],
        ["(ROOT (S (A a) (B b)))", "(ROOT (S (A a) (B b) (C c)))"],
        ["(S (A a) (B b))", "(S (A a) (B b) (C c))"],
        ["( (S (A a) (B b)) (. .) )", "( (S (A a) (B b) (C c)) (. .) )"],
        ["(TOP (S (A a) (B b)) (. .))", "(TOP (S (A a) (B b) (C c)) (. .))"],
        ["( (A a) )", "( (S (A a) (B b)) )"],
    ],
)
def test_trees_come_out_in_the_wrapper_that_went_in(tmp_path, texts):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text("\n".join(texts * 5) + "\n")
    assert run_verb("train", path, "-o", model, "--states", "2", "-q") == (0, "", "")
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", path)
    assert code == 0
    assert [parse_tree(line) for line in out.splitlines()] == [parse_tree(t) for t in texts * 5]


@pytest.mark.parametrize("name", ["model.egt", "sentences.txt", "link"])
def test_what_is_read_is_never_replaced_by_parses(model, sentences, tmp_path, name):
    copy = tmp_path / "model.egt"
    copy.write_bytes(model.read_bytes())
    (tmp_path / "link").symlink_to(sentences)
    place = tmp_path / name
    before = place.read_bytes()
    code, out, err = run_verb("parse", "-m", copy, sentences, "-o", place)
    assert (code, out) == (2, "")
    assert err == f"eigentree: {place}: is an input file, so it can't be written; name another\n"
    assert place.read_bytes() == before
