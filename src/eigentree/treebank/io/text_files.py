r"""Opening and writing text files: encodings, compression, standard streams, whole files.

Text is UTF-8.  Lines end at ``\n``, ``\r\n`` and ``\r`` and nowhere else: U+2028, U+0085 and form
feeds may be inside words.  Byte-order marks at the start of lines, which files that were joined
have, are dropped.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import lzma
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, NamedTuple, TextIO, cast, overload

from eigentree._core.arguments import check_type, listed
from eigentree._core.part_files import new_part_file
from eigentree._core.printable import clipped, visible
from eigentree.errors import EigentreeError, TreebankFormatError

STANDARD_STREAM = "-"
_GZIP_MAGIC = b"\x1f\x8b"
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
_XZ_MAGIC = b"\xfd7zXZ\0"
_OTHER_MAGIC = {b"BZh": "bzip2", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd"}
_LONGEST_MAGIC = 6
# The encoding that XML declares.
_XML_ENCODING = re.compile(
    rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']"
)
# Extensions of ASCII without states, so that XML in them can be cut into lines and tags.
_KNOWN_ENCODING = re.compile(
    r"iso8859-[0-9]+|cp125[0-8]|koi8-[ru]|gb18030|gbk|gb2312|big5|euc_jp|euc_kr|shift_jis"
)
# Left over from a conversion, in a text that has no NUL bytes.
_CONVERTED = re.compile(r"utf-?(?:8|16|32)|ascii", re.IGNORECASE)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# A model file begins with the length of its header.
_MODEL = re.compile(rb".{4}\0\0\0\0\{", re.DOTALL)
_MARK = "\ufeff"
# The open files of a process, by name.
_OPEN_STREAM = re.compile(r"/dev/(?:(stdout|stderr)|fd/([0-9]{1,4}))")
_STREAM_NUMBERS = {"stdout": 1, "stderr": 2}
# NUL, and bytes 0x80 to 0xFF where surrogateescape puts them.
_UNREADABLE = re.compile("[\0\udc80-\udcff]")
_PEEKED_BYTES = 4096
_MIN_NULS = 4  # fewer don't make a text UTF-16
_SNIPPET_BEFORE = 20
_SNIPPET_AFTER = 30


class Problem(NamedTuple):
    """An error or a remark at one place of a file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str
    snippet: str

    def __str__(self) -> str:
        seen = f": {self.snippet}" if self.snippet else ""
        # A kept byte, perhaps in the name of a sentence, can't be printed as it is.
        message = _UNREADABLE.sub(_as_latin_1, self.message)
        return f"{self.file}:{self.line}:{self.column}: {message}{seen}"


def in_sentence(name: str) -> str:
    """The end of a message about a sentence: its name, if it has one."""
    return f" (sentence {clipped(name)})" if name else ""


def _as_latin_1(kept: re.Match[str]) -> str:
    """The character that a kept byte is in Latin-1, as most texts that have any are."""
    return chr(ord(kept.group()) & 0xFF)


def snippet_at(text: str, column: int) -> str:
    """The characters around a column (from 1) of a line, cut to about fifty."""
    start, end = max(0, column - 1 - _SNIPPET_BEFORE), column - 1 + _SNIPPET_AFTER
    # Sliced before anything else, since a line may be a whole treebank.
    before, after = "…" if start else "", "…" if text[end : end + 2].strip("\r\n") else ""
    shown = _UNREADABLE.sub(_as_latin_1, text[start:end])
    return before + "\t".join(map(visible, shown.rstrip("\r\n").split("\t"))) + after


class OpenText(NamedTuple):
    """A text that is open already: what messages call it, and its lines."""

    name: str
    lines: Iterable[str]


def displayed_name(path: str | Path) -> str:
    """The name of an input file in messages."""
    return "<standard input>" if str(path) == STANDARD_STREAM else str(path)


def check_lines(lines: object) -> None:
    """Refuse one string instead of lines, whose characters would be read as lines.

    Raises
    ------
    TypeError
    """
    if isinstance(lines, str):
        raise TypeError("lines: expected an open file or a list of lines, not one string")


