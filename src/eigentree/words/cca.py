"""Word vectors by canonical correlation analysis between words and their contexts.

A token has two views: its word, a row of the indicator matrix W, and its context, the words at
distances 1 to h before it, L, and after it, R, with separate columns for each distance.  Canonical
correlation analysis finds the most correlated directions of two views X and Y, by the singular
value decomposition of

    (X'X)^(-1/2) X'Y (Y'Y)^(-1/2) = U diag(s) V',

and the directions of X are (X'X)^(-1/2) U (Dhillon et al. 2012):

- one step (OSCCA): words against contexts, X = W and Y = [L R];
- two steps (TSCCA): left against right contexts first, X = L and Y = R, with directions A and B;
  then words against the projected contexts, X = W and Y = [L A, R B].

W'W is diagonal.  For contexts X'X is approximated by its diagonal, as in the paper.  That is exact
for h = 1; otherwise it neglects the dependence between words of a context.  In the second step
[L A, R B] has few columns, and is whitened exactly.  Views are not centred, since indicators are
sparse; so the first direction mainly reflects the frequency of a word.

Words outside the vocabulary are treated as one word, whose vector is that of unknown words.  A
separate symbol represents positions beyond the ends of a sentence.

With `square_root` the counts of pairs and of single words are replaced by their square roots, which
keeps frequent pairs from dominating.  The second of two steps has no such counts.

References
----------
Dhillon et al. 2012; Stratos, Collins and Hsu 2015 for square roots.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import linalg, sparse

from eigentree._core.random import generator
from eigentree.errors import SettingsError, check_range
from eigentree.linalg.svd import ROUNDING, truncated_svd
from eigentree.types import Floats, Ints, Progress
from eigentree.words.vectors import UNKNOWN, WordVectors, mean_of_rarest
from eigentree.words.vocabulary import NumberedText, number_words, pairs_within

Method = Literal["one-step", "two-step"]

STAGE = "word vectors"


@dataclass(frozen=True)
class CCAOptions:
    """Settings of word vectors by canonical correlation analysis.

    Attributes
    ----------
    dimensions
        Length of a vector.
    window
        Context words on either side, h in the paper.
    vocabulary
        Number of words, the most frequent, with a vector of their own.
    method
        ``one-step`` for OSCCA, ``two-step`` for TSCCA.
    square_root
        Whether counts are replaced by their square roots; the paper uses counts.
    """

    dimensions: int = 50
    window: int = 2
    vocabulary: int = 30_000
    method: Method = "one-step"
    square_root: bool = True

    def __post_init__(self) -> None:
        check_range(1, dimensions=self.dimensions, window=self.window, vocabulary=self.vocabulary)
        if self.method not in get_args(Method):
            raise SettingsError(f"method is {self.method!r}; it must be one-step or two-step")


def learn_cca(
    sentences: Iterable[Sequence[str]],
    options: CCAOptions = CCAOptions(),
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> WordVectors:
    """Learn vectors for the words of a text.

    Parameters
    ----------
    sentences
        Words of each sentence; ``<unk>`` is a word outside the vocabulary.
    options
        Length of vectors, contexts, one step or two.
    seed
        Seed of the decompositions.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Returns
    -------
    WordVectors
        Words sorted by frequency.  Over the tokens of the text coordinates are uncorrelated with
        mean square 1, except for one step with square roots.  Signs are
        fixed.  Without words outside the vocabulary, unknown words get the mean of the rarest.

    Raises
    ------
    SettingsError
        When the text has too few words for so many dimensions.

    Cost
    ----
    O(n h D) for n tokens and D dimensions in one step; two steps take O(n h^2 D).

    References
    ----------
    dhillon-2012, sections 2 and 3.
    """
    if progress is not None:
        progress(STAGE, 0.0)
    text = number_words(sentences)
    words, numbers = _vocabulary(text, options.vocabulary)
    size = len(words) + 1
    word = _indicators(numbers[text.tokens], size)
    sides = [_contexts(numbers[text.tokens], text, size, step, options.window) for step in (-1, 1)]
    rng = generator(seed)
    if progress is not None:
        progress(STAGE, 0.2)
    count = _column_sums(word)
    correlation: sparse.csr_array | Floats
    if options.method == "one-step":
        context = sparse.csr_array(sparse.hstack(sides))
        correlation = _scaled(word, context, options.square_root)
    else:
        correlation = _second_step(word, sides, options, rng)
    if progress is not None:
        progress(STAGE, 0.6)
    found = truncated_svd(correlation, options.dimensions, rng)
    if len(found.values) < options.dimensions:
        raise SettingsError(
            f"dimensions is {options.dimensions}; this text allows at most {len(found.values)}"
        )
    rooted = options.square_root and options.method == "one-step"
    matrix = _directions(found.left, count, rooted).astype(np.float32)
    unknown = matrix[-1] if count[-1] else mean_of_rarest(matrix[:-1], count[:-1].astype(np.int64))
    return WordVectors(words, matrix[:-1], unknown)


def _vocabulary(text: NumberedText, most: int) -> tuple[tuple[str, ...], Ints]:
    """The words that get a vector, and each word's number among them; others have the last."""
    kept = [number for number, word in enumerate(text.words) if word != UNKNOWN][:most]
    numbers = np.full(len(text.words), len(kept), dtype=np.int32)
    numbers[kept] = np.arange(len(kept), dtype=np.int32)
    return tuple(text.words[number] for number in kept), numbers


