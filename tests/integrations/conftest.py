"""Model files that the tests of this folder share."""

import pytest

from tests.demo import demo_parser
from tests.samples import whole_parser


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A constituency model as a file."""
    path = tmp_path_factory.mktemp("models") / "demo.egt"
    demo_parser().save(path)
    return str(path)


@pytest.fixture(scope="session")
def dependencies(tmp_path_factory):
    """A dependency model as a file."""
    path = tmp_path_factory.mktemp("models") / "clauses.egt"
    whole_parser().save(path)
    return str(path)
