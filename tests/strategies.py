"""Hypothesis strategies: trees, grammars, sentences.

Grammars are drawn from a seed and a few sizes, which is fast and shrinks to small grammars.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from eigentree.automata.model import OperatorModel
from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.grammar.arrays import LatentParameters, LexicalCandidates
from eigentree.constituency.grammar.lpcfg import LPCFG, NO_MATRIX
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT, HeadAutomata
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL, FORBIDDEN_IN_WORD, Tree
from tests.oracles.enumeration import Leaf

# Labels that treebanks really hold and that a careless binariser would take apart.
TRICKY = ["", "S", "NP", "A|B", "@X", "@", "S+VP", "NP^S", "X[Y,Z]", "-NONE-", "NP-SBJ=1", "A->B"]


def labels() -> st.SearchStrategy[str]:
    some = st.characters(codec="utf-8", exclude_characters="".join(FORBIDDEN_IN_LABEL))
    return st.sampled_from(TRICKY) | st.text(some, max_size=4)


def words() -> st.SearchStrategy[str]:
    some = st.characters(codec="utf-8", exclude_characters="".join(FORBIDDEN_IN_WORD))
    return st.sampled_from(["(", ")", "-LRB-", "< >".replace(" ", ""), "İ"]) | st.text(
        some, min_size=1, max_size=6
    )


def trees(max_leaves: int = 25) -> st.SearchStrategy[Tree]:
    """Trees with arbitrary labels and words, unary chains and wide nodes included."""
    leaves = st.builds(Tree, labels(), st.just(()), words())
    return st.recursive(
        leaves,
        lambda below: st.builds(Tree, labels(), st.lists(below, min_size=1, max_size=5)),
        max_leaves=max_leaves,
    )


class Sentence(NamedTuple):
    """A sentence in the forms that the chart and the oracle want."""

    grammar: LPCFG
    leaves: Leaves

    @property
    def n_words(self) -> int:
        return self.leaves.n_words

    @property
    def oracle_leaves(self) -> list[list[Leaf]]:
        start = self.leaves.start
        return [
            [
                Leaf(int(a), float(weight), int(entry))
                for a, weight, entry in zip(
                    self.leaves.symbol[first:last],
                    self.leaves.weight[first:last],
                    self.leaves.entry[first:last],
                    strict=True,
                )
            ]
            for first, last in pairwise(start)
        ]


def joined(candidates: Sequence[LexicalCandidates]) -> LexicalCandidates:
    """The candidates of several tags for one word."""
    return LexicalCandidates(*(np.concatenate(column) for column in zip(*candidates, strict=True)))


def sentence(grammar: LPCFG, words: Sequence[int], tags: Sequence[Sequence[int]]) -> Sentence:
    """Words by lexicon entry, each with the tags that it may have."""
    table = grammar.backbone.words
    return Sentence(
        grammar,
        Leaves.of(
            [
                joined([table.candidates(word, tag) for tag in own])
                for word, own in zip(words, tags, strict=True)
            ]
        ),
    )


def random_pcfg(
    rng: np.random.Generator, n_phrases: int, n_preterminals: int, n_more: int, n_words: int = 4
) -> PCFG:
    """A PCFG whose symbols share labels and tags and of which some are intermediate.

    The first phrase branches to the right over any preterminals, so that all sentences parse;
    `n_more` rules at random make them ambiguous.
    """
    chains = [("A",), ("B", "A"), ("A", "B"), ("B",), ("C", "B", "A")]
    phrases = [Symbol("interminal", chain) for chain in chains[: n_phrases - 1]]
    phrases.append(Symbol("intermediate", ("A",)))
    phrases = phrases[:1] if n_phrases == 1 else phrases
    tags = [("t",), ("B", "t"), ("u",)][:n_preterminals]
    table = SymbolTable.of([*phrases, *(Symbol("preterminal", chain) for chain in tags)])
    first = table.number(phrases[0])
    inner = np.flatnonzero(table.tag < 0)
    outer = np.flatnonzero(table.tag >= 0)
    rules = {(b, c, first) for b in outer.tolist() for c in [*outer.tolist(), first]}
    everything = len(table)
    n_rules = min(len(rules) + n_more, len(inner) * everything**2)
    while len(rules) < n_rules:
        a, b, c = int(rng.choice(inner)), *rng.integers(everything, size=2).tolist()
        rules.add((b, c, a))
    left, right, parent = np.array(sorted(rules), dtype=np.int32).T.copy()

    lexicon = Lexicon(
        (*(f"w{n}" for n in range(n_words)), UNKNOWN), LexiconOptions(rare_threshold=0)
    )
    seen = rng.random((n_words + 1, len(outer))) < 0.7
    seen[rng.integers(n_words + 1, size=len(outer)), np.arange(len(outer))] = True
    word, column = np.nonzero(seen)
    words_of = WordTable(
        table,
        lexicon,
        word.astype(np.int32),
        outer[column].astype(np.int32),
        rng.uniform(0.5, 20.0, len(word)),
    )
    # With words, each parent's rules needn't sum to 1: the chart doesn't care.
    probability = rng.uniform(0.05, 0.9, len(parent))
    root = np.where(table.tag < 0, rng.uniform(0.1, 1.0, everything), 0.3)
    root[rng.random(everything) < 0.3] = 0.0
    root[first] = 0.5
    return PCFG(words_of, parent, left, right, probability, root)


def random_lpcfg(
    rng: np.random.Generator,
    backbone: PCFG,
    max_states: int,
    *,
    signed: bool,
    samples: float,
    counts: float = 0.0,
) -> LPCFG:
    """States at random over a backbone.

    A share `samples` of the rules is stored as samples or means, and `counts` of the words and
    of the other rules as counts.
    """
    n_symbols = len(backbone.symbols)
    n_states = rng.integers(1, max_states + 1, n_symbols)
    state_start = np.concatenate([[0], np.cumsum(n_states)])
    n_all = int(state_start[-1])

    def numbers(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape) if signed else rng.uniform(0.05, 1.0, shape)

    rule_symbols = np.stack([backbone.parent, backbone.left, backbone.right], axis=1)
    dense_start, n_samples = [], []
    sample_start = np.zeros((backbone.n_rules, 3), dtype=np.int64)
    dense, sample = [np.zeros(0)], [np.zeros(0)]
    triples = [np.zeros((0, 3), dtype=np.int64)]
    for rule, symbols in enumerate(rule_symbols):
        sizes = n_states[symbols]
        if rng.random() < samples:
            n = int(rng.integers(0, 4))
            dense_start.append(-1)
            n_samples.append(n)
            for mode, size in enumerate(sizes):
                sample_start[rule, mode] = sum(map(len, sample))
                sample.append(numbers(n * size))
        elif counts and rng.random() < counts:
            distinct = np.argwhere(np.ones(sizes))
            n = int(rng.integers(1, min(6, len(distinct)) + 1))
            dense_start.append(-1)
            n_samples.append(n)
            sample_start[rule] = sum(map(len, triples)), NO_MATRIX, NO_MATRIX
            triples.append(rng.permutation(distinct)[:n])
        else:
            dense_start.append(sum(map(len, dense)))
            n_samples.append(0)
            dense.append(numbers(int(np.prod(sizes))))
    is_product = (np.array(dense_start) < 0) & (np.array(n_samples) == 0)
    lexical_sizes = n_states[backbone.words.symbol]
    counted = {}
    if counts:
        own = [
            rng.permutation(int(size))[: rng.integers(1, 3) if rng.random() < counts else 0]
            for size in lexical_sizes
        ]
        lexical_sizes = np.where([len(states) > 0 for states in own], 0, lexical_sizes)
        n_triples, n_own = sum(map(len, triples)), sum(map(len, own))
        counted = {
            "triples": np.concatenate(triples).astype(np.uint16),
            "uses": rng.uniform(0.5, 9.0, n_triples),
            "word_use_start": np.cumsum([0, *map(len, own)]),
            "word_state": np.concatenate(own).astype(np.uint16),
            "word_uses": rng.uniform(0.5, 9.0, n_own),
            "lean": rng.uniform(0.0, 1.0, len(own)),
            "state_share": numbers(n_all),
            "state_scale": numbers(n_all),
        }
    parameters = LatentParameters(
        state_start=state_start.astype(np.int64),
        rule_symbols=np.ascontiguousarray(rule_symbols, dtype=np.int32),
        dense_start=np.array(dense_start, dtype=np.int64),
        dense=np.concatenate(dense),
        n_samples=np.array(n_samples, dtype=np.int32),
        sample_start=sample_start,
        samples=np.concatenate(sample),
        ratio=rng.uniform(0.1, 1.0, backbone.n_rules),
        smoothing=np.where(is_product, 0.0, rng.uniform(0.0, 1.0, backbone.n_rules)),
        outside_mean=numbers(n_all),
        inside_mean=numbers(n_all),
        lexical_start=np.concatenate([[0], np.cumsum(lexical_sizes)]).astype(np.int64),
        lexical=numbers(int(lexical_sizes.sum())),
        unseen_word=numbers(n_all),
        root=numbers(n_all),
        **counted,
    )
    return LPCFG(backbone, parameters, signed)


@st.composite
def grammars(
    draw: st.DrawFn,
    *,
    signed: bool | None = None,
    max_states: int = 3,
    samples: float | None = None,
    counts: float = 0.0,
    n_more: int = 8,
) -> LPCFG:
    """Random grammars of both signs, with differing numbers of states.

    Their rules are dense, samples, means or, in a share `counts` of the others, counts.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    backbone = random_pcfg(
        rng, draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(0, n_more))
    )
    return random_lpcfg(
        rng,
        backbone,
        draw(st.integers(1, max_states)),
        signed=draw(st.booleans()) if signed is None else signed,
        samples=draw(st.sampled_from([0.0, 0.5, 1.0])) if samples is None else samples,
        counts=counts,
    )