def _indicators(columns: Ints, size: int) -> sparse.csr_array:
    """A row a token, axes (n size), with a one in each of its columns, axes (n) or (n ones)."""
    n, ones = len(columns), columns.reshape(len(columns), -1)
    starts = np.arange(n + 1) * ones.shape[1]
    return sparse.csr_array((np.ones(ones.size), ones.ravel(), starts), shape=(n, size))


def _contexts(
    tokens: Ints, text: NumberedText, size: int, step: int, window: int
) -> sparse.csr_array:
    """Indicators of the words before (step -1) or after (1) each token, axes (n, h (size + 1))."""
    width = size + 1  # the last column of each distance is for positions outside the sentence
    columns = np.full((len(tokens), window), size, dtype=np.int32)
    for distance in range(1, window + 1):
        first = pairs_within(text.starts, len(tokens), distance)
        here, there = (first, first + distance) if step > 0 else (first + distance, first)
        columns[here, distance - 1] = tokens[there]
    return _indicators(columns + width * np.arange(window, dtype=np.int32), window * width)


def _column_sums(indicators: sparse.csr_array) -> Floats:
    return np.bincount(indicators.indices, minlength=indicators.shape[1]).astype(np.float64)


def _scaled(left: sparse.csr_array, right: sparse.csr_array, square_root: bool) -> sparse.csr_array:
    """Counts of pairs, each divided by the roots of the counts of both."""
    counts = sparse.csr_array(left.T @ right)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    expected = np.sqrt(_column_sums(left)[rows] * _column_sums(right)[counts.indices])
    counts.data /= expected
    if square_root:
        counts.data = np.sqrt(counts.data)
    return counts


def _directions(singular: Floats, count: Floats, square_root: bool) -> Floats:
    """Singular vectors as directions of indicators, with mean square 1 over tokens."""
    share = np.divide(count.sum(), count, out=np.zeros(len(count)), where=count > 0)
    return np.asarray(singular * (share ** (0.25 if square_root else 0.5))[:, None])


def _second_step(
    word: sparse.csr_array,
    sides: list[sparse.csr_array],
    options: CCAOptions,
    rng: np.random.Generator,
) -> Floats:
    """The matrix to be decomposed in the second step, axes (words, 2 D)."""
    left, right = sides
    first = truncated_svd(_scaled(left, right, options.square_root), options.dimensions, rng)
    made: list[Any] = [
        _directions(singular, _column_sums(side), options.square_root)
        for singular, side in ((first.left, left), (first.right, right))
    ]
    # Of the projected contexts [L A, R B], never formed: their products with each other, ...
    blocks = [[made[i].T @ ((sides[i].T @ sides[j]) @ made[j]) for j in range(2)] for i in range(2)]
    values, vectors = linalg.eigh(np.block(blocks))
    kept = values > ROUNDING * values[-1]
    whitening = vectors[:, kept] / np.sqrt(values[kept])
    # ... and with words.
    products = np.hstack([(word.T @ side) @ each for side, each in zip(sides, made, strict=True)])
    count = _column_sums(word)
    inverse = np.divide(1.0, np.sqrt(count), out=np.zeros(len(count)), where=count > 0)
    return np.asarray(inverse[:, None] * (products @ whitening))
