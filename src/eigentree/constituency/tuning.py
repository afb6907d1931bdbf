"""Tuning on held-out trees: numbers of states and smoothing constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.spectral import (
    SpectralModel,
    SpectralOptions,
    estimate,
    learn_spectral,
    project,
)
from eigentree.constituency.learn.state_counts import max_states
from eigentree.constituency.learn.state_search import STAGE, StateSearchOptions, search_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TrainingOptions
from eigentree.constituency.validation import Validation
from eigentree.errors import SettingsError
from eigentree.treebank.tree import Tree
from eigentree.types import Progress

# Settings of the spectral estimator in the order of tuning, with the candidate values.
TUNED = {
    "shrinkage": (1.0, 1.25, 1.5, 2.0),
    "smoothing": (2.0, 5.0, 10.0),
    "word_smoothing": (0.7, 0.9, 1.0),
}


def optimise_states(
    examples: Examples,
    spectral: SpectralOptions,
    search: StateSearchOptions,
    scorer: Callable[[LPCFG], float],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
) -> tuple[SpectralModel, dict[str, Any]]:
    """Search for the numbers of states of frequent nonterminals with the best score.

    The singular value decompositions are computed once, for the largest number; smaller numbers use
    their first directions.  If no assignment is better than the plain model, whose directions may
    differ slightly, the plain model is returned.

    Parameters
    ----------
    examples
        The treebank.
    spectral, search
        Settings of the estimator and of the search.
    scorer
        Scores a grammar; higher is better.
    seed
        The same seed gives the same model.
    progress
        Called with the stage and the completed fraction of it.
    jobs
        Number of threads; the model does not depend on it.

    Returns
    -------
    SpectralModel
        The best model; its score is never below that of the plain model.
    dict
        A report for the model file: ``spectral``, the settings with the best
        `SpectralOptions.states_of`, and ``state_search``, all trials.
    """
    names = [str(symbol) for symbol in examples.symbols.symbols]
    count = np.bincount(examples.symbol, examples.weight, len(names))
    by_count = (names[symbol] for symbol in np.argsort(-count, kind="stable"))
    searched = list(dict.fromkeys(by_count))[: search.most]
    turns = [np.flatnonzero([each == name for each in names]).astype(np.int32) for name in searched]
    start = max_states(examples.symbols.symbols, spectral.states, spectral.states_of)
    largest = {
        name: max(*search.numbers, int(start[symbols[0]]))
        for name, symbols in zip(searched, turns, strict=True)
    }
    widest = replace(spectral, states_of={**spectral.states_of, **largest})
    projections = project(examples, widest, seed=seed, progress=progress)

    def learned(n_states: NDArray[np.int32]) -> SpectralModel:
        narrow = projections.narrowed(n_states)
        return SpectralModel(estimate(examples, narrow, spectral), narrow)

    if progress:
        progress(STAGE, 0.0)
    plain = learn_spectral(examples, spectral, seed=seed)
    plain_f1 = scorer(plain.grammar)
    start = np.minimum(start, projections.n_states)
    result = search_states(
        start,
        projections.n_states,
        turns,
        lambda n_states: scorer(learned(n_states).grammar),
        search,
        jobs=jobs,
        progress=progress,
    )
    changed = {
        name: int(result.n_states[symbols].max())
        for name, symbols in zip(searched, turns, strict=True)
        if np.any(result.n_states[symbols] != start[symbols])
    }
    record = [
        {
            "nonterminal": searched[trial.turn],
            "beside": trial.member,
            "states": trial.states,
            "f1": trial.value,
        }
        for trial in result.trials
    ]
    is_better = bool(changed) and result.value > plain_f1
    states_of = {**spectral.states_of, **(changed if is_better else {})}
    return learned(result.n_states) if is_better else plain, {
        "spectral": asdict(replace(spectral, states_of=states_of)),
        "state_search": {
            "settings": asdict(search),
            "start_f1": plain_f1,
            "f1": result.value if is_better else plain_f1,
            "record": record,
        },
    }


def tuned(
    trees: Sequence[Tree],
    dev: Sequence[Tree],
    options: TrainingOptions,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainingOptions:
    """Tune the smoothing constants of the spectral estimator on held-out trees.

    The settings in `TUNED` are tuned one after another: each gets the value with the best bracket
    F1, or keeps its value if no other is better.

    Returns
    -------
    TrainingOptions
        Settings with an F1 on the held-out trees at least that of `options`.

    Raises
    ------
    SettingsError
        When there are no held-out trees.

    Cost
    ----
    One decomposition, on which no constant depends; for each value an estimate and a parse of the
    held-out trees with their tags.
    """
    if not dev:
        raise SettingsError("there are no held-out trees to tune on; at least one is needed")
    examples = prepare(trees, options.treebank).examples
    projections = project(examples, options.spectral, seed=seed, progress=progress)
    scorer = Validation(dev, examples, options.widening, options.parsing).scorer(progress)

    def f1(spectral: SpectralOptions) -> float:
        return scorer(estimate(examples, projections, spectral))

    best = options.spectral
    best_f1 = f1(best)
    n_values = sum(len(values) for values in TUNED.values())
    done = 0
    for name, values in TUNED.items():
        for value in values:
            changed: dict[str, Any] = {name: value}
            tried = replace(best, **changed)
            if tried != best:
                tried_f1 = f1(tried)
                if tried_f1 > best_f1:
                    best, best_f1 = tried, tried_f1
            done += 1
            if progress:
                progress("tuning", done / n_values)
    return replace(options, spectral=best)
