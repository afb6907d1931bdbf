"""Laws of whole learners: the spectral identity, consistency, one state, reproducibility."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.features import FeatureOptions
from eigentree.constituency.learn.spectral import (
    Projections,
    SpectralOptions,
    learn_spectral,
    project,
)
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError
from eigentree.simulation import (
    attachment_grammar,
    pronoun_grammar,
    random_grammar,
    sample_trees,
)
from eigentree.treebank.binarise import BinaryTree
from eigentree.treebank.lexicon import LexiconOptions
from tests.helpers import close
from tests.oracles.enumeration import Numbers
from tests.oracles.language import every_tree, value

KNOW_ALL = LexiconOptions(rare_threshold=0)


def states_in_labels() -> LPCFG:
    """A finite language whose states show in words inside and in symbols outside."""
    return random_grammar(
        ["S"],
        [
            ("S", "X", "Y"),
            ("S", "X", "Z"),
            ("X", "B", "Y"),
            ("X", "B", "Z"),
            ("X", "Y", "B"),
        ],
        {"B": ["b", "bb", "bbb"], "Y": ["y", "yy"], "Z": ["z", "zz", "zzz"]},
        {"S": 1, "X": 2, "B": 2, "Y": 2, "Z": 2},
        seed=12,
        concentration=0.6,
    )


def shared_tag() -> LPCFG:
    """The tag of a preterminal also ends a collapsed chain, so that both share their words."""
    return random_grammar(
        ["S"],
        [("S", ("X", "B"), "Y"), ("S", "Y", "B"), ("S", "B", ("X", "B")), ("Y", "B", "B")],
        {"B": ["b", "bb", "bbb"], ("X", "B"): ["b", "bb"]},
        {"S": 1, "Y": 2, "B": 2, ("X", "B"): 2},
        seed=1,
        concentration=0.6,
    )


FINITE = {"pronouns": pronoun_grammar, "labels": states_in_labels, "shared-tag": shared_tag}
FEATURES = {
    "scaled": FeatureOptions(kappa=0.0),
    "kappa": FeatureOptions(kappa=0.3),
    "plain": FeatureOptions(scaling=False),
}


def exact_examples(grammar: LPCFG, size: float = 1.0) -> tuple[Examples, list[BinaryTree]]:
    """Every tree of a finite language, weighted by its probability times `size`."""
    trees = [tree for tree in every_tree(grammar) if value(grammar, tree) > 0]
    weights = np.array([value(grammar, tree) for tree in trees])
    assert close(weights.sum(), 1.0, rtol=1e-12)
    return Examples.of(trees, KNOW_ALL, weights * size), trees


def unsmoothed(states: int, features: FeatureOptions) -> SpectralOptions:
    return SpectralOptions(
        states=states, shrinkage=0.0, smoothing=0.0, word_smoothing=1.0, features=features
    )


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("name", FINITE)
def test_spectral_identity(name: str, features: str):
    # With the language itself for a treebank, moments are exact.  Counts this large drown the
    # smoothing of p(word | symbol) between the symbols of one tag.
    grammar = FINITE[name]()
    examples, trees = exact_examples(grammar, size=1e12)
    model = learn_spectral(examples, unsmoothed(8, FEATURES[features]))
    # There is something to learn: a plain PCFG gets it wrong.
    true = np.array([value(grammar, tree) for tree in trees])
    plain = one_state(count_pcfg(examples))
    assert np.abs([value(plain, tree) for tree in trees] - true).sum() > 0.05
    assert model.projections.n_states.max() == 2
    numbers = Numbers(model.grammar)
    found = np.array([value(model.grammar, tree, numbers) for tree in trees])
    assert close(found, true, rtol=0.0, atol=1e-8)
    assert close(found, true, rtol=1e-6)


def test_spectral_identity_gives_impossible_trees_nothing():
    grammar = pronoun_grammar()
    examples, _ = exact_examples(grammar)
    model = learn_spectral(examples, unsmoothed(8, FeatureOptions(kappa=0.0)))
    impossible = [tree for tree in every_tree(grammar) if value(grammar, tree) == 0]
    assert len(impossible) > 30
    values = [value(model.grammar, tree) for tree in impossible]
    assert close(values, np.zeros(len(values)), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize(("cost", "every"), [(0.0, True), (0.1, False)])
def test_storage_forms_agree(cost: float, every: bool, monkeypatch: pytest.MonkeyPatch):
    trees = sample_trees(attachment_grammar(), 40, seed=3)
    examples = Examples.of(trees, KNOW_ALL)
    options = SpectralOptions(states=4, shrinkage=0.0)
    monkeypatch.setattr("eigentree.constituency.learn.spectral.SAMPLES_COST", 1e9)
    dense = learn_spectral(examples, options).grammar
    assert np.all(dense.parameters.dense_start >= 0)
    monkeypatch.setattr("eigentree.constituency.learn.spectral.SAMPLES_COST", cost)
    other = learn_spectral(examples, options).grammar
    in_samples = other.parameters.dense_start < 0
    assert np.any(in_samples)
    assert np.all(in_samples) == every
    for rule in range(dense.backbone.n_rules):
        expected = dense.tensor(rule)
        assert close(other.tensor(rule), expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


def total_variation(grammar: LPCFG, model: LPCFG, trees: list[BinaryTree]) -> float:
    numbers, true_numbers = Numbers(model), Numbers(grammar)
    return 0.5 * sum(
        abs(value(model, tree, numbers) - value(grammar, tree, true_numbers)) for tree in trees
    )


@pytest.mark.slow
def test_error_falls_as_the_corpus_grows():
    grammar = states_in_labels()
    trees = every_tree(grammar)
    errors = []
    for n in (200, 2000, 20_000):
        examples = Examples.of(sample_trees(grammar, n, seed=6), KNOW_ALL)
        model = learn_spectral(examples, unsmoothed(2, FeatureOptions(kappa=5.0)))
        errors.append(total_variation(grammar, model.grammar, trees))
    # Ten times the trees: about a third of the error.
    assert errors[1] < 0.6 * errors[0]
    assert errors[2] < 0.6 * errors[1]
    assert errors[2] < 0.05


def corpus() -> Examples:
    return Examples.of(sample_trees(attachment_grammar(), 60, seed=8), KNOW_ALL)


def each_symbol(examples: Examples, projections: Projections):
    """Y, Z and weights of the nodes of each symbol."""
    for symbol in range(len(examples.symbols)):
        nodes = np.flatnonzero(examples.symbol == symbol)
        yield (
            projections.y(examples, nodes),
            projections.z(examples, nodes),
            examples.weight[nodes],
        )


@pytest.mark.parametrize("states", [1, 3, 16])
@pytest.mark.parametrize("features", FEATURES)
def test_projections_are_dual(features: str, states: int):
    # (1/n) sum Z Y' = S^-1 V' Omega' U = identity, whatever the rank.
    examples = corpus()
    projections = project(
        examples, SpectralOptions(states=states, features=FEATURES[features], shrinkage=0.0)
    )
    for y, z, weight in each_symbol(examples, projections):
        mean = (z * weight[:, None]).T @ y / weight.sum()
        assert close(mean, np.eye(y.shape[1]), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("states", [1, 2, 3, 16])
def test_constant_function_survives_truncation_without_kappa(states: int):
    # Scaled by sqrt(M / count), the constant function is the leading singular vector on both
    # sides, so F . H = 1 at every rank.
    examples = corpus()
    options = SpectralOptions(states=states, features=FeatureOptions(kappa=0.0), shrinkage=0.0)
    for y, z, weight in each_symbol(examples, project(examples, options)):
        share = weight / weight.sum()
        assert close((share @ y) @ (share @ z), 1.0, rtol=1e-9)


@pytest.mark.parametrize("features", FEATURES)
def test_constant_function_is_in_the_span_at_full_rank(features: str):
    examples, _ = exact_examples(states_in_labels())
    options = SpectralOptions(states=64, features=FEATURES[features], shrinkage=0.0)
    for y, z, weight in each_symbol(examples, project(examples, options)):
        share = weight / weight.sum()
        assert close((share @ y) @ (share @ z), 1.0, rtol=1e-9)


def test_means_in_the_grammar_are_those_of_the_projections():
    examples = corpus()
    options = SpectralOptions(states=3, shrinkage=0.0)
    grammar = learn_spectral(examples, options).grammar
    projections = project(examples, options)
    for symbol, (y, z, weight) in enumerate(each_symbol(examples, projections)):
        states = grammar.states(symbol)
        share = weight / weight.sum()
        assert close(grammar.parameters.inside_mean[states], share @ y, rtol=1e-12, atol=1e-12)
        assert close(grammar.parameters.outside_mean[states], share @ z, rtol=1e-12, atol=1e-12)


def test_one_state_without_kappa_is_the_pcfg_for_constant_features():
    # One state keeps only the constant function, so nothing is left but relative frequencies.
    trees = sample_trees(attachment_grammar(), 60, seed=8)
    examples = Examples.of(trees, KNOW_ALL)
    options = unsmoothed(1, FeatureOptions(kappa=0.0))
    model = learn_spectral(examples, options)
    pcfg = one_state(count_pcfg(examples))
    assert np.array_equal(model.grammar.n_states, pcfg.n_states)
    for tree in trees[:20]:
        assert close(value(model.grammar, tree), value(pcfg, tree), rtol=1e-8)


def test_rare_words_lean_on_the_mean():
    examples = corpus()
    own = learn_spectral(examples, SpectralOptions(states=3, word_smoothing=1.0)).grammar
    mean = learn_spectral(examples, SpectralOptions(states=3, word_smoothing=0.0)).grammar
    mixed = learn_spectral(examples, SpectralOptions(states=3, word_smoothing=0.25)).grammar
    kept = learn_spectral(
        examples, SpectralOptions(states=3, word_smoothing=0.25, word_smoothing_below=0)
    ).grammar
    p = own.parameters
    expected = 0.25 * p.lexical + 0.75 * mean.parameters.lexical
    assert close(mixed.parameters.lexical, expected, rtol=1e-9, atol=1e-12)
    assert np.array_equal(kept.parameters.lexical, p.lexical)
    for entry, symbol in enumerate(own.backbone.words.symbol):
        found = mean.parameters.lexical[p.lexical_start[entry] : p.lexical_start[entry + 1]]
        assert np.array_equal(found, p.outside_mean[own.states(symbol)])
    assert np.array_equal(p.unseen_word, p.outside_mean)


def test_back_off_weight_follows_the_count():
    examples = corpus()
    grammar = learn_spectral(examples, SpectralOptions(states=2, smoothing=3.0)).grammar
    counts = np.bincount(examples.rule[examples.rule >= 0])
    expected = np.sqrt(counts) / (3.0 + np.sqrt(counts))
    assert close(grammar.parameters.smoothing, expected, rtol=1e-12)
    assert grammar.signed


def test_one_seed_gives_the_same_bytes():
    examples = corpus()
    first, second = (
        learn_spectral(examples, SpectralOptions(states=4, shrinkage=0.0), seed=9) for _ in range(2)
    )
    for one, other in zip(first.grammar.parameters, second.grammar.parameters, strict=True):
        assert one.tobytes() == other.tobytes()


def test_progress_runs_to_the_end():
    told: list[tuple[str, float]] = []
    learn_spectral(corpus(), progress=lambda stage, share: told.append((stage, share)))
    assert {stage for stage, _ in told} == {"projections", "rules", "words"}
    for stage in ("projections", "rules"):
        shares = [share for name, share in told if name == stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 0}, "states is 0; it must be at least 1"),
        ({"shrinkage": -0.5}, "shrinkage is -0.5; it must be at least 0"),
        ({"smoothing": -1.0}, "smoothing is -1.0; it must be at least 0"),
        ({"word_smoothing": 1.5}, "word_smoothing is 1.5; it must be between 0 and 1"),
    ],
)
def test_wrong_options(options: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        SpectralOptions(**options)
