"""Retraining on partially annotated trees by constrained EM (Pereira and Schabes 1992).

A partial tree has some of the phrases of a tree.  A derivation of its words is *compatible* with it
if it contains all these phrases: no item crosses a bracket, and the item over a bracket is a whole
phrase with the bracket's label in its chain (`eigentree.constituency.chart.constraints`).

With D the compatible derivations of a sentence and p the grammar with its latent states, the
algorithm maximises

    sum over sentences  log sum over d in D of p(d)
    + weight * sum over choices x of  c0(x) log p(x).

The first part is the likelihood of words, tags and brackets.  In the second part the initial model
represents its training trees: c0 are their expected counts under the model.  They preserve what
the partial trees do not show.  For the plain PCFG they are the actual counts, so weight 1 learns
from complete and partial trees together.

Each iteration sums inside and outside vectors over the packed forest of D,

    C(a -> b c)[h1, h2, h3] = t(a h1 -> b h2 c h3) sum over edges outside[h1] inside[h2] inside[h3],

and takes relative frequencies of C + weight * c0.  No iteration may lower the objective, which is
checked; the forests are therefore fixed.  They contain the items whose marginal, among the
compatible derivations and under the initial plain PCFG, reaches a threshold.  The grammar that is
scored and returned uses smoothed counts, as in `eigentree.constituency.learn.em`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import xlogy

from eigentree.constituency.chart import _kernels_inside_outside as kernels
from eigentree.constituency.chart.arrays import Leaves, Permitted
from eigentree.constituency.chart.constraints import permitted_by
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.chart.inside_outside import charts, inside_outside
from eigentree.constituency.chart.pruning import DEFAULT_THRESHOLD, has_tree, prune
from eigentree.constituency.grammar.lexical_candidates import under_tags
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.learn import _kernels_em
from eigentree.constituency.learn.counting import sums
from eigentree.constituency.learn.em import (
    EMOptions,
    Scorer,
    as_grammar,
    assembled,
    maximise,
    smoothed,
)
from eigentree.constituency.learn.em_arrays import Layout, Values
from eigentree.constituency.learn.unseen_rules import UnseenRules, widen
from eigentree.errors import GrammarError, SettingsError, check_range, counted
from eigentree.learning.em_loop import EMSchedule, EMTrace, ExpectedCounts, run_em
from eigentree.linalg.threads import one_thread
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.tree import Tree
from eigentree.types import Floats, Longs, Progress

Item = TypeVar("Item")
Result = TypeVar("Result")

FORESTS = "forests"
STAGE = "constrained EM"
# Number of sentences whose vectors are in memory at a time.
BATCH = 64
# Smallest count of a choice, since probability tables must not contain zeros.
MIN_COUNT = 1e-100


@dataclass(frozen=True)
class ConstrainedEMOptions:
    """Settings of retraining on partial trees.

    Attributes
    ----------
    iterations
        Number of iterations; the one with the best score is kept, or the last without a scorer.
    weight
        Weight of the initial model's counts; with 1, each of its training trees counts as much as a
        partial one.
    threshold
        Minimum marginal of an item of the forests; 0 keeps all compatible derivations.
    smoothing, word_smoothing
        As in `eigentree.constituency.learn.em.EMOptions`; without effect for a grammar with one
        state.
    """

    iterations: int = 10
    weight: float = 1.0
    threshold: float = DEFAULT_THRESHOLD
    smoothing: float = 5.0
    word_smoothing: float = 10.0

    def __post_init__(self) -> None:
        check_range(1, iterations=self.iterations)
        if not 0 < self.weight < np.inf:
            raise SettingsError(f"weight is {self.weight}; it must be above 0")
        check_range(0, 1, threshold=self.threshold)
        _ = self.em

    @property
    def em(self) -> EMOptions:
        """The smoothing options of counts."""
        return EMOptions(smoothing=self.smoothing, word_smoothing=self.word_smoothing)


class ConstrainedEMResult(NamedTuple):
    """The result of retraining.

    Attributes
    ----------
    trace
        The best grammar, its numbers rounded as in model files, and all iterations.  The
        log-likelihood is that of words, tags and brackets of the partial trees; the objective
        adds the initial model's counts, see the module docstring.
    skipped
        Indices of the trees that were skipped, with the reason.
    """

    trace: EMTrace[LPCFG]
    skipped: dict[int, str]


def learn_constrained_em(
    grammar: LPCFG,
    trees: Sequence[Tree],
    options: ConstrainedEMOptions = ConstrainedEMOptions(),
    *,
    any_label: Collection[str] = ("",),
    scorer: Scorer | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> ConstrainedEMResult:
    """Retrain a grammar of probabilities on partial trees.

    Parameters
    ----------
    grammar
        The initial model.  Its symbols, rules and lexicon are kept; unseen rules may become seen.
    trees
        Partial trees, cleaned.  Their tags are used as given.
    options
        Iterations, weight of the initial model, threshold, smoothing.
    any_label
        Labels of brackets that match any phrase; ignored around the whole sentence.
    scorer
        Scores a grammar; higher is better.  Without it, the last grammar is returned.
    jobs
        Number of threads; the result is the same for any number.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Raises
    ------
    GrammarError
        When the grammar is signed, no tree has a compatible derivation, or the objective falls.

    Cost
    ----
    For each tree one chart of the plain PCFG, restricted by the brackets; then for each iteration
    O(K^3) per group of the forests and O(K^2) per edge.  Memory for the forests, and for six
    tensors per rule that is seen or in some forest.

    References
    ----------
    pereira-1992; matsuzaki-2005.
    """
    if grammar.signed:
        raise GrammarError(
            "the initial grammar has signed values; constrained EM requires one of probabilities"
        )
    with ThreadPoolExecutor(jobs) as threads, one_thread():
        forests: list[Forest] = []
        usable: list[Tree] = []
        skipped: dict[int, str] = {}
        finder = ForestFinder(grammar, options.threshold, any_label)
        for number, result in enumerate(_in_batches(threads, finder, trees)):
            if isinstance(result, str):
                skipped[number] = result
            else:
                forests.append(result)
                usable.append(trees[number])
            if progress:
                progress(FORESTS, (number + 1) / len(trees))
        if not forests:
            raise GrammarError(
                f"none of {counted(len(trees), 'tree')} has a derivation compatible with its "
                "brackets; at least one must"
            )
        start = Start.of(grammar, usable, forests, options.weight)
        forests = [start.renumbered(*pair) for pair in zip(usable, forests, strict=True)]
        trace = run_em(
            _ConstrainedEM(start, forests, options.em, threads),
            EMSchedule(options.iterations),
            stage=STAGE,
            scorer=scorer,
            progress=progress,
        )
    return ConstrainedEMResult(trace, skipped)


class _ConstrainedEM:
    """Constrained EM, as run by the shared EM loop."""

    def __init__(
        self,
        start: Start,
        forests: Sequence[Forest],
        options: EMOptions,
        threads: ThreadPoolExecutor,
    ) -> None:
        self._start, self._forests = start, forests
        self._options, self._threads = options, threads

    def initialise(self, restart: int) -> Values:  # noqa: ARG002 - there are no restarts
        return self._start.values

    def expectation(self, parameters: Values) -> ExpectedCounts[Values]:
        prior = self._start.prior
        log_likelihood, counts = expect(
            self._start.grammar(parameters), self._forests, self._threads
        )
        objective = log_likelihood + sum(
            float(xlogy(count, value).sum()) for count, value in zip(prior, parameters, strict=True)
        )
        for array, count in zip(counts, prior, strict=True):
            array += count
        return ExpectedCounts(log_likelihood, objective, counts)

    def maximisation(self, counts: Values, parameters: Values) -> Values:
        return maximise(self._start.layout, counts, parameters)

    def assemble(self, counts: Values, parameters: Values) -> LPCFG:  # noqa: ARG002
        return self._start.result(counts, self._options).rounded()


# Forests ----------------------------------------------------------------------------------


class ForestFinder:
    """Finds the derivations that are compatible with a partial tree.

    Safe to share between threads.

    Parameters
    ----------
    grammar
        The grammar of the derivations; its plain PCFG prunes them.
    threshold, any_label
        As in `learn_constrained_em`.
    """

    def __init__(self, grammar: LPCFG, threshold: float, any_label: Collection[str]) -> None:
        self._grammar, self._threshold, self._any_label = grammar, threshold, any_label

    def __call__(self, tree: Tree) -> Forest | str:
        """The forest of a partial tree, or the reason for having none."""
        backbone, words, tags = self._grammar.backbone, tree.words(), tree.tags()
        numbers = backbone.tag_numbers(tags)
        if -1 in numbers:
            return f"the tag {tags[numbers.index(-1)]} is unknown to the model"
        constraints = brackets_of(tree, self._any_label)
        permitted = permitted_by(constraints, backbone.symbols, len(words))
        candidates = Leaves.of(under_tags(backbone, words, numbers, free=False))
        leaves = candidates.within(permitted)
        if leaves is not None:
            pruned = prune(backbone, leaves, self._threshold, beam=0.0, permitted=permitted)
            if pruned is not None and inside_outside(pruned.forest, self._grammar) is not None:
                return pruned.forest
        everything = Permitted.everything(len(words), len(backbone.symbols))
        if has_tree(backbone, candidates, everything):
            return "the model has derivations of the sentence, but none with all its brackets"
        return "the model has no derivation of the sentence"


def brackets_of(tree: Tree, any_label: Collection[str]) -> Constraints:
    """The constraints expressed by the phrases of a partial tree, children before parents.

    Parameters
    ----------
    any_label
        As in `learn_constrained_em`.
    """
    spans = tree.spans()
    if spans and tree.label in any_label:
        del spans[-1]
    return Constraints.of(
        (start, end, None if label in any_label else label) for label, start, end in spans
    )


# Numbers ----------------------------------------------------------------------------------


class Start(NamedTuple):
    """The initial model in a layout of the relevant rules and words.

    Attributes
    ----------
    initial
        The initial model.
    rules : int64, axes (laid out rules)
        Their numbers in the initial model: all but unseen ones that no forest uses.
    words
        Words and preterminals of the initial model and of the forests.
    layout
        The layout of the numbers.
    values
        Parameters of the first iteration: the initial model, with no state's choices summing to
        more than 1.
    prior
        Expected counts of the initial model, times their weight.
    unseen : float64, axes (rules that are not laid out)
        Counts of the remaining rules.
    """

    initial: LPCFG
    rules: Longs
    words: WordTable
    layout: Layout
    values: Values
    prior: Values
    unseen: Floats

    @classmethod
    def of(
        cls, initial: LPCFG, trees: Sequence[Tree], forests: Sequence[Forest], weight: float
    ) -> Start:
        """Lay out a model for the forests of some trees."""
        backbone, p = initial.backbone, initial.parameters
        table, n_symbols = backbone.words, len(backbone.symbols)
        is_laid = (p.dense_start >= 0) | (p.n_samples > 0)
        for forest in forests:
            is_laid[forest.group_rule] = True
        rules = np.flatnonzero(is_laid)

        # Pairs of word and symbol as one number, and then the model's vectors of the pairs.
        table_pairs = table.word.astype(np.int64) * n_symbols + table.symbol
        vectors = dict(zip(table_pairs.tolist(), _seen_vectors(initial), strict=True))
        for tree, forest in zip(trees, forests, strict=True):
            keys, leaves = _pairs(backbone, tree, forest)
            for key, item in zip(keys.tolist(), leaves.tolist(), strict=True):
                if key not in vectors:
                    vectors[key] = forest.item_weight[item] * _word_vector(initial, forest, item)
        pairs = np.array(sorted(vectors), dtype=np.int64)
        word, symbol = ((part).astype(np.int32) for part in np.divmod(pairs, n_symbols))

        n_states = initial.n_states.astype(np.int64)
        children = n_states[p.rule_symbols[rules, 1]] * n_states[p.rule_symbols[rules, 2]]
        sizes = n_states[p.rule_symbols[rules, 0]] * children
        nothing = np.zeros(0)
        layout = Layout(
            state_start=p.state_start,
            rule_symbols=np.ascontiguousarray(p.rule_symbols[rules]),
            rule_start=_starts(sizes),
            child_states=children,
            node_start=np.zeros(len(rules) + 1, dtype=np.int64),
            rule_count=nothing,
            rule_probability=backbone.probability[rules],
            word_symbol=symbol,
            word_start=_starts(n_states[symbol]),
            word_count=nothing,
            word_probability=np.ones(len(pairs)),
            symbol_count=nothing,
            root_count=nothing,
        )
        values = Values(
            np.concatenate([nothing, *(initial.tensor(rule).ravel() for rule in rules.tolist())]),
            np.concatenate([vectors[key] for key in pairs.tolist()]),
            p.root / p.root.sum(),
        )
        of_rules, of_words = _state_of(layout)
        total = np.zeros(len(p.root))
        _kernels_em.count_states(layout, values, total)
        total = np.maximum(total, 1.0)
        values = Values(
            values.rules / total[of_rules], values.words / total[of_words], values.roots
        )

        count, n_trees = _symbol_counts(backbone)
        share = _shares(p.inside_mean, layout.state_start)
        of_state = weight * share * np.repeat(count, n_states)
        seen = np.zeros(len(pairs))
        seen[np.searchsorted(pairs, table_pairs)] = weight * table.count
        by_state = _shares(values.words * share[of_words], layout.word_start)
        prior = Values(
            of_state[of_rules] * values.rules,
            np.repeat(seen, n_states[symbol]) * by_state,
            weight * n_trees * values.roots,
        )
        words = WordTable(table.symbols, table.lexicon, word, symbol, np.maximum(seen, MIN_COUNT))
        unseen = weight * (count[backbone.parent] * backbone.probability)[~is_laid]
        return cls(initial, rules, words, layout, values, prior, unseen)

    def renumbered(self, tree: Tree, forest: Forest) -> Forest:
        """A forest with the layout's rule numbers, and its pairs as word entries."""
        n_symbols = len(self.words.symbols)
        pairs = self.words.word.astype(np.int64) * n_symbols + self.words.symbol
        keys, leaves = _pairs(self.initial.backbone, tree, forest)
        entry, weight = forest.item_entry.copy(), forest.item_weight.copy()
        entry[leaves], weight[leaves] = np.searchsorted(pairs, keys), 1.0
        rule = np.searchsorted(self.rules, forest.group_rule).astype(np.int32)
        return forest._replace(item_entry=entry, item_weight=weight, group_rule=rule)

    def grammar(self, values: Values) -> LPCFG:
        """Parameters in the form shared by charts; words are not smoothed."""
        parent, left, right = (np.ascontiguousarray(c) for c in self.layout.rule_symbols.T)
        probability, root = self.layout.rule_probability, self.initial.backbone.root
        backbone = PCFG(self.words, parent, left, right, probability, root)
        ones = np.ones(len(values.roots))
        return assembled(
            backbone, self.layout, dense=values.rules, inside_mean=ones, lexical=values.words,
            unseen_word=ones, root=values.roots,
        )  # fmt: skip

    def result(self, counts: Values, options: EMOptions) -> LPCFG:
        """The grammar of expected counts, with the unseen rules that no forest uses."""
        layout, initial = self.layout, self.initial.backbone
        parent, left, right = (np.ascontiguousarray(c) for c in layout.rule_symbols.T)
        n_symbols = len(initial.symbols)
        rule_count = np.maximum(_sums(counts.rules, layout.rule_start), MIN_COUNT)
        word_count = np.maximum(_sums(counts.words, layout.word_start), MIN_COUNT)
        symbol_count = np.maximum(
            sums(parent, rule_count, n_symbols) + sums(layout.word_symbol, word_count, n_symbols),
            MIN_COUNT,
        )
        root_count = _sums(counts.roots, layout.state_start)
        probability = rule_count / symbol_count[parent]
        table = self.words
        words = WordTable(table.symbols, table.lexicon, table.word, table.symbol, word_count)
        root = root_count / root_count.sum()
        backbone = PCFG(words, parent, left, right, probability, root)
        layout = layout._replace(
            rule_count=rule_count,
            rule_probability=probability,
            word_count=word_count,
            word_probability=word_count / symbol_count[layout.word_symbol],
            symbol_count=symbol_count,
            root_count=root_count,
        )
        learned = as_grammar(backbone, layout, smoothed(layout, counts, options))
        others = np.delete(self.initial.parameters.rule_symbols, self.rules, axis=0)
        if not len(others):
            return learned
        total = symbol_count + sums(others[:, 0], self.unseen, n_symbols)
        return widen(learned, UnseenRules(others, self.unseen / total[others[:, 0]]))


