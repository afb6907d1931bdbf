"""Services that many tests ask: one in this process, one with a port."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from eigentree.web.app import Service, make_app
from eigentree.web.limits import Limits
from eigentree.web.models import name_models
from tests.web import models
from tests.web.inside import Inside
from tests.web.running import Running


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the models are."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def demo(folder: Path) -> Path:
    return models.save_demo(folder)


@pytest.fixture(scope="session")
def inside(folder: Path, demo: Path) -> Iterator[Inside]:
    """A service of every kind of model, without a port."""
    served = name_models(
        [
            ("constituents", str(demo)),
            ("constituents", str(models.save_ensemble(folder))),
            ("dependencies", str(models.save_dependencies(folder))),
            ("brackets", str(models.save_brackets(folder))),
        ]
    )
    service = Service(
        served, 1, Limits(body_bytes=20_000, characters=4000, run_characters=900, sentences=5)
    )
    with asyncio.Runner() as runner:
        running = service.running()
        runner.run(running.__aenter__())
        yield Inside(service, make_app(service, ["test"]), runner)
        runner.run(running.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def running(folder: Path, demo: Path) -> Iterator[Running]:
    """A service with a port and two workers, with little time for a sentence."""
    options = ["--workers", "2", "--max-tokens", "2000", "--max-sentence-seconds", "2"]
    options += ["--max-request-seconds", "30", "--max-waiting", "4", "--max-body-seconds", "1"]
    with Running("-m", demo, "-m", models.save_slow(folder), *options) as service:
        yield service
