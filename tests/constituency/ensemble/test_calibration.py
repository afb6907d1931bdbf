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


@pytest.mark.slow
def test_an_ensemble_is_calibrated_in_its_folder(ensemble_folder, tmp_path):
    folder = tmp_path / "ensemble"
    copytree(ensemble_folder, folder)
    trees = tmp_path / "trees.mrg"
    trees.write_text("".join(f"{format_tree(tree)}\n" for tree in sampled_trees()[60:75]), "utf-8")
    code, _, err = run_verb("calibrate", folder, trees, "-o", tmp_path / "model.egt", "-q")
    assert code == 2
    assert "the ensemble's own folder for an ensemble" in err
    code, out, _ = run_verb("calibrate", folder, trees, "-o", folder, "-q")
    assert out == ""
    assert code == 0
    plain, calibrated = EnsembleParser.load(ensemble_folder), EnsembleParser.load(folder)
    words, tags = sampled_trees()[61].words(), sampled_trees()[61].tags()
    raw, result = plain.parse(words, tags), calibrated.parse(words, tags, marginals=0.0)
    assert result.tree == raw.tree
    assert result.calibrated is not None
    known = {each[:3] for each in result.marginals}
    assert {each[:3] for each in result.brackets} <= known
    # The calibration belongs to an index with the same content.
    (folder / "ensemble.egt").write_bytes((ensemble_folder / "ensemble.egt").read_bytes())
    EnsembleParser.load(folder)
    with (folder / "calibration.egt").open("r+b") as file:
        file.seek(-40, 2)
        file.write(b"\x00" * 8)
    with pytest.raises(ModelFileError, match=r"calibration\.egt"):
        EnsembleParser.load(folder)


def test_a_calibration_stays_with_the_ensemble_that_it_was_made_with(tmp_path):
    trees, folder = sampled_trees()[:10], tmp_path / "ensemble"
    description = make_config({"family": [{"name": "one", "states": 2}]})
    train_ensemble(trees, description, folder, tagger=False)
    save_calibrations(folder, {})
    train_ensemble(trees, description, folder, tagger=False)
    assert (folder / "calibration.egt").exists()
    train_ensemble(trees, description, folder, tagger=False, seed=1)
    assert not (folder / "calibration.egt").exists()


@pytest.mark.slow
def test_a_calibration_of_another_ensemble_is_refused(ensemble_folder, tmp_path):
    folder = tmp_path / "ensemble"
    copytree(ensemble_folder, folder)
    save_calibrations(folder, {})
    assert EnsembleParser.load(folder).calibrations == {}
    index = open_model(folder / "ensemble.egt")
    changed = {**index.header, "wrapper": "ROOT"}
    save_model(folder / "ensemble.egt", changed, {}, index.blobs)
    with pytest.raises(ModelFileError, match="belongs to another ensemble"):
        EnsembleParser.load(folder)


def test_training_calibrates_on_held_out_trees(tmp_path):
    settings = make_config({"family": [{"name": "one", "states": 2}]})
    parser = EnsembleParser.train(
        sampled_trees()[:40], settings, dev=sampled_trees()[60:75], tagger=False,
        checkpoint=tmp_path / "ensemble",
    )  # fmt: skip
    words, tags = sampled_trees()[61].words(), sampled_trees()[61].tags()
    calibrated = parser.parse(words, tags).calibrated
    assert calibrated is not None
    assert EnsembleParser.load(tmp_path / "ensemble").parse(words, tags).calibrated == calibrated
