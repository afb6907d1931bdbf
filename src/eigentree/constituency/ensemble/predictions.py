"""What the members of an ensemble make of sentences, added up as they are asked.

Members with the same rules and words, whatever their latent states, share a backbone.  Each
sentence is pruned once for a backbone, and what its members say are numbers on one forest: the
sum of their marginals, and how many of them decode which tree.  So memory grows neither with
the number of members nor with that of their states, and a member is needed only while it is
asked.
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
    """What the members of one family make of a sentence.

    Attributes
    ----------
    trees
        Their distinct trees, un-binarised.
    choice : int64, axes (members)
        The place of each member's tree among them; -1 for a member that found none.
    evidence
        Their marginals of brackets.
    fallback
        What had to be given up so that they could.
    """

    trees: list[Tree]
    choice: NDArray[np.int64]
    evidence: Evidence
    fallback: Fallback | None = None

    @property
    def votes(self) -> NDArray[np.int64]:
        """Axes (trees): how many members gave each tree."""
        return np.bincount(self.choice[self.choice >= 0], minlength=len(self.trees))

    @property
    def members(self) -> int:
        """How many members gave a tree."""
        return int(np.sum(self.choice >= 0))


def common_fallback(predictions: Iterable[Prediction]) -> Fallback | None:
    """What families had to give up for a sentence; nothing if one of them did without.

    ``coarse`` where no member found a tree.
    """
    fallbacks = [each.fallback for each in predictions if each.members]
    if not fallbacks:
        return "coarse"
    return None if None in fallbacks else fallbacks[0]


def joined_predictions(predictions: Sequence[Prediction]) -> Prediction:
    """One prediction of a sentence out of those of several groups of members, in their order."""
    numbers: dict[Tree, int] = {}
    choices = []
    evidence = Evidence(predictions[0].evidence.n_words, predictions[0].evidence.chains)
    for prediction in predictions:
        of_trees = [numbers.setdefault(tree, len(numbers)) for tree in prediction.trees]
        # What is found at -1 is the last.
        choices.append(np.array([*of_trees, -1], dtype=np.int64)[prediction.choice])
        evidence.add(prediction.evidence)
    return Prediction(list(numbers), np.concatenate(choices), evidence, predictions[0].fallback)


class Predictor:
    """Sentences, pruned once, that members with one backbone are asked about.

    Parameters
    ----------
    sentences
        At most as long as the parser allows.  Of an iterator no more are taken than forests
        have room for; it may be given to the next reader.
    plain
        A parser of the backbone, which prunes.
    most_edges
        No more sentences are taken once their forests have so many edges.

    Cost
    ----
    A pruning a sentence; memory for the forests of all, some 12 bytes an edge.  A sentence of 25
    words with tags has some 5,000 edges; their number grows with more than the square of the
    length, and without tags it is a hundred times as large.
    """

    def __init__(
        self,
        sentences: Iterable[PreparedSentence],
        plain: ConstituencyParser,
        most_edges: float = np.inf,
    ) -> None:
        self._sentences: list[_PrunedSentence] = []
        n_edges = 0
        for sentence in sentences:
            self._sentences.append(_PrunedSentence(sentence, plain))
            n_edges += self._sentences[-1].n_edges
            if n_edges >= most_edges:
                break

    def read(
        self, members: Iterable[tuple[str, LPCFG]], chains: Chains
    ) -> list[dict[str, Prediction]]:
        """Ask members.

        Parameters
        ----------
        members
            Families and grammars; each is asked about all sentences before the next is taken.
        chains
            Shared by all predictions that are to be combined.

        Returns
        -------
        list of dict
            For each sentence the prediction of each family.

        Cost
        ----
        An inside-outside and a decoding for each member and sentence.
        """
        for sentence in self._sentences:
            sentence.clear()
        for family, grammar in members:
            for sentence in self._sentences:
                sentence.ask(family, grammar)
        return [sentence.predictions(chains) for sentence in self._sentences]


class _FamilyTally:
    """What the members of a family have said so far of one forest."""

    def __init__(self) -> None:
        self.items: Floats | float = 0.0
        self.decoded: dict[bytes, tuple[int, Decoded]] = {}
        self.choice: list[int] = []


class _PrunedSentence:
    """One sentence, pruned, with what was said of it."""

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

    def ask(self, family: str, grammar: LPCFG) -> None:
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
            absolute=options.absolute, labels=self._labels,
        )  # fmt: skip
        decoded = decode(forest, gain, self._symbols, self._sentence.words)
        if decoded is None:
            return
        # Signed marginals may lie outside 0..1; one member must not outvote the others.
        tally.items = tally.items + np.minimum(np.abs(marginals.item), 1.0)
        known = tally.decoded.setdefault(decoded.items.tobytes(), (len(tally.decoded), decoded))
        tally.choice[-1] = known[0]

    def predictions(self, chains: Chains) -> dict[str, Prediction]:
        n_words, given = len(self._sentence.words), self._sentence.given
        predictions: dict[str, Prediction] = {}
        for family, tally in self._tallies.items():
            # Binary trees may differ where the trees they stand for don't.
            numbers: dict[Tree, int] = {}
            place = []
            for _, decoded in tally.decoded.values():
                tree = with_tags(unbinarise(decoded.tree), given)
                place.append(numbers.setdefault(tree, len(numbers)))
            # What stands at -1 is the last.
            choice = np.array([*place, -1], dtype=np.int64)[np.array(tally.choice, dtype=np.int64)]
            evidence = Evidence(n_words, chains)
            if isinstance(tally.items, np.ndarray) and self._pruning is not None:
                forest = self._pruning.pruned.forest
                evidence.add_items(forest, self._symbols, tally.items, int(np.sum(choice >= 0)))
            fallback = None if self._pruning is None else self._pruning.fallback
            predictions[family] = Prediction(list(numbers), choice, evidence, fallback)
        return predictions
