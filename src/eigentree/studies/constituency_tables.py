"""The tables of a study of constituency parsers, checked.

A study names a treebank and models; a model is a method with settings, trained once for each
number of states and each seed.  Ablations remove one component from some models; learning curves
train some of them on parts of the trees.  Every field of `TrainingOptions` except for the method
can be set in the file, at the top for all models or within a model for that one.

Ensembles are described as in `eigentree.constituency.ensemble.config`, in the study file or in a
file of their own; the description overrides settings at the top of the study.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from eigentree.constituency.ensemble.config import EnsembleConfig, make_config
from eigentree.constituency.estimators import METHODS
from eigentree.constituency.settings import (
    Name,
    SettingsTable,
    WithTrainingSettings,
    distinct,
    known,
    merged,
    read_tables,
)
from eigentree.studies.settings import Count, ModelTable, Seeds, StatesList, check_names

# Ablations of spectral models, as settings.
ABLATIONS: dict[str, dict[str, Any]] = {
    "no smoothing": {"spectral": {"smoothing": 0.0, "word_smoothing": 1.0}},
    "no scaling": {"spectral": {"features": {"scaling": False}}},
    "no absolute values": {"parsing": {"absolute": False}},
    "simple features": {"spectral": {"features": {"inside": ["rule"], "outside": ["rule"]}}},
    "no shrinkage": {"spectral": {"shrinkage": 0.0}},
    "no siblings": {"treebank": {"binarise": {"horizontal": 0}}},
    "no unseen rules": {"unseen": None},
}
PAPER_ABLATIONS = ("no smoothing", "no scaling", "no absolute values", "simple features")

_Method = Annotated[str, AfterValidator(lambda value: known(value, METHODS))]
_Ablation = Annotated[str, AfterValidator(lambda value: known(value, tuple(ABLATIONS)))]
_MAX_NAME_BYTES = 100
_Share = Annotated[float, Field(gt=0, le=1)]


class Model(WithTrainingSettings, ModelTable):
    """One method with its settings; each number of states is a row of the report's tables.

    Attributes
    ----------
    method
        A method of training.
    states, seeds
        One or several; they override the study's.
    """

    method: _Method
    states: StatesList | None = None
    seeds: Seeds | None = None


def _folder_name(value: str) -> str:
    if "/" in value or value.startswith(".") or len(value.encode()) > _MAX_NAME_BYTES:
        raise ValueError("a valid name of a folder, such as 'additive'")
    return value


class EnsembleTable(EnsembleConfig):
    """An ensemble, described here or in a file of its own.

    Attributes
    ----------
    name
        The name, also of its folder.
    description
        A file that describes it, instead of the tables of a description.
    """

    name: Annotated[Name, AfterValidator(_folder_name)]
    description: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Read the tables from the description file, if there is one."""
        if not isinstance(given, Mapping) or not isinstance(given.get("description"), str | Path):
            return given
        more = sorted(set(given) - {"name", "description"})
        if more:
            raise ValueError(
                f"an ensemble has {more[0]!r} besides a description file; move it to the file, or "
                "give all tables here"
            )
        path = given["description"]
        tables = read_tables(path)
        make_config(tables, str(path))  # reports errors with the path of the file
        return {**tables, **given}

    def described(self, settings: Mapping[str, Any]) -> EnsembleConfig:
        """The description, with defaults from settings of the study."""
        tables = self.tables()
        for name in ("name", "description"):
            tables.pop(name, None)
        # The jackknife of a model isn't that of an ensemble.
        below = {n: value for n, value in settings.items() if n not in EnsembleConfig.model_fields}
        return make_config(merged([below, tables]), f"ensemble {self.name!r}")


class Ablations(SettingsTable):
    """Components that are removed from models, one at a time.

    Attributes
    ----------
    without
        Names of `ABLATIONS`; by default those of the paper.
    models
        Names of spectral models; by default all of them.
    states
        Overrides the states of the models.
    """

    without: Annotated[list[_Ablation], AfterValidator(distinct)] = Field(list(PAPER_ABLATIONS))
    models: list[str] | None = None
    states: StatesList | None = None


class LearningCurve(SettingsTable):
    """Models that are trained on parts of the trees.

    Attributes
    ----------
    sizes
        Fractions of the training trees, above 0 and up to 1.
    models
        Names of models; by default all of them.
    states
        Overrides the states of the models.
    """

    sizes: Annotated[list[_Share], AfterValidator(distinct)]
    models: list[str] | None = None
    states: StatesList | None = None


class Reference(SettingsTable):
    """A published result, shown beside those of the study.

    Attributes
    ----------
    name
        The name; results with the same name are connected by a line.
    f1
        F1 in percent.
    cpu_seconds
        Training time.
    tags
        Gold tags, or those of the parser.
    on
        What was parsed; ``mean`` is the mean of dev and test.
    """

    name: Name
    f1: Annotated[float, Field(ge=0, le=100)]
    cpu_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    tags: Literal["gold", "own"] = "gold"
    on: Literal["dev", "test", "mean"] = "dev"


class ConstituencyTables(WithTrainingSettings):
    """The tables of a study.  Paths are relative to the working directory.

    Attributes
    ----------
    kind
        ``constituency``.
    title
        Title of the report.
    train, dev, test
        Files of trees.  The best models are selected on dev; test is only scored.
    tags
        Whether sentences are parsed with gold tags, or as words only with a tagger that is
        trained on the same trees.
    longest
        Maximum number of words of a sentence of dev and test; longer ones are neither parsed nor
        scored.  None for no limit.
    states
        Default numbers of latent states of models.
    seeds
        Default seeds of models, which are trained with each of them.
    model
        The models; at least one, unless there is an ensemble.
    ensemble
        Ensembles, trained with the first seed.
    ablations
        Components to remove from some models.
    learning_curve
        Models to train on fewer trees.
    reference
        Published results.
    """

    kind: Literal["constituency"] = "constituency"
    title: Name = "Comparison of estimators"
    train: Path
    dev: Path
    test: Path | None = None
    tags: Literal["gold", "own"] = "gold"
    longest: Count | None = None
    states: StatesList = Field([8, 16, 24, 32])
    seeds: Seeds = Field([0])
    model: list[Model] = Field([])
    ensemble: list[EnsembleTable] = Field([])
    ablations: Ablations | None = None
    learning_curve: LearningCurve | None = None
    reference: list[Reference] = Field([])

    @model_validator(mode="after")
    def _names_agree(self) -> ConstituencyTables:
        if not self.model and not self.ensemble:
            raise ValueError("model is []; a study needs a model or an ensemble")
        names = [model.name for model in self.model]
        ensembles = [ensemble.name for ensemble in self.ensemble]
        check_names(names)
        check_names(ensembles, "ensembles")
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
                raise ValueError(f"{key} needs {kind}, and the study has none")
        return self

    @property
    def parts(self) -> dict[str, Path]:
        """The held-out files by name, dev first."""
        return {"dev": self.dev} | ({} if self.test is None else {"test": self.test})

    @property
    def files(self) -> dict[str, Path]:
        """All files of trees by name."""
        return {"train": self.train} | self.parts
