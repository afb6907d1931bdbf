"""A pool of worker processes that can be killed, and the queue for them.

A worker receives a task over a pipe and sends its answer.  A worker that takes too long, or whose
client has disconnected, is killed, and every worker that exits is replaced.  The pool belongs to
one event loop; threads only wait for pipes and for the exits of processes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import connection, get_context
from typing import Any

from eigentree._core.processes import WORKER_EXITED
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.web.errors import ServiceError
from eigentree.web.limits import Limits
from eigentree.web.metrics import Metrics
from eigentree.web.models import ServedModel
from eigentree.web.timeouts import Timeouts
from eigentree.web.worker import (
    Answer,
    Opened,
    Preparing,
    Ready,
    Refused,
    Task,
    TaskName,
    start,
)

# Seconds that a task may continue after its client has disconnected: a new worker takes longer.
GRACE = 1.0
# Seconds before restarting a worker that failed to start, doubled each time.
_PAUSE = 0.5
_MAX_PAUSE = 30.0

# Status and code of refused tasks, where the task is not a sentence.
_REFUSED: dict[TaskName, tuple[int, str]] = {
    "symbols": (404, "no_symbols"),
    "symbol": (404, "no_such_symbol"),
    "evaluate": (422, "bad_trees"),
}

log = logging.getLogger("eigentree.web")


class WorkerDiedError(EigentreeError):
    """A worker exited before it had answered."""

    def __init__(self) -> None:
        super().__init__(WORKER_EXITED)


class Worker:
    """A process, and the pipe to it."""

    def __init__(self, models: Sequence[ServedModel], verify: bool) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=start, args=(theirs, models, verify), daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        self.end_reason = "died"

    @property
    def is_alive(self) -> bool:
        return self.process.is_alive()

    def receive(self) -> Any:
        """Wait for the next message of the worker."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError from error

    def call(self, task: Task) -> Answer:
        """Send a task and wait for the answer."""
        try:
            self._pipe.send(task)
        except OSError as error:
            raise WorkerDiedError from error
        answer: Answer = self.receive()
        return answer

    def kill(self, reason: str) -> None:
        """Kill the process; pending calls raise `WorkerDiedError`."""
        self.end_reason = reason
        self.process.kill()

    def wait(self) -> None:
        """Wait until the process has exited."""
        connection.wait([self.process.sentinel])
        self.process.join()


