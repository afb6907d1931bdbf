"""The command ``reliability``: a model's confidences beside its accuracy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from eigentree.cli._common import track
from eigentree.cli._files import check_inputs, check_output
from eigentree.cli._options import (
    IgnoreTagsOption,
    JsonOption,
    OptionalModelOption,
    QuietOption,
    TreesOnErrorOption,
    model_and_files,
)
from eigentree.cli._output import compile_kernels, write_picture
from eigentree.cli._parsing import open_parser
from eigentree.cli.constituency._training import dev_trees_of

if TYPE_CHECKING:
    from eigentree.evaluation.tables.reliability import ReliabilityRow


def reliability(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="TREES", help="Gold trees that were not trained on."),
    ],
    model: OptionalModelOption = None,
    ignore_tags: IgnoreTagsOption = False,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw a reliability diagram, as PNG if the name ends in .png, else as SVG.",
        ),
    ] = None,
    on_error: TreesOnErrorOption = "raise",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure how reliable a model's confidences are.

    Gold trees are parsed, and the accuracy of brackets and of whole trees is compared with the
    model's confidences: raw, and calibrated if the model is.
    """
    from eigentree.constituency.calibrate import inputs, measure_confidence
    from eigentree.constituency.calibration import TagCondition
    from eigentree.drawing.reliability import draw_reliability
    from eigentree.evaluation.reliability import measure_reliability
    from eigentree.evaluation.tables.reliability import ReliabilityRow

    model, (trees,) = model_and_files(model, arguments, "TREES")
    check_inputs([trees])
    check_output(picture or "-", [model, trees])
    parser = open_parser(model)
    gold = [clean for _, clean in dev_trees_of(trees, parser.cleaning, on_error)]
    compile_kernels("parsing", quiet=quiet)
    condition: TagCondition = "untagged" if ignore_tags else "tagged"
    results = parser.parse_many(inputs(gold, condition))
    judgement = measure_confidence(track(results, f"parsing {trees}", len(gold), quiet=quiet), gold)
    rows: list[ReliabilityRow] = []
    for place, (name, judged) in enumerate(judgement._asdict().items()):
        rows.append(
            ReliabilityRow(f"{name}, raw", measure_reliability(judged.raw, judged.right), 2 * place)
        )
        if judged.calibrated is not None:
            measured = measure_reliability(judged.calibrated, judged.right)
            rows.append(ReliabilityRow(f"{name}, calibrated", measured, 2 * place + 1))
    if picture is not None:
        drawn = draw_reliability(rows, f"{model} on {trees}, {condition}")
        write_picture(drawn, picture, as_png=picture.lower().endswith(".png"))
    if as_json:
        measured_by_name = {
            row.name: {**row.measured._asdict(), "bins": [b._asdict() for b in row.measured.bins]}
            for row in rows
        }
        typer.echo(
            json.dumps(
                {"model": model, "trees": trees, "way": condition} | measured_by_name, indent=2
            )
        )
    elif picture != "-":
        show(rows)


def show(rows: list[ReliabilityRow]) -> None:
    """Print a table of reliability."""
    from eigentree.evaluation.tables.reliability import reliability_table
    from eigentree.evaluation.tables.table import format_table

    typer.echo(format_table(reliability_table(rows)))
