"""Parsing with an ensemble: every sentence gets a result, whatever its length and batch."""

from __future__ import annotations

import pickle  # noqa: TID251 - for copies in memory, as multiprocessing makes them
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from eigentree.constituency.ensemble import parser as module
from eigentree.constituency.ensemble.combine import Chains, Evidence
from eigentree.constituency.ensemble.config import make_config
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.predictions import Prediction
from eigentree.constituency.ensemble.stacking import Query, Stacking
from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.constituency.training import train
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.io.brackets import parse_tree
from tests.constituency.ensemble.samples import sampled_trees
from tests.demo import any_length_parser
from tests.helpers import close

SENTENCES = [(tree.words(), tree.tags()) for tree in sampled_trees()[60:90]]
COMBINED = {
    "family": [{"name": "one", "copies": 3}],
    "combination": [{"name": "all", "how": "tree-coverage", "inputs": ["one"]}],
}


@pytest.fixture(scope="module")
def ensemble(ensemble_folder) -> EnsembleParser:
    return EnsembleParser.load(ensemble_folder)


def of_parsers(
    parsers: Sequence[ConstituencyParser], tables: Any = COMBINED, **named: Any
) -> EnsembleParser:
    """An ensemble of one family, from parsers with one backbone."""
    plain = ConstituencyParser(one_state(parsers[0].grammar.backbone), None, parsers[0].options)
    grammars = [("one", parser.grammar) for parser in parsers]
    stacking = Stacking(make_config(tables), {})
    return EnsembleParser([plain], lambda _number: grammars, stacking, **named)


@cache
def any_length() -> EnsembleParser:
    parser = any_length_parser()
    return of_parsers([parser] * 3, tagger=parser.tagger)


def check_whole(result: ParseResult, words: list[str]) -> None:
    assert result.words == words
    assert result.tree.words() == words
    assert result.tags == result.tree.tags()
    for bracket in result.brackets:
        assert 0.0 <= bracket.confidence <= 1.0
        assert 0 <= bracket.start < bracket.end <= len(words)
    if result.fallback not in ("flat", "split"):
        spans = [(each.label, each.start, each.end) for each in result.brackets]
        assert spans == result.tree.spans()
    if result.brackets:
        mean = np.mean([each.confidence for each in result.brackets])
        assert close(result.confidence, mean, rtol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 3, 17])
def test_sentences_of_any_length(length):
    words = ["a", "b"] * length
    words = words[:length]
    result = any_length().parse(words)
    check_whole(result, words)
    assert result.fallback is None
    assert result.tree == any_length_parser().parse(words).tree


def test_an_empty_sentence():
    assert any_length().parse([]) == ParseResult([], [], None, fallback="empty")
    assert any_length().parse([], []) == ParseResult([], [], None, fallback="empty")
    first, second, third = any_length().parse_many([(["a"], None), ([], None), (["b"], None)])
    assert second.fallback == "empty"
    assert [first.words, third.words] == [["a"], ["b"]]


def with_most(most: int) -> EnsembleParser:
    parser = any_length_parser()
    options = replace(parser.options, max_words=most)
    return of_parsers([replace(parser, options=options)] * 2, tagger=parser.tagger)


def test_long_sentences_are_parsed_in_pieces():
    words = ["a", "b", "b"] * 100
    result = with_most(40).parse(words)
    check_whole(result, words)
    assert result.fallback == "split"
    # Parts are shorter than the limit, so that all take about as long as one of its length.
    assert [len(child.words()) for child in result.tree.children] == [20] * 15
    assert result.tree.label == "S"
    pieces = [with_most(40).parse(words[start : start + 20]) for start in range(0, 300, 20)]
    assert list(result.tree.children) == [piece.tree for piece in pieces]
    sure = [bracket.confidence for piece in pieces for bracket in piece.brackets]
    assert [bracket.confidence for bracket in result.brackets] == sure
    assert with_most(400).parse(words).fallback is None


def test_pieces_do_not_mix_with_other_sentences():
    words = [["a"] * 3, ["b", "a"] * 9, [], ["a", "b"] * 2, ["b"] * 7]
    ensemble = with_most(4)
    together = list(ensemble.parse_many([(each, None) for each in words]))
    assert together == [ensemble.parse(each) for each in words]
    assert [each.fallback for each in together] == [None, "split", "empty", None, "split"]


