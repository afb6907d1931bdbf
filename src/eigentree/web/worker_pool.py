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
    Begun,
    Compiling,
    Failed,
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
# Starts that may fail in a row while no worker is ready: before any was, and later.
_MAX_FIRST_FAILURES = 3
_MAX_FAILURES = 8

# Status and code of refused tasks, where the task is not a sentence.
_REFUSED: dict[TaskName, tuple[int, str]] = {
    "symbols": (404, "no_symbols"),
    "symbol": (404, "no_such_symbol"),
    "evaluate": (422, "bad_trees"),
}

log = logging.getLogger("eigentree.web")


class WorkerDiedError(EigentreeError):
    """A worker exited before it had answered, or cannot start.

    Parameters
    ----------
    why
        What is known of the reason.
    has_begun
        Whether it was performing a task.
    """

    def __init__(self, why: str = WORKER_EXITED, *, has_begun: bool = False) -> None:
        super().__init__(why)
        self.has_begun = has_begun


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
        assert isinstance(self.receive(), Begun)
        try:
            answer: Answer = self.receive()
        except WorkerDiedError as error:
            error.has_begun = True
            raise
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
        # What a worker that is starting is doing.
        self.preparing: Preparing | Compiling | None = None
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
        # The first worker compiles kernels that have not been compiled; the others wait for it.
        self._is_compiled = asyncio.Event()
        self._failure: Exception | None = None
        self._has_failed = asyncio.Event()
        self._n_failures = 0  # starts in a row

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
        """Wait until a worker has loaded all its kernels.

        Raises
        ------
        ModelFileError, WorkerDiedError, OSError
            When no worker can start.
        """
        failing = asyncio.ensure_future(self.failed())
        ready = asyncio.ensure_future(self._is_ready.wait())
        try:
            await asyncio.wait((failing, ready), return_when=asyncio.FIRST_COMPLETED)
            if failing.done():
                failing.result()
        finally:
            failing.cancel()
            ready.cancel()

    async def failed(self) -> None:
        """Wait until no worker can start.

        Raises
        ------
        ModelFileError, WorkerDiedError, OSError
            Then.
        """
        await self._has_failed.wait()
        assert self._failure is not None
        raise self._failure

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
        if number > 0:
            await self._is_compiled.wait()
        while True:
            try:
                worker = await self._started(number, verify)
            except Exception as error:
                self._is_compiled.set()
                if not self._is_open.done():
                    self._is_open.set_exception(_as_failure(error))
                    return
                if self._gives_up(error):
                    return
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
                continue
            self._is_compiled.set()
            verify, pause = False, _PAUSE
            self._n_failures = 0
            self._ready.add(number)
            self._is_ready.set()
            self._idle.put_nowait(worker)
            await self._in_thread(worker.wait)
            self._ready.discard(number)
            self._metrics.count("worker_restarts", reason=worker.end_reason)

    def _gives_up(self, error: Exception) -> bool:
        """Whether too many starts have failed; otherwise the failure is logged."""
        self._n_failures += 1
        allowed = _MAX_FAILURES if self._is_ready.is_set() else _MAX_FIRST_FAILURES
        if self._has_failed.is_set():
            return True
        if not self._ready and self._n_failures >= allowed:
            self._failure = _as_failure(error)
            self._has_failed.set()
            return True
        if self._is_ready.is_set():
            log.error("a worker cannot start: %s", error)
        return False

    async def _started(self, number: int, verify: bool) -> Worker:
        """Start a worker and wait until it is ready."""
        worker = self._workers[number] = Worker(self.models, verify)
        while not isinstance(state := await self._in_thread(worker.receive), Ready):
            if isinstance(state, Refused):
                raise ModelFileError(state.why)
            if isinstance(state, Failed):
                raise WorkerDiedError(state.why)
            if isinstance(state, Preparing | Compiling):
                self.preparing = state
                if isinstance(state, Preparing):
                    self._is_compiled.set()
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
        while True:
            try:
                worker = await self._free(deadline)
            except TimeoutError:
                raise self._out_of_time() from None
            left = deadline - time.monotonic()
            if left <= 0.0:
                self._idle.put_nowait(worker)
                raise self._out_of_time()
            try:
                return _json_of(task, await self._run_on(worker, task, left))
            except WorkerDiedError as error:
                if error.has_begun:
                    message = (
                        "the worker exited unexpectedly at this sentence (possibly out of memory)"
                    )
                    raise ServiceError(500, "worker_died", message) from None
                # It had exited while it was idle, so another one can perform the task.

    async def _run_on(self, worker: Worker, task: Task, left: float) -> Answer:
        """Run a task on a worker, with so many seconds left for its request."""
        call = asyncio.ensure_future(self._in_thread(worker.call, task))
        try:
            async with self._timeouts.within(min(left, self._limits.sentence_seconds)):
                answer: Answer = await asyncio.shield(call)
        except TimeoutError:
            worker.kill("stopped" if self._timeouts.have_ended else "time")
            with suppress(WorkerDiedError):
                await call
            if self._timeouts.have_ended or left < self._limits.sentence_seconds:
                raise self._out_of_time() from None
            raise self._limits.exceeded("sentence_seconds") from None
        except asyncio.CancelledError:
            self._spawn(self._release(worker, call))
            raise
        self._idle.put_nowait(worker)
        return answer

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


def _as_failure(error: Exception) -> Exception:
    """What the service ends with when a worker cannot start for this reason."""
    if isinstance(error, WorkerDiedError):
        return WorkerDiedError(f"no worker process can start: {error}")
    return error


def _json_of(task: Task, answer: Answer) -> bytes:
    if answer.refused is not None:
        raise ServiceError(*_REFUSED.get(task.name, (422, "bad_sentence")), answer.refused)
    if answer.no_memory:
        raise ServiceError(500, "no_memory", "the sentence needs more memory than is available")
    if answer.failed is not None:
        raise ServiceError(500, "internal_error", f"the worker failed: {answer.failed}")
    return answer.json
