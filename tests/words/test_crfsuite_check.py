"""Forged taggers: CRFsuite trusts its models, so nothing that points outside may reach it."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from eigentree.errors import ModelFileError
from eigentree.words.crfsuite_check import check_model
from eigentree.words.tagger import Tagger
from tests.demo import demo_parser

# Numbers of the head, counted from the beginning of CRFsuite's own bytes.
HEAD = struct.Struct("<4sI4s9I")
N_LABELS, N_ATTRIBUTES = 20, 24
FEATURES, LABELS, ATTRIBUTES, LABEL_LISTS, ATTRIBUTE_LISTS = range(28, 48, 4)


def contents() -> tuple[bytes, bytearray]:
    """The line before a model that says what it is, and the model."""
    whole = demo_parser().tagger.to_bytes()
    start = whole.index(b"lCRF")
    return whole[:start], bytearray(whole[start:])


def number(model: bytes, place: int) -> int:
    return struct.unpack_from("<I", model, place)[0]


def test_real_models_pass():
    magic, model = contents()
    check_model(bytes(model))
    again = Tagger.from_bytes(magic + bytes(model))
    assert again.tagset == demo_parser().tagger.tagset
    words = ["The", "dog", "sees", "zorgle"]
    assert again.tag(words) == demo_parser().tagger.tag(words)


@pytest.mark.parametrize(
    ("part", "offset", "value", "message"),
    [
        (None, N_LABELS, 0, "number of labels"),
        (None, N_LABELS, 10**9, "number of labels"),
        (None, N_ATTRIBUTES, 10**9, "attributes"),
        (None, FEATURES, 2**32 - 1, "part FEAT"),
        (None, LABELS, 2**32 - 1, "labels"),
        (None, ATTRIBUTES, 48, "attributes"),
        (None, LABEL_LISTS, 0, "part LFRF"),
        (None, ATTRIBUTE_LISTS, 2**31, "part AFRF"),
        (FEATURES, 8, 10**8, "features"),  # their number
        (FEATURES, 12 + 8, 10**6, "features"),  # the first one's target
        (FEATURES, 12 + 16, 0x7FF80000, "features"),  # and weight, not a number
        (LABELS, 12, 1, "labels"),  # the order of bytes
        (LABELS, 16, 5, "labels"),  # how many have their place listed
        (LABELS, 20, 2**31, "labels"),  # where that list is
        (ATTRIBUTES, 24, 2**31, "attributes"),  # the first hash table
        (ATTRIBUTES, 28, 2**31, "attributes"),  # and its size
        (LABEL_LISTS, 12, 2**32 - 3, "part LFRF"),
        (ATTRIBUTE_LISTS, 12, 2**32 - 3, "part AFRF"),
    ],
)
def test_numbers_that_point_outside(part, offset, value, message):
    _, model = contents()
    start = 0 if part is None else number(model, part)
    struct.pack_into("<I", model, start + offset, value)
    with pytest.raises(ModelFileError, match=rf"the tagger is damaged \({message}\)"):
        check_model(bytes(model))


def test_lists_that_point_at_no_feature():
    _, model = contents()
    first = number(model, number(model, ATTRIBUTE_LISTS) + 12)
    struct.pack_into("<I", model, first + 4, number(model, number(model, FEATURES) + 8))
    with pytest.raises(ModelFileError, match=r"damaged \(part AFRF\)"):
        check_model(bytes(model))


def test_names_without_an_end():
    _, model = contents()
    labels = number(model, LABELS)
    record = labels + number(model, labels + number(model, labels + 20))
    model[record + 8 + number(model, record + 4) - 1] = ord("x")
    with pytest.raises(ModelFileError, match=r"damaged \(labels\)"):
        check_model(bytes(model))


def test_hash_tables_without_an_empty_place():
    _, model = contents()
    labels = number(model, LABELS)
    table = next(
        at for at in range(labels + 24, labels + 24 + 8 * 256, 8) if number(model, at + 4) > 0
    )
    first, size = number(model, table), number(model, table + 4)
    record = number(model, labels + number(model, labels + 20))
    for bucket in range(size):
        struct.pack_into("<I", model, labels + first + 8 * bucket + 4, record)
    with pytest.raises(ModelFileError, match=r"damaged \(labels\)"):
        check_model(bytes(model))


def test_models_cut_anywhere():
    magic, model = contents()
    for length in (0, 11, 12, 47, 48, 60, len(model) // 2, len(model) - 1):
        cut = model[:length]
        if length >= 8:
            struct.pack_into("<I", cut, 4, length)  # as if it were whole
        with pytest.raises(ModelFileError, match=r"is damaged|not a whole tagger"):
            Tagger.from_bytes(magic + bytes(cut))


@pytest.mark.parametrize("wrong", [b"(", b" ", b"\xff", b"\0"])
def test_tags_that_no_tree_can_hold(wrong):
    magic, model = contents()
    labels = number(model, LABELS)
    record = labels + number(model, labels + number(model, labels + 20))
    model[record + 8 : record + 9] = wrong
    with pytest.raises(ModelFileError, match=r"the tagger is damaged \(tags\)"):
        Tagger.from_bytes(magic + bytes(model))


def forge_at_random(n_models: int) -> None:
    """Use forged taggers in this process, which must live through it."""
    magic, model = contents()
    starts = [number(model, place) for place in range(28, 48, 4)]
    refused = 0
    for seed in range(n_models):
        rng = random.Random(seed)
        forged = bytearray(model)
        for _ in range(rng.choice([1, 1, 2, 5])):
            if rng.random() < 0.3:
                forged[rng.randrange(12, len(forged))] = rng.randrange(256)
                continue
            start = rng.choice([12, *starts])
            place = min(start + 4 * rng.randrange(600), len(forged) - 4)
            value = rng.choice([0, 1, 2**31, 2**32 - 1, rng.randrange(len(model))])
            struct.pack_into("<I", forged, place, value)
        try:
            tagger = Tagger.from_bytes(magic + bytes(forged))
        except ModelFileError:
            refused += 1
            continue
        for words in (["The", "dog", "sees", "zorgle"], ["She", "left", "."]):
            tagger.tag(words)
            tagger.marginals(words)
    sys.stdout.write(f"{refused}\n")


@pytest.mark.slow
def test_random_forgeries_do_no_harm():
    # In a process of its own: what the check lets through by mistake would end it.
    call = f"from {__name__} import forge_at_random; forge_at_random(150)"
    command = [sys.executable, "-c", call]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    assert 30 < int(done.stdout) < 150
