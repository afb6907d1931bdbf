"""Ensembles in studies: how they are described, what is done once, what the figures are."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from eigentree.constituency.ensemble.combine import Chains, Evidence
from eigentree.constituency.ensemble.diversity import TreeLists, diversity, oracle
from eigentree.constituency.ensemble.model_folder import member_path
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.predictions import Prediction
from eigentree.constituency.ensemble.stacking import Query
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.sentence_input import PreparedSentence
from eigentree.studies import ensemble_evaluation, ensembles, make_study, read_study, run_study
from eigentree.studies.ensemble_runs import groups_of, steps_of
from eigentree.studies.report.constituency import summary
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree
from tests.demo import HELD_OUT, TREEBANK, run_verb
from tests.studies.report.test_constituency import NASTY, Page, as_html, as_markdown
from tests.studies.test_runner import without_times

FAMILIES = [
    {"name": "add", "noise": "additive", "sigma": [0.1, 0.3], "copies": 2},
    {"name": "drop", "noise": "dropout", "sigma": [0.4], "copies": 3},
]
COMBINATIONS = [
    {"name": "tree", "how": "tree-coverage", "inputs": ["add", "drop"]},
    {"name": "mrg", "inputs": ["add"]},
    {"name": "both", "how": "tree-coverage", "inputs": ["tree", "mrg"]},
]
SMALL = {"name": "small", "states": 2, "family": FAMILIES, "combination": COMBINATIONS}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    """The first trees of the demonstration treebank."""
    folder = tmp_path_factory.mktemp("treebank")
    for name, source, first, n in (
        ("train", TREEBANK, 0, 50), ("dev", HELD_OUT, 0, 10), ("test", HELD_OUT, 10, 6),
    ):  # fmt: skip
        trees = source.read_text("utf-8").split("\n(")[first : first + n]
        text = "\n(".join(trees) + "\n"
        (folder / f"{name}.mrg").write_text(text if first == 0 else f"({text}", encoding="utf-8")
    return {name: str(folder / f"{name}.mrg") for name in ("train", "dev", "test")}


def study_of(files: dict[str, str], *more: dict, **given: object):
    return make_study({**files, "ensemble": [SMALL, *more], **given})


@pytest.fixture(scope="module")
def result(files, tmp_path_factory):
    study = study_of(files, model=[{"method": "pcfg"}])
    return run_study(study, tmp_path_factory.mktemp("results"))


@pytest.fixture
def figures(result) -> dict:
    return copy.deepcopy(result.figures)


def outputs(result, files, part: str) -> tuple[list[Tree], list[list[Tree]]]:
    """Gold trees, and what each member makes of their sentences when it parses alone."""
    (ensemble,) = result.figures["ensembles"]
    folder = result.report.parent / "ensembles" / "small"
    gold = read_treebank(files[part], cleaning=None).trees
    clean = read_treebank(files[part]).trees
    parsed = []
    for member in ensemble["members"]:
        parser = ConstituencyParser.load(member_path(folder, member["name"]))
        parsed.append([parser.parse(tree.words(), tree.tags()).tree for tree in clean])
    return gold, parsed


# What is described --------------------------------------------------------------------------


DESCRIPTION = """
title = "Two"
states = 2
parsing.threshold = 1e-4
[[family]]
name = "plain"
copies = 2
spectral.shrinkage = 0.5
"""
STUDY = """
train = "train.mrg"
dev = "dev.mrg"
jackknife = true
parsing = { threshold = 1e-3, max_words = 50 }
"""


def test_a_description_stands_beside_the_study_or_in_it(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "two.toml").write_text(DESCRIPTION)
    inline = DESCRIPTION.replace("[[family]]", "[[ensemble.family]]")
    file = tmp_path / "study.toml"
    file.write_text(
        f'{STUDY}[[ensemble]]\nname = "a"\n{inline}\n'
        '[[ensemble]]\nname = "b"\ndescription = "own/two.toml"\n'
    )
    study = read_study(file, folder="elsewhere")  # of the trees alone
    one, other = study.ensemble_runs()
    assert one.description == other.description
    assert (one.ensemble, other.ensemble) == ("a", "b")
    parsing = one.description.members()[0].options.parsing
    assert (parsing.threshold, parsing.max_words) == (1e-4, 50)
    assert one.digest({}) == other.digest({})


def test_what_decides_the_outcome_is_in_the_digest(files):
    def digest(**changed):
        return make_study({**files, **changed}).ensemble_runs()[0].digest({"train": "1"})

    other_family = {**SMALL, "family": [FAMILIES[0], {**FAMILIES[1], "sigma": [0.3]}]}
    other_price = copy.deepcopy(SMALL)
    other_price["combination"][0]["price"] = 0.2
    digests = {
        digest(ensemble=[SMALL]),
        digest(ensemble=[other_family]),
        digest(ensemble=[other_price]),
        digest(ensemble=[SMALL], seeds=[3]),
        digest(ensemble=[SMALL], tags="own"),
        digest(ensemble=[SMALL], longest=40),
    }
    assert len(digests) == 6
    assert digest(ensemble=[{**SMALL, "name": "another"}]) in digests


def test_long_sentences_are_left_out(files, tmp_path):
    family = {"name": "plain", "method": "spectral"}
    vote = {"name": "vote", "how": "tree-coverage", "inputs": ["plain"]}
    one = {"name": "one", "states": 1, "family": [family], "combination": [vote]}
    clean = read_treebank(files["dev"]).trees
    lengths = sorted(len(tree.words()) for tree in clean)
    longest = lengths[4]
    study = study_of(files, longest=longest, ensemble=[one], model=[{"method": "pcfg"}])
    figures = run_study(study, tmp_path).figures
    (ensemble,) = figures["ensembles"]
    expected = sum(length <= longest for length in lengths)
    assert figures["parts"]["dev"] == expected < len(clean)
    assert figures["all_sentences"] == {"dev": len(clean), "test": 6}
    (combination,) = ensemble["combinations"]
    scores = combination["scores"]["dev"]
    assert (scores["sentences"], scores["not_compared"]) == (expected, 0)


def test_the_first_few_members_are_of_all_kinds(files):
    (run,) = study_of(files).ensemble_runs()
    names = [member.name for member in run.description.members()]
    groups = groups_of(run.description)
    assert list(groups) == ["add", "drop", None]
    assert [names[place] for place in groups["add"]] == [
        "add-0.1-1", "add-0.3-1", "add-0.1-2", "add-0.3-2",
    ]  # fmt: skip
    assert [names[place] for place in groups[None]][:3] == ["add-0.1-1", "drop-0.4-1", "add-0.3-1"]
    assert sorted(groups[None]) == list(range(7))
    assert steps_of(7) == [1, 2, 5, 7]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ensemble": []}, r"^study: model is \[\]; a study needs a model or an ens"),
        ({"ensemble": [{**SMALL, "family": []}]}, r"ensemble\[1\].family is \[\]; it must"),
        ({"ensemble": [{"name": "a"}]}, r"^study: ensemble\[1\].family is missing"),
        ({"ensemble": [{**SMALL, "name": "a/b"}]}, r"ensemble\[1\].name is 'a/b'; it must be a v"),
        ({"ensemble": [{**SMALL, "name": "a" * 101}]}, r"name is 'a+\.\.\.; it must be a valid na"),
        ({"ensemble": [{**SMALL, "sates": 2}]}, r"ensemble\[1\].sates isn't a key .* states"),
        ({"ensemble": [SMALL, SMALL]}, r"there are 2 ensembles called 'small'; give each a name"),
        ({"ensemble": [{**SMALL, "description": "x.toml"}]}, r"has 'combination' besides a descr"),
        ({"ensemble": [{**SMALL, "family": [{"name": "a", "sigma": [0.1]}]}]},
         r"ensemble\[1\].family\[1\]: family 'a' has noise 'none' and sigma \[0.1\]"),
        ({"ensemble": [{**SMALL, "parsing": {"threshold": 2}}]},
         r"^study: ensemble 'small': family 'add': threshold is 2.0; it must be at least 0"),
        ({"ensemble": [{"name": "a", "family": [
            {"name": "x"}, {"name": "y", "treebank": {"cleaning": {"cut_tags": True}}}]}]},
         r"ensemble a: its families differ in treebank.cleaning"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported(files, given, message):
    with pytest.raises(SettingsError, match=message):
        make_study({**files, **given})


def test_what_is_wrong_in_a_file_is_reported_with_the_file(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(f'{STUDY}[[ensemble]]\nname = "b"\ndescription = "two.toml"\n')
    with pytest.raises(TreebankFormatError, match=r"two.toml: can't be read"):
        read_study(file)
    for text, told in (
        ("states = 0", r"two.toml: states is 0; it must be gre"),
        ("family = 3 3", r"two.toml: isn't TOML"),
        (
            "[[family]]\nname = 'a'\ncopes = 2",
            r"two.toml: family\[1\].copes isn't a key of an ense",
        ),
        ("name = 'a'\n[[family]]\nname = 'a'", r"two.toml: name isn't a key of an ensemble"),
    ):
        (tmp_path / "two.toml").write_text(text)
        with pytest.raises(SettingsError, match=told):
            read_study(file)


# What comes out -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("part", ["dev", "test"])
def test_members_are_scored_as_if_they_parsed_alone(result, files, part):
    gold, parsed = outputs(result, files, part)
    (ensemble,) = result.figures["ensembles"]
    for member, trees in zip(ensemble["members"], parsed, strict=True):
        expected = score(gold, trees, EVALB_COLLINS).all.f1
        assert member["f1"][part] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["dev", "test"])
def test_families_have_their_oracle_and_diversity(result, files, part):
    gold, parsed = outputs(result, files, part)
    (ensemble,) = result.figures["ensembles"]
    names = [member["name"] for member in ensemble["members"]]
    for group in ensemble["groups"]:
        mine = [
            trees
            for name, trees in zip(names, parsed, strict=True)
            if group["family"] in (None, name.split("-")[0])
        ]
        candidates = TreeLists.of(mine)
        expected = diversity(candidates)
        of = group["parts"][part]
        assert of["oracle"] == pytest.approx(oracle(gold, candidates.trees).f1)
        assert of["pair_f1"] == pytest.approx(expected.mean_f1)
        assert of["distinct"] == pytest.approx(expected.distinct)
        assert of["all_agree"] == pytest.approx(expected.all_agree)
        f1 = [score(gold, trees, EVALB_COLLINS).all.f1 for trees in mine]
        assert (of["lowest"], of["highest"]) == pytest.approx((min(f1), max(f1)))
        assert of["mean"] == pytest.approx(np.mean(f1))
        assert of["distinct"] > 1  # or nothing is tested


def test_the_best_member_is_chosen_on_dev_and_combinations_are_tested_against_it(result):
    (ensemble,) = result.figures["ensembles"]
    best = max(ensemble["members"], key=lambda member: member["f1"]["dev"])
    assert ensemble["best_member"]["name"] == best["name"]
    whole = ensemble["groups"][-1]
    assert (whole["family"], whole["best"]) == (None, best["name"])
    for part in ("dev", "test"):
        assert ensemble["best_member"]["scores"][part]["f1"] == pytest.approx(best["f1"][part])
        assert whole["parts"][part]["best"] == best["f1"][part]
        for row in ensemble["combinations"]:
            apart = row["scores"][part]["f1"] - best["f1"][part]
            assert row["gain"][part]["difference"] == pytest.approx(apart, abs=1e-12)
    on_dev = {row["name"]: row["scores"]["dev"]["f1"] for row in ensemble["combinations"]}
    assert on_dev[ensemble["best"]] == max(on_dev.values())
    assert [row["members"] for row in ensemble["combinations"]] == [7, 4, 7]


def test_the_last_combination_is_what_the_ensemble_parses(result, files):
    (ensemble,) = result.figures["ensembles"]
    parser = EnsembleParser.load(result.report.parent / "ensembles" / "small")
    gold = read_treebank(files["dev"], cleaning=None).trees
    clean = read_treebank(files["dev"]).trees
    parsed = parser.parse_many((tree.words(), tree.tags()) for tree in clean)
    expected = score(gold, [each.tree for each in parsed], EVALB_COLLINS).all.f1
    assert ensemble["combinations"][-1]["scores"]["dev"]["f1"] == pytest.approx(expected)


def test_growth_begins_with_one_member_and_ends_with_all(result):
    (ensemble,) = result.figures["ensembles"]
    f1 = {member["name"]: member["f1"]["dev"] for member in ensemble["members"]}
    for curve, first in zip(
        ensemble["growth"], ("add-0.1-1", "drop-0.4-1", "add-0.1-1"), strict=True
    ):
        assert curve["tree_coverage"][0] == pytest.approx(f1[first])
        assert curve["oracle"] == sorted(curve["oracle"])
    groups = {group["family"]: group["parts"]["dev"]["oracle"] for group in ensemble["groups"]}
    assert [curve["oracle"][-1] for curve in ensemble["growth"]] == list(groups.values())
    tree = ensemble["combinations"][0]["scores"]["dev"]["f1"]
    assert ensemble["growth"][-1]["tree_coverage"][-1] == pytest.approx(tree)


def test_a_member_without_a_tree_is_held_to_a_flat_one(result):
    parser = EnsembleParser.load(result.report.parent / "ensembles" / "small")
    description = parser.stacking.config
    sentence = PreparedSentence(["a", "b"], ["DT", "NN"])
    tree = Tree("S", [Tree("NP", [Tree("DT", (), "a"), Tree("NN", (), "b")])])
    chains = Chains()
    nothing = Evidence(2, chains)
    predictions = {
        "add": Prediction([tree], np.array([0, -1, -1, 0]), nothing),
        "drop": Prediction([], np.array([-1, -1, -1]), nothing, "threshold"),
    }
    (combined,) = parser.stacking.outputs([Query(*sentence[:2], predictions, {})], "S")
    output = ensemble_evaluation._predictions(parser, sentence, predictions, combined, description)
    flat = Tree(parser.backbones[0].root_label, tree.children[0].children)
    assert output.trees == [tree, flat]
    assert output.choice == [0, 1, 1, 0, 1, 1, 1]
    assert output.no_tree == [place == 1 for place in output.choice]
    assert output.fallback == {"tree": False, "mrg": False, "both": False}


@pytest.mark.slow
def test_long_sentences_are_asked_in_pieces(files, tmp_path):
    study = study_of(files, parsing={"max_words": 5})
    (ensemble,) = run_study(study, tmp_path).figures["ensembles"]
    scores = ensemble["combinations"][-1]["scores"]["dev"]
    trees = read_treebank(files["dev"]).trees
    n_long = sum(len(tree.words()) > 5 for tree in trees)
    assert 0 < n_long <= scores["fallbacks"]
    assert scores["not_compared"] == 0
    parser = EnsembleParser.load(tmp_path / "ensembles" / "small")
    parsed = [parser.parse(tree.words(), tree.tags()).tree for tree in trees]
    gold = read_treebank(files["dev"], cleaning=None).trees
    assert scores["f1"] == pytest.approx(score(gold, parsed, EVALB_COLLINS).all.f1)


@pytest.mark.slow
def test_words_alone_are_tagged_by_the_ensemble(files, tmp_path):
    (ensemble,) = run_study(study_of(files, tags="own"), tmp_path).figures["ensembles"]
    assert 0 < ensemble["combinations"][-1]["scores"]["dev"]["tagging_accuracy"] < 1
    assert ensemble["combinations"][-1]["scores"]["dev"]["f1"] > 0.3


# What is done once --------------------------------------------------------------------------


def test_what_is_done_is_not_done_again(result, files, monkeypatch):
    monkeypatch.setattr(ensembles, "train_ensemble", None)  # so that it can't be called
    monkeypatch.setattr(ensemble_evaluation, "score", None)
    study = study_of(files, model=[{"method": "pcfg"}])
    again = run_study(study, result.report.parent)
    assert again.failures == {}
    assert again.figures == result.figures
    assert list((result.report.parent / "checkpoints").iterdir()) == []


@pytest.mark.slow
def test_an_interrupted_ensemble_resumes_with_the_next_chunk(files, tmp_path, monkeypatch):
    monkeypatch.setattr(ensemble_evaluation, "CHUNK", 4)
    real, asked = ensemble_evaluation._Evaluator._parse_and_score, []

    def dying(self, chunk):
        if len(asked) == 2:
            asked.append(None)
            raise KeyboardInterrupt
        asked.append(chunk)
        return real(self, chunk)

    monkeypatch.setattr(ensemble_evaluation._Evaluator, "_parse_and_score", dying)
    with pytest.raises(KeyboardInterrupt):
        run_study(study_of(files), tmp_path)
    once = run_study(study_of(files), tmp_path)
    chunks = [chunk for chunk in asked if chunk is not None]
    assert len(set(chunks)) == len(chunks) == 3 + 2
    fresh = run_study(study_of(files), tmp_path / "fresh")
    assert without_times(once.figures) == without_times(fresh.figures)
    assert once.figures["ensembles"][0]["training"]["whole"]


@pytest.mark.slow
def test_training_that_was_killed_is_not_said_to_be_whole(tmp_path):
    path = tmp_path / "times.json"
    path.write_text(json.dumps({"whole": True, "cpu_seconds": 1.5, "wall_seconds": 2.0,
                                "ended": False}))  # fmt: skip
    with ensembles._measured(path, whole=True) as times:
        pass
    assert not times["whole"]
    assert 1.5 <= times["cpu_seconds"] < 2.5


@pytest.mark.parametrize("content", ['{"a":' * 50_000, "[1]", "{}", "9" * 5000])
def test_damaged_times_are_measured_again(tmp_path, content):
    path = tmp_path / "times.json"
    path.write_text(content, encoding="utf-8")
    with ensembles._measured(path, whole=True) as times:
        pass
    assert times["whole"]


@pytest.mark.slow
def test_any_number_of_processes_gives_the_same(result, files, tmp_path):
    study = study_of(files, model=[{"method": "pcfg"}])
    two = run_study(study, tmp_path, jobs=2)
    assert without_times(two.figures) == without_times(result.figures)


def test_a_failure_leaves_the_others_be(files, tmp_path, monkeypatch):
    def failing(*_given, **_options):
        raise RuntimeError("no luck")

    monkeypatch.setattr(ensembles, "train_ensemble", failing)
    told = []
    study = study_of(files, model=[{"method": "pcfg"}])
    failed = run_study(study, tmp_path, progress=lambda at: told.append(at[:2]))
    assert failed.failures == {"ensemble small": "RuntimeError: no luck"}
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert failed.figures["ensembles"] == []
    assert [row["name"] for row in failed.figures["models"]] == ["pcfg"]


# The report and the verb --------------------------------------------------------------------


def test_the_report_has_a_section_for_each_ensemble(figures):
    text = as_html(figures)
    page = Page(text)
    (ensemble,) = figures["ensembles"]
    header, single, *rows = page.tables["Combinations of small (the paper's tables 1 to 4)"]
    assert single[:2] == [ensemble["best_member"]["name"], "best member"]
    assert [row[:4] for row in rows] == [
        ["tree", "tree coverage", "add + drop", "7"],
        ["mrg", "marginal coverage", "add", "4"],
        ["both", "tree coverage", "tree + mrg", "7"],
    ]
    for row, shown in zip(ensemble["combinations"], rows, strict=True):
        assert shown[header.index("test F1")] == f"{100 * row['scores']['test']['f1']:.2f}"
        gain = f"{100 * row['gain']['dev']['difference']:+.2f}".replace("-", "−")
        assert shown[header.index("gain")] == gain
    families = page.tables["Members of small by family"]
    assert [row[0] for row in families[1:]] == ["add", "drop", "all members"]
    growth = page.tables["F1 on dev of the first members of small"]
    assert [row[0] for row in growth[1:]] == ["1", "2", "3", "4", "5", "7"]
    figure = text.split('id="ensemble-1-members-title"')[1].split("</svg>")[0]
    points = [member["name"] for member in ensemble["members"]]
    assert all(f"<title>{name}: " in figure for name in points)
    assert 'id="ensemble-1-growth-title"' in text
    assert "Narayan and Cohen (2015)" in text
    assert "## Ensemble small" in as_markdown(figures)


def test_the_summary_reports_ensembles_with_and_without_models(figures):
    told = summary(figures)
    (ensemble,) = figures["ensembles"]
    best = f"The best combination of ensemble small on dev is {ensemble['best']}: F1 "
    assert told[-1].startswith(best)
    assert " The gain on test has p " in told[-1]
    alone = {**figures, "models": []}
    assert summary(alone) == told[-1:]
    assert "Cohen, Stratos" not in as_html(alone)


def test_names_cannot_become_markup(figures):
    text = json.dumps(figures).replace('"small"', '"NAME"').replace('"add"', '"NAME"')
    nasty = json.loads(text.replace("NAME", json.dumps(NASTY)[1:-1]))
    for page in (as_html(nasty), as_markdown(nasty)):
        assert "<b>" not in page
        assert not set(page) & set("\u202e\x00\x1b")


@pytest.mark.slow
def test_the_verb_trains_an_ensemble_with_a_reranker(files, tmp_path):
    """Beside no model at all; of one family."""
    (tmp_path / "small.toml").write_text(
        'states = 2\njackknife.folds = 2\n[[family]]\nname = "drop"\nnoise = "dropout"\n'
        'sigma = [0.3]\ncopies = 3\n[[combination]]\nname = "best"\nhow = "maxent"\n'
        'inputs = ["drop"]\n'
    )
    file = tmp_path / "study.toml"
    file.write_text(
        'train = "train.mrg"\ndev = "dev.mrg"\n[[ensemble]]\nname = "one"\n'
        'description = "small.toml"\n'
    )
    arguments = ["experiment", file, "--data", Path(files["dev"]).parent, "-o", tmp_path / "out"]
    code, out, err = run_verb(*arguments)
    assert code == 0, err
    assert out.startswith("The best combination of ensemble one on dev is best: F1 ")
    lines = err.splitlines()
    stages = [line.partition(":")[0] for line in lines if line.endswith("CPU s")]
    assert stages == ["members", "reranker best", "tagger", "parsing"]
    assert lines[-1].startswith("1 of 1 after ")
    assert ": ensemble one: F1 " in lines[-1]
    (ensemble,) = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))["ensembles"]
    assert [group["family"] for group in ensemble["groups"]] == ["drop"]
    assert run_verb(*arguments)[2] == "1 of 1 runs were done before\n"
