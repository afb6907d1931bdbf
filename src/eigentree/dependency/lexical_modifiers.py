"""Deterministic models of modifiers over words, with back-off to tags.

The modifiers of head h in direction d, read from the head outwards, are generated one by one, and
then the end.  A modifier a with tag t_a and word w_a has the probability

    p(a | h, d, s) = p(t_a | h, d, s) p(w_a | t_a, h, d, s),                           (1)

where the state s depends on the previous modifier's tag only (Luque et al. 2012, section 5.2).
The end is one of the outcomes of the first factor.  Both are mixtures of relative frequencies,
from fine to coarse conditions:

    first factor    {w_h, t_h, d, s}           {t_h, d, s}
    second factor   {t_a, w_h, t_h, d, s}      {t_a, t_h, d, s}      {t_a}

A level with count c and u distinct outcomes has the weight c / (c + 5 u) (Collins 1999), so

    p = (count + 5 u p_coarser) / (c + 5 u).

The paper gives the finest condition as w_h only, where a head is a word with its tag; the same is
done here, so that each level refines the next, as in Collins.  The coarsest level of each
factor has one more count, spread evenly over all outcomes including unknown ones,
so that no probability is 0.  The lexicon replaces rare and unknown words by classes of
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_starts, check_types
from eigentree.dependency._kernels_lexical_modifiers import fill_probabilities
from eigentree.dependency.arrays import ModifierCounts
from eigentree.errors import GrammarError
from eigentree.treebank.lexicon import Lexicon
from eigentree.types import Floats, Longs

LEVELS = ("by_word", "by_tag", "by_nothing")
# Charts are quadratic in the number of states, and more than this beyond the tags have no use.
_MORE_STATES = 3


class SentenceModifiers(NamedTuple):
    """A model's values for all pairs of words of a sentence; position 0 is the root.

    Attributes
    ----------
    step : float64, axes (n + 1, n + 1, S)
        Probability of a modifier, given its head and the state: ``step[h, m, s]``.  0 for pairs
        that are not arcs.
    stop : float64, axes (n + 1, 2, S)
        Probability that no further modifier follows, given head, direction and state.
    after : int64, axes (n + 1)
        State after each modifier; the first state is 0.
    """

    step: Floats
    stop: Floats
    after: Longs


@dataclass(frozen=True, eq=False)
class LexicalModifiers:
    """A deterministic model of modifiers over words.

    Tags are numbered 0 to T - 1; T is any other tag, T + 1 the end and, as a head, the root.
    Words have the numbers of the lexicon; the root is V.

    Attributes
    ----------
    tags
        Names of the tags.
    lexicon
        Known words, and classes of other words.
    after : int64, axes (T + 1)
        State after a modifier with each tag, below S; the first state is 0.
    by_word, by_tag, by_nothing
        Counts for the three kinds of context: number ((w_h (T + 2) + t_h) 2 + d) S + s, the
        same without w_h, and 0 alone.
    diversity
        Factor of the number of distinct outcomes against the count of a level, above 0.

    Raises
    ------
    ShapeError
        When the shapes of arrays do not agree.
    GrammarError
        When numbers are unsorted or out of range, counts do not add up, or the factor is not
        positive.
    """

    tags: tuple[str, ...]
    lexicon: Lexicon
    after: Longs
    by_word: ModifierCounts
    by_tag: ModifierCounts
    by_nothing: ModifierCounts
    diversity: float = 5.0
    _tag_numbers: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tag_numbers", {tag: at for at, tag in enumerate(self.tags)})
        where, n_tags = "LexicalModifiers", len(self.tags)
        check_shapes(where, {"after": (self.after, "tags")}, tags=n_tags + 1)
        check_types(where, {"after": (self.after, np.int64)})
        if len(self._tag_numbers) < n_tags:
            raise GrammarError("the tags of a model of modifiers must be distinct")
        last = n_tags + _MORE_STATES
        if np.any((self.after < 0) | (self.after > last)):
            raise GrammarError(f"a state after a modifier has a number outside 0 to {last}")
        if not 0.0 < self.diversity < np.inf:
            raise GrammarError(f"diversity is {self.diversity}; it must be above 0")
        n_states = self.n_states
        by_tag = (n_tags + 2) * 2 * n_states
        sizes = ((len(self.lexicon) + 1) * by_tag, by_tag, 1)
        for level, n_contexts in zip(LEVELS, sizes, strict=True):
            _check_counts(
                f"{where}.{level}", getattr(self, level), n_contexts, n_tags, self.lexicon
            )
        if len(self.by_nothing.context) != 1:
            raise GrammarError("by_nothing must have one context")

    @property
    def n_states(self) -> int:
        return int(self.after.max()) + 1

    @property
    def n_parameters(self) -> int:
        """Number of stored counts."""
        levels = (getattr(self, level) for level in LEVELS)
        return sum(len(level.tag_count) + len(level.word_count) for level in levels)

    def of_sentence(self, words: Sequence[str], tags: Sequence[str]) -> SentenceModifiers:
        """Probabilities of all modifiers of all heads of a sentence, all above 0.

        Parameters
        ----------
        words, tags
            One of each per word; unknown ones are allowed.

        Raises
        ------
        GrammarError
            When the numbers of words and tags differ.

        Cost
        ----
        O(n^2 S) look-ups.
        """
        n_states, n_tags, n_words = self.n_states, len(self.tags) + 2, len(self.lexicon)
        word, tag = sentence_numbers(words, tags, self._tag_numbers, self.lexicon)
        n = len(word)
        step, stop, base = np.zeros((n, n, n_states)), np.zeros((n, 2, n_states)), np.zeros(n)
        fill_probabilities(
            word,
            tag,
            self.by_word,
            self.by_tag,
            self.by_nothing,
            n_states,
            n_tags,
            n_words,
            float(self.diversity),
            base,
            step,
            stop,
        )
        after = np.zeros(n, dtype=np.int64)
        after[1:] = self.after[tag[1:]]
        return SentenceModifiers(step, stop, after)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the model, for `from_arrays`."""
        arrays: dict[str, NDArray[Any]] = {"modifiers.after": self.after}
        for level in LEVELS:
            counts = getattr(self, level)._asdict()
            arrays |= {f"modifiers.{level}.{name}": array for name, array in counts.items()}
        return arrays

    @classmethod
    def from_arrays(
        cls,
        tags: tuple[str, ...],
        lexicon: Lexicon,
        diversity: float,
        arrays: Mapping[str, NDArray[Any]],
    ) -> LexicalModifiers:
        """A model from the arrays of a file; other arrays are ignored.

        Raises
        ------
        KeyError
            When an array is missing.
        ShapeError, GrammarError
            When an array is invalid.
        """
        # Copies: kernels would be compiled again for read-only arrays.
        by_word, by_tag, by_nothing = (
            ModifierCounts(
                *(np.array(arrays[f"modifiers.{level}.{name}"]) for name in ModifierCounts._fields)
            )
            for level in LEVELS
        )
        after = np.array(arrays["modifiers.after"])
        return cls(tags, lexicon, after, by_word, by_tag, by_nothing, diversity)


