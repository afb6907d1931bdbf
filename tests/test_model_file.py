"""Model files come back as they were, or are refused with the reason."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickletools
import struct
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigentree import model_file
from eigentree.errors import ModelFileError
from eigentree.model_file import ModelFile, is_model, open_model, save_model

HEADER = {"kind": "parser", "labels": ["NP", "名詞", "A|B"], "seed": 7, "smoothing": {"nu": 0.25}}
BLOBS = {"tagger": bytes(range(256)), "empty": b""}


def some_arrays() -> dict[str, np.ndarray[Any, Any]]:
    return {
        "root": np.array(0.5),
        "binary": np.arange(24.0).reshape(2, 3, 4),
        "rules": np.array([[1, 2, 3]], dtype=np.int32),
        "float32": np.array([1.5, -2.5], dtype=np.float32),
        "mask": np.array([True, False, True]),
        "none": np.zeros((0, 5)),
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "small.egt"
    save_model(path, HEADER, some_arrays(), BLOBS)
    return path


def rewrite(path: Path, change: Any) -> None:
    """Change the table and the data of a model file, and give it the right digest again."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    table = json.loads(content[8 : 8 + length])
    data = bytearray(content[8 + length : -32])
    change(table, data)
    text = json.dumps(table).encode()
    text += b" " * (-(8 + len(text)) % 64)
    body = struct.pack("<Q", len(text)) + text + bytes(data)
    path.write_bytes(body + hashlib.sha256(body).digest())


def test_content_comes_back(saved: Path) -> None:
    model = open_model(saved, kind="parser")
    assert isinstance(model, ModelFile)
    assert model.header == HEADER
    assert model.blobs == BLOBS
    assert model.n_bytes == saved.stat().st_size
    assert model.arrays.keys() == some_arrays().keys()
    for name, expected in some_arrays().items():
        actual = model.arrays[name]
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        assert np.array_equal(actual, expected)


@given(
    array=hnp.arrays(
        dtype=st.one_of(
            hnp.floating_dtypes(sizes=(32, 64)), hnp.integer_dtypes(), hnp.boolean_dtypes()
        ),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements={"allow_nan": False, "allow_infinity": False},
    ),
    name=st.text(min_size=1, max_size=5).filter(lambda name: name.isprintable()),
    blob=st.binary(max_size=20),
)
def test_any_array_comes_back(
    tmp_path_factory: pytest.TempPathFactory, array: Any, name: str, blob: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "any.egt"
    save_model(path, {}, {name: array, "F": np.asarray(array, order="F")}, {name: blob})
    model = open_model(path)
    assert np.array_equal(model.arrays[name], array)
    assert np.array_equal(model.arrays["F"], array)
    assert model.arrays[name].dtype == array.dtype.newbyteorder("<")
    assert model.blobs[name] == blob


def test_empty_model(tmp_path: Path) -> None:
    save_model(tmp_path / "empty.egt", {}, {})
    model = open_model(tmp_path / "empty.egt")
    assert (model.header, model.arrays, model.blobs) == ({}, {}, {})


def test_any_safetensors_reader_opens_it(saved: Path) -> None:
    with safetensors.safe_open(saved, framework="numpy") as file:
        assert json.loads(file.metadata()["header"]) == HEADER
        for name, expected in some_arrays().items():
            assert np.array_equal(file.get_tensor(f"array:{name}"), expected)


def test_same_content_same_bytes(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.egt"
    arrays = {name: some_arrays()[name] for name in reversed(some_arrays())}
    arrays["binary"] = np.asfortranarray(arrays["binary"]).astype(">f8")
    header = {name: HEADER[name] for name in reversed(HEADER)}
    save_model(again, header, arrays, dict(reversed(BLOBS.items())))
    assert again.read_bytes() == saved.read_bytes()
    save_model(again, header | {"seed": 8}, arrays, BLOBS)
    assert again.read_bytes() != saved.read_bytes()


def test_arrays_are_read_only_aligned_views(saved: Path) -> None:
    for array in open_model(saved).arrays.values():
        assert array.flags.aligned
        assert array.flags.c_contiguous
        assert not array.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_arrays_outlive_the_file_object_and_its_name(saved: Path) -> None:
    binary = open_model(saved).arrays["binary"]
    save_model(saved, {}, {})
    saved.unlink()
    assert np.array_equal(binary, some_arrays()["binary"])


def test_every_flipped_byte_is_found(saved: Path) -> None:
    content = saved.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        saved.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"small\.egt"):
            open_model(saved)


def test_every_cut_is_found(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"small\.egt"):
            open_model(saved)
        with pytest.raises(ModelFileError, match=r"small\.egt"):
            open_model(saved, verify=False)


def test_bytes_after_the_end(saved: Path) -> None:
    with saved.open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ModelFileError, match="bytes and should have"):
        open_model(saved)


