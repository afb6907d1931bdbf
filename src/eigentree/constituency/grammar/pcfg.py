"""The plain PCFG: binary rules, words and roots with probabilities, as validated arrays.

It is a grammar of its own, the coarse grammar for pruning, and the backbone whose rules grammars
with latent states refine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eigentree._core.shapes import check_shapes, check_types
from eigentree.constituency.grammar.arrays import LexicalCandidates, RuleIndex
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.errors import GrammarError
from eigentree.treebank.lexicon import Lexicon

# Pseudo-count that smooths p(word | symbol) towards p(word | tag).
WORD_SMOOTHING = 10.0
# Larger counts are not exact.
LARGEST_COUNT = 2.0**53
# Few trees are deeper, and none uses other symbols there.
DEPTH = 50


@dataclass(frozen=True)
class WordTable:
    """The preterminals seen with each word, with counts.

    The probability of a word is p(w|a) = (c(a,w) + s p(w|t)) / (c(a) + s), where t is the
    tag of the preterminal a and s is `WORD_SMOOTHING`: symbols of one tag share their
    words.  A word never seen with a tag is treated as an unknown word of that tag; a tag
    without unknown words gives all its symbols the same value, so that none is preferred.

    Attributes
    ----------
    word, symbol : int32, axes (L)
        Pairs of lexicon entry and symbol, sorted, without repetition.
    count : float64, axes (L)
        Weighted count of each pair in training, positive.
    """

    symbols: SymbolTable
    lexicon: Lexicon
    word: NDArray[np.int32]
    symbol: NDArray[np.int32]
    count: NDArray[np.float64]
    _word_start: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    _symbol_count: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _tag_count: NDArray[np.float64] = field(init=False, repr=False, compare=False)
    _of_tag: list[NDArray[np.int32]] = field(init=False, repr=False, compare=False)
    _cache: dict[tuple[int, int], LexicalCandidates] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_shapes(
            "WordTable",
            {"word": (self.word, "L"), "symbol": (self.symbol, "L"), "count": (self.count, "L")},
        )
        check_types(
            "WordTable",
            {
                "word": (self.word, np.int32),
                "symbol": (self.symbol, np.int32),
                "count": (self.count, np.float64),
            },
        )
        n_words, n_symbols = len(self.lexicon), len(self.symbols)
        key = self.word.astype(np.int64) * n_symbols + self.symbol
        in_range = [
            len(values) == 0 or 0 <= values.min() <= values.max() < size
            for values, size in ((self.word, n_words), (self.symbol, n_symbols))
        ]
        if not (all(in_range) and np.all(np.diff(key) > 0)):
            raise GrammarError("the pairs of words and symbols are unsorted or out of range")
        if not np.all((self.count > 0) & (self.count < LARGEST_COUNT)):
            raise GrammarError(
                "a pair of word and symbol has a count that is not positive or too large"
            )
        tags = self.symbols.tag
        if np.any(tags[self.symbol] < 0):
            raise GrammarError("a word has a symbol that is not a preterminal")
        if len(np.unique(tags[self.symbol])) < len(self.symbols.tags):
            raise GrammarError("a tag has no word; every tag must have been seen with one")
        set_field = object.__setattr__
        set_field(self, "_word_start", np.searchsorted(self.word, np.arange(n_words + 1)))
        symbol_count = np.bincount(self.symbol, self.count, n_symbols)
        set_field(self, "_symbol_count", symbol_count)
        of_tag = [np.flatnonzero(tags == t).astype(np.int32) for t in range(len(self.symbols.tags))]
        set_field(self, "_of_tag", of_tag)
        set_field(self, "_tag_count", np.array([symbol_count[a].sum() for a in of_tag]))
        set_field(self, "_cache", {})

    @property
    def symbol_count(self) -> NDArray[np.float64]:
        """Axes (N): c(a) of each preterminal, 0 elsewhere."""
        return self._symbol_count

    @property
    def tag_count(self) -> NDArray[np.float64]:
        """Axes (tags): number of words seen with each tag."""
        return self._tag_count

    def entry_probability(self) -> NDArray[np.float64]:
        """Axes (L): p(w|a) of each seen pair, smoothed."""
        tag = self.symbols.tag[self.symbol].astype(np.int64)
        key = self.word.astype(np.int64) * len(self.symbols.tags) + tag
        _, group = np.unique(key, return_inverse=True)
        of_word_and_tag = np.bincount(group, self.count)[group] / self._tag_count[tag]
        return np.asarray(
            (self.count + WORD_SMOOTHING * of_word_and_tag)
            / (self._symbol_count[self.symbol] + WORD_SMOOTHING)
        )

    def tag_probability(self, word: int, tag: int) -> float:
        """p(w|t) consistent with `candidates`: the mean of p(w|a) over the tag's uses."""
        candidates = self.candidates(word, tag)
        symbol_count = self._symbol_count[candidates.symbol]
        return float(candidates.probability @ symbol_count / self._tag_count[tag])

    def tags_of(self, word: int) -> list[int]:
        """The tags seen with a lexicon entry."""
        rows = slice(*self._word_start[word : word + 2])
        return sorted(set(self.symbols.tag[self.symbol[rows]].tolist()))

    def candidates(self, word: int, tag: int) -> LexicalCandidates:
        """All preterminals that end in a tag, with p(word | preterminal)."""
        candidates = self._cache.get((word, tag))
        if candidates is None:
            candidates = self._cache[word, tag] = self._find(word, tag)
        return candidates

    def _find(self, word: int, tag: int) -> LexicalCandidates:
        symbol = self._of_tag[tag]
        rows = np.arange(*self._word_start[word : word + 2])
        rows = rows[self.symbols.tag[self.symbol[rows]] == tag]
        if not len(rows):
            unknown = self.lexicon.unknown
            if word != unknown:
                return self.candidates(unknown, tag)
            level = np.full(len(symbol), 1.0 / self._tag_count[tag])
            return LexicalCandidates(symbol, level, np.full(len(symbol), -1, dtype=np.int32))
        place = np.searchsorted(symbol, self.symbol[rows])
        count = np.zeros(len(symbol))
        count[place] = self.count[rows]
        entry = np.full(len(symbol), -1, dtype=np.int32)
        entry[place] = rows
        of_tag = count.sum() / self._tag_count[tag]
        probability = (count + WORD_SMOOTHING * of_tag) / (
            self._symbol_count[symbol] + WORD_SMOOTHING
        )
        return LexicalCandidates(symbol, probability, entry)


