"""Accuracy and training time of spectral L-PCFGs: tables 2 and 3 and section 4.3 of the paper.

    python validation/naacl2013_table2/run.py TREEBANK OUT.json [--states 8,16,24,32]
        [--parts dev,test] [--ablations] [--own-tags] [--rows BEGINNING]

TREEBANK is a folder with train.mrg, dev.mrg and, if asked for, test.mrg.  Each row trains on
train.mrg and parses the sentences of the other parts, all lengths, nothing left out, by their
gold tags (with --own-tags also from words alone).  F1 is EVALB's with COLLINS.prm against the
files as they stand, over all lengths; the interval is a bootstrap over sentences.  Times are
CPU seconds of one thread.  Results go to OUT.json and, as a table, to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.corpus.binarise import BinariseOptions
from eigentree.corpus.treebank import read_treebank
from eigentree.corpus.trees import Tree
from eigentree.evaluate import EVALB_COLLINS, bootstrap_interval, score
from eigentree.grammar.plain import one_state
from eigentree.learn.counting import count_pcfg
from eigentree.learn.examples import Examples
from eigentree.learn.features import FeatureOptions
from eigentree.learn.spectral import SpectralOptions, estimate, project
from eigentree.parsers import Parser, ParserOptions, TreebankOptions
from eigentree.training import prepare
from eigentree.words.tagger import Tagger

SIMPLE = FeatureOptions(inside=("rule",), outside=("rule",))
UNSCALED = FeatureOptions(scaling=False)
AS_IN_PAPER = ParserOptions(objective="rules")


class Row(NamedTuple):
    """One model: how trees are made binary, what is learned, how it is decoded."""

    name: str
    binarise: BinariseOptions
    spectral: SpectralOptions | None
    parsing: ParserOptions = ParserOptions()


def rows(states: list[int], ablations: bool) -> Iterator[Row]:
    plain, siblings = BinariseOptions(), BinariseOptions(horizontal=1)
    yield Row("PCFG, minimum Bayes risk", plain, None, ParserOptions(objective="spans"))
    yield Row("PCFG, Viterbi", plain, None, ParserOptions(objective="viterbi"))
    yield Row(
        "Markovised PCFG (vertical 2, horizontal 1)",
        BinariseOptions(vertical=2, horizontal=1),
        None,
        ParserOptions(objective="spans"),
    )
    for m in states:
        yield Row(f"paper's estimator, m = {m}", plain, paper(m), AS_IN_PAPER)
    for m in states:
        yield Row(f"defaults, m = {m}", siblings, SpectralOptions(states=m))
    if ablations:
        for m in states:
            yield from ablated(m, plain)


def paper(m: int) -> SpectralOptions:
    """No shrinkage; smoothing as tuned for a small treebank."""
    return SpectralOptions(states=m, shrinkage=0.0, smoothing=10.0, word_smoothing=0.5)


def ablated(m: int, plain: BinariseOptions) -> Iterator[Row]:
    """What each part of the paper's estimator gives, and what ours adds, one at a time."""
    own = SpectralOptions(states=m)
    siblings = BinariseOptions(horizontal=1)
    signed, paper_signed = ParserOptions(absolute=False), replace(AS_IN_PAPER, absolute=False)
    none = {"smoothing": 0.0, "word_smoothing": 1.0}
    yield Row(f"paper, m = {m}: no smoothing", plain, replace(paper(m), **none), AS_IN_PAPER)
    yield Row(
        f"paper, m = {m}: no scaling", plain, replace(paper(m), features=UNSCALED), AS_IN_PAPER
    )
    yield Row(
        f"paper, m = {m}: simple features", plain, replace(paper(m), features=SIMPLE), AS_IN_PAPER
    )
    yield Row(f"paper, m = {m}: signed marginals", plain, paper(m), paper_signed)
    yield Row(f"defaults, m = {m}: no shrinkage", siblings, replace(own, shrinkage=0.0))
    yield Row(f"defaults, m = {m}: no siblings", plain, own)
    yield Row(f"defaults, m = {m}: the paper's objective", siblings, own, AS_IN_PAPER)
    yield Row(f"defaults, m = {m}: signed marginals", siblings, own, signed)


