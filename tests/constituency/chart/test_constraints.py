"""Charts under constraints against the list of all trees, of which some keep them."""

from __future__ import annotations

import math
from copy import copy
from itertools import combinations, compress

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart.arrays import CLOSED, Leaves, Permitted
from eigentree.constituency.chart.constraints import permitted_by, settle
from eigentree.constituency.chart.decode import gains
from eigentree.constituency.chart.exhaustive import exhaustive_marginals
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.k_best import k_best
from eigentree.constituency.chart.kruskal import kruskal_marginals
from eigentree.constituency.chart.pruning import Pruned, has_tree, likely_forest, prune
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.treebank.constraints import Constraint, Constraints
from tests.constituency.chart.test_against_enumeration import (
    all_bracketings,
    edge_names,
    item_names,
    same,
)
from tests.constituency.chart.test_k_best import MANY, best_of_all, drawn, words_of
from tests.constituency.chart.test_kruskal import Enumerated, names_of, random_form
from tests.helpers import close
from tests.oracles.enumeration import Enumeration, Node
from tests.strategies import Sentence, grammars, random_pcfg, sentence, sentences

LABELS = ["A", "B", "C", "t", "Z"]


def constraint_lists(n_words: int, most: int = 3) -> st.SearchStrategy[Constraints]:
    """Required and forbidden spans, with labels or without, of which some conflict."""
    spans = st.sampled_from(list(combinations(range(n_words + 1), 2)))
    kinds = st.sampled_from(["required", "required", "forbidden"])
    one = st.builds(
        lambda kind, span, label: Constraint(kind, *span, label),
        kinds, spans, st.none() | st.sampled_from(LABELS),
    )  # fmt: skip
    return st.lists(one, min_size=1, max_size=most).map(lambda each: Constraints(tuple(each)))


def keeps(tree: Node, constraints: Constraints, oracle: Enumeration) -> bool:
    """Whether a tree keeps constraints, by the phrases that its symbols stand for."""
    phrases = set(oracle.brackets(tree))
    return all(
        any(phrase[1:] == c[1:3] and c.label in (None, phrase[0]) for phrase in phrases)
        == (c.kind == "required")
        for c in constraints.each
    )


def part(oracle: Enumeration, wanted: list[bool]) -> Enumeration:
    """The same of some of its trees."""
    found = copy(oracle)
    found.trees = list(compress(oracle.trees, wanted))
    found.values = list(compress(oracle.values, wanted))
    found.total, found.mass = sum(found.values), sum(map(abs, found.values))
    return found


def constrained(each: Sentence, constraints: Constraints) -> tuple[Permitted, Leaves | None]:
    permitted = permitted_by(constraints, each.grammar.backbone.symbols, each.n_words)
    return permitted, each.leaves.within(permitted)


def pruned_under(each: Sentence, constraints: Constraints, threshold: float = 0.0) -> Pruned | None:
    permitted, leaves = constrained(each, constraints)
    if leaves is None:
        return None
    return prune(each.grammar.backbone, leaves, threshold, permitted=permitted)


def test_bracketings_that_do_not_cross_a_span_have_it():
    for n in range(1, 8):
        for span in combinations(range(n + 1), 2):
            one = Constraint("required", *span)
            for bracketing in all_bracketings(0, n):
                crossed = any(one.crosses(Constraint("required", *other)) for other in bracketing)
                assert crossed == (span not in bracketing)


@given(sentences(), st.data())
def test_phrases_are_those_of_the_tree_as_people_see_it(each: Sentence, data: st.DataObject):
    constraints = data.draw(constraint_lists(each.n_words))
    symbols = each.grammar.backbone.symbols
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    for tree in oracle.trees[:50]:
        # Parsers have no grammar in which a part of a phrase stands at the root.
        if symbols[tree.symbol].kind != "intermediate":
            (seen,) = drawn(tree, symbols)
            assert keeps(tree, constraints, oracle) == (not constraints.broken_by(seen))


