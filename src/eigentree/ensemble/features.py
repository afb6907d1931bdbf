"""What tells the candidates of a sentence apart: sparse features of trees.

A tree is the sum of its pieces, most of which it shares with other candidates of its sentence
(see `eigentree.ensemble.pieces`).  With A the pieces of each candidate and F the features of
each piece, by `eigentree.ensemble.schemata`,

    X = A F                                                                        (1)

has the features of each candidate.  Pieces that all candidates have are left out of A, and
features of one value from X: they can't tell candidates apart.  Values of X are hence counts up
to a constant of feature and sentence, which no model that compares candidates can notice.

Features are known by 64-bit keys, hashed from the text of their parts, which are the same on
every machine and in every run; among ten million features two share a key with a probability
of three in a million.
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

from eigentree.corpus.binarise import HeadFinder, Rightmost
from eigentree.corpus.trees import Tree, collector_paused
from eigentree.ensemble.pieces import Builder, Ints, Pieces
from eigentree.ensemble.schemata import SCHEMATA
from eigentree.errors import SettingsError
from eigentree.evaluate.sides import is_punctuation

Keys = NDArray[np.uint64]

# Sentences whose pieces are made together: enough for arrays to pay, few enough for memory.
BATCH = 64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """Which features trees have.

    Attributes
    ----------
    schemata
        Names, keys of `SCHEMATA`.
    function_words
        Words that the schema ``rule-function-words`` tells from others of their tag, say
        `frequent_words`.
    coordination
        Labels of words and phrases that join conjuncts; the default has those of the Penn
        Treebank, of NEGRA and TIGER, and of Universal Dependencies.
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
    """The n most frequent words that aren't punctuation; of equal ones the first by alphabet."""
    counts = Counter(word for tree in trees for word in tree.words())
    words = sorted(counts, key=lambda word: (-counts[word], word))
    return frozenset([word for word in words if not is_punctuation(word)][:n])


class Features(NamedTuple):
    """Features of the candidates of some sentences, up to constants of each sentence.

    Attributes
    ----------
    keys : uint64, axes (D)
        Sorted.
    values : sparse float32, axes (candidates, D)
        The candidates of all sentences, one after the other.
    offsets : int64, axes (sentences + 1)
        Where the candidates of each sentence begin.
    """

    keys: Keys
    values: sparse.csr_array
    offsets: Ints

    def differing(self) -> Ints:
        """Axes (D): the number of sentences in which a feature's value isn't always the same."""
        return np.bincount(_varying(self.values, self.offsets).indices, minlength=len(self.keys))


def extract(
    sentences: Sequence[Sequence[Tree]], options: FeatureOptions, heads: HeadFinder
) -> Features:
    """All features by which candidates of the same sentence differ.

    Parameters
    ----------
    sentences
        Candidates of each, at least one, over the same words.
    heads
        Finds head children.

    Raises
    ------
    ValueError
        When a sentence has no candidate or candidates have other words.

    Cost
    ----
    Linear in the nodes of all candidates, with a small constant; the features themselves are
    made once for each distinct piece.  Memory for all of it: see `FeatureTable` for many
    sentences.
    """
    builder = _builder(options, heads)
    with collector_paused():
        for candidates in sentences:
            builder.add(candidates)
    pieces = Pieces(builder)
    n_nodes, n_contexts = len(builder.nodes), len(builder.contexts)
    n_pieces = n_nodes + n_contexts
    offsets = _offsets([len(candidates) for candidates in sentences])
    n_candidates = np.diff(offsets)

    # A, of the pieces that not all candidates of a sentence have.
    sizes = np.array([len(each) for each in builder.candidates], dtype=np.int64)
    context = np.array([c for each in builder.candidates for c in each], dtype=np.int64)
    row = np.repeat(np.arange(len(sizes)), sizes)
    row = np.concatenate((row, row))
    piece = np.concatenate((pieces.node[context], n_nodes + context))
    needed = np.repeat(n_candidates, n_candidates)[row]
    kept = np.bincount(piece, minlength=n_pieces)[piece] < needed
    row, piece = row[kept], piece[kept]
    shape = len(sizes), n_pieces
    has = sparse.csr_array((np.ones(len(row)), (row, piece)), shape=shape)

    matters = np.zeros(n_pieces, dtype=bool)
    matters[piece] = True
    owners, hashes, values = [], [], []
    hash_of = np.array([_hash(text) for text in pieces.texts], dtype=np.uint64)
    for name in options.schemata:
        schema = SCHEMATA[name]
        first = n_nodes if schema.piece == "context" else 0
        for block in schema.blocks(pieces):
            chosen = np.flatnonzero(matters[first + block.owner])
            owners.append(first + block.owner[chosen])
            columns = tuple(column[chosen] for column in block.columns)
            hashes.append(_keys(name, block.variant, columns, hash_of, len(chosen)))
            ones = np.ones(len(block.owner), dtype=np.int64)
            values.append((ones if block.values is None else block.values)[chosen])
    keys, column = np.unique(np.concatenate(hashes), return_inverse=True)
    entries = np.concatenate(values).astype(np.float64), (np.concatenate(owners), column)
    of_piece = sparse.csr_array(entries, shape=(n_pieces, len(keys)))
    return _only_varying(keys, sparse.csr_array(has @ of_piece), offsets)