class Part(NamedTuple):
    """A held-out part: as it stands for scoring, and clean for parsing."""

    name: str
    gold: list[Tree]
    clean: list[Tree]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("treebank", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--states", default="8,16,24,32")
    options.add_argument("--parts", default="dev,test")
    options.add_argument("--ablations", action="store_true")
    options.add_argument("--own-tags", action="store_true")
    options.add_argument("--rows", default="", help="only rows whose name begins so")
    given = options.parse_args()

    trees = read_treebank(given.treebank / "train.mrg").trees
    parts = [
        Part(
            name,
            read_treebank(given.treebank / f"{name}.mrg", cleaning=None).trees,
            read_treebank(given.treebank / f"{name}.mrg").trees,
        )
        for name in given.parts.split(",")
    ]
    tagger = None
    if given.own_tags:
        tagger = Tagger.train((tree.words(), tree.tags()) for tree in trees)
    prepared: dict[BinariseOptions, tuple[Examples, float]] = {}
    results: list[dict[str, Any]] = []
    states = [int(m) for m in given.states.split(",")]
    for row in rows(states, given.ablations):
        if not row.name.startswith(given.rows):
            continue
        if row.binarise not in prepared:
            prepared[row.binarise] = timed_prepare(trees, row.binarise)
        result = measure(row, *prepared[row.binarise], parts, tagger)
        results.append(result)
        print(as_line(result), flush=True)
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def timed_prepare(trees: list[Tree], binarise: BinariseOptions) -> tuple[Examples, float]:
    began = time.process_time()
    examples = prepare(trees, TreebankOptions(binarise=binarise)).examples
    return examples, time.process_time() - began


def measure(
    row: Row, examples: Examples, seconds: float, parts: list[Part], tagger: Tagger | None
) -> dict[str, Any]:
    stages = {"binary trees": seconds}
    began = time.process_time()
    if row.spectral is None:
        grammar = one_state(count_pcfg(examples))
        stages["counts"] = time.process_time() - began
    else:
        projections = project(examples, row.spectral)
        stages["features and SVD"] = time.process_time() - began
        began = time.process_time()
        grammar = estimate(examples, projections, row.spectral)
        stages["rules and words"] = time.process_time() - began
    parser = Parser(grammar.rounded(), tagger, row.parsing)
    first = parts[0].clean[0]
    parser.parse(first.words(), first.tags())  # compiles, where nothing is cached
    result: dict[str, Any] = {
        "model": row.name,
        "train CPU s": round(sum(stages.values()), 2),
        "stages CPU s": {name: round(value, 2) for name, value in stages.items()},
        "parameters": grammar.n_parameters,
    }
    for part in parts:
        gold = [tree.tags() for tree in part.clean]
        result[part.name] = measure_part(parser, part, gold)
        if tagger is not None:
            result[f"{part.name}, own tags"] = measure_part(parser, part, None)
            best = [tagger.tag(tree.words()) for tree in part.clean]
            result[f"{part.name}, best tags alone"] = measure_part(parser, part, best)
    return result


def measure_part(parser: Parser, part: Part, tags: list[list[str]] | None) -> dict[str, Any]:
    began = time.process_time()
    parsed = [
        parser.parse(tree.words(), tags and tags[number]) for number, tree in enumerate(part.clean)
    ]
    seconds = time.process_time() - began
    scores = score(part.gold, [result.tree for result in parsed], EVALB_COLLINS)
    interval = bootstrap_interval(scores.counts(), seed=0)
    # With other tags a parse may take other words for punctuation than the gold tree does;
    # EVALB refuses to compare such a pair.
    left_out = scores.all.errors + scores.all.missing
    return {
        "F1": round(100 * (scores.all.f1 or 0.0), 2),
        "low": round(100 * interval.low, 2),
        "high": round(100 * interval.high, 2),
        "F1 up to 40 words": round(100 * (scores.short.f1 or 0.0), 2) if scores.short else None,
        "ms a sentence": round(1000 * seconds / len(part.clean), 2),
        "left out by EVALB": left_out,
        "fall-backs": sum(result.fallback is not None for result in parsed),
        "negative": sum(result.sign < 0 for result in parsed),
        "sentences": len(part.clean),
    }


def as_line(result: dict[str, Any]) -> str:
    """A row of the table: F1 by gold tags with intervals, their mean, then the rest."""
    parts = {name: value for name, value in result.items() if "F1" in str(value)}
    gold = [value for name, value in parts.items() if "," not in name]
    own = [value for name, value in parts.items() if "own tags" in name]
    best = [value for name, value in parts.items() if "best tags" in name]
    cells = [f"{part['F1']:.2f} ({part['low']:.1f} to {part['high']:.1f})" for part in gold]
    cells.append(f"**{np.mean([part['F1'] for part in gold]):.2f}**")
    if own:
        cells += [f"{part['F1']:.2f}" for part in own]
        cells.append(f"{np.mean([part['F1'] for part in own]):.2f}")
        cells.append(f"{np.mean([part['F1'] for part in best]):.2f}")
    cells.append(f"{result['train CPU s']:.1f}")
    cells.append(" ".join(f"{part['ms a sentence']:.1f}" for part in gold))
    cells.append(" ".join(str(part["negative"]) for part in gold))
    cells.append(" ".join(str(part["fall-backs"]) for part in gold))
    cells.append(f"{result['parameters'] / 1e6:.2f}")
    return f"| {result['model']} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
