"""Descriptions of ensembles: errors, members and seeds, round trips of tables."""

from __future__ import annotations

import time
from typing import Any

import pytest

from eigentree.constituency.ensemble.config import EnsembleConfig, make_config, read_ensemble_config
from eigentree.errors import SettingsError
from tests.constituency.ensemble.samples import ADDITIVE, COARSE, DROPOUT, NETWORK, described

PLAIN: dict[str, Any] = {"name": "plain"}
COVERAGE: dict[str, Any] = {"name": "all", "inputs": ["plain"]}


def with_family(**changes: Any) -> dict[str, Any]:
    return {"family": [{**PLAIN, **changes}]}


def with_combination(**changes: Any) -> dict[str, Any]:
    return {"family": [PLAIN], "combination": [{**COVERAGE, **changes}]}


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({}, "family is missing; it is required in an ensemble"),
        ({"family": []}, r"family is \[\]; it must be a list of at least 1$"),
        ({"family": [{}]}, r"family\[1\].name is missing"),
        (
            with_family(copy=2),
            r"family\[1\].copy isn't a key of an ensemble; the keys are .*copies, em",
        ),
        (with_family(copies=0), r"family\[1\].copies is 0; it must be greater than or equal to 1"),
        (with_family(copies=True), r"family\[1\].copies is True; it must be a valid integer"),
        (with_family(states=0), r"family\[1\].states is 0"),
        (with_family(name=" "), r"family\[1\].name is ' '; it must be printable text on one line"),
        (with_family(name="a\nb"), r"family\[1\].name is 'a\\nb'; it must be printable"),
        (with_family(name="a/b"), "name 'a/b' must be valid as a file name"),
        (with_family(name=".."), r"name '\.\.' must be valid"),
        (with_family(name="é" * 101), "a name of 202 bytes; it must be at most 200"),
        (with_family(method="neural"), "method is 'neural'; it must be one of spectral, clust"),
        (with_family(noise="loud"), "noise is 'loud'; it must be 'none', 'dropout', 'additive'"),
        (with_family(sigma=[0.1]), r"family 'plain' has noise 'none' and sigma \[0.1\]; set both"),
        (
            with_family(noise="dropout"),
            r"family\[1\]: family 'plain' has noise 'dropout' and sigma \[0.0\]; set both",
        ),
        (with_family(noise="dropout", sigma=[1.0]), "family 'plain': sigma is 1.0; with dropout"),
        (with_family(noise="dropout", sigma=[0.1, 0.1]), "list of one or more different values"),
        (with_family(noise="dropout", sigma=[]), "list of one or more different values"),
        (
            with_family(noise="dropout", sigma=[True]),
            r"sigma\[1\] is True; it must be a valid number",
        ),
        (
            with_family(noise="additive", sigma=[1e300]),
            r"sigma is 1e\+300; it must be from 0 to",
        ),
        (with_family(copies=200000), "copies is 200000; it must be less than or equal to 1000"),
        (with_family(noise="additive", sigma=[-0.1]), r"sigma\[1\] is -0.1; it must be greater"),
        (with_family(noise="additive", sigma=[float("inf")]), "is inf; it must be a finite number"),
        (
            with_family(method="em", noise="additive", sigma=[0.1]),
            "family 'plain': noise requires the method spectral or clustering; the method is em",
        ),
        (
            with_family(jackknife=True),
            r"family\[1\].jackknife isn't a key of an ensemble; the",
        ),
        (with_family(state_search={}), r"family\[1\].state_search isn't a key of an ensemble"),
        (with_family(copy=2), "the keys are (?!.*(jackknife|state_search)).*noise"),
        (
            {"noise": {"sigma": 0.1}, "family": [PLAIN]},
            "noise isn't a key of an ensemble; the",
        ),
        ({"nose": 1, "family": [PLAIN]}, "the keys are (?!.*(noise|state_search)).*jackknife"),
        (with_family(clustering={"rank": 0}), "family 'plain': .*rank is 0; it must be at least 1"),
        (with_family(clustering={"states": 3}), "clustering.states is 3; .* beside the table"),
        (with_family(spectral=3), "spectral is 3; it must be a table of settings"),
        ({"family": [PLAIN, PLAIN]}, "2 families or combinations have the name 'plain'"),
        (
            {
                "family": [
                    {"name": "a", "noise": "additive", "sigma": [0.5]},
                    {"name": "a-0.5"},
                ]
            },
            "2 members would have the name 'a-0.5-1'; use other names of families, or",
        ),
        (with_family(noise="additive", sigma=[0.1, 0.1 + 1e-9]), "2 members would have the name"),
        (with_combination(name="plain"), "2 families or combinations have the name 'plain'"),
        (with_combination(inputs=[]), "inputs is .*; it must be a list of one or more different"),
        (with_combination(inputs=["plain", "plain"]), "a list of one or more different values"),
        (
            with_combination(inputs=["all"]),
            "combination 'all' has the input 'all'; families and combinations above it are plain",
        ),
        (with_combination(how="vote"), "how is 'vote'; it must be 'tree-coverage', 'marginal-cov"),
        (with_combination(price=1.5), r"combination\[1\].price is 1.5; it must be less than or"),
        (
            with_combination(price=True),
            r"combination\[1\].price is True; it must be a valid",
        ),
        (with_combination(best=0), r"combination\[1\].best is 0; it must be greater than or"),
        (
            with_combination(how="maxent", price=0.5),
            "combination 'all' has price; maxent has no such setting",
        ),
        (with_combination(how="maxent", best=2), "'all' has best; maxent has no such setting"),
        (
            with_combination(reranker={}),
            "'all' has reranker; marginal-coverage has no such setting",
        ),
        (
            with_combination(reranker={"least": 0}),
            r"combination\[1\].reranker: least is 0; it must be at least 1",
        ),
        (
            with_combination(reranker={"schemata": ["taste"]}),
            r"combination\[1\].reranker: schemata \['taste'\]; choose from rule, ",
        ),
        (
            with_combination(reranker={"maxent": {"target": "luck"}}),
            "maxent.target is 'luck'; it must be 'best', 'soft' or 'risk'",
        ),
        (
            {
                "family": [PLAIN],
                "combination": [COVERAGE, {"name": "more", "inputs": ["all"]}],
            },
            "'more' has the input 'all', which has no marginals; the inputs of marginal-coverage",
        ),
        ({"family": [PLAIN], "jackknife": {"folds": 1}}, "jackknife.folds is 1; it must be gre"),
        ({"family": [PLAIN], "jackknife": {"trees": 1}}, "jackknife.trees is 1; it must be gre"),
        ({"family": [PLAIN], "jackknife": True}, "jackknife is True; it must be a table$"),
        ({"family": PLAIN}, "family is .*; it must be a list$"),
        ({"family": ["plain"]}, r"family\[1\] is 'plain'; it must be a table$"),
        ({"family": [{"name": ["plain"]}]}, r"family\[1\].name is \['plain'\]; it must be a valid"),
        ({"family": [PLAIN], "settings": {}}, "settings isn't a key of an ensemble; the keys are"),
        ({"family": [PLAIN], "tagger": True}, "tagger isn't a key of an ensemble; the keys are"),
    ],
)
def test_what_makes_no_sense_is_refused(tables, message):
    with pytest.raises(SettingsError, match=rf"^ensemble: .*{message}") as caught:
        make_config(tables)
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    "tables",
    [
        {"family": [PLAIN]},
        NETWORK,
        {
            "title": "All keys",
            "states": 7,
            "treebank": {"heads": "negra", "lexicon": {"rare_threshold": 2}},
            "unseen": False,
            "clustering": {"rank": 5},
            "parsing": {"max_words": 50, "objective": "spans"},
            "family": [
                {**ADDITIVE, "clustering": {"assignment": "soft"}},
                {"name": "em", "method": "em", "em": {"iterations": 2}},
                {"name": "other", "method": "pcfg", "unseen": {"least": 0.02}},
            ],
            "combination": [
                {
                    "name": "one",
                    "how": "maxent",
                    "inputs": ["additive"],
                    "reranker": {
                        "schemata": ["rule", "heads-tags"],
                        "least": 2,
                        "function_words": 0,
                        "maxent": {"target": "risk", "loss": "brackets", "iterations": 3},
                    },
                },
                {
                    "name": "two",
                    "how": "tree-coverage",
                    "inputs": ["one", "em"],
                    "price": 0.0,
                    "best": 3,
                },
            ],
            "jackknife": {"folds": 3, "trees": 10},
        },
    ],
)
def test_tables_describe_the_same_ensemble(tables):
    description = make_config(tables)
    again = make_config(description.tables())
    assert again == description
    assert again.members() == description.members()
    assert again.tables() == description.tables()