def test_messages_for_damage(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[-40] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="content doesn't match its digest; copy it again"):
        open_model(saved)
    saved.write_bytes(content[:-40])
    with pytest.raises(ModelFileError, match=r"has \d+ bytes and should have \d+"):
        open_model(saved)
    content[20:24] = b"\xff\xff\xff\xff"
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="its table can't be read"):
        open_model(saved)


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("header.json", "{}")
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x80\x04N.", "looks like a pickle, which could run code"),
        (zipped(), "isn't an eigentree model"),
        (b"(S (NP it) (VP works))\n" * 50, "isn't an eigentree model"),
        (b"\0" * 100, "isn't an eigentree model"),
        (b"\xff" * 100, "isn't an eigentree model"),
        (safetensors.numpy.save({"array:a": np.ones(3)}), "isn't an eigentree model"),
        (struct.pack("<Q", 9000) + b"[" * 9000, "isn't an eigentree model"),
    ],
    ids=["empty", "pickle", "zip", "text", "zeros", "ones", "safetensors", "deep JSON"],
)
def test_foreign_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "foreign.egt"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        open_model(path)


def test_a_pickle_is_what_the_message_says() -> None:
    # The case above is a real pickle, not only bytes that look like one.
    names = [operation.name for operation, _, _ in pickletools.genops(b"\x80\x04N.")]
    assert names == ["PROTO", "NONE", "STOP"]


def unchanged(_table: Any, _data: Any) -> None:
    pass


def version(table: Any, _: Any) -> None:
    table["__metadata__"]["version"] = "9"


def older(table: Any, _: Any) -> None:
    table["__metadata__"]["version"] = "1"


def listed_header(table: Any, _: Any) -> None:
    table["__metadata__"]["header"] = "[1]"


def doubled_key(table: Any, _: Any) -> None:
    table["__metadata__"]["header"] = '{"kind": "parser", "kind": "parser"}'


def extra_member(table: Any, _: Any) -> None:
    digest = table.pop("sha256")
    start = digest["data_offsets"][0]
    table["surprise"] = {"dtype": "U8", "shape": [0], "data_offsets": [start, start]}
    table["sha256"] = digest


def signed_blob(table: Any, _: Any) -> None:
    table["blob:tagger"]["dtype"] = "I8"


def unknown_type(table: Any, _: Any) -> None:
    table["array:binary"]["dtype"] = "F8"


def other_shape(table: Any, _: Any) -> None:
    table["array:binary"]["shape"] = [2, 3, 5]


def negative_shape(table: Any, _: Any) -> None:
    table["array:binary"]["shape"] = [-2, -3, 4]


def endless_shape(table: Any, _: Any) -> None:
    table["array:none"]["shape"] = [0, 2**62, 2**62]


def overlapping(table: Any, _: Any) -> None:
    offsets = table["array:root"]["data_offsets"]
    table["array:root"]["data_offsets"] = [offsets[0] - 8, offsets[1] - 8]


def misaligned(table: Any, data: bytearray) -> None:
    data[0:0] = b"x"
    table["array:first"] = {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}
    for name in [name for name in table if name not in ("__metadata__", "array:first")]:
        entry = table.pop(name)
        entry["data_offsets"] = [offset + 1 for offset in entry["data_offsets"]]
        table[name] = entry