def sentence_numbers(
    words: Sequence[str], tags: Sequence[str], tag_numbers: Mapping[str, int], lexicon: Lexicon
) -> tuple[Longs, Longs]:
    """Axes (n + 1): the numbers of words and tags of a sentence, those of the root first.

    Raises
    ------
    GrammarError
        When the numbers of words and tags differ.
    """
    if len(words) != len(tags):
        raise GrammarError(
            f"a sentence has {len(words)} words and {len(tags)} tags; it must have one tag per word"
        )
    unknown = len(tag_numbers)
    word = np.array([len(lexicon), *lexicon.ids(words)], dtype=np.int64)
    tag = [unknown + 1, *(tag_numbers.get(name, unknown) for name in tags)]
    return word, np.array(tag, dtype=np.int64)


def _check_counts(
    where: str, counts: ModifierCounts, n_contexts: int, n_tags: int, lexicon: Lexicon
) -> None:
    axes = {
        "context": "C",
        "tag": "E",
        "tag_count": "E",
        "word": "W",
        "word_count": "W",
    }
    sizes = check_shapes(where, {name: (getattr(counts, name), axes[name]) for name in axes})
    starts = {"tag_start": ("C", "E"), "word_start": ("E", "W")}
    for name, (outer, inner) in starts.items():
        start = getattr(counts, name)
        check_shapes(where, {name: (start, "starts")}, starts=sizes[outer] + 1)
        check_types(where, {name: (start, np.int64)})
        check_starts(where, name, start)
        if start[-1] != sizes[inner]:
            raise GrammarError(f"{where}: {name} ends with {start[-1]}, not with {sizes[inner]}")
    check_types(where, {"context": (counts.context, np.int64)})
    check_types(where, {name: (getattr(counts, name), np.int32) for name in list(axes)[1:]})
    ends = {
        "context": (np.array([0, sizes["C"]]), n_contexts),
        "tag": (counts.tag_start, n_tags + 2),
        "word": (counts.word_start, len(lexicon)),
    }
    for name, (start, size) in ends.items():
        numbers = getattr(counts, name)
        if np.any(numbers < 0) or np.any(numbers >= size):
            raise GrammarError(f"{where}: {name} has a number outside 0..{size - 1}")
        falls = np.diff(numbers) <= 0
        falls[start[1:-1][(start[1:-1] > 0) & (start[1:-1] < len(numbers))] - 1] = False
        if np.any(falls):
            raise GrammarError(f"{where}: {name} must increase")
    if np.any(counts.tag_count < 1) or np.any(counts.word_count < 1):
        raise GrammarError(f"{where}: a count is below 1")
    total = np.concatenate([[0], np.cumsum(counts.word_count, dtype=np.int64)])
    summed = np.diff(total[counts.word_start])
    if not np.array_equal(summed, np.where(counts.tag <= n_tags, counts.tag_count, 0)):
        raise GrammarError(f"{where}: the counts of a tag's words do not sum to the tag's count")
