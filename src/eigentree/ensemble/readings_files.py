"""Readings in files: what a family makes of a part of a treebank, kept so that work can go on.

The trees of a sentence share most of their nodes.  They are stored as one graph, each distinct
node once, children before parents, and come back as trees that share their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree.corpus.trees import Tree
from eigentree.ensemble.combine import Chains, Evidence
from eigentree.ensemble.reading import Reading
from eigentree.errors import ModelFileError
from eigentree.model_files import open_model, save_model

KIND = "readings"


def save_readings(path: Path, readings: Sequence[Reading], made_from: str) -> None:
    """Write readings of one family, whole or not at all.

    Parameters
    ----------
    readings
        Of consecutive sentences, by the same members, with the same chains.
    made_from
        A digest of all that they depend on.
    """
    numbers: dict[str, int] = {}
    nodes: list[int] = []  # label, word (-1 at phrases), number of children
    children: list[int] = []
    roots: list[int] = []
    n_nodes = 0
    for reading in readings:
        known: dict[tuple[int, int, tuple[int, ...]], int] = {}
        for tree in reading.trees:
            made: dict[int, int] = {}
            n_words = 0
            for node in _bottom_up(tree):
                below = tuple(made[id(child)] for child in node.children)
                place = -1 if below else n_words
                n_words += not below
                label = numbers.setdefault(node.label, len(numbers))
                key = label, place, below
                if key not in known:
                    known[key] = n_nodes
                    n_nodes += 1
                    nodes += label, place, len(below)
                    children += below
                made[id(node)] = known[key]
            roots.append(made[id(tree)])
    chains = readings[0].evidence.chains if readings else Chains()
    header = {
        "kind": KIND,
        "made_from": made_from,
        "labels": list(numbers),
        "chains": [list(chain) for chain in chains.chains],
        "fallbacks": [reading.fallback for reading in readings],
        "total": [reading.evidence.total for reading in readings],
    }
    evidence = [reading.evidence for reading in readings]
    arrays: dict[str, NDArray[Any]] = {
        "nodes": np.array(nodes, dtype=np.int32).reshape(-1, 3),
        "children": np.array(children, dtype=np.int32),
        "roots": np.array(roots, dtype=np.int32),
        "trees": np.array([len(reading.trees) for reading in readings], dtype=np.int32),
        "choice": np.array([reading.choice for reading in readings], dtype=np.int32),
        "brackets": np.array([len(each.key) for each in evidence], dtype=np.int32),
        "key": _joined([each.key for each in evidence], np.int64),
        "weight": _joined([each.weight for each in evidence], np.float64),
        "seen": _joined([each.seen for each in evidence], np.bool_),
    }
    save_model(path, header, arrays)


def _bottom_up(tree: Tree) -> list[Tree]:
    """Nodes with children before parents and words from left to right."""
    found = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children)
    return found[::-1]


def _joined(parts: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype=kind), *parts])


def is_made_from(path: Path, made_from: str) -> bool:
    """Whether a file has readings that depend on what the digest stands for."""
    if not path.exists():
        return False
    try:
        return bool(open_model(path, kind=KIND, verify=False).header.get("made_from") == made_from)
    except ModelFileError:
        return False


def load_readings(path: Path, sentences: Sequence[Sequence[str]], chains: Chains) -> list[Reading]:
    """Read readings.

    Parameters
    ----------
    sentences
        Their words.
    chains
        Shared by all readings that are to be combined.

    Raises
    ------
    ModelFileError
        When the file is damaged or of other sentences.
    """
    file = open_model(path, kind=KIND)
    arrays, header = file.arrays, file.header
    try:
        return _unpacked(header, arrays, sentences, chains)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: isn't a whole file of readings: {error}") from error


def _unpacked(
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    sentences: Sequence[Sequence[str]],
    chains: Chains,
) -> list[Reading]:
    labels = header["labels"]
    chain_number = np.array(
        [chains.number(tuple(each)) for each in header["chains"]], dtype=np.int64
    )
    nodes, children = arrays["nodes"].tolist(), iter(arrays["children"].tolist())
    roots = iter(arrays["roots"].tolist())
    first = np.cumsum(np.append(0, arrays["brackets"]))
    readings: list[Reading] = []
    built: list[Tree] = []
    at = 0
    counts = arrays["trees"].tolist()
    if not len(sentences) == len(counts) == len(header["total"]) == len(arrays["choice"]):
        raise ValueError(f"it has {len(counts)} sentences, not {len(sentences)}")
    for number, (words, n_trees) in enumerate(zip(sentences, counts, strict=True)):
        wanted = [next(roots) for _ in range(n_trees)]
        # Nodes of a sentence end with the last root.
        for label, place, n_children in nodes[at : max(wanted, default=at - 1) + 1]:
            below = [built[next(children)] for _ in range(n_children)]
            word = None if below else words[place]
            built.append(Tree(labels[label], below, word))
        at = len(built)
        evidence = Evidence(len(words), chains)
        part = slice(first[number], first[number + 1])
        evidence.add_keys(
            arrays["key"][part],
            arrays["weight"][part],
            arrays["seen"][part],
            float(header["total"][number]),
            chain_number,
        )
        trees = [built[root] for root in wanted]
        choice = arrays["choice"][number].astype(np.int64)
        readings.append(Reading(trees, choice, evidence, header["fallbacks"][number]))
    return readings