# Order and batches ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("tagged", [True, False])
def test_neither_order_nor_lots_change_anything(ensemble, tagged):
    sentences = [(words, tags if tagged else None) for words, tags in SENTENCES]
    expected = list(ensemble.parse_many(sentences))
    assert [ensemble.parse(*each) for each in sentences] == expected
    for batch in (1, 7):
        assert list(replace(ensemble, batch=batch).parse_many(iter(sentences))) == expected
    assert list(ensemble.parse_many(sentences[::-1])) == expected[::-1]
    assert list(ensemble.parse_many(sentences * 2)) == expected * 2
    for result, (words, tags) in zip(expected, sentences, strict=True):
        check_whole(result, words)
        if tagged:
            assert result.tags == tags


def test_batches_are_parsed_lazily():
    asked = 0

    def sentences():
        nonlocal asked
        for _ in range(10):
            asked += 1
            yield ["a", "b"], None

    results = replace(any_length(), batch=4).parse_many(sentences())
    next(results)
    assert asked == 4
    assert len(list(results)) == 9
    assert list(any_length().parse_many([])) == []


def test_every_output_is_that_of_each_combination(ensemble):
    names = [each.name for each in ensemble.stacking.config.combination]
    found = list(ensemble.every_output(SENTENCES))
    for (predictions, answers), result in zip(found, ensemble.parse_many(SENTENCES), strict=True):
        assert list(predictions) == ["additive", "dropout", "coarse"]
        assert list(answers) == names
        assert answers["last"].tree == result.tree
        assert [each.confidence for each in result.brackets] == answers["last"].confidences


def test_a_copy_of_an_ensemble_parses_alike(ensemble):
    words = sampled_trees()[0].words()
    expected = ensemble.parse(words)
    assert pickle.loads(pickle.dumps(ensemble)).parse(words) == expected
    assert deepcopy(ensemble).parse(words) == expected


def with_last(ensemble: EnsembleParser, name: str) -> EnsembleParser:
    """The ensemble, truncated after one of its combinations."""
    description = ensemble.stacking.config
    names = [each.name for each in description.combination]
    kept = description.combination[: names.index(name) + 1]
    described = description.model_copy(update={"combination": kept})
    return replace(ensemble, stacking=Stacking(described, ensemble.stacking.rerankers))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees", "marginals", "first", "second", "last"])
def test_several_trees_are_those_of_the_last_combination(ensemble, name):
    part = with_last(ensemble, name)
    found = 0
    for sentence in SENTENCES:
        plain, result, fewer = (part.parse(*sentence, kbest=kbest) for kbest in (None, 6, 2))
        assert plain.alternatives == ()
        assert replace(result, alternatives=()) == plain
        several = result.alternatives
        assert fewer.alternatives == several[:2]
        assert several[0].tree == result.tree
        assert several[0].confidence == result.confidence
        assert len({each.tree for each in several}) == len(several) <= 6
        found = max(found, len(several))
        values = [each.objective for each in several]
        assert values == sorted(values, reverse=True)
        assert {(each.log_value, each.probability) for each in several} == {(None, None)}
    assert found > 1


def test_the_candidates_of_a_reranker_are_its_trees(ensemble):
    part = with_last(ensemble, "first")
    combination = part.stacking.config.combination[-1]
    for sentence, (predictions, answers) in zip(
        SENTENCES[:10], part.every_output(SENTENCES[:10]), strict=True
    ):
        candidates = part.stacking.candidates(combination, Query(*sentence, predictions, answers))
        several = part.parse(*sentence, kbest=1000).alternatives
        assert {each.tree for each in several} == set(candidates.trees)


def test_fall_backs_of_an_ensemble_have_one_tree():
    words = ["a", "b", "b"] * 4
    split = with_most(5).parse(words, kbest=9)
    assert split.fallback == "split"
    assert [each.tree for each in split.alternatives] == [split.tree]
    assert any_length().parse([], kbest=3).alternatives == ()
    with pytest.raises(SettingsError, match="kbest is 0; it must be at least 1"):
        any_length().parse(words, kbest=0)


# Words and tags ---------------------------------------------------------------------------


def test_unknown_words_and_tags(ensemble):
    words, tags = SENTENCES[0]
    strange = ["zebra", *words[1:]]
    result = ensemble.parse(strange, tags)
    check_whole(result, strange)
    assert result.fallback is None
    check_whole(ensemble.parse(strange), strange)
    unknown = ["?", *tags[1:]]
    result = ensemble.parse(words, unknown)
    check_whole(result, words)
    assert (result.tags, result.fallback) == (unknown, "tags")


def test_tags_are_those_of_the_tagger_where_none_are_given(ensemble):
    for words, tags in SENTENCES[:10]:
        result = ensemble.parse(words)
        check_whole(result, words)
        assert result.tags == tags


