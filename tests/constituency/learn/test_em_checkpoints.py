"""A run of expectation maximisation that was stopped ends as if it had not been."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn import em
from eigentree.constituency.learn.em import EMOptions, capped_states, learn_em
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.learning import em_loop
from eigentree.model_file import open_model, save_model
from tests.constituency.learn.em_samples import (
    likelihoods,
    of_demo,
    same_bits,
)

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
            r"rules has shape \(3,\) and type float64, not \(\d+,\) and",
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
