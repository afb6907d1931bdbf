"""Bracketing parsers in model files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from eigentree.bracketing_parser import BracketingOptions, BracketingParser
from eigentree.corpus.universal_tags import TagMap
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.grammar.metric import TreeMetric
from eigentree.model_files import header_problem, open_model, save_model

KIND = "bracketing parser"


class _TagMap(BaseModel):
    name: str
    patterns: list[tuple[str, str]]
    participles: list[str]


class _Header(BaseModel):
    kind: str
    tags: list[str]
    tag_map: _TagMap
    options: BracketingOptions
    description: dict[str, Any]


def save_bracketing_parser(parser: BracketingParser, path: str | Path) -> None:
    """Write a parser, whole or not at all."""
    metric = parser.metric
    header = {
        "kind": KIND,
        "tags": list(metric.tags),
        "tag_map": {
            "name": metric.tag_map.name,
            "patterns": [list(pattern) for pattern in metric.tag_map.patterns],
            "participles": sorted(metric.tag_map.participles),
        },
        "options": asdict(parser.options),
        "description": dict(parser.description),
    }
    save_model(path, header, {"metric.table": metric.table})


def load_bracketing_parser(path: str | Path, *, verify: bool = True) -> BracketingParser:
    """Read a parser and check that its parts belong together."""
    file = open_model(path, kind=KIND, verify=verify)
    try:
        header = _Header.model_validate(file.header)
        given = header.tag_map
        tag_map = TagMap(given.name, tuple(given.patterns), frozenset(given.participles))
        table = np.array(file.arrays["metric.table"])
        metric = TreeMetric(tuple(header.tags), tag_map, table)
    except ValidationError as error:
        raise ModelFileError(f"{path}: its {header_problem(error)}") from error
    except KeyError as error:
        raise ModelFileError(f"{path}: the model's parts don't fit: lacks {error}") from error
    except EigentreeError as error:
        raise ModelFileError(f"{path}: {error}") from error
    return BracketingParser(metric, header.options, header.description)
