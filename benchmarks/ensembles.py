"""Time and memory of training and parsing with ensembles.

    python benchmarks/ensembles.py train TREEBANK FOLDER MEMBERS [JOBS]
    python benchmarks/ensembles.py parse TREEBANK FOLDER [lean]

TREEBANK is a folder with train.mrg and dev.mrg.  `train` writes an ensemble of clustering
members with additive noise and two restarts, combined by marginal coverage, to FOLDER; `parse`
parses the words and tags of the dev trees with it.  Loading, and the first sentences, which include
compilation, are timed separately.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from eigentree._core.processes import cpu_seconds
from eigentree.constituency.ensemble.config import make_config
from eigentree.constituency.ensemble.model_folder import member_path
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.treebank.reader import read_treebank

SIGMAS = [0.05, 0.1, 0.15, 0.2]
WARMING = 3


def train(treebank: Path, folder: Path, members: int, jobs: int) -> None:
    trees = read_treebank(treebank / "train.mrg").trees
    family = {
        "name": "additive",
        "noise": "additive",
        "sigma": SIGMAS,
        "copies": max(1, members // len(SIGMAS)),
        "clustering": {"restarts": 2},
    }
    description = make_config({"family": [family]})
    began = time.perf_counter(), cpu_seconds()
    train_ensemble(trees, description, folder, tagger=False, jobs=jobs)
    wall, cpu = time.perf_counter() - began[0], cpu_seconds() - began[1]
    names = [member.name for member in description.members()]
    size = sum(member_path(folder, name).stat().st_size for name in names) / len(names)
    print(f"{len(names)} members, {jobs} jobs: {wall:.0f} s wall, {cpu:.0f} CPU s,")
    print(f"{cpu / len(names):.2f} CPU s and {size / 1e6:.2f} MB a member")


def parse(treebank: Path, folder: Path, *, lean: bool) -> None:
    sentences = [(tree.words(), tree.tags()) for tree in read_treebank(treebank / "dev.mrg").trees]
    began = time.process_time()
    parser = EnsembleParser.load(folder, low_memory=lean)
    loaded = time.process_time()
    list(parser.parse_many(sentences[:WARMING]))
    warm = time.process_time()
    timed = sentences[WARMING:]
    list(parser.parse_many(timed))
    spent = time.process_time() - warm
    words = sum(len(each) for each, _ in timed) / len(timed)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{parser!r}{' lean' if lean else ''}: loaded in {loaded - began:.1f} CPU s,")
    print(f"{spent / len(timed):.3f} CPU s a sentence of {words:.1f} words, peak {memory:.2f} GB")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["train", treebank, folder, members, *jobs] if len(jobs) <= 1:
            train(Path(treebank), Path(folder), int(members), int(jobs[0]) if jobs else 1)
        case ["parse", treebank, folder, *how] if how in ([], ["lean"]):
            parse(Path(treebank), Path(folder), low_memory=bool(how))
        case _:
            sys.exit(__doc__)