@given(sentences(), st.data())
def test_the_forest_has_exactly_the_trees_that_keep_constraints(
    each: Sentence, data: st.DataObject
):
    constraints = data.draw(constraint_lists(each.n_words))
    backbone = each.grammar.backbone
    whole = Enumeration(one_state(backbone), each.oracle_leaves)
    wanted = [keeps(tree, constraints, whole) for tree in whole.trees]
    oracle = part(whole, wanted)
    pruned = pruned_under(each, constraints)
    permitted, leaves = constrained(each, constraints)
    assert (pruned is not None) == bool(oracle.trees)
    assert (leaves is not None and has_tree(backbone, leaves, permitted)) == bool(oracle.trees)
    if pruned is None:
        return
    # Items and edges of the trees, no more, each with its share of them: so no other tree is in.
    assert same(item_names(pruned.forest), pruned.marginal, oracle.items, 1e-11)
    assert set(edge_names(pruned.forest)) == set(oracle.edges)
    assert n_trees(pruned) == len(oracle.trees)
    assert close(pruned.log_value, math.log(oracle.total), rtol=1e-11, atol=1e-11)


def n_trees(pruned: Pruned) -> int:
    """The number of derivations in a forest."""
    forest = pruned.forest
    counts = []
    for item in range(forest.n_items):
        edges = slice(*forest.group_edges[forest.item_groups[item : item + 2]].tolist())
        pairs = zip(forest.edge_left[edges], forest.edge_right[edges], strict=True)
        is_leaf = forest.item_entry[item] != -2
        counts.append(1 if is_leaf else sum(counts[left] * counts[right] for left, right in pairs))
    return sum(counts[root] for root in forest.roots)


def test_every_single_constraint_of_a_sentence():
    """Labels anywhere in chains of up to three, over one word and over all."""
    backbone = random_pcfg(np.random.default_rng(1), 6, 3, 40)
    each = sentence(one_state(backbone), [0, 1, 2], [[0, 1]] * 3)
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    shares = []
    for kind in ("required", "forbidden"):
        for span in combinations(range(4), 2):
            for label in (None, *LABELS):
                constraints = Constraints((Constraint(kind, *span, label),))
                wanted = [keeps(tree, constraints, oracle) for tree in oracle.trees]
                pruned = pruned_under(each, constraints)
                assert (0 if pruned is None else n_trees(pruned)) == sum(wanted)
                shares.append(sum(wanted) / len(wanted))
    # Not only what always holds or never does.
    assert sum(0.0 < share < 1.0 for share in shares) > 20


@pytest.mark.slow
@given(sentences(), st.data())
def test_latent_marginals_are_conditional(each: Sentence, data: st.DataObject):
    constraints = data.draw(constraint_lists(each.n_words))
    whole = Enumeration(each.grammar, each.oracle_leaves)
    oracle = part(whole, [keeps(tree, constraints, whole) for tree in whole.trees])
    pruned = pruned_under(each, constraints)
    assume(pruned is not None and oracle.condition < 1e4)
    marginals = inside_outside(pruned.forest, each.grammar)
    assert marginals is not None
    tolerance = 1e-10 * max(1.0, oracle.condition)
    assert same(item_names(pruned.forest), marginals.item, oracle.items, tolerance)
    assert close(marginals.log_value, math.log(abs(oracle.total)), rtol=tolerance, atol=tolerance)
    assert marginals.sign == (1 if oracle.total > 0 else -1)


