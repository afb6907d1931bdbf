"""What holds for every command: help, unusable input, processes, and a reader that closes early."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import pytest
import typer

from eigentree.bracketing.options import BracketingTrainingOptions
from eigentree.cli import app
from eigentree.constituency.training_options import TrainingOptions
from eigentree.dependency.options import DependencyTrainingOptions
from eigentree.model_file import save_model
from tests.contracts.products import PRODUCTS
from tests.demo import HELD_OUT, demo_trees, run_verb
from tests.samples import text_of, treebank


class Reading(NamedTuple):
    """A command that opens a model and writes a result for each sentence of its input."""

    words: tuple[str, ...]  # of the command line
    product: str
    text: str  # input of more sentences than one batch has
    bad: str  # a sentence that can't be read
    suffix: str = ".txt"
    output: tuple[str, ...] = ()  # options of the output


@cache
def short_sentences(n: int) -> list[tuple[list[str], list[str]]]:
    trees = [tree for tree in demo_trees() if len(tree.words()) <= 7]
    return [(tree.words(), tree.tags()) for tree in (trees * n)[:n]]


@cache
def readings() -> dict[str, Reading]:
    sentences = short_sentences(40)
    plain = "".join(" ".join(words) + "\n" for words, _ in sentences)
    pairs = (map("_".join, zip(words, tags, strict=True)) for words, tags in sentences)
    tagged = "".join(" ".join(each) + "\n" for each in pairs)
    trees = text_of(treebank(40, 4))
    conllu = ("dependencies", "parse", "--input-format", "conllu")
    return {
        "parse": Reading(
            ("parse", "--input-format", "tagged"), "constituency", tagged, "a_\n",
            output=("--output-format", "json"),
        ),
        "surprisal": Reading(("surprisal",), "constituency", plain, "caf\udce9\n"),
        "dependencies parse": Reading(
            conllu, "dependency", trees, "1\tonly\tthree\n\n", ".conllu",
            output=("--confidence",),
        ),
        "induce parse": Reading(("induce", "parse"), "bracketing", tagged, "a_\n"),
    }  # fmt: skip


READING = ("parse", "surprisal", "dependencies parse", "induce parse")
reading_commands = pytest.mark.parametrize("name", READING)


def input_file(reading: Reading, folder: Path, times: int = 1) -> Path:
    path = folder / f"in{reading.suffix}"
    path.write_bytes((reading.text * times).encode("utf-8", "surrogateescape"))
    return path


def bad_file(reading: Reading, folder: Path) -> Path:
    """Sentences that can't be read among others, in several batches."""
    text = (reading.bad + reading.text) * 2 + reading.bad
    return input_file(reading._replace(text=text), folder)


@cache
def model_of(product: str) -> Path:
    path = Path(mkdtemp()) / "model.egt"
    PRODUCTS[product].make().save(path)
    return path


def commands() -> Iterator[tuple[str, ...]]:
    """The words of every command, groups included."""
    for name in app.COMMANDS:
        loaded = app.load_command(name)
        yield (name,)
        if isinstance(loaded, typer.core.TyperGroup):
            for below in loaded.commands:
                yield (name, below)


