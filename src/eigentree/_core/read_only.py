"""A mapping that can't be changed, for records inside immutable objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class ReadOnlyMapping(Mapping[str, Any]):
    """A copy of a mapping, without methods that change it.

    Unlike `types.MappingProxyType` it can be sent to another process.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __reduce__(self) -> tuple[type[ReadOnlyMapping], tuple[dict[str, Any]]]:
        # Old pickle protocols can't read slots.
        return type(self), (self._items,)

    def __repr__(self) -> str:
        return repr(self._items)
