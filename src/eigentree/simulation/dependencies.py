"""Dependency trees sampled from head automata.

`clause_automata` are ready made: adjectives are between a noun and its determiner; a verb has one
subject, at most one object, then prepositional phrases, then a full stop.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from eigentree._core.random import generator
from eigentree.automata.model import OperatorModel
from eigentree.dependency.head_automata import LEFT, RIGHT, ROOT, HeadAutomata
from eigentree.errors import GrammarError
from eigentree.simulation.grammars import TOLERANCE
from eigentree.simulation.sampling import Outcomes
from eigentree.treebank.io.conllu import ROOT_RELATION, UNKNOWN_RELATION, Sentence, Word

TransitionTable = Mapping[str | None, tuple[int, float]]


def head_automaton(symbols: Sequence[str], states: Sequence[TransitionTable]) -> OperatorModel:
    """A probabilistic automaton whose initial state is state 0.

    Parameters
    ----------
    symbols
        The alphabet, the same for all automata of a `HeadAutomata`.
    states
        For each state, the next state and the probability of each symbol; None maps to the
        probability of stopping (its state is ignored).

    Raises
    ------
    GrammarError
        When the probabilities of a state don't sum to 1.
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
    max_words: int = 10_000,
) -> list[Sentence]:
    """Sample projective dependency trees from head automata.

    Parameters
    ----------
    automata
        Probabilistic automata; trees have a single root only if the root's automaton stops after
        one symbol.
    n_trees
        Number of trees; empty ones are sampled again.
    seed
        The same seed gives the same sequence of trees; a larger ``n_trees`` extends it.
    words
        Word forms of each symbol, uniformly distributed; by default the symbol itself.
    relations
        Relations by head symbol, direction and modifier symbol; ``dep`` for others, ``root`` for
        roots.
    max_words
        Maximum sentence length.

    Returns
    -------
    list of Sentence
        The symbols are in the UPOS column.

    Raises
    ------
    GrammarError
        When an automaton is signed or not normalised, or a sentence exceeds ``max_words`` words.

    Cost
    ----
    Linear in the number of words.
    """
    transitions = {
        (head, direction): _transitions_of(automata.automaton(head, direction))
        for head, direction in [
            *((head, way) for head in automata.symbols for way in (LEFT, RIGHT)),
            (ROOT, RIGHT),
        ]
    }
    rng = generator(seed)
    sentences: list[Sentence] = []
    while len(sentences) < n_trees:
        nodes = _sample_nodes(transitions, rng, max_words)
        if len(nodes) > 1:
            sentences.append(_sentence_of(nodes, rng, words or {}, relations or {}))
    return sentences


def clause_automata() -> HeadAutomata:
    """Automata of small clauses with prepositional phrases; see the module docstring."""
    tags = ("ADJ", "ADP", "DET", "NOUN", "PRON", "PUNCT", "VERB")
    nothing: list[TransitionTable] = [{None: (0, 1.0)}]
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


# Word forms and relations for `clause_automata`.
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
    """Trees sampled from `clause_automata`, with words and relations."""
    return sample_dependencies(
        clause_automata(), n_trees, seed=seed, words=CLAUSE_WORDS, relations=CLAUSE_RELATIONS
    )


class _SampledNode(NamedTuple):
    """A node of a partial tree: the root, or a word below another node."""

    symbol: str
    head: int
    direction: int
    modifiers: tuple[list[int], list[int]]  # left and right, closest first


class _Transitions(NamedTuple):
    """An automaton as distributions: over initial states, and over the outcomes of each state."""

    first: Outcomes
    then: list[list[tuple[str | None, int]]]
    weights: list[list[float]]


def _check_probabilities(model: OperatorModel) -> None:
    if any(bool(np.any(part < 0.0)) for part in (model.initial, model.final, model.operators)):
        raise GrammarError("signed automata can't be sampled: their values aren't probabilities")
    outgoing = model.final + model.operators.sum(axis=(0, 1))
    sums = [float(model.initial.sum()), *outgoing.tolist()]
    if max(abs(each - 1.0) for each in sums) > TOLERANCE:
        raise GrammarError(
            f"the initial probabilities and the probabilities of each state of an automaton sum to "
            f"{sums}; each sum must be 1"
        )


def _transitions_of(model: OperatorModel) -> _Transitions:
    _check_probabilities(model)
    then: list[list[tuple[str | None, int]]] = []
    weights: list[list[float]] = []
    for state in range(model.n_states):
        outcomes: list[tuple[str | None, int]] = [(None, state)]
        state_weights = [float(model.final[state])]
        for symbol, target in np.argwhere(model.operators[:, :, state]).tolist():
            outcomes.append((model.symbols[symbol], target))
            state_weights.append(float(model.operators[symbol, target, state]))
        then.append(outcomes)
        weights.append(list(accumulate(state_weights)))
    first = Outcomes(list(accumulate(model.initial.tolist())), list(range(model.n_states)))
    return _Transitions(first, then, weights)


def _sample_nodes(
    transitions: Mapping[tuple[str, int], _Transitions], rng: np.random.Generator, max_words: int
) -> list[_SampledNode]:
    """Sample the nodes of a tree: the root first, each head before its modifiers."""
    nodes = [_SampledNode(ROOT, -1, RIGHT, ([], []))]
    at = 0
    while at < len(nodes):
        head = nodes[at]
        for direction in (LEFT, RIGHT) if at else (RIGHT,):
            automaton = transitions[head.symbol, direction]
            state = automaton.first.draw(rng.random())
            assert isinstance(state, int)
            while True:
                drawn = bisect_right(automaton.weights[state], rng.random())
                symbol, state = automaton.then[state][min(drawn, len(automaton.then[state]) - 1)]
                if symbol is None:
                    break
                head.modifiers[direction].append(len(nodes))
                nodes.append(_SampledNode(symbol, at, direction, ([], [])))
                if len(nodes) - 1 > max_words:
                    raise GrammarError(
                        f"a sampled sentence exceeded {max_words} words; use automata that "
                        "stop sooner or raise max_words"
                    )
        at += 1
    return nodes


def _sentence_of(
    nodes: Sequence[_SampledNode],
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
        # A stack: the last modifier pushed, the outermost on the left, is popped first.
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
