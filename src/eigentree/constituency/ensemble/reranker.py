"""The reranker: which of a sentence's candidates is best, by what they look like and by votes.

A log-linear model (`eigentree.constituency.ensemble.maxent`) over features of trees
(`eigentree.constituency.ensemble.features`) and over what the members say of each candidate
(`eigentree.constituency.ensemble.stacking`).  It is trained on candidates of sentences that the
members have
not seen, for of those that they have learned they are far too sure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from eigentree.constituency.ensemble.diversity import compare
from eigentree.constituency.ensemble.features import (
    FeatureTable,
    RerankerFeatureOptions,
    frequent_words,
)
from eigentree.constituency.ensemble.maxent import MaxEnt, MaxEntOptions, Quality, fit
from eigentree.errors import ModelFileError, SettingsError
from eigentree.evaluation.settings import EVALB_COLLINS, ParsevalOptions
from eigentree.model_file import header_problem
from eigentree.treebank.binarise import HeadFinder
from eigentree.treebank.tree import Tree
from eigentree.types import Floats


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """How a reranker is trained.

    Attributes
    ----------
    schemata
        Kinds of features, by name; see `eigentree.constituency.ensemble.features.SCHEMATA`.
    least
        Sentences in which a feature must tell candidates apart.
    function_words
        How many of the most frequent words are told apart in rules.
    maxent
        Target, regularisation and iterations.
    """

    schemata: tuple[str, ...] = RerankerFeatureOptions().schemata
    least: int = 5
    function_words: int = 200
    maxent: MaxEntOptions = field(default_factory=MaxEntOptions)

    def __post_init__(self) -> None:
        RerankerFeatureOptions(self.schemata)  # refuses unknown names
        for name, lowest in (("least", 1), ("function_words", 0)):
            if getattr(self, name) < lowest:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be {lowest} or more")


class Candidates(NamedTuple):
    """The distinct trees of one sentence that a combination chooses from.

    Attributes
    ----------
    trees
        In the order in which the inputs gave them.
    columns : float64, axes (trees, J)
        What members say of each.
    """

    trees: list[Tree]
    columns: Floats


@dataclass(frozen=True, slots=True)
class Reranker:
    """A trained reranker.

    Attributes
    ----------
    table
        The features that it knows.
    model
        Their weights, and those of what members say.
    column_names
        What members say.
    """

    table: FeatureTable
    model: MaxEnt
    column_names: tuple[str, ...]

    def __post_init__(self) -> None:
        model = self.model
        if model.weights.shape != (len(self.table),):
            raise ModelFileError(
                f"a reranker has weights of shape {model.weights.shape} for "
                f"{len(self.table)} features"
            )
        for name in ("dense_weights", "scale"):
            if getattr(model, name).shape != (len(self.column_names),):
                raise ModelFileError(
                    f"a reranker's {name} has shape {getattr(model, name).shape}; there are "
                    f"{len(self.column_names)} columns"
                )
        if not np.all(model.scale > 0):
            raise ModelFileError("a reranker's scale has values that are not positive")

    def values(self, sentences: Sequence[Candidates]) -> list[Floats]:
        """What the model gives each sentence's candidates; 0 to one that is alone.

        Parameters
        ----------
        sentences
            At least one candidate each.

        Cost
        ----
        Some 0.3 ms a candidate, for its features.
        """
        values = [np.zeros(len(each.trees)) for each in sentences]
        # Most members agree on many sentences, which need no features then.
        open_ones = [place for place, each in enumerate(sentences) if len(each.trees) > 1]
        if open_ones:
            asked = [sentences[place] for place in open_ones]
            features = self.table.features([each.trees for each in asked])
            columns = np.concatenate([each.columns for each in asked])
            found = self.model.values(features.values, columns)
            for place, own in zip(open_ones, np.split(found, features.offsets[1:-1]), strict=True):
                values[place] = own
        return values


def train_reranker(
    sentences: Sequence[Candidates],
    gold: Sequence[Tree],
    column_names: Sequence[str],
    heads: HeadFinder,
    options: RerankerOptions = RerankerOptions(),
    *,
    scoring: ParsevalOptions = EVALB_COLLINS,
    progress: Callable[[float], None] | None = None,
) -> Reranker:
    """Train a reranker.

    Parameters
    ----------
    sentences
        Candidates by members that have not seen the gold trees; those of a sentence with only
        one teach nothing.
    gold
        A tree for each sentence.
    column_names
        What the columns of candidates are.
    heads
        Finds the heads of phrases.
    options
        Features and the model's training.
    scoring
        How candidates are compared with gold trees.
    progress
        Called with the share of the work that is done.

    Cost
    ----
    Linear in the number of candidates; 12 bytes for each value of a feature in memory, of which a
    candidate has some 300.

    References
    ----------
    charniak-2005, section 5; narayan-2015, section 5.
    """
    pairs = [pair for pair in zip(sentences, gold, strict=True) if len(pair[0].trees) > 1]
    if not pairs:
        raise SettingsError(
            "no sentence has two different candidates, so there is nothing for a reranker to learn"
        )
    trees = [each.trees for each, _ in pairs]
    told = progress or (lambda _share: None)
    words = frequent_words((tree for _, tree in pairs), options.function_words)
    table = FeatureTable.of(
        trees, RerankerFeatureOptions(options.schemata, words), heads, least=options.least
    )
    told(0.3)
    features = table.features(trees)
    told(0.6)
    columns = np.concatenate([each.columns for each, _ in pairs])
    model = fit(
        features.values,
        columns,
        features.offsets,
        _quality(pairs, scoring),
        options.maxent,
    )
    told(1.0)
    return Reranker(table, model, tuple(column_names))


def _quality(pairs: Sequence[tuple[Candidates, Tree]], scoring: ParsevalOptions) -> Quality:
    found = [compare([tree], each.trees, scoring) for each, tree in pairs]
    matched = np.concatenate([one.matched[0] for one in found])
    return Quality(matched, np.concatenate([one.total[0] for one in found]))


class _FeatureNames(BaseModel):
    schemata: list[str]
    function_words: list[str]
    coordination: list[str]


class _Training(BaseModel):
    objective: float
    iterations: int
    converged: bool


class _RerankerHeader(BaseModel):
    """What `to_parts` writes; a file's header may hold more."""

    features: _FeatureNames
    columns: list[str]
    training: _Training


