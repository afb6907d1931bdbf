"""Coverage decoding against enumeration of all trees; edge cases; sums of evidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart.decode import decode, gains, turned
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.ensemble.combine import Chains, Evidence, chains_of, combine
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.treebank.binarise import Symbol, unbinarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.helpers import close
from tests.strategies import Sentence, grammars, sentences, trees

Where = tuple[int, int]
PRICES = [0.0, 0.25, 0.5, 1.0]
SEVERAL = 7


class Oracle(NamedTuple):
    """Reference implementation of evidence: weights of brackets, and candidate chains."""

    n_words: int
    total: float
    weight: dict[tuple[str, int, Where], float]
    chains: dict[Where, set[tuple[str, ...]]]

    @classmethod
    def of_trees(cls, candidates: list[Tree], weights: list[float]) -> Oracle:
        weight: dict[tuple[str, int, Where], float] = defaultdict(float)
        chains: dict[Where, set[tuple[str, ...]]] = defaultdict(set)
        for tree, own in zip(candidates, weights, strict=True):
            for (label, *span), count in Counter(tree.spans()).items():
                for nth in range(count):
                    weight[label, nth, tuple(span)] += own
            for span, chain in chains_of(tree).items():
                chains[span].add(chain)
        return cls(len(candidates[0].words()), sum(weights), weight, chains)

    def shares(self, tree: Tree) -> list[float]:
        """Weights of brackets, the lower of equal ones first."""
        left = Counter(tree.spans())
        shares = []
        for span in tree.spans():
            left[span] -= 1
            key = span.label, left[span], (span.start, span.end)
            shares.append(self.weight.get(key, 0.0) / self.total)
        return shares

    def value(self, chosen: dict[Where, tuple[str, ...]], price: float) -> float:
        return sum(
            self.weight.get((label, chain[:place].count(label), span), 0.0) / self.total - price
            for span, chain in chosen.items()
            for place, label in enumerate(chain)
        )

    def bracketings(self) -> Iterator[dict[Where, tuple[str, ...]]]:
        """All sets of chains that don't cross, with one over the sentence."""
        whole = (0, self.n_words)
        stack = [(sorted(set(self.chains) - {whole}), {whole: c}) for c in self.chains[whole]]
        while stack:
            left, chosen = stack.pop()
            if not left:
                yield chosen
                continue
            (start, end), *rest = left
            stack.append((rest, chosen))
            if not any(i < start < j < end or start < i < end < j for i, j in chosen):
                stack.extend(
                    (rest, {**chosen, (start, end): chain}) for chain in self.chains[start, end]
                )

    def values(self, price: float) -> list[float]:
        """The value of every tree, best first."""
        return sorted((self.value(each, price) for each in self.bracketings()), reverse=True)


def random_tree(rng: np.random.Generator, n_words: int) -> Tree:
    """A tree over words w0, w1, ... with chains, also of one label twice, and wide nodes."""

    def over(start: int, end: int) -> Tree:
        if end - start == 1:
            tree = Tree("t", (), f"w{start}")
        else:
            inner = np.arange(start + 1, end)
            cuts = inner[rng.random(len(inner)) < rng.uniform(0.2, 1.0)]
            cuts = cuts if len(cuts) else rng.choice(inner, 1)
            ends = [start, *cuts.tolist(), end]
            tree = Tree("AB"[rng.integers(2)], [over(i, j) for i, j in pairwise(ends)])
        while rng.random() < 0.25:
            tree = Tree("AB"[rng.integers(2)], [tree])
        return tree

    return over(0, n_words)


