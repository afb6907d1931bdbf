"""A cell of a study: one training, its scores, and the record of them on disk.

A record holds everything that the report needs, down to the bracket counts of each sentence,
so that a finished cell is never done again.  Its file is named by a digest of all that decides
the result: settings, seed, the bytes of the treebank, the version of the package.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from eigentree import __version__
from eigentree._core.random import generator
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training import train
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import ModelFileError, TreebankFormatError, counted
from eigentree.evaluation.parseval import score
from eigentree.evaluation.result import SentenceScore, summarise
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.treebank.cleaning import CleaningOptions, clean
from eigentree.treebank.io.text_files import write_whole
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

# Of the record; a change of what is measured, or how, makes old records worthless.
FORMAT = 1
# Trees of the training that only makes sure that everything is compiled.
WARMING_TREES = 12
_NAME_LETTERS, _NAME_DIGITS = 80, 12


class Place(NamedTuple):
    """What tells a cell from the others of a study."""

    model: str
    states: int | None
    without: str | None
    share: float
    seed: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One training.

    Attributes
    ----------
    model, method
        Name of the model in the study, and how it is learned (``markov`` is one).
    states
        Most latent states of a nonterminal; None for methods that have none.
    without
        Name of the part that was taken off, None for the whole model.
    share
        Part of the training trees, above 0 and up to 1.
    seed
        Of training, and of the choice of trees.
    tags
        What held-out sentences come with: gold tags, or none.
    options
        All settings.
    longest
        Most words of a held-out sentence; None for any number.
    """

    model: str
    method: str
    states: int | None
    without: str | None
    share: float
    seed: int
    tags: Literal["gold", "own"]
    options: TrainingOptions
    longest: int | None = None

    @property
    def place(self) -> Place:
        return Place(self.model, self.states, self.without, self.share, self.seed)

    @property
    def is_em(self) -> bool:
        return "em" in self.method.split("+")

    def __str__(self) -> str:
        parts = [self.model]
        if self.states is not None:
            parts.append(f"m = {self.states}")
        if self.without is not None:
            parts.append(self.without)
        if self.share < 1:
            parts.append(f"{100 * self.share:g} % of the trees")
        if self.seed:
            parts.append(f"seed {self.seed}")
        return ", ".join(parts)

    def settings(self) -> dict[str, Any]:
        """The settings that decide what this cell gives."""
        return self.options.decisive()

    def digest(self, data: Mapping[str, str]) -> str:
        """Hexadecimal digest of all that decides the result.

        Parameters
        ----------
        data
            Digests of the files by part.
        """
        decisive: dict[str, Any] = {
            "format": FORMAT,
            "version": __version__,
            "data": dict(data),
            "settings": self.settings(),
            "share": self.share,
            "seed": self.seed,
            "tags": self.tags,
            **longest_of(self.longest),
        }
        return digest_of(decisive, self.options.treebank.heads)


def longest_of(longest: int | None) -> dict[str, int]:
    """What a digest has of the most words of held-out sentences: nothing where any are welcome."""
    return {} if longest is None else {"longest": longest}


class Recorded(Protocol):
    """Work whose outcome is kept; ``str`` names it."""

    def digest(self, data: Mapping[str, str]) -> str:
        """Hexadecimal digest of all that decides the outcome."""


