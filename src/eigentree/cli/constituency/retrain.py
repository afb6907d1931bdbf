"""The verb ``retrain``: from a model and trees that lack phrases to a better model."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentree.cli._common import QuietOption, message
from eigentree.cli.constituency._output import warn_of_compilation
from eigentree.cli.constituency._training import (
    OnErrorOption,
    Stages,
    TreesArgument,
    changed,
    check_writable,
    held_out_trees,
    score_on,
    tell_iterations,
    tell_of_treebank,
)
from eigentree.errors import SettingsError, TreebankFormatError, counted


def retrain(
    files: TreesArgument,
    model: Annotated[
        str, typer.Option("--model", "-m", help="The model to begin with, made by train.")
    ],
    output: Annotated[str, typer.Option("--output-file", "-o", help="The model file to write.")],
    dev: Annotated[
        str | None, typer.Option(help="Held-out trees to find the best iteration on.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=1, help="How many, 10; the best on --dev is kept.")
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(help="What a tree of the first training counts beside one of these, 1."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Least marginal of what is looked at, 5e-05; 0 for all."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Threads; same result.")] = 1,
    on_error: OnErrorOption = "raise",
    quiet: QuietOption = False,
) -> None:
    """Improve a model with trees in which phrases may be missing.

    A partial tree is written as any other; where brackets are missing, what would be in them hangs
    under the next bracket above.  Each bracket counts as a phrase of the tree, the outermost one
    only with a label that says something.  Trees are cleaned as those of the first training.
    """
    from eigentree.constituency.learn.constrained_em import PartialOptions
    from eigentree.constituency.parser import Parser
    from eigentree.constituency.retraining import retrain as learn
    from eigentree.treebank.reader import read_treebank

    check_writable(output, [*files, *([] if dev is None else [dev])])
    options = changed(PartialOptions(), iterations=iterations, weight=weight, threshold=threshold)
    parser = Parser.load(model)
    treebank = read_treebank(files, cleaning=parser.cleaning, on_error=on_error)
    tell_of_treebank(treebank, quiet)
    if not treebank.trees:
        raise TreebankFormatError(f"{files[0]}: no tree to learn from; at least one is needed")
    held_out = None if dev is None else held_out_trees(dev, parser.cleaning, on_error)
    warn_of_compilation(quiet=quiet)
    with Stages(quiet) as stages:
        try:
            found, skipped = learn(
                parser,
                treebank.trees,
                options,
                dev=[clean for _, clean in held_out or []],
                progress=stages,
                jobs=jobs,
            )
        except SettingsError as error:
            raise SettingsError(f"{model}: {error}") from error
    for number, why in skipped.items():
        message(f"eigentree: left out: {treebank.places[number]}: {why}")
    n_trees = len(treebank.trees)
    if skipped:
        message(f"{counted(len(skipped), 'tree')} of {n_trees} left out", quiet=quiet)
    tell_iterations(found.description["retraining"], n_trees - len(skipped), quiet)
    found.save(output)
    message(f"wrote {output}", quiet=quiet)
    if held_out is not None:
        score_on(found, str(dev), held_out, quiet)
