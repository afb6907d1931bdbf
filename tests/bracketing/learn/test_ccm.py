"""Learning the constituent-context model, against the list of all trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.bracketing.ccm import ConstituentContextModel
from eigentree.bracketing.chart import _kernels_binary_trees as kernels
from eigentree.bracketing.learn.ccm import ConstituentContextOptions, learn_constituent_context
from eigentree.errors import GrammarError, SettingsError
from tests.helpers import close
from tests.oracles import bracketings as oracle

SENTENCES = [
    text.split()
    for text in [
        "D N V D N",
        "D A N V",
        "N V D N P D N",
        "V D N",
        "N V P D A N",
        "D N V P N",
        "N V",
        "D N V D A N P",
    ]
]


def learned(sentences=SENTENCES, **settings):
    steps = []
    options = ConstituentContextOptions(**settings)
    model = learn_constituent_context(sentences, options, after_step=steps.append)
    assert steps[-1].model is model
    return model, steps


def chances(model: ConstituentContextModel) -> dict[tuple[str, ...], float]:
    """P(constituent) by yield and context, in the oracle's words."""
    size = len(model.tags)
    yields: list[tuple[str, ...]] = [()]
    for key in model.yield_keys.tolist():
        yields.append((*yields[key // size], model.tags[key % size]))
    names = [*model.tags, oracle.EDGE]
    table = model.context_log_odds
    found = {("yield", *own): float(model.yield_log_odds[at]) for at, own in enumerate(yields)}
    for i, before in enumerate(names):
        for j, after in enumerate(names):
            found["context", before, after] = float(table[i, j])
    return {what: 1.0 / (1.0 + np.exp(-odds)) for what, odds in found.items()}


@pytest.mark.parametrize("iterations", [1, 2, 5])
@pytest.mark.parametrize(("yes", "no"), [(2.0, 8.0), (0.3, 0.9)])
def test_steps_are_those_over_the_list_of_all_trees(iterations, yes, no):
    model, steps = learned(iterations=iterations, constituents=yes, distituents=no)
    expected, objectives = oracle.learn(SENTENCES, iterations, yes, no)
    found = chances(model)
    assert {what for what in found if what[0] == "yield"} == {
        what for what in expected if what[0] == "yield"
    }
    assert close([found[what] for what in expected], list(expected.values()), rtol=1e-11)
    assert close([step.objective for step in steps], objectives, rtol=1e-12)
    unseen = [found[what] for what in found if what not in expected]
    assert unseen
    assert close(unseen, [yes / (yes + no)] * len(unseen), rtol=1e-12)


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=6), min_size=1, max_size=4),
    st.sampled_from(["split", "random"]),
    st.integers(0, 5),
)
def test_the_objective_never_falls(sentences, start, seed):
    _, steps = learned(sentences, iterations=8, start=start, seed=seed)
    objectives = np.array([step.objective for step in steps])
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:]))


@pytest.mark.parametrize("n_words", range(2, 8))
def test_first_marginals_are_those_of_splits_anywhere(n_words):
    # The odds of the learner's first step, over one sentence.
    spans = oracle.all_spans(n_words)
    weight = np.array([-np.log(max(end - start - 1, 1)) for start, end in spans])
    found = np.empty_like(weight)
    one, first = np.array([n_words]), np.array([0])
    total = kernels.bracket_marginals(one, first, weight, np.empty_like(weight), found)
    trees = oracle.binary_trees(0, n_words)
    expected = oracle.span_marginals([oracle.split_probability(tree) for tree in trees], trees)
    assert close(found, [expected[span] for span in spans], rtol=1e-12)
    assert close(total, 0.0, rtol=0.0, atol=1e-12)


def test_determiner_and_noun_are_found_to_be_a_phrase():
    model, _ = learned(SENTENCES * 3)
    assert (0, 2) in model.brackets(["D", "N", "V", "D", "N"])
    assert (3, 5) in model.brackets(["D", "N", "V", "D", "N"])


def test_longer_sentences_are_learned_from_in_later_stages():
    short = [tags for tags in SENTENCES if len(tags) <= 5]
    alone, _ = learned(short, lengths=(5,), iterations=3)
    both, steps = learned(lengths=(5, None), iterations=3)
    assert [(step.stage, step.iteration) for step in steps] == [
        *((1, each) for each in (1, 2, 3)),
        *((2, each) for each in (1, 2, 3)),
    ]
    first, known = chances(steps[2].model), chances(alone)
    assert close([first[what] for what in known], list(known.values()), rtol=1e-12)
    # The second stage begins where the first ended, not anew.
    at_once, _ = learned(lengths=(None,), iterations=3)
    assert not close(both.yield_log_odds, at_once.yield_log_odds, rtol=1e-3)
    yields = {what for what in chances(both) if what[0] == "yield"}
    assert ("yield", *SENTENCES[-1]) in yields
    assert ("yield", *SENTENCES[-1]) not in known


def test_one_seed_gives_one_model():
    one, other, different = (
        learned(start="random", seed=seed, iterations=2)[0] for seed in (3, 3, 4)
    )
    assert np.array_equal(one.yield_log_odds, other.yield_log_odds)
    assert not close(one.yield_log_odds, different.yield_log_odds, rtol=1e-3)


def test_a_tolerance_ends_a_stage():
    _, steps = learned(iterations=500, tolerance=1e-6)
    last = [step.objective for step in steps[-3:]]
    assert 10 < len(steps) < 500
    assert last[-1] - last[-2] < 1e-6 * abs(last[-1]) <= last[-2] - last[-3]


def test_sentences_of_one_word_say_nothing():
    one, _ = learned()
    other, _ = learned([["X"], *SENTENCES, [], ["D"]])
    assert one.tags == other.tags
    assert np.array_equal(one.context_log_odds, other.context_log_odds)


@pytest.mark.parametrize("sentences", [[], [["D"]], [["D"] * 11]])
def test_nothing_to_learn_from_is_refused(sentences):
    with pytest.raises(GrammarError, match="no sentence of two to 10 words to learn from"):
        learn_constituent_context(sentences)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lengths": ()}, "lengths is"),
        ({"lengths": (1,)}, "lengths is"),
        ({"lengths": (10, 10)}, "must increase"),
        ({"lengths": (None, 10)}, "None only at the end"),
        ({"iterations": 0}, "iterations is 0"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"constituents": 0.0}, "must be above 0"),
        ({"distituents": float("inf")}, "must be above 0"),
    ],
)
def test_settings_without_a_meaning_are_refused(settings, message):
    with pytest.raises(SettingsError, match=message):
        ConstituentContextOptions(**settings)
