"""What worker processes have in common."""

from __future__ import annotations

import os
import signal
import threading
from multiprocessing import parent_process
from typing import Any


def end_with_parent() -> None:
    """Let this process end when the one that started it does.

    A worker waits for work for ever, even if whoever gave it was killed.  An interruption from
    the keyboard, which reaches all, ends it without a word: the parent tells.
    """
    parent = parent_process()
    if parent is not None:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
