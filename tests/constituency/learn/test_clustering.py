"""States by clustering: those of a known grammar are found again, and any treebank has some."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn import clustering
from eigentree.constituency.learn.clustering import (
    ClusteringModel,
    ClusteringOptions,
    cluster_states,
    learn_clustering,
    sparse_posterior,
)
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.spectral import Projections, SpectralOptions, project
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError
from eigentree.simulation import latent_grammar, sample_trees
from eigentree.treebank.binarise import BinariseOptions, Symbol, binarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.tree import Tree
from tests.demo import demo_trees
from tests.helpers import close
from tests.strategies import trees

KNOW_ALL = LexiconOptions(rare_threshold=0)
STATES = 3


def agreement(first: list[int], second: list[int]) -> float:
    """The adjusted Rand index of two partitions: 1 for the same, about 0 for unrelated ones."""

    def pairs(counts: Counter) -> int:
        return sum(comb(count, 2) for count in counts.values())

    together = pairs(Counter(zip(first, second, strict=True)))
    of_first, of_second = pairs(Counter(first)), pairs(Counter(second))
    by_chance = of_first * of_second / comb(len(first), 2)
    return (together - by_chance) / ((of_first + of_second) / 2 - by_chance)


def test_the_measure_knows_the_same_from_the_unrelated():
    assert agreement([0, 0, 1, 1, 2], [5, 5, 0, 0, 3]) == 1.0
    rng = np.random.default_rng(0)
    first, second = rng.integers(3, size=(2, 5000)).tolist()
    assert abs(agreement(first, second)) < 0.01
    # Pairs together in both: 1; in the first 2, in the second 3, of 6.
    assert close(agreement([0, 0, 1, 1], [0, 0, 0, 1]), (1 - 1) / (2.5 - 1), rtol=0, atol=1e-15)


def worlds() -> LPCFG:
    """A verb and a noun or noun phrase that belongs to one of three worlds: its state.

    The state can be read off the first tag of a phrase, and off the words of a noun; the verb,
    outside, has a tag for each world and belongs to the same in all but a few sentences.
    """
    same = np.full((STATES, STATES), 0.02)
    np.fill_diagonal(same, 0.96)
    one = np.eye(STATES)
    verbs = [f"V{world}" for world in range(STATES)]
    above = {
        ("S", verb, child): same[world][None, None] / (2 * STATES)
        for world, verb in enumerate(verbs)
        for child in ("N", "NP")
    }
    below = {("NP", f"A{world}", "C"): one[world][:, None, None] for world in range(STATES)}
    nouns = {
        f"n{number}{world}": p * one[world]
        for number, p in enumerate((0.5, 0.3, 0.2))
        for world in range(STATES)
    }
    others = [*verbs, *(f"A{world}" for world in range(STATES)), "C"]
    return latent_grammar(
        {"S": [1.0]}, above | below, {"N": nouns} | {tag: {tag: [1.0]} for tag in others}
    )


def of_worlds(n_trees: int = 600) -> Examples:
    return Examples.of(sample_trees(worlds(), n_trees, seed=3), KNOW_ALL)


def projected(examples: Examples, states: int = STATES) -> Projections:
    return project(examples, SpectralOptions(states=states), seed=0)


def true_states(examples: Examples, label: str) -> tuple[np.ndarray, list[int]]:
    """The nodes of a symbol and their worlds, by the last letter of its first word."""
    kind = "preterminal" if label == "N" else "interminal"
    nodes = np.flatnonzero(examples.symbol == examples.symbols.number(Symbol(kind, (label,))))
    leaves = nodes if label == "N" else examples.left[nodes]
    words = [examples.lexicon.entries[word] for word in examples.pairs[examples.pair[leaves], 0]]
    return nodes, [int(word[-1]) for word in words]


def agreements(examples: Examples, states: np.ndarray) -> list[float]:
    found = []
    for label in ("NP", "N"):
        nodes, worlds_of = true_states(examples, label)
        found.append(agreement(states[nodes].tolist(), worlds_of))
    return found


def counts_of(examples: Examples, states: int) -> np.ndarray:
    return np.full(len(examples.symbols), states, dtype=np.int32)


# Known states -----------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", [0.0, 1.5])
@pytest.mark.parametrize("blind", [None, "inside", "outside"])
def test_clear_states_are_found_again(shrinkage, blind):
    # Each side tells the states; together no other than what either tells.
    examples = of_worlds()
    projections = projected(examples)
    if blind is not None:
        nothing = [np.zeros_like(rows) for rows in getattr(projections, blind)]
        projections = projections._replace(**{blind: nothing})
    sizes = counts_of(examples, STATES)
    found = [
        agreements(
            examples, cluster_states(examples, projections, sizes, shrinkage=shrinkage, seed=seed)
        )
        for seed in range(5)
    ]
    # k-means begins at random and now and then joins two clusters, hence the median.  On two
    # per cent of the nodes outside and inside contradict one another.
    assert np.median(found, axis=0).min() > 0.8, found


def test_centres_found_on_a_sample_serve_all_nodes(monkeypatch):
    from sklearn.cluster import KMeans

    fitted: list[int] = []
    fit = KMeans.fit

    def noting(self, points, *arguments, **options):
        fitted.append(len(points))
        return fit(self, points, *arguments, **options)

    monkeypatch.setattr(KMeans, "fit", noting)
    monkeypatch.setattr(clustering, "FITTED", 100)
    examples = of_worlds()
    projections, sizes = projected(examples), counts_of(examples, STATES)
    states = [cluster_states(examples, projections, sizes, seed=seed) for seed in range(5)]
    counts = np.bincount(examples.symbol)
    assert fitted == [min(100, count) for count in counts.tolist()] * 5
    assert counts.max() > 100
    assert np.median([agreements(examples, each) for each in states], axis=0).min() > 0.8
    again = cluster_states(examples, projections, sizes, seed=0)
    assert np.array_equal(again, states[0])
    assert not np.array_equal(again, states[1])


def test_shrinkage_quiets_noisy_directions():
    # A hundred directions of noise beside a clear one: only damping leaves it its say.
    rng = np.random.default_rng(1)
    examples = Examples.of([binarise(parse_tree("(S (A a) (B b))"))] * 300, KNOW_ALL)
    true = np.arange(len(examples)) // 3 % 2
    noise = rng.standard_normal((len(examples), 101))
    noise[:, 0] = 4.0 * true + 0.5 * noise[:, 0]
    rows = [noise[examples.symbol == symbol] for symbol in range(3)]
    row = np.empty(len(examples), dtype=np.int64)
    for symbol in range(3):
        row[examples.symbol == symbol] = np.arange(300)
    values = [np.array([8.0] + [0.1] * 100)] * 3
    projections = Projections(rows, rows, row, values, [np.zeros(0)] * len(values))
    found = {}
    for shrinkage in (0.0, 1.5):
        states = cluster_states(examples, projections, counts_of(examples, 2), shrinkage=shrinkage)
        found[shrinkage] = agreement(states[::3].tolist(), true[::3].tolist())
    assert found[1.5] == 1.0
    assert found[0.0] < 0.9


# Any treebank -----------------------------------------------------------------------------


def test_one_state_is_state_zero():
    examples = of_worlds(50)
    sizes = counts_of(examples, STATES)
    alone = examples.symbols.number(Symbol("interminal", ("NP",)))
    sizes[alone] = 1
    states = cluster_states(examples, projected(examples), sizes)
    assert set(states[examples.symbol == alone].tolist()) == {0}
    assert states.max() > 0


@pytest.mark.slow
def test_one_seed_gives_one_clustering():
    examples = Examples.of([binarise(tree, BinariseOptions()) for tree in demo_trees()])
    projections, sizes = projected(examples, 6), counts_of(examples, 6)
    first = cluster_states(examples, projections, sizes, seed=7)
    assert first.dtype == np.int32
    assert np.array_equal(first, cluster_states(examples, projections, sizes, seed=7))
    assert not np.array_equal(first, cluster_states(examples, projections, sizes, seed=8))


def test_symbols_with_fewer_kinds_of_nodes_than_states():
    # Two kinds of X, one of all others; more clusters than points would be warned of.
    texts = ["(S (X (a a) (b b)) (c c))", "(S (X (c c) (b b)) (d d))"] * 6
    examples = Examples.of([binarise(parse_tree(text)) for text in texts], KNOW_ALL)
    states = cluster_states(examples, projected(examples, 4), counts_of(examples, 4))
    of_x = states[examples.symbol == examples.symbols.number(Symbol("interminal", ("X",)))]
    assert len(set(of_x[::2].tolist())) == len(set(of_x[1::2].tolist())) == 1
    assert of_x[0] != of_x[1]
    root = examples.symbols.number(Symbol("interminal", ("S",)))
    assert states[examples.symbol == root].max() <= 1


@pytest.mark.slow
@given(st.lists(trees(max_leaves=8), min_size=1, max_size=8), st.integers(1, 5))
def test_states_are_within_bounds(corpus: list[Tree], most: int):
    examples = Examples.of([binarise(tree, BinariseOptions()) for tree in corpus * 2], KNOW_ALL)
    sizes = np.arange(len(examples.symbols), dtype=np.int32) % most + 1
    states = cluster_states(examples, projected(examples, most), sizes)
    assert len(states) == len(examples)
    assert np.all((states >= 0) & (states < sizes[examples.symbol]))


def test_rounding_is_no_difference():
    # A coordinate that is the same everywhere but for its last bits tells nothing.
    examples = Examples.of([binarise(parse_tree("(S (A a) (B b))"))] * 40, KNOW_ALL)
    rng = np.random.default_rng(0)
    true = np.arange(40) % 2
    rows = np.stack([2.0 + 1e-15 * rng.integers(-2, 3, 40), true.astype(np.float64)], axis=1)
    row = np.arange(len(examples), dtype=np.int64) // 3
    projections = Projections(
        [rows] * 3, [rows] * 3, row, [np.array([5.0, 3.0])] * 3, [np.zeros(0)] * 3
    )
    for seed in range(5):
        states = cluster_states(examples, projections, counts_of(examples, 4), seed=seed)
        assert agreement(states[::3].tolist(), true.tolist()) == 1.0


# The estimator ----------------------------------------------------------------------------


def learned(examples: Examples, seed: int = 0, **options) -> ClusteringModel:
    return learn_clustering(examples, ClusteringOptions(**options), seed=seed)


def arrays_equal(one: LPCFG, other: LPCFG) -> bool:
    return all(map(np.array_equal, one.parameters, other.parameters))


def test_one_state_is_the_plain_grammar():
    examples = of_worlds(100)
    model = learned(examples, states=1)
    plain = one_state(count_pcfg(examples))
    for rule in range(plain.backbone.n_rules):
        assert close(model.grammar.tensor(rule), plain.tensor(rule), rtol=1e-12)
    assert close(model.grammar.parameters.root, plain.parameters.root, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_clusters_are_the_states_of_a_known_grammar(assignment):
    examples = of_worlds()
    # The paper's estimator: nothing is damped, nothing smoothed.
    options = {"shrinkage": 0.0, "smoothing": 0.0, "word_smoothing": 0.0, "rank": STATES}
    model = learned(examples, states=STATES, assignment=assignment, **options)
    assert not model.grammar.signed
    states = model.states
    largest = np.array(
        [
            state[np.argmax(part)]
            for state, part in zip(
                np.split(states.state, states.start[1:-1]),
                np.split(states.part, states.start[1:-1]),
                strict=True,
            )
        ]
    )
    assert min(agreements(examples, largest)) > 0.85
    # A noun phrase of a world begins with that world's tag, so each state has one choice.
    parent = examples.symbols.number(Symbol("interminal", ("NP",)))
    rules = np.flatnonzero(examples.rules[:, 0] == parent)
    choices = np.array([model.grammar.tensor(rule).sum(axis=(1, 2)) for rule in rules])
    assert choices.shape == (STATES, STATES)
    assert choices.max(axis=0).min() > 0.9
    assert sorted(choices.argmax(axis=0).tolist()) == [0, 1, 2]


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_one_seed_gives_one_grammar(assignment):
    examples = of_worlds(150)
    one, same, other = (
        learned(examples, seed, states=4, assignment=assignment, restarts=2) for seed in (1, 1, 2)
    )
    assert arrays_equal(one.grammar, same.grammar)
    assert not arrays_equal(one.grammar, other.grammar)


def test_given_projections_serve_as_if_they_were_made():
    examples = of_worlds(150)
    options = ClusteringOptions(states=4)
    projections = project(examples, options.projecting, seed=3)
    given_them = learn_clustering(examples, options, projections=projections, seed=3)
    assert arrays_equal(given_them.grammar, learn_clustering(examples, options, seed=3).grammar)


def test_more_restarts_find_closer_clusters(monkeypatch):
    from sklearn.cluster import KMeans

    found: list[float] = []
    fit = KMeans.fit

    def noting(self, points, *arguments, **options):
        fit(self, points, *arguments, **options)
        found.append(self.inertia_)
        return self

    monkeypatch.setattr(KMeans, "fit", noting)
    examples = of_worlds()
    objectives = []
    for restarts in (1, 10):
        found.clear()
        learned(examples, states=8, restarts=restarts)
        objectives.append(sum(found))
    assert objectives[1] < objectives[0]


def test_rank_and_states_are_independent():
    examples = of_worlds(200)
    model = learned(examples, states=5, rank=2)
    assert model.projections.n_states.max() == 2
    assert model.states.n_states.max() > 2


def test_clear_posteriors_are_hard_states():
    rng = np.random.default_rng(0)
    hard = rng.integers(0, 3, 50)
    posterior = np.full((50, 3), 0.01)
    posterior[np.arange(50), hard] = 0.98
    rows, states, parts = sparse_posterior(posterior)
    assert rows.tolist() == list(range(50))
    assert states.tolist() == hard.tolist()
    assert parts.tolist() == [1.0] * 50


def test_unclear_posteriors_are_kept_in_parts():
    rows, states, parts = sparse_posterior(np.array([[0.6, 0.36, 0.04], [0.0, 1.0, 0.0]]))
    assert (rows.tolist(), states.tolist()) == ([0, 0, 1], [0, 1, 1])
    assert close(parts, [0.625, 0.375, 1.0], rtol=1e-12)
    # With very many states even the largest may be small; a node keeps some state.
    assert len(sparse_posterior(np.full((1, 50), 0.02))[0]) == 50


@pytest.mark.slow
@given(st.lists(trees(), min_size=1, max_size=4), st.sampled_from(["hard", "soft"]))
def test_any_treebank_has_a_grammar_of_clusters(some: list[Tree], assignment: str):
    examples = Examples.of([binarise(tree) for tree in some * 2], KNOW_ALL)
    model = learned(examples, states=3, assignment=assignment, restarts=2)
    assert np.isfinite(model.grammar.parameters.state_scale).all()
    parts_of_nodes = np.add.reduceat(model.states.part, model.states.start[:-1])
    assert close(parts_of_nodes, np.ones(len(examples)), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 0}, "states is 0"),
        ({"states": (1 << 16) + 1}, "up to 65537 states; clustering supports at most"),
        ({"states_of": {"NP": 1 << 20}}, "up to 1048576 states"),
        ({"rank": 0}, "rank is 0; it must be at least 1"),
        ({"restarts": 0}, "restarts is 0; it must be at least 1"),
        ({"cut": 1.0}, "cut is 1.0"),
        ({"shrinkage": -1.0}, "shrinkage is -1.0"),
        ({"smoothing": float("inf")}, "smoothing is inf"),
        ({"word_smoothing": float("nan")}, "word_smoothing is nan"),
        ({"assignment": "some"}, "assignment is 'some'; it must be hard or soft"),
    ],
)
def test_settings_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        ClusteringOptions(**options)
