"""What calibration on few trees does to the error on others: ``few_trees.py MODEL TREES [N]``.

The first N trees (default 600) are parsed with their tags.  A hundred times, 40, 100 or 300 of them
are drawn, curves are fitted to these, and the expected calibration error on all others is compared
with that of the raw confidences.  The rows "ideal" replace the outcomes by draws with the raw
confidences as probabilities, so that any change of these is wrong.
"""

from __future__ import annotations

import sys
from itertools import islice

import numpy as np

from eigentree.base import load
from eigentree.constituency.calibrate import ConfidenceSample, inputs, measure_confidence
from eigentree.constituency.calibration import Curve
from eigentree.evaluation.reliability import measure_reliability
from eigentree.treebank.reader import read_treebank

REPEATS = 100
TREES = (40, 100, 300)


def differences(
    sample: ConfidenceSample, n_trees: int, rng: np.random.Generator, *, is_ideal: bool
) -> np.ndarray:
    """Axes (repeats, 2): raw error on the other trees, and what calibration adds to it."""
    sentences = np.unique(sample.sentence)
    rows = []
    for _ in range(REPEATS):
        right = rng.random(len(sample.raw)) < sample.raw if is_ideal else sample.right
        drawn = np.isin(sample.sentence, rng.choice(sentences, n_trees, replace=False))
        curve = Curve.fit(sample.raw[drawn], right[drawn], sample.sentence[drawn])
        raw = sample.raw[~drawn]
        before, after = (
            measure_reliability(each, right[~drawn]).error for each in (raw, curve(raw))
        )
        rows.append((before, after - before))
    return np.array(rows)


def main(model: str, path: str, number: str = "600") -> None:
    parser = load(model)
    trees = list(islice(read_treebank(path).trees, int(number)))
    measured = measure_confidence(parser.parse_many(inputs(trees, "tagged")), trees)
    rng = np.random.default_rng(0)
    print("examples | trees | raw ECE | change | standard deviation | worse, %")
    for name, sample in measured._asdict().items():
        for is_ideal in (False, True):
            for n_trees in TREES:
                raw, change = differences(sample, n_trees, rng, is_ideal=is_ideal).T
                print(
                    f"{name}{', ideal' if is_ideal else ''} | {n_trees} | {np.mean(raw):.4f} | "
                    f"{np.mean(change):+.4f} | {np.std(change, ddof=1):.4f} | "
                    f"{100 * np.mean(change > 0):.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