def _pairs(backbone: PCFG, tree: Tree, forest: Forest) -> tuple[Longs, Longs]:
    """Word and symbol, as one number, of a forest's preterminals, and their items."""
    leaves = np.flatnonzero(forest.item_entry != -2)
    ids = np.array(backbone.lexicon.ids(tree.words()), dtype=np.int64)
    keys = ids[forest.item_start[leaves]] * len(backbone.symbols) + forest.item_symbol[leaves]
    return keys, leaves


def _seen_vectors(grammar: LPCFG) -> Iterator[Floats]:
    """p(word | symbol h) of each pair of word and symbol of the grammar."""
    for entry, probability in enumerate(grammar.backbone.words.entry_probability().tolist()):
        yield probability * grammar.word_vector(entry)


def _word_vector(grammar: LPCFG, forest: Forest, item: int) -> Floats:
    """The factor of a preterminal's weight in each state."""
    entry = int(forest.item_entry[item])
    if entry >= 0:
        return grammar.word_vector(entry)
    return grammar.parameters.unseen_word[grammar.states(int(forest.item_symbol[item]))]


def _symbol_counts(backbone: PCFG) -> tuple[Floats, float]:
    """Expected count of each symbol in as many trees as contain the observed words.

    For a grammar of relative frequencies these are the counts, except for chains deeper than
    `eigentree.constituency.grammar.pcfg.DEPTH`.
    """
    is_leaf = backbone.symbols.tag >= 0
    n_trees = float(backbone.words.symbol_count.sum() / backbone.uses[is_leaf].sum())
    return np.where(is_leaf, backbone.words.symbol_count, n_trees * backbone.uses), n_trees


