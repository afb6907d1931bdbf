"""The dependency parser: it always answers, and says what it had to give up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentree import sentence_input
from eigentree._core import memory
from eigentree.dependency.chart.inside_outside import (
    HeadMarginals,
    head_inside_outside,
    of_sentence,
)
from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.learn.head_automata import HeadAutomataOptions, learn_head_automata
from eigentree.dependency.learn.lexical_modifiers import count_lexical_modifiers
from eigentree.dependency.options import DependencyOptions
from eigentree.dependency.parser import UNKNOWN_TAG, DependencyParser
from eigentree.dependency.training import projective_trees, train_dependencies
from eigentree.errors import GrammarError, SettingsError
from eigentree.simulation import clause_automata
from eigentree.treebank.io.conllu import check_heads
from eigentree.treebank.projective import is_projective
from tests.helpers import close
from tests.oracles.dependencies import enumerated
from tests.samples import options, plain_parser, treebank, whole_parser

EXACT = clause_automata()


def with_unknown(automata: HeadAutomata) -> HeadAutomata:
    """The same automata, which know the unknown tag but give it no value."""
    n = len(automata.symbols)
    counted = learn_head_automata(
        [([*automata.symbols, UNKNOWN_TAG], [0, *range(1, n + 1)])],
        HeadAutomataOptions("det"),
        symbols=(*automata.symbols, UNKNOWN_TAG),
    ).automata
    size = automata.initial.shape[1]
    operators = np.zeros((2 * (n + 2), n + 1, size, size))
    initial, final = np.zeros((2, 2 * (n + 2), size))
    places = [*range(2 * n), 2 * n + 2, 2 * n + 3]  # the root comes last
    operators[places, :n] = automata.operators
    initial[places], final[places] = automata.initial, automata.final
    n_states = np.ones_like(counted.n_states)
    n_states[places] = automata.n_states
    return HeadAutomata(counted.symbols, n_states, initial, final, operators)


def exact_parser(**given: object) -> DependencyParser:
    automata = with_unknown(EXACT)
    return DependencyParser(automata, automata, options=DependencyOptions(**given))


def is_tree(heads: list[int], *, several: bool = False) -> bool:
    check_heads(heads)
    return is_projective(heads) and (several or heads.count(0) == 1)


TAGS = "DET ADJ NOUN VERB DET NOUN ADP NOUN PUNCT".split()  # noqa: SIM905 - easier to read
WORDS = [tag.lower() for tag in TAGS]


def test_marginals_are_those_of_all_trees():
    parser = exact_parser()
    tags = ["DET", "NOUN", "VERB", "ADP", "NOUN", "PUNCT"]
    found = parser.marginals(tags, tags)
    assert isinstance(found, HeadMarginals)
    chart = of_sentence(EXACT, EXACT.numbers(tags))
    total, _, with_arc = enumerated(chart, multi_root=False)
    assert close(found.marginals[:, 1:], with_arc[:, 1:] / total, rtol=1e-10, atol=1e-14)
    assert close(found.log_value, np.log(total), rtol=1e-10)


def test_confidences_are_the_marginals_of_the_arcs():
    parser = exact_parser()
    result = parser.parse(WORDS, TAGS)
    found = parser.marginals(WORDS, TAGS)
    assert (result.fallback, result.sign, result.n_outside) == (None, 1, 0)
    assert result.log_value == found.log_value
    own = [found.marginals[arc.head, arc.word] for arc in result.arcs]
    assert close([arc.confidence for arc in result.arcs], np.clip(own, 0, 1), rtol=1e-12)
    assert result.confidence == pytest.approx(np.mean(own))
    # Of the three heads that the preposition may have one is ruled out.
    assert sorted(np.flatnonzero(found.marginals[:, 7] > 1e-9).tolist()) == [4, 6]
    assert result.heads == [3, 3, 4, 0, 6, 4, *result.heads[6:]]


def test_exact_data_gives_the_marginals_of_their_model():
    # Two states are enough for these automata, and the sample is large.
    parser = train_dependencies(treebank(2000), options(states=3, back_off=0.01))
    found, right = parser.marginals(WORDS, TAGS), exact_parser().marginals(WORDS, TAGS)
    known = [*range(len(WORDS) + 1)]
    assert np.abs(found.marginals - right.marginals)[np.ix_(known, known[1:])].max() < 0.1
    assert parser.parse(WORDS, TAGS).heads == exact_parser().parse(WORDS, TAGS).heads


@pytest.mark.parametrize("method", ["sibling", "spectral", "em"])
def test_the_parser_finds_the_trees_that_it_learned(method):
    trees = treebank(30, 7)
    parser = train_dependencies(trees, options(method, lexical=method != "sibling", states=4))
    results = [parser.parse(each.forms(), each.tags("upos")) for each in trees]
    n_right = sum(
        head == right
        for each, result in zip(trees, results, strict=True)
        for head, right in zip(result.heads, each.heads(), strict=True)
    )
    # What remains are prepositions that tags and words leave open.
    assert n_right >= 0.93 * sum(map(len, trees))
    assert {result.fallback for result in results} == {None}


@pytest.mark.parametrize("objective", ["sum", "product", "viterbi"])
def test_every_objective_finds_the_only_tree(objective):
    result = exact_parser(objective=objective).parse(["it", "saw", "he", "."],
                                                     ["PRON", "VERB", "PRON", "PUNCT"])  # fmt: skip
    assert result.heads == [2, 0, 2, 2]
    assert (result.confidence is None) == (objective == "viterbi")
    assert result.log_value == pytest.approx(np.log(0.4 * 0.1 * 0.7))


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_any_length_is_parsed(n):
    parser = whole_parser()
    words, tags = (WORDS * 40)[:n], (TAGS * 40)[:n]
    for given in (tags, None):
        result = parser.parse(words, given)
        assert len(result.arcs) == len(result.tags) == n
        assert result.fallback == (None if n else "empty")
        assert not n or is_tree(result.heads)
        assert [arc.word for arc in result.arcs] == list(range(1, n + 1))
        relations = result.relations
        assert [name == "root" for name in relations] == [head == 0 for head in result.heads]
    if not n:
        assert (result.confidence, result.log_value, result.heads) == (None, None, [])


def test_unknown_tags_and_words_have_heads():
    for parser in (plain_parser(), whole_parser()):
        result = parser.parse(["xyzzy", "Ünknown", "saw", "\u00a0", "a b"],
                              ["???", "NOUN", "VERB", "", UNKNOWN_TAG])  # fmt: skip
        assert is_tree(result.heads)
        assert result.fallback is None
        assert result.tags[0] == "???"


def test_unseen_features_are_forgotten():
    parser = plain_parser()
    words = ["the", "dog", "left"]
    plain, featured, odd = (
        parser.parse(words, ["DET", noun, "VERB"])
        for noun in ("NOUN", "NOUN|Case=Nom", "XX|Case=Nom")
    )
    assert plain.arcs == featured.arcs
    assert featured.tags[1] == "NOUN|Case=Nom"
    assert odd.log_value != plain.log_value


def test_words_alone_are_tagged():
    words = ["the", "old", "dog", "saw", "it", "."]
    result = whole_parser().parse(words)
    assert result.tags == ["DET", "ADJ", "NOUN", "VERB", "PRON", "PUNCT"]
    assert result.heads == [3, 3, 4, 0, 4, 4]
    assert result.relations == ["det", "amod", "nsubj", "root", "obj", "punct"]
    (other,) = whole_parser().parse_many([(words, None)])
    assert other == result


def test_without_usable_values_the_back_off_answers():
    automata = with_unknown(EXACT)
    parser = DependencyParser(automata, plain_parser().back_off)
    result = parser.parse(["a", "b"], ["DET", "DET"])  # no sentence of these automata
    assert result.fallback == "coarse"
    assert is_tree(result.heads)
    assert result.confidence is not None
    assert parser.marginals(["a", "b"], ["DET", "DET"]) is None


def test_without_any_value_words_form_a_chain():
    for given in ({}, {"objective": "viterbi"}):
        result = exact_parser(**given).parse(["a", "b", "c"], ["DET", "DET", UNKNOWN_TAG])
        assert (result.fallback, result.heads) == ("flat", [0, 1, 2])
        assert (result.confidence, result.log_value) == (None, None)


def test_long_sentences_are_parsed_in_pieces():
    parser = replace(whole_parser(), options=DependencyOptions(max_words=6))
    result = parser.parse(WORDS * 2, TAGS * 2)
    assert result.fallback == "split"
    assert is_tree(result.heads)
    first = result.heads.index(0) + 1
    assert first <= 6
    crossing = [
        arc for arc in result.arcs if arc.head and (arc.head - 1) // 6 != (arc.word - 1) // 6
    ]
    # Two more pieces hang on the root of the first; no chart has judged these arcs.
    assert [(arc.head, arc.confidence) for arc in crossing] == [(first, None)] * 2
    assert parser.parse(WORDS[:6], TAGS[:6]).fallback is None
    several = replace(parser, options=DependencyOptions(max_words=6, several_roots=True))
    heads = several.parse(WORDS * 2, TAGS * 2).heads
    assert is_tree(heads, several=True)
    assert heads.count(0) >= 3


def test_charts_that_would_be_too_large_are_split(monkeypatch):
    for parser in (plain_parser(), whole_parser()):
        n_bytes = parser._chart_bytes(parser.automata, 7)
        monkeypatch.setattr(memory, "MAX_CHART_BYTES", n_bytes)
        assert parser.parse(WORDS[:7], TAGS[:7]).fallback is None
        result = parser.parse(WORDS * 2, TAGS * 2)
        assert result.fallback == "split"
        assert is_tree(result.heads)


def test_very_long_sentences_are_chains(monkeypatch):
    monkeypatch.setattr(sentence_input, "MAX_PARSED", 20)
    result = whole_parser().parse(WORDS * 3, TAGS * 3)
    assert (result.fallback, result.heads) == ("flat", list(range(len(WORDS) * 3)))


def test_several_roots_when_allowed():
    words, tags = ["a", "b"], ["VERB", "VERB"]
    parser = plain_parser()
    assert parser.parse(words, tags).heads.count(0) == 1
    several = replace(parser, options=DependencyOptions(several_roots=True))
    found = head_inside_outside(several._sentence(several.automata, words, tags), multi_root=True)
    assert found.log_value == pytest.approx(several.parse(words, tags).log_value)
    assert found.log_value > parser.parse(words, tags).log_value


def test_a_lexical_model_joins_or_replaces_the_automata():
    # Tags can't tell which noun a verb of two kinds takes; words can.
    parser = whole_parser()
    alone = replace(parser, options=replace(parser.options, lexical_alone=True))
    for each in (parser, alone):
        assert each.parse(WORDS, TAGS).heads[:6] == [3, 3, 4, 0, 6, 4]
    assert alone.parse(WORDS, TAGS).log_value != parser.parse(WORDS, TAGS).log_value
    # An exponent near 0 leaves the automata as they are.
    weak = replace(parser, options=replace(parser.options, lexical_weight=1e-9))
    plain = replace(parser, lexical=None)
    assert close(weak.marginals(WORDS, TAGS).marginals, plain.marginals(WORDS, TAGS).marginals,
                 rtol=1e-4, atol=1e-6)  # fmt: skip


def test_signed_values_are_reported():
    parser = plain_parser()
    assert parser.signed
    results = [parser.parse(each.forms(), each.tags("upos")) for each in treebank(40, 3)]
    assert {result.sign for result in results} <= {1, -1}
    for result in results:
        assert all(0.0 <= arc.confidence <= 1.0 for arc in result.arcs)
    assert not exact_parser().signed


def test_what_can_not_be_parsed_is_refused():
    parser = plain_parser()
    with pytest.raises(SettingsError, match="2 words but 1 tag"):
        parser.parse(["a", "b"], ["NOUN"])
    with pytest.raises(SettingsError, match="no tags, and the parser has no tagger"):
        parser.parse(["a"])
    with pytest.raises(SettingsError, match="no tags, and the parser has no tagger"):
        parser.parse("a b")
    with pytest.raises(SettingsError, match="tags are given for a text"):
        parser.parse("a b", ["NOUN", "NOUN"])
    with pytest.raises(TypeError, match="words is None; expected a list of words"):
        parser.parse(None)
    with pytest.raises(TypeError, match="word 1 is 1; all words must be strings"):
        parser.parse([1], ["NOUN"])
    with pytest.raises(SettingsError, match="word 2 of 2 is '', which is empty"):
        parser.parse(["a", ""], ["NOUN", "NOUN"])
    with pytest.raises(SettingsError, match=r"word 1 is 'a.ud880', which holds U.D880, half"):
        parser.parse(["a\ud880"], ["NOUN"])
    with pytest.raises(TypeError, match=r"tag 1 is {'NOUN': 1}; all tags must be strings"):
        parser.parse(["a"], [{"NOUN": 1}])
    with pytest.raises(SettingsError, match=r"tag 1 is '.ud880', which holds U.D880, half"):
        parser.parse(["a"], ["\ud880"])


def test_words_may_hold_spaces_as_in_conll_u():
    assert plain_parser().parse(["10 000", "a"], ["NUM", "NOUN"]).words == ["10 000", "a"]


def test_parts_must_fit():
    parser = plain_parser()
    with pytest.raises(GrammarError, match="must have the same symbols"):
        DependencyParser(EXACT, EXACT)
    with pytest.raises(SettingsError, match="objective viterbi requires probability automata"):
        replace(parser, options=DependencyOptions("viterbi"))
    with pytest.raises(SettingsError, match="lexical_alone is set for a parser without"):
        replace(parser, options=DependencyOptions(lexical_alone=True))
    # A lexical model alone has no signs.
    lexical = count_lexical_modifiers(projective_trees(treebank(30), "upos").sentences)
    alone = DependencyOptions("viterbi", lexical_alone=True)
    result = replace(parser, lexical=lexical, options=alone).parse(WORDS, TAGS)
    assert is_tree(result.heads)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "most"}, "objective is 'most'; it must be one of sum, product, viterbi"),
        ({"max_words": 0}, "max_words is 0; it must be at least 1"),
        ({"lexical_weight": 0.0}, "lexical_weight is 0.0; it must be above 0"),
        ({"lexical_weight": float("nan")}, "lexical_weight is nan"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(SettingsError, match=message):
        DependencyOptions(**settings)


def test_long_sentences_are_cut_after_punctuation():
    parser = replace(plain_parser(), options=replace(plain_parser().options, max_words=6))
    words = ["a", "b", "c", "d", ",", "e", "f", "g"]
    result = parser.parse(words, ["NOUN"] * 4 + ["PUNCT"] + ["NOUN"] * 3)
    assert result.fallback == "split"
    first, second = (
        parser.parse(words[start:end], result.tags[start:end]) for start, end in ((0, 5), (5, 8))
    )
    root = first.heads.index(0) + 1
    moved = [root if head == 0 else head + 5 for head in second.heads]
    assert result.heads == first.heads + moved


def test_pieces_get_smaller_when_memory_runs_out(monkeypatch):
    parser, whole = plain_parser(), DependencyParser._derivation

    def derivation(self, sentence):
        if len(sentence.words) > 4:
            raise MemoryError
        return whole(self, sentence)

    monkeypatch.setattr(DependencyParser, "_derivation", derivation)
    result = parser.parse(["a"] * 9, ["NOUN"] * 9)
    assert (result.fallback, len(result.heads)) == ("split", 9)
    assert result.heads.count(0) == 1


def test_parsers_score_themselves_and_can_not_be_changed():
    parser, gold = plain_parser(), treebank(20, 3)
    result = parser.evaluate(gold)
    heads = [parser.parse(each.forms(), each.tags("upos")).heads for each in gold]
    right = sum(
        head == word.head
        for sentence, own in zip(gold, heads, strict=True)
        for head, word in zip(own, sentence.words, strict=True)
    )
    assert result.all.uas == pytest.approx(right / sum(map(len, gold)))
    assert isinstance(hash(parser), int)
    with pytest.raises(TypeError):
        parser.description["words"] = 3
    assert parser.summary()["sizes"]["tags"] == len(parser.automata.symbols)
