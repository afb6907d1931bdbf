"""Known grammars and trees drawn from them: ground truth for tests, examples and studies.

`latent_grammar` turns tables of probabilities, written by hand, into an `LPCFG`;
`sample_trees` draws skeletal trees from such a grammar.  Three grammars are ready made:

- `pronoun_grammar`: the two states of a noun phrase tell subjects from objects, so "she sees
  him" is likely and "him sees she" impossible, which no plain PCFG over these labels can say.
  Its language is finite.
- `attachment_grammar`: the two states of a prepositional phrase tell those that modify nouns
  from those that modify verbs.  It is recursive.
- `random_grammar`: any rules, with random probabilities.

`head_automaton` and `sample_dependencies` do the same for dependency trees.  `clause_automata` are
ready made: adjectives stand between a noun and its determiner, and a verb has one subject, at most
one object, then phrases with prepositions, then a full stop.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigentree._core.random import generator
from eigentree.automata.model import OperatorModel
from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT, HeadAutomata
from eigentree.errors import GrammarError
from eigentree.treebank.binarise import BinaryTree, Symbol
from eigentree.treebank.io.conllu import ROOT_RELATION, UNKNOWN_RELATION, Sentence, Word
from eigentree.treebank.lexicon import UNKNOWN, Lexicon, LexiconOptions
from eigentree.types import Floats

Label = str | tuple[str, ...]
Rule = tuple[Label, Label, Label]

# Trees that the counts of a grammar's words stand for: so many that no probability of a word
# is smoothed noticeably.
N_TREES = 1e12
# How far the probabilities of a state may be from a sum of 1.
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
        For each label that may stand at the root, the probability of each of its states.
    rules
        For each rule (parent, left, right) the probabilities t(left h2, right h3 | parent h1),
        axes (K_parent, K_left, K_right).
    words
        For each preterminal and word, the probability of the word in each state.  A label that
        is a tuple is a collapsed unary chain, from the top down; the last label is the tag.

    Returns
    -------
    LPCFG
        Its backbone is the PCFG nearest to it: expected counts of rules and words in a tree,
        divided by those of their parents, to which relative frequencies of sampled trees
        converge.  Words that a preterminal lacks have probability 0 there.

    Raises
    ------
    GrammarError
        When the axes disagree, when the probabilities of a state don't sum to 1, or when
        trees have no finite expected size.
    """
    tables = _Tables.of(root, rules, words)
    _check_sums(tables)
    expected = _expected_counts(tables)
    return _assemble(tables, expected)


class _Tables(NamedTuple):
    """The tables of a grammar by number."""

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
        raise GrammarError(f"the table of {name} has {array.ndim} axes; it must have {n_axes}")
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
        raise GrammarError("a table holds a negative number; probabilities are at least 0")
    for state, value in enumerate(total):
        if abs(value - 1.0) > TOLERANCE:
            symbol = int(np.searchsorted(tables.state_start, state, side="right")) - 1
            raise GrammarError(
                f"the probabilities of {tables.symbols[symbol]} in state "
                f"{state - int(tables.state_start[symbol])} sum to {value:.9g}; they must to 1"
            )
    if abs(tables.root.sum() - 1.0) > TOLERANCE:
        raise GrammarError(
            f"the probabilities at the root sum to {tables.root.sum():.9g}; they must to 1"
        )


def _expected_counts(tables: _Tables) -> Floats:
    """Axes (states of all symbols): how often each state occurs in a tree, on average."""
    n_states = len(tables.root)
    children = np.zeros((n_states, n_states))
    for (parent, left, right), tensor in zip(tables.rule_symbols, tables.tensors, strict=True):
        children[tables.states(left), tables.states(parent)] += tensor.sum(axis=2).T
        children[tables.states(right), tables.states(parent)] += tensor.sum(axis=1).T
    if max(abs(np.linalg.eigvals(children))) >= 1.0:
        raise GrammarError("trees of this grammar have no finite expected size")
    return np.asarray(np.linalg.solve(np.eye(n_states) - children, tables.root))