def test_what_is_not_given_of_a_reranker_has_its_default():
    tables = with_combination(how="maxent", reranker={"maxent": {"iterations": 7}})
    given = make_config(tables).combination[0].reranker.maxent
    default = make_config(with_combination(how="maxent")).combination[0].reranker.maxent
    assert given.iterations == 7
    assert (given.target, given.sharpness) == (default.target, default.sharpness)
    assert given.regularisation == default.regularisation


def test_without_combinations_all_families_are_combined():
    (only,) = make_config({"family": [ADDITIVE, PLAIN]}).combination
    assert (only.how, only.inputs) == ("marginal-coverage", ["additive", "plain"])


def test_members_have_names_options_and_seeds():
    members = described().members()
    assert [member.name for member in members] == [
        "additive-0.5-1",
        "additive-0.5-2",
        "additive-1-1",
        "additive-1-2",
        "dropout-0.3-1",
        "dropout-0.3-2",
        "dropout-0.3-3",
        "coarse-1",
        "coarse-2",
    ]
    assert [member.options.noise.sigma for member in members[:5]] == [0.5, 0.5, 1.0, 1.0, 0.3]
    assert [member.options.clustering.states for member in members[::4]] == [3, 2, 2]
    assert {member.options.tagger for member in members} == {False}
    assert len({member.seed(1) for member in members}) == len(members)
    assert {member.seed(1) for member in members}.isdisjoint(member.seed(2) for member in members)


