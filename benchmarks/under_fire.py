"""The service and the commands under hostile conditions, on this machine and the loopback only.

    python -m benchmarks.under_fire                       everything, about ten minutes
    python -m benchmarks.under_fire --only floods slow    some of it
    python -m benchmarks.under_fire --model demo.egt      another constituency model

One row per condition, with what was measured and whether it is as required.  The exit code is 1 if
a row fails.  A full disk is a small memory file system, which root can mount, and an unprivileged
user is made with setpriv; where that is impossible the row is left out.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

SENTENCE = {"sentences": [{"words": ["It", "works", "."]}]}
JSON = {"Content-Type": "application/json"}
SERVE = [sys.executable, "-m", "eigentree", "serve", "--port", "0", "--workers", "2"]
PARSE = [sys.executable, "-m", "eigentree", "parse", "--input-format", "tokens"]
TREE = "(NP (PRP It)"
# Runs without a blank; those of scripts without spaces, of marks that form graphemes, and others.
RUNS = {
    "Thai": "ก", "Burmese": "က", "Hiragana": "か", "Katakana": "カ", "Han": "日", "Korean": "한",
    "Arabic": "ب", "flags": "🇬", "emoji": "👩\u200d", "accents": "\u0301", "digits": "1",
    "letters": "a", "full stops": ".", "quotes": '"', "addresses": "http://", "hyphens": "a-",
}  # fmt: skip
N_CHARACTERS = 100_000
N_ALLOWED = 20_000  # without white space, by default
READY_SECONDS = 900
# As an unprivileged user who can read everything, since the interpreter may be in a private folder.
_CAPABILITIES = "-all,+dac_read_search"
UNPRIVILEGED = [
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={_CAPABILITIES}",
    f"--ambient-caps={_CAPABILITIES}", f"--bounding-set={_CAPABILITIES}",
]  # fmt: skip


class Row(NamedTuple):
    """A condition, what was measured, and whether it is as required."""

    condition: str
    measured: str
    is_right: bool


class Service:
    """A service in a process of its own, whose standard error is a file."""

    def __init__(self, folder: Path, options: list[str], *, n_files: int | None = None) -> None:
        self.log = folder / "service.log"

        def limit() -> None:
            if n_files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))

        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*SERVE, *options], stderr=log, preexec_fn=limit)
        begun = time.monotonic()
        while "serving at" not in self.log_text():
            if self.process.poll() is not None or time.monotonic() - begun > READY_SECONDS:
                raise RuntimeError(f"the service did not start: {self.log_text()}")
            time.sleep(0.05)
        line = next(each for each in self.log_text().splitlines() if "serving at" in each)
        port = urlsplit(line.split()[2]).port
        assert port is not None
        self.port = port

    def log_text(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def wait_until_ready(self) -> None:
        """Wait until both workers are ready."""
        begun = time.monotonic()
        while True:
            with suppress(OSError, ValueError):
                if json.loads(self.ask("GET", "/api/health")[1])["workers"]["ready"] == 2:
                    return
            if time.monotonic() - begun > READY_SECONDS:
                raise RuntimeError(f"the workers are not ready: {self.log_text()}")
            time.sleep(0.1)

    def ask(
        self, method: str, path: str, value: object = None, *, timeout: float = 60
    ) -> tuple[int, bytes]:
        """Status and body of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            body = None if value is None else encoded(value)
            connection.request(method, path, body, JSON if body else {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def parse(self, value: object = SENTENCE) -> int:
        """The status of a request for a parse."""
        return self.ask("POST", "/api/parse", value)[0]

    def connect(self, *, timeout: float = 30) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def workers(self) -> list[int]:
        """The processes of the workers."""
        children = [
            int(child)
            for file in Path(f"/proc/{self.process.pid}/task").glob("*/children")
            for child in file.read_text().split()
        ]
        return [
            each for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()
        ]


@contextmanager
def running(options: list[str], *, n_files: int | None = None) -> Iterator[Service]:
    """A service with two workers that are ready."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), options, n_files=n_files)
        try:
            service.wait_until_ready()
            yield service
        finally:
            service.process.kill()
            service.process.wait()


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def request_of(value: object = SENTENCE) -> bytes:
    body = encoded(value)
    head = "POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


# Floods ------------------------------------------------------------------------------------


class Flood:
    """Connections that are opened again whenever the service closes them, and send nothing."""

    def __init__(self, port: int, n_connections: int) -> None:
        self.n_opened = 0
        self._port = port
        self._number = n_connections
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        chosen = selectors.DefaultSelector()
        while not self._ends.is_set():
            while len(chosen.get_map()) < self._number and not self._ends.is_set():
                with suppress(OSError):
                    opened = socket.create_connection(("127.0.0.1", self._port), timeout=0.2)
                    opened.setblocking(False)
                    chosen.register(opened, selectors.EVENT_READ)
                    self.n_opened += 1
            for key, _ in chosen.select(0.01):
                chosen.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]  # sockets only
        for key in list(chosen.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # sockets only

    def end(self) -> None:
        self._ends.set()
        self._thread.join()


def floods(options: list[str]) -> Iterator[Row]:
    """More connections than file descriptors: 20 s each."""
    for n_files, n_connections in ((64, 100), (1024, 1150)):
        with running(options, n_files=n_files) as service:
            flood = Flood(service.port, n_connections)
            end = time.monotonic() + 20
            latencies, n_failed = [], 0
            while time.monotonic() < end:
                try:
                    latencies.append(seconds_of(service.parse))
                except OSError:
                    n_failed += 1
                time.sleep(0.1)
            flood.end()
            after = seconds_of(service.parse)
            n_lines = len(service.log_text().splitlines())
            latency = statistics.median(latencies) if latencies else float("inf")
            yield Row(
                f"flood of {n_connections:,} idle connections, {n_files:,} file descriptors",
                f"{flood.n_opened:,} connections in 20 s; {len(latencies)} requests answered "
                f"meanwhile (median {latency * 1000:.0f} ms), {n_failed} reset; "
                f"{n_lines} lines of log; first answer {after * 1000:.0f} ms after the end",
                n_lines <= 100 and after < 1.0 and len(latencies) > 0,
            )


# Slow and half-closed clients --------------------------------------------------------------


def slow(options: list[str]) -> Iterator[Row]:
    """Clients that send a byte at a time, or read nothing."""
    with running(options) as service:
        request = request_of()
        senders = [service.connect() for _ in range(200)]
        readers = [service.connect() for _ in range(50)]
        for each in readers:
            with suppress(OSError):
                each.sendall(b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        latencies = []
        for at in range(100):
            for each in senders:
                with suppress(OSError):
                    each.sendall(request[at : at + 1])
            latencies.append(seconds_of(service.parse))
        for each in (*senders, *readers):
            each.close()
        slowest = max(latencies)
        yield Row(
            "200 clients that send a byte at a time, 50 that read nothing",
            f"{len(latencies)} other requests answered, median "
            f"{statistics.median(latencies) * 1000:.0f} ms, slowest {slowest * 1000:.0f} ms",
            slowest < 2.0,
        )


def read_all(client: socket.socket) -> bytes:
    found = b""
    while part := client.recv(1 << 16):
        found += part
    return found


def half_closed(options: list[str]) -> Iterator[Row]:
    """Clients that close their side after a request, or the whole connection."""
    with running(options) as service:
        clients = [service.connect() for _ in range(30)]
        for client in clients:
            client.sendall(request_of())
            client.shutdown(socket.SHUT_WR)
        n_answered = sum(b" 200 OK\r\n" in read_all(client) for client in clients)
        yield Row(
            "30 clients that close their side after a request",
            f"{n_answered} answered",
            n_answered == len(clients),
        )
        long = {"sentences": [{"words": ["the", "old", "cat", "saw"] * 50}] * 20}
        for _ in range(8):
            with service.connect() as client:
                client.sendall(request_of(long))
                time.sleep(0.2)
        seconds = seconds_of(service.parse)
        yield Row(
            "8 clients that leave after a request of 20 long sentences",
            f"next answer after {seconds:.2f} s",
            seconds < 20.0,
        )


# Workers -----------------------------------------------------------------------------------


def workers(options: list[str]) -> Iterator[Row]:
    """Workers that are killed while idle and while busy."""
    with running(options) as service:
        statuses = Counter[int]()
        slowest = 0.0
        for _ in range(5):
            for each in service.workers():
                os.kill(each, signal.SIGKILL)
            begun = time.monotonic()
            statuses[service.parse()] += 1
            slowest = max(slowest, time.monotonic() - begun)
            service.wait_until_ready()
        yield Row(
            "both workers killed while idle, 5 times",
            f"statuses of the next requests {dict(statuses)}, slowest {slowest:.1f} s",
            set(statuses) == {200},
        )
        long = {"sentences": [{"words": ["the", "old", "cat", "saw"] * 50}]}
        statuses.clear()
        for _ in range(3):
            answers: list[int] = []
            asking = threading.Thread(target=lambda: answers.append(service.parse(long)))  # noqa: B023 - joined in this round
            asking.start()
            time.sleep(0.5)
            for each in service.workers():
                os.kill(each, signal.SIGKILL)
            asking.join()
            statuses[answers[0]] += 1
            statuses[service.parse()] += 1
            service.wait_until_ready()
        n_lines = len(service.log_text().splitlines())
        yield Row(
            "both workers killed while one is busy, 3 times",
            f"statuses of the sentences and the next requests {dict(statuses)}; "
            f"{n_lines} lines of log",
            statuses[200] >= 3 and set(statuses) <= {200, 500},
        )


# Long runs ---------------------------------------------------------------------------------


def runs(options: list[str]) -> Iterator[Row]:
    """Two requests of long runs without a blank, and a short one at the same time."""
    allowed = ["--max-run-characters", str(N_CHARACTERS)]
    for n_characters, extra in ((N_ALLOWED, []), (N_CHARACTERS, []), (N_CHARACTERS, allowed)):
        with running([*options, *extra]) as service:
            slowest, shortest, statuses = ("", 0.0), 0.0, Counter[int]()
            for name, run in RUNS.items():
                text = {"text": run * (n_characters // len(run))}
                took: list[tuple[float, int]] = []
                asking = [
                    threading.Thread(target=ask_timed, args=(service, text, took)) for _ in range(2)
                ]
                for each in asking:
                    each.start()
                time.sleep(0.05)
                shortest = max(shortest, seconds_of(service.parse))
                for each in asking:
                    each.join()
                statuses.update(status for _, status in took)
                slowest = max(slowest, (name, max(took)[0]), key=lambda one: one[1])
            allows = f", with {' '.join(extra)}" if extra else ""
            yield Row(
                f"{n_characters:,} characters without a blank of {len(RUNS)} kinds, twice{allows}",
                f"slowest {slowest[1]:.2f} s ({slowest[0]}), statuses {dict(statuses)}, "
                f"slowest short request beside them {shortest:.2f} s",
                slowest[1] < 20.0 and set(statuses) <= {200, 422},
            )


def ask_timed(service: Service, value: object, took: list[tuple[float, int]]) -> None:
    begun = time.monotonic()
    status = service.parse(value)
    took.append((time.monotonic() - begun, status))


# Caches and users --------------------------------------------------------------------------


@contextmanager
def full_disk(folder: Path) -> Iterator[Path | None]:
    """A file system without room, or None where it cannot be mounted."""
    place = folder / "full"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", str(place)]
    try:
        is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    if not is_mounted:
        yield None
        return
    try:
        with suppress(OSError), (place / "filler").open("wb") as filler:
            filler.write(bytes(1 << 20))
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def parse_once(condition: str, command: list[str], folder: Path, **variables: str) -> Row:
    """Parse one sentence in an environment without a usable cache."""
    environment = {**os.environ, **variables}
    begun = time.monotonic()
    done = subprocess.run(
        command, input="It works .\n", capture_output=True, encoding="utf-8", env=environment,
        cwd=folder, timeout=2 * READY_SECONDS,
    )  # fmt: skip
    lines = [each for each in done.stderr.splitlines() if not each.startswith("parsing: ")]
    return Row(
        condition,
        f"exit code {done.returncode}, {done.stdout.count('(')} brackets after "
        f"{time.monotonic() - begun:.0f} s; {len(lines)} lines of notice: {' / '.join(lines)}",
        done.returncode == 0 and done.stdout.startswith("(") and len(lines) <= 3,
    )


def full_disks(options: list[str]) -> Iterator[Row]:
    """A full disk under the cache of compiled code."""
    with tempfile.TemporaryDirectory() as name, full_disk(Path(name)) as full:
        if full is None:
            return
        cache = {"NUMBA_CACHE_DIR": str(full)}
        command = [*PARSE, "--model", options[1]]
        yield parse_once("parse, the cache on a full disk", command, Path(name), **cache)
        begun = time.monotonic()
        os.environ.update(cache)
        try:
            with running(options) as service:
                status, lines = service.parse(), service.log_text().splitlines()
        finally:
            del os.environ["NUMBA_CACHE_DIR"]
        yield Row(
            "serve, the cache on a full disk",
            f"status {status} after {time.monotonic() - begun:.0f} s; {len(lines)} lines of log",
            status == 200 and len(lines) <= 10,
        )


def users(options: list[str]) -> Iterator[Row]:
    """An unprivileged user without a place for the cache of compiled code."""
    if shutil.which("setpriv") is None or os.geteuid() != 0:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        fixed = folder / "fixed"
        fixed.mkdir(mode=0o555)
        command = [*UNPRIVILEGED, *PARSE, "--model", options[1]]
        yield parse_once(
            "parse by an unprivileged user, the cache in an unwritable folder", command, folder,
            NUMBA_CACHE_DIR=str(fixed),
        )  # fmt: skip
        yield parse_once(
            "parse by an unprivileged user without a home", command, folder,
            HOME="/nonexistent", XDG_CACHE_HOME="",
        )  # fmt: skip


CONDITIONS: dict[str, Callable[[list[str]], Iterator[Row]]] = {
    "floods": floods,
    "slow": slow,
    "half-closed": half_closed,
    "workers": workers,
    "runs": runs,
    "full-disk": full_disks,
    "users": users,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    parser.add_argument("--model", default="english", help="a constituency model")
    given = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors\n")
    print("| condition | measured | as required |\n| --- | --- | --- |")
    are_right = []
    for name in given.only:
        for row in CONDITIONS[name](["-m", given.model]):
            are_right.append(row.is_right)
            print(f"| {row.condition} | {row.measured} | {'yes' if row.is_right else 'NO'} |")
            sys.stdout.flush()
    sys.exit(not all(are_right))


if __name__ == "__main__":
    main()