def test_weights_do_what_the_tagger_s_guesses_do(ensemble):
    for words, tags in SENTENCES[:10]:
        guesses = ensemble.tagger.marginals(words)
        result = ensemble.parse(words, [dict(each) for each in guesses])
        assert result.tree == ensemble.parse(words).tree
        assert ensemble.parse(words, [*tags[:-1], {tags[-1]: 2}]).tags == tags
    with pytest.raises(SettingsError, match="the parser has no such tag"):
        ensemble.parse(["a"], [{"NOUN": 1}])


def test_without_a_tagger_words_take_any_tag_they_were_seen_with(ensemble):
    untagged = replace(ensemble, tagger=None)
    for words, tags in SENTENCES[:10]:
        result = untagged.parse(words)
        check_whole(result, words)
        assert result.tags == tags


def test_tags_that_members_chose_differently_are_voted_on():
    parser = any_length_parser()

    trees = [parse_tree(f"(S ({tags[0]} a) (S ({tags[1]} b)))") for tags in ("AB", "AC", "BC")]
    evidence = Evidence(2, Chains())
    predictions = {
        "one": Prediction(trees[:2], np.array([0, 0, 1, -1]), evidence),
        "two": Prediction(trees[1:], np.array([1, 1, 1, 0]), evidence),
    }
    ensemble = of_parsers([parser])
    sentence = PreparedSentence(["a", "b"], None)
    # The first word is four times A and three times B, the second twice B and five times C.
    assert ensemble._tags(sentence, predictions) == ["A", "C"]
    predictions["two"] = Prediction(trees[2:], np.array([0, 0, 0]), evidence)
    assert ensemble._tags(sentence, predictions) == ["A", "C"]  # by alphabet
    nothing = {"one": Prediction([], np.array([-1]), evidence)}
    assert ensemble._tags(sentence, nothing) == parser.flat(sentence).tags


# What has to be given up ------------------------------------------------------------------


def without_values(parser: ConstituencyParser) -> ConstituencyParser:
    grammar = parser.grammar
    nothing = np.zeros_like(grammar.parameters.root)
    parameters = grammar.parameters._replace(root=nothing)
    return replace(parser, grammar=LPCFG(grammar.backbone, parameters, grammar.signed))


def test_where_no_member_has_a_tree_the_plain_grammar_has():
    parser = any_length_parser()
    words = ["a", "b", "a"]
    alone = without_values(parser).parse(words)
    assert alone.fallback == "coarse"
    result = of_parsers([without_values(parser)] * 2, tagger=parser.tagger).parse(words)
    check_whole(result, words)
    assert (result.tree, result.fallback) == (alone.tree, "coarse")
    # One member with a tree is enough.
    result = of_parsers([without_values(parser), parser], tagger=parser.tagger).parse(words)
    assert result.fallback is None
    assert result.tree == parser.parse(words).tree


def test_where_not_even_the_plain_grammar_has_a_tree_the_words_lie_flat(ensemble):
    result = ensemble.parse(["fox"], ["N"])
    check_whole(result, ["fox"])
    assert (result.fallback, result.brackets, result.confidence) == ("flat", (), None)
    assert result.tree.label == "S"


@pytest.mark.parametrize("most", [0, 40])
def test_forests_of_a_lot_are_not_all_kept_at_a_time(ensemble, monkeypatch, most):
    expected = list(ensemble.parse_many(SENTENCES))
    reader = module.Predictor
    kept: list[list[int]] = []

    def watched(*given):
        made = reader(*given)
        kept.append([sentence.n_edges for sentence in made._sentences])
        return made

    monkeypatch.setattr(module, "Predictor", watched)
    monkeypatch.setattr(module, "MAX_EDGES", most)
    assert list(ensemble.parse_many(SENTENCES)) == expected
    assert len(kept) > 2 * len(ensemble.backbones)
    assert all(sum(edges[:-1]) < most or len(edges) == 1 for edges in kept)
    assert any(len(edges) > 1 for edges in kept) == (most > 0)


def test_batches_that_do_not_fit_into_memory_are_parsed_one_by_one(monkeypatch):
    ensemble = any_length()
    sentences = [(["a", "b"] * length, None) for length in (1, 3, 5)]
    expected = list(ensemble.parse_many(sentences))
    results = EnsembleParser._results
    asked: list[int] = []

    def failing(self, given, best, least):
        asked.append(len(given))
        if len(given) > 1:
            raise MemoryError
        return results(self, given, best, least)

    monkeypatch.setattr(EnsembleParser, "_results", failing)
    assert list(ensemble.parse_many(sentences)) == expected
    assert asked == [3, 1, 1, 1]


