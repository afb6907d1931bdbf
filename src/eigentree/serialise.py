"""Results as records for JSON and as rows of CoNLL-U: the one form that all who tell them share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.tree import Tree

if TYPE_CHECKING:
    from eigentree.constituency.result import Calibrated, ParseResult


def wrapped(tree: Tree, wrapper: str | None, root_name: str) -> Tree:
    """A clean tree in an outer bracket, where the treebank has one."""
    if wrapper is None:
        return tree
    # A tag may have the same name.
    is_root = tree.label == root_name and not tree.is_preterminal
    return Tree(wrapper, tree.children if is_root else (tree,))


def in_brackets(result: ParseResult, wrapper: str | None, root_name: str) -> str:
    """A parse on one line, in the treebank's own outer bracket; empty for no tree."""
    return "" if result.tree is None else format_tree(wrapped(result.tree, wrapper, root_name))


def parse_record(
    result: ParseResult,
    wrapper: str | None,
    root_name: str,
    *,
    several: bool = False,
    constrained: bool = False,
    where: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What a parse holds; given up constraints and alternatives where they were asked for.

    What is told of ``where`` its words stand comes after them.
    """
    record: dict[str, Any] = {
        "words": result.words,
        "tags": result.tags,
        **(where or {}),
        "tree": in_brackets(result, wrapper, root_name) or None,
        "confidence": result.confidence,
        "exact": result.tree_confidence,
        "calibrated": None if result.calibrated is None else _calibrated(result.calibrated),
        "brackets": [bracket._asdict() for bracket in result.brackets],
        "log_value": result.log_value,
        "sign": None if result.log_value is None else result.sign,
        "fallback": result.fallback,
    }
    if constrained:
        record["given_up"] = [each._asdict() for each in result.dropped_constraints]
        record["conflict"] = result.conflict
    if several:
        record["alternatives"] = [
            {
                **each._asdict(),
                "tree": format_tree(wrapped(each.tree, wrapper, root_name)),
                # JSON has no infinity; the sign tells that there is a value, of 0.
                "log_value": None if each.sign == 0 else each.log_value,
                "sign": None if each.log_value is None else each.sign,
            }
            for each in result.alternatives
        ]
    return record


def _calibrated(calibrated: Calibrated) -> dict[str, Any]:
    return {"confidence": calibrated.confidence, "exact": calibrated.tree_confidence}
