"""Caches for functions of a word, bounded in memory as well as in number."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result")

# Characters; a cache of longer strings would be bounded by the memory only.
LONGEST_CACHED = 100


def cached_by_word(size: int) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Keep the results for the last `size` strings of at most `LONGEST_CACHED` characters."""

    def decorate(function: Callable[[str], Result]) -> Callable[[str], Result]:
        cached = lru_cache(maxsize=size)(function)

        @wraps(function)
        def call(word: str) -> Result:
            return cached(word) if len(word) <= LONGEST_CACHED else function(word)

        return call

    return decorate
