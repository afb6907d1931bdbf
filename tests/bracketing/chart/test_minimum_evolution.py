"""The shortest trees over distances, against enumeration and against exact metrics."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.errors import GrammarError, ShapeError
from tests.helpers import close
from tests.oracles.evolution import (
    Nested,
    length_of,
    nested_trees,
    shortest,
    spans_of,
    words_of,
)
from tests.oracles.neighbour_joining import neighbour_joining

both = pytest.mark.parametrize("least_squares", [False, True])


def random_distances(rng: np.random.Generator, n: int) -> np.ndarray:
    distances = rng.normal(size=(n, n))
    return distances + distances.T


def random_tree(rng: np.random.Generator, start: int, end: int) -> Nested:
    if end - start == 1:
        return start
    split = int(rng.integers(start + 1, end))
    return random_tree(rng, start, split), random_tree(rng, split, end)


def metric_of(tree: Nested, rng: np.random.Generator, short: float = 1.0) -> np.ndarray:
    """Distances along the edges of a tree, inner ones drawn from 0.1 * short to short."""
    n = len(words_of(tree))
    distances = np.zeros((n, n))

    def visit(node: Nested) -> dict[int, float]:
        """Distance of each word from the upper end of the edge above a node."""
        if isinstance(node, int):
            return {node: rng.uniform(0.1, 1.0)}
        left, right = visit(node[0]), visit(node[1])
        for a, up in left.items():
            for b, down in right.items():
                distances[a, b] = distances[b, a] = up + down
        above = rng.uniform(0.1, 1.0) * short
        return {word: depth + above for word, depth in (left | right).items()}

    visit(tree)
    return distances


def spans(bracketing) -> set[tuple[int, int]]:
    return {(start, end) for start, end, _ in bracketing.spans.tolist()}


@pytest.mark.slow
@both
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_shortest_trees_are_those_of_enumeration(n, least_squares):
    rng = np.random.default_rng(n)
    for _ in range(40 if n < 6 else 6):
        distances = random_distances(rng, n)
        chart = minimum_evolution(distances, least_squares=least_squares)
        lengths = chart.lengths()
        for top, length, own in shortest(distances, least_squares=least_squares):
            best = chart.best(top)
            assert close(best.length, length, rtol=0.0, atol=1e-12)
            assert close(lengths[top], length, rtol=0.0, atol=1e-12)
            assert spans(best) == own
            assert best.top == top


@both
def test_length_of_a_long_tree_is_that_of_its_edges(least_squares):
    distances = random_distances(np.random.default_rng(1), 25)
    best = minimum_evolution(distances, least_squares=least_squares).best(9)
    split = {(start, end): middle for start, end, middle in best.spans.tolist()}

    def nested(start: int, end: int) -> Nested:
        if end - start == 1:
            return start
        middle = split[start, end]
        return nested(start, middle), nested(middle, end)

    length = length_of(nested(0, 25), distances, least_squares=least_squares)
    assert close(best.length, length, rtol=1e-11)


@both
@pytest.mark.parametrize("short", [1.0, 0.01])
def test_exact_metrics_give_their_tree_back(least_squares, short):
    rng = np.random.default_rng(3)
    for n in (3, 4, 6, 9, 14):
        for _ in range(10):
            tree = random_tree(rng, 0, n)
            distances = metric_of(tree, rng, short)
            top = len(words_of(tree[0]))
            best = minimum_evolution(distances, least_squares=least_squares).best(top)
            assert spans(best) == spans_of(tree)
            joined = neighbour_joining(distances)
            rooted = joined.rooted(top)
            assert rooted is not None
            assert np.array_equal(rooted.spans, best.spans)
            assert close(rooted.length, best.length, rtol=1e-10)


def test_every_edge_of_the_shortest_tree_may_hold_the_root():
    chart = minimum_evolution(random_distances(np.random.default_rng(5), 9))
    free, lengths = chart.best(), chart.lengths()
    assert close(free.length, lengths[1:-1].min(), rtol=1e-12)
    # Any tree has the root in the edge of its first word as well.
    assert close(lengths[1], lengths[1:-1].min(), rtol=1e-12)
    assert free.top == 1
    prefixes = {end for start, end, _ in free.spans.tolist() if start == 0 and end < 9}
    suffixes = {start for start, end, _ in free.spans.tolist() if end == 9 and start > 0}
    for top in prefixes | suffixes:
        assert close(lengths[top], free.length, rtol=1e-12)


@both
def test_a_number_for_each_word_changes_no_tree(least_squares):
    rng = np.random.default_rng(7)
    distances, own = random_distances(rng, 12), rng.normal(size=12)
    first = minimum_evolution(distances, least_squares=least_squares).best(5)
    moved = distances + own + own[:, None]
    second = minimum_evolution(moved, least_squares=least_squares).best(5)
    assert np.array_equal(first.spans, second.spans)
    assert close(second.length, first.length + own.sum(), rtol=1e-10)


def test_equal_lengths_give_the_first_tree_whatever_rounding_does():
    n = 20
    exact = minimum_evolution(np.full((n, n), 0.3)).best(4)
    noise = np.random.default_rng(2).uniform(-1e-15, 1e-15, size=(n, n))
    noisy = minimum_evolution(0.3 + noise + noise.T).best(4)
    assert np.array_equal(exact.spans, noisy.spans)


def test_parents_stand_before_children():
    best = minimum_evolution(random_distances(np.random.default_rng(4), 30)).best(11)
    assert best.spans[0].tolist() == [0, 30, 11]
    known = {(0, 30)}
    for start, end, split in best.spans.tolist():
        assert (start, end) in known
        known |= {(start, split), (split, end)}
    assert len(best.spans) == 29


def test_short_sentences():
    assert minimum_evolution(np.zeros((0, 0))).best().spans.shape == (0, 3)
    assert minimum_evolution(np.zeros((1, 1))).best().length == 0.0
    two = minimum_evolution(np.array([[0.0, 3.0], [3.0, 0.0]])).best()
    assert two.spans.tolist() == [[0, 2, 1]]
    assert two.length == 3.0


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (np.full((3, 3), np.nan), "must be finite"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), "must be symmetric"),
        (np.zeros((1001, 1001)), "at most 1000"),
    ],
)
def test_distances_that_are_none_are_refused(distances, message):
    with pytest.raises(GrammarError, match=message):
        minimum_evolution(distances)


def test_other_shapes_are_refused():
    for function in (minimum_evolution, neighbour_joining):
        with pytest.raises(ShapeError, match="square"):
            function(np.zeros((2, 3)))
    with pytest.raises(GrammarError, match="position 2"):
        minimum_evolution(np.zeros((2, 2))).best(2)


def test_joining_reports_trees_that_are_not_over_intervals():
    # Words 0 and 2 are neighbours, and 1 and 3.
    distances = np.full((4, 4), 3.0)
    for a, b in ((0, 2), (1, 3)):
        distances[a, b] = distances[b, a] = 1.0
    np.fill_diagonal(distances, 0.0)
    joined = neighbour_joining(distances)
    assert joined.rooted(2) is None
    assert close(joined.lengths.sum(), 4.0, rtol=1e-12)
    one = joined.rooted(1)
    assert one is None
    pair = neighbour_joining(np.array([[0.0, 2.0], [2.0, 0.0]])).rooted(1)
    assert pair is not None
    assert pair.spans.tolist() == [[0, 2, 1]]


def test_trees_of_the_oracle_are_all_of_them():
    assert [len(nested_trees(0, n)) for n in range(1, 8)] == [1, 1, 2, 5, 14, 42, 132]