def listed_sources(
    sources: str | os.PathLike[str] | OpenText | Iterable[str | Path | OpenText],
) -> list[str | Path | OpenText]:
    """One source or several as a list.

    Raises
    ------
    TypeError
        For an open file, whose lines would be read as paths, and for what is no path.
    """
    if hasattr(sources, "read"):
        raise TypeError("paths: expected a path or a list of paths, not an open file")
    if isinstance(sources, str | OpenText):
        return [sources]
    if isinstance(sources, os.PathLike):
        return [Path(sources)]
    check_type(sources, Iterable, "paths", "a path or a list of paths")
    return listed(sources, (str, os.PathLike, OpenText), "paths", "paths")


def first_bytes(path: str | Path, number: int) -> bytes:
    """The first bytes of a file, by which its format is detected; none for a pipe or device."""
    if str(path) == STANDARD_STREAM or not Path(path).is_file():
        return b""
    with Path(path).open("rb") as file:
        return file.read(number)


def is_plain_text(path: str | Path) -> bool:
    """Whether a file can be read as it is and again: no stream, not empty, not compressed."""
    start = first_bytes(path, _LONGEST_MAGIC)
    return bool(start) and not start.startswith((_GZIP_MAGIC, _XZ_MAGIC))


TellNotice = Callable[[Problem], object]


@contextlib.contextmanager
def open_text(
    path: str | Path, *, keep_bad_bytes: bool = False, notice: TellNotice | None = None
) -> Iterator[Iterator[str]]:
    """Open a text file for reading, plain or compressed with gzip or xz.

    Parameters
    ----------
    path
        A path, or ``-`` for standard input.  Compression is detected from the first bytes and
        not from the name.
    keep_bad_bytes
        Read a NUL byte as it is and a byte that isn't UTF-8 as a lone surrogate, both of which
        `unreadable` finds, rather than refuse the text.
    notice
        Called with remarks on byte-order marks within the text.

    Yields
    ------
    iterator of str
        The lines with their ends.

    Raises
    ------
    TreebankFormatError
        When the file can't be opened, is UTF-16, another encoding than UTF-8 or no text, holds
        NUL bytes, is compressed otherwise, or is damaged; also while the body of the ``with``
        reads it.

    Notes
    -----
    XML is read in the encoding that it declares, if that is a usual one, such as ISO-8859-1.
    """
    name = displayed_name(path)
    with contextlib.ExitStack() as stack:
        try:
            buffered = _uncompressed(_open_bytes(path, stack), name)
            encoding = _encoding(buffered.peek(_PEEKED_BYTES), name)
            if not keep_bad_bytes:
                buffered = io.BufferedReader(_WithoutNul(buffered))
            text = io.TextIOWrapper(
                buffered,
                encoding=encoding,
                errors="surrogateescape" if keep_bad_bytes else "strict",
            )
        except OSError as error:
            why = error.strerror or error
            if str(path) == STANDARD_STREAM and error.errno == errno.EBADF:
                raise TreebankFormatError("standard input is closed; name a file") from error
            raise TreebankFormatError(f"{name}: can't be read: {why}") from error
        try:
            yield without_marks(text, name, notice)
        except (UnicodeDecodeError, _NulError) as error:
            raise TreebankFormatError(_located(path, name, encoding, error)) from error
        except _DAMAGED as error:
            raise TreebankFormatError(f"{name}: damaged compressed file: {error}") from error
        finally:
            with contextlib.suppress(ValueError):
                text.detach()


@contextlib.contextmanager
def opened_text(
    source: str | Path | OpenText,
    *,
    keep_bad_bytes: bool = False,
    notice: TellNotice | None = None,
) -> Iterator[OpenText]:
    """Open a text file, as `open_text` does, unless it is open already."""
    if isinstance(source, OpenText):
        yield source
        return
    with open_text(source, keep_bad_bytes=keep_bad_bytes, notice=notice) as lines:
        yield OpenText(displayed_name(source), lines)


