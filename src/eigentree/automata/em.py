"""Expectation maximisation for automata with hidden states: Baum-Welch, with stopping.

The automaton has probabilities: A[a][i, j] of reading symbol a and going to state i, given state
j, and final[j] of stopping there, which sum to 1 over a, i and stopping.  From forward and backward
vectors of the training sequences come the expected counts

    C[a][i, j] = sum over places where a is read of  backward[i] A[a][i, j] forward[j] / f(sequence)

and likewise of stops and of first states; divided by those of state j they are the next parameters
(Baum et al. 1970).  Symbol and next state are chosen together, which is more than a hidden Markov
model can say.  No step lowers the likelihood, which is checked.  With one state the first step
gives relative frequencies.

Sequences are worked on as a forest of their prefixes (`eigentree.automata.prefix_forest`), and many
automata at once, as a dependency grammar has them.  Where the iterations lead to depends on where
they start:

*random*: relative frequencies, split evenly among states but for random factors; several
restarts, if asked for.

*spectral*: the numbers of a spectral model (`eigentree.automata.spectral`) have any sign, so they
can't be a start.  But its forward vectors say what it expects after a prefix: U times a forward
vector is, up to its length, the distribution of the next symbol.  So the prefixes are clustered by
the directions of their vectors (k-means, each prefix as often as it occurs), clusters are taken
for states, and the automaton is counted with them.  A part `EVEN_PART` of the even split is mixed
in, since zeros would stay for ever.

An automaton whose sequences have T symbols and ends in all gets at most sqrt(T) states.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from eigentree._core.random import generator
from eigentree._core.shapes import check_shapes, check_types
from eigentree.automata import _kernels_em as kernels
from eigentree.automata.arrays import Automata, AutomataCounts, PrefixTree
from eigentree.automata.counting import PRIOR, check_prior, count_one_state
from eigentree.automata.model import OperatorModel, mixture
from eigentree.automata.prefix_forest import N_PARTS, plant
from eigentree.automata.sequences import Sequences
from eigentree.automata.spectral import OperatorOptions, assemble, count_substrings, decompose
from eigentree.errors import GrammarError, ModelFileError, SettingsError, ShapeError
from eigentree.learning.em_checkpoint import opened
from eigentree.linalg.threads import one_thread
from eigentree.model_file import save_model
from eigentree.types import Floats, Longs, Progress

STAGE = "expectation maximisation"
KIND = "expectation maximisation of automata"
# Share of the even split in a spectral start.
EVEN_PART = 0.1
# Between two checkpoints passes at least this often the time that one takes to write.
WRITING_PAUSE = 10.0
# By how much rounding may lower the likelihood, relative to its size.
ROUNDING = 1e-10


@dataclass(frozen=True, slots=True)
class SequenceEMOptions:
    """Settings of expectation maximisation for automata.

    Attributes
    ----------
    states
        Most states of an automaton.
    iterations
        Of each restart; the best judged one of all is kept.
    start
        ``random`` or ``spectral``.
    restarts
        How often to begin anew; 1 for a spectral start.
    perturbation
        The largest logarithm of the factors of a random start.
    judge_every
        Iterations from one judgement to the next; the last is always judged.
    """

    states: int = 6
    iterations: int = 30
    start: Literal["random", "spectral"] = "random"
    restarts: int = 1
    perturbation: float = 1.0
    judge_every: int = 1

    def __post_init__(self) -> None:
        for name in ("states", "iterations", "restarts", "judge_every"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.start not in ("random", "spectral"):
            raise SettingsError(f"start is {self.start!r}; it must be random or spectral")
        if self.start == "spectral" and self.restarts > 1:
            raise SettingsError(
                f"restarts is {self.restarts}; a spectral start is always the same, so it must be 1"
            )
        if not 0.0 < self.perturbation < np.inf:
            raise SettingsError(f"perturbation is {self.perturbation}; it must be above 0")


Judge = Callable[[Automata], float]


class Iteration(NamedTuple):
    """What one iteration found.

    Attributes
    ----------
    restart, number
        From 1 on.
    log_likelihood
        Of all sequences under the parameters that the iteration began with, in nats.
    judgement
        What the judge said of the iteration's automata; None if not asked.
    cpu_seconds
        Of all threads, from the first iteration to the end of this one, without judging.
    """

    restart: int
    number: int
    log_likelihood: float
    judgement: float | None
    cpu_seconds: float


class FoundAutomata(NamedTuple):
    """What expectation maximisation gives for a forest.

    Attributes
    ----------
    automata
        Of the best iteration.
    record
        All iterations.
    best
        Place in the record of the one judged best, the earliest of equals; without a judge, of the
        last one of the restart with the highest likelihood.
    """

    automata: Automata
    record: list[Iteration]
    best: int


class SequenceEMModel(NamedTuple):
    """What expectation maximisation gives for sequences; see `FoundAutomata`."""

    model: OperatorModel
    record: list[Iteration]
    best: int


def learn_sequence_em(
    sequences: Sequences,
    options: SequenceEMOptions = SequenceEMOptions(),
    *,
    held_out: Sequences | None = None,
    back_off: float = 0.1,
    prior: float = PRIOR,
    checkpoint: Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> SequenceEMModel:
    """Learn an automaton of probabilities from sequences.

    Parameters
    ----------
    sequences
        At least one.
    options
        States, iterations, start.
    held_out
        Other sequences over the same symbols; the iteration by which they are most likely is
        kept.
    back_off
        Weight of a smoothed automaton with one state that is mixed in; 0 for none.
    prior
        Pseudo-count of each of its outcomes.
    checkpoint, jobs, seed, progress
        As `learn_automata` has them.

    Raises
    ------
    GrammarError
        When there is no sequence, or held-out ones have other symbols.
    ModelFileError
        When the checkpoint was made from other sequences or with other settings.

    References
    ----------
    baum-1970; rabiner-1989.
    """
    check_prior(prior)
    if not 0.0 <= back_off < 1.0:
        raise SettingsError(f"back_off is {back_off}; it must be at least 0 and below 1")
    if not sequences.n_sequences:
        raise GrammarError("there are no sequences to learn from; at least one is needed")
    forest = plant(sequences, np.zeros(sequences.n_sequences, dtype=np.int64), 1)
    weak = count_one_state(sequences, prior)

    def assembled(automata: Automata) -> OperatorModel:
        model = extract_model(automata, forest, 0, sequences.symbols)
        return mixture(model, weak, back_off) if back_off else model

    judge, judged_on = None, ""
    if held_out is not None:
        if held_out.symbols != sequences.symbols:
            raise GrammarError("held-out sequences must be numbered by the same symbols")
        whole = plant(held_out, np.zeros(held_out.n_sequences, dtype=np.int64), 1)
        judged_on = f"{digest(held_out)} {back_off} {prior}"

        def judge_value(automata: Automata) -> float:
            return log_likelihood(whole, assembled(automata))

        judge = judge_value
    found = learn_automata(
        [sequences],
        forest,
        options,
        judge=judge,
        judged_on=judged_on,
        checkpoint=checkpoint,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    return SequenceEMModel(assembled(found.automata), found.record, found.best)


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


def log_likelihood(forest: PrefixTree, model: OperatorModel) -> float:
    """Logarithm of the product of a model's values over the sequences of one tree, in nats.

    The model must have no negative number; -inf when a sequence has the value zero.
    """
    automata = Automata(model.initial[None], model.final[None], model.operators[forest.row_symbol])
    with ThreadPoolExecutor(1) as threads:
        return Expectation(forest, model.n_states, threads).value(automata)


def learn_automata(
    groups: Sequence[Sequences],
    forest: PrefixTree,
    options: SequenceEMOptions,
    *,
    judge: Judge | None = None,
    judged_on: str = "",
    checkpoint: Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> FoundAutomata:
    """Learn the automata of a forest, all at once.

    Parameters
    ----------
    groups
        The sequences of each automaton, over the same symbols.
    forest
        The same as prefixes.
    options
        States, iterations, start.
    judge
        How good automata are, the higher the better; without it the last ones are kept.
    judged_on
        What a checkpoint must have in common beside settings and data.
    checkpoint
        A file to go on from if it is there.  It is written after the last iteration, and before
        as often as takes about a tenth of the time.
    jobs
        Threads; the result is the same for any number.
    seed
        Of random starts and of clustering.
    progress
        Called with the stage's name and the share done, 0 to 1.

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
    settings = {**asdict(options), "seed": seed, "judged on": judged_on}
    settings["data"] = digest(*groups)
    total = options.restarts * options.iterations
    run = _Run(None, [], None, 0)
    if checkpoint is not None and checkpoint.exists():
        sizes = {"automata": len(groups), "n": options.states, "rows": len(forest.row_automaton)}
        run = _Run.open(checkpoint, settings, sizes)
    automata, record = run.automata, run.record
    best, best_at, best_value = run.best, run.best_at, -np.inf
    if best is not None:
        best_value = _worth(record, best_at)
    next_writing = time.monotonic()
    with ThreadPoolExecutor(jobs) as threads, one_thread():
        expectation = Expectation(forest, options.states, threads)
        while len(record) < total:
            began = time.process_time()
            restart, number = divmod(len(record), options.iterations)
            if number == 0:
                automata = start(groups, forest, options, restart, seed)
            assert automata is not None
            likelihood, counts = expectation.step(automata)
            if number:
                _check_rise(record[-1], likelihood)
            automata = maximise(forest, counts, automata)
            spent = time.process_time() - began + (record[-1].cpu_seconds if record else 0.0)
            is_last = number + 1 == options.iterations
            judgement = None
            if judge is not None and (is_last or (number + 1) % options.judge_every == 0):
                judgement = judge(automata)
            record.append(Iteration(restart + 1, number + 1, likelihood, judgement, spent))
            if judgement is not None or (judge is None and is_last):
                value = _worth(record, len(record) - 1)
                if best is None or value > best_value:
                    best, best_at, best_value = automata, len(record) - 1, value
            is_done = len(record) == total
            if checkpoint is not None and (is_done or time.monotonic() >= next_writing):
                began_writing = time.monotonic()
                _Run(automata, record, best, best_at).save(checkpoint, settings)
                ended_writing = time.monotonic()
                next_writing = ended_writing + WRITING_PAUSE * (ended_writing - began_writing)
            if progress:
                progress(STAGE, len(record) / total)
    assert best is not None
    return FoundAutomata(best, record, best_at)


