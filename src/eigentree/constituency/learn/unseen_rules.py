"""Rules that are missing from a treebank: which ones to expect, and how often.

Every third or fourth new sentence needs a binary rule that a treebank of a few thousand trees
does not contain; a grammar without it gets the whole sentence wrong.  The probability mass of a
symbol a that belongs to new rules is estimated as by Good and Turing (Good 1953): the share of the
uses of its rules that are their rule's only one.  This mass
is distributed over pairs of children in proportion to

    p(b | a) p(c | a) affinity(b, c)

where both factors are smoothed towards the *family* of the parent, all symbols with its label,
whatever their chains and remembered siblings.  The affinity is the ratio of how often the adjacent
labels of b and c occur side by side, under any parent, to their frequency by chance.  Only rules
with at least 0.01 expected uses in another treebank of the same size are kept.

Nothing is known about such a rule's latent states, so its tensor is the product of the means of
its symbols (`eigentree.constituency.grammar.lpcfg`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import Symbol
from eigentree.types import Floats, Longs

Kind = TypeVar("Kind", bound=np.generic)

# Maximum share of a symbol's probability for its unseen rules.
MAX_MASS = 0.5


@dataclass(frozen=True)
class UnseenRuleOptions:
    """Which unseen rules are added to a grammar.

    Attributes
    ----------
    least
        Minimum expected uses of a rule in a treebank of the same size.
    family
        Pseudo-count that smooths the children of a symbol towards those of its family.
    chance
        Pseudo-count that smooths the affinity of labels towards 1.
    """

    least: float = 0.01
    family: float = 5.0
    chance: float = 50.0

    def __post_init__(self) -> None:
        for name in ("least", "family", "chance"):
            if not 0 < getattr(self, name) < np.inf:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be above 0")


class UnseenRules(NamedTuple):
    """Rules that are missing from the treebank.

    Attributes
    ----------
    rules : int32, axes (rules, 3)
        Parent, left and right symbol.
    probability : float64, axes (rules)
        p(left right | parent); seen rules share the rest.
    """

    rules: NDArray[np.int32]
    probability: Floats


def unseen_rules(
    examples: Examples, options: UnseenRuleOptions = UnseenRuleOptions()
) -> UnseenRules:
    """The unseen rules expected after observing a treebank.

    Cost
    ----
    For each symbol, the left children of its family times the right ones.
    """
    symbols, rules = examples.symbols.symbols, examples.rules
    n_symbols = len(symbols)
    uses = np.bincount(examples.rule[examples.rule >= 0], minlength=len(rules)).astype(np.float64)
    uses_of = np.bincount(rules[:, 0], uses, n_symbols)
    only_use = np.bincount(rules[uses == 1, 0], minlength=n_symbols)
    names = _Names.of(symbols, rules)
    affinity = _affinity(names.facing, rules, uses, options.chance)
    family = names.family
    by_family = np.argsort(family[rules[:, 0]], kind="stable")
    family_start = np.searchsorted(family[rules[by_family, 0]], np.arange(n_symbols + 1))
    new_rules: list[NDArray[np.int32]] = []
    expected: list[Floats] = []
    for a in np.flatnonzero(uses_of).tolist():
        relatives = by_family[family_start[family[a]] : family_start[family[a] + 1]]
        parent_rules = relatives[rules[relatives, 0] == a]
        sides = []
        for mode in (1, 2):
            children = np.unique(rules[relatives, mode])
            children = children[names.fits(a, children)]
            lean = _counts(rules[relatives, mode], uses[relatives], children)
            seen = _counts(rules[parent_rules, mode], uses[parent_rules], children)
            sides.append((children, seen + options.family * lean / lean.sum()))
        (left, left_weight), (right, right_weight) = sides
        weight = left_weight[:, None] * right_weight
        weight *= affinity[np.ix_(names.facing[left], names.facing[right])]
        weight *= names.side_by_side(a, rules[parent_rules], left, right)
        weight[
            np.searchsorted(left, rules[parent_rules, 1]),
            np.searchsorted(right, rules[parent_rules, 2]),
        ] = 0.0
        total = weight.sum()
        if total == 0.0:
            continue
        mass = min(MAX_MASS, max(0.5, only_use[a]) / uses_of[a])
        weight *= mass * uses_of[a] / total
        at_left, at_right = np.nonzero(weight >= options.least)
        parent = np.full(len(at_left), a, dtype=np.int32)
        new_rules.append(np.stack([parent, left[at_left], right[at_right]], axis=1))
        expected.append(weight[at_left, at_right] / uses_of[a])
    if not new_rules:
        return UnseenRules(np.empty((0, 3), dtype=np.int32), np.empty(0))
    return UnseenRules(np.concatenate(new_rules), np.concatenate(expected))


def widener(examples: Examples, options: UnseenRuleOptions | None) -> Callable[[LPCFG], LPCFG]:
    """A function that adds a treebank's unseen rules to its grammars; the identity for None."""
    if options is None:
        return lambda grammar: grammar
    unseen = unseen_rules(examples, options)
    return lambda grammar: widen(grammar, unseen)


