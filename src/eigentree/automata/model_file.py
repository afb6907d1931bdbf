"""Operator models in model files, and the checks on opening."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from eigentree.automata.model import OperatorModel
from eigentree.model_file import Codec, ModelFile, Parts


class StoredOperators(NamedTuple):
    """An operator model and how it was made, as JSON has it."""

    model: OperatorModel
    description: dict[str, Any]


class _Header(BaseModel):
    kind: str
    symbols: list[str]
    description: dict[str, Any]


def _to_parts(stored: StoredOperators) -> Parts:
    model, description = stored
    return Parts({"symbols": list(model.symbols), "description": description}, model.to_arrays())


def _from_parts(header: _Header, file: ModelFile) -> StoredOperators:
    model = OperatorModel.from_arrays(header.symbols, file.arrays)
    return StoredOperators(model, header.description)


CODEC = Codec("automaton", _Header, _to_parts, _from_parts)


def save_operators(
    model: OperatorModel, path: str | Path, description: dict[str, Any] | None = None
) -> None:
    """Write an operator model, whole or not at all.

    Parameters
    ----------
    description
        How it was made, as JSON has it.
    """
    CODEC.save(StoredOperators(model, description or {}), path)


def load_operators(path: str | Path) -> OperatorModel:
    """Read an operator model and check that its parts belong together.

    Raises
    ------
    ModelFileError
        When the file is no model of this kind, or its parts don't fit.
    """
    return CODEC.load(path).model
