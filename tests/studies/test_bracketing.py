"""Studies of bracketing: what they stand for, and that their figures are those of the parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigentree.bracketing.learn.ccm import ConstituentContextOptions, learn_constituent_context
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.root_split import gold_top_bracket
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.evaluation import baselines
from eigentree.evaluation.unlabelled import gold_bracketing, score_unlabelled
from eigentree.studies import bracketing, make_study, run_study
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.io.unlabelled import Bracketing, bracketing_of
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.universal_tags import tag_map
from eigentree.words.brown import BrownOptions, learn_brown
from tests.demo import HELD_OUT, TREEBANK, run_verb

MODELS = [
    {"method": "metric", "clusters": 8, "rank": [2, 7], "top": ["verbs", "gold"]},
    {"method": "metric", "name": "cca", "words": "cca", "dimensions": 4},
    {"method": "constituent-context", "longest": 10, "iterations": 3},
    {"method": "constituent-context", "name": "by length", "iterations": 3},
    {
        "method": "constituent-context",
        "name": "crossed",
        "tags": "universal",
        "clusters": 4,
        "longest": 8,
        "start": "random",
        "iterations": 2,
    },
    {"method": "left"},
    {"method": "right"},
    {"method": "random"},
    {"method": "best-binary"},
]
NAMES = [
    "metric, rank 2, top verbs",
    "metric, rank 2, top gold",
    "metric, rank 7, top verbs",
    "metric, rank 7, top gold",
    "cca",
    "constituent-context",
    "by length",
    "crossed, seed 0",
    "crossed, seed 5",
    "left",
    "right",
    "random, seed 0",
    "random, seed 5",
    "best-binary",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    for name, source, n in (("text", TREEBANK, 80), ("test", HELD_OUT, 25)):
        trees = source.read_text("utf-8").split("\n(")[:n]
        (folder / f"{name}.mrg").write_text("\n(".join(trees) + "\n", encoding="utf-8")
    return folder


def study(folder: Path, *models: dict, **given: object):
    tables = {
        "kind": "bracketing",
        "text": folder / "text.mrg",
        "tests": {"text": folder / "text.mrg", "test": [folder / "test.mrg"]},
        "lengths": [8, 12],
        "samples": 20,
        "seeds": [0, 5],
    }
    return make_study({**tables, "model": list(models or MODELS), **given})


@pytest.fixture(scope="module")
def result(folder, tmp_path_factory):
    return run_study(study(folder), tmp_path_factory.mktemp("study"))


def f1(result, name: str, test: str, limit: int | None, convention: str = "klein-manning"):
    record = next(each for each in result.figures["records"] if each["name"] == name)
    return next(
        each["f1"]
        for each in record["scores"][test]["figures"]
        if (each["longest"], each["convention"]) == (limit, convention)
    )


def gold_of(folder: Path, part: str = "test"):
    trees = read_treebank(folder / f"{part}.mrg", cleaning=CleaningOptions(cut_tags=True)).trees
    marks = {tag for tree in trees for tag in tree.tags() if tag_map("penn").is_punctuation(tag)}
    return trees, [gold_bracketing(tree, punctuation=marks) for tree in trees]


@pytest.mark.slow
def test_a_model_has_a_run_for_each_combination_of_its_numbers(folder, result):
    made = study(folder)
    assert [run.name for run in made.runs()] == NAMES
    assert len({run.digest({}) for run in made.runs()}) == len(NAMES)
    assert [each["name"] for each in result.figures["records"]] == NAMES
    assert result.failures == {}
    assert made.limits == [8, 12, None]
    assert study(folder, longest=10).limits == [8, 10]
    assert study(folder, longest=12).limits == [8, 12]


@pytest.mark.slow
def test_distances_are_scored_as_the_parser_brackets(folder, result):
    text = read_treebank(folder / "text.mrg", cleaning=CleaningOptions(cut_tags=True)).trees
    words = [[word.lower() for word in tree.words()] for tree in text]
    vectors = learn_brown(words, BrownOptions(8)).vectors()
    parser = BracketingParser.train(
        [(tree.words(), tree.tags()) for tree in text], method="metric", vectors=vectors
    )
    trees, gold = gold_of(folder)
    for how in ("verbs", "gold"):
        parses = []
        for tree in trees:
            top = gold_top_bracket(tree, tag_map("penn")) if how == "gold" else None
            parses.append(bracketing_of(parser.parse(tree.words(), tree.tags(), top=top).tree))
        expected = score_unlabelled(gold, parses, lengths=(8, 12))
        for convention in ("klein-manning", "sentence"):
            for limit in (8, 12, None):
                found = f1(result, f"metric, rank 7, top {how}", "test", limit, convention)
                assert found == pytest.approx(expected.figure(convention, limit).f1)


def test_each_length_has_its_context_model_unless_one_is_requested(folder, result):
    text, _ = gold_of(folder, "text")
    is_mark = tag_map("penn").is_punctuation
    sentences = [[tag for tag in tree.tags() if not is_mark(tag)] for tree in text]
    _, gold = gold_of(folder)
    for name, longest_of in (
        ("constituent-context", {}),
        ("by length", {8: 8, 12: 12, None: None}),
    ):
        for limit in (8, 12, None):
            longest = longest_of.get(limit, 10)
            model = learn_constituent_context(sentences, ConstituentContextOptions((longest,), 3))
            parses = [Bracketing(one.words, model.brackets(one.tags)) for one in gold]
            expected = score_unlabelled(gold, parses, lengths=(8, 12))
            found = f1(result, name, "test", limit)
            assert found == pytest.approx(expected.figure("klein-manning", limit).f1)


def test_what_knows_nothing_is_scored_besides(folder, result):
    _, gold = gold_of(folder)
    for name, tree_of in (
        ("left", lambda one: baselines.left_branching(len(one.words))),
        ("right", lambda one: baselines.right_branching(len(one.words))),
        ("best-binary", lambda one: baselines.binary_completion(one.spans, len(one.words))),
    ):
        parses = [Bracketing(one.words, tree_of(one)) for one in gold]
        expected = score_unlabelled(gold, parses, lengths=())
        assert f1(result, name, "test", None) == expected.figure("klein-manning", None).f1
    names = [each["name"] for each in result.figures["records"]]
    best = {name: f1(result, name, "test", None) for name in names}
    assert max(best.values()) == best["best-binary"]
    assert best["random, seed 0"] != best["random, seed 5"]
    assert f1(result, "crossed, seed 0", "test", None) != f1(
        result, "crossed, seed 5", "test", None
    )


def test_brackets_of_another_program_are_paired_by_their_words(folder, tmp_path):
    _, gold = gold_of(folder)
    lines = []
    for one in reversed(gold):
        spans = " ".join(f"{start}-{end}" for start, end in sorted(one.spans))
        lines.append(f"{' '.join(one.words)}\t{spans}\n")
    (tmp_path / "other.txt").write_text("".join(lines[1:]), "utf-8")
    other = {"method": "brackets", "brackets": tmp_path / "other.txt", "notation": "spans"}
    tests = {"test": folder / "test.mrg"}
    found = run_study(study(folder, other, tests=tests), tmp_path / "out")
    record = found.figures["records"][0]
    assert record["scores"]["test"]["without_parse"] == 1
    assert record["scores"]["test"]["figures"][-2]["precision"] == 1.0
    assert f1(found, "brackets", "test", None) < 1.0


def test_what_is_done_is_not_done_again(folder, tmp_path, monkeypatch):
    made = study(folder, {"method": "metric", "clusters": 4}, {"method": "left"})
    first = run_study(made, tmp_path / "out")
    done = []
    attempt = bracketing._evaluate

    def counting(settings, *rest):
        done.append(settings["model"])
        return attempt(settings, *rest)

    monkeypatch.setattr(bracketing, "_evaluate", counting)
    again = run_study(made, tmp_path / "out")
    assert done == []
    assert again.figures == first.figures
    more = study(
        folder, {"method": "metric", "clusters": 4}, {"method": "left"}, {"method": "right"}
    )
    run_study(more, tmp_path / "out")
    assert done == ["right"]


def test_a_model_that_fails_leaves_the_others_be(folder, tmp_path):
    broken = tmp_path / "vectors.txt"
    broken.write_text("a 1 2\nb 1\n", "utf-8")
    made = study(
        folder,
        {"method": "metric", "words": "vectors", "vectors": broken},
        {"method": "left"},
    )
    found = run_study(made, tmp_path / "out")
    assert list(found.failures) == ["metric"]
    assert [each["name"] for each in found.figures["records"]] == ["left"]
    assert "**Failed:** metric" in (tmp_path / "out/report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("models", "given", "message"),
    [
        ([{"method": "magic"}], {}, "method is 'magic'"),
        ([{"method": "metric", "states": 3}], {}, "states isn't a key"),
        ([{"method": "metric", "rank": 0}], {}, "rank"),
        ([{"method": "metric", "rank": [1, 1]}], {}, "different values"),
        ([{"method": "metric", "top": "nouns"}], {}, "top"),
        ([{"method": "metric", "words": "vectors"}], {}, "needs a file of vectors"),
        ([{"method": "left", "brackets": "a"}], {}, "does not use files of brackets"),
        ([{"method": "left"}, {"method": "left"}], {}, "2 models called 'left'"),
        ([{"method": "left"}], {"tests": {}}, "tests"),
        ([{"method": "left"}], {"text": []}, "text"),
        ([{"method": "left"}], {"lengths": [0]}, "lengths"),
    ],
)
def test_studies_without_meaning_are_refused(folder, models, given, message):
    with pytest.raises(SettingsError, match=message):
        study(folder, *models, **given)


def test_files_without_sentences_are_refused(folder, tmp_path):
    (tmp_path / "one.mrg").write_text("(S (NN a))\n", "utf-8")
    (tmp_path / "none.mrg").write_text("\n", "utf-8")
    made = study(folder, {"method": "left"}, tests={"one": tmp_path / "one.mrg"})
    with pytest.raises(TreebankFormatError, match="no sentence of two or more words"):
        run_study(made, tmp_path / "out")
    made = study(folder, {"method": "left"}, text=tmp_path / "none.mrg")
    with pytest.raises(TreebankFormatError, match="no trees"):
        run_study(made, tmp_path / "out")


def test_the_verb_runs_a_study_file(folder, tmp_path):
    path, out = tmp_path / "study.toml", tmp_path / "out"
    path.write_text(
        'kind = "bracketing"\ntext = ["text.mrg"]\nsamples = 10\n[tests]\ntest = "test.mrg"\n'
        '[[model]]\nmethod = "metric"\nclusters = 4\n[[model]]\nmethod = "left"\n',
        "utf-8",
    )
    code, told, err = run_verb("experiment", path, "--data", folder, "-o", out)
    assert code == 0
    assert told.endswith(f"report: {out}/report.html\n")
    assert "2 of 2 after" in err
    figures = json.loads((out / "results.json").read_text("utf-8"))
    assert figures["tag_map"] == "penn"
    assert figures["limits"] == [10, 20, 30, 40, None]
    code, _, err = run_verb("experiment", path, "--data", folder, "-o", out, "--states", "3")
    assert code == 2
    path.write_text('kind = "magic"\n', "utf-8")
    code, _, err = run_verb("experiment", path, "-o", out)
    assert code == 2
    assert "it must be one of constituency, dependencies, bracketing" in err
