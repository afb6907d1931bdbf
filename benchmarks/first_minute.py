"""The first minute: seconds from an installation to the first result of each kind.

A new environment is made, the checkout is installed into it with pip, and each command runs twice
with a cache of its own: the first run loads or compiles kernels, the second one is warm.  The
service is started, and timed until it has parsed a sentence for a page.  With ``--without-kernels``
the wheel carries no compiled kernels, as on a machine that they do not fit.

Times depend on what else the machine does, so its load is recorded, and CPU seconds.

Usage: python -m benchmarks.first_minute --output DIR [--without-kernels] [--treebank FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "The cat sat on the mat .\n"
TAGGED = "The_DT cat_NN sat_VBD on_IN the_DT mat_NN ._.\n" * 20
PORT = 18600
MAX_SECONDS = 900.0


class Time(NamedTuple):
    """What one command took."""

    seconds: float
    cpu_seconds: float
    load: float
    longest_silence: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--treebank", type=Path, help="for training; by default, the bundled one")
    parser.add_argument("--without-kernels", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        record = measure(Path(folder), options.treebank, without=options.without_kernels)
    options.output.mkdir(parents=True, exist_ok=True)
    name = "without_kernels" if options.without_kernels else "with_kernels"
    (options.output / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    (options.output / f"{name}.md").write_text(table(record))
    print(table(record))


def measure(folder: Path, treebank: Path | None, *, without: bool) -> dict[str, Any]:
    """Install and run everything; the value is the record."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "XDG_CACHE_HOME": str(folder / "cache"),
        "PYTHONUNBUFFERED": "1",
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    if without:
        environment["EIGENTREE_WITHOUT_KERNELS"] = "1"
    (folder / "sentence.txt").write_text(SENTENCE)
    (folder / "tagged.txt").write_text(TAGGED)
    bin_folder = folder / "environment" / "bin"
    pip = [str(bin_folder / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    eigentree = str(bin_folder / "eigentree")
    times = {
        "python -m venv": run([sys.executable, "-m", "venv", folder / "environment"], environment),
        "pip install": run([*pip, "install", f"{ROOT}[serve]"], environment),
    }
    trees = str(treebank or bundled_treebank(bin_folder / "python", environment))
    model = str(folder / "model.egt")
    sentence, tagged = str(folder / "sentence.txt"), str(folder / "tagged.txt")
    commands = {
        "help": ["--help"],
        "tree": ["parse", sentence],
        "five best trees": ["parse", "--kbest", "5", sentence],
        "surprisal": ["surprisal", sentence],
        "dependencies": ["dependencies", "parse", sentence],
        "spectral training": ["train", trees, "-o", model, "--states", "4", "--no-tagger"],
        "EM training": [
            "train", trees, "-o", model, "--method", "em", "--states", "2", "--iterations", "1",
            "--no-tagger",
        ],
        "induction": ["induce", "train", tagged, "-o", f"{model}.induced"],
    }  # fmt: skip
    rows = []
    for name, arguments in commands.items():
        first = run([eigentree, *arguments], environment)
        warm = run([eigentree, *arguments], environment)
        rows.append({"use": name, "first": first._asdict(), "warm": warm._asdict()})
    environment["XDG_CACHE_HOME"] = str(folder / "cache of the service")
    (first, states), (warm, _) = (serve(eigentree, environment) for _ in range(2))
    rows.append({"use": "a page's tree", "first": first._asdict(), "warm": warm._asdict()})
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "wheel": "without kernels" if without else "with kernels",
        "installation": {name: each._asdict() for name, each in times.items()},
        "uses": rows,
        "states of the service": states,
    }


def bundled_treebank(python: Path, environment: dict[str, str]) -> str:
    code = "from eigentree.data import DEMO; print(DEMO / 'train.mrg')"
    found = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True)
    return found.stdout.strip()


def run(command: list[Any], environment: dict[str, str]) -> Time:
    """Run a command to its end, and note the longest time without any output."""
    before, started = cpu_of_children(), time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command], env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    last, silence, output = started, 0.0, b""
    while chunk := os.read(process.stdout.fileno(), 1 << 16):
        silence, last, output = (
            max(silence, time.monotonic() - last),
            time.monotonic(),
            output + chunk,
        )
    if process.wait() != 0:
        raise SystemExit(f"{command} failed:\n{output.decode()}")
    now = time.monotonic()
    silence = max(silence, now - last)
    return Time(now - started, cpu_of_children() - before, os.getloadavg()[0], silence)


def serve(eigentree: str, environment: dict[str, str]) -> tuple[Time, list[str]]:
    """Start the service; the time until a sentence is parsed, and what it was doing until then."""
    before, started = cpu_of_children(), time.monotonic()
    process = subprocess.Popen(
        [eigentree, "serve", "--port", str(PORT)], env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    states: list[str] = []
    try:
        while True:
            status, answer = request("/api/health")
            if status == 200:
                break
            found = {name: answer[name] for name in ("compiling", "preparing") if name in answer}
            states.append(json.dumps(found))
            if time.monotonic() - started > MAX_SECONDS:
                raise SystemExit("the service did not start")
            time.sleep(0.1)
        body = json.dumps({"text": SENTENCE, "best": 5}).encode()
        status, answer = request("/api/parse", body)
        if status != 200:
            raise SystemExit(f"the service answered {status}: {answer}")
        seconds = time.monotonic() - started
    finally:
        process.terminate()
        process.wait()
    load = os.getloadavg()[0]
    return Time(seconds, cpu_of_children() - before, load, 0.0), list(dict.fromkeys(states))


def request(path: str, body: bytes | None = None) -> tuple[int, dict[str, Any]]:
    """Status and value of a response of the service; 0 if it does not respond."""
    headers = {"Content-Type": "application/json"}
    call = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", body, headers)
    try:
        with urllib.request.urlopen(call, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return 0, {}


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(record: dict[str, Any]) -> str:
    """The record as Markdown."""
    lines = [
        f"{record['date']}, Python {record['python']}, {record['cores']} cores, "
        f"wheel {record['wheel']}",
        "",
        "| use | first, s | CPU s | warm, s | CPU s | ratio of CPU s | longest silence, s | load |",
        f"|{' --- |' * 8}",
    ]
    for name, each in record["installation"].items():
        lines.append(
            f"| {name} | {each['seconds']:.1f} | {each['cpu_seconds']:.1f} | | | | | "
            f"{each['load']:.1f} |"
        )
    for row in record["uses"]:
        first, warm = row["first"], row["warm"]
        ratio = first["cpu_seconds"] / max(warm["cpu_seconds"], 0.01)
        lines.append(
            f"| {row['use']} | {first['seconds']:.1f} | {first['cpu_seconds']:.1f} | "
            f"{warm['seconds']:.1f} | {warm['cpu_seconds']:.1f} | {ratio:.1f} | "
            f"{first['longest_silence']:.1f} | {first['load']:.1f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
