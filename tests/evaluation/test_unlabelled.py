"""Unlabelled scores: both conventions by hand, and spans against sets of words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given

from eigentree import parse_tree
from eigentree.errors import SettingsError
from eigentree.evaluation.scored_tree import is_punctuation
from eigentree.evaluation.unlabelled import (
    PENN_PUNCTUATION,
    align_bracketings,
    gold_bracketing,
    marks_that_count,
    score_unlabelled,
)
from eigentree.treebank.io.unlabelled import Bracketing, bracketing_of
from tests.helpers import close
from tests.strategies import trees

COOK = parse_tree("( (S (NP-SBJ (DT the) (NN cook)) (VP (VBD slept) (NP (-NONE- *T*))) (. .)))")
CAT = parse_tree(
    "(S (`` ``) (NP (NP (DT the) (NN cat))) (VP (VBD saw) (NP (DT the) (JJ old) (NN dog))) (. .))"
)
MELTS = parse_tree("(S (NP (NN ice)) (VP (VBZ melts)) (. .))")
FLAT = parse_tree("(X (UH no) (UH no) (UH no))")
YES = parse_tree("(X (UH yes) (. .))")


def golds(*given_trees):
    return [gold_bracketing(tree) for tree in given_trees]


def spans(words, *pairs):
    return Bracketing(tuple(words.split()), frozenset(pairs))


def test_what_counts_of_a_tree():
    gold = gold_bracketing(CAT)
    assert gold.words == ("the", "cat", "saw", "the", "old", "dog")
    assert gold.tags == ("DT", "NN", "VBD", "DT", "JJ", "NN")
    assert gold.spans == {(0, 6), (0, 2), (2, 6), (3, 6)}
    assert gold.text == ("``", *gold.words, ".")
    assert gold_bracketing(COOK).spans == {(0, 3), (0, 2)}
    assert gold_bracketing(YES).spans == set()


@pytest.mark.parametrize(
    ("tags", "left"),
    [
        (None, "he paid 5"),
        (PENN_PUNCTUATION, "he paid 5 -"),
        (("SYM",), "he paid $ 5 ."),
        ((), "he paid $ 5 - ."),
    ],
)
def test_punctuation_by_words_and_by_tags(tags, left):
    tree = parse_tree("(S (NP (PRP he)) (VP (VBD paid) (NP ($ $) (CD 5) (SYM -))) (. .))")
    # A currency sign is no punctuation to Unicode.
    left = left.replace("paid 5", "paid $ 5") if tags is None else left
    gold = gold_bracketing(tree, punctuation=tags)
    assert list(gold.words) == left.split()
    assert marks_that_count([gold]).total() == sum(map(is_punctuation, left.split()))


@given(trees())
def test_spans_are_sets_of_words(tree):
    # By the words below each phrase, with no arithmetic of positions.
    below, leaves = [], []
    stack = [(tree, ())]
    phrases = []
    while stack:
        node, above = stack.pop()
        if node.word is not None:
            if node.label == "-NONE-":
                continue
            leaves.append(node)
            if not is_punctuation(node.word):
                number = len(below)
                below.append(node.word)
                for phrase in above:
                    phrase.append(number)
        else:
            own = []
            phrases.append(own)
            stack.extend((child, (*above, own)) for child in reversed(node.children))
    expected = {(own[0], own[-1] + 1) for own in phrases if len(own) > 1}
    if len(below) > 1:
        expected.add((0, len(below)))
    gold = gold_bracketing(tree)
    assert (list(gold.words), gold.spans) == (below, expected)
    assert list(gold.text) == [leaf.word for leaf in leaves]
    result = score_unlabelled([gold], [bracketing_of(tree)])
    assert result.sentences[0].status == "ok"
    assert {one.f1 for one in result.figures} <= {1.0, None}


def test_klein_manning_by_hand():
    gold = golds(COOK, CAT, MELTS, FLAT, YES)
    parsed = [
        spans("the cook slept .", (1, 3), (0, 3)),
        spans("the cat saw the old dog", (0, 2), (0, 3), (3, 5), (3, 6), (0, 6)),
        spans("ice melts"),
        spans("no no no", (0, 2)),
        None,
    ]
    figure = score_unlabelled(gold, parsed).figure("klein-manning", None)
    # Matched 1 + 3 + 1 + 1, gold 2 + 4 + 1 + 1, parsed 2 + 5 + 1 + 2.
    assert (figure.recall, figure.precision) == (6 / 8, 6 / 10)
    assert close(figure.f1, 12 / 18, rtol=1e-15)
    assert (figure.sentences, figure.trivial) == (4, 2)


def test_mean_of_sentence_f1_by_hand():
    gold = golds(COOK, CAT, MELTS, FLAT, YES, COOK)
    parsed = [
        spans("the cook slept .", (1, 3), (0, 3)),  # 0 of 1 and 1
        spans("the cat saw the old dog", (0, 2), (0, 3), (3, 5), (3, 6)),  # 2 of 3 and 4
        spans("ice melts ."),  # nothing to find, nothing found: 1
        spans("no no no", (0, 2)),  # nothing to find, something found: 0
        None,  # one word counts not at all
        None,
    ]
    result = score_unlabelled(gold, parsed, lengths=(2, 3))
    assert close(result.figure("sentence", None).f1, (0 + 4 / 7 + 1 + 0 + 0) / 5, rtol=1e-15)
    assert close(result.figure("sentence", 3).f1, (0 + 1 + 0 + 0) / 4, rtol=1e-15)
    assert result.figure("sentence", 2).f1 == 1.0
    assert result.figure("sentence", 2).recall is None


def test_length_is_counted_without_punctuation():
    result = score_unlabelled(golds(COOK, CAT), [None, None], lengths=(2, 3, 5, 6))
    sizes = {one.longest: one.sentences for one in result.figures}
    assert sizes == {2: 0, 3: 1, 5: 1, 6: 2, None: 2}
    assert result.figure("klein-manning", 2).f1 is None
    assert result.figure("klein-manning", 3).f1 == 0.0
    assert result.figure("klein-manning", 3).precision is None


@pytest.mark.parametrize(
    ("parsed", "message"),
    [
        (spans("the cook"), "the parse has 2 words, which must be 3 or 4 as in gold"),
        (spans("the cock slept"), "word 2 is 'cook' in gold and 'cock' in the parse"),
        (
            spans("the cook slept\u0301"),
            "word 3 is 'slept' in gold and 'slept\u0301' in the parse (nothing and U+0301)",
        ),
        (spans("the cook slept !"), "word 4 is '.' in gold and '!' in the parse"),
        (None, "no parse"),
    ],
)
def test_sentences_that_cannot_be_compared_are_wrong(parsed, message):
    result = score_unlabelled(golds(COOK, FLAT), [parsed, spans("no no no")])
    assert [one.reason for one in result.problems] == [message]
    # Matched 1, gold 2 + 1, parsed 0 + 1.
    assert result.figure("klein-manning", None).f1 == 0.5
    assert result.figure("sentence", None).f1 == 0.5
    assert result.to_dict()["not_compared"][0]["reason"] == message


def test_parses_are_found_by_their_words():
    gold = golds(COOK, CAT, COOK, YES)
    first, second = spans("the cook slept", (0, 2)), spans("the cook slept .", (1, 3))
    other, cat = spans("who ?"), spans("the cat saw the old dog")
    found = align_bracketings(gold, [first, other, None, cat, second])
    assert found.parsed == [second, cat, first, None]
    assert found.left_over == [1]


def test_intervals_are_those_of_all_resamples():
    gold = golds(COOK, CAT, FLAT, MELTS)
    parsed = [bracketing_of(COOK), spans("the cat saw the old dog", (0, 2)), None, None]
    result = score_unlabelled(gold, parsed, seed=1, n_samples=40_000)
    values = np.array([one.f1 for one in result.sentences])
    exact = [values[list(drawn)].mean() for drawn in product(range(4), repeat=4)]
    found = result.figure("sentence", None).interval
    assert close(found, np.quantile(exact, [0.025, 0.975]), rtol=0.01)
    low, high = result.figure("klein-manning", None).interval
    assert 0.0 <= low < result.figure("klein-manning", None).f1 < high <= 1.0
    assert result.to_dict()["figures"][0]["interval"] == [low, high]


@pytest.mark.parametrize(
    ("parsed", "lengths", "message"),
    [([], (10,), "1 gold trees and 0 bracketings"), ([None], (0,), "at least 1")],
)
def test_requests_without_a_meaning_are_refused(parsed, lengths, message):
    with pytest.raises(SettingsError, match=message):
        score_unlabelled(golds(COOK), parsed, lengths=lengths)


def test_figures_that_were_not_requested_are_missing():
    with pytest.raises(KeyError):
        score_unlabelled([], []).figure("sentence", 11)
