"""Spans of heads and their dependents, and how often they are phrases."""

from __future__ import annotations

import pytest

from eigentree.errors import SettingsError
from eigentree.treebank.head_phrases import (
    STRENGTH,
    HeadPhrases,
    LikelyPhrase,
    head_spans,
    other_spans,
    pairs_by_words,
)
from eigentree.treebank.io.brackets import parse_tree
from tests.samples import rows_of

DOG = rows_of(
    """
    The DET DT 2 det
    dog NOUN NN 5 nsubj
    with ADP IN 4 case
    spots NOUN NNS 2 nmod
    saw VERB VBD 0 root
    the DET DT 7 det
    cat NOUN NN 5 obj
    . PUNCT . 5 punct
    """
)
DOG_TREE = parse_tree(
    "(S (NP (NP (DT The) (NN dog)) (PP (IN with) (NP (NNS spots)))) (VP (VBD saw) "
    "(NP (DT the) (NN cat))) (. .))"
)


REQUIRED = ((0, 4), (0, 2), (2, 4), (4, 7), (5, 7))


def spans(sentence):
    words = sentence.forms()
    return {" ".join(words[each.start : each.end]) for each in head_spans(sentence)}


def test_a_head_with_its_nearest_dependents_is_a_span():
    assert spans(DOG) == {
        "The dog",
        "dog with spots",
        "The dog with spots",
        "with spots",
        "The dog with spots saw",
        "saw the cat",
        "The dog with spots saw the cat",
        "the cat",
    }


def test_borders_name_the_relations_on_both_sides():
    (verb_phrase,) = [each for each in head_spans(DOG) if each[:2] == (4, 7)]
    assert verb_phrase[2:] == ("root", "VERB", "nsubj", "", "obj", "")
    (noun,) = [each for each in head_spans(DOG) if each[:2] == (0, 2)]
    assert noun[2:] == ("nsubj", "NOUN", "", "det", "", "nmod")


def test_a_clause_with_a_subject_of_its_own_is_another_border():
    sentence = rows_of(
        """
        we PRON PRP 2 nsubj
        sang VERB VBD 0 root
        and CCONJ CC 5 cc
        they PRON PRP 5 nsubj
        danced VERB VBD 2 conj
        """
    )
    outside = {each.outside_right for each in head_spans(sentence) if each.part == "VERB"}
    assert "conj+subject" in outside


BIG_DOGS = "big ADJ JJ 3 amod", "dogs NOUN NNS 0 root"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # A mark at the end is cut off, one between words is not.
        (
            ("big ADJ JJ 3 amod", ", PUNCT , 1 punct", BIG_DOGS[1], "! PUNCT . 3 punct"),
            "big , dogs",
        ),
        # A bracket stays with its partner.
        (
            (BIG_DOGS[1], "( PUNCT -LRB- 3 punct", "big ADJ JJ 1 amod", ") PUNCT -RRB- 3 punct"),
            "dogs ( big )",
        ),
        # Brackets and quotation marks around the whole are cut off together.
        (('" PUNCT `` 3 punct', *BIG_DOGS, "\" PUNCT '' 3 punct"), "big dogs"),
        (("( PUNCT -LRB- 3 punct", *BIG_DOGS, ") PUNCT -RRB- 3 punct"), "big dogs"),
        # One quotation mark of a pair is cut off.
        (("big ADJ JJ 2 amod", BIG_DOGS[1], "\" PUNCT '' 2 punct"), "big dogs"),
    ],
)
def test_marks_at_the_ends_are_cut_off(rows, expected):
    assert spans(rows_of("\n".join(rows))) == {expected}


def test_a_subtree_with_a_gap_has_no_span():
    # "a hearing ... on the issue" around the verb phrase "is scheduled".
    sentence = rows_of(
        """
        A DET DT 2 det
        hearing NOUN NN 4 nsubj
        is AUX VBZ 4 aux
        scheduled VERB VBN 0 root
        on ADP IN 7 case
        the DET DT 7 det
        issue NOUN NN 2 nmod
        today NOUN NN 4 obl
        """
    )
    assert "on the issue" in spans(sentence)
    assert "A hearing" in spans(sentence)
    assert not any("hearing" in each and "scheduled" in each for each in spans(sentence))


def test_shares_of_few_examples_are_below_those_of_many():
    few = HeadPhrases.learn([(DOG, DOG_TREE)])
    assert few.likely(DOG, 0.6) == []
    many = HeadPhrases.learn([(DOG, DOG_TREE)] * 50)
    assert [each[:3] for each in many.likely(DOG, 0.9)] == [
        (0, 4, "NP"),
        (0, 2, "NP"),
        (2, 4, "PP"),
        (4, 7, "VP"),
        (5, 7, "NP"),
    ]