COMMANDS = tuple(commands())
PYTHON = re.compile(r"<class|\b(?:str|int|float|bool|NoneType|Optional|Literal|INTEGER|FLOAT)\b")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_for_users(words):
    code, out, err = run_verb(*words, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: eigentree {' '.join(words)}")
    assert PYTHON.findall(out) == []


HEAVY = {"numba", "scipy", "sklearn", "matplotlib", "pycrfsuite", "nltk", "pandas", "spacy"}


def test_help_of_no_command_loads_anything_heavy():
    script = (
        "import contextlib, io, sys\n"
        "from eigentree.cli.app import main\n"
        f"for words in {COMMANDS!r}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main([*words, '--help'])\n"
        f"print(*sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@reading_commands
def test_a_missing_file_is_one_sentence(name, tmp_path):
    reading = readings()[name]
    code, out, err = run_verb(
        *reading.words, "-m", model_of(reading.product), tmp_path / "none", "--quiet"
    )
    assert (code, out) == (2, "")
    assert err.startswith(f"eigentree: {tmp_path / 'none'}: ")
    assert err.count("\n") == 1


@reading_commands
@pytest.mark.parametrize("content", [b"", b"not a model", b"\x80\x04\x95"])
def test_a_file_that_is_no_model_is_one_sentence(name, content, tmp_path):
    reading = readings()[name]
    (tmp_path / "bad.egt").write_bytes(content)
    code, out, err = run_verb(
        *reading.words, "-m", tmp_path / "bad.egt", input_file(reading, tmp_path)
    )
    assert (code, out) == (2, "")
    assert err.startswith(f"eigentree: {tmp_path / 'bad.egt'}: ")
    assert err.count("\n") == 1


@reading_commands
def test_a_model_of_another_product_is_one_sentence(name, tmp_path):
    reading = readings()[name]
    other = "dependency" if reading.product != "dependency" else "constituency"
    code, out, err = run_verb(*reading.words, "-m", model_of(other), input_file(reading, tmp_path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "is a model of kind" in err


@pytest.mark.parametrize(
    "words",
    [
        ("surprisal",),
        ("dependencies", "parse"),
        ("induce", "parse"),
        ("decompose", "-o", "new.egt"),
        ("retrain", HELD_OUT, "-o", "new.egt"),
        ("automaton", "score"),
        ("dependencies", "states", HELD_OUT, "--head", "VERB"),
    ],
    ids=lambda words: " ".join(map(str, words[:2])),
)
def test_an_ensemble_where_a_model_is_expected_is_one_sentence(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net").mkdir()
    save_model("net/ensemble.egt", {"kind": "ensemble"}, {})
    Path("in").write_text("a\n")
    given = (*words, "in") if words[0] not in ("decompose", "retrain") else words
    code, out, err = run_verb(*given, "-m", "net")
    assert (code, out) == (2, "")
    assert err.startswith("eigentree: net: is the folder of an ensemble; expected a model file")
    assert err.count("\n") == 1
    code, _, err = run_verb(*given, "-m", "net/ensemble.egt")
    assert code == 2
    assert err.startswith("eigentree: net/ensemble.egt: is a model of kind 'ensemble'; expected")
    assert err.endswith("; it is the index of an ensemble; name the folder that it is in\n")


def test_the_index_of_an_ensemble_is_described_in_its_folder(tmp_path):
    save_model(tmp_path / "ensemble.egt", {"kind": "ensemble"}, {})
    code, out, err = run_verb("inspect", tmp_path / "ensemble.egt")
    assert (code, out) == (2, "")
    assert err.endswith("is the index of an ensemble; name the folder that it is in\n")


@reading_commands
def test_no_input_is_no_output(name, tmp_path):
    reading = readings()[name]
    path = input_file(reading, tmp_path, times=0)
    code, out, err = run_verb(*reading.words, "-m", model_of(reading.product), path, "--quiet")
    assert code == 0
    assert out.count("\n") <= 1  # a table has a row of headings
    assert err == ""


@pytest.mark.slow
@reading_commands
def test_processes_change_neither_output_nor_messages(name, tmp_path):
    reading = readings()[name]
    path = bad_file(reading, tmp_path)
    arguments = (*reading.words, *reading.output, "-m", model_of(reading.product), path)
    code, out, err = alone = run_verb(*arguments)
    assert code == 2
    assert out.count("\n") >= 40
    # The messages are in the order of the lines that they are about.
    numbers = [int(found) for found in re.findall(rf"{re.escape(str(path))}:(\d+):", err)]
    assert len(numbers) >= 3
    assert numbers == sorted(numbers)
    assert run_verb(*arguments, "--jobs", "2") == alone


@pytest.mark.slow
@reading_commands
def test_a_reader_that_closes_early_is_no_error(name, tmp_path):
    reading = readings()[name]
    path = input_file(reading, tmp_path, times=20)
    words = [*reading.words, "-m", str(model_of(reading.product)), str(path), "--quiet"]
    with subprocess.Popen(
        [sys.executable, "-m", "eigentree", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(120) == 141


FILES = {
    "check": (),
    "train": ("-o", "model.egt"),
    "evaluate": (str(HELD_OUT),),
    "draw": (),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"(S (A b)", b"\xff\xfe(\x00"])
def test_a_damaged_treebank_is_reported_without_a_traceback(name, content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.mrg").write_bytes(content)
    code, out, err = run_verb(name, "bad.mrg", *FILES[name])
    assert code in (1, 2)
    assert "bad.mrg" in out + err
    assert "Traceback" not in out + err


def options_of(words: tuple[str, ...]) -> dict[str, typer.core.TyperOption]:
    command = app.load_command(words[0])
    for word in words[1:]:
        command = command.commands[word]
    return {name: each for each in getattr(command, "params", []) for name in each.opts}


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (("train",), TrainingOptions().method),
        (("dependencies", "train"), DependencyTrainingOptions().automata.method),
        (("induce", "train"), BracketingTrainingOptions().method),
    ],
    ids=("train", "dependencies train", "induce train"),
)
def test_the_default_method_is_that_of_python(words, method):
    assert options_of(words)["--method"].default == method


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_shared_options_are_spelt_alike(words):
    options = options_of(words)
    short = {"-m": "--model", "-q": "--quiet", "-j": "--jobs"}
    for letter, name in short.items():
        assert (letter in options) is (name in options)
    if "-o" in options:
        assert {"--output-file", "--output-folder"} & set(options["-o"].opts)
