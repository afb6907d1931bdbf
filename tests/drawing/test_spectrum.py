"""Pictures of spectra."""

from __future__ import annotations

import pytest

from eigentree.drawing.spectrum import MAX_COLUMNS, draw_spectrum


@pytest.mark.parametrize(
    ("values", "kept", "picture", "plain"),
    [
        ([], 1, "", ""),
        ([3.0], 1, "█", "#"),
        ([8.0, 7.0, 4.0, 1.0, 0.0], 5, "█▇▄▁▁", "#*-__"),
        ([8.0, 4.0, 2.0], 2, "█▄│▂", "#-|."),
        ([8.0, 4.0, 2.0], 3, "█▄▂", "#-."),
    ],
)
def test_bars_are_relative_to_the_largest_and_a_line_ends_the_states(values, kept, picture, plain):
    assert draw_spectrum(values, kept) == picture
    assert draw_spectrum([1000 * value for value in values], kept) == picture
    assert draw_spectrum(values, kept, ascii_only=True) == plain
    assert plain.isascii()


def test_long_spectra_share_columns():
    values = [100.0 - i for i in range(48)]
    assert len(draw_spectrum(values, 48)) == MAX_COLUMNS
    assert draw_spectrum(values, 16).index("│") == 8
    assert draw_spectrum(values, 15).index("│") == 8
    assert draw_spectrum(values, 47).count("│") == 0
    assert len(draw_spectrum(values[:25], 25)) <= MAX_COLUMNS
