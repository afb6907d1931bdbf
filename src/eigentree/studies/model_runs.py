"""Parsers of a study: training, scores, and what the record of each has.

A record has everything that the report needs, including the bracket counts of each sentence.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from eigentree._core.random import generator
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training import train
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import ModelFileError, TreebankFormatError, counted
from eigentree.evaluation.parseval import score
from eigentree.evaluation.result import SentenceScore, summarise
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.studies.run import Record, Run, Workspace, timed
from eigentree.treebank.cleaning import CleaningOptions, clean
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

# Number of trees of the training that has everything compiled.
WARM_UP_TREES = 12

Tags = Literal["gold", "own"]


class RunKey(NamedTuple):
    """What distinguishes a parser from the others of its study.

    Attributes
    ----------
    model
        Name of the model.
    states
        Maximum number of latent states of a nonterminal; None for methods without states.
    without
        Name of the component that was removed; None for the whole model.
    share
        Fraction of the training trees, above 0 and up to 1.
    seed
        Of training, and of the selection of trees.
    """

    model: str
    states: int | None
    without: str | None
    share: float
    seed: int

    @property
    def row(self) -> str:
        """The name without the seed."""
        parts = [self.model]
        if self.states is not None:
            parts.append(f"m = {self.states}")
        if self.without is not None:
            parts.append(self.without)
        if self.share < 1:
            parts.append(f"{100 * self.share:g} % of the trees")
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{self.row}, seed {self.seed}" if self.seed else self.row


@dataclass(frozen=True)
class ModelRun(Run):
    """A parser that is trained and scored.

    Attributes
    ----------
    key
    method
        The training method (may be ``markov``).
    tags
        Whether held-out sentences are parsed with gold tags or the parser's own.
    options
        All training settings.
    max_words
        Maximum number of words of a held-out sentence; None for no limit.
    """

    key: RunKey
    method: str
    tags: Tags
    options: TrainingOptions
    max_words: int | None

    @classmethod
    def of(
        cls,
        key: RunKey,
        method: str,
        tags: Tags,
        options: TrainingOptions,
        max_words: int | None = None,
    ) -> ModelRun:
        """A run with these attributes."""
        passes = options.em.n_iterations if "em" in method.split("+") else 1
        return cls(
            str(key),
            {
                "options": options.decisive(),
                "share": key.share,
                "seed": key.seed,
                "tags": tags,
                "max_words": max_words,
            },
            key,
            method,
            tags,
            options,
            max_words,
            files={"heads": Path(options.treebank.heads)},
            cost=float(key.share * passes * (1 + (key.states or 0)) ** 2),
        )


class HeldOutTrees(NamedTuple):
    """Trees to parse and score on.

    Attributes
    ----------
    gold
        The trees as in the file, to score against.
    clean
        The same after cleaning; their words are parsed.
    n_all
        Number of trees of all lengths.
    """

    gold: list[Tree]
    clean: list[Tree]
    n_all: int


class StudyTrees:
    """The trees of a study; each file is read once for each way of cleaning.

    Parameters
    ----------
    train
        The file of training trees.
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
        """The arguments from which another process makes an equal object."""
        return self._train, self._parts

    def _read_training(self, cleaning: CleaningOptions) -> list[Tree]:
        trees = read_treebank(self._train, cleaning=cleaning).trees
        if not trees:
            raise TreebankFormatError(f"{self._train}: no training trees; at least one is needed")
        return trees

    def _read_raw(self, part: str) -> list[Tree]:
        return read_treebank(self._parts[part], cleaning=None).trees

    def _read_held_out(
        self, part: str, cleaning: CleaningOptions, max_words: int | None
    ) -> HeldOutTrees:
        pairs = [(tree, clean(tree, cleaning)) for tree in self._raw(part)]
        scored = [(tree, cleaned) for tree, cleaned in pairs if cleaned is not None]
        if not scored:
            raise TreebankFormatError(
                f"{self._parts[part]}: no trees to score; at least one is needed"
            )
        n_all = len(scored)
        if max_words is not None:
            scored = [pair for pair in scored if len(pair[1].words()) <= max_words]
        if not scored:
            raise TreebankFormatError(
                f"{self._parts[part]}: none of its {counted(n_all, 'sentence')} has at most "
                f"{counted(max_words or 0, 'word')}, the limit of this study"
            )
        return HeldOutTrees([gold for gold, _ in scored], [cleaned for _, cleaned in scored], n_all)


