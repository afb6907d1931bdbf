"""Studies of dependency parsers: methods, states and lexical models on one treebank.

A study file of the kind ``dependencies`` names files of CoNLL-U and models; each model is trained
for each of its numbers of states and each seed, and scored by attachments with gold tags.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from eigentree.constituency.settings import Name, States, Table, distinct, refuse
from eigentree.dependency.learn.head_automata import HeadAutomataOptions, Method
from eigentree.dependency.learn.lexical_modifiers import OF_THE_PAPER, LexicalModifierOptions
from eigentree.dependency.options import (
    DependencyObjective,
    DependencyOptions,
    DependencyTrainingOptions,
)
from eigentree.dependency.parser import DependencyParser
from eigentree.dependency.training import train_dependencies
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.evaluation.attachment import AttachmentResult, score_attachment
from eigentree.evaluation.significance import bootstrap_interval
from eigentree.studies.trials import (
    Record,
    Trial,
    TrialStudyResult,
    Tried,
    data_of,
    run_trials,
    write_results,
)
from eigentree.treebank.io.conllu import Sentence, read_dependencies
from eigentree.treebank.tag_schemes import parts_of_scheme, scheme_of, tags_of

KIND = "dependencies"
COUNTED = ("det", "det+f", "sibling")

_Seeds = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], AfterValidator(distinct)]
_States = Annotated[list[States], AfterValidator(distinct)]


def _scheme(text: str) -> str:
    parts_of_scheme(text)
    return text


class DependencyModel(Table):
    """One way of learning; a row of the tables for each number of states.

    Attributes
    ----------
    method
        Of the automata.
    name
        By default the method, with the lexical model.
    states
        Most hidden states, one or several numbers; none for counted automata.
    lexical
        ``none``, ``lex``, ``lex+f`` or ``lex+fcp``.
    lexical_alone
        Whether it replaces the automata.
    lexical_weight
        Its exponent; the best on dev if not given.
    back_off, iterations, restarts
        See `eigentree.dependency.learn.head_automata.HeadAutomataOptions`.
    objective
        Of the decoder.
    seeds
        In place of the study's.
    """

    method: Method
    name: Name = ""
    states: _States = Field([6])
    lexical: Literal["none", "lex", "lex+f", "lex+fcp"] = "none"
    lexical_alone: bool = False
    lexical_weight: Annotated[float, Field(gt=0)] | None = None
    back_off: Annotated[float, Field(gt=0, lt=1)] = 0.1
    iterations: Annotated[int, Field(ge=1, strict=True)] = 30
    restarts: Annotated[int, Field(ge=1, strict=True)] = 1
    objective: DependencyObjective = "sum"
    seeds: _Seeds | None = None

    @field_validator("states", "seeds", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [value] if isinstance(value, int) else value

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "name" not in given and "method" in given:
            lexical = given.get("lexical", "none")
            name = given["method"] if lexical == "none" else f"{given['method']} and {lexical}"
            return {**given, "name": name}
        return given


class DependencyStudy(Table):
    """All that a study compares.  Paths are relative to where Python runs.

    Attributes
    ----------
    kind
        ``dependencies``.
    title
        Heading of the report.
    train, dev, test
        Files of CoNLL-U or CoNLL-X.  The best models are chosen on dev; test is only scored.
    tags
        A scheme of tags; None to let the treebank decide.
    longest
        Most words of a sentence of dev and test; None for sentences of all lengths.
    seeds
        Each model with hidden states that does not say its own is trained with each of them.
    model
        At least one.
    """

    kind: Literal["dependencies"]
    title: Name = "Comparison of dependency parsers"
    train: Path
    dev: Path
    test: Path | None = None
    tags: Annotated[str, AfterValidator(_scheme)] | None = None
    longest: Annotated[int, Field(ge=1, strict=True)] | None = None
    seeds: _Seeds = Field([0])
    model: Annotated[list[DependencyModel], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> DependencyStudy:
        names = [model.name for model in self.model]
        for name in names:
            if (n := names.count(name)) > 1:
                raise ValueError(f"there are {n} models called {name!r}; name each")
        return self

    @property
    def files(self) -> dict[str, Path]:
        test = {} if self.test is None else {"test": self.test}
        return {"train": self.train, "dev": self.dev} | test

    def trials(self) -> list[Trial]:
        """Every training that the study asks for."""
        shared = {"tags": self.tags, "longest": self.longest}
        trials = []
        for model in self.model:
            plain = model.method in COUNTED
            settings = model.model_dump(mode="json", exclude={"states", "seeds", "name"})
            for states in [None] if plain else model.states:
                # Only what begins by chance differs by its seed.
                seeds = (model.seeds or self.seeds) if model.method == "em" else [0]
                for seed in seeds:
                    name = model.name + ("" if states is None else f", {states} states")
                    decisive = {**settings, **shared, "states": states, "seed": seed}
                    trials.append(
                        Trial(
                            name + (f", seed {seed}" if seed else ""),
                            {**decisive, "model": model.name},
                        )
                    )
        return trials


def make_dependency_study(given: Mapping[str, Any], name: str = "study") -> DependencyStudy:
    """Check the tables of a study.

    Raises
    ------
    SettingsError
        With the key, its value and what would be right.
    """
    try:
        return DependencyStudy.model_validate(dict(given))
    except ValidationError as error:
        refuse(error, f"{name}: ", DependencyStudy, "a study of dependencies")
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None


def run_dependency_study(
    study: DependencyStudy,
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
        Processes of expectation maximisation; all figures but times are the same for any number.
    progress
        Called at the beginning, and when a model was trained and scored.
    command
        The command line, for the report.

    Raises
    ------
    TreebankFormatError
        When a treebank can't be read or is empty.
    """
    from eigentree.studies.report.dependency import dependency_report

    data = _read(study)

    def attempt(trial: Trial, checkpoint: Path) -> Record:
        return _attempt(trial, data, checkpoint, jobs)

    outcome = run_trials(study.trials(), study.files, attempt, Path(output), progress)
    figures = {
        "title": study.title,
        "command": command,
        "tags": study.tags or scheme_of(data["train"]),
        "longest": study.longest,
        "sizes": {part: [len(each), sum(map(len, each))] for part, each in data.items()},
        "data": data_of(study.files),
        "records": list(outcome.records.values()),
        "failures": outcome.failures,
    }
    return TrialStudyResult(
        figures, outcome.failures, write_results(figures, dependency_report(figures), Path(output))
    )


