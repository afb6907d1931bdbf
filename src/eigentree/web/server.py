"""The server: opens the port and serves with uvicorn; or answers one request without a port."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any

from uvicorn import Config, Server

from eigentree.errors import EigentreeError, SettingsError
from eigentree.web.app import Service, make_app
from eigentree.web.protocol import (
    ACCEPTED_AT_ONCE,
    Connections,
    HttpProtocol,
    max_connections,
)
from eigentree.web.worker import Compiling, Preparing
from eigentree.web.worker_pool import WorkerPool

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# Seconds that an idle connection is kept, and that clients have to read their responses when the
# service stops.
_KEEP_ALIVE = 30
_BACKLOG = 128
_LAST_SECONDS = 2
_SIGHUP = getattr(signal, "SIGHUP", None)  # not on Windows
_SIGNALS = tuple(each for each in (signal.SIGINT, signal.SIGTERM, _SIGHUP) if each is not None)
# Seconds after which progress of the start is reported, and between looks at it.
_PATIENCE = 2.0


class PortError(SettingsError):
    """A port that cannot be opened."""


class _Server(Server):
    """Uvicorn that stops the service when it stops."""

    def __init__(self, config: Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # asyncio has set the backlog to the number of connections that it accepts at a time.
        for each in sockets or ():
            each.listen(_BACKLOG)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Start to stop; called on a signal."""
        super().handle_exit(sig, frame)
        asyncio.get_running_loop().call_soon_threadsafe(self._service.stop)


def serve(
    service: Service,
    host: str,
    port: int,
    hosts: Sequence[str],
    announce: Callable[[str], None],
    report: Callable[[str], None],
) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP.

    Parameters
    ----------
    service
    host, port
        Address to listen on; port 0 selects a free port.
    hosts
        Additional allowed names in the header Host.
    announce
        Called with the URL once requests are answered.
    report
        Called with lines about the start, if it takes more than a moment.

    Raises
    ------
    PortError
        When the port cannot be opened.
    ModelFileError, WorkerDiedError
        When a model cannot be opened, or the workers cannot start.
    """
    opened = _open(host, port)
    own_port = opened.getsockname()[1]
    app = make_app(service, allowed_hosts(host, hosts))
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    connections = Connections(max_connections(service.n_workers))
    protocol: Any = partial(HttpProtocol, connections)
    config = Config(
        app, http=protocol, ws="none", lifespan="off", log_config=None, access_log=False,
        server_header=False, proxy_headers=False, timeout_keep_alive=_KEEP_ALIVE,
        backlog=ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=int(service.limits.stop_seconds) + _LAST_SECONDS,
    )  # fmt: skip

    async def run() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        _at_signals(lambda: loop.call_soon_threadsafe(task.cancel))
        async with service.running():
            # Uvicorn handles the signal, and raises it again when it has stopped.
            _at_signals(lambda: None)
            announce(f"http://{_bracketed(host)}:{own_port}")
            reporting = asyncio.create_task(_report_start(service.pool, report))
            try:
                await _until_end(_Server(config, service), service, opened)
            finally:
                reporting.cancel()

    with opened, suppress(asyncio.CancelledError):
        asyncio.run(run())


async def _until_end(server: _Server, service: Service, opened: socket.socket) -> None:
    """Serve until a signal, or until the workers cannot start."""
    if _SIGHUP is not None:
        _at_signals(lambda: server.handle_exit(signal.SIGTERM, None), (_SIGHUP,))
    serving = asyncio.ensure_future(server.serve([opened]))
    failing = asyncio.ensure_future(service.pool.failed())
    await asyncio.wait((serving, failing), return_when=asyncio.FIRST_COMPLETED)
    if failing.done():
        service.timeouts.end()
        server.should_exit = True
    await serving
    failing.cancel()
    with suppress(asyncio.CancelledError):
        await failing


async def _report_start(pool: WorkerPool, report: Callable[[str], None]) -> None:
    """Report which model is prepared until a worker is ready."""
    begun = time.monotonic()
    reported: Preparing | Compiling | None = None
    ready = asyncio.ensure_future(pool.ready())
    ready.add_done_callback(lambda done: done.cancelled() or done.exception())  # raised elsewhere
    try:
        while not (await asyncio.wait((ready,), timeout=_PATIENCE))[0]:
            state = pool.preparing
            if state is not None and state != reported:
                reported = state
                report(_in_words(state))
        if reported is not None and ready.exception() is None:
            report(f"ready after {time.monotonic() - begun:.0f} s")
    finally:
        ready.cancel()


def _in_words(state: Preparing | Compiling) -> str:
    if isinstance(state, Compiling):
        return (
            f"first start: compiling kernel {state.number} of {state.total} (once per "
            "installation); requests wait"
        )
    return f"preparing {state.model} ({state.number} of {state.total}); requests wait"


def _at_signals(do: Callable[[], object], signals: Sequence[int] = _SIGNALS) -> None:
    for each in signals:
        # nohup has SIGHUP ignored.
        if each != _SIGHUP or signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, lambda *_: do())


def allowed_hosts(host: str, others: Sequence[str]) -> list[str] | None:
    """The allowed names in the header Host for a service that listens on a host; None for any."""
    if is_loopback(host) or others:
        return [*LOOPBACK, _bracketed(host), *others]
    return None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether a host is reachable from this machine only."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _open(host: str, port: int) -> socket.socket:
    opened: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)  # early requests wait until the models are open
    except OSError as error:
        if opened is not None:
            opened.close()
        reason = "is in use; choose another with --port (0 for any free port)"
        if error.errno != errno.EADDRINUSE:
            reason = f"cannot be opened: {error.strerror or error}"
        raise PortError(f"port {port} of {host} {reason}") from error
    return opened


def get_once(service: Service, path: str) -> tuple[int, bytes]:
    """Status and body of the response to one GET request, without a port.

    Raises
    ------
    SettingsError
        When it is not a path.
    ModelFileError, WorkerDiedError
        When a model cannot be opened, or the workers cannot start.
    """
    if not path.startswith("/"):
        raise SettingsError(f"{path!r} is not a path of the service; paths begin with /")
    return asyncio.run(_get(service, path))


async def _get(service: Service, path: str) -> tuple[int, bytes]:
    route, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET",
        "scheme": "http", "path": route, "raw_path": route.encode(), "root_path": "",
        "query_string": query.encode(), "headers": [(b"host", b"localhost")],
        "client": None, "server": ("localhost", 80),
    }  # fmt: skip
    status, parts = 500, list[bytes]()
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        message = next(messages, None)
        if message is None:
            await asyncio.Event().wait()  # this client does not disconnect
            raise EigentreeError
        return message

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)
        parts.append(message.get("body", b""))

    async with service.running():
        await service.pool.ready()
        await make_app(service, None)(scope, receive, send)
    return status, b"".join(parts)
