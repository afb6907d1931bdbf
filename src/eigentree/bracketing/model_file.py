"""Bracketing parsers in model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from eigentree.bracketing.ccm import ConstituentContextModel
from eigentree.bracketing.models import BracketingModel, ContextModel, MetricModel, TaughtModel
from eigentree.bracketing.parser import BracketingOptions, BracketingParser
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.errors import EigentreeError, GrammarError, ModelFileError
from eigentree.model_file import header_problem, open_model, save_model
from eigentree.treebank.universal_tags import TagMap

KIND = "bracketing parser"


class _TagMap(BaseModel):
    name: str
    patterns: list[tuple[str, str]]
    participles: list[str]


class _Header(BaseModel):
    kind: str
    method: Literal["metric", "constituent-context", "taught-contexts"]
    tags: list[str]
    universal_tags: list[str] = []
    tag_map: _TagMap
    least_squares: bool = False
    charge: float = 0.0
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
        return (
            {"method": "constituent-context", "tags": list(model.constituents.tags)},
            _named("constituents", model.constituents),
        )
    if isinstance(model, TaughtModel):
        own = {
            "method": "taught-contexts",
            "tags": list(model.own.tags),
            "universal_tags": list(model.universal.tags),
            "charge": model.charge,
        }
        return own, {**_named("constituents", model.own), **_named("universal", model.universal)}
    raise GrammarError(f"a bracketing model of type {type(model).__name__} can't be saved")


def _named(name: str, model: ConstituentContextModel) -> dict[str, NDArray[Any]]:
    """The arrays of a constituent-context model, by names of their own."""
    return {f"{name}.{part}": array for part, array in model.to_arrays().items()}


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
    own = _contexts("constituents", tags, arrays)
    if header.method == "constituent-context":
        return ContextModel(own, tag_map)
    universal = _contexts("universal", tuple(header.universal_tags), arrays)
    return TaughtModel(own, universal, tag_map, header.charge)


def _contexts(
    name: str, tags: tuple[str, ...], arrays: Mapping[str, NDArray[Any]]
) -> ConstituentContextModel:
    """The constituent-context model whose arrays have such a name before their own."""
    prefix = f"{name}."
    found = {
        part.removeprefix(prefix): np.array(array)
        for part, array in arrays.items()
        if part.startswith(prefix)
    }
    return ConstituentContextModel.from_arrays(tags, found)
