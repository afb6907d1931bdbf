"""An ensemble of a study: training, and the figures of its members and combinations."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from eigentree._core.processes import cpu_seconds
from eigentree.constituency.ensemble.config import EnsembleConfig, Member
from eigentree.constituency.ensemble.diversity import Pairs, diversity_of
from eigentree.constituency.ensemble.model_folder import member_path
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.constituency.parser import ConstituencyParser
from eigentree.evaluation.result import SentenceScore
from eigentree.linalg.threads import one_thread
from eigentree.studies.ensemble_evaluation import Chunk, evaluate_chunks
from eigentree.studies.ensemble_runs import EnsembleRun, groups_of, steps_of
from eigentree.studies.model_runs import StudyTrees, scores_of
from eigentree.studies.run import Record, Workspace, stored_record
from eigentree.treebank.io.text_files import write_whole


def run_ensemble(run: EnsembleRun, trees: StudyTrees, workspace: Workspace) -> Record:
    """Train an ensemble, and score it and its members.

    The ensemble is saved in the output folder, and the scores of chunks of sentences in the
    checkpoint, a folder; finished work in either is not repeated.

    Returns
    -------
    dict
        Figures of all members, families and combinations, with bracket counts of each sentence
        for the combinations and for the member that is best on dev.

    Cost
    ----
    Training; for each held-out sentence, an inside-outside pass and a decoding per member, and a
    comparison of all pairs of distinct trees.
    """
    training_trees = trees.training(run.cleaning)
    path = workspace.folder / "ensembles" / run.ensemble
    workspace.checkpoint.mkdir(parents=True, exist_ok=True)
    timing = workspace.checkpoint / "training.json"
    with _measured(timing, whole=not path.exists()) as training, one_thread():
        train_ensemble(
            training_trees,
            run.description,
            path,
            tagger=run.tags == "own",
            seed=run.seed,
            jobs=workspace.processes,
            progress=workspace.stages,
        )
    chunks = evaluate_chunks(run, trees, path, workspace)
    return {
        "ensemble": {"name": run.ensemble, "tags": run.tags, "seed": run.seed},
        "description": run.description.tables(),
        "trees": len(training_trees),
        "words": sum(len(tree.words()) for tree in training_trees),
        "training": training,
        **_figures(run.description, path, chunks),
        "all_sentences": {
            part: trees.held_out(part, run.cleaning, run.max_words).n_all for part in trees.parts
        },
        "most_memory": _max_memory(),
    }


@contextmanager
def _measured(path: Path, *, whole: bool) -> Iterator[Record]:
    """Measure work that may be interrupted and resumed; the value is complete at the end.

    The value has CPU seconds, wall-clock seconds, and whether they cover the whole work: work
    that was killed, or done before the file existed, isn't measured.
    """
    times: Record = {"whole": whole, "cpu_seconds": 0.0, "wall_seconds": 0.0, "ended": True}
    stored = stored_record(path)  # None if not started yet
    if stored is not None and stored.keys() == times.keys():
        times = stored
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


def _max_memory() -> int | None:
    """Peak memory in bytes of the largest process: this one or one that it has started."""
    with suppress(ImportError):  # not on all systems
        import resource

        peak = max(
            resource.getrusage(whose).ru_maxrss
            for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        return peak if sys.platform == "darwin" else 1024 * peak
    return None


# Figures --------------------------------------------------------------------------------------


class _Part:
    """The chunks of a held-out part, put together."""

    def __init__(self, chunks: Sequence[Record]) -> None:
        n = sum(len(chunk["sentences"]) for chunk in chunks)
        of_index: dict[int, Record] = {}
        for chunk in chunks:
            indices = Chunk(*chunk["chunk"]).indices(n)
            of_index.update(zip(indices, chunk["sentences"], strict=True))
        self.sentences = [of_index[index] for index in range(n)]
        self.cpu_seconds = sum(chunk["cpu_seconds"] for chunk in chunks)
        self.matched = np.sum([chunk["matched"] for chunk in chunks], axis=0)
        self.total = np.sum([chunk["total"] for chunk in chunks], axis=0)
        self.growth = [
            np.sum(of_group, axis=0)
            for of_group in zip(*(chunk["growth"] for chunk in chunks), strict=True)
        ]
        self._trees = [[SentenceScore(*one) for one in each["trees"]] for each in self.sentences]

    def of_member(self, member: int) -> Record:
        scores = [
            trees[each["choice"][member]]
            for trees, each in zip(self._trees, self.sentences, strict=True)
        ]
        return scores_of(scores, [each["no_tree"][member] for each in self.sentences])

    def of_combination(self, name: str) -> Record:
        scores = [SentenceScore(*each["predictions"][name]) for each in self.sentences]
        return scores_of(scores, [each["fallback"][name] for each in self.sentences])

    def oracle(self, members: Sequence[int]) -> float | None:
        """F1 of the best tree of each sentence among those of these members."""
        best = []
        for trees, each in zip(self._trees, self.sentences, strict=True):
            given = [trees[index] for index in dict.fromkeys(each["choice"][m] for m in members)]
            best.append(max(given, key=_sentence_f1))
        f1: float | None = scores_of(best, [])["f1"]
        return f1

    def of_group(self, members: Sequence[int]) -> Record:
        """The diversity of some members, and their oracle."""
        pairs = np.ix_(members, members)
        choice = np.array([each["choice"] for each in self.sentences]).T[members]
        diversity = diversity_of(Pairs(self.matched[pairs], self.total[pairs]), choice)
        return {
            "oracle": self.oracle(members),
            "pair_f1": diversity.mean_f1,
            "all_agree": diversity.all_agree,
            "distinct": diversity.distinct,
        }


def _sentence_f1(one: SentenceScore) -> float:
    return -1.0 if one.status != "ok" or one.f1 is None else one.f1


def _figures(description: EnsembleConfig, path: Path, chunks: Sequence[Record]) -> Record:
    """The figures of members, families and combinations."""
    by_part: dict[str, list[Record]] = {}
    for chunk in chunks:
        by_part.setdefault(chunk["chunk"][0], []).append(chunk)
    parts = {name: _Part(each) for name, each in by_part.items()}
    members = description.members()
    scores = [
        {name: part.of_member(index) for name, part in parts.items()}
        for index in range(len(members))
    ]
    best = max(range(len(members)), key=lambda index: scores[index]["dev"]["f1"] or 0.0)
    groups = groups_of(description)
    return {
        "parsing_cpu_seconds": {name: part.cpu_seconds for name, part in parts.items()},
        "members": [
            {
                **_member_figures(description, member, path),
                "scores": {
                    name: {key: value for key, value in of_part.items() if key != "counts"}
                    for name, of_part in scores[index].items()
                },
            }
            for index, member in enumerate(members)
        ],
        "best_member": {"name": members[best].name, "scores": scores[best]},
        "groups": [
            {
                "family": family,
                "members": [members[index].name for index in group],
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


def _member_figures(description: EnsembleConfig, member: Member, path: Path) -> Record:
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
