"""Studies of dependency parsers: methods, states and lexical models on one treebank.

A study file of the kind ``dependencies`` names CoNLL-U files and models; each model is trained for
each of its numbers of states and each seed, and scored by attachment with gold tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from eigentree.constituency.settings import Name, SettingsTable
from eigentree.dependency.learn.head_automata import HeadAutomataOptions, Method
from eigentree.dependency.learn.lexical_modifiers import OF_THE_PAPER, LexicalModifierOptions
from eigentree.dependency.options import (
    DependencyObjective,
    DependencyOptions,
    DependencyTrainingOptions,
)
from eigentree.dependency.parser import DependencyParser
from eigentree.dependency.training import train_dependencies
from eigentree.errors import TreebankFormatError, counted
from eigentree.evaluation.attachment import AttachmentResult, score_attachment
from eigentree.evaluation.significance import bootstrap_interval
from eigentree.studies.intervals import ends_of
from eigentree.studies.report.dependency import dependency_report
from eigentree.studies.report.page import Report
from eigentree.studies.run import (
    Outcome,
    Record,
    Run,
    Workspace,
    data_figures,
    percent_headline,
    timed,
)
from eigentree.studies.settings import Count, ModelTable, Seeds, StatesList, check_names
from eigentree.treebank.io.conllu import Sentence, read_dependencies
from eigentree.treebank.tag_schemes import parts_of_scheme, scheme_of, tags_of

# Number of sentences of the training that has everything compiled.
WARM_UP_SENTENCES = 20
# Methods without hidden states.
STATELESS = ("det", "det+f", "sibling")


def _scheme(text: str) -> str:
    parts_of_scheme(text)
    return text


class DependencyModel(ModelTable):
    """One method with its settings; each number of states is a row of the report's tables.

    Attributes
    ----------
    method
        The training method of the automata.
    states
        Maximum numbers of hidden states, one or several; ignored by ``det``, ``det+f`` and
        ``sibling``.
    lexical
        The lexical model.
    lexical_alone
        Whether it replaces the automata.
    lexical_weight
        Its exponent; by default the best on dev.
    back_off, iterations, restarts
        As in `eigentree.dependency.learn.head_automata.HeadAutomataOptions`.
    objective
        The objective of the decoder.
    seeds
        One or several; they override the study's.
    """

    method: Method
    states: StatesList = Field([6])
    lexical: Literal["none", "lex", "lex+f", "lex+fcp"] = "none"
    lexical_alone: bool = False
    lexical_weight: Annotated[float, Field(gt=0)] | None = None
    back_off: Annotated[float, Field(gt=0, lt=1)] = 0.1
    iterations: Count = 30
    restarts: Count = 1
    objective: DependencyObjective = "sum"
    seeds: Seeds | None = None

    @classmethod
    def default_name(cls, given: Mapping[str, Any]) -> Any:
        """The method, with the lexical model if there is one."""
        lexical = given.get("lexical", "none")
        return given["method"] if lexical == "none" else f"{given['method']} and {lexical}"


class DependencyStudy(SettingsTable):
    """A study of dependency parsers.  Paths are relative to the working directory.

    Attributes
    ----------
    kind
        ``dependencies``.
    title
        Title of the report.
    train, dev, test
        CoNLL-U or CoNLL-X files.  The best models are selected on dev; test is only scored.
    tags
        A tag scheme; by default that of the treebank.
    longest
        Maximum number of words of a sentence of dev and test; None for no limit.
    seeds
        Default seeds of models trained by EM, which are trained with each of them.
    model
        The models, at least one.
    """

    kind: Literal["dependencies"]
    title: Name = "Comparison of dependency parsers"
    train: Path
    dev: Path
    test: Path | None = None
    tags: Annotated[str, AfterValidator(_scheme)] | None = None
    longest: Count | None = None
    seeds: Seeds = Field([0])
    model: Annotated[list[DependencyModel], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> DependencyStudy:
        check_names([model.name for model in self.model])
        return self

    @property
    def files(self) -> dict[str, Path]:
        """The CoNLL-U files by part."""
        test = {} if self.test is None else {"test": self.test}
        return {"train": self.train, "dev": self.dev} | test

    def runs(self) -> list[Run]:
        """Every training, each once."""
        shared = {"tags": self.tags, "longest": self.longest}
        runs = []
        for model in self.model:
            settings = model.model_dump(mode="json", exclude={"states", "seeds", "name"})
            for states in [None] if model.method in STATELESS else model.states:
                # Only EM depends on the seed.
                seeds = (model.seeds or self.seeds) if model.method == "em" else [0]
                for seed in seeds:
                    name = model.name + ("" if states is None else f", {states} states")
                    decisive = {**settings, **shared, "states": states, "seed": seed}
                    runs.append(
                        Run(
                            name + (f", seed {seed}" if seed else ""),
                            {**decisive, "model": model.name},
                            uses_all_processes=True,
                        )
                    )
        return runs

    def open(self, jobs: int) -> OpenDependencyStudy:  # noqa: ARG002 - reading takes one process
        """Access to the treebank, which is read on first use."""
        return OpenDependencyStudy(self)

    def headline(self, record: Record) -> str:
        """UAS on dev."""
        return percent_headline("UAS", record["scores"]["dev"]["uas"])

    def report(self, figures: Mapping[str, Any]) -> Report:
        """The report on figures of a study of this kind."""
        return dependency_report(figures)


class OpenDependencyStudy:
    """A study of dependency parsers with its treebank."""

    def __init__(self, study: DependencyStudy) -> None:
        self._study = study
        self._data = cache(self._read)

    def _read(self) -> dict[str, list[Sentence]]:
        """The sentences to train on and to score, by part."""
        study = self._study
        data = {part: read_dependencies(path).sentences for part, path in study.files.items()}
        if study.longest is not None:
            for part in set(data) - {"train"}:
                data[part] = [each for each in data[part] if len(each) <= study.longest]
        for part, sentences in data.items():
            if not sentences:
                limit = ""
                if study.longest is not None:
                    limit = f" of at most {counted(study.longest, 'word')}"
                raise TreebankFormatError(
                    f"{study.files[part]}: no sentences{limit}; at least one is needed"
                )
        return data

    @property
    def _scheme(self) -> str:
        return self._study.tags or scheme_of(self._data()["train"])

    def prepare(self, runs: Sequence[Run]) -> None:  # noqa: ARG002 - all need the same data
        """Read the treebank."""
        self._data()

    def warm_up(self, run: Run) -> None:  # noqa: ARG002 - the same for all
        """Train and parse with two methods and a lexical model."""
        _warm_up(tuple(self._data()["train"][:WARM_UP_SENTENCES]), self._scheme)

    def execute(self, run: Run, workspace: Workspace) -> Record:
        """Train and score a parser."""
        data, scheme = self._data(), self._scheme
        parser, seconds = timed(
            lambda: train_dependencies(
                data["train"],
                _options(run.settings, scheme),
                dev=data["dev"],
                seed=run.settings["seed"],
                jobs=workspace.processes,
                checkpoint=workspace.checkpoint,
            )
        )
        lexical = 0 if parser.lexical is None else parser.lexical.n_parameters
        return {
            "seconds": seconds,
            "parameters": parser.automata.n_parameters + lexical,
            "lexical_weight": parser.options.lexical_weight,
            "em": parser.description["em"],
            "scores": {
                part: _scores(parser, sentences, scheme)
                for part, sentences in data.items()
                if part != "train"
            },
        }

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        """All figures of the report."""
        study = self._study
        return {
            "title": study.title,
            "command": outcome.command,
            "tags": self._scheme,
            "longest": study.longest,
            "sizes": {
                part: [len(each), sum(map(len, each))] for part, each in self._data().items()
            },
            "data": data_figures(study.files, outcome),
            "records": outcome.done(),
            "failures": dict(outcome.failures),
        }


@cache
def _warm_up(sentences: tuple[Sentence, ...], scheme: str) -> None:
    """Train and parse on a few sentences, to exclude compilation from measured times."""
    for method in ("spectral", "em"):
        options = _options({"method": method, "lexical": "lex", "lexical_weight": 1.0}, scheme)
        parser = train_dependencies(sentences, options)
        parser.parse(sentences[0].forms(), tags_of(sentences[0], scheme))


def _options(settings: Mapping[str, Any], scheme: str) -> DependencyTrainingOptions:
    lexical = settings["lexical"]
    automata = {
        name: settings[name]
        for name in ("method", "states", "back_off", "iterations", "restarts")
        if settings.get(name) is not None
    }
    return DependencyTrainingOptions(
        HeadAutomataOptions(**automata),
        None if lexical == "none" else LexicalModifierOptions(states=OF_THE_PAPER[lexical]),
        settings["lexical_weight"],
        scheme,
        relations=False,
        tagger=False,
        parsing=DependencyOptions(
            settings.get("objective", "sum"), lexical_alone=settings.get("lexical_alone", False)
        ),
    )


def _scores(parser: DependencyParser, sentences: Sequence[Sentence], scheme: str) -> dict[str, Any]:
    inputs = [(each.forms(), tags_of(each, scheme)) for each in sentences]
    results, seconds = timed(lambda: list(parser.parse_many(inputs)))
    parsed = [
        sentence.with_heads(result.heads)
        for sentence, result in zip(sentences, results, strict=True)
    ]
    scores = score_attachment(sentences, parsed)
    return {
        **_figures_of(scores),
        "seconds": seconds,
        "fallbacks": sum(result.fallback is not None for result in results),
        "negative": sum(result.sign < 0 for result in results),
        "outside": sum(result.n_outside > 0 for result in results),
    }


def _figures_of(scores: AttachmentResult) -> dict[str, Any]:
    return {
        "uas": scores.all.uas,
        **ends_of(bootstrap_interval(scores.counts("uas"), seed=0)),
        "uas_without_punctuation": scores.bare.uas,
        "uas_up_to_10": _uas_of([each for each in scores.sentences if each.all.words <= 10]),
        "exact": scores.all.uem,
        "sentences": len(scores.sentences),
    }


def _uas_of(sentences: Sequence[Any]) -> float | None:
    n_words = sum(each.all.words for each in sentences)
    return sum(each.all.heads for each in sentences) / n_words if n_words else None
