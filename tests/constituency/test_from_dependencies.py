"""Constituency trees from dependency trees: what is kept, and why the rest is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eigentree.constituency.from_dependencies import (
    ConversionOptions,
    convert_dependencies,
)
from eigentree.errors import SettingsError
from eigentree.treebank.head_phrases import HeadPhrases
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.io.conllu import Sentence
from tests.demo import demo_parser
from tests.samples import rows_of

CAT = rows_of(
    """
    The DET DT 2 det
    cat NOUN NN 3 nsubj
    saw VERB VBD 0 root
    the DET DT 5 det
    dog NOUN NN 3 obj
    in ADP IN 8 case
    the DET DT 8 det
    garden NOUN NN 3 obl
    . PUNCT . 3 punct
    """
)
# The garden belongs to the dog instead.
DOG = CAT.with_heads([2, 3, 0, 5, 3, 8, 8, 5, 3], [*CAT.relations()[:7], "nmod", "punct"])
SEEN, MODIFIED = (
    parse_tree(f"(S (NP (DT The) (NN cat)) (VP (VBD saw) {rest}) (. .))")
    for rest in (
        "(NP (DT the) (NN dog)) (PP (IN in) (NP (DT the) (NN garden)))",
        "(NP (NP (DT the) (NN dog)) (PP (IN in) (NP (DT the) (NN garden))))",
    )
)
LEARNED = HeadPhrases.learn([(CAT, SEEN), (DOG, MODIFIED)] * 60)


def convert(*sentences, **options):
    given = {name: options.pop(name) for name in ("phrases", "jobs") if name in options}
    given.setdefault("phrases", LEARNED)
    parser = options.pop("parser", demo_parser())
    return [*convert_dependencies(parser, sentences, ConversionOptions(**options), **given)]


def tagged(sentence, place, tag):
    words = list(sentence.words)
    words[place] = words[place]._replace(xpos=tag)
    return replace(sentence, words=tuple(words))


def test_dependencies_decide_the_attachment():
    high, low = convert(CAT, DOG)
    assert (high.tree, low.tree) == (SEEN, MODIFIED)
    for each in (high, low):
        assert each.reason is None
        assert each.constraints.broken_by(each.tree) == ()
        assert 0.0 < each.tree_confidence <= each.confidence <= 1.0


def test_gold_tags_are_kept():
    (found,) = convert(CAT)
    assert found.tree.tags() == CAT.tags("xpos")


def test_phrases_are_learned_from_the_parses():
    sentences = [CAT, DOG] * 4
    found = convert(*sentences, phrases=None, rounds=1, min_share=0.5)
    required = {each[1:3] for each in found[0].constraints.each}
    assert {(0, 2), (3, 5), (5, 8)} <= required
    assert all(each.constraints.broken_by(each.tree) == () for each in found if each.tree)


def test_tags_that_the_parser_lacks_are_left_to_its_tagger():
    (found,) = convert(tagged(CAT, 4, "XYZ"))
    assert found.free_tags == ("XYZ",)
    assert found.tree.tags()[4] == "NN"
    (found,) = convert(tagged(CAT, 4, "XYZ"), parser=replace(demo_parser(), tagger=None))
    assert (found.tree, found.reason) == (None, "unknown tag")


def test_a_label_that_the_parser_lacks_is_not_required():
    renamed = parse_tree(str(SEEN).replace("(VP", "(XYZ"))
    (found,) = convert(CAT, phrases=HeadPhrases.learn([(CAT, renamed)] * 60))
    assert {each[1:] for each in found.constraints.each if each.start == 2} == {(2, 8, None)}
    assert found.tree == SEEN


def test_sentences_without_a_fitting_tree_are_left_out_with_a_reason():
    # No grammar of the demonstration treebank has a WHNP over a verb and its object.
    odd = parse_tree(
        "(S (NP (DT The) (NN cat)) (VP (WHNP (VBD saw) (NP (DT the) (NN dog))) "
        "(PP (IN in) (NP (DT the) (NN garden)))) (. .))"
    )
    (found,) = convert(CAT, phrases=HeadPhrases.learn([(CAT, odd)] * 60))
    assert found.tree is None
    assert found.reason in ("no tree with these phrases", "no tree with these tags")
    (found,) = convert(
        CAT, parser=replace(demo_parser(), options=replace(demo_parser().options, max_words=5))
    )
    assert (found.tree, found.reason) == (None, "too long")
    blank = replace(CAT, words=(CAT.words[0]._replace(form="The old"), *CAT.words[1:]))
    assert [each.reason for each in convert(blank, Sentence(()))] == [
        "word that can't be in a tree",
        "empty sentence",
    ]


def test_a_minimum_of_confidence_leaves_trees_out():
    (found,) = convert(CAT)
    (kept,) = convert(CAT, min_confidence=found.confidence)
    assert kept == found
    (doubtful,) = convert(CAT, min_confidence=(1.0 + found.confidence) / 2)
    assert doubtful == found._replace(tree=None, reason="low confidence")


@pytest.mark.slow
def test_processes_change_nothing():
    sentences = [CAT, DOG, tagged(CAT, 4, "XYZ")] * 15
    assert convert(*sentences, jobs=2) == convert(*sentences)


def test_progress_names_the_stages():
    seen: dict[str, float] = {}
    options = ConversionOptions(rounds=2)
    found = [*convert_dependencies(demo_parser(), [CAT] * 2, options, progress=seen.__setitem__)]
    assert len(found) == 2
    assert seen == {
        "parsing without constraints": 1.0,
        "round 1 with constraints": 1.0,
        "parsing with constraints": 1.0,
    }


def test_tags_of_another_treebank_are_refused():
    with pytest.raises(SettingsError, match=r"9 of 9 words have tags in UPOS .* such as NAME"):
        convert(
            replace(CAT, words=tuple(word._replace(upos="NAME") for word in CAT.words)),
            tag_column="upos",
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_share": 1.5}, "min_share is 1.5; it must be from 0 to 1"),
        ({"min_confidence": -0.1}, "min_confidence is -0.1; it must be from 0 to 1"),
        ({"rounds": 0}, "rounds is 0; it must be at least 1"),
        ({"tag_column": "tags"}, "tag_column is 'tags'; it must be one of upos, xpos"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        ConversionOptions(**options)
