"""Predictions of an ensemble's members and combinations on held-out sentences, and scores.

Each sentence is parsed once by all members, and every combination is applied to their
predictions.  The sentences of a part are divided into chunks, which processes share; the scores of
a finished chunk are saved, so that interrupted work resumes.  Chunks, and hence the figures, do
not depend on the number of processes.

A chunk has, for each sentence, the scores of the distinct trees that members predicted, and which
member predicted which; all figures of members, and the oracle, follow from these.  A member
without a tree is scored with the flat tree that a parser would fall back on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from eigentree._core.processes import USE_FEWER_JOBS, worker_pool
from eigentree.constituency.ensemble.combine import Chains, Combined, Evidence, combine
from eigentree.constituency.ensemble.config import EnsembleConfig
from eigentree.constituency.ensemble.diversity import Pairs
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.predictions import Prediction, Predictor, common_fallback
from eigentree.errors import SettingsError
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.linalg.threads import one_thread
from eigentree.sentence_input import PreparedSentence, prepare, split_long
from eigentree.studies.ensemble_runs import EnsembleRun, groups_of, steps_of
from eigentree.studies.model_runs import HeldOutTrees, StudyTrees
from eigentree.studies.run import Record, Workspace, stored_record
from eigentree.treebank.io.text_files import write_whole
from eigentree.treebank.tree import Tree

# Sentences of a chunk; members are opened again for each chunk.
CHUNK = 128


class Chunk(NamedTuple):
    """Every ``step``-th sentence of a part, from ``first`` on."""

    part: str
    first: int
    step: int

    def indices(self, n_sentences: int) -> range:
        """The indices of its sentences in the part."""
        return range(self.first, n_sentences, self.step)


def evaluate_chunks(
    run: EnsembleRun, trees: StudyTrees, path: Path, workspace: Workspace
) -> list[Record]:
    """Parse and score all chunks of the held-out parts, in order.

    Parameters
    ----------
    run, trees
        The ensemble, and the trees of the study.
    path
        The folder of the ensemble.
    workspace
        Its checkpoint is a folder for the scores of chunks.

    Returns
    -------
    list of dict
        For each chunk: its ``sentences``, CPU seconds, ``matched`` and ``total`` brackets of each
        pair of members, and on dev the counts of ``growth``.
    """
    evaluator = _Evaluator(run, trees, path, workspace.checkpoint)
    chunks = evaluator.chunks()
    workspace.stages("parsing", 0.0)
    records = []
    for record in _evaluated(evaluator, chunks, min(workspace.processes, len(chunks))):
        records.append(record)
        workspace.stages("parsing", len(records) / len(chunks))
    return records


def _evaluated(evaluator: _Evaluator, chunks: Sequence[Chunk], processes: int) -> Iterator[Record]:
    if processes <= 1:
        with one_thread():
            for chunk in chunks:
                yield evaluator.evaluate(chunk)
        return
    given = evaluator.run, evaluator.trees.files, evaluator.path, evaluator.checkpoint
    try:
        with worker_pool(processes, _start_worker, *given) as pool:
            yield from pool.map(_evaluate_here, chunks)
    except BrokenProcessPool as error:
        raise SettingsError(f"{USE_FEWER_JOBS}; finished work is kept") from error


_here: _Evaluator


def _start_worker(
    run: EnsembleRun, files: tuple[Path, dict[str, Path]], path: Path, checkpoint: Path
) -> None:
    global _here  # set once in each worker process
    _here = _Evaluator(run, StudyTrees(*files), path, checkpoint)


def _evaluate_here(chunk: Chunk) -> Record:
    with one_thread():
        return _here.evaluate(chunk)


# One chunk -------------------------------------------------------------------------------------


class _Predictions(NamedTuple):
    """The predictions for a sentence.

    Attributes
    ----------
    trees
        The distinct trees of members.
    choice
        For each member the index of its tree.
    combined
        The tree of each combination.
    fallback
        Whether the tree of each combination is a fall-back.
    no_tree
        For each member, whether it found no tree.
    """

    trees: list[Tree]
    choice: list[int]
    combined: dict[str, Tree]
    fallback: dict[str, bool]
    no_tree: list[bool]


class _Evaluator:
    """Parses and scores chunks of the held-out parts; each process has one."""

    def __init__(self, run: EnsembleRun, trees: StudyTrees, path: Path, checkpoint: Path) -> None:
        self.run, self.trees, self.path, self.checkpoint = run, trees, path, checkpoint
        self.groups = groups_of(run.description)
        self._parser: EnsembleParser | None = None

    def held_out(self, part: str) -> HeldOutTrees:
        return self.trees.held_out(part, self.run.cleaning, self.run.max_words)

    def chunks(self) -> list[Chunk]:
        """All chunks, of dev first."""
        chunks = []
        for part in self.trees.parts:
            step = -(-len(self.held_out(part).gold) // CHUNK)
            chunks += [Chunk(part, first, step) for first in range(step)]
        return chunks

    def evaluate(self, chunk: Chunk) -> Record:
        """The scores of a chunk, saved or new."""
        path = self.checkpoint / f"{chunk.part}-{chunk.first + 1}-of-{chunk.step}.json"
        stored = stored_record(path)
        if stored is not None:
            return stored
        text = json.dumps(self._parse_and_score(chunk), allow_nan=False)
        with write_whole(path) as out:
            out.write(text + "\n")
        return dict(json.loads(text))  # as it is read from the file

    def _parse_and_score(self, chunk: Chunk) -> Record:
        gold, clean, _ = self.held_out(chunk.part)
        indices = chunk.indices(len(gold))
        with_tags = self.run.tags == "gold"
        inputs = [
            prepare(clean[index].words(), clean[index].tags() if with_tags else None, None)
            for index in indices
        ]
        if self._parser is None:
            self._parser = EnsembleParser.load(self.path, low_memory=True, verify=False)
            _warm_up(self._parser, inputs[0])
        began = time.process_time()
        predictions = list(_predict(self._parser, inputs, self.run.description))
        seconds = time.process_time() - began
        pairs = Pairs.none(len(predictions[0].choice))
        growth = _Growth(self.groups, self._parser.backbones[0].root_label)
        sentences = []
        for index, each in zip(indices, predictions, strict=True):
            of_trees = score([gold[index]] * len(each.trees), each.trees, EVALB_COLLINS)
            combined = list(each.combined.values())
            of_combined = score([gold[index]] * len(combined), combined, EVALB_COLLINS)
            sentences.append(
                {
                    "choice": each.choice,
                    "trees": of_trees.sentences,
                    "predictions": dict(zip(each.combined, of_combined.sentences, strict=True)),
                    "fallback": each.fallback,
                    "no_tree": each.no_tree,
                }
            )
            pairs.add(each.trees, each.choice, EVALB_COLLINS)
            if chunk.part == "dev":
                growth.add(each, gold[index])
        return {
            "chunk": chunk,
            "cpu_seconds": seconds,
            "sentences": sentences,
            "matched": pairs.matched.tolist(),
            "total": pairs.total.tolist(),
            "growth": growth.counts,
        }


def _warm_up(parser: EnsembleParser, sentence: PreparedSentence) -> None:
    """Parse a sentence with one member, to exclude compilation from measured times."""
    words, tags, *_ = sentence
    (part, *_) = split_long(prepare(words, tags, parser.tagger), parser.options.max_words)
    member = next(iter(parser.members(0)))
    (prediction,) = Predictor([part], parser.backbones[0]).predict([member], Chains())
    evidence = prediction[member[0]].evidence
    combine(evidence, part.words, part.tags or part.words, root="S")


def _predict(
    parser: EnsembleParser, sentences: Sequence[PreparedSentence], description: EnsembleConfig
) -> Iterator[_Predictions]:
    """Predictions for sentences; long ones are split as in parsing."""
    max_words = parser.options.max_words
    split = [list(split_long(sentence, max_words)) for sentence in sentences]
    answers = parser.every_output((each.words, each.tags) for parts in split for each in parts)
    for parts in split:
        predictions = [_predictions(parser, part, *next(answers), description) for part in parts]
        if len(predictions) == 1:
            yield predictions[0]
        else:
            yield _concatenated(predictions, parser.backbones[0].root_label)


def _predictions(
    parser: EnsembleParser,
    sentence: PreparedSentence,
    predictions: Mapping[str, Prediction],
    combined: Mapping[str, Combined],
    description: EnsembleConfig,
) -> _Predictions:
    flat: Tree | None = None
    numbers: dict[Tree, int] = {}
    choice: list[int] = []
    no_tree: list[bool] = []
    for family in description.family:
        prediction = predictions[family.name]
        for index in prediction.choice.tolist():
            no_tree.append(index < 0)
            if index < 0 and flat is None:
                flat = _flat(parser, sentence)
            tree = flat if index < 0 else prediction.trees[index]
            assert tree is not None
            choice.append(numbers.setdefault(tree, len(numbers)))
    fallback = {}
    for name in combined:
        needed = [predictions[family] for family in description.needed_by(name)]
        fallback[name] = common_fallback(needed) is not None
    trees = {name: each.tree for name, each in combined.items()}
    return _Predictions(list(numbers), choice, trees, fallback, no_tree)


def _flat(parser: EnsembleParser, sentence: PreparedSentence) -> Tree:
    words, tags, *_ = sentence
    if tags is None and parser.tagger is not None:
        tags = parser.tagger.tag(words)
    tree = parser.backbones[0].flat(PreparedSentence(words, tags)).tree
    assert tree is not None  # there are words
    return tree


def _concatenated(parts: Sequence[_Predictions], root: str) -> _Predictions:
    """The predictions for a sentence from those for its parts."""
    numbers: dict[Tree, int] = {}
    choice = []
    for indices in zip(*(each.choice for each in parts), strict=True):
        children = [each.trees[index] for each, index in zip(parts, indices, strict=True)]
        choice.append(numbers.setdefault(Tree(root, children), len(numbers)))
    combined = {
        name: Tree(root, [each.combined[name] for each in parts]) for name in parts[0].combined
    }
    no_tree = [all(each) for each in zip(*(each.no_tree for each in parts), strict=True)]
    return _Predictions(list(numbers), choice, combined, dict.fromkeys(combined, True), no_tree)


class _Growth:
    """Bracket counts of the tree coverage of the first few members, summed over sentences.

    The counts are lists, one a group, with matched, gold and parsed brackets for each number of
    members.
    """

    def __init__(self, groups: Mapping[str | None, Sequence[int]], root: str) -> None:
        self._groups, self._root = groups, root
        self.counts = [[[0, 0, 0] for _ in steps_of(len(group))] for group in groups.values()]

    def add(self, predictions: _Predictions, gold: Tree) -> None:
        words = predictions.trees[0].words()
        tags = next(iter(predictions.combined.values())).tags()
        for group, sums in zip(self._groups.values(), self.counts, strict=True):
            evidence = Evidence(len(words), Chains())
            combined = []
            done = 0
            for step in steps_of(len(group)):
                votes: dict[int, float] = {}
                for member in group[done:step]:
                    index = predictions.choice[member]
                    votes[index] = votes.get(index, 0.0) + 1.0
                trees = [predictions.trees[index] for index in votes]
                evidence.add_trees(trees, list(votes.values()))
                done = step
                combined.append(combine(evidence, words, tags, root=self._root).tree)
            scores = score([gold] * len(combined), combined, EVALB_COLLINS).sentences
            for total, one in zip(sums, scores, strict=True):
                if one.status == "ok":
                    for at, count in enumerate((one.matched, one.gold, one.parsed)):
                        total[at] += count
