"""What worker processes have in common."""

from __future__ import annotations

import os
import threading
from multiprocessing import parent_process
from typing import Any


def end_with_parent() -> None:
    """Let this process end when the one that started it does.

    A worker waits for work for ever, even if whoever gave it was killed.
    """
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
