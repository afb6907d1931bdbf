"""Training of ensembles: members, their predictions on held-out folds, and rerankers.

Members of one family are trained in groups, on all trees or, for rerankers, on all but one fold.
Groups with the same backbone and fold share the treebank, its decompositions and the pruned
sentences, so one process trains them one after another.  Every result is stored in a file with a
digest of everything it depends on, so that an interrupted training resumes from finished parts.
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

from eigentree._core.arguments import check_type
from eigentree._core.processes import USE_FEWER_JOBS, worker_pool
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
from eigentree.words.tag_dictionary import dictionary_for
from eigentree.words.tagger import Tagger

# Members per group; results are written after each group.
GROUP = 20


class MemberGroup(NamedTuple):
    """Members of one family that learn from the same trees.

    Attributes
    ----------
    fold
        The fold that is held out from their training; None for none.
    name
        Name of the file of predictions.
    members
        Members that differ only in their noise and seeds.
    """

    fold: int | None
    name: str
    members: tuple[Member, ...]


class TrainingJob(NamedTuple):
    """Groups that share the training trees and the backbone."""

    groups: tuple[MemberGroup, ...]


def train_ensemble(
    trees: Sequence[Tree],
    description: EnsembleConfig,
    folder: str | Path,
    *,
    dev: Sequence[Tree] = (),
    wrapper: str | None = None,
    tagger: bool = True,
    tag_dictionary: str | Path | None = None,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> EnsembleParser:
    """Train an ensemble on a treebank.

    Parameters
    ----------
    trees
        Clean trees.
    description
        Families and combinations.
    folder
        Output folder.  Parts that an earlier run with the same trees, description and seed has
        finished are not trained again.  An older ensemble in the folder remains valid until one of
        its files is overwritten; its other files are removed when the new one is complete.
    dev
        Clean held-out trees on which the confidences are calibrated; without them, an ensemble
        that is trained anew has no calibration.
    wrapper
        Label of the outer bracket of parsed trees; None for none.
    tagger
        Train a tagger on the same trees.
    tag_dictionary
        A file of words with their possible tags for the tagger, as of
        `eigentree.words.tag_dictionary`; None for none.
    seed
        The same seed gives the same ensemble.
    jobs
        Number of processes; the ensemble does not depend on it.
    progress
        Called with the stage and the completed fraction of it.

    Raises
    ------
    SettingsError
        When there are too few trees for the folds, or no reranker can be trained on them.
    """
    if description.has_rerankers and len(trees) < 2 * description.jackknife.folds:
        raise SettingsError(
            f"{counted(len(trees), 'tree')} for {description.jackknife.folds} folds: rerankers "
            "need at least two trees per fold"
        )
    folder = Path(folder)
    plan = _Plan(list(trees), description, folder, wrapper, seed)
    if description.has_rerankers and len(trees) == len(plan.too_long):
        raise SettingsError(
            "all trees have more words than parsing.max_words, so there is no training data for "
            "rerankers; increase it"
        )
    make_folders(folder, description.jackknife.folds if description.has_rerankers else 0)
    report = progress or (lambda _stage, _share: None)
    dictionary = dictionary_for(tagger, tag_dictionary)
    waiting = plan.jobs(jobs)
    n_members = sum(len(group.members) for job in waiting for group in job.groups)
    done = 0
    report("members", 0.0)
    for n_done in _run(waiting, plan, jobs):
        done += n_done
        report("members", done / n_members)
    _train_rerankers(plan, report)
    report("tagger", 0.0)
    trained_tagger = None
    if tagger:
        sentences = [(tree.words(), tree.tags()) for tree in trees]
        trained_tagger = Tagger.train(
            sentences,
            dictionary=dictionary,
            progress=lambda done, total: report("tagger", done / total),
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
        trained_tagger,
    )
    tidy(folder, [each["name"] for each in members], rerankers)
    parser = EnsembleParser.load(folder, verify=False)
    if dev:
        parser = calibrate(parser, dev)
        save_calibrations(folder, parser.calibrations)
    return parser


def config_of(settings: EnsembleConfig | None, method: str | None) -> EnsembleConfig:
    """The settings (None: the bundled ones), with one estimator for all families if not None."""
    check_type(settings, (EnsembleConfig, type(None)), "settings", "EnsembleConfig or None")
    settings = settings or read_ensemble_config(DEFAULT)
    if method is None:
        return settings
    tables = settings.tables()
    families = [{**family, "method": method} for family in tables["family"]]
    return make_config({**tables, "family": families})


class _Plan:
    """The treebank and the description, and what follows from them; shared by all processes."""

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
        """The members, with open treebank options chosen by all trees."""
        chosen: dict[TreebankOptions, TreebankOptions] = {}
        members = []
        for member in self.description.members():
            given = member.options.treebank
            if given not in chosen:
                chosen[given] = prepare(self.trees, given).options
            options = replace(member.options, treebank=chosen[given])
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
        """Axes (trees): the fold of each tree."""
        folds = self.description.jackknife.folds
        return generator(self.seed).permutation(np.arange(len(self.trees)) % folds)

    @cached_property
    def is_sampled(self) -> NDArray[np.bool_]:
        """Axes (trees): whether a tree is training data of rerankers."""
        most = self.description.jackknife.trees
        chosen = np.zeros(len(self.trees), dtype=bool)
        order = generator(self.seed, 1).permutation(len(self.trees))
        too_long = set(self.too_long)
        fitting = [place for place in order if place not in too_long]
        chosen[fitting[:most]] = True
        return chosen

    @cached_property
    def too_long(self) -> list[int]:
        """Trees that are longer than members parse as a whole; they have no candidates."""
        longest = min(member.options.parsing.max_words for member in self.members)
        return [place for place, tree in enumerate(self.trees) if len(tree.words()) > longest]

    @property
    def heads(self) -> str:
        return self.members[0].options.treebank.heads

    def backbone_of(self, member: Member) -> str:
        """A key of all settings that determine the rules and words of a member."""
        options = member.options
        return repr((options.treebank, options.widening, options.parsing))

    def made_from(self, fold: int | None, members: Sequence[Member]) -> str:
        """A digest of everything that the training of some members depends on."""
        jackknife = self.description.jackknife
        dependencies = [
            self.trees_digest,
            None if fold is None else [fold, jackknife.model_dump(), *self.too_long],
            [[each.name, each.number, _content(each.options)] for each in members],
            self.seed,
            self.wrapper,
        ]
        return sha256(json.dumps(dependencies, sort_keys=True, default=list).encode()).hexdigest()

    def groups(self, fold: int | None) -> list[MemberGroup]:
        """All groups of a fold, by family."""
        groups = []
        for family in self.description.family:
            members = [member for member in self.members if member.family == family.name]
            for number, first in enumerate(range(0, len(members), GROUP)):
                of_group = tuple(members[first : first + GROUP])
                groups.append(MemberGroup(fold, f"{family.name}-{number + 1}", of_group))
        return groups

    def jobs(self, processes: int) -> list[TrainingJob]:
        """The jobs that are not finished, the largest first."""
        folds: list[int | None] = [None]
        if self.description.has_rerankers:
            folds += range(self.description.jackknife.folds)
        jobs: list[TrainingJob] = []
        for fold in folds:
            of_backbone: dict[str, list[MemberGroup]] = {}
            for group in self.groups(fold):
                unfinished = self._unfinished(group)
                if unfinished.members:
                    key = self.backbone_of(unfinished.members[0])
                    of_backbone.setdefault(key, []).append(unfinished)
            for groups in of_backbone.values():
                # Members trained on all trees are independent, so all processes can train them.
                if fold is None and processes > 1:
                    groups = [part for group in groups for part in _split(group, processes)]
                    shares = [groups[first::processes] for first in range(processes)]
                else:
                    shares = [groups]
                jobs += [TrainingJob(tuple(share)) for share in shares if share]
        return sorted(jobs, key=lambda job: -sum(len(group.members) for group in job.groups))

    def _unfinished(self, group: MemberGroup) -> MemberGroup:
        """The group without the members whose results are stored."""
        if group.fold is None:
            members = [each for each in group.members if not self._is_trained(each)]
            return group._replace(members=tuple(members))
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
        """The entries of the members in the index."""
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
        """The rerankers in the index, with digests of everything they depend on."""
        above: list[dict[str, Any]] = []
        digests: dict[str, str] = {}
        for each in self.description.combination:
            above.append(each.model_dump(mode="json"))
            if each.is_trained:
                families = self.description.needed_by(each.name)
                members = [member for member in self.members if member.family in families]
                dependencies = json.dumps(
                    [above, stored_heads(self.heads), self.made_from(0, members)], sort_keys=True
                )
                digests[each.name] = sha256(dependencies.encode()).hexdigest()
        return digests

    def about(self) -> dict[str, Any]:
        """The description of the ensemble in the index."""
        about = {
            "seed": self.seed,
            "trees": len(self.trees),
            "words": sum(len(tree.words()) for tree in self.trees),
            "treebank": asdict(self.members[0].options.treebank),
            "text": TokenisationScheme.of_words(tree.words() for tree in self.trees).to_json(),
        }
        return dict(json.loads(json.dumps(about)))


def _content(options: TrainingOptions) -> dict[str, Any]:
    """The options, with the lines of a head table instead of its path."""
    heads = stored_heads(options.treebank.heads)
    return replace(options, treebank=replace(options.treebank, heads=heads)).decisive()


def _split(group: MemberGroup, parts: int) -> list[MemberGroup]:
    return [
        group._replace(members=group.members[first::parts])
        for first in range(min(parts, len(group.members)))
    ]


def _run(waiting: Sequence[TrainingJob], plan: _Plan, processes: int) -> Iterator[int]:
    """Run all jobs; yields numbers of finished members."""
    if processes <= 1 or len(waiting) <= 1:
        for job in waiting:
            yield from run_job(job, plan)
        return
    try:
        with worker_pool(min(processes, len(waiting)), _start_worker, plan) as pool:
            futures: list[Future[int]] = [pool.submit(_run_here, job) for job in waiting]
            for future in as_completed(futures):
                yield future.result()
    except BrokenProcessPool as error:
        raise SettingsError(f"{USE_FEWER_JOBS}; finished work is kept") from error


_here: _Plan


def _start_worker(plan: _Plan) -> None:
    global _here  # the state of this worker process
    _here = plan


def _run_here(job: TrainingJob) -> int:
    return sum(run_job(job, _here))


def run_job(job: TrainingJob, plan: _Plan) -> Iterator[int]:
    """Train the members of some groups; those that hold out a fold then parse its trees."""
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
        held_out = [plan.trees[place] for place in np.flatnonzero(in_fold & plan.is_sampled)]
        predictor = Predictor(
            [PreparedSentence(tree.words(), tree.tags()) for tree in held_out],
            ConstituencyParser(plain, options=options.parsing),
        )
        for group in job.groups:
            grammars = ((member.family, learned(member)[0]) for member in group.members)
            family = group.members[0].family
            predictions = [each[family] for each in predictor.predict(grammars, Chains())]
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


def _train_rerankers(plan: _Plan, report: Progress) -> None:
    """Train the rerankers that are not stored yet."""
    combinations = plan.description.combination
    digests = plan.rerankers()
    missing = [name for name in digests if not _is_stored(plan, name, digests[name])]
    if not missing:
        return
    reranker_training = _RerankerTraining(plan)
    inputs = [name for each in combinations if each.name in missing for name in each.inputs]
    needed = plan.description.with_inputs(inputs)
    for combination in combinations:
        if combination.name in missing:
            stage = f"reranker {combination.name}"
            report(stage, 0.0)
            reranker = reranker_training.train(combination, partial(report, stage))
            path = reranker_path(plan.folder, combination.name)
            make_way(plan.folder, path)
            save_reranker(path, reranker, digests[combination.name])
        if combination.name in needed:
            reranker_training.add_outputs(combination)


def _is_stored(plan: _Plan, name: str, made_from: str) -> bool:
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
    """The training data of rerankers: trees, and predictions by members not trained on them."""

    def __init__(self, plan: _Plan) -> None:
        self._stacking = Stacking(plan.description, {})
        self._heads = head_rules(plan.heads)
        chains = Chains()
        self._trees: list[Tree] = []
        self._queries: list[Query] = []
        self._last: tuple[str, list[Candidates]] | None = None
        folds: list[int] = []
        for fold in range(plan.description.jackknife.folds):
            held_out = np.flatnonzero((plan.fold_of == fold) & plan.is_sampled)
            trees = [plan.trees[place] for place in held_out]
            words = [tree.words() for tree in trees]
            of_family: dict[str, list[list[Prediction]]] = {}
            for group in plan.groups(fold):
                path = predictions_path(plan.folder, fold, group.name)
                predictions_of_group = load_predictions(path, words, chains)
                of_family.setdefault(group.members[0].family, []).append(predictions_of_group)
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

    def train(self, combination: Combination, report: Callable[[float], None]) -> Reranker:
        """Train the reranker of a combination on all sampled trees."""
        candidates = self._candidates(combination)
        return self._trained(combination, candidates, np.ones(len(candidates), dtype=bool), report)

    def add_outputs(self, combination: Combination) -> None:
        """Compute the outputs of a combination, for combinations that have it as an input.

        Those of a reranker are by rerankers that were not trained on the same fold.
        """
        if not combination.is_trained:
            self._store(combination, self._stacking, self._queries)
            return
        candidates = self._candidates(combination)
        for fold in np.unique(self._folds):
            in_fold = self._folds == fold
            reranker = self._trained(combination, candidates, ~in_fold, lambda _share: None)
            stacking = Stacking(self._stacking.config, {combination.name: reranker})
            places = np.flatnonzero(in_fold)
            self._store(
                combination,
                stacking,
                [self._queries[place] for place in places],
                [candidates[place] for place in places],
            )

    def _store(
        self,
        combination: Combination,
        stacking: Stacking,
        queries: Sequence[Query],
        candidates: Sequence[Candidates] | None = None,
    ) -> None:
        outputs = stacking.output(combination, queries, self._root, candidates)
        for query, output in zip(queries, outputs, strict=True):
            query.outputs[combination.name] = output

    def _candidates(self, combination: Combination) -> list[Candidates]:
        """The candidates; cached for the last combination, because two methods need them."""
        if self._last is None or self._last[0] != combination.name:
            candidates = [self._stacking.candidates(combination, each) for each in self._queries]
            self._last = combination.name, candidates
        return self._last[1]

    def _trained(
        self,
        combination: Combination,
        candidates: Sequence[Candidates],
        chosen: NDArray[np.bool_],
        report: Callable[[float], None],
    ) -> Reranker:
        places = np.flatnonzero(chosen).tolist()
        try:
            return train_reranker(
                [candidates[place] for place in places],
                [self._trees[place] for place in places],
                self._stacking.column_names(combination),
                self._heads,
                combination.reranker,
                progress=report,
            )
        except SettingsError as error:
            raise SettingsError(f"combination {combination.name!r}: {error}") from None
