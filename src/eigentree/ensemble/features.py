"""What tells the candidates of a sentence apart: features of trees, in the field's usual kinds.

A feature is a pattern and its value the number of times the tree has it.  Kinds of patterns
are *schemata*; `SCHEMATA` has them by name.  Rules with what is above them, heads and their
projections, neighbours, heaviness and parallel conjuncts are those of Collins (2000) and
Charniak and Johnson (2005); words at the edges and splits of spans and the shapes of spans are
those of Hall, Durrett and Klein (2014).  None knows a language: heads come from a table,
punctuation from Unicode, and which labels coordinate from the options.

Candidates of a sentence share most of their nodes.  So a tree is taken for the sum of its
*pieces*, each of which stands once for the whole sentence: its nodes (a label over words, with
all that is below) and its nodes in context (with the two labels above and the tags at both
sides).  With A the pieces of each candidate and F the features of each piece,

    X = A F                                                                        (1)

has the features of each candidate.  Pieces that all candidates have are left out of A, and
features of one value from X: they can't tell candidates apart.  Values of X are hence counts up
to a constant of feature and sentence, which no model that compares candidates can notice.

Features are known by 64-bit keys, hashed from the text of their parts, which are the same on
every machine and in every run; among ten million features two share a key with a probability
of three in a million.

References
----------
collins-2000; charniak-2005; hall-2014.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eigentree.corpus.binarise import HeadFinder, Rightmost
from eigentree.corpus.trees import Tree, collector_paused
from eigentree.errors import SettingsError
from eigentree.evaluate.sides import is_punctuation

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Flags = NDArray[np.bool_]

# Sentences whose pieces are made together: enough for arrays to pay, few enough for memory.
BATCH = 64

# Lower ends of the bins for numbers of words.
WIDTH_BINS = np.array([0, 1, 2, 3, 4, 5, 6, 8, 11, 16, 24, 40])
# Conjuncts are compared down to this level.
DEEPEST_COMPARED = 4
# Spans up to this number of words have all their words in their shape.
LONGEST_SHAPE = 4

# Codes of texts that templates make themselves: numbers up to 99 stand for themselves.
_LARGEST_NUMBER = 99
NONE, BEFORE, AFTER = range(_LARGEST_NUMBER + 1, _LARGEST_NUMBER + 4)
_FIXED = (*map(str, range(_LARGEST_NUMBER + 1)), "", "<", ">")

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


class Block(NamedTuple):
    """Features of one pattern, at the pieces that have them.

    Attributes
    ----------
    owner : int64, axes (n)
        The piece, a node or a node in context.
    columns : int64, axes (n) each
        What the pattern holds: codes of texts.
    variant
        Tells the patterns of one schema apart.
    values : int64, axes (n)
        None: 1 each.
    """

    owner: Ints
    columns: tuple[Ints, ...]
    variant: str = ""
    values: Ints | None = None


class Schema(NamedTuple):
    """A kind of feature.

    Attributes
    ----------
    piece
        What has its features: a node, or a node in context.
    blocks
        Makes them for all pieces.
    """

    piece: Literal["node", "context"]
    blocks: Callable[[Pieces], Iterator[Block]]


class Pieces:
    """The pieces of the candidates of some sentences, as columns that schemata share.

    Words of all sentences stand in one row, with a gap (`NONE`) around each sentence.

    Attributes
    ----------
    texts
        What codes mean.
    word, shape : int64, axes (words)
        Codes; `NONE` in a gap.
    mark : int64, axes (words)
        The word itself if it is punctuation, else `NONE`.
    to_end : int64, axes (words)
        Number of words from here to the end of the sentence; 0 in a gap.
    label, rule, function_rule, head_tag, head_word : int64, axes (nodes)
        Codes; the rule with the frequent words of its children, `NONE` if there are none.
    projections, head_tree, left_spine, right_spine : int64, axes (nodes)
        Codes: labels from the head's tag up to the node; its rules; labels from the node down
        to the tag of its first and of its last word.
    start, end, first_tag, last_tag, width : int64, axes (nodes)
        Half-open places in the row of words; tags of the words within; the number of words as
        a code.
    span_shape : int64, axes (nodes)
        Code.
    head : int64, axes (nodes)
        Place of the head among the children.
    size, on_path : int64, axes (nodes)
        Number of nodes from here down, and of those on the way to the last word that isn't
        punctuation.
    phrases, words : int64
        Nodes with children, and without.
    child, parent, place : int64, axes (children)
        Node numbers and the place from the left, phrase after phrase.
    beside : int64, axes (pairs of neighbours)
        Rows of the left child of each pair; the right one is in the next row.
    conjuncts : int64, axes (pairs of conjuncts, 4)
        Node, levels of equal shape, difference in length, whether the pair is the last.
    node, above, two_above, before, after : int64, axes (contexts)
        The node; codes of the labels above, and of the tags on both sides.
    is_head : bool, axes (contexts)
        Whether the node is the head of what is above it.
    """

    def __init__(self, builder: _Builder) -> None:
        self.texts = builder.texts
        self.word, self.shape, self.mark, self.to_end = _columns(builder.tokens, 4)
        (
            self.label,
            self.start,
            self.end,
            self.head,
            self.rule,
            self.function_rule,
            head_position,
            self.head_tag,
            self.projections,
            self.head_tree,
            self.left_spine,
            self.right_spine,
            self.first_tag,
            self.last_tag,
            self.span_shape,
            self.size,
            self.on_path,
        ) = _columns(builder.nodes, _NODE_COLUMNS)
        self.head_word = self.word[head_position]
        self.width = _binned(self.end - self.start)
        n_children = np.array([len(each) for each in builder.children], dtype=np.int64)
        self.phrases = np.flatnonzero(n_children > 0)
        self.words = np.flatnonzero(n_children == 0)
        self.child: Ints = np.array(
            [child for each in builder.children for child in each], dtype=np.int64
        )
        self.parent: Ints = np.repeat(np.arange(len(n_children)), n_children)
        before = np.cumsum(n_children) - n_children
        self.place: Ints = np.arange(len(self.child)) - before[self.parent]
        self.beside = np.flatnonzero(self.parent[1:] == self.parent[:-1])
        self.conjuncts = np.array(builder.conjuncts, dtype=np.int64).reshape(-1, 4)
        self.node, self.above, self.two_above, is_head, self.before, self.after = _columns(
            builder.contexts, 6
        )
        self.is_head: Flags = is_head > 0

    @property
    def rows(self) -> Ints:
        """Contexts of phrases."""
        rows: Ints = np.flatnonzero(self.rule[self.node] != NONE)
        return rows

    @property
    def tops(self) -> Ints:
        """Contexts that end a head's projections: the head of nothing above."""
        tops: Ints = np.flatnonzero(~self.is_head)
        return tops

    def windows(self, n: int) -> Block:
        """Every n neighbouring children, with their phrase and where its head is.

        From two on, an edge of the phrase counts as a child.
        """
        edges = int(n > 1)
        length = np.bincount(self.parent, minlength=len(self.label))[self.phrases] + 2 * edges
        owner = np.repeat(self.phrases, length)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length) - edges
        labels = np.full(len(owner), NONE, dtype=np.int64)
        inside = (place >= 0) & (place < np.repeat(length - 2 * edges, length))
        labels[inside] = self.label[self.child]
        first = np.arange(len(owner) - n + 1)
        first = first[owner[first] == owner[first + n - 1]]
        head = self.head[owner[first]] - place[first]
        where = np.where(head < 0, BEFORE, np.where(head >= n, AFTER, head + 1))
        window = (labels[first + i] for i in range(n))
        return Block(owner[first], (self.label[owner[first]], where, *window))


