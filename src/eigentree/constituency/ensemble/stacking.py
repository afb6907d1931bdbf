"""Combinations of combinations: from the predictions of families to one tree a sentence.

Each combination of a description takes trees from its inputs, in the order of the file, so that
the trees of those above are there when a later one needs them.  Marginals always come from
the families that the trees of its inputs come from in the end.
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

# Shares of the members below this are all alike to a reranker.
LEAST_SHARE = 1e-3
Bracket = tuple[str, int, int]


class Query(NamedTuple):
    """A sentence that combinations are asked about.

    Attributes
    ----------
    words, tags
        The sentence.
    predictions
        What families make of it.
    answers
        What combinations make of it, as far as they were asked.
    required
        Spans that its trees must have; the members' charts have nothing that crosses them.
    """

    words: Sequence[str]
    tags: Sequence[str]
    predictions: Mapping[str, Prediction]
    answers: dict[str, Combined]
    required: Sequence[tuple[int, int]] = ()


class Stacking:
    """The combinations of an ensemble, ready to be applied.

    Parameters
    ----------
    config
        The ensemble's.
    rerankers
        One for each combination by ``maxent`` that is to be applied.
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
                    f"the reranker {each.name!r} was trained on other numbers about candidates "
                    "than this version has; train it again"
                )

    def answers(
        self,
        queries: Sequence[Query],
        root: str,
        names: Sequence[str] | None = None,
        best: int = 1,
    ) -> list[dict[str, Combined]]:
        """What each combination makes of each sentence.

        Parameters
        ----------
        queries
            With the predictions of all families that are needed; what they have of answers is kept.
        root
            Label of the whole where no member has a phrase over it.
        names
            Only these combinations, and those above that they need; by default all.
        best
            How many trees the last combination is to give, at least; a reranker has no more than
            its candidates.
        """
        every = [each.name for each in self.config.combination]
        wanted = self.config.with_inputs(every if names is None else names)
        for combination in self.config.combination:
            if combination.name in wanted:
                is_last = combination is self.config.combination[-1]
                given = self.answer(combination, queries, root, best=best if is_last else 1)
                for query, found in zip(queries, given, strict=True):
                    query.answers[combination.name] = found
        return [query.answers for query in queries]

    def answer(
        self,
        combination: Combination,
        queries: Sequence[Query],
        root: str,
        candidates: Sequence[Candidates] | None = None,
        best: int = 1,
    ) -> list[Combined]:
        """What one combination makes of each sentence.

        Parameters
        ----------
        combination
            Of the description.
        queries
            With the answers of the combinations that are its inputs.
        root
            As of `answers`.
        candidates
            What a reranker chooses from, if that is known.
        best
            How many trees are wanted, at least.
        """
        if not combination.is_trained:
            return [self._covered(combination, query, root, best) for query in queries]
        if candidates is None:
            candidates = [self.candidates(combination, query) for query in queries]
        some = [place for place, each in enumerate(candidates) if each.trees]
        values: dict[int, Floats] = {}
        if some:
            reranker = self.rerankers[combination.name]
            found = reranker.values([candidates[place] for place in some])
            values = dict(zip(some, found, strict=True))
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
        found = [query.predictions[name].evidence for name in self._needed[combination.name]]
        evidence = Evidence(len(query.words), found[0].chains)
        for each in found:
            evidence.add(each)
        return evidence

    def _trees(self, combination: Combination, query: Query) -> Evidence:
        families = self._needed[combination.name]
        chains = query.predictions[families[0]].evidence.chains
        evidence = Evidence(len(query.words), chains)
        for name in combination.inputs:
            if name in query.answers:
                evidence.add_trees([query.answers[name].tree])
            else:
                prediction = query.predictions[name]
                evidence.add_trees(prediction.trees, prediction.votes.tolist())
        return evidence

    def candidates(self, combination: Combination, query: Query) -> Candidates:
        """The trees that a combination chooses from, and what members say of each.

        A family gives each tree the share of its members that vote for it, a combination its
        best tree one vote, the next half of one, and so on.
        """
        predictions, answers = query.predictions, query.answers
        votes: dict[Tree, list[float]] = {}
        for column, name in enumerate(combination.inputs):
            if name in answers:
                trees = [answers[name].tree, *(each.tree for each in answers[name].others)]
                shares = [1.0 / rank for rank in range(1, len(trees) + 1)]
            else:
                trees = predictions[name].trees
                shares = (predictions[name].votes / max(1, predictions[name].members)).tolist()
            for tree, share in zip(trees, shares, strict=True):
                votes.setdefault(tree, [0.0] * len(combination.inputs))[column] += share
        readings_of = [predictions[name] for name in self._needed[combination.name]]
        return Candidates(list(votes), _columns(votes, len(combination.inputs), readings_of))

    def column_names(self, combination: Combination) -> list[str]:
        """What the numbers are that members say of each candidate."""
        families = self._needed[combination.name]
        return [
            "brackets",
            "mean votes",
            *(f"votes: {name}" for name in combination.inputs),
            *(f"{what}: {name}" for name in ["all", *families] for what in _MEASURES),
            "least share",
        ]


# What is measured of a candidate's brackets, whose shares of a family's marginals are known.
_MEASURES = ("expected gain", "log shares")


def _columns(
    votes: Mapping[Tree, Sequence[float]], n_inputs: int, predictions: Sequence[Prediction]
) -> Floats:
    """Axes (trees, columns): what `Stacking.column_names` tells of."""
    numbers: dict[Bracket, int] = {}
    brackets = [
        [
            numbers.setdefault((span.label, span.start, span.end), len(numbers))
            for span in tree.spans()
        ]
        for tree in votes
    ]
    # Families, the first of which is all of them together, and distinct brackets.
    shares = np.zeros((1 + len(predictions), len(numbers)))
    for row, prediction in zip(shares[1:], predictions, strict=True):
        said = shares_of(prediction.evidence)
        row[:] = [said.get(bracket, 0.0) for bracket in numbers]
    weights = np.array([float(prediction.members) for prediction in predictions])
    if weights.any():
        shares[0] = weights @ shares[1:] / weights.sum()
    uses = np.zeros((len(votes), len(numbers)))
    for row, own in zip(uses, brackets, strict=True):
        np.add.at(row, own, 1.0)
    gain = uses @ (shares - 0.5).T
    logs = uses @ np.log(np.clip(shares, LEAST_SHARE, 1.0)).T
    measures = np.stack((gain, logs), axis=2).reshape(len(votes), 2 * len(shares))
    least = np.min(np.where(uses > 0.0, shares[0], 1.0), axis=1, initial=1.0)
    given = np.array(list(votes.values())).reshape(len(votes), n_inputs)
    return np.column_stack((uses.sum(axis=1), given.mean(axis=1), given, measures, least))


def shares_of(evidence: Evidence) -> dict[Bracket, float]:
    """The share of the members' weight that each labelled span has."""
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
    """The best few trees by their values, with what the evidence says of their brackets.

    Of equal ones the first.
    """
    shares = shares_of(evidence)
    found = []
    for place in np.argsort(-values, kind="stable")[:best].tolist():
        spans = trees[place].spans()
        sure = [min(1.0, shares.get((each.label, each.start, each.end), 0.0)) for each in spans]
        found.append(Other(trees[place], float(values[place]), sure))
    tree, value, sure = found[0]
    return Combined(tree, sure, value, tuple(found[1:]))
