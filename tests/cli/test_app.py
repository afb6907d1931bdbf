"""The command line around the verbs: exit codes, messages, progress, a reader that leaves."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import types

import pytest

from eigentree import __version__
from eigentree.cli import _commands, _common, app
from eigentree.errors import ModelFileError, TreebankFormatError


@pytest.fixture
def verb(monkeypatch):
    """Adds a verb ``act`` that calls a function of the test's choosing."""

    def add(work):
        def act() -> object:
            return work()

        module = types.ModuleType("eigentree.cli.act")
        module.act = act
        monkeypatch.setitem(sys.modules, "eigentree.cli.act", module)
        monkeypatch.setitem(app.COMMANDS, "act", app.Row("eigentree.cli.act", "Act."))

    return add


GROUPS = ("ensemble", "automaton", "words", "induce", "dependencies")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit, match=r"^\d*$") as leaving:
        app.main(arguments)
    return leaving.value.code


def fail_with(error: BaseException):
    def work() -> None:
        raise error

    return work


def test_help_lists_every_verb(capsys):
    assert run("--help") == 0
    listed = capsys.readouterr().out.split("Commands:")[1]
    assert re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE) == list(app.COMMANDS)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(capsys, option):
    assert run(option) == 0
    assert capsys.readouterr().out == f"eigentree {__version__}\n"


def test_a_verb_writes_and_ends_with_zero(verb, capsys):
    verb(lambda: print("done"))  # noqa: T201
    assert run("act") == 0
    assert capsys.readouterr() == ("done\n", "")


def test_help_of_a_verb_comes_from_its_file(verb, capsys):
    verb(lambda: None)
    assert run("act", "--help") == 0
    assert capsys.readouterr().out.startswith("Usage: eigentree act")


