"""Study files: reading them, and what the tables of all kinds of study have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from eigentree.constituency.settings import (
    Name,
    SettingsTable,
    States,
    distinct,
    raise_settings_error,
    read_tables,
)
from eigentree.errors import SettingsError
from eigentree.studies.run import Study

# The class of each kind of study, by module.
KINDS = {
    "constituency": ("eigentree.studies.constituency", "ConstituencyStudy"),
    "dependencies": ("eigentree.studies.dependency", "DependencyStudy"),
    "bracketing": ("eigentree.studies.bracketing", "BracketingStudy"),
}
# Keys that name files of data, at the top of a study and in its models.
_DATA_KEYS = ("train", "dev", "test", "text")
_MODEL_KEYS = ("vectors", "brackets")


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


# In a file, one value or a list of several.
OneOrMore = (BeforeValidator(_listed), AfterValidator(distinct))
Count = Annotated[int, Field(ge=1, strict=True)]
Counts = Annotated[list[Count], *OneOrMore]
StatesList = Annotated[list[States], *OneOrMore]
Seeds = Annotated[list[Annotated[int, Field(ge=0, strict=True)]], *OneOrMore]


class ModelTable(SettingsTable):
    """A model of a study.

    Attributes
    ----------
    name
        The name in reports; by default the method.
    """

    name: Name = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and "name" not in given and "method" in given:
            return {**given, "name": cls.default_name(given)}
        return given

    @classmethod
    def default_name(cls, given: Mapping[str, Any]) -> Any:
        """The name of a model whose table, not checked yet, has none."""
        return given["method"]


def check_names(names: Sequence[str], kind: str = "models") -> None:
    """Check that names are distinct.

    Raises
    ------
    ValueError
        When two of them are equal.
    """
    for name in names:
        if (n := names.count(name)) > 1:
            raise ValueError(f"there are {n} {kind} called {name!r}; give each a name of its own")


def make_study(given: Mapping[str, Any], name: str = "study") -> Study:
    """Check the tables of a study.

    Parameters
    ----------
    given
        The tables as in a study file; ``kind`` is ``constituency`` by default.
    name
        The name of the study in messages.

    Raises
    ------
    SettingsError
        With the key, its value and what is allowed.
    """
    kind = given.get("kind", "constituency")
    if not isinstance(kind, str) or kind not in KINDS:
        raise SettingsError(f"{name}: kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    module, class_name = KINDS[kind]
    study_class = getattr(import_module(module), class_name)
    what = "a study" if kind == "constituency" else f"a study of {kind}"
    try:
        study = cast("Study", study_class.model_validate(dict(given)))
        study.runs()  # finds settings that no method accepts
    except ValidationError as error:
        raise_settings_error(error, f"{name}: ", study_class, what)
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
        The folder of its data; by default that of the file.

    Raises
    ------
    SettingsError
        With the file, the key, its value and what is allowed.
    """
    return make_study(study_tables(path, folder), str(path))


def study_tables(path: str | Path, folder: str | Path | None = None) -> dict[str, Any]:
    """The unchecked tables of a study file, with paths resolved for all files that it names.

    Parameters
    ----------
    path, folder
        As in `read_study`; descriptions of ensembles are always relative to the study file.

    Raises
    ------
    SettingsError
        When the file isn't TOML.
    """
    given = read_tables(path)
    beside = Path(path).parent
    tables = _located(given, folder or beside, _DATA_KEYS)
    if isinstance(given.get("tests"), Mapping):
        tables["tests"] = _located(given["tests"], folder or beside, list(given["tests"]))
    for key, files, where in (
        ("model", _MODEL_KEYS, folder or beside),
        ("ensemble", ("description",), beside),
    ):
        if isinstance(given.get(key), list):
            tables[key] = [
                _located(each, where, files) if isinstance(each, Mapping) else each
                for each in given[key]
            ]
    return tables


def _located(given: Mapping[str, Any], folder: str | Path, names: Sequence[str]) -> dict[str, Any]:
    """A table in which the files under some keys, one or a list each, are in a folder."""
    files: dict[str, Any] = {}
    for name in names:
        value = given.get(name)
        if isinstance(value, str):
            files[name] = Path(folder) / value
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            files[name] = [Path(folder) / each for each in value]
    return {**given, **files}
