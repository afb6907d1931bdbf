"""Scores as tables."""

import sys
from dataclasses import replace

from eigentree.cli._output import show_table
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS, OWN
from eigentree.evaluation.tables.scores import Scored, describe, problem_lines, score_table
from eigentree.evaluation.tables.table import TextTable, format_table
from eigentree.treebank.io.brackets import parse_tree

TREE = parse_tree("(S (NN ice) (VP (VBZ melts)))")


def test_plain_table_aligns_by_columns_on_the_screen():
    table = TextTable("title", ["", "n"], [["日本", "1"], ["a", "10"]])
    assert format_table(table) == "title\n       n\n日本   1\na     10"


def test_table_on_a_terminal_has_lines(monkeypatch, capsys):
    table = TextTable("", ["", "all"], [["F1, %", "[bold]"]])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_table(table)
    out = capsys.readouterr().out
    assert "│" in out
    assert "[bold]" in out


def test_settings_are_reported_in_full():
    options = replace(EVALB_COLLINS, quote_labels=("POS",), root_labels=(), labelled=False)
    assert dict(describe(options)) == {
        "settings": "EVALB, COLLINS.prm",
        "left out": "TOP -NONE- , : `` '' .",
        "equivalent labels": "ADVP = PRT",
        "quote tags": "POS",
        "labels end at": "- =",
        "compared": "brackets without labels",
        "outermost bracket": "counted",
        "sentence without a parse": "not counted",
    }
    told = dict(describe(replace(OWN, label_separators="")))
    assert told["left out"] == "-NONE-, and words of punctuation"
    assert not {"equivalent labels", "quote tags", "labels end at"} & set(told)


def test_fallbacks_have_a_row_when_the_parser_told_them():
    result = score([TREE, TREE], [TREE, TREE], OWN, fallbacks=[True, False])
    table = score_table([Scored("me", result, None, ["a:1", "a:2"])])
    assert ["fall-backs", "1"] in table.rows
    unknown = score_table([Scored("me", score([TREE], [TREE]), None, ["a:1"])])
    assert not [row for row in unknown.rows if row[0] == "fall-backs"]


def test_long_lists_of_problems_end_with_their_number():
    result = score([TREE] * 5, [None] * 5)
    lines = list(
        problem_lines(Scored("me", result, None, [f"a:{i}" for i in range(5)]), max_lines=2)
    )
    assert lines[:2] == ["a:0: sentence 1: no parse", "a:1: sentence 2: no parse"]
    assert lines[2].startswith("and 3 more")
