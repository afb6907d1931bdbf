"""Predictions of the members of an ensemble, accumulated member by member.

Members that have the same rules and words share a backbone.  Each sentence is pruned once per
backbone, and its members' predictions refer to the same forest: the sum of their marginals, and
the number of members for each decoded tree.  So memory depends neither on the number of members
nor on their latent states, and a member is in memory only while it parses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart.decode import Decoded, Labels, decode, gains
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.ensemble.combine import Chains, Evidence
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.pruning_schedule import PrunedForest
from eigentree.constituency.result import Fallback
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.binarise import unbinarise
from eigentree.treebank.tree import Tree, with_tags
from eigentree.types import Floats


class Prediction(NamedTuple):
    """The predictions of one family for a sentence.

    Attributes
    ----------
    trees
        The distinct trees of its members, un-binarised.
    choice : int64, axes (members)
        Index of each member's tree; -1 for a member without a tree.
    evidence
        The marginals of brackets, summed over members.
    fallback
        The restriction that was relaxed in pruning; None for none.
    """

    trees: list[Tree]
    choice: NDArray[np.int64]
    evidence: Evidence
    fallback: Fallback | None = None

    @property
    def votes(self) -> NDArray[np.int64]:
        """Axes (trees): number of members with each tree."""
        return np.bincount(self.choice[self.choice >= 0], minlength=len(self.trees))

    @property
    def members(self) -> int:
        """Number of members with a tree."""
        return int(np.sum(self.choice >= 0))


def common_fallback(predictions: Iterable[Prediction]) -> Fallback | None:
    """The fall-back of a sentence: None if some family has none, else that of the first family.

    ``coarse`` if no member has a tree.
    """
    fallbacks = [each.fallback for each in predictions if each.members]
    if not fallbacks:
        return "coarse"
    return None if None in fallbacks else fallbacks[0]


def joined_predictions(predictions: Sequence[Prediction]) -> Prediction:
    """Join the predictions of several groups of members for one sentence, in order."""
    numbers: dict[Tree, int] = {}
    choices = []
    evidence = Evidence(predictions[0].evidence.n_words, predictions[0].evidence.chains)
    for prediction in predictions:
        of_trees = [numbers.setdefault(tree, len(numbers)) for tree in prediction.trees]
        # Index -1 selects the last item, which is -1.
        choices.append(np.array([*of_trees, -1], dtype=np.int64)[prediction.choice])
        evidence.add(prediction.evidence)
    return Prediction(list(numbers), np.concatenate(choices), evidence, predictions[0].fallback)


class Predictor:
    """Sentences, pruned once, to be parsed by members with the same backbone.

    Parameters
    ----------
    sentences
        Sentences of at most ``plain.options.max_words`` words.  From an iterator, only as many are
        taken as `max_edges` allows; the rest can be passed to the next predictor.
    plain
        A parser with the backbone, which prunes.
    max_edges
        No further sentences are taken once the forests have this many edges.

    Cost
    ----
    One pruning per sentence; memory for all forests, about 12 bytes per edge.  A sentence of 25
    words with tags has about 5,000 edges; their number grows more than quadratically with the
    length, and is about a hundred times as large without tags.
    """

    def __init__(
        self,
        sentences: Iterable[PreparedSentence],
        plain: ConstituencyParser,
        max_edges: float = np.inf,
    ) -> None:
        self._sentences: list[_PrunedSentence] = []
        n_edges = 0
        for sentence in sentences:
            self._sentences.append(_PrunedSentence(sentence, plain))
            n_edges += self._sentences[-1].n_edges
            if n_edges >= max_edges:
                break

    def predict(
        self, members: Iterable[tuple[str, LPCFG]], chains: Chains
    ) -> list[dict[str, Prediction]]:
        """Parse the sentences by all members.

        Parameters
        ----------
        members
            Family and grammar of each member; each member parses all sentences before the next one
            is taken from the iterable.
        chains
            Numbers of chains, shared by all predictions that are to be combined.

        Returns
        -------
        list of dict
            For each sentence, the prediction of each family by name.

        Cost
        ----
        One inside-outside pass and one decoding for each member and sentence.
        """
        for sentence in self._sentences:
            sentence.clear()
        for family, grammar in members:
            for sentence in self._sentences:
                sentence.add_member(family, grammar)
        return [sentence.predictions(chains) for sentence in self._sentences]


class _FamilyTally:
    """The predictions of a family for one forest, accumulated so far."""

    def __init__(self) -> None:
        self.items: Floats | float = 0.0
        self.decoded: dict[bytes, tuple[int, Decoded]] = {}
        self.choice: list[int] = []


class _PrunedSentence:
    """A pruned sentence with the accumulated predictions."""

    def __init__(self, sentence: PreparedSentence, plain: ConstituencyParser) -> None:
        self._sentence = sentence
        self._options = plain.options
        self._symbols = plain.grammar.backbone.symbols
        self._pruning: PrunedForest | None = next(plain.prunings(sentence), None)
        if self._pruning is not None:
            self._labels = Labels.of(self._pruning.pruned.forest, self._symbols)
        self.clear()

    @property
    def n_edges(self) -> int:
        return 0 if self._pruning is None else self._pruning.pruned.forest.n_edges

    def clear(self) -> None:
        self._tallies: dict[str, _FamilyTally] = {}

    def add_member(self, family: str, grammar: LPCFG) -> None:
        tally = self._tallies.setdefault(family, _FamilyTally())
        tally.choice.append(-1)
        if self._pruning is None:
            return
        forest = self._pruning.pruned.forest
        marginals = inside_outside(forest, grammar)
        if marginals is None:
            return
        options = self._options
        gain = gains(
            options.objective, forest, marginals, grammar,
            absolute=options.absolute, price=options.bracket_price, labels=self._labels,
        )  # fmt: skip
        decoded = decode(forest, gain, self._symbols, self._sentence.words)
        if decoded is None:
            return
        # Signed marginals may be outside 0..1; clipping limits the weight of a member.
        tally.items = tally.items + np.minimum(np.abs(marginals.item), 1.0)
        known = tally.decoded.setdefault(decoded.items.tobytes(), (len(tally.decoded), decoded))
        tally.choice[-1] = known[0]

    def predictions(self, chains: Chains) -> dict[str, Prediction]:
        n_words = len(self._sentence.words)
        given = [] if self._pruning is None else self._pruning.given
        predictions: dict[str, Prediction] = {}
        for family, tally in self._tallies.items():
            # Different binary trees may give the same tree.
            numbers: dict[Tree, int] = {}
            place = []
            for _, decoded in tally.decoded.values():
                tree = with_tags(unbinarise(decoded.tree), given)
                place.append(numbers.setdefault(tree, len(numbers)))
            # Index -1 selects the last item, which is -1.
            choice = np.array([*place, -1], dtype=np.int64)[np.array(tally.choice, dtype=np.int64)]
            evidence = Evidence(n_words, chains)
            if isinstance(tally.items, np.ndarray) and self._pruning is not None:
                forest = self._pruning.pruned.forest
                evidence.add_items(forest, self._symbols, tally.items, int(np.sum(choice >= 0)))
            fallback = None if self._pruning is None else self._pruning.fallback
            predictions[family] = Prediction(list(numbers), choice, evidence, fallback)
        return predictions
