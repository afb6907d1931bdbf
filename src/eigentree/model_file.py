"""One model, one file: numbers, byte strings and a header that open without executing anything.

A model file is a safetensors file with three habits of its own, so any safetensors reader
opens it too:

- the metadata say ``format``, ``version``, ``package`` and, as JSON text, the model's header;
- tensors are called ``array:NAME`` or ``blob:NAME`` and lie in order of item size, then name,
  from a multiple of 64 bytes on, so that each one can be mapped into memory as it is;
- the last tensor, ``sha256``, is the digest of every byte before it, so no damage passes.

The same content gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import stat
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigentree import __version__
from eigentree.data.catalogue import displayed_model, model_names, resolve_model
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.treebank.io.text_files import write_whole

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

FORMAT = "eigentree model"
# 2: grammars may hold rules that were never seen.
# 3: grammars may hold tensors and words as counts of states.
# 4: large arrays of grammars may be the upper halves of single-precision numbers.
VERSION = "4"
READ = ("1", "2", "3", VERSION)
ENSEMBLE_INDEX = "ensemble.egt"
"""The file by which the folder of an ensemble is recognised."""
# What models of each kind are for, where another kind is expected.
_USES = {
    "parser": "it is for eigentree parse",
    "dependency parser": "it is for eigentree dependencies parse",
    "bracketing parser": "it is for eigentree induce parse",
    "automaton": "it is for eigentree automaton",
    "hidden Markov model": "it is for eigentree automaton",
    "brown clusters": "it is for eigentree words",
    "ensemble": "it is the index of an ensemble; name the folder that it is in",
    "reranker": "it is part of an ensemble; name the ensemble's folder",
    "calibration": "it is part of an ensemble; name the ensemble's folder",
    "readings": "it is part of an ensemble; name the ensemble's folder",
    "expectation maximisation": "it is a checkpoint, from which a training resumes",
    "expectation maximisation of automata": "it is a checkpoint, from which a training resumes",
}
_ENSEMBLES = "an ensemble is for eigentree parse, calibrate, reliability, inspect and serve"

_ALIGNMENT = 64
_CLASS_OF_OBJECT = re.compile(r"a valid dictionary or instance of \w+")
_CHUNK = 1 << 20
_LONGEST_TABLE = 100_000_000  # the limit that safetensors readers share
_LOOKED_AT = 200  # bytes at the beginning of a file, in which the format's name must be
_DIGEST = "sha256"
_DIGEST_BYTES = 32
_CODES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
    "BOOL": "|b1",
}
_CODE_OF = {np.dtype(name): code for code, name in _CODES.items()}


Model = TypeVar("Model")
Header = TypeVar("Header", bound="BaseModel")


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds.

    Attributes
    ----------
    header
        The model's own description, as it was given to `save_model`.
    arrays
        Read-only views of the mapped file: pages are read when they are used, and shared
        between processes.
    blobs
        Byte strings, copied into memory.
    package
        Version of eigentree that wrote the file.
    n_bytes
        Size of the file.
    """

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    blobs: dict[str, bytes]
    package: str
    n_bytes: int

    @property
    def name(self) -> str:
        """How messages call the file."""
        return displayed_model(self.path)


