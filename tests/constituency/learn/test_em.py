"""What expectation maximisation learns: known grammars, and its own laws."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn import em
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import GrammarError, SettingsError
from eigentree.learning import em_loop
from eigentree.simulation import pronoun_grammar, sample_trees
from tests.constituency.learn.em_samples import (
    KNOW_ALL,
    ROOT,
    TEXTS,
    WEIGHTS,
    laid_out,
    likelihoods,
    of_demo,
    of_texts,
    same_bits,
)
from tests.helpers import close
from tests.oracles.language import value
from tests.oracles.states import choices

# What it learns ---------------------------------------------------------------------------


def test_the_likelihood_never_falls():
    model = learn_em(of_demo(), EMOptions(states=6, iterations=25))
    found = np.array(likelihoods(model))
    assert np.all(np.diff(found) >= -1e-10 * np.abs(found[:-1]))
    assert found[-1] > found[0] + 500
    assert [each.number for each in model.record] == list(range(1, 26))
    seconds = [each.cpu_seconds for each in model.record]
    assert seconds == sorted(seconds)
    assert model.best_number == 25


def test_a_fall_of_the_likelihood_is_refused(monkeypatch):
    right = em.maximise
    calls: list[Values] = []

    def wrong(layout: Layout, counts: Values, out: Values | None = None) -> Values:
        calls.append(counts)
        return right(layout, em.perturbed(layout, 5.0, 3) if len(calls) == 4 else counts, out)

    monkeypatch.setattr(em, "maximise", wrong)
    with pytest.raises(GrammarError, match=r"iteration 4: the objective fell from -\d+"):
        learn_em(of_demo(50), EMOptions(states=4, iterations=6))


def test_one_state_is_the_treebank_grammar():
    examples = of_texts(weights=WEIGHTS)
    plain = count_pcfg(examples)
    model = learn_em(examples, EMOptions(states=1, iterations=3, smoothing=0.0))
    assert close(likelihoods(model), np.full(3, likelihoods(model)[0]), rtol=1e-12)
    for smoothing in (0.0, 5.0):
        options = EMOptions(states=1, iterations=3, smoothing=smoothing)
        parameters = learn_em(examples, options).model.parameters
        assert close(parameters.dense, plain.probability, rtol=1e-7)
        assert close(parameters.lexical, np.ones(len(plain.words.word)), rtol=1e-7)
        assert close(parameters.root, plain.root, rtol=1e-12)


def test_drawn_trees_become_at_least_as_likely_as_under_their_own_grammar():
    truth = pronoun_grammar()
    drawn = sample_trees(truth, 400, seed=5)
    own = sum(np.log(value(truth, tree)) for tree in drawn)
    examples = Examples.of(drawn, KNOW_ALL)
    n_states = np.full(len(examples.symbols), 2, dtype=np.int32)
    options = EMOptions(states=2, iterations=60)
    found = max(
        likelihoods(learn_em(examples, options, n_states=n_states, seed=seed))[-1]
        for seed in range(3)
    )
    assert found >= own
    plain = likelihoods(learn_em(examples, EMOptions(states=1, iterations=1)))[0]
    assert found > plain + 20


def test_a_tree_of_weight_two_counts_twice():
    weights = np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    options = EMOptions(states=2, iterations=5, perturbation=0.3)
    n_states = np.full(len(of_texts().symbols), 2, dtype=np.int32)
    weighted = learn_em(of_texts(weights=weights), options, n_states=n_states)
    doubled = learn_em(of_texts([TEXTS[0], *TEXTS]), options, n_states=n_states)
    assert close(likelihoods(weighted), likelihoods(doubled), rtol=1e-12)
    for own, other in zip(weighted.model.parameters, doubled.model.parameters, strict=True):
        assert close(own, other, rtol=1e-6, atol=1e-12)


def test_trees_of_one_word():
    model = learn_em(of_texts(["(UH yes)", "(UH no)", "(UH yes)"]), EMOptions(iterations=2))
    assert close(likelihoods(model)[0], 2 * np.log(2 / 3) + np.log(1 / 3), rtol=1e-12)
    assert model.model.backbone.n_rules == 0


@pytest.mark.parametrize("smoothing", [0.0, 5.0])
@pytest.mark.parametrize("word_smoothing", [0.0, 2.0])
def test_the_choices_of_each_state_sum_to_one(smoothing: float, word_smoothing: float):
    examples = of_demo()
    options = EMOptions(states=5, iterations=8, smoothing=smoothing, word_smoothing=word_smoothing)
    grammar = learn_em(examples, options).model
    total = np.zeros(len(grammar.parameters.root))
    for rule, parent in enumerate(grammar.backbone.parent):
        total[grammar.states(int(parent))] += grammar.tensor(rule).sum(axis=(1, 2))
    words, p = grammar.backbone.words, grammar.parameters
    symbols = grammar.backbone.symbols
    for word in range(len(grammar.backbone.lexicon.entries)):
        for tag in range(len(symbols.tags)):
            seen = words.word == word
            if not np.any(symbols.tag[words.symbol[seen]] == tag):
                continue
            found = words.candidates(word, tag)
            for symbol, weight, entry in zip(*found, strict=True):
                at = p.lexical_start[entry : entry + 2]
                vector = (
                    p.lexical[slice(*at)]
                    if entry >= 0
                    else p.unseen_word[grammar.states(int(symbol))]
                )
                total[grammar.states(int(symbol))] += weight * vector
    assert close(total, np.ones(len(total)), rtol=1e-6)
    assert close(p.root.sum(), 1.0, rtol=1e-12)
    assert all(array.min(initial=0.0) >= 0.0 for array in (p.dense, p.lexical, p.root))


def test_smoothing_leaves_nothing_impossible_that_the_rules_allow():
    examples = of_demo()
    sharp = learn_em(examples, EMOptions(states=4, iterations=60, smoothing=0.0)).model
    smooth = learn_em(examples, EMOptions(states=4, iterations=60)).model
    assert np.sum(sharp.parameters.dense < 1e-12) > np.sum(smooth.parameters.dense < 1e-12)


def test_a_symbol_has_at_most_the_root_of_its_count():
    examples = of_texts(["(S (A a) (B b))"] * 9)
    assert em.capped_states(examples, em.EMOptions(states=8)).tolist() == [3, 3, 3]
    assert em.capped_states(examples, em.EMOptions(states=2)).tolist() == [2, 2, 2]
    assert (
        em.capped_states(of_texts(["(S (A a))"], np.array([0.2])), em.EMOptions(states=8)).min()
        == 1
    )


# From given states ------------------------------------------------------------------------


def test_a_start_from_given_states_counts_them():
    examples = of_texts(weights=WEIGHTS)
    skeletons, layout = laid_out(examples, 3)
    n_states = layout.n_states[examples.symbol]
    states = (np.arange(len(examples)) % n_states).astype(np.int32)
    by_hand = Values(*(em_loop.EVEN_SHARE * array for array in em.even_counts(layout)))
    for tree in range(examples.n_trees):
        nodes = np.flatnonzero(examples.tree == tree).tolist()
        for kind, at in choices(examples, layout, {node: int(states[node]) for node in nodes}):
            getattr(by_hand, kind)[at] += (1 - em_loop.EVEN_SHARE) * examples.weight[nodes[0]]
    counts = em.counted(skeletons, layout, states)
    for name in Values._fields:
        assert close(getattr(counts, name), getattr(by_hand, name), rtol=1e-12)
        possible = em.even_counts(layout)
        assert np.all((getattr(counts, name) > 0) == (getattr(possible, name) > 0))


def test_a_start_from_the_true_states_is_likelier_than_one_by_chance():
    examples = of_demo()
    options = EMOptions(states=4, iterations=1, start="clusters")
    n_states = em.capped_states(examples, em.EMOptions(states=4))
    # A useful state: which symbol the parent has.
    parent = np.where(examples.parent >= 0, examples.symbol[examples.parent], 0)
    states = (parent % n_states[examples.symbol]).astype(np.int32)
    chance = np.random.default_rng(0).permutation(states) % n_states[examples.symbol]
    useful, useless = (
        likelihoods(learn_em(examples, options, states=each.astype(np.int32)))[0]
        for each in (states, chance)
    )
    assert useful > useless + 100


def test_given_states_must_exist():
    examples = of_texts()
    states = np.full(len(examples), 7, dtype=np.int32)
    with pytest.raises(GrammarError, match="a node has a state that its symbol lacks"):
        learn_em(examples, EMOptions(start="clusters"), states=states)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 0}, "states is 0; it must be at least 1"),
        ({"iterations": 0}, "iterations is 0; it must be at least 1"),
        ({"judge_every": 0}, "judge_every is 0; it must be at least 1"),
        ({"smoothing": -1.0}, "smoothing is -1.0; it must be at least 0"),
        ({"word_smoothing": float("nan")}, "word_smoothing is nan; it must be at least 0"),
        ({"perturbation": float("inf")}, "perturbation is inf; it must be at least 0"),
        ({"start": "middle"}, "start is 'middle'; it must be random or clusters"),
    ],
)
def test_settings_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        EMOptions(**options)


def test_start_and_states_must_agree():
    with pytest.raises(SettingsError, match=r"start is 'clusters', and states .* are not given"):
        learn_em(of_texts(), EMOptions(start="clusters"))
    states = np.zeros(len(of_texts()), dtype=np.int32)
    with pytest.raises(SettingsError, match=r"start is 'random', and states .* are given"):
        learn_em(of_texts(), states=states)


# Judging ----------------------------------------------------------------------------------


def test_the_best_judged_grammar_is_kept():
    examples = of_demo(50)
    seen: list[LPCFG] = []
    verdicts = iter([0.1, 0.2, 0.5, 0.5, 0.3])

    def judge(grammar: LPCFG) -> float:
        seen.append(grammar)
        return next(verdicts)

    options = EMOptions(states=3, iterations=7, judge_every=2)
    model = learn_em(examples, options, scorer=judge)
    told = [each.score for each in model.record]
    assert told == [0.1, 0.2, None, 0.5, None, 0.5, 0.3]
    assert model.best_number == 4
    assert same_bits(model.model, seen[2])
    assert not same_bits(seen[2], seen[3])


# With the compiler and without -------------------------------------------------------------


def results() -> dict[str, object]:
    model = learn_em(of_texts(), EMOptions(states=3, iterations=3))
    return {
        "likelihoods": likelihoods(model),
        "parameters": [array.tolist() for array in model.model.parameters],
    }


@pytest.mark.slow
def test_compilation_is_no_part_of_an_iteration(tmp_path):
    script = (
        "from tests.constituency.learn import test_em as here\n"
        "stages = []\n"
        "model = here.learn_em(\n"
        "    here.of_texts(), here.EMOptions(states=2, iterations=1),\n"
        "    progress=lambda stage, _: stages.append(stage),\n"
        ")\n"
        "assert stages == ['compilation', *2 * ['expectation maximisation']], stages\n"
        "names = ('inside_pass', 'outside_pass', 'count_rules', 'count_others', 'count_states',\n"
        "         'divide')\n"
        "kernels = [getattr(here.em.kernels, name) for name in names]\n"
        "assert [len(one.signatures) for one in kernels] == [1] * 6, kernels\n"
        "print(model.record[0].cpu_seconds)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.5


@pytest.mark.slow
def test_kernels_give_the_same_as_plain_python():
    script = (
        "import json, numba\n"
        "assert numba.config.DISABLE_JIT\n"
        "from tests.constituency.learn.test_em import results\n"
        "print(json.dumps(results()))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    plain, compiled = json.loads(done.stdout), results()
    assert close(plain["likelihoods"], compiled["likelihoods"], rtol=1e-12)
    for own, other in zip(plain["parameters"], compiled["parameters"], strict=True):
        assert close(own, other, rtol=1e-6, atol=1e-12)
