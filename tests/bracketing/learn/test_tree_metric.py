"""Tree metrics from text: moments, their sums, and distances that give known trees back."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.bracketing.learn import tree_metric
from eigentree.bracketing.learn.tree_metric import (
    ClassMoments,
    DenseMoments,
    MetricOptions,
    count_moments,
    metric_of,
)
from eigentree.bracketing.tree_metric import TreeMetric, quartet_excess
from eigentree.errors import GrammarError, SettingsError
from eigentree.treebank.universal_tags import TagMap
from eigentree.words.vectors import WordVectors
from tests.helpers import close

AS_IT_IS = TagMap("none")
LARGEST = 6


def class_vectors(n_words: int = 12, n_classes: int = 4, p: int = 5) -> WordVectors:
    rng = np.random.default_rng(1)
    own = rng.normal(size=(n_classes, p)).astype(np.float32)
    matrix = own[np.arange(n_words) % n_classes]
    return WordVectors(tuple(f"w{at}" for at in range(n_words)), matrix, own[0])


def dense_vectors(n_words: int = 12, p: int = 5) -> WordVectors:
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(n_words, p)).astype(np.float32)
    return WordVectors(tuple(f"w{at}" for at in range(n_words)), matrix, matrix.mean(axis=0))


def text(n: int = 60, seed: int = 3) -> list[tuple[list[str], list[str]]]:
    rng = np.random.default_rng(seed)
    sentences = []
    for length in rng.integers(0, 9, n).tolist():
        words = [f"w{at}" for at in rng.integers(0, 14, length)]  # two of them unknown
        sentences.append((words, [str(tag) for tag in rng.choice(["D", "N", "V", "."], length)]))
    return sentences


def learned(sentences, vectors: WordVectors, options: MetricOptions, jobs: int = 1) -> TreeMetric:
    moments = count_moments(sentences, vectors, AS_IT_IS, options.largest_distance, jobs=jobs)
    return metric_of(moments, AS_IT_IS, options)


def slow_table(sentences, vectors: WordVectors, options: MetricOptions) -> dict:
    """Distances by the formulas, from sums of outer products over all pairs of words."""
    sums: dict = {}
    for words, tags in sentences:
        kept = [(w, t) for w, t in zip(words, tags, strict=True) if t != "."]
        rows = vectors.lookup([w for w, _ in kept]).astype(np.float64)
        for i in range(len(kept)):
            for j in range(i + 1, min(len(kept), i + options.largest_distance + 1)):
                own = sums.setdefault((kept[i][1], kept[j][1]), {})
                total, n = own.get(j - i, (0.0, 0))
                own[j - i] = total + np.outer(rows[i], rows[j]), n + 1
    found: dict = {}
    for tags, own in sums.items():
        for delta in range(1, options.largest_distance + 1):
            total, weight = 0.0, 0.0
            for other, (moment, n) in own.items():
                k = 1.0 - abs(delta - other) / (delta + other) / options.bandwidth
                if k > 0.0:
                    total, weight = total + k * moment, weight + k * n
            if weight:
                values = np.linalg.svd(total / weight, compute_uv=False)[: options.rank]
                found[(*tags, delta)] = -np.log(np.maximum(values, options.floor * values[0])).sum()
    return found


@pytest.mark.parametrize("vectors", [class_vectors(), dense_vectors()], ids=["class", "dense"])
@pytest.mark.parametrize("rank", [1, 3, 7])
def test_distances_are_those_of_the_formulas(vectors, rank):
    options = MetricOptions(rank=rank, largest_distance=LARGEST)
    metric = learned(text(), vectors, options)
    expected = slow_table(text(), vectors, options)
    assert metric.tags == ("D", "N", "V")
    told = np.full((3, 3, LARGEST), np.nan)
    for (first, second, delta), distance in expected.items():
        told["DNV".index(first), "DNV".index(second), delta - 1] = distance
    known = np.isfinite(told)
    assert known.sum() > 40
    assert close(metric.table[:3, :3][known], told[known], rtol=0.0, atol=1e-6)


def test_representation_is_chosen_by_the_vectors():
    moments = [
        count_moments(text(), vectors, AS_IT_IS, LARGEST)
        for vectors in (class_vectors(), dense_vectors())
    ]
    assert isinstance(moments[0], ClassMoments)
    assert isinstance(moments[1], DenseMoments)
    kept = sum(tag != "." for _, tags in text() for tag in tags)
    assert [each.n_words for each in moments] == [kept, kept]
    assert [each.dimensions for each in moments] == [5, 5]


@pytest.mark.parametrize("vectors", [class_vectors(), dense_vectors()], ids=["class", "dense"])
def test_moments_of_parts_add_up(vectors):
    options = MetricOptions(largest_distance=LARGEST)
    # Tags that one part lacks get other numbers there.
    parts = [
        [(words, ["B"] * len(words)) for words, _ in text(20)],
        text(30),
        [(words, ["Z"] * len(words)) for words, _ in text(20, seed=9)],
    ]
    whole = count_moments([each for part in parts for each in part], vectors, AS_IT_IS, LARGEST)
    first, second, third = (count_moments(part, vectors, AS_IT_IS, LARGEST) for part in parts)
    for added in ((first + second) + third, third + (second + first)):
        assert added.tags == whole.tags == ("B", "D", "N", "V", "Z")
        table = metric_of(added, AS_IT_IS, options).table
        assert close(table, metric_of(whole, AS_IT_IS, options).table, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [class_vectors, dense_vectors])
def test_moments_of_other_vectors_do_not_add_up(make):
    first = count_moments(text(), make(), AS_IT_IS, LARGEST)
    for other in (
        count_moments(text(), make(p=6), AS_IT_IS, LARGEST),
        count_moments(text(), make(), AS_IT_IS, LARGEST + 1),
    ):
        with pytest.raises(GrammarError, match="cannot be added"):
            first + other


def test_a_sentence_has_as_many_tags_as_words():
    with pytest.raises(GrammarError, match="1 words and 2 tags: 'w1'"):
        count_moments([(["w1"], ["N", "N"])], class_vectors(), AS_IT_IS, LARGEST)


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [class_vectors(), dense_vectors()], ids=["class", "dense"])
def test_processes_give_the_same_bits(vectors, monkeypatch):
    monkeypatch.setattr(tree_metric, "CHUNK", 50)
    options = MetricOptions(largest_distance=LARGEST)
    one, two = (learned(text(), vectors, options, jobs) for jobs in (1, 2))
    assert np.array_equal(one.table, two.table)


def test_what_was_never_seen_is_backed_off():
    vectors = class_vectors()
    sentences = [(["w0", "w1", "w2"], ["D", "N", "V"]), (["w5", "w3"], ["D", "N"])]
    table = learned(sentences, vectors, MetricOptions(rank=2)).table
    assert np.all(np.isfinite(table))
    # D N was seen at distance 1, which the kernel lets count at 2, and the rest is as at 2.
    assert np.all(table[0, 1, 2:] == table[0, 1, 1])
    assert np.all(table[1, 0] == table.max())
    assert np.all(table[3] == table.max())
    assert np.all(table[:, 3] == table.max())


def test_words_without_vectors_of_their_own_do_no_harm():
    zero = WordVectors(("w0",), np.zeros((1, 3), np.float32), np.zeros(3, np.float32))
    table = learned(text(), zero, MetricOptions(largest_distance=3)).table
    assert np.all(np.isfinite(table))


def test_known_models_give_their_trees_back():
    # A tree ((a b) (c d)) over tags: words are drawn along its edges from a root in the middle.
    rng = np.random.default_rng(5)
    m, n_classes, n = 2, 6, 40_000

    def kernel(rows: int, sharp: float) -> np.ndarray:
        drawn = rng.dirichlet(np.full(rows, 0.6), size=m)
        return (1.0 - sharp) / rows + sharp * drawn

    def draw(parents: np.ndarray, given: np.ndarray) -> np.ndarray:
        limits = given.cumsum(axis=1)[parents]
        return (rng.random(len(parents))[:, None] > limits).sum(axis=1).clip(0, given.shape[1] - 1)

    root = rng.integers(0, m, n)
    flip = np.array([[0.85, 0.15], [0.15, 0.85]])
    middle = [draw(root, flip), draw(root, flip)]
    words = np.stack([draw(middle[at // 2], kernel(n_classes, 0.95)) for at in range(4)], axis=1)
    names = [[f"w{4 * cls + at}" for at, cls in enumerate(row)] for row in words.tolist()]
    all_words = tuple(f"w{at}" for at in range(4 * n_classes))
    matrix = np.repeat(np.eye(n_classes, dtype=np.float32), 4, axis=0)
    vectors = WordVectors(all_words, matrix, matrix[0])
    options = MetricOptions(rank=m, floor=1e-6, bandwidth=0.01, largest_distance=3)
    metric = learned(((own, ["a", "b", "c", "d"]) for own in names), vectors, options)
    distances = metric.distances(["a", "b", "c", "d"])
    assert quartet_excess(distances) < 0.2
    best = minimum_evolution(distances).best(2)
    assert {(start, end) for start, end, _ in best.spans.tolist()} == {(0, 4), (0, 2), (2, 4)}


def test_text_is_read_once_in_chunks(monkeypatch):
    options = MetricOptions(largest_distance=LARGEST)
    whole = learned(text(), class_vectors(), options)
    monkeypatch.setattr(tree_metric, "CHUNK", 40)
    table = learned(iter(text()), class_vectors(), options).table
    assert close(table, whole.table, rtol=1e-9, atol=1e-9)


def test_kernel_over_distances_is_that_of_the_paper():
    kernel = tree_metric._kernel(4, 0.4)
    assert close(np.diagonal(kernel), np.ones(4), rtol=1e-12)
    told = [kernel[0, 1], kernel[1, 2], kernel[1, 3], kernel[0, 2]]
    assert close(told, [1 / 6, 1 / 2, 1 / 6, 0.0], rtol=1e-12, atol=1e-12)
    assert np.array_equal(kernel, kernel.T)
    for narrow, wide in pairwise([0.1, 0.4, 0.9]):
        assert np.all(tree_metric._kernel(4, narrow) <= tree_metric._kernel(4, wide))


@pytest.mark.parametrize(
    "settings", [{"rank": 0}, {"bandwidth": 0.0}, {"floor": 0.0}, {"largest_distance": 0}]
)
def test_settings_without_meaning_are_refused(settings):
    with pytest.raises(SettingsError, match=next(iter(settings))):
        MetricOptions(**settings)


@pytest.mark.parametrize("sentences", [[], [([], [])], [(["w0", "w1"], [".", "."])]])
def test_nothing_to_learn_from_is_refused(sentences):
    with pytest.raises(GrammarError, match="no sentence has two or more words"):
        count_moments(sentences, class_vectors(), AS_IT_IS, LARGEST)


def test_single_words_have_no_distances():
    with pytest.raises(GrammarError, match="no sentence has two words"):
        learned([(["w0"], ["N"])], class_vectors(), MetricOptions())


@pytest.mark.parametrize("vectors", [class_vectors(), dense_vectors()], ids=["class", "dense"])
def test_too_much_memory_is_refused(vectors, monkeypatch):
    monkeypatch.setattr(tree_metric, "MAX_BYTES", 1000)
    with pytest.raises(SettingsError, match="use fewer"):
        count_moments(text(), vectors, AS_IT_IS, LARGEST)
