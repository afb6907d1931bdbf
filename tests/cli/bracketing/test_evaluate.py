"""The verb ``induce evaluate``: report, notations, pairing, exit codes."""

import json

import pytest

from eigentree.cli import app

GOLD = """\
( (S (NP-SBJ (DT the) (NN cook)) (VP (VBD slept)) (. .)))
( (S (NP-SBJ (NN ice)) (VP (VBZ melts)) (. .)))
( (S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT the) (JJ old) (NN dog))) (. .)))
"""
PLAIN = """\
((the cook) slept .)

(the (cat (saw ((the old) dog))))
"""


def run(*arguments):
    with pytest.raises(SystemExit, match=r"^\d*$") as leaving:
        app.main(("induce", "evaluate", *arguments))
    return leaving.value.code


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Writes files by name into an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text, "utf-8")
        return list(texts)

    return write


def cells(out):
    return [line.split() for line in out.splitlines()]


def test_report(files, capsys):
    arguments = ("--notation", "plain", "--length", "3", "--baselines", "--samples", "20")
    assert run(*files(gold=GOLD, parsed=PLAIN), *arguments) == 0
    out = capsys.readouterr().out
    assert out.startswith("gold: gold\nparsed: parsed\n")
    for row in (
        "up to 3 all",
        "sentences of two words or more 2 3",
        "of these, without a gold span 1 1",
        "F1 of parses, % 80.00 71.43",
        "F1 of parses, % 50.00 52.38",
        "F1 of left-branching, % 100.00 66.67",
        "F1 of right-branching, % 66.67 66.67",
        "F1 of best binary, % 100.00 93.33",
        "left out as punctuation: words of Unicode punctuation",
        "gold:2: sentence 2: no parse",
    ):
        assert row.split() in cells(out), row


def test_report_for_programs(files, capsys):
    assert run(*files(gold=GOLD, parsed=PLAIN), "--notation", "plain", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    figures = told["parses"]["figures"]
    assert [one["longest"] for one in figures] == [10, 20, 30, 40, None] * 2
    assert figures[0]["convention"] == "klein-manning"
    assert abs(figures[0]["f1"] - 5 / 7) < 1e-12
    low, high = figures[0]["interval"]
    assert low <= 5 / 7 <= high
    assert told["parses"]["not_compared"][0]["status"] == "missing"


def test_table_of_sentences(files, capsys):
    names = files(gold=GOLD, parsed=GOLD)
    assert run(*names, "--per-sentence", "-", "--samples", "0") == 0
    header, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert header[:4] == ["sentence", "place", "status", "length"]
    assert [row[3:8] for row in rows] == [
        ["3", "2", "2", "2", "1"],
        ["2", "1", "1", "1", "1"],
        ["6", "4", "4", "4", "1"],
    ]


def test_other_words_are_reported(files, capsys):
    names = files(gold=GOLD, parsed=GOLD.replace("melts", "melted"))
    assert run(*names) == 1
    out = capsys.readouterr().out
    assert "gold:2: sentence 2: word 2 is 'melts' in gold and 'melted' in the parse" in out


def test_alignment(files, capsys):
    cook, _, cat = PLAIN.splitlines()
    names = files(gold=GOLD, parsed=f"{cat}\n(who ?)\n{cook}\n")
    assert run(*names, "--notation", "plain", "--align") == 1
    out = capsys.readouterr().out
    assert "parsed: 1 parse has words that match no remaining gold sentence, on line 2" in out
    assert ["F1", "of", "parses,", "%", "71.43", "71.43", "71.43", "71.43", "71.43"] in cells(out)


def test_files_of_different_length(files, capsys):
    first, second, third = GOLD.splitlines()
    assert run(*files(gold=GOLD, parsed=f"{first}\n\n{third}\n"), "--samples", "0") == 0
    assert "gold:2: sentence 2: no parse" in capsys.readouterr().out
    assert run(*files(gold=GOLD, parsed=f"{first}\n{second}\n"), "--samples", "0") == 1
    assert "parsed has 2 parses and gold 3, paired in order" in capsys.readouterr().out


def test_malformed_lines_cost_one_sentence(files, capsys):
    names = files(gold=GOLD, parsed=PLAIN.replace("((the cook)", "((the cook"))
    assert run(*names, "--notation", "plain") == 2
    assert "parsed:1:19: bracket is never closed" in capsys.readouterr().err
    assert run(*names, "--notation", "plain", "--on-error", "skip") == 1
    assert "sentence 1: no parse" in capsys.readouterr().out


def test_gold_trees_that_cannot_be_used(files, capsys):
    first, _, third = GOLD.splitlines()
    names = files(gold=f"{first}\n(())\n{third}\n", parsed=PLAIN)
    assert run(*names, "--notation", "plain", "--samples", "0") == 1
    out = capsys.readouterr().out
    assert "gold:2: no gold tree" in out
    assert ["F1", "of", "parses,", "%", "76.92", "76.92", "76.92", "76.92", "76.92"] in cells(out)
    assert run(*files(gold="(())\n", parsed=PLAIN)) == 2
    assert "gold: no gold trees to score against" in capsys.readouterr().err


def test_punctuation_that_counts_is_reported(files, capsys):
    names = files(gold=GOLD, parsed=GOLD)
    assert run(*names, "--punctuation-tags", "PU") == 0
    assert "3 counted words are Unicode punctuation: ." in capsys.readouterr().out
    assert run(*names, "--punctuation", "penn") == 0
    assert "by Unicode" not in capsys.readouterr().out


def test_empty_elements_of_other_names(files, capsys):
    text = "(S (E *) (NP (D the) (N cook)) (V slept))\n"
    assert run(*files(gold=text, parsed=text), "--empty-labels", "E", "--samples", "0") == 0
    assert ["F1", "of", "parses,", "%", "100.00", "100.00", "100.00", "100.00", "100.00"] in cells(
        capsys.readouterr().out
    )


def test_requests_without_a_meaning(files, capsys):
    names = files(gold=GOLD, parsed=GOLD)
    assert run("-", "-") == 2
    assert "only one of the files can be standard input" in capsys.readouterr().err
    assert run(*names, "--per-sentence", "parsed") == 2
    assert run(*names, "--length", "0") == 2
    assert run(names[0], "nowhere") == 2
