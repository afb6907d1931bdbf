"""Combinations of combinations: from the readings of families to one tree a sentence.

Each combination of a description takes trees from its inputs, in the order of the file, so that
the trees of those above are there when a later one needs them.  Marginals always come from
the families that the trees of its inputs come from in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eigentree.corpus.trees import Tree
from eigentree.ensemble.combine import Combined, Evidence, combine
from eigentree.ensemble.description import Combination, Description
from eigentree.ensemble.reading import Reading
from eigentree.ensemble.reranker import Candidates, Reranker
from eigentree.errors import ModelFileError

# Shares of the members below this are all alike to a reranker.
LEAST_SHARE = 1e-3
Bracket = tuple[str, int, int]


class Network:
    """The combinations of an ensemble, ready to be applied.

    Parameters
    ----------
    description
        The ensemble's.
    rerankers
        One for each combination by ``maxent`` that is to be applied.
    """

    def __init__(self, description: Description, rerankers: Mapping[str, Reranker]) -> None:
        self.description = description
        self.rerankers = dict(rerankers)
        # Families in the order of the file.
        self._needed = {
            each.name: [
                family.name
                for family in description.family
                if family.name in description.needed_by(each.name)
            ]
            for each in description.combination
        }
        for each in description.combination:
            known = self.rerankers.get(each.name)
            if known is not None and list(known.column_names) != self.column_names(each):
                raise ModelFileError(
                    f"the reranker {each.name!r} was trained on other numbers about candidates "
                    "than this version has; train it again"
                )

    def answers(
        self,
        words: Sequence[str],
        tags: Sequence[str],
        readings: Mapping[str, Reading],
        root: str,
        names: Sequence[str] | None = None,
    ) -> dict[str, Combined]:
        """What each combination makes of a sentence.

        Parameters
        ----------
        words, tags
            The sentence.
        readings
            Of all families that it needs.
        root
            Label of the whole where no member has a phrase over it.
        names
            Only these combinations, and those above that they need; by default all.
        """
        answers: dict[str, Combined] = {}
        wanted = self._wanted(names)
        for combination in self.description.combination:
            if combination.name in wanted:
                answers[combination.name] = self.answer(
                    combination, words, tags, readings, answers, root
                )
        return answers

    def answer(
        self,
        combination: Combination,
        words: Sequence[str],
        tags: Sequence[str],
        readings: Mapping[str, Reading],
        answers: Mapping[str, Combined],
        root: str,
    ) -> Combined:
        """What one combination makes of a sentence, when its inputs are known.

        Parameters
        ----------
        combination
            Of the description.
        words, tags, readings, root
            As of `answers`.
        answers
            Of the combinations that are its inputs.
        """
        evidence = self._marginals(combination, readings, len(words))
        if combination.is_trained:
            found = self.candidates(combination, readings, answers)
            if found.trees:
                (chosen,) = self.rerankers[combination.name].best([found])
                return judged(found.trees[chosen], evidence)
        elif combination.how == "tree-coverage":
            evidence = self._trees(combination, readings, answers, evidence)
        return combine(evidence, words, tags, root=root, price=combination.price)

    def _wanted(self, names: Sequence[str] | None) -> set[str]:
        combinations = {each.name: each for each in self.description.combination}
        wanted: set[str] = set()
        waiting = list(combinations if names is None else names)
        while waiting:
            name = waiting.pop()
            if name in combinations and name not in wanted:
                wanted.add(name)
                waiting.extend(combinations[name].inputs)
        return wanted

    def _marginals(
        self, combination: Combination, readings: Mapping[str, Reading], n_words: int
    ) -> Evidence:
        found = [readings[name].evidence for name in self._needed[combination.name]]
        evidence = Evidence(n_words, found[0].chains)
        for each in found:
            evidence.add(each)
        return evidence

    def _trees(
        self,
        combination: Combination,
        readings: Mapping[str, Reading],
        answers: Mapping[str, Combined],
        marginals: Evidence,
    ) -> Evidence:
        evidence = Evidence(marginals.n_words, marginals.chains)
        for name in combination.inputs:
            if name in answers:
                evidence.add_trees([answers[name].tree])
            else:
                evidence.add_trees(readings[name].trees, readings[name].votes.tolist())
        return evidence

    def candidates(
        self,
        combination: Combination,
        readings: Mapping[str, Reading],
        answers: Mapping[str, Combined],
    ) -> Candidates:
        """The trees that a combination chooses from, and what members say of each.

        Parameters
        ----------
        combination
            Of the description.
        readings
            Of all families that it needs.
        answers
            Of the combinations above it.
        """
        votes: dict[Tree, list[float]] = {}
        for column, name in enumerate(combination.inputs):
            if name in answers:
                given = [(answers[name].tree, 1.0)]
            else:
                shares = readings[name].votes / max(1, readings[name].members)
                given = list(zip(readings[name].trees, shares.tolist(), strict=True))
            for tree, share in given:
                votes.setdefault(tree, [0.0] * len(combination.inputs))[column] += share
        trees = list(votes)
        families = self._needed[combination.name]
        said = [shares_of(readings[name].evidence) for name in families]
        weights = [float(readings[name].members) for name in families]
        columns = np.empty((len(trees), len(self.column_names(combination))))
        for row, tree in enumerate(trees):
            brackets = [(span.label, span.start, span.end) for span in tree.spans()]
            columns[row] = _columns(brackets, votes[tree], said, weights)
        return Candidates(trees, columns)

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
    brackets: Sequence[Bracket],
    votes: Sequence[float],
    said: Sequence[Mapping[Bracket, float]],
    weights: Sequence[float],
) -> list[float]:
    shares = np.array([[of.get(bracket, 0.0) for bracket in brackets] for of in said])
    shares = shares.reshape(len(said), len(brackets))
    total = sum(weights)
    overall = np.asarray(weights) @ shares / total if total else np.zeros(len(brackets))
    row = [float(len(brackets)), float(np.mean(votes)), *votes]
    for each in [overall, *shares]:
        row.append(float(np.sum(each - 0.5)))
        row.append(float(np.sum(np.log(np.clip(each, LEAST_SHARE, 1.0)))))
    row.append(float(overall.min(initial=1.0)))
    return row


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


def judged(tree: Tree, evidence: Evidence) -> Combined:
    """A tree with what the evidence says of its brackets."""
    shares = shares_of(evidence)
    sure = [min(1.0, shares.get((each.label, each.start, each.end), 0.0)) for each in tree.spans()]
    return Combined(tree, sure, float(sum(sure)))
