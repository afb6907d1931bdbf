"""The folder of an ensemble: consistency of its parts, and head tables from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from eigentree.constituency.calibrate import calibrate
from eigentree.constituency.ensemble.config import make_config
from eigentree.constituency.ensemble.model_folder import (
    load_reranker,
    reranker_path,
    save_reranker,
    stored_heads,
)
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.model_file import open_model, save_model
from eigentree.treebank.heads import head_rules
from tests.constituency.ensemble.samples import ADDITIVE, RERANKER, described, sampled_trees

SENTENCES = [(tree.words(), tree.tags()) for tree in sampled_trees()[60:75]]


def changed_index(folder: Path, **changes: Any) -> None:
    path = folder / "ensemble.egt"
    file = open_model(path)
    save_model(path, {**file.header, **changes}, {}, file.blobs)


def index_of(folder: Path) -> dict[str, Any]:
    return open_model(folder / "ensemble.egt").header


@pytest.mark.slow
@pytest.mark.parametrize("verify", [True, False])
def test_members_that_are_opened_one_by_one_change_nothing(ensemble_folder, verify):
    kept = EnsembleParser.load(ensemble_folder, verify=verify)
    lean = EnsembleParser.load(ensemble_folder, low_memory=True, verify=verify)
    assert lean.batch > kept.batch
    untagged = [(words, None) for words, _ in SENTENCES]
    for sentences in (SENTENCES, untagged):
        assert list(kept.parse_many(sentences)) == list(lean.parse_many(sentences))
    assert kept.description == lean.description


def test_a_saved_ensemble_parses_alike_and_trains_no_further(ensemble_folder, tmp_path):
    ensemble = EnsembleParser.load(ensemble_folder)
    calibrated = calibrate(ensemble, sampled_trees()[:20])
    for parser in (calibrated, ensemble):  # the second removes the calibration
        parser.save(tmp_path / "copy")
        copy = EnsembleParser.load(tmp_path / "copy")
        assert list(copy.parse_many(SENTENCES)) == list(parser.parse_many(SENTENCES))
        assert copy.calibrations.keys() == parser.calibrations.keys()
    assert not (tmp_path / "copy" / "work").exists()
    copy.save(tmp_path / "copy")  # onto itself
    assert copy.summary() == ensemble.summary()
    assert copy.evaluate(sampled_trees()[:5]).all.f1 is not None
    with pytest.raises(ModelFileError, match="was not opened from a folder"):
        replace(ensemble, folder=None).save(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFileError, match="file: is a file; an ensemble requires"):
        ensemble.save(tmp_path / "file")
    mine = tmp_path / "mine" / "members"
    mine.mkdir(parents=True)
    (mine / "own.egt").write_text("mine")
    (tmp_path / "mine" / "letter").write_text("dear")
    with pytest.raises(ModelFileError, match="contains other files than those of an ensemble"):
        ensemble.save(tmp_path / "mine")
    assert (mine / "own.egt").read_text() == "mine"


def test_an_ensemble_is_trained_as_other_parsers_are():
    family = {"name": "plain", "method": "clustering"}
    config = make_config({"family": [family]})
    ensemble = EnsembleParser.train(sampled_trees(), config, method="pcfg", tagger=False)
    assert ensemble.folder is not None
    member = ConstituencyParser.load(ensemble.folder / "members" / "plain-1.egt")
    assert member.description["method"] == "pcfg"
    assert ensemble.parse(*SENTENCES[0]).tree is not None


@pytest.mark.parametrize("lean", [True, False])
def test_members_share_backbones(ensemble_folder, lean):
    ensemble = EnsembleParser.load(ensemble_folder, low_memory=lean)
    assert len(ensemble.backbones) == 2
    names = []
    for number, plain in enumerate(ensemble.backbones):
        for family, grammar in ensemble.members(number):
            assert grammar.backbone is plain.grammar.backbone
            names.append(family)
    assert names == ["additive"] * 4 + ["dropout"] * 3 + ["coarse"] * 2


def test_a_loaded_ensemble_is_the_one_that_was_trained(ensemble_folder):
    ensemble = EnsembleParser.load(ensemble_folder)
    assert ensemble.wrapper == ""
    assert ensemble.tagger is not None
    assert ensemble.description["members"] == [each.name for each in described().members()]
    assert ensemble.description["trees"] == 60
    assert ensemble.stacking.config == described()
    assert repr(ensemble) == "<EnsembleParser: 9 members, 5 combinations, tagger>"


def test_members_parse_alone(ensemble_folder):
    parser = ConstituencyParser.load(ensemble_folder / "members" / "coarse-2.egt")
    assert parser.parse(*SENTENCES[0]).fallback is None


# Parts that don't belong together ---------------------------------------------------------


def drop(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def swap(one: str, other: str) -> Callable[[Path], None]:
    return lambda folder: (folder / one).write_bytes((folder / other).read_bytes())


def spoil(name: str) -> Callable[[Path], None]:
    def spoiled(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[-50] ^= 1
        (folder / name).write_bytes(content)

    return spoiled


def other_members(folder: Path) -> None:
    changed_index(folder, members=index_of(folder)["members"][1:])


def other_backbones(folder: Path) -> None:
    members = index_of(folder)["members"]
    changed_index(folder, members=[{**each, "backbone": 0} for each in members])


def family_in_two(folder: Path) -> None:
    members = index_of(folder)["members"]
    changed_index(folder, members=[*members[:-1], {**members[-1], "backbone": 0}])


def from_one(folder: Path) -> None:
    members = index_of(folder)["members"]
    moved = [{**each, "backbone": each["backbone"] + 1} for each in members]
    changed_index(folder, members=moved)


def no_rerankers(folder: Path) -> None:
    changed_index(folder, rerankers={})


def other_columns(folder: Path) -> None:
    path = reranker_path(folder, "first")
    file = open_model(path)
    names = ["other", *file.header["columns"][1:]]
    save_model(path, {**file.header, "columns": names}, file.arrays)


def fewer_columns(folder: Path) -> None:
    path = reranker_path(folder, "first")
    file = open_model(path)
    save_model(path, {**file.header, "columns": file.header["columns"][1:]}, file.arrays)


def of_a_parser(folder: Path) -> None:
    swap("ensemble.egt", "members/coarse-1.egt")(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("ensemble.egt"), "has no ensemble.egt; it is not an ensemble, or its training"),
        (drop("members/additive-1-2.egt"), "members/additive-1-2.egt: can't be read: No such file"),
        (drop("rerankers/second.egt"), "rerankers/second.egt: can't be read: No such file"),
        (spoil("ensemble.egt"), "ensemble.egt: is damaged: its content doesn't match its digest"),
        (spoil("members/coarse-1.egt"), "coarse-1.egt: is damaged: its content doesn't match"),
        (spoil("rerankers/first.egt"), "first.egt: is damaged: its content doesn't match"),
        (
            swap("members/dropout-0.3-1.egt", "members/dropout-0.3-2.egt"),
            "members/dropout-0.3-1.egt: is not a member of this ensemble",
        ),
        (
            swap("rerankers/first.egt", "rerankers/second.egt"),
            "rerankers/first.egt: is not the reranker of this ensemble",
        ),
        (
            swap("rerankers/first.egt", "members/coarse-1.egt"),
            "first.egt: is a model of kind 'parser'; expected 'reranker'",
        ),
        (of_a_parser, "ensemble.egt: is a model of kind 'parser'; expected 'ensemble'"),
        (other_members, "ensemble.egt: its members differ from those of its description"),
        (other_backbones, "coarse-1.egt: has other rules or words than members with its backbone"),
        (family_in_two, "ensemble.egt: the members of a family have different backbones"),
        (from_one, "ensemble.egt: its backbones are not numbered from 0"),
        (no_rerankers, "ensemble.egt: its rerankers differ from those of its description"),
        (other_columns, "the reranker 'first' was trained by another version"),
        (fewer_columns, "first.egt: a reranker's dense_weights has shape"),
    ],
)
def test_parts_that_do_not_belong_together(tmp_path, ensemble_folder, change, message):
    folder = copytree(ensemble_folder, tmp_path / "copy")
    change(folder)
    with pytest.raises(ModelFileError, match=message) as caught:
        EnsembleParser.load(folder)
    assert str(caught.value).startswith(str(folder))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"description": {}}, "ensemble.egt: family is missing"),
        ({"description": 3}, "ensemble.egt: its header's description"),
        ({"members": [{"name": "a"}]}, "its header's members.0.family: Field required"),
        ({"members": "all"}, "its header's members"),
        (
            {"heads": "imaginary"},
            "ensemble.egt: its head table:1: unknown step '' of label 'imaginary'",
        ),
        ({"heads": None}, "its header's heads"),
        ({"wrapper": 3}, "its header's wrapper"),
        ({"about": None}, "its header's about"),
    ],
)
def test_forged_indices(tmp_path, ensemble_folder, changes, message):
    folder = copytree(ensemble_folder, tmp_path / "copy")
    changed_index(folder, **changes)
    with pytest.raises(ModelFileError, match=message):
        EnsembleParser.load(folder)


def test_what_is_missing_is_reported_when_it_is_needed(tmp_path, ensemble_folder):
    folder = copytree(ensemble_folder, tmp_path / "copy")
    lean = EnsembleParser.load(folder, low_memory=True)
    drop("members/coarse-2.egt")(folder)
    with pytest.raises(ModelFileError, match=r"coarse-2\.egt: can't be read"):
        lean.parse(*SENTENCES[0])


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(ModelFileError, match="no ensemble"):
        EnsembleParser.load(tmp_path / "nothing")


# Head tables and names --------------------------------------------------------------------


def test_packaged_head_tables_are_kept_by_name_and_others_by_their_lines(tmp_path, monkeypatch):
    assert stored_heads("english") == "english"
    (tmp_path / "mine.heads").write_text("* rightmost")
    assert stored_heads(str(tmp_path / "mine.heads")) == "* rightmost"
    monkeypatch.chdir(tmp_path)
    assert stored_heads("mine.heads") == "* rightmost"
    with pytest.raises(EigentreeError, match="lost"):
        stored_heads("lost.heads")


@pytest.mark.slow
@pytest.mark.parametrize("lines", ["* leftmost", "NP leftmost NP N\n* rightmost\n"])
def test_a_head_table_of_ones_own_need_not_stay(tmp_path, monkeypatch, lines):
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "mine.heads"
    table.write_text(lines)
    tables = {
        "treebank": {"heads": "mine.heads"},
        "family": [{**ADDITIVE, "copies": 1, "states": 2}],
        "combination": [
            {"name": "one", "how": "maxent", "inputs": ["additive"], "reranker": RERANKER}
        ],
        "jackknife": {"folds": 2},
    }
    folder = tmp_path / "ensemble"
    trees = sampled_trees()[:60]
    trained = train_ensemble(trees, make_config(tables), folder, tagger=False)
    before = list(trained.parse_many(SENTENCES))
    table.unlink()
    loaded = EnsembleParser.load(folder)
    assert list(loaded.parse_many(SENTENCES)) == before
    finder = loaded.stacking.rerankers["one"].table
    assert finder.features([[sampled_trees()[0]]]).values.shape[0] == 1


@pytest.mark.parametrize("name", ["a b", "ä", "%s", "a.b", "-", "C:\\x", "'", "*", "~"])
def test_names_of_any_characters(tmp_path, name):
    tables = {
        "family": [{"name": name, "copies": 2, "states": 1}],
        "combination": [{"name": f"{name}!", "how": "tree-coverage", "inputs": [name]}],
    }
    trees = sampled_trees()[:10]
    train_ensemble(trees, make_config(tables), tmp_path, tagger=False)
    loaded = EnsembleParser.load(tmp_path)
    assert loaded.description["members"] == [f"{name}-1", f"{name}-2"]
    assert loaded.parse(trees[0].words(), trees[0].tags()).fallback is None


def test_rerankers_in_files_come_back(tmp_path, ensemble_folder):
    heads = head_rules("english")
    made_from = index_of(ensemble_folder)["rerankers"]["second"]
    path = reranker_path(ensemble_folder, "second")
    reranker = load_reranker(path, heads, made_from)
    save_reranker(tmp_path / "again.egt", reranker, made_from)
    assert (tmp_path / "again.egt").read_bytes() == path.read_bytes()
    with pytest.raises(ModelFileError, match="is not the reranker of"):
        load_reranker(path, heads, "another")
