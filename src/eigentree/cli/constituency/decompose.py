"""The verb ``decompose``: from a model to one whose rules are in Kruskal form."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eigentree.cli._common import JobsOption, QuietOption, SeedOption, message
from eigentree.cli.constituency._training import Stages, check_writable
from eigentree.errors import counted


def decompose(
    model: Annotated[str, typer.Argument(help="A model file made by train.")],
    output: Annotated[
        str,
        typer.Option("--output-file", "-o", help="The model file to write; may be the same."),
    ],
    rank: Annotated[int, typer.Option(min=1, help="Number of components.")] = 260,
    method: Annotated[
        Literal["apr", "als", "hals", "slices"],
        typer.Option(
            help="Poisson regression, least squares, the same without negative numbers, or a "
            "singular value decomposition for each parent."
        ),
    ] = "apr",
    iterations: Annotated[int, typer.Option(min=1, help="Most iterations.")] = 100,
    restarts: Annotated[
        int, typer.Option(min=1, help="How often to begin anew; the best is kept.")
    ] = 1,
    single: Annotated[
        bool, typer.Option("--single", help="Charts of single precision, which are faster.")
    ] = False,
    each: Annotated[
        bool,
        typer.Option("--each", help="Decompose each rule's tensor over latent states instead."),
    ] = False,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Bring a model's binary rules into Kruskal form.

    The chart of such a model takes no longer for more rules; its trees are those that the rules
    allow.  eigentree inspect tells how good the form is and what a chart costs.  With --each the
    chart stays as it was, and each rule takes less; its rank is that of one rule, such as 4.
    """
    from eigentree.constituency.learn.decomposition import DecompositionOptions
    from eigentree.constituency.parser import Parser

    options = DecompositionOptions(rank, method, iterations, restarts, single, each)
    check_writable(output, [])
    parser = Parser.load(model)
    with Stages(quiet) as told:
        found = parser.in_kruskal_form(options, seed=seed, processes=jobs, progress=told)
    found.save(output)
    described = found.description["decomposition"]
    message(
        f"{output}: {counted(described['rank'], 'component')}, relative error "
        f"{described['relative_error']:.3f}",
        quiet=quiet,
    )