def check(evidence: Evidence, oracle: Oracle, price: float) -> Tree:
    words = [f"w{n}" for n in range(oracle.n_words)]
    tags = ["t"] * len(words)
    tree, confidences, value, others = combine(evidence, words, tags, root="R", price=price)
    assert others == ()
    assert (tree.words(), tree.tags()) == (words, tags)
    values = oracle.values(price)
    assert close(value, values[0], rtol=1e-9, atol=1e-9)
    several = combine(evidence, words, tags, root="R", price=price, best=SEVERAL)
    assert several[:3] == (tree, confidences, value)
    found = [tree, *(each.tree for each in several.others)]
    assert len(set(found)) == len(found)
    of_others = [each.value for each in several.others]
    assert close([value, *of_others], values[:SEVERAL], rtol=1e-9, atol=1e-9)
    for other in several.others:
        sure = np.clip(oracle.shares(other.tree), 0, 1)
        assert close(other.confidences, sure, rtol=1e-9, atol=1e-12)
    of_found = [oracle.value(chains_of(each), price) for each in found]
    assert close(of_found, values[:SEVERAL], rtol=1e-9, atol=1e-9)
    chosen = chains_of(tree)
    assert close(oracle.value(chosen, price), value, rtol=1e-9, atol=1e-9)
    assert all(chain in oracle.chains[span] for span, chain in chosen.items())
    assert close(confidences, np.clip(oracle.shares(tree), 0, 1), rtol=1e-9, atol=1e-12)
    return tree


@given(
    seed=st.integers(0, 2**32 - 1),
    n_words=st.integers(1, 6),
    n_trees=st.integers(1, 4),
    price=st.sampled_from(PRICES),
)
def test_no_tree_covers_more_of_the_trees(seed: int, n_words: int, n_trees: int, price: float):
    rng = np.random.default_rng(seed)
    candidates = [random_tree(rng, n_words) for _ in range(n_trees)]
    weights = rng.choice([0.5, 1.0, 2.0], n_trees).tolist()
    evidence = Evidence(n_words, Chains())
    evidence.add_trees(candidates, weights)
    check(evidence, Oracle.of_trees(candidates, weights), price)


def with_phrases_at_the_root(sentence: Sentence):
    """Forest and marginals of a grammar without intermediate symbols at the root."""
    grammar = sentence.grammar
    symbols = grammar.backbone.symbols
    pruned = prune(grammar.backbone, sentence.leaves, threshold=0.0)
    assume(pruned is not None)
    forest = pruned.forest
    is_phrase = ~symbols.of_kind("intermediate")[forest.item_symbol[forest.roots]]
    forest = forest._replace(roots=forest.roots[is_phrase])
    marginals = inside_outside(forest, grammar)
    assume(marginals is not None)
    return forest, marginals


@given(sentence=sentences(grammars(), max_words=4), price=st.sampled_from(PRICES))
def test_no_tree_covers_more_of_the_marginals(sentence: Sentence, price: float):
    forest, marginals = with_phrases_at_the_root(sentence)
    symbols = sentence.grammar.backbone.symbols
    item = np.minimum(turned(marginals).item, 1.0)
    weight: dict[tuple[str, int, Where], float] = defaultdict(float)
    seen: dict[tuple[Where, tuple[str, ...]], float] = defaultdict(float)
    for a, start, end, own in zip(
        forest.item_symbol, forest.item_start, forest.item_end, item.tolist(), strict=True
    ):
        kind, chain = symbols[a].kind, symbols[a].chain
        chain = {"preterminal": chain[:-1], "interminal": chain, "intermediate": ()}[kind]
        for place, label in enumerate(chain):
            weight[label, chain[:place].count(label), (int(start), int(end))] += 3 * own
        if chain or (kind == "preterminal" and sentence.n_words == 1):
            seen[(int(start), int(end)), chain] += own
    assume(all(abs(share - 1e-3) > 1e-9 for share in seen.values()))
    chains: dict[Where, set[tuple[str, ...]]] = defaultdict(set)
    for (span, chain), share in seen.items():
        if share > 1e-3:
            chains[span].add(chain)
    evidence = Evidence(sentence.n_words, Chains())
    evidence.add_items(forest, symbols, 3 * item, 3)
    check(evidence, Oracle(sentence.n_words, 3.0, weight, chains), price)


@given(sentence=sentences(grammars(signed=False)))
def test_a_tree_free_of_the_grammar_is_no_worse_than_one_of_it(sentence: Sentence):
    forest, marginals = with_phrases_at_the_root(sentence)
    symbols = sentence.grammar.backbone.symbols
    words = [f"w{n}" for n in range(sentence.n_words)]
    bound = decode(forest, gains("brackets", forest, marginals, sentence.grammar), symbols, words)
    assert bound is not None
    evidence = Evidence(sentence.n_words, Chains())
    evidence.add_items(forest, symbols, marginals.item, 1, minimum=0.0)
    free = combine(evidence, words, unbinarise(bound.tree).tags(), root="R")
    # The tie breaker between trees of the grammar is not part of the objective.
    assert free.value >= bound.value - 1e-5


