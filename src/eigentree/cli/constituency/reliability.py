"""The verb ``reliability``: how far a model's confidences can be trusted, on trees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from eigentree.cli._common import (
    JsonOption,
    QuietOption,
    check_inputs,
    keep_inputs,
    track,
    write_picture,
)
from eigentree.cli.constituency._output import open_parser, warn_of_compilation
from eigentree.cli.constituency._training import OnErrorOption, held_out_trees

if TYPE_CHECKING:
    from eigentree.evaluation.tables.reliability import ReliabilityRow


def measure_reliability(
    model: Annotated[
        str, typer.Argument(help="A model file made by train, or the folder of an ensemble.")
    ],
    trees: Annotated[str, typer.Argument(help="Gold trees that the model has never seen.")],
    ignore_tags: Annotated[
        bool,
        typer.Option("--ignore-tags", help="Parse by the model's tagger, not the trees' tags."),
    ] = False,
    picture: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw a reliability diagram: .png, or else SVG."),
    ] = None,
    on_error: OnErrorOption = "raise",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say how far a model's confidences can be trusted.

    Gold trees are parsed, and it is counted how often brackets and whole trees are right, beside
    how often they should be by the model's confidences: raw, and calibrated if the model is.
    """
    from eigentree.constituency.calibrate import inputs, measure_confidence
    from eigentree.constituency.calibration import TagCondition
    from eigentree.drawing.reliability import draw_reliability
    from eigentree.evaluation.reliability import measure_reliability
    from eigentree.evaluation.tables.reliability import ReliabilityRow

    check_inputs([trees])
    keep_inputs(picture or "-", [model, trees])
    parser = open_parser(model)
    gold = [clean for _, clean in held_out_trees(trees, parser.cleaning, on_error)]
    warn_of_compilation(quiet=quiet)
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
        told = {
            row.name: {**row.measured._asdict(), "bins": [b._asdict() for b in row.measured.bins]}
            for row in rows
        }
        typer.echo(json.dumps({"model": model, "trees": trees, "way": condition} | told, indent=2))
    elif picture != "-":
        show(rows)


def show(rows: list[ReliabilityRow]) -> None:
    """Print a table of reliability."""
    from eigentree.evaluation.tables.reliability import reliability_table
    from eigentree.evaluation.tables.table import format_table

    typer.echo(format_table(reliability_table(rows)))
