from __future__ import annotations

import re
from functools import partial

import pytest

from eigentree.errors import TreebankFormatError
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.io.negra import EXPORT, read_export_graphs
from eigentree.treebank.reader import read_trees
from eigentree.treebank.syntax_graph import (
    GraphNode,
    GraphWord,
    SyntaxGraph,
    continuous_tree,
    graph_of_tree,
)
from eigentree.treebank.tree import Tree

read_export = partial(read_trees, format="export")


def export(*rows, form=3):
    """One sentence; a row is "word tag edge parent" or "#number label edge parent"."""
    lemma = "\t--" if form == 4 else ""
    lines = [f"#FORMAT {form}", "#BOS 1 0 0 0 %% first"]
    for row in rows:
        first, label, edge, parent = row.split()
        lines.append(f"{first}{lemma}\t{label}\t--\t{edge}\t{parent}")
    return [*lines, "#EOS 1"]


# "Einen Hund hat er gesehen !": the verb phrase lies around the finite verb and the subject.
CROSSING = (
    "Einen ART NK 500",
    "Hund NN NK 500",
    "hat VAFIN HD 502",
    "er PPER SB 502",
    "gesehen VVPP HD 501",
    "! $. -- 0",
    "#500 NP OA 501",
    "#501 VP OC 502",
    "#502 S -- 0",
)


def read(lines, **options):
    return list(read_export(lines, name="bank.export", **options))


@pytest.mark.parametrize("form", [3, 4])
def test_what_crosses_is_raised_to_where_it_fits(form):
    (record,) = read(export(*CROSSING, form=form))
    assert format_tree(record.tree) == (
        "(VROOT (S (NP (ART Einen) (NN Hund)) (VAFIN hat) (PPER er) (VP (VVPP gesehen))) ($. !))"
    )
    assert record.line == 2
    assert record.n_crossing == 1


def test_edge_labels_are_kept_when_asked():
    (record,) = read(export(*CROSSING), edge_labels=True)
    assert format_tree(record.tree) == (
        "(VROOT (S (NP-OA (ART-NK Einen) (NN-NK Hund)) (VAFIN-HD hat) (PPER-SB er) "
        "(VP-OC (VVPP-HD gesehen))) ($. !))"
    )


def attached(*rows):
    (record,) = read(export(*rows))
    return format_tree(record.tree), record.n_crossing


def test_marks_between_words_of_a_phrase_move_into_it():
    rows = ("a X -- 500", ", $, -- 0", ") $( -- 0", "b Y -- 500", ". $. -- 0", "#500 NP -- 0")
    assert attached(*rows) == ("(VROOT (NP (X a) ($, ,) ($LRB -RRB-) (Y b)) ($. .))", 0)


def test_marks_move_to_the_lowest_node_above_both_neighbours():
    rows = (
        "a X -- 500",
        "b X -- 500",
        ", $, -- 0",
        "c X -- 501",
        "#500 NP -- 501",
        "#501 S -- 0",
    )
    assert attached(*rows) == ("(VROOT (S (NP (X a) (X b)) ($, ,) (X c)))", 0)


def test_marks_at_the_edges_stay_at_the_root():
    rows = ("< $( -- 0", "a X -- 500", "> $( -- 0", "#500 NP -- 0")
    assert attached(*rows) == ("(VROOT ($LRB <) (NP (X a)) ($LRB >))", 0)


def test_a_phrase_inside_another_moves_too():
    rows = ("a X -- 500", "b Y -- 501", "c X -- 500", "#500 S -- 0", "#501 PRN -- 0")
    assert attached(*rows) == ("(VROOT (S (X a) (PRN (Y b)) (X c)))", 0)


def test_a_mark_before_such_a_phrase_moves_with_it():
    rows = (
        "a X -- 500",
        ", $, -- 0",
        "b Y -- 501",
        "c Y -- 501",
        "d X -- 500",
        "#500 S -- 0",
        "#501 PRN -- 0",
    )
    assert attached(*rows) == ("(VROOT (S (X a) ($, ,) (PRN (Y b) (Y c)) (X d)))", 0)


@pytest.mark.parametrize(
    ("edges", "tree"),
    [
        (("MO", "HD"), "(VROOT (S (X a) (V b) (VP (Y c))))"),
        (("HD", "MO"), "(VROOT (S (VP (X a)) (V b) (Y c)))"),
        (("NK", "NK"), "(VROOT (S (X a) (V b) (VP (Y c))))"),
        (("NK", "MO"), "(VROOT (S (VP (X a)) (V b) (Y c)))"),
        (("MO", "MO"), "(VROOT (S (VP (X a)) (V b) (Y c)))"),
    ],
)
def test_the_block_with_the_head_keeps_the_node(edges, tree):
    first, second = edges
    rows = (
        f"a X {first} 500",
        "b V HD 501",
        f"c Y {second} 500",
        "#500 VP OC 501",
        "#501 S -- 0",
    )
    assert attached(*rows) == (tree, 1)


