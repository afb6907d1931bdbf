"""Options that several commands share, and how a model is named."""

from __future__ import annotations

import pytest

from eigentree.cli._options import model_and_files
from eigentree.cli._training import check_used
from eigentree.errors import SettingsError
from tests.demo import run_verb


def test_the_model_is_an_option_or_the_first_argument():
    assert model_and_files("m.egt", ["a.mrg"], "TREES") == ("m.egt", ["a.mrg"])
    assert model_and_files(None, ["m.egt", "a.mrg"], "TREES") == ("m.egt", ["a.mrg"])
    assert model_and_files(None, ["m.egt"], "") == ("m.egt", [])
    assert model_and_files("m.egt", ["a", "b", "c"], "FILES...") == ("m.egt", ["a", "b", "c"])


@pytest.mark.parametrize(
    ("model", "arguments", "names", "message"),
    [
        (None, [], "TREES", "no model given; name one with --model"),
        ("", ["a"], "TREES", "--model is empty"),
        (None, ["a"], "TREES", "TREES missing"),
        ("m", ["a", "b"], "TREES", "unexpected argument: b"),
        ("m", ["a"], "", "unexpected argument: a"),
    ],
)
def test_a_missing_model_or_file_is_an_error(model, arguments, names, message):
    with pytest.raises(SettingsError, match=message):
        model_and_files(model, arguments, names)


def test_inspect_takes_the_model_either_way():
    by_argument = run_verb("inspect", "english", "--json")
    assert by_argument[0] == 0
    assert run_verb("inspect", "-m", "english", "--json") == by_argument


def test_an_option_that_the_method_ignores_is_an_error():
    used_by = {"back_off": ("spectral", "em"), "tune": ("spectral",)}
    check_used("pcfg", used_by, {"back_off": None, "tune": False})
    check_used("em", used_by, {"back_off": 0.0, "tune": False})
    with pytest.raises(SettingsError, match="--back-off is for --method spectral and em, not for"):
        check_used("pcfg", used_by, {"back_off": 0.0, "tune": False})
    with pytest.raises(SettingsError, match="--tune is for --method spectral, not for em"):
        check_used("em", used_by, {"back_off": None, "tune": True})
