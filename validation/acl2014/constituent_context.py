"""The constituent-context model on real treebanks: by iterations, lengths, starts and languages.

    python validation/acl2014/constituent_context.py TREEBANKS

TREEBANKS is a folder with the folders wsj_sample, gum and sinica, each with train.mrg, dev.mrg and
test.mrg.  Sentences are learned from and scored on alike, all parts of a treebank together, as is
the custom for this model.  Tables are printed in Markdown.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree import CleaningOptions, read_treebank
from eigentree.bracketing.ccm import ConstituentContextModel
from eigentree.bracketing.learn.ccm import (
    ConstituentContextOptions,
    Step,
    learn_constituent_context,
)
from eigentree.evaluation import baselines
from eigentree.evaluation.unlabelled import (
    PENN_PUNCTUATION,
    GoldBracketing,
    gold_bracketing,
    score_unlabelled,
)
from eigentree.treebank.io.unlabelled import Bracketing

PARTS = ("train", "dev", "test")
# The same model in another program, on the same sentences of the WSJ sample.
KNOWN = {1: 51.1, 5: 62.7, 10: 70.7, 15: 73.5, 20: 72.9, 40: 70.4}
SEEDS = 20
SAMPLES = 2000


def gold_trees(folder: Path, punctuation: Sequence[str] | None) -> list[GoldBracketing]:
    files = [folder / f"{part}.mrg" for part in PARTS]
    trees = read_treebank(files, cleaning=CleaningOptions(cut_tags=True)).trees
    return [gold_bracketing(tree, punctuation=punctuation) for tree in trees]


def up_to(gold: Sequence[GoldBracketing], longest: int) -> list[GoldBracketing]:
    return [one for one in gold if len(one.words) <= longest]


def figures(gold: Sequence[GoldBracketing], trees: Sequence[frozenset], samples: int = 0):
    """The figures of both conventions over all the sentences given."""
    parsed = [Bracketing(one.words, tree) for one, tree in zip(gold, trees, strict=True)]
    return score_unlabelled(gold, parsed, lengths=(), n_samples=samples).figures


def scores(model: ConstituentContextModel, gold: Sequence[GoldBracketing]) -> list[float]:
    trees = [model.brackets(one.tags) for one in gold]
    return [100 * one.f1 for one in figures(gold, trees)]


def learned(gold: Sequence[GoldBracketing], **settings) -> ConstituentContextModel:
    return learn_constituent_context(
        [one.tags for one in gold], ConstituentContextOptions(**settings)
    )


def by_iterations(gold: list[GoldBracketing]) -> None:
    print("| iterations | F1 | in another program | mean of sentence F1 | objective |")
    print("| --- | --- | --- | --- | --- |")

    def tell(step: Step) -> None:
        if step.iteration in KNOWN:
            ours, mean = scores(step.model, gold)
            known = KNOWN[step.iteration]
            print(
                f"| {step.iteration} | {ours:.1f} | {known} | {mean:.1f} | {step.objective:.1f} |"
            )

    options = ConstituentContextOptions(iterations=max(KNOWN))
    learn_constituent_context([one.tags for one in gold], options, after_step=tell)


def show_baselines(gold: list[GoldBracketing]) -> None:
    rng = np.random.default_rng(0)
    model = learned(gold)
    trees = {
        "left-branching": [baselines.left_branching(len(one.words)) for one in gold],
        "right-branching": [baselines.right_branching(len(one.words)) for one in gold],
        "random": [baselines.random_branching(len(one.words), rng) for one in gold],
        "20 iterations": [model.brackets(one.tags) for one in gold],
        "best binary trees": [
            baselines.binary_completion(one.spans, len(one.words)) for one in gold
        ],
    }
    print("| trees | F1 | 95 % interval | mean of sentence F1 | 95 % interval |")
    print("| --- | --- | --- | --- | --- |")
    for name, own in trees.items():
        cells = [
            cell
            for one in figures(gold, own, SAMPLES)
            for cell in (
                f"{100 * one.f1:.1f}",
                "{:.1f}-{:.1f}".format(*(100 * np.array(one.interval))),
            )
        ]
        print(f"| {name} | {' | '.join(cells)} |")


def by_lengths(gold: list[GoldBracketing]) -> None:
    tested = (10, 20, 40)
    print("| learned from | " + " | ".join(f"up to {longest} words" for longest in tested) + " |")
    print("| --- |" + " --- |" * len(tested))
    for lengths in ((10,), (20,), (40,), (10, 20, 40)):
        model = learned(up_to(gold, lengths[-1]), lengths=lengths)
        cells = [" / ".join(f"{one:.1f}" for one in scores(model, up_to(gold, n))) for n in tested]
        print(f"| up to {', then '.join(map(str, lengths))} words | {' | '.join(cells)} |")


def by_starts(gold: list[GoldBracketing]) -> None:
    found = []
    for seed in range(SEEDS):
        last: list[Step] = []
        options = ConstituentContextOptions(start="random", seed=seed)
        learn_constituent_context([one.tags for one in gold], options, after_step=last.append)
        found.append((scores(last[-1].model, gold)[0], last[-1].objective))
    f1 = np.array(sorted(own for own, _ in found))
    print("F1 of random starts, in order: " + " ".join(f"{own:.1f}" for own in f1))
    best = max(found, key=lambda pair: pair[1])
    print(
        f"\nmean {f1.mean():.1f}, standard deviation {f1.std(ddof=1):.1f}; the start with the best "
        f"objective, {best[1]:.1f}, has {best[0]:.1f}"
    )


def main() -> None:
    treebanks = Path(sys.argv[1])
    print("## WSJ sample, up to 10 words\n")
    gold = gold_trees(treebanks / "wsj_sample", PENN_PUNCTUATION)
    short = up_to(gold, 10)
    by_iterations(short)
    print()
    show_baselines(short)
    print("\n## WSJ sample, by length (F1 / mean of sentence F1)\n")
    by_lengths(gold)
    print(f"\n## WSJ sample, up to 10 words, {SEEDS} random starts of 20 iterations\n")
    by_starts(short)
    for name, punctuation in (("gum", PENN_PUNCTUATION), ("sinica", None)):
        print(f"\n## {name}, up to 10 words\n")
        show_baselines(up_to(gold_trees(treebanks / name, punctuation), 10))
    print(f"\n{time.process_time():.0f} s of CPU time", file=sys.stderr)


if __name__ == "__main__":
    main()
