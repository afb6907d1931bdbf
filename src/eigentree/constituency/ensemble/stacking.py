"""Stacked combinations: from the predictions of families to one tree per sentence.

The combinations of a description are computed in the order of the file, so that the trees of
those above are available as inputs.  Marginals are always those of the families that are direct
or indirect inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eigentree.constituency.ensemble.combine import Combined, Evidence, Other, combine
from eigentree.constituency.ensemble.config import Combination, EnsembleConfig
from eigentree.constituency.ensemble.predictions import Prediction
from eigentree.constituency.ensemble.reranker import Candidates, Reranker
from eigentree.errors import ModelFileError
from eigentree.treebank.tree import Tree
from eigentree.types import Floats

# A reranker does not distinguish shares of the members below this.
MIN_SHARE = 1e-3
Bracket = tuple[str, int, int]


class Query(NamedTuple):
    """A sentence to be parsed by combinations.

    Attributes
    ----------
    words, tags
        The sentence.
    predictions
        The predictions of families, by name.
    outputs
        The outputs of combinations that have been computed, by name.
    required
        Spans that its trees must have; no item of the members' charts crosses them.
    """

    words: Sequence[str]
    tags: Sequence[str]
    predictions: Mapping[str, Prediction]
    outputs: dict[str, Combined]
    required: Sequence[tuple[int, int]] = ()


class Stacking:
    """The combinations of an ensemble.

    Parameters
    ----------
    config
        The description of the ensemble.
    rerankers
        The reranker of each combination by ``maxent``, by name; those that are not applied may be
        missing.
    """

    def __init__(self, config: EnsembleConfig, rerankers: Mapping[str, Reranker]) -> None:
        self.config = config
        self.rerankers = dict(rerankers)
        # Families in the order of the file.
        self._needed = {
            each.name: [
                family.name
                for family in config.family
                if family.name in config.needed_by(each.name)
            ]
            for each in config.combination
        }
        for each in config.combination:
            known = self.rerankers.get(each.name)
            if known is not None and list(known.column_names) != self.column_names(each):
                raise ModelFileError(
                    f"the reranker {each.name!r} was trained by another version, with other scores "
                    "of candidates; train it again"
                )

    def outputs(
        self,
        queries: Sequence[Query],
        root: str,
        names: Sequence[str] | None = None,
        best: int = 1,
    ) -> list[dict[str, Combined]]:
        """The outputs of combinations for each sentence.

        Parameters
        ----------
        queries
            Sentences with the predictions of all families that are needed; their ``outputs`` are
            updated.
        root
            Label of the root if no member has a phrase over the sentence.
        names
            Names of combinations, which are computed together with their inputs; None for all.
        best
            Number of trees of the last combination.  A coverage may return more; a reranker returns
            at most its candidates.
        """
        every = [each.name for each in self.config.combination]
        needed = self.config.with_inputs(every if names is None else names)
        for combination in self.config.combination:
            if combination.name in needed:
                is_last = combination is self.config.combination[-1]
                outputs = self.output(combination, queries, root, best=best if is_last else 1)
                for query, output in zip(queries, outputs, strict=True):
                    query.outputs[combination.name] = output
        return [query.outputs for query in queries]

    def output(
        self,
        combination: Combination,
        queries: Sequence[Query],
        root: str,
        candidates: Sequence[Candidates] | None = None,
        best: int = 1,
    ) -> list[Combined]:
        """The output of one combination for each sentence.

        Parameters
        ----------
        combination
            A combination of the description.
        queries
            Sentences with the outputs of the combinations that are its inputs.
        root, best
            As in `outputs`.
        candidates
            The candidates of a reranker, if already computed.
        """
        if not combination.is_trained:
            return [self._covered(combination, query, root, best) for query in queries]
        if candidates is None:
            candidates = [self.candidates(combination, query) for query in queries]
        some = [place for place, each in enumerate(candidates) if each.trees]
        values: dict[int, Floats] = {}
        if some:
            reranker = self.rerankers[combination.name]
            of_some = reranker.values([candidates[place] for place in some])
            values = dict(zip(some, of_some, strict=True))
        return [
            ranked(
                candidates[place].trees,
                values[place],
                self._marginals(combination, query),
                best,
            )
            if place in values
            else self._covered(combination, query, root, best)
            for place, query in enumerate(queries)
        ]

    def _covered(self, combination: Combination, query: Query, root: str, best: int) -> Combined:
        if combination.how == "tree-coverage":
            evidence = self._trees(combination, query)
        else:
            evidence = self._marginals(combination, query)
        return combine(
            evidence, query.words, query.tags,
            root=root, price=combination.price, best=max(combination.best, best),
            required=query.required,
        )  # fmt: skip

    def _marginals(self, combination: Combination, query: Query) -> Evidence:
        families = [query.predictions[name].evidence for name in self._needed[combination.name]]
        evidence = Evidence(len(query.words), families[0].chains)
        for each in families:
            evidence.add(each)
        return evidence

    def _trees(self, combination: Combination, query: Query) -> Evidence:
        families = self._needed[combination.name]
        chains = query.predictions[families[0]].evidence.chains
        evidence = Evidence(len(query.words), chains)
        for name in combination.inputs:
            if name in query.outputs:
                evidence.add_trees([query.outputs[name].tree])
            else:
                prediction = query.predictions[name]
                evidence.add_trees(prediction.trees, prediction.votes.tolist())
        return evidence

    def candidates(self, combination: Combination, query: Query) -> Candidates:
        """The trees that a reranker chooses from, with the members' scores.

        The vote of a family for a tree is the fraction of its members that predict it; the vote of
        a combination for its r-th best tree is 1 / r.
        """
        predictions, outputs = query.predictions, query.outputs
        votes: dict[Tree, list[float]] = {}
        for column, name in enumerate(combination.inputs):
            if name in outputs:
                trees = [outputs[name].tree, *(each.tree for each in outputs[name].others)]
                shares = [1.0 / rank for rank in range(1, len(trees) + 1)]
            else:
                trees = predictions[name].trees
                shares = (predictions[name].votes / max(1, predictions[name].members)).tolist()
            for tree, share in zip(trees, shares, strict=True):
                votes.setdefault(tree, [0.0] * len(combination.inputs))[column] += share
        of_families = [predictions[name] for name in self._needed[combination.name]]
        return Candidates(list(votes), _columns(votes, len(combination.inputs), of_families))

    def column_names(self, combination: Combination) -> list[str]:
        """The names of the members' scores of a candidate."""
        families = self._needed[combination.name]
        return [
            "brackets",
            "mean votes",
            *(f"votes: {name}" for name in combination.inputs),
            *(f"{what}: {name}" for name in ["all", *families] for what in _MEASURES),
            "least share",
        ]


