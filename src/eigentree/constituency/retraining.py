"""From a parser and partially annotated trees to a better parser."""

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
    """Retrain a parser on partially annotated trees; its tagger stays as it is.

    Parameters
    ----------
    parser
        The initial model; the result does not depend on chance.
    trees
        Trees that are cleaned as the parser's were; phrases may be missing.
    options
        Iterations, weight of the initial model, threshold, smoothing.
    dev
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