def sentences(
    grammar: st.SearchStrategy[LPCFG] | None = None, *, max_words: int = 6
) -> st.SearchStrategy[Sentence]:
    """A grammar with a sentence of 1 to `max_words` words, unknown ones and several tags."""

    @st.composite
    def build(draw: st.DrawFn) -> Sentence:
        chosen = draw(grammars() if grammar is None else grammar)
        table = chosen.backbone.words
        n_tags = len(chosen.backbone.symbols.tags)
        length = draw(st.integers(1, max_words))
        entries = st.lists(st.integers(0, len(table.lexicon) - 1), min_size=length, max_size=length)
        one = st.integers(0, n_tags - 1).map(lambda tag: [tag])
        every = st.just(list(range(n_tags)))
        tags = st.lists(one | every if length < 5 else one, min_size=length, max_size=length)
        return sentence(chosen, draw(entries), draw(tags))

    return build()


def random_head_automata(
    rng: np.random.Generator, n_symbols: int, most: int = 3, *, signed: bool = False
) -> HeadAutomata:
    """Probabilities, with an even chance to stop, or disturbed to numbers of either sign."""
    symbols = tuple("abcdefgh"[:n_symbols])

    def model() -> OperatorModel:
        n = int(rng.integers(1, most + 1))
        operators = rng.dirichlet(np.ones(n_symbols * n), n) / 2
        operators = operators.reshape(n, n_symbols, n).transpose(1, 2, 0)
        if signed:
            operators = operators + rng.normal(0.0, 0.1, operators.shape)
        return OperatorModel(symbols, rng.dirichlet(np.ones(n)), np.full(n, 0.5), operators)

    keys = [(head, direction) for head in symbols for direction in (LEFT, RIGHT)]
    return HeadAutomata.make({key: model() for key in [*keys, (ROOT, RIGHT)]})
