"""The rules that a treebank lacks, pair by pair, from dictionaries over its rules.

Slow and plain on purpose: no arrays, no numbers for symbols, nothing of
`eigentree.constituency.learn`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eigentree.treebank.binarise import BinaryTree, Symbol

Rule = tuple[Symbol, Symbol, Symbol]


def rule_uses(trees: Iterable[BinaryTree]) -> Counter[Rule]:
    uses: Counter[Rule] = Counter()
    for tree in trees:
        for node, left, right in zip(tree.symbols, tree.left, tree.right, strict=True):
            if left >= 0:
                uses[node, tree.symbols[left], tree.symbols[right]] += 1
    return uses


def is_part(symbol: Symbol) -> bool:
    return symbol.kind == "intermediate"


def may_stand_in(child: Symbol, parent: Symbol) -> bool:
    """Parts of phrases are of one phrase: the same label, below the same labels."""
    same = (child.label, child.parents) == (parent.label, parent.parents)
    return same or not is_part(child)


def relatives(a: Symbol, b: Symbol) -> bool:
    """Whether two parents are of one family."""
    if is_part(a) or is_part(b):
        return is_part(a) and is_part(b) and (a.label, a.parents) == (b.label, b.parents)
    return a.label == b.label


def facing(symbol: Symbol) -> str | None:
    """The label that a neighbour sees: of a part, the one attached last, if it is remembered."""
    if symbol.siblings:
        return symbol.siblings[0]
    return None if is_part(symbol) else symbol.chain[0]


def is_sibling(child: Symbol, parent: Symbol) -> bool:
    return not is_part(child) and child.chain[0] == parent.siblings[0]


def can_be_made(rule: Rule, uses: Counter[Rule]) -> bool:
    """Whether binarisation could make a rule: one part at most, the new sibling in its place."""
    parent, left, right = rule
    if is_part(left) and is_part(right):
        return False
    if not parent.siblings:
        return True
    sides = set()  # of the new sibling, which is never the part
    if any(is_part(b) for _, b, _ in uses):
        sides.add(2)
    if any(is_part(c) for _, _, c in uses):
        sides.add(1)
    if len(sides) == 2:  # outward from the head: only the parent's own rules may tell
        own = [each for each in uses if each[0] == parent]
        always = {side for side in sides if all(is_sibling(each[side], parent) for each in own)}
        sides = always if len(always) == 1 else sides
    return any(is_sibling(rule[side], parent) for side in sides)


def affinity(uses: Counter[Rule], b: Symbol, c: Symbol, chance: float) -> float:
    """How much oftener than by chance two labels stand side by side."""
    pairs: Counter[tuple[str | None, str | None]] = Counter()
    for (_, left, right), count in uses.items():
        pairs[facing(left), facing(right)] += count
    first, second = facing(b), facing(c)
    of_first = sum(count for pair, count in pairs.items() if pair[0] == first)
    share = sum(count for pair, count in pairs.items() if pair[1] == second) / uses.total()
    return (pairs[first, second] + chance * share) / ((of_first + chance) * share)


def unseen(
    trees: Iterable[BinaryTree], family: float, chance: float, most_mass: float
) -> dict[Rule, float]:
    """Probabilities of all rules that a treebank lacks, however small."""
    uses = rule_uses(trees)
    found: dict[Rule, float] = {}
    for a in {parent for parent, _, _ in uses}:
        near = Counter({rule: n for rule, n in uses.items() if relatives(rule[0], a)})
        sides: list[dict[Symbol, float]] = []
        for side in (1, 2):
            lean: Counter[Symbol] = Counter()
            own: Counter[Symbol] = Counter()
            for rule, count in near.items():
                if may_stand_in(rule[side], a):
                    lean[rule[side]] += count
                    own[rule[side]] += count if rule[0] == a else 0
            sides.append({b: own[b] + family * lean[b] / lean.total() for b in lean})
        weights = {
            (a, b, c): left * right * affinity(uses, b, c, chance)
            for b, left in sides[0].items()
            for c, right in sides[1].items()
            if (a, b, c) not in uses and can_be_made((a, b, c), uses)
        }
        n_uses = sum(count for rule, count in uses.items() if rule[0] == a)
        once = sum(1 for rule, count in uses.items() if rule[0] == a and count == 1)
        mass = min(most_mass, max(0.5, once) / n_uses)
        total = sum(weights.values())
        found |= {rule: mass * weight / total for rule, weight in weights.items()}
    return found