def _assemble(tables: _Tables, expected: Floats) -> LPCFG:
    n_symbols, n_rules = len(tables.symbols), len(tables.tensors)
    # A symbol that never occurs gets equal weights, so that its rules have probabilities.
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
        Labels that may stand at the root.
    rules
        Rules as (parent, left, right).
    words
        The words of each preterminal.
    states
        Number of states of every label, or of each (1 where a label is missing).
    seed
        Of the Dirichlet draws.
    concentration
        Their parameter: the smaller, the more the states differ.

    Raises
    ------
    GrammarError
        When the draws give trees of no finite expected size; another seed may do.
    """
    rng = generator(seed)

    def size(label: Label) -> int:
        return states if isinstance(states, int) else states.get(label, 1)

    def draws(n: int, options: int) -> Floats:
        return rng.dirichlet(np.full(options, concentration), size=n)

    tensors: dict[Rule, ArrayLike] = {}
    for parent in dict.fromkeys(rule[0] for rule in rules):
        own = [rule for rule in rules if rule[0] == parent]
        shapes = [(size(parent), size(rule[1]), size(rule[2])) for rule in own]
        ends = list(accumulate(shape[1] * shape[2] for shape in shapes))
        parts = np.split(draws(size(parent), ends[-1]), ends[:-1], axis=1)
        for rule, shape, part in zip(own, shapes, parts, strict=True):
            tensors[rule] = part.reshape(shape)
    vectors: dict[Label, dict[str, ArrayLike]] = {}
    for label, own_words in words.items():
        columns = draws(size(label), len(own_words)).T
        vectors[label] = dict(zip(own_words, columns, strict=True))
    ends = list(accumulate(size(label) for label in root))
    parts = np.split(draws(1, ends[-1])[0], ends[:-1])
    return latent_grammar(dict(zip(root, parts, strict=True)), tensors, vectors)


def pronoun_grammar() -> LPCFG:
    """Short clauses whose noun phrases have two states: subject (0) and object (1).

    The language is finite: a pronoun or an article with a noun, a verb, and the same again.
    Both states say "it"; only subjects say "she", only objects "him"; subjects prefer "the"
    and objects "a".
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

    "of" belongs to nouns and "with" mostly to verbs, so the preposition decides an attachment
    that a plain PCFG over these labels decides the same way for all prepositions.
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


class _Choices(NamedTuple):
    """What a state may become: cumulative weights, and for each a word or two child states."""

    cumulative: list[float]
    outcomes: list[int | tuple[int, int]]

    def draw(self, uniform: float) -> int | tuple[int, int]:
        place = bisect_right(self.cumulative, uniform * self.cumulative[-1])
        return self.outcomes[min(place, len(self.outcomes) - 1)]


def sample_trees(
    grammar: LPCFG, n_trees: int, *, seed: int = 0, most_words: int = 10_000
) -> list[BinaryTree]:
    """Draw skeletal trees, the states summed out by being forgotten.

    Parameters
    ----------
    grammar
        A grammar of probabilities.  The choices of each state are normalised: what smoothing
        sets aside for unseen words goes to the seen ones.
    n_trees
        How many trees.
    seed
        One seed gives one sequence of trees; asking for more trees only makes it longer.
    most_words
        Longest sentence.

    Returns
    -------
    list of BinaryTree
        The head is always the right child.  Word classes of the lexicon are written with
        underscores for blanks, so that `unbinarise` accepts them as words.

    Raises
    ------
    GrammarError
        When the grammar is signed, a state has no choices, or a sentence grows beyond
        ``most_words`` words.

    Cost
    ----
    Linear in the number of nodes, after forming each rule's tensor once.
    """
    if grammar.signed:
        raise GrammarError("a signed grammar can't be sampled; its values are no probabilities")
    symbols = grammar.backbone.symbols
    choices = _choices(grammar)
    roots = _Choices(list(accumulate(grammar.parameters.root.tolist())), list(range(len(choices))))
    n_states = grammar.n_states
    symbol_of_state = np.repeat(np.arange(len(symbols)), n_states).tolist()
    names = [entry.replace(" ", "_") for entry in grammar.backbone.lexicon.entries]
    rng = generator(seed)
    trees = []
    for _ in range(n_trees):
        root = roots.draw(rng.random())
        assert isinstance(root, int)
        # Parents first and right before left; the reverse has children first.
        preorder: list[tuple[Symbol, str | None]] = []
        stack = [root]
        n_words = 0
        while stack:
            state = stack.pop()
            outcome = choices[state].draw(rng.random())
            symbol = symbols[symbol_of_state[state]]
            if isinstance(outcome, int):
                preorder.append((symbol, names[outcome]))
                n_words += 1
            else:
                preorder.append((symbol, None))
                stack.extend(outcome)
            if n_words + len(stack) > most_words:
                raise GrammarError(
                    f"a sampled sentence grew beyond {most_words} words; the grammar must end "
                    "sooner or most_words be higher"
                )
        trees.append(_binary_tree(preorder))
    return trees


