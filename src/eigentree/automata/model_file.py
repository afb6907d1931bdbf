"""Automata in model files: operator models and hidden Markov models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel

from eigentree.automata.hidden_markov import HiddenMarkovModel
from eigentree.automata.model import OperatorModel
from eigentree.model_file import Codec, ModelFile, Parts, open_model, wrong_kind
from eigentree.treebank.lexicon import Lexicon, LexiconOptions

Automaton = OperatorModel | HiddenMarkovModel


class StoredOperators(NamedTuple):
    """An operator model and a description of its training."""

    model: OperatorModel
    description: Mapping[str, Any]


class StoredHiddenMarkov(NamedTuple):
    """A hidden Markov model and a description of its training."""

    model: HiddenMarkovModel
    description: Mapping[str, Any]


class _OperatorsHeader(BaseModel):
    kind: Literal["automaton"]
    symbols: list[str]
    description: dict[str, Any]


class _HiddenMarkovHeader(BaseModel):
    kind: Literal["hidden Markov model"]
    tags: list[str]
    words: list[str]
    lexicon: LexiconOptions
    description: dict[str, Any]


def _operators_to_parts(stored: StoredOperators) -> Parts:
    model, description = stored
    header = {"symbols": list(model.symbols), "description": dict(description)}
    return Parts(header, model.to_arrays())


def _operators_from_parts(header: _OperatorsHeader, file: ModelFile) -> StoredOperators:
    model = OperatorModel.from_arrays(header.symbols, file.arrays)
    return StoredOperators(model, header.description)


_HIDDEN_MARKOV_ARRAYS = ("tag", "initial", "transition", "stop", "emission")
_FACTORS = ("left", "right")


def _hidden_markov_to_parts(stored: StoredHiddenMarkov) -> Parts:
    model, description = stored
    header = {
        "tags": list(model.tags),
        "words": list(model.lexicon.entries),
        "lexicon": asdict(model.lexicon.options),
        "description": dict(description),
    }
    arrays = {name: getattr(model, name) for name in _HIDDEN_MARKOV_ARRAYS}
    return Parts(header, arrays | dict(zip(_FACTORS, model.factors, strict=False)))


def _hidden_markov_from_parts(header: _HiddenMarkovHeader, file: ModelFile) -> StoredHiddenMarkov:
    arrays = {name: np.array(file.arrays[name]) for name in _HIDDEN_MARKOV_ARRAYS}
    factors = tuple(np.array(file.arrays[name]) for name in _FACTORS if name in file.arrays)
    lexicon = Lexicon(tuple(header.words), header.lexicon)
    model = HiddenMarkovModel(tuple(header.tags), lexicon, **arrays, factors=factors)
    return StoredHiddenMarkov(model, header.description)


CODEC = Codec("automaton", _OperatorsHeader, _operators_to_parts, _operators_from_parts)
HIDDEN_MARKOV_CODEC = Codec(
    "hidden Markov model", _HiddenMarkovHeader, _hidden_markov_to_parts, _hidden_markov_from_parts
)


def save_automaton(
    model: Automaton, path: str | Path, description: Mapping[str, Any] | None = None
) -> None:
    """Write an automaton to a model file; an earlier file stays until the new one is complete.

    Parameters
    ----------
    model
        An operator model or a hidden Markov model.
    path
        The file.
    description
        How the model was trained; anything that JSON can represent.
    """
    if isinstance(model, OperatorModel):
        CODEC.save(StoredOperators(model, description or {}), path)
    else:
        HIDDEN_MARKOV_CODEC.save(StoredHiddenMarkov(model, description or {}), path)


def load_automaton(path: str | Path) -> Automaton:
    """Read an automaton from a model file and check that its parts belong together.

    Raises
    ------
    ModelFileError
        When the file is no automaton, or its parts don't fit.
    """
    file = open_model(path)
    kind = file.header.get("kind")
    if kind == HIDDEN_MARKOV_CODEC.kind:
        return HIDDEN_MARKOV_CODEC.decode(file).model
    if kind == CODEC.kind:
        return CODEC.decode(file).model
    raise wrong_kind(path, kind, CODEC.kind, HIDDEN_MARKOV_CODEC.kind)
