"""Parsing time by states, by length and by processes, with a profile by stage.

    python benchmarks/parsing.py states TREEBANK      ms per sentence, m = 8, 16, 24, 32
    python benchmarks/parsing.py length TREEBANK      seconds and memory by sentence length
    python benchmarks/parsing.py jobs TREEBANK        one process and two, by the command
    python benchmarks/parsing.py start MODEL          the first parse of a new process

TREEBANK is a folder with train.mrg and dev.mrg.  Times are CPU seconds of one thread, except
wall times; machines are noisy, so compare within one run.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.decode import decode, gains
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.learn.spectral import SpectralOptions, estimate, project
from eigentree.constituency.learn.unseen_rules import unseen_rules, widen
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training_options import TreebankOptions
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

REPEATS = 3


def by_states(folder: Path) -> None:
    train = read_treebank(folder / "train.mrg").trees
    dev = [(tree.words(), tree.tags()) for tree in read_treebank(folder / "dev.mrg").trees]
    examples = prepare(train, TreebankOptions()).examples
    unseen = unseen_rules(examples)
    print("| states | whole parse | PCFG and pruning | latent states | decoding |")
    print("| --- | --- | --- | --- | --- |")
    for states in (8, 16, 24, 32):
        options = SpectralOptions(states=states)
        grammar = widen(estimate(examples, project(examples, options), options), unseen)
        parser = ConstituencyParser(grammar)
        parser.parse(*dev[0])
        # The least of some repeats is what the work takes when nothing disturbs it.
        best = np.full((4, len(dev)), np.inf)
        for _ in range(REPEATS):
            for number, (words, tags) in enumerate(dev):
                clock = [time.process_time()]
                parser.parse(words, tags)
                clock.append(time.process_time())
                pruned = prune(parser.grammar.backbone, leaves(parser, words, tags))
                clock.append(time.process_time())
                if pruned is None:
                    continue
                marginals = inside_outside(pruned.forest, parser.grammar)
                clock.append(time.process_time())
                if marginals is None:
                    continue
                gain = gains("rules", pruned.forest, marginals, parser.grammar)
                decode(pruned.forest, gain, parser.grammar.backbone.symbols, words)
                clock.append(time.process_time())
                best[:, number] = np.minimum(best[:, number], np.diff(clock))
        means = [float(np.mean(row[np.isfinite(row)])) * 1000 for row in best]
        print(f"| {states} | " + " | ".join(f"{mean:.2f} ms" for mean in means) + " |")


def leaves(parser: ConstituencyParser, words: list[str], tags: list[str]) -> Leaves:
    backbone = parser.grammar.backbone
    numbers = zip(backbone.lexicon.ids(words), backbone.tag_numbers(tags), strict=True)
    return Leaves.of([backbone.words.candidates(word, tag) for word, tag in numbers])


def by_length(folder: Path) -> None:
    train = read_treebank(folder / "train.mrg").trees
    parser = ConstituencyParser.train(train, states=24)
    longest = sorted(train, key=lambda tree: len(tree.words()))[-4:]
    pool = [(tree.words(), tree.tags()) for tree in train]
    words = [word for sentence, _ in pool[:200] for word in sentence]
    tags = [tag for _, sentence in pool[:200] for tag in sentence]
    parser = ConstituencyParser(parser.grammar, options=ParserOptions(max_words=1000))
    parser.parse(*pool[0])
    print("| words | seconds | peak memory of the process so far, GB |")
    print("| --- | --- | --- |")
    sentences = [(words[:n], tags[:n]) for n in (10, 20, 40, 80, 160, 320)]
    sentences += [(tree.words(), tree.tags()) for tree in longest]
    for some_words, some_tags in sentences:
        began = time.process_time()
        parser.parse(some_words, some_tags)
        seconds = time.process_time() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"| {len(some_words)} | {seconds:.3f} | {memory:.2f} |")


def by_processes(folder: Path) -> None:
    train = read_treebank(folder / "train.mrg").trees
    sentences = [tagged(tree) for tree in train]
    sentences = (sentences * (10_000 // len(sentences) + 1))[:10_000]
    with tempfile.TemporaryDirectory() as work:
        model, text = Path(work, "model.egt"), Path(work, "text")
        ConstituencyParser.train(train, states=16).save(model)
        text.write_text("\n".join(sentences) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", "eigentree", "parse", "-q", "-m", str(model)]
        command += ["--input-format", "tagged", str(text)]
        outputs, walls = [], []
        for jobs in (1, 2):
            began = time.perf_counter()
            run = subprocess.run(
                [*command, "--jobs", str(jobs)], capture_output=True, check=True, text=True
            )
            walls.append(time.perf_counter() - began)
            outputs.append(run.stdout)
        same = "the same" if outputs[0] == outputs[1] else "NOT the same"
        print(
            f"10,000 sentences: {walls[0]:.1f} s wall on one process, {walls[1]:.1f} s on two, "
            f"{walls[0] / walls[1]:.2f} times as fast; output {same}, "
            f"{outputs[0].count(chr(10))} lines"
        )


def tagged(tree: Tree) -> str:
    return " ".join(f"{word}_{tag}" for word, tag in zip(tree.words(), tree.tags(), strict=True))


def cold_start(model: Path) -> None:
    command = [sys.executable, "-m", "eigentree", "parse", "-q", "-m", str(model)]
    cached, compiling = [], 0.0
    with tempfile.TemporaryDirectory() as cache:
        for number in range(4):
            began = time.perf_counter()
            subprocess.run(
                command, input="The old man saw the dog .\n", check=True, text=True,
                capture_output=True, env={**os.environ, "NUMBA_CACHE_DIR": cache},
            )  # fmt: skip
            if number == 0:
                compiling = time.perf_counter() - began
            else:
                cached.append(time.perf_counter() - began)
    print(f"first parse of a process: {compiling:.1f} s wall with compilation,")
    print(f"{min(cached):.2f} to {max(cached):.2f} s with kernels cached")


VIEWS = {"states": by_states, "length": by_length, "jobs": by_processes, "start": cold_start}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in VIEWS:
        sys.exit(__doc__)
    VIEWS[sys.argv[1]](Path(sys.argv[2]))
