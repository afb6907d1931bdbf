"""Alignment of the sentences of two files by equality, regardless of their order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Alignment(NamedTuple):
    """Positions, from 0, of parsed sentences.

    ``places`` has one entry for each gold sentence, None if no parsed sentence equals it;
    ``left_over`` lists the parsed sentences without a gold sentence, in order.
    """

    places: list[int | None]
    left_over: list[int]


def align_equal(gold: Sequence[Hashable | None], parsed: Sequence[Hashable | None]) -> Alignment:
    """Align equal items, such as the words of sentences; None equals nothing.

    Repeated items are aligned in their order, so that a missing one is taken to be the last.
    """
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for place, each in enumerate(parsed):
        if each is not None:
            waiting[each].append(place)
    places: list[int | None] = []
    for each in gold:
        queue = None if each is None else waiting.get(each)
        places.append(queue.popleft() if queue else None)
    return Alignment(places, sorted(place for queue in waiting.values() for place in queue))
