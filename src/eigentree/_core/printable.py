"""Text that is safe to print, and the terminal columns that it occupies."""

from __future__ import annotations

import re
import unicodedata

MAX_SHOWN = 60
_LINE_BREAK = re.compile("[\t-\r\x1c-\x1f\x85\u2028\u2029]")
_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}  # Unicode's bidirectional classes
_MAX_CODE_POINTS = 6


def visible(text: str) -> str:
    """Replace characters that a terminal or browser would interpret by visible symbols.

    These are control characters, line separators and characters that reorder text.  A combining
    character at the start is placed on a dotted circle.
    """
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(_symbol(character) for character in text)
    return f"◌{shown}" if shown and not character_columns(shown[0]) else shown


def _symbol(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    reorders = 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069
    is_control = unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
    return (
        "\N{REPLACEMENT CHARACTER}"
        if reorders or is_control or code & 0xFFFE == 0xFFFE
        else character
    )


def one_line(text: str) -> str:
    """A text with blanks for tabs and line ends, by whatever characters a reader splits lines."""
    return text if text.isprintable() else _LINE_BREAK.sub(" ", text)


def shown(value: object) -> str:
    """A value for a message, as ``repr`` writes it but cut to sixty characters.

    >>> shown(["a"] * 1000)
    "['a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', '..."
    """
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer that is too long
        return f"a value of type {type(value).__name__} that is too large to print"
    return clipped(text)


def clipped(text: str) -> str:
    """A text for a message, cut to sixty characters."""
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def isolated(text: str) -> str:
    """Enclose a text from right to left in isolates, which take no columns.

    Without them, neighbouring words of such a script are one run: a terminal or browser that
    follows the Unicode bidirectional algorithm reverses their order, and words are no longer in
    their columns.
    """
    if text.isascii() or _RIGHT_TO_LEFT.isdisjoint(map(unicodedata.bidirectional, text)):
        return text
    return f"{_ISOLATE}{text}{_POP_ISOLATE}"


def code_points_that_differ(one: str, other: str) -> str:
    r"""The code points by which two texts differ, where they may look alike.

    >>> code_points_that_differ("caf\u00e9", "cafe\u0301")
    'U+00E9 and U+0065 U+0301'
    >>> code_points_that_differ("cat", "dog")
    ''
    """
    start = _n_equal(one, other)
    one, other = one[start:], other[start:]
    end = _n_equal(one[::-1], other[::-1])
    parts = (one[: len(one) - end], other[: len(other) - end])
    if all(part.isascii() and part.isprintable() for part in parts):
        return ""
    return " and ".join(map(_code_points, parts))


def _n_equal(one: str, other: str) -> int:
    """The number of characters at the start that two texts share."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _code_points(text: str) -> str:
    listed = [f"U+{ord(character):04X}" for character in text[:_MAX_CODE_POINTS]]
    if len(text) > _MAX_CODE_POINTS:
        listed.append("...")
    return " ".join(listed) or "nothing"


def columns(text: str) -> int:
    """Terminal columns of a text: wide characters count two, combining characters none."""
    return len(text) if text.isascii() else sum(map(character_columns, text))


def character_columns(character: str) -> int:
    """Terminal columns of one character: 0, 1 or 2."""
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