def widen(grammar: LPCFG, unseen: UnseenRules) -> LPCFG:
    """A grammar with unseen rules added and the probabilities of seen ones reduced accordingly."""
    backbone, p = grammar.backbone, grammar.parameters
    n_new = len(unseen.rules)
    mass = np.bincount(unseen.rules[:, 0], unseen.probability, len(backbone.symbols))
    seen_share = 1.0 - mass[backbone.parent]
    rules = np.concatenate([p.rule_symbols, unseen.rules])
    order = np.lexsort((rules[:, 0], rules[:, 2], rules[:, 1]))

    def joined(values_seen: NDArray[Kind], new: float | Floats) -> NDArray[Kind]:
        """Values of the grammar's rules and of the new ones, in the order of both."""
        values = np.broadcast_to(
            np.asarray(new, dtype=values_seen.dtype), (n_new, *values_seen.shape[1:])
        )
        return np.concatenate([values_seen, values])[order]

    parent, left, right = (np.ascontiguousarray(column) for column in rules[order].T)
    probability = joined(backbone.probability * seen_share, unseen.probability)
    wider = PCFG(backbone.words, parent, left, right, probability, backbone.root)
    # Dense tensors include the probability of their rule, samples store it separately.
    is_dense = p.dense_start >= 0
    first = p.dense_start[is_dense]
    ascending = np.argsort(first)
    ends = np.append(first[ascending][1:], len(p.dense))
    dense = np.repeat(seen_share[is_dense][ascending], ends - first[ascending])
    dense *= p.dense
    parameters = p._replace(
        rule_symbols=rules[order],
        dense_start=joined(p.dense_start, -1),
        dense=dense,
        n_samples=joined(p.n_samples, 0),
        sample_start=joined(p.sample_start, 0),
        ratio=joined(p.ratio * seen_share, unseen.probability),
        smoothing=joined(p.smoothing, 0.0),
    )
    return LPCFG(wider, parameters, grammar.signed)


