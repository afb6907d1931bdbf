"""What only a process with a port shows: killed workers, clients that go, the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eigentree.web import server
from eigentree.web.models import name_models
from eigentree.web.worker import Compiling, Preparing
from eigentree.web.worker_pool import WorkerDiedError
from tests.demo import run_verb
from tests.web.models import SLOW
from tests.web.running import Running, children_of, is_alive, kill, until

GOOD = {"sentences": ["I saw the boy ."]}
LONG = {"sentences": [{"words": SLOW}], "model": "slow"}
SHORT = {"words": ["a", "b"]}


def all_ready(running: Running) -> bool:
    return running.metric("workers_ready") == 2


@pytest.fixture
def ready(running: Running) -> Running:
    """The service once both workers can work, and nothing is left of other tests."""
    until(lambda: all_ready(running) and running.metric("requests_waiting") == 0)
    return running


def restarts(running: Running, reason: str) -> float:
    return running.metric(f'worker_restarts_total{{reason="{reason}"}}')


def sent(running: Running, value: object) -> socket.socket:
    """A client that has sent a request and reads nothing."""
    body = json.dumps(value).encode()
    head = f"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    client = socket.create_connection(("127.0.0.1", running.port))
    client.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
    return client


# Workers -------------------------------------------------------------------------------


def test_a_sentence_out_of_time_takes_no_other_with_it(ready):
    before = restarts(ready, "time")
    answer = ready.post(
        "/api/parse", {"sentences": [SHORT, {"words": SLOW}, SHORT], "model": "slow"}
    )
    assert answer.status == 200
    assert [each.get("error", {}).get("code") for each in answer.json["results"]] == [
        None,
        "sentence_out_of_time",
        None,
    ]
    until(lambda: restarts(ready, "time") == before + 1)
    assert ready.post("/api/parse", GOOD).status == 200


def test_a_worker_that_is_killed_costs_one_sentence(ready):
    before = restarts(ready, "died")
    workers = set(ready.workers())
    assert len(workers) == 2
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(ready.post, "/api/parse", LONG)
        until(lambda: ready.metric("requests_waiting") == 1)
        time.sleep(0.5)  # until the sentence has begun: another worker would get it otherwise
        for worker in workers:
            kill(worker)
        answer = asked.result()
    assert (answer.status, answer.code) == (500, "worker_died")
    until(lambda: all_ready(ready) and restarts(ready, "died") == before + 2)
    assert not workers & set(ready.workers())
    assert ready.post("/api/parse", GOOD).status == 200


def test_workers_that_are_killed_while_idle_cost_nothing(ready):
    for worker in ready.workers():
        kill(worker)
    answers = [ready.post("/api/parse", GOOD).status for _ in range(5)]
    assert answers == [200] * 5
    until(lambda: all_ready(ready))


def test_a_client_that_goes_away_frees_its_workers(ready):
    before = restarts(ready, "client gone"), ready.metric("clients_gone_total")
    client = sent(ready, {"sentences": [{"words": SLOW}] * 20, "model": "slow"})
    until(lambda: ready.metric("requests_waiting") == 1)
    client.close()
    until(lambda: ready.metric("requests_waiting") == 0)
    until(lambda: restarts(ready, "client gone") == before[0] + 2)
    assert ready.metric("clients_gone_total") == before[1] + 1
    # The other sentences are not begun.
    assert ready.metric("sentences_queued") == 0
    until(lambda: all_ready(ready))
    assert restarts(ready, "client gone") == before[0] + 2


def test_more_requests_than_may_wait_are_sent_away(ready):
    clients = [sent(ready, LONG) for _ in range(4)]
    until(lambda: ready.metric("requests_waiting") == 4)
    answer = ready.post("/api/parse", GOOD)
    assert (answer.status, answer.code) == (503, "too_many_waiting")
    assert answer.json["error"]["limit"] == 4
    assert "retry-after" in answer.headers
    assert ready.get("/api/limits").status == 200
    for client in clients:
        client.close()


# Bytes ---------------------------------------------------------------------------------


def answer_to(running: Running, request: bytes) -> tuple[bytes, dict]:
    """The first line and the JSON of the answer to bytes as they are."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as client:
        client.sendall(request)
        found = b""
        while part := client.recv(1 << 16):
            found += part
    head, _, body = found.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], json.loads(body[body.index(b"{") : body.rindex(b"}") + 1])


HEAD = b"POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nbroken\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b'Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\nzz\r\n',
    ],
)
def test_what_is_no_http_has_the_shape(running, request_):
    line, told = answer_to(running, request_)
    assert line == b"HTTP/1.1 400 Bad Request"
    assert told["error"]["code"] == "malformed_http"


