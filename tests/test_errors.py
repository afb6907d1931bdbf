"""What the errors of the package say."""

from __future__ import annotations

import math

import pytest

from eigentree.errors import SettingsError, check_range, counted


def test_one_of_anything_is_singular():
    assert (counted(1, "tree"), counted(2, "tree")) == ("1 tree", "2 trees")
    assert counted(2, "child", "children") == "2 children"


def test_settings_within_their_range():
    check_range(1, states=1, iterations=10**400)
    check_range(0, 1, cut=0.0, threshold=0.999)


@pytest.mark.parametrize(
    ("low", "below", "value", "message"),
    [
        (1, math.inf, 0, "states is 0; it must be at least 1"),
        (0, math.inf, math.nan, "states is nan; it must be at least 0"),
        (0, math.inf, math.inf, "states is inf; it must be at least 0"),
        (0, 1, 1.0, "states is 1.0; it must be at least 0 and below 1"),
    ],
)
def test_a_setting_outside_its_range_is_named(low, below, value, message):
    with pytest.raises(SettingsError) as found:
        check_range(low, below, other=0.5 if below == 1 else 1, states=value)
    assert str(found.value) == message
