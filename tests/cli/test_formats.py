"""Formats of trees in all commands: recognised by content, or named in one message."""

from __future__ import annotations

import gzip
import lzma

import pytest
from typer.testing import CliRunner

from eigentree.cli._parsing import read_input
from eigentree.cli.app import app
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.io.negra import EXPORT
from eigentree.treebank.io.tiger import TIGER
from eigentree.treebank.syntax_graph import graph_of_tree

BRACKETS = "(S (NP (NN Tee)) (VP (VAFIN wird) (ADJD kalt)))\n(S (NN Eis))\n"
GRAPHS = [graph_of_tree(parse_tree(line)) for line in BRACKETS.splitlines()]
TREES = {
    "bracketed trees": BRACKETS,
    "NEGRA export": "".join(EXPORT.text(GRAPHS)),
    "TIGER-XML": "".join(TIGER.text(GRAPHS)),
}
CONLLU = "# sent_id = 1\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
XML = '<?xml version="1.0"?>\n<TEI><text>(S (NN a))</text></TEI>\n'


def run(command, *arguments, **options):
    return CliRunner().invoke(app, [*command.split(), *map(str, arguments)], **options)


@pytest.fixture(params=["bank.conllu", "bank.txt", "gzip", "xz"])
def written(request, tmp_path):
    """Write a text under a name that means another format, or none."""

    def write(text):
        data = text.encode()
        compressed = {"gzip": gzip.compress, "xz": lzma.compress}.get(request.param, bytes)
        path = tmp_path / request.param
        path.write_bytes(compressed(data))
        return path

    return write


@pytest.mark.parametrize("name", TREES)
def test_trees_of_any_format_are_checked_drawn_and_scored(written, name):
    path = written(TREES[name])
    done = run("check", path)
    assert (done.exit_code, done.stdout.split()[:2]) == (0, ["2", "trees"])
    plain = run("draw", "-", "--clean", input=BRACKETS)
    assert run("draw", path, "--clean").stdout == plain.stdout
    for command in ("evaluate", "induce evaluate"):
        assert run(command, path, path, "--samples", "1").exit_code == 0


@pytest.mark.parametrize("name", TREES)
def test_standard_input_is_recognised(name):
    text = TREES[name]
    assert run("check", "-", input=text).stdout.split()[:2] == ["2", "trees"]
    plain = run("draw", "--clean", input=BRACKETS).stdout
    assert run("draw", "--clean", input=text).stdout == plain


@pytest.mark.parametrize("name", TREES)
def test_words_and_tags_come_from_trees(written, name, capsys):
    path = written(TREES[name])
    sentences = list(read_input([str(path)], "auto", otherwise="tagged"))
    assert [each.words for each in sentences] == [["Tee", "wird", "kalt"], ["Eis"]]
    assert [each.tags for each in sentences] == [["NN", "VAFIN", "ADJD"], ["NN"]]
    assert capsys.readouterr().err == f"eigentree: {path}: recognised as {name}\n"


def test_other_text_has_the_usual_format(written, capsys):
    path = str(written("(_LRB a_X )_RRB\nTee_NN\n"))
    tagged = list(read_input([path], "auto", otherwise="tagged"))
    assert [each.words for each in tagged] == [["(", "a", ")"], ["Tee"]]
    tokens = list(read_input([path], "auto"))
    assert [each.words for each in tokens] == [["(_LRB", "a_X", ")_RRB"], ["Tee_NN"]]
    assert capsys.readouterr().err == ""


def test_dependencies_are_recognised(written):
    path = written(CONLLU)
    assert run("check", path).stdout.split()[:2] == ["1", "sentence"]
    assert run("check", "-", input=CONLLU).stdout.split()[:2] == ["1", "sentence"]
    assert "root" in run("draw", path).stdout
    assert run("dependencies evaluate", path, path, "--samples", "1").exit_code == 0


def test_trees_and_dependencies_are_checked_apart(tmp_path):
    (tmp_path / "a").write_text(BRACKETS, "utf-8")
    (tmp_path / "b").write_text(CONLLU, "utf-8")
    for files in ([tmp_path / "a", "-"], ["-", tmp_path / "a"]):
        done = run("check", *files, input=CONLLU)
        assert done.exit_code == 2
        assert f"- has dependencies and {tmp_path}/a trees; check them separately" in done.stderr


OTHERS = {
    "CoNLL-U": (CONLLU, 2, "not CoNLL-U; for dependency trees, use eigentree dependencies"),
    "XML": (XML, 1, "not XML with the root element <TEI>; convert the trees first"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "command", ["train {} -o {}.egt", "evaluate {} {}", "induce evaluate {} {}"]
)
def test_constituency_commands_name_other_formats(tmp_path, command, name):
    text, line, problem = OTHERS[name]
    path = tmp_path / "bank.mrg"
    path.write_text(text, "utf-8")
    done = run(command.format(path, path))
    assert done.exit_code == 2
    (message,) = done.stderr.splitlines()
    expected = "expected bracketed trees, NEGRA export or TIGER-XML, "
    assert message.startswith(f"eigentree: {path}:{line}:1: {expected}{problem}")


@pytest.mark.parametrize(
    "command", ["dependencies train {} -o {}.egt", "dependencies evaluate {} {}"]
)
@pytest.mark.parametrize("name", TREES)
def test_dependency_commands_name_other_formats(tmp_path, command, name):
    path = tmp_path / "bank.conllu"
    path.write_text(TREES[name], "utf-8")
    done = run(command.format(path, path))
    assert done.exit_code == 2
    (message,) = done.stderr.splitlines()
    problem = f"expected CoNLL-U, not {name}; for constituency trees, use the command without"
    assert message.startswith(f"eigentree: {path}:1:1: {problem}")


def test_xml_is_named_by_check_and_draw(written):
    path = written(XML)
    for command in ("check", "draw"):
        done = run(command, path)
        assert done.exit_code == 2
        assert "not XML with the root element <TEI>" in done.output