class _StageTimer:
    """Measures the CPU seconds of each stage of training, from its progress reports."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage = ""
        self._began = time.process_time()

    def __call__(self, stage: str, share: float) -> None:  # noqa: ARG002 - a `Progress`
        if stage != self._stage:
            self.close()
            self._stage = stage

    def close(self) -> None:
        now = time.process_time()
        if self._stage:
            spent = self.seconds.get(self._stage, 0.0) + now - self._began
            self.seconds[self._stage] = spent
            self._began = now


def run_model(run: ModelRun, trees: StudyTrees, workspace: Workspace) -> Record:
    """Train and score a parser.

    Returns
    -------
    dict
        CPU seconds by stage, sizes of the model, scores and bracket counts of each held-out
        part, and the iterations of EM.
    """
    cleaning = run.options.treebank.cleaning
    training = _training_trees(run, trees)
    held_out = {part: trees.held_out(part, cleaning, run.max_words) for part in trees.parts}
    stages = _StageTimer()
    parser = _train(run, training, held_out["dev"].clean, stages, workspace.checkpoint)
    stages.close()
    return {
        "run": {**run.key._asdict(), "method": run.method, "tags": run.tags},
        "trees": len(training),
        "words": sum(len(tree.words()) for tree in training),
        "stages": stages.seconds,
        "em": parser.description.get("em"),
        "parameters": parser.grammar.n_parameters,
        "bytes": _size(parser, workspace.folder),
        "decomposition": _decomposition(parser),
        "scores": {part: _scores(parser, each, run.tags) for part, each in held_out.items()},
        "all_sentences": {part: each.n_all for part, each in held_out.items()},
    }


def _training_trees(run: ModelRun, trees: StudyTrees) -> list[Tree]:
    every = trees.training(run.options.treebank.cleaning)
    return chosen_trees(every, run.key.share, run.key.seed)


def _train(
    run: ModelRun, trees: list[Tree], dev: list[Tree], stages: _StageTimer, checkpoint: Path
) -> ConstituencyParser:
    def attempt() -> ConstituencyParser:
        return train(
            trees,
            run.options,
            dev=dev,
            seed=run.key.seed,
            progress=stages,
            checkpoint=checkpoint,
        )

    try:
        return attempt()
    except ModelFileError:
        # The checkpoint is damaged: start again.
        checkpoint.unlink(missing_ok=True)
        return attempt()


def chosen_trees(trees: list[Tree], share: float, seed: int) -> list[Tree]:
    """A random fraction of the trees, in order; smaller fractions are subsets of larger ones."""
    n = max(1, round(share * len(trees)))
    if n == len(trees):
        return trees
    drawn = np.sort(generator(seed).permutation(len(trees))[:n])
    return [trees[number] for number in drawn]


def warm_up_trees(run: ModelRun, trees: StudyTrees) -> tuple[Tree, ...]:
    """The trees to warm up on."""
    return tuple(_training_trees(run, trees)[:WARM_UP_TREES])


@cache
def warm_up(options: TrainingOptions, trees: tuple[Tree, ...]) -> None:
    """Train and parse on a few trees, to exclude compilation from measured times."""
    # These trees may lack a nonterminal with its own number of states, and there are no held-out
    # trees for a search.
    options = replace(
        options,
        spectral=replace(options.spectral, states_of={}),
        em=replace(options.em, states_of={}),
        state_search=None,
    )
    parser = train(trees, options)
    parser.parse(trees[0].words(), None if options.tagger else trees[0].tags())


def _size(parser: ConstituencyParser, folder: Path) -> int:
    """Size of the model file in bytes."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".model-") as temporary:
        path = Path(temporary) / "model.egt"
        parser.save(path)
        return path.stat().st_size


def _decomposition(parser: ConstituencyParser) -> dict[str, Any] | None:
    """Rank and relative error of the decomposition of the rules, if there is one."""
    report = parser.description.get("decomposition")
    return report and {name: report[name] for name in ("rank", "relative_error")}


def _scores(parser: ConstituencyParser, held_out: HeldOutTrees, tags: Tags) -> dict[str, Any]:
    results, seconds = timed(
        lambda: [
            parser.parse(tree.words(), tree.tags() if tags == "gold" else None)
            for tree in held_out.clean
        ]
    )
    fallbacks = [result.fallback is not None for result in results]
    scores = score(held_out.gold, [result.tree for result in results], EVALB_COLLINS)
    return {
        **scores_of(scores.sentences, fallbacks),
        "negative": sum(result.sign < 0 for result in results),
        "parsing_cpu_seconds": seconds,
    }


def scores_of(sentences: Sequence[SentenceScore], fallbacks: Sequence[bool]) -> dict[str, Any]:
    """The scores of a record: over all sentences, and counts of each sentence.

    Parameters
    ----------
    sentences
        The score of each parse.
    fallbacks
        Whether each parse is a fall-back.
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
        # Matched, gold and parsed brackets; null for a sentence that EVALB skips.
        "counts": [
            [one.matched, one.gold, one.parsed] if one.status == "ok" else None for one in sentences
        ],
    }
