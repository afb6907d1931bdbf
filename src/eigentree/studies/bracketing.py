"""Studies of unsupervised bracketing: models trained on tagged text, and baselines.

A study file of the kind ``bracketing`` names a text, whose words and tags are the training data,
and files of gold trees, which are only used for scoring.  Each model is trained for each
combination of its parameters and scored by both conventions of unlabelled brackets, by sentence
length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, model_validator

from eigentree._core.random import generator
from eigentree.bracketing.ccm import ConstituentContextModel
from eigentree.bracketing.learn.ccm import ConstituentContextOptions, learn_constituent_context
from eigentree.bracketing.learn.tree_metric import MetricOptions, Moments, count_moments, metric_of
from eigentree.bracketing.models import MetricModel
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.root_split import RULES, gold_top_bracket
from eigentree.constituency.settings import Name, SettingsTable
from eigentree.errors import TreebankFormatError
from eigentree.evaluation import baselines
from eigentree.evaluation.unlabelled import (
    CONVENTIONS,
    GoldBracketing,
    align_bracketings,
    gold_bracketing,
    score_unlabelled,
)
from eigentree.studies.report.bracketing import bracketing_report
from eigentree.studies.report.page import Report
from eigentree.studies.run import (
    Outcome,
    Record,
    Run,
    Timed,
    Workspace,
    data_figures,
    percent_headline,
    timed,
)
from eigentree.studies.settings import Count, Counts, ModelTable, OneOrMore, Seeds, check_names
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.io.text_files import open_text
from eigentree.treebank.io.unlabelled import (
    Bracketing,
    Notation,
    Pair,
    bracketing_of,
    read_bracketings,
)
from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree
from eigentree.treebank.universal_tags import TagMap, fitting_map
from eigentree.treebank.universal_tags import tag_map as find_tag_map
from eigentree.words.brown import BrownClusters, BrownOptions, learn_brown
from eigentree.words.cca import CCAOptions, learn_cca
from eigentree.words.vectors import WordVectors, read_vectors

T = TypeVar("T")
Root = Literal["verbs", "free", "gold"]
Method = Literal[
    "metric", "constituent-context", "left", "right", "random", "best-binary", "brackets"
]
# The parses of sentences, None for missing ones, with the CPU seconds of parsing.
Parses = Timed[list[Bracketing | None]]

_Numbers = Annotated[list[Annotated[float, Field(gt=0)]], *OneOrMore]
_Roots = Annotated[list[Root], *OneOrMore]
_Files = Annotated[list[Path], *OneOrMore]


class InducedModel(ModelTable):
    """One method; each combination of its parameters is a row of the report's tables.

    Attributes
    ----------
    method
        ``metric`` and ``constituent-context`` are trained; ``left``, ``right`` and ``random`` are
        baselines; ``best-binary`` is the best binary tree; ``brackets`` are those of another
        program.
    top
        The root split: ``verbs``, ``free``, ``gold``, or several.  The default is ``verbs`` for
        ``metric`` and ``free`` for ``constituent-context``.
    words
        Word vectors of a metric: ``brown`` clusters of the text, ``cca`` of the text, or
        ``vectors`` of a file.
    clusters
        Numbers of Brown clusters.  The constituent-context model combines its tags with them; it
        uses none by default.
    dimensions
        Numbers of dimensions of CCA.
    vectors
        The file of word vectors.
    rank, bandwidth, floor
        As in `eigentree.bracketing.learn.tree_metric.MetricOptions`; one or several each.
    least_squares
        Whether edge lengths are estimated by least squares.
    tags
        Tags of the constituent-context model: ``given`` or ``universal``.
    longest
        Maximum number of words of the sentences that the constituent-context model is trained on,
        one or several; by default there is one model for each limit of the scored sentences.
    iterations
        Numbers of its EM iterations, one or several.
    start
        Its initialisation: ``split``, or ``random`` with the seeds.
    seeds
        One or several, for methods that depend on them; they override the study's.
    brackets, notation
        The file of another program's brackets, and its notation.
    """

    method: Method
    top: _Roots | None = None
    words: Literal["brown", "cca", "vectors"] = "brown"
    clusters: Counts | None = None
    dimensions: Counts = Field([50])
    vectors: Path | None = None
    rank: Counts = Field([7])
    bandwidth: _Numbers = Field([0.4])
    floor: _Numbers = Field([0.01])
    least_squares: bool = False
    tags: Literal["given", "universal"] = "given"
    longest: Counts | None = None
    iterations: Counts = Field([20])
    start: Literal["split", "random"] = "split"
    seeds: Seeds | None = None
    brackets: Path | None = None
    notation: Notation = "trees"

    @model_validator(mode="after")
    def _has_its_file(self) -> InducedModel:
        for key, required in (
            ("vectors", self.method == "metric" and self.words == "vectors"),
            ("brackets", self.method == "brackets"),
        ):
            if required is not (getattr(self, key) is not None):
                problem = "needs a file" if required else "does not use files"
                raise ValueError(f"the model {self.name!r} {problem} of {key}")
        return self

    def grid(self, seeds: Sequence[int]) -> dict[str, Sequence[Any]]:
        """The values of each parameter that may have several."""
        seeds = self.seeds or seeds
        if self.method == "metric":
            sizes: dict[str, dict[str, Sequence[Any]]] = {
                "brown": {"clusters": self.clusters or [100]},
                "cca": {"dimensions": self.dimensions},
                "vectors": {},
            }
            return {
                **sizes[self.words],
                "rank": self.rank,
                "bandwidth": self.bandwidth,
                "floor": self.floor,
                "top": self.top or ["verbs"],
            }
        if self.method == "constituent-context":
            return {
                "clusters": self.clusters or [None],
                "longest": self.longest or [None],
                "iterations": self.iterations,
                "top": self.top or ["free"],
                "seed": seeds if self.start == "random" else [0],
            }
        return {"seed": seeds} if self.method == "random" else {}

    def fixed(self) -> dict[str, Any]:
        """All other parameters of the method."""
        keys = {
            "metric": ("words", "least_squares"),
            "constituent-context": ("tags", "start"),
            "brackets": ("notation",),
        }.get(self.method, ())
        return {"method": self.method, **{key: getattr(self, key) for key in keys}}


class BracketingStudy(SettingsTable):
    """A study of unsupervised bracketing.  Paths are relative to the working directory.

    Attributes
    ----------
    kind
        ``bracketing``.
    title
        Title of the report.
    text
        Files of trees; their words and tags are the training data.
    tests
        Files of gold trees by name; they may be those of the text.
    tag_map
        Map to universal tags: a name or a file.  By default, the bundled map that fits the text.
    lengths
        Maximum numbers of words: scores are given for the sentences up to each.
    longest
        Maximum number of words of a scored sentence; None for no limit.
    samples
        Number of bootstrap samples for intervals.
    seeds
        Default seeds of methods that depend on them.
    model
        The models, at least one.
    """

    kind: Literal["bracketing"]
    title: Name = "Comparison of bracketings without a treebank"
    text: _Files
    tests: Annotated[dict[Name, _Files], Field(min_length=1)]
    tag_map: Name | None = None
    lengths: Counts = Field([10, 20, 30, 40])
    longest: Count | None = None
    samples: Count = 1000
    seeds: Seeds = Field([0])
    model: Annotated[list[InducedModel], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> BracketingStudy:
        check_names([model.name for model in self.model])
        return self

    @property
    def files(self) -> dict[str, Path]:
        """All files by role."""
        files = dict(_numbered("text", self.text))
        for name, paths in self.tests.items():
            files |= _numbered(f"test {name}", paths)
        for model in self.model:
            for what in ("vectors", "brackets"):
                if (path := getattr(model, what)) is not None:
                    files[f"{what} of {model.name}"] = path
        if self.tag_map is not None and Path(self.tag_map).is_file():
            files["tag map"] = Path(self.tag_map)
        return files

    @property
    def limits(self) -> list[int | None]:
        """The limits on words of each figure; the last one covers all scored sentences."""
        if self.longest is None:
            return [*sorted(self.lengths), None]
        return [*(one for one in sorted(self.lengths) if one < self.longest), self.longest]

    def runs(self) -> list[Run]:
        """Every model with every combination of its parameters."""
        shared = {"tag_map": self.tag_map, "limits": self.limits, "samples": self.samples}
        runs = []
        for model in self.model:
            grid = model.grid(self.seeds)
            for values in product(*grid.values()):
                chosen = dict(zip(grid, values, strict=True))
                shown = [f"{name} {chosen[name]}" for name in grid if len(grid[name]) > 1]
                runs.append(
                    Run(
                        ", ".join([model.name, *shown]),
                        {**model.fixed(), **chosen, **shared, "model": model.name},
                        uses_all_processes=True,
                    )
                )
        return runs

    def open(self, jobs: int) -> OpenBracketingStudy:
        """Access to the text and the gold trees, which are read on first use."""
        return OpenBracketingStudy(self, jobs)

    def headline(self, record: Record) -> str:
        """F1 on the first test."""
        name, scores = next(iter(record["scores"].items()))
        return percent_headline("F1", scores["figures"][-len(CONVENTIONS)]["f1"], name)

    def report(self, figures: Mapping[str, Any]) -> Report:
        """The report on figures of a study of this kind."""
        return bracketing_report(figures)


def _numbered(name: str, paths: Sequence[Path]) -> dict[str, Path]:
    if len(paths) == 1:
        return {name: paths[0]}
    return {f"{name} {number}": path for number, path in enumerate(paths, start=1)}


class OpenBracketingStudy:
    """A study of unsupervised bracketing with its data."""

    def __init__(self, study: BracketingStudy, jobs: int) -> None:
        self._study = study
        self._models = {model.name: model for model in study.model}
        self._data = cache(lambda: _Data.read(study, jobs))

    def prepare(self, runs: Sequence[Run]) -> None:  # noqa: ARG002 - all need the same data
        """Read the text and the gold trees."""
        self._data()

    def warm_up(self, run: Run) -> None:  # noqa: ARG002 - the same for all
        """Train and parse with both models."""
        _warm_up()

    def execute(self, run: Run, workspace: Workspace) -> Record:  # noqa: ARG002 - nothing to resume
        """Train and score a model."""
        return _evaluate(run.settings, self._models[run.settings["model"]], self._data())

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        """All figures of the report."""
        study, data = self._study, self._data()
        return {
            "title": study.title,
            "command": outcome.command,
            "tag_map": data.tag_map.name,
            "limits": study.limits,
            "text": [len(data.text), sum(len(words) for words, _ in data.text)],
            "tests": {
                name: [
                    sum(2 <= len(one.words) <= (limit or len(one.words)) for one in test.gold)
                    for limit in study.limits
                ]
                for name, test in data.tests.items()
            },
            "data": data_figures(study.files, outcome),
            "records": outcome.done(),
            "failures": dict(outcome.failures),
        }


@dataclass(frozen=True)
class _Test:
    """Gold trees to score against, with their brackets."""

    trees: list[Tree]
    gold: list[GoldBracketing]

    def root_splits(self, rule: Root, tag_map: TagMap) -> list[int]:
        """The required root split of each sentence; 0 for any."""
        if rule == "gold":
            return [gold_top_bracket(tree, tag_map) for tree in self.trees]
        return [RULES[rule](tree.words(), tree.tags(), tag_map) for tree in self.trees]


@dataclass(frozen=True)
class _Data:
    """The text, the tests, and representations of the text that models share."""

    text: list[tuple[list[str], list[str]]]
    tests: dict[str, _Test]
    tag_map: TagMap
    jobs: int
    _shared: dict[Any, Timed[Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, study: BracketingStudy, jobs: int) -> _Data:
        text = [(tree.words(), tree.tags()) for tree in _trees(study.text)]
        if study.tag_map is None:
            tag_map = fitting_map([tag for _, tags in text for tag in tags])
        else:
            tag_map = find_tag_map(study.tag_map)
        tests = {}
        for name, paths in study.tests.items():
            trees = _trees(paths)
            marks = {tag for tree in trees for tag in tree.tags() if tag_map.is_punctuation(tag)}
            gold = [gold_bracketing(tree, punctuation=marks) for tree in trees]
            limit = study.longest
            scored = [at for at, one in enumerate(gold) if limit is None or len(one.words) <= limit]
            tests[name] = _Test([trees[at] for at in scored], [gold[at] for at in scored])
            if not any(len(one.words) > 1 for one in tests[name].gold):
                raise TreebankFormatError(
                    f"{paths[0]}: no sentence of two or more words to score; at least one is needed"
                )
        return cls(text, tests, tag_map, jobs)

    def _once(self, key: Any, make: Callable[[], T]) -> Timed[T]:
        """The shared value of a key, made on first use."""
        if key not in self._shared:
            self._shared[key] = timed(make)
        return self._shared[key]

    def vectors(self, settings: Mapping[str, Any], path: Path | None) -> Timed[WordVectors]:
        """Word vectors of the settings."""
        words = [[word.lower() for word in sentence] for sentence, _ in self.text]
        if path is not None:
            return self._once(path, lambda: read_vectors(path))
        if settings["words"] == "brown":
            clusters = self.clusters(settings["clusters"])
            return Timed(clusters.value.vectors(), clusters.seconds)
        options = CCAOptions(settings["dimensions"])
        return self._once(options, lambda: learn_cca(words, options))

    def clusters(self, number: int) -> Timed[BrownClusters]:
        """Brown clusters of the text in lower case."""
        words = ([word.lower() for word in sentence] for sentence, _ in self.text)
        return self._once(("brown", number), lambda: learn_brown(words, BrownOptions(number)))

    def moments(self, vectors: WordVectors, key: Any) -> Timed[Moments]:
        """Moments of the text; the key identifies the vectors."""
        largest = MetricOptions().largest_distance
        return self._once(
            ("moments", key),
            lambda: count_moments(self.text, vectors, self.tag_map, largest, jobs=self.jobs),
        )


def _trees(paths: Sequence[Path]) -> list[Tree]:
    trees = read_treebank(list(paths), cleaning=CleaningOptions(cut_tags=True)).trees
    if not trees:
        raise TreebankFormatError(f"{paths[0]}: no trees; at least one is needed")
    return trees


@cache
def _warm_up() -> None:
    """Train and parse on one sentence, to exclude compilation from measured times."""
    words, tags = ["a", "b", "c"], ["DET", "NOUN", "VERB"]
    vectors = learn_brown([words], BrownOptions(2)).vectors()
    BracketingParser.train([(words, tags)], method="metric", vectors=vectors).parse(words, tags)
    learn_constituent_context([tags]).brackets(tags)


def _evaluate(settings: Mapping[str, Any], model: InducedModel, data: _Data) -> Record:
    if model.method == "metric":
        return _of_metric(settings, model, data)
    if model.method == "constituent-context":
        return _of_contexts(settings, data)
    rng = generator(settings.get("seed", 0), 0)
    trees: dict[str, Callable[[GoldBracketing], frozenset[Pair]]] = {
        "left": lambda one: baselines.left_branching(len(one.words)),
        "right": lambda one: baselines.right_branching(len(one.words)),
        "random": lambda one: baselines.random_branching(len(one.words), rng),
        "best-binary": lambda one: baselines.binary_completion(one.spans, len(one.words)),
    }
    scores = {}
    for name, test in data.tests.items():
        parses: list[Bracketing | None]
        if model.brackets is not None:
            parses = align_bracketings(test.gold, _read(model.brackets, model.notation)).parsed
        else:
            tree_of = trees[model.method]
            parses = [Bracketing(one.words, tree_of(one)) for one in test.gold]
        scores[name] = _scores(test, settings, _same(Timed(parses, 0.0)))
    return {"word_seconds": None, "seconds": None, "learned_from": None, "scores": scores}


def _read(path: Path, notation: Notation) -> list[Bracketing | None]:
    with open_text(path) as lines:
        records = read_bracketings(lines, notation=notation, name=str(path))
        return [record.bracketing for record in records]


def _of_metric(settings: Mapping[str, Any], model: InducedModel, data: _Data) -> Record:
    vectors = data.vectors(settings, model.vectors)
    key = model.vectors or (settings["words"], settings.get("clusters", settings.get("dimensions")))
    moments = data.moments(vectors.value, key)
    options = MetricOptions(settings["rank"], settings["bandwidth"], settings["floor"])
    metric, seconds = timed(lambda: metric_of(moments.value, data.tag_map, options))
    parser = BracketingParser(MetricModel(metric, settings["least_squares"]))

    def scored(test: _Test) -> dict[str, Any]:
        splits = test.root_splits(settings["top"], data.tag_map)
        results, spent = timed(
            lambda: [
                parser.parse(tree.words(), tree.tags(), top=top)
                for tree, top in zip(test.trees, splits, strict=True)
            ]
        )
        parses = [None if each.tree is None else bracketing_of(each.tree) for each in results]
        return _scores(test, settings, _same(Timed(parses, spent)))

    return {
        "word_seconds": vectors.seconds,
        "seconds": moments.seconds + seconds,
        "learned_from": len(data.text),
        "scores": {name: scored(test) for name, test in data.tests.items()},
    }


def _of_contexts(settings: Mapping[str, Any], data: _Data) -> Record:
    """A constituent-context model, or one for each length limit."""
    number = settings["clusters"]
    clusters = None if number is None else data.clusters(number)

    def symbols(words: Sequence[str], tags: Sequence[str]) -> list[str]:
        """The input of the model: tags without punctuation, with word clusters if there are any."""
        kept = [at for at, tag in enumerate(tags) if not data.tag_map.is_punctuation(tag)]
        seen = [data.tag_map(tags[at]) for at in kept]
        if settings["tags"] == "given":
            seen = [tags[at] for at in kept]
        if clusters is None:
            return seen
        cluster_of = clusters.value.cluster_of
        return [f"{tag} {cluster_of(words[at])}" for tag, at in zip(seen, kept, strict=True)]

    text = [symbols(words, tags) for words, tags in data.text]
    limits = [settings["longest"]] if settings["longest"] is not None else settings["limits"]

    def learn(limit: int | None) -> ConstituentContextModel:
        options = ConstituentContextOptions(
            (limit,),
            settings["iterations"],
            start=settings["start"],
            seed=settings["seed"],
        )
        return learn_constituent_context(text, options)

    learned, seconds = timed(lambda: {limit: learn(limit) for limit in limits})

    def scored(test: _Test) -> dict[str, Any]:
        splits = test.root_splits(settings["top"], data.tag_map)
        inputs = [symbols(tree.words(), tree.tags()) for tree in test.trees]

        @cache
        def parse(by: int | None) -> Parses:
            trees, spent = timed(
                lambda: [
                    learned[by].best_tree(tags, top or None).spans
                    for tags, top in zip(inputs, splits, strict=True)
                ]
            )
            pairs = zip(test.gold, trees, strict=True)
            return Timed([Bracketing(one.words, spans) for one, spans in pairs], spent)

        def parses(limit: int | None) -> Parses:
            return parse(limit if settings["longest"] is None else settings["longest"])

        return _scores(test, settings, parses)

    last = limits[-1]
    return {
        "word_seconds": None if clusters is None else clusters.seconds,
        "seconds": seconds,
        "learned_from": sum(1 < len(tags) <= (last or len(tags)) for tags in text),
        "scores": {name: scored(test) for name, test in data.tests.items()},
    }


def _same(parses: Parses) -> Callable[[int | None], Parses]:
    """The same parses for any limit."""
    return lambda _limit: parses


def _scores(
    test: _Test,
    settings: Mapping[str, Any],
    parses_of: Callable[[int | None], Parses],
) -> dict[str, Any]:
    """Scores by convention and limit; each limit may have a parser of its own.

    ``seconds`` is the time of parsing all sentences with the last limit's parser.
    """
    figures = []
    n_missing, seconds = 0, 0.0
    for limit in settings["limits"]:
        parses, seconds = parses_of(limit)
        scored = [
            at for at, one in enumerate(test.gold) if limit is None or len(one.words) <= limit
        ]
        result = score_unlabelled(
            [test.gold[at] for at in scored],
            [parses[at] for at in scored],
            lengths=(),
            n_samples=settings["samples"],
        )
        for convention in CONVENTIONS:
            figure = result.figure(convention, None)
            figures.append({**figure.to_dict(), "longest": limit})
        n_missing = len(result.problems)
    return {
        "figures": figures,
        "sentences": len(test.gold),
        "without_parse": n_missing,
        "seconds": seconds,
    }
