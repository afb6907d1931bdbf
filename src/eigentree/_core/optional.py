"""Optional packages, and the error when one is used but not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eigentree.errors import SettingsError


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
            f"the package {error.name} is not installed; "
            f"pip install 'eigentree[{extra}]' installs it"
        ) from None