def _worth(record: Sequence[Iteration], at: int) -> float:
    judgement = record[at].judgement
    return record[at].log_likelihood if judgement is None else judgement


def _check_rise(last: Iteration, likelihood: float) -> None:
    if not likelihood >= last.log_likelihood - ROUNDING * abs(last.log_likelihood):
        raise GrammarError(
            f"iteration {last.number + 1}: the log-likelihood fell from {last.log_likelihood} to "
            f"{likelihood}; it must rise or stay"
        )


class Expectation:
    """The expectation step, with the vectors of all prefixes at hand.

    Threads share no sum: one has the vectors of a block of nodes to fill, or the counts of a few
    operators.  So any number of them gives the same bits.
    """

    def __init__(self, forest: PrefixTree, n_states: int, threads: ThreadPoolExecutor) -> None:
        n_nodes = len(forest.parent)
        self._forest, self._threads = forest, threads
        self._forward, self._backward = np.zeros((2, n_nodes, n_states))
        self._exponent, self._scale = np.zeros(n_nodes, dtype=np.int32), np.ones(n_nodes)
        n_rows = len(forest.row_automaton)
        self._counts = np.zeros((n_rows, n_states, n_states))
        wanted = np.arange(N_PARTS + 1) * len(forest.by_row) // N_PARTS
        self._parts = np.searchsorted(forest.row_start, wanted)

    def forward(self, automata: Automata) -> Floats:
        """Axes (nodes, n): the forward vector of each prefix, scaled."""
        forest = self._forest
        self._forward[: len(automata.initial)] = automata.initial

        def fill(part: int) -> None:
            first, last = forest.block[part], forest.block[part + 1]
            kernels.forward_pass(
                forest, automata, first, last, self._forward, self._exponent, self._scale
            )

        list(self._threads.map(fill, range(N_PARTS)))
        return self._forward

    def value(self, automata: Automata) -> float:
        """The log-likelihood in nats, and backward vectors with the ends of sequences."""
        self.forward(automata)
        self._stop = np.zeros_like(automata.final)
        return kernels.end_pass(
            self._forest, automata, self._forward, self._exponent, self._backward, self._stop
        )

    def step(self, automata: Automata) -> tuple[float, AutomataCounts]:
        """Log-likelihood and expected counts, which are overwritten by the next step."""
        forest, scale, backward = self._forest, self._scale, self._backward
        likelihood = self.value(automata)
        if likelihood == -np.inf:
            raise GrammarError("a sequence has probability zero under the start's parameters")

        def hand_on(part: int) -> None:
            first, last = forest.block[part], forest.block[part + 1]
            kernels.backward_pass(forest, automata, first, last, scale, backward)

        def count(part: int) -> None:
            first, last = self._parts[part], self._parts[part + 1]
            kernels.count_operators(
                forest, automata, first, last, self._forward, scale, backward, self._counts
            )

        list(self._threads.map(hand_on, range(N_PARTS)))
        kernels.root_pass(forest, automata, scale, backward)
        list(self._threads.map(count, range(N_PARTS)))
        initial = automata.initial * backward[: len(automata.initial)]
        return likelihood, AutomataCounts(initial, self._stop, self._counts)