# Scores of a candidate from the shares of its brackets in a family's marginals.
_MEASURES = ("expected gain", "log shares")


def _columns(
    votes: Mapping[Tree, Sequence[float]], n_inputs: int, predictions: Sequence[Prediction]
) -> Floats:
    """Axes (trees, columns): the scores named by `Stacking.column_names`."""
    numbers: dict[Bracket, int] = {}
    brackets = [
        [
            numbers.setdefault((span.label, span.start, span.end), len(numbers))
            for span in tree.spans()
        ]
        for tree in votes
    ]
    # Axes (families, distinct brackets); the first row is for all families together.
    shares = np.zeros((1 + len(predictions), len(numbers)))
    for row, prediction in zip(shares[1:], predictions, strict=True):
        of_family = shares_of(prediction.evidence)
        row[:] = [of_family.get(bracket, 0.0) for bracket in numbers]
    weights = np.array([float(prediction.members) for prediction in predictions])
    if weights.any():
        shares[0] = weights @ shares[1:] / weights.sum()
    uses = np.zeros((len(votes), len(numbers)))
    for row, of_tree in zip(uses, brackets, strict=True):
        np.add.at(row, of_tree, 1.0)
    gain = uses @ (shares - 0.5).T
    logs = uses @ np.log(np.clip(shares, MIN_SHARE, 1.0)).T
    measures = np.stack((gain, logs), axis=2).reshape(len(votes), 2 * len(shares))
    least_share = np.min(np.where(uses > 0.0, shares[0], 1.0), axis=1, initial=1.0)
    given = np.array(list(votes.values())).reshape(len(votes), n_inputs)
    return np.column_stack((uses.sum(axis=1), given.mean(axis=1), given, measures, least_share))


def shares_of(evidence: Evidence) -> dict[Bracket, float]:
    """The weight of each labelled span as a fraction of the members' total weight."""
    shares: dict[Bracket, float] = {}
    if not evidence.total:
        return shares
    columns = (column.tolist() for column in (*evidence.columns(), evidence.weight))
    for start, end, chain, weight in zip(*columns, strict=True):
        for label in dict.fromkeys(evidence.chains.chains[chain]):
            key = label, start, end
            shares[key] = shares.get(key, 0.0) + weight / evidence.total
    return shares


def ranked(trees: Sequence[Tree], values: Floats, evidence: Evidence, best: int) -> Combined:
    """The trees with the highest values, with the confidences of their brackets.

    Ties are broken by position.
    """
    shares = shares_of(evidence)
    best_trees = []
    for place in np.argsort(-values, kind="stable")[:best].tolist():
        spans = trees[place].spans()
        sure = [min(1.0, shares.get((each.label, each.start, each.end), 0.0)) for each in spans]
        best_trees.append(Other(trees[place], float(values[place]), sure))
    tree, value, sure = best_trees[0]
    return Combined(tree, sure, value, tuple(best_trees[1:]))
