"""The verbs train, parse and inspect: files, pipes, processes, messages and exit codes."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import selectors
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from eigentree.cli import _training
from eigentree.constituency.learn.em import STAGE
from eigentree.constituency.learn.unseen_rules import UnseenRuleOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import in_brackets, wrapped
from eigentree.treebank.io.brackets import format_tree, parse_tree, read_brackets
from eigentree.treebank.tree import Tree
from tests.demo import HELD_OUT, blocks_of, demo_parser, demo_trees, run_verb

EIGENTREE = [sys.executable, "-c", "from eigentree.cli.app import main; main()"]
SENTENCES = ["The dog sees the old cat .", "", "????", "( Who left ? )", "😀 zorgle"]
TREES = """\
( (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)))) )
( (S (NP (DT the) (NN cat)) (VP (VBZ runs))) )
( (S (NP (DT a) (NN man)) (VP (VBZ sees) (NP (DT a) (NN dog)))) )
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "demo.egt"
    demo_parser().save(path)
    # Kernels compiled before any process is timed or read from.
    demo_parser().parse(["dog"])
    return path


@pytest.fixture
def sentences(tmp_path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("".join(line + "\n" for line in SENTENCES), "utf-8")
    return path


@pytest.fixture
def treebank(tmp_path) -> Path:
    path = tmp_path / "small.mrg"
    path.write_text(TREES, "utf-8")
    return path


# parse: what comes out --------------------------------------------------------------------


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


def test_json_tells_unreadable_from_empty(model, tmp_path):
    path = tmp_path / "tagged"
    path.write_text("\nthe_DT dog\nzorgle_XYZ zorgle_XYZ\nthe_DT dog_NN\n", "utf-8")
    options = ("--input-format", "tagged", "--output-format", "json")
    code, out, err = run_verb("parse", "-m", model, *options, path)
    assert code == 2
    assert "fall-back: unreadable" not in err
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert [record["fallback"] for record in records][:2] == ["empty", "unreadable"]
    for record in records:
        assert (record["log_value"] is None) == (record["sign"] is None)
    assert [record["sign"] for record in records][:2] == [None, None]
    assert records[3]["sign"] == 1


def test_drawings(model, sentences):
    code, out, _ = run_verb("parse", "-m", model, sentences, "--output-format", "drawing")
    assert code == 0
    assert len(re.findall(r"^confidence \d+ %$", out, re.MULTILINE)) >= 1
    assert "confidence unknown, fall-back: flat" in out
    for word in ("dog", "????", "😀"):
        assert word in out


def test_into_a_file(model, sentences, tmp_path):
    target = tmp_path / "trees.mrg"
    code, out, _ = run_verb("parse", "-m", model, sentences, "-o", target)
    assert (code, out) == (0, "")
    assert target.read_text("utf-8") == run_verb("parse", "-m", model, sentences)[1]


# parse: forms of input --------------------------------------------------------------------


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


def test_several_files_stand_one_after_the_other(model, tmp_path):
    for name, text in (("a", "The dog\n"), ("b", "A cat"), ("c", "")):
        (tmp_path / name).write_text(text)
    code, out, _ = run_verb("parse", "-m", model, *(tmp_path / name for name in "abc"))
    assert code == 0
    assert [parse_tree(line).words() for line in out.splitlines()] == [["The", "dog"], ["A", "cat"]]


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


# parse: processes and pipes ---------------------------------------------------------------


def die(_lot: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_worker_is_told_in_one_sentence(model, sentences, monkeypatch):
    monkeypatch.setattr("eigentree._core.batching._process", die)
    code, out, err = run_verb("parse", "-m", model, "-j", "2", "--quiet", sentences)
    assert (code, out) == (1, "")
    assert err == (
        "eigentree: a worker process exited unexpectedly (possibly out of memory); use fewer jobs\n"
    )


@pytest.mark.slow
def test_a_line_in_a_line_out(model):
    with subprocess.Popen(
        [*EIGENTREE, "parse", "-m", str(model), "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        waiting = selectors.DefaultSelector()
        waiting.register(process.stdout, selectors.EVENT_READ)
        for text in SENTENCES:
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            # An answer must come before the next line goes in.
            answered = waiting.select(timeout=120)
            if not answered:
                process.kill()
            assert answered
            line = process.stdout.readline().decode().rstrip("\n")
            assert (parse_tree(line).words() if line else []) == text.split()
        process.stdin.close()
        assert process.wait(timeout=60) == 0


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_reader_that_leaves_is_no_error(model, tmp_path, jobs):
    path = tmp_path / "input"
    path.write_text("The dog sees the cat .\n" * 500)
    with subprocess.Popen(
        [*EIGENTREE, "parse", "-m", str(model), "-j", jobs, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"( (S")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 141


@pytest.mark.slow
def test_output_is_utf_8_wherever_it_goes(model):
    done = subprocess.run(
        [*EIGENTREE, "parse", "-m", str(model), "-q"],
        input="naïve 😀\n".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert "naïve" in done.stdout.decode("utf-8")


# parse: refusals --------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("name", "why"), [("none.txt", "No such file or directory"), (".", "Is a directory")]
)
def test_all_files_are_looked_for_before_anything_is_written(model, sentences, tmp_path, name, why):
    bad = tmp_path / name
    code, out, err = run_verb("parse", "-m", model, sentences, bad, sentences)
    assert (code, out) == (2, "")
    assert err == f"eigentree: {bad}: can't be read: {why}\n"


# Wrappers ---------------------------------------------------------------------------------


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


# train ------------------------------------------------------------------------------------


def test_train_tells_what_it_does(treebank, tmp_path):
    model = tmp_path / "small.egt"
    code, out, err = run_verb("train", treebank, "-o", model, "--states", "2", "--dev", treebank)
    assert (code, out) == (0, "")
    assert err.startswith("3 trees\n")
    for stage in ("reading", "binary trees", "projections", "rules", "tagger"):
        assert re.search(rf"^{stage}: \d+\.\d CPU s$", err, re.MULTILINE)
    assert f"wrote {model}\n" in err
    for tags in ("gold tags", "own tags"):
        assert f"{treebank}, {tags}: F1 100.00 (EVALB, all lengths), 0 fall-backs" in err
    assert ConstituencyParser.load(model).description["trees"] == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--method", "pcfg"), {"method": "pcfg"}),
        (("--states", "1"), {"method": "spectral"}),
        (("--binarise", "head", "--heads", "rightmost"), {}),
    ],
)
def test_methods_of_training(treebank, tmp_path, options, expected):
    model = tmp_path / "small.egt"
    assert run_verb("train", treebank, "-o", model, "-q", "--no-tagger", *options) == (0, "", "")
    parser = ConstituencyParser.load(model)
    assert parser.tagger is None
    assert expected.items() <= parser.description.items()
    direction = "head" if "--binarise" in options else "left"
    assert parser.description["treebank"]["binarise"]["direction"] == direction
    assert parser.parse(["the", "dog", "sees", "the", "cat"]).fallback is None


def test_expectation_maximisation_tells_of_its_iterations(treebank, tmp_path):
    model, checkpoint = tmp_path / "small.egt", tmp_path / "checkpoint"
    options = ("--method", "em", "--iterations", "3", "--no-tagger", "--dev", treebank)
    more = ("--states", "2", "--jobs", "2", "--checkpoint", checkpoint)
    code, _, err = run_verb("train", treebank, "-o", model, *options, *more)
    assert code == 0
    assert re.search(r"^expectation maximisation: \d+\.\d CPU s$", err, re.MULTILINE)
    rows = re.findall(r"^ +(\d)  +(-\d+\.\d{3})  +(\d+\.\d\d|)  +\d+\.\d(  kept)?$", err, re.M)
    assert [row[0] for row in rows] == ["1", "2", "3"]
    kept = [row for row in rows if row[3]]
    assert len(kept) == 1
    assert f"gold tags: F1 {kept[0][2]} (EVALB" in err
    assert checkpoint.is_file()
    code, out, _ = run_verb("inspect", model)
    assert code == 0
    assert "nonterminal" in out
    assert "states_of" not in out
    assert "singular values" not in out
    assert "spectrum" not in out
    assert "F1" in out
    assert re.search(rf"^ +{kept[0][0]} +{re.escape(kept[0][1])} +{kept[0][2]} +kept", out, re.M)


def test_a_run_says_what_it_goes_on_from(treebank, tmp_path, monkeypatch):
    model, checkpoint = tmp_path / "small.egt", tmp_path / "checkpoint"
    options = ("--method", "em", "--states", "2", "--no-tagger", "--checkpoint", checkpoint)
    real = _training.Stages.__call__

    def interrupted(self, stage, share):
        real(self, stage, share)
        if stage == STAGE and share >= 0.5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(_training.Stages, "__call__", interrupted)
        code, _, err = run_verb("train", treebank, "-o", model, *options, "--iterations", "2")
    assert code == 130
    assert err.splitlines()[-1] == f"interrupted; the same command resumes from {checkpoint}"
    assert "resuming from" not in err
    for iterations, told in (
        ("2", f"resuming from {checkpoint} after iteration 1\n"),
        ("2", f"{checkpoint} already has iteration 2; nothing is left to do\n"),
        ("3", f"resuming from {checkpoint} after iteration 2\n"),
    ):
        code, _, err = run_verb(
            "train", treebank, "-o", model, *options, "--iterations", iterations
        )
        assert code == 0
        assert told in err
    assert len(ConstituencyParser.load(model).description["em"]["record"]) == 3
    assert "F1" not in run_verb("inspect", model)[1]  # nothing was held out


@pytest.mark.parametrize("content", [b"", b"nothing of use", b"\x80\x04."])
def test_a_damaged_checkpoint_is_told_before_the_work(treebank, tmp_path, content):
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(content)
    options = ("--method", "em", "--checkpoint", checkpoint)
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "small.egt", *options)
    assert code == 2
    assert err.startswith(f"eigentree: {checkpoint}: is not an eigentree checkpoint")
    assert err.count("\n") == 1
    assert checkpoint.read_bytes() == content


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--method", "em"], "EM"),
        (["--method", "em", "--dev"], "EM and the parser"),
        (["--method", "pcfg", "--dev"], "the parser"),
    ],
)
def test_compilation_is_told_of(treebank, tmp_path, monkeypatch, options, told):
    monkeypatch.setattr("eigentree._core.jit.needs_compiling", lambda _: True)
    more = [treebank] if "--dev" in options else []
    code, _, err = run_verb(
        "train", treebank, "-o", tmp_path / "model.egt", "--no-tagger", *options, *more
    )
    assert code == 0
    assert f"first run: compiling {told} (about 30 s, once per installation)" in err


