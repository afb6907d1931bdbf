"""The command ``retrain``: from a model and trees that lack phrases to a better model."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentree.cli._common import message
from eigentree.cli._files import check_output
from eigentree.cli._options import (
    ModelFileOption,
    QuietOption,
    ThreadsOption,
    TreesArgument,
    TreesOnErrorOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._training import Stages, changed
from eigentree.cli.constituency._training import (
    dev_trees_of,
    report_iterations,
    report_treebank,
    score_on,
)
from eigentree.errors import SettingsError, TreebankFormatError, counted


def retrain(
    files: TreesArgument,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="The model to start from, written by train."
        ),
    ],
    output: ModelFileOption,
    dev: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Held-out trees to choose the best iteration on."),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="EM iterations; the best on --dev is kept.", show_default="10"),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(
            help="Weight of a tree of the first training relative to one of these trees.",
            show_default="1",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Minimum marginal of the spans that are considered; 0 for all.",
            show_default="5e-05",
        ),
    ] = None,
    jobs: ThreadsOption = 1,
    on_error: TreesOnErrorOption = "raise",
    quiet: QuietOption = False,
) -> None:
    """Improve a model with trees in which phrases may be missing.

    A partial tree is written as any other; the children of a missing bracket are children of the
    next bracket above.  Each bracket counts as a phrase of the tree, the outermost one only if its
    label is informative.  Trees are cleaned as in the first training.
    """
    from eigentree.constituency.learn.constrained_em import ConstrainedEMOptions
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.constituency.retraining import retrain as learn
    from eigentree.treebank.reader import read_treebank

    check_output(output, [*files, *([] if dev is None else [dev])], model=True)
    options = changed(
        ConstrainedEMOptions(), iterations=iterations, weight=weight, threshold=threshold
    )
    parser = ConstituencyParser.load(model)
    treebank = read_treebank(files, cleaning=parser.cleaning, on_error=on_error)
    report_treebank(treebank, quiet)
    if not treebank.trees:
        raise TreebankFormatError(f"{files[0]}: no trees to train on")
    dev_pairs = None if dev is None else dev_trees_of(dev, parser.cleaning, on_error)
    compile_kernels("parsing", quiet=quiet)
    with Stages(quiet) as stages:
        try:
            retrained, skipped = learn(
                parser,
                treebank.trees,
                options,
                dev=[clean for _, clean in dev_pairs or []],
                progress=stages,
                jobs=jobs,
            )
        except SettingsError as error:
            raise SettingsError(f"{model}: {error}") from error
    for number, reason in skipped.items():
        message(f"eigentree: skipped: {treebank.places[number]}: {reason}")
    n_trees = len(treebank.trees)
    if skipped:
        message(f"{counted(len(skipped), 'tree')} of {n_trees} skipped", quiet=quiet)
    report_iterations(retrained.description["retraining"], n_trees - len(skipped), quiet)
    retrained.save(output)
    message(f"wrote {output}", quiet=quiet)
    if dev_pairs is not None:
        score_on(retrained, str(dev), dev_pairs, quiet)
