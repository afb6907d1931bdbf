"""README and docs are correct: examples are run, and links lead to files that exist.

A block fenced as ``console`` holds lines ``$ command`` (continued by ``> ``), each followed by its
standard output, in which ``...`` matches anything; a command without output must only succeed.  A
block fenced as ``pycon`` is a doctest.  The blocks of one page run in order in one empty folder,
or in the one below it that ``$ cd FOLDER`` names.  A block fenced as ``sh`` is set-up and is not
run: it may only hold the few commands listed here.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
import types
import xml.etree.ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import eigentree
from eigentree.cli.app import COMMANDS
from tests.command_server import CommandServer

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")],
    key=lambda page: page.relative_to(ROOT).parts,
)
GLOSSARY = ROOT / "docs/glossary.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = re.compile(
    r"make (test|test-fast|demo|docs|clean)( SENTENCE=\"[^\"]+\")?( +#.*)?"
    r"|python3 -m venv \.venv|\. \.venv/bin/activate"
    r"|pip install (\.|'\.\[[a-z,]+\]')|pip uninstall eigentree"
    r"|eigentree compile[a-z -]*( +#.*)?"
    r"|pip wheel --wheel-dir wheels '\.\[[a-z,]+\]'"
    r"|pip install --no-index --find-links wheels 'eigentree\[[a-z,]+\]'"
)
LANGUAGES = {"console", "pycon", "sh", "text", "toml", "json", "dockerfile"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MINUTES = 5 * 60

named = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    language: str
    text: str
    line: int


class Command(NamedTuple):
    text: str
    expected: str


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 2)
        for found in FENCE.finditer(text)
    ]


def commands_of(block: Block) -> list[Command]:
    commands: list[Command] = []
    continuing = False
    for line in block.text.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], ""))
            continuing = True
        elif continuing and line.startswith("> "):
            commands[-1] = Command(f"{commands[-1].text}\n{line[2:]}", "")
        else:
            continuing = False
            text, expected = commands[-1]
            commands[-1] = Command(text, f"{expected}{line}\n")
    return commands


def run_command(command: Command, folder: Path, programs: Path | None = None) -> str:
    """Standard output of a command, with the programs of a folder before all others."""
    folders = [*([programs] if programs else []), Path(sys.executable).parent]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]]),
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        ["sh", "-c", command.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=MINUTES,
    )
    if done.returncode != 0:
        pytest.fail(f"$ {command.text}\n{done.stdout}{done.stderr}")
    return done.stdout


def check_command(command: Command, folder: Path, programs: Path | None = None) -> None:
    printed = run_command(command, folder, programs)
    matches = doctest.OutputChecker().check_output(command.expected, printed, FLAGS)
    if command.expected.strip() and not matches:
        pytest.fail(f"$ {command.text}\n{printed}is not\n{command.expected}")


def check_session(block: Block, page: Path, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
    assert test.examples, f"{page}:{block.line}: a session without >>>"
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    assert report == [], "".join(report)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    server = CommandServer(tmp_path_factory.mktemp("programs"))
    yield server.folder
    server.close()


@pytest.mark.slow
@named
def test_examples_of_a_page_run(page, programs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Those of the README are run as a user runs them, each in a process of its own.
    prepared = None if page.name == "README.md" else programs
    names: dict[str, object] = {}
    for block in blocks_of(page):
        if block.language == "console":
            for command in commands_of(block):
                if command.text.startswith("cd "):
                    monkeypatch.chdir(command.text.removeprefix("cd "))
                else:
                    check_command(command, Path.cwd(), prepared)
        elif block.language == "pycon":
            check_session(block, page, names)


@named
def test_blocks_that_are_not_run_are_set_up(page):
    for block in blocks_of(page):
        assert block.language in LANGUAGES, block
        assert ">>>" not in block.text or block.language == "pycon"
        if block.language == "sh":
            for line in block.text.splitlines():
                assert SET_UP.fullmatch(line), f"{page}:{block.line}: {line}"
        if block.language == "text":
            assert not re.search(r"^(\$ |eigentree )", block.text, re.MULTILINE), block


@named
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text("utf-8"))
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert missing == []


def test_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    asked = set(re.findall(r"\bmake ([a-z]+)", (ROOT / "README.md").read_text("utf-8")))
    assert asked >= {"demo", "test"}
    assert {name for name in asked if not re.search(rf"^{name}:", makefile, re.MULTILINE)} == set()


def test_every_command_is_documented():
    told = "".join(page.read_text("utf-8") for page in PAGES)
    assert {verb for verb in COMMANDS if f"eigentree {verb}" not in told} == set()


def test_every_citation_is_in_the_references():
    keys = re.findall(r"^@\w+\{([\w-]+),", (ROOT / "docs/references.bib").read_text("utf-8"), re.M)
    assert len(keys) == len(set(keys))
    cited = {key for page in PAGES for key in re.findall(r"\[@([\w-]+)\]", page.read_text("utf-8"))}
    assert cited - set(keys) == set()
    assert len(cited) >= 5


def made_pages() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "docs/make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_current():
    made = made_pages()
    hint = "run python docs/make_reference.py"
    assert made.PAGE.read_text("utf-8") == made.reference(), hint
    assert made.BIBLIOGRAPHY.read_text("utf-8") == made.bibliography(), hint


def test_the_bibliography_has_every_work():
    keys = re.findall(r"^@\w+\{([\w-]+),", (ROOT / "docs/references.bib").read_text("utf-8"), re.M)
    sections = re.findall(r"^## (.+)$", (ROOT / "docs/bibliography.md").read_text("utf-8"), re.M)
    assert sections == sorted(keys)


@pytest.mark.slow
def test_reference_has_every_option(programs):
    # By another way than the page is made: the words of the help itself.
    told = (ROOT / "docs/reference.md").read_text("utf-8")
    groups = [verb for verb in COMMANDS if f"\n#### eigentree {verb} " in told]
    assert groups == ["ensemble", "automaton", "words", "induce", "dependencies"]
    verbs = [verb for verb in COMMANDS if verb not in groups]
    verbs += re.findall(r"^#### eigentree (.+)$", told, re.MULTILINE)
    for verb in verbs:
        section = re.split(r"\n#{2,4} ", told.split(f"### eigentree {verb}\n")[1])[0]
        done = subprocess.run(
            [programs / "eigentree", *verb.split(), "--help"],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "COLUMNS": "200"},
        )
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", done.stdout)) - {"--help"}
        assert {option for option in options if f"{option}`" not in section} == set(), verb


@pytest.mark.slow
def test_words_of_the_glossary_are_those_of_the_code():
    rows = re.findall(
        r"^\| ([^|]+) \|[^|]+\| ([^|]*) ?\|$", GLOSSARY.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 30
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    names = {name for _, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert {name for name in names if not re.search(rf"\b\w*{name}\w*\b", code)} == set()


def test_glossary_is_in_order():
    terms = re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text("utf-8"), re.MULTILINE)[2:]
    keys = [re.sub(r"[^a-z]", "", term.lower()) for term in terms]
    assert keys == sorted(keys)


def test_reading_order_names_files_that_exist():
    page = (ROOT / "docs" / "reading-order.md").read_text("utf-8")
    files = re.findall(r"`((?:src|tests|docs)/[^`]+)`", page)
    assert 10 <= len(files) <= 20
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'\nversion: "{eigentree.__version__}"\n' in citation
    assert f"## {eigentree.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


@pytest.mark.slow
def test_the_demonstration_runs(tmp_path):
    command = Command(f"DEMO_OUTPUT='{tmp_path}' SENTENCE= sh '{ROOT / 'examples/demo.sh'}'", "")
    printed = run_command(command, tmp_path)
    f1 = re.search(r"^F1, % +([\d.]+)", printed, re.MULTILINE)
    assert f1 is not None, printed
    assert 80 < float(f1[1]) < 100
    assert (
        len(
            re.findall(
                r"^confidence \d+ % \(whole tree\), \d+ % \(mean of brackets\)$",
                printed,
                re.MULTILINE,
            )
        )
        == 3
    )
    drawing = xml.etree.ElementTree.parse(tmp_path / "text.svg")
    words = {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert words >= {"S", "NP", "VP", "children"}
    assert (tmp_path / "demo.egt").stat().st_size > 100_000


# The checker itself, which must detect errors. --------------------------------------


def test_a_block_is_split_into_commands():
    block = Block("console", "$ cat <<E\n> a\n> E\na\n$ true\n", 1)
    assert commands_of(block) == [Command("cat <<E\na\nE", "a\n"), Command("true", "")]


def test_a_wrong_output_is_found(tmp_path):
    check_command(Command("echo one; echo two", "one\n...\n"), tmp_path)
    with pytest.raises(pytest.fail.Exception, match="is not\ntwo"):
        check_command(Command("echo one", "two\n"), tmp_path)


def test_a_failing_command_is_found(tmp_path):
    with pytest.raises(pytest.fail.Exception, match="no such command"):
        check_command(Command("eigentree fly", ""), tmp_path)


def test_a_wrong_session_is_found(tmp_path):
    with pytest.raises(AssertionError, match="Got:"):
        check_session(Block("pycon", ">>> 1 + 1\n3\n", 1), tmp_path, {})
