"""A process that runs `eigentree` commands in forks of itself, so that each starts at once.

A command of its own process takes a second to import the package and to load its kernels; the pages
of the docs have hundreds of them.  `CommandServer` puts a program `eigentree` into a folder for
``PATH``, which hands its arguments, folder, environment and standard streams to the server.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from threading import Thread

# It runs without site-packages, in 20 ms.
_CLIENT = """#!{python} -SE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = [sys.argv[1:], os.getcwd(), dict(os.environ)]
socket.send_fds(server, [json.dumps(request).encode() + b"\\n"], [0, 1, 2])
answer = server.recv(1)
sys.exit(answer[0] if answer else 70)
"""
_MAX_REQUEST = 1 << 20


class CommandServer:
    """Runs until it is closed; the program is ``folder / "eigentree"``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        address = str(folder / "s")
        program = folder / "eigentree"
        program.write_text(_CLIENT.format(python=sys.executable, address=address), "utf-8")
        program.chmod(0o755)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve({listener.fileno()})"],
            cwd=Path(__file__).resolve().parents[1],
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
        listener.close()

    def close(self) -> None:
        """End the server and what it runs."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def serve(number: int) -> None:
    """Accept requests at the listening socket of a file descriptor."""
    _load()
    listener = socket.socket(fileno=number)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child is waited for
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            os._exit(_answer(connection))
        connection.close()


def _load() -> None:
    """Import what commands import, and load the kernels of both kinds of parsers."""
    import eigentree
    from eigentree.cli import app

    for name in app.COMMANDS:
        app.load_command(name)
    for model in eigentree.available_models():
        eigentree.load(model.name).parse_text("The dog slept.")


def _answer(connection: socket.socket) -> int:
    """Run the command of a request as if this process had been started for it."""
    from eigentree.cli.app import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    text, streams, _, _ = socket.recv_fds(connection, _MAX_REQUEST, 3)
    while not text.endswith(b"\n"):
        text += connection.recv(_MAX_REQUEST)
    arguments, folder, environment = json.loads(text)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    # New objects, since those of this process may have been of files, not of pipes.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - stays open
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115 - stays open
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["eigentree", *arguments]
    Thread(target=_end_with, args=(connection,), daemon=True).start()
    code = 0
    try:
        main()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    sys.stdout.flush()
    connection.sendall(bytes([code]))
    return code


def _end_with(client: socket.socket) -> None:
    """End this process as its client was ended, which sends nothing more after the request."""
    client.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
