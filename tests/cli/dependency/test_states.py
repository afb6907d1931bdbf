"""The verb ``dependencies states``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from eigentree.cli.app import app

# Nouns with an article before them, some with adjectives between.
TREES = [
    ("the D 2, ice N 3, melts V 0", 30),
    ("the D 3, old A 3, ice N 4, melts V 0", 20),
    ("the D 4, old A 4, cold A 4, ice N 5, melts V 0", 10),
    ("snow N 2, falls V 0", 15),
]


def conllu(tree):
    rows = [word.split() for word in tree.split(", ")]
    return "".join(
        f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\tdep\t_\t_\n"
        for number, (form, tag, head) in enumerate(rows, start=1)
    )


def run(*arguments):
    return CliRunner().invoke(app, ["dependencies", *map(str, arguments)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    model, trees = folder / "model.egt", folder / "trees.conllu"
    trees.write_text("\n".join(conllu(tree) for tree, n in TREES for _ in range(n)) + "\n", "utf-8")
    options = "--method spectral --states 3 --lexical none --no-tagger --no-relations --quiet"
    done = run("train", trees, "-o", model, *options.split())
    assert done.exit_code == 0, done.stderr
    return model, trees


def test_tables_tell_the_states_of_a_noun(files):
    done = run("states", *files, "--head", "N", "--clusters", 3)
    assert done.exit_code == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.startswith("left modifiers of N, read from the head outwards\n75 sequences;")
    # Adjectives leave the state in which an article is still to come.
    assert ["1", "75", "20.0", "0.0", "·", "(75)"] in rows
    assert ["3", "60", "100.0", "0.0", "D", "(30),", "A", "D", "(20),", "A", "A", "D", "(10)"] in (
        rows
    )
    assert ["2", "A", "2", "10", "25.0"] in rows


def test_outputs(files, tmp_path):
    done = run("states", *files, "--head", "N", "--output-format", "json")
    told = json.loads(done.stdout)
    assert (told["head"], told["direction"], told["sequences"]) == ("N", "left", 75)
    assert sum(state["stops"] + state["lost"] for state in told["states"]) == 75
    assert sum(each["times"] for each in told["transitions"]) == 60 + 40
    table = tmp_path / "n.txt"
    done = run("states", *files, "--head", "N", "-o", table)
    assert (done.exit_code, done.stdout) == (0, "")
    assert table.read_text("utf-8").startswith("left modifiers of N")
    done = run("states", *files, "--head", "V", "--direction", "right", "--output-format", "dot")
    assert done.stdout.startswith('digraph "right modifiers of V')
    done = run("states", *files, "--head", "", "--direction", "right")
    assert done.stdout.startswith("right modifiers of the root, read")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--head", "X"], "unknown head 'X'; the model has A, D, N, V"),
        (["--head", ""], "the root has no modifiers to its left; give --direction right"),
        (["--head", "unknown tag"], "no word of the files has the tag 'unknown tag'"),
        (
            ["--head", "N", "--clusters", 3, "--distance", 0.5],
            "--clusters and --distance are mutually exclusive",
        ),
        (["--head", "N", "--distance", 3], "distance is 3.0; it must be between 0 and 2"),
        (["--head", "N", "--min-share", 2], "--min-share must be between 0 and 1 (got 2.0)"),
        (["--head", "N", "--clusters", 0], "--clusters must be a whole number, 1 or more (got 0)"),
    ],
)
def test_refusals(files, options, told):
    done = run("states", *files, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr


def test_files_are_kept(files):
    model, trees = files
    done = run("states", model, trees, "--head", "N", "-o", trees)
    assert done.exit_code == 2
    assert "is an input file, so it can't be written" in done.stderr
