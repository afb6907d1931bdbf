"""What a study compares: the tables of a study file, checked, and the cells they stand for.

A study names a treebank and models; a model is a method with settings, and is trained once for
each number of states and each seed.  Ablations take one part off some of the models, learning
curves train some of them on a part of the trees.  Every field of `TrainingOptions` but the
method may stand in the file, at the top for all models or within a model for that one.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NoReturn, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from eigentree.corpus.files import open_text
from eigentree.errors import EigentreeError, SettingsError
from eigentree.experiment.cells import Cell
from eigentree.parsers import METHODS
from eigentree.training import TrainingOptions

# A plain grammar whose symbols remember a parent and a sibling, as in the paper's section 4.3.
MARKOV = {"treebank": {"binarise": {"vertical": 2, "horizontal": 1}}}
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

# What a study file may say of learning; the method and the tags decide the rest.
SETTINGS = {field.name for field in dataclasses.fields(TrainingOptions)} - {"method", "tagger"}


def _known(value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise ValueError(f"one of {', '.join(known)}")
    return value


def _distinct(values: list[Any]) -> list[Any]:
    if not values or len(set(values)) < len(values):
        raise ValueError("a list of one or more different values")
    return values


def _shown(value: str) -> str:
    if not (value.strip() and value.isprintable()):
        raise ValueError("printable text on one line")
    return value


_Method = Annotated[str, AfterValidator(lambda value: _known(value, (*METHODS, "markov")))]
_Ablation = Annotated[str, AfterValidator(lambda value: _known(value, tuple(ABLATIONS)))]
_States = Annotated[list[Annotated[int, Field(ge=1, strict=True)]], AfterValidator(_distinct)]
_Seeds = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], AfterValidator(_distinct)]
_Share = Annotated[float, Field(gt=0, le=1)]
_Name = Annotated[str, AfterValidator(_shown)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _WithSettings(_Table):
    """A table in which settings of learning stand beside the other keys.

    Attributes
    ----------
    settings
        Fields of `TrainingOptions`.
    """

    # Collected below, so no key of this name is to be had.
    settings: dict[str, Any] = Field({}, alias="settings of learning")

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, given: Any) -> Any:
        """Let the settings of learning stand beside the other keys."""
        if not isinstance(given, Mapping):
            return given
        settings = {name: given[name] for name in given if name in SETTINGS}
        rest = {name: given[name] for name in given if name not in SETTINGS}
        return {**rest, "settings of learning": settings}


class Model(_WithSettings):
    """One estimator with its settings; a row of the tables for each number of states.

    Attributes
    ----------
    method
        One of the methods of training, or ``markov``.
    name
        By default the method.
    states
        In place of the study's, one or several.
    """

    method: _Method
    name: _Name = ""
    states: _States | None = None

    @field_validator("states", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return [value] if isinstance(value, int) else value

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "name" not in given and "method" in given:
            return {**given, "name": given["method"]}
        return given


class Ablations(_Table):
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

    without: Annotated[list[_Ablation], AfterValidator(_distinct)] = list(OF_THE_PAPER)
    models: list[str] | None = None
    states: _States | None = None


class LearningCurve(_Table):
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

    sizes: Annotated[list[_Share], AfterValidator(_distinct)]
    models: list[str] | None = None
    states: _States | None = None


class Reference(_Table):
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

    name: _Name
    f1: Annotated[float, Field(ge=0, le=100)]
    cpu_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    tags: Literal["gold", "own"] = "gold"
    on: Literal["dev", "test", "mean"] = "dev"


class Study(_WithSettings):
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
    states
        Numbers of latent states of each model that does not say its own.
    seeds
        Each model is trained with each of them.
    model
        The models.
    ablations
        What is taken off which of them.
    learning_curve
        Which of them are trained on fewer trees.
    reference
        Results from elsewhere.
    """

    title: _Name = "Comparison of estimators"
    train: Path
    dev: Path
    test: Path | None = None
    tags: Literal["gold", "own"] = "gold"
    states: _States = [8, 16, 24, 32]
    seeds: _Seeds = [0]
    model: Annotated[list[Model], Field(min_length=1)]
    ablations: Ablations | None = None
    learning_curve: LearningCurve | None = None
    reference: list[Reference] = []

    @model_validator(mode="after")
    def _names_agree(self) -> Study:
        names = [model.name for model in self.model]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"there are {names.count(name)} models called {name!r}; name each")
        spectral = [model.name for model in self.model if "spectral" in model.method]
        for table, known, kind in (
            (self.ablations, spectral, "spectral models"),
            (self.learning_curve, names, "models"),
        ):
            key = "ablations" if table is self.ablations else "learning_curve"
            for name in (table and table.models) or []:
                if name not in known:
                    raise ValueError(
                        f"{key}.models has {name!r}; the {kind} are {', '.join(known) or 'none'}"
                    )
            if table is not None and not known:
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
            for seed in self.seeds:
                shown = None if stateless else states
                cells.append(
                    Cell(model.name, model.method, shown, without, share, seed, self.tags, options)
                )
        return cells

    def _options(self, model: Model, states: int, without: str | None) -> TrainingOptions:
        layers = [self.settings, MARKOV if model.method == "markov" else {}, model.settings]
        # TOML has no word for nothing.
        layers = [
            {n: None if n == "unseen" and v is False else v for n, v in layer.items()}
            for layer in layers
        ]
        for name, values in [pair for layer in layers for pair in layer.items()]:
            if name == "unseen" and values is None:
                continue
            if name != "jackknife" and not isinstance(values, Mapping):
                raise SettingsError(f"{name} is {values!r}; it must be a table of settings")
            if name in ("spectral", "em") and "states" in values:
                raise SettingsError(
                    f"{name}.states is {values['states']!r}; the states of models are given by "
                    "the key states, at the top or in a model"
                )
            if name == "em" and "start" in values:
                raise SettingsError(
                    f"em.start is {values['start']!r}; the method decides how it starts: em or "
                    "spectral+em"
                )
        layers.append(ABLATIONS[without] if without else {})
        layers.append({name: {"states": states} for name in ("spectral", "em")})
        method = "pcfg" if model.method == "markov" else model.method
        given = {**_merged(layers), "method": method, "tagger": self.tags == "own"}
        try:
            return _Options.model_validate({"options": given}).options
        except ValidationError as error:
            _refuse(error, f"model {model.name!r}: ", _Options, skip=1)
        except EigentreeError as error:
            raise SettingsError(f"model {model.name!r}: {error}") from None


