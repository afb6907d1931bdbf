"""An ensemble of a study: its training, the figures of its members and combinations, the record."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from eigentree._core.processes import cpu_seconds
from eigentree.constituency.ensemble.config import EnsembleConfig, Member
from eigentree.constituency.ensemble.diversity import Pairs, diversity_of
from eigentree.constituency.ensemble.model_folder import member_path
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.constituency.parser import ConstituencyParser
from eigentree.evaluation.result import SentenceScore
from eigentree.linalg.threads import one_thread
from eigentree.studies.ensemble_answers import Piece, answered
from eigentree.studies.ensemble_runs import Entrant, groups_of, steps_of
from eigentree.studies.runs import FORMAT, Data, Folder, figures_of, machine, versions
from eigentree.treebank.io.text_files import write_whole
from eigentree.types import Progress

Record = dict[str, Any]


def run_ensemble(
    entrant: Entrant, data: Data, folder: Folder, jobs: int = 1, progress: Progress | None = None
) -> Record:
    """Train an ensemble, score it and its members, and write the record.

    Parameters
    ----------
    entrant
        What to train.
    data
        The trees.
    folder
        Where the ensemble and the record are written; what is there already is not done again.
    jobs
        Processes; all figures but times and memory are the same for any number.
    progress
        Called with the stage and the share of it that is done.

    Returns
    -------
    dict
        The record, fit for JSON: figures of all members, of families and of combinations, with
        bracket counts of each sentence for the combinations and for the member that is best on
        dev.

    Cost
    ----
    Training, and of each held-out sentence an inside-outside and a decoding for each member;
    besides, of each sentence, a comparison of all pairs of its distinct trees.
    """
    told = progress or (lambda _stage, _share: None)
    trees = data.training(entrant.cleaning)
    path = folder.ensemble(entrant.name)
    checkpoint = folder.checkpoint(entrant, data.digests)
    checkpoint.mkdir(parents=True, exist_ok=True)
    with _timed(checkpoint / "training.json", whole=not path.exists()) as training, one_thread():
        train_ensemble(
            trees,
            entrant.description,
            path,
            tagger=entrant.tags == "own",
            seed=entrant.seed,
            jobs=jobs,
            progress=told,
        )
    pieces = answered(entrant, data, path, checkpoint, jobs, told)
    record = {
        "format": FORMAT,
        "digest": entrant.digest(data.digests),
        "ensemble": {"name": entrant.name, "tags": entrant.tags, "seed": entrant.seed},
        "settings": entrant.description.tables(),
        "data": data.digests,
        "trees": len(trees),
        "words": sum(len(tree.words()) for tree in trees),
        "training": training,
        **_figures(entrant.description, path, pieces),
        "all_sentences": {
            part: data.held_out(part, entrant.cleaning, entrant.longest).n_all
            for part in data.parts
        },
        "most_memory": _most_memory(),
        "machine": machine(),
        "processes": jobs,
        "versions": versions(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folder.keep(entrant, data.digests, record)
    return record


@contextmanager
def _timed(path: Path, *, whole: bool) -> Iterator[Record]:
    """Measure work that may be stopped and begun again; the value is filled in at its end.

    The value tells CPU seconds, those that passed, and whether they are those of the whole work:
    what was stopped without warning, or was done before there was a file, is not measured.
    """
    times: Record = {"whole": whole, "cpu_seconds": 0.0, "wall_seconds": 0.0, "ended": True}
    with suppress(OSError, ValueError):  # not begun yet
        times = dict(json.loads(path.read_text("utf-8")))
    times |= {"whole": times["whole"] and times["ended"], "ended": False}
    began, spent = time.monotonic(), cpu_seconds()

    def keep() -> None:
        with write_whole(path) as out:
            out.write(json.dumps(times) + "\n")

    keep()
    try:
        yield times
    finally:
        times["cpu_seconds"] += cpu_seconds() - spent
        times["wall_seconds"] += time.monotonic() - began
        times["ended"] = True
        keep()
        del times["ended"]


def _most_memory() -> int | None:
    """Bytes that the largest process has had so far: this one, or one that it has started."""
    with suppress(ImportError):  # not on every system
        import resource

        most = max(
            resource.getrusage(whose).ru_maxrss
            for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return most if sys.platform == "darwin" else 1024 * most
    return None


# Figures --------------------------------------------------------------------------------------


class _Part:
    """The pieces of a held-out part, put together."""

    def __init__(self, pieces: Sequence[Record]) -> None:
        n = sum(len(piece["sentences"]) for piece in pieces)
        of_place: dict[int, Record] = {}
        for piece in pieces:
            places = Piece(*piece["piece"]).places(n)
            of_place.update(zip(places, piece["sentences"], strict=True))
        self.sentences = [of_place[place] for place in range(n)]
        self.cpu_seconds = sum(piece["cpu_seconds"] for piece in pieces)
        self.matched = np.sum([piece["matched"] for piece in pieces], axis=0)
        self.total = np.sum([piece["total"] for piece in pieces], axis=0)
        self.growth = [
            np.sum(of_group, axis=0)
            for of_group in zip(*(piece["growth"] for piece in pieces), strict=True)
        ]
        self._trees = [[SentenceScore(*one) for one in each["trees"]] for each in self.sentences]

    def of_member(self, member: int) -> Record:
        scores = [
            trees[each["choice"][member]]
            for trees, each in zip(self._trees, self.sentences, strict=True)
        ]
        return figures_of(scores, [each["lost"][member] for each in self.sentences])

    def of_combination(self, name: str) -> Record:
        scores = [SentenceScore(*each["answers"][name]) for each in self.sentences]
        return figures_of(scores, [each["gave_up"][name] for each in self.sentences])

    def oracle(self, members: Sequence[int]) -> float | None:
        """F1 of the best tree of each sentence that any of these members gave."""
        best = []
        for trees, each in zip(self._trees, self.sentences, strict=True):
            given = [trees[place] for place in dict.fromkeys(each["choice"][m] for m in members)]
            best.append(max(given, key=_sentence_f1))
        f1: float | None = figures_of(best, [])["f1"]
        return f1

    def of_group(self, members: Sequence[int]) -> Record:
        """How much some members differ, and how good the best of their trees would be."""
        pairs = np.ix_(members, members)
        choice = np.array([each["choice"] for each in self.sentences]).T[members]
        found = diversity_of(Pairs(self.matched[pairs], self.total[pairs]), choice)
        return {
            "oracle": self.oracle(members),
            "pair_f1": found.mean_f1,
            "all_agree": found.all_agree,
            "distinct": found.distinct,
        }


def _sentence_f1(one: SentenceScore) -> float:
    return -1.0 if one.status != "ok" or one.f1 is None else one.f1


def _figures(description: EnsembleConfig, path: Path, pieces: Sequence[Record]) -> Record:
    """What the record says of members, families and combinations."""
    found: dict[str, list[Record]] = {}
    for piece in pieces:
        found.setdefault(piece["piece"][0], []).append(piece)
    parts = {name: _Part(each) for name, each in found.items()}
    members = description.members()
    scores = [
        {name: part.of_member(place) for name, part in parts.items()}
        for place in range(len(members))
    ]
    best = max(range(len(members)), key=lambda place: scores[place]["dev"]["f1"] or 0.0)
    groups = groups_of(description)
    return {
        "parsing_cpu_seconds": {name: part.cpu_seconds for name, part in parts.items()},
        "members": [
            {
                **_of_member(description, member, path),
                "scores": {
                    name: {key: value for key, value in of.items() if key != "counts"}
                    for name, of in scores[place].items()
                },
            }
            for place, member in enumerate(members)
        ],
        "best_member": {"name": members[best].name, "scores": scores[best]},
        "groups": [
            {
                "family": family,
                "members": [members[place].name for place in group],
                "parts": {name: part.of_group(group) for name, part in parts.items()},
            }
            for family, group in groups.items()
        ],
        "combinations": [
            {
                "name": each.name,
                "how": each.how,
                "inputs": each.inputs,
                "members": sum(
                    member.family in description.needed_by(each.name) for member in members
                ),
                "scores": {name: part.of_combination(each.name) for name, part in parts.items()},
            }
            for each in description.combination
        ],
        "growth": [
            {
                "family": family,
                "members": steps_of(len(group)),
                "tree_coverage": [_f1(counts) for counts in sums],
                "oracle": [parts["dev"].oracle(group[:step]) for step in steps_of(len(group))],
            }
            for (family, group), sums in zip(groups.items(), parts["dev"].growth, strict=True)
        ],
    }


def _f1(counts: Sequence[int]) -> float | None:
    matched, gold, parsed = (int(count) for count in counts)
    return 2 * matched / (gold + parsed) if gold + parsed else None


def _of_member(description: EnsembleConfig, member: Member, path: Path) -> Record:
    family = next(each for each in description.family if each.name == member.family)
    file = member_path(path, member.name)
    return {
        "name": member.name,
        "family": family.name,
        "method": family.method,
        "noise": family.noise,
        "sigma": member.options.noise.sigma,
        "number": member.number + 1,
        "parameters": ConstituencyParser.load(file, verify=False).grammar.n_parameters,
        "bytes": file.stat().st_size,
    }
