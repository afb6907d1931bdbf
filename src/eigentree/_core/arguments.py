"""Checks of arguments whose annotations callers may ignore."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypeVar, get_args

from eigentree._core.printable import shown
from eigentree.errors import SettingsError, check_range

MAX_JOBS = 1024  # processes or threads
MAX_SAMPLES = 1_000_000  # of a bootstrap

Item = TypeVar("Item")
_PLAIN = (str, bytes, int, float, type(None))


def check_type(value: object, expected: type | tuple[type, ...], name: str, what: str) -> None:
    """Refuse a value of another type.

    Parameters
    ----------
    value
    expected
        A type or several.
    name
        Of the argument.
    what
        The expected value in words, such as "a string".

    Raises
    ------
    TypeError
        With the argument, what it must be, and what it is.
    """
    if not isinstance(value, expected):
        raise TypeError(f"{name} must be {what} (got {_type_of(value)})")


def settings_or_default(settings: Item | None, kind: type[Item]) -> Item:
    """Settings as a caller gave them, or the defaults for None.

    Raises
    ------
    TypeError
    """
    check_type(settings, (kind, type(None)), "settings", f"{kind.__name__} or None")
    return kind() if settings is None else settings


def check_choice(choices: Any, **values: object) -> None:
    """Refuse a value that is none of a few.

    Parameters
    ----------
    choices
        A `Literal` type, or names.
    values
        The value by the name of its argument.

    Raises
    ------
    SettingsError
    """
    known = get_args(choices) or tuple(choices)
    for name, value in values.items():
        if value not in known:
            raise SettingsError(f"{name} is {shown(value)}; it must be one of {', '.join(known)}")


def check_jobs(jobs: int) -> None:
    """Refuse a number of processes that isn't one from 1 to `MAX_JOBS`.

    Raises
    ------
    TypeError, SettingsError
    """
    check_type(jobs, Integral, "jobs", "an integer")
    check_range(1, MAX_JOBS + 1, jobs=jobs)


def listed(
    values: Iterable[Item], expected: type | tuple[type, ...], name: str, what: str
) -> list[Item]:
    """The items of an argument, each of which must be of a type.

    Parameters
    ----------
    values
        Any iterable but a string.
    expected
        A type or several.
    name
        Of the argument.
    what
        The items in words, such as "trees".

    Raises
    ------
    TypeError
        With the argument, what it must be, and what it is or which item isn't.
    """
    given: Any = values
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list of {what} (got {_type_of(given)})")
    items = list(values)
    for number, item in enumerate(items, start=1):
        if not isinstance(item, expected):
            raise TypeError(f"{name} must be a list of {what} (item {number} is {_type_of(item)})")
    return items


def _type_of(value: object) -> str:
    """The type of a value, and the value itself if it is short."""
    name = type(value).__name__
    return f"{name} {shown(value)}" if isinstance(value, _PLAIN) and value is not None else name