def without_marks(
    lines: Iterable[str], name: str = "<input>", notice: TellNotice | None = None
) -> Iterator[str]:
    """Lines without byte-order marks at their start.

    Parameters
    ----------
    lines
    name
        Name of the text in remarks.
    notice
        Called with a remark on each line that had a mark, but for the first.
    """
    for number, line in enumerate(lines, start=1):
        if line[:1] != _MARK:
            yield line
            continue
        if notice is not None and number > 1:
            notice(Problem(name, number, 1, "byte-order mark inside the text dropped", ""))
        yield line.lstrip(_MARK)


class _NulError(ValueError):
    """A NUL byte in a text."""


class _WithoutNul(io.RawIOBase):
    """The bytes of another stream, where a NUL byte is an error."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        n_bytes = self._stream.readinto1(target)
        if b"\0" in memoryview(target)[:n_bytes].tobytes():
            raise _NulError
        return n_bytes


def _open_bytes(path: str | Path, stack: contextlib.ExitStack) -> io.BufferedReader:
    """The bytes of a file or of standard input, which stays open afterwards."""
    if str(path) != STANDARD_STREAM:
        return stack.enter_context(Path(path).open("rb"))
    if sys.stdin is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    stream = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        return stream
    reader: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, stream))
    stack.callback(reader.detach)
    return reader


def _uncompressed(buffered: io.BufferedReader, name: str) -> io.BufferedReader:
    magic = buffered.peek(_LONGEST_MAGIC)[:_LONGEST_MAGIC]
    if magic.startswith(_GZIP_MAGIC):
        buffered = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=buffered)))
    elif magic == _XZ_MAGIC:
        buffered = io.BufferedReader(cast(io.RawIOBase, lzma.LZMAFile(buffered)))  # noqa: SIM115
    try:
        start = buffered.peek(_PEEKED_BYTES)[:_PEEKED_BYTES]
    except _DAMAGED as error:
        raise TreebankFormatError(f"{name}: damaged compressed file: {error}") from error
    if start.startswith((_GZIP_MAGIC, _XZ_MAGIC)):
        raise TreebankFormatError(f"{name}: compressed twice; decompress it once")
    for other, program in _OTHER_MAGIC.items():
        if start.startswith(other) and not start.isascii():
            raise TreebankFormatError(
                f"{name}: compressed with {program}; gzip and xz are supported, so decompress it"
            )
    if start[:2] in _UTF16_MARKS or _is_utf16(start):
        raise TreebankFormatError(f"{name}: the text is UTF-16; convert it to UTF-8 first")
    if _MODEL.match(start):
        raise TreebankFormatError(f"{name}: is a model or another binary file; expected UTF-8 text")
    return buffered


def _encoding(start: bytes, name: str) -> str:
    """The encoding of a text: UTF-8, unless XML declares another."""
    declared = _XML_ENCODING.match(start)
    if declared is None or _CONVERTED.match(declared[1].decode()):
        return "utf-8-sig"
    given = declared[1].decode()
    with contextlib.suppress(LookupError):
        encoding = codecs.lookup(given).name
        if _KNOWN_ENCODING.fullmatch(encoding):
            return encoding
    what = f"declares the encoding {clipped(given)}, which isn't supported"
    raise TreebankFormatError(f"{name}: {what}; convert it to UTF-8 and change the declaration")


def _is_utf16(start: bytes) -> bool:
    """Whether most of every other byte are NUL, as in UTF-16 of European languages."""
    halves = (start[0::2], start[1::2])
    return any(
        half.count(0) >= _MIN_NULS and 2 * half.count(0) > len(half) > 2 * other.count(0)
        for half, other in (halves, halves[::-1])
    )


def _located(
    path: str | Path, name: str, encoding: str, error: UnicodeDecodeError | _NulError
) -> str:
    """Locate the first byte that can't be read, if the file can be read again."""
    bad = b"\0"
    if isinstance(error, UnicodeDecodeError):
        bad = error.object[error.start : error.start + 1]
    what = _bad_byte(bad[0])
    if bad[0] and not encoding.startswith("utf-8"):
        return f"{name}: byte 0x{bad[0]:02x} is not {encoding}, the encoding that XML declares"
    if str(path) == STANDARD_STREAM or not Path(path).is_file():
        return f"{name}: {what}"
    # A damaged gzip file may end before the line of the byte is complete.
    with (
        contextlib.suppress(*_DAMAGED),
        Path(path).open("rb") as raw,
        _uncompressed(raw, name) as lines,
    ):
        for number, line in enumerate(lines, start=1):
            found = unreadable(name, number, line.decode("utf-8", errors="surrogateescape"))
            if found is not None:
                return str(found)
    return f"{name}: {what}"