class _Options(BaseModel):
    """Lets pydantic check the settings, whose extra keys it refuses as it does the study's."""

    model_config = ConfigDict(extra="forbid")

    options: TrainingOptions


def _merged(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Nested tables laid over one another, later ones on top."""
    merged: dict[str, Any] = {}
    waiting: list[tuple[dict[str, Any], Mapping[str, Any]]] = [(merged, layer) for layer in layers]
    for below, above in waiting:  # grows: a table within is laid over its like in its turn
        for name, value in above.items():
            if isinstance(value, Mapping):
                if not isinstance(below.get(name), dict):
                    below[name] = {}
                waiting.append((below[name], value))
            else:
                below[name] = value
    return merged


def make_study(given: Mapping[str, Any], name: str = "study") -> Study:
    """Check the tables of a study.

    Parameters
    ----------
    given
        As a study file has them; paths as they are.
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
    except ValidationError as error:
        _refuse(error, f"{name}: ", Study)
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None
    return study


def read_tables(path: str | Path) -> dict[str, Any]:
    """The tables of a study file, not checked yet.

    Raises
    ------
    SettingsError
        When the file is no TOML.
    """
    with open_text(path) as lines:
        text = lines.read()
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: isn't TOML: {error}") from None


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
    return make_study(located(read_tables(path), folder or Path(path).parent), str(path))


def located(given: Mapping[str, Any], folder: str | Path) -> dict[str, Any]:
    """The tables of a study whose files are in a folder."""
    files = {
        name: Path(folder) / given[name]
        for name in ("train", "dev", "test")
        if isinstance(given.get(name), str)
    }
    return {**given, **files}


def _refuse(error: ValidationError, where: str, kind: type, skip: int = 0) -> NoReturn:
    """Turn the first of pydantic's complaints into one sentence."""
    first = error.errors(include_url=False)[0]
    place, value, problem = first["loc"], first["input"], first["type"]
    key = "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place[skip:]
    ).lstrip(".")
    if problem in ("extra_forbidden", "unexpected_keyword_argument"):
        known = sorted(_keys_at(kind, place[:-1]))
        raise SettingsError(f"{where}{key} is no key of a study; known are {', '.join(known)}")
    if problem == "missing":
        raise SettingsError(f"{where}{key} is missing; a study needs it")
    told = "a path" if problem == "path_type" else first["msg"]
    if problem == "value_error":
        told = str(first["ctx"]["error"])
        if not place:
            raise SettingsError(f"{where}{told}")
    right = told.removeprefix("Input should be ").split(", unable")[0]
    shown = repr(value)
    shown = shown if len(shown) < 60 else f"{shown[:57]}..."
    raise SettingsError(f"{where}{key} is {shown}; it must be {right}")


def _keys_at(kind: Any, place: Sequence[str | int]) -> set[str]:
    """Which keys there may be at a place within a pydantic model or a dataclass."""
    for part in place:
        if isinstance(part, int):
            continue
        kind = get_type_hints(kind)[part]
        while get_args(kind):  # list[Model], Model | None
            kind = next(inner for inner in get_args(kind) if inner is not NoneType)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        names = set(kind.model_fields)
        return (names - {"settings"}) | SETTINGS if "settings" in names else names
    return {field.name for field in dataclasses.fields(kind)}
