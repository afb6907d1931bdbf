"""From clean trees to a parser: the steps of training, in order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.constituency.chart.decode import OF_ITEMS
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.clustering import (
    ClusteringOptions,
    cluster_states,
    learn_clustering,
)
from eigentree.constituency.learn.constrained_em import PartialOptions, learn_partial
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.noise import NO_NOISE, Noise
from eigentree.constituency.learn.spectral import (
    Projections,
    SpectralModel,
    SpectralOptions,
    estimate,
    learn_spectral,
    project,
)
from eigentree.constituency.learn.state_counts import capped_states, most_states
from eigentree.constituency.learn.state_search import STAGE, StateSearchOptions, search_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.learn.unseen_rules import UnseenOptions, unseen_rules, widen
from eigentree.constituency.parser import (
    METHODS,
    Method,
    NamedMethod,
    Parser,
    ParserOptions,
    Retrained,
)
from eigentree.constituency.validation import HeldOut
from eigentree.errors import SettingsError, counted
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.binarise import BinariseOptions, Direction, binarise
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.tree import Tree, collector_paused, with_tags
from eigentree.types import Progress
from eigentree.words.tagger import Tagger, jackknife

# Tables that are tried on a treebank, and the share of phrases that one has to know.
HEAD_TABLES = ("english", "negra")
HEAD_COVERAGE = 0.9
# Symbols remember a sibling unless more than this share of new rule uses is likely to be of
# rules that the treebank lacks.
MOST_UNSEEN = 0.03

# A plain grammar whose symbols remember a parent and a sibling, as in the paper's section 4.3.
MARKOV = BinariseOptions(vertical=2, horizontal=1)


@dataclass(frozen=True, slots=True)
class TreebankOptions:
    """What a treebank is turned into before a grammar is learned.

    Attributes
    ----------
    cleaning
        Traces, function tags, wrappers.
    binarise
        Direction and Markovisation; None to let the treebank decide about siblings.
    direction
        Of binarisation, where `binarise` leaves it open.
    heads
        Name of a head table, path of one, or ``auto`` for one that knows the labels.
    lexicon
        Rare words and their classes.
    """

    cleaning: CleaningOptions = field(default_factory=CleaningOptions)
    binarise: BinariseOptions | None = None
    direction: Direction = "left"
    heads: str = "auto"
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """Everything that decides what is learned from given trees.

    Attributes
    ----------
    method
        ``spectral``; ``clustering`` for relative frequencies of clusters of spectral
        projections; ``em`` for expectation maximisation, ``spectral+em`` for the same from
        such clusters; ``pcfg`` for relative frequencies without latent states.
    treebank
        Cleaning, binarisation, heads, rare words.
    spectral
        States, smoothing and features of the spectral estimator.
    clustering
        States, clusters and smoothing of the clustering estimator.
    noise
        What the methods ``spectral`` and ``clustering`` disturb before they estimate.
    state_search
        How numbers of states are searched on held-out trees, for the method ``spectral`` alone;
        None for those that `spectral` gives.
    em
        States, iterations and smoothing of expectation maximisation.  The method decides
        how it starts.
    unseen
        Rules that the treebank lacks, for grammars with latent states; None for none.  The
        plain PCFG stays a count of the treebank.
    decomposition
        Of the rules into Kruskal form, once all is learned; None for none.
    parsing
        How the parser will parse.
    tagger
        Whether a tagger is trained on the same trees.
    jackknife
        Whether the grammar is learned from trees with the tags that taggers give which have
        not seen them, so that it meets a tagger's mistakes in training already.
    """

    method: Method = "spectral"
    treebank: TreebankOptions = field(default_factory=TreebankOptions)
    spectral: SpectralOptions = field(default_factory=SpectralOptions)
    clustering: ClusteringOptions = field(default_factory=ClusteringOptions)
    noise: Noise = NO_NOISE
    state_search: StateSearchOptions | None = None
    em: EMOptions = field(default_factory=EMOptions)
    unseen: UnseenOptions | None = field(default_factory=UnseenOptions)
    decomposition: DecompositionOptions | None = None
    parsing: ParserOptions = field(default_factory=ParserOptions)
    tagger: bool = True
    jackknife: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(
                f"method is {self.method!r}; it must be one of {', '.join(METHODS)}"
            )
        if self.state_search is not None and self.method != "spectral":
            raise SettingsError(
                f"state_search is for the method spectral; with {self.method} there is none"
            )
        if self.noise.scheme != "none" and self.method not in ("spectral", "clustering"):
            raise SettingsError(
                f"noise is for the methods spectral and clustering; {self.method} has none"
            )
        if self.noise.scheme != "none" and self.state_search is not None:
            raise SettingsError("noise and state_search can't be had together; give one of them")
        self._check_parsing()

    def _check_parsing(self) -> None:
        """Refuse what would be learned in full, and then could not parse."""
        objective, form = self.parsing.objective, self.decomposition
        states = {
            "spectral": self.spectral.states,
            "clustering": self.clustering.states,
            "pcfg": 1,
        }.get(self.method, self.em.states)
        if objective == "viterbi" and (states > 1 or self.method == "spectral"):
            raise SettingsError(
                "parsing.objective is 'viterbi', which needs probabilities and one state a symbol; "
                f"{self.method} with {counted(states, 'state')} gives another grammar"
            )
        if form is not None and not form.each and objective not in OF_ITEMS:
            raise SettingsError(
                f"parsing.objective is {objective!r}; a grammar in Kruskal form has no marginals "
                f"of rules, so it must be one of {', '.join(OF_ITEMS)}"
            )
        # A form of rank r has 3 r m numbers in place of m^3.
        if form is not None and form.each and 3 * form.rank >= states**2:
            raise SettingsError(
                f"decomposition.rank of each rule is {form.rank}; with {counted(states, 'state')} "
                f"it must be below {states**2 / 3:.4g} to make a rule smaller"
            )
        if form is not None and form.method == "apr" and self.method == "spectral" and states > 1:
            raise SettingsError(
                "decomposition.method is 'apr', which takes no negative values; spectral grammars "
                "have some, so it must be another, such as 'als'"
            )

    @property
    def em_settled(self) -> EMOptions:
        """Settings of expectation maximisation, with the start that the method stands for."""
        return replace(self.em, start="clusters" if self.method == "spectral+em" else "random")

    def decisive(self) -> dict[str, Any]:
        """The settings that what is learned depends on, without those of other methods."""
        settings = asdict(self)
        for name, methods in (
            ("spectral", ("spectral", "spectral+em")),
            ("em", ("em", "spectral+em")),
            ("clustering", ("clustering",)),
        ):
            if self.method not in methods:
                del settings[name]
        if self.noise.scheme == "none":
            del settings["noise"]
        if self.decomposition is None:
            del settings["decomposition"]
        return settings

    def with_shortcuts(self, method: NamedMethod | None, states: int | None) -> TrainingOptions:
        """The same settings with another method or number of states, where one is given."""
        changed = self if method is None else replace(self, method=learned_by(method))
        if method == "markov":
            own = self.treebank.binarise or BinariseOptions(direction=self.treebank.direction)
            binarise = replace(own, vertical=MARKOV.vertical, horizontal=MARKOV.horizontal)
            changed = replace(changed, treebank=replace(self.treebank, binarise=binarise))
        if states is None:
            return changed
        return replace(
            changed,
            spectral=replace(changed.spectral, states=states),
            clustering=replace(changed.clustering, states=states),
            em=replace(changed.em, states=states),
        )


def learned_by(method: NamedMethod) -> Method:
    """The estimator that a name stands for."""
    return "pcfg" if method == "markov" else method


class Prepared(NamedTuple):
    """A treebank ready for the learners, and how it was made so, with every choice settled."""

    examples: Examples
    options: TreebankOptions


def prepare(trees: Sequence[Tree], options: TreebankOptions) -> Prepared:
    """Binarise trees and lay them out for the learners, settling what the options leave open.

    Intermediate symbols that remember a sibling make a better grammar as long as the treebank
    has most of its rules.  How many it lacks is estimated as by Good and Turing: the chance
    that the next rule is a new one is the share of the rules' uses that are their only one.
    """
    heads = find_heads(trees) if options.heads == "auto" else options.heads
    options = replace(options, heads=heads)
    if options.binarise is not None:
        return Prepared(_examples(trees, options.binarise, options), options)
    for siblings in (1, 0):
        choice = BinariseOptions(direction=options.direction, horizontal=siblings)
        examples = _examples(trees, choice, options)
        if unseen_share(examples) <= MOST_UNSEEN:
            break
    return Prepared(examples, replace(options, binarise=choice))


def unseen_share(examples: Examples) -> float:
    """Share of the uses of binary rules that are the only use of their rule; 0 for no rules."""
    uses = np.bincount(examples.rule[examples.rule >= 0])
    return float(np.sum(uses == 1) / max(1, uses.sum()))


def _examples(
    trees: Sequence[Tree], binarisation: BinariseOptions, options: TreebankOptions
) -> Examples:
    heads = head_rules(options.heads)
    with collector_paused():
        binary = [binarise(tree, binarisation, heads) for tree in trees]
        return Examples.of(binary, options.lexicon)


def find_heads(trees: Sequence[Tree]) -> str:
    """Name of the head table that knows the labels of some trees, or else the last child of each.

    A table is taken when it has rules for at least `HEAD_COVERAGE` of the phrases.
    """
    labels = Counter(
        node.label for tree in trees for node in tree.nodes() if len(node.children) > 1
    )
    known = {
        name: sum(count for label, count in labels.items() if head_rules(name).has(label))
        for name in HEAD_TABLES
    }
    best = max(HEAD_TABLES, key=lambda name: known[name])
    return best if known[best] >= HEAD_COVERAGE * labels.total() else "rightmost"


def learn_grammar(
    examples: Examples,
    options: TrainingOptions,
    *,
    held_out: Sequence[Tree] = (),
    projections: Projections | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
    checkpoint: Path | None = None,
) -> tuple[LPCFG, dict[str, Any]]:
    """The grammar, and what the model file will tell about how it was learned.

    Parameters
    ----------
    examples
        The treebank.
    options
        The settings.
    projections
        What `project` gives for `project_for` the options, where it is known already.
    held_out, seed, progress, jobs, checkpoint
        As of `train`.
    """
    if options.method == "pcfg":
        return one_state(count_pcfg(examples)), {}
    if options.state_search is not None and not held_out:
        raise SettingsError("state_search needs held-out trees; there are none")
    widened = widener(examples, options)
    details: dict[str, Any] = {"unseen": options.unseen and asdict(options.unseen)}
    if options.noise.scheme != "none":
        details["noise"] = asdict(options.noise)
    if options.method == "clustering":
        clustered = learn_clustering(
            examples,
            options.clustering,
            noise=options.noise,
            projections=projections,
            seed=seed,
            progress=progress,
        )
        spectra = [values.tolist() for values in clustered.projections.spectra]
        details |= {"clustering": asdict(options.clustering), "singular_values": spectra}
        return widened(clustered.grammar), details
    if options.method == "spectral":
        if options.state_search is None:
            model = learn_spectral(
                examples,
                options.spectral,
                noise=options.noise,
                projections=projections,
                seed=seed,
                progress=progress,
            )
            found: dict[str, Any] = {}
        else:
            judge = judge_on(held_out, examples, options, progress)
            model, found = optimise_states(
                examples, options, judge, seed=seed, progress=progress, jobs=jobs
            )
        details |= _about(options.spectral, model.projections) | found
        return widened(model.grammar), details
    em = options.em_settled
    n_states = capped_states(examples, em)
    states = None
    if em.start == "clusters":
        projections = project(examples, options.spectral, seed=seed, progress=progress)
        states = cluster_states(
            examples, projections, n_states, shrinkage=options.spectral.shrinkage, seed=seed
        )
        details |= _about(options.spectral, projections)

    judged_on = [asdict(options.parsing), details, *map(format_tree, held_out)] if held_out else []
    learned = learn_em(
        examples,
        em,
        states=states,
        n_states=n_states,
        judge=judge_on(held_out, examples, options, progress) if held_out else None,
        judged_on=sha256(json.dumps(judged_on).encode()).hexdigest() if held_out else "",
        checkpoint=checkpoint,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    record = [
        {
            "iteration": each.number,
            "log_likelihood": each.log_likelihood,
            "f1": each.f1,
            "cpu_seconds": each.cpu_seconds,
        }
        for each in learned.record
    ]
    details["em"] = {"settings": asdict(em), "record": record, "best": learned.best}
    return widened(learned.grammar), details


def project_for(options: TrainingOptions) -> SpectralOptions | None:
    """What the projections are made by that models with different noise can share, if any."""
    if options.noise.on_features or options.state_search is not None:
        return None
    if options.method == "clustering":
        return options.clustering.projecting
    return options.spectral if options.method == "spectral" else None


def _about(spectral: SpectralOptions, projections: Projections) -> dict[str, Any]:
    spectra = [values.tolist() for values in projections.spectra]
    return {"spectral": asdict(spectral), "singular_values": spectra}


def optimise_states(
    examples: Examples,
    options: TrainingOptions,
    judge: Callable[[LPCFG], float],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
) -> tuple[SpectralModel, dict[str, Any]]:
    """Learn spectrally with as many states for frequent nonterminals as a judge likes best.

    The decompositions are made once, for the largest number; fewer states are their first
    directions.  The plain model, whose directions may differ a little, stays if none is better.

    Parameters
    ----------
    examples
        The treebank.
    options
        With settings of the search.
    judge
        How good a grammar is, the higher the better.
    seed
        One seed gives one model.
    progress
        Called with the stage and the share of it that is done.
    jobs
        Threads; the model is the same for any number.

    Returns
    -------
    SpectralModel
        Of the best numbers; never worse for the judge than the start.
    dict
        For the model file: ``spectral``, the settings with `SpectralOptions.states_of` as found,
        and ``state_search``, what was tried.
    """
    spectral, search = options.spectral, options.state_search
    assert search is not None
    names = [str(symbol) for symbol in examples.symbols.symbols]
    count = np.bincount(examples.symbol, examples.weight, len(names))
    by_count = (names[symbol] for symbol in np.argsort(-count, kind="stable"))
    searched = list(dict.fromkeys(by_count))[: search.most]
    turns = [np.flatnonzero([each == name for each in names]).astype(np.int32) for name in searched]
    start = most_states(examples.symbols.symbols, spectral.states, spectral.states_of)
    largest = {
        name: max(*search.numbers, int(start[symbols[0]]))
        for name, symbols in zip(searched, turns, strict=True)
    }
    widest = replace(spectral, states_of={**spectral.states_of, **largest})
    projections = project(examples, widest, seed=seed, progress=progress)

    def learned(n_states: NDArray[np.int32]) -> SpectralModel:
        narrow = projections.narrowed(n_states)
        return SpectralModel(estimate(examples, narrow, spectral), narrow)

    if progress:
        progress(STAGE, 0.0)
    plain = learn_spectral(examples, spectral, seed=seed)
    plain_f1 = judge(plain.grammar)
    start = np.minimum(start, projections.n_states)
    found = search_states(
        start,
        projections.n_states,
        turns,
        lambda n_states: judge(learned(n_states).grammar),
        search,
        jobs=jobs,
        progress=progress,
    )
    changed = {
        name: int(found.n_states[symbols].max())
        for name, symbols in zip(searched, turns, strict=True)
        if np.any(found.n_states[symbols] != start[symbols])
    }
    record = [
        {
            "nonterminal": searched[trial.turn],
            "beside": trial.member,
            "states": trial.states,
            "f1": trial.value,
        }
        for trial in found.trials
    ]
    is_better = bool(changed) and found.value > plain_f1
    states_of = {**spectral.states_of, **(changed if is_better else {})}
    return learned(found.n_states) if is_better else plain, {
        "spectral": asdict(replace(spectral, states_of=states_of)),
        "state_search": {
            "settings": asdict(search),
            "start_f1": plain_f1,
            "f1": found.value if is_better else plain_f1,
            "record": record,
        },
    }


def widener(examples: Examples, options: TrainingOptions) -> Callable[[LPCFG], LPCFG]:
    """What gives a learned grammar the rules that the treebank lacks, if it shall have them."""
    if options.unseen is None:
        return lambda grammar: grammar
    unseen = unseen_rules(examples, options.unseen)
    return lambda grammar: widen(grammar, unseen)


def judge_on(
    held_out: Sequence[Tree],
    examples: Examples,
    options: TrainingOptions,
    progress: Progress | None = None,
) -> Callable[[LPCFG], float]:
    """What gives the F1 of learned grammars on held-out trees, with their unseen rules."""
    widened = widener(examples, options)
    backbone = widened(one_state(count_pcfg(examples))).backbone
    trees = HeldOut(held_out, backbone, options.parsing, progress=progress)
    return lambda grammar: trees.f1(widened(grammar))


def train(
    trees: Sequence[Tree],
    options: TrainingOptions = TrainingOptions(),
    *,
    held_out: Sequence[Tree] = (),
    wrapper: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
    checkpoint: Path | None = None,
) -> Parser:
    """Learn a parser; `Parser.train` with all settings at hand.

    Parameters
    ----------
    trees
        Clean trees, at least one.
    options
        The settings.
    held_out
        Clean trees on which expectation maximisation finds its best iteration, without them
        it keeps the last; and on which numbers of states are searched.
    wrapper
        Label of the outer bracket for parsed trees.
    seed
        One seed gives one model.
    progress
        Called with the stage and the share of it that is done.
    jobs
        Threads of expectation maximisation and of the search for numbers of states; the model is
        the same for any number.
    checkpoint
        A file that lets expectation maximisation go on where it was interrupted.
    """
    if progress:
        progress("binary trees", 0.0)
    sentences = [(tree.words(), tree.tags()) for tree in trees]
    learned_from = list(trees)
    if options.jackknife:
        guessed = jackknife(
            sentences, progress=progress and (lambda done, most: progress("tags", done / most))
        )
        learned_from = [with_tags(*pair) for pair in zip(trees, guessed, strict=True)]
    examples, treebank = prepare(learned_from, options.treebank)
    grammar, details = learn_grammar(
        examples,
        options,
        held_out=held_out,
        seed=seed,
        progress=progress,
        jobs=jobs,
        checkpoint=checkpoint,
    )
    tagger = None
    if options.tagger:
        tagger = Tagger.train(
            sentences, progress=progress and (lambda done, most: progress("tagger", done / most))
        )
    description = {
        "method": options.method,
        "seed": seed,
        "trees": len(trees),
        "words": int((examples.pair >= 0).sum()),
        "symbol_counts": np.bincount(examples.symbol, minlength=len(examples.symbols)).tolist(),
        "treebank": asdict(treebank),
        "text": TokenisationScheme.of_words(words for words, _ in sentences).to_json(),
        "jackknife": options.jackknife,
        **details,
    }
    # As JSON will give it back, so that a loaded parser equals this one.
    description = json.loads(json.dumps(description))
    parser = Parser(grammar.rounded(), tagger, options.parsing, wrapper, description)
    if options.decomposition is None:
        return parser
    return parser.in_kruskal_form(options.decomposition, seed=seed, progress=progress)


def retrain(
    parser: Parser,
    trees: Sequence[Tree],
    options: PartialOptions,
    *,
    held_out: Sequence[Tree] = (),
    progress: Progress | None = None,
    jobs: int = 1,
) -> Retrained:
    """Retrain a parser on partially annotated trees, its tagger staying as it is.

    Parameters
    ----------
    parser
        The initial model; chance has no part in what becomes of it.
    trees
        Trees that are clean in the parser's way, phrases of which may be missing.
    options
        Iterations, weight of the initial model, threshold, smoothing.
    held_out
        Clean trees on which the best iteration is found; without them the last is kept.
    progress
        Called with the stage and the share of it that is done.
    jobs
        Threads; the model is the same for any number.

    Raises
    ------
    SettingsError
        When the parser has signed values or a Kruskal form.
    GrammarError
        When no tree has a derivation that its brackets allow.
    """
    if parser.grammar.signed:
        raise SettingsError(
            f"the model's method is {parser.description.get('method', 'unknown')} and its values "
            "are signed; retraining needs probabilities, as of pcfg, clustering, em or spectral+em"
        )
    if parser.kruskal is not None:
        raise SettingsError(
            "the model has a Kruskal form, which retraining can't keep; retrain the model that it "
            "was made from"
        )
    if not trees:
        raise SettingsError("there are no trees to retrain on; at least one is needed")

    def f1(grammar: LPCFG) -> float:
        return HeldOut(held_out, grammar.backbone, parser.options).f1(grammar)

    learned = learn_partial(
        parser.grammar,
        trees,
        options,
        any_label=parser.cleaning.root_labels,
        judge=f1 if held_out else None,
        jobs=jobs,
        progress=progress,
    )
    details = {
        "settings": asdict(options),
        "trees": len(trees) - len(learned.unfit),
        "unfit": len(learned.unfit),
        "record": [
            {
                "iteration": each.number,
                "log_likelihood": each.log_likelihood,
                "objective": each.objective,
                "f1": each.f1,
                "cpu_seconds": each.cpu_seconds,
            }
            for each in learned.record
        ],
        "best": learned.best,
    }
    description = {**parser.description, "retraining": json.loads(json.dumps(details))}
    return Retrained(
        replace(parser, grammar=learned.grammar, description=description, calibrations={}),
        learned.unfit,
    )


# Settings that are tuned, in this order, and the values that are tried.
TUNED = {
    "shrinkage": (1.0, 1.25, 1.5, 2.0),
    "smoothing": (2.0, 5.0, 10.0),
    "word_smoothing": (0.7, 0.9, 1.0),
}


def tuned(
    trees: Sequence[Tree],
    held_out: Sequence[Tree],
    options: TrainingOptions,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> TrainingOptions:
    """Choose the constants of the spectral estimator on held-out trees.

    One after another, each setting of `TUNED` gets the value with the highest bracket score;
    the value that it had stays if none is better.  The decompositions depend on none of
    them, so they are made once; a value costs one estimate and one parse of the held-out
    trees, by their own tags.

    Returns
    -------
    TrainingOptions
        Never worse on the held-out trees than `options`.
    """
    if not held_out:
        raise SettingsError("there are no held-out trees to tune on; at least one is needed")
    examples = prepare(trees, options.treebank).examples
    projections = project(examples, options.spectral, seed=seed, progress=progress)
    judge = judge_on(held_out, examples, options, progress)

    def f1(spectral: SpectralOptions) -> float:
        return judge(estimate(examples, projections, spectral))

    best = options.spectral
    best_f1 = f1(best)
    n_values = sum(len(values) for values in TUNED.values())
    done = 0
    for name, values in TUNED.items():
        for value in values:
            changed: dict[str, Any] = {name: value}
            tried = replace(best, **changed)
            if tried != best:
                tried_f1 = f1(tried)
                if tried_f1 > best_f1:
                    best, best_f1 = tried, tried_f1
            done += 1
            if progress:
                progress("tuning", done / n_values)
    return replace(options, spectral=best)
