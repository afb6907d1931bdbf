"""Trees, layouts and values that the tests of expectation maximisation share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn import em
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.em_layout import lay_out
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.learning.em_loop import EMTrace
from eigentree.treebank.binarise import BinariseOptions, binarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from tests.demo import demo_trees

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


def likelihoods(model: EMTrace[LPCFG]) -> list[float]:
    return [each.log_likelihood for each in model.record]


def same_bits(first: LPCFG, second: LPCFG) -> bool:
    pairs = zip(first.parameters, second.parameters, strict=True)
    return all(own.tobytes() == other.tobytes() for own, other in pairs)
