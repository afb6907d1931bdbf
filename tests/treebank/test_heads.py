from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions, cut_label
from eigentree.treebank.heads import (
    PACKAGED_TABLES,
    HeadRules,
    head_rules,
    plain_label,
    read_head_rules,
)
from eigentree.treebank.reader import read_treebank
from tests.treebank.strategies import labels


@pytest.fixture(scope="module")
def english():
    return head_rules("english")


@pytest.fixture(scope="module")
def negra():
    return head_rules("negra")


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "NP VP .", 1),
        ("S", "`` S '' NP VP .", 4),
        ("VP", "MD VP", 0),
        ("VP", "TO VP", 0),
        ("VP", "ADVP VBD NP PP", 1),
        ("NP", "DT JJ NN", 2),
        ("NP", "NP PP", 0),
        ("NP", "NP , NP ,", 0),
        ("NP", "DT NN POS", 2),
        ("NP", "NN NML", 1),
        ("NP", "DT JJ", 1),
        ("NP", "DT", 0),
        ("NP", "NNS CC NNS", 0),
        ("NP", "NN , NN CC NN", 2),
        ("NML", "NN HYPH NN", 2),
        ("PP", "IN NP", 0),
        ("PP", "ADVP IN NP", 1),
        ("SBAR", "WHNP S", 0),
        ("SBAR", "IN S", 0),
        ("ADVP|PRT", "RB RB", 1),
        ("QP", "$ CD CD", 0),
        ("PRN", "-LRB- NP -RRB-", 1),
        ("PRN", "-LRB- -RRB-", 0),
        ("HEADING", "LST NP", 1),
        ("CAPTION", "NP : S .", 2),
        ("FRAG", "NP : PP .", 2),
        ("X", "SYM", 0),
        ("NP-SBJ", "DT NN-1", 1),
        ("UCP", "ADJP CC NP", 0),
    ],
)
def test_english_heads(english, label, children, head):
    assert english.head(label, children.split()) == head


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("S", "PP VAFIN NP VP", 1),
        ("VP", "NP PP VVPP", 2),
        ("NP", "ART ADJA NN PP", 2),
        ("NP", "NN NP", 0),
        ("PP", "APPR ART NN", 0),
        ("AP", "ADV ADJD", 1),
        ("CNP", "NN KON NN", 0),
        ("ROOT", "$LRB S $.", 1),
        ("VROOT", "NN $.", 0),
        ("NP-SB", "ART-NK NN-NK", 1),
        ("NP-SB", "NN-NK NE-HD", 1),
    ],
)
def test_german_heads(negra, label, children, head):
    assert negra.head(label, children.split()) == head


@pytest.mark.parametrize("name", PACKAGED_TABLES)
@given(label=labels, children=st.lists(labels, min_size=1, max_size=5))
def test_every_phrase_has_a_head(name, label, children):
    rules = head_rules(name)
    head = rules.head(label, children)
    assert 0 <= head < len(children)
    assert rules.head(label, children) == head


@pytest.mark.parametrize("name", PACKAGED_TABLES)
def test_a_table_is_written_and_read_again(name):
    text = head_rules(name).format()
    again = read_head_rules(text.splitlines())
    assert again.format() == text
    assert again.labels == head_rules(name).labels


def test_leftmost_and_rightmost():
    children = ["A", "B", "C"]
    assert head_rules("leftmost").head("X", children) == 0
    assert head_rules("rightmost").head("X", children) == 2


def rules(*lines) -> HeadRules:
    return read_head_rules(lines)


@pytest.mark.parametrize(
    ("lines", "children", "head"),
    [
        (["X leftmost A B"], "C B A B", 1),
        (["X rightmost A B"], "C B A B C", 3),
        (["X left-by-rank A B"], "C B A B A", 2),
        (["X right-by-rank A B"], "A B A B", 2),
        (["X last A", "X leftmost"], "A C B", 0),
        (["X last B", "X leftmost"], "A C B", 2),
        (["X leftmost Q", "X rightmost"], "A B", 1),
        (["X leftmost Q", "* rightmost"], "A B", 1),
        (["X leftmost Q"], "A B", 0),
        (["@punctuation , .", "X rightmost"], "A B .", 1),
        (["@punctuation , .", "X rightmost"], ", .", 1),
        (["@coordination C", "X rightmost"], "A C B", 0),
        (["@coordination C", "X rightmost"], "C B", 1),
        (["@coordination C", "@punctuation ,", "X rightmost"], "A , C B", 0),
        (["@head-functions HD", "X leftmost"], "A B-HD D", 1),
        (["# a comment", "", "X leftmost #"], "A # B", 1),
    ],
)
def test_steps_of_a_table(lines, children, head):
    assert rules(*lines).head("X", children.split()) == head


def test_labels_without_steps_are_counted():
    table = rules("NP rightmost", "* leftmost")
    table.head("NP-SBJ", ["A", "B"])
    for _ in range(3):
        assert table.head("XP", ["A", "B"]) == 0
    assert table.missing == {"XP": 3}
    assert table.has("NP")
    assert table.has("NP-SBJ")
    assert not table.has("*-X")


def test_a_phrase_without_children_has_no_head(english):
    with pytest.raises(ValueError, match="'NP' without children has no head"):
        english.head("NP", [])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (
            "NP sideways NN",
            "<table>:2: unknown step 'sideways' of label 'NP'; expected one of leftmost, ",
        ),
        ("NP", "<table>:2: unknown step '' of label 'NP'"),
        ("NP last", "<table>:2: 'last' requires a list of labels"),
        ("@heads NN", "<table>:2: unknown '@heads'; expected one of @punctuation"),
    ],
)
def test_malformed_tables_are_refused(line, complaint):
    with pytest.raises(SettingsError, match=re.escape(complaint)):
        rules("# heads", line)


def test_a_table_of_ones_own(tmp_path):
    path = tmp_path / "my.heads"
    path.write_text("NP leftmost NN\n", "utf-8")
    assert head_rules(path).head("NP", ["DT", "NN", "NN"]) == 1
    with pytest.raises(SettingsError, match="'nowhere' are neither a file nor one of english"):
        head_rules("nowhere")
    with pytest.raises(TreebankFormatError, match="Is a directory"):
        head_rules(tmp_path)


@pytest.mark.parametrize(
    ("label", "plain"),
    [("NP-SBJ=1", "NP"), ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("", ""), ("|", "|")],
)
def test_plain_labels(label, plain):
    assert plain_label(label) == plain


@pytest.mark.parametrize("name", ["wsj_sample/train.mrg", "craft/dev.mrg", "gum/dev.mrg"])
def test_english_table_knows_every_label_of_the_treebanks(treebanks, name):
    table = head_rules("english")
    for tree in read_treebank(treebanks / name).trees:
        for node in tree.nodes():
            if node.children:
                table.head(node.label, [child.label for child in node.children])
    assert table.missing == {}


def test_german_table_finds_the_heads_that_annotators_marked(treebanks):
    table = head_rules("negra")
    marked = right = 0
    for tree in read_treebank(treebanks / "pcc_german" / "train.export", cleaning=None).trees:
        for node in tree.nodes():
            heads = [i for i, child in enumerate(node.children) if child.label.endswith("-HD")]
            if len(heads) == 1:
                children = [cut_label(child.label, CleaningOptions()) for child in node.children]
                marked += 1
                right += table.head(node.label, children) == heads[0]
    assert marked > 4000
    assert right > 0.98 * marked
