"""Tables of TOML files that say what is to be learned: of studies and of ensembles.

Every field of `TrainingOptions` but the method may stand in such a file, beside the keys of its
own, at the top for all models or within a model for that one.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, NoReturn, get_args, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import EigentreeError, SettingsError
from eigentree.treebank.io.text_files import open_text

# What a file may say of learning; the method and the tags decide the rest.
SETTINGS = {field.name for field in dataclasses.fields(TrainingOptions)} - {"method", "tagger"}
# Settings that are not tables of settings.
PLAIN = ("jackknife",)
# What pydantic says in words of its own.
_IN_OUR_WORDS = {
    "path_type": "a path",
    "model_type": "a table",
    "dataclass_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
}
# Tables that have their numbers of states from the key `states` beside them.
WITH_STATES = ("spectral", "em", "clustering")


def known(value: str, names: Sequence[str]) -> str:
    """The value, if it is one of the names; a check for pydantic."""
    if value not in names:
        raise ValueError(f"one of {', '.join(names)}")
    return value


def distinct(values: list[Any]) -> list[Any]:
    """The values, if there are any and all differ; a check for pydantic."""
    if not values or len(set(values)) < len(values):
        raise ValueError("a list of one or more different values")
    return values


def _shown(value: str) -> str:
    if not (value.strip() and value.isprintable()):
        raise ValueError("printable text on one line")
    return value


Name = Annotated[str, AfterValidator(_shown)]
States = Annotated[int, Field(ge=1, strict=True)]


class Table(BaseModel):
    """A table with no keys but its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WithSettings(Table):
    """A table in which settings of learning stand beside the other keys.

    Attributes
    ----------
    may_set
        Names of the settings that there may be.
    settings
        Fields of `TrainingOptions`.
    """

    may_set: ClassVar[set[str]] = SETTINGS

    # Collected below, so no key of this name is to be had.
    settings: dict[str, Any] = Field({}, alias="settings of learning")

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, given: Any) -> Any:
        """Let the settings of learning stand beside the other keys."""
        if not isinstance(given, Mapping):
            return given
        names = cls.may_set - set(cls.model_fields)
        settings = {name: given[name] for name in given if name in names}
        rest = {name: given[name] for name in given if name not in names}
        return {**rest, "settings of learning": settings}


class _Options(BaseModel):
    """Lets pydantic check the settings, whose extra keys it refuses as it does the file's."""

    model_config = ConfigDict(extra="forbid")

    options: TrainingOptions


def training_options(
    layers: Sequence[Mapping[str, Any]], states: int | None, where: str, **fixed: Any
) -> TrainingOptions:
    """The options of one model, from the settings of a file laid over one another.

    Parameters
    ----------
    layers
        Fields of `TrainingOptions`, later ones on top; ``unseen = false`` is for none.
    states
        Of whatever method; None for its default.
    where
        What messages call the model.
    fixed
        Fields that the file has no say in.

    Raises
    ------
    SettingsError
        With the key, its value and what would be right.
    """
    # TOML has no word for nothing.
    layers = [
        {n: None if n == "unseen" and v is False else v for n, v in layer.items()}
        for layer in layers
    ]
    for name, values in [pair for layer in layers for pair in layer.items()]:
        if name == "unseen" and values is None:
            continue
        if name not in PLAIN and not isinstance(values, Mapping):
            raise SettingsError(f"{name} is {values!r}; it must be a table of settings")
        if name in WITH_STATES and "states" in values:
            raise SettingsError(
                f"{name}.states is {values['states']!r}; the number of states is given by the key "
                f"states beside the table {name}, not in it"
            )
        if name == "em" and "start" in values:
            raise SettingsError(
                f"em.start is {values['start']!r}; the method decides how it starts: em or "
                "spectral+em"
            )
    known_fields = {field.name for field in dataclasses.fields(TrainingOptions)}
    if states is not None:
        layers.append({name: {"states": states} for name in WITH_STATES if name in known_fields})
    given = {**merged(layers), **fixed}
    try:
        return _Options.model_validate({"options": given}).options
    except ValidationError as error:
        refuse(error, f"{where}: ", _Options, "the settings", skip=1)
    except EigentreeError as error:
        raise SettingsError(f"{where}: {error}") from None


def merged(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Nested tables laid over one another, later ones on top."""
    whole: dict[str, Any] = {}
    waiting: list[tuple[dict[str, Any], Mapping[str, Any]]] = [(whole, layer) for layer in layers]
    for below, above in waiting:  # grows: a table within is laid over its like in its turn
        for name, value in above.items():
            if isinstance(value, Mapping):
                if not isinstance(below.get(name), dict):
                    below[name] = {}
                waiting.append((below[name], value))
            else:
                below[name] = value
    return whole


def read_tables(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file, not checked yet.

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


def refuse(error: ValidationError, where: str, kind: type, what: str, skip: int = 0) -> NoReturn:
    """Turn the first of pydantic's complaints into one sentence.

    Parameters
    ----------
    error
        What pydantic found.
    where
        Begins the sentence.
    kind
        The model or dataclass that was checked.
    what
        What the file describes, as in "a study".
    skip
        Outer parts of the place that are not shown.
    """
    first = error.errors(include_url=False)[0]
    place, value, problem = first["loc"], first["input"], first["type"]
    key = "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place[skip:]
    ).lstrip(".")
    if problem in ("extra_forbidden", "unexpected_keyword_argument"):
        keys = sorted(_keys_at(kind, place[:-1]))
        raise SettingsError(f"{where}{key} is no key of {what}; known are {', '.join(keys)}")
    if problem == "missing":
        raise SettingsError(f"{where}{key} is missing; {what} needs it")
    told = _IN_OUR_WORDS.get(problem, first["msg"])
    if problem == "too_short":
        told = f"a list of at least {first['ctx']['min_length']}"
    if problem == "value_error":
        told = str(first["ctx"]["error"])
        # Settings of learning name themselves in their errors, so a key would repeat them.
        if not place or (skip and isinstance(first["ctx"]["error"], SettingsError)):
            raise SettingsError(f"{where}{told}")
        if isinstance(value, Mapping):
            raise SettingsError(f"{where}{key}: {told}")
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
        own = set(kind.model_fields)
        return (own - {"settings"}) | kind.may_set if issubclass(kind, WithSettings) else own
    return {field.name for field in dataclasses.fields(kind)}
