"""A service asked in its own process, without a port."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from eigentree.web.app import Service
from eigentree.web.middleware import ServiceMiddleware


class Inside:
    """A client of an aSGI application, for tests that don't wait for one another."""

    def __init__(self, service: Service, app: ServiceMiddleware, runner: asyncio.Runner) -> None:
        self.service = service
        self._app = app
        self._runner = runner

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **given)

        return self._runner.run(asked())

    def get(self, path: str, **given: Any) -> httpx.Response:
        return self.ask("GET", path, **given)

    def post(self, path: str, value: Any) -> httpx.Response:
        return self.ask("POST", path, json=value)

    def raw(self, path: str, content: Any) -> httpx.Response:
        """The answer to a body of JSON as it is, in bytes or pieces."""
        headers = {"Content-Type": "application/json"}
        return self.ask("POST", path, content=content, headers=headers)


def code_of(answer: httpx.Response) -> str:
    """The code of an error that has the one shape."""
    assert answer.status_code >= 400
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error.keys() <= {"code", "message", "where", "limit", "seen"}
    message = error["message"]
    assert message
    assert "\n" not in message
    code: str = error["code"]
    return code
