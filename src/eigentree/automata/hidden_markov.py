"""Hidden Markov models of tagged sentences: the model, and learning it by counting.

A sentence w_1 .. w_n and its states s_1 .. s_n have the probability

    initial[s_1] emission[s_1, w_1] transition[s_1, s_2] emission[s_2, w_2] ... stop[s_n].

A state is the last tags of a sentence: one in a bigram model, two in a trigram model.  The last
of them emits the word, so states of one tag emit alike.

**Estimation.**  What follows a state is estimated from counts c, smoothed by the estimate from one
tag less:

    p(t | a, b) = (c(a, b, t) + prior p(t | b)) / (c(a, b) + prior),    p(t | b) = c(b, t) / c(b)

where t may be the end of the sentence.  All states are histories seen in the treebank, and the
probabilities of what follows each of them sum to 1.  The words of a tag have relative frequencies,
rare words by their class.

**Low rank.**  The transition matrix of S states may be replaced by two thin matrices, whose
product is close to it; then a word takes 4 S r multiplications instead of 2 S^2, for rank r (Cohen,
Satta and Collins 2013, section 7.2).  See `eigentree.automata.forward_backward`.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigentree._core.shapes import check_shapes, check_types
from eigentree.automata.forward_backward import StateMarginals, forward_backward
from eigentree.errors import GrammarError, check_range
from eigentree.linalg.low_rank import Method, low_rank
from eigentree.treebank.lexicon import Lexicon, LexiconOptions
from eigentree.types import Floats, Ints

# The tag before the first word.
START = -1
# Sums of probabilities may differ from 1 by this much.
ROUNDING = 1e-9


@dataclass(frozen=True)
class HiddenMarkovModel:
    """A hidden Markov model.

    Attributes
    ----------
    tags
        Names of the tags.
    lexicon
        Known words, and classes of unknown ones.
    tag : int32, axes (S)
        Number of each state's tag, rising; every tag has a state.
    initial : float64, axes (S)
        Probability of each state at the first word.
    transition : float64, axes (S, S)
        Probability of each next state, given that of the row.
    stop : float64, axes (S)
        Probability that the sentence ends after a state; the sum with the state's row of
        ``transition`` is 1.
    emission : float64, axes (tags, V)
        Probability of each entry of the lexicon, given the tag.
    factors : float64, axes (S, r) and (r, S)
        Two thin matrices that replace ``transition``; none for the matrix itself.

    Raises
    ------
    ShapeError
        When the arrays don't agree.
    GrammarError
        When a number is no probability, a sum isn't 1, or the tags of states are out of order.
    """

    tags: tuple[str, ...]
    lexicon: Lexicon
    tag: Ints
    initial: Floats
    transition: Floats
    stop: Floats
    emission: Floats
    factors: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        axes = {"initial": "S", "transition": "S S", "stop": "S", "emission": "tags V"}
        arrays = {name: getattr(self, name) for name in axes}
        sizes = {"tags": len(self.tags), "V": len(self.lexicon)}
        check_shapes(
            "HiddenMarkovModel",
            {"tag": (self.tag, "S")} | {name: (arrays[name], axes[name]) for name in axes},
            **sizes,
        )
        if self.factors:
            if len(self.factors) != 2:
                raise GrammarError(f"there are {len(self.factors)} factors; there must be 0 or 2")
            left, right = self.factors
            check_shapes(
                "HiddenMarkovModel",
                {"left": (left, "S r"), "right": (right, "r S")},
                S=len(self.tag),
            )
            check_types(
                "HiddenMarkovModel", {"left": (left, np.float64), "right": (right, np.float64)}
            )
        check_types("HiddenMarkovModel", {"tag": (self.tag, np.int32)})
        check_types("HiddenMarkovModel", {name: (arrays[name], np.float64) for name in axes})
        if not np.array_equal(np.unique(self.tag), np.arange(len(self.tags))) or np.any(
            np.diff(self.tag) < 0
        ):
            raise GrammarError(
                "the tags of states must rise, with a state for each tag and no others"
            )
        for name, array in arrays.items():
            if not np.all(array >= 0.0):
                raise GrammarError(f"{name} of a hidden Markov model holds a value below 0 or NaN")
        leaving = self.transition.sum(axis=1) + self.stop
        for name, total in (
            ("initial", self.initial.sum()),
            ("transition and stop of a state", leaving),
            ("emission of a tag", self.emission.sum(axis=1)),
        ):
            off = np.max(np.abs(total - 1.0))
            if not off <= ROUNDING:
                raise GrammarError(f"the sum of {name} differs from 1 by {off:.3g}; it must be 1")

    @property
    def n_states(self) -> int:
        return len(self.tag)

    def visits(self) -> Floats:
        """Axes (S): how often a sentence is expected to have each state; O(S^3)."""
        matrix = np.eye(self.n_states) - self.transition.T
        return np.asarray(np.linalg.solve(matrix, self.initial), dtype=np.float64)

    def likelihood(self, words: Sequence[str]) -> Floats:
        """Axes (n, S): probability of each word of a sentence, given each state."""
        return self.emission.T[self.lexicon.ids(words)][:, self.tag]

    def in_low_rank(self, rank: int, method: Method = "apr", *, seed: int = 0) -> HiddenMarkovModel:
        """The model with its transition matrix replaced by two thin ones.

        Parameters
        ----------
        rank
            Columns of the first matrix; `eigentree.linalg.low_rank.low_rank` describes the
            methods.  States are weighted by how often a sentence is expected to have them.
        method
            ``apr`` keeps marginals non-negative.
        seed
            Seed of the random start of ``apr`` and ``hals``.
        """
        factors = low_rank(self.transition, rank, method, weight=self.visits(), seed=seed)
        return replace(self, factors=factors)

    def marginals(self, words: Sequence[str]) -> StateMarginals | None:
        """Marginals of the states at each word; see `forward_backward`."""
        return forward_backward(
            self.initial, self.factors or (self.transition,), self.stop, self.likelihood(words)
        )

    def value(self, words: Sequence[str]) -> tuple[float, int]:
        """The logarithm of the absolute value of a sentence in nats, and its sign.

        Without factors the value is the sentence's probability.  A sentence without words, and
        one whose value is zero or not finite, give -inf and 0.
        """
        marginals = self.marginals(words) if words else None
        return (-math.inf, 0) if marginals is None else (marginals.log_value, marginals.sign)

    def tag_marginals(self, marginal: Floats) -> Floats:
        """Axes (n, tags): marginals of states, axes (n, S), summed over the states of each tag."""
        first = np.searchsorted(self.tag, np.arange(len(self.tags)))
        return np.asarray(np.add.reduceat(marginal, first, axis=1))


def count_hidden_markov(
    sentences: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    order: int = 3,
    prior: float = 1.0,
    lexicon: LexiconOptions = LexiconOptions(),
) -> HiddenMarkovModel:
    """Count a hidden Markov model of tagged sentences.

    Parameters
    ----------
    sentences
        Words and tags of each sentence; at least one word.
    order
        Length of the tag n-grams: 2 for bigrams, 3 for trigrams.
    prior
        Pseudo-count of the estimate from one tag less.
    lexicon
        How rare words are classed.

    Raises
    ------
    SettingsError
        When the order is below 2 or the prior below 0.
    GrammarError
        When there is no sentence, or one has no words or another number of tags.

    Cost
    ----
    O(words + S^2) for S states.

    References
    ----------
    rabiner-1989.
    """
    check_range(2, order=order)
    check_range(0, prior=prior)
    if not sentences or not all(
        len(words) == len(sentence_tags) > 0 for words, sentence_tags in sentences
    ):
        raise GrammarError("there are no sentences, or one has no words or another number of tags")
    tags = tuple(sorted({tag for _, sentence_tags in sentences for tag in sentence_tags}))
    number = {tag: at for at, tag in enumerate(tags)}
    stop = len(tags)
    uses: Counter[tuple[int, ...]] = Counter()
    for _, sentence_tags in sentences:
        padded = [START] * (order - 1) + [number[tag] for tag in sentence_tags] + [stop]
        uses.update(tuple(padded[at : at + order]) for at in range(len(sentence_tags) + 1))

    total: Counter[tuple[int, ...]] = Counter()
    shorter: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for (*history, last), n in uses.items():
        total[tuple(history)] += n
        shorter[tuple(history[1:])][last] += n

    def following(history: tuple[int, ...]) -> dict[int, float]:
        after = shorter[history[1:]]
        share = prior / after.total()
        whole = total[history] + prior
        return {last: (uses[*history, last] + share * n) / whole for last, n in after.items()}

    states = sorted({gram[1:] for gram in uses if gram[-1] != stop}, key=lambda state: state[::-1])
    place = {state: at for at, state in enumerate(states)}
    initial, ends = np.zeros((2, len(states)))
    transition = np.zeros((len(states), len(states)))
    beginning = (START,) * (order - 1)
    for last, probability in following(beginning).items():
        if last != stop:
            initial[place[*beginning[1:], last]] = probability
    for at, state in enumerate(states):
        for last, probability in following(state).items():
            if last == stop:
                ends[at] = probability
            else:
                transition[at, place[*state[1:], last]] = probability

    entries = Lexicon.learn((words for words, _ in sentences), lexicon)
    emission = np.zeros((len(tags), len(entries)))
    for words, sentence_tags in sentences:
        np.add.at(emission, ([number[tag] for tag in sentence_tags], entries.ids(words)), 1.0)
    return HiddenMarkovModel(
        tags,
        entries,
        np.array([state[-1] for state in states], dtype=np.int32),
        initial / initial.sum(),
        transition,
        ends,
        emission / emission.sum(axis=1, keepdims=True),
    )
