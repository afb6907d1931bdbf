"""The command ``decompose``: from a model to one whose rules are in Kruskal form."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eigentree.cli._common import message
from eigentree.cli._files import check_output
from eigentree.cli._options import (
    JobsOption,
    ModelFileOption,
    OptionalModelArgument,
    OptionalModelOption,
    QuietOption,
    SeedOption,
    model_and_files,
)
from eigentree.cli._training import Stages
from eigentree.errors import counted


def decompose(
    output: ModelFileOption,
    arguments: OptionalModelArgument = None,
    model: OptionalModelOption = None,
    rank: Annotated[int, typer.Option(min=1, help="Number of components.")] = 260,
    method: Annotated[
        Literal["apr", "als", "hals", "slices"],
        typer.Option(
            help="apr: Poisson regression. als: least squares. hals: non-negative least squares. "
            "slices: a singular value decomposition for each parent."
        ),
    ] = "apr",
    iterations: Annotated[int, typer.Option(min=1, help="Maximum number of iterations.")] = 100,
    restarts: Annotated[int, typer.Option(min=1, help="Restarts; the best is kept.")] = 1,
    single: Annotated[
        bool, typer.Option("--single", help="Use charts in single precision, which are faster.")
    ] = False,
    each: Annotated[
        bool,
        typer.Option(
            "--each", help="Decompose the tensor of each rule over latent states instead."
        ),
    ] = False,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Convert a model's binary rules to Kruskal form.

    The time of a chart in this form doesn't depend on the number of rules; its trees are those
    that the rules allow.  eigentree inspect prints the error of the form and the cost of a chart.
    With --each, the chart is unchanged and every rule gets a form of its own, which takes less
    memory; the rank is then that of one rule, such as 4.
    """
    from eigentree.constituency.learn.decomposition import DecompositionOptions
    from eigentree.constituency.parser import ConstituencyParser

    model, _ = model_and_files(model, arguments or [], "")
    options = DecompositionOptions(rank, method, iterations, restarts, single, each)
    check_output(output, model=True)
    parser = ConstituencyParser.load(model)
    with Stages(quiet) as stages:
        decomposed = parser.in_kruskal_form(options, seed=seed, processes=jobs, progress=stages)
    decomposed.save(output)
    described = decomposed.description["decomposition"]
    message(
        f"{output}: {counted(described['rank'], 'component')}, relative error "
        f"{described['relative_error']:.3f}",
        quiet=quiet,
    )
