"""Checks of arrays: shapes, types and starts of parts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eigentree._core.shapes import check_shapes, check_starts, check_types
from eigentree.errors import ShapeError


def test_sizes_come_back():
    arrays = {"x": (np.zeros((2, 3)), "R K"), "y": (np.zeros(3), "K"), "z": (np.zeros(()), "")}
    assert check_shapes("Thing", arrays, n=7) == {"n": 7, "R": 2, "K": 3}


@pytest.mark.parametrize(
    ("shape", "axes", "message"),
    [
        ((4,), "K", "Thing: axis 0 of y is K, which must be 3 because x has K=3; got shape (4,)"),
        ((3, 1), "K", "Thing: y has 2 axes, must have 1 (K)"),
        ((3, 6), "K n", "Thing: axis 1 of y is n, which must be 7 because the caller has n=7"),
    ],
)
def test_arrays_that_disagree(shape, axes, message):
    arrays = {"x": (np.zeros((2, 3)), "R K"), "y": (np.zeros(shape), axes)}
    with pytest.raises(ShapeError, match=re.escape(message)):
        check_shapes("Thing", arrays, n=7)


def test_types():
    check_types("Thing", {"x": (np.zeros(2, dtype=np.int32), np.int32)})
    with pytest.raises(ShapeError, match="Thing: x holds int64, must hold int32"):
        check_types("Thing", {"x": (np.zeros(2, dtype=np.int64), np.int32)})


@pytest.mark.parametrize("starts", [[0], [0, 0], [0, 3, 3, 8]])
def test_starts(starts):
    check_starts("Thing", "starts", np.array(starts))


@pytest.mark.parametrize("starts", [[], [1], [-1, 4], [0, 3, 2], [0, 2**63 - 1, -(2**63) + 1]])
def test_starts_that_go_astray(starts):
    with pytest.raises(ShapeError, match="Thing: starts must begin with 0 and never decrease"):
        check_starts("Thing", "starts", np.array(starts, dtype=np.int64))
