"""The states of an automaton as a readable graph.

The hidden states of an automaton are directions of a vector space, without names.  What can be
inspected are its forward vectors after the prefixes that are frequent in data (Luque et al. 2012,
section 5.3).

1. The automaton's forward vector is computed for each frequent prefix of the sequences.
2. The vectors are clustered bottom-up by the mean cosine distance between members.  The cosine
   ignores the length of vectors, which reflects the probability of the prefix.  Distances are
   rounded, so that equal directions form one cluster.
3. A symbol after a prefix leads from the cluster of that prefix to the cluster of the longer one.
   Where a symbol leads from one cluster to several, these are merged, until there are none left.
   The result does not depend on the order: it is the finest deterministic graph of whole clusters.
4. All sequences are traced through the graph and counted.  A sequence whose next symbol continues
   no frequent prefix is lost in its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.automata.arrays import PrefixTree
from eigentree.automata.model import OperatorModel
from eigentree.automata.prefix_tree import build_prefix_tree
from eigentree.automata.sequences import Sequences
from eigentree.errors import GrammarError, SettingsError, check_range, counted
from eigentree.types import Floats

Prefix = tuple[str, ...]

# The distances between all pairs of this many prefixes take 100 MB.
MAX_PREFIXES = 5000
# A prefix of one sequence in this many is frequent.  With more prefixes almost all clusters of
# newspaper tags merge, since the vectors of rare prefixes are mostly noise.
SEQUENCES_PER_PREFIX = 500
# Decimals of distances; smaller differences are rounding errors.
_DECIMALS = 9


@dataclass(frozen=True)
class StateGraphOptions:
    """Options of a graph of states.

    Attributes
    ----------
    clusters
        Maximum number of clusters of prefixes, before merging.
    distance
        Maximum mean cosine distance within a cluster, 0 to 2, instead of their number.
    least_count
        Minimum number of sequences with a frequent prefix; None for one in `SEQUENCES_PER_PREFIX`,
        but at least 2.
    prefixes
        Maximum number of prefixes listed for each state.
    """

    clusters: int = 8
    distance: float | None = None
    least_count: int | None = None
    prefixes: int = 5

    def __post_init__(self) -> None:
        for name in ("clusters", "least_count", "prefixes"):
            if getattr(self, name) is not None:
                check_range(1, **{name: getattr(self, name)})
        if self.distance is not None and not 0.0 <= self.distance <= 2.0:
            raise SettingsError(f"distance is {self.distance}; it must be between 0 and 2")


class PrefixCount(NamedTuple):
    """A prefix and the number of sequences that begin with it."""

    prefix: Prefix
    times: int


class State(NamedTuple):
    """A state of a graph.

    Attributes
    ----------
    prefixes
        The most frequent prefixes that lead here, in falling order.
    n_prefixes
        Number of frequent prefixes that lead here.
    visits
        How often sequences reach the state, by any prefix.
    stops
        How often sequences end here.
    lost
        How often the next symbol of a sequence leads nowhere.
    """

    prefixes: tuple[PrefixCount, ...]
    n_prefixes: int
    visits: int
    stops: int
    lost: int


class Transition(NamedTuple):
    """A transition between states, numbered from 0, by a symbol, and its count."""

    source: int
    symbol: str
    target: int
    times: int


@dataclass(frozen=True)
class StateGraph:
    """A deterministic automaton that approximates one with hidden states.

    The visits of a state are the sum of its stops, lost sequences and outgoing transitions; they
    are also the sum of its incoming transitions, plus all sequences for the initial state.

    Attributes
    ----------
    states
        The initial state first, then by the mean number of symbols read there.
    transitions
        By source, the most frequent first.
    n_sequences
    least_count
        Minimum number of sequences with a frequent prefix.
    n_clusters
        Number of clusters before merging.
    n_without
        Number of frequent prefixes to which the automaton gives a zero vector.
    """

    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    n_sequences: int
    least_count: int
    n_clusters: int
    n_without: int = 0

    def share(self, transition: Transition) -> float:
        """The share of its source's visits that take a transition."""
        return transition.times / max(self.states[transition.source].visits, 1)

    def read(self, sequence: Sequence[str]) -> list[int]:
        """The states that a sequence visits, from the initial one until it is lost or ends."""
        target = {(each.source, each.symbol): each.target for each in self.transitions}
        path = [0]
        for symbol in sequence:
            if (path[-1], symbol) not in target:
                break
            path.append(target[path[-1], symbol])
        return path

    def to_dict(self) -> dict[str, Any]:
        """The content of the graph, for JSON."""
        return {
            "sequences": self.n_sequences,
            "least_count": self.least_count,
            "clusters": self.n_clusters,
            "unread_prefixes": self.n_without,
            "states": [
                {
                    "visits": state.visits,
                    "stops": state.stops,
                    "lost": state.lost,
                    "prefixes": [
                        {"symbols": list(prefix), "times": times}
                        for prefix, times in state.prefixes
                    ],
                    "n_prefixes": state.n_prefixes,
                }
                for state in self.states
            ],
            "transitions": [
                each._asdict() | {"share": self.share(each)} for each in self.transitions
            ],
        }


