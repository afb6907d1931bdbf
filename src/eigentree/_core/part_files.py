"""Temporary files that will replace others, and the removal of those that killed processes left.

A process holds a lock on its file while it writes; the system releases it when the process ends,
however it ends.  Where there are no locks (Windows, some network file systems) nothing is removed.
"""

from __future__ import annotations

import contextlib
import glob
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # not on Windows


def new_part_file(target: Path, mode: str, **options: Any) -> tuple[Path, IO[Any]]:
    """Create a temporary file beside a target, after removing abandoned ones of this target.

    Parameters
    ----------
    target
    mode, options
        As of `open`; the mode without ``w`` or ``x``.

    Raises
    ------
    OSError
        When it cannot be created.
    """
    remove_abandoned(target.parent, f".{glob.escape(target.name)}.*.part")
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        stream = path.open("x" + mode, **options)
        # Between these two lines another process may have taken it for abandoned.
        if not _lock(stream, wait=True) or path.exists():
            return path, stream
        stream.close()


def remove_abandoned(folder: Path, pattern: str) -> None:
    """Remove temporary files that no process is writing.

    Parameters
    ----------
    folder
    pattern
        A glob pattern of paths in the folder.
    """
    for path in _found(folder, pattern):
        with contextlib.suppress(OSError), path.open("ab") as stream:
            if _lock(stream, wait=False):
                path.unlink()


def _found(folder: Path, pattern: str) -> Iterator[Path]:
    with contextlib.suppress(OSError):  # a folder that cannot be listed
        yield from folder.glob(pattern)


def _lock(stream: IO[Any], *, wait: bool) -> bool:
    """Lock an open file; False where that is impossible or it is locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
