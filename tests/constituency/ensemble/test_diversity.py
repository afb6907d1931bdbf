"""Oracles and diversity compared with the scorer for each pair, and with manual counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.ensemble.diversity import TreeLists, compare, diversity, oracle
from eigentree.errors import SettingsError
from eigentree.evaluation.parseval import counted_brackets, score
from eigentree.evaluation.settings import EVALB_COLLINS, OWN
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree, with_tags
from tests.helpers import close


def random_tree(rng: np.random.Generator, n_words: int) -> Tree:
    """Trees with random phrases, and with some tags whose words are not scored."""
    words = ["``", "yes", "no", ",", "'"]
    tags = ["``", "NN", "POS", ",", "''"]
    parts = []
    for place in range(n_words):
        kind = int(rng.integers(5)) if rng.random() < 0.3 else place % 5
        parts.append(Tree(tags[kind], (), words[place % 5]))
    labels = ["A", "B-X", "ADVP", "PRT"]
    while len(parts) > 1 or parts[0].is_preterminal or rng.random() < 0.2:
        start = int(rng.integers(len(parts)))
        end = min(len(parts), start + int(rng.integers(1, 4)))
        parts[start:end] = [Tree(labels[rng.integers(4)], parts[start:end])]
    return Tree("TOP", parts) if rng.random() < 0.5 else parts[0]


SETTINGS = [
    EVALB_COLLINS,
    OWN,
    replace(EVALB_COLLINS, labelled=False),
    replace(EVALB_COLLINS, missing="miss"),
]


@given(
    seed=st.integers(0, 2**32 - 1),
    n_words=st.integers(1, 8),
    options=st.sampled_from(SETTINGS),
)
def test_pairs_compare_as_the_scorer_compares_them(seed: int, n_words: int, options):
    rng = np.random.default_rng(seed)
    one, other = ([random_tree(rng, n_words) for _ in range(n)] for n in (2, 3))
    for rows, columns in ((one, other), (other, other)):
        found = compare(rows, columns, options)
        for i, tree in enumerate(rows):
            for j, against in enumerate(columns):
                (record,) = score([tree], [against], options).sentences
                counts = found.matched[i, j], found.total[i, j]
                assert counts == (record.matched, record.gold + record.parsed)
                f1 = -1.0 if record.f1 is None else record.f1
                assert close(found.f1[i, j], f1, rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), n_members=st.integers(1, 4))
def test_oracle_and_pairs_of_members_are_those_of_the_scorer(seed: int, n_members: int):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, 3).tolist()
    pool = [[random_tree(rng, n) for _ in range(3)] for n in lengths]
    pool = [[with_tags(tree, own[0].tags()) for tree in own] for own in pool]
    gold = [own[0] for own in pool]
    outputs = [[own[rng.integers(3)] for own in pool] for _ in range(n_members)]
    candidates = TreeLists.of(outputs)
    for output, places in zip(outputs, candidates.choice, strict=True):
        chosen = [own[place] for own, place in zip(candidates.trees, places, strict=True)]
        assert chosen == output
    best = oracle(gold, candidates.trees)
    scores = [
        [score([tree], [own], EVALB_COLLINS).sentences[0].f1 or 0.0 for own in among]
        for tree, among in zip(gold, candidates.trees, strict=True)
    ]
    assert best.choice == [own.index(max(own)) for own in scores]
    assert best.f1 == score(gold, best.trees, EVALB_COLLINS).all.f1
    found = diversity(candidates)
    for i, one in enumerate(outputs):
        for j, other in enumerate(outputs):
            f1 = score(one, other, EVALB_COLLINS).all.f1
            assert close(found.f1[i, j], 1.0 if f1 is None else f1, rtol=1e-12)


def trees(*texts: str) -> list[Tree]:
    return [parse_tree(text) for text in texts]


FLAT = "(S (t a) (t b) (t c))"
LEFT = "(S (A (t a) (t b)) (t c))"
RIGHT = "(S (t a) (A (t b) (t c)))"


def test_three_members_by_hand():
    outputs = [trees(LEFT, FLAT), trees(RIGHT, FLAT), trees(LEFT, LEFT)]
    candidates = TreeLists.of(outputs)
    assert candidates.trees == [trees(LEFT, RIGHT), trees(FLAT, LEFT)]
    assert candidates.choice.tolist() == [[0, 0], [1, 0], [0, 1]]
    found = diversity(candidates)
    # Brackets: 2 + 1, 2 + 1 and 2 + 2, of which the S are equal, and A between the outer two.
    expected = [[1, 4 / 6, 6 / 7], [4 / 6, 1, 4 / 7], [6 / 7, 4 / 7, 1]]
    assert close(found.f1, expected, rtol=1e-12)
    assert close(found.mean_f1, (4 / 6 + 6 / 7 + 4 / 7) / 3, rtol=1e-12)
    assert (found.all_agree, found.distinct) == (0.0, 2.0)


def test_members_that_agree():
    found = diversity(TreeLists.of([trees(LEFT, FLAT), trees(LEFT, RIGHT)]))
    assert (found.all_agree, found.distinct) == (0.5, 1.5)
    alone = diversity(TreeLists.of([trees(LEFT, FLAT)]))
    assert (alone.mean_f1, alone.all_agree, alone.distinct) == (1.0, 1.0, 1.0)


def test_of_equal_candidates_the_oracle_takes_the_first():
    # Both have one of two gold brackets right.
    gold = trees("(S (A (A (t a) (t b)) (t c)))")
    found = oracle(gold, [trees(FLAT, RIGHT, LEFT, LEFT)])
    assert found.choice == [2]
    assert found.trees == trees(LEFT)
    assert close(found.f1, 4 / 5, rtol=1e-12)
    assert oracle(trees(FLAT), [trees(LEFT, RIGHT)]).choice == [0]


def test_a_candidate_of_other_words_is_never_the_best():
    other, wrong = "(S (t x) (t b) (t c))", "(B (t a) (t b) (t c))"
    assert oracle(trees(FLAT), [trees(other, wrong)]).choice == [1]


def test_a_label_equal_to_two_others_is_refused():
    options = replace(OWN, equal_labels=(("A", "B"), ("B", "C")))
    with pytest.raises(SettingsError, match="equal_labels has 'B' twice"):
        oracle(trees(FLAT), [trees(LEFT)], options)


def test_outlines_hold_what_counts():
    (found,) = counted_brackets(trees("(TOP (S-X (A (, ,)) (B (t a) (t b))))"), EVALB_COLLINS)
    assert found.words == ["a", "b"]
    assert found.brackets == [("S", 0, 2), ("B", 0, 2)]
