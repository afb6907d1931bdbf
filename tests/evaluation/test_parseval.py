"""Bracket scores: against the restated reference program, and against cases worked by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError
from eigentree.evaluation.parseval import align_by_words, score
from eigentree.evaluation.scored_tree import is_punctuation
from eigentree.evaluation.settings import EVALB_COLLINS, OWN
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.tree import Tree
from tests.helpers import close
from tests.oracles import evalb

LITERAL = replace(EVALB_COLLINS, root_labels=())
PHRASES = ["S", "NP", "NP-SBJ", "NP=2", "ADVP", "PRT", "TOP", "-NONE-", "X-1=2", "B"]
TAGS = ["NN", "DT", "POS", ",", ":", "``", "''", ".", "-NONE-", "ADVP", "PRT", "NN-X"]
WORDS = ["dog", "cat", "'", '"', "/", ",", "."]
WIDE = {
    **evalb.COLLINS,
    "quotes": ["``", "''", "POS", "NN"],
    "equal_labels": [("ADVP", "PRT"), ("PRT", "B"), ("NP", "NP"), ("S", "TOP"), ("NN", "DT")],
    "equal_words": [("dog", "cat")],
    "cut_off": 3,
}
WIDE_OPTIONS = replace(
    LITERAL,
    quote_labels=tuple(WIDE["quotes"]),
    equal_labels=tuple(WIDE["equal_labels"]),
    equal_words=tuple(WIDE["equal_words"]),
    cut_off=3,
)


@st.composite
def trees(draw, words):
    """A tree over given words: random tags, then random brackets over neighbours."""
    nodes = [Tree(draw(st.sampled_from(TAGS)), word=word) for word in words]
    for _ in range(draw(st.integers(1, 2 * len(words) + 2))):
        start = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(start + 1, len(nodes)))
        nodes[start:end] = [Tree(draw(st.sampled_from(PHRASES)), nodes[start:end])]
    return nodes[0] if len(nodes) == 1 and nodes[0].children else Tree("S", nodes)


@st.composite
def pairs(draw):
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=7))
    other = list(words)
    if draw(st.booleans()):
        other[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from(WORDS))
    return draw(trees(words)), draw(trees(other))


def agree(pairs, options, prm):
    """Whether score and the restated program give the same figures, to the last bracket."""
    gold, parsed = zip(*pairs, strict=True)
    result = score(gold, parsed, options)
    rows, *totals = evalb.evalb(map(format_tree, gold), map(format_tree, parsed), prm)
    status = {"ok": "ok", "error": "error", "missing": "skip"}
    for ours, row in zip(result.sentences, rows, strict=True):
        assert status[ours.status] == row["status"]
        assert ours.length == row["length"]
        assert (ours.gold, ours.parsed, ours.matched) == (row["gold"], row["test"], row["matched"])
        assert (ours.crossing, ours.words, ours.tags) == (
            row["crossing"],
            row["words"],
            row["tags"],
        )
    for ours, total in zip((result.all, result.short), totals, strict=True):
        assert ours.sentences == total["sentences"]
        assert (ours.errors, ours.missing, ours.compared) == (
            total["errors"],
            total["skipped"],
            total["valid"],
        )
        for value, percent in (
            (ours.recall, total["recall"]),
            (ours.precision, total["precision"]),
            (ours.f1, total["f"]),
            (ours.exact_match, total["complete"]),
            (ours.no_crossing, total["no_crossing"]),
            (ours.two_or_fewer_crossing, total["two_or_less"]),
            (ours.tagging_accuracy, total["tagging"]),
        ):
            # The program prints 0 where nothing was to be divided by; here it is None, except
            # that F1 is 0 and not undefined when brackets are there and none match.
            assert close(100 * (value or 0.0), percent or 0.0, rtol=1e-12)
        assert close(ours.average_crossing or 0.0, total["average_crossing"], rtol=1e-12)


@pytest.mark.slow
@given(st.lists(pairs(), min_size=1, max_size=4))
def test_equals_the_restated_program_with_its_collins_parameters(found):
    agree(found, LITERAL, evalb.COLLINS)


def has_adjacent_quotes(tree):
    # The program puts the first of two adjacent quotes back twice; see restore_quotes.
    words = [leaf.word for leaf in tree.preterminals() if leaf.label not in evalb.COLLINS["delete"]]
    marks = [leaf.word in ("'", '"', "/") for leaf in tree.preterminals()]
    return len(words) != len(tree.words()) and sum(marks) > 1


@pytest.mark.slow
@given(
    st.lists(
        pairs().filter(lambda pair: not any(map(has_adjacent_quotes, pair))),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_equals_the_restated_program_with_other_parameters(found, labelled):
    agree(found, replace(WIDE_OPTIONS, labelled=labelled), {**WIDE, "labelled": labelled})


def test_equals_the_restated_program_on_a_treebank_against_its_flattened_trees(treebanks):
    from eigentree.treebank.io.brackets import read_brackets

    with (treebanks / "wsj_sample" / "dev.mrg").open(encoding="utf-8") as lines:
        gold = [record.tree for record in read_brackets(lines) if record.tree]
    parsed = [
        Tree(
            "",
            [
                Tree(
                    "S", [Tree("NP", tree.children[0].children[:2]), *tree.children[0].children[2:]]
                )
            ],
        )
        for tree in gold
    ]
    assert len(gold) > 200
    agree(list(zip(gold, parsed, strict=True)), LITERAL, evalb.COLLINS)


def one(gold, parsed, options=EVALB_COLLINS):
    result = score([parse_tree(gold)], [parse_tree(parsed) if parsed else None], options)
    return result.sentences[0]


@pytest.mark.parametrize(
    ("gold", "parsed", "counts"),  # gold, parsed, matched, crossing, tags, words
    [
        pytest.param(
            "(S (NP (DT the) (NN cook)) (VP (VBD slept)) (. .))",
            "(S (NP (DT the) (NN cook)) (VP (VBD slept)) (. .))",
            (3, 3, 3, 0, 3, 3),
            id="the same tree: the full stop is no word",
        ),
        pytest.param(
            "(S (NP (DT the) (NN cook)) (VP (VBD slept)))",
            "(S (DT the) (VP (NN cook) (VBN slept)))",
            (3, 2, 1, 1, 2, 3),
            id="1-3 crosses 0-2; VP 1-3 isn't VP 2-3",
        ),
        pytest.param(
            "(S (NP (NP (NN ice))) (VP (VBZ melts)))",
            "(S (NP (NN ice)) (VP (VBZ melts)))",
            (4, 3, 3, 0, 2, 2),
            id="a doubled bracket counts twice",
        ),
        pytest.param(
            "(S (NP (NN ice)) (VP (VBZ melts)))",
            "(S (NP (NP (NN ice))) (VP (VBZ melts)))",
            (3, 4, 3, 0, 2, 2),
            id="and is matched once",
        ),
        pytest.param(
            "(S (NP (PRP she)) (VP (VBD gave) (PRT (RP up))))",
            "(S (NP (PRP she)) (VP (VBD gave) (ADVP (RB up))))",
            (4, 4, 4, 0, 2, 3),
            id="PRT is ADVP, while RP is not RB",
        ),
        pytest.param(
            "(S (NP (NN rain)) (, ,) (NP (NN wind)))",
            "(S (NP (NN rain) (, ,)) (NP (NN wind)))",
            (3, 3, 3, 0, 2, 2),
            id="where a comma hangs makes no difference",
        ),
        pytest.param(
            "(S (NP (-NONE- *)) (VP (VB run)))",
            "(S (VP (VB run)))",
            (2, 2, 2, 0, 1, 1),
            id="a phrase over a trace alone vanishes",
        ),
        pytest.param(
            "(TOP (S (TOP (NN ice)) (VP (VBZ melts))))",
            "(S (NN ice) (VP (VBZ melts)))",
            (2, 2, 2, 0, 2, 2),
            id="TOP loses its bracket, not its words",
        ),
        pytest.param(
            "(S (NP-SBJ-1 (NN ice)) (VP (VBZ melts)))",
            "(S (NP=2 (NN ice)) (VP (VBZ melts)))",
            (3, 3, 3, 0, 2, 2),
            id="function tags and indices don't count",
        ),
        pytest.param("(NN ice)", "(NN ice)", (0, 0, 0, 0, 1, 1), id="a bare word has no bracket"),
    ],
)
def test_hand_worked_sentences(gold, parsed, counts):
    found = one(gold, parsed)
    assert found.status == "ok"
    assert (
        found.gold,
        found.parsed,
        found.matched,
        found.crossing,
        found.tags,
        found.words,
    ) == counts


def test_summary_worked_by_hand():
    gold = [
        "(S (NP (DT the) (NN cook)) (VP (VBD slept)))",
        "(S (NP (NN ice)) (VP (VBZ melts)))",
    ]
    parsed = [
        "(S (DT the) (VP (NN cook) (VBN slept)))",
        "(S (NP (NN ice)) (VP (VBZ melts)))",
    ]
    result = score([parse_tree(t) for t in gold], [parse_tree(t) for t in parsed], EVALB_COLLINS)
    total = result.all
    assert (total.matched, total.gold, total.parsed) == (4, 6, 5)
    assert close(total.recall, 4 / 6, rtol=1e-15)
    assert close(total.precision, 4 / 5, rtol=1e-15)
    assert close(total.f1, 8 / 11, rtol=1e-15)
    assert close(total.mean_sentence_f1, (2 / 5 + 1) / 2, rtol=1e-15)
    assert (total.exact_match, total.average_crossing, total.no_crossing) == (0.5, 0.5, 0.5)
    assert (total.two_or_fewer_crossing, total.coverage) == (1.0, 1.0)
    assert close(total.tagging_accuracy, 4 / 5, rtol=1e-15)
    assert result.labels["VP"] == (2, 2, 1, 1)
    assert result.counts().tolist() == [[1, 3, 2], [3, 3, 3]]


def test_cut_off_counts_punctuation_but_no_traces():
    gold = parse_tree("(S (NP (-NONE- *)) (NP (NN ice)) (, ,) (VP (VBZ melts)) (. .))")
    assert score([gold], [gold], replace(EVALB_COLLINS, cut_off=4)).short.sentences == 1
    assert score([gold], [gold], replace(EVALB_COLLINS, cut_off=3)).short.sentences == 0


def test_missing_parse_is_skipped_by_evalb_and_missed_by_own_settings():
    gold = [parse_tree("(S (NP (NN ice)) (VP (VBZ melts)))")] * 2
    skipped = score(gold, [gold[0], None], EVALB_COLLINS)
    missed = score(gold, [gold[0], None], OWN)
    assert skipped.sentences[1].status == missed.sentences[1].status == "missing"
    assert (skipped.all.f1, skipped.all.coverage, skipped.all.gold) == (1.0, 0.5, 3)
    assert (missed.all.recall, missed.all.precision, missed.all.gold) == (0.5, 1.0, 6)
    assert missed.all.exact_match == 0.5
    assert missed.all.tagging_accuracy == 0.5


@pytest.mark.parametrize(
    ("parsed", "reason"),
    [
        ("(S (NN ice) (VP (VBZ melted)))", "word 2 is 'melts' in gold and 'melted' in the parse"),
        (
            "(S (NN i\u0441e) (VBZ melts))",
            "word 1 is 'ice' in gold and 'i\u0441e' in the parse (U+0063 and U+0441), of 2",
        ),
        ("(S (NN ice))", "gold has 2 compared words and the parse 1"),
        ("(S (NN ice) (, melts))", "gold has 2 compared words and the parse 1"),
    ],
)
def test_sentences_that_differ_in_words_are_reported(parsed, reason):
    found = one("(S (NP (NN ice)) (VP (VBZ melts)))", parsed)
    assert found.status == "error"
    assert reason in found.reason
    result = score(
        [parse_tree("(S (NP (NN ice)) (VP (VBZ melts)))")], [parse_tree(parsed)], EVALB_COLLINS
    )
    assert [problem.number for problem in result.problems] == [1]
    assert result.to_dict()["not_compared"][0]["reason"] == found.reason


def test_missing_gold_tree_is_an_error():
    tree = parse_tree("(S (NN ice))")
    result = score([None, tree], [tree, tree], OWN)
    assert [one.status for one in result.sentences] == ["error", "ok"]


def test_own_settings_know_punctuation_by_its_characters():
    # A comma tagged as a noun makes the sentence incomparable to EVALB.
    gold = "(S (NP (NN rain)) ($, ,) (NP (NN wind)) ($. 。))"
    parsed = "(S (NP (NN rain) (NN ,)) (NP (NN wind)) (NN 。))"
    found = one(gold, parsed, OWN)
    assert (found.status, found.words, found.matched, found.gold) == ("ok", 2, 3, 3)


@pytest.mark.parametrize("word", [",", "...", "``", "''", "¿", "。", "»", "-", "(", "،", "--"])
def test_punctuation(word):
    assert is_punctuation(word)


@pytest.mark.parametrize("word", ["%", "&", "a.", "$", "3", "U.S.", "#", "+", "日"])
def test_no_punctuation(word):
    assert not is_punctuation(word)


def test_settings_that_leave_nothing_out_are_remarked():
    tree = parse_tree("(S (NP (NN rain)) (PUNCT ,) (NP (NN wind)))")
    assert score([tree], [tree], EVALB_COLLINS).notes == (
        "no word was left out, though 1 are punctuation, tagged PUNCT",
    )
    assert not score([tree], [tree], OWN).notes


def test_quote_mark_left_out_on_one_side_for_its_tag_comes_back():
    options = replace(EVALB_COLLINS, quote_labels=("''", "POS"))
    gold = "(S (NP (NP (NNS dogs)) (POS ')) (VP (VBP bark)))"
    parsed = "(S (NP (NNS dogs)) ('' ') (VP (VBP bark)))"
    assert one(gold, parsed).status == "error"
    found = one(gold, parsed, options)
    assert (found.words, found.gold, found.parsed, found.matched) == (3, 4, 3, 3)
    found = one(parsed, gold, options)
    assert (found.words, found.gold, found.parsed, found.matched) == (3, 3, 4, 3)


@pytest.mark.parametrize("root", ["", "ROOT", "TOP", "VROOT"])
def test_root_labels_make_no_difference(root):
    bare = parse_tree("(S (NP (NN ice)) (VP (VBZ melts)))")
    for options in (EVALB_COLLINS, OWN):
        result = score([Tree(root, [bare])], [bare], options)
        assert (result.all.gold, result.all.parsed, result.all.f1) == (3, 3, 1.0)


def test_outer_bracket_over_several_trees_is_no_bracket_but_keeps_the_words():
    gold = parse_tree("( (S (NN ice)) (S (NN snow)))")
    parsed = parse_tree("(TOP (S (NN ice)) (S (NN snow)))")
    result = score([gold], [parsed], EVALB_COLLINS)
    assert (result.all.gold, result.all.parsed, result.all.matched) == (2, 2, 2)
    assert result.notes == (
        "outermost brackets not counted: the nameless one (1 gold, 0 parsed trees)",
    )


def test_figures_without_brackets_are_none_and_not_a_division_by_zero():
    word = parse_tree("(NN ice)")
    total = score([word], [word], OWN).all
    assert (total.recall, total.precision, total.f1) == (None, None, None)
    assert (total.mean_sentence_f1, total.exact_match) == (1.0, 1.0)
    empty = score([], [], EVALB_COLLINS)
    assert empty.all.f1 is None
    assert empty.all.coverage is None
    assert empty.counts().shape == (0, 3)


@pytest.mark.slow
def test_deep_towers_and_many_brackets_have_no_limit():
    tower = Tree("NN", word="ice")
    for level in range(20_000):
        tower = Tree(f"X{level % 7}", [tower])
    result = score([tower], [tower], EVALB_COLLINS)
    assert (result.all.gold, result.all.matched) == (20_000, 20_000)
    wide = Tree("S", [Tree("NP", [Tree("NN", word=f"w{i}")]) for i in range(3000)])
    assert score([wide], [wide], EVALB_COLLINS).all.matched == 3001


def test_flat_parses_and_fallbacks_are_counted():
    gold = parse_tree("(S (NP (DT the) (NN ice)) (VP (VBZ melts)))")
    flat = parse_tree("(S (DT the) (NN ice) (VBZ melts))")
    result = score([gold, gold], [flat, gold], OWN, fallbacks=[True, False])
    assert [one.flat for one in result.sentences] == [True, False]
    assert (result.all.flat, result.fallbacks) == (1, 1)


def test_sequences_of_different_lengths_are_refused():
    tree = parse_tree("(S (NN ice))")
    with pytest.raises(SettingsError, match="2 gold trees and 1 parsed trees"):
        score([tree, tree], [tree])
    with pytest.raises(SettingsError, match="0 values in fallbacks"):
        score([tree], [tree], fallbacks=[])


def test_alignment_by_words_finds_moved_and_missing_sentences():
    a, b, c, d = (parse_tree(f"(S (NN {word}) (. .))") for word in "abcd")
    twin = parse_tree("(S (NP (NN a)) (. .))")
    found = align_by_words([a, b, c, a, None], [c, d, a, None, twin])
    assert found.parsed == [a, None, c, twin, None]
    assert found.left_over == [1]