@pytest.mark.slow
def test_descriptions_of_many_members_take_no_longer_than_they_are_long():
    families = [{"name": f"family {number}", "copies": 8} for number in range(4_000)]
    given = {"family": [{**PLAIN, "copies": 1_000}, *families]}
    begun = time.process_time()
    description = make_config(given)
    assert time.process_time() - begun < 3  # some tenths, or else a minute
    assert len(description.members()) == 33_000


def test_a_member_does_not_depend_on_other_families():
    alone = make_config({"family": [DROPOUT]}).members()
    among = [member for member in described().members() if member.family == "dropout"]
    assert alone == among
    assert [one.seed(4) for one in alone] == [one.seed(4) for one in among]
    more = make_config({"family": [{**DROPOUT, "copies": 5}]}).members()
    assert more[:3] == alone


def test_settings_of_a_family_lie_over_those_of_the_file():
    tables = {
        "states": 9,
        "clustering": {"rank": 3, "restarts": 2},
        "family": [PLAIN, {**COARSE, "clustering": {"rank": 4}}],
    }
    options = [member.options for member in make_config(tables).members()]
    found = [(each.clustering.rank, each.clustering.restarts) for each in options]
    assert found == [(3, 2), (4, 2), (4, 2)]
    assert [each.clustering.states for each in options] == [9, 2, 2]


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("coarse", {"coarse"}),
        ("trees", {"additive", "coarse"}),
        ("first", {"additive", "coarse"}),
        ("second", {"additive", "coarse", "dropout"}),
        ("last", {"additive", "coarse", "dropout"}),
    ],
)
def test_families_that_a_combination_needs(name, families):
    assert described().needed_by(name) == families


def test_only_rerankers_are_trained():
    assert described().has_rerankers
    assert [each.name for each in described().combination if each.is_trained] == ["first", "second"]
    assert not make_config({"family": [PLAIN]}).has_rerankers


def test_a_file_is_named_where_it_is_wrong(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[[family]]\nname = "plain"\ncopies = 3\n')
    assert read_ensemble_config(path) == make_config({"family": [{**PLAIN, "copies": 3}]})
    assert isinstance(read_ensemble_config(path), EnsembleConfig)
    path.write_text('[[family]]\nname = "plain"\ncopies = 0\n')
    with pytest.raises(SettingsError, match=r"mine\.toml: family\[1\]\.copies is 0"):
        read_ensemble_config(path)
    path.write_text("[[family]\n")
    with pytest.raises(SettingsError, match=r"mine\.toml: isn't TOML"):
        read_ensemble_config(path)


@pytest.mark.parametrize("key", ["a." * 40_000 + "a = 1", "[" + '"a" . ' * 60 + "b]"])
def test_keys_of_many_parts_are_refused(tmp_path, key):
    (tmp_path / "mine.toml").write_text(f'title = "{"a." * 40}"\n{key}\n')
    with pytest.raises(SettingsError, match=r"mine\.toml: is nested too deeply"):
        read_ensemble_config(tmp_path / "mine.toml")
