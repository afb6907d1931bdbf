"""Worker processes and signals."""

from __future__ import annotations

import signal
import subprocess
import sys

SCRIPT = """
import os, signal, time
from eigentree._core.processes import worker_pool

if __name__ == "__main__":
    with worker_pool(2, len, "x") as pool:
        for each in [pool.submit(time.sleep, 0.01), pool.submit(time.sleep, 60)][:1]:
            each.result()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
"""


def test_sigterm_leaves_nothing_behind(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, b"", b"")


def test_workers_that_cannot_start_end_the_work():
    # A script from standard input can't be imported by workers, so they exit before they have
    # read the argument, which is larger than a pipe.
    code = (
        "import os\n"
        "from eigentree._core.processes import worker_pool\n"
        "with worker_pool(2, len, bytes(1 << 20)) as pool:\n"
        "    print(type(pool.submit(os.getpid).exception()).__name__)\n"
    )
    done = subprocess.run([sys.executable], input=code, capture_output=True, text=True, timeout=60)
    assert done.stdout == "BrokenProcessPool\n"