def test_a_model_replaces_only_a_model(treebank, tmp_path):
    model = tmp_path / "small.egt"
    plain = ("train", treebank, "-o", model, "--method", "pcfg", "--no-tagger", "-q")
    model.touch()
    assert run_verb(*plain)[0] == run_verb(*plain)[0] == 0
    model.write_text(TREES, "utf-8")
    code, _, err = run_verb(*plain)
    assert (code, err) == (
        2, f"eigentree: {model}: exists and is not a model; name another file, or remove it\n"
    )  # fmt: skip
    assert model.read_text("utf-8") == TREES


def test_a_checkpoint_replaces_no_treebank(treebank, tmp_path):
    model = tmp_path / "small.egt"
    code, _, err = run_verb(
        "train", treebank, "-o", model, "--method", "em", "--checkpoint", treebank
    )
    assert code == 2
    assert err.startswith(f"eigentree: {treebank}: is an input file, which")
    assert treebank.read_text("utf-8") == TREES


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        ("-", "--checkpoint must be a file"),
        ("small.egt", "small.egt: can't be both the model and its checkpoint; name another"),
    ],
)
def test_a_checkpoint_has_a_file_of_its_own(treebank, tmp_path, monkeypatch, checkpoint, message):
    monkeypatch.chdir(tmp_path)
    options = ("--method", "em", "--checkpoint", checkpoint)
    code, out, err = run_verb("train", treebank, "-o", tmp_path / "small.egt", *options)
    assert (code, out) == (2, "")
    assert err.startswith(f"eigentree: {message}")


