"""The verb decompose: what it writes, says and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigentree.cli.constituency import inspect
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.parser import ConstituencyParser
from tests.demo import HELD_OUT, TREEBANK, run_verb


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("decompose") / "plain.egt"
    options = ("--method", "pcfg", "--quiet")
    assert run_verb("train", TREEBANK, "-o", path, *options)[0] == 0
    return path


@pytest.mark.slow
def test_a_model_is_decomposed_inspected_and_parses(model, tmp_path):
    path = tmp_path / "fast.egt"
    options = ("--rank", "40", "--restarts", "2", "--iterations", "30", "--seed", "4")
    code, out, err = run_verb("decompose", model, "-o", path, *options)
    assert (code, out) == (0, "")
    assert "fast.egt: 40 components, relative error 0." in err
    found = ConstituencyParser.load(path)
    expected = ConstituencyParser.load(model).in_kruskal_form(
        DecompositionOptions(40, iterations=30, restarts=2), seed=4
    )
    assert found.description == expected.description
    shown = run_verb("inspect", path)[1]
    for text in ("Kruskal form", "rank: 40", "relative error: 0.", "multiplications of a chart"):
        assert text in shown
    assert "bound of lemma 2" in shown
    assert "measured ratio" not in shown
    assert "measured ratio" in run_verb("inspect", path, "--measure")[1]
    told = json.loads(run_verb("inspect", path, "--json")[1])
    assert told["kruskal"]["rank"] == 40
    assert told["kruskal"]["bytes of a chart"]["40"] == found.kruskal.chart_bytes(40)
    bounds = told["kruskal"]["bounds"]
    assert bounds["error"] == found.description["decomposition"]["error"]
    assert bounds["words"]["10"]["sum of differences"] > bounds["error"]
    assert bounds["words"]["40"]["error for a sum of 0.1"] < 1e-6
    code, parsed, _ = run_verb(
        "parse", "--model", path, "--input-format", "trees", HELD_OUT, "--quiet"
    )
    assert code == 0
    assert len(parsed.splitlines()) == len(HELD_OUT.read_text().splitlines())


@pytest.mark.slow
def test_a_model_may_take_the_place_of_its_own_input(model, tmp_path):
    path, other = tmp_path / "own.egt", tmp_path / "other.egt"
    path.write_bytes(model.read_bytes())
    options = ("--rank", "5", "--iterations", "5", "-q")
    assert run_verb("decompose", path, "-o", path, *options) == (0, "", "")
    assert run_verb("decompose", model, "-o", other, *options) == (0, "", "")
    assert path.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_jobs_change_nothing(model, tmp_path):
    written = []
    for jobs in ("1", "2"):
        path = tmp_path / f"{jobs}.egt"
        options = ("--rank", "5", "--restarts", "3", "--iterations", "5", "--jobs", jobs, "-q")
        assert run_verb("decompose", model, "-o", path, *options) == (0, "", "")
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_single_precision_and_slices(model, tmp_path):
    path = tmp_path / "slices.egt"
    options = ("--method", "slices", "--rank", "9", "--single", "-q")
    assert run_verb("decompose", model, "-o", path, *options)[0] == 0
    assert "precision: float32" in run_verb("inspect", path)[1]


@pytest.mark.parametrize("place", ["none/x.egt", "."])
def test_a_place_that_cannot_be_written_is_reported_before_the_work(model, tmp_path, place):
    path = tmp_path / place
    code, out, err = run_verb("decompose", model, "-o", path)
    assert (code, out) == (2, "")
    assert err == f"eigentree: {path}: can't be written; name a file in a writable folder\n"


def test_one_component_is_called_one(model, tmp_path):
    err = run_verb("decompose", model, "-o", tmp_path / "x.egt", "--rank", "1")[2]
    assert "x.egt: 1 component, relative error 0.9" in err


@pytest.mark.slow
def test_forms_of_each_rule_are_inspected(tmp_path):
    trained, path = tmp_path / "em.egt", tmp_path / "each.egt"
    options = ("--method", "em", "--states", "3", "--iterations", "1", "--no-tagger", "-q")
    assert run_verb("train", TREEBANK, "-o", trained, *options)[0] == 0
    options = ("--each", "--iterations", "2", "-q")
    code, out, err = run_verb("decompose", trained, "-o", path, *options)
    assert (code, out) == (2, "")
    assert "of rank 260 would make smaller; the rank must be at most 2\n" in err
    assert run_verb("decompose", trained, "-o", path, *options, "--rank", "1")[0] == 0
    shown = run_verb("inspect", path)[1]
    for text in ("Kruskal form of each rule", "rank: 1", "method: apr", "relative error: 0."):
        assert text in shown
    assert "Kruskal form" not in run_verb("inspect", trained)[1]


def test_charts_shorter_than_a_tick_of_the_clock_are_measured(monkeypatch):
    charts = []
    monkeypatch.setattr(inspect.time, "process_time", lambda: len(charts) // 20 * 0.01)
    assert inspect._seconds(lambda: charts.append(None)) == pytest.approx(0.01 / 20, rel=0.05)
    assert len(charts) >= 400


@pytest.mark.slow
def test_what_cannot_be_decomposed_is_refused(tmp_path):
    spectral = tmp_path / "spectral.egt"
    options = ("--method", "spectral", "--states", "2", "--quiet")
    assert run_verb("train", TREEBANK, "-o", spectral, *options)[0] == 0
    code, out, err = run_verb("decompose", spectral, "-o", tmp_path / "x.egt", "-q")
    assert (code, out) == (2, "")
    assert "apr" in err
    assert not (tmp_path / "x.egt").exists()
    code, _, err = run_verb("inspect", spectral, "--measure")
    assert code == 2
    assert "--measure requires a model in Kruskal form" in err
    code, _, err = run_verb("decompose", tmp_path / "none.egt", "-o", tmp_path / "x.egt")
    assert code == 2
    assert "none.egt" in err
