"""Optional packages, and the error when one is used but not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eigentree.errors import SettingsError


def how_to_install(extra: str) -> str:
    """The command that installs an extra of eigentree, which is not on a package index."""
    return f"run pip install '.[{extra}]' in the source folder of eigentree"


@contextmanager
def require(extra: str) -> Iterator[None]:
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
            f"the package {error.name} is not installed; {how_to_install(extra)}"
        ) from None
