"""Sparse features of the candidate trees of a sentence, for rerankers.

A tree is a sum of pieces, most of which it shares with other candidates of its sentence (see
`eigentree.constituency.ensemble.shared_parts`).  Let A be the pieces of each candidate, and F the
features of each piece by `eigentree.constituency.ensemble.feature_templates`.  Then

    X = A F                                                                        (1)

has the features of each candidate.  Pieces that all candidates have are omitted from A, and so are
features with the same value for all candidates from X, because they do not distinguish candidates.
So values in X are counts up to a constant per feature and sentence, which does not affect models
that compare candidates of the same sentence.

Features are identified by 64-bit keys, which are hashes of the text of their parts, the same on all
machines.  Among ten million features, the probability of a collision is three in a million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eigentree.constituency.ensemble.feature_templates import SCHEMATA, Block
from eigentree.constituency.ensemble.shared_parts import Builder, SharedParts
from eigentree.errors import SettingsError
from eigentree.evaluation.scored_tree import is_punctuation
from eigentree.treebank.binarise import HeadFinder, Rightmost
from eigentree.treebank.tree import Tree, collector_paused
from eigentree.types import Keys, Longs

# Sentences per batch of feature extraction, a compromise between time and memory.
BATCH = 64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


@dataclass(frozen=True)
class RerankerFeatureOptions:
    """Options of feature extraction.

    Attributes
    ----------
    schemata
        Names of schemata, keys of `SCHEMATA`.
    function_words
        Words that the schema ``rule-function-words`` distinguishes from others with the same tag,
        for example `frequent_words`.
    coordination
        Labels of words and phrases that join conjuncts; the default has those of the Penn
        Treebank, NEGRA and TIGER, and Universal Dependencies.
    """

    schemata: tuple[str, ...] = tuple(SCHEMATA)
    function_words: frozenset[str] = frozenset()
    coordination: frozenset[str] = frozenset({"CC", "CONJP", "KON", "CKON", "CCONJ"})

    def __post_init__(self) -> None:
        unknown = set(self.schemata) - set(SCHEMATA)
        if unknown or not self.schemata:
            raise SettingsError(
                f"schemata {sorted(unknown) or 'are empty'}; choose from {', '.join(SCHEMATA)}"
            )


def frequent_words(trees: Iterable[Tree], n: int = 200) -> frozenset[str]:
    """The n most frequent words except punctuation; ties are broken alphabetically."""
    counts = Counter(word for tree in trees for word in tree.words())
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return frozenset([word for word in words if not is_punctuation(word)][:n])


class Features(NamedTuple):
    """Features of the candidates of some sentences, up to a constant per feature and sentence.

    Attributes
    ----------
    keys : uint64, axes (D)
        Sorted.
    values : sparse float32, axes (candidates, D)
        The candidates of all sentences, sentence by sentence.
    offsets : int64, axes (sentences + 1)
        First row of each sentence.
    differing : int64, axes (D)
        Number of sentences in which candidates differ in the feature.
    """

    keys: Keys
    values: sparse.csr_array
    offsets: Longs
    differing: Longs


def extract(
    sentences: Sequence[Sequence[Tree]], options: RerankerFeatureOptions, heads: HeadFinder
) -> Features:
    """All features in which candidates of the same sentence differ.

    Parameters
    ----------
    sentences
        The candidates of each sentence, at least one, with the same words.
    heads
        Finds head children.

    Raises
    ------
    ValueError
        When a sentence has no candidates, or its candidates differ in their words.

    Cost
    ----
    Linear in the nodes of all candidates, with a small constant; features are computed once for
    each distinct piece.  Memory for all sentences at once; use `FeatureTable` for many sentences.
    """
    builder = Builder(heads, options.function_words, options.coordination)
    with collector_paused():
        for candidates in sentences:
            builder.add(candidates)
    pieces = SharedParts(builder)
    offsets = _offsets(sentences)
    has = _distinctive(builder.candidates, pieces, offsets)
    keys, of_piece = _of_pieces(pieces, np.unique(has.indices), options)
    return _only_differing(keys, sparse.csr_array(has @ of_piece), offsets)


class Named(NamedTuple):
    """A feature with a readable name, its key, and its value in a tree."""

    name: str
    key: int
    value: int


def describe(
    tree: Tree, options: RerankerFeatureOptions, heads: HeadFinder = Rightmost()
) -> list[Named]:
    """All features of a tree with readable names, by schema and name."""
    builder = Builder(heads, options.function_words, options.coordination)
    builder.add([tree])
    pieces = SharedParts(builder)
    hash_of = _hashes(pieces.texts)
    features: list[Named] = []
    for schema in options.schemata:
        total: Counter[tuple[str, int]] = Counter()
        for block in SCHEMATA[schema].blocks(pieces):
            keys = _keys(schema, block, slice(None), hash_of).tolist()
            for i, (key, value) in enumerate(zip(keys, _values(block).tolist(), strict=True)):
                parts = [pieces.texts[column[i]] or "-" for column in block.columns]
                total[" | ".join((f"{schema} {block.variant}".strip(), *parts)), key] += value
        features.extend(Named(name, key, total[name, key]) for name, key in sorted(total))
    return features


class FeatureTable:
    """The features of a model; each is a column of its feature matrix.

    Parameters
    ----------
    keys : uint64, axes (D)
        Sorted.
    options, heads
        As in the extraction of the keys.
    """

    def __init__(self, keys: Keys, options: RerankerFeatureOptions, heads: HeadFinder) -> None:
        self.keys = keys
        self.options = options
        self.heads = heads

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[Tree]],
        options: RerankerFeatureOptions,
        heads: HeadFinder,
        *,
        least: int = 5,
        batch: int = BATCH,
    ) -> FeatureTable:
        """The features that differ between candidates in enough sentences of a training set.

        Parameters
        ----------
        sentences
            The candidates of each sentence, at least one.
        least
            Minimum number of sentences in which candidates differ in the feature.
        batch
            Number of sentences in memory at a time; does not affect the result.

        Cost
        ----
        That of `extract`, plus sorting the features; memory of 16 bytes for each distinct feature,
        rare ones included.

        References
        ----------
        charniak-2005.
        """
        keys = np.zeros(0, dtype=np.uint64)
        counts = np.zeros(0, dtype=np.int64)
        waiting: list[tuple[Keys, Longs]] = []
        n_waiting = 0
        for part in _batches(sentences, batch):
            extracted = extract(part, options, heads)
            waiting.append((extracted.keys, extracted.differing))
            n_waiting += len(extracted.keys)
            # Merged when they outnumber the merged ones, so that features are rarely sorted again.
            if n_waiting > len(keys):
                keys, counts = _merge([(keys, counts), *waiting])
                waiting, n_waiting = [], 0
        keys, counts = _merge([(keys, counts), *waiting])
        return cls(keys[counts >= least], options, heads)

    def features(self, sentences: Sequence[Sequence[Tree]], *, batch: int = BATCH) -> Features:
        """The values of this table's features for the candidates of each sentence.

        Parameters
        ----------
        sentences
            The candidates of each sentence, at least one.
        batch
            Number of sentences in memory at a time; does not affect the result.

        Returns
        -------
        Features
            With the keys of the table.

        Cost
        ----
        That of `extract`; memory of 8 bytes per non-zero value.
        """
        indices = [np.zeros(0, dtype=np.int32)]
        values = [np.zeros(0, dtype=np.float32)]
        sizes = [np.zeros(1, dtype=np.int64)]
        differing = np.zeros(len(self), dtype=np.int64)
        for part in _batches(sentences, batch):
            extracted = extract(part, self.options, self.heads)
            matrix = extracted.values
            known = np.isin(extracted.keys, self.keys, assume_unique=True)
            column = np.searchsorted(self.keys, extracted.keys)
            differing[column[known]] += extracted.differing[known]
            kept = known[matrix.indices]
            indices.append(column[matrix.indices[kept]].astype(np.int32))
            values.append(matrix.data[kept])
            sizes.append(np.bincount(_rows(matrix)[kept], minlength=matrix.shape[0]))
        offsets = _offsets(sentences)
        pointers = np.cumsum(np.concatenate(sizes))
        if pointers[-1] <= np.iinfo(np.int32).max:
            pointers = pointers.astype(np.int32)  # otherwise SciPy converts all indices to 64 bits
        parts = np.concatenate(values), np.concatenate(indices), pointers
        matrix = sparse.csr_array(parts, shape=(int(offsets[-1]), len(self)))
        return Features(self.keys, matrix, offsets, differing)


def _distinctive(
    candidates: list[list[int]], pieces: SharedParts, offsets: Longs
) -> sparse.csr_array:
    """A of equation (1), without pieces that all candidates of a sentence have.

    Nodes come first, then contexts.
    """
    n_nodes = len(pieces.label)
    n_pieces = n_nodes + len(pieces.node)
    context = np.array([number for each in candidates for number in each], dtype=np.int64)
    row = np.repeat(np.arange(len(candidates)), [len(each) for each in candidates])
    row = np.concatenate((row, row))
    piece = np.concatenate((pieces.node[context], n_nodes + context))
    n_candidates = np.repeat(np.diff(offsets), np.diff(offsets))
    kept = np.bincount(piece, minlength=n_pieces)[piece] < n_candidates[row]
    entries = np.ones(int(kept.sum())), (row[kept], piece[kept])
    return sparse.csr_array(entries, shape=(len(candidates), n_pieces))


def _of_pieces(
    pieces: SharedParts, selected: NDArray[np.integer], options: RerankerFeatureOptions
) -> tuple[Keys, sparse.csr_array]:
    """The sorted keys of all features of the selected pieces, and F of equation (1)."""
    n_nodes = len(pieces.label)
    n_pieces = n_nodes + len(pieces.node)
    is_selected = np.zeros(n_pieces, dtype=bool)
    is_selected[selected] = True
    hash_of = _hashes(pieces.texts)
    owners: list[Longs] = []
    hashes: list[Keys] = []
    values: list[Longs] = []
    for name in options.schemata:
        first = n_nodes if SCHEMATA[name].piece == "context" else 0
        for block in SCHEMATA[name].blocks(pieces):
            kept = np.flatnonzero(is_selected[first + block.owner])
            owners.append(first + block.owner[kept])
            hashes.append(_keys(name, block, kept, hash_of))
            values.append(_values(block)[kept])
    keys, column = np.unique(np.concatenate(hashes), return_inverse=True)
    entries = np.concatenate(values).astype(np.float64), (np.concatenate(owners), column)
    return keys, sparse.csr_array(entries, shape=(n_pieces, len(keys)))


def _values(block: Block) -> Longs:
    return np.ones(len(block.owner), dtype=np.int64) if block.values is None else block.values


def _hashes(texts: Sequence[str]) -> Keys:
    return np.array([_hash(text) for text in texts], dtype=np.uint64)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _keys(schema: str, block: Block, kept: Longs | slice, hash_of: Keys) -> Keys:
    """The key of each kept row: a hash of its parts in order."""
    start = _hash(f"{schema} | {block.variant}")
    mixed = np.full(len(block.owner[kept]), start, dtype=np.uint64)
    for column in block.columns:
        mixed = (mixed ^ hash_of[column[kept]]) * _GOLDEN
        mixed = (mixed ^ (mixed >> _HALF)) * _ODD
        mixed ^= mixed >> _HALF
    return mixed


def _only_differing(keys: Keys, counts: sparse.csr_array, offsets: Longs) -> Features:
    """Remove from each sentence the features with the same value for all of its candidates."""
    n = np.diff(offsets)
    sentence = np.repeat(np.arange(len(n)), n)
    parts = np.ones(len(sentence)), np.arange(len(sentence)), offsets
    gather = sparse.csr_array(parts, shape=(len(n), len(sentence)))
    squared = sparse.csr_array((counts.data**2, counts.indices, counts.indptr), shape=counts.shape)
    # Counts are positive, so both sums have the same non-zero entries.
    sums, squares = gather @ counts, gather @ squared
    of_sums = _rows(sums)
    # n times the sum of squares equals the square of the sum only if all n values are equal.
    spread = n[of_sums] * squares.data - sums.data**2
    differs = np.zeros(sums.shape, dtype=bool)
    differs[of_sums, sums.indices] = spread > 0.5
    differing = differs.sum(axis=0)
    used = differing > 0
    row = _rows(counts)
    kept = differs[sentence[row], counts.indices]
    column = np.cumsum(used) - 1
    entries = counts.data[kept].astype(np.float32), (row[kept], column[counts.indices[kept]])
    values = sparse.csr_array(entries, shape=(len(sentence), int(used.sum())))
    return Features(keys[used], values, offsets, differing[used])


def _rows(matrix: sparse.csr_array) -> Longs:
    """The row of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _offsets(sentences: Sequence[Sequence[Tree]]) -> Longs:
    return np.cumsum([0, *map(len, sentences)], dtype=np.int64)


def _merge(parts: list[tuple[Keys, Longs]]) -> tuple[Keys, Longs]:
    """Sorted distinct keys with the sums of their counts."""
    keys, place = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.concatenate([counts for _, counts in parts])
    return keys, np.bincount(place, counts, len(keys)).astype(np.int64)


def _batches(sentences: Sequence[Sequence[Tree]], size: int) -> Iterator[Sequence[Sequence[Tree]]]:
    for start in range(0, len(sentences), size):
        yield sentences[start : start + size]