def maximise(
    forest: PrefixTree, counts: AutomataCounts, before: Automata | None = None
) -> Automata:
    """Relative frequencies of counts.

    A state that is never reached stops, and an automaton without sequences stays as it was.
    """
    total = counts.final.copy()
    np.add.at(total, forest.row_automaton, counts.operators.sum(axis=1))
    never = total == 0.0
    total[never] = 1.0
    final = np.where(never, 1.0, counts.final / total)
    operators = counts.operators / total[forest.row_automaton][:, None, :]
    sums = counts.initial.sum(axis=1, keepdims=True)
    initial = counts.initial / np.where(sums == 0.0, 1.0, sums)
    none = sums[:, 0] == 0.0
    if before is not None:
        initial[none], final[none] = before.initial[none], before.final[none]
    return Automata(initial, final, operators)


def _most_states(forest: PrefixTree, most: int) -> Longs:
    """Axes (automata): how many states each gets."""
    n_automata = int(forest.automaton.max()) + 1
    seen = np.bincount(forest.automaton, forest.through, n_automata)
    return np.clip(np.sqrt(seen).astype(np.int64), 1, most)


def _observed(forest: PrefixTree) -> tuple[Floats, Floats, Floats]:
    """Axes (automata) twice and (rows): how often each began, stopped and read a symbol."""
    n_automata = int(forest.automaton.max()) + 1
    began = forest.through[:n_automata]
    stopped = np.bincount(forest.automaton, forest.ends, n_automata)
    read = np.bincount(
        forest.row[n_automata:], forest.through[n_automata:], len(forest.row_automaton)
    )
    return began, stopped.astype(np.float64), read.astype(np.float64)