class Named(NamedTuple):
    """A feature as people read it, with its key and its value in a tree."""

    name: str
    key: int
    value: int


def describe(tree: Tree, options: FeatureOptions, heads: HeadFinder = Rightmost()) -> list[Named]:
    """All features of a tree, by schema and name: to read, and to find what a key means."""
    builder = _builder(options, heads)
    builder.add([tree])
    pieces = Pieces(builder)
    hash_of = np.array([_hash(text) for text in pieces.texts], dtype=np.uint64)
    found: list[Named] = []
    for schema in options.schemata:
        total: dict[tuple[str, int], int] = {}
        for block in SCHEMATA[schema].blocks(pieces):
            keys = _keys(schema, block.variant, block.columns, hash_of, len(block.owner))
            ones = np.ones(len(block.owner), dtype=np.int64)
            counts = ones if block.values is None else block.values
            for i, (key, value) in enumerate(zip(keys.tolist(), counts.tolist(), strict=True)):
                parts = [pieces.texts[column[i]] or "-" for column in block.columns]
                name = " | ".join((f"{schema} {block.variant}".strip(), *parts))
                total[name, key] = total.get((name, key), 0) + value
        found.extend(Named(name, key, total[name, key]) for name, key in sorted(total))
    return found


class FeatureTable:
    """The features that a model knows, each with its column.

    Parameters
    ----------
    keys : uint64, axes (D)
        Sorted.
    options, heads
        As the keys were extracted with.
    """

    def __init__(self, keys: Keys, options: FeatureOptions, heads: HeadFinder) -> None:
        self.keys = keys
        self.options = options
        self.heads = heads

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sequence[Tree]],
        options: FeatureOptions,
        heads: HeadFinder,
        *,
        least: int = 5,
        batch: int = BATCH,
    ) -> FeatureTable:
        """The features of a training set that tell candidates apart often enough.

        Parameters
        ----------
        sentences
            Candidates of each, at least one.
        least
            The number of sentences in which a feature must have different values at different
            candidates.
        batch
            Sentences in memory at a time; changes nothing else.

        Cost
        ----
        That of `extract`, and sorting the features; memory for all distinct ones, 16 bytes
        each, before rare ones go.

        References
        ----------
        charniak-2005, section 5.
        """
        keys = np.zeros(0, dtype=np.uint64)
        counts = np.zeros(0, dtype=np.int64)
        waiting: list[tuple[Keys, Ints]] = []
        n_waiting = 0
        for part in _batches(sentences, batch):
            found = extract(part, options, heads)
            waiting.append((found.keys, found.differing()))
            n_waiting += len(found.keys)
            # Merged when they outgrow what is there, so that each is seldom sorted again.
            if n_waiting > len(keys):
                keys, counts = _merge([(keys, counts), *waiting])
                waiting, n_waiting = [], 0
        keys, counts = _merge([(keys, counts), *waiting])
        return cls(keys[counts >= least], options, heads)

    def features(self, sentences: Sequence[Sequence[Tree]], *, batch: int = BATCH) -> Features:
        """The values of this table's features at the candidates of each sentence.

        Parameters
        ----------
        sentences
            Candidates of each, at least one.
        batch
            Sentences in memory at a time; changes nothing else.

        Returns
        -------
        Features
            With the table's keys.

        Cost
        ----
        That of `extract`; 8 bytes for each value that isn't 0.
        """
        indices = [np.zeros(0, dtype=np.int32)]
        values = [np.zeros(0, dtype=np.float32)]
        sizes = [np.zeros(1, dtype=np.int64)]
        for part in _batches(sentences, batch):
            found = extract(part, self.options, self.heads)
            column = np.searchsorted(self.keys, found.keys)
            known = np.isin(found.keys, self.keys, assume_unique=True)
            kept = known[found.values.indices]
            indices.append(column[found.values.indices[kept]].astype(np.int32))
            values.append(found.values.data[kept])
            row = np.repeat(np.arange(found.values.shape[0]), np.diff(found.values.indptr))
            sizes.append(np.bincount(row[kept], minlength=found.values.shape[0]))
        offsets = np.concatenate(
            ([0], np.cumsum([len(each) for each in sentences], dtype=np.int64))
        )
        pointers = np.cumsum(np.concatenate(sizes))
        if pointers[-1] <= np.iinfo(np.int32).max:
            pointers = pointers.astype(np.int32)  # else SciPy makes all indices 64 bits wide
        parts = np.concatenate(values), np.concatenate(indices), pointers
        shape = int(offsets[-1]), len(self.keys)
        return Features(self.keys, sparse.csr_array(parts, shape=shape), offsets)