@pytest.mark.parametrize("wrong", [["prase"], ["act", "--depht", "3"], ["--nothing"]])
def test_words_that_mean_nothing_end_with_two(verb, capsys, wrong):
    verb(lambda: None)
    assert run(*wrong) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("eigentree: no such ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "draw x --only 0",
            "--only must be a whole number, 1 or more (got 0); see eigentree draw --help",
        ),
        (
            "draw x --output-format bmp",
            "--output-format must be one of auto, text, svg, png, latex, latex-forest, "
            "latex-qtree, latex-dependency (got bmp); see eigentree draw --help",
        ),
        (
            "parse -j x",
            "--jobs must be between 1 and 1024 (got x); see eigentree parse --help",
        ),
        (
            "parse --threshold x",
            "--threshold must be a number (got x); see eigentree parse --help",
        ),
        (
            "serve --port 80000",
            "--port must be between 0 and 65535 (got 80000); see eigentree serve --help",
        ),
        ("train", "missing argument 'FILES'; see eigentree train --help"),
        ("evaluate - -", "only one of the files can be standard input"),
        (
            "parse --kbset 3",
            "no such option --kbset; did you mean --kbest?; see eigentree parse --help",
        ),
        ("prase", "no such command 'prase'. Did you mean 'parse'?; see eigentree --help"),
        (
            "parse --input t.txt --output out.mrg",
            "no such option --input; name files as arguments (FILES), their format with "
            "--input-format; see eigentree parse --help",
        ),
        (
            "parse t.txt --output=out.mrg",
            "no such option --output; name the file with --output-file (-o), its format with "
            "--output-format; see eigentree parse --help",
        ),
        (
            "parse --format conllu t.txt",
            "no such option --format; name the format of the input with --input-format, the format "
            "of the output with --output-format; see eigentree parse --help",
        ),
        (
            "draw --format=svg x",
            "no such option --format; name the format of the output with --output-format; see "
            "eigentree draw --help",
        ),
        (
            "ensemble train x --out y",
            "no such option --out; name the folder with --output-folder (-o); see eigentree "
            "ensemble train --help",
        ),
        (
            "evaluate --gold a b",
            "no such option --gold; GOLD is an argument; see eigentree evaluate --help",
        ),
        (
            "check --separators - x",
            "--separators is now --function-separators; see eigentree check --help",
        ),
        (
            "automaton learn x",
            "automaton learn is now automaton train; see eigentree automaton --help",
        ),
        (
            "check --on-error raise x",
            "this command has no --on-error: malformed input is always reported, and the rest is "
            "processed; see eigentree check --help",
        ),
        ("--debug draw --only", "option '--only' requires an argument; see eigentree --help"),
    ],
)
def test_usage_errors_are_one_sentence(capsys, arguments, told):
    assert run(*arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(f"eigentree: {told}\n")
    assert err.count("\n") == 1 or "Traceback" in err


@pytest.mark.parametrize("words", [(), *([name] for name in GROUPS)])
def test_a_bare_group_prints_its_help(capsys, words):
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Commands:" in err


def test_american_spellings_of_options_are_accepted(capsys):
    for name in app.COMMANDS:
        command = app.load_command(name)
        for each in [command, *getattr(command, "commands", {}).values()]:
            for option in each.params:
                for british in option.opts:
                    american = re.sub(r"(?<=[ari])is(e|er)\b", r"iz\1", british)
                    if american != british and british.startswith("--") and "noise" not in british:
                        context = types.SimpleNamespace(fail=pytest.fail)
                        assert _commands._known(american, {british: option}, context) == british
    assert run("train", "x", "-o", "y", "--optimize-states", "--method", "pcfg") == 2
    assert "--optimise-states is for --method spectral" in capsys.readouterr().err


def all_commands():
    for name in app.COMMANDS:
        command = app.load_command(name)
        if not hasattr(command, "commands"):
            yield name, command
        else:
            yield from ((f"{name} {below}", each) for below, each in command.commands.items())


def test_help_has_the_arguments_first_and_options_in_groups(capsys):
    for words, command in all_commands():
        assert run(*words.split(), "--help") == 0
        out = capsys.readouterr().out
        titles = re.findall(r"^(\S.*):$", out, re.MULTILINE)
        has_arguments = any(each.param_type_name == "argument" for each in command.params)
        assert ("Arguments" in titles) is has_arguments
        assert not has_arguments or titles[0] == "Arguments"
    assert run("train", "--help") == 0
    ungrouped = capsys.readouterr().out.split("\nOptions:\n")[1].split("\n\n")[0]
    assert len(re.findall(r"^  -", ungrouped, re.MULTILINE)) <= 12


NEW = {
    _commands._READ: {"--input-format"},
    _commands._WRITTEN: {"--output-file", "--output-folder", "--output-format"},
    _commands._FORMATS: {"--input-format", "--output-format"},
}


def test_likely_names_of_files_and_formats_are_answered_with_the_right_ones():
    for words, command in all_commands():
        options = {each: option for option in command.params for each in option.opts}
        arguments = [each.metavar for each in command.params if each.param_type_name == "argument"]
        for spellings, successors in NEW.items():
            for spelling in spellings:
                remedy = _commands._remedy(spelling, options, command)
                named = [each for each in successors if each in options]
                named += arguments if spellings is _commands._READ else []
                assert [each for each in named if each not in remedy] == [], (words, spelling)
                assert bool(remedy) is bool(named)


def test_completion_knows_commands_and_their_options():
    environment = {
        **os.environ,
        "_EIGENTREE_COMPLETE": "complete_bash",
        "COMP_WORDS": "eigentree dependencies parse --inp",
        "COMP_CWORD": "3",
    }
    script = "from eigentree.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.stdout.split() == ["--input-format"]


def test_bad_input_is_one_line_and_two(verb, capsys):
    verb(fail_with(TreebankFormatError("my.mrg:3: a bracket\nis missing")))
    assert run("act") == 2
    assert capsys.readouterr() == ("", "eigentree: my.mrg:3: a bracket is missing\n")


def test_a_missing_file_is_one_line_and_two(verb, capsys, tmp_path):
    verb(lambda: (tmp_path / "none.mrg").read_text())
    assert run("act") == 2
    assert capsys.readouterr().err == (
        f"eigentree: {tmp_path / 'none.mrg'}: No such file or directory\n"
    )


def test_failed_work_is_one_line_and_one(verb, capsys):
    verb(fail_with(ZeroDivisionError("by nought")))
    assert run("act") == 1
    assert capsys.readouterr().err == (
        "eigentree: ZeroDivisionError: by nought (add --debug for a traceback)\n"
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError("Unable to allocate 74.5 GiB"), ": Unable to allocate 74.5 GiB"),
        (MemoryError(), ""),
    ],
)
def test_too_little_memory_is_one_sentence(verb, capsys, error, told):
    verb(fail_with(error))
    assert run("act") == 1
    assert capsys.readouterr().err == (f"eigentree: out of memory{told}\n")