def _rule(p: Pieces) -> Iterator[Block]:
    yield Block(p.phrases, (p.rule[p.phrases],))


def _rule_parent(p: Pieces) -> Iterator[Block]:
    yield Block(p.rows, (p.rule[p.node[p.rows]], p.above[p.rows]))


def _rule_grandparent(p: Pieces) -> Iterator[Block]:
    yield Block(p.rows, (p.rule[p.node[p.rows]], p.above[p.rows], p.two_above[p.rows]))


def _rule_head_word(p: Pieces) -> Iterator[Block]:
    yield Block(p.phrases, (p.rule[p.phrases], p.head_word[p.phrases]))


def _rule_head_tag(p: Pieces) -> Iterator[Block]:
    yield Block(p.phrases, (p.rule[p.phrases], p.head_tag[p.phrases]))


def _rule_function_words(p: Pieces) -> Iterator[Block]:
    found = np.flatnonzero(p.function_rule != NONE)
    yield Block(found, (p.function_rule[found],))


def _heads(
    p: Pieces, *pairs: tuple[str, Callable[[Pieces], Ints], Callable[[Pieces], Ints]]
) -> Iterator[Block]:
    """A phrase, a child that isn't its head, the side, and something of both heads."""
    row = np.flatnonzero(p.place != p.head[p.parent])
    phrase, child = p.parent[row], p.child[row]
    side = np.where(p.place[row] < p.head[phrase], BEFORE, AFTER)
    for variant, of_head, of_child in pairs:
        columns = (p.label[phrase], p.label[child], side, of_head(p)[phrase], of_child(p)[child])
        yield Block(phrase, columns, variant)