def digest_missing(table: Any, _: Any) -> None:
    table["blob:sha256"] = table.pop("sha256")


def not_a_number(table: Any, data: bytearray) -> None:
    start = table["array:binary"]["data_offsets"][0]
    data[start : start + 8] = struct.pack("<d", float("nan"))


def infinite(table: Any, data: bytearray) -> None:
    end = table["array:float32"]["data_offsets"][1]
    data[end - 4 : end] = struct.pack("<f", float("-inf"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (version, r"version '9' of the model format by eigentree .*reads versions 1, 2, 3 and 4"),
        (listed_header, "header isn't a JSON object"),
        (doubled_key, "header isn't a JSON object"),
        (extra_member, "holds 'surprise', which no model has"),
        (signed_blob, "holds 'blob:tagger', which no model has"),
        (unknown_type, "the entry of 'array:binary' in its table is wrong"),
        (other_shape, "the entry of 'array:binary' in its table is wrong"),
        (negative_shape, "the entry of 'array:binary' in its table is wrong"),
        (endless_shape, "array 'none' can't have shape"),
        (overlapping, "the entry of 'array:root' in its table is wrong"),
        (misaligned, "in its table is wrong"),
        (digest_missing, "the digest at its end is missing"),
        (not_a_number, "array 'binary' holds values that aren't finite"),
        (infinite, "array 'float32' holds values that aren't finite"),
    ],
)
def test_files_made_wrongly_but_with_a_right_digest(saved: Path, change: Any, message: str) -> None:
    rewrite(saved, unchanged)
    open_model(saved)
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=message):
        open_model(saved)


def test_the_version_before_is_read(saved: Path) -> None:
    before = open_model(saved)
    rewrite(saved, older)
    after = open_model(saved)
    assert after.header == before.header
    assert sorted(after.arrays) == sorted(before.arrays)


def test_another_kind(saved: Path) -> None:
    with pytest.raises(ModelFileError, match="kind 'parser'; expected 'ensemble'"):
        open_model(saved, kind="ensemble")


def test_without_verification_only_the_layout_is_checked(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[-1] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="digest"):
        open_model(saved)
    assert open_model(saved, verify=False).header == HEADER


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("parser", "it is for eigentree parse"),
        ("automaton", "it is for eigentree automaton"),
        ("ensemble", "it is the index of an ensemble; name the folder that it is in"),
        ("reranker", "it is part of an ensemble; name the ensemble's folder"),
        ("expectation maximisation", "it is a checkpoint, from which a training resumes"),
    ],
)
def test_another_kind_comes_with_its_use(tmp_path: Path, kind: str, use: str) -> None:
    save_model(tmp_path / "m.egt", {"kind": kind}, {})
    with pytest.raises(ModelFileError) as found:
        open_model(tmp_path / "m.egt", kind="bracketing parser")
    assert str(found.value) == (
        f"{tmp_path / 'm.egt'}: is a model of kind '{kind}'; expected 'bracketing parser'; {use}"
    )


def test_bundled_models_are_called_by_their_names() -> None:
    with pytest.raises(ModelFileError, match=r"^english: is a model of kind 'parser'; expected"):
        open_model("english", kind="automaton")
    assert open_model("english").name == "english"


def test_the_folder_of_an_ensemble_is_recognised(tmp_path: Path) -> None:
    save_model(tmp_path / "ensemble.egt", {"kind": "ensemble"}, {})
    with pytest.raises(ModelFileError) as found:
        open_model(tmp_path, kind="dependency parser")
    assert str(found.value) == (
        f"{tmp_path}: is the folder of an ensemble; expected a model file of kind 'dependency "
        "parser'; an ensemble is for eigentree parse, calibrate, reliability, inspect and serve"
    )


def test_what_begins_like_a_model(tmp_path: Path, saved: Path) -> None:
    assert is_model(saved)
    saved.write_bytes(saved.read_bytes()[:300])
    assert is_model(saved)
    (tmp_path / "text").write_text("eigentree model")
    assert not is_model(tmp_path / "text")