def test_a_sentence_that_does_not_fit_into_memory_is_cut(monkeypatch):
    ensemble = any_length()
    results = EnsembleParser._results

    def failing(self, given, best, least):
        if max(len(sentence.words) for sentence in given) > 5 or len(given) > 4:
            raise MemoryError
        return results(self, given, best, least)

    monkeypatch.setattr(EnsembleParser, "_results", failing)
    words = ["a", "b"] * 8
    result, other = ensemble.parse_many([(words, None), (["a"], None)])
    check_whole(result, words)
    assert result.fallback == "split"
    assert [len(child.words()) for child in result.tree.children] == [4, 4, 4, 4]
    assert other.fallback is None


def test_fewer_trees_are_given_where_there_is_no_room_for_all(monkeypatch):
    """A large kbest does not split a sentence that has fewer trees."""
    ensemble = any_length()
    sentence = ["a", "b"] * 4, None
    expected = ensemble.parse(*sentence, kbest=2)
    results = EnsembleParser._results
    asked: list[int | None] = []

    def failing(self, given, best, least):
        asked.append(best)
        if best is not None and best > 2:
            raise MemoryError
        return results(self, given, best, least)

    monkeypatch.setattr(EnsembleParser, "_results", failing)
    assert ensemble.parse(*sentence, kbest=32) == expected
    assert asked == [32, 8, 2]


def test_too_little_memory_for_anything(monkeypatch):
    def failing(*_given):
        raise MemoryError

    monkeypatch.setattr(module, "Predictor", failing)
    with pytest.raises(MemoryError):
        any_length().parse(["a"] * 40)


# What can't be parsed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tags"),
    [
        ("a b", ["A", "B"]),
        (["a", 3], None),
        (["a", "b"], "AB"),
        (["a", "b"], ["A"]),
        (["a", ""], None),
        (["a", "b c"], None),
        (["a", "b"], ["A", "("]),
        (["a", "b"], ["A", None]),
    ],
)
def test_bad_input_is_refused_as_a_parser_refuses_it(words, tags):
    with pytest.raises((TypeError, SettingsError)) as expected:
        any_length_parser().parse(words, tags)
    with pytest.raises(expected.type) as found:
        any_length().parse(words, tags)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("sentence", [["a", 3], ("a",), None, 3, ("a", "b", "c")])
def test_what_is_no_sentence_is_refused_as_a_parser_refuses_it(sentence):
    with pytest.raises((TypeError, SettingsError)) as expected:
        list(any_length_parser().parse_many([sentence]))
    with pytest.raises(expected.type) as found:
        list(any_length().parse_many([sentence]))
    assert str(found.value) == str(expected.value)


def test_how_it_was_trained_is_known(ensemble, ensemble_folder):
    member = ConstituencyParser.load(ensemble_folder / "members" / "coarse-1.egt")
    assert ensemble.cleaning == member.cleaning
    assert ensemble.options == member.options
    assert repr(any_length()) == "<EnsembleParser: 0 members, 1 combination, tagger>"


def test_families_with_other_limits_get_pieces_that_all_can_parse():
    parser = any_length_parser()
    plain = ConstituencyParser(one_state(parser.grammar.backbone), None, parser.options)
    shorter = ConstituencyParser(plain.grammar, None, replace(parser.options, max_words=3))
    tables = {"family": [{"name": "one"}, {"name": "two"}]}
    ensemble = EnsembleParser(
        [plain, shorter],
        lambda number: [(("one", "two")[number], parser.grammar)],
        Stacking(make_config(tables), {}),
        parser.tagger,
    )
    result = ensemble.parse(["a"] * 6)
    assert [len(child.words()) for child in result.tree.children] == [3, 3]


def test_marginals_of_members_are_their_confidence():
    """The confidences of an ensemble with one member are those of the member."""
    options = TrainingOptions(tagger=False).with_shortcuts("clustering", 3)
    parser = train(sampled_trees()[:60], options)
    alone = of_parsers([parser], {"family": [{"name": "one"}]})
    for words, tags in SENTENCES:
        mine, own = alone.parse(words, tags), parser.parse(words, tags)
        known = {each[:3]: each.confidence for each in own.brackets}
        assert any(bracket[:3] in known for bracket in mine.brackets)
        for bracket in mine.brackets:
            if bracket[:3] in known:
                assert close(bracket.confidence, known[bracket[:3]], rtol=1e-9, atol=1e-9)
