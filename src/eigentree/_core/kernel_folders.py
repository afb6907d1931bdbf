"""Folders in which the machine code of kernels is kept.

Code is valid for one content of the source files, one version of Python, numba and LLVM, and one
type of processor; all of these are in the names of the folders, so that installations and machines
with a common cache do not disturb each other.  There are two places:

- beside the package: written when the package is built, and by ``eigentree compile --everyone``;
  never written by the user's runs;
- the user's cache: ``NUMBA_CACHE_DIR``, or the folder for caches of the operating system.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

BESIDE_PACKAGE = Path(__file__).resolve().parents[1] / "_compiled"
DAY = 24 * 3600.0
# Code that has not been used for so long is deleted.
MAX_AGE = 60 * DAY
_PREFIX = "kernels-"


def user_folder(override: str | None) -> Path | None:
    """The user's cache of compiled code; None without a home.

    Parameters
    ----------
    override
        The folder in ``NUMBA_CACHE_DIR``.
    """
    if override:
        return Path(override)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "eigentree") if os.path.isabs(base) else None


def is_writable(folder: Path, mode: int = 0o700) -> bool:
    """Whether a folder exists, or can be created, and files can be written into it."""
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def environment(versions: tuple[str, ...]) -> str:
    """The name of the folder for an environment: versions, processor and options."""
    return _PREFIX + sha256("\n".join(versions).encode()).hexdigest()[:16]


@cache
def module_folder(name: str, sources: tuple[str, ...]) -> str:
    """The name of the folder for the kernels of a module, which depends on source files."""
    content = sha256()
    for source in sources:
        content.update(Path(source).read_bytes())
    return f"{name.rpartition('.')[2]}-{content.hexdigest()[:16]}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a folder, where the system has locks."""
    with ExitStack() as held:
        with suppress(ImportError, OSError):
            import fcntl

            file = held.enter_context(Path(folder, ".lock").open("w"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def mark_as_used(folder: Path) -> None:
    """Note that the code in a folder is in use, for `delete_unused`."""
    with suppress(OSError):
        if time.time() - folder.stat().st_mtime > DAY:
            os.utime(folder)


def delete_unused(cache_folder: Path) -> None:
    """Delete the code in a cache that no process has used for `MAX_AGE`."""
    earliest = time.time() - MAX_AGE
    with suppress(OSError):
        for environment_folder in cache_folder.glob(f"{_PREFIX}*"):
            kept = 0
            for each in environment_folder.iterdir():
                if each.stat().st_mtime < earliest:
                    shutil.rmtree(each, ignore_errors=True)
                else:
                    kept += 1
            if not kept:
                environment_folder.rmdir()