def to_parts(reranker: Reranker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A reranker as header and arrays of a model file, but for its head table."""
    options = asdict(reranker.table.options)
    options["function_words"] = sorted(options["function_words"])
    options["coordination"] = sorted(options["coordination"])
    model = reranker.model
    header = {
        "features": {**options, "schemata": list(options["schemata"])},
        "columns": list(reranker.column_names),
        "training": {
            "objective": model.objective,
            "iterations": model.n_iterations,
            "converged": model.converged,
        },
    }
    arrays = {
        "keys": reranker.table.keys,
        "weights": model.weights,
        "dense_weights": model.dense_weights,
        "scale": model.scale,
    }
    return header, arrays


def from_parts(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], heads: HeadFinder
) -> Reranker:
    """The inverse of `to_parts`; refuses parts that do not fit."""
    try:
        told = _RerankerHeader.model_validate(header)
    except ValidationError as error:
        raise ModelFileError(f"a reranker's {header_problem(error)}") from None
    given = told.features
    options = RerankerFeatureOptions(
        tuple(given.schemata), frozenset(given.function_words), frozenset(given.coordination)
    )
    names = ("keys", "weights", "dense_weights", "scale")
    keys, weights, dense_weights, scale = (np.array(arrays[name]) for name in names)
    if keys.dtype != np.uint64 or keys.ndim != 1 or np.any(keys[1:] <= keys[:-1]):
        raise ModelFileError("a reranker's keys are not 64-bit numbers in rising order")
    if {array.dtype for array in (weights, dense_weights, scale)} != {np.dtype(np.float64)}:
        raise ModelFileError("a reranker's weights and scale are not all of double precision")
    model = MaxEnt(
        weights,
        dense_weights,
        scale,
        told.training.objective,
        told.training.iterations,
        told.training.converged,
    )
    return Reranker(FeatureTable(keys, options, heads), model, tuple(told.columns))
