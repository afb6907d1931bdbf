"""PrefixExpectation maximisation for automata against sums over paths, and its own laws."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.automata import em
from eigentree.automata.arrays import Automata, PrefixTree
from eigentree.automata.em import (
    PrefixExpectation,
    SequenceEMOptions,
    cluster_prefixes,
    extract_model,
    learn_sequence_em,
    log_likelihood,
    start,
)
from eigentree.automata.model import OperatorModel
from eigentree.automata.prefix_tree import build_prefix_tree
from eigentree.automata.sequences import Sequences
from eigentree.errors import GrammarError, ModelFileError, SettingsError
from eigentree.learning import em_loop
from eigentree.learning.em_loop import EMTrace
from eigentree.model_file import open_model, save_model
from tests.helpers import close
from tests.oracles.automata import draw, paths, random_automaton, signed_value, strings, value

TEXTS = ["abca", "ab", "ab", "", "cab", "abcb", "", "ca", "abca", "bbbb", "c", "ac"] * 3
texts = st.lists(st.text("abc", max_size=6), min_size=1, max_size=12)


def of(texts: list[str]) -> tuple[Sequences, PrefixTree]:
    sequences = Sequences.of(texts, "abc")
    return sequences, build_prefix_tree(sequences, np.zeros(len(texts), dtype=np.int64), 1)


def as_automata(model: OperatorModel, forest: PrefixTree) -> Automata:
    return Automata(model.initial[None], model.final[None], model.operators[forest.row_symbol])


def step(forest: PrefixTree, automata: Automata, jobs: int = 1) -> tuple[float, em.Counts]:
    with ThreadPoolExecutor(jobs) as threads:
        return PrefixExpectation(forest, automata.initial.shape[1], threads).step(automata)


# Prefixes ---------------------------------------------------------------------------------


@given(texts, st.integers(1, 3))
def test_the_forest_has_each_prefix_once(given: list[str], n_automata: int):
    automaton = np.arange(len(given)) % n_automata
    forest = build_prefix_tree(Sequences.of(given, "abc"), automaton, n_automata)
    prefixes: list[tuple[int, str]] = [(number, "") for number in range(n_automata)]
    for node in range(n_automata, len(forest.parent)):
        parent, row = forest.parent[node], forest.row[node]
        assert parent < node
        assert forest.automaton[node] == prefixes[parent][0] == forest.row_automaton[row]
        prefixes.append((prefixes[parent][0], prefixes[parent][1] + "abc"[forest.row_symbol[row]]))
        assert node in forest.by_row[forest.row_start[row] : forest.row_start[row + 1]]
    own = list(zip(automaton.tolist(), given, strict=True))
    expected = {(number, text[:at]) for number, text in own for at in range(len(text) + 1)}
    assert sorted(prefixes) == sorted(expected | set(prefixes[:n_automata]))
    assert len(set(prefixes)) == len(prefixes)
    for (number, prefix), ends, through in zip(
        prefixes, forest.ends.tolist(), forest.through.tolist(), strict=True
    ):
        assert ends == own.count((number, prefix))
        assert through == sum(n == number and text.startswith(prefix) for n, text in own)
    # No parent lies in another block, but for roots.
    assert forest.block[0] == n_automata
    assert forest.block[-1] == len(forest.parent)
    for first, last in pairwise(forest.block.tolist()):
        above = forest.parent[first:last]
        assert np.all((above >= first) | (above < n_automata))


# The expectation step ---------------------------------------------------------------------


@given(texts, st.integers(0, 5))
def test_expected_counts_are_sums_over_paths(given: list[str], seed: int):
    model = random_automaton(2, "abc", np.random.default_rng(seed))
    _, forest = of(given)
    initial, final, operators = np.zeros(2), np.zeros(2), np.zeros((3, 2, 2))
    expected = 0.0
    for text in given:
        total = value(model, tuple(text))
        expected += np.log(total)
        for states, weight in paths(model, tuple(text)):
            initial[states[0]] += weight / total
            final[states[-1]] += weight / total
            for symbol, (before, after) in zip(text, pairwise(states), strict=True):
                operators["abc".index(symbol), after, before] += weight / total
    found, counts = step(forest, as_automata(model, forest))
    assert close(found, expected, rtol=1e-9)
    assert close(counts.initial[0], initial, rtol=1e-9)
    assert close(counts.final[0], final, rtol=1e-9)
    assert close(counts.operators, operators[forest.row_symbol], rtol=1e-9, atol=1e-12)


def test_long_sequences_have_expected_counts():
    model = random_automaton(2, "abc", np.random.default_rng(1))
    _, forest = of(["abc" * 1_000, "abc" * 1_000 + "a"])
    assert len(forest.parent) == 3_002
    found, counts = step(forest, as_automata(model, forest))
    assert close(found, sum(model.value("abc" * 1_000 + end)[0] for end in ("", "a")), rtol=1e-12)
    assert close(counts.operators.sum(), 6_001.0, rtol=1e-9)
    assert close(counts.final.sum(), 2.0, rtol=1e-9)


def test_likelihoods_are_those_of_the_model(rng):
    model = random_automaton(3, "abc", rng)
    _, forest = of(TEXTS)
    expected = sum(model.value(text)[0] for text in TEXTS)
    assert close(log_likelihood(forest, model), expected, rtol=1e-12)


# Iterations -------------------------------------------------------------------------------


def learned(options: SequenceEMOptions, **settings: object) -> EMTrace[OperatorModel]:
    return learn_sequence_em(Sequences.of(TEXTS, "abc"), options, **{"back_off": 0.0} | settings)


def test_one_state_has_relative_frequencies():
    model = learned(SequenceEMOptions(1, 1)).model
    symbols, ends = "".join(TEXTS), len(TEXTS)
    total = len(symbols) + ends
    expected = np.array([symbols.count(symbol) / total for symbol in "abc"])
    assert close(model.operators[:, 0, 0], expected, rtol=1e-12)
    assert close(model.final, [ends / total], rtol=1e-12)
    assert close(model.initial, [1.0], rtol=1e-12)


@pytest.mark.parametrize("begin", ["random", "spectral"])
def test_no_step_falls_and_most_rise(begin):
    record = learned(SequenceEMOptions(3, 40, begin)).record
    likelihoods = [row.log_likelihood for row in record]
    assert len(record) == 40
    assert all(later >= before - 1e-9 for before, later in pairwise(likelihoods))
    assert likelihoods[-1] > likelihoods[0] + 1.0


@pytest.mark.parametrize("begin", ["random", "spectral"])
def test_what_is_learned_is_a_distribution(begin):
    model = learned(SequenceEMOptions(3, 5, begin)).model
    assert close(model.continuation(), np.ones(model.n_states), rtol=1e-9)
    assert close(model.initial.sum(), 1.0, rtol=1e-12)
    assert all(array.min() >= 0.0 for array in model.to_arrays().values())


def test_a_fall_is_an_error(monkeypatch):
    def worse(forest, counts, before=None):
        found = em.__dict__["kept"](forest, counts, before)
        return found if before is None else found._replace(final=found.final * 0.5)

    monkeypatch.setitem(em.__dict__, "kept", em.maximise)
    monkeypatch.setattr(em, "maximise", worse)
    with pytest.raises(GrammarError, match="iteration 2: the objective fell"):
        learned(SequenceEMOptions(2, 5))


def test_samples_bring_it_near_the_automaton(rng):
    model = random_automaton(2, "abc", rng)
    sequences = Sequences.of(draw(model, 5_000, rng), model.symbols)
    for begin in ("random", "spectral"):
        found = learn_sequence_em(sequences, SequenceEMOptions(2, 60, begin), back_off=0.0).model
        off = sum(
            abs(signed_value(found, sequence) - signed_value(model, sequence))
            for sequence in strings(model.symbols, 4)
        )
        assert off < 0.1


def test_a_spectral_start_is_better_than_a_random_one(rng):
    model = random_automaton(3, "abcd", rng)
    sequences = Sequences.of(draw(model, 3_000, rng), model.symbols)
    first = [
        learn_sequence_em(sequences, SequenceEMOptions(3, 1, begin)).record[0].log_likelihood
        for begin in ("spectral", "random")
    ]
    assert first[0] > first[1]


def test_prefixes_after_which_all_is_alike_share_a_state():
    # After an even number of symbols comes a or the end, after an odd one b.
    sequences = Sequences.of([("ab" * (1 + number % 4)) for number in range(200)])
    forest = build_prefix_tree(sequences, np.zeros(200, dtype=np.int64), 1)
    options = SequenceEMOptions(2, 1, "spectral")
    state = cluster_prefixes([sequences], forest, np.array([2]), options)
    last = np.append(-1, forest.row_symbol[forest.row[1:]])
    assert len(set(state[last == 0].tolist())) == 1
    assert state[last == 0][0] not in state[last == 1]


def test_few_symbols_give_few_states():
    sequences, forest = of(["ab", "b"])  # three symbols and two ends
    for begin in ("random", "spectral"):
        found = start([sequences], forest, SequenceEMOptions(6, 1, begin))
        assert found.initial.shape == (1, 6)
        assert extract_model(found, forest, 0, sequences.symbols).n_states == 2


def test_the_best_iteration_is_kept_by_held_out_sequences(rng):
    model = random_automaton(2, "abc", rng)
    train, held_out = (Sequences.of(draw(model, size, rng), model.symbols) for size in (60, 2_000))
    options = SequenceEMOptions(5, 60)
    found = learn_sequence_em(train, options, dev=held_out)
    judged = [row.score for row in found.record]
    assert found.best == int(np.argmax(judged)) < 59  # later ones fit the sample only
    whole = build_prefix_tree(held_out, np.zeros(held_out.n_sequences, dtype=np.int64), 1)
    assert close(log_likelihood(whole, found.model), judged[found.best], rtol=1e-12)


def test_the_best_restart_is_kept():
    found = learned(SequenceEMOptions(3, 10, restarts=4))
    last = [row.log_likelihood for row in found.record[9::10]]
    assert [row.restart for row in found.record[9::10]] == [1, 2, 3, 4]
    assert len(set(last)) == 4
    assert found.best == 10 * int(np.argmax(last)) + 9


# The same bytes ---------------------------------------------------------------------------


def same(one: OperatorModel, other: OperatorModel) -> bool:
    pairs = zip(one.to_arrays().values(), other.to_arrays().values(), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


def test_any_number_of_threads_gives_the_same_bytes(rng):
    sequences = Sequences.of(draw(random_automaton(3, "abcd", rng), 500, rng), "abcd")
    found = [
        learn_sequence_em(sequences, SequenceEMOptions(3, 5), jobs=jobs).model for jobs in (1, 3)
    ]
    assert same(*found)
    other = learn_sequence_em(sequences, SequenceEMOptions(3, 5), seed=1).model
    assert not same(found[0], other)


@pytest.mark.parametrize("begin", ["random", "spectral"])
def test_a_stopped_run_goes_on_to_the_same_bytes(begin, tmp_path):
    restarts = 2 if begin == "random" else 1
    options = SequenceEMOptions(3, 6, begin, restarts)
    held_out = Sequences.of(["abc", "cc", ""], "abc")
    expected = learned(options, dev=held_out)

    class StopError(Exception):
        pass

    def stop(stage: str, share: float) -> None:
        assert stage == em.STAGE
        if share >= 0.6:
            raise StopError

    path = tmp_path / "checkpoint"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(em_loop, "WRITING_PAUSE", 0.0)
        with pytest.raises(StopError):
            learned(options, dev=held_out, checkpoint=path, progress=stop)
    assert 0 < len(open_model(path).header["record"]) < len(expected.record)
    found = learned(options, dev=held_out, checkpoint=path)
    assert same(found.model, expected.model)
    assert found.best == expected.best
    # A finished one is read, not run.
    assert same(learned(options, dev=held_out, checkpoint=path).model, expected.model)


def test_checkpoints_of_other_runs_are_refused(tmp_path):
    path = tmp_path / "checkpoint"
    options = SequenceEMOptions(2, 2)
    learned(options, checkpoint=path)
    with pytest.raises(ModelFileError, match="of a run with states 2, not 3; use another file"):
        learned(SequenceEMOptions(3, 2), checkpoint=path)
    with pytest.raises(ModelFileError, match="with seed 0, not 1"):
        learned(options, checkpoint=path, seed=1)
    with pytest.raises(ModelFileError, match="with other development sequences"):
        learned(options, checkpoint=path, dev=Sequences.of(["a"], "abc"))
    with pytest.raises(ModelFileError, match="with other sequences"):
        learn_sequence_em(Sequences.of(["abc"]), options, back_off=0.0, checkpoint=path)
    file = open_model(path)
    arrays = {name: np.array(array) for name, array in file.arrays.items()}
    save_model(path, file.header, arrays | {"values.final": np.zeros((1, 3))})
    with pytest.raises(ModelFileError, match=r"final has shape \(1, 3\) and type float64, not"):
        learned(options, checkpoint=path)
    save_model(path, file.header, {})
    with pytest.raises(ModelFileError, match=r"is not a complete checkpoint: 'values\.initial' is"):
        learned(options, checkpoint=path)
    path.write_text("no model")
    with pytest.raises(ModelFileError, match="is not an eigentree checkpoint"):
        learned(options, checkpoint=path)


# What is refused --------------------------------------------------------------------------


def test_what_has_no_meaning_is_refused():
    for settings, message in (
        ({"states": 0}, "states is 0; it must be at least 1"),
        ({"judge_every": 0}, "judge_every is 0"),
        ({"start": "clusters"}, "start is 'clusters'"),
        ({"start": "spectral", "restarts": 2}, "restarts is 2; a spectral start is determ"),
        ({"perturbation": 0.0}, "perturbation is 0.0"),
    ):
        with pytest.raises(SettingsError, match=message):
            SequenceEMOptions(**settings)
    with pytest.raises(SettingsError, match=r"back_off is 1\.0"):
        learned(SequenceEMOptions(), back_off=1.0)
    with pytest.raises(GrammarError, match="there are no sequences to learn from"):
        learn_sequence_em(Sequences.of([]))
    with pytest.raises(GrammarError, match="by the symbols of the training sequences"):
        learned(SequenceEMOptions(), dev=Sequences.of(["a"]))