def test_markov_is_a_pcfg_with_more_context(treebank, tmp_path):
    model = tmp_path / "markov.egt"
    assert run_verb("train", treebank, "-o", model, "-q", "--method", "markov")[0] == 0
    parser = ConstituencyParser.load(model)
    assert parser.description["method"] == "pcfg"
    binarise = parser.description["treebank"]["binarise"]
    assert (binarise["vertical"], binarise["horizontal"]) == (2, 1)
    assert any(symbol.parents for symbol in parser.grammar.backbone.symbols.symbols)
    assert run_verb("train", treebank, "-o", model, "-q", "--method", "markov",
                    "--vertical", "3", "--horizontal", "0")[0] == 0  # fmt: skip
    binarise = ConstituencyParser.load(model).description["treebank"]["binarise"]
    assert (binarise["vertical"], binarise["horizontal"]) == (3, 0)


def test_cleaning_is_chosen_and_kept(tmp_path):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text("(S*1 (NP*SBJ (N*x dog) (N *0*)) (VP (V runs)))\n" * 3)
    options = ("--function-separators", "*", "--trace-words", "*0*", "--cut-tags")
    assert run_verb("train", path, "-o", model, "-q", *options)[0] == 0
    assert ConstituencyParser.load(model).cleaning.trace_words == ("*0*",)
    # The same cleaning serves the trees that are to be parsed.
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", path)
    assert code == 0
    assert out == "(S (NP (N dog)) (VP (V runs)))\n" * 3


