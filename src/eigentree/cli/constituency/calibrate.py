"""The verb ``calibrate``: count on held-out trees how often a parser is right, and keep it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eigentree.cli._common import QuietOption, keep_inputs, message, track
from eigentree.cli.constituency._output import open_parser, warn_of_compilation
from eigentree.cli.constituency._training import OnErrorOption, held_out_trees


def calibrate(
    model: Annotated[
        str, typer.Argument(help="A model file made by train, or the folder of an ensemble.")
    ],
    held_out: Annotated[
        str, typer.Argument(help="Trees that were neither trained on nor are to be tested on.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output-file",
            "-o",
            help="The model file to write; may be the same. For an ensemble its own folder.",
        ),
    ],
    on_error: OnErrorOption = "raise",
    quiet: QuietOption = False,
) -> None:
    """Turn a model's confidences into probabilities of being right.

    The held-out trees are parsed with their tags, and by the model's tagger.  The table tells what
    raw confidences are worth, and calibrated ones, those of each half of the trees by the other.
    """
    from eigentree.cli.constituency.reliability import show
    from eigentree.constituency.calibrate import inputs, measure_confidence, tag_conditions
    from eigentree.constituency.calibration import Calibration, TagCondition
    from eigentree.constituency.ensemble.model_folder import save_calibrations
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.errors import SettingsError
    from eigentree.evaluation.reliability import measure_reliability
    from eigentree.evaluation.tables.reliability import ReliabilityRow

    keep_inputs(output, [held_out])
    is_ensemble = Path(model).is_dir()
    if is_ensemble != Path(output).is_dir() or (is_ensemble and not Path(output).samefile(model)):
        raise SettingsError(
            f"{output}: must be a file for a model file, and for an ensemble its own folder"
        )
    parser = open_parser(model)
    parser = replace(parser, calibrations={})
    trees = [clean for _, clean in held_out_trees(held_out, parser.cleaning, on_error)]
    warn_of_compilation(quiet=quiet)
    found: dict[TagCondition, Calibration] = {}
    rows: list[ReliabilityRow] = []
    for condition in tag_conditions(parser):
        results = parser.parse_many(inputs(trees, condition))
        told = track(results, f"parsing {held_out}, {condition}", len(trees), quiet=quiet)
        judgement = measure_confidence(told, trees)
        found[condition] = judgement.calibration()
        for colour, (name, judged) in enumerate(judgement._asdict().items()):
            raw, fitted = judged.raw, judged.cross_fitted()
            rows.append(
                ReliabilityRow(
                    f"{condition} {name}, raw", measure_reliability(raw, judged.right), colour
                )
            )
            rows.append(
                ReliabilityRow(
                    f"{condition} {name}, calibrated",
                    measure_reliability(fitted, judged.right),
                    colour,
                )
            )
    show(rows)
    if isinstance(parser, EnsembleParser):
        save_calibrations(Path(output), found)
    else:
        replace(parser, calibrations=found).save(output)
    message(f"wrote {output}", quiet=quiet)
