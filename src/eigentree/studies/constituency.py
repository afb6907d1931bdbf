"""What a study compares: the tables of a study file, checked, and the work they stand for.

A study names a treebank and models; a model is a method with settings, and is trained once for
each number of states and each seed.  Ablations take one part off some of the models, learning
curves train some of them on a part of the trees.  Every field of `TrainingOptions` but the
method may stand in the file, at the top for all models or within a model for that one.

Ensembles are described as `eigentree.constituency.ensemble.config` does, in the study file or in a
file
of their own; settings at the top of the study are below those of the ensemble.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator

from eigentree.constituency.ensemble.config import EnsembleConfig, make_config
from eigentree.constituency.estimators import MARKOV, METHODS, learned_by
from eigentree.constituency.settings import (
    Name,
    States,
    Table,
    WithSettings,
    distinct,
    known,
    merged,
    read_tables,
    refuse,
    training_options,
)
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError
from eigentree.studies.ensemble_runs import Entrant
from eigentree.studies.runs import Cell

_MARKOV = {"treebank": {"binarise": {"vertical": MARKOV.vertical, "horizontal": MARKOV.horizontal}}}
# Methods without latent states.
STATELESS = ("pcfg", "markov")

# What an ablation takes off a spectral model, as settings.
ABLATIONS: dict[str, dict[str, Any]] = {
    "no smoothing": {"spectral": {"smoothing": 0.0, "word_smoothing": 1.0}},
    "no scaling": {"spectral": {"features": {"scaling": False}}},
    "no absolute values": {"parsing": {"absolute": False}},
    "simple features": {"spectral": {"features": {"inside": ["rule"], "outside": ["rule"]}}},
    "no shrinkage": {"spectral": {"shrinkage": 0.0}},
    "no siblings": {"treebank": {"binarise": {"horizontal": 0}}},
    "no unseen rules": {"unseen": None},
}
OF_THE_PAPER = ("no smoothing", "no scaling", "no absolute values", "simple features")

_Method = Annotated[str, AfterValidator(lambda value: known(value, METHODS))]
_Ablation = Annotated[str, AfterValidator(lambda value: known(value, tuple(ABLATIONS)))]
_States = Annotated[list[States], AfterValidator(distinct)]
_Seeds = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], AfterValidator(distinct)]
_MOST_NAME_BYTES = 100
_Share = Annotated[float, Field(gt=0, le=1)]


class Model(WithSettings):
    """One estimator with its settings; a row of the tables for each number of states.

    Attributes
    ----------
    method
        One of the methods of training, or ``markov``.
    name
        By default the method.
    states, seeds
        In place of the study's, one or several.
    """

    method: _Method
    name: Name = ""
    states: _States | None = None
    seeds: _Seeds | None = None

    @field_validator("states", "seeds", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [value] if isinstance(value, int) else value

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "name" not in given and "method" in given:
            return {**given, "name": given["method"]}
        return given


def _folder_name(value: str) -> str:
    if "/" in value or value.startswith(".") or len(value.encode()) > _MOST_NAME_BYTES:
        raise ValueError("a name that a folder can have, such as 'additive'")
    return value


class Ensemble(EnsembleConfig):
    """An ensemble, described here or in a file of its own.

    Attributes
    ----------
    name
        Also of its folder.
    description
        A file that describes it, in place of the tables of a description.
    """

    name: Annotated[Name, AfterValidator(_folder_name)]
    description: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Take the tables from the file, where there is one."""
        if not isinstance(given, Mapping) or not isinstance(given.get("description"), str | Path):
            return given
        more = sorted(set(given) - {"name", "description"})
        if more:
            raise ValueError(
                f"an ensemble has {more[0]!r} beside a description in a file; it must be in the "
                "file, or all tables here"
            )
        path = given["description"]
        tables = read_tables(path)
        make_config(tables, str(path))  # refuses what is wrong in the name of the file
        return {**tables, **given}

    def described(self, settings: Mapping[str, Any]) -> EnsembleConfig:
        """The description alone, over settings that hold where it has none."""
        tables = self.tables()
        for name in ("name", "description"):
            tables.pop(name, None)
        # The jackknife of a model is none of an ensemble.
        below = {n: value for n, value in settings.items() if n not in EnsembleConfig.model_fields}
        return make_config(merged([below, tables]), f"ensemble {self.name!r}")