def test_tuning_on_held_out_trees(tmp_path):
    path, model = tmp_path / "some.mrg", tmp_path / "model.egt"
    path.write_text("".join(f"{format_tree(tree)}\n" for tree in demo_trees()[:60]), "utf-8")
    held_out = tmp_path / "held_out.mrg"
    held_out.write_text("".join(f"{format_tree(tree)}\n" for tree in demo_trees()[60:68]))
    code, _, err = run_verb(
        "train", path, "-o", model, "--dev", held_out, "--tune", "--states", "2", "--no-tagger"
    )
    assert code == 0
    names = ("shrinkage", "smoothing", "word_smoothing")
    options = " ".join(f"--{name.replace('_', '-')} (\\S+)" for name in names)
    chosen = re.search(f"^chosen: {options}$", err, re.MULTILINE)
    assert chosen is not None
    spectral = ConstituencyParser.load(model).description["spectral"]
    found = [float(number) for number in chosen.groups()]
    assert found == [spectral[name] for name in names]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", (), "{path}: no trees to train on"),
        ("( (S (-NONE- *T*)) )\n(S (NP (-NONE- 0)))\n", (), "{path}: no trees to train on"),
        ("(())\n", (), "{path}: no trees to train on"),
        ("(S (NN dog)\n", (), "{path}:1:"),
        (None, (), "{path}: can't be read: No such file"),
        (TREES, ("--dev", "{folder}/none"), "none: can't be read: No such file"),
        (TREES, ("--dev", "{folder}/empty"), "empty: no trees to score on"),
        (TREES, ("--tune",), "--tune requires held-out trees; name them with --dev"),
        (TREES, ("--tune", "--dev", "{path}", "--method", "pcfg"), "--tune is for --method spec"),
        (TREES, ("--jobs", "2"), "--jobs is for --method em and spectral+em and for --opt"),
        (TREES, ("--iterations", "2", "--method", "pcfg"), "not for pcfg"),
        (TREES, ("--heads", "{folder}/none"), "none"),
        (TREES, ("--smoothing", "-1"), "smoothing is -1.0; it must be at least 0"),
        (TREES, ("--smoothing", "nan"), "smoothing is nan; it must be at least 0"),
        (TREES, ("--shrinkage", "inf"), "shrinkage is inf; it must be at least 0"),
        (TREES, ("--kappa", "nan"), "kappa is nan; it must be at least 0"),
        (TREES, ("--word-smoothing", "2"), "word_smoothing is 2.0; it must be between"),
        (TREES, ("--function-separators", "a"), "function separators 'a' hold a letter"),
    ],
)
def test_what_cannot_be_trained(tmp_path, content, options, message):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    (tmp_path / "empty").write_text("")
    if content is not None:
        path.write_text(content)
    given = [option.format(path=path, folder=tmp_path) for option in options]
    code, out, err = run_verb("train", path, "-o", model, "-q", *given)
    assert (code, out) == (2, "")
    assert message.format(path=path) in err
    assert err.count("\n") == 1
    assert not model.exists()


@pytest.mark.parametrize("place", ["missing/model.egt", "file/model.egt", "."])
def test_a_place_without_room_is_told_before_the_work(treebank, tmp_path, place):
    (tmp_path / "file").write_text("")
    code, out, err = run_verb("train", treebank, "-o", tmp_path / place)
    assert (code, out) == (2, "")
    assert err == (
        f"eigentree: {tmp_path / place}: can't be written; name a file in a writable folder\n"
    )


