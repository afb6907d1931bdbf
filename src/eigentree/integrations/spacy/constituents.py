"""Constituents as plain data on a Doc, and the attributes of spans and tokens that read it.

Each sentence has a record, kept as data of its span, so that spaCy moves it along with the text.
A record has nodes in the order of ``tree.nodes()``: label, start, end, number of children (none for
a tag over its word) and confidence.  Starts and ends are characters, counted from the start of the
span, because tokens can be merged and split later.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from eigentree._core.optional import require
from eigentree.constituency.result import ParseResult, node_confidences
from eigentree.errors import EigentreeError, SettingsError
from eigentree.treebank.escaping import format_leaf
from eigentree.treebank.tree import SEPARATORS, spans_of_nodes

with require("spacy"):
    from spacy.tokens import Doc, Span, Token

KEY = "eigentree"
_LABEL, _START, _END, _SIZE, _CONFIDENCE = range(5)  # of a node
_DATA = "._."  # the first part of keys by which spaCy keeps such data
_JOINED = "+"  # between the tags of words in one token

Node = list[Any]


class NoConstituentError(EigentreeError):
    """A span that no phrase or word of the parse has, or a Doc that was not parsed."""


_IN_WORDS = {**dict.fromkeys(map(ord, SEPARATORS), "\u00a0"), 0: "\ufffd"}


def as_word(text: str) -> str:
    """A token as trees can hold it: white space in merged tokens becomes no-break spaces.

    NUL becomes U+FFFD, so that its word is parsed as one that is unknown.
    """
    return text.translate(_IN_WORDS)


# Writing ----------------------------------------------------------------------------------------


def remove(doc: Doc) -> None:
    """Remove the records of an earlier parse."""
    for key in [key for key in doc.user_data if _is_ours(key)]:
        del doc.user_data[key]


def store(sentence: Span, tokens: list[Token], result: ParseResult) -> None:
    """Keep the parse of the tokens of a sentence."""
    assert result.tree is not None
    bounds = [_bounds(token.idx - sentence.start_char, token.text) for token in tokens]
    nodes: list[Node] = [
        [span.label, bounds[span.start][0], bounds[span.end - 1][1], len(node.children), sure]
        for node, span, sure in zip(
            result.tree.nodes(),
            spans_of_nodes(result.tree),
            node_confidences(result),
            strict=True,
        )
    ]
    confidence, exact = result.calibrated or (result.confidence, result.tree_confidence)
    record = {
        "nodes": nodes,
        "confidence": confidence,
        "exact": exact,
        "log_value": result.log_value,
        "fallback": result.fallback,
    }
    sentence._.set(KEY, record)


# Reading ----------------------------------------------------------------------------------------


def get_records(doc: Doc) -> list[dict[str, Any]]:
    """The records of a Doc in order, with positions in its text."""
    records = []
    for start, _, record in _kept(doc):
        nodes = _moved(record["nodes"], start)
        bounds = {"start": nodes[0][_START], "end": nodes[0][_END]}
        records.append({**bounds, **record, "nodes": nodes})
    return records


def _is_ours(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 4 and key[:2] == (_DATA, KEY)


def _kept(doc: Doc) -> list[tuple[int, int, dict[str, Any]]]:
    """Starts and ends of the parsed texts, with their records, in order."""
    kept = [(*key[2:], value) for key, value in doc.user_data.items() if _is_ours(key)]
    return sorted(kept, key=lambda each: each[:2])


def _moved(nodes: list[Node], by: int) -> list[Node]:
    return [[label, start + by, end + by, *rest] for label, start, end, *rest in nodes]


def _bounds(start: int, text: str) -> tuple[int, int]:
    """Where the text that begins at a character has its first and last letters."""
    first = start + len(text) - len(text.lstrip())
    return first, first + len(text.strip())


class _Found(NamedTuple):
    """The topmost node over a span: its place among the nodes of its sentence."""

    doc: Doc
    nodes: list[Node]  # starts and ends are tokens
    top: int

    @property
    def bottom(self) -> int:
        """The place of the lowest node over the same span."""
        place = self.top
        while self.nodes[place][_SIZE] == 1:
            place += 1
        return place

    def span(self, place: int) -> Span:
        node = self.nodes[place]
        return self.doc[node[_START] : node[_END]]

    def end_of(self, place: int) -> int:
        """The place after all that is below a node."""
        open_nodes = 1
        while open_nodes:
            open_nodes += self.nodes[place][_SIZE] - 1
            place += 1
        return place


def _find(span: Span) -> _Found | None:
    """The topmost node over a span; None for white space only."""
    doc, (start, end) = span.doc, _bounds(span.start_char, span.text)
    if start == end:
        return None
    nodes = _nodes_around(span, start, end)
    tokens = _tokens_in(doc, start, end)
    for place, node in enumerate(nodes):
        if (node[_START], node[_END]) == tokens:
            return _Found(doc, nodes, place)
    raise NoConstituentError(f"the span {span.text!r} is no constituent of the parse")


def _nodes_around(span: Span, start: int, end: int) -> list[Node]:
    """The nodes of the sentence that has a span, in tokens; none where sentences meet."""
    doc = span.doc
    # Found at once, unless the boundaries of sentences have changed.
    sentence = span.sent if doc.has_annotation("SENT_START") else span
    record = sentence._.get(KEY)
    first, last = sentence.start_char, sentence.end_char
    if record is None:
        kept = _kept(doc)
        if not kept:
            raise NoConstituentError(
                "the Doc has no constituents: the component eigentree has not parsed it, or it is "
                "a copy without the data, which Span.as_doc(copy_user_data=True) includes"
            )
        around = [each for each in kept if each[0] <= start and end <= each[1]]
        if not around:
            return []
        first, last, record = around[0]
    return _in_tokens(_moved(record["nodes"], first), doc, _tokens_in(doc, first, last))


def _tokens_in(doc: Doc, start: int, end: int) -> tuple[int, int]:
    """The range of the tokens that have some of the characters from start to end."""
    tokens = range(len(doc))
    first = bisect_left(tokens, start + 1, key=lambda at: doc[at].idx + len(doc[at]))
    return first, bisect_left(tokens, end, key=lambda at: doc[at].idx)


def _in_tokens(nodes: list[Node], doc: Doc, tokens: tuple[int, int]) -> list[Node]:
    """Nodes whose starts and ends are tokens of the Doc, instead of characters.

    Parameters
    ----------
    nodes
        Of a sentence, with positions in the text of the Doc.
    tokens
        The range of the sentence's tokens.

    Returns
    -------
    list of list
        Without nodes that begin or end inside a token, whose children go to the node above, and
        with one leaf for all words that share a token.
    """
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for at in range(*tokens):
        token = doc[at]
        first, last = _bounds(token.idx, token.text)
        if first < last:
            starts[first], ends[last] = at, at + 1
    made: list[Node] = []
    above: list[list[int]] = []  # places of open nodes, and how many children are to come
    leaf: Node | None = None  # the last one
    for label, start, end, size, sure in nodes:
        holder = above[-1][0] if above else -1
        if size:
            above.append([holder, size])
            if start in starts and end in ends:
                above[-1][0] = _add(made, holder, [label, starts[start], ends[end], 0, sure])
            continue
        first, last = _tokens_in(doc, start, end)
        if leaf is not None and first < leaf[_END]:
            leaf[_END] = max(leaf[_END], last)
            leaf[_LABEL] = label if leaf[_LABEL] == label else f"{leaf[_LABEL]}{_JOINED}{label}"
        elif first < last:
            leaf = [label, first, last, 0, sure]
            _add(made, holder, leaf)
        while above:
            above[-1][1] -= 1
            if above[-1][1]:
                break
            above.pop()
    return made


def _add(made: list[Node], holder: int, node: Node) -> int:
    """Add a node below another, and return its place."""
    if holder >= 0:
        made[holder][_SIZE] += 1
    made.append(node)
    return len(made) - 1


def get_labels(span: Span) -> tuple[str, ...]:
    """Labels of the phrases over a span, from the top down."""
    found = _find(span)
    if found is None:
        return ()
    chain = found.nodes[found.top : found.bottom + 1]
    return tuple(node[_LABEL] for node in chain if node[_SIZE])


def get_parse_string(span: Span) -> str:
    """The tree over a span, in brackets."""
    found = _find(span)
    if found is None:
        return ""
    pieces: list[str] = []
    waiting: list[int] = []  # numbers of children to come, of open brackets
    for label, start, end, size, _ in found.nodes[found.top : found.end_of(found.top)]:
        before = " " if pieces else ""
        if size:
            pieces.append(f"{before}({label}")
            waiting.append(size)
            continue
        word = as_word(found.doc[start:end].text.strip())
        pieces.append(before + format_leaf(label, word))
        while waiting:
            waiting[-1] -= 1
            if waiting[-1]:
                break
            waiting.pop()
            pieces.append(")")
    return "".join(pieces)


def get_constituents(span: Span) -> Iterator[Span]:
    """All constituents within a span, itself first, each once."""
    found = _find(span)
    if found is None:
        return iter(())
    return _constituents_of(found)


def _constituents_of(found: _Found) -> Iterator[Span]:
    for place in range(found.top, found.end_of(found.top)):
        # An only child has its parent's span.
        if place == found.top or found.nodes[place - 1][_SIZE] != 1:
            yield found.span(place)


def get_children(span: Span) -> tuple[Span, ...]:
    """The spans one level below a span."""
    found = _find(span)
    if found is None:
        return ()
    place = found.bottom
    children = []
    size, place = found.nodes[place][_SIZE], place + 1
    for _ in range(size):
        children.append(found.span(place))
        place = found.end_of(place)
    return tuple(children)


def get_parent(span: Span) -> Span | None:
    """The span one level above a span; None for a whole sentence."""
    found = _find(span)
    if found is None:
        return None
    above: list[list[int]] = []  # places of open nodes, and how many children are to come
    for place in range(found.top):
        size = found.nodes[place][_SIZE]
        above.append([place, size])
        while above and not size:
            above[-1][1] -= 1
            if above[-1][1] > 0:
                break
            above.pop()
    return found.span(above[-1][0]) if above else None


def get_confidence(span: Span) -> float | None:
    """The confidence of a phrase, 0..1; of several over one span, the topmost."""
    found = _find(span)
    if found is None:
        return None
    confidence: float | None = found.nodes[found.top][_CONFIDENCE]
    return confidence


GETTERS: dict[str, Callable[[Span], Any]] = {
    "labels": get_labels,
    "parse_string": get_parse_string,
    "constituents": get_constituents,
    "children": get_children,
    "parent": get_parent,
    "confidence": get_confidence,
}


def _of_token(name: str) -> Callable[[Token], Any]:
    def get(token: Token) -> Any:
        return GETTERS[name](token.doc[token.i : token.i + 1])

    return get


def set_extensions() -> None:
    """Give Docs, spans and tokens their attributes.

    Raises
    ------
    SettingsError
        When another package has one of their names.
    """
    if not Doc.has_extension(KEY):
        Doc.set_extension(KEY, getter=get_records)
        Span.set_extension(KEY, default=None)
    for name, getter in GETTERS.items():
        kinds: list[tuple[Any, Any]] = [(Span, getter), (Token, _of_token(name))]
        for kind, own in kinds:
            if not kind.has_extension(name):
                kind.set_extension(name, getter=own)
                continue
            there = kind.get_extension(name)[2]
            if getattr(there, "__module__", None) != __name__:
                raise SettingsError(
                    f"the attribute {kind.__name__}._.{name} belongs to another package; the "
                    "component eigentree needs the name"
                )
