"""Who gets a worker, and what becomes of workers, with threads in place of processes."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from eigentree.errors import ModelFileError
from eigentree.web import worker_pool
from eigentree.web.errors import ServiceError
from eigentree.web.limits import Limits
from eigentree.web.metrics import Metrics
from eigentree.web.timeouts import Timeouts
from eigentree.web.worker import Answer, Compiling, Failed, Opened, Preparing, Ready, Refused, Task
from eigentree.web.worker_pool import WorkerDiedError, WorkerPool

LATE = 1e9
OPENS = [Opened([]), Preparing("model", 1, 1), Ready()]


class FakeWorker:
    """A worker whose tasks are functions, and whose exit is an event."""

    starts: Iterator[list[Any]]  # what the next ones send first
    living: list[FakeWorker]

    def __init__(self, *_: object) -> None:
        self._says = iter(next(FakeWorker.starts, OPENS))
        self.ended = threading.Event()
        self.end_reason = "died"
        self.dies_first = False
        self.process = SimpleNamespace(join=lambda: None)
        FakeWorker.living.append(self)

    @property
    def is_alive(self) -> bool:
        return not self.ended.is_set()

    def receive(self) -> Any:
        said = next(self._says)
        if isinstance(said, Refused | Failed):
            self.ended.set()
        return said

    def call(self, task: Task) -> Answer:
        if self.dies_first:
            self.ended.set()
            raise WorkerDiedError
        done = task.arguments["do"](self)
        if self.ended.is_set():
            raise WorkerDiedError(has_begun=True)
        return Answer(done)

    def kill(self, reason: str) -> None:
        self.end_reason = reason
        self.ended.set()

    def wait(self) -> None:
        self.ended.wait()


def fast(worker: FakeWorker) -> bytes:  # noqa: ARG001 - signature of tasks
    return b"done"


def endless(worker: FakeWorker) -> bytes:
    worker.ended.wait()
    return b""


def task(do: Callable[[FakeWorker], bytes]) -> Task:
    return Task("parse", "model", {"do": do})


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeWorker.starts = iter([])
    FakeWorker.living = []
    monkeypatch.setattr(worker_pool, "Worker", FakeWorker)
    monkeypatch.setattr(worker_pool, "GRACE", 0.05)
    monkeypatch.setattr(worker_pool, "_PAUSE", 0.001)


def with_pool(
    work: Callable[[WorkerPool], Awaitable[None]], n_workers: int = 1, **limits: float
) -> tuple[Metrics, Timeouts]:
    """Do something with a pool, which must be whole afterwards."""
    metrics, timeouts = Metrics(), Timeouts()

    async def run() -> None:
        pool = WorkerPool([], n_workers, Limits(**limits), metrics, timeouts)
        try:
            await pool.begin()
            await work(pool)
            if not timeouts.have_ended:
                await is_whole(pool)
        finally:
            await pool.end()

    asyncio.run(run())
    assert not any(worker.is_alive for worker in FakeWorker.living)
    return metrics, timeouts


async def is_whole(pool: WorkerPool) -> None:
    """Every worker is ready, idle and nobody else's."""
    end = time.monotonic() + 20
    while pool.n_ready < pool.n_workers or idle(pool) < pool.n_workers:
        assert time.monotonic() < end, "a worker was lost"
        await asyncio.sleep(0.005)
    assert idle(pool) == pool.n_workers
    assert pool.n_queued == 0


def idle(pool: WorkerPool) -> int:
    return sum(worker.is_alive for worker in pool._idle._queue)


def restarts(metrics: Metrics) -> dict[str, int]:
    return {dict(labels)["reason"]: n for labels, n in metrics._counts["worker_restarts"].items()}


def test_who_asks_first_is_served_first():
    order = []

    async def work(pool: WorkerPool) -> None:
        async def ask(number: int) -> None:
            await pool.run(task(lambda _: order.append(number) or b""), LATE)

        await asyncio.gather(*map(ask, range(20)))

    metrics, _ = with_pool(work)
    assert order == list(range(20))
    assert restarts(metrics) == {}


