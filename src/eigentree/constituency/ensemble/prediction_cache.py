"""Files of predictions of a family for a fold, from which an interrupted training resumes.

The trees of a sentence share most of their nodes.  They are stored as one graph: each distinct
node once, children before parents.  Loaded trees share their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from eigentree._core.shapes import check_shapes, check_types
from eigentree.constituency.ensemble.combine import Chains, Evidence
from eigentree.constituency.ensemble.predictions import Prediction
from eigentree.constituency.result import Fallback
from eigentree.errors import ModelFileError, ShapeError
from eigentree.model_file import header_problem, open_model, save_model
from eigentree.treebank.tree import Tree

KIND = "readings"

# Axes and types of the arrays of a file.
_ARRAYS: dict[str, tuple[str, type[np.generic]]] = {
    "nodes": ("nodes 3", np.int32),  # label, word (-1 at phrases), number of children
    "children": ("edges", np.int32),
    "roots": ("roots", np.int32),
    "trees": ("sentences", np.int32),
    "choice": ("sentences members", np.int32),
    "brackets": ("sentences", np.int32),
    "key": ("brackets", np.int64),
    "weight": ("brackets", np.float64),
    "seen": ("brackets", np.bool_),
}


class _CacheHeader(BaseModel):
    model_config = ConfigDict(strict=True)

    labels: list[str]
    chains: list[list[str]]
    fallbacks: list[Fallback | None]
    total: list[FiniteFloat]


def save_predictions(path: Path, predictions: Sequence[Prediction], made_from: str) -> None:
    """Write predictions of one family atomically.

    Parameters
    ----------
    predictions
        Predictions for consecutive sentences by the same members, with the same chains.
    made_from
        A digest of everything that they depend on.
    """
    numbers: dict[str, int] = {}
    nodes: list[tuple[int, int, int]] = []
    children: list[int] = []
    roots: list[int] = []
    for prediction in predictions:
        known: dict[tuple[int, int, tuple[int, ...]], int] = {}
        for tree in prediction.trees:
            done: list[int] = []
            n_words = 0
            for node in _bottom_up(tree):
                first = len(done) - len(node.children)
                below, place = tuple(done[first:]), -1
                if not below:
                    place, n_words = n_words, n_words + 1
                label = numbers.setdefault(node.label, len(numbers))
                key = label, place, below
                if key not in known:
                    known[key] = len(nodes)
                    nodes.append((label, place, len(below)))
                    children += below
                done[first:] = [known[key]]
            roots += done
    chains = predictions[0].evidence.chains if predictions else Chains()
    header = {
        "kind": KIND,
        "made_from": made_from,
        "labels": list(numbers),
        "chains": [list(chain) for chain in chains.chains],
        "fallbacks": [prediction.fallback for prediction in predictions],
        "total": [prediction.evidence.total for prediction in predictions],
    }
    evidence = [prediction.evidence for prediction in predictions]
    arrays: dict[str, NDArray[Any]] = {
        "nodes": np.array(nodes, dtype=np.int32).reshape(-1, 3),
        "children": np.array(children, dtype=np.int32),
        "roots": np.array(roots, dtype=np.int32),
        "trees": np.array([len(prediction.trees) for prediction in predictions], dtype=np.int32),
        "choice": _rows([prediction.choice for prediction in predictions]),
        "brackets": np.array([len(each.key) for each in evidence], dtype=np.int32),
        "key": _joined([each.key for each in evidence], np.int64),
        "weight": _joined([each.weight for each in evidence], np.float64),
        "seen": _joined([each.seen for each in evidence], np.bool_),
    }
    save_model(path, header, arrays)


def _rows(rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int32]:
    return np.array(rows, dtype=np.int32).reshape(len(rows), len(rows[0]) if rows else 0)


def _bottom_up(tree: Tree) -> list[Tree]:
    """The nodes, children before parents, words left to right."""
    nodes = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(node.children)
    return nodes[::-1]


def _joined(parts: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def load_predictions(
    path: Path, sentences: Sequence[Sequence[str]], chains: Chains
) -> list[Prediction]:
    """Read predictions.

    Parameters
    ----------
    sentences
        The words of each sentence.
    chains
        Numbers of chains, shared by all predictions that are to be combined.

    Raises
    ------
    ModelFileError
        When the file is damaged or belongs to other sentences.
    """
    file = open_model(path, kind=KIND)
    try:
        return _unpacked(file.header, file.arrays, sentences, chains)
    except ValidationError as error:
        raise ModelFileError(f"{path}: its {header_problem(error)}") from error
    except (KeyError, ValueError, ShapeError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{path}: isn't a complete file of predictions: {problem}") from error


def _unpacked(
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    sentences: Sequence[Sequence[str]],
    chains: Chains,
) -> list[Prediction]:
    checked = _CacheHeader.model_validate(header)
    parts = {name: arrays[name] for name in _ARRAYS}
    check_types("readings", {name: (parts[name], _ARRAYS[name][1]) for name in parts})
    sizes = check_shapes("readings", {name: (parts[name], _ARRAYS[name][0]) for name in parts})
    n = len(sentences)
    if not n == sizes["sentences"] == len(checked.total) == len(checked.fallbacks):
        raise ValueError(f"its parts are not all for {n} sentences")
    trees = _trees(checked.labels, parts, sentences)
    choices = parts["choice"].astype(np.int64)
    n_trees = parts["trees"][:, None]
    if np.any((choices < -1) | (choices >= n_trees)):
        raise ValueError("a member's tree is missing")
    first = _offsets(parts["brackets"], sizes["brackets"], "brackets")
    numbers = np.array([chains.number(tuple(each)) for each in checked.chains], dtype=np.int64)
    predictions = []
    for number, words in enumerate(sentences):
        part = slice(first[number], first[number + 1])
        key, weight, seen = (parts[name][part] for name in ("key", "weight", "seen"))
        evidence = Evidence(len(words), chains)
        if not evidence.can_hold(key, len(numbers)) or np.any(weight < 0):
            raise ValueError(f"the brackets of sentence {number + 1} are invalid for it")
        evidence.add_keys(key, weight, seen, checked.total[number], numbers)
        predictions.append(
            Prediction(trees[number], choices[number], evidence, checked.fallbacks[number])
        )
    return predictions


def _offsets(counts: NDArray[np.int32], total: int, what: str) -> list[int]:
    offsets: list[int] = np.cumsum([0, *counts.tolist()]).tolist()
    if np.any(counts < 0) or offsets[-1] != total:
        raise ValueError(f"it has {total} {what}, which is not the sum over its sentences")
    return offsets


def _trees(
    labels: list[str], parts: dict[str, NDArray[Any]], sentences: Sequence[Sequence[str]]
) -> list[list[Tree]]:
    """The trees of each sentence."""
    nodes, children, roots = (parts[name].tolist() for name in ("nodes", "children", "roots"))
    first = _offsets(parts["trees"], len(roots), "trees")
    below = _offsets(parts["nodes"][:, 2], len(children), "children")
    built: list[Tree] = []
    spans: list[tuple[int, int]] = []
    trees: list[list[Tree]] = []
    for number, words in enumerate(sentences):
        its_roots = roots[first[number] : first[number + 1]]
        begun = len(built)
        # The last node of a sentence is a root.
        end = max(its_roots, default=begun - 1) + 1
        for node in range(begun, min(end, len(nodes))):
            label, place, _ = nodes[node]
            its_children = children[below[node] : below[node + 1]]
            ends = [spans[_checked(child, begun, node)] for child in its_children]
            ends = ends or [(place, place + 1)]
            if not 0 <= label < len(labels) or not 0 <= ends[0][0] < ends[-1][1] <= len(words):
                raise ValueError(f"node {node} has no label or no words")
            if any(one[1] != other[0] for one, other in pairwise(ends)):
                raise ValueError(f"the children of node {node} are not adjacent")
            spans.append((ends[0][0], ends[-1][1]))
            word = None if its_children else words[place]
            built.append(Tree(labels[label], [built[child] for child in its_children], word))
        if any(spans[_checked(root, begun, len(built))] != (0, len(words)) for root in its_roots):
            raise ValueError(f"a tree of sentence {number + 1} does not cover all of its words")
        trees.append([built[root] for root in its_roots])
    if len(built) != len(nodes):
        raise ValueError(f"it has {len(nodes)} nodes, but only {len(built)} are in trees")
    return trees


def _checked(node: int, begun: int, end: int) -> int:
    """The node, if it is one of the sentence's earlier nodes."""
    if not begun <= node < end:
        raise ValueError(f"node {node} is out of order")
    return node
