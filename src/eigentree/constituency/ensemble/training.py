"""Training an ensemble: members, what they make of trees that they have not seen, rerankers.

The work is cut into groups of members of one family, on all trees or, for rerankers, on all but
one fold.  Groups of one backbone and one fold share the treebank, its decompositions and its
pruned sentences, so they are done by one process, one after another.  Whatever is done is in a
file with a digest of all that it depends on, so work that was stopped goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree._core.processes import WORKER_EXITED, worker_pool
from eigentree._core.random import generator
from eigentree.constituency.calibrate import calibrate
from eigentree.constituency.ensemble.combine import Chains
from eigentree.constituency.ensemble.config import (
    DEFAULT,
    Combination,
    EnsembleConfig,
    Member,
    make_config,
    read_ensemble_config,
)
from eigentree.constituency.ensemble.model_folder import (
    is_made_from,
    load_reranker,
    make_folders,
    make_way,
    member_path,
    predictions_path,
    reranker_path,
    save_calibrations,
    save_index,
    save_reranker,
    stored_heads,
    tidy,
)
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.prediction_cache import KIND as READINGS
from eigentree.constituency.ensemble.prediction_cache import load_predictions, save_predictions
from eigentree.constituency.ensemble.predictions import Prediction, Predictor, joined_predictions
from eigentree.constituency.ensemble.reranker import Candidates, Reranker, train_reranker
from eigentree.constituency.ensemble.stacking import Query, Stacking
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.spectral import Projections, project
from eigentree.constituency.learn.unseen_rules import widener
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.preparation import prepare
from eigentree.constituency.training import learn_grammar
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.errors import ModelFileError, SettingsError, counted
from eigentree.linalg.threads import one_thread
from eigentree.model_file import open_model
from eigentree.sentence_input import PreparedSentence
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.tree import Tree
from eigentree.types import Progress
from eigentree.words.tagger import Tagger

# Members that are trained, or asked, before anything is written.
GROUP = 20


class MemberGroup(NamedTuple):
    """Members of one family that learn from the same trees.

    Attributes
    ----------
    fold
        Which part of the treebank they do not see; None for no part.
    name
        Of its file of predictions.
    members
        They are alike but for their noise and seeds.
    """

    fold: int | None
    name: str
    members: tuple[Member, ...]


class TrainingJob(NamedTuple):
    """Groups that share trees and backbone."""

    groups: tuple[MemberGroup, ...]


def train_ensemble(
    trees: Sequence[Tree],
    description: EnsembleConfig,
    folder: str | Path,
    *,
    dev: Sequence[Tree] = (),
    wrapper: str | None = None,
    tagger: bool = True,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> EnsembleParser:
    """Learn an ensemble from a treebank.

    Parameters
    ----------
    trees
        Clean trees.
    description
        Members and combinations.
    folder
        Where it is written; what an earlier run with the same trees, description and seed has
        done is not done again.  An ensemble that is there stays until one of its files is
        overwritten, and goes when this one is complete.
    dev
        Clean held-out trees on which the confidences are calibrated; without them, an ensemble
        that is trained anew has no calibration.
    wrapper
        Label of the outer bracket for parsed trees.
    tagger
        Whether a tagger is trained on the same trees.
    seed
        One seed gives one ensemble.
    jobs
        Processes; the ensemble is the same for any number.
    progress
        Called with the stage and the share of it that is done.

    Raises
    ------
    SettingsError
        When there are too few trees for the folds, or they teach a reranker nothing.
    """
    if description.has_rerankers and len(trees) < 2 * description.jackknife.folds:
        raise SettingsError(
            f"{counted(len(trees), 'tree')} for {description.jackknife.folds} folds: rerankers "
            "need at least two trees a fold"
        )
    folder = Path(folder)
    plan = _Plan(list(trees), description, folder, wrapper, seed)
    if description.has_rerankers and len(trees) == len(plan.too_long):
        raise SettingsError(
            "all trees have more words than parsing.max_words, so that members can't be asked "
            "about any and rerankers learn nothing; allow longer sentences"
        )
    make_folders(folder, description.jackknife.folds if description.has_rerankers else 0)
    told = progress or (lambda _stage, _share: None)
    waiting = plan.jobs(jobs)
    n_members = sum(len(group.members) for job in waiting for group in job.groups)
    done = 0
    told("members", 0.0)
    for n_done in _done(waiting, plan, jobs):
        done += n_done
        told("members", done / n_members)
    _train_rerankers(plan, told)
    told("tagger", 0.0)
    own_tagger = None
    if tagger:
        sentences = [(tree.words(), tree.tags()) for tree in trees]
        own_tagger = Tagger.train(
            sentences, progress=lambda part, most: told("tagger", part / most)
        )
    members, rerankers = plan.entries(), plan.rerankers()
    save_index(
        folder,
        description.tables(),
        members,
        rerankers,
        stored_heads(plan.heads),
        wrapper,
        plan.about(),
        own_tagger,
    )
    tidy(folder, [each["name"] for each in members], rerankers)
    parser = EnsembleParser.load(folder, verify=False)
    if dev:
        parser = calibrate(parser, dev)
        save_calibrations(folder, parser.calibrations)
    return parser


def config_of(settings: EnsembleConfig | None, method: str | None) -> EnsembleConfig:
    """Settings, by default the package's, with one estimator for all families if it is given."""
    settings = settings or read_ensemble_config(DEFAULT)
    if method is None:
        return settings
    tables = settings.tables()
    families = [{**family, "method": method} for family in tables["family"]]
    return make_config({**tables, "family": families})


