"""Standard streams: UTF-8 whatever the locale, and errors if they are closed."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper
from typing import Any


def prepare_streams() -> None:
    """Make the standard streams usable, before anything else is opened.

    Instead of a closed one, which Python sets to None, the null device is opened, so that no file
    gets its number: standard input for writing and standard output for reading, which fail when
    they are used, and standard error for writing, as messages are not worth a failure.
    """
    for number, (name, mode, flags) in enumerate(
        (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))
    ):
        if getattr(sys, name) is None:
            if os.open(os.devnull, flags) != number:
                continue  # it is open, but not for Python
            stream: Any = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - stays
            setattr(sys, name, stream)
    # Names of files may have bytes that are no characters in the locale, and get them back.
    codecs.register_error("escape", _escaped)
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "escape")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Bytes of names as they are, and anything else that cannot be encoded as its number."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)