def _choices(grammar: LPCFG) -> list[_Choices]:
    """The choices of all states of all symbols."""
    parameters, backbone = grammar.parameters, grammar.backbone
    n_states = len(parameters.root)
    weights: list[list[float]] = [[] for _ in range(n_states)]
    outcomes: list[list[int | tuple[int, int]]] = [[] for _ in range(n_states)]
    for rule, (parent, left, right) in enumerate(parameters.rule_symbols):
        tensor = grammar.tensor(rule)
        first = [int(parameters.state_start[a]) for a in (parent, left, right)]
        for h1, h2, h3 in np.argwhere(tensor).tolist():
            weights[first[0] + h1].append(float(tensor[h1, h2, h3]))
            outcomes[first[0] + h1].append((first[1] + h2, first[2] + h3))
    probability = backbone.words.entry_probability()
    for entry, (word, symbol) in enumerate(
        zip(backbone.words.word, backbone.words.symbol, strict=True)
    ):
        first_state = int(parameters.state_start[symbol])
        for state, value in enumerate(grammar.word_vector(entry), first_state):
            if value:
                weights[state].append(float(value * probability[entry]))
                outcomes[state].append(int(word))
    for state in range(n_states):
        if not weights[state] or min(weights[state]) < 0:
            raise GrammarError(f"state {state} has no choices, or one with a negative value")
    return [
        _Choices(list(accumulate(own)), then) for own, then in zip(weights, outcomes, strict=True)
    ]


def _binary_tree(preorder: list[tuple[Symbol, str | None]]) -> BinaryTree:
    heads: list[int] = []
    tree = BinaryTree([], [], [], heads, [])
    stack: list[int] = []
    for node, (symbol, word) in enumerate(reversed(preorder)):
        tree.symbols.append(symbol)
        left = right = -1
        if word is not None:
            heads.append(len(tree.words))
            tree.words.append(word)
        else:
            right, left = stack.pop(), stack.pop()
            heads.append(heads[right])
        tree.left.append(left)
        tree.right.append(right)
        stack.append(node)
    return tree


# Dependency trees ------------------------------------------------------------------------

Transitions = Mapping[str | None, tuple[int, float]]


def head_automaton(symbols: Sequence[str], states: Sequence[Transitions]) -> OperatorModel:
    """An automaton of probabilities that begins in its first state.

    Parameters
    ----------
    symbols
        All that automata of its kind read.
    states
        For each state, the symbols that may be read, each with the next state and the probability;
        None with any state and the probability of stopping.

    Raises
    ------
    GrammarError
        When a state has probabilities that don't sum to 1.
    """
    n = len(states)
    final, operators = np.zeros(n), np.zeros((len(symbols), n, n))
    for state, outcomes in enumerate(states):
        for symbol, (then, probability) in outcomes.items():
            if symbol is None:
                final[state] = probability
            else:
                operators[symbols.index(symbol), then, state] = probability
    model = OperatorModel(tuple(symbols), np.eye(n)[0], final, operators)
    _check_probabilities(model)
    return model