def test_pieces_are_counted(running):
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    body = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + piece * 20 + b"0\r\n\r\n"
    line, told = answer_to(running, body)
    assert line.startswith(b"HTTP/1.1 413 ")
    assert told["error"]["code"] == "body_too_large"


def test_a_length_that_is_far_too_large_is_not_waited_for(running):
    line, told = answer_to(running, HEAD + b"Content-Length: 99999999999\r\n\r\n")
    assert line.startswith(b"HTTP/1.1 413 ")
    assert told["error"]["seen"] == 99999999999


def test_a_body_that_does_not_come(running):
    line, told = answer_to(running, HEAD + b"Content-Length: 10\r\n\r\n{")
    assert line.startswith(b"HTTP/1.1 408 ")
    assert told["error"]["code"] == "body_too_slow"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost", b"200"),
        (b"127.0.0.1:80", b"200"),
        (b"[::1]:80", b"200"),
        (b"evil.example", b"403"),
    ],
)
def test_names_of_this_machine(running, host, status):
    request = b"GET /api/limits HTTP/1.1\r\nConnection: close\r\nHost: " + host + b"\r\n\r\n"
    assert answer_to(running, request)[0].split()[1] == status


@pytest.mark.parametrize(("version", "interim"), [(b"1.0", 0), (b"1.1", 1)])
def test_a_client_may_close_its_side_after_a_request(ready, version, interim):
    body = json.dumps({"sentences": [{"words": SLOW[:200]}], "model": "slow"}).encode()
    head = HEAD.replace(b"1.1", version) + b"Content-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", ready.port), timeout=30) as client:
        client.sendall(head + body)
        client.shutdown(socket.SHUT_WR)
        found = b""
        while part := client.recv(1 << 16):
            found += part
    assert b" 200 OK\r\n" in found
    assert found.startswith(b"HTTP/1.1 100 Continue\r\n\r\n") == bool(interim)
    assert json.loads(found[found.rindex(b"\r\n\r\n") :])["results"][0]["words"] == SLOW[:200]


# The end -------------------------------------------------------------------------------


@pytest.mark.usefixtures("running")
def test_ends(demo: Path, folder: Path):
    """Three ways to end, at the same time, since each takes a start."""
    options = ["-m", demo, "-m", folder / "slow.egt", "--workers", "1", "--max-tokens", "2000"]
    ways: list[Callable[[Running], None]] = [ends_well, ends_in_time, is_killed]
    # The service ignores SIGHUP if these tests do, as under nohup.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with ThreadPoolExecutor() as threads:
        begun = list(threads.map(lambda _: Running(*options, "--max-stop-seconds", "2"), ways))
        signal.signal(signal.SIGHUP, before)
        try:
            list(threads.map(lambda way, one: way(one.__enter__()), ways, begun))
        finally:
            for one in begun:
                one.__exit__()


def ends_well(running: Running) -> None:
    """A request that can be answered in time is, and no process is left."""
    children = children_of(running.process.pid)
    assert children
    words = SLOW[:300]
    with ThreadPoolExecutor() as threads:
        value = {"sentences": [{"words": words}], "model": "slow"}
        asked = threads.submit(running.post, "/api/parse", value)
        until(lambda: running.metric("requests_waiting") == 1 or asked.done())
        code, told = running.end(signal.SIGHUP)
        answer = asked.result()
    assert (code, told) == (0, "")
    assert answer.status == 200
    assert answer.json["results"][0]["words"] == words
    until(lambda: not any(map(is_alive, children)))


def ends_in_time(running: Running) -> None:
    """A request that can't is told so."""
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(running.post, "/api/parse", LONG)
        until(lambda: running.metric("requests_waiting") == 1)
        code, told = running.end(signal.SIGINT)
        answer = asked.result()
    assert (code, told) == (0, "")
    assert (answer.status, answer.code) == (503, "stopping")


def is_killed(running: Running) -> None:
    """Workers end with their parent, whatever ended it."""
    [worker] = running.workers()
    children = children_of(running.process.pid)
    kill(running.process.pid)
    running.process.wait()
    until(lambda: not any(map(is_alive, children)))
    assert not is_alive(worker)


# The verb ------------------------------------------------------------------------------


def test_a_port_in_use(running, demo):
    code, out, err = run_verb("serve", "-m", demo, "--port", running.port)
    assert (code, out) == (2, "")
    assert err == (
        f"eigentree: port {running.port} of 127.0.0.1 is in use; choose another with "
        "--port (0 for any free port)\n"
    )


