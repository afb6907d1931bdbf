"""Items in batches, and batches processed by worker processes in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from typing import Any, TypeVar

from eigentree._core.processes import USE_FEWER_JOBS, worker_pool
from eigentree.errors import WorkerError

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Work = TypeVar("Work")

# Sentences that a worker process gets at a time, and the number of batches waiting for each.
BATCH = 32
_BATCHES_AHEAD = 4


def batches(
    items: Iterator[Item], size: int = BATCH, is_more: Callable[[], bool] = lambda: True
) -> Iterator[list[Item]]:
    """Items in batches of at most `size`.

    Parameters
    ----------
    is_more
        Called before each further item of a batch; False ends the batch.
    """
    for first in items:
        batch = [first]
        while len(batch) < size and is_more():
            following = next(items, None)
            if following is None:
                break
            batch.append(following)
        yield batch


def map_batches(
    begin: Callable[[Work], Callable[[list[Item]], Iterable[Answer]]],
    work: Work,
    waiting: Iterator[list[Item]],
    jobs: int,
) -> Iterator[Answer]:
    """Process batches in worker processes; the answers are in order.

    Only a bounded number of batches is read ahead.

    Parameters
    ----------
    begin
        A function of a module, called once in each worker with `work`; it returns the function
        that processes a batch.
    work
        Sent to each worker.
    waiting
        The batches.
    jobs
        Number of processes.

    Raises
    ------
    WorkerError
        When a worker process exits before its work is done.
    """
    pending: deque[Future[list[Answer]]] = deque()
    try:
        with worker_pool(jobs, _start, begin, work) as pool:
            for batch in waiting:
                pending.append(pool.submit(_process, batch))
                if len(pending) > jobs * _BATCHES_AHEAD:
                    yield from pending.popleft().result()
            yield from chain.from_iterable(future.result() for future in pending)
    except BrokenProcessPool as error:
        raise WorkerError(USE_FEWER_JOBS) from error


_process_batch: Callable[[list[Any]], Iterable[Any]]


def _start(begin: Callable[[Any], Callable[[list[Any]], Iterable[Any]]], work: Any) -> None:
    global _process_batch  # set once in each worker process
    _process_batch = begin(work)


def _process(batch: list[Any]) -> list[Any]:
    return list(_process_batch(batch))
