"""Tree metrics as tables."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.bracketing.tree_metric import TreeMetric, quartet_excess
from eigentree.errors import GrammarError, ShapeError
from eigentree.treebank.universal_tags import tag_map
from tests.helpers import close

UD = tag_map("ud")


def test_distances_are_looked_up_by_tags_and_places():
    table = np.arange(3 * 3 * 2, dtype=np.float64).reshape(3, 3, 2)
    metric = TreeMetric(("NOUN", "VERB"), UD, table)
    found = metric.distances(["PROPN", "AUX", "ADV", "NOUN"])
    assert metric.largest_distance == 2
    assert np.array_equal(found, found.T)
    assert np.array_equal(np.diagonal(found), np.zeros(4))
    assert found[0, 1] == table[0, 1, 0]
    assert found[0, 2] == table[0, 2, 1]  # a tag that is unknown
    assert found[1, 3] == table[1, 0, 1]
    assert found[0, 3] == table[0, 0, 1]  # further away than is told apart
    assert metric.distances([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("tags", "table", "error", "message"),
    [
        (("a",), np.zeros((3, 3, 1)), ShapeError, "S"),
        (("a",), np.zeros((2, 2, 0)), GrammarError, "no distances"),
        (("a",), np.full((2, 2, 1), np.inf), GrammarError, "is not finite"),
        (("a", "a"), np.zeros((3, 3, 1)), GrammarError, "twice"),
        (("a",), np.zeros((2, 2, 1), dtype=np.float32), ShapeError, "float32"),
    ],
)
def test_tables_that_are_none_are_refused(tags, table, error, message):
    with pytest.raises(error, match=message):
        TreeMetric(tags, UD, table)


def test_trees_have_no_excess_and_chance_has():
    # ((0 1) (2 (3 4))) with edges of length 1.
    exact = np.array(
        [[0, 2, 4, 5, 5], [2, 0, 4, 5, 5], [4, 4, 0, 3, 3], [5, 5, 3, 0, 2], [5, 5, 3, 2, 0]],
        dtype=np.float64,
    )
    own = np.arange(5.0)
    assert quartet_excess(exact) == 0.0
    assert close(quartet_excess(exact + own + own[:, None]), 0.0, rtol=0.0, atol=1e-12)
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(15, 15))
    assert 0.4 < quartet_excess(drawn + drawn.T) < 0.6
    assert np.isnan(quartet_excess(np.zeros((3, 3))))
    assert quartet_excess(np.ones((4, 4))) == 0.0
