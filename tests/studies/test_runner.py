"""Running studies: what is done once, what goes on after an end, what a failure costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eigentree.constituency.learn.em import STAGE
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.studies import constituency, make_study, model_runs, run_study
from eigentree.studies.folder import Folder
from eigentree.studies.model_runs import chosen_trees
from eigentree.studies.run import file_digest
from tests.demo import HELD_OUT, TREEBANK, demo_trees, run_verb

SMALL = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """The first trees of the demonstration treebank."""
    folder = tmp_path_factory.mktemp("treebank")
    for name, source, n in (("train", TREEBANK, SMALL), ("dev", HELD_OUT, 12)):
        trees = source.read_text("utf-8").split("\n(")[:n]
        (folder / f"{name}.mrg").write_text("\n(".join(trees) + "\n", encoding="utf-8")
    return {"train": str(folder / "train.mrg"), "dev": str(folder / "dev.mrg")}


def study_of(files: dict[str, str], **given: object):
    models = [{"method": "spectral"}, {"method": "pcfg"}, {"method": "markov"}]
    return make_study({**files, "model": models, "states": [1, 2], **given})


@pytest.fixture
def trainings(monkeypatch) -> list[str]:
    """Names of the methods that have been trained in this process."""
    done: list[str] = []

    def counting(trees, options, **rest):
        if len(trees) > model_runs.WARM_UP_TREES:
            done.append(options.method)
        return train(trees, options, **rest)

    train = model_runs.train
    monkeypatch.setattr(model_runs, "train", counting)
    return done


def without_times(figures: dict) -> str:
    """Figures as text, without what differs between two runs of the same work."""

    def drop(found: dict) -> dict:
        timed = ("seconds", "ms_a_sentence", "stages", "finished", "processes", "most_memory")
        return {name: value for name, value in found.items() if not name.endswith(timed)}

    text = json.dumps(figures, allow_nan=False)
    return json.dumps(json.loads(text, object_hook=drop), sort_keys=True)


def test_what_is_done_is_not_done_again(files, tmp_path, trainings):
    told: list[tuple[int, int]] = []
    first = run_study(study_of(files), tmp_path)
    assert sorted(trainings) == ["pcfg", "pcfg", "spectral", "spectral"]
    again = run_study(study_of(files), tmp_path, progress=lambda at: told.append(at[:2]))
    assert told == [(4, 4)]
    assert len(trainings) == 4
    assert first.figures == again.figures
    assert first.report.read_bytes() == again.report.read_bytes()


@pytest.mark.slow
def test_a_killed_study_goes_on_where_it_was(files, tmp_path, trainings, monkeypatch):
    real, left = constituency.run_model, [2]

    def dying(*given):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(*given)

    monkeypatch.setattr(constituency, "run_model", dying)
    with pytest.raises(KeyboardInterrupt):
        run_study(study_of(files), tmp_path)
    assert len(trainings) == 2
    monkeypatch.setattr(constituency, "run_model", real)
    told: list[int] = []
    result = run_study(study_of(files), tmp_path, progress=lambda at: told.append(at.done))
    assert told == [2, 3, 4]
    assert len(trainings) == 4
    assert not result.failures
    fresh = run_study(study_of(files), tmp_path / "fresh")
    assert without_times(result.figures) == without_times(fresh.figures)


def test_a_damaged_record_is_made_again(files, tmp_path, trainings):
    study = study_of(files, model=[{"method": "pcfg"}])
    run_study(study, tmp_path)
    (record,) = (tmp_path / "runs").glob("pcfg-*.json")
    record.write_text(record.read_text("utf-8")[:100])
    run_study(study, tmp_path)
    assert trainings == ["pcfg", "pcfg"]


@pytest.mark.parametrize("content", ["[]", "3", "null", "{}", "[" * 100_000, "9" * 5000])
def test_a_record_of_something_else_is_made_again(files, tmp_path, trainings, content):
    study = study_of(files, model=[{"method": "pcfg"}])
    run_study(study, tmp_path)
    (record,) = (tmp_path / "runs").iterdir()
    record.write_text(content, encoding="utf-8")
    assert run_study(study, tmp_path).figures["best"] == "pcfg"
    assert trainings == ["pcfg", "pcfg"]


def test_a_model_may_have_a_long_name(files, tmp_path, trainings):
    study = study_of(files, model=[{"method": "pcfg", "name": "long " * 100}])
    for _ in range(2):
        assert not run_study(study, tmp_path).failures
    assert trainings == ["pcfg"]


@pytest.mark.slow
def test_settings_that_the_first_trees_cannot_take_are_trained(files, tmp_path):
    """Models are warmed up on a dozen trees, without all nonterminals and held-out trees."""
    first = demo_trees()[: model_runs.WARM_UP_TREES]
    assert all(node.label != "QP" for tree in first for node in tree.nodes())
    of = {"states_of": {"QP": 1}}
    models = [
        {"name": "of", "method": "spectral", "spectral": of},
        {"name": "em of", "method": "em", "em": {**of, "iterations": 1}},
        {"name": "search", "method": "spectral", "state_search": {"most": 1, "numbers": [1]}},
    ]
    result = run_study(study_of(files, model=models, states=[2]), tmp_path)
    assert result.failures == {}
    assert [row["name"] for row in result.figures["models"]] == [
        "of, m = 2", "em of, m = 2", "search, m = 2",
    ]  # fmt: skip


def test_the_same_work_under_two_names_is_done_once(files, tmp_path, trainings):
    models = [{"method": "pcfg"}, {"method": "pcfg", "name": "again"}]
    figures = run_study(study_of(files, model=models), tmp_path).figures
    assert trainings == ["pcfg"]
    one, other = figures["models"]
    assert (one["name"], other["name"]) == ("pcfg", "again")
    assert one["scores"] == other["scores"]


def test_a_failure_leaves_the_others_be(files, tmp_path, monkeypatch):
    real = model_runs.train

    def failing(trees, options, **rest):
        if options.method == "spectral":
            raise RuntimeError("no <luck>")
        return real(trees, options, **rest)

    monkeypatch.setattr(model_runs, "train", failing)
    result = run_study(study_of(files, states=[2]), tmp_path)
    assert result.failures == {"spectral, m = 2": "RuntimeError: no <luck>"}
    assert [row["name"] for row in result.figures["models"]] == ["pcfg", "markov"]
    assert "no &lt;luck&gt;" in result.report.read_text("utf-8")
    assert result.figures["failures"] == result.failures
    monkeypatch.setattr(model_runs, "train", real)
    assert run_study(study_of(files, states=[2]), tmp_path).failures == {}


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same(files, tmp_path):
    study = study_of(files, states=[2], learning_curve={"sizes": [0.5], "models": ["pcfg"]})
    one = run_study(study, tmp_path / "one")
    two = run_study(study, tmp_path / "two", jobs=2)
    assert without_times(one.figures) == without_times(two.figures)
    assert len(one.figures["learning_curve"]) == 1


KILLER = """
import os, sys
from pathlib import Path
from eigentree.studies import make_study, run_study, runner

