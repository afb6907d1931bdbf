"""The component of spaCy pipelines, which parses Docs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from eigentree._core.optional import require
from eigentree.constituency.parser import ConstituencyParser
from eigentree.data.catalogue import CONSTITUENTS
from eigentree.dependency.parser import DependencyParser
from eigentree.errors import SettingsError
from eigentree.integrations.spacy.constituents import as_word, remove, set_extensions, store
from eigentree.integrations.spacy.noun_chunks import follow_universal_dependencies
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.words import as_written
from eigentree.treebank.io.conllu import ROOT, UNKNOWN_RELATION
from eigentree.treebank.tag_schemes import column_part, parts_of_scheme

with require("spacy"):
    from spacy.language import Language
    from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
    from spacy.pipeline import Sentencizer
    from spacy.symbols import DEP, HEAD
    from spacy.tokens import Doc, Span, Token

_CONFIG = "cfg"
_LANGUAGES = ("en", "xx")  # for which the bundled model may be meant


@Language.factory(  # type: ignore[untyped-decorator]  # its types are not read
    "eigentree",
    default_config={"model": None, "dependencies": None, "use_tags": False},
    assigns=["doc._.eigentree"],
)
def make_eigentree(
    nlp: Language,
    name: str,
    model: str | None,
    dependencies: str | None,
    use_tags: bool,
) -> EigentreeComponent:
    """Make the component of a pipeline; see `EigentreeComponent`.

    Raises
    ------
    SettingsError
        As of the component, and when no model is named for a pipeline of another language than
        English.
    """
    if model is None and dependencies is None and nlp.lang not in _LANGUAGES:
        raise SettingsError(
            f"the bundled model is for English, and the pipeline's language is {nlp.lang!r}; name "
            'a model: nlp.add_pipe("eigentree", config={"model": FILE}), or "dependencies": FILE'
        )
    follow_universal_dependencies(nlp.vocab)
    return EigentreeComponent(name, model, dependencies, use_tags=use_tags)


class EigentreeComponent:
    """Parses the sentences of Docs.

    Parameters
    ----------
    name
        That of the component in its pipeline.
    model
        A constituency model: a file, the name of a bundled model, or None for none.
    dependencies
        A dependency model, likewise.  Without either, the bundled constituency model is used.
    use_tags
        Parse with the tags that Docs have: ``tag_`` for constituents, and for dependencies by
        the model's scheme ``tag_`` or ``pos_``.  Otherwise the models' taggers tag.

    Raises
    ------
    SettingsError
        When the dependency model has no tagger and the tags of Docs are not to be used, or when
        another package's component has the attributes' names.
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
        set_extensions()
        self._load({"model": model, "dependencies": dependencies, "use_tags": use_tags})

    def _load(self, config: dict[str, Any]) -> None:
        self._config = config
        model, dependencies = config["model"], config["dependencies"]
        if model is None and dependencies is None:
            model = CONSTITUENTS
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
        remove(doc)
        if len(doc) == 0:
            return doc
        self._find_sentences(doc)
        sentences = [
            (sent, tokens)
            for sent in doc.sents
            if (tokens := [token for token in sent if not token.is_space])
        ]
        if self._parser is not None:
            for sent, tokens in sentences:
                self._add_constituents(self._parser, sent, tokens)
        if self._arcs is not None:
            self._attach(self._arcs, doc, [tokens for _, tokens in sentences])
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

    def _add_constituents(
        self, parser: ConstituencyParser, sentence: Span, tokens: list[Token]
    ) -> None:
        """Parse a sentence, and keep its constituents."""
        words = _words(tokens, parser.tokenisation)
        tags = _tags(tokens, "xpos") if self._config["use_tags"] else None
        result = parser.parse(words, tags)
        if tags is None:
            for token, tag in zip(tokens, result.tags, strict=True):
                if not token.tag:
                    token.tag_ = tag
        store(sentence, tokens, result)

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


def _words(tokens: list[Token], scheme: TokenisationScheme) -> list[str]:
    """Tokens of a sentence in the spelling of the treebank, for example its quotes."""
    first = tokens[0].idx
    text = tokens[0].doc[tokens[0].i : tokens[-1].i + 1].text
    spans = [(token.idx - first, token.idx - first + len(token)) for token in tokens]
    return [as_word(word) for word in as_written(text, spans, scheme)]


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
    """Set the missing tags and features of tokens; ``pos_`` accepts universal tags only."""
    column, _ = parts_of_scheme(scheme)
    for token, given in zip(tokens, tags, strict=True):
        tag = column_part(given)
        if column == "xpos" and not token.tag:
            token.tag_ = tag
        elif column == "upos" and not token.pos and tag in UNIVERSAL_TAGS:
            token.pos_ = tag
        features = given[len(tag) + 1 :]
        if features and not token.has_morph():
            token.set_morph(features)
