"""Which sentences of two files belong together when their order doesn't say."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Alignment(NamedTuple):
    """Places, from 0, on the parsed side.

    ``places`` has one for each gold sentence, None where no parsed one is equal;
    ``left_over`` has those that belong to no gold sentence, in order.
    """

    places: list[int | None]
    left_over: list[int]


def align_equal(gold: Sequence[Hashable | None], parsed: Sequence[Hashable | None]) -> Alignment:
    """Pair what is equal, such as the words of sentences; None is equal to nothing.

    Several that are equal are paired in their order, so that a missing one is taken to be the last.
    """
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for place, each in enumerate(parsed):
        if each is not None:
            waiting[each].append(place)
    places: list[int | None] = []
    for each in gold:
        found = None if each is None else waiting.get(each)
        places.append(found.popleft() if found else None)
    return Alignment(places, sorted(place for found in waiting.values() for place in found))