def _word_of_head(p: Pieces) -> Ints:
    return p.head_word


def _tag_of_head(p: Pieces) -> Ints:
    return p.head_tag


def _heads_words(p: Pieces) -> Iterator[Block]:
    yield from _heads(p, ("", _word_of_head, _word_of_head))


def _heads_tags(p: Pieces) -> Iterator[Block]:
    yield from _heads(p, ("", _tag_of_head, _tag_of_head))


def _heads_mixed(p: Pieces) -> Iterator[Block]:
    yield from _heads(
        p, ("word-tag", _word_of_head, _tag_of_head), ("tag-word", _tag_of_head, _word_of_head)
    )


def _projections(p: Pieces) -> Iterator[Block]:
    yield Block(p.tops, (p.projections[p.node[p.tops]], p.above[p.tops]))


def _word_projections(p: Pieces) -> Iterator[Block]:
    node = p.node[p.tops]
    yield Block(p.tops, (p.head_word[node], p.projections[node]))


def _head_trees(p: Pieces) -> Iterator[Block]:
    tops = np.intersect1d(p.tops, p.rows)
    yield Block(tops, (p.head_tree[p.node[tops]],))


def _word_tag(p: Pieces) -> Iterator[Block]:
    yield Block(p.words, (p.head_word[p.words], p.label[p.words]))


def _word_ancestors(p: Pieces) -> Iterator[Block]:
    row = np.flatnonzero(p.rule[p.node] == NONE)
    node = p.node[row]
    columns = p.head_word[node], p.label[node], p.above[row]
    yield Block(row, columns, "parent")
    yield Block(row, (*columns, p.two_above[row]), "grandparent")


def _siblings_1(p: Pieces) -> Iterator[Block]:
    yield p.windows(1)


def _siblings_2(p: Pieces) -> Iterator[Block]:
    yield p.windows(2)


def _siblings_3(p: Pieces) -> Iterator[Block]:
    yield p.windows(3)


def _bigram_trees(p: Pieces) -> Iterator[Block]:
    """The labels between two neighbouring words, up and down again."""
    phrase, left, right = p.parent[p.beside], p.child[p.beside], p.child[p.beside + 1]
    columns = p.right_spine[left], p.label[phrase], p.left_spine[right]
    yield Block(phrase, columns, "tags")
    yield Block(phrase, (*columns, p.word[p.end[left] - 1]), "left word")
    yield Block(phrase, (*columns, p.word[p.start[right]]), "right word")


