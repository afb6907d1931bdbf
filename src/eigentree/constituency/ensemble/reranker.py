"""The reranker, which selects the best candidate of a sentence by features and members' scores.

It is a log-linear model (`eigentree.constituency.ensemble.maxent`) over features of trees
(`eigentree.constituency.ensemble.features`) and the members' scores of each candidate
(`eigentree.constituency.ensemble.stacking`).  It is trained on sentences that the members were not
trained on, because they are overconfident on their training data.
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
from eigentree.errors import ModelFileError, SettingsError, check_range
from eigentree.evaluation.settings import EVALB_COLLINS, ParsevalOptions
from eigentree.model_file import header_problem
from eigentree.treebank.binarise import HeadFinder
from eigentree.treebank.tree import Tree
from eigentree.types import Floats


@dataclass(frozen=True)
class RerankerOptions:
    """Options of training a reranker.

    Attributes
    ----------
    schemata
        Names of feature schemata; see `eigentree.constituency.ensemble.feature_templates.SCHEMATA`.
    least
        Minimum number of sentences in which a feature differs between candidates.
    function_words
        Number of most frequent words that rule features distinguish.
    maxent
        Target, regularisation and iterations.
    """

    schemata: tuple[str, ...] = RerankerFeatureOptions().schemata
    least: int = 5
    function_words: int = 200
    maxent: MaxEntOptions = field(default_factory=MaxEntOptions)

    def __post_init__(self) -> None:
        RerankerFeatureOptions(self.schemata)  # rejects unknown names
        check_range(1, least=self.least)
        check_range(0, function_words=self.function_words)


class Candidates(NamedTuple):
    """The distinct trees of one sentence that a reranker chooses from.

    Attributes
    ----------
    trees
        In order of first occurrence in the inputs.
    columns : float64, axes (trees, J)
        The members' scores.
    """

    trees: list[Tree]
    columns: Floats


@dataclass(frozen=True)
class Reranker:
    """A trained reranker.

    Attributes
    ----------
    table
        The features.
    model
        Weights of features and of members' scores.
    column_names
        Names of the members' scores.
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
        """The model's values of each sentence's candidates; 0 for a single candidate.

        Parameters
        ----------
        sentences
            At least one candidate for each sentence.

        Cost
        ----
        About 0.3 ms per candidate, for its features.
        """
        values = [np.zeros(len(each.trees)) for each in sentences]
        # All members agree on many sentences, which then need no features.
        ambiguous = [place for place, each in enumerate(sentences) if len(each.trees) > 1]
        if ambiguous:
            some = [sentences[place] for place in ambiguous]
            features = self.table.features([each.trees for each in some])
            columns = np.concatenate([each.columns for each in some])
            joined = self.model.values(features.values, columns)
            split = np.split(joined, features.offsets[1:-1])
            for place, of_sentence in zip(ambiguous, split, strict=True):
                values[place] = of_sentence
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
        Candidates by members that were not trained on the gold trees.  Sentences with a single
        candidate are ignored.
    gold
        A gold tree for each sentence.
    column_names
        Names of the columns of candidates.
    heads
        Finds the heads of phrases.
    options
        Features and training of the model.
    scoring
        Options of the comparison with gold trees.
    progress
        Called with the completed fraction.

    Raises
    ------
    SettingsError
        When no sentence has two candidates.

    Cost
    ----
    Linear in the number of candidates; memory of 12 bytes per feature value, about 300 of which
    belong to a candidate.

    References
    ----------
    charniak-2005, section 5; narayan-2015, section 5.
    """
    pairs = [pair for pair in zip(sentences, gold, strict=True) if len(pair[0].trees) > 1]
    if not pairs:
        raise SettingsError(
            "no sentence has two different candidates; a reranker can't be trained on them"
        )
    trees = [each.trees for each, _ in pairs]
    report = progress or (lambda _share: None)
    words = frequent_words((tree for _, tree in pairs), options.function_words)
    table = FeatureTable.of(
        trees, RerankerFeatureOptions(options.schemata, words), heads, least=options.least
    )
    report(0.3)
    features = table.features(trees)
    report(0.6)
    columns = np.concatenate([each.columns for each, _ in pairs])
    model = fit(
        features.values,
        columns,
        features.offsets,
        _quality(pairs, scoring),
        options.maxent,
    )
    report(1.0)
    return Reranker(table, model, tuple(column_names))


def _quality(pairs: Sequence[tuple[Candidates, Tree]], scoring: ParsevalOptions) -> Quality:
    comparisons = [compare([tree], each.trees, scoring) for each, tree in pairs]
    matched = np.concatenate([each.matched[0] for each in comparisons])
    return Quality(matched, np.concatenate([each.total[0] for each in comparisons]))


class _FeatureNames(BaseModel):
    schemata: list[str]
    function_words: list[str]
    coordination: list[str]


class _Training(BaseModel):
    objective: float
    iterations: int
    converged: bool


class _RerankerHeader(BaseModel):
    """The keys that `to_parts` writes; a file's header may have others."""

    features: _FeatureNames
    columns: list[str]
    training: _Training


def to_parts(reranker: Reranker) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a reranker's model file, which does not contain the head table."""
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
    """The inverse of `to_parts`; raises an error for inconsistent parts."""
    try:
        checked = _RerankerHeader.model_validate(header)
    except ValidationError as error:
        raise ModelFileError(f"a reranker's {header_problem(error)}") from None
    given = checked.features
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
        checked.training.objective,
        checked.training.iterations,
        checked.training.converged,
    )
    return Reranker(FeatureTable(keys, options, heads), model, tuple(checked.columns))