def sample_dependencies(
    automata: HeadAutomata,
    n_trees: int,
    *,
    seed: int = 0,
    words: Mapping[str, Sequence[str]] | None = None,
    relations: Mapping[tuple[str, int, str], str] | None = None,
    most_words: int = 10_000,
) -> list[Sentence]:
    """Draw projective dependency trees from head-automata.

    Parameters
    ----------
    automata
        Of probabilities; that of the root gives a single root only if it stops after one.
    n_trees
        How many trees.  One without any word is drawn anew.
    seed
        One seed gives one sequence of trees; asking for more trees only makes it longer.
    words
        Forms of symbols, all equally likely; the symbol itself for those that have none.
    relations
        By head symbol, direction and modifier symbol; ``dep`` for others, ``root`` for roots.
    most_words
        Longest sentence.

    Returns
    -------
    list of Sentence
        Symbols are in the column UPOS.

    Raises
    ------
    GrammarError
        When an automaton is signed or not normalised, or a sentence grows beyond ``most_words``
        words.

    Cost
    ----
    Linear in the number of words.
    """
    choices = {
        (head, direction): _choices_of(automata.automaton(head, direction))
        for head, direction in [
            *((head, way) for head in automata.symbols for way in (LEFT, RIGHT)),
            (ROOT, RIGHT),
        ]
    }
    rng = generator(seed)
    sentences: list[Sentence] = []
    while len(sentences) < n_trees:
        nodes = _sampled_nodes(choices, rng, most_words)
        if len(nodes) > 1:
            sentences.append(_sentence_of(nodes, rng, words or {}, relations or {}))
    return sentences


def clause_automata() -> HeadAutomata:
    """Small clauses with prepositional phrases; see the top."""
    tags = ("ADJ", "ADP", "DET", "NOUN", "PRON", "PUNCT", "VERB")
    nothing: list[Transitions] = [{None: (0, 1.0)}]
    automata = {(tag, direction): nothing for tag in tags for direction in (LEFT, RIGHT)}
    automata["NOUN", LEFT] = [
        {"ADJ": (0, 0.3), "DET": (1, 0.6), None: (0, 0.1)},
        {None: (1, 1.0)},
    ]
    automata["NOUN", RIGHT] = [{"ADP": (1, 0.2), None: (0, 0.8)}, {None: (1, 1.0)}]
    automata["ADP", RIGHT] = [{"NOUN": (1, 0.9), "PRON": (1, 0.1)}, {None: (1, 1.0)}]
    automata["VERB", LEFT] = [{"NOUN": (1, 0.6), "PRON": (1, 0.4)}, {None: (1, 1.0)}]
    automata["VERB", RIGHT] = [
        {"NOUN": (1, 0.4), "PRON": (1, 0.1), "ADP": (1, 0.2), "PUNCT": (2, 0.3)},
        {"ADP": (1, 0.3), "PUNCT": (2, 0.7)},
        {None: (2, 1.0)},
    ]
    automata[ROOT, RIGHT] = [{"VERB": (1, 1.0)}, {None: (1, 1.0)}]
    return HeadAutomata.make(
        {key: head_automaton(tags, states) for key, states in automata.items()}
    )


# Forms and relations of `clause_automata`.
CLAUSE_WORDS = {
    "ADJ": ("old", "red", "small", "warm"),
    "ADP": ("behind", "in", "near", "with"),
    "DET": ("a", "every", "the"),
    "NOUN": ("baker", "boat", "bread", "dog", "garden", "river"),
    "PRON": ("he", "it", "she"),
    "PUNCT": (".",),
    "VERB": ("found", "left", "saw", "watched"),
}
CLAUSE_RELATIONS = {
    ("NOUN", LEFT, "ADJ"): "amod",
    ("NOUN", LEFT, "DET"): "det",
    ("NOUN", RIGHT, "ADP"): "nmod",
    ("ADP", RIGHT, "NOUN"): "obj",
    ("ADP", RIGHT, "PRON"): "obj",
    ("VERB", LEFT, "NOUN"): "nsubj",
    ("VERB", LEFT, "PRON"): "nsubj",
    ("VERB", RIGHT, "NOUN"): "obj",
    ("VERB", RIGHT, "PRON"): "obj",
    ("VERB", RIGHT, "ADP"): "obl",
    ("VERB", RIGHT, "PUNCT"): "punct",
}


def clauses(n_trees: int, *, seed: int = 0) -> list[Sentence]:
    """Trees drawn from `clause_automata`, with words and relations."""
    return sample_dependencies(
        clause_automata(), n_trees, seed=seed, words=CLAUSE_WORDS, relations=CLAUSE_RELATIONS
    )


