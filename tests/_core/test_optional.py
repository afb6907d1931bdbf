"""Optional packages: how they are installed from the source."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from eigentree._core.optional import how_to_install, require
from eigentree.errors import SettingsError

ROOT = Path(__file__).resolve().parents[2]


def test_a_missing_package_is_an_error_that_says_what_to_run():
    with (
        pytest.raises(SettingsError, match=r"absent is not installed; run pip install '\.\[s"),
        require("serve"),
    ):
        import absent  # noqa: F401


def test_no_hint_names_a_package_that_is_not_published():
    hints = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if "eigentree[" in path.read_text("utf-8").replace(how_to_install(""), "")
    ]
    assert hints == []


def test_every_extra_that_is_required_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {
        line.split('"')[1]
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if 'require("' in line or 'how_to_install("' in line
    }
    assert named <= set(extras["optional-dependencies"])
    assert len(named) >= 4