def _bad_byte(byte: int) -> str:
    if not byte:
        return "NUL byte, which isn't text; remove it"
    return f"byte 0x{byte:02x} is not UTF-8; the text may be Latin-1; convert it to UTF-8 first"


def unreadable(
    name: str, number: int, line: str, start: int = 0, end: int = sys.maxsize
) -> Problem | None:
    """The first byte within a line that isn't text: NUL, or not UTF-8 but kept by `open_text`."""
    if line.isascii() and "\0" not in line:
        return None
    found = _UNREADABLE.search(line, start, end)
    if found is None:
        return None
    column = found.start() + 1
    what = _bad_byte(ord(found.group()) & 0xFF)
    return Problem(name, number, column, what, snippet_at(line, column))


@overload
def write_whole(
    path: str | Path, *, binary: Literal[False] = False
) -> contextlib.AbstractContextManager[TextIO]: ...
@overload
def write_whole(
    path: str | Path, *, binary: Literal[True]
) -> contextlib.AbstractContextManager[BinaryIO]: ...


def write_whole(
    path: str | Path, *, binary: bool = False
) -> contextlib.AbstractContextManager[Any]:
    """Open a file for writing that appears whole or not at all.

    A temporary file beside the target takes the content and is renamed when the ``with``
    block ends well; otherwise it is removed and an older target stays as it was.

    Parameters
    ----------
    path
        A path, or ``-`` for standard output.  What is no regular file, such as a device, a named
        pipe or ``/dev/stdout``, is written directly.
    binary
        Whether bytes are written; otherwise UTF-8 text with line feeds at line ends.

    Raises
    ------
    EigentreeError
        When the file can't be created, or an older one is write-protected.
    """
    return _write_whole(path, binary)


@contextlib.contextmanager
def _write_whole(path: str | Path, binary: bool) -> Iterator[IO[Any]]:
    if str(path) == STANDARD_STREAM:
        stream: IO[Any] = sys.stdout.buffer if binary else sys.stdout
        yield stream
        stream.flush()
        return
    options: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": "\n"}
    mode = "b" if binary else ""
    # A link keeps pointing where it points: its target is what gets replaced.
    target = written = Path(os.path.realpath(path))
    is_open = _OPEN_STREAM.fullmatch(str(path))
    replaces = not is_open and (target.is_file() or not os.path.exists(path))
    if replaces and target.is_file() and not os.access(target, os.W_OK):
        # Renaming would replace it, since that is a matter of the folder.
        raise EigentreeError(f"{path}: can't be written: it is write-protected")
    try:
        if replaces:
            written, stream = new_part_file(target, mode, **options)
        elif is_open:
            # Opened by its name, a file would lose what the shell has written to it.
            sys.stdout.flush()
            number = os.dup(_STREAM_NUMBERS.get(is_open[1]) or int(is_open[2]))
            stream = os.fdopen(number, "w" + mode, **options)
        else:
            # By the name that was given: the one that a pipe resolves to can't be opened.
            stream = Path(path).open("w" + mode, **options)  # noqa: SIM115 - closed below
    except OSError as error:
        raise EigentreeError(f"{path}: can't be written: {error.strerror or error}") from error
    try:
        with stream:
            yield stream
        if replaces:
            if target.exists():
                shutil.copymode(target, written)
            written.replace(target)
    except BaseException:
        if replaces:
            written.unlink(missing_ok=True)
        raise
