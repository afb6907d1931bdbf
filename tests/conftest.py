"""Fixtures and hypothesis profiles of the whole suite."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from eigentree._core.jit import compile_parts
from eigentree._core.kernel_parts import PARTS

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


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels, where there is no copy of them on disk yet, with all processors.

    Where tests run in several processes, none of these has begun when this is called.
    """
    if not hasattr(session.config, "workerinput") and not session.config.option.collectonly:
        compile_parts(PARTS)


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
