"""Counting a hidden Markov model of tags: bigrams, trigrams or longer.

A state holds the last tags of a sentence, two of them in a trigram model.  What follows it is
estimated from counts c, with the estimate from one tag less as so many uses more:

    p(t | a, b) = (c(a, b, t) + prior p(t | b)) / (c(a, b) + prior),    p(t | b) = c(b, t) / c(b)

where t may be the end of the sentence.  So all states are histories of the treebank, and all
their probabilities sum to 1.  Words of a tag have relative frequencies, rare words by their class.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from eigentree.automata.hidden_markov import HiddenMarkovModel
from eigentree.errors import GrammarError, SettingsError
from eigentree.treebank.lexicon import Lexicon, LexiconOptions

START = -1


def count_hidden_markov(
    sentences: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    order: int = 3,
    prior: float = 1.0,
    lexicon: LexiconOptions = LexiconOptions(),
) -> HiddenMarkovModel:
    """The hidden Markov model of tagged sentences.

    Parameters
    ----------
    sentences
        Words and tags of each, at least one word.
    order
        Tags that are looked at together: 2 for bigrams, 3 for trigrams.
    prior
        Weight of the estimate from one tag less, in uses.
    lexicon
        How rare words are classed.

    Cost
    ----
    Linear in the number of words, and S^2 numbers for S states.
    """
    if order < 2 or not prior >= 0.0:
        raise SettingsError(f"order is {order} and prior {prior}; they must be at least 2 and 0")
    if not sentences or not all(len(words) == len(own) > 0 for words, own in sentences):
        raise GrammarError(
            "there are no sentences to count, or one has no words or another number of tags"
        )
    tags = tuple(sorted({tag for _, own in sentences for tag in own}))
    number = {tag: at for at, tag in enumerate(tags)}
    stop = len(tags)
    uses: Counter[tuple[int, ...]] = Counter()
    for _, own in sentences:
        padded = [START] * (order - 1) + [number[tag] for tag in own] + [stop]
        uses.update(tuple(padded[at : at + order]) for at in range(len(own) + 1))

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
    for words, own in sentences:
        np.add.at(emission, ([number[tag] for tag in own], entries.ids(words)), 1.0)
    return HiddenMarkovModel(
        tags,
        entries,
        np.array([state[-1] for state in states], dtype=np.int32),
        initial / initial.sum(),
        transition,
        ends,
        emission / emission.sum(axis=1, keepdims=True),
    )
