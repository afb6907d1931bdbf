"""Worker processes that can be killed, and the line of those who wait for one.

A worker gets a job over a pipe and sends its answer.  One that takes too long, or works for a
client that has gone, is killed; whatever ends a worker, another takes its place.  All this is
for one event loop; threads only wait at pipes, and for ends of processes.
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
from eigentree.web.models import Served
from eigentree.web.timeouts import Timeouts
from eigentree.web.worker import Answer, Doing, Job, Opened, Ready, Refused, start

# Seconds that work for nobody may go on, since a new worker takes longer to come.
GRACE = 1.0
# Seconds before a worker is started again after one that didn't get ready, doubled each time.
_PAUSE = 0.5
_LONGEST_PAUSE = 30.0

# Status and code of what workers refuse, where it is no sentence.
_REFUSED: dict[Doing, tuple[int, str]] = {
    "symbols": (404, "no_symbols"),
    "symbol": (404, "no_such_symbol"),
    "evaluate": (422, "bad_trees"),
}

log = logging.getLogger("eigentree.web")


class WorkerDiedError(EigentreeError):
    """A worker ended before it had answered."""

    def __init__(self) -> None:
        super().__init__(WORKER_EXITED)


class Worker:
    """A process, and the pipe to it."""

    def __init__(self, models: Sequence[Served], verify: bool) -> None:
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
        """What the worker sends next; waits for it."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerDiedError from error

    def call(self, job: Job) -> Answer:
        """Give the worker a job and wait for the answer."""
        try:
            self._pipe.send(job)
        except OSError as error:
            raise WorkerDiedError from error
        answer: Answer = self.receive()
        return answer

    def kill(self, reason: str) -> None:
        """End the process at once; whoever waits for it is told that it died."""
        self.end_reason = reason
        self.process.kill()

    def wait(self) -> None:
        """Wait for the end of the process."""
        connection.wait([self.process.sentinel])
        self.process.join()


class Crew:
    """The workers of a service.

    Parameters
    ----------
    models
        What each worker opens.
    n_workers
        At least one.
    limits
        `Limits.sentence_seconds` and `Limits.request_seconds`.
    metrics
        Told of restarts.
    timeouts
        Of all that waits.
    """

    def __init__(
        self,
        models: Sequence[Served],
        n_workers: int,
        limits: Limits,
        metrics: Metrics,
        timeouts: Timeouts,
    ) -> None:
        self.models = list(models)
        self.n_workers = n_workers
        self.about: list[dict[str, Any]] = []
        self.n_queued = 0
        self._limits = limits
        self._metrics = metrics
        self._timeouts = timeouts
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._workers: dict[int, Worker] = {}
        self._ready: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        # One waits for an answer and one for the end of each worker.
        self._threads = ThreadPoolExecutor(2 * n_workers, "eigentree-worker")
        self._is_open = asyncio.get_running_loop().create_future()
        self._is_ready = asyncio.Event()

    @property
    def n_ready(self) -> int:
        """Workers that work or could."""
        return len(self._ready)

    async def begin(self) -> None:
        """Start the workers, and come back when the first has opened the models.

        Raises
        ------
        ModelFileError, WorkerDiedError, OSError
            When it can't.
        """
        for number in range(self.n_workers):
            self._spawn(self._keep(number))
            if number == 0:
                await self._is_open

    async def ready(self) -> None:
        """Come back when a worker has called all its kernels."""
        await self._is_ready.wait()

    async def end(self) -> None:
        """Kill all workers; nobody may be waiting for an answer by then."""
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

    async def _in_thread(self, function: Any, *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *given)

    async def _keep(self, number: int) -> None:
        """Keep one worker alive: start it, and another when it has ended."""
        pause = _PAUSE
        verify = number == 0
        while True:
            try:
                worker = await self._started(number, verify)
            except (EigentreeError, OSError) as error:
                if not self._is_open.done():
                    self._is_open.set_exception(error)
                    return
                log.error("a worker can't start: %s", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            verify, pause = False, _PAUSE
            self._ready.add(number)
            self._is_ready.set()
            self._idle.put_nowait(worker)
            await self._in_thread(worker.wait)
            self._ready.discard(number)
            self._metrics.count("worker_restarts", reason=worker.end_reason)

    async def _started(self, number: int, verify: bool) -> Worker:
        """A worker that is ready."""
        worker = self._workers[number] = Worker(self.models, verify)
        while not isinstance(told := await self._in_thread(worker.receive), Ready):
            if isinstance(told, Refused):
                raise ModelFileError(told.why)
            assert isinstance(told, Opened)
            self.about = told.about
            if not self._is_open.done():
                self._is_open.set_result(None)
        return worker

    async def ask(self, job: Job, deadline: float) -> bytes:
        """Have a job done by the next worker that is free.

        Parameters
        ----------
        job
        deadline
            When its answer is of no use any more, by `time.monotonic`.

        Raises
        ------
        ServiceError
            When it can't be done, and why.
        """
        try:
            worker = await self._free(deadline)
        except TimeoutError:
            raise self._out_of_time() from None
        left = deadline - time.monotonic()
        if left <= 0.0:
            self._idle.put_nowait(worker)
            raise self._out_of_time()
        call = asyncio.ensure_future(self._in_thread(worker.call, job))
        try:
            async with self._timeouts.within(min(left, self._limits.sentence_seconds)):
                answer = await asyncio.shield(call)
        except TimeoutError:
            worker.kill("stopped" if self._timeouts.have_ended else "time")
            with suppress(WorkerDiedError):
                await call
            if self._timeouts.have_ended or left < self._limits.sentence_seconds:
                raise self._out_of_time() from None
            raise self._limits.passed("sentence_seconds") from None
        except WorkerDiedError:
            raise ServiceError(500, "worker_died", f"at this sentence {WORKER_EXITED}") from None
        except asyncio.CancelledError:
            self._spawn(self._let_go(worker, call))
            raise
        self._idle.put_nowait(worker)
        return _json_of(job, answer)

    async def _free(self, deadline: float) -> Worker:
        """The next worker that is free and alive."""
        self.n_queued += 1
        try:
            async with self._timeouts.within(deadline - time.monotonic()):
                while not (worker := await self._idle.get()).is_alive:
                    pass  # another will come in its place
                return worker
        finally:
            self.n_queued -= 1

    def _out_of_time(self) -> ServiceError:
        name = "stop_seconds" if self._timeouts.have_ended else "request_seconds"
        return self._limits.passed(name)

    async def _let_go(self, worker: Worker, call: asyncio.Future[Answer]) -> None:
        """Free a worker whose answer nobody wants."""
        done, _ = await asyncio.wait((call,), timeout=GRACE)
        if not done:
            worker.kill("client gone")
        try:
            await call
        except WorkerDiedError:
            return
        self._idle.put_nowait(worker)


def _json_of(job: Job, answer: Answer) -> bytes:
    if answer.refused is not None:
        raise ServiceError(*_REFUSED.get(job.doing, (422, "bad_sentence")), answer.refused)
    if answer.no_memory:
        raise ServiceError(500, "no_memory", "the sentence needs more memory than there is")
    if answer.failed is not None:
        raise ServiceError(500, "internal_error", f"the worker failed: {answer.failed}")
    return answer.json
