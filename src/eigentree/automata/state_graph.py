"""The states of an automaton as a graph that people can read.

The hidden states of an automaton are no more than directions of a space; what can be looked at is
where its forward vectors lie after the prefixes that are frequent in data (Luque et al. 2012,
section 5.3).

1. The frequent prefixes of the sequences each get the forward vector of the automaton.
2. The vectors are clustered, always the two clusters with the least mean cosine distance between
   their members.  The cosine doesn't see how long vectors are, which says how probable a prefix is.
   Distances are rounded, so that equal directions are one cluster.
3. Reading a symbol after a prefix leads from the cluster of the one to that of the other.  Where
   one symbol leads from a cluster to several, these are merged, until there is none such: a merger
   can make others necessary.  What comes of it is the finest graph that is deterministic and
   keeps clusters whole, in whatever order they are merged.
4. All sequences are led through the graph, and counted.  One whose next symbol leads nowhere, for
   no frequent prefix has gone that way, is lost there.
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
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.types import Floats

Prefix = tuple[str, ...]

# Distances between all pairs are kept, 100 MB for so many.
MOST_PREFIXES = 5000
# One sequence of so many makes a prefix frequent.  With few more prefixes almost all clusters of a
# newspaper's tags merge, since the vectors of what is rare are mostly noise.
LEAST_SHARE = 500
# Decimals of distances; what is below comes from rounding.
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class StateGraphOptions:
    """Settings for a graph of states.

    Attributes
    ----------
    clusters
        Most clusters of prefixes, before any are merged.
    distance
        In place of their number: clusters with a greater mean cosine distance, 0 to 2, stay apart.
    least_count
        Sequences that a prefix must begin to be frequent; None for one of `LEAST_SHARE`, and at
        least 2.
    prefixes
        How many prefixes are told of each state.
    """

    clusters: int = 8
    distance: float | None = None
    least_count: int | None = None
    prefixes: int = 5

    def __post_init__(self) -> None:
        for name in ("clusters", "least_count", "prefixes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name} is {value}; it must be at least 1")
        if self.distance is not None and not 0.0 <= self.distance <= 2.0:
            raise SettingsError(f"distance is {self.distance}; it must lie between 0 and 2")


class PrefixCount(NamedTuple):
    """A prefix, and how many sequences begin with it."""

    prefix: Prefix
    times: int


class State(NamedTuple):
    """A state of a graph.

    Attributes
    ----------
    prefixes
        The most frequent of those that lead here, the most frequent first.
    n_prefixes
        Frequent prefixes that lead here.
    visits
        How often sequences come here; also by prefixes that are not frequent.
    stops
        How often they end here.
    lost
        How often they go on with a symbol that leads nowhere.
    """

    prefixes: tuple[PrefixCount, ...]
    n_prefixes: int
    visits: int
    stops: int
    lost: int


class Transition(NamedTuple):
    """From a state to another, or to itself, by a symbol, and how often; states count from 0."""

    source: int
    symbol: str
    target: int
    times: int


@dataclass(frozen=True, slots=True)
class StateGraph:
    """A deterministic automaton that is near one with hidden states.

    Visits of a state are its stops, what it has lost and the counts of the transitions from it;
    they are also the counts of the transitions to it, and all sequences for the initial one.

    Attributes
    ----------
    states
        The initial one first, then by how many symbols have been read there on the average.
    transitions
        By source, the most frequent first.
    n_sequences
    least_count
        Sequences that a frequent prefix begins, at least.
    n_clusters
        Before any were merged.
    n_without
        Frequent prefixes that the automaton can't read, so that no state has them.
    """

    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    n_sequences: int
    least_count: int
    n_clusters: int
    n_without: int = 0

    def share(self, transition: Transition) -> float:
        """Of the visits of its source, those that go on with a transition."""
        return transition.times / max(self.states[transition.source].visits, 1)

    def read(self, sequence: Sequence[str]) -> list[int]:
        """The states that a sequence goes through, the initial one first, as far as it leads."""
        target = {(each.source, each.symbol): each.target for each in self.transitions}
        path = [0]
        for symbol in sequence:
            if (path[-1], symbol) not in target:
                break
            path.append(target[path[-1], symbol])
        return path

    def to_dict(self) -> dict[str, Any]:
        """What the graph holds, as JSON has it."""
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
        Any; its vectors may be signed.  States that are equal but for an invertible matrix may
        give other graphs, since angles change with the basis.
    sequences
        What the automaton learned from, or others like it.
    options

    Raises
    ------
    GrammarError
        When there is no sequence, or the initial vector is zero.
    SettingsError
        When more prefixes are frequent than can be clustered.

    Cost
    ----
    O(P^2 n) for P frequent prefixes and n states, O(P^2) numbers; and O(T) for T symbols.

    References
    ----------
    luque-2012.
    """
    if not sequences.n_sequences:
        raise GrammarError("there are no sequences to look at; at least one is needed")
    forest = build_prefix_tree(sequences, np.zeros(sequences.n_sequences, dtype=np.int64), 1)
    least_count = options.least_count or max(2, sequences.n_sequences // LEAST_SHARE)
    prefixes = _frequent(forest, sequences.symbols, least_count)
    if len(prefixes) > MOST_PREFIXES:
        raise SettingsError(
            f"{counted(len(prefixes), 'prefix', 'prefixes')} have a count of "
            f"{least_count} or more, of which at most {MOST_PREFIXES} can be clustered; "
            "give a higher least count"
        )
    vectors = {node: automaton.states(prefix)[-1] for node, prefix in prefixes.items()}
    read = [node for node, vector in vectors.items() if np.any(vector != 0.0)]
    if 0 not in read:
        raise GrammarError("the initial vector of the automaton is zero, so it has no states")
    clusters = _cluster(np.array([vectors[node] for node in read]), options)
    cluster_of = dict(zip(read, clusters.tolist(), strict=True))
    merged, target = _merge(forest, cluster_of)
    graph = _count(forest, sequences.symbols, merged, target, prefixes, options)
    n_clusters = len(set(cluster_of.values()))
    return StateGraph(
        *graph, sequences.n_sequences, least_count, n_clusters, len(prefixes) - len(read)
    )


def _frequent(forest: PrefixTree, symbols: Sequence[str], least_count: int) -> dict[int, Prefix]:
    """The frequent prefixes by their nodes; the empty one, which is node 0, is one of them."""
    prefixes: dict[int, Prefix] = {0: ()}
    # Whatever begins a frequent prefix is frequent, and stands before it.
    for node in np.flatnonzero(forest.through >= least_count).tolist():
        if node:
            parent = prefixes[int(forest.parent[node])]
            prefixes[node] = (*parent, symbols[forest.row_symbol[forest.row[node]]])
    return prefixes


def _cluster(vectors: Floats, options: StateGraphOptions) -> NDArray[np.int64]:
    """Axes (vectors): the number of each one's cluster."""
    if len(vectors) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import pdist

    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = np.clip(np.round(pdist(units, "cosine"), _DECIMALS), 0.0, 2.0)
    tree = linkage(distances, "average")
    if options.distance is None:
        found = fcluster(tree, options.clusters, "maxclust")
    else:
        found = fcluster(tree, options.distance, "distance")
    return np.asarray(found, dtype=np.int64)


def _merge(
    forest: PrefixTree, cluster_of: dict[int, int]
) -> tuple[dict[int, int], dict[tuple[int, int], int]]:
    """Clusters of prefixes after all mergers, and where each leads to by the number of a symbol."""
    joined = {cluster: cluster for cluster in cluster_of.values()}

    def find(cluster: int) -> int:
        while joined[cluster] != cluster:
            joined[cluster] = cluster = joined[joined[cluster]]
        return cluster

    steps = [
        (cluster_of[int(forest.parent[node])], int(forest.row_symbol[forest.row[node]]), cluster)
        for node, cluster in cluster_of.items()
        if node  # what can be read has a beginning that can be
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
    forest: PrefixTree,
    symbols: Sequence[str],
    merged: dict[int, int],
    target: dict[tuple[int, int], int],
    prefixes: dict[int, Prefix],
    options: StateGraphOptions,
) -> tuple[tuple[State, ...], tuple[Transition, ...]]:
    """Lead all sequences through the graph at once, prefix by prefix."""
    names = list(dict.fromkeys(merged.values()))
    visits, stops, lost, depths = (dict.fromkeys(names, 0) for _ in range(4))
    counts = dict.fromkeys(target, 0)
    # The state and the length of each prefix; no state where a sequence is lost.
    at: list[tuple[int | None, int]] = []
    for node, (parent, row, through, ends) in enumerate(
        zip(
            forest.parent.tolist(),
            forest.row.tolist(),
            forest.through.astype(np.int64).tolist(),
            forest.ends.astype(np.int64).tolist(),
            strict=True,
        )
    ):
        state, depth = (merged[0], 0) if node == 0 else at[parent]
        if node and state is not None:
            step = state, int(forest.row_symbol[row])
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

    own: dict[int, list[PrefixCount]] = {name: [] for name in names}
    for node, name in merged.items():
        own[name].append(PrefixCount(prefixes[node], int(forest.through[node])))
    for members in own.values():
        members.sort(key=lambda each: (-each.times, len(each.prefix), each.prefix))
    names.sort(key=lambda name: (name != merged[0], depths[name] / visits[name], own[name][0]))
    number = {name: place for place, name in enumerate(names)}
    states = (
        State(
            tuple(own[name][: options.prefixes]),
            len(own[name]),
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