class _Names(NamedTuple):
    """Numeric properties of symbol names that determine which symbols may combine.

    Attributes
    ----------
    family : int64, axes (N)
        Symbols with the same label; for parts of phrases, only those in the same phrase.
    phrase : int64, axes (N)
        Label and parents of the phrase that a symbol is, or is part of.
    is_part : bool, axes (N)
    outer : int64, axes (N)
        The label that siblings see; 0 for parts of phrases.
    sibling : int64, axes (N)
        The most recently attached label that a part of a phrase remembers; -1 for none.
    facing : int64, axes (N)
        The label adjacent to a neighbour: the most recently attached one, or the outer one.
    grows : tuple of bool
        Whether parts of phrases grow to the left, and to the right.
    """

    family: Longs
    phrase: Longs
    is_part: NDArray[np.bool_]
    outer: Longs
    sibling: Longs
    facing: Longs
    grows: tuple[bool, bool]

    @classmethod
    def of(cls, symbols: Sequence[Symbol], rules: NDArray[np.int32]) -> _Names:
        is_part = np.array([s.kind == "intermediate" for s in symbols], dtype=bool)
        numbers: dict[Hashable, int] = {None: 0}
        outer = _numbers(
            (None if part else s.chain[0] for s, part in zip(symbols, is_part, strict=True)),
            numbers,
        )
        sibling = _numbers((s.siblings[0] if s.siblings else None for s in symbols), numbers)
        sibling[[not s.siblings for s in symbols]] = -1
        return cls(
            # Parts of a phrase have its parents; phrases have other parents but the same kind.
            _numbers(
                (part, s.label, s.parents if part else ())
                for s, part in zip(symbols, is_part, strict=True)
            ),
            _numbers((s.label, s.parents) for s in symbols),
            is_part,
            outer,
            sibling,
            np.where(sibling >= 0, sibling, outer),
            (bool(is_part[rules[:, 2]].any()), bool(is_part[rules[:, 1]].any())),
        )

    def fits(self, parent: int, children: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Axes (children): a part of a phrase can only occur in that phrase."""
        fits: NDArray[np.bool_] = ~self.is_part[children]
        fits |= self.phrase[children] == self.phrase[parent]
        return fits

    def side_by_side(
        self,
        parent: int,
        parent_rules: NDArray[np.int32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
    ) -> NDArray[np.bool_]:
        """Axes (left, right): pairs that binarisation can produce.

        At most one of them is a part of the phrase, and a sibling that the parent remembers
        is the one that was attached.  If trees are binarised to one side, that is always the same
        child; outward from the head it may be either, as determined from ``parent_rules``.
        """
        possible = ~np.logical_and.outer(self.is_part[left], self.is_part[right])
        sibling = self.sibling[parent]
        if sibling < 0:
            return possible
        is_left: NDArray[np.bool_] = self.outer[left] == sibling
        is_right: NDArray[np.bool_] = self.outer[right] == sibling
        at_left, at_right = self.grows
        if at_left and at_right:
            at_left = bool(np.all(self.outer[parent_rules[:, 1]] == sibling))
            at_right = bool(np.all(self.outer[parent_rules[:, 2]] == sibling))
        if at_left != at_right:
            (is_right if at_left else is_left)[:] = False
        return possible & np.logical_or.outer(is_left, is_right)


def _affinity(facing: Longs, rules: NDArray[np.int32], uses: Floats, chance: float) -> Floats:
    """Axes (labels, labels): how much more often than by chance two labels are adjacent."""
    n_labels = int(facing.max()) + 1
    count = np.zeros((n_labels, n_labels))
    np.add.at(count, (facing[rules[:, 1]], facing[rules[:, 2]]), uses)
    share = count.sum(axis=0) / max(1.0, count.sum())
    expected = (count.sum(axis=1)[:, None] + chance) * share
    observed = count + chance * share
    affinity = np.zeros((n_labels, n_labels))
    np.divide(observed, expected, out=affinity, where=expected > 0)
    return affinity


def _numbers(values: Iterable[Hashable], numbers: dict[Hashable, int] | None = None) -> Longs:
    """A number for each value, equal for equal values; extends numbers given before."""
    numbers = {} if numbers is None else numbers
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _counts(drawn: NDArray[np.int32], uses: Floats, children: NDArray[np.int32]) -> Floats:
    """Axes (children): summed uses of each; uses of others are ignored."""
    place = np.searchsorted(children, drawn)
    known = place < len(children)
    known[known] = children[place[known]] == drawn[known]
    return np.bincount(place[known], uses[known], len(children)).astype(np.float64)