@pytest.mark.parametrize("option", [(), ("--dev",)])
def test_a_treebank_is_never_replaced_by_a_model(treebank, tmp_path, option):
    other = tmp_path / "other.mrg"
    other.write_text(TREES)
    link = tmp_path / "link.egt"
    link.symlink_to(treebank)
    files = (other, *option, treebank) if option else (treebank,)
    for place in (treebank, link):
        code, out, err = run_verb("train", *files, "-o", place)
        assert (code, out) == (2, "")
        assert err.startswith(
            f"eigentree: {place}: is an input file, which the model would replace"
        )
    assert treebank.read_text("utf-8") == TREES


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


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "inspect"])
def test_a_reader_that_leaves_a_report_is_no_news(verb, model, treebank):
    file = str(model if verb == "inspect" else treebank)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*EIGENTREE, verb, file], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_labels_like_markup_are_shown_as_they_are(tmp_path):
    trees, place = tmp_path / "odd.mrg", tmp_path / "odd.egt"
    trees.write_text("([bold] ([b] the) (:cat: dog))\n")
    assert run_verb("train", trees, "-o", place, "--method", "pcfg", "--no-tagger", "-q")[0] == 0
    for out in (run_verb("inspect", place)[1], run_verb("check", trees)[1]):
        assert "[bold]" in out
        assert "[b]" in out
        assert ":cat:" in out


def test_one_of_anything_is_singular(tmp_path):
    path, model = tmp_path / "one.mrg", tmp_path / "one.egt"
    path.write_text("% note\n(NP (NN dog))\n")
    code, _, err = run_verb("train", path, "-o", model, "--dev", path, "--no-tagger")
    assert code == 0
    assert f"1 notice, the first: {path}:1:1: comment passed over" in err
    assert "\n1 tree\n" in err
    assert "0 fall-backs in 1 sentence\n" in err
    assert "trained on 1 tree, 1 word, seed 0" in run_verb("inspect", model)[1]
    _, out, _ = run_verb("check", path)
    shown = [" ".join(line.split()) for line in out.split("\n")]
    assert {"1 tree", "1 word", "1 distinct word", "1 notice", "1 phrase"} <= set(shown)
    assert not re.search(r"\b1 [a-z]+s\b", out)
    _, _, err = run_verb("draw", path, "--only", "2")
    assert err == f"eigentree: {path}: has 1 tree; there is no tree 2\n"


def test_nothing_is_suggested_for_no_trees(tmp_path):
    empty = tmp_path / "empty.mrg"
    empty.write_text("\n")
    code, out, err = run_verb("check", empty)
    assert (code, out.split(), err) == (0, ["0", "trees"], "")
    assert json.loads(run_verb("check", empty, "--json")[1])["suggestions"] == []


