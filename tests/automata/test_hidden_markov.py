"""Counting hidden Markov models, their values and files, and what the model refuses."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from eigentree.automata.forward_backward import forward_backward
from eigentree.automata.hidden_markov import HiddenMarkovModel, count_hidden_markov
from eigentree.automata.model_file import load_automaton, save_automaton
from eigentree.errors import GrammarError, SettingsError, ShapeError
from eigentree.treebank.lexicon import LexiconOptions
from tests.helpers import close

ALL_KNOWN = LexiconOptions(rare_threshold=0)
SENTENCES = [
    (text.split(), tags.split())
    for text, tags in [
        ("the dog saw the cat", "D N V D N"),
        ("the old dog saw it", "D A N V P"),
        ("it saw the old old saw", "P V D A A N"),
        ("it slept", "P V"),
        ("saw", "N"),
    ]
]


def counted(**settings: object) -> HiddenMarkovModel:
    return count_hidden_markov(SENTENCES, lexicon=ALL_KNOWN, **settings)


def state(model: HiddenMarkovModel, *history: str) -> int:
    """The number of a state of a trigram model, by what it may begin with or follow."""
    histories = sorted(
        {
            ((tags[at - 1] if at else ""), tag)
            for _, tags in SENTENCES
            for at, tag in enumerate(tags)
        },
        key=lambda pair: pair[::-1],
    )
    assert len(histories) == model.n_states
    return histories.index(history)


def test_trigrams_are_counted_and_lean_on_bigrams():
    model = counted(prior=2.0)
    assert model.tags == ("A", "D", "N", "P", "V")
    # After P V there are D and the end, once each; after V in all D twice, P and the end once.
    row = model.transition[state(model, "P", "V")]
    assert close(row[state(model, "V", "D")], (1 + 2 * 2 / 4) / (2 + 2), rtol=1e-12)
    assert close(row[state(model, "V", "P")], (0 + 2 * 1 / 4) / (2 + 2), rtol=1e-12)
    assert close(model.stop[state(model, "P", "V")], (1 + 2 * 1 / 4) / (2 + 2), rtol=1e-12)
    assert close(model.initial[state(model, "", "P")], 2 / 5, rtol=1e-12)
    words = model.lexicon.ids(["saw", "old"])
    assert close(model.emission[2, words[0]], 2 / 5, rtol=1e-12)
    assert close(model.emission[0, words[1]], 1.0, rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_without_a_prior_states_are_expected_as_often_as_they_were_seen(order: int):
    model = counted(order=order, prior=0.0)
    seen = Counter(tag for _, tags in SENTENCES for tag in tags)
    visits = np.bincount(model.tag, model.visits())
    assert close(visits, [seen[tag] / len(SENTENCES) for tag in model.tags], rtol=1e-12)


@pytest.mark.parametrize(("order", "prior"), [(2, 0.0), (2, 1.0), (3, 0.5), (4, 3.0)])
def test_all_sentences_of_a_length_and_longer_ones_have_probability_1(order: int, prior: float):
    model = counted(order=order, prior=prior)
    entries = model.lexicon.entries[:-1]
    assert len(entries) == 7
    left, total = model.initial, 0.0
    for n in (1, 2, 3):
        for words in product(entries, repeat=n):
            found = forward_backward(
                model.initial, [model.transition], model.stop, model.likelihood(words)
            )
            total += 0.0 if found is None else np.exp(found.log_value)
        left = left @ model.transition
        assert close(total + left.sum(), 1.0, rtol=1e-9)


def test_marginals_of_tags_are_those_of_their_states():
    model = counted()
    words = ["the", "old", "saw", "slept"]
    found = forward_backward(model.initial, [model.transition], model.stop, model.likelihood(words))
    tags = model.tag_marginals(found.marginal)
    assert tags.shape == (4, 5)
    for number in range(5):
        own = found.marginal[:, model.tag == number].sum(axis=1)
        assert close(tags[:, number], own, rtol=1e-12, atol=1e-15)
    assert [model.tags[best] for best in tags.argmax(axis=1)] == ["D", "A", "N", "V"]


def test_rare_words_count_by_their_class():
    model = count_hidden_markov(SENTENCES, lexicon=LexiconOptions(rare_threshold=1))
    assert model.likelihood(["cat"]).tolist() == model.likelihood(["unheard-of"]).tolist()
    assert model.likelihood(["cat"]).sum() > 0.0


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(SettingsError, match="order is 1; it must be at least 2"):
        counted(order=1)
    with pytest.raises(SettingsError, match="prior is nan"):
        counted(prior=float("nan"))
    for sentences in ([], [([], [])], [(["a"], ["A", "B"])]):
        with pytest.raises(GrammarError, match="there are no sentences, or one has"):
            count_hidden_markov(sentences)


def test_models_that_are_none_are_refused():
    model = counted()
    with pytest.raises(GrammarError, match=r"the sum of initial differs from 1 by 0\.5;"):
        replace(model, initial=model.initial / 2)
    with pytest.raises(GrammarError, match="sum of transition and stop of a state differs"):
        replace(model, stop=model.stop / 2)
    with pytest.raises(GrammarError, match="sum of emission of a tag differs"):
        replace(model, emission=model.emission * 1.1)
    with pytest.raises(GrammarError, match="transition of a hidden Markov model holds a value bel"):
        replace(model, transition=-model.transition)
    with pytest.raises(GrammarError, match="the tags of states must rise"):
        replace(model, tag=model.tag[::-1].copy())
    with pytest.raises(ShapeError, match="axis 1 of emission is V, which must be"):
        replace(model, emission=model.emission[:, 1:])
    with pytest.raises(ShapeError, match="tag holds int64, must hold int32"):
        replace(model, tag=model.tag.astype(np.int64))


# Values, low rank, files ------------------------------------------------------------------


def test_the_value_is_the_sum_over_all_sequences_of_states():
    model = counted(order=2)
    words = ["the", "dog", "saw", "it"]
    ids, total = model.lexicon.ids(words), 0.0
    for states in product(range(model.n_states), repeat=len(words)):
        value = model.initial[states[0]] * model.stop[states[-1]]
        for one, other in pairwise(states):
            value *= model.transition[one, other]
        for each, word in zip(states, ids, strict=True):
            value *= model.emission[model.tag[each], word]
        total += value
    log_value, sign = model.value(words)
    assert sign == 1
    assert close(np.exp(log_value), total, rtol=1e-12)
    assert model.value([]) == (-np.inf, 0)


@pytest.mark.slow
def test_a_full_rank_changes_no_value_and_a_low_one_approximates():
    model = counted()
    words = ["the", "old", "dog", "saw", "it"]
    exact = model.in_low_rank(model.n_states, "svd")
    assert close(exact.value(words)[0], model.value(words)[0], rtol=1e-9)
    thin = model.in_low_rank(3)
    assert [part.shape for part in thin.factors] == [(model.n_states, 3), (3, model.n_states)]
    marginals = thin.tag_marginals(thin.marginals(words).marginal)
    assert close(marginals.sum(axis=1), np.ones(5), rtol=1e-9)


@pytest.mark.parametrize("rank", [None, 2])
def test_files_give_the_same_model(rank: int | None, tmp_path):
    model = counted() if rank is None else counted().in_low_rank(rank)
    path = tmp_path / "tags.egt"
    save_automaton(model, path, {"method": "hmm"})
    again = load_automaton(path)
    assert isinstance(again, HiddenMarkovModel)
    assert (again.tags, again.lexicon) == (model.tags, model.lexicon)
    assert len(again.factors) == len(model.factors) == (0 if rank is None else 2)
    assert again.value(["the", "saw"]) == model.value(["the", "saw"])


def test_factors_must_fit():
    model = counted()
    with pytest.raises(GrammarError, match="there are 1 factors; there must be 0 or 2"):
        replace(model, factors=(model.transition,))
    with pytest.raises(ShapeError):
        replace(model, factors=(model.transition[1:], model.transition))
