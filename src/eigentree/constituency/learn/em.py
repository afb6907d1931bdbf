"""Expectation maximisation for L-PCFGs (Matsuzaki et al. 2005).

The treebank shows the trees but not the states.  With parameters t(a h1 -> b h2 c h3),
q(a h -> word) and p(root = a h), inside and outside vectors on each given tree yield the
posterior of the states at every node; summed over the nodes of a rule,

    C(a -> b c)[h1, h2, h3] = sum of  t(a h1 -> b h2 c h3) outside[h1] inside[h2] inside[h3]

is the expected count of the rule with these states.  Relative frequencies of the expected counts,

    t(a h1 -> b h2 c h3) = C(a -> b c)[h1, h2, h3] / C(a)[h1],

and likewise for words and roots, are the next parameters.  No step may lower the likelihood of
the trees, which is checked.  The result depends on the initialisation:

*random*: the count of every rule and word is split among its states evenly up to random
factors; exactly equal states would remain equal.

*clusters*: the caller assigns a state to each node, and the rules are counted with them.  A count
of zero would remain zero, so a share `EVEN_SHARE` of the even split is mixed in, and the
counts are smoothed as below.

The parameters that maximise the likelihood do not parse best, because rules are rare.  The
iterations are therefore not smoothed, but the grammar that is scored and returned uses
smoothed counts, like the moments of the spectral estimator (Cohen et al. 2013, section
3.2): with n = count(a -> b c), E = C / n and lambda = sqrt(n) / (C + sqrt(n)), C being the
constant `EMOptions.smoothing`,

    n (lambda E + (1 - lambda) (lambda E2 + (1 - lambda) (lambda E3 + (1 - lambda) E4)))

replaces the expected counts; E2 and E3 are products of marginals of E, E4 of the overall state
frequencies of the three symbols.  The states of a word are likewise smoothed towards those of its
symbol, by a pseudo-count.  Relative frequencies are taken last, so that the choices
of each state sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from eigentree._core.jit import needs_compiling
from eigentree._core.random import generator
from eigentree.constituency.grammar.arrays import LatentParameters
from eigentree.constituency.grammar.lpcfg import LPCFG, back_off
from eigentree.constituency.grammar.pcfg import PCFG
from eigentree.constituency.learn import _kernels_em as kernels
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em_arrays import Layout, Skeletons, Values
from eigentree.constituency.learn.em_checkpoint import VALIDATION, digest, open_run, save_run
from eigentree.constituency.learn.em_layout import BATCH, lay_out
from eigentree.constituency.learn.state_counts import capped_states, check_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import GrammarError, SettingsError, check_range
from eigentree.learning.em_loop import (
    EVEN_SHARE,
    EMRun,
    EMSchedule,
    EMTrace,
    ExpectedCounts,
    run_em,
)
from eigentree.linalg.threads import one_thread
from eigentree.types import Floats, Ints, Longs, Progress

Scorer = Callable[[LPCFG], float]

# Number of work items into which the rules are divided for the threads.
N_PARTS = 64
STAGE = "expectation maximisation"
COMPILATION = "compilation"


@dataclass(frozen=True)
class EMOptions:
    """Settings of expectation maximisation.

    Attributes
    ----------
    states
        Maximum latent states of a symbol.  A symbol seen c times has at most sqrt(c), so that
        each state can be seen as often as there are states.
    states_of
        Maximum states of single symbols by printed name; these replace `states`.
    iterations
        Number of iterations; the one with the best score is kept.  None for values that suit most
        treebanks: 20 from a random start, 4 from clusters, where more iterations only overfit.
    start
        ``random``, or ``clusters`` for node states assigned by the caller.
    perturbation
        The largest logarithm of the factors of a random start.  With small values the states
        are nearly equal, and take several iterations to diverge.
    smoothing
        C of the back-off of rules; 0 switches it off.
    word_smoothing
        Pseudo-count that smooths a word's states towards its symbol's; 0 for none.
    judge_every
        Iterations between scores; the first and the last are always scored.
    """

    states: int = 16
    states_of: Mapping[str, int] = field(default_factory=dict, hash=False)
    iterations: int | None = None
    start: Literal["random", "clusters"] = "random"
    perturbation: float = 1.0
    smoothing: float = 5.0
    word_smoothing: float = 10.0
    judge_every: int = 2

    def __post_init__(self) -> None:
        check_states(self.states, self.states_of)
        check_range(1, iterations=self.n_iterations, judge_every=self.judge_every)
        check_range(
            0,
            perturbation=self.perturbation,
            smoothing=self.smoothing,
            word_smoothing=self.word_smoothing,
        )
        if self.start not in ("random", "clusters"):
            raise SettingsError(f"start is {self.start!r}; it must be random or clusters")

    @property
    def n_iterations(self) -> int:
        """The number of iterations, with the default filled in."""
        if self.iterations is None:
            return 20 if self.start == "random" else 4
        return self.iterations


def learn_em(
    examples: Examples,
    options: EMOptions = EMOptions(),
    *,
    states: Ints | None = None,
    n_states: Ints | None = None,
    scorer: Scorer | None = None,
    validation_digest: str = "",
    checkpoint: Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> EMTrace[LPCFG]:
    """Learn an L-PCFG of probabilities by expectation maximisation.

    Parameters
    ----------
    examples
        The treebank.
    options
        States, iterations, smoothing.
    states : int32, axes (nodes), optional
        The state of each node, from 0, to start from clusters.
    n_states : int32, axes (N), optional
        Number of states of each symbol; replaces ``options.states``.
    scorer
        Scores a grammar; higher is better.  Without it, the last grammar is returned.
    validation_digest
        A digest of the scorer's inputs, such as its trees; a checkpoint must have the same one.
    checkpoint
        A file to resume from if it exists.  It is written after the first and the last
        iteration, and in between at intervals that limit writing to a tenth of the time.
    jobs
        Number of threads; the result is the same for any number.
    seed
        Seed of the random start; one seed gives one model.
    progress
        Called with the stage's name and the fraction done, 0 to 1.  If the kernels are not
        compiled yet, compilation is an earlier stage.

    Returns
    -------
    EMTrace
        The best grammar, its numbers rounded as in model files, and all iterations.

    Raises
    ------
    ModelFileError
        When the checkpoint was made from other trees or with other settings.
    GrammarError
        When the likelihood falls, or a tree has probability zero.

    Cost
    ----
    An iteration takes O(nodes K^3) time; memory for two vectors per node and two tensors per
    rule, three more while a grammar is built, and one for the best one with a scorer.

    References
    ----------
    matsuzaki-2005; cohen-2013.
    """
    if (states is None) != (options.start == "random"):
        raise SettingsError(
            f"start is {options.start!r}, and states of the nodes are "
            f"{'not ' if states is None else ''}given; clusters requires them, random excludes them"
        )
    if n_states is None:
        n_states = capped_states(examples, options)
    backbone = count_pcfg(examples)
    trees, layout = lay_out(examples, backbone, n_states)
    settings = {**asdict(options), "seed": seed, VALIDATION: validation_digest}
    settings["data"] = digest(examples, n_states, states)
    del settings["iterations"]  # a finished run may be continued
    resumed: EMRun[Values, LPCFG] | None = None
    if checkpoint is not None and checkpoint.exists():
        stored, values = open_run(checkpoint, settings, options.n_iterations, layout)
        best = None
        if stored.best:
            arrays = {name: array.astype(np.float64) for name, array in stored.best.items()}
            best = assembled(backbone, layout, **arrays)
        resumed = EMRun(values, stored.record, best, stored.best_at)
    if progress and needs_compiling(kernels.outside_pass):
        progress(COMPILATION, 0.0)
    _compile(trees, layout)

    with ThreadPoolExecutor(jobs) as threads, one_thread():
        return run_em(
            _TreeEM(trees, layout, backbone, options, states, seed, threads),
            EMSchedule(options.n_iterations, score_every=options.judge_every, score_first=True),
            stage=STAGE,
            scorer=scorer,
            resumed=resumed,
            save=None if checkpoint is None else partial(save_run, checkpoint, settings),
            progress=progress,
        )


class _TreeEM:
    """EM over the states of trees, as run by the shared EM loop."""

    def __init__(
        self,
        trees: Skeletons,
        layout: Layout,
        backbone: PCFG,
        options: EMOptions,
        states: Ints | None,
        seed: int,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._trees, self._layout, self._backbone = trees, layout, backbone
        self._options, self._states, self._seed = options, states, seed
        self._expectation = TreeExpectation(trees, layout, threads)

    def initialise(self, restart: int) -> Values:  # noqa: ARG002 - there are no restarts
        layout, options = self._layout, self._options
        if self._states is None:
            return maximise(layout, perturbed(layout, options.perturbation, self._seed))
        return maximise(
            layout, smoothed(layout, counted(self._trees, layout, self._states), options)
        )

    def expectation(self, parameters: Values) -> ExpectedCounts[Values]:
        log_likelihood, counts = self._expectation.step(parameters)
        return ExpectedCounts(log_likelihood, log_likelihood, counts)

    def maximisation(self, counts: Values, parameters: Values) -> Values:
        return maximise(self._layout, counts, parameters)

    def assemble(self, counts: Values, parameters: Values) -> LPCFG:  # noqa: ARG002
        # Unnamed, so that arrays as large as the grammar are freed as soon as they are used.
        return as_grammar(
            self._backbone, self._layout, smoothed(self._layout, counts, self._options)
        ).rounded()


def _compile(trees: Skeletons, layout: Layout) -> None:
    """Call every kernel on empty ranges, so that compilation time is not part of an iteration."""
    values = Values.empty(layout)
    trees = Skeletons._make(column[:0] for column in trees)
    layout = Layout._make(column[:0] for column in layout)
    values = Values._make(numbers[:0] for numbers in values)
    numbers, exponents, scratch = np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros((0, 0))
    kernels.inside_pass(trees, layout, values, 0, 0, numbers, exponents, numbers, scratch)
    kernels.outside_pass(
        trees, layout, values, 0, 0, numbers, exponents, numbers, numbers, numbers, scratch
    )
    kernels.count_rules(trees, layout, values, 0, 0, numbers, numbers, numbers, scratch)
    kernels.count_others(trees, layout, numbers, numbers, numbers, numbers, numbers)
    kernels.count_states(layout, values, numbers)
    kernels.divide(layout, values, numbers, values)


class TreeExpectation:
    """The expectation step, with the vectors of all nodes in memory.

    Threads share no sums: each fills the vectors of one block of trees, or the counts of a
    few rules.  Results are therefore bit-identical for any number of threads.
    """

    def __init__(self, trees: Skeletons, layout: Layout, threads: ThreadPoolExecutor) -> None:
        self._trees, self._layout, self._threads = trees, layout, threads
        n_nodes, n_numbers = len(trees.rule), int(trees.start[-1])
        self._inside, self._outside = np.zeros(n_numbers), np.zeros(n_numbers)
        self._exponent, self._scale = np.zeros(n_nodes, dtype=np.int32), np.zeros(n_nodes)
        self._log_value = np.zeros(int(trees.tree.max()) + 1)
        roots = np.flatnonzero(trees.tree >= 0)
        self._tree_weight = trees.weight[roots[np.argsort(trees.tree[roots])]]
        self._counts = Values.empty(layout)
        work = np.cumsum(np.diff(layout.node_start) * np.diff(layout.rule_start))
        shares = np.arange(N_PARTS + 1) / N_PARTS * work.max(initial=0)
        self._parts = np.append(np.searchsorted(work, shares[:-1]), len(work))

    def step(self, values: Values) -> tuple[float, Values]:
        """Log-likelihood and expected counts under given parameters.

        The counts are overwritten by the next step.
        """
        trees, layout = self._trees, self._layout
        self._each(self._vectors, values, trees.block)
        log_value = self._log_value
        if not np.isfinite(log_value).all():
            tree = int(np.flatnonzero(~np.isfinite(log_value))[0])
            raise GrammarError(
                f"tree {tree + 1} has log-probability {log_value[tree]}, which must be finite"
            )
        self._each(self._rules, values, self._parts)
        counts = self._counts
        counts.words[:] = 0.0
        counts.roots[:] = 0.0
        kernels.count_others(
            trees, layout, self._inside, self._outside, self._scale, counts.words, counts.roots
        )
        return float(log_value @ self._tree_weight), counts

    def _each(
        self, work: Callable[[Values, int, int], None], values: Values, bounds: Longs
    ) -> None:
        list(self._threads.map(lambda pair: work(values, *pair), pairwise(bounds.tolist())))

    def _vectors(self, values: Values, first: int, last: int) -> None:
        inside, exponent, scale = self._inside, self._exponent, self._scale
        scratch = self._scratch()
        kernels.inside_pass(
            self._trees, self._layout, values, first, last, inside, exponent, scale, scratch
        )
        kernels.outside_pass(
            self._trees, self._layout, values, first, last, inside, exponent, scale,
            self._outside, self._log_value, scratch,
        )  # fmt: skip

    def _rules(self, values: Values, first: int, last: int) -> None:
        kernels.count_rules(
            self._trees, self._layout, values, first, last, self._inside, self._outside,
            self._counts.rules, self._scratch(),
        )  # fmt: skip

    def _scratch(self) -> Floats:
        return np.empty((BATCH, int(self._layout.child_states.max(initial=1))))


def maximise(layout: Layout, counts: Values, out: Values | None = None) -> Values:
    """The maximisation step: relative frequencies of expected counts.

    A state with expected count zero gets the plain grammar's choices, split evenly.  With
    `out`, its values are replaced, which saves an allocation.
    """
    states = np.zeros(int(layout.state_start[-1]))
    kernels.count_states(layout, counts, states)
    values = Values.empty(layout) if out is None else out
    kernels.divide(layout, counts, states, values)
    np.divide(counts.roots, counts.roots.sum(), out=values.roots)
    return values


def perturbed(layout: Layout, perturbation: float, seed: int) -> Values:
    """Counts of the plain grammar, split randomly among the states."""
    rng = generator(seed)
    return _split(
        layout,
        *(
            np.exp(rng.uniform(-perturbation, perturbation, len(array)))
            for array in Values.empty(layout)
        ),
    )


def even_counts(layout: Layout) -> Values:
    """Counts of the plain grammar, split evenly among the states."""
    return _split(layout, *(np.ones(len(array)) for array in Values.empty(layout)))


def _split(layout: Layout, rules: Floats, words: Floats, roots: Floats) -> Values:
    """Counts of the plain grammar, split among the states in given proportions."""

    def split(counts: Floats, start: Longs, part: Floats) -> Floats:
        whole = np.add.reduceat(part, start[:-1]) if len(part) else part
        return part * np.repeat(counts / whole, np.diff(start))

    return Values(
        split(layout.rule_count, layout.rule_start, rules),
        split(layout.word_count, layout.word_start, words),
        split(layout.root_count, layout.state_start, roots),
    )


def counted(trees: Skeletons, layout: Layout, states: Ints) -> Values:
    """Counts with the given state of each node, mixed with a share of the even split.

    Parameters
    ----------
    states : int32, axes (nodes)
        In the order of the examples.
    """
    state = states[trees.order].astype(np.int64)
    n_states = layout.n_states
    if np.any((state < 0) | (state >= n_states[trees.symbol])):
        raise GrammarError("a node has a state that its symbol lacks")
    inner, leaves = np.flatnonzero(trees.rule >= 0), np.flatnonzero(trees.rule < 0)
    roots = np.flatnonzero(trees.tree >= 0)
    rule, left, right = trees.rule[inner], trees.left[inner], trees.right[inner]
    within = state[inner] * layout.child_states[rule]
    within += state[left] * n_states[trees.symbol[right]] + state[right]
    places = (
        (inner, layout.rule_start[rule] + within),
        (leaves, layout.word_start[trees.pair[leaves]] + state[leaves]),
        (roots, layout.state_start[trees.symbol[roots]] + state[roots]),
    )
    return Values(
        *(
            (1.0 - EVEN_SHARE) * np.bincount(place, trees.weight[nodes], len(even))
            + EVEN_SHARE * even
            for (nodes, place), even in zip(places, even_counts(layout), strict=True)
        )
    )


def mean_states(layout: Layout, counts: Values) -> Floats:
    """Axes (states of all symbols): the expected count of each state."""
    states = np.zeros(int(layout.state_start[-1]))
    kernels.count_states(layout, counts, states)
    return states / np.repeat(layout.symbol_count, layout.n_states)


def smoothed(layout: Layout, counts: Values, options: EMOptions) -> Values:
    """Counts of rules and words, backed off to coarser counts (see the module docstring)."""
    mean = mean_states(layout, counts)
    of_symbol = [slice(*pair) for pair in pairwise(layout.state_start.tolist())]
    rules = np.empty_like(counts.rules)
    for rule, n in enumerate(layout.rule_count.tolist()):
        numbers, shape = layout.of_rule(rule)
        third = counts.rules[numbers].reshape(shape) / n
        pairs = third.sum(axis=2), third.sum(axis=1), third.sum(axis=0)
        means = pairs[0].sum(axis=1), pairs[0].sum(axis=0), pairs[1].sum(axis=0)
        a, b, c = (mean[of_symbol[symbol]] for symbol in layout.rule_symbols[rule].tolist())
        root_n = np.sqrt(n)
        mixed = back_off(third, pairs, means, (a, b, c), root_n / (options.smoothing + root_n))
        rules[numbers] = n * mixed.ravel()
    sizes = np.diff(layout.word_start)
    count = np.repeat(layout.word_count, sizes)
    symbol_mean = mean[layout.per_state(layout.word_symbol)]
    pull = options.word_smoothing
    words = count * (counts.words + pull * symbol_mean) / (count + pull)
    return Values(rules, words, counts.roots)


def as_grammar(backbone: PCFG, layout: Layout, counts: Values) -> LPCFG:
    """Relative frequencies of counts, in the form shared by charts.

    There a word's vector is a factor of p(word | symbol) as smoothed by the backbone, so vectors
    are divided by its relative frequency, and then by the sum that makes each state's words,
    including unseen ones, sum to 1 again.
    """
    values = maximise(layout, counts)
    sizes = np.diff(layout.word_start)
    lexical = values.words / np.repeat(layout.word_probability, sizes)
    seen = backbone.words.entry_probability()
    state = layout.per_state(layout.word_symbol)
    seen_of_symbol = np.bincount(layout.word_symbol, seen, len(layout.symbol_count))
    total = np.repeat(np.maximum(0.0, 1.0 - seen_of_symbol), layout.n_states)
    total += np.bincount(state, np.repeat(seen, sizes) * lexical, len(total))
    return assembled(
        backbone,
        layout,
        dense=values.rules,
        inside_mean=mean_states(layout, counts),
        lexical=lexical / total[state],
        unseen_word=1.0 / total,
        root=values.roots,
    )


def assembled(
    backbone: PCFG,
    layout: Layout,
    *,
    dense: Floats,
    inside_mean: Floats,
    lexical: Floats,
    unseen_word: Floats,
    root: Floats,
) -> LPCFG:
    """A grammar of dense tensors, with arrays named as in `LatentParameters`."""
    parameters = LatentParameters(
        state_start=layout.state_start,
        rule_symbols=layout.rule_symbols,
        dense_start=layout.rule_start[:-1],
        dense=dense,
        n_samples=np.zeros(backbone.n_rules, dtype=np.int32),
        sample_start=np.zeros((backbone.n_rules, 3), dtype=np.int64),
        samples=np.zeros(0),
        ratio=backbone.probability,
        smoothing=np.ones(backbone.n_rules),
        outside_mean=np.ones(len(root)),
        inside_mean=inside_mean,
        lexical_start=layout.word_start,
        lexical=lexical,
        unseen_word=unseen_word,
        root=root,
    )
    return LPCFG(backbone, parameters, signed=False)
