"""Properties of all estimators in the registry."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from eigentree.constituency.estimators import (
    ESTIMATORS,
    METHODS,
    VARIANTS,
    estimator_class,
    learned_by,
)
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions
from tests.demo import demo_trees

SMALL = TrainingOptions(tagger=False)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_a_parser_that_scores_itself(method):
    parser = ConstituencyParser.train(demo_trees()[:60], SMALL, method=method, states=2)
    assert parser.description["method"] == learned_by(method)
    scores = parser.evaluate(demo_trees()[:10])
    assert scores.all.f1 is not None
    assert scores.all.f1 > 0.5
    summary = parser.summary()
    assert summary["trained"]["method"] == learned_by(method)
    assert summary["signed"] == estimator_class(learned_by(method)).is_signed
    states = {row["nonterminal"]: row["states"] for row in summary["nonterminals"]}
    assert max(states.values()) == (2 if estimator_class(learned_by(method)).is_latent else 1)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_estimators_are_made_of_the_settings_that_they_use(method):
    options = SMALL.with_shortcuts(method, 3)
    estimator = options.estimator
    for each in fields(estimator):
        assert options.uses(each.name)
    unused = {"spectral", "clustering", "em"} - {each.name for each in fields(estimator)}
    assert unused.isdisjoint(options.decisive())
    assert estimator.states == (3 if estimator.is_latent else 1)


def test_variants_are_estimators_with_another_binarisation():
    for name, variant in VARIANTS.items():
        options = SMALL.with_shortcuts(name, None)
        assert options.method == variant.method
        binarise = options.treebank.binarise
        assert (binarise.vertical, binarise.horizontal) == (variant.vertical, variant.horizontal)


def test_names_of_methods_load_no_learner():
    code = (
        "import sys, eigentree.constituency.estimators;"
        "print(sorted(m for m in sys.modules if '.learn' in m or m in ('numpy', 'numba')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
