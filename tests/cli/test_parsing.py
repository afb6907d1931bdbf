"""What parsing is for all products: the order of messages, progress, and input from a terminal."""

from __future__ import annotations

import gzip
import io
import sys

import pytest

from eigentree.cli import _common
from eigentree.cli._files import note_waiting
from eigentree.cli._parsing import (
    DelayedErrors,
    InputErrors,
    InputSentence,
    _text_lines,
    count_sentences,
)


def sentence(number):
    return InputSentence(number, f"in:{number}", ["word"], None)


def test_errors_of_sentences_read_ahead_wait_for_these(capsys):
    errors = DelayedErrors()

    def read():
        yield sentence(1)
        errors.remark("in:2: marked")
        errors.report("in:2: wrong")
        yield sentence(2)
        yield sentence(3)
        errors.report("in:4: too many")

    given = list(errors.following(read()))
    assert [each.number for each in given] == [1, 2, 3]
    shown = []
    for _ in given:
        errors.report_next()
        shown.append(capsys.readouterr().err)
    assert shown == ["", "eigentree: in:2: marked\neigentree: in:2: wrong\n", ""]
    with pytest.raises(Exception, match="2"):
        errors.leave()
    assert capsys.readouterr().err == "eigentree: in:4: too many\n"


def test_no_error_is_no_exit():
    DelayedErrors().leave()


def test_sentences_are_counted_where_that_is_cheap(tmp_path):
    plain, marked = tmp_path / "a", tmp_path / "b"
    plain.write_bytes(b"one\r\n\ntwo\rthree")
    assert count_sentences([str(plain), str(plain)], "tokens") == 8
    for input_format in ("raw", "trees"):
        assert count_sentences([str(plain)], input_format) is None
    assert count_sentences([str(plain), "-"], "tokens") is None
    marked.write_bytes(gzip.compress(b"one\n"))
    assert count_sentences([str(marked)], "tokens") is None
    marked.write_text("# a\n1-2\tx\n1\tx\n2\tx\n\n1\tx\n\n")
    assert count_sentences([str(marked)], "conllu") == 2


@pytest.mark.parametrize(
    ("inputs", "is_terminal", "quiet", "is_noted"),
    [
        (["-"], True, False, True),
        (["a", "-"], True, False, True),
        (["-"], False, False, False),
        (["-"], True, True, False),
        (["a"], True, False, False),
    ],
)
def test_waiting_for_a_terminal_is_noted(monkeypatch, capsys, inputs, is_terminal, quiet, is_noted):
    terminal = io.StringIO()
    terminal.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stdin", terminal)
    note_waiting(inputs, quiet=quiet)
    note = "reading from the terminal; end the input with Ctrl-D\n"
    assert capsys.readouterr() == ("", note if is_noted else "")


def test_a_note_on_the_format_is_no_error(capsys):
    lines = ["1\tThe\tthe\tDET\tDT\t_\t0\troot\t_\t_\n"]
    assert list(_text_lines(lines, "in", InputErrors(quiet=True).remark)) == lines
    assert capsys.readouterr().err == ""
    assert list(_text_lines(lines, "in", InputErrors().remark)) == lines
    assert "in looks like CoNLL-U, but is read as raw text" in capsys.readouterr().err


def test_the_bar_shows_what_is_done(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown = []
    monkeypatch.setattr(_common, "_so_far", lambda *given: shown.append(given) or "")
    assert list(_common.track("ab", "parsing")) == ["a", "b"]
    assert shown == [(0, None, "sentence"), (1, None, "sentence"), (2, None, "sentence")]
    assert capsys.readouterr().out == ""
