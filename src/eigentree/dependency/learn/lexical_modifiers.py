"""Counting modifiers of words: the deterministic lexical models.

The states are those of Collins (1999), as used by Luque et al. (2012, section 5.2):

``one-state``
    LEX: one state.
``first``
    LEX+F: before the first modifier of a sequence, and after it.
``coordination-punctuation``
    LEX+FCP: before the first modifier, after a coordination, after punctuation, and after any
    other word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from eigentree._core.arguments import check_choice
from eigentree.dependency.arrays import ModifierCounts
from eigentree.dependency.lexical_modifiers import LexicalModifiers, sentence_numbers
from eigentree.errors import GrammarError, SettingsError
from eigentree.treebank.lexicon import Lexicon, LexiconOptions
from eigentree.types import Longs

States = Literal["one-state", "first", "coordination-punctuation"]
# Names of the paper.
OF_THE_PAPER: dict[str, States] = {
    "lex": "one-state",
    "lex+f": "first",
    "lex+fcp": "coordination-punctuation",
}

# Penn Treebank and relatives, Stuttgart-Tübingen tag set, Universal Dependencies.
COORDINATION = ("CC", "KON", "CCONJ")
PUNCTUATION = (
    *(",", ".", ":", "``", "''", '"', "-LRB-", "-RRB-", "(", ")", "HYPH", "NFP"),
    *("$,", "$.", "$("),
    "PUNCT",
)


# Maximum steps in one direction of the search for a weight, and the total number of weights then:
# the first, one in the other direction, and two in between.
STEPS = 3
MAX_WEIGHTS = STEPS + 4


class HeadedSentence(NamedTuple):
    """A sentence with its tree.

    Attributes
    ----------
    words, tags
        One of each per word.
    heads
        The head of each word: words count from 1, 0 is the root.
    """

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]


@dataclass(frozen=True)
class LexicalModifierOptions:
    """How lexical models of modifiers are counted.

    Attributes
    ----------
    states
        ``one-state``, ``first`` or ``coordination-punctuation``.
    diversity
        Factor of the number of distinct outcomes against the count of a level.
    coordination, punctuation
        Tags of conjunctions and of punctuation; a tag in both sets is a conjunction.
    lexicon
        Which words are rare, and their classes.
    """

    states: States = "coordination-punctuation"
    diversity: float = 5.0
    coordination: tuple[str, ...] = COORDINATION
    punctuation: tuple[str, ...] = PUNCTUATION
    lexicon: LexiconOptions = LexiconOptions()

    def __post_init__(self) -> None:
        check_choice(States, states=self.states)
        if not 0.0 < self.diversity < np.inf:
            raise SettingsError(f"diversity is {self.diversity}; it must be above 0")


def count_lexical_modifiers(
    sentences: Iterable[HeadedSentence], options: LexicalModifierOptions = LexicalModifierOptions()
) -> LexicalModifiers:
    """Count the modifiers of a treebank.

    Parameters
    ----------
    sentences
        Trees, projective or not.

    Raises
    ------
    GrammarError
        When there are no sentences, or one does not have one tag and one head per word, or a head
        is out of range.

    Cost
    ----
    O(n log n) for n words: about 4 s for 200,000.
    """
    headed = list(sentences)
    tags = tuple(sorted({tag for sentence in headed for tag in sentence.tags}))
    lexicon = Lexicon.learn((sentence.words for sentence in headed), options.lexicon)
    after = _states_after(tags, options)
    word, tag, head = _numbered(headed, tags, lexicon)

    # Every head has two sequences of modifiers, each with an end; the root has one.
    position = np.arange(len(word))
    is_root = tag == len(tags) + 1
    modifier = position[~is_root]
    direction = (modifier > head[modifier]).astype(np.int64)
    distance = np.abs(modifier - head[modifier])
    order = np.lexsort((distance, direction, head[modifier]))
    modifier, sequence = modifier[order], (2 * head[modifier] + direction)[order]
    is_first = np.diff(sequence, prepend=-1) != 0
    previous = np.roll(modifier, 1)
    state = np.where(is_first, 0, after[tag[previous]]) if len(modifier) else modifier
    ends = np.arange(2 * len(word))
    ends = ends[(ends % 2 == 1) | ~is_root[ends // 2]]
    end_state = np.zeros(2 * len(word), dtype=np.int64)
    end_state[sequence] = after[tag[modifier]]  # the last modifier of each sequence overwrites

    n_states = int(after.max()) + 1
    sequence = np.concatenate([sequence, ends])
    state = np.concatenate([state, end_state[ends]])
    context_tag = (tag[sequence // 2] * 2 + sequence % 2) * n_states + state
    context_word = word[sequence // 2] * ((len(tags) + 2) * 2 * n_states) + context_tag
    ended = np.zeros(len(ends), dtype=np.int64)
    outcome_tag = np.concatenate([tag[modifier], ended + len(tags) + 1])
    outcome_word = np.concatenate([word[modifier], ended])
    by_word, by_tag, by_nothing = (
        _counted(context, outcome_tag, outcome_word, len(tags), len(lexicon))
        for context in (context_word, context_tag, np.zeros_like(context_tag))
    )
    return LexicalModifiers(tags, lexicon, after, by_word, by_tag, by_nothing, options.diversity)


def search_weight(
    score: Callable[[float], float], *, first: float = 1.0, factor: float = 2.0, steps: int = STEPS
) -> float:
    """The weight of a lexical model in a combination that scores best on held-out sentences.

    Starting from the first weight, multiplies or divides by the factor while the score rises; then
    tries the geometric means between the best weight and its neighbours.

    Parameters
    ----------
        Score of a weight, such as attachment; higher is better.
        Of a weight, the higher the better, such as attachment; called for few weights.
        Initial weight, above 0, and step factor, above 1.
        Where it begins, above 0, and its steps, above 1.
        Maximum steps in one direction.
        Most steps in one direction.
    """
    if not 0.0 < first < np.inf or not 1.0 < factor < np.inf:
        raise SettingsError(
            f"the first weight is {first} and the factor {factor}; they must be above 0 and above 1"
        )
    best, best_score = first, score(first)
    for ratio in (factor, 1.0 / factor):
        for _ in range(steps):
            reached = score(best * ratio)
            if reached <= best_score:
                break
            best, best_score = best * ratio, reached
        if best != first:
            break
    tried = [(score(best * ratio), best * ratio) for ratio in (factor**-0.5, factor**0.5)]
    reached, weight = max(tried)
    return weight if reached > best_score else best


def _states_after(tags: Sequence[str], options: LexicalModifierOptions) -> Longs:
    """Axes (T + 1): the state after a modifier with each tag, the last for unknown ones."""
    if options.states != "coordination-punctuation":
        return np.full(len(tags) + 1, int(options.states == "first"), dtype=np.int64)
    after = [
        1 if tag in options.coordination else 2 if tag in options.punctuation else 3 for tag in tags
    ]
    return np.array([*after, 3], dtype=np.int64)


def _numbered(
    sentences: Sequence[HeadedSentence], tags: Sequence[str], lexicon: Lexicon
) -> tuple[Longs, Longs, Longs]:
    """Axes (n): word, tag and head position of all positions, each sentence's root before it."""
    numbers = {tag: at for at, tag in enumerate(tags)}
    words, all_tags, heads = [], [], []
    start = 0
    for number, sentence in enumerate(sentences, start=1):
        word, tag = sentence_numbers(sentence.words, sentence.tags, numbers, lexicon)
        head = np.array([0, *sentence.heads], dtype=np.int64)
        if len(head) != len(word) or np.any(head < 0) or np.any(head >= len(word)):
            raise GrammarError(
                f"sentence {number} must have one head per word, a number from 0 to {len(word) - 1}"
            )
        words.append(word)
        all_tags.append(tag)
        heads.append(head + start)
        start += len(word)
    if not words:
        raise GrammarError("there are no sentences to count modifiers in")
    return np.concatenate(words), np.concatenate(all_tags), np.concatenate(heads)


def _counted(context: Longs, tag: Longs, word: Longs, n_tags: int, n_words: int) -> ModifierCounts:
    """Counts of outcomes in contexts; the end of a sequence is a tag without words."""
    contexts, context_at = np.unique(context, return_inverse=True)
    outcome = context_at.astype(np.int64) * (n_tags + 2) + tag
    outcomes, outcome_at, tag_count = np.unique(outcome, return_inverse=True, return_counts=True)
    has_word = tag <= n_tags
    used = outcome_at[has_word].astype(np.int64) * n_words + word[has_word]
    uses, word_count = np.unique(used, return_counts=True)
    return ModifierCounts(
        contexts,
        np.searchsorted(outcomes, np.arange(len(contexts) + 1) * (n_tags + 2)).astype(np.int64),
        (outcomes % (n_tags + 2)).astype(np.int32),
        tag_count.astype(np.int32),
        np.searchsorted(uses, np.arange(len(outcomes) + 1) * n_words).astype(np.int64),
        (uses % n_words).astype(np.int32),
        word_count.astype(np.int32),
    )
