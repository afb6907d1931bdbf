"""The verbs calibrate and reliability, and what parse tells of confidence."""

from __future__ import annotations

import json
import xml.etree.ElementTree
from pathlib import Path

import pytest

from eigentree.constituency.parser import ConstituencyParser
from tests.demo import HELD_OUT, demo_parser, run_verb

SENTENCES = ["The dog sees the old cat .", "", "????", "The dog sees the old cat .", "😀 zorgle"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model, the same calibrated, and sentences."""
    folder = tmp_path_factory.mktemp("calibrate")
    demo_parser().save(folder / "plain.egt")
    (folder / "sentences.txt").write_text("".join(f"{line}\n" for line in SENTENCES), "utf-8")
    held_out = HELD_OUT.read_text("utf-8").splitlines(keepends=True)
    (folder / "dev.mrg").write_text("".join(held_out[:40]), "utf-8")
    (folder / "test.mrg").write_text("".join(held_out[40:70]), "utf-8")
    code, out, err = run_verb(
        "calibrate", folder / "plain.egt", folder / "dev.mrg", "-o", folder / "model.egt"
    )
    assert code == 0
    assert "dev.mrg: 40 trees, fewer than 300, so the curves stay close to the raw" in err
    (folder / "table").write_text(out, "utf-8")
    return folder


def parsed(folder: Path, *options: str | Path) -> tuple[str, str]:
    code, out, err = run_verb(
        "parse", "-m", folder / "model.egt", folder / "sentences.txt", *options
    )
    assert code == 0
    return out, err


@pytest.mark.slow
def test_the_table_reports_raw_and_calibrated_of_both_ways(folder):
    header, *rows = (folder / "table").read_text("utf-8").splitlines()
    assert header.split()[:2] == ["number", "confidence,"]
    names = [row.split("  ")[0] for row in rows]
    assert names == [
        f"{condition} {of}, {kind}"
        for condition in ("tagged", "untagged")
        for of in ("brackets", "trees")
        for kind in ("raw", "calibrated")
    ]


@pytest.mark.slow
def test_a_calibrated_model_parses_alike(folder):
    _, plain, _ = run_verb("parse", "-m", folder / "plain.egt", folder / "sentences.txt", "-q")
    assert parsed(folder, "-q")[0] == plain


def test_confidence_in_columns(folder):
    lines = parsed(folder, "-q")[0].split("\n")[:-1]
    out, err = parsed(folder, "--confidence")
    columns = [line.split("\t") for line in out.split("\n")[:-1]]
    assert [row[2] for row in columns] == lines
    parser = ConstituencyParser.load(folder / "model.egt")
    for words, (mean, exact, _) in zip(SENTENCES, columns, strict=True):
        told = parser.parse(words.split()).calibrated
        expected = ["", ""] if told is None else [f"{value:.4f}" for value in told]
        assert [mean, exact] == expected
    assert "not calibrated" not in err


@pytest.mark.parametrize("options", [(), ("--objective", "rules"), ("--threshold", "1e-3")])
def test_what_is_not_calibrated_is_said_to_be(folder, options):
    model = "model.egt" if options else "plain.egt"
    code, out, err = run_verb(
        "parse", "-m", folder / model, folder / "sentences.txt", "--confidence", *options
    )
    assert code == 0
    assert "confidences are not calibrated for this model" in err
    parser = ConstituencyParser.load(folder / "plain.egt")
    if not options:
        assert out.startswith(f"{parser.parse(SENTENCES[0].split()).confidence:.4f}\t")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_least_sure_come_first_and_equals_in_their_order(folder, jobs):
    lines = parsed(folder, "-q")[0].split("\n")[:-1]
    out, _ = parsed(folder, "-q", "--sort-by-confidence", "--jobs", str(jobs))
    rows = [line.split("\t") for line in out.split("\n")[:-1]]
    numbers = [int(row[0]) for row in rows]
    assert sorted(numbers) == [1, 2, 3, 4, 5]
    assert [row[3] for row in rows] == [lines[number - 1] for number in numbers]
    results = [demo_parser().parse(words.split()) for words in SENTENCES]
    sure = [-1.0 if each.tree_confidence is None else each.tree_confidence for each in results]
    assert numbers == sorted(range(1, 6), key=lambda number: sure[number - 1])
    assert numbers.index(1) + 1 == numbers.index(4)  # the same sentence twice
    told = [float(row[2]) for row in rows if row[2]]
    assert told == sorted(told)


def test_json_reports_all(folder):
    out, _ = parsed(folder, "-q", "--output-format", "json")
    sorted_out, _ = parsed(folder, "-q", "--output-format", "json", "--sort-by-confidence")
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    for line in sorted_out.split("\n")[:-1]:
        record = json.loads(line)
        assert records[record.pop("number") - 1] == record
    for record in records:
        assert (record["calibrated"] is None) == (not record["brackets"])
        assert all(0 <= each["calibrated"] <= 1 for each in record["brackets"])
    assert set(records[0]["calibrated"]) == {"confidence", "exact"}


def table_of(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_marginals_in_a_table(folder, tmp_path, jobs):
    path = tmp_path / "marginals.tsv"
    options = ("--marginals", path, "--min-marginal", "0", "--jobs", str(jobs))
    out, err = parsed(folder, *options)
    assert out == parsed(folder, "-q")[0]
    header, *rows = table_of(path)
    # The grammar is a spectral one, so these are no probabilities and not called so.
    assert header == ["sentence", "start", "end", "label", "value", "in_tree"]
    assert [int(row[0]) for row in rows] == sorted(int(row[0]) for row in rows)
    for number, words in enumerate(SENTENCES, start=1):
        result = demo_parser().parse(words.split(), marginals=0.0)
        own = [row[1:] for row in rows if row[0] == str(number)]
        found = [(label, int(start), int(end)) for start, end, label, _, _ in own]
        assert found == [each[:3] for each in result.marginals]
        in_tree = {name for name, row in zip(found, own, strict=True) if row[4] == "1"}
        assert in_tree == {each[:3] for each in result.brackets}
        for row, each in zip(own, result.marginals, strict=True):
            assert abs(float(row[3]) - each.marginal) <= 1e-5 * max(1.0, abs(each.marginal))
    results = [demo_parser().parse(words.split(), marginals=0.0) for words in SENTENCES]
    values = [each.marginal for result in results for each in result.marginals]
    n_outside = sum(not -1e-9 <= value <= 1 + 1e-9 for value in values)
    assert n_outside > 0
    assert f"{n_outside} of {len(values)} values are outside 0 to 1: they are no prob" in err


def test_marginals_of_probabilities_are_called_so(folder, tmp_path):
    from tests.demo import demo_trees

    ConstituencyParser.train(demo_trees()[:100], method="pcfg", wrapper="").save(
        tmp_path / "pcfg.egt"
    )
    path = tmp_path / "marginals.tsv"
    code, _, err = run_verb(
        "parse", "-m", tmp_path / "pcfg.egt", folder / "sentences.txt", "--marginals", path
    )
    assert code == 0
    header, *rows = table_of(path)
    assert header[4] == "marginal"
    assert all(0.01 <= float(row[4]) <= 1 for row in rows)
    assert "outside" not in err


def test_a_table_is_whole_or_not_there(folder, tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"The dog\n\xff\xfe\n")
    path = tmp_path / "marginals.tsv"
    code, _, _ = run_verb(
        "parse", "-m", folder / "model.egt", bad, "--objective", "viterbi", "--marginals", path
    )
    assert code == 2
    assert list(tmp_path.iterdir()) == [bad]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--confidence", "--kbest", "2"), "--confidence requires"),
        (("--confidence", "--output-format", "json"), "--confidence requires"),
        (("--sort-by-confidence", "--output-format", "drawing"), "--sort-by-confidence requires"),
        (("--marginals", "out", "--min-marginal", "-1"), "minimum of marginals is -1.0"),
        (("--marginals", "-"), "can't hold both trees and marginals"),
    ],
)
def test_options_that_do_not_fit(folder, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_verb(
        "parse", "-m", folder / "model.egt", folder / "sentences.txt", *options
    )
    assert (code, out) == (2, "")
    assert message in err
    assert list(tmp_path.iterdir()) == []


# Reliability ------------------------------------------------------------------------------


def test_reliability_in_a_table_a_picture_and_json(folder, tmp_path):
    picture = tmp_path / "reliability.svg"
    model, trees = folder / "model.egt", folder / "test.mrg"
    code, out, _ = run_verb("reliability", model, trees, "-q", "--picture", picture)
    assert code == 0
    rows = out.splitlines()
    names = [row.split("  ")[0] for row in rows[1:]]
    assert names == ["brackets, raw", "brackets, calibrated", "trees, raw", "trees, calibrated"]
    drawn = xml.etree.ElementTree.parse(picture).getroot()
    texts = {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {*names, "accuracy"}
    code, out, _ = run_verb("reliability", model, trees, "-q", "--json")
    told = json.loads(out)
    assert told["way"] == "tagged"
    for name in names:
        one = told[name]
        assert sum(each["size"] for each in one["bins"]) == one["size"]
        error = sum(each["size"] * abs(each["mean"] - each["share"]) for each in one["bins"])
        assert abs(error / one["size"] - one["error"]) < 1e-12
    _, out, _ = run_verb(
        "reliability", folder / "plain.egt", trees, "-q", "--ignore-tags", "--json"
    )
    assert set(json.loads(out)) == {"model", "trees", "way", "brackets, raw", "trees, raw"}
    assert json.loads(out)["way"] == "untagged"