def start(
    groups: Sequence[Sequences],
    forest: PrefixTree,
    options: SequenceEMOptions,
    restart: int = 0,
    seed: int = 0,
) -> Automata:
    """What the iterations begin with; see the top."""
    n_states = _most_states(forest, options.states)
    # An automaton without any sequence is given the empty one, for it must be something.
    began, stopped, read = _observed(forest)
    began, stopped = np.maximum(began, 1.0), np.where(began == 0.0, 1.0, stopped)
    is_state = (np.arange(options.states) < n_states[:, None]).astype(np.float64)
    share = is_state / n_states[:, None]
    even = AutomataCounts(
        began[:, None] * share,
        stopped[:, None] * share,
        read[:, None, None]
        * share[forest.row_automaton][:, :, None]
        * share[forest.row_automaton][:, None, :],
    )
    if options.start == "random":
        rng = generator(seed, restart)
        factors = [
            np.exp(options.perturbation * rng.uniform(-1.0, 1.0, array.shape)) for array in even
        ]
        return maximise(
            forest, AutomataCounts(*(a * b for a, b in zip(even, factors, strict=True)))
        )
    state = cluster_prefixes(groups, forest, n_states, options, seed)
    counted = AutomataCounts(*(np.zeros_like(array) for array in even))
    roots, nodes = np.split(np.arange(len(state)), [len(n_states)])
    np.add.at(counted.initial, (roots, state[roots]), forest.through[roots])
    np.add.at(counted.final, (forest.automaton, state), forest.ends)
    at = (forest.row[nodes], state[nodes], state[forest.parent[nodes]])
    np.add.at(counted.operators, at, forest.through[nodes])
    return maximise(
        forest,
        AutomataCounts(
            *(
                (1.0 - EVEN_PART) * own + EVEN_PART * other
                for own, other in zip(counted, even, strict=True)
            )
        ),
    )