def _borders(p: Pieces) -> Iterator[Block]:
    """Two neighbours in a phrase, and what is where they touch."""
    phrase, left, right = p.parent[p.beside], p.child[p.beside], p.child[p.beside + 1]
    labels = p.label[left], p.label[right]
    yield Block(phrase, (*labels, p.word[p.end[left] - 1]), "left word")
    yield Block(phrase, (*labels, p.word[p.start[right]]), "right word")
    yield Block(phrase, (*labels, p.last_tag[left], p.first_tag[right]), "tags")


def _splits(p: Pieces) -> Iterator[Block]:
    """A phrase and the words around a point where it splits."""
    phrase, left, right = p.parent[p.beside], p.child[p.beside], p.child[p.beside + 1]
    yield Block(phrase, (p.label[phrase], p.word[p.end[left] - 1]), "left word")
    yield Block(phrase, (p.label[phrase], p.word[p.start[right]]), "right word")


def _labels(p: Pieces) -> Iterator[Block]:
    yield Block(p.phrases, (p.label[p.phrases],))


def _span_width(p: Pieces) -> Iterator[Block]:
    yield Block(p.phrases, (p.label[p.phrases], p.width[p.phrases]))


def _span_words(p: Pieces) -> Iterator[Block]:
    label, width = p.label[p.phrases], p.width[p.phrases]
    first, last = p.word[p.start[p.phrases]], p.word[p.end[p.phrases] - 1]
    for name, word in (("first", first), ("last", last)):
        yield Block(p.phrases, (label, word), name)
        yield Block(p.phrases, (label, width, word), f"width and {name}")
    yield Block(p.phrases, (label, first, last), "both")


def _span_tags(p: Pieces) -> Iterator[Block]:
    label, width = p.label[p.phrases], p.width[p.phrases]
    first, last = p.first_tag[p.phrases], p.last_tag[p.phrases]
    yield Block(p.phrases, (label, first, last), "both")
    yield Block(p.phrases, (label, width, first, last), "width and both")


def _neighbour_words(p: Pieces) -> Iterator[Block]:
    """A phrase, how wide it is, and the words before and after it."""
    label, width = p.label[p.phrases], p.width[p.phrases]
    before, after = p.word[p.start[p.phrases] - 1], p.word[p.end[p.phrases]]
    for name, word in (("before", before), ("after", after)):
        yield Block(p.phrases, (label, word), name)
        yield Block(p.phrases, (label, width, word), f"width and {name}")
    yield Block(p.phrases, (label, before, after), "both")


def _neighbour_tags(p: Pieces) -> Iterator[Block]:
    """The same with tags, which may differ from candidate to candidate."""
    node = p.node[p.rows]
    label, width, before, after = p.label[node], p.width[node], p.before[p.rows], p.after[p.rows]
    yield Block(p.rows, (label, before, after), "both")
    yield Block(p.rows, (label, width, before), "width and before")
    yield Block(p.rows, (label, width, after), "width and after")
    yield Block(p.rows, (label, width, before, after), "width and both")


def _edge_words(p: Pieces) -> Iterator[Block]:
    """A phrase and the words on both sides of one of its ends."""
    label, start, end = p.label[p.phrases], p.start[p.phrases], p.end[p.phrases]
    yield Block(p.phrases, (label, p.word[start - 1], p.word[start]), "start")
    yield Block(p.phrases, (label, p.word[end - 1], p.word[end]), "end")


def _edge_tags(p: Pieces) -> Iterator[Block]:
    node = p.node[p.rows]
    yield Block(p.rows, (p.label[node], p.before[p.rows], p.first_tag[node]), "start")
    yield Block(p.rows, (p.label[node], p.last_tag[node], p.after[p.rows]), "end")


def _span_shape(p: Pieces) -> Iterator[Block]:
    label, shape = p.label[p.phrases], p.span_shape[p.phrases]
    before, after = p.shape[p.start[p.phrases] - 1], p.shape[p.end[p.phrases]]
    yield Block(p.phrases, (label, shape), "within")
    yield Block(p.phrases, (label, before, shape, after), "around")


