"""Rounding to the upper halves of single-precision numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigentree._core.bfloat16 import from_upper_halves, round_to_bfloat16, upper_halves

NUMBERS = st.floats(-(2.0**126), 2.0**126, width=32)


@given(st.lists(NUMBERS, max_size=5))
def test_rounded_numbers_are_the_nearest(numbers: list[float]) -> None:
    given_numbers = np.array(numbers, dtype=np.float32)
    rounded = round_to_bfloat16(given_numbers)
    halves = upper_halves(rounded)
    assert halves is not None
    assert np.array_equal(from_upper_halves(halves), rounded)
    for number, near, half in zip(given_numbers, rounded, halves.tolist(), strict=True):
        distance = abs(Fraction(float(near)) - Fraction(float(number)))
        # The neighbours on both sides, in the order of magnitudes.
        for neighbour in (half - 1, half + 1):
            if neighbour >= 0 and (neighbour & 0x8000) == (half & 0x8000):
                other = from_upper_halves(np.array([neighbour], dtype=np.uint16))[0]
                assert distance <= abs(Fraction(float(other)) - Fraction(float(number)))


def test_other_numbers_have_no_upper_halves() -> None:
    assert upper_halves(np.array([1.0, 0.1], dtype=np.float32)) is None
    assert upper_halves(np.array([1.0, -0.5, 0.0], dtype=np.float32)) is not None
