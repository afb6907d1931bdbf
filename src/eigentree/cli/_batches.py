"""Sentences in lots, answered here or by worker processes, in order either way."""

from __future__ import annotations

import select
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from typing import Any, TypeVar

from eigentree._core.processes import worker_pool
from eigentree.cli._common import WorkFailedError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Work = TypeVar("Work")

# Sentences a worker process gets at a time, at least, and how many such lots wait in line for each.
LOT = 32
_LOTS_AHEAD = 4


def in_lots(
    sentences: Iterator[Asked], most: int = LOT, is_more: Callable[[], bool] = lambda: True
) -> Iterator[list[Asked]]:
    """Sentences in lots of as many as is best, or as are there."""
    for first in sentences:
        lot = [first]
        while len(lot) < most and is_more():
            following = next(sentences, None)
            if following is None:
                break
            lot.append(following)
        yield lot


def more_to_read() -> bool:
    """Whether standard input has something, be it its end; what can't be known is taken for yes."""
    try:
        return bool(select.select([sys.stdin.fileno()], [], [], 0)[0])
    except (AttributeError, OSError, ValueError):
        return True


def in_processes(
    begin: Callable[[Work], Callable[[list[Asked]], Iterable[Answer]]],
    work: Work,
    lots: Iterator[list[Asked]],
    jobs: int,
) -> Iterator[Answer]:
    """Have sentences answered by worker processes, in order, a bounded number of them at a time.

    Parameters
    ----------
    begin
        A function of a module, called once in each worker with `work`; it gives what answers lots.
    """
    waiting: deque[Future[list[Answer]]] = deque()
    try:
        with worker_pool(jobs, _start, begin, work) as pool:
            for lot in lots:
                waiting.append(pool.submit(_answer, lot))
                if len(waiting) > jobs * _LOTS_AHEAD:
                    yield from waiting.popleft().result()
            yield from chain.from_iterable(future.result() for future in waiting)
    except BrokenProcessPool as error:
        raise WorkFailedError(
            "a worker process ended, perhaps for want of memory; use fewer --jobs"
        ) from error


_answer_here: Callable[[list[Any]], Iterable[Any]]


def _start(begin: Callable[[Any], Callable[[list[Any]], Iterable[Any]]], work: Any) -> None:
    global _answer_here  # what a worker process is started for
    _answer_here = begin(work)


def _answer(lot: list[Any]) -> list[Any]:
    return list(_answer_here(lot))
