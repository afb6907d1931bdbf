"""Noun chunks by the relations of Universal Dependencies.

spaCy's rules follow the labels of its own models: its English ones know ``dobj`` and ``pobj``, and
prepositions that are heads of nouns.  In Universal Dependencies objects are ``obj`` and ``obl``,
and prepositions depend on nouns, so those rules would miss most objects and include prepositions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from eigentree._core.optional import require

with require("spacy"):
    from spacy.symbols import NOUN, PRON, PROPN
    from spacy.tokens import Doc, Span, Token

Chunk = tuple[int, int, int]
Rules = Callable[[Doc | Span], Iterator[Chunk]]

_NOMINAL = (NOUN, PROPN, PRON)
# Relations of words that are inside the chunk of their head, on its left.
_MODIFIERS = {"det", "amod", "nummod", "compound", "flat", "advmod", "clf"}
_POSSESSOR = "nmod:poss"
# Relations of nominal words that have no chunk of their own.
_INNER = _MODIFIERS | {"fixed", "goeswith", "expl", "discourse", "reparandum"}
# Relations that only Universal Dependencies has, and some that are on the left of nouns only there.
_UNIVERSAL = {"obj", "iobj", "obl", "cop", "flat", "fixed", "vocative", "dislocated", "discourse"}
_BEFORE_NOUNS = {"case", "cc"}
# Relations that other schemes have too, with the same meaning.
_SHARED = {
    "ROOT", "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "compound",
    "conj", "csubj", "dep", "det", "expl", "mark", "nsubj", "nummod", "parataxis", "punct", "xcomp",
}  # fmt: skip


class NounChunks:
    """The rules of a vocabulary: for Universal Dependencies, and the earlier ones for other Docs.

    Parameters
    ----------
    others
        The vocabulary's own rules, for Docs with other relations; None if it has none.
    """

    def __init__(self, others: Rules | None) -> None:
        self._others = others

    def __call__(self, doclike: Doc | Span) -> Iterator[Chunk]:
        """Starts, ends and labels of the noun chunks of a Doc or a span."""
        if self._others is None or _has_universal_dependencies(doclike.doc):
            return noun_chunks(doclike)
        return self._others(doclike)


def follow_universal_dependencies(vocab: Any) -> None:
    """Let a vocabulary's Docs with Universal Dependencies have their noun chunks."""
    if not isinstance(vocab.get_noun_chunks, NounChunks):
        vocab.get_noun_chunks = NounChunks(vocab.get_noun_chunks)


def noun_chunks(doclike: Doc | Span) -> Iterator[Chunk]:
    """Starts, ends and labels of noun chunks: nominal words with their modifiers on the left."""
    label = doclike.doc.vocab.strings.add("NP")
    end = -1
    for word in doclike:
        if word.pos not in _NOMINAL or _relation(word) in _INNER or word.dep_ == _POSSESSOR:
            continue
        start = _start(word)
        if start >= end:
            end = word.i + 1
            yield start, end, label


def _start(word: Token) -> int:
    """Where the chunk of a word begins: modifiers next to it, and next to these."""
    start: int = word.i
    for child in reversed(list(word.lefts)):
        is_modifier = _relation(child) in _MODIFIERS or child.dep_ == _POSSESSOR
        if not is_modifier or child.right_edge.i + 1 != start:
            break
        start = child.left_edge.i
    while word.doc[start].is_space:  # white space hangs on the words beside it
        start += 1
    return start


def _relation(word: Token) -> str:
    """The relation of a word without its subtype."""
    name: str = word.dep_
    return name.partition(":")[0]


def _has_universal_dependencies(doc: Doc) -> bool:
    """Whether a relation is of Universal Dependencies only, or none is of another scheme."""
    return any(map(_is_universal, doc)) or all(word.dep_ in _SHARED for word in doc)


def _is_universal(word: Token) -> bool:
    name = word.dep_
    return name in _UNIVERSAL or ":" in name or (name in _BEFORE_NOUNS and word.i < word.head.i)
