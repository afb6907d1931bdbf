"""The command ``calibrate``: fit a parser's confidences to held-out trees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from eigentree.cli._common import message, track
from eigentree.cli._files import check_output
from eigentree.cli._options import (
    OptionalModelOption,
    QuietOption,
    TreesOnErrorOption,
    model_and_files,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._parsing import open_parser
from eigentree.cli.constituency._training import dev_trees_of


def calibrate(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="TREES", help="Trees that were not trained on and will not be tested on."
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output-file",
            "-o",
            metavar="FILE",
            help="The model file to write, which may be the same; for an ensemble, its own folder.",
        ),
    ],
    model: OptionalModelOption = None,
    on_error: TreesOnErrorOption = "raise",
    quiet: QuietOption = False,
) -> None:
    """Calibrate a model's confidences on held-out trees.

    The trees are parsed with their tags, and with the model's tagger.  The table compares raw
    confidences with calibrated ones, which are cross-fitted: each half of the trees is calibrated
    on the other.  The fewer trees there are, the closer are the curves to the raw confidences.
    """
    from eigentree.cli.constituency.reliability import show
    from eigentree.constituency.calibrate import (
        ENOUGH_TREES,
        inputs,
        measure_confidence,
        tag_conditions,
    )
    from eigentree.constituency.calibration import Calibration, TagCondition
    from eigentree.constituency.ensemble.model_folder import save_calibrations
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.errors import SettingsError, counted
    from eigentree.evaluation.reliability import measure_reliability
    from eigentree.evaluation.tables.reliability import ReliabilityRow

    model, (trees,) = model_and_files(model, arguments, "TREES")
    is_ensemble = Path(model).is_dir()
    if is_ensemble != Path(output).is_dir() or (is_ensemble and not Path(output).samefile(model)):
        raise SettingsError(
            f"{output}: must be a file for a model, and the ensemble's own folder for an ensemble"
        )
    if not is_ensemble:
        check_output(output, [trees], model=True)
    parser = open_parser(model)
    parser = replace(parser, calibrations={})
    gold = [clean for _, clean in dev_trees_of(trees, parser.cleaning, on_error)]
    if len(gold) < ENOUGH_TREES:
        message(
            f"{trees}: {counted(len(gold), 'tree')}, fewer than {ENOUGH_TREES}, so the curves stay "
            "close to the raw confidences",
            quiet=quiet,
        )
    compile_kernels("parsing", quiet=quiet)
    calibrations: dict[TagCondition, Calibration] = {}
    rows: list[ReliabilityRow] = []
    for condition in tag_conditions(parser):
        results = parser.parse_many(inputs(gold, condition))
        shown = track(results, f"parsing {trees}, {condition}", len(gold), quiet=quiet)
        judgement = measure_confidence(shown, gold)
        calibrations[condition] = judgement.calibration()
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
    if not quiet:
        show(rows)
    if isinstance(parser, EnsembleParser):
        save_calibrations(Path(output), calibrations)
    else:
        replace(parser, calibrations=calibrations).save(output)
    message(f"wrote {output}", quiet=quiet)
