"""The verb ``evaluate``: reports, alignment, exit codes."""

import json

import pytest

from eigentree.cli import app

GOLD = """\
( (S (NP-SBJ (DT the) (NN cook)) (VP (VBD slept)) (. .)))
( (S (NP-SBJ (NN ice)) (VP (VBZ melts)) (. .)))
( (S (NP-SBJ (NN snow)) (VP (VBZ falls)) (. .)))
"""
FIRST = """\
(S (DT the) (VP (NN cook) (VBN slept)) (. .))
(S (NP (NN ice)) (VP (VBZ melts)) (. .))
(S (NP (NN snow)) (VP (VBZ falls)) (. .))
"""


def run(*arguments):
    with pytest.raises(SystemExit, match=r"^\d*$") as leaving:
        app.main(arguments)
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


def test_report_of_one_system(files, capsys):
    assert run("evaluate", *files(gold=GOLD, parsed=FIRST), "--samples", "50") == 0
    out = capsys.readouterr().out
    assert out.startswith("gold: gold\nparsed: parsed\n")
    for row in (
        "recall, % 77.78 77.78",
        "precision, % 87.50 87.50",
        "F1, % 82.35 82.35",
        "mean of sentence F1, % 80.00 80.00",
        "exact match, % 66.67 66.67",
        "tagging accuracy, % 85.71 85.71",
        "crossing brackets a sentence 0.33 0.33",
        "left out: TOP -NONE- , : `` '' .",
        "equivalent labels: ADVP = PRT",
        'outermost bracket: not counted if "" ROOT TOP VROOT',
        "outermost brackets not counted: the nameless one (3 gold, 0 parsed trees)",
    ):
        assert row.split() in cells(out)


def test_mismatches_are_listed_and_the_rest_is_scored(files, capsys):
    parsed = FIRST.replace("ice", "rice")
    assert run("evaluate", *files(gold=GOLD, parsed=parsed), "--samples", "50") == 1
    out = capsys.readouterr().out
    assert "gold:2: sentence 2: compared word 1 is 'ice' in gold and 'rice' in the parse" in out
    assert ["compared", "2", "2"] in cells(out)


def test_missing_parses_are_reported_but_no_failure(files, capsys):
    first, _, third = FIRST.splitlines(keepends=True)
    for mark in ("(())\n", "\n"):
        names = files(gold=GOLD, parsed=first + mark + third)
        assert run("evaluate", *names, "--samples", "50") == 0
        assert "gold:2: sentence 2: no parse" in capsys.readouterr().out


def test_different_numbers_of_trees(files, capsys):
    names = files(gold=GOLD, parsed="".join(FIRST.splitlines(keepends=True)[1:]))
    assert run("evaluate", *names, "--samples", "50") == 1
    assert "parsed has 2 trees and gold 3, paired in order" in capsys.readouterr().out
    assert run("evaluate", *names, "--samples", "50", "--align") == 0
    assert "gold:1: sentence 1: no parse" in capsys.readouterr().out


def test_alignment_reports_what_is_left_over(files, capsys):
    parsed = "(S (NN hail))\n" + "".join(reversed(FIRST.splitlines(keepends=True)))
    assert run("evaluate", *files(gold=GOLD, parsed=parsed), "--samples", "50", "--align") == 1
    out = capsys.readouterr().out
    assert "1 tree has words that match no remaining gold sentence, on line 1" in out
    assert ["compared", "3", "3"] in cells(out)


def test_trees_without_brackets_have_no_score_and_no_interval(files, capsys):
    names = files(gold="(NN a)\n", first="(NN a)\n", second="(NN a)\n")
    assert run("evaluate", *names, "--json", "--samples", "50") == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["f1_interval"] for one in report["systems"]] == [None, None]
    assert report["paired_test"] is None


@pytest.mark.parametrize("gold", ["", "\n", "(())\n"])
def test_without_gold_trees_there_is_nothing_to_score(files, capsys, gold):
    assert run("evaluate", *files(gold=gold, parsed=FIRST)) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "eigentree: gold: no gold trees to score against\n")


def test_two_systems_as_json(files, capsys):
    names = files(gold=GOLD, first=FIRST, second=GOLD)
    assert run("evaluate", *names, "--json", "--samples", "200", "--seed", "3") == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["parsed"] for one in report["systems"]] == ["first", "second"]
    assert report["systems"][1]["all"]["f1"] == 1.0
    assert report["paired_test"]["difference"] == pytest.approx(1 - 14 / 17, rel=1e-12)
    assert report["paired_test"]["sentences"] == 3
    assert report["systems"][0]["settings"]["cut_off"] == 40
    assert (report["seed"], report["samples"]) == (3, 200)