def attempt(run, *given, real=runner._attempt):
    if run.name == "killer":
        os._exit(9)
    return real(run, *given)

runner._attempt = attempt
if __name__ == "__main__":
    models = [{"method": "pcfg", "name": "killer", "parsing": {"objective": "rules"}},
              {"method": "pcfg"}, {"method": "markov"}]
    files = {"train": sys.argv[1], "dev": sys.argv[2]}
    result = run_study(make_study({**files, "model": models}), sys.argv[3], jobs=2)
    print(result.failures, [row["name"] for row in result.figures["models"]])
"""


@pytest.mark.slow
def test_a_worker_that_dies_fails_only_its_own_run(files, tmp_path):
    script = tmp_path / "killer.py"
    script.write_text(KILLER)
    done = subprocess.run(
        [sys.executable, script, files["train"], files["dev"], tmp_path / "out"],
        capture_output=True,
        encoding="utf-8",
        timeout=200,
    )
    assert done.stdout == (
        "{'killer': 'a worker process exited unexpectedly (possibly out of memory); "
        "use fewer jobs'} ['pcfg', 'markov']\n"
    ), done.stderr


WAITING = """
import sys, time
from eigentree.studies import make_study, run_study, runner

def attempt(*given):
    open(sys.argv[3] + "/started", "a").close()
    time.sleep(100)

