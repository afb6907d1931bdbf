"""Tables of contents of packages: public names that are loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attach(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package, and its ``__all__``.

    Parameters
    ----------
    package
        The package's ``__name__``.
    modules
        The module, below the package, that defines each public name.
    """

    def load(name: str) -> object:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted(modules)

    return load, names, list(modules)