def _heaviness(p: Pieces) -> Iterator[Block]:
    """A phrase, how wide it is, how far from the end, and the punctuation that follows."""
    label, width, end = p.label[p.phrases], p.width[p.phrases], p.end[p.phrases]
    yield Block(p.phrases, (label, width, _binned(p.to_end[end]), p.mark[end]))


def _right_branch(p: Pieces) -> Iterator[Block]:
    row = np.flatnonzero(p.above == NONE)
    on = p.on_path[p.node[row]]
    yield Block(row, (), "on", on)
    yield Block(row, (), "off", p.size[p.node[row]] - on)


def _coordination_shape(p: Pieces) -> Iterator[Block]:
    owner, levels, _, _ = p.conjuncts.T
    yield Block(owner, (levels,))
    yield Block(owner, (p.label[owner], levels), "label")


def _coordination_length(p: Pieces) -> Iterator[Block]:
    owner, _, difference, is_last = p.conjuncts.T
    side = np.where(difference < 0, BEFORE, np.where(difference > 0, AFTER, NONE))
    yield Block(owner, (side, _binned(np.abs(difference)), is_last))


SCHEMATA: dict[str, Schema] = {
    "rule": Schema("node", _rule),
    "rule-parent": Schema("context", _rule_parent),
    "rule-grandparent": Schema("context", _rule_grandparent),
    "rule-head-word": Schema("node", _rule_head_word),
    "rule-head-tag": Schema("node", _rule_head_tag),
    "rule-function-words": Schema("node", _rule_function_words),
    "heads-words": Schema("node", _heads_words),
    "heads-tags": Schema("node", _heads_tags),
    "heads-mixed": Schema("node", _heads_mixed),
    "projections": Schema("context", _projections),
    "word-projections": Schema("context", _word_projections),
    "head-trees": Schema("context", _head_trees),
    "word-tag": Schema("node", _word_tag),
    "word-ancestors": Schema("context", _word_ancestors),
    "siblings-1": Schema("node", _siblings_1),
    "siblings-2": Schema("node", _siblings_2),
    "siblings-3": Schema("node", _siblings_3),
    "bigram-trees": Schema("node", _bigram_trees),
    "borders": Schema("node", _borders),
    "splits": Schema("node", _splits),
    "labels": Schema("node", _labels),
    "span-width": Schema("node", _span_width),
    "span-words": Schema("node", _span_words),
    "span-tags": Schema("node", _span_tags),
    "span-shape": Schema("node", _span_shape),
    "neighbour-words": Schema("node", _neighbour_words),
    "neighbour-tags": Schema("context", _neighbour_tags),
    "edge-words": Schema("node", _edge_words),
    "edge-tags": Schema("context", _edge_tags),
    "heaviness": Schema("node", _heaviness),
    "right-branch": Schema("context", _right_branch),
    "coordination-shape": Schema("node", _coordination_shape),
    "coordination-length": Schema("node", _coordination_length),
}


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
    builder = _Builder(options, heads)
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
    builder = _Builder(options, heads)
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


# Columns of a node in the builder; their names and order are those in `Pieces`.
_NODE_COLUMNS = 17
_LABEL, _START, _END, _HEAD, _RULE = 0, 1, 2, 3, 4
_HEAD_POSITION, _HEAD_TAG, _PROJECTIONS, _HEAD_TREE = 6, 7, 8, 9
_LEFT_SPINE, _RIGHT_SPINE, _FIRST_TAG, _LAST_TAG, _SIZE, _ON_PATH = 10, 11, 12, 13, 15, 16


