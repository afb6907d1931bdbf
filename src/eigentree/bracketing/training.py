"""Training of bracketing parsers from tagged text, without trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from eigentree._core.arguments import listed, settings_or_default
from eigentree.bracketing.learn.ccm import (
    ConstituentContextOptions,
    learn_constituent_context,
)
from eigentree.bracketing.learn.ccm_from_metric import (
    CONTEXT_DEFAULTS,
    METRIC_DEFAULTS,
    learn_ccm_from_metric,
)
from eigentree.bracketing.learn.tree_metric import MetricOptions, Tagged, count_moments, metric_of
from eigentree.bracketing.models import ContextModel, ContextPairModel, MetricModel
from eigentree.bracketing.options import (
    BracketingMethod,
    BracketingOptions,
    BracketingTrainingOptions,
)
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.tree_metric import TreeMetric, quartet_excess
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.treebank.universal_tags import TagMap, fitting_map
from eigentree.types import Progress
from eigentree.words.brown import BrownOptions, learn_brown
from eigentree.words.vectors import WordVectors

# Sentences for choosing the tag map and for measuring how tree-like distances are.
_SAMPLE = 1000
_MEASURED = 100
_MAX_MEASURED_LENGTH = 20


def train_bracketing(
    data: Iterable[Tagged],
    settings: BracketingTrainingOptions | None = None,
    *,
    method: BracketingMethod | None = None,
    dev: Sequence[Tagged] = (),  # noqa: ARG001 - nothing is tuned
    seed: int = 0,
    jobs: int = 1,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
    vectors: WordVectors | None = None,
    tag_map: TagMap | None = None,
) -> BracketingParser:
    """Train a bracketing parser.

    Parameters
    ----------
    data
        Words and tags of each sentence.  They are read once, in any number, with ``vectors`` or
        ``constituent-context``; to learn clusters they are kept in memory.
    settings
        None for the defaults.
    method
        Shortcut for the method in `settings`.
    dev
        Ignored: nothing is tuned on held-out data.
    checkpoint
        Must be None: training is too short to be resumed.
    seed
        Seed of a random start of ``constituent-context``; 0 for that in `settings`.
    jobs
        Number of processes for counting; the result is the same for any number.
    progress
        Called with the stage and the fraction of it done, 0 to 1.
    vectors
        Word vectors, such as those of `eigentree.words.brown.BrownClusters.vectors`.  None: Brown
        clusters of the lower-cased words of `data`.  Unused by ``constituent-context``.
    tag_map
        Maps tags to universal tags, and identifies punctuation and verbs.  None: the packaged map
        that fits the first sentences, or no mapping.

    Raises
    ------
    GrammarError
        When there is no sentence to learn from, or no word of the first sentences has a vector.
    SettingsError
        When moments would need too much memory, vectors are given with a method that uses tags
        alone, or a `checkpoint` is given.

    Cost
    ----
    See the modules of `eigentree.bracketing.learn`.

    References
    ----------
    parikh-2014; klein-manning-2002.
    """
    options = settings_or_default(settings, BracketingTrainingOptions).with_method(method)
    if checkpoint is not None:
        raise SettingsError("bracketing parsers are trained without checkpoints; leave it out")
    if isinstance(data, Sequence) or not isinstance(data, Iterable):
        data = listed(data, (tuple, list), "data", "pairs of words and tags")
    report = progress or _ignore
    if options.method == "constituent-context":
        if vectors is not None:
            raise SettingsError("the method constituent-context uses tags alone; leave out vectors")
        return _train_contexts(data, options, tag_map, seed, report)
    if vectors is None:
        data = list(data)
        report("clusters", 0.0)
        words = ([word.lower() for word in each] for each, _ in data)
        vectors = learn_brown(words, BrownOptions(options.clusters)).vectors()
        report("clusters", 1.0)
    if options.method == "metric":
        return _train_metric(data, vectors, options, tag_map, jobs, report)
    return _train_from_metric(data, vectors, options, tag_map, jobs, report)


def _train_metric(
    data: Iterable[Tagged],
    vectors: WordVectors,
    options: BracketingTrainingOptions,
    tag_map: TagMap | None,
    jobs: int,
    report: Progress,
) -> BracketingParser:
    metric = options.metric or MetricOptions()
    first, rest, tag_map = _sampled(_counted(data, "counting", report), tag_map)
    if first and all(vectors.number(word) is None for words, _ in first for word in words):
        raise GrammarError(
            f"no word of the first {counted(len(first), 'sentence')} has a vector; vectors "
            "must match the text's language and spelling"
        )
    moments = count_moments(
        chain(first, rest), vectors, tag_map, metric.largest_distance, jobs=jobs
    )
    learned = metric_of(moments, tag_map, metric)
    description = {
        "method": "metric",
        "words": moments.n_words,
        "tags": len(learned.tags),
        "tag_map": tag_map.name,
        "dimensions": moments.dimensions,
        "metric": asdict(metric),
        "quartet_excess": _mean_excess(learned, first),
    }
    model = MetricModel(learned, options.least_squares)
    return BracketingParser(model, options.parsing_options(), description)


def _train_contexts(
    data: Iterable[Tagged],
    options: BracketingTrainingOptions,
    tag_map: TagMap | None,
    seed: int,
    report: Progress,
) -> BracketingParser:
    contexts = options.contexts or ConstituentContextOptions()
    if seed:
        contexts = replace(contexts, seed=seed)
    first, rest, tag_map = _sampled(data, tag_map)
    used: list[list[str]] = []
    for _, tags in chain(first, rest):
        remaining = [tag for tag in tags if not tag_map.is_punctuation(tag)]
        if _fits(remaining, contexts.lengths[-1]):
            used.append(remaining)
    n_steps, n_done = contexts.iterations * len(contexts.lengths), 0

    def after_step(_: Any) -> None:
        nonlocal n_done
        n_done += 1
        report("learning", n_done / n_steps)

    learned = learn_constituent_context(used, contexts, after_step=after_step)
    description = {
        "method": "constituent-context",
        "sentences": len(used),
        "words": sum(map(len, used)),
        "tags": len(learned.tags),
        "tag_map": tag_map.name,
        "constituent_context": _listed(contexts),
    }
    return BracketingParser(ContextModel(learned, tag_map), options.parsing_options(), description)


def _train_from_metric(
    data: Iterable[Tagged],
    vectors: WordVectors,
    options: BracketingTrainingOptions,
    tag_map: TagMap | None,
    jobs: int,
    report: Progress,
) -> BracketingParser:
    contexts = options.contexts or CONTEXT_DEFAULTS
    first, rest, tag_map = _sampled(_counted(data, "counting", report), tag_map)
    is_mark = tag_map.is_punctuation
    used: list[Tagged] = []

    def recorded() -> Iterator[Tagged]:
        for words, tags in chain(first, rest):
            if _fits([tag for tag in tags if not is_mark(tag)], contexts.lengths[-1]):
                used.append((words, tags))
            yield words, tags

    teaching = replace(
        options,
        metric=options.metric or METRIC_DEFAULTS,
        least_squares=False,
        parsing=BracketingOptions(),
    )
    teacher = _train_metric(recorded(), vectors, teaching, tag_map, jobs, _ignore)
    assert isinstance(teacher.model, MetricModel)
    tag_model, universal = learn_ccm_from_metric(used, teacher.model.metric, contexts)
    description = {
        **teacher.description,
        "method": "taught-contexts",
        "sentences": len(used),
        "constituent_context": _listed(contexts),
    }
    model = ContextPairModel(tag_model, universal, tag_map, options.charge)
    return BracketingParser(model, options.parsing_options(), description)


def _listed(contexts: ConstituentContextOptions) -> dict[str, Any]:
    return {**asdict(contexts), "lengths": list(contexts.lengths)}


def _counted(data: Iterable[Tagged], stage: str, report: Progress) -> Iterator[Tagged]:
    """The sentences, with progress if their number is known."""
    total = len(data) if isinstance(data, Sized) else 0
    for number, sentence in enumerate(data, start=1):
        yield sentence
        if total:
            report(stage, number / total)


def _sampled(
    sentences: Iterable[Tagged], tag_map: TagMap | None
) -> tuple[list[Tagged], Iterator[Tagged], TagMap]:
    """The first sentences, the rest, and the given map or the one that fits the first."""
    rest = iter(sentences)
    first = list(islice(rest, _SAMPLE))
    if tag_map is None:
        tag_map = fitting_map([tag for _, tags in first for tag in tags])
    return first, rest, tag_map


def _fits(tags: Sequence[str], max_words: int | None) -> bool:
    """Whether a sentence without punctuation has at least two words, and not too many."""
    return len(tags) > 1 and (max_words is None or len(tags) <= max_words)


def _mean_excess(metric: TreeMetric, sentences: Sequence[Tagged]) -> float | None:
    """Mean `quartet_excess` of some sentences' distances; None without sentences."""
    values: list[float] = []
    for _, tags in sentences:
        remaining = [tag for tag in tags if not metric.tag_map.is_punctuation(tag)]
        if 4 <= len(remaining) <= _MAX_MEASURED_LENGTH and len(values) < _MEASURED:
            values.append(quartet_excess(metric.distances(remaining)))
    return float(np.mean(values)) if values else None


def _ignore(stage: str, fraction: float) -> None:
    pass
