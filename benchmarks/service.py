"""The service under load: errors, order, latency, memory, and speed relative to the parser.

    python benchmarks/service.py [MODEL] [--requests 1000] [--clients 16] [--workers 2]

MODEL is a model file or the name of a bundled model (default ``english``).  Sentences are those of
the bundled treebank, as words.  Each request has one to four, whose results must be in the same
order; clients keep their connections and send the next request immediately.  Memory is the
proportional set size of the server and all its workers, which counts shared pages once: before,
after a tenth of the requests and at the end.  "The parser alone" is one process that parses the
same sentences.  CPU seconds show the overhead of the service even on a busy machine.  Requires
/proc (Linux).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from itertools import cycle, islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from urllib.parse import urlsplit

os.environ.setdefault("OMP_NUM_THREADS", "1")

from eigentree import data
from eigentree.constituency.parser import ConstituencyParser
from eigentree.data.catalogue import CONSTITUENTS, resolve_model
from eigentree.errors import counted
from eigentree.treebank.reader import read_treebank

SENTENCES = Path(data.__file__).parent / "demo" / "heldout.mrg"
LARGEST = 4


class Answered(NamedTuple):
    """One request: seconds, status, and whether all sentences came back in order."""

    seconds: float
    status: int
    in_order: bool


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("model", nargs="?", default=CONSTITUENTS)
    for name, default in (("requests", 1000), ("clients", 16), ("workers", 2)):
        options.add_argument(f"--{name}", type=int, default=default)
    given = options.parse_args()
    sentences = [tree.words() for tree in read_treebank(SENTENCES).trees]
    bodies = requests_of(sentences, given.requests)
    n_sentences = sum(len(body) for body in bodies)
    clients = counted(given.clients, "client")
    print(f"{len(bodies)} requests, {n_sentences} sentences, {clients}")
    alone = parse_alone(given.model, sentences, n_sentences)
    begun = time.perf_counter()
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "eigentree", "serve", "-m", given.model),
            *("--port", "0", "--workers", str(given.workers)),
        ],
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        port = urlsplit(server.stderr.readline().split()[2].rstrip(",")).port
        wait_until_ready(port, given.workers)
        print(f"ready after {time.perf_counter() - begun:.1f} s")
        load(server.pid, port, bodies, given.clients, alone)
    finally:
        server.terminate()
        server.wait()
    print(f"exit code {server.returncode}")


def requests_of(sentences: list[list[str]], n_requests: int) -> list[list[list[str]]]:
    """Requests of one to four sentences."""
    endless = cycle(sentences)
    return [list(islice(endless, 1 + number % LARGEST)) for number in range(n_requests)]


def parse_alone(model: str, sentences: list[list[str]], n_sentences: int) -> float:
    """Sentences per second of one process, after its kernels are loaded."""
    parser = ConstituencyParser.load(resolve_model(model))
    asked = list(islice(cycle(sentences), min(n_sentences, 500)))
    for words in asked[:20]:
        parser.parse(words)
    begun, cpu_begun = time.perf_counter(), time.process_time()
    for words in asked:
        parser.parse(words)
    rate = len(asked) / (time.perf_counter() - begun)
    cpu = 1e3 * (time.process_time() - cpu_begun) / len(asked)
    print(f"the parser alone, one process: {rate:.0f} sentences a second, {cpu:.1f} ms of CPU each")
    return rate


def load(pid: int, port: int, bodies: list[Any], n_clients: int, alone: float) -> None:
    """Send all requests and print the results."""
    memory = [pss_of(pid)]
    first = len(bodies) // 10
    answered = answers(port, bodies[:first], n_clients)
    memory.append(pss_of(pid))
    cpu_begun, server_begun = cpu_of(pid), own_cpu_of(pid)
    begun = time.perf_counter()
    answered += answers(port, bodies[first:], n_clients)
    seconds, cpu = time.perf_counter() - begun, cpu_of(pid) - cpu_begun
    server = own_cpu_of(pid)
    memory.append(pss_of(pid))
    n_sentences = sum(len(body) for body in bodies[first:])
    good = [each for each in answered if each.status == 200]
    times = sorted(each.seconds for each in answered)
    print(f"answers other than 200: {len(answered) - len(good)}")
    print(f"answers out of order: {sum(not each.in_order for each in good)}")
    for share in (0.5, 0.99):
        print(f"p{100 * share:.0f}: {1e3 * times[int(share * (len(times) - 1))]:.0f} ms")
    rate = n_sentences / seconds
    print(f"{len(bodies[first:]) / seconds:.0f} requests and {rate:.0f} sentences a second")
    print(f"that is {rate / alone:.2f} times the parser alone")
    each, own = 1e3 * cpu / n_sentences, 1e3 * (server - server_begun) / n_sentences
    print(f"CPU of a sentence: {each:.1f} ms, of which {own:.1f} ms are not the workers'")
    names = ("before", "after a tenth", "at the end")
    told = ", ".join(f"{now:.0f} MB {name}" for name, now in zip(names, memory, strict=True))
    print(f"memory of {len(processes_of(pid))} processes: {told}")


def answers(port: int, bodies: list[Any], n_clients: int) -> list[Answered]:
    """Send requests from several clients concurrently."""
    waiting: SimpleQueue[Any] = SimpleQueue()
    for body in bodies:
        waiting.put(body)
    found: list[Answered] = []
    clients = [
        threading.Thread(target=ask_all, args=(port, waiting, found)) for _ in range(n_clients)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return found


def ask_all(port: int, waiting: SimpleQueue[Any], found: list[Answered]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while True:
        try:
            words = waiting.get_nowait()
        except Empty:
            connection.close()
            return
        value = {"sentences": [{"words": each} for each in words]}
        begun = time.perf_counter()
        connection.request(
            "POST", "/api/parse", json.dumps(value), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        told = json.loads(answer.read())
        seconds = time.perf_counter() - begun
        back = [each.get("words") for each in told.get("results", ())]
        found.append(Answered(seconds, answer.status, back == words))


def wait_until_ready(port: int, n_workers: int) -> None:
    """Wait until all workers have called their kernels."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/api/health")
        told = json.loads(connection.getresponse().read())
        connection.close()
        if told["workers"]["ready"] == n_workers:
            return
        time.sleep(0.1)


def processes_of(pid: int) -> list[int]:
    """A process and its descendants."""
    started = Path(f"/proc/{pid}/task").glob("*/children")
    return sorted({pid, *(int(each) for file in started for each in file.read_text().split())})


def cpu_of(pid: int) -> float:
    """CPU seconds of all of them."""
    return sum(map(own_cpu_of, processes_of(pid)))


def own_cpu_of(pid: int) -> float:
    """CPU seconds of one process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pss_of(pid: int) -> float:
    """Their memory in megabytes, shared pages counted once."""
    total = 0
    for process in processes_of(pid):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


if __name__ == "__main__":
    main()
