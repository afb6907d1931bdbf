"""Operator models in model files, and the checks when one is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from eigentree.automata.model import OperatorModel
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.model_file import header_problem, open_model, save_model

KIND = "automaton"


class _Header(BaseModel):
    kind: str
    symbols: list[str]
    description: dict[str, Any]


def save_operators(
    model: OperatorModel, path: str | Path, description: dict[str, Any] | None = None
) -> None:
    """Write an operator model, whole or not at all.

    Parameters
    ----------
    description
        How it was made, as JSON has it.
    """
    header = {"kind": KIND, "symbols": list(model.symbols), "description": description or {}}
    save_model(path, header, model.to_arrays())


def load_operators(path: str | Path) -> OperatorModel:
    """Read an operator model and check that its parts belong together.

    Raises
    ------
    ModelFileError
        When the file is no model of this kind, or its parts don't fit.
    """
    file = open_model(path, kind=KIND)
    try:
        header = _Header.model_validate(file.header)
        return OperatorModel.from_arrays(header.symbols, file.arrays)
    except ValidationError as error:
        raise ModelFileError(f"{path}: its {header_problem(error)}") from error
    except KeyError as error:
        raise ModelFileError(f"{path}: the model's parts don't fit: lacks {error}") from error
    except EigentreeError as error:
        raise ModelFileError(f"{path}: {error}") from error
