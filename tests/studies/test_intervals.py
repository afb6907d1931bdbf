"""Intervals of studies where nothing was scored."""

from __future__ import annotations

import pytest

from eigentree.studies.intervals import ends_of, f1_of, interval_of, paired_comparison
from eigentree.studies.report.tables import NOTHING, in_percent, interval


@pytest.mark.parametrize("counts", [[], [None], [(0, 0, 0), None]])
def test_what_is_not_defined_has_no_interval(counts):
    assert f1_of(counts) == 0.0
    ends = ends_of(interval_of(counts))
    assert ends == {"low": None, "high": None}
    assert (interval(ends), in_percent(ends["low"])) == (NOTHING, None)
    assert paired_comparison(counts, counts) is None


def test_one_sentence_has_an_interval_of_no_width():
    ends = ends_of(interval_of([(1, 2, 2)]))
    assert ends == {"low": 0.5, "high": 0.5}
    assert interval(ends) == "50.0 to 50.0"