def test_a_share_falls_back_on_coarser_signatures():
    learned = HeadPhrases.learn([(DOG, DOG_TREE)] * 50)
    # An unseen subtype, so only the full signature is new.
    renamed = DOG.with_heads(
        DOG.heads(), [each.replace("obj", "obj:x") for each in DOG.relations()]
    )
    spans_of = [each[:2] for each in learned.likely(renamed, 0.9)]
    assert spans_of == list(REQUIRED)


def test_shares_are_interpolated():
    sentence = rows_of("big ADJ JJ 2 amod\ndogs NOUN NNS 0 root")
    flat, nested = parse_tree("(S (JJ big) (NNS dogs))"), parse_tree("(S (UH oh) (NNS dogs))")
    other = rows_of("oh INTJ UH 2 discourse\ndogs NOUN NNS 0 root")
    learned = HeadPhrases.learn([(sentence, flat), (other, nested)])
    (found,) = learned.likely(sentence, 0.0)
    share = 0.0
    for n in (2, 1, 1, 1, 1):  # from the coarsest signature to the finest
        share = (n + STRENGTH * share) / (n + STRENGTH)
    assert found == LikelyPhrase(0, 2, "S", pytest.approx(share))


def test_no_two_likely_phrases_cross():
    # Both "the dog with spots" minus its modifier and minus its determiner are spans.
    pairs = [(DOG, DOG_TREE)] * 20
    crossing = parse_tree(
        "(S (DT The) (NP (NN dog) (PP (IN with) (NP (NNS spots)))) (VP (VBD saw) (DT the) "
        "(NN cat)) (. .))"
    )
    found = HeadPhrases.learn([*pairs, *[(DOG, crossing)] * 10]).likely(DOG, 0.2)
    assert not any(one.crosses(other) for one in found for other in found)
    assert (0, 2) in {each[:2] for each in found}
    assert (1, 4) not in {each[:2] for each in found}


def test_labels_are_required_where_most_phrases_have_them():
    verb = parse_tree(
        "(S (NP (NP (DT The) (NN dog)) (PP (IN with) (NP (NNS spots)))) (XP (VBD saw) "
        "(NP (DT the) (NN cat))) (. .))"
    )
    learned = HeadPhrases.learn([(DOG, DOG_TREE), (DOG, verb)] * 50)
    labels = {each[:2]: each.label for each in learned.likely(DOG, 0.85)}
    assert labels[4, 7] is None
    assert labels[5, 7] == "NP"
    required = learned.constraints(DOG, 0.85, 0.0, {"PP"})
    assert {(each.start, each.end): each.label for each in required.each} == {
        (0, 4): None,
        (0, 2): None,
        (2, 4): "PP",
        (4, 7): None,
        (5, 7): None,
    }


def test_a_pair_of_different_lengths_is_refused():
    tree = parse_tree("(NP (DT the) (NN cat))")
    with pytest.raises(SettingsError, match="pair 2 has a sentence of 8 words and a tree of 2"):
        HeadPhrases.learn([(DOG, DOG_TREE), (DOG, tree)])


def test_sentences_are_paired_with_trees_by_words():
    other = rows_of("big ADJ JJ 2 amod\ndogs NOUN NNS 0 root")
    pairs = pairs_by_words([DOG, other, DOG], [DOG_TREE, parse_tree("(NP (NN cats))")])
    assert pairs == [(DOG, DOG_TREE)]


def test_other_spans_are_named_by_their_roots():
    sentence = rows_of(
        """
        saw VERB VBD 0 root
        dogs NOUN NNS 1 obj
        in ADP IN 4 case
        gardens NOUN NNS 1 obl:loc
        , PUNCT , 1 punct
        today NOUN NN 1 obl
        """
    )
    found = {each[:2]: each[2:] for each in other_spans(sentence)}
    assert found[1, 4] == ("obj", "obl:loc", False, True)
    assert found[1, 3] == ("obj", "case", False, False)
    assert found[1, 6] == ("obj", "obl:loc", True, True)
    # Heads with their nearest dependents, and spans with a mark at an end, are not among them.
    assert found.keys().isdisjoint({(0, 2), (2, 4), (0, 6), (1, 5), (4, 6)})


def test_spans_of_several_heads_are_forbidden_where_they_are_rarely_phrases():
    learned = HeadPhrases.learn([(DOG, DOG_TREE)] * 50)
    assert (1, 4) not in learned.unlikely(DOG, 0.05)  # a head with a dependent
    assert (4, 6) in learned.unlikely(DOG, 0.05)  # "saw the"
    constraints = learned.constraints(DOG, 0.85, 0.05)
    forbidden = {each[1:3] for each in constraints.each if each.kind == "forbidden"}
    # Those that cross a required phrase are excluded anyway.
    assert forbidden == {
        span
        for span in learned.unlikely(DOG, 0.05)
        if not any(span[0] < a < span[1] < b or a < span[0] < b < span[1] for a, b in REQUIRED)
    }
    assert learned.unlikely(DOG, 0.0) == []