def test_folder_pipe_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is a folder; expected a model file"):
        open_model(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is no regular file; expected a model file"):
        open_model(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match=r"none\.egt: can't be read: No such file"):
        open_model(tmp_path / "none.egt")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.array([1.0, np.nan])}, "array 'a' holds values that aren't finite"),
        ({"a": np.array([np.inf], dtype=np.float32)}, "array 'a' holds values that aren't finite"),
        ({"a": np.array([None])}, "array 'a' has the type object"),
        ({"a": np.array(["word"])}, "array 'a' has the type <U4"),
        ({"a": np.array([1j])}, "array 'a' has the type complex128"),
        ({"a": np.zeros(2, dtype=np.float16)}, "array 'a' has the type float16"),
    ],
)
def test_arrays_that_cannot_be_stored(tmp_path: Path, arrays: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        save_model(tmp_path / "a.egt", {}, arrays)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"states": (1, 2)}, "lists, not tuples"),
        ({3: "three"}, "string keys"),
        ({"value": float("nan")}, "can't be written as JSON"),
        ({"value": {1, 2}}, "can't be written as JSON"),
        ({"label": "\ud800"}, "can't be written as JSON"),
    ],
)
def test_headers_that_cannot_be_stored(tmp_path: Path, header: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        save_model(tmp_path / "a.egt", header, {})
    assert list(tmp_path.iterdir()) == []


def test_a_header_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "_LONGEST_TABLE", 10_000)
    save_model(tmp_path / "a.egt", {"note": "x" * 9_000}, {})
    with pytest.raises(ModelFileError, match=r"the header takes .* put large tables into arrays"):
        save_model(tmp_path / "b.egt", {"note": "x" * 10_000}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["a.egt"]


def test_unwritable_places(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="can't be written: No such file"):
        save_model(tmp_path / "missing" / "a.egt", {}, {})
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelFileError, match="can't be written: Not a directory"):
        save_model(tmp_path / "file" / "a.egt", {}, {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match="can't be written"):
        save_model(tmp_path / "folder", {}, {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def run_python(code: str, *arguments: str) -> str:
    """Run `code` in a fresh process, so that limits and memory are its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_permission(saved: Path) -> None:
    saved.chmod(0o000)
    saved.parent.chmod(0o500)
    output = run_python(
        """
        import os, sys
        from eigentree.errors import ModelFileError
        from eigentree.model_file import open_model, save_model
        if os.geteuid() == 0:
            os.seteuid(65534)  # nothing is forbidden to root
        for action in (lambda path: save_model(path, {}, {}), open_model):
            try:
                action(sys.argv[1])
            except ModelFileError as error:
                print(error)
        """,
        str(saved),
    )
    assert "small.egt: can't be written: Permission denied" in output
    assert "small.egt: can't be read: Permission denied" in output


def test_a_full_disk_leaves_the_old_model(saved: Path) -> None:
    # A limit on file sizes fails a write half-way, as a full disk does.
    before = saved.read_bytes()
    output = run_python(
        """
        import resource, sys
        import numpy as np
        from eigentree.errors import ModelFileError
        from eigentree.model_file import save_model
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            save_model(sys.argv[1], {}, {"a": np.zeros(1_000_000)})
        except ModelFileError as error:
            print(error)
        """,
        str(saved),
    )
    assert "small.egt: can't be written: File too large" in output
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["small.egt"]


def test_opening_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.egt"
    save_model(path, {}, {"a": np.ones((10, 1_000_000)), "b": np.zeros(100)})
    output = run_python(
        """
        import os, sys
        from eigentree.model_file import open_model
        def resident() -> int:
            pages = open("/proc/self/statm").read().split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        before = resident()
        model = open_model(sys.argv[1])
        opened = resident()
        total = float(model.arrays["a"].sum())
        print(opened - before, resident() - opened, total)
        """,
        str(path),
    )
    opening, using, total = output.split()
    assert float(total) == 1e7
    assert int(opening) < 20_000_000
    assert int(using) > 60_000_000  # so the map isn't counted before it is used
