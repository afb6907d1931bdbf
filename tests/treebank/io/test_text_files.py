from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import pytest

from eigentree.errors import EigentreeError, TreebankFormatError
from eigentree.model_file import save_model
from eigentree.tokenisation.reader import read_text
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.heads import read_head_rules
from eigentree.treebank.io.brackets import read_brackets
from eigentree.treebank.io.conllu import read_conllu, read_dependencies
from eigentree.treebank.io.text_files import Problem, open_text, unreadable, write_whole
from eigentree.treebank.io.unlabelled import read_bracketings
from eigentree.treebank.reader import read_treebank, read_trees
from eigentree.treebank.universal_tags import read_tag_map
from eigentree.words.brown_files import parse_clusters
from eigentree.words.vectors import parse_vectors

TEXT = "(S (NN tea))\n(S (NN thé))\n"


def read(path):
    with open_text(path) as lines:
        return list(lines)


@pytest.fixture
def file(tmp_path):
    def write(content: bytes):
        path = tmp_path / "bank"
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(TEXT.encode(), id="plain"),
        pytest.param(TEXT.encode("utf-8-sig"), id="byte-order mark"),
        pytest.param(TEXT.replace("\n", "\r\n").encode(), id="CR LF"),
        pytest.param(TEXT.replace("\n", "\r").encode(), id="CR"),
        pytest.param(gzip.compress(TEXT.encode()), id="gzip without its name"),
        pytest.param(gzip.compress(TEXT.encode("utf-8-sig")), id="gzip with byte-order mark"),
    ],
)
def test_lines_are_the_same_however_they_are_stored(file, content):
    assert read(file(content)) == TEXT.splitlines(keepends=True)


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\x0c", "\x1e"])
def test_lines_end_at_line_ends_only(file, mark):
    assert read(file(f"a{mark}b\nc".encode())) == [f"a{mark}b\n", "c"]


def test_empty_file_has_no_lines(file):
    assert read(file(b"")) == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(TEXT.encode("utf-16"), "the text is UTF-16", id="UTF-16"),
        pytest.param(TEXT.encode("utf-16-be"), "the text is UTF-16", id="UTF-16 unmarked"),
        pytest.param(TEXT.encode("latin-1"), "bank:2:10: byte 0xe9 is not UTF-8", id="Latin-1"),
        pytest.param(gzip.compress(TEXT.encode("latin-1")), "bank:2:10: ", id="Latin-1 in gzip"),
        pytest.param(gzip.compress(TEXT.encode())[:-9], "damaged compressed file", id="short gzip"),
        pytest.param(
            gzip.compress(b"\xe9" * 20_000)[:-9], "0xe9 is not UTF-8", id="Latin-1 in a short gzip"
        ),
        pytest.param(
            b"\x1f\x8b not gzip", "damaged compressed file|can't be read", id="false gzip"
        ),
    ],
)
def test_what_is_not_utf8_is_refused(file, content, complaint):
    with pytest.raises(TreebankFormatError, match=complaint):
        read(file(content))


@pytest.mark.parametrize("start", [b"", b"(S (NN tea))\n" * 1000])
def test_a_nul_byte_is_located_or_kept(file, start):
    path = file(start + b"(S (NN a\0b))\nend\n")
    line = start.count(b"\n") + 1
    with pytest.raises(TreebankFormatError, match=f"bank:{line}:9: NUL byte, .*a␀b"):
        read(path)
    with open_text(path, keep_bad_bytes=True) as lines:
        *_, bad, good = enumerate(lines, start=1)
    problem = unreadable("bank", *bad)
    assert problem is not None
    assert (problem.line, problem.column) == (line, 9)
    assert unreadable("bank", *good) is None


def test_a_model_is_no_text(tmp_path):
    save_model(tmp_path / "model.egt", {"kind": "x"}, {})
    with (
        pytest.raises(TreebankFormatError, match=r"model.egt: is a model or another binary file"),
        open_text(tmp_path / "model.egt", keep_bad_bytes=True),
    ):
        pass


def test_byte_order_marks_are_dropped_at_the_start_of_any_line(file):
    notices: list[Problem] = []
    path = file("\ufeffa\n\ufeff\ufeffb\nc\ufeffd\n\ufeff".encode())
    with open_text(path, notice=notices.append) as lines:
        assert list(lines) == ["a\n", "b\n", "c\ufeffd\n", ""]
    assert [each.line for each in notices] == [2, 4]
    assert str(notices[0]).endswith("bank:2:1: byte-order mark inside the text dropped")


