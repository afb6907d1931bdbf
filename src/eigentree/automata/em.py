"""Expectation maximisation for automata with hidden states: Baum-Welch, with stopping.

The automaton is probabilistic: A[a][i, j] is the probability of reading symbol a and going to state
i, given state j, and final[j] that of stopping in state j; they sum to 1 over a, i and stopping.
The forward and backward vectors of the training sequences give the expected counts

    C[a][i, j] = sum over places where a is read of  backward[i] A[a][i, j] forward[j] / f(sequence)

and likewise those of stops and of first states.  Divided by the counts of state j they are the next
parameters (Baum et al. 1970).  Symbol and next state are chosen jointly, which is more general than
a hidden Markov model.  No step lowers the likelihood, which is checked.  With one state the first
step gives relative frequencies.

Sequences are represented by the tree of their prefixes (`eigentree.automata.prefix_tree`), and all
automata of a dependency grammar are learned at once.  The result depends on the initialisation:

*random*: relative frequencies, split evenly among states except for random factors, with any number
of restarts.

*spectral*: the numbers of a spectral model (`eigentree.automata.spectral`) have any sign, so they
can't initialise probabilities.  But its forward vectors predict what follows a prefix: U times a
forward vector is, up to scale, the distribution of the next symbol.  So prefixes are clustered by
the directions of their vectors (k-means, weighted by frequency), clusters become states, and the
automaton is counted with them.  A share `EVEN_SHARE` of the even split is mixed in, since zeros
would stay zero.

An automaton whose sequences have T symbols and ends in all gets at most sqrt(T) states.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from eigentree._core.random import generator
from eigentree.automata import _kernels_em as kernels
from eigentree.automata.arrays import Automata, AutomataCounts, PrefixTree
from eigentree.automata.counting import PRIOR, check_prior, count_one_state
from eigentree.automata.model import OperatorModel, mixture
from eigentree.automata.prefix_tree import N_PARTS, build_prefix_tree
from eigentree.automata.sequences import Sequences
from eigentree.automata.spectral import OperatorOptions, assemble, count_substrings, decompose
from eigentree.errors import GrammarError, SettingsError, check_range
from eigentree.learning import em_checkpoint
from eigentree.learning.em_loop import (
    EVEN_SHARE,
    EMRun,
    EMSchedule,
    EMTrace,
    ExpectedCounts,
    run_em,
)
from eigentree.linalg.threads import one_thread
from eigentree.types import Floats, Longs, Progress

STAGE = "expectation maximisation"
KIND = "expectation maximisation of automata"
# The setting with the digest of all that automata are scored by, "" without a scorer.
VALIDATION = "development sequences"


@dataclass(frozen=True)
class SequenceEMOptions:
    """Settings of expectation maximisation for automata.

    Attributes
    ----------
    states
        Maximum number of states of an automaton.
    iterations
        Iterations of each restart; the one with the best score is kept.
    start
        ``random`` or ``spectral``.
    restarts
        Number of initialisations; 1 for a spectral start.
    perturbation
        Maximum logarithm of the factors of a random start.
    judge_every
        Iterations from one score to the next; the last is always scored.
    """

    states: int = 6
    iterations: int = 30
    start: Literal["random", "spectral"] = "random"
    restarts: int = 1
    perturbation: float = 1.0
    judge_every: int = 1

    def __post_init__(self) -> None:
        check_range(
            1,
            states=self.states,
            iterations=self.iterations,
            restarts=self.restarts,
            judge_every=self.judge_every,
        )
        if self.start not in ("random", "spectral"):
            raise SettingsError(f"start is {self.start!r}; it must be random or spectral")
        if self.start == "spectral" and self.restarts > 1:
            raise SettingsError(
                f"restarts is {self.restarts}; a spectral start is deterministic, so it must be 1"
            )
        if not 0.0 < self.perturbation < np.inf:
            raise SettingsError(f"perturbation is {self.perturbation}; it must be above 0")


Scorer = Callable[[Automata], float]


def learn_sequence_em(
    sequences: Sequences,
    options: SequenceEMOptions = SequenceEMOptions(),
    *,
    dev: Sequences | None = None,
    back_off: float = 0.1,
    prior: float = PRIOR,
    checkpoint: Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> EMTrace[OperatorModel]:
    """Learn an automaton of probabilities from sequences.

    Parameters
    ----------
    sequences
        At least one.
    options
        States, iterations, start.
    dev
        Other sequences over the same symbols; the iteration under which they are most likely is
        kept.
    back_off
        Weight of a smoothed automaton with one state that is mixed in; 0 for none.
    prior
        Pseudo-count of each of its outcomes.
    checkpoint, jobs, seed, progress
        As in `learn_automata`.

    Raises
    ------
    GrammarError
        When there is no sequence, or the development sequences have other symbols.
    ModelFileError
        When the checkpoint was made from other sequences or with other settings.

    References
    ----------
    baum-1970; rabiner-1989.
    """
    check_prior(prior)
    check_range(0, 1, back_off=back_off)
    if not sequences.n_sequences:
        raise GrammarError("there are no sequences to learn from; at least one is needed")
    tree = build_prefix_tree(sequences, np.zeros(sequences.n_sequences, dtype=np.int64), 1)
    smooth = count_one_state(sequences, prior)

    def assembled(automata: Automata) -> OperatorModel:
        model = extract_model(automata, tree, 0, sequences.symbols)
        return mixture(model, smooth, back_off) if back_off else model

    scorer, validation_digest = None, ""
    if dev is not None:
        if dev.symbols != sequences.symbols:
            raise GrammarError(
                "development sequences must be numbered by the symbols of the training sequences"
            )
        dev_tree = build_prefix_tree(dev, np.zeros(dev.n_sequences, dtype=np.int64), 1)
        validation_digest = f"{digest(dev)} {back_off} {prior}"

        def score(automata: Automata) -> float:
            return log_likelihood(dev_tree, assembled(automata))

        scorer = score
    trace = learn_automata(
        [sequences],
        tree,
        options,
        scorer=scorer,
        validation_digest=validation_digest,
        checkpoint=checkpoint,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    return EMTrace(assembled(trace.model), trace.record, trace.best)


def extract_model(
    automata: Automata, tree: PrefixTree, number: int, symbols: tuple[str, ...]
) -> OperatorModel:
    """One of several automata, without the states that it does not use.

    Parameters
    ----------
    automata
        Parameters of all of them.
    tree
        The prefix tree that numbers their operators.
    number
        Which automaton.
    symbols
        Its symbols, in the order of the prefix tree.
    """
    first, last = np.searchsorted(tree.row_automaton, [number, number + 1]).tolist()
    rows = automata.operators[first:last]
    used = np.flatnonzero((automata.initial[number] > 0) | (rows.sum(axis=(0, 2)) > 0))
    operators = np.zeros((len(symbols), len(used), len(used)))
    operators[tree.row_symbol[first:last]] = rows[:, used[:, None], used]
    return OperatorModel(
        symbols, automata.initial[number, used], automata.final[number, used], operators
    )


def log_likelihood(tree: PrefixTree, model: OperatorModel) -> float:
    """Logarithm of the product of a model's values over the sequences of one tree, in nats.

    The model must have no negative number; -inf when a sequence has the value zero.
    """
    automata = Automata(model.initial[None], model.final[None], model.operators[tree.row_symbol])
    with ThreadPoolExecutor(1) as threads:
        return PrefixExpectation(tree, model.n_states, threads).value(automata)


def learn_automata(
    groups: Sequence[Sequences],
    tree: PrefixTree,
    options: SequenceEMOptions,
    *,
    scorer: Scorer | None = None,
    validation_digest: str = "",
    checkpoint: Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> EMTrace[Automata]:
    """Learn the automata of a prefix tree, all at once.

    Parameters
    ----------
    groups
        The sequences of each automaton, over the same symbols.
    tree
        The prefix tree of the same sequences.
    options
        States, iterations, start.
    scorer
        How good automata are; higher is better.  Without it the last ones are kept, of the
        restart with the highest likelihood.
    validation_digest
        A digest of what the scorer depends on; a checkpoint must share it.
    checkpoint
        A file to resume from if it exists.  It is written after the first and the last
        iteration, and between them so often that writing takes at most a tenth of the time.
    jobs
        Threads; the result is the same for any number.
    seed
        Seed of random starts and of clustering.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Raises
    ------
    ModelFileError
        When the checkpoint was made from other sequences or with other settings.
    GrammarError
        When the likelihood falls.

    Cost
    ----
    An iteration takes O(nodes n^2) time, and memory for two vectors a node and two matrices an
    operator.
    """
    settings = {**asdict(options), "seed": seed, VALIDATION: validation_digest}
    settings["data"] = digest(*groups)
    resumed = None
    if checkpoint is not None and checkpoint.exists():
        n, n_rows = options.states, len(tree.row_automaton)
        ends = (len(groups), n)
        shapes = {"initial": ends, "final": ends, "operators": (n_rows, n, n)}
        resumed = _open_run(checkpoint, settings, shapes)

    with ThreadPoolExecutor(jobs) as threads, one_thread():
        return run_em(
            _AutomataEM(groups, tree, options, seed, threads),
            EMSchedule(options.iterations, options.restarts, options.judge_every),
            stage=STAGE,
            scorer=scorer,
            resumed=resumed,
            save=None if checkpoint is None else partial(_save_run, checkpoint, settings),
            progress=progress,
        )


class _AutomataEM:
    """Expectation maximisation of automata, for the loop of iterations."""

    def __init__(
        self,
        groups: Sequence[Sequences],
        tree: PrefixTree,
        options: SequenceEMOptions,
        seed: int,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._groups, self._tree, self._options, self._seed = groups, tree, options, seed
        self._expectation = PrefixExpectation(tree, options.states, threads)

    def initialise(self, restart: int) -> Automata:
        return start(self._groups, self._tree, self._options, restart, self._seed)

    def expectation(self, parameters: Automata) -> ExpectedCounts[AutomataCounts]:
        log_likelihood, counts = self._expectation.step(parameters)
        return ExpectedCounts(log_likelihood, log_likelihood, counts)

    def maximisation(self, counts: AutomataCounts, parameters: Automata) -> Automata:
        return maximise(self._tree, counts, parameters)

    def assemble(self, counts: AutomataCounts, parameters: Automata) -> Automata:  # noqa: ARG002
        return parameters


class PrefixExpectation:
    """The expectation step, with buffers for the vectors of all prefixes.

    Each thread fills the vectors of a block of nodes, or the counts of some operators; no sum is
    split between threads, so any number of them gives the same bits.
    """

    def __init__(self, tree: PrefixTree, n_states: int, threads: ThreadPoolExecutor) -> None:
        n_nodes = len(tree.parent)
        self._tree, self._threads = tree, threads
        self._forward, self._backward = np.zeros((2, n_nodes, n_states))
        self._exponent, self._scale = np.zeros(n_nodes, dtype=np.int32), np.ones(n_nodes)
        n_rows = len(tree.row_automaton)
        self._counts = np.zeros((n_rows, n_states, n_states))
        borders = np.arange(N_PARTS + 1) * len(tree.by_row) // N_PARTS
        self._parts = np.searchsorted(tree.row_start, borders)

    def forward(self, automata: Automata) -> Floats:
        """Axes (nodes, n): the forward vector of each prefix, scaled."""
        tree = self._tree
        self._forward[: len(automata.initial)] = automata.initial

        def fill(part: int) -> None:
            first, last = tree.block[part], tree.block[part + 1]
            kernels.forward_pass(
                tree, automata, first, last, self._forward, self._exponent, self._scale
            )

        list(self._threads.map(fill, range(N_PARTS)))
        return self._forward

    def value(self, automata: Automata) -> float:
        """The log-likelihood in nats, and backward vectors with the ends of sequences."""
        self.forward(automata)
        self._stop = np.zeros_like(automata.final)
        return kernels.end_pass(
            self._tree, automata, self._forward, self._exponent, self._backward, self._stop
        )

    def step(self, automata: Automata) -> tuple[float, AutomataCounts]:
        """Log-likelihood and expected counts, which are overwritten by the next step."""
        tree, scale, backward = self._tree, self._scale, self._backward
        likelihood = self.value(automata)
        if likelihood == -np.inf:
            raise GrammarError("a sequence has probability zero under the initial parameters")

        def pass_on(part: int) -> None:
            first, last = tree.block[part], tree.block[part + 1]
            kernels.backward_pass(tree, automata, first, last, scale, backward)

        def count(part: int) -> None:
            first, last = self._parts[part], self._parts[part + 1]
            kernels.count_operators(
                tree, automata, first, last, self._forward, scale, backward, self._counts
            )

        list(self._threads.map(pass_on, range(N_PARTS)))
        kernels.root_pass(tree, automata, scale, backward)
        list(self._threads.map(count, range(N_PARTS)))
        initial = automata.initial * backward[: len(automata.initial)]
        return likelihood, AutomataCounts(initial, self._stop, self._counts)


def maximise(tree: PrefixTree, counts: AutomataCounts, before: Automata | None = None) -> Automata:
    """Relative frequencies of counts.

    A state that is never reached stops, and an automaton without sequences keeps its parameters.
    """
    total = counts.final.copy()
    np.add.at(total, tree.row_automaton, counts.operators.sum(axis=1))
    never = total == 0.0
    total[never] = 1.0
    final = np.where(never, 1.0, counts.final / total)
    operators = counts.operators / total[tree.row_automaton][:, None, :]
    sums = counts.initial.sum(axis=1, keepdims=True)
    initial = counts.initial / np.where(sums == 0.0, 1.0, sums)
    none = sums[:, 0] == 0.0
    if before is not None:
        initial[none], final[none] = before.initial[none], before.final[none]
    return Automata(initial, final, operators)


def _max_states(tree: PrefixTree, limit: int) -> Longs:
    """Axes (automata): number of states of each."""
    n_automata = int(tree.automaton.max()) + 1
    seen = np.bincount(tree.automaton, tree.through, n_automata)
    return np.clip(np.sqrt(seen).astype(np.int64), 1, limit)


def _observed(tree: PrefixTree) -> tuple[Floats, Floats, Floats]:
    """Axes (automata) twice and (rows): how often each began, stopped and read a symbol."""
    n_automata = int(tree.automaton.max()) + 1
    began = tree.through[:n_automata]
    stopped = np.bincount(tree.automaton, tree.ends, n_automata)
    read = np.bincount(tree.row[n_automata:], tree.through[n_automata:], len(tree.row_automaton))
    return began, stopped.astype(np.float64), read.astype(np.float64)


def start(
    groups: Sequence[Sequences],
    tree: PrefixTree,
    options: SequenceEMOptions,
    restart: int = 0,
    seed: int = 0,
) -> Automata:
    """The initial parameters; see the top."""
    n_states = _max_states(tree, options.states)
    # An automaton without any sequence gets the empty one, since it needs some parameters.
    began, stopped, read = _observed(tree)
    began, stopped = np.maximum(began, 1.0), np.where(began == 0.0, 1.0, stopped)
    is_state = (np.arange(options.states) < n_states[:, None]).astype(np.float64)
    share = is_state / n_states[:, None]
    even = AutomataCounts(
        began[:, None] * share,
        stopped[:, None] * share,
        read[:, None, None]
        * share[tree.row_automaton][:, :, None]
        * share[tree.row_automaton][:, None, :],
    )
    if options.start == "random":
        rng = generator(seed, restart)
        factors = [
            np.exp(options.perturbation * rng.uniform(-1.0, 1.0, array.shape)) for array in even
        ]
        return maximise(tree, AutomataCounts(*(a * b for a, b in zip(even, factors, strict=True))))
    state = cluster_prefixes(groups, tree, n_states, options, seed)
    counted = AutomataCounts(*(np.zeros_like(array) for array in even))
    roots, nodes = np.split(np.arange(len(state)), [len(n_states)])
    np.add.at(counted.initial, (roots, state[roots]), tree.through[roots])
    np.add.at(counted.final, (tree.automaton, state), tree.ends)
    at = (tree.row[nodes], state[nodes], state[tree.parent[nodes]])
    np.add.at(counted.operators, at, tree.through[nodes])
    return maximise(
        tree,
        AutomataCounts(
            *(
                (1.0 - EVEN_SHARE) * own + EVEN_SHARE * other
                for own, other in zip(counted, even, strict=True)
            )
        ),
    )


def cluster_prefixes(
    groups: Sequence[Sequences],
    tree: PrefixTree,
    n_states: Longs,
    options: SequenceEMOptions,
    seed: int = 0,
) -> Longs:
    """Axes (nodes): a state for each prefix, by clustering its spectral forward vectors.

    Parameters
    ----------
    groups, tree, options, seed
        As in `learn_automata`.
    n_states : int64, axes (automata)
        Maximum number of states of each.
    """
    from sklearn.cluster import KMeans

    n = options.states
    automata = Automata(
        np.zeros((len(groups), n)),
        np.zeros((len(groups), n)),
        np.zeros((len(tree.row_automaton), n, n)),
    )
    towards = np.zeros((len(groups), n))
    first_row = np.searchsorted(tree.row_automaton, np.arange(len(groups) + 1))
    for number, group in enumerate(groups):
        if not group.n_sequences:
            continue
        statistics = count_substrings(group)
        factors = decompose(statistics, OperatorOptions(int(n_states[number])), seed=seed)
        model, k = assemble(group.symbols, statistics, factors), len(factors.values)
        rows = slice(first_row[number], first_row[number + 1])
        automata.initial[number, :k] = model.initial
        automata.operators[rows, :k, :k] = model.operators[tree.row_symbol[rows]]
        towards[number, :k] = factors.left.sum(axis=0)
    with ThreadPoolExecutor(1) as threads:
        vectors = PrefixExpectation(tree, n, threads).forward(automata)
    # A vector's length depends only on the probability of its prefix.
    length = np.linalg.norm(vectors, axis=1)
    along = np.einsum("vi,vi->v", vectors, towards[tree.automaton])
    directions = vectors / np.where(along < 0.0, -1.0, 1.0)[:, None]
    directions /= np.where(length == 0.0, 1.0, length)[:, None]
    state = np.zeros(len(tree.parent), dtype=np.int64)
    by_automaton = np.argsort(tree.automaton, kind="stable")
    borders = np.searchsorted(tree.automaton[by_automaton], np.arange(len(groups) + 1))
    for number, k in enumerate(n_states.tolist()):
        nodes = by_automaton[borders[number] : borders[number + 1]]
        nodes = nodes[tree.through[nodes] > 0.0]
        k = min(k, len(np.unique(directions[nodes].round(6), axis=0))) if k > 1 else 1
        if k == 1:
            continue
        means = KMeans(k, n_init=1, random_state=int(generator(seed, number).integers(2**31)))
        state[nodes] = means.fit(directions[nodes], sample_weight=tree.through[nodes]).labels_
    return state


def digest(*groups: Sequences) -> str:
    """A digest of sequences."""
    sha = hashlib.sha256()
    for group in groups:
        sha.update(json.dumps(group.symbols).encode())
        sha.update(group.start.tobytes() + group.symbol.tobytes())
    return sha.hexdigest()


def _save_run(path: Path, settings: Mapping[str, Any], run: EMRun[Automata, Automata]) -> None:
    """Write a checkpoint."""
    assert run.parameters is not None
    best = {} if run.best is None else run.best._asdict()
    checkpoint = em_checkpoint.Checkpoint(
        settings, run.record, run.best_at, run.parameters._asdict(), best
    )
    em_checkpoint.save_checkpoint(path, KIND, checkpoint)


def _open_run(
    path: Path, settings: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> EMRun[Automata, Automata]:
    """Read the checkpoint of a run with the same settings and shapes of arrays."""
    names = Automata._fields
    stored = em_checkpoint.open_checkpoint(path, KIND, settings, values=names, best=names)
    difference = None
    for name in stored.differing(settings)[:1]:
        difference = {"data": "other sequences", VALIDATION: "other development sequences"}.get(
            name, f"{name} {stored.settings[name]}, not {settings[name]}"
        )
    em_checkpoint.check_run(path, difference)
    for arrays in (stored.values, *([stored.best] if stored.best else [])):
        em_checkpoint.check_arrays(path, arrays, shapes)
    best = {name: np.array(array) for name, array in stored.best.items()}
    return EMRun(
        Automata(**stored.values), stored.record, Automata(**best) if best else None, stored.best_at
    )
