"""Worker processes and their CPU time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

# Set in the environment of processes that need not report a kernel cache which cannot be used.
CACHE_REPORTED = "EIGENTREE_CACHE_REPORTED"
WORKER_EXITED = "a worker process exited unexpectedly (possibly out of memory)"
USE_FEWER_JOBS = f"{WORKER_EXITED}; use fewer jobs"


@contextmanager
def worker_pool(
    processes: int, start: Callable[..., object], *arguments: object
) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that exit with their parent process, and at the end of the block.

    Work that has not started by then is cancelled.  SIGTERM ends the block with `SystemExit`.

    Parameters
    ----------
    processes
        At least one.
    start, arguments
        A function of a module, called in each worker before any work, and its arguments.
    """
    context = get_context("spawn")
    # A worker that exits before it has read its arguments would block this process if they are
    # larger than a pipe; a queue is filled by a thread.
    queue = context.Queue()
    message = bytes(ForkingPickler.dumps(arguments))
    for _ in range(processes):
        queue.put(message)
    pool = ProcessPoolExecutor(
        processes, mp_context=context, initializer=_begin_from, initargs=(start, queue)
    )
    try:
        with _exit_at_sigterm():
            yield pool
    except SystemExit:
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        queue.cancel_join_thread()
        queue.close()


@contextmanager
def _exit_at_sigterm() -> Iterator[None]:
    """Leave Python in order at SIGTERM, which would leave the semaphores of the workers behind."""
    is_default = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if is_default:
        signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        if is_default:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _begin_from(start: Callable[..., object], queue: Any) -> None:
    begin(start, ForkingPickler.loads(queue.get()))


def begin(start: Callable[..., object], arguments: tuple[object, ...]) -> None:
    """Initialise a worker process.

    It exits when its parent does: it would otherwise wait for work after the parent was killed.
    An interrupt from the keyboard, which all processes receive, ends it silently, as the parent
    reports it.
    """
    parent = parent_process()
    if parent is not None:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    start(*arguments)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def cpu_seconds() -> float:
    """CPU seconds used by this process and by its finished child processes."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
