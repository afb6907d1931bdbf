"""The calibration of the bundled English model on text it was not calibrated on.

    python validation/english_model/calibration.py TREEBANKS [MODEL]

Expected calibration errors of brackets and of whole trees, from words alone and from gold tags, on
the test parts of GUM, by genres, and of CRAFT.  The model is calibrated on their dev parts.  The
last column is the mean error of perfectly calibrated confidences of trees: few trees have an error
by chance.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import english_sources as sources  # beside the script that trains the models

from eigentree import Parser
from eigentree.constituency.calibrate import inputs, measure_confidence
from eigentree.evaluation.reliability import measure_reliability

DRAWS = 100
_CRAFT = "CRAFT test, first 1,000"


def main() -> None:
    folder = Path(sys.argv[1])
    parser = Parser.load(sys.argv[2] if len(sys.argv) > 2 else "english")
    genres = sources.gum(folder, "test")
    parts = {"GUM test, same genres": [], "GUM test, other genres": []}
    for genre, pairs in genres.items():
        name = "same" if genre in sources.GUM_GENRES else "other"
        parts[f"GUM test, {name} genres"] += [tree for tree, _ in pairs]
    parts[_CRAFT] = sources.craft(folder, "test")[:1000]
    parts["the first and the last"] = [*parts["GUM test, same genres"], *parts[_CRAFT]]
    print(
        "| | from | trees | brackets: raw | calibrated | whole trees: raw | calibrated | chance |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(0)
    for name, trees in parts.items():
        for condition, given in (("untagged", "tokens"), ("tagged", "gold tags")):
            samples = measure_confidence(parser.parse_many(inputs(trees, condition)), trees)
            cells = []
            for sample in samples:
                assert sample.calibrated is not None
                for confidences in (sample.raw, sample.calibrated):
                    cells.append(f"{measure_reliability(confidences, sample.right).error:.3f}")
            sure = samples.trees.calibrated
            assert sure is not None
            drawn = [measure_reliability(sure, rng.random(len(sure)) < sure) for _ in range(DRAWS)]
            cells.append(f"{np.mean([each.error for each in drawn]):.3f}")
            print("| " + " | ".join([name, given, str(len(trees)), *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
