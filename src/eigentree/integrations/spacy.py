"""A component for spaCy pipelines: constituents, and dependencies, on a Doc.

``nlp.add_pipe("eigentree", config={"model": "english.egt"})`` parses each sentence of a Doc.  What
it finds is kept on the Doc as plain data, so it goes where the Doc goes: to disk, to bytes, to
other processes.  Spans and tokens read it by attributes after an underscore, of the same names and
meanings as those of the Berkeley neural parser (Kitaev and Klein 2018):

``labels``
    of the phrases over exactly this span, from the top down; empty for a word without any
``parse_string``
    the tree over this span, in brackets
``constituents``
    the spans of all that is in it, itself first, then from left to right, single words too
``children``, ``parent``
    the spans one level below and above; an empty tuple, or None, where there are none

and, of this package, ``confidence``: how sure the parser is of the phrase, None where no chart has
judged it.  White space at the ends of a span is passed over; of white space alone all of them are
empty.  A span that is no constituent is refused, by `NoConstituentError`.  ``doc._.eigentree``
holds the data, a record for each sentence.

With a dependency model heads, relations and tags are set as spaCy's own parser sets them.
"""

from __future__ import annotations

import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigentree._core.optional import require
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult, node_confidences
from eigentree.dependency.parser import DependencyParser
from eigentree.errors import EigentreeError, SettingsError
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.words import as_written
from eigentree.treebank.io.brackets import escape_token
from eigentree.treebank.io.conllu import ROOT, UNKNOWN_RELATION
from eigentree.treebank.tag_schemes import column_part, parts_of_scheme
from eigentree.treebank.tree import spans_of_nodes

with require("spacy"):
    from spacy.language import Language
    from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
    from spacy.pipeline import Sentencizer
    from spacy.symbols import DEP, HEAD
    from spacy.tokens import Doc, Span, Token

KEY = "eigentree"
_CONFIG = "cfg"
_SIZE = 3  # where a node of a record has its number of children
_SPACE = re.compile("[ \\t\\r\\n\\x0b\\x0c]")


class NoConstituentError(EigentreeError):
    """A span that no phrase or word of the parse has, or a Doc that was not parsed."""


@Language.factory(  # type: ignore[untyped-decorator]  # its types are not read
    "eigentree",
    default_config={"model": None, "dependencies": None, "use_tags": False},
    assigns=["doc._.eigentree"],
)
def make_eigentree(
    nlp: Language,  # noqa: ARG001 - spaCy's signature
    name: str,
    model: str | None,
    dependencies: str | None,
    use_tags: bool,
) -> EigentreeComponent:
    """Make the component of a pipeline; see `EigentreeComponent`."""
    return EigentreeComponent(name, model, dependencies, use_tags=use_tags)