@pytest.mark.slow
def test_trees_from_a_pipe(tmp_path):
    command = [*EIGENTREE, "train", "-", "-o", str(tmp_path / "model.egt"), "-q", "--no-tagger"]
    done = subprocess.run(command, input=TREES.encode(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert ConstituencyParser.load(tmp_path / "model.egt").description["trees"] == 3


def test_stages_end_when_training_fails(treebank, tmp_path, monkeypatch):
    ended: list[str] = []

    @contextlib.contextmanager
    def bar(doing, total=None, *, quiet=False):
        assert (total, quiet) == (100, False)
        try:
            yield lambda steps: None  # noqa: ARG005
        finally:
            ended.append(doing)

    def fail(*_arguments, **_options):
        raise ArithmeticError("no convergence")

    monkeypatch.setattr("eigentree.cli._training.progress", bar)
    monkeypatch.setattr("eigentree.words.tagger.Tagger.train", fail)
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "model.egt")
    assert code == 1
    assert "ArithmeticError: no convergence" in err
    assert ended == ["binary trees", "projections", "rules", "words"]
    monkeypatch.setattr("eigentree.constituency.estimators.spectral.learn_spectral", fail)
    assert run_verb("train", treebank, "-o", tmp_path / "model.egt")[0] == 1
    assert ended == ["binary trees", "projections", "rules", "words", "binary trees"]


def test_malformed_trees_can_be_skipped(tmp_path):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text(TREES + "(S (S 1) + (S 2))\n" + TREES)
    code, _, err = run_verb("train", path, "-o", model, "-q", "--on-error", "skip", "--dev", path)
    assert code == 0
    assert err.count(f"eigentree: skipped: {path}:4:") == 2  # as training and as held-out trees
    assert ConstituencyParser.load(model).description["trees"] == 6


@pytest.mark.parametrize("text", ["(S (A a) (B b))\n", "(A a)\n(B b)\n", "( (S (A a)) )\n"])
def test_the_smallest_treebanks(tmp_path, text):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text(text)
    assert run_verb("train", path, "-o", model, "-q", "--dev", path) == (0, "", "")
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", path)
    assert code == 0
    assert [parse_tree(line) for line in out.splitlines()] == [
        parse_tree(line) for line in text.splitlines()
    ]
    assert run_verb("inspect", model)[0] == 0


def test_dev_trees_that_vanish_are_left_out(tmp_path):
    path, dev = tmp_path / "in.mrg", tmp_path / "dev.mrg"
    path.write_text(TREES)
    dev.write_text("( (S (-NONE- *)) )\n" + TREES)
    code, _, err = run_verb("train", path, "-o", tmp_path / "model.egt", "--dev", dev)
    assert code == 0
    assert "F1 100.00 (EVALB, all lengths), 0 fall-backs in 3 sentences" in err


# train: numbers of states -----------------------------------------------------------------


@pytest.fixture
def parts(tmp_path) -> tuple[Path, Path]:
    """The first trees of the demonstration treebank, to learn from and held out."""
    paths = tmp_path / "part.mrg", tmp_path / "part-dev.mrg"
    for path, first, last in zip(paths, (0, 80), (80, 105), strict=True):
        path.write_text("".join(f"{format_tree(tree)}\n" for tree in demo_trees()[first:last]))
    return paths


@pytest.mark.slow
def test_states_are_optimised_and_can_be_asked_for_again(parts, tmp_path):
    trees, dev = parts
    model = tmp_path / "model.egt"
    options = ("--states", "3", "--optimise-states", "--beam", "2", "--jobs", "2", "--no-tagger")
    code, _, err = run_verb("train", trees, "-o", model, "--dev", dev, *options)
    assert code == 0
    told = re.search(r"^chosen: --states-of (\S+) \(F1 (\S+) to (\S+)\)$", err, re.MULTILINE)
    assert told is not None
    assert float(told[3]) > float(told[2])
    assert f"gold tags: F1 {told[3]} (EVALB" in err
    code, out, _ = run_verb("inspect", model, "--json")
    report = json.loads(out)
    search = report["trained"]["state_search"]
    assert search["settings"]["beam"] == 2
    assert {row["beside"] for row in search["record"]} == {0, 1}
    assert f"{100 * search['f1']:.2f}" == told[3]
    states = {row["nonterminal"]: row["states"] for row in report["nonterminals"]}
    for entry in told[1].split(","):
        name, number = entry.split("=")
        assert states[name] == int(number)
    code, out, _ = run_verb("inspect", model)
    assert f"F1 on held-out trees: {told[2]} before, {told[3]} after" in out
    assert re.search(r"^ NP +\d+  1?\d: \d\d\.\d\d  ", out, re.MULTILINE)
    again = tmp_path / "again.egt"
    options = ("--states", "3", "--states-of", told[1], "--no-tagger", "-q")
    assert run_verb("train", trees, "-o", again, *options) == (0, "", "")
    grammars = [ConstituencyParser.load(path).grammar for path in (model, again)]
    assert grammars[0].n_states.tolist() == grammars[1].n_states.tolist()
    assert grammars[0].parameters.dense.tolist() == grammars[1].parameters.dense.tolist()


def test_nothing_better_is_told_too(tmp_path, treebank):
    options = ("--optimise-states", "--dev", treebank, "--no-tagger")
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "model.egt", *options)
    assert code == 0
    same = "chosen: the same states as without --optimise-states (F1 100.00 to 100.00)\n"
    assert same in err


