"""A service as people run it: a process with a port, asked over sockets."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

SECONDS = 60
JSON = {"Content-Type": "application/json"}


class Said(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["error"]["code"]


class Running:
    """A service in a process of its own, until the block ends."""

    def __init__(self, *options: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "eigentree", "serve", "--port", "0", *map(str, options)],
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self._first = self.process.stderr.readline()
        self.port = urlsplit(self._first.split()[2].rstrip(",")).port

    def __enter__(self) -> Running:
        try:
            until(lambda: self.get("/api/health").status == 200)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def get(self, path: str) -> Said:
        return self.ask("GET", path)

    def post(self, path: str, value: Any) -> Said:
        return self.ask("POST", path, json.dumps(value).encode(), JSON)

    def ask(self, method: str, path: str, body: Any = None, headers: Any = None) -> Said:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, found, answer.read())
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        """The value of a metric, 0 where nothing was counted."""
        lines = self.get("/api/metrics").body.decode().splitlines()
        return sum(
            float(line.split()[-1]) for line in lines if line.startswith(f"eigentree_{name}")
        )

    def workers(self) -> list[int]:
        return [child for child in children_of(self.process.pid) if "spawn_main" in told_of(child)]

    def end(self, number: int) -> tuple[int, str]:
        """Exit code after a signal, and what else than the start was reported."""
        self.process.send_signal(number)
        _, told = self.process.communicate(timeout=SECONDS)
        lines = told.splitlines(keepends=True)
        start = ("first start: compiling ", "preparing ", "ready after ")
        return self.process.returncode, "".join(x for x in lines if not x.startswith(start))


def until(holds: Callable[[], bool]) -> None:
    """Wait for a thing to become so."""
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, "it never became so"
        time.sleep(0.02)


def children_of(parent: int) -> list[int]:
    done = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, encoding="utf-8")
    pairs = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return [child for child, of in pairs if of == parent]


def told_of(process: int) -> str:
    """The whole command line of a process, however narrow the terminal."""
    done = subprocess.run(
        ["ps", "-ww", "-p", str(process), "-o", "args="], capture_output=True, encoding="utf-8"
    )
    return done.stdout


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return not told_of(process).endswith("<defunct>\n")


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
