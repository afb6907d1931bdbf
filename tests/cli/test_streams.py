"""Closed standard streams, names of files outside the locale, and limits of memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.demo import run_verb

CLOSED = "eigentree: the output can't be written: standard output is closed\n"
TREE = "(S (NP (DT The) (NN dog)) (VP (VB slept)))\n"


def run(redirection: str, *arguments: str, folder: Path, **variables: str) -> tuple[int, str, str]:
    command = f'"$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "eigentree", *arguments],
        cwd=folder, capture_output=True, encoding="utf-8", env={**os.environ, **variables},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("redirection", "arguments", "code", "error"),
    [
        (">&-", ["models"], 1, CLOSED),
        ("<&-", ["check", "-"], 2, "eigentree: standard input is closed; name a file\n"),
        ("2>&-", ["check", "none.mrg"], 2, ""),
    ],
)
def test_closed_streams(redirection, arguments, code, error, tmp_path):
    found = run(redirection, *arguments, folder=tmp_path)
    assert found[:2] == (code, "")
    assert found[2].startswith(error)
    assert found[2].count("\n") == bool(error)


def test_files_do_not_replace_closed_streams(tmp_path):
    (tmp_path / "a.mrg").write_text(TREE)
    closed = ">&- 2>&- <&-"
    arguments = ["draw", "a.mrg", "-o", "a.txt", "--output-format", "text"]
    assert run(closed, *arguments, folder=tmp_path) == (0, "", "")
    assert "dog" in (tmp_path / "a.txt").read_text("utf-8")


def test_names_of_files_in_the_locale_c(tmp_path):
    (tmp_path / "é日.mrg").write_text(TREE)
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, out, _ = run("", "evaluate", "é日.mrg", "é日.mrg", folder=tmp_path, **locale)
    assert code == 0
    assert "gold: é日.mrg\n" in out
    assert run("", "check", "日.mrg", folder=tmp_path, **locale) == (
        2, "", "eigentree: 日.mrg: can't be read: No such file or directory\n"
    )  # fmt: skip


@pytest.mark.parametrize(("limit", "code"), [(500 << 20, 1), (640 << 20, 0), (-1, 0)])
def test_too_little_address_space(limit, code, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    found = run_verb("models")
    assert found[0] == code
    if code:
        assert found[1:] == (
            "",
            "eigentree: the address space is limited to 500 MB (ulimit -v); "
            "at least 640 MB are required\n",
        )
