"""Which files commands read, write and replace."""

from __future__ import annotations

import os

import pytest

from eigentree.cli._files import check_checkpoint, check_inputs, check_output
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.model_file import save_model
from tests.demo import TREEBANK, run_verb


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "demo.egt"
    save_model(path, {"kind": "parser"}, {})
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("The cat slept .\n")
    return path


def test_names_of_bundled_models_are_not_hidden(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"^english is the name of a bundled model; "):
        check_output("english")
    code, _, err = run_verb("ensemble", "train", "--output-folder", "english", TREEBANK)
    assert (code, os.listdir(tmp_path)) == (2, [])
    assert "english is the name of a bundled model" in err
    check_output("./english")


def test_text_replaces_text_and_models_replace_models(model, text):
    check_output(str(text))
    check_output(str(model), model=True)
    check_output("-", ["-"])
    check_output(str(text.parent / "new"), [str(text), "-"])
    with pytest.raises(SettingsError, match=r"text\.txt: exists and is not a model; name another"):
        check_output(str(text), model=True)
    with pytest.raises(SettingsError, match=r"demo\.egt: exists and is a model; name another file"):
        check_output(str(model))
    text.write_bytes(b"")
    check_output(str(text), model=True)


@pytest.mark.parametrize("place", [".", "missing/file", "text.txt/file"])
def test_a_place_where_nothing_can_be_written(text, place):
    with pytest.raises(SettingsError, match="can't be written; name a file in a writable folder"):
        check_output(str(text.parent / place))
    with pytest.raises(SettingsError, match="can't be written"):
        check_checkpoint(text.parent / place, "model.egt", [])


def test_devices_are_written_where_their_folder_is_not_writable(monkeypatch):
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != "/dev" and access(path, mode))
    check_output("/dev/null")
    check_output("/dev/null", model=True)


def test_a_link_is_written_where_it_points(text, tmp_path, monkeypatch):
    folder = tmp_path / "protected"
    folder.mkdir()
    (folder / "link").symlink_to(text)
    protected = {str(folder)}
    monkeypatch.setattr(os, "access", lambda path, _: os.fspath(path) not in protected)
    check_output(str(folder / "link"))
    protected.add(str(tmp_path))
    with pytest.raises(SettingsError, match="link: can't be written"):
        check_output(str(folder / "link"))


def test_a_file_that_is_write_protected_stays(text, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, _mode: os.fspath(path) != str(text))
    with pytest.raises(SettingsError, match=r"text\.txt: can't be written"):
        check_output(str(text))
    with pytest.raises(TreebankFormatError, match=r"text\.txt: can't be read: Permission denied"):
        check_inputs([str(text)])


def test_a_checkpoint_is_a_file_of_its_own(text):
    with pytest.raises(SettingsError, match="must be a file, since it is read again"):
        check_checkpoint("-", "model.egt", [])
    with pytest.raises(SettingsError, match="can't be both the model and its checkpoint"):
        check_checkpoint(text.parent / "x" / ".." / "m.egt", str(text.parent / "m.egt"), [])
    with pytest.raises(SettingsError, match="is an input file"):
        check_checkpoint(text, "model.egt", [str(text)])
    check_checkpoint(None, "model.egt", [])


# The model that -o names in place of -m must survive.
@pytest.mark.parametrize(
    "words",
    [
        ("parse", "TEXT"),
        ("surprisal", "TEXT"),
        ("dependencies", "parse", "TEXT"),
        ("draw", TREEBANK),
        ("words", "brown", "TEXT"),
        ("words", "cca", "TEXT"),
    ],
)
def test_no_command_replaces_a_model_by_text(words, model, text, tmp_path):
    copy = tmp_path / "mine"
    copy.write_bytes(model.read_bytes())
    given = [text if word == "TEXT" else word for word in words]
    code, out, err = run_verb(*given, "-o", copy)
    assert (code, out) == (2, "")
    assert err == f"eigentree: {copy}: exists and is a model; name another file, or remove it\n"
    assert copy.read_bytes() == model.read_bytes()
