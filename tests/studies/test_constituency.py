"""Study files: what they stand for, and what is said of wrong ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eigentree.constituency.learn.clustering import ClusteringOptions
from eigentree.constituency.learn.em import EMOptions
from eigentree.constituency.learn.spectral import SpectralOptions
from eigentree.constituency.learn.state_search import StateSearchOptions
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.studies import make_study, read_study
from eigentree.studies.constituency_tables import ABLATIONS, PAPER_ABLATIONS
from eigentree.studies.model_runs import ModelRun
from eigentree.treebank.binarise import BinariseOptions

FILES = {"train": "train.mrg", "dev": "dev.mrg"}
SPECTRAL = {"method": "spectral"}


def study(*models: dict, **given: object):
    return make_study({**FILES, "model": list(models or (SPECTRAL,)), **given})


def test_a_model_has_a_run_for_each_number_of_states_and_seed():
    made = study(SPECTRAL, {"method": "pcfg"}, {"method": "em", "states": 3}, states=[2, 4],
                 seeds=[0, 5])  # fmt: skip
    assert [str(run) for run in made.model_runs()] == [
        "spectral, m = 2",
        "spectral, m = 2, seed 5",
        "spectral, m = 4",
        "spectral, m = 4, seed 5",
        "pcfg",
        "pcfg, seed 5",
        "em, m = 3",
        "em, m = 3, seed 5",
    ]


def test_a_model_may_have_seeds_of_its_own():
    made = study(
        {"method": "pcfg", "seeds": 7},
        {**SPECTRAL, "seeds": [1, 2]},
        {"method": "markov"},
        states=[2],
        seeds=[0, 5],
    )
    found = [(run.key.model, run.key.seed) for run in made.model_runs()]
    assert found == [
        ("pcfg", 7), ("spectral", 1), ("spectral", 2), ("markov", 0), ("markov", 5),
    ]  # fmt: skip


def test_states_by_name_and_a_search_may_be_requested():
    made = study(
        {**SPECTRAL, "spectral": {"states_of": {"VP": 3}}},
        {**SPECTRAL, "name": "searched", "state_search": {"beam": 2, "numbers": [4, 8]}},
        states=[2],
        spectral={"states_of": {"NP": 7}},
    )
    by_name, searched = (run.options for run in made.model_runs())
    assert by_name.spectral == SpectralOptions(states=2, states_of={"NP": 7, "VP": 3})
    assert by_name.state_search is None
    assert searched.state_search == StateSearchOptions(beam=2, numbers=(4, 8))
    with pytest.raises(SettingsError, match=r"model 'em': .*state_search requires the method spec"):
        study({"method": "em", "state_search": {}})
    with pytest.raises(SettingsError, match=r"spectral.states_of.NP is 'many'; it must be a"):
        study(spectral={"states_of": {"NP": "many"}})


def test_settings_lie_over_one_another_and_over_the_defaults():
    made = study(
        {"method": "spectral", "spectral": {"smoothing": 3.0, "features": {"kappa": 1.0}}},
        {"method": "em"},
        {"method": "markov"},
        states=[2],
        spectral={"smoothing": 1.0, "shrinkage": 0.5, "features": {"scaling": False}},
        em={"iterations": 3},
    )
    spectral, em, markov = (run.options for run in made.model_runs())
    default = SpectralOptions()
    features = replace(default.features, kappa=1.0, scaling=False)
    assert spectral.spectral == SpectralOptions(
        states=2, smoothing=3.0, shrinkage=0.5, features=features
    )
    assert em.em == EMOptions(states=2, iterations=3)
    assert (spectral.method, em.method, markov.method) == ("spectral", "em", "pcfg")
    assert markov.treebank.binarise == BinariseOptions(vertical=2, horizontal=1)
    assert not spectral.tagger


def test_own_tags_need_a_tagger():
    assert study(tags="own").model_runs()[0].options == replace(
        TrainingOptions(),
        spectral=SpectralOptions(states=8),
        em=EMOptions(states=8),
        clustering=ClusteringOptions(states=8),
    )


@pytest.mark.parametrize("name", ABLATIONS)
def test_an_ablation_changes_the_model(name):
    whole, without = study(states=[2], ablations={"without": [name]}).model_runs()
    assert (whole.key.without, without.key.without) == (None, name)
    assert whole.options != without.options


def test_what_a_model_lacks_is_not_taken_off_it():
    lacking = {"method": "spectral", "unseen": False}
    made = study(lacking, states=[2], ablations={"without": ["no unseen rules", "no siblings"]})
    assert made.model_runs()[0].options.unseen is None
    assert [run.key.without for run in made.model_runs()] == [None, "no siblings"]


def test_ablations_are_those_of_the_paper_and_of_all_spectral_models_by_default():
    made = study(SPECTRAL, {"method": "pcfg"}, states=[2], ablations={})
    ablated = [(run.key.model, run.key.without) for run in made.model_runs() if run.key.without]
    assert ablated == [("spectral", name) for name in PAPER_ABLATIONS]


def test_the_end_of_a_learning_curve_is_the_model_itself():
    made = study(states=[2, 4], learning_curve={"sizes": [0.5, 1.0], "states": [4]})
    assert [(run.key.states, run.key.share) for run in made.model_runs()] == [
        (2, 1.0),
        (4, 1.0),
        (4, 0.5),
    ]


def test_only_what_decides_the_result_is_in_the_digest():
    data = {"train": "1", "dev": "2"}
    run = study(states=[2]).model_runs()[0]

    def changed(run: ModelRun, **given) -> ModelRun:
        values = {name: getattr(run, name) for name in ("key", "method", "tags", "options")}
        return ModelRun.of(**{**values, **given})

    same = [
        changed(run, key=run.key._replace(model="another name")),
        changed(run, options=replace(run.options, em=EMOptions(iterations=7))),
    ]
    assert {one.digest(data) for one in same} == {run.digest(data)}
    other = [
        changed(run, key=run.key._replace(seed=1)),
        changed(run, key=run.key._replace(share=0.5)),
        changed(run, tags="own"),
        changed(run, max_words=40),
        changed(run, max_words=10),
        changed(run, options=replace(run.options, spectral=SpectralOptions(smoothing=1.0))),
    ]
    digests = {one.digest(data) for one in other} | {run.digest({**data, "dev": "3"})}
    assert len(digests) == 7
    assert run.digest(data) not in digests


def test_a_head_table_of_the_user_is_in_the_digest(tmp_path):
    table = tmp_path / "my.heads"
    run = study(states=[2], treebank={"heads": str(table)}).model_runs()[0]
    table.write_text("one")
    before = run.digest({})
    table.write_text("another")
    assert run.digest({}) != before


def test_files_are_beside_the_study_or_where_told(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text('train = "a.mrg"\ndev = "b.mrg"\n[[model]]\nmethod = "pcfg"\n')
    assert read_study(file).train == tmp_path / "a.mrg"
    assert str(read_study(file, folder="elsewhere").dev) == "elsewhere/b.mrg"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dev": 3}, r"^study: dev is 3; it must be a path$"),
        ({"settings": 3}, r"^study: settings isn't a key of a study"),
        ({"model": [{"method": "pcfg", "settings": {}}]}, r"model\[1\].settings isn't a key of a"),
        ({"title": "two\nlines"}, r"title is 'two\\nlines'; it must be printable text on one l"),
        ({"title": "reversed \u202e"}, r"title is 'reversed \\u202e'; it must be printable text"),
        ({"model": [{"method": "pcfg", "name": "a\x00"}]}, r"name is 'a\\x00'; it must be print"),
        ({"model": [{"method": "pcfg", "name": " "}]}, r"name is ' '; it must be printable text"),
        ({"states": [True]}, r"states\[1\] is True; it must be a valid integer"),
        ({"states": [10**10]}, r"model 'spectral': states is 10000000000; it must be at most"),
        ({"em": {"start": "clusters"}}, r"em.start is 'clusters'; the method decides how it st"),
        ({"stats": [2]}, r"^study: stats isn't a key of a study; the keys are .*states.*"),
        ({"states": [2, 0]}, r"^study: states\[2\] is 0; it must be greater than or equal to 1"),
        ({"states": []}, r"states is \[\]; it must be a list of one or more different values"),
        ({"seeds": [1, 1]}, r"seeds is \[1, 1\]; it must be a list of one or more different"),
        ({"model": [{"method": "pcfg", "seeds": [1, 1]}]}, r"model\[1\].seeds is \[1, 1\]; it "),
        ({"longest": 0}, r"^study: longest is 0; it must be greater than or equal to 1"),
        ({"longest": True}, r"^study: longest is True; it must be a valid integer"),
        ({"tags": "silver"}, r"tags is 'silver'; it must be 'gold' or 'own'"),
        ({"model": []}, r"model is \[\]; a study needs "),
        ({"model": [{"method": "magic"}]}, r"model\[1\].method is 'magic'; it must be one of sp"),
        ({"model": [SPECTRAL, SPECTRAL]}, r"study: there are 2 models called 'spectral'; give"),
        ({"model": [{"method": "pcfg", "sates": 3}]}, r"model\[1\].sates isn't a key .* states"),
        ({"spectral": {"smoothing": "much"}}, r"model 'spectral': spectral.smoothing is 'much'; "
                                              r"it must be a valid number$"),
        ({"spectral": {"smooting": 1}}, r"spectral.smooting isn't a key .* smoothing,"),
        ({"spectral": {"features": {"outside": ["x"]}}}, r"model 'spectral': outside features"),
        ({"spectral": {"smoothing": -1}}, r"model 'spectral': smoothing is -1.0; it must be at"),
        ({"spectral": 3}, r"spectral is 3; it must be a table of settings"),
        ({"em": {"states": 3}}, r"em.states is 3; .* by the key states beside the table em"),
        ({"parsing": {"objective": "best"}}, r"parsing.objective is 'best'; it must be 'rules'"),
        ({"ablations": {"without": ["no luck"]}}, r"ablations.without\[1\] is 'no luck'; it must"),
        ({"ablations": {"models": ["em"]}}, r"ablations.models has 'em'; the spectral models are"),
        ({"model": [{"method": "pcfg"}], "ablations": {}}, r"ablations needs spectral models, and"),
        ({"learning_curve": {}}, r"learning_curve.sizes is missing; it is required in a study"),
        ({"learning_curve": {"sizes": [2.0]}}, r"learning_curve.sizes\[1\] is 2.0; it must be le"),
        ({"parsing": {"objective": "viterbi"}}, r"parsing.objective is 'viterbi', which requires"),
        ({"model": [{"method": "em"}], "parsing": {"objective": "viterbi"}}, r"with 8 states$"),
        ({"decomposition": {"method": "als"}, "parsing": {"objective": "max-rule"}},
         r"model 'spectral': parsing.objective is 'max-rule'; a grammar in Kruskal form has no"),
        ({"decomposition": {"rank": 9}}, r"decomposition.method is 'apr', which does not support"),
        ({"decomposition": {"rank": 22, "method": "als", "each": True}},
         r"decomposition.rank of each rule is 22; with 8 states it must be below 21.33"),
        ({"reference": [{"name": "a", "f1": 101, "cpu_seconds": 1}]}, r"reference\[1\].f1 is 101"),
        ({"reference": [{"name": "a", "f1": 50, "cpu_seconds": 0}]}, r"\[1\].cpu_seconds is 0; "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_reported(given, message):
    with pytest.raises(SettingsError, match=message):
        make_study({**FILES, "model": [SPECTRAL], **given})


@pytest.mark.parametrize(
    "given",
    [
        {"model": [{"method": "pcfg"}], "parsing": {"objective": "viterbi"}},
        {"model": [{"method": "em", "states": 1}], "parsing": {"objective": "viterbi"}},
        {"model": [{"method": "em"}], "decomposition": {"rank": 9}},
        {"decomposition": {"rank": 9, "method": "als"}},
        {"decomposition": {"rank": 21, "method": "als", "each": True}},
    ],
)
def test_what_can_be_done_is_taken(given):
    assert make_study({**FILES, "model": [SPECTRAL], **given}).model_runs()


def test_what_is_missing_is_reported():
    with pytest.raises(
        SettingsError, match=r"^study: train is missing; it is required in a study$"
    ):
        make_study({"dev": "a", "model": [SPECTRAL]})


def test_a_file_that_is_no_toml_is_reported(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text("train = \n")
    with pytest.raises(SettingsError, match=r"study.toml: isn't TOML: .*line 1"):
        read_study(file)
    with pytest.raises(TreebankFormatError, match=r"none.toml: can't be read"):
        read_study(tmp_path / "none.toml")