def test_raised_nodes_rise_as_far_as_they_must():
    # X belongs to the lowest phrase, two levels of which lie around the words between.
    rows = (
        "x X MO 500",
        "v V HD 502",
        "y Y MO 501",
        "z Z HD 500",
        "#500 AP MO 501",
        "#501 VP OC 502",
        "#502 S -- 0",
    )
    (record,) = read(export(*rows))
    assert format_tree(record.tree) == "(VROOT (S (X x) (V v) (VP (Y y) (AP (Z z)))))"
    assert record.n_crossing == 2


def test_secondary_edges_comments_and_tables_are_passed_over():
    lines = [
        "%% a comment",
        "#BOT ORIGIN",
        "1\tbook",
        "#EOT ORIGIN",
        "#BOS 1 2 3 4",
        "a\t\tX\t--\tHD\t500\t\tRE\t999\t%% note",
        "#500\t\tNP\t--\t--\t0",
        "#EOS 1",
    ]
    assert format_tree(read(lines)[0].tree) == "(VROOT (NP (X a)))"


def test_nodes_without_words_vanish_and_so_may_a_sentence():
    (record,) = read(export("a X HD 500", "#500 NP -- 0", "#501 VP -- 502", "#502 S -- 0"))
    assert format_tree(record.tree) == "(VROOT (NP (X a)))"
    assert read(["#BOS 1", "#EOS 1"])[0][:3] == (None, 1, None)


GOOD = export("a X -- 0")
BAD = {
    "parent that is missing": (
        export("a X -- 555"),
        "2:1: parent #555 of 'a' is missing (sentence 1)",
    ),
    "nodes in a circle": (
        export("a X -- 500", "#500 A -- 501", "#501 B -- 500"),
        "2:1: nodes #500, #501 form a cycle (sentence 1)",
    ),
    "node given twice": (
        export("a X -- 500", "#500 A -- 0", "#500 B -- 0"),
        "5:1: duplicate node #500 (sentence 1): #500",
    ),
    "too few columns": (["#BOS 1", "a\tX\t--\t0", "#EOS 1"], "2:1: 4 columns; expected at least 5"),
    "parent that is no number": (export("a X -- S"), "3:1: parent 'S' is not a number"),
    "word with a blank": (
        ["#BOS 1", "New York\tNE\t--\t--\t0", "#EOS 1"],
        "2:1: 'New York' contains white space",
    ),
    "sentence whose name isn't UTF-8": (
        ["#BOS \udcfc1", "a\tX\t--\t--\t0", "#EOS \udcfc1"],
        "1:6: byte 0xfc is not UTF-8; the text may be Latin-1; convert it to UTF-8 first "
        "(sentence ü1)",
    ),
    "sentence without end": (["#BOS 1", "a\tX\t--\t--\t0"], "1:1: this sentence has no #EOS"),
    "end without sentence": (["#EOS 1"], "1:1: #EOS without #BOS: #EOS 1"),
}


@pytest.mark.parametrize(("lines", "problem"), BAD.values(), ids=BAD.keys())
def test_malformed_sentences_are_refused_or_skipped(lines, problem):
    with pytest.raises(TreebankFormatError, match="^bank.export:" + re.escape(problem)):
        read(lines)
    records = read([*lines, *GOOD], on_error="skip")
    assert str(records[0].problem).startswith("bank.export:" + problem)
    assert [format_tree(record.tree) for record in records[1:]] == ["(VROOT (X a))"]


def words_of(*rows):
    lines = ["#FORMAT 3", "#BOS 1 0 0 0", *("\t".join(row.split()) for row in rows), "#EOS 1"]
    (record,) = read(lines)
    return record.tree.words()


@pytest.mark.parametrize(
    "word", ["%%", "%%%", "#", "#1", "#100", "#500", "#501", "#777", "#BOS", "#EOS", "#FORMAT"]
)
def test_columns_tell_a_word_from_a_mark(word):
    before, after = "a X -- HD 500", "b Y -- NK 501"
    nodes = ("#500 NP -- SB 501", "#501 S -- -- 0")
    assert words_of(before, f"{word} Z -- NK 500", after, *nodes) == ["a", word, "b"]
    if word not in ("#500", "#501"):
        assert words_of(before, f"{word} Z -- NK 501", *nodes) == ["a", word]
    assert words_of(f"{word} Z -- -- 0") == [word]


def test_marks_and_comments_stay_what_they_are():
    comments = ["%% a comment with a number 0", "%%\tcomment"]
    lines = export("a X HD 500", "#500 NP -- 0")
    lines[2:2] = comments
    assert [record.tree.words() for record in read([*lines, *lines])] == [["a"], ["a"]]
    assert read(["#BOS\t1\t0\t986888198\t0", "a\tX\t--\t--\t0", "#EOS\t1"])[0].problem is None


def test_numbers_are_short():
    (record,) = read(export(f"a X -- {'9' * 5000}"), on_error="skip")
    assert "is not a number" in record.problem.message
    assert len(str(record.problem)) < 6000


