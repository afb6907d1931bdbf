"""Features of trees: exact lists for each schema, and all schemata against counts by tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.ensemble.feature_templates import SCHEMATA
from eigentree.constituency.ensemble.features import (
    FeatureTable,
    RerankerFeatureOptions,
    describe,
    extract,
    frequent_words,
)
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import Rightmost
from eigentree.treebank.heads import head_rules
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree

CLAUSE = parse_tree("(S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .))")
CONJUNCTS = parse_tree(
    "(NP (NP (NN tea)) (, ,) (NP (JJ hot) (NN milk)) (CC and) (NP (JJ cold) (NN milk)))"
)
EXPECTED = {
    "rule": """
        1 | NP -> DT NN
        1 | S -> NP VP .
        1 | VP -> VBZ
    """,
    "rule-parent": """
        1 | NP -> DT NN | S
        1 | S -> NP VP . | -
        1 | VP -> VBZ | S
    """,
    "rule-grandparent": """
        1 | NP -> DT NN | S | -
        1 | S -> NP VP . | - | -
        1 | VP -> VBZ | S | -
    """,
    "rule-head-word": """
        1 | NP -> DT NN | dog
        1 | S -> NP VP . | barks
        1 | VP -> VBZ | barks
    """,
    "rule-head-tag": """
        1 | NP -> DT NN | NN
        1 | S -> NP VP . | VBZ
        1 | VP -> VBZ | VBZ
    """,
    "rule-function-words": """
        1 | NP -> DT=The NN
    """,
    "heads-words": """
        1 | NP | DT | < | dog | The
        1 | S | . | > | barks | .
        1 | S | NP | < | barks | dog
    """,
    "heads-tags": """
        1 | NP | DT | < | NN | DT
        1 | S | . | > | VBZ | .
        1 | S | NP | < | VBZ | NN
    """,
    "heads-mixed": """
        1 tag-word | NP | DT | < | NN | The
        1 tag-word | S | . | > | VBZ | .
        1 tag-word | S | NP | < | VBZ | dog
        1 word-tag | NP | DT | < | dog | DT
        1 word-tag | S | . | > | barks | .
        1 word-tag | S | NP | < | barks | NN
    """,
    "projections": """
        1 | . | S
        1 | DT | NP
        1 | NN NP | S
        1 | VBZ VP S | -
    """,
    "word-projections": """
        1 | . | .
        1 | The | DT
        1 | barks | VBZ VP S
        1 | dog | NN NP
    """,
    "head-trees": """
        1 | NP -> DT NN
        1 | VP -> VBZ / S -> NP VP .
    """,
    "word-tag": """
        1 | . | .
        1 | The | DT
        1 | barks | VBZ
        1 | dog | NN
    """,
    "word-ancestors": """
        1 grandparent | . | . | S | -
        1 grandparent | The | DT | NP | S
        1 grandparent | barks | VBZ | VP | S
        1 grandparent | dog | NN | NP | S
        1 parent | . | . | S
        1 parent | The | DT | NP
        1 parent | barks | VBZ | VP
        1 parent | dog | NN | NP
    """,
    "siblings-1": """
        1 | NP | 1 | NN
        1 | NP | > | DT
        1 | S | 1 | VP
        1 | S | < | .
        1 | S | > | NP
        1 | VP | 1 | VBZ
    """,
    "siblings-2": """
        1 | NP | 1 | NN | -
        1 | NP | 2 | DT | NN
        1 | NP | > | - | DT
        1 | S | 1 | VP | .
        1 | S | 2 | NP | VP
        1 | S | < | . | -
        1 | S | > | - | NP
        1 | VP | 1 | VBZ | -
        1 | VP | 2 | - | VBZ
    """,
    "siblings-3": """
        1 | NP | 2 | DT | NN | -
        1 | NP | 3 | - | DT | NN
        1 | S | 1 | VP | . | -
        1 | S | 2 | NP | VP | .
        1 | S | 3 | - | NP | VP
        1 | VP | 2 | - | VBZ | -
    """,
    "bigram-trees": """
        1 left word | DT | NP | NN | The
        1 left word | NP NN | S | VP VBZ | dog
        1 left word | VP VBZ | S | . | barks
        1 right word | DT | NP | NN | dog
        1 right word | NP NN | S | VP VBZ | barks
        1 right word | VP VBZ | S | . | .
        1 tags | DT | NP | NN
        1 tags | NP NN | S | VP VBZ
        1 tags | VP VBZ | S | .
    """,
    "borders": """
        1 left word | DT | NN | The
        1 left word | NP | VP | dog
        1 left word | VP | . | barks
        1 right word | DT | NN | dog
        1 right word | NP | VP | barks
        1 right word | VP | . | .
        1 tags | DT | NN | DT | NN
        1 tags | NP | VP | NN | VBZ
        1 tags | VP | . | VBZ | .
    """,
    "splits": """
        1 left word | NP | The
        1 left word | S | barks
        1 left word | S | dog
        1 right word | NP | dog
        1 right word | S | .
        1 right word | S | barks
    """,
    "labels": """
        1 | NP
        1 | S
        1 | VP
    """,
    "span-width": """
        1 | NP | 2
        1 | S | 4
        1 | VP | 1
    """,
    "span-words": """
        1 both | NP | The | dog
        1 both | S | The | .
        1 both | VP | barks | barks
        1 first | NP | The
        1 first | S | The
        1 first | VP | barks
        1 last | NP | dog
        1 last | S | .
        1 last | VP | barks
        1 width and first | NP | 2 | The
        1 width and first | S | 4 | The
        1 width and first | VP | 1 | barks
        1 width and last | NP | 2 | dog
        1 width and last | S | 4 | .
        1 width and last | VP | 1 | barks
    """,
    "span-tags": """
        1 both | NP | DT | NN
        1 both | S | DT | .
        1 both | VP | VBZ | VBZ
        1 width and both | NP | 2 | DT | NN
        1 width and both | S | 4 | DT | .
        1 width and both | VP | 1 | VBZ | VBZ
    """,
    "span-shape": """
        1 around | NP | - | X x | x
        1 around | S | - | X x x . | -
        1 around | VP | x | x | .
        1 within | NP | X x
        1 within | S | X x x .
        1 within | VP | x
    """,
    "neighbour-words": """
        1 after | NP | barks
        1 after | S | -
        1 after | VP | .
        1 before | NP | -
        1 before | S | -
        1 before | VP | dog
        1 both | NP | - | barks
        1 both | S | - | -
        1 both | VP | dog | .
        1 width and after | NP | 2 | barks
        1 width and after | S | 4 | -
        1 width and after | VP | 1 | .
        1 width and before | NP | 2 | -
        1 width and before | S | 4 | -
        1 width and before | VP | 1 | dog
    """,
    "neighbour-tags": """
        1 both | NP | - | VBZ
        1 both | S | - | -
        1 both | VP | NN | .
        1 width and after | NP | 2 | VBZ
        1 width and after | S | 4 | -
        1 width and after | VP | 1 | .
        1 width and before | NP | 2 | -
        1 width and before | S | 4 | -
        1 width and before | VP | 1 | NN
        1 width and both | NP | 2 | - | VBZ
        1 width and both | S | 4 | - | -
        1 width and both | VP | 1 | NN | .
    """,
    "edge-words": """
        1 end | NP | dog | barks
        1 end | S | . | -
        1 end | VP | barks | .
        1 start | NP | - | The
        1 start | S | - | The
        1 start | VP | dog | barks
    """,
    "edge-tags": """
        1 end | NP | NN | VBZ
        1 end | S | . | -
        1 end | VP | VBZ | .
        1 start | NP | - | DT
        1 start | S | - | DT
        1 start | VP | NN | VBZ
    """,
    "heaviness": """
        1 | NP | 2 | 2 | -
        1 | S | 4 | 0 | -
        1 | VP | 1 | 1 | .
    """,
    "right-branch": """
        4 off
        3 on
    """,
    "coordination-shape": """
        1 label | NP | 1
        1 label | NP | 4
        1 | 1
        1 | 4
    """,
    "coordination-length": """
        1 | - | 0 | 1
        1 | > | 1 | 0
    """,
}


def listed(tree: Tree, options: RerankerFeatureOptions, heads="english") -> list[str]:
    """Value and name of each feature, the name without its schema."""
    return [
        f"{each.value} {each.name.removeprefix(options.schemata[0]).strip()}"
        for each in describe(tree, options, head_rules(heads))
    ]


def test_every_schema_has_its_list():
    assert list(EXPECTED) == list(SCHEMATA)


@pytest.mark.parametrize("name", SCHEMATA)
def test_features_of_a_schema(name):
    tree = CONJUNCTS if name.startswith("coordination") else CLAUSE
    options = RerankerFeatureOptions((name,), function_words=frozenset({"The"}))
    assert listed(tree, options) == [line.strip() for line in EXPECTED[name].strip().split("\n")]


def test_equal_features_of_a_tree_are_counted():
    tree = parse_tree("(NP (NP (NN tea)) (NP (NN tea)))")
    assert listed(tree, RerankerFeatureOptions(("rule-head-word",)), "rightmost") == [
        "2 | NP -> NN | tea",
        "1 | NP -> NP NP | tea",
    ]


def test_features_depend_on_the_heads():
    options = RerankerFeatureOptions(("heads-words",))
    assert listed(CLAUSE, options, "leftmost") == [
        "1 | NP | NN | > | The | dog",
        "1 | S | . | > | The | .",
        "1 | S | VP | > | The | barks",
    ]


def test_words_have_shapes_in_any_script():
    words = ["Ab", "ab", "4b", "犬", "…", "ǅ"]
    for word, shape in zip(words, ["X", "x", "0", "*", "…", "X"], strict=True):
        tree = Tree("A", [Tree("T", (), word)])
        assert listed(tree, RerankerFeatureOptions(("span-shape",)))[1] == f"1 within | A | {shape}"
    tree = Tree("A", [Tree("T", (), word) for word in words])
    assert listed(tree, RerankerFeatureOptions(("span-shape",)))[1] == "1 within | A | X x .. … X"


def test_widths_share_bins():
    tree = Tree("A", [Tree("T", (), "a") for _ in range(10)])
    assert listed(tree, RerankerFeatureOptions(("span-width",))) == ["1 | A | 8"]


def test_the_right_branch_passes_over_phrases_of_punctuation():
    tree = parse_tree("(S (A (B b) (C c)) (X (. .) (X (. ?))))")
    assert listed(tree, RerankerFeatureOptions(("right-branch",))) == ["5 off", "3 on"]
    all_marks = parse_tree("(S (. .) (X (. ?)))")
    assert listed(all_marks, RerankerFeatureOptions(("right-branch",))) == ["1 off", "3 on"]


def test_the_right_branch_begins_at_a_nameless_bracket():
    tree = parse_tree("( (S (A a) (B b)))")
    assert listed(tree, RerankerFeatureOptions(("right-branch",))) == ["1 off", "3 on"]


def test_conjuncts_are_compared_level_by_level():
    deep = "(A (B (C (D (T t)))))"
    other = "(A (B (C (E (T t)))))"
    tree = parse_tree(f"(N {deep} (CC and) {other} (CC and) (X (T t)) (CC and) {other})")
    options = RerankerFeatureOptions(("coordination-shape",))
    assert listed(tree, options)[2:] == ["2 | 0", "1 | 3"]
    assert (
        listed(tree, RerankerFeatureOptions(("coordination-shape",), coordination=frozenset()))
        == []
    )


def test_a_word_alone_has_features():
    names = [each.name for each in describe(Tree("T", (), "t"), RerankerFeatureOptions())]
    assert names == [
        "projections | T | -",
        "word-projections | t | T",
        "word-tag | t | T",
        "word-ancestors grandparent | t | T | - | -",
        "word-ancestors parent | t | T | -",
        "right-branch off",
        "right-branch on",
    ]


def test_keys_are_the_same_everywhere():
    # Model files contain keys, so they must not change.
    tree = parse_tree("(NP (DT The) (NN dog))")
    found = describe(tree, RerankerFeatureOptions(("rule", "right-branch")))
    assert {each.name: each.key for each in found} == {
        "rule | NP -> DT NN": 0x9E7E7C3AA8182B29,
        "right-branch off": 0x58935C3B6C62BEA1,
        "right-branch on": 0x6225FF60FA089F6F,
    }


def random_tree(rng: np.random.Generator, words: Sequence[str]) -> Tree:
    parts = [Tree(str(rng.choice(["T", "CC"], p=[0.8, 0.2])), (), word) for word in words]
    while len(parts) > 1 or rng.random() < 0.3:
        start = int(rng.integers(len(parts)))
        end = min(len(parts), start + int(rng.integers(1, 4)))
        parts[start:end] = [Tree(str(rng.choice(["A", "B"])), parts[start:end])]
    return parts[0]


def random_sentences(rng: np.random.Generator) -> list[list[Tree]]:
    lengths = rng.integers(1, 8, 5)
    words = [rng.choice(["a", "b", ",", "C"], length).tolist() for length in lengths]
    return [[random_tree(rng, own) for _ in range(rng.integers(1, 5))] for own in words]


OPTIONS = RerankerFeatureOptions(function_words=frozenset({"b"}))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1))
def test_candidates_have_the_features_of_their_trees_up_to_constants(seed):
    sentences = random_sentences(np.random.default_rng(seed))
    heads = head_rules("leftmost")
    found = extract(sentences, OPTIONS, heads)
    matrix = found.values.toarray()
    assert np.all(np.diff(found.keys.astype(object)) > 0)
    assert found.offsets.tolist() == np.cumsum([0, *map(len, sentences)]).tolist()
    differing: dict[int, int] = {}
    for sentence, start in zip(sentences, found.offsets[:-1], strict=True):
        counts = [
            {each.key: each.value for each in describe(tree, OPTIONS, heads)} for tree in sentence
        ]
        for key in sorted(set().union(*counts)):
            values = np.array([own.get(key, 0) for own in counts])
            if np.all(values == values[0]):
                continue
            differing[key] = differing.get(key, 0) + 1
            column = matrix[start : start + len(sentence), found.keys.tolist().index(key)]
            assert np.all(column - values == column[0] - values[0])
    assert dict(zip(found.keys.tolist(), found.differing.tolist(), strict=True)) == differing
    # All other values are 0: features that do not differ within a sentence.
    differing = [np.flatnonzero(np.ptp(matrix[a:b], axis=0)) for a, b in bounds(found.offsets)]
    for (start, end), columns in zip(bounds(found.offsets), differing, strict=True):
        rest = np.delete(matrix[start:end], columns, axis=1)
        assert not rest.any()


def bounds(offsets) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1))
def test_names_and_keys_belong_to_one_another(seed):
    sentences = random_sentences(np.random.default_rng(seed))
    pairs = {(e.name, e.key) for own in sentences for t in own for e in describe(t, OPTIONS)}
    assert len({name for name, _ in pairs}) == len({key for _, key in pairs}) == len(pairs)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), least=st.integers(1, 4), batch=st.integers(1, 6))
def test_tables_keep_what_differs_often_enough_whatever_the_batch(seed, least, batch):
    sentences = random_sentences(np.random.default_rng(seed))
    everything = extract(sentences, OPTIONS, Rightmost())
    table = FeatureTable.of(sentences, OPTIONS, Rightmost(), least=least, batch=batch)
    kept = everything.differing >= least
    assert table.keys.tolist() == everything.keys[kept].tolist()
    found = table.features(sentences, batch=batch)
    assert found.keys is table.keys
    assert found.offsets.tolist() == everything.offsets.tolist()
    assert found.differing.tolist() == everything.differing[kept].tolist()
    assert found.values.dtype == np.float32
    assert found.values.indices.dtype == np.int32
    assert np.array_equal(found.values.toarray(), everything.values.toarray()[:, kept])


def test_sentences_of_one_candidate_have_no_features():
    found = extract([[CLAUSE], [CONJUNCTS]], OPTIONS, Rightmost())
    assert found.values.shape == (2, 0)


def test_no_sentence_has_no_features():
    table = FeatureTable.of([[CLAUSE, CLAUSE]], OPTIONS, Rightmost())
    assert len(table) == 0
    assert table.features([]).values.shape == (0, 0)


def test_deep_trees_are_no_matter():
    tree = Tree("T", (), "t")
    for _ in range(2000):
        tree = Tree("A", [tree])
    options = RerankerFeatureOptions(("labels", "right-branch"))
    assert [each.value for each in describe(tree, options)] == [2000, 0, 2001]


def test_candidates_must_be_over_the_same_words():
    for other in ("(A (T a) (T b))", "(A (T b))", "(A (T a) (T a) (T c))"):
        with pytest.raises(ValueError, match="differ in words"):
            extract([[parse_tree("(A (T a) (T c))"), parse_tree(other)]], OPTIONS, Rightmost())
    with pytest.raises(ValueError, match="has no candidates"):
        extract([[]], OPTIONS, Rightmost())


def test_frequent_words_are_no_punctuation():
    trees = [parse_tree("(A (T b) (T a) (T ,) (T ,) (T c) (T c))")]
    assert frequent_words(trees, 2) == {"c", "a"}


def test_schemata_are_chosen_by_name():
    for wrong in ((), ("rule", "rulez")):
        with pytest.raises(SettingsError, match="rule-parent"):
            RerankerFeatureOptions(wrong)
