"""HTTP connections: a limited number of them, time limits, and errors in the service's format."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from eigentree.web.errors import as_json

try:
    import resource
except ImportError:  # Windows, whose sockets are not file descriptors
    resource = None  # type: ignore[assignment]  # not on Windows

MAX_CONNECTIONS = 1000
# Connections accepted at a time: few, since they are open before any can be closed.
ACCEPTED_AT_ONCE = 2
# File descriptors for connections that are being opened or closed, and for each worker process.
_RESERVED = 8 * ACCEPTED_AT_ONCE
_RESERVED_PER_WORKER = 6
# Seconds that the head of a request may take.
_HEAD_SECONDS = 30
# Seconds before the second and the other probes of a half-closed connection.
_SECOND_PROBE, _NEXT_PROBES = 0.2, 1.0
_SECONDS_BETWEEN_REPORTS = 60.0

log = logging.getLogger("eigentree.web")


def max_connections(n_workers: int) -> int:
    """The number of connections that the limit of open files leaves, at most `MAX_CONNECTIONS`.

    Every connection may have a file open, besides its socket.
    """
    if resource is None:
        return MAX_CONNECTIONS
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    try:
        n_open = len(os.listdir("/dev/fd"))
    except OSError:
        n_open = 32
    left = limit - n_open - _RESERVED - _RESERVED_PER_WORKER * n_workers
    return max(1, min(MAX_CONNECTIONS, left // 2))


class Connections:
    """The open connections of a server.

    Above the limit a new connection replaces the one that has been inactive longest, among those
    whose request is not complete or has been answered.

    Parameters
    ----------
    limit
        Largest number of open connections.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: dict[HttpProtocol, None] = {}  # the inactive ones first
        self._reported: float | None = None

    def admit(self, new: HttpProtocol) -> bool:
        """Add a connection; False when all others are waiting for their responses."""
        if len(self._open) >= self.limit:
            self._report()
            idle = next((each for each in self._open if not each.has_request), None)
            slow = next((each for each in self._open if each.is_responding), None)
            replaced = idle or slow
            if replaced is None:
                return False
            self.discard(replaced)
            replaced.transport.abort()
        self._open[new] = None
        return True

    def touch(self, active: HttpProtocol) -> None:
        """Note that a connection is active."""
        if active in self._open:
            del self._open[active]
            self._open[active] = None

    def discard(self, closed: HttpProtocol) -> None:
        """Remove a connection."""
        self._open.pop(closed, None)

    def _report(self) -> None:
        now = time.monotonic()
        if self._reported is None or now - self._reported >= _SECONDS_BETWEEN_REPORTS:
            self._reported = now
            log.warning(
                "%d connections are open, the most that the limit of open files allows; "
                "new ones replace inactive ones",
                self.limit,
            )


class HttpProtocol(H11Protocol):
    """HTTP with errors in the service's format, and a time limit for the heads of requests.

    A client may close its side of the connection once it has sent a request.

    Parameters
    ----------
    connections
        The connections of the server.
    options
        What Uvicorn gives to each protocol.
    """

    def __init__(self, connections: Connections, **options: Any) -> None:
        super().__init__(**options)
        self._connections = connections
        self._head: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self._is_half_closed = False

    @property
    def has_request(self) -> bool:
        """Whether a whole request has been received whose response is not complete."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    @property
    def is_responding(self) -> bool:
        """Whether a response has been begun, which the client has not received yet."""
        return self.has_request and self.cycle.response_started

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._connections.admit(self):
            self._time_head()
        else:
            self._send_error(503, "too_many_connections", "too many connections; try again later")

    def data_received(self, data: bytes) -> None:
        self._connections.touch(self)
        super().data_received(data)
        self._time_head()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection until the response is sent."""
        self._is_half_closed = self.has_request
        if self._is_half_closed:
            self._send_probe(_SECOND_PROBE)
        return self._is_half_closed

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.discard(self)
        self._forget_head()
        if self._probe is not None:
            self._probe.cancel()

    def on_response_complete(self) -> None:
        self._connections.touch(self)
        super().on_response_complete()
        if self._is_half_closed and not self.has_request:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self._send_error(400, "malformed_http", msg)
        else:
            self.transport.close()

    def _send_error(self, status: int, code: str, message: str) -> None:
        """Send an error and close; written directly, as no request may have been parsed."""
        phrase = {400: b"Bad Request", 503: b"Service Unavailable"}[status]
        body = as_json({"error": {"code": code, "message": message}})
        self.transport.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, phrase, len(body), body)
        )
        self.transport.close()

    def _send_probe(self, following: float) -> None:
        """Find out whether the client has closed its side only, or the whole connection.

        Both look the same until something is sent: a client that has gone resets the connection,
        so that the second probe fails, and its request is cancelled.
        """
        is_new = self.scope["http_version"] != "1.0"  # which knows no interim responses
        if self.has_request and not self.cycle.response_started and is_new:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._probe = self.loop.call_later(following, self._send_probe, _NEXT_PROBES)

    def _time_head(self) -> None:
        """Close the connection unless the head of a request is received in time."""
        if self.cycle is not None and not self.cycle.response_complete:  # type: ignore[redundant-expr]
            self._forget_head()
        elif self._head is None:
            self._head = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None