@given(sentence=sentences(grammars(signed=False)))
def test_items_of_trees_are_the_same_evidence_as_trees(sentence: Sentence):
    forest, marginals = with_phrases_at_the_root(sentence)
    symbols = sentence.grammar.backbone.symbols
    words = [f"w{n}" for n in range(sentence.n_words)]
    by_item, by_tree = (Evidence(sentence.n_words, Chains()) for _ in range(2))
    by_tree.chains = by_item.chains
    votes = np.zeros(forest.n_items)
    for times, objective in enumerate(("rules", "max-rule", "brackets"), start=1):
        own = gains(objective, forest, marginals, sentence.grammar)
        found = decode(forest, own, symbols, words)
        assert found is not None
        votes[found.items] += times
        by_tree.add_trees([unbinarise(found.tree)], [times])
    by_item.add_items(forest, symbols, votes, 6, minimum=0.0)
    assert by_item.total == by_tree.total == 6
    assert by_item.key[by_item.seen].tolist() == by_tree.key.tolist()
    assert by_item.weight[by_item.seen].tolist() == by_tree.weight.tolist()
    assert not by_item.weight[~by_item.seen].any()


@given(tree=trees())
def test_one_tree_comes_back(tree: Tree):
    words, tags = tree.words(), tree.tags()
    evidence = Evidence(len(words), Chains())
    evidence.add_trees([tree])
    found = combine(evidence, words, tags, root="R")
    assert found.tree == tree
    assert found.confidences == [1.0] * len(tree.spans())
    assert found.value == len(found.confidences) / 2


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), n_words=st.integers(1, 8))
def test_evidence_may_come_in_any_parts_and_order(seed: int, n_words: int):
    rng = np.random.default_rng(seed)
    candidates = [random_tree(rng, n_words) for _ in range(5)]
    weights = rng.integers(1, 4, 5).tolist()
    chains = Chains()
    at_once, in_parts, other = (Evidence(n_words, chains) for _ in range(3))
    at_once.add_trees(candidates, weights)
    in_parts.add_trees(candidates[:1], weights[:1])
    other.add_trees(candidates[:0:-1], weights[:0:-1])
    in_parts.add(other)
    for name in ("total", "key", "weight", "seen"):
        assert np.array_equal(getattr(at_once, name), getattr(in_parts, name))
    words, tags = candidates[0].words(), candidates[0].tags()
    turned_round = Evidence(n_words, Chains())
    turned_round.add_trees(candidates[::-1], weights[::-1])
    assert combine(at_once, words, tags, root="R") == combine(turned_round, words, tags, root="R")


def combined(*texts: str, price: float = 0.5, root: str = "R") -> str:
    candidates = [parse_tree(text) for text in texts]
    words, tags = candidates[0].words(), candidates[0].tags()
    evidence = Evidence(len(words), Chains())
    evidence.add_trees(candidates)
    return repr(combine(evidence, words, tags, root=root, price=price).tree)


def test_labels_of_the_majority_make_a_tree_that_no_member_has():
    assert (
        combined(
            "(S (A (t a) (t b)) (t c) (t d))",
            "(S (t a) (t b) (B (t c) (t d)))",
            "(S (A (t a) (t b)) (B (t c) (t d)))",
            "(S (C (t a) (t b)) (t c) (B (t d)))",
            "(S (A (t a) (t b)) (B (t c) (t d)))",
        )
        == "(S (A (t a) (t b)) (B (t c) (t d)))"
    )


def test_price_decides_whether_a_minority_adds_brackets():
    texts = ("(S (A (t a) (t b)) (t c))", "(S (t a) (t b) (t c))", "(S (t a) (t b) (t c))")
    assert combined(*texts, price=0.3) == "(S (A (t a) (t b)) (t c))"
    assert combined(*texts, price=0.4) == "(S (t a) (t b) (t c))"
    # Exactly half of the weight is not enough; at price 0, any weight is.
    assert combined(*texts[:2]) == "(S (t a) (t b) (t c))"
    assert combined(*texts, price=0.0) == "(S (A (t a) (t b)) (t c))"