def state_graph(
    automaton: OperatorModel,
    sequences: Sequences,
    options: StateGraphOptions = StateGraphOptions(),
) -> StateGraph:
    """The graph of an automaton's states on given sequences.

    Parameters
    ----------
    automaton
        The automaton; its vectors may be signed.  Automata that differ by an invertible matrix may
        give different graphs, since angles depend on the basis.
    sequences
        The training sequences of the automaton, or similar ones.
    options
        Clusters and frequent prefixes.

    Raises
    ------
    GrammarError
        When there is no sequence, or the initial vector is zero.
    SettingsError
        When more prefixes are frequent than can be clustered.

    Cost
    ----
    O(P^2 n) time and O(P^2) memory for P frequent prefixes and n states; O(T) for T symbols.

    References
    ----------
    luque-2012.
    """
    if not sequences.n_sequences:
        raise GrammarError("there are no sequences; at least one is needed")
    tree = build_prefix_tree(sequences, np.zeros(sequences.n_sequences, dtype=np.int64), 1)
    least_count = options.least_count or max(2, sequences.n_sequences // SEQUENCES_PER_PREFIX)
    prefixes = _frequent(tree, sequences.symbols, least_count)
    if len(prefixes) > MAX_PREFIXES:
        raise SettingsError(
            f"{counted(len(prefixes), 'prefix', 'prefixes')} have a count of "
            f"{least_count} or more; at most {MAX_PREFIXES} can be clustered, so increase the "
            "minimum count"
        )
    vectors = {node: automaton.states(prefix)[-1] for node, prefix in prefixes.items()}
    readable = [node for node, vector in vectors.items() if np.any(vector != 0.0)]
    if 0 not in readable:
        raise GrammarError("the initial vector of the automaton is zero, so it has no states")
    clusters = _cluster(np.array([vectors[node] for node in readable]), options)
    cluster_of = dict(zip(readable, clusters.tolist(), strict=True))
    merged, target = _merge(tree, cluster_of)
    graph = _count(tree, sequences.symbols, merged, target, prefixes, options)
    n_clusters = len(set(cluster_of.values()))
    return StateGraph(
        *graph, sequences.n_sequences, least_count, n_clusters, len(prefixes) - len(readable)
    )


def _frequent(tree: PrefixTree, symbols: Sequence[str], least_count: int) -> dict[int, Prefix]:
    """The frequent prefixes by node; node 0, the empty prefix, is one of them."""
    prefixes: dict[int, Prefix] = {0: ()}
    # Every prefix of a frequent prefix is frequent and comes earlier.
    for node in np.flatnonzero(tree.through >= least_count).tolist():
        if node:
            parent = prefixes[int(tree.parent[node])]
            prefixes[node] = (*parent, symbols[tree.row_symbol[tree.row[node]]])
    return prefixes


def _cluster(vectors: Floats, options: StateGraphOptions) -> NDArray[np.int64]:
    """Axes (vectors): the cluster of each vector."""
    if len(vectors) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = np.clip(np.round(pdist(units, "cosine"), _DECIMALS), 0.0, 2.0)
    dendrogram = linkage(distances, "average")
    if options.distance is None:
        found = fcluster(dendrogram, options.clusters, "maxclust")
    else:
        found = fcluster(dendrogram, options.distance, "distance")
    return np.asarray(found, dtype=np.int64)


def _merge(
    tree: PrefixTree, cluster_of: dict[int, int]
) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
    """Clusters of prefixes after merging, and the target of each by the number of a symbol."""
    joined = {cluster: cluster for cluster in cluster_of.values()}

    def find(cluster: int) -> int:
        while joined[cluster] != cluster:
            joined[cluster] = cluster = joined[joined[cluster]]
        return cluster

    steps = [
        (cluster_of[int(tree.parent[node])], int(tree.row_symbol[tree.row[node]]), cluster)
        for node, cluster in cluster_of.items()
        if node  # its parent has a non-zero vector, too
    ]
    while True:
        target: dict[tuple[int, int], int] = {}
        n_mergers = 0
        for source, symbol, cluster in steps:
            end = find(cluster)
            other = find(target.setdefault((find(source), symbol), end))
            if other != end:
                joined[end] = other
                n_mergers += 1
        if not n_mergers:
            return {node: find(cluster) for node, cluster in cluster_of.items()}, target


def _count(
    tree: PrefixTree,
    symbols: Sequence[str],
    merged: dict[int, int],
    target: dict[tuple[int, int], int],
    prefixes: dict[int, Prefix],
    options: StateGraphOptions,
) -> tuple[tuple[State, ...], tuple[Transition, ...]]:
    """Trace all sequences through the graph at once, prefix by prefix."""
    names = list(dict.fromkeys(merged.values()))
    visits, stops, lost, depths = (dict.fromkeys(names, 0) for _ in range(4))
    counts = dict.fromkeys(target, 0)
    # The state and the length of each prefix; no state where a sequence is lost.
    at: list[tuple[int | None, int]] = []
    for node, (parent, row, through, ends) in enumerate(
        zip(
            tree.parent.tolist(),
            tree.row.tolist(),
            tree.through.astype(np.int64).tolist(),
            tree.ends.astype(np.int64).tolist(),
            strict=True,
        )
    ):
        state, depth = (merged[0], 0) if node == 0 else at[parent]
        if node and state is not None:
            step = state, int(tree.row_symbol[row])
            state, depth = target.get(step), depth + 1
            if state is None:
                lost[step[0]] += through
            else:
                counts[step] += through
        if state is not None:
            visits[state] += through
            stops[state] += ends
            depths[state] += depth * through
        at.append((state, depth))

    members_of: dict[int, list[PrefixCount]] = {name: [] for name in names}
    for node, name in merged.items():
        members_of[name].append(PrefixCount(prefixes[node], int(tree.through[node])))
    for members in members_of.values():
        members.sort(key=lambda each: (-each.times, len(each.prefix), each.prefix))
    names.sort(
        key=lambda name: (name != merged[0], depths[name] / visits[name], members_of[name][0])
    )
    number = {name: place for place, name in enumerate(names)}
    states = (
        State(
            tuple(members_of[name][: options.prefixes]),
            len(members_of[name]),
            visits[name],
            stops[name],
            lost[name],
        )
        for name in names
    )
    transitions = [
        Transition(number[source], symbols[symbol], number[target[source, symbol]], count)
        for (source, symbol), count in counts.items()
    ]
    transitions.sort(key=lambda each: (each.source, -each.times, each.symbol))
    return tuple(states), tuple(transitions)