class _Tensor(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int  # in bytes, from the beginning of the file
    end: int


def header_problem(error: ValidationError) -> str:
    """What is wrong with a header, from the first of pydantic's complaints."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    problem = _CLASS_OF_OBJECT.sub("an object", first["msg"]).removeprefix("Value error, ")
    problem = f": {problem}".replace(": Input ", " ")
    return f"header's {where}{problem}"


class Parts(NamedTuple):
    """What a model is in its file; see `save_model`."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    blobs: Mapping[str, bytes] = {}


@dataclass(frozen=True)
class Codec(Generic[Model, Header]):
    """How models of one kind are written to files and read from them.

    Attributes
    ----------
    kind
        The header's ``kind``.
    header
        The pydantic model of the header, by which it is checked.
    to_parts
        The parts of a model's file; `Codec.save` adds the kind.
    from_parts
        The model from the checked header and the file, which also has the header as it was
        written.  It may raise any `LookupError`, `TypeError`, `ValueError` or `EigentreeError`
        for parts that don't belong together.
    """

    kind: str
    header: type[Header]
    to_parts: Callable[[Model], Parts]
    from_parts: Callable[[Header, ModelFile], Model]

    def save(self, model: Model, path: str | Path) -> None:
        """Write a model, whole or not at all.

        Raises
        ------
        ModelFileError
            As of `save_model`.
        """
        header, arrays, blobs = self.to_parts(model)
        save_model(path, {"kind": self.kind, **header}, arrays, blobs)

    def load(self, path: str | Path, *, verify: bool = True) -> Model:
        """Read a model and check that its parts belong together.

        Raises
        ------
        ModelFileError
            As of `open_model`, and when the header or the parts are not those of such a model.
        """
        return self.decode(open_model(path, kind=self.kind, verify=verify))

    def decode(self, file: ModelFile) -> Model:
        """The model of a file that is already open; raises `ModelFileError` as `load` does."""
        from pydantic import ValidationError

        try:
            return self.from_parts(self.header.model_validate(file.header), file)
        except ValidationError as error:
            raise ModelFileError(f"{file.name}: its {header_problem(error)}") from error
        except EigentreeError as error:
            raise ModelFileError(f"{file.name}: {error}") from error
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise ModelFileError(f"{file.name}: the model's parts don't fit: {what}") from error


def save_model(
    path: str | Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    blobs: Mapping[str, bytes] | None = None,
) -> None:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    header
        Anything that JSON gives back unchanged: string keys, lists instead of tuples, finite
        numbers.  By convention ``kind`` names the kind of model.
    arrays
        Booleans, integers and floats of 32 or 64 bits; floats must be finite.  Any memory
        layout and byte order; stored in C order, little-endian.
    blobs
        Byte strings in formats of their own, such as a tagger's.

    Raises
    ------
    ModelFileError
        When something can't be stored, or the file can't be written; what was at `path`
        before is then still there.
    """
    path = Path(path)
    parts = {f"array:{name}": _storable(path, name, array) for name, array in arrays.items()}
    for name, blob in (blobs or {}).items():
        parts[f"blob:{name}"] = np.frombuffer(blob, dtype=np.uint8)
    names = sorted(parts, key=lambda name: (-parts[name].dtype.itemsize, name))

    table: dict[str, Any] = {
        "__metadata__": {
            "format": FORMAT,
            "version": VERSION,
            "package": __version__,
            "header": _header_text(path, header),
        }
    }
    end = 0
    for name in names:
        start, end = end, end + parts[name].nbytes
        code = _CODE_OF[parts[name].dtype]
        table[name] = {"dtype": code, "shape": parts[name].shape, "data_offsets": [start, end]}
    table[_DIGEST] = {
        "dtype": "U8",
        "shape": [_DIGEST_BYTES],
        "data_offsets": [end, end + _DIGEST_BYTES],
    }
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    if len(text) > _LONGEST_TABLE:
        raise ModelFileError(
            f"{path}: the header takes {len(text)} bytes, and at most {_LONGEST_TABLE} can be "
            "stored; put large tables into arrays or blobs"
        )

    digest = hashlib.sha256()
    try:
        with write_whole(path, binary=True) as out:
            for piece in (struct.pack("<Q", len(text)), text):
                digest.update(piece)
                out.write(piece)
            for name in names:
                content = parts[name].reshape(-1).view(np.uint8).data
                digest.update(content)
                out.write(content)
            out.write(digest.digest())
    except OSError as error:
        raise ModelFileError(f"{path}: can't be written: {error.strerror or error}") from error
    except EigentreeError as error:
        raise ModelFileError(str(error)) from error


def is_model(path: str | Path) -> bool:
    """Whether a file begins as a model file does, by its format's name; it may be damaged."""
    with Path(path).open("rb") as file:
        start = file.read(_LOOKED_AT)
    return start[8:9] == b"{" and FORMAT.encode() in start


def open_model(path: str | Path, *, kind: str | None = None, verify: bool = True) -> ModelFile:
    """Open a model file and map its arrays into memory.

    Parameters
    ----------
    path
        Of a file, or the name of a model that comes with the package.
    kind
        What the header's ``kind`` must say; None takes any.
    verify
        Read the file once, in small pieces, to check the digest and that all floats are
        finite.  Without it only the layout is checked: for a file that this program has
        just written or verified, as in worker processes.

    Raises
    ------
    ModelFileError
        When the file is missing, damaged, not a model, of another version or another kind.
    """
    path = resolve_model(path)
    try:
        # A pipe or a folder would block or fail later, with less to say.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelFileError(f"{path}: {_no_file(path, kind)}")
        with path.open("rb") as file:
            return _read(path, file, kind, verify)
    except OSError as error:
        why = error.strerror or error
        # A bare name may be a slip in one of the package's.
        ours = len(path.parts) == 1 and not path.suffix and isinstance(error, FileNotFoundError)
        hint = f"; {' and '.join(model_names())} come with eigentree" if ours else ""
        raise ModelFileError(f"{path}: can't be read: {why}{hint}") from error


def wrong_kind(path: str | Path, found: object, *expected: str) -> ModelFileError:
    """The error for a model of another kind than those expected, with what it is for."""
    use = _USES.get(str(found))
    kinds = " or ".join(map(repr, expected))
    return ModelFileError(
        f"{displayed_model(path)}: is a model of kind {found!r}; expected {kinds}"
        + ("" if use is None else f"; {use}")
    )


def _no_file(path: Path, kind: str | None) -> str:
    """What is wrong with a path that is no file."""
    expected = "a model file" if kind is None else f"a model file of kind {kind!r}"
    if (path / ENSEMBLE_INDEX).is_file():
        return f"is the folder of an ensemble; expected {expected}; {_ENSEMBLES}"
    what = "a folder" if path.is_dir() else "no regular file"
    return f"is {what}; expected {expected}"


def _read(path: Path, file: BinaryIO, kind: str | None, verify: bool) -> ModelFile:
    n_bytes = os.fstat(file.fileno()).st_size
    description, tensors = _read_table(path, file, n_bytes)
    if verify:
        _check_digest(path, file, n_bytes)
    header = _parse_json(description.get("header"))
    if header is None:
        raise ModelFileError(f"{displayed_model(path)}: the model's header isn't a JSON object")
    if kind is not None and header.get("kind") != kind:
        raise wrong_kind(path, header.get("kind"), kind)
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays: dict[str, NDArray[Any]] = {}
    blobs: dict[str, bytes] = {}
    for name, tensor in tensors.items():
        prefix, _, short = name.partition(":")
        if prefix == "blob":
            blobs[short] = mapped[tensor.start : tensor.end]
            continue
        if verify and tensor.dtype.kind == "f":
            _check_finite(path, file, short, tensor)
        try:
            arrays[short] = np.ndarray(tensor.shape, tensor.dtype, mapped, tensor.start)
        except (ValueError, OverflowError) as error:
            raise _damaged(path, f"array {short!r} can't have shape {tensor.shape}") from error
    return ModelFile(path, header, arrays, blobs, description.get("package", "unknown"), n_bytes)


def _read_table(
    path: Path, file: BinaryIO, n_bytes: int
) -> tuple[dict[str, str], dict[str, _Tensor]]:
    """The metadata and the checked places of all tensors but the digest."""
    shown = displayed_model(path)
    start = file.read(8)
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
    table = _parse_json(file.read(length)) if 0 < length <= _LONGEST_TABLE else None
    description = table.pop("__metadata__", None) if table else None
    if table is None or not _is_description(description):
        raise ModelFileError(f"{shown}: {_foreign(start, file, n_bytes)}")
    if description["version"] not in READ:
        raise ModelFileError(
            f"{shown}: was written in version {description['version']!r} of the model format by "
            f"eigentree {description.get('package', 'unknown')}; this eigentree reads versions "
            f"{', '.join(READ[:-1])} and {READ[-1]}"
        )
    tensors: dict[str, _Tensor] = {}
    position = first = 8 + length
    for name, entry in table.items():
        tensor = _parse_entry(entry, first)
        if tensor is None or tensor.start != position or tensor.start % tensor.dtype.itemsize:
            raise _damaged(path, f"the entry of {name!r} in its table is wrong")
        tensors[name] = tensor
        position = tensor.end
    if position != n_bytes:
        raise _damaged(path, f"it has {n_bytes} bytes and should have {position}")
    last = list(tensors)[-1:]
    digest = tensors.pop(_DIGEST, None)
    if digest is None or last != [_DIGEST] or digest.end - digest.start != _DIGEST_BYTES:
        raise _damaged(path, "the digest at its end is missing")
    for name, tensor in tensors.items():
        blob = name.startswith("blob:") and tensor.dtype == np.uint8
        if not blob and not name.startswith("array:"):
            raise _damaged(path, f"it holds {name!r}, which no model has")
    return description, tensors


def _is_description(value: object) -> TypeGuard[dict[str, str]]:
    return (
        isinstance(value, dict)
        and value.get("format") == FORMAT
        and isinstance(value.get("version"), str)
        and all(isinstance(text, str) for text in value.values())
    )


def _parse_entry(entry: object, first: int) -> _Tensor | None:
    """A tensor's place in a file whose tensors begin at byte `first`; None when it has none."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        return None
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not (isinstance(code, str) and code in _CODES and _are_sizes(shape) and _are_sizes(offsets)):
        return None
    dtype = np.dtype(_CODES[code])
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        return None
    return _Tensor(dtype, tuple(shape), first + offsets[0], first + offsets[1])


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(size) is int and size >= 0 for size in value)


def _check_digest(path: Path, file: BinaryIO, n_bytes: int) -> None:
    digest = hashlib.sha256()
    file.seek(0)
    left = n_bytes - _DIGEST_BYTES
    while left > 0 and (piece := file.read(min(_CHUNK, left))):
        digest.update(piece)
        left -= len(piece)
    if file.read(_DIGEST_BYTES) != digest.digest():
        raise _damaged(path, "its content doesn't match its digest")


def _check_finite(path: Path, file: BinaryIO, name: str, tensor: _Tensor) -> None:
    # Through the file, not the map: pages of the map would count as this process's memory.
    file.seek(tensor.start)
    left = tensor.end - tensor.start
    while left > 0:
        piece = np.frombuffer(file.read(min(_CHUNK, left)), dtype=tensor.dtype)
        if not piece.size or not np.isfinite(piece).all():
            raise _damaged(path, f"array {name!r} holds values that aren't finite")
        left -= piece.nbytes


def _storable(path: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in _CODE_OF:
        raise ModelFileError(
            f"{path}: array {name!r} has the type {array.dtype}, and only booleans, integers and "
            "floats of 32 or 64 bits can be stored"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"{path}: array {name!r} holds values that aren't finite")
    return array


def _header_text(path: Path, header: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(dict(header), ensure_ascii=False, allow_nan=False, sort_keys=True)
        text.encode()
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: the header can't be written as JSON: {error}") from error
    if json.loads(text) != header:
        raise ModelFileError(
            f"{path}: JSON would change the header; it must have string keys and lists, not tuples"
        )
    return text


def _parse_json(text: str | bytes | None) -> dict[str, Any] | None:
    """The JSON object in `text`; None when there is none or a key is there twice."""
    try:
        value = json.loads(text or "", object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _foreign(start: bytes, file: BinaryIO, n_bytes: int) -> str:
    file.seek(8)
    if n_bytes == 0:
        return "is empty, so it isn't an eigentree model"
    if FORMAT.encode() in file.read(_LOOKED_AT):
        return "is damaged: its table can't be read; copy it again or train again"
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "looks like a pickle, which could run code, so eigentree never opens it"
    return "isn't an eigentree model"


def _damaged(path: Path, what: str) -> ModelFileError:
    return ModelFileError(
        f"{displayed_model(path)}: is damaged: {what}; copy it again or train again"
    )