def _read(study: DependencyStudy) -> dict[str, list[Sentence]]:
    data = {part: read_dependencies(path).sentences for part, path in study.files.items()}
    if study.longest is not None:
        for part in set(data) - {"train"}:
            data[part] = [each for each in data[part] if len(each) <= study.longest]
    for part, sentences in data.items():
        if not sentences:
            raise TreebankFormatError(
                f"{study.files[part]}: no sentence of the lengths asked for; at least one is needed"
            )
    return data


@cache
def _warm(sentences: tuple[Sentence, ...], scheme: str) -> None:
    """Train and parse a little, so that no compilation falls into what is measured."""
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


def _attempt(
    trial: Trial, data: Mapping[str, Sequence[Sentence]], checkpoint: Path, jobs: int
) -> Record:
    scheme = trial.settings["tags"] or scheme_of(data["train"])
    _warm(tuple(data["train"][:20]), scheme)
    began = time.process_time()
    parser = train_dependencies(
        data["train"],
        _options(trial.settings, scheme),
        dev=data["dev"],
        seed=trial.settings["seed"],
        jobs=jobs,
        checkpoint=checkpoint,
    )
    seconds = time.process_time() - began
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


def _scores(parser: DependencyParser, sentences: Sequence[Sentence], scheme: str) -> dict[str, Any]:
    asked = [(each.forms(), tags_of(each, scheme)) for each in sentences]
    began = time.process_time()
    results = list(parser.parse_many(asked))
    seconds = time.process_time() - began
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
    interval = bootstrap_interval(scores.counts("uas"), seed=0)
    return {
        "uas": scores.all.uas,
        "low": interval.low,
        "high": interval.high,
        "uas_without_punctuation": scores.bare.uas,
        "uas_up_to_10": _share([each for each in scores.sentences if each.all.words <= 10]),
        "exact": scores.all.uem,
        "sentences": len(scores.sentences),
    }


def _share(sentences: Sequence[Any]) -> float | None:
    n_words = sum(each.all.words for each in sentences)
    return sum(each.all.heads for each in sentences) / n_words if n_words else None