class EigentreeComponent:
    """Parses the sentences of Docs.

    Parameters
    ----------
    name
        That of the component in its pipeline.
    model
        A constituency model, a file or one that comes with the package; or None.
    dependencies
        A dependency model, likewise; one of the two is needed.
    use_tags
        Parse with the tags that Docs have: ``tag_`` for constituents, and for dependencies by
        the model's scheme ``tag_`` or ``pos_``.  Otherwise the models' taggers tag.

    Raises
    ------
    SettingsError
        When no model is named, or one has no tagger and no tags are to be used, or when another
        package's component has the attributes' names.
    ModelFileError
        When a file is no such model.
    """

    def __init__(
        self,
        name: str,
        model: str | None = None,
        dependencies: str | None = None,
        *,
        use_tags: bool = False,
    ) -> None:
        self.name = name
        self._warned = False
        _set_extensions()
        self._load({"model": model, "dependencies": dependencies, "use_tags": use_tags})

    def _load(self, config: dict[str, Any]) -> None:
        self._config = config
        model, dependencies = config["model"], config["dependencies"]
        if model is None and dependencies is None:
            raise SettingsError(
                "the component eigentree needs a model: "
                'nlp.add_pipe("eigentree", config={"model": FILE}), or "dependencies": FILE'
            )
        self._parser = None if model is None else ConstituencyParser.load(model)
        self._arcs = None
        if dependencies is not None:
            self._arcs = DependencyParser.load(dependencies)
        if self._arcs is not None and self._arcs.tagger is None and not config["use_tags"]:
            raise SettingsError(
                f'{dependencies} has no tagger; let it use tags of the Doc: {{"use_tags": True}}'
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # Spawned processes load the models themselves.
        return _rebuild, (self.name, self._config)

    def __call__(self, doc: Doc) -> Doc:
        """Parse a Doc, and give it back.

        Raises
        ------
        SettingsError
            When tags are to be used and the Doc has none.
        """
        if len(doc) == 0:
            doc._.set(KEY, [])
            return doc
        self._find_sentences(doc)
        sentences = [[token for token in sent if not token.is_space] for sent in doc.sents]
        sentences = [sentence for sentence in sentences if sentence]
        if self._parser is not None:
            records = [self._constituents(self._parser, sentence) for sentence in sentences]
            doc._.set(KEY, records)
        if self._arcs is not None:
            self._attach(self._arcs, doc, sentences)
        return doc

    def _find_sentences(self, doc: Doc) -> None:
        if doc.has_annotation("SENT_START"):
            return
        if not self._warned:
            self._warned = True
            warnings.warn(
                "no component before eigentree sets sentence boundaries, so spaCy's sentencizer is "
                "used; "
                'nlp.add_pipe("sentencizer", before="eigentree") does this explicitly',
                stacklevel=3,
            )
        Sentencizer()(doc)

    def _constituents(self, parser: ConstituencyParser, tokens: list[Token]) -> dict[str, Any]:
        """The record of a sentence; positions are tokens of the Doc."""
        words = _words(tokens, parser.tokenisation)
        tags = _tags(tokens, "xpos") if self._config["use_tags"] else None
        result = parser.parse(words, tags)
        if tags is None:
            for token, tag in zip(tokens, result.tags, strict=True):
                if not token.tag:
                    token.tag_ = tag
        return _record(result, [token.i for token in tokens])

    def _attach(self, parser: DependencyParser, doc: Doc, sentences: list[list[Token]]) -> None:
        heads = list(range(len(doc)))
        relations = ["" for _ in heads]
        for tokens in sentences:
            tags = _tags(tokens, parser.tag_scheme) if self._config["use_tags"] else None
            result = parser.parse(_words(tokens, parser.tokenisation), tags)
            for token, arc in zip(tokens, result.arcs, strict=True):
                is_root = arc.head == ROOT
                heads[token.i] = token.i if is_root else tokens[arc.head - 1].i
                # spaCy's name for roots is in capitals.
                relations[token.i] = "ROOT" if is_root else arc.relation or UNKNOWN_RELATION
            if tags is None:
                _set_tags(tokens, result.tags, parser.tag_scheme)
        for sent in doc.sents:
            words = [token.i for token in sent if not token.is_space]
            for token in sent:
                if token.is_space:
                    # On the token before it, so that no arc crosses.
                    first = words[0] if words else sent.start
                    heads[token.i] = token.i - 1 if token.i > first else first
                    relations[token.i] = UNKNOWN_RELATION
        strings = doc.vocab.strings
        rows = [
            [(head - place) % 2**64, strings.add(relation)]
            for place, (head, relation) in enumerate(zip(heads, relations, strict=True))
        ]
        doc.from_array([HEAD, DEP], np.array(rows, dtype=np.uint64))

    def to_bytes(self, *, exclude: Any = ()) -> bytes:  # noqa: ARG002 - spaCy's signature
        """The settings of the component; the models are not included."""
        return json.dumps(self._config).encode()

    def from_bytes(self, data: bytes, *, exclude: Any = ()) -> EigentreeComponent:  # noqa: ARG002
        """Apply settings, and load their models."""
        self._take(json.loads(data))
        return self

    def to_disk(self, path: Path | str, *, exclude: Any = ()) -> None:
        """Write the settings to a folder; the models are not copied."""
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / _CONFIG).write_bytes(self.to_bytes(exclude=exclude))

    def from_disk(self, path: Path | str, *, exclude: Any = ()) -> EigentreeComponent:
        """Read the settings that `to_disk` wrote."""
        return self.from_bytes((Path(path) / _CONFIG).read_bytes(), exclude=exclude)

    def _take(self, config: dict[str, Any]) -> None:
        if set(config) != set(self._config):
            raise SettingsError(
                f"settings of the component eigentree are {', '.join(map(str, config))}; they must "
                f"be {', '.join(self._config)}"
            )
        if config != self._config:
            self._load(config)


def _rebuild(name: str, config: dict[str, Any]) -> EigentreeComponent:
    return EigentreeComponent(
        name, config["model"], config["dependencies"], use_tags=config["use_tags"]
    )


def _without_space(text: str) -> str:
    """A token as a word: spaces in merged tokens become no-break spaces."""
    return _SPACE.sub("\u00a0", text)


def _words(tokens: list[Token], scheme: TokenisationScheme) -> list[str]:
    """Tokens of a sentence in the spelling of the treebank, for example its quotes."""
    first = tokens[0].idx
    text = tokens[0].doc[tokens[0].i : tokens[-1].i + 1].text
    spans = [(token.idx - first, token.idx - first + len(token)) for token in tokens]
    return [_without_space(word) for word in as_written(text, spans, scheme)]


def _tags(tokens: list[Token], scheme: str) -> list[str]:
    """The tags that tokens have, by a scheme of `eigentree.treebank.tag_schemes`."""
    column, features = parts_of_scheme(scheme)
    attribute = "tag_" if column == "xpos" else "pos_"
    tags = []
    for token in tokens:
        tag = getattr(token, attribute)
        if not tag:
            raise SettingsError(
                f"token {token.i}, {token.text!r}, has no {attribute}, which use_tags requires; "
                "put a tagger before the component eigentree, or leave use_tags out"
            )
        given = token.morph.to_dict()
        tags.append(
            "|".join([tag, *(f"{name}={given[name]}" for name in features if name in given)])
        )
    return tags