def test_names_of_states_may_hold_what_parts_them(tmp_path):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text("(S (A=B a) (, ,) (C c) (= =) (D=2 d))\n" * 20 + "(S (A=B x) (C c) (D=2 z))\n")
    given = ("--states-of", "A=B=2,,=1, @S[,]=2 ==1", "--states-of", "D=2=3,")
    options = ("--horizontal", "1", "--cut-tags", "--function-separators", "-", "--no-tagger")
    code, _, err = run_verb("train", path, "-o", model, "-q", *given, *options)
    assert (code, err) == (0, "")
    assert ConstituencyParser.load(model).description["spectral"]["states_of"] == {
        "A=B": 2,
        ",": 1,
        "@S[,]": 2,
        "=": 1,
        "D=2": 3,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--optimise-states"], "--optimise-states requires held-out trees; name them with --dev"),
        (
            ["--optimise-states", "--method", "em", "--dev", "x"],
            "--optimise-states is for --method spectral, not for em",
        ),
        (["--beam", "2"], "--beam requires --optimise-states"),
        (
            ["--states-of", "NP=2,VP"],
            "--states-of must be names with numbers of states, as NP=32,VP=48 .got 'VP'",
        ),
        (["--states-of", "NP=0"], "states_of gives 'NP' 0; it must be at least 1"),
        (["--states-of", "NX=2"], "has the name 'NX', which is not a nonterminal"),
        (["--states-of", "NP=2", "--method", "pcfg"], "--states-of is for .*, not for pcfg"),
        (["--cut", "0.1", "--method", "em"], "--cut is for .*, not for em"),
        (["--kappa", "1", "--method", "em"], "--kappa is for .*, not for em"),
        (["--shrinkage", "1", "--method", "pcfg"], "--shrinkage is for .*, not for pcfg"),
        (
            ["--word-smoothing", "1", "--method", "spectral+em"],
            "--word-smoothing is for --method spectral and clustering, not for spectral.em\n",
        ),
        (["--states", "2", "--method", "pcfg"], "--states is for .*, not for pcfg"),
        (["--smoothing", "2", "--method", "markov"], "--smoothing is for .*, not for markov"),
        (["--unseen-rules", "--method", "pcfg"], "--unseen-rules is for .*, not for pcfg"),
        (["--cut", "1.5"], r"cut is 1.5; it must be at least 0 and below 1"),
        (["--rank", "2"], "--rank is for --method clustering, not for spectral"),
        (["--restarts", "2", "--method", "em"], "--restarts is for .*, not for em"),
        (["--assignment", "soft"], "--assignment is for --method clustering"),
        (["--noise", "dropout"], "--noise and --sigma require each other"),
        (["--sigma", "0.1"], "--noise and --sigma require each other"),
        (
            ["--noise", "dropout", "--sigma", "0.1", "--method", "em"],
            "--noise is for --method spectral and clustering, not for em",
        ),
        (["--noise", "additive", "--sigma", "inf"], "sigma is inf; it must be from 0 to"),
        (["--noise", "dropout", "--sigma", "1"], "sigma is 1.0; with dropout it must be"),
    ],
)
def test_states_that_can_t_be_had(tmp_path, treebank, options, message):
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "model.egt", "-q", *options)
    assert code == 2
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_a_cut_takes_states_and_inspect_shows_where(tmp_path, parts):
    model = tmp_path / "model.egt"
    options = ("--states", "12", "--cut", "0.3", "--no-tagger", "-q")
    assert run_verb("train", parts[0], "-o", model, *options)[0] == 0
    rows = json.loads(run_verb("inspect", model, "--json")[1])["nonterminals"]
    assert any(row["states"] < len(row["singular_values"]) <= 12 for row in rows)
    for row in rows:
        values, n = row["singular_values"], row["states"]
        assert values[n - 1] > 0.3 * values[0]
        assert all(value <= 0.3 * values[0] for value in values[n:])
    out = run_verb("inspect", model, "--limit", "1")[1]
    assert re.search(r"█[▁-█]*│[▁-█]+ ", out)
    out = run_verb("inspect", model, "--limit", "1", "--ascii")[1]
    assert re.search(r" #[-_.:=+*#]*\|[-_.:=+*#]+ ", out)
    assert out.isascii()


