"""Bracketing parsers in model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from eigentree.bracketing_models import BracketingModel, ContextModel, MetricModel
from eigentree.bracketing_parser import BracketingOptions, BracketingParser
from eigentree.corpus.universal_tags import TagMap
from eigentree.errors import EigentreeError, GrammarError, ModelFileError
from eigentree.grammar.constituent_context import ConstituentContextModel
from eigentree.grammar.metric import TreeMetric
from eigentree.model_files import header_problem, open_model, save_model

KIND = "bracketing parser"


class _TagMap(BaseModel):
    name: str
    patterns: list[tuple[str, str]]
    participles: list[str]


class _Header(BaseModel):
    kind: str
    method: Literal["metric", "constituent-context"]
    tags: list[str]
    tag_map: _TagMap
    least_squares: bool = False
    options: BracketingOptions
    description: dict[str, Any]


def save_bracketing_parser(parser: BracketingParser, path: str | Path) -> None:
    """Write a parser, whole or not at all.

    Raises
    ------
    GrammarError
        When its model is none of the package's.
    """
    own, arrays = _parts(parser.model)
    tag_map = parser.model.tag_map
    header = {
        "kind": KIND,
        **own,
        "tag_map": {
            "name": tag_map.name,
            "patterns": [list(pattern) for pattern in tag_map.patterns],
            "participles": sorted(tag_map.participles),
        },
        "options": asdict(parser.options),
        "description": dict(parser.description),
    }
    save_model(path, header, arrays)


def _parts(model: BracketingModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What the header says of a model, and its arrays."""
    if isinstance(model, MetricModel):
        own = {
            "method": "metric",
            "tags": list(model.metric.tags),
            "least_squares": model.least_squares,
        }
        return own, {"metric.table": model.metric.table}
    if isinstance(model, ContextModel):
        arrays = model.constituents.to_arrays()
        return (
            {"method": "constituent-context", "tags": list(model.constituents.tags)},
            {f"constituents.{name}": array for name, array in arrays.items()},
        )
    raise GrammarError(f"a bracketing model of type {type(model).__name__} can't be saved")


def load_bracketing_parser(path: str | Path, *, verify: bool = True) -> BracketingParser:
    """Read a parser and check that its parts belong together."""
    file = open_model(path, kind=KIND, verify=verify)
    try:
        header = _Header.model_validate(file.header)
        model = _model(header, file.arrays)
    except ValidationError as error:
        raise ModelFileError(f"{path}: its {header_problem(error)}") from error
    except KeyError as error:
        raise ModelFileError(f"{path}: the model's parts don't fit: lacks {error}") from error
    except EigentreeError as error:
        raise ModelFileError(f"{path}: {error}") from error
    return BracketingParser(model, header.options, header.description)


def _model(header: _Header, arrays: Mapping[str, NDArray[Any]]) -> BracketingModel:
    given = header.tag_map
    tag_map = TagMap(given.name, tuple(given.patterns), frozenset(given.participles))
    tags = tuple(header.tags)
    if header.method == "metric":
        metric = TreeMetric(tags, tag_map, np.array(arrays["metric.table"]))
        return MetricModel(metric, header.least_squares)
    prefix = "constituents."
    own = {
        name.removeprefix(prefix): np.array(array)
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
    return ContextModel(ConstituentContextModel.from_arrays(tags, own), tag_map)
