"""What holds for the model file of every product."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from eigentree.base import KINDS, kind_of, load
from eigentree.errors import ModelFileError
from tests.contracts.products import PRODUCTS

# An ensemble is a folder of model files and its own description.
FILES = [name for name in PRODUCTS if name != "ensemble"]
pytestmark = pytest.mark.parametrize("name", FILES)


@cache
def file_of(name: str) -> Path:
    path = Path(mkdtemp()) / "model.egt"
    PRODUCTS[name].make().save(path)
    return path


def test_the_kind_is_in_the_file(name):
    parser = PRODUCTS[name].make()
    assert kind_of(file_of(name)) == parser.kind
    assert KINDS[parser.kind].name == type(parser).__name__


def test_a_loaded_parser_is_saved_as_the_same_bytes(name, tmp_path):
    load(file_of(name)).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == file_of(name).read_bytes()


def test_damage_at_any_byte_is_found(name, tmp_path, rng):
    content = np.frombuffer(file_of(name).read_bytes(), np.uint8)
    places = [*range(0, 400, 23), *rng.integers(len(content), size=20), len(content) - 1]
    for place in places:
        damaged = content.copy()
        damaged[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "damaged").write_bytes(damaged.tobytes())
        with pytest.raises(ModelFileError, match="damaged"):
            load(tmp_path / "damaged")


def test_a_file_that_is_cut_off_is_refused(name, tmp_path, rng):
    content = file_of(name).read_bytes()
    for size in [0, 1, 8, 9, *rng.integers(len(content), size=10), len(content) - 1]:
        (tmp_path / "cut").write_bytes(content[: int(size)])
        with pytest.raises(ModelFileError, match="cut"):
            load(tmp_path / "cut")


def test_another_kind_is_named(name):
    for other in FILES:
        if other != name:
            with pytest.raises(ModelFileError, match=r"is a model of kind .*; expected"):
                type(PRODUCTS[name].make()).load(file_of(other))
