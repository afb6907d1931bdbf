"""JSON from files and requests, which may hold anything, and lines of JSON."""

from __future__ import annotations

import json
import re
from typing import Any

# Python refuses to read longer integers.
MAX_DIGITS = 4300

# Line separators that a JSON string may hold, but at which some readers of lines would cut it.
_SEPARATOR = re.compile("[\x85\u2028\u2029]")


class JsonTextError(ValueError):
    """Text that isn't JSON, and the column, from 1, where that shows."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column


def parse_json(text: str) -> Any:
    """The value of a text in JSON.

    Raises
    ------
    JsonTextError
        When the text isn't JSON, is nested too deeply or holds an integer that is too long.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise JsonTextError(f"isn't JSON: {error.msg}", error.colno) from None
    except RecursionError:
        raise JsonTextError("is nested too deeply") from None


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise JsonTextError(f"has a number of {len(text)} digits, more than {MAX_DIGITS}")
    return int(text)


def json_line(value: Any) -> str:
    """A value as one line of JSON, by whatever characters lines are split; without line end."""
    text = json.dumps(value, ensure_ascii=False)
    return _SEPARATOR.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