class Ablations(Table):
    """Parts that are taken off models, one at a time.

    Attributes
    ----------
    without
        Names of `ABLATIONS`; by default those of the paper.
    models
        Names of spectral models; by default all of them.
    states
        In place of the models'.
    """

    without: Annotated[list[_Ablation], AfterValidator(distinct)] = Field(list(OF_THE_PAPER))
    models: list[str] | None = None
    states: _States | None = None


class LearningCurve(Table):
    """Models that are trained on parts of the trees.

    Attributes
    ----------
    sizes
        Shares of the training trees, above 0 and up to 1.
    models
        Names of models; by default all of them.
    states
        In place of the models'.
    """

    sizes: Annotated[list[_Share], AfterValidator(distinct)]
    models: list[str] | None = None
    states: _States | None = None


class Reference(Table):
    """A result from elsewhere, shown beside those of the study.

    Attributes
    ----------
    name
        Results of one name are joined by a line.
    f1
        In percent.
    cpu_seconds
        Time of training.
    tags
        What the sentences came with.
    on
        What was parsed; ``mean`` is that of dev and test.
    """

    name: Name
    f1: Annotated[float, Field(ge=0, le=100)]
    cpu_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    tags: Literal["gold", "own"] = "gold"
    on: Literal["dev", "test", "mean"] = "dev"


class Study(WithSettings):
    """All that a study compares.  Paths are relative to where Python runs.

    Attributes
    ----------
    title
        Heading of the report.
    train, dev, test
        Files of trees.  The best models are chosen on dev; test is only scored.
    tags
        Whether sentences are parsed with their gold tags, or as words alone with a tagger that
        is trained on the same trees.
    longest
        Most words of a sentence of dev and test; longer ones are neither parsed nor scored.
        None for sentences of all lengths.
    states
        Numbers of latent states of each model that does not say its own.
    seeds
        Each model that does not say its own is trained with each of them.
    model
        The models; at least one, or an ensemble.
    ensemble
        Trained with the first seed.
    ablations
        What is taken off which of them.
    learning_curve
        Which of them are trained on fewer trees.
    reference
        Results from elsewhere.
    """

    title: Name = "Comparison of estimators"
    train: Path
    dev: Path
    test: Path | None = None
    tags: Literal["gold", "own"] = "gold"
    longest: Annotated[int, Field(ge=1, strict=True)] | None = None
    states: _States = Field([8, 16, 24, 32])
    seeds: _Seeds = Field([0])
    model: list[Model] = Field([])
    ensemble: list[Ensemble] = Field([])
    ablations: Ablations | None = None
    learning_curve: LearningCurve | None = None
    reference: list[Reference] = Field([])

    @model_validator(mode="after")
    def _names_agree(self) -> Study:
        if not self.model and not self.ensemble:
            raise ValueError("model is []; it must hold a model where there is no ensemble")
        names = [model.name for model in self.model]
        ensembles = [ensemble.name for ensemble in self.ensemble]
        for all_names, kind in ((names, "models"), (ensembles, "ensembles")):
            for name in all_names:
                if (n := all_names.count(name)) > 1:
                    raise ValueError(f"there are {n} {kind} called {name!r}; name each")
        spectral = [model.name for model in self.model if "spectral" in model.method]
        for table, allowed, kind in (
            (self.ablations, spectral, "spectral models"),
            (self.learning_curve, names, "models"),
        ):
            key = "ablations" if table is self.ablations else "learning_curve"
            for name in (table and table.models) or []:
                if name not in allowed:
                    raise ValueError(
                        f"{key}.models has {name!r}; the {kind} are {', '.join(allowed) or 'none'}"
                    )
            if table is not None and not allowed:
                raise ValueError(f"{key} needs {kind}; there are none")
        return self

    @property
    def parts(self) -> dict[str, Path]:
        """The held-out files by name, dev first."""
        return {"dev": self.dev} | ({} if self.test is None else {"test": self.test})

    def cells(self) -> list[Cell]:
        """Every training that the study asks for, each once.

        Raises
        ------
        SettingsError
            When the settings of a model make no sense.
        """
        cells: list[Cell] = []
        for model in self.model:
            cells += self._of_model(model, self._states_of(model), None, 1.0)
        if self.ablations is not None:
            for model in self._chosen(self.ablations.models):
                if "spectral" in model.method:
                    for states in self.ablations.states or self._states_of(model):
                        whole = self._of_model(model, [states], None, 1.0)
                        cells += whole
                        for without in self.ablations.without:
                            ablated = self._of_model(model, [states], without, 1.0)
                            # What a model lacks can't be taken off it.
                            if ablated[0].options != whole[0].options:
                                cells += ablated
        if self.learning_curve is not None:
            curve = self.learning_curve
            for model in self._chosen(curve.models):
                for states in curve.states or self._states_of(model):
                    for share in curve.sizes:
                        cells += self._of_model(model, [states], None, share)
        return list({cell.place: cell for cell in cells}.values())

    def entrants(self) -> list[Entrant]:
        """Every ensemble that the study asks for.

        Raises
        ------
        SettingsError
            When the settings of a family make no sense.
        """
        entrants = [
            Entrant(
                each.name, each.described(self.settings), self.tags, self.seeds[0], self.longest
            )
            for each in self.ensemble
        ]
        for entrant in entrants:
            cleanings = {each.options.treebank.cleaning for each in entrant.description.members()}
            if len(cleanings) > 1:
                raise SettingsError(
                    f"{entrant}: its families differ in treebank.cleaning; the trees are cleaned "
                    "once for all"
                )
        return entrants

    def _chosen(self, names: list[str] | None) -> list[Model]:
        return [model for model in self.model if names is None or model.name in names]

    def _states_of(self, model: Model) -> list[int]:
        return [1] if model.method in STATELESS else model.states or self.states

    def _of_model(
        self, model: Model, all_states: Sequence[int], without: str | None, share: float
    ) -> list[Cell]:
        stateless = model.method in STATELESS
        cells = []
        for states in [1] if stateless else all_states:
            options = self._options(model, states, without)
            shown = None if stateless else states
            cells += [
                Cell(
                    model.name,
                    model.method,
                    shown,
                    without,
                    share,
                    seed,
                    self.tags,
                    options,
                    self.longest,
                )
                for seed in model.seeds or self.seeds
            ]
        return cells

    def _options(self, model: Model, states: int, without: str | None) -> TrainingOptions:
        layers = [self.settings, _MARKOV if model.method == "markov" else {}, model.settings]
        return training_options(
            [*layers, ABLATIONS[without] if without else {}],
            states,
            f"model {model.name!r}",
            method=learned_by(model.method),
            tagger=self.tags == "own",
        )


