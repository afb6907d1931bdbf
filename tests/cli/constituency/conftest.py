"""The files that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.constituency.samples import SENTENCES, TREES
from tests.demo import demo_parser


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "demo.egt"
    demo_parser().save(path)
    # Kernels compiled before any process is timed or read from.
    demo_parser().parse(["dog"])
    return path


@pytest.fixture
def sentences(tmp_path) -> Path:
    path = tmp_path / "sentences.txt"
    path.write_text("".join(line + "\n" for line in SENTENCES), "utf-8")
    return path


@pytest.fixture
def treebank(tmp_path) -> Path:
    path = tmp_path / "small.mrg"
    path.write_text(TREES, "utf-8")
    return path
