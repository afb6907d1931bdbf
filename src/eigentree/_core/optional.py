"""Packages that are not needed to parse, and what to say where one is wanted and absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eigentree.errors import SettingsError


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Import a package that comes with an extra of eigentree.

    Parameters
    ----------
    extra
        The extra that installs it.

    Raises
    ------
    SettingsError
        When the body imports a package that is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"the package {error.name} is not installed; "
            f"pip install 'eigentree[{extra}]' installs it"
        ) from None