def test_what_takes_too_long_is_killed():
    async def work(pool: WorkerPool) -> None:
        with pytest.raises(ServiceError) as caught:
            await pool.run(task(endless), LATE)
        assert caught.value.code == "sentence_out_of_time"
        assert await pool.run(task(fast), LATE) == b"done"

    metrics, _ = with_pool(work, sentence_seconds=0.05)
    assert restarts(metrics) == {"time": 1}


def test_the_request_s_own_end_may_be_earlier():
    async def work(pool: WorkerPool) -> None:
        with pytest.raises(ServiceError) as caught:
            await pool.run(task(endless), time.monotonic() + 0.05)
        assert caught.value.code == "request_out_of_time"

    metrics, _ = with_pool(work)
    assert restarts(metrics) == {"time": 1}


@pytest.mark.parametrize("left", [-1.0, 0.05])
def test_who_waits_too_long_costs_no_worker(left):
    async def work(pool: WorkerPool) -> None:
        gate = threading.Event()
        first = asyncio.create_task(pool.run(task(lambda _: gate.wait() and b"done"), LATE))
        await asyncio.sleep(0)
        with pytest.raises(ServiceError) as caught:
            await pool.run(task(fast), time.monotonic() + left)
        assert caught.value.code == "request_out_of_time"
        gate.set()
        assert await first == b"done"

    metrics, _ = with_pool(work)
    assert restarts(metrics) == {}


def test_who_comes_too_late_costs_no_worker_either():
    async def work(pool: WorkerPool) -> None:
        await is_whole(pool)
        with pytest.raises(ServiceError) as caught:
            await pool.run(task(fast), time.monotonic() - 1.0)
        assert caught.value.code == "request_out_of_time"

    metrics, _ = with_pool(work)
    assert restarts(metrics) == {}


@pytest.mark.parametrize(("seconds", "killed"), [(0.0, {}), (30.0, {"client gone": 1})])
def test_a_worker_is_given_a_moment_when_nobody_wants_its_answer(seconds, killed):
    async def work(pool: WorkerPool) -> None:
        begun = asyncio.Event()
        loop = asyncio.get_running_loop()

        def do(worker: FakeWorker) -> bytes:
            loop.call_soon_threadsafe(begun.set)
            worker.ended.wait(seconds)
            return b"done"

        asking = asyncio.create_task(pool.run(task(do), LATE))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    metrics, _ = with_pool(work)
    assert restarts(metrics) == killed


def test_a_worker_that_died_idle_gets_no_task():
    async def work(pool: WorkerPool) -> None:
        FakeWorker.living[0].ended.set()
        assert await pool.run(task(fast), LATE) == b"done"

    metrics, _ = with_pool(work)
    assert restarts(metrics) == {"died": 1}


def test_a_task_that_has_not_begun_goes_to_another_worker():
    async def work(pool: WorkerPool) -> None:
        await is_whole(pool)
        for worker in FakeWorker.living:
            worker.dies_first = True
        assert await pool.run(task(fast), LATE) == b"done"

    metrics, _ = with_pool(work, n_workers=2)
    assert restarts(metrics) == {"died": 2}


def test_a_worker_that_dies_costs_its_own_sentence():
    def die(worker: FakeWorker) -> bytes:
        worker.ended.set()
        return b""

    async def work(pool: WorkerPool) -> None:
        with pytest.raises(ServiceError) as caught:
            await pool.run(task(die), LATE)
        assert (caught.value.status, caught.value.code) == (500, "worker_died")

    metrics, _ = with_pool(work, n_workers=2)
    assert restarts(metrics) == {"died": 1}


def test_a_worker_that_can_not_start_is_tried_again(caplog):
    FakeWorker.starts = iter([OPENS, [Refused("x.egt: is damaged")], [Refused("x.egt: gone")]])

    async def work(pool: WorkerPool) -> None:
        FakeWorker.living[0].ended.set()
        assert await pool.run(task(fast), LATE) == b"done"

    with_pool(work)
    assert [record.getMessage() for record in caplog.records] == [
        "a worker cannot start: x.egt: is damaged",
        "a worker cannot start: x.egt: gone",
    ]
    assert len(FakeWorker.living) == 4