SAMPLE = [
    "#FORMAT 4",
    "#BOS 7 2 3 4 %% note",
    "Das\tdas\tPDS\tNeut.Nom.Sg\tSB\t500\tOA\t501",
    "%%\t--\t$(\t--\t--\t0",
    "#501\t--\tNN\t--\tMO\t500",
    "geht\tgehen\tVVFIN\t3.Sg\tHD\t501",
    "#500\t--\tVP\t--\tOC\t501",
    "#501\t--\tS\t--\t--\t0",
    "#EOS 7",
]


def test_graphs_are_written_as_they_were_read():
    (record,) = read_export_graphs(SAMPLE)
    graph = record.graph
    assert [word.word for word in graph.words] == ["Das", "%%", "#501", "geht"]
    assert graph.words[0][2:6] == ("das", "Neut.Nom.Sg", "SB", 500)
    assert graph.n_secondary() == 1
    text = "".join(EXPORT.text([graph, graph]))
    back = [each.graph for each in read_export_graphs(text.splitlines())]
    # Nodes are renumbered, since a word looks like one.
    assert [continuous_tree(each, edge_labels=True) for each in back] == [
        continuous_tree(graph, edge_labels=True)
    ] * 2
    assert "".join(EXPORT.text(back)) == text


@pytest.mark.parametrize("words", [["#500"], ["a", "#500"], ["#999", "#1000"], ["#", "%%", "#EOS"]])
def test_words_that_look_like_marks_are_written_and_read(words):
    tree = Tree("S", [Tree("NP", [Tree("N", (), word)]) for word in words])
    text = "".join(EXPORT.text([graph_of_tree(tree)]))
    (record,) = read_export(text.splitlines())
    assert record.tree == Tree("VROOT", [tree])


def test_what_the_format_cant_hold_is_refused():
    with pytest.raises(TreebankFormatError, match="sentence 3: 'New York' contains white space"):
        list(EXPORT.text([SyntaxGraph((GraphWord("New York", "NE"),), (), "3")]))
    with pytest.raises(TreebankFormatError, match="sentence 1: '' is empty"):
        list(EXPORT.text([SyntaxGraph((GraphWord("a", ""),))]))


@pytest.mark.parametrize("word", ["\ufeff", "\ufeffa", "a\ufeff"])
def test_words_with_byte_order_marks_come_back(word):
    graph = SyntaxGraph((GraphWord(word, "X"),), (), "1")
    text = "".join(EXPORT.text([graph]))
    assert [each.graph for each in read_export_graphs(text.splitlines())] == [graph]


@pytest.mark.parametrize("n_words", [0, 1])
def test_nodes_without_words_are_not_written(n_words):
    words = (GraphWord("a", "X"),) * n_words
    nodes = (GraphNode(500, "S"), GraphNode(501, "NP", parent=500))
    text = "".join(EXPORT.text([SyntaxGraph(words, nodes, "1")]))
    assert [each.graph for each in read_export_graphs(text.splitlines())] == [
        SyntaxGraph(words, (), "1")
    ]


def test_secondary_edges_to_nothing_are_noticed():
    notices = []
    lines = [
        *export("a X -- 500", "#500 S -- 0")[:-2],
        "#500\tS\t--\t--\t0\tX\t500\tY\t777",
        "#EOS 1",
    ]
    (record,) = read(lines, notice=notices.append)
    assert record.n_secondary == 2
    assert [str(notice) for notice in notices] == [
        "bank.export:4:1: secondary edge to #777, which is missing (sentence 1)"
    ]


@pytest.mark.parametrize("column", range(6))
def test_long_values_are_cut_in_messages(column):
    cells = ["a", "X", "--", "--", "500", "777x"]
    for value in ("9" * 5000, "x" * 5000, "x y" * 5000):
        row = "\t".join([*cells[:column], value, *cells[column + 1 :]])
        for line in (row, f"#BOS {value}\n#BOS 2\n{row}"):
            lines = ["#FORMAT 3", "#BOS 1", *line.split("\n"), "#500\tS\t--\t--\t0", "#EOS 1"]
            for record in read(lines, on_error="skip"):
                assert len(str(record.problem)) < 300


def test_depth_is_no_limit():
    n_nodes = 20_000
    rows = [f"#{500 + i} S -- {501 + i}" for i in range(n_nodes)]
    (record,) = read(export("a X -- 500", *rows, f"#{500 + n_nodes} S -- 0"))
    assert record.tree.height() == n_nodes + 3


@pytest.mark.parametrize(("text", "seen"), [("(S (NN a))\n(S (NN b))\n", 1), ("\n%% none\n", 0)])
def test_a_text_of_another_format_is_reported(text, seen):
    records = list(read_export(text.splitlines(), name="t", on_error="skip"))
    assert [str(record.problem) for record in records] == [
        "t:1:1: neither a comment nor a mark of the export format, and no #BOS follows: (S (NN a))"
    ] * seen