def _builder(options: FeatureOptions, heads: HeadFinder) -> Builder:
    return Builder(heads, options.function_words, options.coordination)


def _offsets(sizes: Sequence[int]) -> Ints:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _keys(schema: str, variant: str, columns: tuple[Ints, ...], hash_of: Keys, n: int) -> Keys:
    """Hash each row's parts, in their order, into one key."""
    mixed = np.full(n, _hash(f"{schema} | {variant}"), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ hash_of[column]) * _GOLDEN
        mixed = (mixed ^ (mixed >> _HALF)) * _ODD
        mixed ^= mixed >> _HALF
    return mixed


def _varying(values: sparse.csr_array, offsets: Ints) -> sparse.csr_array:
    """Axes (sentences, D): true where a feature has more than one value in a sentence."""
    n = np.diff(offsets)
    shape = len(n), values.shape[0]
    ones = np.ones(values.shape[0])
    sums = sparse.csr_array((ones, np.arange(len(ones)), offsets), shape=shape)
    double = values.astype(np.float64)
    total, squares = sums @ double, sums @ double.multiply(double).tocsr()
    # n times a sum of squares is the square of the sum only where all values are equal.
    spread = sparse.csr_array(squares.multiply(n[:, None]) - total.multiply(total))
    varying = sparse.csr_array(spread > 0.5)
    varying.eliminate_zeros()
    return varying


def _only_varying(keys: Keys, values: sparse.csr_array, offsets: Ints) -> Features:
    """Leave out what is the same at all candidates of a sentence."""
    varying = _varying(values, offsets)
    is_varying = np.zeros(varying.shape, dtype=bool)
    of_row = np.repeat(np.arange(varying.shape[0]), np.diff(varying.indptr))
    is_varying[of_row, varying.indices] = True
    row = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    kept = is_varying[sentence[row], values.indices]
    used = is_varying.any(axis=0)
    column = np.cumsum(used) - 1
    pointers = np.concatenate(([0], np.cumsum(np.bincount(row[kept], minlength=values.shape[0]))))
    parts = (
        values.data[kept].astype(np.float32),
        column[values.indices[kept]].astype(np.int32),
        pointers.astype(np.int32),
    )
    shape = values.shape[0], int(used.sum())
    found = sparse.csr_array(parts, shape=shape)
    found.sort_indices()
    return Features(keys[used], found, offsets)


def _merge(parts: list[tuple[Keys, Ints]]) -> tuple[Keys, Ints]:
    """Sorted distinct keys with the sums of their counts."""
    keys, place = np.unique(np.concatenate([keys for keys, _ in parts]), return_inverse=True)
    counts = np.concatenate([counts for _, counts in parts])
    return keys, np.bincount(place, counts, len(keys)).astype(np.int64)


def _batches(sentences: Sequence[Sequence[Tree]], size: int) -> Iterator[Sequence[Sequence[Tree]]]:
    for start in range(0, len(sentences), size):
        yield sentences[start : start + size]