def test_chains_are_never_put_together():
    # A, B and C each have two thirds, and no member has all of them over one another.
    texts = ("(A (B (t a) (t b)))", "(B (C (t a) (t b)))", "(A (C (t a) (t b)))")
    assert combined(*texts) == "(A (B (t a) (t b)))"
    assert combined(*texts[::-1]) == "(A (B (t a) (t b)))"


def test_a_label_twice_needs_members_that_have_it_twice():
    once, twice = "(A (t a) (t b))", "(A (A (t a) (t b)))"
    assert combined(once, twice, once) == once
    assert combined(twice, twice, once) == twice


def test_equal_bracketings_split_first_from_the_left():
    texts = ("(S (t a) (B (t b) (t c)))", "(S (A (t a) (t b)) (t c))")
    assert combined(*texts, price=0.25) == texts[0]
    assert combined(*texts[::-1], price=0.25) == texts[0]


def test_no_evidence_gives_a_flat_tree():
    evidence = Evidence(3, Chains())
    found = combine(evidence, ["a", "b", "c"], ["x", "y", "z"], root="R")
    assert found == (parse_tree("(R (x a) (y b) (z c))"), [0.0], 0.0, ())
    one = combine(Evidence(1, Chains()), ["a"], ["x"], root="R")
    assert one == (parse_tree("(R (x a))"), [0.0], 0.0, ())
    assert len(evidence.key) == 0


def test_one_word_may_stay_bare():
    assert combined("(t a)", "(t a)", "(A (t a))") == "(t a)"
    assert combined("(t a)", "(A (t a))", "(A (t a))") == "(A (t a))"
    assert combined("(B (t a))", "(A (t a))", "(C (t a))") == "(A (t a))"


def test_unlikely_chains_count_and_are_no_candidates():
    symbols = SymbolTable.of(
        Symbol("preterminal", chain) for chain in [("A", "B", "t"), ("A", "t"), ("C", "t")]
    )
    ones, none = np.ones(3, dtype=np.int32), np.zeros(0, dtype=np.int32)
    groups = np.zeros(4, dtype=np.int32)
    items = np.arange(3, dtype=np.int32)
    forest = Forest(
        items, 0 * ones, ones, -ones, np.ones(3), groups, none, ones[:1] * 0, none, none, items
    )
    evidence = Evidence(1, Chains())
    # In order of the table: A B, A, C.
    evidence.add_items(forest, symbols, np.array([0.1, 0.9, 1.0]), 2, minimum=0.06)
    # A has half of the weight only with that of a chain which is not a candidate.
    assert evidence.seen.tolist() == [False, True, True]
    found = combine(evidence, ["a"], ["u"], root="R", price=0.4)
    assert repr(found.tree) == "(A (u a))"
    assert close(found.confidences, [0.5], rtol=1e-12)
    # Without candidates, the label of the root still has its weight.
    evidence = Evidence(1, Chains())
    evidence.add_items(forest, symbols, np.array([0.05, 0.45, 0.5]), 1, minimum=0.6)
    found = combine(evidence, ["a"], ["u"], root="C", price=0.4)
    assert repr(found.tree) == "(C (u a))"
    assert close(found.confidences, [0.5], rtol=1e-12)


def test_long_sentences_keep_their_brackets():
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 150)
    other = random_tree(rng, 150)
    evidence = Evidence(150, Chains())
    evidence.add_trees([tree, other], [2, 1])
    assert combine(evidence, tree.words(), tree.tags(), root="R").tree == tree


def test_symbols_of_many_tables_share_their_chains():
    chains = Chains()
    one = SymbolTable.of([Symbol("interminal", ("A",)), Symbol("preterminal", ("B", "t"))])
    two = SymbolTable.of(
        [
            Symbol("interminal", ("A",), ("S",)),
            Symbol("interminal", ("B",)),
            Symbol("intermediate", ("A",)),
            Symbol("preterminal", ("t",)),
        ]
    )
    assert [chains.chains[n] for n in chains.of(one)] == [("A",), ("B",)]
    numbers = dict(zip(map(str, two.symbols), chains.of(two).tolist(), strict=True))
    assert numbers == {"@A": -1, "A^S": 0, "B": 1, "t": 2}
    assert chains.chains == [("A",), ("B",), ()]
    assert chains.rank.tolist() == [1, 2, 0]