def test_damage_far_into_a_gzip_file_is_reported(file):
    packed = gzip.compress(os.urandom(60_000).hex().encode())
    with pytest.raises(TreebankFormatError, match="damaged compressed file"):
        read(file(packed[:40_000]))


def test_bad_byte_far_into_a_file_is_found(file):
    with pytest.raises(TreebankFormatError, match="bank:20001:3: byte 0xff"):
        read(file(b"ab\n" * 20_000 + b"ab\xff\n"))


@pytest.mark.parametrize(
    "read_lines",
    [
        lambda lines: next(read_brackets(lines)),
        lambda lines: next(read_trees(lines)),
        lambda lines: next(read_bracketings(lines)),
        lambda lines: next(read_conllu(lines)),
        lambda lines: next(read_text(lines, TokenisationScheme(), name="text")),
        read_head_rules,
        read_tag_map,
        parse_vectors,
        parse_clusters,
    ],
)
def test_a_string_is_not_taken_for_lines(read_lines):
    with pytest.raises(TypeError, match="expected an open file or a list of lines, not one string"):
        read_lines(TEXT)


@pytest.mark.parametrize("read_files", [read_treebank, read_dependencies])
def test_an_open_file_is_not_taken_for_paths(file, read_files):
    with (
        file(TEXT.encode()).open() as lines,
        pytest.raises(TypeError, match="expected a path or a list of paths, not an open file"),
    ):
        read_files(lines)


def test_missing_file_and_folder_are_reported(tmp_path):
    with pytest.raises(TreebankFormatError, match=r"nowhere: can't be read: No such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(TreebankFormatError, match="can't be read: Is a directory"):
        read(tmp_path)


def test_an_error_of_the_caller_passes_through(file):
    with pytest.raises(ZeroDivisionError, match="by zero"), open_text(file(b"a")):
        _ = 1 / 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(pack):
    script = (
        "from eigentree.treebank.io.text_files import *\n"
        "with open_text('-') as f: print(ascii(''.join(f)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=pack(TEXT.encode()), capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == ascii(TEXT)


def test_standard_input_that_is_no_real_file(monkeypatch):
    replaced = io.TextIOWrapper(io.BytesIO(TEXT.encode("utf-8-sig")))
    monkeypatch.setattr(sys, "stdin", replaced)
    assert "".join(read("-")) == TEXT
    assert not replaced.buffer.closed


@pytest.mark.parametrize(("binary", "content"), [(False, "thé\n"), (True, "thé\n".encode())])
def test_a_file_is_written_whole(tmp_path, binary, content):
    path = tmp_path / "out"
    with write_whole(path, binary=binary) as out:
        out.write(content)
        assert not path.exists()
    assert path.read_bytes() == "thé\n".encode()
    assert os.listdir(tmp_path) == ["out"]


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(TypeError, match="must be str"), write_whole(path) as out:
        out.writelines(["half a line", 1])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_new_file_keeps_the_mode_of_the_old(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    with write_whole(path) as out:
        out.write("new")
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_text() == "new"


def test_a_write_protected_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "out"
    path.write_text("old")
    access = os.access  # root may write any file
    monkeypatch.setattr(os, "access", lambda file, mode: mode != os.W_OK and access(file, mode))
    with (
        pytest.raises(EigentreeError, match="out: can't be written: it is write-protected"),
        write_whole(path) as out,
    ):
        out.write("new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with write_whole(tmp_path / "link") as out:
        out.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_devices_are_written_directly():
    with write_whole(os.devnull) as out:
        out.write("gone")
    assert not os.path.isfile(os.devnull)


def test_pipes_are_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reading, writing = os.pipe()
    ends = [os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK), reading]
    # The second is what a shell gives for >(command).
    for path, end in zip([tmp_path / "pipe", f"/dev/fd/{writing}"], ends, strict=True):
        with write_whole(path) as out:
            out.write("thé\n")
        assert os.read(end, 100) == "thé\n".encode()
    for each in (*ends, writing):
        os.close(each)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_file_that_is_open_is_continued(tmp_path):
    with (tmp_path / "out").open("w+") as file:
        file.write("head\n")
        file.flush()
        with write_whole(f"/dev/fd/{file.fileno()}") as out:
            out.write("tree\n")
        file.seek(0, os.SEEK_END)
        file.write("tail\n")
    assert (tmp_path / "out").read_text() == "head\ntree\ntail\n"


def test_standard_output(capsys):
    with write_whole("-") as out:
        out.write("thé\n")
    assert capsys.readouterr().out == "thé\n"


def test_a_file_that_cannot_be_made(tmp_path):
    path = tmp_path / "missing" / "out"
    with pytest.raises(EigentreeError, match="out: can't be written: No such"), write_whole(path):
        pass
