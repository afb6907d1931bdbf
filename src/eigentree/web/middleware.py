"""Middleware around all routes: allowed hosts, headers, request counts and errors as JSON."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from http import HTTPStatus

from fastapi import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eigentree.web.errors import ServiceError, as_json
from eigentree.web.metrics import Metrics

_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# Other methods share one counter, so that clients cannot create counters without limit.
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

log = logging.getLogger("eigentree.web")


def error_response(error: ServiceError) -> Response:
    """The response to a request that failed or was refused."""
    body = as_json({"error": error.record})
    return Response(body, error.status, error.headers, media_type="application/json")


class HostMiddleware:
    """Refuse requests whose Host header names another host, which DNS rebinding relies on."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_allowed = False

        async def allow(*_: object) -> None:
            nonlocal is_allowed
            is_allowed = True

        async def discard(_: Message) -> None:
            pass

        # Only the decision of Starlette is used; its own response is plain text.
        await TrustedHostMiddleware(allow, self._hosts, www_redirect=False)(scope, receive, discard)
        if is_allowed:
            await self._app(scope, receive, send)
            return
        host = re.sub(r":\d*$", "", Headers(scope=scope).get("host", ""))
        message = f"host {host[:60]!r} is not allowed; add it with --allow-host"
        await error_response(ServiceError(403, "wrong_host", message))(scope, receive, send)


class ServiceMiddleware:
    """Add headers, count requests, and report every error in the service's format."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        if method == "HEAD":
            scope = {**scope, "method": "GET"}  # the server omits the body
        has_started = is_replaced = False

        async def respond(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                is_data = scope["path"].startswith("/api/")
                cache = {"cache-control": "no-store" if is_data else "no-cache"}
                MutableHeaders(scope=message).update(_HEADERS | cache)
                self._count(scope, method, message["status"])
            await send(message)

        async def replace_errors(message: Message) -> None:
            nonlocal is_replaced
            if not is_replaced and _is_foreign_error(message):
                is_replaced = True
                await error_response(_error_of(message["status"]))(scope, receive, respond)
            elif not is_replaced:
                await respond(message)

        try:
            await self._app(scope, receive, replace_errors)
        except Exception:
            log.exception("%s %s failed", method, scope["path"])
            if not has_started:
                await error_response(_error_of(500))(scope, receive, respond)

    def _count(self, scope: Scope, method: str, status: int) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = method if method in _METHODS else "other"
        self._metrics.count("requests", method=method, route=route, status=str(status))


def _is_foreign_error(message: Message) -> bool:
    """Whether this begins an error response of a library, such as one for an invalid range."""
    if message["type"] != "http.response.start" or message["status"] < 400:
        return False
    return Headers(raw=message["headers"]).get("content-type") != "application/json"


def _error_of(status: int) -> ServiceError:
    if status == 500:
        message = "the service failed on this request; see its log"
        return ServiceError(status, "internal_error", message)
    phrase = HTTPStatus(status).phrase.lower()
    return ServiceError(status, phrase.replace(" ", "_"), f"the request failed: {phrase}")
