from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given

from eigentree.errors import TreebankFormatError
from eigentree.treebank.io.conllu import check_heads, read_dependencies
from eigentree.treebank.projective import is_projective, nonprojective_words, projectivise
from tests.treebank.strategies import dependency_trees


def is_tree(heads):
    try:
        check_heads(heads)
    except TreebankFormatError:
        return False
    return True


def all_trees(n):
    return (heads for heads in product(range(n + 1), repeat=n) if is_tree(heads))


def descends(heads, word, ancestor):
    while word not in (0, ancestor):
        word = heads[word - 1]
    return word == ancestor


def by_definition(heads):
    """Words some of whose arc's inner words don't descend from its head."""
    found = []
    for word, head in enumerate(heads, start=1):
        between = range(min(word, head) + 1, max(word, head))
        if not all(descends(heads, each, head) for each in between):
            found.append(word)
    return found


def crossing(heads):
    """Words whose arcs cross another one, the root's arcs among them."""
    arcs = [(min(arc), max(arc)) for arc in enumerate(heads, start=1)]
    return [
        i + 1
        for i, (a, b) in enumerate(arcs)
        if any(a < c < b < d or c < a < d < b for c, d in arcs)
    ]


def lifted_by_definition(heads):
    """Nivre and Nilsson's loop, word for word."""
    heads = list(heads)
    n_lifts = 0
    while found := by_definition(heads):
        arcs = sorted((abs(heads[m - 1] - m), min(heads[m - 1], m), m) for m in found)
        word = arcs[0][2]
        heads[word - 1] = heads[heads[word - 1] - 1]
        n_lifts += 1
    return heads, n_lifts


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_every_small_tree_is_as_the_definition_says(n):
    # Projective trees of n words, with one root and with any number of them.
    counts = {1: (1, 1), 2: (2, 3), 3: (7, 12), 4: (30, 55), 5: (143, 273)}
    projective = [heads for heads in all_trees(n) if is_projective(heads)]
    single = [heads for heads in projective if heads.count(0) == 1]
    assert (len(single), len(projective)) == counts[n]
    for heads in all_trees(n):
        assert nonprojective_words(heads) == by_definition(heads)
        assert is_projective(heads) == (crossing(heads) == [])


@given(dependency_trees(most=12))
def test_larger_trees_are_as_the_definition_says(heads):
    assert nonprojective_words(heads) == by_definition(heads)


@given(dependency_trees(most=12))
def test_lifting_is_as_published(heads):
    found = projectivise(heads)
    assert (found.heads, sum(found.lifts)) == lifted_by_definition(heads)
    assert is_projective(found.heads)
    assert [n > 0 for n in found.lifts] == [a != b for a, b in zip(heads, found.heads, strict=True)]


@given(dependency_trees(single_root=True, most=12))
def test_lifting_adds_no_root(heads):
    assert projectivise(heads).heads.count(0) == 1


def test_a_lift_by_hand():
    # The arc from 3 to 1 passes over the root word 2, and so does the one from 4.
    assert nonprojective_words([3, 0, 4, 2]) == [1]
    found = projectivise([3, 0, 4, 2])
    assert found.heads == [2, 0, 4, 2]
    assert found.lifts == [2, 0, 0, 0]


def test_heads_must_make_a_tree():
    for each in (nonprojective_words, is_projective, projectivise):
        with pytest.raises(TreebankFormatError, match="cycle"):
            each([2, 1])


def test_long_sentences_take_linear_time():
    n = 60_000
    # A chain to the right, all words under the first, and a chain inwards from both ends.
    assert is_projective(range(n))
    assert is_projective([0, *[1] * (n - 1)])
    inwards = [0] * n
    low, high, last = 1, n, 0
    while low <= high:
        inwards[low - 1], last = last, low
        if high > low:
            inwards[high - 1], last = last, high
        low, high = low + 1, high - 1
    assert is_projective(inwards)
    assert nonprojective_words([*inwards, n // 2]) == [n + 1]


def test_real_treebanks_have_as_many_trees_with_crossing_arcs_as_their_keepers_counted(treebanks):
    for name in ("ud_german_gsd/test", "ud_swedish_lines/dev", "ud_turkish_imst/dev"):
        folder, part = name.split("/")
        page = (treebanks / folder / "README.md").read_text("utf-8")
        told = re.search(rf"^\| {part} \|.* (\d+) \(\d+\) \|", page, re.MULTILINE)
        bank = read_dependencies(treebanks / f"{name}.conllu")
        n_crossing = sum(not is_projective(one.heads()) for one in bank.sentences)
        assert str(n_crossing) == told[1]