class _Builder:
    """Finds the distinct pieces of candidates, sentence after sentence."""

    def __init__(self, options: FeatureOptions, heads: HeadFinder) -> None:
        self._options = options
        self._heads = heads
        self._codes = {text: code for code, text in enumerate(_FIXED)}
        self.texts = list(_FIXED)
        self.tokens: list[tuple[int, ...]] = [(NONE, NONE, NONE, 0)]
        self.nodes: list[tuple[int, ...]] = []
        self.children: list[tuple[int, ...]] = []
        self.contexts: list[tuple[int, ...]] = []
        self.conjuncts: list[tuple[int, int, int, int]] = []
        self.candidates: list[list[int]] = []  # contexts of each
        self._shapes: list[str] = [""]
        self._is_mark: list[bool] = [False]

    def add(self, candidates: Sequence[Tree]) -> None:
        """Add a sentence."""
        if not candidates:
            raise ValueError("a sentence without candidates has no features")
        first = len(self.tokens)
        words = candidates[0].words()
        for place, word in enumerate(words):
            is_mark = is_punctuation(word)
            code, shape = self._code(word), _shape(word, is_mark)
            mark = code if is_mark else NONE
            self.tokens.append((code, self._code(shape), mark, len(words) - place))
            self._shapes.append(shape)
            self._is_mark.append(is_mark)
        end = len(self.tokens)
        self.tokens.append((NONE, NONE, NONE, 0))
        self._shapes.append("")
        self._is_mark.append(False)

        numbers: dict[tuple[str | int, ...], int] = {}
        contexts: dict[tuple[int, ...], int] = {}
        nodes, children = self.nodes, self.children
        for tree in candidates:
            # From the last word to the first, as in `trees.fold`.
            done: list[int] = []
            tags = [NONE]
            place = end
            for node in reversed(list(tree.nodes())):
                if node.word is not None:
                    place -= 1
                    if place < first or words[place - first] != node.word:
                        raise ValueError(f"candidates differ in words: {node.word!r}")
                    word_key = (place, node.label)
                    number = numbers.get(word_key, -1)
                    if number < 0:
                        number = numbers[word_key] = self._add_word(node.label, place)
                    tags.append(nodes[number][_LABEL])
                else:
                    n_children = len(node.children)
                    below = done[: -n_children - 1 : -1]
                    del done[-n_children:]
                    key: tuple[str | int, ...] = (node.label, *below)
                    number = numbers.get(key, -1)
                    if number < 0:
                        number = numbers[key] = self._add_phrase(node.label, tuple(below))
                done.append(number)
            if place != first:
                raise ValueError(f"candidates differ in words: {words[0]!r} is missing in one")
            tags.append(NONE)
            tags.reverse()

            own: list[int] = []
            shift = first - 1  # of the tag before the first word
            stack = [(done[0], NONE, NONE, 0)]
            while stack:
                top = stack.pop()
                number, above, _, _ = top
                columns = nodes[number]
                context_key = (*top, tags[columns[1] - 1 - shift], tags[columns[2] - shift])
                context = contexts.get(context_key, -1)
                if context < 0:
                    context = contexts[context_key] = len(self.contexts)
                    self.contexts.append(context_key)
                own.append(context)
                if children[number]:
                    label, head = columns[_LABEL], columns[_HEAD]
                    for i, child in enumerate(children[number]):
                        stack.append((child, label, above, int(i == head)))
            self.candidates.append(own)

    def _code(self, text: str) -> int:
        code = self._codes.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def _add_word(self, tag: str, place: int) -> int:
        code = self._code(tag)
        shape = self._code(self._shapes[place])
        row = (code, place, place + 1, 0, NONE, NONE, place, code, code, NONE, code, code)
        self.nodes.append((*row, code, code, shape, 1, 1))
        self.children.append(())
        return len(self.nodes) - 1

    def _add_phrase(self, label: str, children: tuple[int, ...]) -> int:
        nodes, texts = self.nodes, self.texts
        below = [nodes[child] for child in children]
        labels = [texts[child[_LABEL]] for child in below]
        head = self._heads.head(label, labels)
        rule = f"{label} -> {' '.join(labels)}"
        start, end, to_head = below[0][_START], below[-1][_END], below[head]
        tree = texts[to_head[_HEAD_TREE]]
        path = next((c for c in reversed(below) if not self._is_all_marks(c)), below[-1])
        self.nodes.append(
            (
                self._code(label),
                start,
                end,
                head,
                self._code(rule),
                self._function_rule(label, labels, children),
                to_head[_HEAD_POSITION],
                to_head[_HEAD_TAG],
                self._code(f"{texts[to_head[_PROJECTIONS]]} {label}"),
                self._code(f"{tree} / {rule}" if tree else rule),
                self._code(f"{label} {texts[below[0][_LEFT_SPINE]]}"),
                self._code(f"{label} {texts[below[-1][_RIGHT_SPINE]]}"),
                below[0][_FIRST_TAG],
                below[-1][_LAST_TAG],
                self._code(self._span_shape(start, end)),
                1 + sum(child[_SIZE] for child in below),
                1 + path[_ON_PATH],
            )
        )
        self.children.append(children)
        number = len(self.nodes) - 1
        if not self._options.coordination.isdisjoint(labels):
            self._add_conjuncts(number, labels)
        return number

    def _is_all_marks(self, node: tuple[int, ...]) -> bool:
        return all(self._is_mark[node[_START] : node[_END]])

    def _function_rule(self, label: str, labels: list[str], children: tuple[int, ...]) -> int:
        wanted = self._options.function_words
        if not wanted:
            return NONE
        parts = list(labels)
        for i, child in enumerate(children):
            if not self.children[child]:
                word = self.texts[self.tokens[self.nodes[child][_START]][0]]
                if word in wanted:
                    parts[i] += f"={word}"
        return NONE if parts == labels else self._code(f"{label} -> {' '.join(parts)}")

    def _span_shape(self, start: int, end: int) -> str:
        if end - start <= LONGEST_SHAPE:
            return " ".join(self._shapes[start:end])
        return " ".join((*self._shapes[start : start + 2], "..", *self._shapes[end - 2 : end]))

    def _add_conjuncts(self, number: int, labels: list[str]) -> None:
        joins = self._options.coordination
        conjuncts = [
            child
            for child, label in zip(self.children[number], labels, strict=True)
            if label not in joins and not self._is_all_marks(self.nodes[child])
        ]
        lengths = [self.nodes[child][_END] - self.nodes[child][_START] for child in conjuncts]
        for i in range(len(conjuncts) - 1):
            levels = self._levels_alike(conjuncts[i], conjuncts[i + 1])
            is_last = int(i == len(conjuncts) - 2)
            self.conjuncts.append((number, levels, lengths[i + 1] - lengths[i], is_last))

    def _levels_alike(self, one: int, other: int) -> int:
        """How many levels of two nodes, from the top, have the same labels and numbers."""
        level, facing = [one], [other]
        for depth in range(DEEPEST_COMPARED):
            labels = [self.nodes[node][_LABEL] for node in level]
            if labels != [self.nodes[node][_LABEL] for node in facing]:
                return depth
            sizes = [len(self.children[node]) for node in level]
            if sizes != [len(self.children[node]) for node in facing]:
                return depth + 1
            level = [child for node in level for child in self.children[node]]
            facing = [child for node in facing for child in self.children[node]]
        return DEEPEST_COMPARED


def _shape(word: str, is_mark: bool) -> str:
    """A word by its kind: punctuation itself, number, capital, lower case, or other letters."""
    if is_mark:
        return word
    if any(character.isdigit() for character in word):
        return "0"
    if word[0].isupper() or word[0].istitle():
        return "X"
    return "x" if word[0].islower() else "*"


def _columns(rows: list[tuple[int, ...]], n: int) -> list[Ints]:
    """The columns of a list of rows."""
    return list(np.array(rows, dtype=np.int64).reshape(-1, n).T.copy())


def _offsets(sizes: Sequence[int]) -> Ints:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _binned(widths: Ints) -> Ints:
    """The code of the lower end of each width's bin."""
    return WIDTH_BINS[np.searchsorted(WIDTH_BINS, widths, side="right") - 1]


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
