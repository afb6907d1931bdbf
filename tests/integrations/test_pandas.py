"""Results as tables."""

import sys

import pandas as pd
import pytest

from eigentree.errors import SettingsError
from eigentree.evaluation.attachment import score_attachment
from eigentree.evaluation.parseval import score
from eigentree.integrations.pandas import BracketRow, to_frame, to_rows
from eigentree.treebank.io.brackets import parse_tree
from tests.demo import any_length_parser, demo_parser
from tests.samples import plain_parser, treebank, whole_parser

SENTENCES = [
    (["The", "old", "man", "saw", "the", "dog", "."], None),
    ([], None),
    (["The", "cat"], None),
]


@pytest.fixture(scope="module")
def results():
    return list(demo_parser().parse_many(SENTENCES))


def test_a_row_for_each_bracket(results):
    rows = to_rows(results, "brackets")
    first = [row for row in rows if row.sentence == 0]
    wanted = sorted(results[0].tree.spans())
    assert sorted((row.label, row.start, row.end) for row in first) == wanted
    assert first[0].label == results[0].tree.label  # parents come first
    judged = {(each.label, each.start, each.end): each.confidence for each in results[0].brackets}
    assert all(row.confidence == judged[row[1:4]] for row in first)
    assert {row.text for row in first} >= {"The old man", "the dog"}
    assert {row.sentence for row in rows} == {0, 2}


def test_brackets_that_nobody_judged_have_no_confidence():
    parser = any_length_parser()
    (row,) = to_rows([parser.flat(parser_sentence("a b"))], "brackets")
    assert row == BracketRow(0, "S", 0, 2, "a b", None)


def parser_sentence(text):
    from eigentree.sentence_input import PreparedSentence

    return PreparedSentence(text.split(), None)


def test_data_frames_of_parses(results):
    frame = to_frame(results, "brackets")
    assert list(frame.columns) == ["sentence", "label", "start", "end", "text", "confidence"]
    assert frame.equals(pd.DataFrame(to_rows(results, "brackets")))
    assert frame[frame.label == "NP"].confidence.between(0, 1).all()
    sentences = to_frame(results)
    assert list(sentences.words) == [7, 0, 2]
    assert parse_tree(sentences.tree[0]) == results[0].tree
    assert sentences.fallback[1] == "empty"
    assert sentences.exact[0] == results[0].tree_confidence
    words = to_frame(results, "words")
    assert list(words.text) == [word for words, _ in SENTENCES for word in words]
    assert list(words[words.sentence == 0].tag) == results[0].tags


def test_data_frames_of_dependencies():
    given = [(each.forms(), each.tags("upos")) for each in treebank(3, 5)]
    results = list(whole_parser().parse_many([*given, ([], None)]))
    frame = to_frame(results, "words")
    assert [*frame[frame.sentence == 1]["head"]] == results[1].heads
    assert list(frame[frame.sentence == 1].relation) == results[1].relations
    assert list(frame[frame.sentence == 1].word) == list(range(1, len(results[1].words) + 1))
    assert len(to_frame(results)) == 4
    unlabelled = to_frame(plain_parser().parse_many(given), "words")
    assert unlabelled.relation.isna().all()


def test_data_frames_of_scores():
    gold = [parse_tree("(S (NP (N a)) (VP (V b)))"), parse_tree("(S (N a))"), parse_tree("(N c)")]
    parsed = [parse_tree("(S (NP (N a)) (X (V b)))"), None, parse_tree("(N d)")]
    result = score(gold, parsed)
    frame = to_frame(result)
    assert list(frame.status) == ["ok", "missing", "error"]
    assert frame.f1[0] == pytest.approx(2 / 3)
    assert [one.matched for one in result.sentences] == list(frame.matched)
    labels = to_frame(result, "labels").set_index("label")
    assert labels.recall["VP"] == 0
    assert pd.isna(labels.precision["VP"])
    assert labels.f1["NP"] == 1


def test_data_frames_of_attachment_scores():
    gold = list(treebank(4, 3))
    parsed = [each.with_heads([0, *range(1, len(each))]) for each in gold]
    result = score_attachment(gold, parsed)
    frame = to_frame(result)
    assert frame.heads.sum() / frame.words.sum() == pytest.approx(result.all.uas)
    relations = to_frame(result, "labels")
    assert relations.gold.sum() == frame.words.sum()


def test_no_rows_are_a_frame_without_rows():
    assert len(to_frame([], "brackets")) == 0
    assert to_rows(demo_parser().parse_many([([], None)]), "brackets") == []
    only_empty = to_frame(demo_parser().parse_many([([], None)]), "brackets")
    assert "label" in only_empty.columns


def test_what_is_refused(results, monkeypatch):
    with pytest.raises(SettingsError, match="rows is 'trees'; it must be one of brackets, words"):
        to_rows(results, "trees")
    with pytest.raises(SettingsError, match="a DependencyResult has no brackets; it has words, s"):
        to_rows(whole_parser().parse_many([(["dog"], None)]), "brackets")
    with pytest.raises(TypeError, match="a list of results is expected, not one"):
        to_rows(results[0])
    with pytest.raises(TypeError, match="a parse is expected, not Tree"):
        to_rows([results[0].tree])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SettingsError, match=r"run pip install '\.\[pandas\]' in the source"):
        to_frame(results)
    assert to_rows(results)