@pytest.mark.parametrize(("starts", "logged"), [([], 0), ([OPENS], worker_pool._MAX_FAILURES - 1)])
def test_workers_that_can_not_start_end_the_pool(starts, logged, caplog, monkeypatch):
    monkeypatch.setattr(worker_pool, "_MAX_PAUSE", 0.002)
    fails = [Opened([]), Failed("OSError: No space left on device")]
    FakeWorker.starts = iter([*starts, *[fails] * 20])

    async def work(pool: WorkerPool) -> None:
        if starts:
            await pool.ready()
            FakeWorker.living[0].ended.set()
        waiting = asyncio.create_task(pool.run(task(fast), LATE))
        reason = "no worker process can start: OSError: No space left on device"
        with pytest.raises(WorkerDiedError, match=reason):
            await pool.failed()
        pool._timeouts.end()
        with pytest.raises(ServiceError, match="when the service stops"):
            await waiting

    with_pool(work)
    assert len(caplog.records) == logged
    assert len(FakeWorker.living) == len(starts) + (logged + 1 if starts else 3)


def test_nothing_waits_for_workers_that_can_not_start():
    FakeWorker.starts = iter([[Opened([]), Failed("MemoryError: ")]] * 3)

    async def work(pool: WorkerPool) -> None:
        with pytest.raises(WorkerDiedError, match="MemoryError"):
            await pool.ready()
        pool._timeouts.end()

    with_pool(work)


def test_a_model_that_can_not_be_opened_ends_the_beginning():
    FakeWorker.starts = iter([[Refused("x.egt: is damaged")]])

    async def work(pool: WorkerPool) -> None:
        raise AssertionError(pool)

    with pytest.raises(ModelFileError, match="is damaged"):
        with_pool(work)


def test_the_end_lets_nobody_wait():
    async def work(pool: WorkerPool) -> None:
        asked = [asyncio.create_task(pool.run(task(endless), LATE)) for _ in range(5)]
        await asyncio.sleep(0.01)
        pool._timeouts.end()
        for each in asked:
            with pytest.raises(ServiceError) as caught:
                await each
            assert (caught.value.status, caught.value.code) == (503, "stopping")

    with_pool(work, n_workers=2)


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (Answer(refused="no"), 422, "bad_sentence"),
        (Answer(no_memory=True), 500, "no_memory"),
        (Answer(failed="KeyError: 1"), 500, "internal_error"),
    ],
)
def test_what_workers_say_has_its_status(answer, status, code):
    with pytest.raises(ServiceError) as caught:
        worker_pool._json_of(task(fast), answer)
    assert (caught.value.status, caught.value.code) == (status, code)


def test_no_worker_is_ever_lost():
    chance = random.Random(1)

    def any_task() -> Task:
        seconds = chance.choice([0.0, 0.0, 0.002, 0.02, 5.0])

        def do(worker: FakeWorker) -> bytes:
            worker.ended.wait(seconds)
            if seconds == 0.002:
                worker.ended.set()
            return b"done"

        return task(do)

    async def work(pool: WorkerPool) -> None:
        async def one() -> None:
            await asyncio.sleep(chance.random() * 0.2)
            asking = asyncio.create_task(
                pool.run(any_task(), time.monotonic() + chance.random() * 0.2)
            )
            if chance.random() < 0.5:
                await asyncio.sleep(chance.random() * 0.1)
                asking.cancel()
            with suppress(ServiceError, asyncio.CancelledError):
                await asking

        await asyncio.gather(*(one() for _ in range(200)))

    with_pool(work, n_workers=3, sentence_seconds=0.05)


def test_one_worker_compiles_for_all():
    compiled = threading.Event()

    def says():
        yield Opened([])
        yield Compiling(3, 21)
        compiled.wait()
        yield from OPENS[1:]

    FakeWorker.starts = iter([says()])

    async def work(pool: WorkerPool) -> None:
        while pool.preparing != Compiling(3, 21):
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        assert len(FakeWorker.living) == 1
        compiled.set()
        await is_whole(pool)
        assert len(FakeWorker.living) == 3

    with_pool(work, 3)


def test_other_workers_start_where_the_first_cannot():
    FakeWorker.starts = iter([[Opened([]), Failed("no memory")]])

    async def work(pool: WorkerPool) -> None:
        await is_whole(pool)

    with_pool(work, 2)