def test_two_systems_side_by_side_with_labels(files, capsys):
    names = files(gold=GOLD, first=FIRST, second=GOLD)
    assert run("evaluate", *names, "--mode", "own", "--labels", "--samples", "200") == 0
    out = capsys.readouterr().out
    assert "A: first\nB: second\n" in out
    assert "B - A: +17.65 points of F1" in out
    assert ["NP", "3", "2", "66.67", "100.00", "80.00"] in [
        line.split() for line in out.splitlines()
    ]


def test_table_of_sentences(files, capsys, tmp_path):
    names = files(gold=GOLD, parsed=FIRST.replace("ice", "rice"))
    assert run("evaluate", *names, "--per-sentence", "rows.tsv", "--samples", "50") == 1
    header, *rows = [line.split("\t") for line in (tmp_path / "rows.tsv").read_text().splitlines()]
    found = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["status"] for row in found] == ["ok", "error", "ok"]
    assert [row["place"] for row in found] == ["gold:1", "gold:2", "gold:3"]
    assert (found[0]["f1"], found[0]["crossing"], found[0]["tags"]) == ("0.4", "1", "2")
    capsys.readouterr()
    assert run("evaluate", *names, "--per-sentence", "-", "--samples", "50") == 1
    assert capsys.readouterr().out == (tmp_path / "rows.tsv").read_text()


def test_counted_roots_parameters_and_cut_off(files, capsys):
    names = files(gold=GOLD, parsed=GOLD)
    (prm,) = files(prm="CUTOFF_LEN 10\nDELETE_LABEL .\n")
    options = ("--parameters", prm, "--count-roots", "--cut-off", "3", "--json", "--samples", "9")
    assert run("evaluate", *names, *options) == 0
    (system,) = json.loads(capsys.readouterr().out)["systems"]
    assert system["all"]["gold"] == 12
    assert system["within_cut_off"]["sentences"] == 2
    assert run("evaluate", *names, "--parameters", prm, "--mode", "own") == 2


def test_malformed_parse(files, capsys):
    first, _, third = FIRST.splitlines(keepends=True)
    names = files(gold=GOLD, parsed=first + "(S (NN ice)))\n" + third)
    assert run("evaluate", *names) == 2
    assert "parsed:2" in capsys.readouterr().err
    assert run("evaluate", *names, "--on-error", "skip", "--align", "--samples", "9") == 1
    assert "1 malformed tree\n" in capsys.readouterr().out


def test_two_files_from_standard_input_are_refused():
    assert run("evaluate", "-", "-") == 2


def test_systems_with_no_sentence_in_common_have_no_test(files, capsys):
    names = files(gold=GOLD.splitlines()[0], first="(())", second=GOLD.splitlines()[0])
    assert run("evaluate", *names, "--json", "--samples", "9") == 0
    assert json.loads(capsys.readouterr().out)["paired_test"] is None


def test_treebank_in_export_format_against_its_own_brackets(treebanks, capsys):
    export = sorted((treebanks / "pcc_german").glob("*.export*"))
    assert export
    assert run("evaluate", str(export[0]), str(export[0]), "--mode", "own", "--samples", "9") == 0
    assert ["F1,", "%", "100.00"] in cells(capsys.readouterr().out)


def test_trees_are_never_replaced_by_the_table(files, capsys):
    gold, parsed = files(gold=GOLD, parsed=FIRST)
    for place in (gold, parsed):
        assert run("evaluate", gold, parsed, "--per-sentence", place) == 2
        assert "is an input file, so it can't be written" in capsys.readouterr().err
    with open(gold) as file:
        assert file.read() == GOLD


def test_a_bracket_file_may_begin_with_a_comment(files, capsys):
    gold, parsed = files(gold="%% trees of my own\n" + GOLD, parsed=GOLD)
    assert run("evaluate", gold, parsed, "--samples", "50") == 0
    assert "recall, % 100.00" in " ".join(capsys.readouterr().out.split())


def test_a_bad_byte_costs_one_tree(files, tmp_path, capsys):
    gold, parsed = files(gold=GOLD, parsed="")
    bad = GOLD.encode("utf-8").replace(b")", b"\xe9)", 1)
    (tmp_path / parsed).write_bytes(bad)
    assert run("evaluate", gold, parsed, "--on-error", "skip", "--samples", "50") == 1
    out, err = capsys.readouterr()
    assert "byte 0xe9 is not UTF-8" in err
    assert "parsed: 1 malformed tree\n" in out
