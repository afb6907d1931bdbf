"""Processes that compile kernels side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

from eigentree._core.processes import CACHE_REPORTED

# Set in the environment of the workers, which compile by themselves.
IS_WORKER = "EIGENTREE_COMPILES"
# More would wait for the kernel that takes longest; each needs a quarter of a gigabyte.
MAX_WORKERS = 4
# Seconds between two looks at the workers.
_BETWEEN = 0.05
_ENTRY = "import sys; sys.path[:] = {path!r}; from eigentree._core.jit import work; work()"


def compile_in_workers(
    kernels: Sequence[str], target: tuple[str, str], advance: Callable[[int], object]
) -> int:
    """Compile kernels, several at a time; returns how many were done.

    What fails is left to the process that needs the kernel.

    Parameters
    ----------
    kernels
        Full names, at least one; those that take long first.
    target
        Name and features of the processor to compile for.
    advance
        Called with the number of kernels that have been compiled since the call before.
    """
    waiting: SimpleQueue[str] = SimpleQueue()
    for each in kernels:
        waiting.put(each)
    done: list[str] = []
    n_reported = 0
    n_workers = min(_processors(), len(kernels), MAX_WORKERS)
    workers = [_Worker(waiting, done, target) for _ in range(n_workers)]
    try:
        while any(worker.is_alive() for worker in workers) or n_reported < len(done):
            time.sleep(_BETWEEN)
            n_new = len(done) - n_reported
            if n_new:
                advance(n_new)
                n_reported += n_new
    finally:
        for worker in workers:
            worker.stop()
    return len(done)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Worker(threading.Thread):
    """A process that compiles kernels one after another, and the thread that feeds it."""

    def __init__(self, waiting: SimpleQueue[str], done: list[str], target: tuple[str, str]) -> None:
        super().__init__(daemon=True)
        self._waiting = waiting
        self._done = done
        self._process: subprocess.Popen[str] | None = None
        own = {
            IS_WORKER: "1", CACHE_REPORTED: "1",
            "NUMBA_CPU_NAME": target[0], "NUMBA_CPU_FEATURES": target[1],
        }  # fmt: skip
        if getattr(sys, "frozen", False) or not sys.executable:
            return  # a program without an interpreter
        with suppress(OSError, ValueError):
            self._process = subprocess.Popen(
                [sys.executable, "-c", _ENTRY.format(path=sys.path)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, env={**os.environ, **own},
            )  # fmt: skip
            self.start()

    def run(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(Empty, OSError, ValueError), process.stdin as to, process.stdout as answers:
            while True:
                name = self._waiting.get_nowait()
                to.write(f"{name}\n")
                to.flush()
                if not answers.readline():
                    return
                self._done.append(name)

    def stop(self) -> None:
        """End the process, if it has not ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