def _set_tags(tokens: list[Token], tags: list[str], scheme: str) -> None:
    """Set the missing tags of tokens; ``pos_`` accepts universal tags only."""
    column, _ = parts_of_scheme(scheme)
    for token, tag in zip(tokens, map(column_part, tags), strict=True):
        if column == "xpos" and not token.tag:
            token.tag_ = tag
        elif column == "upos" and not token.pos and tag in UNIVERSAL_TAGS:
            token.pos_ = tag


# Data on the Doc, and what reads it ---------------------------------------------------------


def _record(result: ParseResult, places: list[int]) -> dict[str, Any]:
    """A parse as plain data.

    Its nodes are in the order of ``tree.nodes()``: label, start, end, number of children (none for
    a tag over its word) and confidence.  Starts and ends are tokens of the Doc, at ``places``.
    """
    assert result.tree is not None
    nodes = [
        [span.label, places[span.start], places[span.end - 1] + 1, len(node.children), sure]
        for node, span, sure in zip(
            result.tree.nodes(),
            spans_of_nodes(result.tree),
            node_confidences(result),
            strict=True,
        )
    ]
    confidence, exact = result.calibrated or (result.confidence, result.tree_confidence)
    return {
        "start": places[0],
        "end": places[-1] + 1,
        "nodes": nodes,
        "confidence": confidence,
        "exact": exact,
        "log_value": result.log_value,
        "fallback": result.fallback,
    }


class _Found(NamedTuple):
    """The topmost node over a span: its place among the nodes of its sentence."""

    doc: Doc
    nodes: list[list[Any]]
    top: int

    @property
    def bottom(self) -> int:
        """The place of the lowest node over the same span."""
        place = self.top
        while self.nodes[place][_SIZE] == 1:
            place += 1
        return place

    def span(self, place: int) -> Span:
        _, start, end, _, _ = self.nodes[place]
        return self.doc[start:end]

    def end_of(self, place: int) -> int:
        """The place after all that is below a node."""
        open_nodes = 1
        while open_nodes:
            open_nodes += self.nodes[place][_SIZE] - 1
            place += 1
        return place


def _find(span: Span) -> _Found | None:
    """The topmost node over a span; None for white space only."""
    doc = span.doc
    records = doc._.get(KEY)
    if records is None:
        raise NoConstituentError(
            "the Doc has no constituents; a pipeline with the component eigentree sets them"
        )
    tokens = [token.i for token in span if not token.is_space]
    if not tokens:
        return None
    bounds = [tokens[0], tokens[-1] + 1]
    sentence = bisect_right(records, tokens[0], key=lambda record: record["start"]) - 1
    nodes = records[sentence]["nodes"] if sentence >= 0 else []
    for place, node in enumerate(nodes):
        if list(node[1:_SIZE]) == bounds:
            return _Found(doc, nodes, place)
    raise NoConstituentError(f"the span {span.text!r} is no constituent of the parse")


def get_labels(span: Span) -> tuple[str, ...]:
    """Labels of the phrases over a span, from the top down."""
    found = _find(span)
    if found is None:
        return ()
    chain = found.nodes[found.top : found.bottom + 1]
    return tuple(label for label, _, _, size, _ in chain if size)


def get_parse_string(span: Span) -> str:
    """The tree over a span, in brackets."""
    found = _find(span)
    if found is None:
        return ""
    pieces: list[str] = []
    waiting: list[int] = []  # children that open brackets still want
    for label, start, _, size, _ in found.nodes[found.top : found.end_of(found.top)]:
        before = " " if pieces else ""
        if size:
            pieces.append(f"{before}({label}")
            waiting.append(size)
            continue
        pieces.append(f"{before}({label} {escape_token(_without_space(found.doc[start].text))})")
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
    above: list[list[int]] = []  # open nodes, and the children that they still want
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
    confidence: float | None = found.nodes[found.top][_SIZE + 1]
    return confidence


_GETTERS: dict[str, Callable[[Span], Any]] = {
    "labels": get_labels,
    "parse_string": get_parse_string,
    "constituents": get_constituents,
    "children": get_children,
    "parent": get_parent,
    "confidence": get_confidence,
}


def _of_token(name: str) -> Callable[[Token], Any]:
    def get(token: Token) -> Any:
        return _GETTERS[name](token.doc[token.i : token.i + 1])

    return get


def _set_extensions() -> None:
    """Give Docs, spans and tokens their attributes, unless another package has them."""
    if not Doc.has_extension(KEY):
        Doc.set_extension(KEY, default=None)
    for name, getter in _GETTERS.items():
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
