"""Tables of TOML files with training settings: studies and descriptions of ensembles.

Such a file may set every field of `TrainingOptions` except for the method, at the top for all
models or in the table of one model.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, NoReturn, get_args, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from eigentree._core.printable import shown
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import EigentreeError, SettingsError
from eigentree.treebank.io.text_files import open_text

# Training settings that a file may have; the rest follow from the method and the tags.
SETTINGS = {field.name for field in dataclasses.fields(TrainingOptions)} - {"method", "tagger"}
# Settings that are not tables of settings.
PLAIN = ("jackknife",)
# Names of expected types for errors of pydantic that would use Python's.
_EXPECTED = {
    "path_type": "a path",
    "model_type": "a table",
    "dataclass_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
}
_INTEGER_BITS = 63  # and the sign
_TOO_DEEP = "is nested too deeply"
# A key of many parts, for which tomllib needs memory quadratic in their number.
_DEEP_KEY = re.compile(
    r"""(?<![\w."'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50}"""
)
_TOO_LARGE = "has an integer of more than 64 bits, the most that TOML allows for"
# Tables whose number of states is given by the key `states` beside them.
WITH_STATES = ("spectral", "em", "clustering")


def known(value: str, names: Sequence[str]) -> str:
    """Check that a value is one of some names (a validator for pydantic)."""
    if value not in names:
        raise ValueError(f"one of {', '.join(names)}")
    return value


def distinct(values: list[Any]) -> list[Any]:
    """Check that a list has distinct values, at least one (a validator for pydantic)."""
    if not values or len(set(values)) < len(values):
        raise ValueError("a list of one or more different values")
    return values


def _printable(value: str) -> str:
    if not (value.strip() and value.isprintable()):
        raise ValueError("printable text on one line")
    return value


Name = Annotated[str, AfterValidator(_printable)]
States = Annotated[int, Field(ge=1, strict=True)]


class SettingsTable(BaseModel):
    """A table that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WithTrainingSettings(SettingsTable):
    """A table in which training settings are beside the other keys.

    Attributes
    ----------
    may_set
        Names of the settings that the table may have.
    settings
        Fields of `TrainingOptions`.
    """

    may_set: ClassVar[set[str]] = SETTINGS

    # Collected below; the alias prevents a key of this name in files.
    settings: dict[str, Any] = Field({}, alias="training settings")

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, given: Any) -> Any:
        """Collect the training settings, which are beside the other keys."""
        if not isinstance(given, Mapping):
            return given
        names = cls.may_set - set(cls.model_fields)
        settings = {name: given[name] for name in given if name in names}
        others = {name: given[name] for name in given if name not in names}
        return {**others, "training settings": settings}


class _Options(BaseModel):
    """Has pydantic check the settings; unknown keys are rejected as in the rest of the file."""

    model_config = ConfigDict(extra="forbid")

    options: TrainingOptions


def training_options(
    layers: Sequence[Mapping[str, Any]], states: int | None, where: str, **fixed: Any
) -> TrainingOptions:
    """The options of one model, from layers of settings.

    Parameters
    ----------
    layers
        Fields of `TrainingOptions`; later layers override earlier ones, and ``unseen = false``
        means None.
    states
        Number of states for any method; None for its default.
    where
        The name of the model in messages.
    fixed
        Fields that the file can't set.

    Raises
    ------
    SettingsError
        With the key, its value and what is allowed.
    """
    # TOML has no null.
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
        raise_settings_error(error, f"{where}: ", _Options, "the settings", skip=1)
    except EigentreeError as error:
        raise SettingsError(f"{where}: {error}") from None


def merged(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge nested tables; later ones override earlier ones."""
    whole: dict[str, Any] = {}
    waiting: list[tuple[dict[str, Any], Mapping[str, Any]]] = [(whole, layer) for layer in layers]
    for below, above in waiting:  # grows: nested tables are merged later
        for name, value in above.items():
            if isinstance(value, Mapping):
                if not isinstance(below.get(name), dict):
                    below[name] = {}
                waiting.append((below[name], value))
            else:
                below[name] = value
    return whole


def read_tables(path: str | Path) -> dict[str, Any]:
    """The unchecked tables of a TOML file.

    Raises
    ------
    SettingsError
        When the file isn't TOML, is nested too deeply or has an integer of more than 64 bits.
    """
    with open_text(path) as lines:
        text = "".join(lines)
    if _DEEP_KEY.search(text):
        raise SettingsError(f"{path}: {_TOO_DEEP}")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: isn't TOML: {error}") from None
    except RecursionError:
        raise SettingsError(f"{path}: {_TOO_DEEP}") from None
    except ValueError:  # an integer in decimal digits that int refuses
        raise SettingsError(f"{path}: {_TOO_LARGE}") from None
    waiting: list[Any] = [tables]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
            raise SettingsError(f"{path}: {_TOO_LARGE}")
    return tables


def raise_settings_error(
    error: ValidationError, where: str, kind: type, what: str, skip: int = 0
) -> NoReturn:
    """Report the first error that pydantic found in one sentence.

    Parameters
    ----------
    error
        The error of pydantic.
    where
        The beginning of the sentence.
    kind
        The model or dataclass that was checked.
    what
        What the file describes, such as "a study".
    skip
        Number of outer parts of the key to leave out.
    """
    first = error.errors(include_url=False)[0]
    place, value, problem = first["loc"], first["input"], first["type"]
    key = "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place[skip:]
    ).lstrip(".")
    if problem in ("extra_forbidden", "unexpected_keyword_argument"):
        keys = sorted(_keys_at(kind, place[:-1]))
        raise SettingsError(f"{where}{key} isn't a key of {what}; the keys are {', '.join(keys)}")
    if problem == "missing":
        raise SettingsError(f"{where}{key} is missing; it is required in {what}")
    expected = _EXPECTED.get(problem, first["msg"])
    if problem == "too_short":
        expected = f"a list of at least {first['ctx']['min_length']}"
    if problem == "value_error":
        expected = str(first["ctx"]["error"])
        # Errors of training settings already name the key.
        if not place or (skip and isinstance(first["ctx"]["error"], SettingsError)):
            raise SettingsError(f"{where}{expected}")
        if isinstance(value, Mapping):
            raise SettingsError(f"{where}{key}: {expected}")
    expected = expected.removeprefix("Input should be ").split(", unable")[0]
    raise SettingsError(f"{where}{key} is {shown(value)}; it must be {expected}")


def _keys_at(kind: Any, place: Sequence[str | int]) -> set[str]:
    """The keys that are allowed at a place within a pydantic model or a dataclass."""
    for part in place:
        if isinstance(part, int):
            continue
        kind = get_type_hints(kind)[part]
        while get_args(kind):  # list[Model], Model | None
            kind = next(inner for inner in get_args(kind) if inner is not NoneType)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = set(kind.model_fields)
        if issubclass(kind, WithTrainingSettings):
            return (fields - {"settings"}) | kind.may_set
        return fields
    return {field.name for field in dataclasses.fields(kind)}