class _Plan:
    """What all processes know."""

    def __init__(
        self,
        trees: list[Tree],
        description: EnsembleConfig,
        folder: Path,
        wrapper: str | None,
        seed: int,
    ) -> None:
        self.trees, self.description, self.folder = trees, description, folder
        self.wrapper, self.seed = wrapper, seed

    @cached_property
    def members(self) -> list[Member]:
        """With treebank options that leave nothing open, settled by all trees."""
        settled: dict[TreebankOptions, TreebankOptions] = {}
        members = []
        for member in self.description.members():
            given = member.options.treebank
            if given not in settled:
                settled[given] = prepare(self.trees, given).options
            options = replace(member.options, treebank=settled[given])
            members.append(member._replace(options=options))
        return members

    @cached_property
    def trees_digest(self) -> str:
        digest = sha256()
        for tree in self.trees:
            digest.update(format_tree(tree).encode() + b"\n")
        return digest.hexdigest()

    @cached_property
    def fold_of(self) -> NDArray[np.int64]:
        """Axes (trees): the fold that each tree is in."""
        folds = self.description.jackknife.folds
        return generator(self.seed).permutation(np.arange(len(self.trees)) % folds)

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Axes (trees): whether members of other folds are asked about a tree."""
        most = self.description.jackknife.trees
        chosen = np.zeros(len(self.trees), dtype=bool)
        order = generator(self.seed, 1).permutation(len(self.trees))
        too_long = set(self.too_long)
        fitting = [place for place in order if place not in too_long]
        chosen[fitting[:most]] = True
        return chosen

    @cached_property
    def too_long(self) -> list[int]:
        """Trees whose sentences are cut into pieces, so that they have no candidates."""
        longest = min(member.options.parsing.max_words for member in self.members)
        return [place for place, tree in enumerate(self.trees) if len(tree.words()) > longest]

    @property
    def heads(self) -> str:
        return self.members[0].options.treebank.heads

    def backbone_of(self, member: Member) -> str:
        """A name of all that decides which rules and words a member has."""
        options = member.options
        return repr((options.treebank, options.widening, options.parsing))

    def made_from(self, fold: int | None, members: Sequence[Member]) -> str:
        """A digest of all that the outcome of training some members depends on."""
        jackknife = self.description.jackknife
        what = [
            self.trees_digest,
            None if fold is None else [fold, jackknife.model_dump(), *self.too_long],
            [[each.name, each.number, _content(each.options)] for each in members],
            self.seed,
            self.wrapper,
        ]
        return sha256(json.dumps(what, sort_keys=True, default=list).encode()).hexdigest()

    def groups(self, fold: int | None) -> list[MemberGroup]:
        """All groups of a fold; families in their order."""
        groups = []
        for family in self.description.family:
            members = [member for member in self.members if member.family == family.name]
            for number, first in enumerate(range(0, len(members), GROUP)):
                of_group = tuple(members[first : first + GROUP])
                groups.append(MemberGroup(fold, f"{family.name}-{number + 1}", of_group))
        return groups

    def jobs(self, processes: int) -> list[TrainingJob]:
        """What is not done yet, the longest jobs first."""
        folds: list[int | None] = [None]
        if self.description.has_rerankers:
            folds += range(self.description.jackknife.folds)
        jobs: list[TrainingJob] = []
        for fold in folds:
            of_backbone: dict[str, list[MemberGroup]] = {}
            for group in self.groups(fold):
                left = self._left_of(group)
                if left.members:
                    of_backbone.setdefault(self.backbone_of(left.members[0]), []).append(left)
            for groups in of_backbone.values():
                # Members on all trees are independent, so that all processes have work.
                if fold is None and processes > 1:
                    groups = [part for group in groups for part in _split(group, processes)]
                    shares = [groups[first::processes] for first in range(processes)]
                else:
                    shares = [groups]
                jobs += [TrainingJob(tuple(share)) for share in shares if share]
        return sorted(jobs, key=lambda job: -sum(len(group.members) for group in job.groups))

    def _left_of(self, group: MemberGroup) -> MemberGroup:
        if group.fold is None:
            left = [each for each in group.members if not self._is_trained(each)]
            return group._replace(members=tuple(left))
        path = predictions_path(self.folder, group.fold, group.name)
        if is_made_from(path, READINGS, self.made_from(group.fold, group.members)):
            return group._replace(members=())
        return group

    def _is_trained(self, member: Member) -> bool:
        path = member_path(self.folder, member.name)
        if not path.exists():
            return False
        try:
            described = open_model(path).header.get("description", {})
        except ModelFileError:
            return False
        return bool(described.get("made_from") == self.made_from(None, [member]))

    def entries(self) -> list[dict[str, Any]]:
        """The members as the index lists them."""
        numbers: dict[str, int] = {}
        return [
            {
                "name": member.name,
                "family": member.family,
                "backbone": numbers.setdefault(self.backbone_of(member), len(numbers)),
                "made_from": self.made_from(None, [member]),
            }
            for member in self.members
        ]

    def rerankers(self) -> dict[str, str]:
        """The rerankers as the index lists them, with digests of all that they depend on."""
        above: list[dict[str, Any]] = []
        digests: dict[str, str] = {}
        for each in self.description.combination:
            above.append(each.model_dump(mode="json"))
            if each.is_trained:
                families = self.description.needed_by(each.name)
                members = [member for member in self.members if member.family in families]
                what = json.dumps(
                    [above, stored_heads(self.heads), self.made_from(0, members)], sort_keys=True
                )
                digests[each.name] = sha256(what.encode()).hexdigest()
        return digests

    def about(self) -> dict[str, Any]:
        """What the ensemble says about itself."""
        about = {
            "seed": self.seed,
            "trees": len(self.trees),
            "words": sum(len(tree.words()) for tree in self.trees),
            "treebank": asdict(self.members[0].options.treebank),
            "text": TokenisationScheme.of_words(tree.words() for tree in self.trees).to_json(),
        }
        return dict(json.loads(json.dumps(about)))


def _content(options: TrainingOptions) -> dict[str, Any]:
    """The options, with the lines of a head table in place of its path."""
    heads = stored_heads(options.treebank.heads)
    return replace(options, treebank=replace(options.treebank, heads=heads)).decisive()


def _split(group: MemberGroup, parts: int) -> list[MemberGroup]:
    return [
        group._replace(members=group.members[first::parts])
        for first in range(min(parts, len(group.members)))
    ]


def _done(waiting: Sequence[TrainingJob], plan: _Plan, processes: int) -> Iterator[int]:
    """Do all jobs; gives the number of members of each group that is done."""
    if processes <= 1 or len(waiting) <= 1:
        for job in waiting:
            yield from do_job(job, plan)
        return
    try:
        with worker_pool(min(processes, len(waiting)), _start_worker, plan) as pool:
            futures: list[Future[int]] = [pool.submit(_do_here, job) for job in waiting]
            for future in as_completed(futures):
                yield future.result()
    except BrokenProcessPool as error:
        raise SettingsError(f"{WORKER_EXITED}; finished work is kept") from error


_here: _Plan


def _start_worker(plan: _Plan) -> None:
    global _here  # what a worker process is started for
    _here = plan


def _do_here(job: TrainingJob) -> int:
    return sum(do_job(job, _here))


def do_job(job: TrainingJob, plan: _Plan) -> Iterator[int]:
    """Train the members of some groups, and ask those of a fold about it."""
    first = job.groups[0]
    fold, options = first.fold, first.members[0].options
    in_fold = np.zeros(len(plan.trees), dtype=bool)
    if fold is not None:
        in_fold = plan.fold_of == fold
    learned_from = [plan.trees[place] for place in np.flatnonzero(~in_fold)]
    with one_thread():
        examples = prepare(learned_from, options.treebank).examples
        shared: dict[str, Projections] = {}

        def learned(member: Member) -> tuple[LPCFG, dict[str, Any]]:
            needed = member.options.estimator.projecting
            projections = None
            if needed is not None:
                key = repr(needed)
                if key not in shared:
                    shared[key] = project(examples, needed, seed=plan.seed)
                projections = shared[key]
            grammar, details = learn_grammar(
                examples, member.options, projections=projections, seed=member.seed(plan.seed)
            )
            count = np.bincount(examples.symbol, minlength=len(examples.symbols)).tolist()
            return grammar.rounded(), {"symbol_counts": count, **details}

        if fold is None:
            for group in job.groups:
                for member in group.members:
                    _save_member(plan, member, *learned(member))
                    yield 1
            return
        plain = widener(examples, options.widening)(one_state(count_pcfg(examples)))
        plain = one_state(plain.backbone)
        held_out = [plan.trees[place] for place in np.flatnonzero(in_fold & plan.asked)]
        reader = Predictor(
            [PreparedSentence(tree.words(), tree.tags()) for tree in held_out],
            ConstituencyParser(plain, options=options.parsing),
        )
        for group in job.groups:
            grammars = ((member.family, learned(member)[0]) for member in group.members)
            family = group.members[0].family
            predictions = [each[family] for each in reader.read(grammars, Chains())]
            save_predictions(
                predictions_path(plan.folder, fold, group.name),
                predictions,
                plan.made_from(fold, group.members),
            )
            yield len(group.members)


def _save_member(plan: _Plan, member: Member, grammar: LPCFG, details: Mapping[str, Any]) -> None:
    options = member.options
    description = {
        "method": options.method,
        "member": member.name,
        "seed": member.seed(plan.seed),
        "made_from": plan.made_from(None, [member]),
        "treebank": asdict(options.treebank),
        **details,
    }
    description = json.loads(json.dumps(description))
    parser = ConstituencyParser(grammar, None, options.parsing, plan.wrapper, description)
    path = member_path(plan.folder, member.name)
    make_way(plan.folder, path)
    parser.save(path)


def _train_rerankers(plan: _Plan, told: Progress) -> None:
    """Train the rerankers that are not there yet."""
    combinations = plan.description.combination
    digests = plan.rerankers()
    left = [name for name in digests if not _is_there(plan, name, digests[name])]
    if not left:
        return
    reranker_training = _RerankerTraining(plan)
    inputs = [name for each in combinations if each.name in left for name in each.inputs]
    asked = plan.description.with_inputs(inputs)
    for combination in combinations:
        if combination.name in left:
            stage = f"reranker {combination.name}"
            told(stage, 0.0)
            reranker = reranker_training.train(combination, partial(told, stage))
            path = reranker_path(plan.folder, combination.name)
            make_way(plan.folder, path)
            save_reranker(path, reranker, digests[combination.name])
        if combination.name in asked:
            reranker_training.answer(combination)


def _is_there(plan: _Plan, name: str, made_from: str) -> bool:
    path = reranker_path(plan.folder, name)
    if not path.exists():
        return False
    try:
        reranker = load_reranker(path, head_rules(plan.heads), made_from)
        Stacking(plan.description, {name: reranker})
    except ModelFileError:
        return False
    return True


class _RerankerTraining:
    """What rerankers learn from: trees, and what members say that have not seen them."""

    def __init__(self, plan: _Plan) -> None:
        self._stacking = Stacking(plan.description, {})
        self._heads = head_rules(plan.heads)
        chains = Chains()
        self._trees: list[Tree] = []
        self._queries: list[Query] = []
        self._last: tuple[str, list[Candidates]] | None = None
        folds: list[int] = []
        for fold in range(plan.description.jackknife.folds):
            held_out = np.flatnonzero((plan.fold_of == fold) & plan.asked)
            trees = [plan.trees[place] for place in held_out]
            words = [tree.words() for tree in trees]
            of_family: dict[str, list[list[Prediction]]] = {}
            for group in plan.groups(fold):
                path = predictions_path(plan.folder, fold, group.name)
                found = load_predictions(path, words, chains)
                of_family.setdefault(group.members[0].family, []).append(found)
            for number, tree in enumerate(trees):
                predictions = {
                    family: joined_predictions([group[number] for group in groups])
                    for family, groups in of_family.items()
                }
                self._trees.append(tree)
                self._queries.append(Query(tree.words(), tree.tags(), predictions, {}))
                folds.append(fold)
        self._folds = np.array(folds)
        labels = [tree.label for tree in self._trees if not tree.is_preterminal]
        self._root = max(sorted(set(labels)), key=labels.count) if labels else "S"

    def train(self, combination: Combination, told: Callable[[float], None]) -> Reranker:
        candidates = self._candidates(combination)
        return self._trained(combination, candidates, np.ones(len(candidates), dtype=bool), told)

    def answer(self, combination: Combination) -> None:
        """Find what a combination makes of the trees, for those that have it for an input.

        A reranker's answers are those of rerankers that have not learned from their fold.
        """
        if not combination.is_trained:
            self._keep(combination, self._stacking, self._queries)
            return
        candidates = self._candidates(combination)
        for fold in np.unique(self._folds):
            in_fold = self._folds == fold
            reranker = self._trained(combination, candidates, ~in_fold, lambda _share: None)
            stacking = Stacking(self._stacking.config, {combination.name: reranker})
            places = np.flatnonzero(in_fold)
            self._keep(
                combination,
                stacking,
                [self._queries[place] for place in places],
                [candidates[place] for place in places],
            )

    def _keep(
        self,
        combination: Combination,
        stacking: Stacking,
        queries: Sequence[Query],
        candidates: Sequence[Candidates] | None = None,
    ) -> None:
        given = stacking.answer(combination, queries, self._root, candidates)
        for query, found in zip(queries, given, strict=True):
            query.answers[combination.name] = found

    def _candidates(self, combination: Combination) -> list[Candidates]:
        """Kept for the last one, which `train` and `answer` both need."""
        if self._last is None or self._last[0] != combination.name:
            found = [self._stacking.candidates(combination, each) for each in self._queries]
            self._last = combination.name, found
        return self._last[1]

    def _trained(
        self,
        combination: Combination,
        candidates: Sequence[Candidates],
        chosen: NDArray[np.bool_],
        told: Callable[[float], None],
    ) -> Reranker:
        kept = np.flatnonzero(chosen).tolist()
        try:
            return train_reranker(
                [candidates[place] for place in kept],
                [self._trees[place] for place in kept],
                self._stacking.column_names(combination),
                self._heads,
                combination.reranker,
                progress=told,
            )
        except SettingsError as error:
            raise SettingsError(f"combination {combination.name!r}: {error}") from None
