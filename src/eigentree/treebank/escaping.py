r"""Words in brackets: ``(`` is written ``-LRB-``, and a real ``-LRB-`` as ``-L\RB-``."""

from __future__ import annotations

import re

BACKSLASH = "\\"
_TO_ESCAPE = re.compile(r"\(|\)|-[LR]\\*RB(?=[-()])")
_TO_UNESCAPE = re.compile(r"-([LR])(?:RB-|(\\+)RB(?=-))")


def escape_token(word: str) -> str:
    """Write brackets of a word as ``-LRB-`` and ``-RRB-``; `unescape_token` is the inverse."""
    if "(" not in word and ")" not in word and "RB" not in word:
        return word
    return _TO_ESCAPE.sub(_escaped, word)


def _escaped(found: re.Match[str]) -> str:
    text = found.group()
    if text == "(":
        return "-LRB-"
    if text == ")":
        return "-RRB-"
    return text[:2] + "\\" + text[2:]


def unescape_token(text: str) -> str:
    """Read ``-LRB-`` and ``-RRB-`` within a token as brackets; all else is kept verbatim."""
    return _TO_UNESCAPE.sub(_unescaped, text) if "RB-" in text else text


def _unescaped(found: re.Match[str]) -> str:
    side, backslashes = found.groups()
    if backslashes is None:
        return "(" if side == "L" else ")"
    return f"-{side}{backslashes[1:]}RB"


def format_leaf(label: str, word: str) -> str:
    """Write a preterminal; no bracket follows a backslash, which would make it part of the word."""
    return f"({label} {escape_token(word)}{' ' * word.endswith(BACKSLASH)})"
