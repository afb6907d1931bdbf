"""Models of any kind: how they are found and opened."""

from __future__ import annotations

import numpy as np
import pytest

import eigentree
from eigentree import ConstituencyParser, DependencyParser, available_models, load
from eigentree.base import KINDS, kind_of
from eigentree.errors import EigentreeError, ModelFileError, SettingsError
from eigentree.model_file import save_model


def test_bundled_models_are_opened_by_name():
    kinds = {model.name: model.kind for model in available_models()}
    assert kinds == {"english": "parser", "english-dependencies": "dependency parser"}
    assert isinstance(load("english"), ConstituencyParser)
    assert isinstance(load("english-dependencies", verify=False), DependencyParser)


def test_files_that_are_no_parsers_are_refused(tmp_path):
    save_model(tmp_path / "a.egt", {"kind": "automaton"}, {"a": np.zeros(2)})
    assert kind_of(tmp_path / "a.egt") == "automaton"
    with pytest.raises(ModelFileError, match="kind 'automaton'; expected 'parser' or "):
        load(tmp_path / "a.egt")
    with pytest.raises(ModelFileError, match="can't be read"):
        load(tmp_path / "missing.egt")
    with pytest.raises(ModelFileError, match="no ensemble"):
        load(tmp_path)


def test_every_kind_names_modules_that_exist():
    for kind, modules in KINDS.items():
        parser = getattr(__import__(modules.module, fromlist=["x"]), modules.name)
        assert parser.kind == kind
        for module in (modules.model_file, modules.training):
            assert __import__(module, fromlist=["x"])


def test_errors_are_a_family():
    errors = {getattr(eigentree, name) for name in eigentree.PUBLIC_NAMES["errors"]}
    every = {kind for kind in vars(eigentree.errors).values() if isinstance(kind, type)}
    assert {kind for kind in every if issubclass(kind, EigentreeError)} == errors
    assert issubclass(SettingsError, ValueError)
