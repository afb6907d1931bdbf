"""TreeExpectation maximisation against sums over all states, known grammars, and its own laws."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn import em
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em import EMOptions, capped_states, learn_em
from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.em_layout import lay_out
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import EigentreeError, GrammarError, ModelFileError, SettingsError
from eigentree.learning import em_loop
from eigentree.learning.em_loop import EMTrace
from eigentree.model_file import open_model, save_model
from eigentree.simulation import pronoun_grammar, sample_trees
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.tree import Tree
from tests.demo import demo_trees
from tests.helpers import close
from tests.oracles.language import value
from tests.oracles.states import choices, expected
from tests.strategies import trees

ROOT = Path(__file__).resolve().parents[3]
KNOW_ALL = LexiconOptions(rare_threshold=0)
TEXTS = (
    "(S (NP (D the) (N fox)) (VP (V saw) (NP (D a) (N hen))))",
    "(S (NP (N hens)) (VP (V saw) (NP (D the) (N fox))))",
    "(S (NP (D the) (N fox)) (VP (V ran)))",
    "(S (NP (D the) (N fox) (N den)) (VP (V ran)))",
    "(UH yes)",
)
WEIGHTS = np.array([1.0, 0.5, 2.0, 1.0, 3.0])


def of_texts(texts=TEXTS, weights=None) -> Examples:
    binary = [binarise(parse_tree(text), BinariseOptions()) for text in texts]
    return Examples.of(binary, KNOW_ALL, weights)


def of_demo(n_trees: int = 150) -> Examples:
    return Examples.of([binarise(tree, BinariseOptions()) for tree in demo_trees()[:n_trees]])


def laid_out(examples: Examples, states: int):
    n_states = np.full(len(examples.symbols), states, dtype=np.int32)
    n_states[::3] = max(1, states - 1)
    return lay_out(examples, count_pcfg(examples), n_states)


def step(skeletons, layout: Layout, values: Values, jobs: int = 1) -> tuple[float, Values]:
    with ThreadPoolExecutor(jobs) as threads:
        return em.TreeExpectation(skeletons, layout, threads).step(values)


def parameters(layout: Layout, seed: int = 0) -> Values:
    return em.maximise(layout, em.perturbed(layout, 2.0, seed))


# Layout -----------------------------------------------------------------------------------


@given(st.lists(trees(max_leaves=10), min_size=1, max_size=5), st.sampled_from([1, 7, 1000]))
def test_the_layout_keeps_every_tree(corpus: list[Tree], block_nodes: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eigentree.constituency.learn.em_layout.BLOCK_NODES", block_nodes)
        examples = Examples.of([binarise(tree, BinariseOptions()) for tree in corpus], KNOW_ALL)
        skeletons, layout = laid_out(examples, 3)
    order = skeletons.order
    assert sorted(order.tolist()) == list(range(len(examples)))
    for name in ("symbol", "rule", "pair", "weight"):
        assert np.array_equal(getattr(skeletons, name), getattr(examples, name)[order])
    inner = np.flatnonzero(skeletons.rule >= 0)
    for name in ("left", "right"):
        child = getattr(skeletons, name)
        assert np.array_equal(order[child[inner]], getattr(examples, name)[order[inner]])
        assert np.all(child[inner] < inner)
        assert np.all(child[skeletons.rule < 0] == -1)
    for first, last in pairwise(skeletons.batch.tolist()):
        assert len(set(skeletons.rule[first:last].tolist())) == 1
        if skeletons.rule[first] >= 0:
            assert last - first in (1, 4)
            assert np.all(skeletons.left[first:last] < first)
            assert np.all(skeletons.right[first:last] < first)
    for first, last in pairwise(skeletons.batch[skeletons.block].tolist()):
        nodes = np.arange(first, last)[skeletons.rule[first:last] >= 0]
        assert np.all(skeletons.left[nodes] >= first)
    assert np.array_equal(np.sort(skeletons.rule[inner]), skeletons.rule[skeletons.by_rule])
    assert layout.rule_count.sum() == len(inner)


# One step ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_step_is_the_sum_over_all_states(weights):
    examples = of_texts(weights=weights)
    skeletons, layout = laid_out(examples, 2)
    values = parameters(layout)
    log_likelihood, counts = step(skeletons, layout, values)
    by_hand, counts_by_hand = expected(examples, layout, values)
    assert close(log_likelihood, by_hand, rtol=1e-12)
    for name in Values._fields:
        assert close(getattr(counts, name), getattr(counts_by_hand, name), rtol=1e-11, atol=1e-15)


@pytest.mark.slow
@given(st.lists(trees(max_leaves=4), min_size=1, max_size=6), st.integers(0, 100))
def test_a_step_on_any_trees(corpus: list[Tree], seed: int):
    examples = Examples.of([binarise(tree, BinariseOptions()) for tree in corpus], KNOW_ALL)
    skeletons, layout = laid_out(examples, 2)
    values = parameters(layout, seed)
    log_likelihood, counts = step(skeletons, layout, values)
    by_hand, counts_by_hand = expected(examples, layout, values)
    assert close(log_likelihood, by_hand, rtol=1e-11, atol=1e-12)
    for name in Values._fields:
        assert close(getattr(counts, name), getattr(counts_by_hand, name), rtol=1e-10, atol=1e-15)


def test_four_nodes_at_a_time_and_one_give_the_same(monkeypatch):
    examples = of_demo()
    together = laid_out(examples, 4)
    monkeypatch.setattr("eigentree.constituency.learn.em_layout.BATCH", 1 << 30)
    alone = laid_out(examples, 4)
    assert len(alone[0].batch) > len(together[0].batch)
    monkeypatch.undo()
    values = parameters(together[1])
    first, second = step(*together, values), step(*alone, values)
    assert close(first[0], second[0], rtol=1e-12)
    for name in Values._fields:
        own, other = getattr(first[1], name), getattr(second[1], name)
        assert close(own, other, rtol=1e-9, atol=1e-15)


def test_states_that_are_alike_change_no_probability():
    # 250 words make numbers far below the least that a float holds.
    tree = Tree("N", (), "x")
    for number in range(249):
        tree = Tree("A", [Tree("N", (), f"w{number}"), tree])
    examples = Examples.of([binarise(tree, BinariseOptions())], KNOW_ALL)
    plain = count_pcfg(examples)
    inner = examples.rule[examples.rule >= 0]
    pairs = examples.pair[examples.pair >= 0]
    words = plain.words
    log_probability = (
        np.log(plain.probability[inner]).sum()
        + np.log((words.count / words.symbol_count[words.symbol])[pairs]).sum()
    )
    assert log_probability < -1000
    for states in (1, 4):
        skeletons, layout = laid_out(examples, states)
        values = em.maximise(layout, em.even_counts(layout))
        log_likelihood, counts = step(skeletons, layout, values)
        assert close(log_likelihood, log_probability, rtol=1e-12)
        assert close(counts.rules.sum(), 249.0, rtol=1e-10)
        assert close(counts.words.sum(), 250.0, rtol=1e-10)


def test_a_tree_without_probability():
    examples = of_texts()
    skeletons, layout = laid_out(examples, 2)
    values = parameters(layout)
    values.roots[:] = 0.0
    with pytest.raises(GrammarError, match="tree 1 has log-probability -inf, which must be"):
        step(skeletons, layout, values)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("eigentree.constituency.learn.em_layout.BLOCK_NODES", 500)
    examples = of_demo()
    options = EMOptions(states=4, iterations=4)
    one, three = (learn_em(examples, options, jobs=jobs) for jobs in (1, 3))
    assert likelihoods(one) == likelihoods(three)
    assert same_bits(one.model, three.model)


def likelihoods(model: EMTrace[LPCFG]) -> list[float]:
    return [each.log_likelihood for each in model.record]


def same_bits(first: LPCFG, second: LPCFG) -> bool:
    pairs = zip(first.parameters, second.parameters, strict=True)
    return all(own.tobytes() == other.tobytes() for own, other in pairs)


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


# Checkpoints ------------------------------------------------------------------------------


class KilledError(Exception):
    """Stands for the end of the process."""


def killed_after(iterations: int):
    def progress(stage: str, share: float) -> None:
        if stage == em.STAGE and round(share * 9) == iterations:
            raise KilledError

    return progress


def verdict(grammar: LPCFG) -> float:
    """Highest in the middle of a run."""
    return -abs(float(grammar.parameters.dense.std()) - 0.034)


OPTIONS = EMOptions(states=3, iterations=9)


@pytest.mark.parametrize("scorer", [None, verdict])
@pytest.mark.parametrize("iterations", [1, 4, 8])
def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path, scorer, iterations):
    examples = of_demo(60)
    whole = learn_em(examples, OPTIONS, scorer=scorer, checkpoint=tmp_path / "whole")
    path = tmp_path / "killed"
    with pytest.raises(KilledError):
        learn_em(
            examples, OPTIONS, scorer=scorer, checkpoint=path, progress=killed_after(iterations)
        )
    resumed = learn_em(examples, OPTIONS, scorer=scorer, checkpoint=path)
    assert scorer is None or 1 < whole.best_number < 9
    without_times = [each[:-1] for each in whole.record]
    assert [each[:-1] for each in resumed.record] == without_times
    assert resumed.best == whole.best
    assert same_bits(resumed.model, whole.model)
    # A run that is over only reads its end.
    again = learn_em(examples, OPTIONS, scorer=scorer, checkpoint=path)
    assert again.record == resumed.record
    assert same_bits(again.model, whole.model)


def test_a_finished_run_may_go_on(tmp_path):
    examples = of_demo(60)
    few, more = EMOptions(states=3, iterations=4), EMOptions(states=3, iterations=7)
    learn_em(examples, few, checkpoint=tmp_path / "run")
    model = learn_em(examples, more, checkpoint=tmp_path / "run")
    assert likelihoods(model) == likelihoods(learn_em(examples, more))
    assert same_bits(model.model, learn_em(examples, more).model)
    with pytest.raises(ModelFileError, match="a run with 7 iterations, more than the 4 requested"):
        learn_em(examples, few, checkpoint=tmp_path / "run")


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    examples = of_demo(60)
    path = tmp_path / "run"
    learn_em(examples, EMOptions(states=3, iterations=1), checkpoint=path)
    one = EMOptions(states=3, iterations=2)
    for message, arguments in {
        "a run with other trees; use another file": {"examples": of_demo(61)},
        "a run with states 3, not 4": {"options": EMOptions(states=4, iterations=2)},
        "a run with seed 0, not 1": {"seed": 1},
        "a run with no held-out trees; use": {"validation_digest": "abc"},
        "a run with smoothing 5.0, not 1.0": {
            "options": EMOptions(states=3, iterations=2, smoothing=1.0)
        },
    }.items():
        with pytest.raises(ModelFileError, match=message):
            learn_em(**{"examples": examples, "options": one, "checkpoint": path, **arguments})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelFileError, match="is damaged"):
        learn_em(examples, one, checkpoint=path)


def test_a_checkpoint_with_another_judge_is_refused(tmp_path):
    examples = of_demo(60)
    options, path = EMOptions(states=3, iterations=1), tmp_path / "run"
    learn_em(examples, options, checkpoint=path, validation_digest="abc")
    for message, validation_digest in (
        ("with held-out trees; use", ""),
        ("other held-out trees, or", "d"),
    ):
        with pytest.raises(ModelFileError, match=message):
            learn_em(examples, options, checkpoint=path, validation_digest=validation_digest)


def test_a_checkpoint_with_other_clusters_is_refused(tmp_path):
    examples = of_demo(60)
    options, path = EMOptions(states=3, iterations=1, start="clusters"), tmp_path / "run"
    states = np.zeros(len(examples), dtype=np.int32)
    learn_em(examples, options, states=states, checkpoint=path)
    n_states = capped_states(examples, options)
    states[n_states[examples.symbol] > 1] = 1
    with pytest.raises(ModelFileError, match="a run with other trees or other clusters; use"):
        learn_em(examples, options, states=states, checkpoint=path)


@pytest.mark.parametrize("judge", [None, lambda _: 0.5])
def test_a_run_cannot_end_where_nothing_was_kept(tmp_path, monkeypatch, judge):
    """Of an iteration that was not to be the last no grammar need have been made."""
    monkeypatch.setattr(em_loop, "WRITING_PAUSE", 0.0)
    examples, path = of_demo(60), tmp_path / "run"
    with pytest.raises(KilledError):
        learn_em(examples, OPTIONS, scorer=judge, checkpoint=path, progress=killed_after(3))
    few = EMOptions(states=3, iterations=3)
    with pytest.raises(ModelFileError, match="a run with more iterations than the 3 requested"):
        learn_em(examples, few, scorer=judge, checkpoint=path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda header, _: header.pop("record"),
            "is not a complete checkpoint: 'record' is missing",
        ),
        (lambda header, _: header["settings"].pop("seed"), "checkpoint: 'seed' is missing"),
        (lambda _, arrays: arrays.pop("best.dense"), "checkpoint: 'best.dense' is missing"),
        (
            lambda _, arrays: arrays.update({"values.rules": np.zeros(3)}),
            r"its rules have shape \(3,\), not \(\d+,\)",
        ),
        (
            lambda _, arrays: arrays.update({"best.dense": np.zeros(3, dtype=np.float32)}),
            "a rule's tensor exceeds the end of its array",
        ),
    ],
)
def test_a_forged_checkpoint_is_refused(tmp_path, change, message):
    examples = of_demo(30)
    path = tmp_path / "run"
    learn_em(examples, EMOptions(states=3, iterations=1), checkpoint=path)
    file = open_model(path)
    header, arrays = dict(file.header), dict(file.arrays)
    change(header, arrays)
    save_model(tmp_path / "forged", header, arrays)
    with pytest.raises(EigentreeError, match=message):
        learn_em(examples, EMOptions(states=3, iterations=2), checkpoint=tmp_path / "forged")


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
