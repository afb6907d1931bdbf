"""Grammars in Kruskal form: slices against NumPy, bounds against enumeration, parsers and files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.grammar.kruskal import (
    KruskalGrammar,
    Multiplications,
    error_for_bound,
    probability_bound,
    rule_tensor,
    truncation_bound,
)
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.decomposition import DecompositionOptions, decompose_each, slices
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import GrammarError, SettingsError, TensorError
from eigentree.linalg.multilinear import SparseTensor
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.reader import read_treebank
from tests.demo import HELD_OUT, demo_parser, demo_trees
from tests.helpers import close
from tests.strategies import grammars, random_lpcfg, random_pcfg


@given(grammars(max_states=3))
def test_the_rule_tensor_holds_the_tensors_of_all_rules(grammar: LPCFG):
    tensor = rule_tensor(grammar)
    expected = np.zeros(tensor.shape)
    for rule, (a, b, c) in enumerate(grammar.parameters.rule_symbols.tolist()):
        expected[grammar.states(a), grammar.states(b), grammar.states(c)] += grammar.tensor(rule)
    found = np.zeros(tensor.shape)
    found[tuple(tensor.subscripts.T)] = tensor.values
    assert np.array_equal(found, expected)


def random_tensor(seed: int, size: int) -> SparseTensor:
    rng = np.random.default_rng(seed)
    subscripts = np.argwhere(rng.random((size, size, size)) < 0.4).astype(np.int32)
    subscripts = subscripts if len(subscripts) else np.zeros((1, 3), dtype=np.int32)
    return SparseTensor(subscripts, rng.standard_normal(len(subscripts)), (size, size, size))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40))
def test_slices_keep_the_largest_singular_values(seed: int, size: int, rank: int):
    tensor = random_tensor(seed, size)
    dense = np.zeros(tensor.shape)
    dense[tuple(tensor.subscripts.T)] = tensor.values
    values = np.sort(np.linalg.svd(dense, compute_uv=False).ravel())[::-1]
    form = slices(tensor, rank)
    kept = min(rank, int(np.sum(values > 1e-12)))
    assert close(form.weights, values[:kept], rtol=1e-10)
    assert np.all(np.sum(form.factors[0] != 0.0, axis=0) == 1)
    left_out = math.sqrt(float(np.sum(values[kept:] ** 2)))
    assert close(np.linalg.norm(form.dense() - dense), left_out, rtol=1e-8, atol=1e-12)
    assert left_out <= truncation_bound(values, kept) + 1e-12


# Bounds -----------------------------------------------------------------------------------


def all_trees(tensor: np.ndarray, lexical: np.ndarray, n_words: int) -> np.ndarray:
    """Axes (symbols, trees): values of all trees over a number of words, by their root."""
    if n_words == 1:
        return np.diag(lexical)
    parts = []
    for middle in range(1, n_words):
        left = all_trees(tensor, lexical, middle)
        right = all_trees(tensor, lexical, n_words - middle)
        for a in range(len(tensor)):
            for b, x in enumerate(left):
                for c, y in enumerate(right):
                    own = np.zeros((len(tensor), np.count_nonzero(x) * np.count_nonzero(y)))
                    own[a] = tensor[a, b, c] * np.outer(x[x != 0], y[y != 0]).ravel()
                    parts.append(own)
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("n_words", [2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1e-4, 1e-2])
def test_values_stay_within_the_bounds(n_words: int, seed: int, size: float):
    rng = np.random.default_rng(seed)
    m = 2
    tensor = rng.uniform(0.1, 1.0, (m, m, m))
    lexical = rng.uniform(0.1, 1.0, m)
    mass = tensor.sum(axis=(1, 2)) + lexical
    tensor, lexical = tensor / mass[:, None, None], lexical / mass
    root = rng.dirichlet(np.ones(m))
    near = tensor + size * rng.standard_normal(tensor.shape)
    exact, other = (root @ all_trees(each, lexical, n_words) for each in (tensor, near))
    difference = float(np.abs(exact - other).sum())
    error, least = float(np.linalg.norm(near - tensor)), float(tensor.min())
    bound = probability_bound(error, least, m, n_words)
    assert 0 < difference <= bound
    # An error that is small enough by the theorem keeps its promise.
    wanted = 0.2
    if error <= error_for_bound(wanted, least, m, n_words):
        assert bound <= wanted
        assert size == 1e-4


def test_bounds_of_large_numbers_and_their_limits():
    assert probability_bound(1.0, 1e-6, 100, 200) == math.inf
    assert probability_bound(0.0, 1e-6, 100, 200) == 0.0
    assert close(probability_bound(0.1, 0.5, 3, 2), 3 * (1.2**2 - 1), rtol=1e-12)
    assert close(error_for_bound(0.1, 0.5, 3, 2), 0.1 * 0.5 / 12, rtol=1e-12)
    for bound in (0.0, 0.25, math.nan):
        with pytest.raises(SettingsError, match="it must be above 0 and below 1/4"):
            error_for_bound(bound, 0.5, 3, 2)
    assert truncation_bound(np.array([1.0, -3.0, 2.0]), 1) == 3.0
    assert truncation_bound(np.array([1.0]), 4) == 0.0


# Parsers ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain() -> ConstituencyParser:
    return ConstituencyParser.train(demo_trees(), method="pcfg")


def sentences() -> Iterator[tuple[list[str], list[str]]]:
    return ((tree.words(), tree.tags()) for tree in read_treebank(HELD_OUT).trees)


@pytest.mark.slow
def test_a_form_of_full_rank_parses_as_the_rules_do(plain: ConstituencyParser):
    options = DecompositionOptions(rank=10_000, method="slices")
    found = plain.in_kruskal_form(options)
    described = found.description["decomposition"]
    assert described["relative_error"] < 1e-7
    assert described["largest_rule_error"] < 1e-12
    assert described["rank"] == found.kruskal.rank < 10_000
    # Without a beam, which would hide items from the rules' chart alone.
    exact, other = (replace(each, options=ParserOptions(threshold=0.0)) for each in (plain, found))
    results = list(zip(exact.parse_many(sentences()), other.parse_many(sentences()), strict=True))
    assert [one.tree for one, _ in results] == [two.tree for _, two in results]
    for one, two in results:
        assert close(one.log_value, two.log_value, rtol=1e-6)  # rules are rounded, the backbone not


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "single"), [("apr", False), ("apr", True), ("als", False), ("hals", False)]
)
def test_parsers_in_kruskal_form_are_kept_in_files(
    plain: ConstituencyParser, tmp_path, method, single
):
    options = DecompositionOptions(rank=12, method=method, single=single, iterations=20)
    found = plain.in_kruskal_form(options, seed=3)
    again = plain.in_kruskal_form(options, seed=3)
    found.save(tmp_path / "one.egt")
    again.save(tmp_path / "two.egt")
    assert (tmp_path / "one.egt").read_bytes() == (tmp_path / "two.egt").read_bytes()
    loaded = ConstituencyParser.load(tmp_path / "one.egt")
    assert loaded.kruskal.weights.dtype == (np.float32 if single else np.float64)
    results = list(found.parse_many(sentences()))
    assert list(loaded.parse_many(sentences())) == results
    assert all(result.tree is not None for result in results)
    described = loaded.description["decomposition"]
    tensor = rule_tensor(plain.grammar)
    dense = np.zeros(tensor.shape)
    dense[tuple(tensor.subscripts.T)] = tensor.values
    difference = found.kruskal.dense() - dense
    assert close(described["error"], np.linalg.norm(difference), rtol=1e-4)
    at_rules = np.abs(difference[tuple(tensor.subscripts.T)]).max()
    assert close(described["largest_rule_error"], at_rules, rtol=1e-4)
    if method == "apr":
        kept = tensor.values
        total = found.kruskal.dense().sum()
        at = found.kruskal.dense()[tuple(tensor.subscripts.T)]
        divergence = float(np.sum(kept * np.log(kept / at) - kept) + total)
        assert close(described["divergence"], divergence, rtol=1e-3)
    assert "Kruskal form of rank 12" in repr(loaded)


def test_options_and_negative_values_are_refused():
    with pytest.raises(SettingsError, match="method is 'svd'; it must be one of apr, als, hals, s"):
        DecompositionOptions(method="svd")
    with pytest.raises(SettingsError, match="rank is 0; it must be at least 1"):
        DecompositionOptions(rank=0, method="slices")
    with pytest.raises(TensorError, match="apr"):
        demo_parser().in_kruskal_form(DecompositionOptions(rank=2))


@pytest.mark.slow
def test_more_components_than_entries_are_not_made(plain: ConstituencyParser):
    entries = len(rule_tensor(plain.grammar).values)
    found = plain.in_kruskal_form(DecompositionOptions(10**9, "hals", iterations=1))
    assert found.kruskal is not None
    assert found.kruskal.rank == found.description["decomposition"]["rank"] == entries


def test_multiplications_are_those_of_the_loops(plain: ConstituencyParser):
    form = plain.in_kruskal_form(DecompositionOptions(rank=5, method="slices")).kruskal
    assert isinstance(form, KruskalGrammar)
    n = 7
    spans = [(i, j) for i in range(n) for j in range(i + 2, n + 1)]
    splits = sum(j - i - 1 for i, j in spans)
    found = Multiplications.of(form, n)
    assert found.by_rules == 6 * plain.grammar.backbone.n_rules * splits
    factors = (form.parent, form.left[: form.n_inner_states], form.right[: form.n_inner_states])
    entries = sum(np.count_nonzero(factor) for factor in factors)
    assert found.in_kruskal_form == 15 * splits + 2 * entries * len(spans)


@pytest.mark.parametrize("method", ["apr", "als", "hals"])
def test_rules_of_rank_one_are_found_and_others_left_alone(rng: np.random.Generator, method):
    grammar = random_lpcfg(rng, random_pcfg(rng, 3, 3, 20), 5, signed=False, samples=0.3)
    p, sizes = grammar.parameters, grammar.n_states[grammar.parameters.rule_symbols]
    dense = p.dense.copy()
    for start, shape in zip(p.dense_start, sizes, strict=True):
        if start >= 0:
            one, two, three = (rng.uniform(0.1, 1.0, size) for size in shape)
            product = one[:, None, None] * two[:, None] * three
            dense[start : start + product.size] = product.ravel()
    grammar = replace(grammar, parameters=p._replace(dense=dense))
    options = DecompositionOptions(rank=1, method=method, iterations=500, each=True)
    told: list[float] = []
    found, details = decompose_each(grammar, options, progress=lambda _, share: told.append(share))
    gains = (p.dense_start >= 0) & (sizes.sum(axis=1) < sizes.prod(axis=1))
    assert 0 < gains.sum() < (p.dense_start >= 0).sum() < len(gains)
    assert details["rules"] == gains.sum()
    assert details["relative_error"] < 1e-6
    assert told[0] == 0.0
    assert np.array_equal(found.parameters.n_samples, np.where(gains, 1, p.n_samples))
    for rule, changed in enumerate(gains):
        tolerance = 1e-5 if changed else 0.0
        assert close(found.tensor(rule), grammar.tensor(rule), rtol=tolerance)


def test_a_higher_rank_is_nearer(rng: np.random.Generator):
    grammar = random_lpcfg(rng, random_pcfg(rng, 2, 2, 3), 8, signed=True, samples=0.0)
    errors = []
    for rank in (1, 3, 6):
        options = DecompositionOptions(rank, "als", each=True)
        found, details = decompose_each(grammar, options, seed=1)
        rules = range(grammar.backbone.n_rules)
        of_each = [np.linalg.norm(found.tensor(r) - grammar.tensor(r)) for r in rules]
        assert close(details["error"], np.linalg.norm(of_each), rtol=1e-6)
        errors.append(details["relative_error"])
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.8 * errors[0]


def test_a_grammar_without_rules_is_refused():
    words = ConstituencyParser.train([parse_tree("(S (A a))")], method="pcfg")
    with pytest.raises(GrammarError, match="no binary rules to decompose"):
        words.in_kruskal_form()


def test_too_high_a_rank_for_each_rule_is_refused_with_the_highest(rng: np.random.Generator):
    grammar = random_lpcfg(rng, random_pcfg(rng, 2, 2, 3), 8, signed=False, samples=0.0)
    sizes = grammar.n_states[grammar.parameters.rule_symbols]
    most = max(
        rank
        for a, b, c in sizes.tolist()
        for rank in range(a * b * c)
        if rank * (a + b + c) < a * b * c
    )
    with pytest.raises(GrammarError, match=f"the rank must be at most {most}$"):
        decompose_each(grammar, DecompositionOptions(most + 1, each=True))
    found, _ = decompose_each(grammar, DecompositionOptions(most, iterations=1, each=True))
    assert np.any(found.parameters.n_samples == most)


def test_what_has_no_full_tensors_is_refused(plain: ConstituencyParser):
    with pytest.raises(GrammarError, match="no rule has a full tensor that a form of rank 4"):
        plain.in_kruskal_form(DecompositionOptions(rank=4, each=True))
    with pytest.raises(SettingsError, match="in double precision, by apr, als or hals"):
        DecompositionOptions(each=True, single=True)