def test_clustering_with_all_its_options(tmp_path, parts):
    model = tmp_path / "model.egt"
    options = {"states": 5, "rank": 4, "restarts": 2, "assignment": "soft", "cut": 0.01}
    options |= {"shrinkage": 1.5, "smoothing": 3.0, "word-smoothing": 12.0}
    arguments = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    arguments += ["--method", "clustering", "--noise", "additive", "--sigma", "0.1"]
    assert run_verb("train", parts[0], "-o", model, *arguments, "--no-tagger", "-q")[0] == 0
    report = json.loads(run_verb("inspect", model, "--json")[1])
    assert report["signed"] is False
    settings = report["trained"]["clustering"]
    assert {name.replace("-", "_"): value for name, value in options.items()}.items() <= (
        settings.items()
    )
    assert report["trained"]["noise"] == {"scheme": "additive", "sigma": 0.1}
    sizes = report["sizes"]
    assert sizes["rules kept as counts"] == sizes["binary rules"] - sizes["rules never seen"]
    assert max(row["states"] for row in report["nonterminals"]) == 5
    shown = run_verb("inspect", model, "--limit", "1")[1]
    assert "\nnoise\n  scheme: additive\n" in shown
    assert "\nclustering\n" in shown


# inspect ----------------------------------------------------------------------------------


def test_inspect_as_json(model):
    code, out, err = run_verb("inspect", model, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["trained"]["trees"] == len(demo_trees())
    assert report["bytes"] == model.stat().st_size
    assert report["signed"] is True
    assert report["wrapper"] == ""
    assert len(report["nonterminals"]) == report["sizes"]["nonterminals"]
    counts = [row["count"] for row in report["nonterminals"]]
    assert counts == sorted(counts, reverse=True)
    assert sum(row["states"] for row in report["nonterminals"]) == report["sizes"]["latent states"]
    assert sum(row["rules"] for row in report["nonterminals"]) == report["sizes"]["binary rules"]
    assert report["nonterminals"][0]["singular_values"] == sorted(
        report["nonterminals"][0]["singular_values"], reverse=True
    )


def test_inspect_for_people(model):
    code, out, err = run_verb("inspect", model, "--limit", "3")
    assert (code, err) == (0, "")
    assert f"trained on {len(demo_trees())} trees" in out
    table = out[out.index("nonterminal ") :].splitlines()
    assert len([line for line in table if line.strip()]) == 4


@pytest.mark.parametrize("method", ["spectral", "em"])
def test_rules_never_seen_can_be_left_out(tmp_path, method):
    # VP -> VBZ NP and VP -> VBD NP+NN; what lacks is each verb with the other noun phrase.
    path = tmp_path / "in.mrg"
    path.write_text(
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))))\n"
        "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NN dogs))))\n"
    )
    for option, n_new in (("--unseen-rules", 2), ("--no-unseen-rules", 0)):
        model = tmp_path / "model.egt"
        arguments = ("--method", method, "--states", "2", "--no-tagger", "-q")
        assert run_verb("train", path, "-o", model, *arguments, option) == (0, "", "")
        report = json.loads(run_verb("inspect", model, "--json")[1])
        sizes = report["sizes"]
        assert sizes["rules never seen"] == n_new
        assert (sizes["binary rules"], sizes["rules kept as samples"]) == (4 + n_new, 0)
        settings = asdict(UnseenRuleOptions()) if n_new else None
        assert report["trained"]["unseen"] == settings
        _, shown, _ = run_verb("inspect", model)
        assert ("\nunseen\n  chance: 50.0\n" in shown) is bool(n_new)
        _, out, err = run_verb("parse", "-m", model, "--input-format", "tagged", write(tmp_path))
        assert ("fall-back" in err) is not bool(n_new)
        if n_new:
            assert out == "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NN dogs))))\n"


def write(folder: Path) -> Path:
    """A sentence of which no tree has only rules that were seen."""
    path = folder / "sentence.txt"
    path.write_text("the_DT cat_NN sees_VBZ dogs_NN\n")
    return path


@pytest.mark.parametrize("method", ["pcfg", "markov"])
def test_inspect_a_pcfg(treebank, tmp_path, method):
    model = tmp_path / "pcfg.egt"
    assert run_verb("train", treebank, "-o", model, "-q", "--method", method)[0] == 0
    report = json.loads(run_verb("inspect", model, "--json")[1])
    assert report["signed"] is False
    assert {row["states"] for row in report["nonterminals"]} == {1}


def test_inspect_a_parser_that_tells_nothing(tmp_path):
    model = tmp_path / "bare.egt"
    ConstituencyParser(demo_parser().grammar).save(model)
    for options in ((), ("--json",)):
        code, out, err = run_verb("inspect", model, *options)
        assert (code, err) == (0, "")
        assert out
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", HELD_OUT)
    assert code == 0
    assert isinstance(parse_tree(out.splitlines()[0]), Tree)