class WorkerPool:
    """The workers of a service.

    Parameters
    ----------
    models
        The models that each worker opens.
    n_workers
        Number of workers, at least 1.
    limits
        `Limits.sentence_seconds` and `Limits.request_seconds` are used.
    metrics
        Counts restarts.
    timeouts
        The active time-outs of the service.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        n_workers: int,
        limits: Limits,
        metrics: Metrics,
        timeouts: Timeouts,
    ) -> None:
        self.models = list(models)
        self.n_workers = n_workers
        self.about: list[dict[str, Any]] = []
        self.preparing: Preparing | None = None  # of a worker that is starting
        self.n_queued = 0
        self._limits = limits
        self._metrics = metrics
        self._timeouts = timeouts
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._workers: dict[int, Worker] = {}
        self._ready: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        # Per worker, one thread waits for answers and one for its exit.
        self._threads = ThreadPoolExecutor(2 * n_workers, "eigentree-worker")
        self._is_open = asyncio.get_running_loop().create_future()
        self._is_ready = asyncio.Event()

    @property
    def n_ready(self) -> int:
        """Workers that are busy or idle, not starting."""
        return len(self._ready)

    async def begin(self) -> None:
        """Start the workers; return when the first has opened the models.

        Raises
        ------
        ModelFileError, WorkerDiedError, OSError
            When the first worker cannot start.
        """
        for number in range(self.n_workers):
            self._spawn(self._keep(number))
            if number == 0:
                await self._is_open

    async def ready(self) -> None:
        """Wait until a worker has loaded all its kernels."""
        await self._is_ready.wait()

    async def end(self) -> None:
        """Kill all workers; no call may be pending."""
        self._timeouts.end()
        for task in self._tasks:
            task.cancel()
        for worker in self._workers.values():
            worker.kill("stopped")
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown()
        for worker in self._workers.values():
            worker.process.join()

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def _keep(self, number: int) -> None:
        """Keep one worker running: start it, and restart it whenever it exits."""
        pause = _PAUSE
        verify = number == 0
        while True:
            try:
                worker = await self._started(number, verify)
            except (EigentreeError, OSError) as error:
                if not self._is_open.done():
                    self._is_open.set_exception(error)
                    return
                log.error("a worker cannot start: %s", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
                continue
            verify, pause = False, _PAUSE
            self._ready.add(number)
            self._is_ready.set()
            self._idle.put_nowait(worker)
            await self._in_thread(worker.wait)
            self._ready.discard(number)
            self._metrics.count("worker_restarts", reason=worker.end_reason)

    async def _started(self, number: int, verify: bool) -> Worker:
        """Start a worker and wait until it is ready."""
        worker = self._workers[number] = Worker(self.models, verify)
        while not isinstance(state := await self._in_thread(worker.receive), Ready):
            if isinstance(state, Refused):
                raise ModelFileError(state.why)
            if isinstance(state, Preparing):
                self.preparing = state
                continue
            assert isinstance(state, Opened)
            self.about = state.about
            if not self._is_open.done():
                self._is_open.set_result(None)
        return worker

    async def run(self, task: Task, deadline: float) -> bytes:
        """Run a task on the next free worker.

        Parameters
        ----------
        task
        deadline
            Time by which the answer must be available, by `time.monotonic`.

        Raises
        ------
        ServiceError
            When the task fails or exceeds a limit.
        """
        try:
            worker = await self._free(deadline)
        except TimeoutError:
            raise self._out_of_time() from None
        left = deadline - time.monotonic()
        if left <= 0.0:
            self._idle.put_nowait(worker)
            raise self._out_of_time()
        call = asyncio.ensure_future(self._in_thread(worker.call, task))
        try:
            async with self._timeouts.within(min(left, self._limits.sentence_seconds)):
                answer = await asyncio.shield(call)
        except TimeoutError:
            worker.kill("stopped" if self._timeouts.have_ended else "time")
            with suppress(WorkerDiedError):
                await call
            if self._timeouts.have_ended or left < self._limits.sentence_seconds:
                raise self._out_of_time() from None
            raise self._limits.exceeded("sentence_seconds") from None
        except WorkerDiedError:
            message = "the worker exited unexpectedly at this sentence (possibly out of memory)"
            raise ServiceError(500, "worker_died", message) from None
        except asyncio.CancelledError:
            self._spawn(self._release(worker, call))
            raise
        self._idle.put_nowait(worker)
        return _json_of(task, answer)

    async def _free(self, deadline: float) -> Worker:
        """Wait for the next worker that is free and alive."""
        self.n_queued += 1
        try:
            async with self._timeouts.within(deadline - time.monotonic()):
                while not (worker := await self._idle.get()).is_alive:
                    pass  # its replacement will be queued
                return worker
        finally:
            self.n_queued -= 1

    def _out_of_time(self) -> ServiceError:
        name = "stop_seconds" if self._timeouts.have_ended else "request_seconds"
        return self._limits.exceeded(name)

    async def _release(self, worker: Worker, call: asyncio.Future[Answer]) -> None:
        """Release a worker whose client has disconnected."""
        done, _ = await asyncio.wait((call,), timeout=GRACE)
        if not done:
            worker.kill("client gone")
        try:
            await call
        except WorkerDiedError:
            return
        self._idle.put_nowait(worker)


def _json_of(task: Task, answer: Answer) -> bytes:
    if answer.refused is not None:
        raise ServiceError(*_REFUSED.get(task.name, (422, "bad_sentence")), answer.refused)
    if answer.no_memory:
        raise ServiceError(500, "no_memory", "the sentence needs more memory than is available")
    if answer.failed is not None:
        raise ServiceError(500, "internal_error", f"the worker failed: {answer.failed}")
    return answer.json
