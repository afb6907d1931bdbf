"""What the members and combinations of an ensemble answer to the held-out sentences of a study.

Every sentence is put to all members once, and every combination is applied to what they say.
The sentences of a part are dealt out to pieces, which processes share; each piece that is done
is in a file, so that work that was stopped goes on.  The pieces do not depend on the number of
processes, and so neither do the figures.

A piece keeps, for each sentence, the scores of the distinct trees that members gave, and which
member gave which; all figures of members, and the oracle, can be read off these.  A member that
finds no tree is held to the same flat one that a parser would fall back on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from eigentree._core.processes import WORKER_EXITED, worker_pool
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
from eigentree.studies.ensemble_runs import Entrant, groups_of, steps_of
from eigentree.studies.runs import Data, HeldOut
from eigentree.treebank.io.text_files import write_whole
from eigentree.treebank.tree import Tree
from eigentree.types import Progress

# Sentences of a piece: members are opened for each piece anew.
PIECE = 128

Record = dict[str, Any]


class Piece(NamedTuple):
    """Every so-and-so-many-th sentence of a part."""

    part: str
    first: int
    step: int

    def places(self, n_sentences: int) -> range:
        """The places of its sentences in the part."""
        return range(self.first, n_sentences, self.step)


def answered(
    entrant: Entrant, data: Data, path: Path, checkpoint: Path, jobs: int, told: Progress
) -> list[Record]:
    """What an ensemble answers to all pieces of the held-out parts, in their order.

    Parameters
    ----------
    entrant, data
        Of the study.
    path
        Where the ensemble is.
    checkpoint
        A folder for the pieces that are done.
    jobs
        Processes.
    told
        Called with the share that is done.

    Returns
    -------
    list of dict
        For each piece: its ``sentences``, CPU seconds, ``matched`` and ``total`` brackets of any
        two members, and on dev the counts of ``growth``.
    """
    examiner = _Examiner(entrant, data, path, checkpoint)
    pieces = examiner.pieces()
    told("parsing", 0.0)
    found = []
    for record in _one_by_one(examiner, pieces, min(jobs, len(pieces))):
        found.append(record)
        told("parsing", len(found) / len(pieces))
    return found


def _one_by_one(examiner: _Examiner, pieces: Sequence[Piece], processes: int) -> Iterator[Record]:
    if processes <= 1:
        with one_thread():
            for piece in pieces:
                yield examiner.answered(piece)
        return
    given = examiner.entrant, examiner.data.files, examiner.path, examiner.checkpoint
    try:
        with worker_pool(processes, _start_worker, *given) as pool:
            yield from pool.map(_answered_here, pieces)
    except BrokenProcessPool as error:
        raise SettingsError(f"{WORKER_EXITED}; finished work is kept") from error


_here: _Examiner


def _start_worker(
    entrant: Entrant, files: tuple[Path, dict[str, Path]], path: Path, checkpoint: Path
) -> None:
    global _here  # what a worker process is started for
    _here = _Examiner(entrant, Data(*files), path, checkpoint)


def _answered_here(piece: Piece) -> Record:
    with one_thread():
        return _here.answered(piece)


# One piece -------------------------------------------------------------------------------------


class _Output(NamedTuple):
    """What comes of one sentence: its distinct trees, which member gave which, and answers."""

    trees: list[Tree]
    choice: list[int]
    answers: dict[str, Tree]
    gave_up: dict[str, bool]  # by combination
    lost: list[bool]  # by member: whether it found no tree


class _Examiner:
    """Puts pieces of the held-out parts to an ensemble; each process has one."""

    def __init__(self, entrant: Entrant, data: Data, path: Path, checkpoint: Path) -> None:
        self.entrant, self.data, self.path, self.checkpoint = entrant, data, path, checkpoint
        self.groups = groups_of(entrant.description)
        self._parser: EnsembleParser | None = None

    def held_out(self, part: str) -> HeldOut:
        return self.data.held_out(part, self.entrant.cleaning, self.entrant.longest)

    def pieces(self) -> list[Piece]:
        """All pieces, of dev first."""
        pieces = []
        for part in self.data.parts:
            step = -(-len(self.held_out(part).gold) // PIECE)
            pieces += [Piece(part, first, step) for first in range(step)]
        return pieces

    def answered(self, piece: Piece) -> Record:
        """What came of a piece, now or earlier."""
        name = f"{piece.part}-{piece.first + 1}-of-{piece.step}.json"
        path = self.checkpoint / name
        with suppress(OSError, ValueError):  # not there, or cut short by a full disk
            return dict(json.loads(path.read_text("utf-8")))
        found = self._ask(piece)
        with write_whole(path) as out:
            out.write(json.dumps(found, allow_nan=False) + "\n")
        return found

    def _ask(self, piece: Piece) -> Record:
        gold, clean, _ = self.held_out(piece.part)
        places = piece.places(len(gold))
        with_tags = self.entrant.tags == "gold"
        asked = [
            prepare(clean[place].words(), clean[place].tags() if with_tags else None, None)
            for place in places
        ]
        if self._parser is None:
            self._parser = EnsembleParser.load(self.path, low_memory=True, verify=False)
            _warm(self._parser, asked[0])
        began = time.process_time()
        outputs = list(_outputs(self._parser, asked, self.entrant.description))
        seconds = time.process_time() - began
        pairs = Pairs.none(len(outputs[0].choice))
        growth = _Growth(self.groups, self._parser.backbones[0].root_label)
        sentences = []
        for place, output in zip(places, outputs, strict=True):
            of_trees = score([gold[place]] * len(output.trees), output.trees, EVALB_COLLINS)
            answers = list(output.answers.values())
            of_answers = score([gold[place]] * len(answers), answers, EVALB_COLLINS)
            sentences.append(
                {
                    "choice": output.choice,
                    "trees": of_trees.sentences,
                    "answers": dict(zip(output.answers, of_answers.sentences, strict=True)),
                    "gave_up": output.gave_up,
                    "lost": output.lost,
                }
            )
            pairs.add(output.trees, output.choice, EVALB_COLLINS)
            if piece.part == "dev":
                growth.add(output, gold[place])
        found = {
            "piece": piece,
            "cpu_seconds": seconds,
            "sentences": sentences,
            "matched": pairs.matched.tolist(),
            "total": pairs.total.tolist(),
            "growth": growth.counts,
        }
        # As it comes back from the file.
        return dict(json.loads(json.dumps(found)))


def _warm(parser: EnsembleParser, sentence: PreparedSentence) -> None:
    """Put a sentence to one member, so that no compilation falls into what is measured."""
    words, tags, *_ = sentence
    asked = prepare(words, tags, parser.tagger)
    (piece, *_) = split_long(asked, parser.options.max_words)
    member = next(iter(parser.members(0)))
    (prediction,) = Predictor([piece], parser.backbones[0]).read([member], Chains())
    evidence = prediction[member[0]].evidence
    combine(evidence, piece.words, piece.tags or piece.words, root="S")


def _outputs(
    parser: EnsembleParser, sentences: Sequence[PreparedSentence], description: EnsembleConfig
) -> Iterator[_Output]:
    """What comes of sentences; of a long one by its pieces, as when it is parsed."""
    most = parser.options.max_words
    pieces = [list(split_long(sentence, most)) for sentence in sentences]
    found = parser.every_answer((each.words, each.tags) for parts in pieces for each in parts)
    for parts in pieces:
        outputs = [_output(parser, part, *next(found), description) for part in parts]
        if len(outputs) == 1:
            yield outputs[0]
        else:
            yield _joined(outputs, parser.backbones[0].root_label)


def _output(
    parser: EnsembleParser,
    sentence: PreparedSentence,
    predictions: Mapping[str, Prediction],
    combined: Mapping[str, Combined],
    description: EnsembleConfig,
) -> _Output:
    flat: Tree | None = None
    numbers: dict[Tree, int] = {}
    choice: list[int] = []
    lost: list[bool] = []
    for family in description.family:
        prediction = predictions[family.name]
        for place in prediction.choice.tolist():
            lost.append(place < 0)
            if place < 0 and flat is None:
                flat = _flat(parser, sentence)
            tree = flat if place < 0 else prediction.trees[place]
            assert tree is not None
            choice.append(numbers.setdefault(tree, len(numbers)))
    gave_up = {}
    for name in combined:
        needed = [predictions[family] for family in description.needed_by(name)]
        gave_up[name] = common_fallback(needed) is not None
    answers = {name: each.tree for name, each in combined.items()}
    return _Output(list(numbers), choice, answers, gave_up, lost)


def _flat(parser: EnsembleParser, sentence: PreparedSentence) -> Tree:
    words, tags, *_ = sentence
    if tags is None and parser.tagger is not None:
        tags = parser.tagger.tag(words)
    tree = parser.backbones[0].flat(PreparedSentence(words, tags)).tree
    assert tree is not None  # there are words
    return tree


def _joined(outputs: Sequence[_Output], root: str) -> _Output:
    numbers: dict[Tree, int] = {}
    choice = []
    for places in zip(*(output.choice for output in outputs), strict=True):
        parts = [output.trees[place] for output, place in zip(outputs, places, strict=True)]
        choice.append(numbers.setdefault(Tree(root, parts), len(numbers)))
    answers = {
        name: Tree(root, [output.answers[name] for output in outputs])
        for name in outputs[0].answers
    }
    lost = [all(each) for each in zip(*(output.lost for output in outputs), strict=True)]
    return _Output(list(numbers), choice, answers, dict.fromkeys(answers, True), lost)


class _Growth:
    """Bracket counts of the tree coverage of the first few members, summed over sentences.

    The counts are lists, one a group, with matched, gold and parsed brackets for each number of
    members.
    """

    def __init__(self, groups: Mapping[str | None, Sequence[int]], root: str) -> None:
        self._groups, self._root = groups, root
        self.counts = [[[0, 0, 0] for _ in steps_of(len(group))] for group in groups.values()]

    def add(self, output: _Output, gold: Tree) -> None:
        words, tags = output.trees[0].words(), next(iter(output.answers.values())).tags()
        for group, sums in zip(self._groups.values(), self.counts, strict=True):
            evidence = Evidence(len(words), Chains())
            combined = []
            done = 0
            for step in steps_of(len(group)):
                votes: dict[int, float] = {}
                for member in group[done:step]:
                    place = output.choice[member]
                    votes[place] = votes.get(place, 0.0) + 1.0
                evidence.add_trees([output.trees[place] for place in votes], list(votes.values()))
                done = step
                found = combine(evidence, words, tags, root=self._root)
                combined.append(found.tree)
            scores = score([gold] * len(combined), combined, EVALB_COLLINS).sentences
            for total, one in zip(sums, scores, strict=True):
                if one.status == "ok":
                    for place, count in enumerate((one.matched, one.gold, one.parsed)):
                        total[place] += count
