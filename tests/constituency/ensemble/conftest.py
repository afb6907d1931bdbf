"""An ensemble for several test files, trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from eigentree.constituency.ensemble.training import train_ensemble
from tests.constituency.ensemble.samples import described, sampled_trees


@pytest.fixture(scope="session")
def ensemble_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ensemble with all kinds of families and combinations, and a tagger; read only."""
    folder = tmp_path_factory.mktemp("ensemble")
    train_ensemble(sampled_trees()[:60], described(), folder, wrapper="", seed=1)
    return folder