runner._attempt = attempt
if __name__ == "__main__":
    models = [{"method": "pcfg"}, {"method": "markov"}]
    files = {"train": sys.argv[1], "dev": sys.argv[2]}
    run_study(make_study({**files, "model": models}), sys.argv[3], jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_end_with_a_parent_that_is_killed(files, tmp_path):
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    parent = subprocess.Popen([sys.executable, script, files["train"], files["dev"], tmp_path])
    try:
        _wait_until(lambda: (tmp_path / "started").exists())
        children = _children(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    assert len(children) >= 2
    _wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def _children(pid: int) -> list[int]:
    found = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    children = []
    for path in found:
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            children.append(int(path.name))
    return children


def _wait_until(holds, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_em_goes_on_from_its_checkpoint(files, tmp_path, monkeypatch):
    study = study_of(
        files, model=[{"method": "em"}], states=[2], em={"iterations": 4, "judge_every": 2}
    )
    real = model_runs.train
    seen: list[Path] = []

    def interrupted(trees, options, *, checkpoint=None, progress=None, **rest):
        def stop(stage, share):
            progress(stage, share)
            if stage == STAGE and share >= 0.5 and len(seen) == 1:
                raise KeyboardInterrupt

        if checkpoint is None:
            return real(trees, options, **rest)
        seen.append(checkpoint)
        return real(trees, options, checkpoint=checkpoint, progress=stop, **rest)

    monkeypatch.setattr(model_runs, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path)
    assert seen[0].is_file()
    result = run_study(study, tmp_path)
    assert seen[1] == seen[0]
    assert not seen[0].exists()
    fresh = run_study(study, tmp_path / "fresh")
    assert without_times(result.figures) == without_times(fresh.figures)
    (curve,) = fresh.figures["iterations"]
    assert [one["iteration"] for one in curve["iterations"]] == [1, 2, 3, 4]
    assert curve["best"] in (1, 2, 4)
    (row,) = fresh.figures["models"]
    assert 0 < row["cpu_seconds"] <= row["all_cpu_seconds"]


def test_a_useless_checkpoint_is_dropped(files, tmp_path):
    study = study_of(files, model=[{"method": "em"}], states=[2], em={"iterations": 1})
    digests = {part: file_digest(path) for part, path in study.files.items()}
    folder = Folder(tmp_path, digests)
    folder.make()
    folder.checkpoint(study.runs()[0]).write_bytes(b"nothing of use")
    assert run_study(study, tmp_path).failures == {}


def test_no_other_report_is_replaced(files, tmp_path):
    study = study_of(files, model=[{"method": "pcfg"}])
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(SettingsError, match=r"has a file report\.md that is not a study's; name a"):
        run_study(study, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


def test_seeds_are_put_together(files, tmp_path):
    study = study_of(
        files, model=[{"method": "em"}], states=[2], seeds=[0, 1], em={"iterations": 1}
    )
    (row,) = run_study(study, tmp_path).figures["models"]
    scores = row["scores"]["dev"]
    assert len(scores["by_seed"]) == 2
    assert min(scores["by_seed"]) <= scores["f1"] <= max(scores["by_seed"])
    assert scores["sentences"] == 12


TRACED = """
(S (NP-SBJ (DT the) (NN cat)) (VP (VBD slept)))
(S (NP-SBJ (-NONE- *)) (VP (VBD saw) (NP (DT the) (NN dog))))
(S (NP (-NONE- *)))
(S (NP-SBJ (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (JJ old) (NN cat))))
"""


def test_long_sentences_are_neither_parsed_nor_scored(tmp_path, trainings, monkeypatch):
    """Words are counted without traces, and the gold trees stay beside their sentences."""
    for name, text in (("train", TRACED * 5), ("dev", TRACED), ("test", TRACED + TRACED)):
        (tmp_path / f"{name}.mrg").write_text(text, encoding="utf-8")
    parts = {name: str(tmp_path / f"{name}.mrg") for name in ("train", "dev", "test")}
    models = [{"method": "pcfg"}]

    def done(**given):
        return run_study(make_study({**parts, "model": models, **given}), tmp_path / "out")

    parsed: list[int] = []
    real = model_runs.ConstituencyParser.parse
    monkeypatch.setattr(
        model_runs.ConstituencyParser,
        "parse",
        lambda parser, words, *rest: parsed.append(len(words)) or real(parser, words, *rest),
    )
    short = done(longest=3)
    assert sorted(parsed[1:]) == [3] * 6  # the first warms up
    assert short.figures["parts"] == {"dev": 2, "test": 4}
    assert short.figures["all_sentences"] == {"dev": 3, "test": 6}
    (row,) = short.figures["models"]
    assert row["scores"]["dev"]["not_compared"] == 0
    assert row["scores"]["dev"]["f1"] == 1.0
    assert row["trees"] == 15
    text = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "- sentences up to 3 words: 2 of 3 of dev, 4 of 6 of test" in text
    assert "sentences up to 3 words, against the unmodified files" in text
    # Nothing of it is taken for a study of other lengths.
    whole = done()
    assert whole.figures["parts"] == {"dev": 3, "test": 6}
    assert "sentences of all lengths" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert len(trainings) == 2
    done(longest=3)
    assert len(trainings) == 2
    with pytest.raises(
        TreebankFormatError, match=r"dev.mrg: none of its 3 sentences has at most 2 "
    ):
        done(longest=2)


def test_models_with_more_seeds_are_tested_on_the_same_scale(files, tmp_path):
    """Twice the same model: no seed changes a plain PCFG."""
    models = [{"method": "pcfg"}, {"method": "pcfg", "name": "thrice", "seeds": [0, 1, 2]}]
    figures = run_study(study_of(files, model=models), tmp_path).figures
    assert figures["seeds"] == [0, 1, 2]
    assert [row["seeds"] for row in figures["models"]] == [[0], [0, 1, 2]]
    (test,) = figures["comparisons"]
    assert test["difference"] == 0
    assert test["p_randomisation"] == 1


def test_smaller_shares_lie_within_larger_ones():
    trees = list(demo_trees())
    tenth, half = (chosen_trees(trees, share, seed=3) for share in (0.1, 0.5))
    assert (len(tenth), len(half)) == (49, 245)
    order = [id(tree) for tree in trees]
    places = [order.index(id(tree)) for tree in half]
    assert places == sorted(places)
    assert {id(tree) for tree in tenth} < {id(tree) for tree in half}
    assert chosen_trees(trees, 1.0, seed=3) == trees
    assert chosen_trees(trees, 0.1, seed=4) != tenth


def test_words_alone_are_parsed_with_a_tagger(files, tmp_path):
    study = study_of(files, model=[{"method": "pcfg"}], tags="own")
    figures = run_study(study, tmp_path).figures
    (row,) = figures["models"]
    assert 0 < row["scores"]["dev"]["tagging_accuracy"] < 1
    assert "tagger" in row["stages"]


def test_a_treebank_without_trees_is_reported(files, tmp_path):
    empty = tmp_path / "empty.mrg"
    empty.write_text("")
    for part, told in (("train", "no training trees"), ("dev", "no trees to score")):
        with pytest.raises(TreebankFormatError, match=f"empty.mrg: {told}"):
            run_study(study_of({**files, part: str(empty)}), tmp_path / "out")


# The verb -----------------------------------------------------------------------------------


def test_the_verb_says_what_came_out_and_goes_on(files, tmp_path):
    arguments = ["experiment", "--train", files["train"], "--dev", files["dev"],
                 "--methods", "pcfg,markov", "-o", tmp_path / "out"]  # fmt: skip
    code, out, err = run_verb(*arguments)
    assert code == 0
    assert out.startswith("The best model on dev is ")
    assert f"report: {tmp_path / 'out' / 'report.html'}\n" in out
    assert "2 of 2 after" in err
    code, _, err = run_verb(*arguments[:-1], tmp_path / "out", "--methods", "pcfg")
    assert (code, err) == (0, "1 of 1 runs were done before\n")
    code, _, err = run_verb(*arguments, "--quiet")
    assert (code, err) == (0, "")


def test_options_replace_what_the_file_says(files, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('train = "no.mrg"\ndev = "dev.mrg"\n[[model]]\nmethod = "pcfg"\n')
    code, _, err = run_verb(
        "experiment", file, "--data", Path(files["dev"]).parent, "--train", files["train"],
        "--methods", "spectral", "--states", "2", "--sizes", "0.5", "--seeds", "1",
        "-o", tmp_path / "out",
    )  # fmt: skip
    assert code == 0, err
    figures = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert [row["name"] for row in figures["models"]] == ["spectral, m = 2"]
    assert [row["trees"] for row in figures["learning_curve"]] == [SMALL // 2]
    assert figures["seeds"] == [1]


def test_a_failed_run_makes_exit_code_1(files, tmp_path, monkeypatch):
    monkeypatch.setattr(model_runs, "train", None)  # so that it can't be called
    code, out, err = run_verb(
        "experiment", "--train", files["train"], "--dev", files["dev"], "--methods", "pcfg",
        "-o", tmp_path / "out",
    )  # fmt: skip
    assert code == 1
    assert "nothing to compare" in out
    assert err.endswith("eigentree: pcfg: TypeError: 'NoneType' object is not callable\n")
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "pcfg"], "options: train is missing"),
        (["--methods", "magic"], "model[1].method is 'magic'; it must be one of spectral"),
        (
            ["--methods", "pcfg", "--states", "2,x"],
            "--states has 'x'; it must be comma-sep",
        ),
        (
            ["--methods", "pcfg", "--sizes", "x"],
            "--sizes has 'x'; it must be comma-sep",
        ),
        (["--data", "here"], "--data is the folder of a study file's data"),
        (["none.toml"], "none.toml: can't be read"),
        (["--methods", "pcfg", "--train", "no.mrg", "--dev", "no.mrg"], "no.mrg: can't be read"),
    ],
)
def test_what_cannot_be_is_reported_with_exit_code_2(arguments, message, tmp_path):
    given = {"--train": os.devnull, "--dev": os.devnull}
    if "train is missing" in message or "--train" in arguments:
        given = {}
    options = [word for pair in given.items() for word in pair]
    code, out, err = run_verb("experiment", *options, *arguments, "-o", tmp_path / "out")
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.slow
def test_the_verb_reports_compilation_when_there_is_work(files, tmp_path, monkeypatch):
    monkeypatch.setattr("eigentree._core.jit.needs_compiling", lambda _: True)
    monkeypatch.setattr("eigentree._core.jit.compile_in_workers", lambda *_: 1)
    arguments = ["experiment", "--train", files["train"], "--dev", files["dev"], "-o", tmp_path]
    line = "first run: compiling {} kernels, once per installation)"
    _, _, err = run_verb(*arguments, "--methods", "pcfg")
    assert line.format("the parser (12") in err
    assert "compiling" not in run_verb(*arguments, "--methods", "pcfg")[2]
    _, _, err = run_verb(*arguments, "--methods", "em", "--states", "1")
    assert err.count(line.format("EM, the parser (18")) == 1


def test_the_verb_needs_a_folder(tmp_path):
    code, _, err = run_verb("experiment", "--methods", "pcfg")
    assert code == 2
    assert "no output folder" in err
    (tmp_path / "file").touch()
    code, _, err = run_verb("experiment", "--methods", "pcfg", "-o", tmp_path / "file")
    assert code == 2
    assert "is a file; the output must be a folder" in err
