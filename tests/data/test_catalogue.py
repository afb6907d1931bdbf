"""The models of the package: found by name, with a card, small, and good for a start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from eigentree import DependencyParser, ModelFileError, Parser
from eigentree.base import available_models
from eigentree.cli.app import app
from eigentree.cli.models import headline, in_markdown
from eigentree.data.catalogue import CONSTITUENTS, DEPENDENCIES, model_names, resolve_model
from eigentree.tokenisation.sentences import split_text

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 15_000_000


def run(*arguments, **options):
    return CliRunner().invoke(app, list(arguments), **options)


def test_each_model_has_a_card():
    assert model_names() == [CONSTITUENTS, DEPENDENCIES]
    for model in available_models():
        card = model.card
        assert card["licence"] == "CC BY-SA 4.0"
        assert card["about"]
        assert card["language"] == "en"
        assert len(card["attribution"]) >= 1
        assert all(data["sentences"] > 100 and data["licence"] for data in card["data"])
        assert all(0.6 < score["value"] < 1 for score in card["scores"])
        assert model.n_bytes == model.path.stat().st_size < MOST_BYTES


def test_the_page_reports_the_cards():
    page = (ROOT / "docs" / "models.md").read_text("utf-8")
    assert page.partition("\n## ")[2] == "\n".join(
        map(in_markdown, available_models())
    ).removeprefix("## ")


def test_the_list_and_the_readme_have_the_scores():
    printed = run("models").stdout
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for model in available_models():
        assert headline(model) in printed
        assert headline(model) in readme


def test_a_file_of_the_same_name_goes_first(tmp_path, monkeypatch):
    assert resolve_model("english").is_file()
    monkeypatch.chdir(tmp_path)
    Path("english").write_text("mine")
    assert resolve_model("english") == Path("english")
    with pytest.raises(ModelFileError, match="english: "):
        Parser.load("english")


def test_a_slip_in_a_name_is_answered_with_the_names():
    with pytest.raises(ModelFileError, match=r"englsh: .*; english and english-dependencies come"):
        Parser.load("englsh")
    with pytest.raises(ModelFileError, match=r"directory$"):
        Parser.load("englsh.egt")


def test_what_lies_about_is_not_taken_for_the_usual_model(tmp_path, monkeypatch):
    (tmp_path / "english").mkdir()
    (tmp_path / "english-dependencies").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert run("parse", input="We waited.\n").exit_code == 0
    assert run("dependencies", "parse", input="We waited.\n").exit_code == 0
    refused = run("parse", "-m", "", input="We waited.\n")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--model is empty" in refused.stderr


@pytest.mark.parametrize("path", ["folder/english", "english.egt", "English", ""])
def test_only_bare_names_are_names(path):
    assert resolve_model(path) == Path(path)


@pytest.mark.slow
def test_surprisal_needs_no_model_of_its_own():
    done = run("surprisal", "-q", input="The cat didn't sleep.\n")
    assert done.exit_code == 0
    words = [row.split("\t")[2] for row in done.stdout.split("\n")[1:-1]]
    assert words == ["The", "cat", "did", "n't", "sleep", ".", ""]


def test_parsers_open_by_name():
    assert Parser.load("english").parse(["The", "cat", "slept", "."]).tree is not None
    arcs = DependencyParser.load("english-dependencies").parse(["She", "saw", "the", "dog", "."])
    assert arcs.heads == [2, 0, 4, 2, 2]
    assert arcs.relations == ["nsubj", "root", "det", "obj", "punct"]


def test_verbs_take_names_and_need_none():
    told = run("models").stdout
    assert all(name in told for name in model_names())
    assert "Verspoor" in run("models", "english").stdout
    assert json.loads(run("models", "english", "--json").stdout)["card"]["language"] == "en"
    assert [each["name"] for each in json.loads(run("models", "--json").stdout)] == model_names()
    default = run("parse", input="The old man the boats.\n")
    assert default.stdout == run("parse", "-m", "english", input="The old man the boats.\n").stdout
    assert default.stdout.startswith("(")
    assert run("dependencies", "parse", input="The old man the boats.\n").stdout.count("\n") >= 7
    assert run("inspect", "english").exit_code == 0


def test_a_name_of_none_is_reported():
    failed = run("models", "klingon")
    assert failed.exit_code == 2
    assert "english-dependencies" in failed.stderr


def test_raw_text_of_the_english_model():
    scheme = Parser.load(resolve_model(CONSTITUENTS)).tokenisation
    text = (
        'He ate 1/2 and 3/4 in Washington D.C. Mr. Lee likes C++ . "Go home," he said.\n\n'
        "It was 3 p.m. Mr. Smith slept."
    )
    assert [" ".join(each.words) for each in split_text(text, scheme)] == [
        "He ate 1/2 and 3/4 in Washington D.C.",
        "Mr. Lee likes C++ .",
        '" Go home , " he said .',
        "It was 3 p.m.",
        "Mr. Smith slept .",
    ]


def test_closing_quotes_of_the_english_model():
    tagger = Parser.load(resolve_model(CONSTITUENTS)).tagger
    tags = tagger.tag(['"', "Go", "home", ",", '"', "he", "said", "."])
    assert (tags[0], tags[4]) == ("``", "''")
