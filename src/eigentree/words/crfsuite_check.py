"""The check of a CRFsuite model before CRFsuite reads it.

CRFsuite follows every offset and number in a model without a bounds check, so a forged model could
make it read beyond its memory.  The layout has little-endian 32-bit numbers throughout:

- the head: ``lCRF``, size, ``FOMC``, version, a number that is always 0, the numbers of labels
  and attributes, and the offsets of the five parts below;
- ``FEAT``: features of 20 bytes (type, source, target label, weight as a 64-bit float);
- ``CQDB`` twice, the names of labels and of attributes: 256 hash tables of (hash, offset of a
  record), records of number, length and zero-terminated name, and the offset of each number's
  record; offsets count from the beginning of the part;
- ``LFRF`` and ``AFRF``: for each label and attribute the offset of a list: its length and the
  numbers of features.

References
----------
Okazaki 2007.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import ModelFileError
from eigentree.types import Longs

_HEAD = struct.Struct("<4sI4s9I")
_CHUNK = struct.Struct("<4s2I")
_NAMES = struct.Struct("<4s5I")
_BYTE_ORDER = 0x62445371
_N_TABLES = 256
# A table of transitions between more labels than this would exhaust memory.
_MOST_LABELS = 10_000
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_BUCKET = np.dtype([("hash", "<u4"), ("place", "<u4")])
_RECORD_HEAD = 8


class _Parts(NamedTuple):
    features: int
    labels: int
    attributes: int
    label_lists: int
    attribute_lists: int


def check_model(model: bytes) -> None:
    """Refuse a model that contains invalid offsets or numbers.

    Raises
    ------
    ModelFileError
        Naming the part that is wrong.
    """
    _require(len(model) >= _HEAD.size, "head")
    name, size, kind, _, _, n_labels, n_attributes, *places = _HEAD.unpack_from(model)
    parts = _Parts(*places)
    _require((name, size, kind) == (b"lCRF", len(model), b"FOMC"), "head")
    _require(0 < n_labels <= _MOST_LABELS, "number of labels")
    (n_features,) = _chunk(model, parts.features, b"FEAT")
    features = _array(model, parts.features + _CHUNK.size, n_features, _FEATURE, "features")
    _require(bool(np.all(features["target"] < n_labels)), "features")
    _require(bool(np.all(np.isfinite(features["weight"]))), "features")
    _check_names(model, parts.labels, n_labels, "labels")
    _check_names(model, parts.attributes, n_attributes, "attributes")
    for place, mark, number in (
        (parts.label_lists, b"LFRF", n_labels),
        (parts.attribute_lists, b"AFRF", n_attributes),
    ):
        _check_lists(model, place, mark, number, n_features)


def _require(holds: bool, part: str) -> None:
    if not holds:
        raise ModelFileError(f"the tagger is damaged ({part}); train the parser again")


def _chunk(model: bytes, place: int, mark: bytes) -> tuple[int]:
    _require(place + _CHUNK.size <= len(model), f"part {mark.decode()}")
    found, _, number = _CHUNK.unpack_from(model, place)
    _require(found == mark, f"part {mark.decode()}")
    return (number,)


def _array(
    model: bytes, place: int, number: int, dtype: np.dtype[np.void], part: str
) -> NDArray[np.void]:
    _require(place + number * dtype.itemsize <= len(model), part)
    return np.frombuffer(model, dtype, number, place)


def _numbers(model: bytes, place: int, number: int, part: str) -> Longs:
    _require(place + 4 * number <= len(model), part)
    return np.frombuffer(model, "<u4", number, place).astype(np.int64)


def _at(model: NDArray[np.uint8], places: Longs) -> Longs:
    """The 32-bit numbers at given offsets, which need not be aligned."""
    columns = model[places[:, None] + np.arange(4)].astype(np.int64)
    return np.asarray(columns @ (1 << np.array([0, 8, 16, 24])))


def _check_lists(model: bytes, place: int, mark: bytes, number: int, n_features: int) -> None:
    part = f"part {mark.decode()}"
    _chunk(model, place, mark)
    starts = _numbers(model, place + _CHUNK.size, number, part)
    _require(bool(np.all(starts + 4 <= len(model))), part)
    content = np.frombuffer(model, np.uint8)
    lengths = _at(content, starts)
    # Every feature is in one list, so together they can't be longer.
    _require(int(lengths.sum()) <= n_features, part)
    _require(bool(np.all(starts + 4 + 4 * lengths <= len(model))), part)
    inner = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    numbers = _at(content, np.repeat(starts + 4, lengths) + 4 * inner)
    _require(bool(np.all(numbers < n_features)), part)


def _check_names(model: bytes, start: int, number: int, part: str) -> None:
    _require(start + _NAMES.size + 8 * _N_TABLES <= len(model), part)
    mark, size, _, order, n_listed, listed = _NAMES.unpack_from(model, start)
    _require((mark, order, n_listed) == (b"CQDB", _BYTE_ORDER, number), part)
    _require(start + size <= len(model), part)
    names = model[start : start + size]
    tables = _numbers(names, _NAMES.size, 2 * _N_TABLES, part).reshape(-1, 2)
    # Half of the buckets are empty, and there is one full bucket a name.
    _require(int(tables[:, 1].sum()) <= 4 * number + _N_TABLES, part)
    records = [_numbers(names, listed, number, part)]
    for place, n_buckets in tables[tables[:, 1] > 0].tolist():
        buckets = _array(names, place, n_buckets, _BUCKET, part)["place"].astype(np.int64)
        # A search ends at an empty bucket.
        _require(bool(np.any(buckets == 0)), part)
        records.append(buckets[buckets > 0])
    places = np.concatenate(records)
    _require(bool(np.all(places + _RECORD_HEAD < len(names))), part)
    content = np.frombuffer(names, np.uint8)
    ends = places + _RECORD_HEAD + _at(content, places + 4)
    _require(bool(np.all((ends > places + _RECORD_HEAD) & (ends <= len(names)))), part)
    _require(not np.any(content[ends - 1]), part)
    _require(bool(np.all(_at(content, places) < number)), part)
