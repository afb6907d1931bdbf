"""Fixtures and hypothesis profiles of the whole suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from eigentree._core.jit import needs_compiling
from eigentree.constituency.chart import _kernels_inside_outside
from eigentree.linalg import _kernels_cp

ROOT = Path(__file__).resolve().parents[1]

# The machine may be shared, so time proves nothing; the default draws the same examples
# every time, and "nightly" looks for new ones.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=2000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Learns, parses and decomposes in every way that tests compare between processes.
_COMPILE = """
import numpy as np

from eigentree.constituency.ensemble.config import make_config
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.linalg.cp import METHODS, CPOptions, decompose
from eigentree.linalg.multilinear import SparseTensor
from tests.demo import demo_trees

families = [
    {"name": "one", "states": 2, "clustering": {"restarts": 1}},
    {"name": "two", "method": "spectral", "states": 2},
]
inputs = ["one", "two"]
combinations = [{"name": "all", "how": "tree-coverage", "inputs": inputs}]
tables = {"family": families, "combination": combinations}
trees = demo_trees()[:60]
parser = train_ensemble(trees, make_config(tables), FOLDER)
list(parser.parse_many([(tree.words(), tree.tags()) for tree in trees[:20]]))
list(parser.parse_many([(tree.words(), None) for tree in trees[:20]]))
for method in METHODS:
    decompose(SparseTensor(np.zeros((1, 3), np.int32), np.ones(1), (1, 1, 1)), CPOptions(1, method))
"""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels in another process, where there is no copy of them on disk yet.

    The process that compiles a kernel may run other code than those that find it on disk, with
    sums in another order; tests of equality to the byte want all processes to be of one kind.
    Where tests run in several processes, none of these has begun when this is called.
    """
    if hasattr(session.config, "workerinput") or session.config.option.collectonly:
        return
    if needs_compiling(_kernels_inside_outside.outside_pass) or needs_compiling(
        _kernels_cp.poisson_rows
    ):
        with TemporaryDirectory() as folder:
            code = _COMPILE.replace("FOLDER", repr(folder))
            subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


# Tests that use one of these are slow, whatever they do with it.
SLOW_FIXTURES = {"treebanks", "browser", "running", "site"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rng-seed", type=int, default=20130609, help="seed of the rng fixture")


def pytest_report_header(config: pytest.Config) -> str:
    return f"rng seed: {config.getoption('--rng-seed')}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator that starts afresh in each test, from --rng-seed."""
    return np.random.default_rng(request.config.getoption("--rng-seed"))


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks, which is not part of the project.

    Without it the test is skipped; it fails instead where EIGENTREE_REQUIRE_SHARED=1 says
    that the folder must be there.
    """
    folder = Path(os.environ.get("EIGENTREE_TREEBANKS", ROOT.parent / "shared" / "treebanks"))
    if not folder.is_dir():
        reason = f"no treebanks at {folder}; name their folder in EIGENTREE_TREEBANKS"
        if os.environ.get("EIGENTREE_REQUIRE_SHARED") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
