"""The parser: results for all kinds of sentences."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.chart.decode import OBJECTIVES
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import SEPARATORS, Tree
from tests.constituency.parses import SENTENCE, TAGS, check, with_options
from tests.demo import any_length_parser, demo_parser, demo_trees

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
            assert result.fallback is None


# Any length -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 60, 250, 399, 400])
def test_lengths_up_to_the_limit_are_parsed_whole(length):
    words = ["abb"[i % 3] for i in range(length)]
    result = any_length_parser().parse(words)
    check(result, words)
    assert result.fallback is None
    assert len(result.tree.spans()) == length


@pytest.mark.parametrize(("length", "pieces"), [(401, [399, 2]), (900, [266, 266, 266, 102])])
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
            st.characters(exclude_categories=["Cs"], exclude_characters=f"{SEPARATORS}\0"),
            min_size=1,
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


def test_a_lower_price_gives_more_brackets():
    parser = demo_parser()
    counts = []
    for price in (0.9, 0.5, 0.0):
        priced = replace(parser, options=replace(parser.options, bracket_price=price))
        trees = [priced.parse(tree.words()).tree for tree in demo_trees()[:30]]
        counts.append(sum(len([*tree.spans()]) for tree in trees))
    assert counts[0] <= counts[1] <= counts[2]
    assert counts[0] < counts[2]
