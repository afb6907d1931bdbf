"""Dependency parsers in model files: names of arrays, and validation on opening."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel

from eigentree.dependency.arc_labels import ArcLabels
from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.lexical_modifiers import LexicalModifiers
from eigentree.dependency.options import DependencyOptions
from eigentree.dependency.parser import DependencyParser
from eigentree.model_file import Codec, ModelFile, Parts
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.lexicon import Lexicon, LexiconOptions
from eigentree.treebank.tag_schemes import parts_of_scheme
from eigentree.words.tagger import Tagger

_BACK_OFF = "back_off."


def _scheme(text: str) -> str:
    parts_of_scheme(text)
    return text


def _description(stored: dict[str, Any]) -> dict[str, Any]:
    TokenisationScheme.from_json(stored.get("text", {}))
    return stored


class _Lexical(BaseModel):
    tags: list[str]
    words: list[str]
    lexicon: LexiconOptions
    diversity: float


class _DependencyHeader(BaseModel):
    kind: Literal["dependency parser"]
    symbols: list[str]
    tag_scheme: Annotated[str, AfterValidator(_scheme)]
    lexical: _Lexical | None
    relations: list[str] | None
    options: DependencyOptions
    description: Annotated[dict[str, Any], AfterValidator(_description)]


def _to_parts(parser: DependencyParser) -> Parts:
    lexical, relations = parser.lexical, parser.relations
    header = {
        "symbols": list(parser.automata.symbols),
        "tag_scheme": parser.tag_scheme,
        "lexical": None
        if lexical is None
        else {
            "tags": list(lexical.tags),
            "words": list(lexical.lexicon.entries),
            "lexicon": asdict(lexical.lexicon.options),
            "diversity": lexical.diversity,
        },
        "relations": None if relations is None else list(relations.labels),
        "options": asdict(parser.options),
        "description": dict(parser.description),
    }
    arrays = parser.automata.to_arrays()
    arrays |= {_BACK_OFF + name: array for name, array in parser.back_off.to_arrays().items()}
    for part in (lexical, relations):
        arrays |= {} if part is None else part.to_arrays()
    blobs = {} if parser.tagger is None else {"tagger": parser.tagger.to_bytes()}
    return Parts(header, arrays, blobs)


def _from_parts(header: _DependencyHeader, file: ModelFile) -> DependencyParser:
    symbols = tuple(header.symbols)
    # Kernels are compiled for arrays in native memory, so mapped ones are copied.
    arrays = {name: np.array(array) for name, array in file.arrays.items()}
    back_off = {
        name.removeprefix(_BACK_OFF): array
        for name, array in arrays.items()
        if name.startswith(_BACK_OFF)
    }
    lexical = None
    if header.lexical is not None:
        part = header.lexical
        lexicon = Lexicon(tuple(part.words), part.lexicon)
        lexical = LexicalModifiers.from_arrays(tuple(part.tags), lexicon, part.diversity, arrays)
    relations = None
    if header.relations is not None:
        relations = ArcLabels.from_arrays(tuple(header.relations), arrays)
    return DependencyParser(
        HeadAutomata.from_arrays(symbols, arrays),
        HeadAutomata.from_arrays(symbols, back_off),
        header.tag_scheme,
        lexical,
        relations,
        Tagger.from_bytes(file.blobs["tagger"]) if "tagger" in file.blobs else None,
        header.options,
        header.description,
    )


CODEC = Codec("dependency parser", _DependencyHeader, _to_parts, _from_parts)