@dataclass(frozen=True)
class PCFG:
    """A binary PCFG.

    Attributes
    ----------
    words
        Words and their preterminals; holds the symbol table and the lexicon.
    parent, left, right : int32, axes (R)
        Symbols of each rule, sorted by left, right, parent.
    probability : float64, axes (R)
        p(left right | parent); with the words, sums to 1 for each parent.
    root : float64, axes (N)
        Probability of each symbol at the root; any symbol can be a root, so that one-word
        sentences parse.
    index
        The rules indexed for charts.
    uses : float64, axes (N)
        Expected number of uses of each symbol in a tree, down to `DEPTH` rules below its root.
    """

    words: WordTable
    parent: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    probability: NDArray[np.float64]
    root: NDArray[np.float64]
    index: RuleIndex = field(init=False, repr=False, compare=False)
    uses: NDArray[np.float64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        n_symbols = len(self.symbols)
        check_shapes(
            "PCFG",
            {
                "parent": (self.parent, "R"),
                "left": (self.left, "R"),
                "right": (self.right, "R"),
                "probability": (self.probability, "R"),
                "root": (self.root, "N"),
            },
            N=n_symbols,
        )
        check_types(
            "PCFG",
            {
                "parent": (self.parent, np.int32),
                "left": (self.left, np.int32),
                "right": (self.right, np.int32),
                "probability": (self.probability, np.float64),
                "root": (self.root, np.float64),
            },
        )
        for name in ("parent", "left", "right"):
            values = getattr(self, name)
            if len(values) and not 0 <= values.min() <= values.max() < n_symbols:
                raise GrammarError(
                    f"{name} of a rule ranges from {values.min()} to {values.max()}; symbols are "
                    f"numbered from 0 to {n_symbols - 1}"
                )
        if np.any(self.symbols.tag[self.parent] >= 0):
            raise GrammarError("a preterminal has a binary rule; it can only rewrite to words")
        order = np.lexsort((self.parent, self.right, self.left))
        rules = np.stack([self.left, self.right, self.parent])
        repeated = np.all(rules[:, 1:] == rules[:, :-1], axis=0)
        if not np.array_equal(order, np.arange(len(order))) or np.any(repeated):
            raise GrammarError(
                "rules must be sorted by left child, right child and parent, without repetition"
            )
        for name in ("probability", "root"):
            values = getattr(self, name)
            if not np.all((values >= 0) & (values <= 1 + 1e-9)):
                raise GrammarError(f"{name} has a value that is not a probability")
        if not self.root.sum() > 0:
            raise GrammarError("no symbol can be the root; at least one must")
        n_inner = self.symbols.n_inner
        index = RuleIndex.of(n_symbols, n_inner, self.parent, self.left, self.right)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "uses", self._uses())

    @property
    def root_label(self) -> str:
        """The most frequent label of a whole sentence that is a phrase."""
        phrases = np.where(self.symbols.tag < 0, self.root, -1.0)
        return self.symbols[int(np.argmax(phrases))].chain[0]

    def _uses(self) -> NDArray[np.float64]:
        at_depth = self.root / self.root.sum()
        uses = at_depth.copy()
        for _ in range(DEPTH):
            of_rules = at_depth[self.parent] * self.probability
            at_depth = np.bincount(self.left, of_rules, len(uses))
            at_depth += np.bincount(self.right, of_rules, len(uses))
            uses += at_depth
        # Rules whose probabilities sum to more than 1 would grow without limit.
        return uses if np.all(uses < LARGEST_COUNT) else np.ones(len(uses))

    @property
    def symbols(self) -> SymbolTable:
        return self.words.symbols

    @property
    def lexicon(self) -> Lexicon:
        return self.words.lexicon

    @property
    def n_rules(self) -> int:
        return len(self.parent)

    def tag_numbers(self, tags: Iterable[str]) -> list[int]:
        """Numbers of tags, -1 for unknown ones."""
        numbers = {tag: number for number, tag in enumerate(self.symbols.tags)}
        return [numbers.get(tag, -1) for tag in tags]


def equal_backbones(one: PCFG, other: PCFG) -> bool:
    """Whether two plain grammars have the same rules, words and numbers."""
    if one is other:
        return True
    pairs = [
        (getattr(left, name), getattr(right, name))
        for left, right, names in (
            (one, other, ("parent", "left", "right", "probability", "root")),
            (one.words, other.words, ("word", "symbol", "count")),
        )
        for name in names
    ]
    return (
        one.symbols == other.symbols
        and one.lexicon == other.lexicon
        and all(np.array_equal(*pair) for pair in pairs)
    )