@pytest.mark.slow
@given(sentences(), st.data(), st.sampled_from([1, 3, MANY]))
def test_the_best_trees_keep_constraints(each: Sentence, data: st.DataObject, k: int):
    constraints = data.draw(constraint_lists(each.n_words))
    symbols = each.grammar.backbone.symbols
    oracle = Enumeration(each.grammar, each.oracle_leaves)
    pruned = pruned_under(each, constraints)
    assume(pruned is not None)
    marginals = inside_outside(pruned.forest, each.grammar)
    assume(marginals is not None)
    own = gains("spans", pruned.forest, marginals, each.grammar)
    found = k_best(pruned.forest, own, symbols, k).trees(symbols, *words_of(each.n_words))
    kept_trees = [tree for tree in oracle.trees if keeps(tree, constraints, oracle)]
    different = best_of_all([0.0] * len(kept_trees), kept_trees, symbols)
    assert len(found) == min(k, len(different))
    assert set(found) <= set(different)


@given(sentences(), st.data())
def test_the_exhaustive_chart_finds_the_same(each: Sentence, data: st.DataObject):
    constraints = data.draw(constraint_lists(each.n_words))
    permitted, leaves = constrained(each, constraints)
    assume(leaves is not None)
    backbone = each.grammar.backbone
    expected = prune(backbone, leaves, 0.0, permitted=permitted)
    marginals = exhaustive_marginals(backbone, leaves, permitted)
    assert (expected is None) == (marginals is None)
    if expected is not None and marginals is not None:
        found = likely_forest(backbone, leaves, marginals, 0.0)
        assert close(found.log_value, expected.log_value, rtol=1e-12, atol=1e-12)
        assert close(found.marginal, expected.marginal, rtol=1e-10)
        for one, other in zip(found.forest, expected.forest, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.slow
@given(
    sentences(grammars(max_states=1), max_words=4) | sentences(grammars(max_states=2), max_words=3),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.data(),
)
def test_charts_in_kruskal_form_are_conditional(
    each: Sentence, seed: int, signed: bool, data: st.DataObject
):
    """All trees whose items are permitted, be there rules for them or not."""
    constraints = data.draw(constraint_lists(each.n_words, most=2))
    form = random_form(each.grammar, seed, 3, signed=signed)
    permitted, leaves = constrained(each, constraints)
    assume(leaves is not None)
    oracle = _EnumeratedWithin(form, leaves, permitted)
    found = kruskal_marginals(form, leaves, permitted)
    if oracle.total == 0.0:
        assert found is None
        return
    assert found is not None
    tolerance = 1e-12 * sum(map(abs, oracle.items.values())) / abs(oracle.total) + 1e-11
    at_words, wider = names_of(form, leaves)
    for names, values in ((at_words, found.leaf), (wider, found.inner.ravel())):
        expected = [oracle.items[name] / oracle.total for name in names]
        assert close(values, expected, rtol=1e-9, atol=tolerance)
    assert close(found.log_value, math.log(abs(oracle.total)), rtol=1e-9, atol=tolerance)


class _EnumeratedWithin(Enumerated):
    """Only those trees whose every item is permitted."""

    def __init__(self, form, leaves: Leaves, permitted: Permitted) -> None:
        self._permitted = permitted
        self._owner = np.repeat(np.arange(len(form.n_states)), form.n_states)
        super().__init__(form, leaves)

    def trees(self, start: int, end: int):
        n, width = self.leaves.n_words, end - start
        number = sum(n - w + 1 for w in range(1, width)) + start
        row = self._permitted.row[number]
        for state, value, nodes in super().trees(start, end):
            if row != CLOSED and self._permitted.symbols[row, self._owner[state]]:
                yield state, value, nodes


# What pruning would have dropped ----------------------------------------------------------


@pytest.mark.slow
def test_a_required_span_is_found_however_small_its_marginal():
    backbone = random_pcfg(np.random.default_rng(3), 3, 3, 8)
    grammar = one_state(backbone)
    each = sentence(grammar, [0, 1, 2, 3, 0, 1], [[0, 1]] * 6)
    oracle = Enumeration(grammar, each.oracle_leaves)
    symbols = backbone.symbols
    least = {}
    for span in combinations(range(7), 2):
        own = [keeps(tree, Constraints.of([span]), oracle) for tree in oracle.trees]
        value = sum(compress(oracle.values, own))
        if value > 0.0:
            least[span] = value / oracle.total
    span = min(least, key=least.__getitem__)
    assert 0.0 < least[span] < 0.05
    # Above its marginal, the threshold leaves no phrase over the span.
    plain = prune(backbone, each.leaves, 2 * least[span], beam=0.0)
    assert plain is not None
    phrases = {
        (start, end)
        for a, start, end in item_names(plain.forest)
        if symbols[a].kind != "intermediate" and len(symbols[a].chain) > (end - start == 1)
    }
    assert span not in phrases
    pruned = pruned_under(each, Constraints.of([span]), 2 * least[span])
    assert pruned is not None
    assert close(np.exp(pruned.log_value) / oracle.total, least[span], rtol=1e-9)
    # Of what is left each tree has a phrase there.
    marginals = inside_outside(pruned.forest, grammar)
    assert marginals is not None
    at_span = [name[1:] == span for name in item_names(pruned.forest)]
    assert close(marginals.item[at_span].sum(), 1.0, rtol=1e-12)


# Conflicts --------------------------------------------------------------------------------


@given(sentences(), st.data(), st.booleans())
def test_conflicts_are_least_and_as_much_as_can_be_is_kept(
    each: Sentence, data: st.DataObject, soft: bool
):
    constraints = data.draw(constraint_lists(each.n_words, most=4))
    oracle = Enumeration(one_state(each.grammar.backbone), each.oracle_leaves)
    asked: list[Constraints] = []

    def is_possible(some: Constraints) -> bool:
        asked.append(some)
        permitted, leaves = constrained(each, some)
        return leaves is not None and has_tree(each.grammar.backbone, leaves, permitted)

    def some_tree(some: tuple[Constraint, ...]) -> bool:
        return any(keeps(tree, Constraints(some), oracle) for tree in oracle.trees)

    settled = settle(constraints, is_possible, soft=soft)
    assert len(asked) <= 1 + len(constraints.each) * (2 if soft else 1)
    assert (settled.conflict is None) == some_tree(constraints.each)
    assert sorted(map(str, settled.kept.each + settled.given_up)) == sorted(
        map(str, constraints.each)
    )
    if settled.conflict is None:
        assert settled == (constraints, (), None)
        return
    named = tuple(one for one in dict.fromkeys(constraints.each) if str(one) in settled.conflict)
    if not oracle.trees and constraints.clash() is None:
        assert "no tree for the sentence" in settled.conflict
    else:
        assert not some_tree(named)
    if not soft:
        assert settled.kept == Constraints()
        return
    expected: list[Constraint] = []
    for one in constraints.each:
        if some_tree((*expected, one)):
            expected.append(one)
    assert settled.kept.each == tuple(expected)


def test_a_conflict_names_no_more_than_it_must():
    first, second, third, fourth = (
        Constraint("required", 0, 2, label) for label in ("A", "B", "C", "D")
    )

    def is_possible(some: Constraints) -> bool:
        return not {second, fourth} <= set(some.each)

    every = Constraints((first, second, third, fourth))
    settled = settle(every, is_possible, soft=True)
    assert settled.conflict == (
        "the grammar has no tree with these 2 constraints together: required B over 0-2 and "
        "required D over 0-2"
    )
    assert settled.kept.each == (first, second, third)
    assert settled.given_up == (fourth,)
    backwards = settle(Constraints(every.each[::-1]), is_possible, soft=True)
    assert backwards.given_up == (second,)
    assert settle(every, is_possible, soft=False).given_up == every.each


@pytest.mark.parametrize("n_words", [1, 2, 5])
def test_no_constraints_permit_everything(n_words: int):
    backbone = random_pcfg(np.random.default_rng(0), 3, 2, 4)
    found = permitted_by(Constraints(), backbone.symbols, n_words)
    expected = Permitted.everything(n_words, len(backbone.symbols))
    assert np.array_equal(found.row, expected.row)
    assert np.array_equal(found.symbols, expected.symbols)
