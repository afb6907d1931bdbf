"""Charts in Kruskal form against enumeration, against exact charts, and at their limits."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.chart import kruskal
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.decode import gains
from eigentree.constituency.chart.kruskal import kruskal_marginals, kruskal_value
from eigentree.constituency.chart.pruning import likely_forest, prune
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.kruskal import KruskalGrammar, rule_tensor
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import GrammarError, SettingsError, ShapeError
from tests.helpers import close
from tests.strategies import Sentence, grammars, random_pcfg, sentence, sentences

Node = tuple[int, int, int]
LONG = 200


def exact_form(grammar: LPCFG) -> KruskalGrammar:
    """One component for each entry of the rule tensor."""
    tensor = rule_tensor(grammar)
    one = np.eye(tensor.shape[0])
    parent, left, right = (one[:, column].copy() for column in tensor.subscripts.T)
    return KruskalGrammar(grammar, tensor.values, parent, left, right)


def random_form(grammar: LPCFG, seed: int, rank: int, *, signed: bool) -> KruskalGrammar:
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal if signed else rng.random
    size = len(grammar.parameters.root)
    form = [draw(rank), draw((size, rank)), draw((size, rank)), draw((size, rank))]
    backbone = grammar.backbone
    inner = grammar.parameters.state_start[int(np.sum(backbone.symbols.tag < 0))]
    form[1][inner:] = 0.0
    return KruskalGrammar(grammar, *form)


class Enumerated:
    """All trees whose nodes have any states at all, with their values; plain Python."""

    def __init__(self, form: KruskalGrammar, leaves: Leaves) -> None:
        self.tensor = form.dense()
        self.exact, self.leaves = form.exact, leaves
        self.n_inner = form.n_inner_states
        root = form.exact.parameters.root
        self.total = 0.0
        self.items: dict[Node, float] = defaultdict(float)
        owner = np.repeat(np.arange(len(form.n_states)), form.n_states)
        for state, value, nodes in self.trees(0, leaves.n_words):
            self.total += root[state] * value
            for of_node, start, end in nodes:
                self.items[int(owner[of_node]), start, end] += root[state] * value

    def trees(self, start: int, end: int) -> Iterator[tuple[int, float, list[Node]]]:
        if end - start == 1:
            for at in range(self.leaves.start[start], self.leaves.start[end]):
                entry = int(self.leaves.entry[at])
                states = self.exact.states(int(self.leaves.symbol[at]))
                unseen = self.exact.parameters.unseen_word[states]
                vector = self.exact.word_vector(entry) if entry >= 0 else unseen
                for state, value in enumerate(vector, states.start):
                    yield state, float(self.leaves.weight[at] * value), [(state, start, end)]
            return
        for middle in range(start + 1, end):
            for left, x, below in self.trees(start, middle):
                for right, y, beside in self.trees(middle, end):
                    for state in range(self.n_inner):
                        value = x * y * self.tensor[state, left, right]
                        yield state, float(value), [*below, *beside, (state, start, end)]


def names_of(form: KruskalGrammar, leaves: Leaves) -> tuple[list[Node], list[Node]]:
    """What the marginals of leaves and of wider spans belong to."""
    n = leaves.n_words
    n_inner = int(np.sum(form.backbone.symbols.tag < 0))
    word = np.repeat(np.arange(n), np.diff(leaves.start)).tolist()
    at_words = [(a, i, i + 1) for a, i in zip(leaves.symbol.tolist(), word, strict=True)]
    spans = [(i, i + width) for width in range(2, n + 1) for i in range(n + 1 - width)]
    return at_words, [(a, *span) for span in spans for a in range(n_inner)]


small = st.one_of(
    sentences(grammars(max_states=1), max_words=4), sentences(grammars(max_states=2), max_words=3)
)


@given(small, st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans(), st.booleans())
def test_marginals_are_sums_over_all_trees(
    given_sentence: Sentence, seed: int, rank: int, signed: bool, sparse: bool
):
    form = random_form(given_sentence.grammar, seed, rank, signed=signed)
    leaves = given_sentence.leaves
    oracle = Enumerated(form, leaves)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kruskal, "MAX_DENSE_SHARE", 1.0 if sparse else 0.0)
        found = kruskal_marginals(form, leaves)
    if oracle.total == 0.0:
        assert found is None
        return
    assert found is not None
    # Terms of both signs may nearly cancel.
    tolerance = 1e-12 * sum(map(abs, oracle.items.values())) / abs(oracle.total) + 1e-11
    at_words, wider = names_of(form, leaves)
    for names, values in ((at_words, found.leaf), (wider, found.inner.ravel())):
        expected = [oracle.items[name] / oracle.total for name in names]
        assert close(values, expected, rtol=1e-9, atol=tolerance)
    assert close(found.log_value, math.log(abs(oracle.total)), rtol=1e-9, atol=tolerance)
    assert found.sign == np.sign(oracle.total)


@given(sentences(), st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_the_value_by_matrices_of_the_rank_is_that_of_the_chart(
    given_sentence: Sentence, seed: int, rank: int
):
    form = random_form(given_sentence.grammar, seed, rank, signed=False)
    found = kruskal_marginals(form, given_sentence.leaves)
    value = kruskal_value(form, given_sentence.leaves)
    if found is None:
        assert value == (-math.inf, 0)
    else:
        assert value[1] == found.sign
        assert close(value[0], found.log_value, rtol=1e-12, atol=1e-12)


@given(sentences(grammars(max_states=1)))
def test_an_exact_form_has_the_marginals_and_the_forest_of_the_rules(given_sentence: Sentence):
    grammar, leaves = given_sentence.grammar, given_sentence.leaves
    backbone = grammar.backbone
    # The rules of the plain grammar, not of the one state.
    subscripts = np.stack([backbone.parent, backbone.left, backbone.right], axis=1)
    one = np.eye(len(backbone.symbols))
    factors = [one[:, column].copy() for column in subscripts.T]
    ones = replace(
        grammar,
        parameters=grammar.parameters._replace(
            root=backbone.root, lexical=np.ones_like(grammar.parameters.lexical),
            unseen_word=np.ones_like(grammar.parameters.unseen_word),
        ),
    )  # fmt: skip
    form = KruskalGrammar(ones, backbone.probability.copy(), *factors)
    expected = prune(backbone, leaves, 0.0)
    marginals = kruskal_marginals(form, leaves)
    if expected is None:
        assert marginals is None
        return
    assert marginals is not None
    found = likely_forest(backbone, leaves, marginals, 0.0)
    assert close(found.log_value, expected.log_value, rtol=1e-12, atol=1e-12)
    assert found.sign == 1
    assert close(found.marginal, expected.marginal, rtol=1e-9, atol=1e-12)
    for one_array, other in zip(found.forest, expected.forest, strict=True):
        assert np.array_equal(one_array, other)


@given(sentences(grammars(max_states=3), max_words=4), st.integers(0, 2**32 - 1))
def test_single_precision_is_near(given_sentence: Sentence, seed: int):
    form = random_form(given_sentence.grammar, seed, 4, signed=False)
    parts = (form.weights, form.parent, form.left, form.right)
    single = KruskalGrammar(form.exact, *(part.astype(np.float32) for part in parts))
    found = kruskal_marginals(form, given_sentence.leaves)
    near = kruskal_marginals(single, given_sentence.leaves)
    assert (found is None) == (near is None)
    if found is not None and near is not None:
        assert close(near.inner, found.inner, rtol=1e-3, atol=1e-5)
        assert close(near.leaf, found.leaf, rtol=1e-3, atol=1e-5)
        assert close(near.log_value, found.log_value, rtol=1e-5, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("most_dense", [0.0, 1.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_nothing_under_or_overflows(
    lexical_grammar: LPCFG, kind: type[np.floating], size: float, most_dense: float, monkeypatch
):
    monkeypatch.setattr(kruskal, "MAX_DENSE_SHARE", most_dense)
    form = exact_form(lexical_grammar)
    parts = (form.weights, form.parent, form.left, form.right)
    form = KruskalGrammar(lexical_grammar, *(part.astype(kind) for part in parts))
    long = sentence(lexical_grammar, [n % 4 for n in range(LONG)], [[0]] * LONG)
    leaves = long.leaves._replace(weight=long.leaves.weight * size)
    expected = prune(lexical_grammar.backbone, long.leaves, 0.0)
    assert expected is not None
    found = kruskal_marginals(form, leaves)
    assert found is not None
    tolerance = 1e-10 if kind is np.float64 else 1e-4
    assert close(found.log_value, expected.log_value + LONG * math.log(size), rtol=tolerance)
    words = np.add.reduceat(found.leaf, leaves.start[:-1])
    assert close(words, np.ones(LONG), rtol=20 * tolerance)
    whole = found.inner[-1]
    assert close(whole.sum(), 1.0, rtol=20 * tolerance)


def test_forms_that_fit_nothing_are_refused(lexical_grammar: LPCFG):
    form = exact_form(lexical_grammar)
    with pytest.raises(GrammarError, match="a preterminal is the parent"):
        replace(form, parent=np.ones_like(form.parent))
    with pytest.raises(GrammarError, match="left of a Kruskal form has a value that is not fin"):
        replace(form, left=form.left * np.nan)
    with pytest.raises(
        GrammarError, match=r"weights of a Kruskal form has a value of size 1e\+200"
    ):
        replace(form, weights=np.full_like(form.weights, 1e200))
    none = [getattr(form, name)[:, :0].copy() for name in ("parent", "left", "right")]
    with pytest.raises(GrammarError, match="a Kruskal form has no components"):
        KruskalGrammar(lexical_grammar, form.weights[:0].copy(), *none)
    with pytest.raises(ShapeError, match="axis 0 of right is states, which must be 5"):
        replace(form, right=form.right[1:].copy())
    with pytest.raises(GrammarError, match="the Kruskal form belongs to another grammar"):
        ConstituencyParser(replace(lexical_grammar), kruskal=form)
    with pytest.raises(SettingsError, match="so it must be one of spans, brackets"):
        ConstituencyParser(lexical_grammar, kruskal=form, options=ParserOptions("viterbi"))


def test_rule_tensors_have_a_limit(lexical_grammar: LPCFG, monkeypatch):
    monkeypatch.setattr("eigentree.constituency.grammar.kruskal.MAX_ENTRIES", 3)
    with pytest.raises(GrammarError, match="the maximum is 3, so use fewer states"):
        rule_tensor(lexical_grammar)


def test_parsers_decode_only_trees_that_rules_allow(lexical_grammar: LPCFG):
    """A form of one component gives all rules a value; only those of the grammar are used."""
    size = len(lexical_grammar.parameters.root)
    inner = exact_form(lexical_grammar).n_inner_states
    parent = np.zeros((size, 1))
    parent[:inner] = 1.0
    form = KruskalGrammar(
        lexical_grammar, np.array([0.1]), parent, np.ones((size, 1)), np.ones((size, 1))
    )
    parser = ConstituencyParser(lexical_grammar, kruskal=form)
    plain = ConstituencyParser(lexical_grammar)
    words = ["w0", "w1", "w2", "w1"]
    result = parser.parse(words)
    assert result.tree is not None
    assert result.fallback is None
    assert result.tree.words() == words
    exact = ConstituencyParser(lexical_grammar, kruskal=exact_form(lexical_grammar)).parse(words)
    assert exact.tree == plain.parse(words).tree


@pytest.fixture
def lexical_grammar() -> LPCFG:
    """A plain grammar in which no part of a phrase stands at the root."""
    backbone = random_pcfg(np.random.default_rng(5), 3, 2, 6)
    root = np.where(backbone.symbols.of_kind("intermediate"), 0.0, backbone.root)
    return one_state(replace(backbone, root=root))


def test_without_marginals_of_rules_the_likeliest_tags_are_chosen():
    """Symbols are alike to brackets where they are no phrases; an exact chart looks at rules."""
    backbone = random_pcfg(np.random.default_rng(5), 3, 3, 6)
    grammar = one_state(backbone)
    leaves = sentence(grammar, [0, 1, 2], [[0, 1]] * 3).leaves
    marginals = kruskal_marginals(exact_form(grammar), leaves)
    assert marginals is not None
    pruned = likely_forest(backbone, leaves, marginals, 0.0)
    forest, coarse = pruned.forest, pruned.marginals()
    expected = (pruned.marginal[forest.edge_left] + pruned.marginal[forest.edge_right]) / 2
    assert close(gains("brackets", forest, coarse, grammar).edge, 1e-6 * expected, rtol=1e-12)
    assert len(set(expected)) > 3
