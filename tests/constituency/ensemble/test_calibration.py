"""An ensemble with a calibration in its folder."""

from __future__ import annotations

from shutil import copytree

import pytest

from eigentree.constituency.ensemble.config import make_config
from eigentree.constituency.ensemble.model_folder import save_calibrations
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.errors import ModelFileError
from eigentree.model_file import open_model, save_model
from eigentree.treebank.io.brackets import format_tree
from tests.constituency.ensemble.samples import sampled_trees
from tests.demo import run_verb


def test_an_ensemble_is_calibrated_in_its_folder(ensemble_folder, tmp_path):
    own = tmp_path / "ensemble"
    copytree(ensemble_folder, own)
    trees = tmp_path / "trees.mrg"
    trees.write_text("".join(f"{format_tree(tree)}\n" for tree in sampled_trees()[60:75]), "utf-8")
    code, _, err = run_verb("calibrate", own, trees, "-o", tmp_path / "model.egt", "-q")
    assert code == 2
    assert "for an ensemble its own folder" in err
    code, _, _ = run_verb("calibrate", own, trees, "-o", own, "-q")
    assert code == 0
    plain, found = EnsembleParser.load(ensemble_folder), EnsembleParser.load(own)
    words, tags = sampled_trees()[61].words(), sampled_trees()[61].tags()
    raw, told = plain.parse(words, tags), found.parse(words, tags, marginals=0.0)
    assert told.tree == raw.tree
    assert told.calibrated is not None
    known = {each[:3] for each in told.marginals}
    assert {each[:3] for each in told.brackets} <= known
    # What a file says of another ensemble is not believed.
    (own / "ensemble.egt").write_bytes((ensemble_folder / "ensemble.egt").read_bytes())
    EnsembleParser.load(own)
    with (own / "calibration.egt").open("r+b") as file:
        file.seek(-40, 2)
        file.write(b"\x00" * 8)
    with pytest.raises(ModelFileError, match=r"calibration\.egt"):
        EnsembleParser.load(own)


def test_a_calibration_stays_with_the_ensemble_that_it_was_made_with(tmp_path):
    trees, folder = sampled_trees()[:10], tmp_path / "ensemble"
    description = make_config({"family": [{"name": "one", "states": 2}]})
    train_ensemble(trees, description, folder, tagger=False)
    save_calibrations(folder, {})
    train_ensemble(trees, description, folder, tagger=False)
    assert (folder / "calibration.egt").exists()
    train_ensemble(trees, description, folder, tagger=False, seed=1)
    assert not (folder / "calibration.egt").exists()


def test_a_calibration_of_another_ensemble_is_refused(ensemble_folder, tmp_path):
    own = tmp_path / "ensemble"
    copytree(ensemble_folder, own)
    save_calibrations(own, {})
    assert EnsembleParser.load(own).calibrations == {}
    index = open_model(own / "ensemble.egt")
    changed = {**index.header, "wrapper": "ROOT"}
    save_model(own / "ensemble.egt", changed, {}, index.blobs)
    with pytest.raises(ModelFileError, match="is of another ensemble"):
        EnsembleParser.load(own)
