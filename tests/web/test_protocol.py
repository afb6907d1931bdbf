"""Connections: how many there may be, how long they may take, and who closes them."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from eigentree.web import protocol
from eigentree.web.protocol import Connections, HttpProtocol

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def no_content(_: object, __: object, send: Callable[..., Awaitable[None]]) -> None:
    await asyncio.sleep(0.3)  # longer than a head may take in the tests
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def served(connections: Connections) -> asyncio.Server:
    config = Config(no_content, ws="none", lifespan="off", log_config=None, timeout_keep_alive=1)
    config.load()
    state = ServerState()

    def connected() -> HttpProtocol:
        return HttpProtocol(connections, config=config, server_state=state, app_state={})

    return await asyncio.get_running_loop().create_server(connected, "127.0.0.1", 0)


def port_of(server: asyncio.Server) -> int:
    return server.sockets[0].getsockname()[1]


async def answers_to(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.02)
    try:
        found = await reader.read()
    except ConnectionResetError:
        found = b"reset"
    writer.close()
    return found


def test_half_requests_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(protocol, "_HEAD_SECONDS", 0.1)

    async def run() -> list[bytes]:
        opened = await served(Connections(10))
        port = port_of(opened)
        async with asyncio.timeout(20), opened:
            return await asyncio.gather(
                answers_to(port),
                answers_to(port, WHOLE[:9]),
                answers_to(port, WHOLE[:9], WHOLE[9:]),
                answers_to(port, WHOLE + WHOLE[:9]),
            )

    nothing, half, slow, second = asyncio.run(run())
    assert (nothing, half) == (b"", b"")
    assert slow.startswith(b"HTTP/1.1 204 ")
    assert second.startswith(b"HTTP/1.1 204 ")
    assert second.count(b"HTTP/1.1") == 1


def test_new_connections_replace_inactive_ones(caplog):
    async def run() -> tuple[bytes, list[bytes]]:
        opened = await served(Connections(3))

        def begin(part: bytes) -> asyncio.Task[bytes]:
            return asyncio.create_task(answers_to(port_of(opened), part))

        async with asyncio.timeout(20), opened:
            inactive = [begin(part) for part in (b"", b"GET", b"")]
            await asyncio.sleep(0.1)
            active = [begin(WHOLE) for _ in range(3)]
            await asyncio.sleep(0.1)
            refused = await answers_to(port_of(opened))
            return refused, await asyncio.gather(*inactive, *active)

    refused, others = asyncio.run(run())
    assert refused.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b'"code":"too_many_connections"' in refused
    assert all(each in (b"", b"reset") for each in others[:3])
    assert all(each.startswith(b"HTTP/1.1 204 ") for each in others[3:])
    assert [record.getMessage() for record in caplog.records] == [
        "3 connections are open, the most that the limit of open files allows; "
        "new ones replace inactive ones"
    ]


def test_clients_may_close_their_side_of_the_connection():
    async def answers_to_half_closed(port: int, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        writer.write_eof()
        found = await reader.read()
        writer.close()
        return found

    async def run() -> list[bytes]:
        opened = await served(Connections(9))
        async with asyncio.timeout(20), opened:
            requests = (WHOLE, WHOLE.replace(b"1.1", b"1.0"), WHOLE[:9], WHOLE * 2)
            return await asyncio.gather(
                *(answers_to_half_closed(port_of(opened), each) for each in requests)
            )

    new, old, half, two = asyncio.run(run())
    assert new.count(b"HTTP/1.1 100 Continue\r\n\r\n") == 2
    assert b"HTTP/1.1 204 " in new
    assert old.startswith(b"HTTP/1.1 204 ")
    assert half == b""
    assert two.count(b"HTTP/1.1 204 ") == 2


@pytest.mark.parametrize(
    ("limit", "n_workers", "least", "most"),
    [(64, 2, 1, 20), (1024, 2, 300, 500), (100_000, 4, 1000, 1000), (8, 2, 1, 1)],
)
def test_the_limit_of_open_files_limits_connections(limit, n_workers, least, most, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert least <= protocol.max_connections(n_workers) <= most
