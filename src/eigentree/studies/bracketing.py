"""Studies of bracketing without a treebank: models of tagged text, and what knows nothing of it.

A study file of the kind ``bracketing`` names a text, whose words and tags are learned from, and
files of gold trees, which only score.  Each model is learned for each combination of its numbers
and scored by both conventions of unlabelled brackets, by the length of sentences.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from eigentree._core.random import generator
from eigentree.bracketing.learn.ccm import ConstituentContextOptions, learn_constituent_context
from eigentree.bracketing.learn.tree_metric import MetricOptions, Moments, count_moments, metric_of
from eigentree.bracketing.models import MetricModel
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.root_split import RULES, gold_top_bracket
from eigentree.constituency.settings import Name, Table, distinct, refuse
from eigentree.errors import TreebankFormatError
from eigentree.evaluation import baselines
from eigentree.evaluation.unlabelled import (
    CONVENTIONS,
    GoldBracketing,
    align_bracketings,
    gold_bracketing,
    score_unlabelled,
)
from eigentree.studies.trials import (
    Record,
    Trial,
    TrialStudyResult,
    Tried,
    data_of,
    run_trials,
    write_results,
)
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
from eigentree.words.brown import BrownOptions, learn_brown
from eigentree.words.cca import CCAOptions, learn_cca
from eigentree.words.vectors import WordVectors, read_vectors

KIND = "bracketing"
# Those that learn from the text; the others know nothing of it.
Parses = tuple[list[Bracketing | None], float]
LEARNED = ("metric", "constituent-context")

Top = Literal["verbs", "free", "gold"]
Method = Literal[
    "metric", "constituent-context", "left", "right", "random", "best-binary", "brackets"
]


def _listed(value: Any) -> Any:
    """One or several, as a list."""
    return value if isinstance(value, list) else [value]


_Count = Annotated[int, Field(ge=1, strict=True)]
_Several = (BeforeValidator(_listed), AfterValidator(distinct))
_Counts = Annotated[list[_Count], *_Several]
_Shares = Annotated[list[Annotated[float, Field(gt=0)]], *_Several]
_Seeds = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], *_Several]
_Tops = Annotated[list[Top], *_Several]
_Files = Annotated[list[Path], *_Several]


class InducedModel(Table):
    """One way to bracket; a row of the tables for each combination of its numbers.

    Attributes
    ----------
    method
        ``metric`` and ``constituent-context`` learn; ``left``, ``right`` and ``random`` know
        nothing; ``best-binary`` is the best binary tree; ``brackets`` are another program's.
    name
        By default the method.
    top
        Where the root parts a sentence: ``verbs``, ``free``, ``gold``, or several.  By default
        by the rule for distances, and free for the constituent-context model.
    words
        Vectors of a metric: ``brown`` clusters of the text, ``cca`` of it, or of a file.
    clusters
        Numbers of Brown clusters; for the constituent-context model, whose tags are crossed with
        them, none by default.
    dimensions
        Numbers of dimensions of CCA.
    vectors
        The file of vectors.
    rank, bandwidth, floor
        See `eigentree.bracketing.learn.tree_metric.MetricOptions`; one or several each.
    least_squares
        Whether edges have the lengths of least squares.
    tags
        Of the constituent-context model: ``given`` or ``universal``.
    longest
        Most words of the sentences that it learns from, one or several; if not given, as many as
        those that are scored have, with a model for each length.
    iterations
        Of its expectation maximisation, one or several.
    start
        ``split``, or ``random`` with the study's seeds.
    seeds
        In place of the study's, for what begins by chance.
    brackets, notation
        The file of another program's brackets, and how they are written.
    """

    method: Method
    name: Name = ""
    top: _Tops | None = None
    words: Literal["brown", "cca", "vectors"] = "brown"
    clusters: _Counts | None = None
    dimensions: _Counts = Field([50])
    vectors: Path | None = None
    rank: _Counts = Field([7])
    bandwidth: _Shares = Field([0.4])
    floor: _Shares = Field([0.01])
    least_squares: bool = False
    tags: Literal["given", "universal"] = "given"
    longest: _Counts | None = None
    iterations: _Counts = Field([20])
    start: Literal["split", "random"] = "split"
    seeds: _Seeds | None = None
    brackets: Path | None = None
    notation: Notation = "trees"

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "name" not in given and "method" in given:
            return {**given, "name": given["method"]}
        return given

    @model_validator(mode="after")
    def _has_its_file(self) -> InducedModel:
        for key, wanted in (
            ("vectors", self.method == "metric" and self.words == "vectors"),
            ("brackets", self.method == "brackets"),
        ):
            if wanted is not (getattr(self, key) is not None):
                what = "needs" if wanted else "has no use for"
                raise ValueError(f"the model {self.name!r} {what} a file of {key}")
        return self

    def grid(self, seeds: Sequence[int]) -> dict[str, Sequence[Any]]:
        """Values of all that may have several, by name."""
        own = self.seeds or seeds
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
                "seed": own if self.start == "random" else [0],
            }
        return {"seed": own} if self.method == "random" else {}

    def fixed(self) -> dict[str, Any]:
        """What else decides, by name."""
        keys = {
            "metric": ("words", "least_squares"),
            "constituent-context": ("tags", "start"),
            "brackets": ("notation",),
        }.get(self.method, ())
        return {"method": self.method, **{key: getattr(self, key) for key in keys}}


class BracketingStudy(Table):
    """All that a study compares.  Paths are relative to where Python runs.

    Attributes
    ----------
    kind
        ``bracketing``.
    title
        Heading of the report.
    text
        Files of trees, whose words and tags are learned from.
    tests
        Files of gold trees by name; they may be those of the text.
    tag_map
        To universal tags: a name or a file.  None: the one of the package that fits the text.
    lengths
        Scores are of the sentences up to so many words.
    longest
        Most words of a sentence that is scored; None for all lengths.
    samples
        Draws of the bootstrap for the intervals.
    seeds
        What begins by chance is done with each of them.
    model
        At least one.
    """

    kind: Literal["bracketing"]
    title: Name = "Comparison of bracketings without a treebank"
    text: _Files
    tests: Annotated[dict[Name, _Files], Field(min_length=1)]
    tag_map: Name | None = None
    lengths: _Counts = Field([10, 20, 30, 40])
    longest: _Count | None = None
    samples: _Count = 1000
    seeds: _Seeds = Field([0])
    model: Annotated[list[InducedModel], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> BracketingStudy:
        names = [model.name for model in self.model]
        for name in names:
            if (n := names.count(name)) > 1:
                raise ValueError(f"there are {n} models called {name!r}; name each")
        return self

    @property
    def files(self) -> dict[str, Path]:
        found = dict(_numbered("text", self.text))
        for name, paths in self.tests.items():
            found |= _numbered(f"test {name}", paths)
        for model in self.model:
            for what in ("vectors", "brackets"):
                if (path := getattr(model, what)) is not None:
                    found[f"{what} of {model.name}"] = path
        if self.tag_map is not None and Path(self.tag_map).is_file():
            found["tag map"] = Path(self.tag_map)
        return found

    @property
    def limits(self) -> list[int | None]:
        """Most words of the sentences of each figure, the last one for all that are scored."""
        if self.longest is None:
            return [*sorted(self.lengths), None]
        return [*(one for one in sorted(self.lengths) if one < self.longest), self.longest]

    def trials(self) -> list[Trial]:
        """Every bracketing that the study asks for."""
        shared = {"tag_map": self.tag_map, "limits": self.limits, "samples": self.samples}
        trials = []
        for model in self.model:
            grid = model.grid(self.seeds)
            for values in product(*grid.values()):
                chosen = dict(zip(grid, values, strict=True))
                told = [f"{name} {chosen[name]}" for name in grid if len(grid[name]) > 1]
                trials.append(
                    Trial(
                        ", ".join([model.name, *told]),
                        {**model.fixed(), **chosen, **shared, "model": model.name},
                    )
                )
        return trials


def _numbered(name: str, paths: Sequence[Path]) -> dict[str, Path]:
    if len(paths) == 1:
        return {name: paths[0]}
    return {f"{name} {number}": path for number, path in enumerate(paths, start=1)}


def make_bracketing_study(given: Mapping[str, Any], name: str = "study") -> BracketingStudy:
    """Check the tables of a study.

    Raises
    ------
    SettingsError
        With the key, its value and what would be right.
    """
    try:
        return BracketingStudy.model_validate(dict(given))
    except ValidationError as error:
        refuse(error, f"{name}: ", BracketingStudy, "a study of bracketing")


def run_bracketing_study(
    study: BracketingStudy,
    output: str | Path,
    *,
    jobs: int = 1,
    progress: Callable[[Tried], None] | None = None,
    command: str = "",
) -> TrialStudyResult:
    """Do what is left of a study and write its report.

    Parameters
    ----------
    output
        Folder for the report and the records of what is done.
    jobs
        Processes that count words; all figures but times are the same for any number.
    progress
        Called at the beginning, and when a model was learned and scored.
    command
        The command line, for the report.

    Raises
    ------
    TreebankFormatError
        When a file can't be read or has no tree.
    SettingsError
        When a tag map is unknown.
    """
    from eigentree.studies.report.bracketing import bracketing_report

    data = _Data.read(study, jobs)
    _warm()
    models = {model.name: model for model in study.model}

    def attempt(trial: Trial, checkpoint: Path) -> Record:  # noqa: ARG001 - soon done
        return _attempt(trial.settings, models[trial.settings["model"]], data)

    outcome = run_trials(study.trials(), study.files, attempt, Path(output), progress)
    figures = {
        "title": study.title,
        "command": command,
        "tag_map": data.tag_map.name,
        "limits": study.limits,
        "text": [len(data.text), sum(len(words) for words, _ in data.text)],
        "tests": {
            name: [sum(2 <= len(one.words) <= (limit or len(one.words)) for one in test.gold)
                   for limit in study.limits]
            for name, test in data.tests.items()
        },
        "data": data_of(study.files),
        "records": list(outcome.records.values()),
        "failures": outcome.failures,
    }  # fmt: skip
    return TrialStudyResult(
        figures, outcome.failures, write_results(figures, bracketing_report(figures), Path(output))
    )


@dataclass(frozen=True)
class _Test:
    """Gold trees that are scored on, and what counts of them."""

    trees: list[Tree]
    gold: list[GoldBracketing]

    def tops(self, rule: Top, tag_map: TagMap) -> list[int]:
        """Where the root must part each sentence; 0 for anywhere."""
        if rule == "gold":
            return [gold_top_bracket(tree, tag_map) for tree in self.trees]
        return [RULES[rule](tree.words(), tree.tags(), tag_map) for tree in self.trees]


class _Timed(NamedTuple):
    """Something that was made, and the CPU seconds that it took."""

    made: Any
    seconds: float


@dataclass(frozen=True)
class _Data:
    """The text, the tests, and what was made of the text, so that models share it."""

    text: list[tuple[list[str], list[str]]]
    tests: dict[str, _Test]
    tag_map: TagMap
    jobs: int
    _made: dict[Any, _Timed] = field(default_factory=dict)

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
            most = study.longest
            kept = [at for at, one in enumerate(gold) if most is None or len(one.words) <= most]
            tests[name] = _Test([trees[at] for at in kept], [gold[at] for at in kept])
            if not any(len(one.words) > 1 for one in tests[name].gold):
                raise TreebankFormatError(
                    f"{paths[0]}: no sentence of two words or more to score; at least one is needed"
                )
        return cls(text, tests, tag_map, jobs)

    def made(self, key: Any, make: Callable[[], Any]) -> _Timed:
        """What was made before, or is made now."""
        if key not in self._made:
            began = time.process_time()
            found = make()
            self._made[key] = _Timed(found, time.process_time() - began)
        return self._made[key]

    def vectors(self, settings: Mapping[str, Any], path: Path | None) -> _Timed:
        """Vectors of words, by their settings."""
        words = [[word.lower() for word in own] for own, _ in self.text]
        if path is not None:
            return self.made(path, lambda: read_vectors(path))
        if settings["words"] == "brown":
            clusters = self.clusters(settings["clusters"])
            return _Timed(clusters.made.vectors(), clusters.seconds)
        options = CCAOptions(settings["dimensions"])
        return self.made(options, lambda: learn_cca(words, options))

    def clusters(self, number: int) -> _Timed:
        """Brown clusters of the text in lower case."""
        words = ([word.lower() for word in own] for own, _ in self.text)
        return self.made(("brown", number), lambda: learn_brown(words, BrownOptions(number)))

    def moments(self, vectors: WordVectors, key: Any) -> _Timed:
        """Moments of the text, by what the vectors are."""
        largest = MetricOptions().largest_distance
        return self.made(
            ("moments", key),
            lambda: count_moments(self.text, vectors, self.tag_map, largest, jobs=self.jobs),
        )


def _trees(paths: Sequence[Path]) -> list[Tree]:
    trees = read_treebank(list(paths), cleaning=CleaningOptions(cut_tags=True)).trees
    if not trees:
        raise TreebankFormatError(f"{paths[0]}: holds no tree; at least one is needed")
    return trees


@cache
def _warm() -> None:
    """Learn and parse a little, so that no compilation falls into what is measured."""
    words, tags = ["a", "b", "c"], ["DET", "NOUN", "VERB"]
    vectors = learn_brown([words], BrownOptions(2)).vectors()
    BracketingParser.train([(words, tags)], method="metric", vectors=vectors).parse(words, tags)
    learn_constituent_context([tags]).brackets(tags)


def _attempt(settings: Mapping[str, Any], model: InducedModel, data: _Data) -> Record:
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
        scores[name] = _scores(test, settings, partial(_same, (parses, 0.0)))
    return {"word_seconds": None, "seconds": None, "learned_from": None, "scores": scores}


def _read(path: Path, notation: Notation) -> list[Bracketing | None]:
    with open_text(path) as lines:
        records = read_bracketings(lines, notation=notation, name=str(path))
        return [record.bracketing for record in records]


def _of_metric(settings: Mapping[str, Any], model: InducedModel, data: _Data) -> Record:
    vectors = data.vectors(settings, model.vectors)
    key = model.vectors or (settings["words"], settings.get("clusters", settings.get("dimensions")))
    moments = data.moments(vectors.made, key)
    counted: Moments = moments.made
    began = time.process_time()
    options = MetricOptions(settings["rank"], settings["bandwidth"], settings["floor"])
    metric = metric_of(counted, data.tag_map, options)
    seconds = moments.seconds + time.process_time() - began
    parser = BracketingParser(MetricModel(metric, settings["least_squares"]))

    def scored(test: _Test) -> dict[str, Any]:
        tops = test.tops(settings["top"], data.tag_map)
        began = time.process_time()
        results = [
            parser.parse(tree.words(), tree.tags(), top=top)
            for tree, top in zip(test.trees, tops, strict=True)
        ]
        spent = time.process_time() - began
        parses = [None if each.tree is None else bracketing_of(each.tree) for each in results]
        return _scores(test, settings, partial(_same, (parses, spent)))

    return {
        "word_seconds": vectors.seconds,
        "seconds": seconds,
        "learned_from": len(data.text),
        "scores": {name: scored(test) for name, test in data.tests.items()},
    }


def _of_contexts(settings: Mapping[str, Any], data: _Data) -> Record:
    """A constituent-context model, or one for each length, whose tags may be crossed."""
    number = settings["clusters"]
    clusters = None if number is None else data.clusters(number)

    def symbols(words: Sequence[str], tags: Sequence[str]) -> list[str]:
        """What the model sees of a sentence: its tags without punctuation, crossed if need be."""
        kept = [at for at, tag in enumerate(tags) if not data.tag_map.is_punctuation(tag)]
        seen = [data.tag_map(tags[at]) for at in kept]
        if settings["tags"] == "given":
            seen = [tags[at] for at in kept]
        if clusters is None:
            return seen
        cluster_of = clusters.made.cluster_of
        return [f"{tag} {cluster_of(words[at])}" for tag, at in zip(seen, kept, strict=True)]

    text = [symbols(words, tags) for words, tags in data.text]
    own = [settings["longest"]] if settings["longest"] is not None else settings["limits"]
    learned = {}
    began = time.process_time()
    for longest in own:
        options = ConstituentContextOptions(
            (longest,),
            settings["iterations"],
            start=settings["start"],
            seed=settings["seed"],
        )
        learned[longest] = learn_constituent_context(text, options)
    seconds = time.process_time() - began

    def scored(test: _Test) -> dict[str, Any]:
        tops = test.tops(settings["top"], data.tag_map)
        asked = [symbols(tree.words(), tree.tags()) for tree in test.trees]
        kept: dict[int | None, tuple[list[Bracketing | None], float]] = {}

        def parses(limit: int | None) -> tuple[list[Bracketing | None], float]:
            by = limit if settings["longest"] is None else settings["longest"]
            if by not in kept:
                began = time.process_time()
                trees = [
                    learned[by].best_tree(tags, top or None).spans
                    for tags, top in zip(asked, tops, strict=True)
                ]
                spent = time.process_time() - began
                kept[by] = (
                    [
                        Bracketing(one.words, spans)
                        for one, spans in zip(test.gold, trees, strict=True)
                    ],
                    spent,
                )
            return kept[by]

        return _scores(test, settings, parses)

    last = own[-1]
    return {
        "word_seconds": None if clusters is None else clusters.seconds,
        "seconds": seconds,
        "learned_from": sum(1 < len(tags) <= (last or len(tags)) for tags in text),
        "scores": {name: scored(test) for name, test in data.tests.items()},
    }


def _same(parses: Parses, limit: int | None) -> Parses:  # noqa: ARG001 - for any limit
    return parses


def _scores(
    test: _Test,
    settings: Mapping[str, Any],
    parses_of: Callable[[int | None], Parses],
) -> dict[str, Any]:
    """Figures by convention and limit; a parser may be another one for each limit.

    ``seconds`` are those of parsing all sentences, by the last limit's parser.
    """
    figures = []
    n_wrong, seconds = 0, 0.0
    for limit in settings["limits"]:
        parses, seconds = parses_of(limit)
        kept = [at for at, one in enumerate(test.gold) if limit is None or len(one.words) <= limit]
        result = score_unlabelled(
            [test.gold[at] for at in kept],
            [parses[at] for at in kept],
            lengths=(),
            n_samples=settings["samples"],
        )
        for convention in CONVENTIONS:
            found = result.figure(convention, None)
            figures.append({**found.to_dict(), "longest": limit})
        n_wrong = len(result.problems)
    return {
        "figures": figures,
        "sentences": len(test.gold),
        "without_parse": n_wrong,
        "seconds": seconds,
    }
