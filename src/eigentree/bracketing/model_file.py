"""Bracketing parsers in model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from eigentree.bracketing.ccm import ConstituentContextModel
from eigentree.bracketing.models import BracketingModel, ContextModel, ContextPairModel, MetricModel
from eigentree.bracketing.options import BracketingOptions
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.errors import GrammarError
from eigentree.model_file import Codec, ModelFile, Parts
from eigentree.treebank.universal_tags import TagMap


class _TagMap(BaseModel):
    name: str
    patterns: list[tuple[str, str]]
    participles: list[str]


class _BracketingHeader(BaseModel):
    kind: str
    method: Literal["metric", "constituent-context", "taught-contexts"]
    tags: list[str]
    universal_tags: list[str] = []
    tag_map: _TagMap
    least_squares: bool = False
    charge: float = 0.0
    options: BracketingOptions
    description: dict[str, Any]


def _to_parts(parser: BracketingParser) -> Parts:
    entries, arrays = _parts(parser.model)
    tag_map = parser.model.tag_map
    header = {
        **entries,
        "tag_map": {
            "name": tag_map.name,
            "patterns": [list(pattern) for pattern in tag_map.patterns],
            "participles": sorted(tag_map.participles),
        },
        "options": asdict(parser.options),
        "description": dict(parser.description),
    }
    return Parts(header, arrays)


def _parts(model: BracketingModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A model's header entries and arrays."""
    if isinstance(model, MetricModel):
        entries = {
            "method": "metric",
            "tags": list(model.metric.tags),
            "least_squares": model.least_squares,
        }
        return entries, {"metric.table": model.metric.table}
    if isinstance(model, ContextModel):
        return (
            {"method": "constituent-context", "tags": list(model.constituents.tags)},
            _named("constituents", model.constituents),
        )
    if isinstance(model, ContextPairModel):
        entries = {
            "method": "taught-contexts",
            "tags": list(model.own.tags),
            "universal_tags": list(model.universal.tags),
            "charge": model.charge,
        }
        return entries, {
            **_named("constituents", model.own),
            **_named("universal", model.universal),
        }
    raise GrammarError(f"bracketing models of type {type(model).__name__} cannot be saved")


def _named(name: str, model: ConstituentContextModel) -> dict[str, NDArray[Any]]:
    """The arrays of a constituent-context model, with names prefixed by `name`."""
    return {f"{name}.{part}": array for part, array in model.to_arrays().items()}


def _from_parts(header: _BracketingHeader, file: ModelFile) -> BracketingParser:
    return BracketingParser(_model(header, file.arrays), header.options, header.description)


def _model(header: _BracketingHeader, arrays: Mapping[str, NDArray[Any]]) -> BracketingModel:
    stored_map = header.tag_map
    tag_map = TagMap(stored_map.name, tuple(stored_map.patterns), frozenset(stored_map.participles))
    tags = tuple(header.tags)
    if header.method == "metric":
        metric = TreeMetric(tags, tag_map, np.array(arrays["metric.table"]))
        return MetricModel(metric, header.least_squares)
    constituents = _contexts("constituents", tags, arrays)
    if header.method == "constituent-context":
        return ContextModel(constituents, tag_map)
    universal = _contexts("universal", tuple(header.universal_tags), arrays)
    return ContextPairModel(constituents, universal, tag_map, header.charge)


def _contexts(
    name: str, tags: tuple[str, ...], arrays: Mapping[str, NDArray[Any]]
) -> ConstituentContextModel:
    """The constituent-context model whose array names are prefixed by `name`."""
    prefix = f"{name}."
    own_arrays = {
        part.removeprefix(prefix): np.array(array)
        for part, array in arrays.items()
        if part.startswith(prefix)
    }
    return ConstituentContextModel.from_arrays(tags, own_arrays)


CODEC = Codec("bracketing parser", _BracketingHeader, _to_parts, _from_parts)
