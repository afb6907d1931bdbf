"""Training of a constituency parser from clean trees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.spectral import Projections
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.learn.unseen_rules import widener
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TrainingOptions
from eigentree.constituency.validation import Validation
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.tree import Tree, with_tags
from eigentree.types import Progress
from eigentree.words.tag_dictionary import dictionary_for
from eigentree.words.tagger import Tagger, jackknife


def train(
    trees: Sequence[Tree],
    options: TrainingOptions | None = None,
    *,
    dev: Sequence[Tree] = (),
    wrapper: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
    checkpoint: Path | None = None,
) -> ConstituencyParser:
    """Train a parser; see `ConstituencyParser.train`.

    Parameters
    ----------
    trees
        Clean trees, at least one.
    options
        All settings; None for the defaults.
    dev
        Clean held-out trees: expectation maximisation keeps the iteration with the best F1 on them
        (without them, the last), and the search for numbers of states needs them.
    wrapper
        Label of the outer bracket of parsed trees; None for none.
    seed
        The same seed gives the same model.
    progress
        Called with the stage and the completed fraction of it.
    jobs
        Threads for expectation maximisation and for the search for numbers of states; the model
        does not depend on their number.
    checkpoint
        File from which an interrupted expectation maximisation resumes.
    """
    options = options or TrainingOptions()
    if progress:
        progress("binary trees", 0.0)
    sentences = [(tree.words(), tree.tags()) for tree in trees]
    dictionary = dictionary_for(options.tagger or options.jackknife, options.tag_dictionary)
    training_trees = list(trees)
    if options.jackknife:
        tags = jackknife(
            sentences,
            dictionary=dictionary,
            progress=progress and (lambda done, total: progress("tags", done / total)),
        )
        training_trees = [with_tags(*pair) for pair in zip(trees, tags, strict=True)]
    examples, treebank = prepare(training_trees, options.treebank)
    grammar, report = learn_grammar(
        examples,
        options,
        dev=dev,
        seed=seed,
        progress=progress,
        jobs=jobs,
        checkpoint=checkpoint,
    )
    tagger = None
    if options.tagger:
        tagger = Tagger.train(
            sentences,
            dictionary=dictionary,
            progress=progress and (lambda done, total: progress("tagger", done / total)),
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
        **report,
    }
    # With lists instead of tuples, so that it equals the description of the saved parser.
    description = json.loads(json.dumps(description))
    grammar = grammar.rounded(compact=options.compact)
    parser = ConstituencyParser(grammar, tagger, options.parsing, wrapper, description)
    if options.decomposition is None:
        return parser
    return parser.in_kruskal_form(options.decomposition, seed=seed, progress=progress)


def learn_grammar(
    examples: Examples,
    options: TrainingOptions,
    *,
    dev: Sequence[Tree] = (),
    projections: Projections | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    jobs: int = 1,
    checkpoint: Path | None = None,
) -> tuple[LPCFG, dict[str, Any]]:
    """Learn a grammar; returns it and a report for the model file.

    Parameters
    ----------
    examples
        The treebank.
    options
        All settings.
    projections
        Projections with the settings ``options.estimator.projecting``, if already computed.
    dev, seed, progress, jobs, checkpoint
        As in `train`.
    """
    estimator, unseen = options.estimator, options.widening
    grammar, report = estimator.fit(
        examples,
        validation=Validation(dev, examples, unseen, options.parsing) if dev else None,
        projections=projections,
        seed=seed,
        jobs=jobs,
        checkpoint=checkpoint,
        progress=progress,
    )
    if estimator.is_latent:
        report = {"unseen": unseen and asdict(unseen), **report}
    return widener(examples, unseen)(grammar), report