class _Node(NamedTuple):
    """A node of a tree that grows: the root, or a word under another node."""

    symbol: str
    head: int
    direction: int
    modifiers: tuple[list[int], list[int]]  # left and right ones, the closest first


class _Automaton(NamedTuple):
    """An automaton as choices: of its first state, and from each state of what is read."""

    first: _Choices
    then: list[list[tuple[str | None, int]]]
    weights: list[list[float]]


def _check_probabilities(model: OperatorModel) -> None:
    if any(bool(np.any(part < 0.0)) for part in (model.initial, model.final, model.operators)):
        raise GrammarError("signed automata can't be sampled; their values are no probabilities")
    going_on = model.final + model.operators.sum(axis=(0, 1))
    sums = [float(model.initial.sum()), *going_on.tolist()]
    if max(abs(each - 1.0) for each in sums) > TOLERANCE:
        raise GrammarError(
            f"the probabilities of an automaton's beginning and of its states sum to {sums}; "
            "each sum must be 1"
        )


def _choices_of(model: OperatorModel) -> _Automaton:
    _check_probabilities(model)
    then: list[list[tuple[str | None, int]]] = []
    weights: list[list[float]] = []
    for state in range(model.n_states):
        outcomes: list[tuple[str | None, int]] = [(None, state)]
        own = [float(model.final[state])]
        for symbol, target in np.argwhere(model.operators[:, :, state]).tolist():
            outcomes.append((model.symbols[symbol], target))
            own.append(float(model.operators[symbol, target, state]))
        then.append(outcomes)
        weights.append(list(accumulate(own)))
    first = _Choices(list(accumulate(model.initial.tolist())), list(range(model.n_states)))
    return _Automaton(first, then, weights)


def _sampled_nodes(
    choices: Mapping[tuple[str, int], _Automaton], rng: np.random.Generator, most_words: int
) -> list[_Node]:
    """The nodes of a tree, the root first, each head before its modifiers."""
    nodes = [_Node(ROOT, -1, RIGHT, ([], []))]
    at = 0
    while at < len(nodes):
        head = nodes[at]
        for direction in (LEFT, RIGHT) if at else (RIGHT,):
            automaton = choices[head.symbol, direction]
            state = automaton.first.draw(rng.random())
            assert isinstance(state, int)
            while True:
                found = bisect_right(automaton.weights[state], rng.random())
                symbol, state = automaton.then[state][min(found, len(automaton.then[state]) - 1)]
                if symbol is None:
                    break
                head.modifiers[direction].append(len(nodes))
                nodes.append(_Node(symbol, at, direction, ([], [])))
                if len(nodes) - 1 > most_words:
                    raise GrammarError(
                        f"a sampled sentence grew beyond {most_words} words; the automata must "
                        "stop sooner or most_words be higher"
                    )
        at += 1
    return nodes


def _sentence_of(
    nodes: Sequence[_Node],
    rng: np.random.Generator,
    words: Mapping[str, Sequence[str]],
    relations: Mapping[tuple[str, int, str], str],
) -> Sentence:
    order: list[int] = []
    stack = [(0, False)]
    while stack:
        at, is_open = stack.pop()
        if is_open:
            order.append(at)
            continue
        left, right = nodes[at].modifiers
        # The last that is put on comes off first: the outermost to the left.
        stack += [(modifier, False) for modifier in reversed(right)]
        stack.append((at, True))
        stack += [(modifier, False) for modifier in left]
    position = {at: place for place, at in enumerate(order)}
    rows = []
    for place, at in enumerate(order[1:], start=1):
        node = nodes[at]
        forms = words.get(node.symbol, (node.symbol,))
        key = nodes[node.head].symbol, node.direction, node.symbol
        relation = relations.get(key, UNKNOWN_RELATION) if node.head else ROOT_RELATION
        rows.append(
            Word(
                place,
                forms[int(rng.integers(len(forms)))],
                upos=node.symbol,
                head=position[node.head],
                deprel=relation,
            )
        )
    return Sentence(tuple(rows))
