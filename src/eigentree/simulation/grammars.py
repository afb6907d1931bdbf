"""Known latent-variable grammars: ground truth for tests, examples and studies.

`latent_grammar` turns hand-written tables of probabilities into an `LPCFG`.  Three grammars are
ready made:

- `pronoun_grammar`: the two states of a noun phrase distinguish subjects from objects, so "she
  sees him" is likely and "him sees she" impossible.  No plain PCFG over these labels can express
  this.  Its language is finite.
- `attachment_grammar`: the two states of a prepositional phrase distinguish modifiers of nouns
  from modifiers of verbs.  It is recursive.
- `random_grammar`: any rules, with random probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigentree._core.random import generator
from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import Symbol
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from eigentree.types import Floats

Label = str | tuple[str, ...]
Rule = tuple[Label, Label, Label]

# Number of trees that word counts are scaled to: large enough for the smoothing of word
# probabilities to be negligible.
N_TREES = 1e12
# Tolerance on sums of probabilities.
TOLERANCE = 1e-9


def latent_grammar(
    root: Mapping[Label, ArrayLike],
    rules: Mapping[Rule, ArrayLike],
    words: Mapping[Label, Mapping[str, ArrayLike]],
) -> LPCFG:
    """An L-PCFG from tables of probabilities.

    Parameters
    ----------
    root
        For each possible root label, the probability of each of its states.
    rules
        For each rule (parent, left, right) the probabilities t(left h2, right h3 | parent h1),
        axes (K_parent, K_left, K_right).
    words
        For each preterminal and word, the probability of the word in each state.  A tuple is a
        collapsed unary chain, from the top down; its last label is the tag.

    Returns
    -------
    LPCFG
        Its backbone is the closest PCFG: expected counts of rules and words in a tree divided by
        those of their parents, the limit of relative frequencies in sampled trees.  Words that a
        preterminal doesn't list have probability 0 under it.

    Raises
    ------
    GrammarError
        When the axes disagree, the probabilities of a state don't sum to 1, or the expected size
        of a tree is infinite.
    """
    tables = _Tables.of(root, rules, words)
    _check_sums(tables)
    expected = _expected_counts(tables)
    return _assemble(tables, expected)


class _Tables(NamedTuple):
    """The tables of a grammar, indexed by symbol and word numbers."""

    symbols: SymbolTable
    lexicon: Lexicon
    state_start: NDArray[np.int64]
    root: Floats
    rule_symbols: NDArray[np.int32]  # sorted by left, right, parent
    tensors: list[Floats]
    pairs: NDArray[np.int32]  # (word, symbol), sorted
    vectors: list[Floats]

    @classmethod
    def of(
        cls,
        root: Mapping[Label, ArrayLike],
        rules: Mapping[Rule, ArrayLike],
        words: Mapping[Label, Mapping[str, ArrayLike]],
    ) -> _Tables:
        phrases = {_chain(label) for rule in rules for label in rule}
        phrases = (phrases | {_chain(label) for label in root}) - {_chain(a) for a in words}
        symbols = SymbolTable.of(
            [Symbol("interminal", chain) for chain in phrases]
            + [Symbol("preterminal", _chain(label)) for label in words]
        )
        numbers = {symbol.chain: number for number, symbol in enumerate(symbols.symbols)}
        entries = sorted({word for table in words.values() for word in table})
        lexicon = Lexicon((*entries, UNKNOWN), LexiconOptions(rare_threshold=0))

        sizes: dict[int, int] = {}
        tensors: dict[tuple[int, int, int], Floats] = {}
        for rule, values in rules.items():
            parent, left, right = (numbers[_chain(label)] for label in rule)
            tensor = np.asarray(values, dtype=np.float64)
            for symbol, size in zip((parent, left, right), _axes(tensor, 3, rule), strict=True):
                _agree(sizes, symbol, size, symbols)
            tensors[left, right, parent] = tensor
        vectors: dict[tuple[int, int], Floats] = {}
        for label, table in words.items():
            symbol = numbers[_chain(label)]
            for word, values in table.items():
                vector = np.asarray(values, dtype=np.float64)
                _agree(sizes, symbol, _axes(vector, 1, (label, word))[0], symbols)
                if np.any(vector):
                    vectors[entries.index(word), symbol] = vector
        starts: dict[int, Floats] = {}
        for label, values in root.items():
            symbol = numbers[_chain(label)]
            starts[symbol] = np.asarray(values, dtype=np.float64)
            _agree(sizes, symbol, _axes(starts[symbol], 1, (label,))[0], symbols)
        order = sorted(tensors)
        keys = sorted(vectors)
        return cls(
            symbols,
            lexicon,
            np.concatenate([[0], np.cumsum([sizes[a] for a in range(len(symbols))])]),
            np.concatenate([starts.get(a, np.zeros(sizes[a])) for a in range(len(symbols))]),
            np.array([(a, b, c) for b, c, a in order], dtype=np.int32).reshape(-1, 3),
            [tensors[key] for key in order],
            np.array(keys, dtype=np.int32).reshape(-1, 2),
            [vectors[key] for key in keys],
        )

    def states(self, symbol: int) -> slice:
        return slice(int(self.state_start[symbol]), int(self.state_start[symbol + 1]))


def _chain(label: Label) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else label


def _axes(array: Floats, n_axes: int, name: object) -> tuple[int, ...]:
    if array.ndim != n_axes:
        raise GrammarError(f"the table of {name} has {array.ndim} axes; expected {n_axes}")
    return array.shape


def _agree(sizes: dict[int, int], symbol: int, size: int, symbols: SymbolTable) -> None:
    if sizes.setdefault(symbol, size) != size:
        raise GrammarError(
            f"{symbols[symbol]} has {sizes[symbol]} states in one table and {size} in another"
        )


def _check_sums(tables: _Tables) -> None:
    total = np.zeros(len(tables.root))
    for (parent, _, _), tensor in zip(tables.rule_symbols, tables.tensors, strict=True):
        total[tables.states(parent)] += tensor.sum(axis=(1, 2))
    for (_, symbol), vector in zip(tables.pairs, tables.vectors, strict=True):
        total[tables.states(symbol)] += vector
    every = [tables.root, *tables.tensors, *tables.vectors]
    if min(float(array.min(initial=0.0)) for array in every) < 0:
        raise GrammarError("a table has a negative entry; probabilities must be at least 0")
    for state, value in enumerate(total):
        if abs(value - 1.0) > TOLERANCE:
            symbol = int(np.searchsorted(tables.state_start, state, side="right")) - 1
            raise GrammarError(
                f"the probabilities of {tables.symbols[symbol]} in state "
                f"{state - int(tables.state_start[symbol])} sum to {value:.9g}; they must sum to 1"
            )
    if abs(tables.root.sum() - 1.0) > TOLERANCE:
        raise GrammarError(
            f"the probabilities at the root sum to {tables.root.sum():.9g}; they must sum to 1"
        )


def _expected_counts(tables: _Tables) -> Floats:
    """Expected number of occurrences of each state in a tree; axes (states of all symbols)."""
    n_states = len(tables.root)
    children = np.zeros((n_states, n_states))
    for (parent, left, right), tensor in zip(tables.rule_symbols, tables.tensors, strict=True):
        children[tables.states(left), tables.states(parent)] += tensor.sum(axis=2).T
        children[tables.states(right), tables.states(parent)] += tensor.sum(axis=1).T
    if max(abs(np.linalg.eigvals(children))) >= 1.0:
        raise GrammarError("the expected size of a tree of this grammar is infinite")
    return np.asarray(np.linalg.solve(np.eye(n_states) - children, tables.root))


def _assemble(tables: _Tables, expected: Floats) -> LPCFG:
    n_symbols, n_rules = len(tables.symbols), len(tables.tensors)
    # A symbol that never occurs gets equal weights, so that its rules have defined probabilities.
    expected = expected.copy()
    for symbol in range(n_symbols):
        if not expected[tables.states(symbol)].any():
            expected[tables.states(symbol)] = 1.0
    of_symbol = np.add.reduceat(expected, tables.state_start[:-1])
    parent, left, right = (np.ascontiguousarray(column) for column in tables.rule_symbols.T)
    probability = np.array(
        [
            expected[tables.states(a)] @ tensor.sum(axis=(1, 2)) / of_symbol[a]
            for a, tensor in zip(parent, tables.tensors, strict=True)
        ]
    ).reshape(n_rules)
    word, preterminal = (np.ascontiguousarray(column) for column in tables.pairs.T)
    count = np.array(
        [
            N_TREES * (expected[tables.states(a)] @ vector)
            for a, vector in zip(preterminal, tables.vectors, strict=True)
        ]
    )
    table = WordTable(tables.symbols, tables.lexicon, word, preterminal, count)
    root = np.add.reduceat(tables.root, tables.state_start[:-1])
    backbone = PCFG(table, parent, left, right, probability, root)

    tensor_sizes = [tensor.size for tensor in tables.tensors]
    sizes = np.diff(tables.state_start)
    lexical = [
        vector / p for vector, p in zip(tables.vectors, table.entry_probability(), strict=True)
    ]
    ones = np.ones(len(expected))
    parameters = LatentParameters(
        state_start=tables.state_start.astype(np.int64),
        rule_symbols=np.ascontiguousarray(tables.rule_symbols),
        dense_start=np.array([0, *accumulate(tensor_sizes)][:n_rules], dtype=np.int64),
        dense=np.concatenate([np.zeros(0), *(tensor.ravel() for tensor in tables.tensors)]),
        n_samples=np.zeros(n_rules, dtype=np.int32),
        sample_start=np.zeros((n_rules, 3), dtype=np.int64),
        samples=np.zeros(0),
        ratio=probability,
        smoothing=np.ones(n_rules),
        outside_mean=ones,
        inside_mean=expected / np.repeat(of_symbol, sizes),
        lexical_start=np.concatenate([[0], np.cumsum(sizes[preterminal])]).astype(np.int64),
        lexical=np.concatenate(lexical),
        unseen_word=np.zeros(len(expected)),
        root=tables.root,
    )
    return LPCFG(backbone, parameters, signed=False)


def random_grammar(
    root: Sequence[Label],
    rules: Sequence[Rule],
    words: Mapping[Label, Sequence[str]],
    states: Mapping[Label, int] | int = 2,
    *,
    seed: int = 0,
    concentration: float = 1.0,
) -> LPCFG:
    """An L-PCFG with given rules and words and random probabilities.

    Parameters
    ----------
    root
        Possible root labels.
    rules
        Rules as (parent, left, right).
    words
        The words of each preterminal.
    states
        Number of states: one for all labels, or by label (1 for labels not listed).
    seed
        Seed of the Dirichlet draws.
    concentration
        Dirichlet parameter; smaller values make states differ more.

    Raises
    ------
    GrammarError
        When the expected size of a tree is infinite; another seed may work.
    """
    rng = generator(seed)

    def size(label: Label) -> int:
        return states if isinstance(states, int) else states.get(label, 1)

    def draws(n: int, options: int) -> Floats:
        return rng.dirichlet(np.full(options, concentration), size=n)

    tensors: dict[Rule, ArrayLike] = {}
    for parent in dict.fromkeys(rule[0] for rule in rules):
        expansions = [rule for rule in rules if rule[0] == parent]
        shapes = [(size(parent), size(rule[1]), size(rule[2])) for rule in expansions]
        ends = list(accumulate(shape[1] * shape[2] for shape in shapes))
        parts = np.split(draws(size(parent), ends[-1]), ends[:-1], axis=1)
        for rule, shape, part in zip(expansions, shapes, parts, strict=True):
            tensors[rule] = part.reshape(shape)
    vectors: dict[Label, dict[str, ArrayLike]] = {}
    for label, label_words in words.items():
        columns = draws(size(label), len(label_words)).T
        vectors[label] = dict(zip(label_words, columns, strict=True))
    ends = list(accumulate(size(label) for label in root))
    parts = np.split(draws(1, ends[-1])[0], ends[:-1])
    return latent_grammar(dict(zip(root, parts, strict=True)), tensors, vectors)


def pronoun_grammar() -> LPCFG:
    """Short clauses whose noun phrases have two states: subject (0) and object (1).

    The language is finite: a noun phrase (a pronoun, or an article and a noun), a verb, and
    another noun phrase.  Both states generate "it", only subjects "she" and only objects "him";
    subjects prefer "the" and objects "a".
    """
    pronoun = ("NP", "PRP")
    subject, object_ = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    return latent_grammar(
        root={"S": [1.0]},
        rules={
            ("S", pronoun, "VP"): 0.6 * subject[None, :, None],
            ("S", "NP", "VP"): 0.4 * subject[None, :, None],
            ("VP", "V", pronoun): 0.3 * object_[None, None, :],
            ("VP", "V", "NP"): 0.7 * object_[None, None, :],
            ("NP", "D", "N"): np.array([[[0.9], [0.1]], [[0.2], [0.8]]]),
        },
        words={
            pronoun: {"she": [0.7, 0.0], "him": [0.0, 0.6], "it": [0.3, 0.4]},
            "D": {"the": [0.75, 0.25], "a": [0.25, 0.75]},
            "N": {"fox": [0.5], "hen": [0.3], "key": [0.2]},
            "V": {"sees": [0.6], "wants": [0.4]},
        },
    )


def attachment_grammar() -> LPCFG:
    """Clauses with prepositional phrases in two states: at nouns (0) and at verbs (1).

    "of" attaches to nouns and "with" mostly to verbs.  A plain PCFG over these labels attaches all
    prepositions the same way.
    """
    return latent_grammar(
        root={"S": [1.0]},
        rules={
            ("S", "NP", "VP"): [[[1.0]]],
            ("NP", "D", "N"): [[[0.8]]],
            ("NP", "NP", "PP"): [[[0.18, 0.02]]],
            ("VP", "V", "NP"): [[[0.7]]],
            ("VP", "VP", "PP"): [[[0.03, 0.27]]],
            ("PP", "P", "NP"): [[[0.95], [0.05]], [[0.05], [0.95]]],
        },
        words={
            "D": {"the": [0.6], "a": [0.4]},
            "N": {"fox": [0.3], "den": [0.3], "net": [0.2], "moon": [0.2]},
            "V": {"saw": [0.7], "caught": [0.3]},
            "P": {"of": [0.8, 0.0], "with": [0.1, 0.7], "in": [0.1, 0.3]},
        },
    )
