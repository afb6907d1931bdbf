"""Retraining of a parser on partially annotated trees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions, learn_constrained_em
from eigentree.constituency.parser import ConstituencyParser, Retrained
from eigentree.constituency.validation import ValidationSet
from eigentree.errors import SettingsError
from eigentree.treebank.tree import Tree
from eigentree.types import Progress


def retrain(
    parser: ConstituencyParser,
    trees: Sequence[Tree],
    options: ConstrainedEMOptions,
    *,
    dev: Sequence[Tree] = (),
    progress: Progress | None = None,
    jobs: int = 1,
) -> Retrained:
    """Retrain a parser on partially annotated trees; its tagger does not change.

    Parameters
    ----------
    parser
        The initial model.  Retraining is deterministic.
    trees
        Trees that are cleaned like the parser's training trees; phrases may be missing.
    options
        Iterations, weight of the initial model, threshold, smoothing.
    dev
        Clean trees; the iteration with the best F1 on them is kept, without them the last.
    progress
        Called with the stage and the completed fraction of it.
    jobs
        Number of threads; the model does not depend on it.

    Raises
    ------
    SettingsError
        When the parser has signed values or a Kruskal form, or there are no trees.
    GrammarError
        When no tree has a derivation that is compatible with its brackets.
    """
    if parser.grammar.signed:
        raise SettingsError(
            f"the model's method is {parser.description.get('method', 'unknown')} and its values "
            "are signed; retraining needs a probabilistic model: pcfg, clustering, em, spectral+em"
        )
    if parser.kruskal is not None:
        raise SettingsError(
            "the model has a Kruskal form, which retraining can't keep; retrain the model that was "
            "decomposed"
        )
    if not trees:
        raise SettingsError("there are no trees to retrain on; at least one is needed")

    def f1(grammar: LPCFG) -> float:
        return ValidationSet(dev, grammar.backbone, parser.options).f1(grammar)

    trace, skipped = learn_constrained_em(
        parser.grammar,
        trees,
        options,
        any_label=parser.cleaning.root_labels,
        scorer=f1 if dev else None,
        jobs=jobs,
        progress=progress,
    )
    details = {
        "settings": asdict(options),
        "trees": len(trees) - len(skipped),
        "unfit": len(skipped),
        "record": [
            {
                "iteration": each.number,
                "log_likelihood": each.log_likelihood,
                "objective": each.objective,
                "f1": each.score,
                "cpu_seconds": each.cpu_seconds,
            }
            for each in trace.record
        ],
        "best": trace.best_number,
    }
    description = {**parser.description, "retraining": json.loads(json.dumps(details))}
    return Retrained(
        replace(parser, grammar=trace.model, description=description, calibrations={}),
        skipped,
    )