def make_study(given: Mapping[str, Any], name: str = "study") -> Study:
    """Check the tables of a study.

    Parameters
    ----------
    given
        As a study file has them; paths as they are, also that of an ensemble's description.
    name
        What messages call it.

    Raises
    ------
    SettingsError
        With the key, its value and what would be right.
    """
    try:
        study = Study.model_validate(dict(given))
        study.cells()  # finds settings that no learner takes
        study.entrants()
    except ValidationError as error:
        refuse(error, f"{name}: ", Study, "a study")
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None
    return study


def read_study(path: str | Path, *, folder: str | Path | None = None) -> Study:
    """Read a study file.

    Parameters
    ----------
    path
        A TOML file.
    folder
        Where its treebank is; by default beside the file.

    Raises
    ------
    SettingsError
        With the file, the key, its value and what would be right.
    """
    return make_study(study_tables(path, folder), str(path))


def study_tables(path: str | Path, folder: str | Path | None = None) -> dict[str, Any]:
    """The tables of a study file, not checked yet, with the paths of all files that it names.

    Parameters
    ----------
    path, folder
        As of `read_study`; descriptions of ensembles are always beside the file.

    Raises
    ------
    SettingsError
        When the file is no TOML.
    """
    given = read_tables(path)
    beside = Path(path).parent
    tables = _located(given, folder or beside, ("train", "dev", "test", "text"))
    if isinstance(given.get("tests"), Mapping):
        tables["tests"] = _located(given["tests"], folder or beside, list(given["tests"]))
    if isinstance(given.get("model"), list):
        tables["model"] = [
            _located(each, folder or beside, ("vectors", "brackets"))
            if isinstance(each, Mapping)
            else each
            for each in given["model"]
        ]
    if isinstance(given.get("ensemble"), list):
        tables["ensemble"] = [
            _located(each, beside, ("description",)) if isinstance(each, Mapping) else each
            for each in given["ensemble"]
        ]
    return tables


def _located(given: Mapping[str, Any], folder: str | Path, names: Sequence[str]) -> dict[str, Any]:
    """A table whose files of these names, one or a list of them, are in a folder."""
    files: dict[str, Any] = {}
    for name in names:
        value = given.get(name)
        if isinstance(value, str):
            files[name] = Path(folder) / value
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            files[name] = [Path(folder) / each for each in value]
    return {**given, **files}