def digest_of(decisive: dict[str, Any], heads: str) -> str:
    """Hexadecimal digest of what decides an outcome, with the head table where it is a file."""
    if Path(heads).is_file():
        decisive = {**decisive, "heads": file_digest(Path(heads))}
    text = json.dumps(decisive, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class HeldOut(NamedTuple):
    """Held-out trees as they stand, to score against, and clean, to take the words of.

    ``n_all`` counts those of all lengths.
    """

    gold: list[Tree]
    clean: list[Tree]
    n_all: int


class Data:
    """The trees of a study, each file read once for each way of cleaning.

    Parameters
    ----------
    train
        File of training trees.
    parts
        Held-out files by name.
    """

    def __init__(self, train: Path, parts: Mapping[str, Path]) -> None:
        self._train = train
        self._parts = dict(parts)
        self.training = cache(self._read_training)
        self.held_out = cache(self._read_held_out)
        self._raw = cache(self._read_raw)

    @property
    def parts(self) -> list[str]:
        return list(self._parts)

    @property
    def files(self) -> tuple[Path, dict[str, Path]]:
        """What another process makes the same of."""
        return self._train, self._parts

    @cached_property
    def digests(self) -> dict[str, str]:
        files = {"train": self._train, **self._parts}
        return {name: file_digest(path) for name, path in files.items()}

    def _read_training(self, cleaning: CleaningOptions) -> list[Tree]:
        trees = read_treebank(self._train, cleaning=cleaning).trees
        if not trees:
            raise TreebankFormatError(
                f"{self._train}: no tree to learn from; at least one is needed"
            )
        return trees

    def _read_raw(self, part: str) -> list[Tree]:
        return read_treebank(self._parts[part], cleaning=None).trees

    def _read_held_out(self, part: str, cleaning: CleaningOptions, longest: int | None) -> HeldOut:
        pairs = [(tree, clean(tree, cleaning)) for tree in self._raw(part)]
        kept = [(tree, cleaned) for tree, cleaned in pairs if cleaned is not None]
        if not kept:
            raise TreebankFormatError(
                f"{self._parts[part]}: no tree to score on; at least one is needed"
            )
        n_all = len(kept)
        if longest is not None:
            kept = [pair for pair in kept if len(pair[1].words()) <= longest]
        if not kept:
            raise TreebankFormatError(
                f"{self._parts[part]}: none of its {counted(n_all, 'sentence')} has at most "
                f"{counted(longest or 0, 'word')}, the longest that is asked for; at least one is "
                "needed"
            )
        return HeldOut([gold for gold, _ in kept], [cleaned for _, cleaned in kept], n_all)


class Folder:
    """Where a study leaves its records and the checkpoints of what is still running.

    Parameters
    ----------
    path
        The folder of the study's results.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cells = path / "cells"
        self._checkpoints = path / "checkpoints"

    def make(self) -> None:
        """Make the folders that are not there."""
        for folder in (self._cells, self._checkpoints):
            folder.mkdir(parents=True, exist_ok=True)

    def record_of(self, work: Recorded, digests: Mapping[str, str]) -> dict[str, Any] | None:
        """The record of finished work, whatever it was called; None if there is none."""
        digest = work.digest(digests)
        for path in self._cells.glob(f"*-{digest[:_NAME_DIGITS]}.json"):
            with suppress(ValueError):  # not by us, or cut short by a full disk: done again
                record = json.loads(path.read_text("utf-8"))
                if isinstance(record, dict) and record.get("digest") == digest:
                    return record
        return None

    def keep(self, work: Recorded, digests: Mapping[str, str], record: Mapping[str, Any]) -> None:
        """Write the record of finished work whole, and drop its checkpoint."""
        name = _file_name(work, digests)
        with write_whole(self._cells / f"{name}.json") as out:
            out.write(json.dumps(record, allow_nan=False) + "\n")
        checkpoint = self.checkpoint(work, digests)
        if checkpoint.is_dir():
            shutil.rmtree(checkpoint)
        else:
            checkpoint.unlink(missing_ok=True)

    def checkpoint(self, work: Recorded, digests: Mapping[str, str]) -> Path:
        """Where long work may leave its state, in a file or a folder."""
        return self._checkpoints / f"{_file_name(work, digests)}.checkpoint"

    def ensemble(self, name: str) -> Path:
        """Where an ensemble is."""
        return self.path / "ensembles" / name


def _file_name(work: Recorded, data: Mapping[str, str]) -> str:
    """A name that people can read, not too long for a disk, made unique by the digest."""
    readable = re.sub(r"[^a-z0-9+]+", "-", str(work).lower()).strip("-")[:_NAME_LETTERS]
    return f"{readable}-{work.digest(data)[:_NAME_DIGITS]}"


class _Stages:
    """CPU seconds of each stage that training tells of, in order."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage = ""
        self._began = time.process_time()

    def __call__(self, stage: str, share: float) -> None:  # noqa: ARG002 - as training calls it
        if stage != self._stage:
            self.close()
            self._stage = stage

    def close(self) -> None:
        now = time.process_time()
        if self._stage:
            spent = self.seconds.get(self._stage, 0.0) + now - self._began
            self.seconds[self._stage] = spent
            self._began = now


def run_cell(cell: Cell, data: Data, folder: Folder, processes: int = 1) -> dict[str, Any]:
    """Train, score, and write the record.

    Parameters
    ----------
    cell
        What to train.
    data
        The trees.
    folder
        Where the record is written.
    processes
        How many cells run at a time, which times depend on.

    Returns
    -------
    dict
        The record, fit for JSON: settings, CPU seconds by stage, sizes of the model, scores
        and bracket counts of each held-out part, for EM its iterations.
    """
    cleaning = cell.options.treebank.cleaning
    trees = chosen_trees(data.training(cleaning), cell.share, cell.seed)
    held_out = {part: data.held_out(part, cleaning, cell.longest) for part in data.parts}
    checkpoint = folder.checkpoint(cell, data.digests)
    _warm(cell.options, tuple(trees[:WARMING_TREES]))
    stages = _Stages()
    parser = _train(cell, trees, held_out["dev"].clean, stages, checkpoint)
    stages.close()
    record: dict[str, Any] = {
        "format": FORMAT,
        "digest": cell.digest(data.digests),
        "cell": {**cell.place._asdict(), "method": cell.method, "tags": cell.tags},
        "settings": cell.settings(),
        "data": data.digests,
        "trees": len(trees),
        "words": sum(len(tree.words()) for tree in trees),
        "stages": stages.seconds,
        "em": parser.description.get("em"),
        "parameters": parser.grammar.n_parameters,
        "bytes": _size(parser, folder.path),
        "decomposition": _decomposition(parser),
        "scores": {part: _scores(parser, trees, cell.tags) for part, trees in held_out.items()},
        "all_sentences": {part: trees.n_all for part, trees in held_out.items()},
        "machine": machine(),
        "processes": processes,
        "versions": versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folder.keep(cell, data.digests, record)
    return record


def _train(
    cell: Cell, trees: list[Tree], dev: list[Tree], stages: _Stages, checkpoint: Path
) -> ConstituencyParser:
    def attempt() -> ConstituencyParser:
        return train(
            trees,
            cell.options,
            dev=dev,
            seed=cell.seed,
            progress=stages,
            checkpoint=checkpoint,
        )

    try:
        return attempt()
    except ModelFileError:
        # A checkpoint that can't be gone on from is worth less than a new start.
        checkpoint.unlink(missing_ok=True)
        return attempt()


def chosen_trees(trees: list[Tree], share: float, seed: int) -> list[Tree]:
    """A share of the trees in their order, drawn so that smaller shares lie within larger ones."""
    n = max(1, round(share * len(trees)))
    if n == len(trees):
        return trees
    drawn = np.sort(generator(seed).permutation(len(trees))[:n])
    return [trees[number] for number in drawn]


@cache
def _warm(options: TrainingOptions, trees: tuple[Tree, ...]) -> None:
    """Train and parse a little, so that no compilation falls into what is measured.

    The few trees may lack a nonterminal that has states of its own, and there are no held-out
    trees to search on.
    """
    options = replace(
        options,
        spectral=replace(options.spectral, states_of={}),
        em=replace(options.em, states_of={}),
        state_search=None,
    )
    parser = train(trees, options)
    parser.parse(trees[0].words(), None if options.tagger else trees[0].tags())


def _size(parser: ConstituencyParser, folder: Path) -> int:
    """Bytes of the model file."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".model-") as temporary:
        path = Path(temporary) / "model.egt"
        parser.save(path)
        return path.stat().st_size


def _decomposition(parser: ConstituencyParser) -> dict[str, Any] | None:
    """How well the rules could be decomposed, if they were."""
    told = parser.description.get("decomposition")
    return told and {name: told[name] for name in ("rank", "relative_error")}


def _scores(
    parser: ConstituencyParser, held_out: HeldOut, tags: Literal["gold", "own"]
) -> dict[str, Any]:
    began = time.process_time()
    results = [
        parser.parse(tree.words(), tree.tags() if tags == "gold" else None)
        for tree in held_out.clean
    ]
    seconds = time.process_time() - began
    fallbacks = [result.fallback is not None for result in results]
    scores = score(held_out.gold, [result.tree for result in results], EVALB_COLLINS)
    return {
        **figures_of(scores.sentences, fallbacks),
        "negative": sum(result.sign < 0 for result in results),
        "parsing_cpu_seconds": seconds,
    }


def figures_of(sentences: Sequence[SentenceScore], fallbacks: Sequence[bool]) -> dict[str, Any]:
    """What a record says of parses: figures over all sentences, and counts of each.

    Parameters
    ----------
    sentences
        Scores of the parses.
    fallbacks
        Whether something had to be given up for each.
    """
    options, cut_off = EVALB_COLLINS, EVALB_COLLINS.cut_off
    all_lengths = summarise(sentences, options)
    short = [one for one in sentences if cut_off is not None and one.length <= cut_off]
    return {
        "f1": all_lengths.f1,
        "recall": all_lengths.recall,
        "precision": all_lengths.precision,
        "exact_match": all_lengths.exact_match,
        "tagging_accuracy": all_lengths.tagging_accuracy,
        "f1_up_to_40": None if cut_off is None else summarise(short, options).f1,
        "sentences": all_lengths.sentences,
        "not_compared": all_lengths.errors + all_lengths.missing,
        "fallbacks": sum(fallbacks),
        # Matched, gold and parsed brackets; null for a sentence that EVALB leaves out.
        "counts": [
            [one.matched, one.gold, one.parsed] if one.status == "ok" else None for one in sentences
        ],
    }


@cache
def machine() -> dict[str, Any]:
    """What the times were measured on."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
        model = found[1] if found else model
    return {"processor": model, "cores": os.cpu_count(), "system": platform.platform(terse=True)}


@cache
def versions() -> dict[str, str]:
    """Of what computes."""
    packages = ("numpy", "scipy", "numba", "python-crfsuite")
    return {
        "eigentree": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
