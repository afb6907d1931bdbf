"""Alignment of the sentences of two files by equality, regardless of their order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from eigentree._core.printable import code_points_that_differ, shown

Item = TypeVar("Item")


def align_by_key(
    gold: Sequence[Item | None], parsed: Sequence[Item | None], key: Callable[[Item], Hashable]
) -> tuple[list[Item | None], list[int]]:
    """Find the parsed item with the same key for each gold item, in any order.

    Items with equal keys are aligned in their order, so that a missing one is taken to be the last.

    Parameters
    ----------
    gold, parsed
        Sentences or trees; None is aligned with nothing.
    key
        What must be equal, such as the words.

    Returns
    -------
    tuple
        Parsed items in the order of the gold ones, None where there is none; and the positions,
        from 0, of parsed items without a gold item, in order.
    """
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for place, item in enumerate(parsed):
        if item is not None:
            waiting[key(item)].append(place)
    aligned: list[Item | None] = []
    for item in gold:
        queue = None if item is None else waiting.get(key(item))
        aligned.append(parsed[queue.popleft()] if queue else None)
    return aligned, sorted(place for queue in waiting.values() for place in queue)


def different_words(place: int, gold: str, parsed: str) -> str:
    """A message on the first words that differ, with code points where they may look alike."""
    points = code_points_that_differ(gold, parsed)
    marked = f" ({points})" if points else ""
    return f"word {place} is {shown(gold)} in gold and {shown(parsed)} in the parse{marked}"
