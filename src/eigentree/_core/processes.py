"""Worker processes, and what they cost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any

WORKER_EXITED = "a worker process exited unexpectedly (possibly out of memory); use fewer jobs"


@contextmanager
def worker_pool(
    processes: int, start: Callable[..., object], *given: object
) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that end with the process that started them, and at the end of the block.

    Work that waits then is given up: nobody waits for it once the block has been left.

    Parameters
    ----------
    processes
        At least one.
    start, given
        A function of a module, called in each worker before its work, and its arguments.
    """
    pool = ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),
        initializer=begin,
        initargs=(start, given),
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def begin(start: Callable[..., object], given: tuple[object, ...]) -> None:
    """Begin a worker's life.

    It would wait for work for ever, even if whoever gave it was killed, so it ends with its
    parent.  An interruption from the keyboard, which reaches all, ends it without a word: the
    parent tells.
    """
    parent = parent_process()
    if parent is not None:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    start(*given)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def cpu_seconds() -> float:
    """Of this process and of those that it has started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