def cluster_prefixes(
    groups: Sequence[Sequences],
    forest: PrefixTree,
    n_states: Longs,
    options: SequenceEMOptions,
    seed: int = 0,
) -> Longs:
    """Axes (nodes): a state for each prefix, by clustering its spectral forward vectors.

    Parameters
    ----------
    groups, forest, options, seed
        As `learn_automata` has them.
    n_states : int64, axes (automata)
        Most states of each.
    """
    from sklearn.cluster import KMeans

    n = options.states
    automata = Automata(
        np.zeros((len(groups), n)),
        np.zeros((len(groups), n)),
        np.zeros((len(forest.row_automaton), n, n)),
    )
    towards = np.zeros((len(groups), n))
    first_row = np.searchsorted(forest.row_automaton, np.arange(len(groups) + 1))
    for number, group in enumerate(groups):
        if not group.n_sequences:
            continue
        statistics = count_substrings(group)
        factors = decompose(statistics, OperatorOptions(int(n_states[number])), seed=seed)
        model, k = assemble(group.symbols, statistics, factors), len(factors.values)
        rows = slice(first_row[number], first_row[number + 1])
        automata.initial[number, :k] = model.initial
        automata.operators[rows, :k, :k] = model.operators[forest.row_symbol[rows]]
        towards[number, :k] = factors.left.sum(axis=0)
    with ThreadPoolExecutor(1) as threads:
        vectors = Expectation(forest, n, threads).forward(automata)
    # A vector's length says how probable its prefix is, and no more.
    length = np.linalg.norm(vectors, axis=1)
    along = np.einsum("vi,vi->v", vectors, towards[forest.automaton])
    directions = vectors / np.where(along < 0.0, -1.0, 1.0)[:, None]
    directions /= np.where(length == 0.0, 1.0, length)[:, None]
    state = np.zeros(len(forest.parent), dtype=np.int64)
    by_automaton = np.argsort(forest.automaton, kind="stable")
    borders = np.searchsorted(forest.automaton[by_automaton], np.arange(len(groups) + 1))
    for number, k in enumerate(n_states.tolist()):
        nodes = by_automaton[borders[number] : borders[number + 1]]
        nodes = nodes[forest.through[nodes] > 0.0]
        k = min(k, len(np.unique(directions[nodes].round(6), axis=0))) if k > 1 else 1
        if k == 1:
            continue
        means = KMeans(k, n_init=1, random_state=int(generator(seed, number).integers(2**31)))
        state[nodes] = means.fit(directions[nodes], sample_weight=forest.through[nodes]).labels_
    return state


def digest(*groups: Sequences) -> str:
    """A digest of sequences."""
    own = hashlib.sha256()
    for group in groups:
        own.update(json.dumps(group.symbols).encode())
        own.update(group.start.tobytes() + group.symbol.tobytes())
    return own.hexdigest()


class _Run(NamedTuple):
    """Where a run stands, as a checkpoint holds it."""

    automata: Automata | None
    record: list[Iteration]
    best: Automata | None
    best_at: int

    def save(self, path: Path, settings: Mapping[str, Any]) -> None:
        arrays: dict[str, Floats] = {}
        for prefix, automata in (("values", self.automata), ("best", self.best)):
            if automata is not None:
                arrays |= {f"{prefix}.{name}": a for name, a in automata._asdict().items()}
        header = {
            "kind": KIND,
            "settings": dict(settings),
            "record": [list(row) for row in self.record],
            "best": self.best_at,
        }
        save_model(path, header, arrays)

    @classmethod
    def open(cls, path: Path, settings: Mapping[str, Any], sizes: Mapping[str, int]) -> _Run:
        file = opened(path, KIND)
        try:
            stored, record, best_at = (file.header[name] for name in ("settings", "record", "best"))
            differing = [name for name, value in settings.items() if stored[name] != value]
            rows = [Iteration(*row) for row in record]
            found = {
                prefix: Automata(
                    *(np.array(file.arrays[f"{prefix}.{a}"]) for a in Automata._fields)
                )
                for prefix in ("values", "best")
                if prefix == "values" or f"{prefix}.initial" in file.arrays
            }
        except (KeyError, TypeError) as error:
            raise ModelFileError(f"{path}: isn't a whole checkpoint: {error} is missing") from error
        if differing:
            name = differing[0]
            what = f"{name} {stored[name]}, not {settings[name]}"
            if name in ("data", "judged on"):
                what = "other sequences" if name == "data" else "other held-out sequences"
            raise ModelFileError(
                f"{path}: is the checkpoint of a run with {what}; name another file or remove it"
            )
        # Kernels don't check what they read.
        axes = {"initial": "automata n", "final": "automata n", "operators": "rows n n"}
        for automata in found.values():
            given = automata._asdict()
            try:
                check_types("values", {name: (array, np.float64) for name, array in given.items()})
                check_shapes("values", {name: (given[name], axes[name]) for name in axes}, **sizes)
            except ShapeError as error:
                raise ModelFileError(f"{path}: isn't a whole checkpoint: {error}") from error
        return cls(found["values"], rows, found.get("best"), best_at)
