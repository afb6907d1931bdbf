"""Whether standard input has more sentences for a batch."""

from __future__ import annotations

import select
import sys


def more_to_read() -> bool:
    """Whether standard input is ready to be read, its end included; True if that is unknown."""
    try:
        return bool(select.select([sys.stdin.fileno()], [], [], 0)[0])
    except (AttributeError, OSError, ValueError):
        return True
