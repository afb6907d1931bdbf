"""The parser: results for all kinds of sentences, and fall-backs."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.chart.decode import OBJECTIVES
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.errors import SettingsError
from eigentree.sentence_input import MIN_TAG_PROBABILITY
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.tree import SEPARATORS, Tree
from eigentree.words.tagger import Tagger, TagProbability
from tests.demo import any_length_parser, demo_parser, demo_trees
from tests.helpers import close

SENTENCE = ["The", "dog", "sees", "the", "old", "cat", "."]
TAGS = ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]


def with_options(parser: ConstituencyParser, **changes) -> ConstituencyParser:
    return replace(parser, options=replace(parser.options, **changes))


def check(result: ParseResult, words: list[str], tags: list[str] | None = None) -> None:
    """Check the properties of all results."""
    assert result.words == words
    assert len(result.tags) == len(words)
    if not words:
        assert (result.tree, result.fallback) == (None, "empty")
        return
    assert result.tree is not None
    assert result.tree.words() == words
    assert result.tree.tags() == result.tags
    if tags is not None:
        assert result.tags == tags
    assert parse_tree(format_tree(result.tree)) == result.tree
    spans = result.tree.spans()
    if result.fallback not in ("flat", "split"):
        assert [(b.label, b.start, b.end) for b in result.brackets] == spans
    assert {(b.label, b.start, b.end) for b in result.brackets} <= set(spans)
    assert all(0.0 <= bracket.confidence <= 1.0 for bracket in result.brackets)
    assert (result.confidence is None) == (not result.brackets)
    assert result.log_value is None or np.isfinite(result.log_value)
    assert result.sign in (-1, 1)


# What it is for ---------------------------------------------------------------------------


def test_an_ordinary_sentence():
    result = demo_parser().parse(SENTENCE)
    check(result, SENTENCE, TAGS)
    assert result.fallback is None
    assert result.tree == parse_tree(
        "(S (NP (DT The) (NN dog)) (VP (VBZ sees) (NP (DT the) (JJ old) (NN cat))) (. .))"
    )
    assert result.confidence is not None
    assert result.confidence > 0.5


@pytest.mark.parametrize("own_tags", [False, True])
def test_thirty_trees_are_learned_by_heart(own_tags):
    seen: dict[tuple[str, ...], Tree] = {}
    for tree in sorted(demo_trees(), key=lambda tree: len(tree.words())):
        seen.setdefault(tuple(tree.words()), tree)
    trees = list(seen.values())[:30]
    parser = ConstituencyParser.train(trees, states=8)
    results = [parser.parse(tree.words(), None if own_tags else tree.tags()) for tree in trees]
    assert [result.tree for result in results] == trees


@pytest.mark.parametrize(
    ("method", "treebank"),
    [("pcfg", {}), ("pcfg", {"vertical": 2, "horizontal": 1}), ("spectral", {"direction": "head"})],
)
def test_other_methods_parse_too(method, treebank):
    from eigentree.treebank.binarise import BinariseOptions

    settings = TrainingOptions(
        method=method,
        treebank=TreebankOptions(binarise=BinariseOptions(**treebank)),
        tagger=False,
    )
    parser = ConstituencyParser.train(demo_trees()[:200], settings=settings, states=2)
    assert parser.grammar.signed is (method == "spectral")
    result = parser.parse(SENTENCE, TAGS)
    check(result, SENTENCE, TAGS)
    assert result.fallback is None


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_of_a_probability_model(objective):
    parser = any_length_parser()
    pcfg = ConstituencyParser.train(demo_trees()[:200], method="pcfg")
    for each in (parser, pcfg) if objective != "viterbi" else (pcfg,):
        words = ["a", "b", "a"] if each is parser else SENTENCE
        result = with_options(each, objective=objective).parse(words)
        check(result, words)
        assert result.fallback is None


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pcfg", "clustering", "spectral"])
def test_trees_without_rules_have_the_words_and_tags_of_any_grammar(method):
    parser = ConstituencyParser.train(demo_trees()[:200], method=method, states=2)
    kruskal = parser.in_kruskal_form(DecompositionOptions(8, "als", iterations=5))
    for each in (parser, kruskal):
        free = with_options(each, objective="free")
        for words, tags in ((SENTENCE, TAGS), (SENTENCE, None), (SENTENCE[:1], TAGS[:1])):
            result = free.parse(words, tags)
            check(result, words, tags)
            # No sentence of the demonstration is one word long.
            assert result.fallback == (None if len(words) > 1 else "flat")


# Any length -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 60, 250, 399, 400])
def test_lengths_up_to_the_limit_are_parsed_whole(length):
    words = ["abb"[i % 3] for i in range(length)]
    result = any_length_parser().parse(words)
    check(result, words)
    assert result.fallback is None
    assert len(result.tree.spans()) == length


@pytest.mark.parametrize(("length", "pieces"), [(401, [400, 1]), (900, [400, 400, 100])])
def test_longer_sentences_are_parsed_in_pieces(length, pieces):
    words = ["ab"[i % 2] for i in range(length)]
    result = any_length_parser().parse(words)
    check(result, words)
    assert result.fallback == "split"
    assert [len(child.words()) for child in result.tree.children] == pieces
    assert len(result.brackets) == length


def test_pieces_end_at_marks():
    words = ["a", "b", "a", "b", ",", "a", "b", "a", "b", "a", "b"]
    result = with_options(any_length_parser(), max_words=7).parse(words)
    check(result, words)
    assert [len(child.words()) for child in result.tree.children] == [5, 6]


def test_what_does_not_fit_into_memory_is_parsed_in_pieces(monkeypatch):
    from eigentree.constituency import pruning_schedule

    prune = pruning_schedule.prune

    def small_machine(grammar, leaves, *rest, **options):
        if leaves.n_words > 30:
            raise MemoryError
        return prune(grammar, leaves, *rest, **options)

    monkeypatch.setattr(pruning_schedule, "prune", small_machine)
    words = ["a", "b"] * 50
    result = any_length_parser().parse(words)
    check(result, words)
    assert result.fallback == "split"
    assert [len(child.words()) for child in result.tree.children] == [25] * 4


def test_without_any_memory_there_is_an_error(monkeypatch):
    def no_machine(*_arguments, **_options):
        raise MemoryError("no memory at all")

    monkeypatch.setattr("eigentree.constituency.pruning_schedule.prune", no_machine)
    with pytest.raises(MemoryError, match="no memory at all"):
        any_length_parser().parse(["a", "b"] * 50)


def test_a_long_sentence_of_real_words():
    words = [word for tree in demo_trees() for word in tree.words()][:120]
    check(demo_parser().parse(words), words)


def test_no_words_no_tree():
    check(demo_parser().parse([]), [])
    check(demo_parser().parse([], []), [])


# Any words --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "（",
        "????????????",
        ". . . ! ? , ;",
        "-LRB- x -RRB-",
        "😀",
        "👩‍🚀 ☝️ eats 🍕 .",
        "Zorgle blicks the frumious snark .",
        "THE DOG SEES THE CAT .",
        "10\u00a0000 a\u2028b \u3000x",
        "co\u00adoperate zero\u200bwidth",
        "\\/ a/b/NN _ #",
        "(NN dog) ((( )))",
        "x" * 5000,
        "é e\u0301 ß Ω य ظ 漢字",
        "dog " * 30,
    ],
)
def test_odd_words_keep_their_characters(text):
    words = text.split(" ")
    words = [word for word in words if word]
    check(demo_parser().parse(words), words)


word_lists = st.lists(
    st.one_of(
        st.sampled_from(SENTENCE),
        st.text(
            st.characters(exclude_categories=["Cs"], exclude_characters=SEPARATORS), min_size=1
        ),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(word_lists)
def test_any_words_give_a_tree(words):
    check(demo_parser().parse(words), words)


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*SENTENCE, "zorgle", "("]),
            st.sampled_from([*TAGS, "XX", "-LRB-", "S", "NP", "A|B", "^@+"]),
        ),
        max_size=9,
    )
)
def test_given_tags_stand_in_the_tree(pairs):
    words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
    check(demo_parser().parse(words, tags), words, tags)


def test_untagged_words_without_a_tagger():
    parser = replace(demo_parser(), tagger=None)
    for words in (SENTENCE, ["zorgle"], ["Zorgle", "blicks", "."]):
        check(parser.parse(words), words)
    result = parser.parse(SENTENCE)
    assert result.fallback is None
    assert result.tags[0] == "DT"


# Fall-backs -------------------------------------------------------------------------------


def test_a_threshold_that_leaves_no_tree_is_relaxed():
    result = with_options(demo_parser(), threshold=0.99).parse(
        ["The", "man", "saw", "a", "dog", "with", "the", "cat", "in", "the", "old", "house", "."]
    )
    check(result, result.words)
    assert result.fallback == "threshold"


def test_a_latent_grammar_without_a_value_leaves_it_to_the_coarse_one():
    parser = demo_parser()
    grammar = parser.grammar
    silent = grammar.parameters._replace(root=np.zeros_like(grammar.parameters.root))
    parser = replace(parser, grammar=LPCFG(grammar.backbone, silent, signed=True))
    result = parser.parse(SENTENCE, TAGS)
    check(result, SENTENCE, TAGS)
    assert result.fallback == "coarse"
    assert result.tree == demo_parser().parse(SENTENCE, TAGS).tree


def test_a_latent_grammar_that_overflows_leaves_it_to_the_coarse_one():
    parser = demo_parser()
    grammar = parser.grammar
    huge = grammar.parameters._replace(root=np.full_like(grammar.parameters.root, 1e308))
    result = replace(parser, grammar=LPCFG(grammar.backbone, huge, signed=True)).parse(SENTENCE)
    check(result, SENTENCE)


@pytest.mark.parametrize(
    "tags",
    [
        ["XX"] * 7,  # unknown to the grammar
        ["DT", "XX", "VBZ", "DT", "JJ", "NN", "."],
        ["."] * 7,  # known, but no tree has them
        [",", "VBZ", ".", "CC", "CC", "DT", "MD"],
    ],
)
def test_tags_that_contradict_the_grammar_are_set_aside(tags):
    result = demo_parser().parse(SENTENCE, tags)
    check(result, SENTENCE, tags)
    assert result.fallback == "tags"
    assert len(result.tree.spans()) > 1


def test_tags_that_are_right_still_count_when_others_are_set_aside():
    good = demo_parser().parse(SENTENCE, TAGS)
    result = demo_parser().parse(SENTENCE, [*TAGS[:-1], "XX"])
    assert result.fallback == "tags"
    assert result.tree.spans() == good.tree.spans()


def test_words_without_any_tree_stand_under_one_root():
    parser = ConstituencyParser.train(
        [parse_tree("(S (NP (D the) (N dog)) (VP (V sleeps)))")], states=2
    )
    for words, tags in ((["the"], None), (["dog", "dog"], ["N", "N"]), (["x"] * 4, ["?"] * 4)):
        result = parser.parse(words, tags)
        check(result, words, tags)
        assert result.fallback == "flat"
        assert result.tree.label == "S"
        assert all(child.is_preterminal for child in result.tree.children)
    untagged = replace(parser, tagger=None).parse(["x"])
    check(untagged, ["x"])
    assert untagged.fallback == "flat"


def test_a_grammar_of_single_words_knows_no_phrase():
    parser = ConstituencyParser.train([parse_tree("(UH yes)"), parse_tree("(FRAG (NN tea))")] * 3)
    for words in (["yes"], ["tea"], ["what"], ["yes", "tea"]):
        check(parser.parse(words), words)
    assert parser.parse(["tea"]).tree == parse_tree("(FRAG (NN tea))")
    assert parser.parse(["yes", "tea"]).fallback == "flat"


# Several trees ----------------------------------------------------------------------------

LONGER_TAGGED = (
    "The_DT old_JJ man_NN saw_VBD the_DT dog_NN in_IN the_DT house_NN with_IN the_DT cat_NN ._."
)
LONGER, LONGER_TAGS = ([pair.split("_")[side] for pair in LONGER_TAGGED.split()] for side in (0, 1))


def check_several(result: ParseResult, best: int) -> None:
    several = result.alternatives
    assert 1 <= len(several) <= best
    assert several[0].tree == result.tree
    if result.confidence is None:
        assert several[0].confidence is None
    else:
        assert close(several[0].confidence, result.confidence, rtol=1e-12)
    assert len({tuple(each.tree.spans()) for each in several}) == len(several)
    assert all(each.tree.words() == result.words for each in several)
    if several[0].objective is not None:
        values = [each.objective for each in several]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("tags", [None, LONGER_TAGS])
@pytest.mark.parametrize("objective", [name for name in OBJECTIVES if name != "viterbi"])
def test_several_trees(objective, tags):
    parser = with_options(demo_parser(), objective=objective)
    alone, three, many = (parser.parse(LONGER, tags, kbest=kbest) for kbest in (None, 3, 30))
    assert alone.alternatives == ()
    assert replace(many, alternatives=()) == alone
    check_several(many, 30)
    assert len(many.alternatives) > 3
    assert three.alternatives == many.alternatives[:3]
    for each in many.alternatives:
        assert each.probability is None  # of a signed grammar
        assert each.sign in (-1, 1)
        if tags is not None:
            assert each.tree.tags() == tags
        assert (each.log_value is None) == (objective == "free")
        if tags is not None and each.log_value is not None:
            value = parser.value_of(each.tree)
            assert value.sign == each.sign
            assert close(value.log_value, each.log_value, rtol=1e-9)


def test_shares_of_a_sentence_are_probabilities():
    parser = ConstituencyParser.train(demo_trees()[:200], method="pcfg")
    words, tags = LONGER[:2] + LONGER[3:9] + ["."], LONGER_TAGS[:2] + LONGER_TAGS[3:9] + ["."]
    result = with_options(parser, threshold=0.0, objective="viterbi").parse(
        words, tags, kbest=10**5
    )
    check_several(result, 10**5)
    shares = [each.probability for each in result.alternatives]
    assert shares == sorted(shares, reverse=True)
    assert close(sum(shares), 1.0, rtol=1e-9)
    objectives, values = zip(
        *((each.objective, each.log_value) for each in result.alternatives), strict=True
    )
    assert close(objectives, values, rtol=1e-9)
    pruned = parser.parse(words, tags, kbest=5)
    assert 0.9 < sum(each.probability for each in pruned.alternatives) <= 1.0 + 1e-9


def test_several_trees_in_kruskal_form():
    exact = ConstituencyParser.train(demo_trees()[:60], method="pcfg")
    for parser in (exact, exact.in_kruskal_form(seed=1)):
        result = parser.parse(LONGER, LONGER_TAGS, kbest=8)
        check_several(result, 8)
        for each in result.alternatives:
            value = parser.value_of(each.tree)
            assert close(value.log_value, each.log_value, rtol=1e-6)


@pytest.mark.parametrize("fallback", ["threshold", "tags", "coarse", "flat", "split"])
def test_fall_backs_have_alternatives_too(fallback):
    parser = demo_parser()
    words, tags = LONGER, LONGER_TAGS
    if fallback == "threshold":
        parser = with_options(parser, threshold=0.99)
    elif fallback == "tags":
        tags = ["XX", *tags[1:]]
    elif fallback == "coarse":
        grammar = parser.grammar
        silent = grammar.parameters._replace(root=np.zeros_like(grammar.parameters.root))
        parser = replace(parser, grammar=LPCFG(grammar.backbone, silent, signed=True))
    elif fallback == "flat":
        words, tags = ["x"] * 4, ["XX"] * 4
        trees = [parse_tree("(S (NP (D the) (N dog)) (VP (V sleeps)))")]
        parser = ConstituencyParser.train(trees, states=2)
    else:
        parser = with_options(parser, max_words=8)
    result = parser.parse(words, tags, kbest=7)
    assert result.fallback == fallback
    check_several(result, 7)
    assert all(each.tree.tags() == tags for each in result.alternatives)
    if fallback in ("flat", "split"):
        (only,) = result.alternatives
        assert (only.objective, only.log_value, only.probability) == (None, None, None)
    else:
        assert len(result.alternatives) > 1
        assert all(np.isfinite(each.log_value) for each in result.alternatives)
    if fallback == "coarse":
        # Values of the plain grammar.
        assert sum(each.probability for each in result.alternatives) <= 1.0


def test_no_words_have_no_alternative_and_none_can_t_be_asked_for():
    assert demo_parser().parse([], kbest=4).alternatives == ()
    with pytest.raises(SettingsError, match="kbest is 0; it must be at least 1"):
        demo_parser().parse(SENTENCE, kbest=0)


@pytest.mark.parametrize("direction", ["left", "right", "head"])
def test_values_of_trees_are_those_of_their_own_binarisation(direction):
    from eigentree.treebank.binarise import BinariseOptions

    options = BinariseOptions(direction, vertical=2, horizontal=1)
    settings = TrainingOptions(treebank=TreebankOptions(binarise=options), tagger=False)
    parser = ConstituencyParser.train(demo_trees()[:100], settings=settings, states=2)
    for tree in demo_trees()[:5]:
        found = parser.parse(tree.words(), tree.tags(), kbest=50).alternatives
        values = {each.tree: each.log_value for each in found}
        assert close(parser.value_of(tree).log_value, values[tree], rtol=1e-9)
    assert parser.value_of(parse_tree("(S (NP (XX ?)) (VP (VBD slept)))")).sign == 0


# Order and independence -------------------------------------------------------------------


def test_results_do_not_depend_on_the_sentences_before():
    sentences = [(tree.words(), None) for tree in demo_trees()[:25]]
    sentences += [([], None), (["????"], None), (SENTENCE, ["."] * 7)]
    order = list(range(len(sentences)))
    random.Random(5).shuffle(order)
    in_order = list(demo_parser().parse_many(sentences))
    shuffled = list(demo_parser().parse_many(sentences[i] for i in order))
    assert shuffled == [in_order[i] for i in order]


def test_a_parser_may_be_shared_between_threads():
    from concurrent.futures import ThreadPoolExecutor

    sentences = [tree.words() for tree in demo_trees()[:20]]
    expected = [demo_parser().parse(words) for words in sentences]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(demo_parser().parse, sentences)) == expected


# Refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["the", "dog"], "DN", "tags is one string; expected a list of tags"),
        (["the", 3], None, "one of the words is 3; all must be strings"),
        ([["the", "dog"]], None, "all must be strings"),
        (["the", "dog"], ["DT", None], "one of the tags is None"),
    ],
)
def test_wrong_types_are_told(words, tags, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        demo_parser().parse(words, tags)


@pytest.mark.parametrize("sentences", [[["the", "dog"]], [None]])
def test_a_batch_is_of_texts_or_pairs(sentences):
    with pytest.raises(TypeError, match="a pair of a list of words and their tags or None"):
        list(demo_parser().parse_many(sentences))


def test_a_batch_is_not_one_text():
    with pytest.raises(TypeError, match="one string; a list of sentences is expected"):
        list(demo_parser().parse_many("The dog slept."))


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (None, "sentences is None; a list of sentences is expected"),
        ([("The",)], "a sentence is tuple .* a pair of a list of words"),
        ([("a", None, None, None)], "a sentence is tuple .* a pair of a list of words"),
    ],
)
def test_what_is_no_batch_is_refused(sentences, message):
    with pytest.raises(TypeError, match=message):
        list(demo_parser().parse_many(sentences))


@pytest.mark.parametrize("text", [None, ["The dog."], b"The dog."])
def test_only_a_string_is_a_text(text):
    with pytest.raises(TypeError, match="text must be a string"):
        demo_parser().parse_text(text)


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        (["the", "dog"], ["DT"], "2 words but 1 tag"),
        ([], ["DT"], "0 words but 1 tag"),
        (["the", ""], None, "a word of .* is empty; leave it out"),
        (["the", " "], None, "a word of .* is empty; leave it out"),
        (["the dog"], None, "a word of .* holds white space; split it"),
        (["dog"], [""], "a tag of .* is empty or holds white space or brackets"),
        (["dog"], ["(NN"], "a tag of .* is empty or holds white space or brackets"),
    ],
)
def test_what_no_tree_can_hold_is_refused(words, tags, message):
    with pytest.raises(SettingsError, match=message):
        demo_parser().parse(words, tags)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, "threshold is 1.0; it must be at least 0 and below 1"),
        ({"threshold": -1e-9}, "threshold is -1e-09"),
        ({"threshold": float("nan")}, "threshold is nan"),
        ({"max_words": 1}, "max_words is 1; it must be at least 2"),
    ],
)
def test_options_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        ParserOptions(**options)


def test_an_objective_that_does_not_fit_the_grammar():
    parser = with_options(demo_parser(), objective="viterbi")
    with pytest.raises(SettingsError, match="viterbi requires one latent state per symbol"):
        parser.parse(SENTENCE)


def test_a_tagger_may_know_tags_that_the_grammar_lacks():
    other = Tagger.train([(["a", "b"], ["FIRST", "SECOND"])])
    result = ConstituencyParser(demo_parser().grammar, other).parse(["the", "dog", "slept"])
    check(result, ["the", "dog", "slept"])
    assert set(result.tags) <= set(demo_parser().grammar.backbone.symbols.tags)
    assert result.tags[0] == "DT"
    assert result.fallback is None


def test_the_parser_chooses_among_the_tagger_s_tags():
    class Undecided:
        """A tagger for which the second word is equally likely to be a noun or a verb."""

        tagset = ("DT", "NN", "VBD")

        def tag(self, _words):
            return ["DT", "VBD", "VBD"]

        def marginals(self, _words, **_options):
            assert _options == {"minimum": MIN_TAG_PROBABILITY}
            either = [TagProbability("VBD", 0.55), TagProbability("NN", 0.45)]
            return [[TagProbability("DT", 1.0)], either, [TagProbability("VBD", 1.0)]]

    parser = ConstituencyParser(demo_parser().grammar, Undecided())
    result = parser.parse(["the", "dog", "slept"])
    assert result.tags == ["DT", "NN", "VBD"]
    assert result.fallback is None
    assert parser.parse(["the", "dog", "slept"], ["DT", "NN", "VBD"]).tree == result.tree


def test_weights_of_one_tag_a_word_change_nothing_but_the_value():
    parser = demo_parser()
    table = parser.grammar.backbone.words
    words, tags = ["the", "old", "man", "slept", "."], ["DT", "JJ", "NN", "VBD", "."]

    class Sure:
        tagset = ("DT",)

        def tag(self, _words):
            return tags

        def marginals(self, _words, **_options):
            return [[TagProbability(tag, 1.0)] for tag in tags]

    given = ConstituencyParser(parser.grammar).parse(words, tags)
    guessed = ConstituencyParser(parser.grammar, Sure()).parse(words)
    assert guessed.tree == given.tree
    ids = parser.grammar.backbone.lexicon.ids(words)
    numbers = parser.grammar.backbone.tag_numbers(tags)
    of_words = sum(
        math.log(table.tag_probability(word, tag)) for word, tag in zip(ids, numbers, strict=True)
    )
    assert close(guessed.log_value + of_words, given.log_value, rtol=1e-9)


def test_weights_do_what_the_tagger_s_guesses_do():
    parser = demo_parser()
    for tree in demo_trees()[:20]:
        words = tree.words()
        guesses = parser.tagger.marginals(words, minimum=MIN_TAG_PROBABILITY)
        # Only ratios count.
        weights = [{tag: 7.0 * probability for tag, probability in each} for each in guesses]
        weighted, guessed = parser.parse(words, weights), parser.parse(words)
        assert (weighted.tree, weighted.tags) == (guessed.tree, guessed.tags)
        assert weighted.fallback is None
        confidences = [[each.confidence for each in r.brackets] for r in (weighted, guessed)]
        assert close(*confidences, rtol=1e-9)
        sums = sum(math.log(math.fsum(p for _, p in each)) for each in guesses)
        assert close(weighted.log_value, guessed.log_value - sums, rtol=1e-9)


def test_the_value_is_linear_in_the_weights():
    # Two tags of two words: a sum over four choices, each of them parsed alone.
    grammar = ConstituencyParser.train(
        demo_trees(), method="pcfg", settings=TrainingOptions(tagger=False)
    )
    parser = with_options(grammar, threshold=0.0)
    words, first, second = ["the", "cat", "slept"], {"NN": 0.6, "JJ": 0.4}, {"VBD": 3, "NN": 1}
    whole = 0.0
    for one, weight in first.items():
        for other, more in second.items():
            tags = ["DT", {one: 1}, {other: 1}]
            each = parser.parse(words, tags)
            if each.fallback is None:
                whole += weight * more / 4 * math.exp(each.log_value)
    assert whole > 0
    found = parser.parse(words, ["DT", first, second])
    assert close(math.exp(found.log_value), whole, rtol=1e-9)


def test_one_tag_stands_beside_weights():
    parser = demo_parser()
    words = ["the", "dog", "slept"]
    result = parser.parse(words, ["XX", {"VBD": 0.55, "NN": 0.45}, "VBD"], kbest=3)
    assert result.tags == ["XX", "NN", "VBD"]
    assert result.fallback == "tags"
    assert {each.tree.tags()[0] for each in result.alternatives} == {"XX"}
    result = parser.parse(words, ["DT", {"VBD": 0.55, "NN": 0.45}, "VBD"])
    assert (result.tags, result.fallback) == (["DT", "NN", "VBD"], None)
    required = Constraints.of(tags={1: "NN"})
    kept = parser.parse(words, ["DT", {"VBD": 1}, "VBD"], constraints=required)
    assert (kept.tags, kept.dropped_constraints) == (["DT", "NN", "VBD"], ())
    assert parser.rule_marginals(words, ["DT", {"NN": 1}, "VBD"])


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        ({"NN": -1}, SettingsError),
        ({"NN": math.nan}, SettingsError),
        ({"NN": 0.0, "VBD": 0}, SettingsError),
        ({"NOUN": 1}, SettingsError),
        ({"NN": "1"}, TypeError),
        (3, TypeError),
    ],
)
def test_wrong_weights_are_refused(weights, error):
    with pytest.raises(error, match=r"word 2|one of the tags is 3"):
        demo_parser().parse(["the", "dog"], ["DT", weights])


def test_surprisal_takes_no_weights():
    with pytest.raises(SettingsError, match="not weights"):
        demo_parser().surprisal(["the"], [{"DT": 1}])


def test_a_parser_names_itself_in_short():
    parser = any_length_parser()
    n_states = int(parser.grammar.n_states.sum())
    n_symbols, n_rules = len(parser.grammar.backbone.symbols), parser.grammar.backbone.n_rules
    sizes = f"{n_states} states, {n_symbols} symbols, {n_rules} rules"
    assert repr(parser) == f"<ConstituencyParser: spectral, {sizes}, tagger>"
    assert (
        repr(ConstituencyParser(parser.grammar))
        == f"<ConstituencyParser: unknown method, {sizes}, no tagger>"
    )


def test_em_keeps_the_best_iteration_on_held_out_trees():
    trees = demo_trees()
    options = {"method": "em", "states": 2, "settings": TrainingOptions(tagger=False)}
    with_trees = ConstituencyParser.train(trees[:60], dev=trees[60:70], **options).description["em"]
    judged = [row["f1"] for row in with_trees["record"] if row["f1"] is not None]
    best = with_trees["record"][with_trees["best"] - 1]
    assert len(judged) > 1
    assert best["f1"] == max(judged)
    without = ConstituencyParser.train(trees[:60], **options).description["em"]
    assert {row["f1"] for row in without["record"]} == {None}
