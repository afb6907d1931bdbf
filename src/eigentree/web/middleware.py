"""What is around all routes: whom the service answers to, headers, counts, and the last resort."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any

from eigentree.web.errors import ServiceError, as_json
from eigentree.web.metrics import Metrics

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_SECURITY = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

log = logging.getLogger("eigentree.web")


class Guard:
    """An application of ASGI around another.

    Parameters
    ----------
    app
    metrics
        Told of each answer.
    hosts
        Names in the header Host that are answered to; None for any.  A page of another site whose
        name suddenly leads to this machine may then not read what the service says.
    """

    def __init__(self, app: Application, metrics: Metrics, hosts: Sequence[str] | None) -> None:
        self._app = app
        self._metrics = metrics
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        if method == "HEAD":
            # The server leaves out the body.
            scope = {**scope, "method": "GET"}
        has_begun = is_foreign = False

        async def send_on(message: Message) -> None:
            nonlocal has_begun, is_foreign
            if is_foreign:
                return
            if is_foreign := _is_foreign(message):
                await _answer(send_own, _own(message["status"]))
                return
            await send_own(message)

        async def send_own(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                own = {name.encode(): value.encode() for name, value in _SECURITY.items()}
                is_answer = scope["path"].startswith("/api/")
                own[b"cache-control"] = b"no-store" if is_answer else b"no-cache"
                message["headers"] = [*message.get("headers", ()), *own.items()]
                self._count(scope, method, message["status"])
            await send(message)

        try:
            self._check_host(scope)
            await self._app(scope, receive, send_on)
        except ServiceError as error:
            await _answer(send_own, error)
        except Exception:
            log.exception("%s %s failed", method, scope["path"])
            if not has_begun:
                await _answer(send_own, _own(500))

    def _check_host(self, scope: Scope) -> None:
        named = [value for name, value in scope["headers"] if name == b"host"]
        name = _without_port(named[0].decode("latin-1")) if len(named) == 1 else ""
        if self._hosts is not None and name.lower() not in self._hosts:
            message = f"the service isn't called {name[:60]!r}; see eigentree serve --allow-host"
            raise ServiceError(403, "wrong_host", message)

    def _count(self, scope: Scope, method: str, status: int) -> None:
        route = getattr(scope.get("route"), "path", "other")
        if method not in _METHODS:
            method = "other"  # or anybody could fill the memory with counters
        self._metrics.count("requests", method=method, route=route, status=str(status))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _is_foreign(message: Message) -> bool:
    """Whether an error is in the words of the libraries below, such as those for bad ranges."""
    if message["type"] != "http.response.start" or message["status"] < 400:
        return False
    kinds = [value for name, value in message.get("headers", ()) if name == b"content-type"]
    return kinds != [b"application/json"]


def _own(status: int) -> ServiceError:
    if status == 500:
        message = "the service failed at this request; its log says more"
        return ServiceError(status, "internal_error", message)
    phrase = HTTPStatus(status).phrase.lower()
    return ServiceError(status, phrase.replace(" ", "_"), f"the request failed: {phrase}")


async def _answer(send: Send, error: ServiceError) -> None:
    body = as_json({"error": error.record})
    headers = {
        "content-type": "application/json", "content-length": str(len(body)), **error.headers
    }  # fmt: skip
    await send(
        {
            "type": "http.response.start",
            "status": error.status,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