@pytest.mark.slow
def test_get_needs_no_port(demo):
    code, out, err = run_verb("serve", "-m", demo, "--get", "/api/health")
    assert (code, err) == (0, "")
    assert json.loads(out)["status"] == "ready"


def test_an_open_port_is_reported(demo, monkeypatch):
    hosts = []

    def serve(
        _: object, host: str, __: int, names: list[str], announce: Callable[..., None], ___: object
    ) -> None:
        hosts.append(server.allowed_hosts(host, names))
        announce(f"http://{host}:8600")

    monkeypatch.setattr(server, "serve", serve)
    _, _, err = run_verb("serve", "-m", demo, "--host", "0.0.0.0")
    assert err.splitlines()[1:] == [
        "warning: 0.0.0.0 is reachable from other machines and there is no authentication"
    ]
    _, _, err = run_verb("serve", "-m", demo)
    assert err == "serving at http://127.0.0.1:8600 (stop with Ctrl-C)\n"
    run_verb("serve", "-m", demo, "--host", "::1", "--allow-host", "parser.example.org")
    own = ["localhost", "127.0.0.1", "[::1]"]
    assert hosts == [None, [*own, "127.0.0.1"], [*own, "[::1]", "parser.example.org"]]


def test_a_slow_start_is_reported(monkeypatch):
    monkeypatch.setattr(server, "_PATIENCE", 0.01)
    lines = []

    class Pool:
        preparing: Preparing | Compiling | None = Compiling(2, 9)

        async def ready(self) -> None:
            await asyncio.sleep(0.1)
            self.preparing = Preparing("one", 1, 2)
            await asyncio.sleep(0.1)
            self.preparing = Preparing("two", 2, 2)
            await asyncio.sleep(0.1)

    asyncio.run(server._report_start(Pool(), lines.append))
    assert lines == [
        "first start: compiling kernel 2 of 9 (once per installation); requests wait",
        "preparing one (1 of 2); requests wait",
        "preparing two (2 of 2); requests wait",
        "ready after 0 s",
    ]

    class Quick:
        preparing = None

        async def ready(self) -> None:
            pass

    asyncio.run(server._report_start(Quick(), lines.append))
    assert len(lines) == 4


def test_get_reports_by_its_exit_code(demo, monkeypatch):
    monkeypatch.setattr(server, "get_once", lambda _, path: (404, path.encode()))
    assert run_verb("serve", "-m", demo, "--get", "/nothing") == (1, "/nothing\n", "")


def test_names_of_models_are_utf_8_in_any_locale(tmp_path):
    path = tmp_path / os.fsdecode("é日.egt".encode())
    path.touch()
    as_in_c = str(tmp_path / "\udcc3\udca9\udce6\udc97\udca5.egt")
    assert [each.name for each in name_models([("constituents", as_in_c)])] == ["é日"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["-m", "none.egt"], "none.egt: no such model"),
        (["-m", "demo.egt", "-m", "demo.egt"], "would both be named demo; rename one of them"),
        (["-m", "text.egt"], "text.egt: isn't an eigentree model"),
        (["--dependencies", "demo.egt"], "expected 'dependency parser'"),
        (["-m", "demo.egt", "--max-tokens", "0"], "--max-tokens must be a whole number, 1 or"),
        (["-m", "demo.egt", "--max-stop-seconds", "nan"], "--max-stop-seconds must be a finite"),
        (["--port", "80000"], "--port must be between 0 and 65535 (got 80000)"),
        (["-m", "demo.egt", "--host", "no.such.host.invalid"], "port 8600 of no.such.host.invalid"),
        (["-m", "demo.egt", "--get", "api"], "'api' is not a path of the service"),
    ],
)
def test_what_can_not_be_served(demo, options, told, monkeypatch):
    monkeypatch.chdir(demo.parent)
    Path("text.egt").write_text("no model", "utf-8")
    code, out, err = run_verb("serve", *options)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_a_worker_that_dies_at_once_is_work_that_failed(demo, monkeypatch):
    def die(*_: object) -> None:
        raise WorkerDiedError

    monkeypatch.setattr(server, "get_once", die)
    code, out, err = run_verb("serve", "-m", demo, "--get", "/api/health")
    assert (code, out) == (1, "")
    assert err == ("eigentree: a worker process exited unexpectedly (possibly out of memory)\n")


def test_without_the_extra_it_says_what_to_install():
    script = (
        "import sys; sys.modules['fastapi'] = None\n"
        "from eigentree.cli.app import main; main(['serve', '-m', 'x.egt'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "eigentree: eigentree serve requires fastapi; run pip install '.[serve]' in the source "
        "folder of eigentree\n"
    )