@pytest.mark.parametrize("arguments", [("--debug", "act"), ("act", "--debug")])
def test_debug_shows_where(verb, capsys, arguments):
    verb(fail_with(ZeroDivisionError("by nought")))
    assert run(*arguments) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "in fail_with" in err or "in work" in err
    assert err.endswith("eigentree: ZeroDivisionError: by nought\n")


def test_work_that_failed_with_a_sentence_says_no_more(verb, capsys):
    verb(fail_with(_common.WorkFailedError("the mill has stopped")))
    assert run("act") == 1
    assert capsys.readouterr().err == "eigentree: the mill has stopped\n"


def test_debug_after_two_dashes_is_a_word():
    assert app._debug_first(["parse", "--", "--debug"]) == ["parse", "--", "--debug"]
    assert app._debug_first(["parse", "--debug", "--", "a"]) == ["--debug", "parse", "--", "a"]


def test_a_verb_chooses_its_exit_code(verb):
    import typer

    verb(fail_with(typer.Exit(1)))
    assert run("act") == 1


def test_interruption_ends_as_the_shell_expects(verb):
    verb(fail_with(KeyboardInterrupt()))
    assert run("act") == 130


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_device_is_reported_in_one_line():
    command = [sys.executable, "-m", "eigentree", "check", "--print-heads", "english"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "eigentree: the output can't be written: No space left on device\n"


def test_a_full_disk_is_failed_work_whoever_writes(verb, capsys, tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def save(error):
        try:
            raise error
        except OSError as cause:
            raise ModelFileError(f"m.egt: can't be written: {cause.strerror}") from cause

    for error, code in ((full, 1), (PermissionError(errno.EACCES, "Permission denied"), 2)):
        verb(lambda error=error: save(error))
        assert run("act") == code
        assert capsys.readouterr().err == f"eigentree: m.egt: can't be written: {error.strerror}\n"
    if os.path.exists("/dev/full"):
        trees = tmp_path / "in.mrg"
        trees.write_text("(S (A a) (B b))\n" * 3)
        assert run("train", str(trees), "-o", "/dev/full", "--method", "pcfg", "-q") == 1
        assert capsys.readouterr().err == (
            "eigentree: /dev/full: can't be written: No space left on device\n"
        )


def test_a_reader_that_leaves_is_no_news():
    script = (
        "import sys, types\n"
        "from eigentree.cli import app\n"
        "module = types.ModuleType('endless')\n"
        "def act():\n"
        "    while True:\n"
        "        sys.stdout.write('(S (X x))\\n')\n"
        "module.act = act\n"
        "sys.modules['endless'] = module\n"
        "app.COMMANDS['act'] = app.Row('endless', 'Act.')\n"
        "app.main(['act'])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"(S (X x))\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_progress_off_a_terminal_is_silent_when_quick(capsys):
    assert list(_common.track("abc", "spelling", 3)) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


def test_progress_off_a_terminal_reports_now_and_then(capsys, monkeypatch):
    clock = iter([0.0, 4.0, 11.0, 12.0, 21.5, 30.0])
    monkeypatch.setattr(_common.time, "monotonic", lambda: next(clock))
    with _common.progress("parsing", 40) as advance:
        for _ in range(4):
            advance(10)
    assert capsys.readouterr().err == (
        "parsing: 20 of 40 sentences after 11 s\nparsing: 40 of 40 sentences after 22 s\n"
        "parsing: 40 sentences in 30 s\n"
    )


@pytest.mark.parametrize(
    ("done", "total", "unit", "shown"),
    [
        (1, None, "sentence", "1 sentence"),
        (150, None, "sentence", "150 sentences"),
        (150, 2000, "sentence", "150 of 2000 sentences"),
        (0, 1, "run", "0 of 1 run"),
        (40, 100, "%", "40 %"),
    ],
)
def test_progress_has_a_unit(done, total, unit, shown):
    assert _common._so_far(done, total, unit) == shown


def test_progress_on_a_terminal_keeps_to_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert list(_common.track(range(3), "counting", 3)) == [0, 1, 2]
    assert capsys.readouterr().out == ""


def test_quiet_is_quiet(capsys, monkeypatch):
    monkeypatch.setattr(_common, "SECONDS_BETWEEN_LINES", 0.0)
    assert list(_common.track(range(3), "counting", 3, quiet=True)) == [0, 1, 2]
    _common.message("done", quiet=True)
    assert capsys.readouterr() == ("", "")