def _state_of(layout: Layout) -> tuple[Longs, Longs]:
    """The parent's state of each rule parameter, and the state of each word parameter."""
    parent = layout.rule_symbols[:, 0]
    children = np.repeat(layout.child_states, layout.n_states[parent])
    return np.repeat(layout.per_state(parent), children), layout.per_state(layout.word_symbol)


def _sums(numbers: Floats, starts: Longs) -> Floats:
    return np.add.reduceat(numbers, starts[:-1]) if len(numbers) else numbers


def _shares(numbers: Floats, starts: Longs) -> Floats:
    """Each number's share of its segment; equal shares if all are 0."""
    sizes = np.diff(starts)
    total = np.repeat(_sums(numbers, starts), sizes)
    even = np.repeat(1.0 / sizes, sizes)
    return np.divide(numbers, total, out=even, where=total > 0)


def _starts(sizes: Longs) -> Longs:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


# Expectation ------------------------------------------------------------------------------


def expect(
    grammar: LPCFG, forests: Sequence[Forest], threads: ThreadPoolExecutor
) -> tuple[float, Values]:
    """Log-likelihood and expected counts over forests.

    Threads fill vectors and one thread sums them in order, so results are bit-identical for any
    number of threads.

    Parameters
    ----------
    grammar
        All rules must be dense.
    """
    p = grammar.parameters
    counts = Values(np.zeros_like(p.dense), np.zeros_like(p.lexical), np.zeros_like(p.root))
    log_likelihood = 0.0
    all_vectors = _in_batches(threads, lambda forest: charts(forest, grammar), forests)
    for number, (forest, vectors) in enumerate(zip(forests, all_vectors, strict=True)):
        if vectors is None:
            raise GrammarError(f"forest {number + 1} has lost all its derivations")
        vector_start, inside, exponent, *_, scratch = vectors.inside
        kernels.add_expected(
            forest, p, vector_start, inside, exponent, vectors.outside, scratch, *counts
        )
        log_likelihood += vectors.log_value
    return log_likelihood, counts


def _in_batches(
    threads: ThreadPoolExecutor, work: Callable[[Item], Result], items: Sequence[Item]
) -> Iterator[Result]:
    """The results of a function in order, with a bounded number of them in memory."""
    for first in range(0, len(items), BATCH):
        yield from threads.map(work, items[first : first + BATCH])
