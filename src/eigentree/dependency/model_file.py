"""Dependency parsers in model files: which array is what, and the checks when one is opened."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ValidationError

from eigentree.dependency.arc_labels import ArcLabels
from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.lexical_modifiers import LexicalModifiers
from eigentree.dependency.parser import DependencyOptions, DependencyParser
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.model_file import ModelFile, header_problem, open_model, save_model
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.lexicon import Lexicon, LexiconOptions
from eigentree.treebank.tag_schemes import parts_of_scheme
from eigentree.words.tagger import Tagger

KIND = "dependency parser"
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


class _Header(BaseModel):
    kind: Literal["dependency parser"]
    symbols: list[str]
    tag_scheme: Annotated[str, AfterValidator(_scheme)]
    lexical: _Lexical | None
    relations: list[str] | None
    options: DependencyOptions
    description: Annotated[dict[str, Any], AfterValidator(_description)]


def save_dependency_parser(parser: DependencyParser, path: str | Path) -> None:
    """Write a dependency parser, whole or not at all."""
    lexical, relations = parser.lexical, parser.relations
    header = {
        "kind": KIND,
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
        "description": parser.description,
    }
    arrays = parser.automata.to_arrays()
    arrays |= {_BACK_OFF + name: array for name, array in parser.back_off.to_arrays().items()}
    for part in (lexical, relations):
        arrays |= {} if part is None else part.to_arrays()
    blobs = {} if parser.tagger is None else {"tagger": parser.tagger.to_bytes()}
    save_model(path, header, arrays, blobs)


def load_dependency_parser(path: str | Path, *, verify: bool = True) -> DependencyParser:
    """Read a dependency parser and check that its parts belong together.

    Parameters
    ----------
    verify
        Whether to check the digest of the file.

    Raises
    ------
    ModelFileError
        When the file holds something else, is damaged, or its parts don't fit.
    """
    file = open_model(path, kind=KIND, verify=verify)
    try:
        return _assemble(file)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{path}: the model's parts don't fit: {what}") from error
    except EigentreeError as error:
        raise ModelFileError(f"{path}: {error}") from error


def _assemble(file: ModelFile) -> DependencyParser:
    try:
        header = _Header.model_validate(file.header)
    except ValidationError as error:
        raise ModelFileError(f"its {header_problem(error)}") from error
    symbols = tuple(header.symbols)
    # Kernels are compiled for arrays of this machine's memory, so mapped ones are copied.
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
