"""Studies of dependency parsers: what they stand for, what is done once, what a failure costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eigentree.cli.app import app
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.studies import dependency, make_study, run_study
from tests.samples import text_of, treebank

MODELS = [
    {"method": "det"},
    {"method": "spectral", "states": [1, 2]},
    {"method": "em", "states": 2, "iterations": 2, "seeds": [0, 3]},
    {"method": "spectral", "lexical": "lex+f", "states": [1, 2]},
    {"method": "det", "lexical": "lex", "lexical_alone": True, "name": "words alone"},
]
NAMES = [
    "det",
    "spectral, 1 states",
    "spectral, 2 states",
    "em, 2 states",
    "em, 2 states, seed 3",
    "spectral and lex+f, 1 states",
    "spectral and lex+f, 2 states",
    "words alone",
]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("train", 60, 0), ("dev", 12, 1), ("test", 12, 2)):
        Path(f"{name}.conllu").write_text(text_of(treebank(n, seed)), "utf-8")
    return tmp_path


def study(*models: dict, **given: object):
    tables = {"kind": "dependencies", "train": "train.conllu", "dev": "dev.conllu"}
    return make_study({**tables, "model": list(models or MODELS), **given})


@pytest.fixture
def trainings(monkeypatch, folder) -> list[tuple]:  # noqa: ARG001 - the files must be there
    """Method and states of what was trained, but for the warming."""
    done: list[tuple] = []
    train = dependency.train_dependencies

    def counting(trees, options, **rest):
        if len(trees) > 20:
            done.append((options.automata.method, options.automata.states))
        return train(trees, options, **rest)

    monkeypatch.setattr(dependency, "train_dependencies", counting)
    return done


def test_a_model_has_a_run_for_each_number_of_states_and_seed():
    assert [run.name for run in study().runs()] == NAMES
    # Seeds of the study are for those that begin by chance.
    made = study({"method": "det"}, {"method": "em", "states": 2}, seeds=[1, 2])
    assert [run.name for run in made.runs()] == [
        "det", "em, 2 states, seed 1", "em, 2 states, seed 2"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("models", "given", "message"),
    [
        ([{"method": "magic"}], {}, "magic"),
        ([{"method": "det", "sizes": 3}], {}, "sizes"),
        ([{"method": "em", "states": 0}], {}, "states"),
        ([{"method": "det", "lexical_weight": 0}], {}, "lexical_weight"),
        (
            [{"method": "det"}, {"method": "det"}],
            {},
            "there are 2 models called 'det'; give each",
        ),
        ([{"method": "det"}], {"tags": "pos"}, "unknown tag scheme 'pos'"),
        ([{"method": "det"}], {"longest": 0}, "longest"),
        ([{"method": "det"}], {"more": 1}, "more"),
        ([], {"model": []}, "model"),
    ],
)
def test_wrong_studies_are_refused(models, given, message):
    with pytest.raises(SettingsError, match=message) as caught:
        study(*models, **given)
    assert str(caught.value).startswith("study: ")


def test_a_study_is_done_once_and_reported(trainings, folder):
    told = []
    result = run_study(study(test="test.conllu"), "out", progress=told.append)
    assert result.failures == {}
    assert [each["name"] for each in result.figures["records"]] == NAMES
    assert len(trainings) == len(NAMES)
    assert [each.done for each in told] == list(range(len(NAMES) + 1))
    for record in result.figures["records"]:
        assert set(record["scores"]) == {"dev", "test"}
        assert 0.3 < record["scores"]["dev"]["uas"] <= 1.0
        assert record["scores"]["dev"]["low"] <= record["scores"]["dev"]["uas"]
    assert json.loads((folder / "out/results.json").read_text()) == json.loads(
        json.dumps(result.figures)
    )
    page = (folder / "out/report.html").read_text()
    again = run_study(study(test="test.conllu"), "out")
    assert len(trainings) == len(NAMES)
    assert again.figures == result.figures
    assert (folder / "out/report.html").read_text() == page
    # Other data, or other settings, are other work.
    run_study(study({"method": "det"}, longest=6), "out")
    assert trainings[len(NAMES) :] == [("det", 6)]
    Path("dev.conllu").write_text(text_of(treebank(5, 8)), "utf-8")
    run_study(study({"method": "det"}, longest=6), "out")
    assert len(trainings) == len(NAMES) + 2


def test_a_failure_leaves_the_others_be(folder):  # noqa: ARG001
    models = [{"method": "spectral", "objective": "viterbi", "name": "bad"}, {"method": "det"}]
    result = run_study(study(*models), "out")
    assert list(result.failures) == ["bad, 6 states"]
    assert "viterbi requires probability automata" in result.failures["bad, 6 states"]
    assert [each["name"] for each in result.figures["records"]] == ["det"]
    assert "bad, 6 states" in result.report.read_text()


def test_sentences_may_be_too_long(folder):  # noqa: ARG001
    with pytest.raises(TreebankFormatError, match=r"dev\.conllu: no sentences of at most 1 word"):
        run_study(study({"method": "det"}, longest=1), "out")


# The verb --------------------------------------------------------------------------------

STUDY = """\
kind = "dependencies"
train = "train.conllu"
dev = "dev.conllu"

[[model]]
method = "det"
"""


def experiment(*arguments):
    return CliRunner().invoke(app, ["experiment", *map(str, arguments)])


def test_the_verb_runs_studies_by_their_kind(folder):
    (folder / "study.toml").write_text(STUDY, "utf-8")
    done = experiment("study.toml", "-o", "out")
    assert done.exit_code == 0
    assert done.stdout.endswith("report: out/report.html\n")
    assert "1 of 1 after" in done.stderr
    done = experiment("study.toml", "-o", "out")
    assert "1 of 1 runs were done before" in done.stderr
    (folder / "study.toml").write_text(
        STUDY + '[[model]]\nmethod = "spectral"\nobjective = "viterbi"\n', "utf-8"
    )
    done = experiment("study.toml", "-o", "out")
    assert done.exit_code == 1
    assert "eigentree: spectral, 6 states: the objective viterbi requires" in done.stderr


def test_the_verb_refuses_what_it_can_not_use(folder):
    (folder / "study.toml").write_text(STUDY.replace("dependencies", "spelling"), "utf-8")
    done = experiment("study.toml", "-o", "out")
    assert done.exit_code == 2
    assert "study.toml: kind is 'spelling'; it must be one of constituency, " in done.stderr
    (folder / "study.toml").write_text(STUDY, "utf-8")
    for option in ("methods", "states", "seeds", "sizes", "tags", "train"):
        value = {"tags": "gold", "methods": "em", "train": "train.conllu"}.get(option, "1")
        done = experiment("study.toml", "-o", "out", f"--{option}", value)
        assert done.exit_code == 2
        assert f"--{option} is for studies of constituency parsers; edit study.toml" in done.stderr
    done = experiment("study.toml", "-o", "out", "--ablations")
    assert "--ablations is for studies of constituency parsers" in done.stderr
    (folder / "study.toml").write_text(STUDY.replace("dev.conllu", "none.conllu"), "utf-8")
    done = experiment("study.toml", "-o", "out")
    assert done.exit_code == 2
    assert "none.conllu: can't be read" in done.stderr
