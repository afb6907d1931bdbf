from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given

from eigentree.errors import SettingsError
from eigentree.treebank.cleaning import CleaningOptions, clean, cut_label, function_tags, wrapper_of
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.tree import Tree
from tests.treebank.strategies import trees

CASES_FILE = Path(__file__).parents[1] / "cases" / "cleaning.toml"
CASES = tomllib.loads(CASES_FILE.read_text("utf-8"))["case"]


def options_of(case):
    chosen = case.get("options", {})
    return CleaningOptions(**{k: tuple(v) if type(v) is list else v for k, v in chosen.items()})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case):
    cleaned = clean(parse_tree(case["raw"]), options_of(case))
    assert (format_tree(cleaned) if cleaned else "") == case["clean"]


@given(trees)
def test_cleaning_twice_is_cleaning_once(tree):
    once = clean(tree)
    assert once is None or clean(once) == once


@given(trees)
def test_words_that_are_not_empty_elements_stay_in_order(tree):
    cleaned = clean(tree)
    kept = [(node.label, node.word) for node in tree.preterminals() if node.label != "-NONE-"]
    found = [] if cleaned is None else [(n.label, n.word) for n in cleaned.preterminals()]
    assert found == kept


@given(trees)
def test_no_phrase_is_left_over_one_phrase_of_its_label(tree):
    cleaned = clean(tree)
    for node in cleaned.nodes() if cleaned else ():
        if len(node.children) == 1 and node.children[0].word is None:
            assert node.children[0].label != node.label


def test_what_does_not_change_is_shared():
    tree = parse_tree("(S (NP-SBJ (NN tea)) (VP (VBZ cools) (ADVP (RB fast))))")
    cleaned = clean(tree)
    assert cleaned.children[1] is tree.children[1]
    assert cleaned.children[0].children[0] is tree.children[0].children[0]


@pytest.mark.slow
def test_depth_is_no_limit():
    tree = Tree("NN", (), "core")
    for _ in range(100_000):
        tree = Tree("S-X", [tree, Tree("-NONE-", (), "0")])
    assert clean(tree) == parse_tree("(S (NN core))")


@pytest.mark.parametrize(
    ("label", "short", "tags"),
    [
        ("NP", "NP", []),
        ("NP-SBJ-1", "NP", ["SBJ"]),
        ("NP=1-SBJ", "NP", ["SBJ"]),
        ("S-TPC-NOM=2", "S", ["TPC", "NOM"]),
        ("-LRB-", "-LRB-", []),
        ("-", "-", []),
        ("", "", []),
        ("NP-", "NP", []),
    ],
)
def test_labels_and_their_function_tags(label, short, tags):
    assert cut_label(label, CleaningOptions()) == short
    assert function_tags(label) == tags


@pytest.mark.parametrize("separators", ["-a", "- ", "3"])
def test_separators_are_marks(separators):
    with pytest.raises(SettingsError, match="marks such as '-=' are expected"):
        CleaningOptions(function_separators=separators)


@pytest.mark.parametrize(
    ("roots", "wrapper"),
    [(["", "", "S"], ""), (["ROOT", "ROOT", ""], "ROOT"), (["S", "NP", ""], None), ([], None)],
)
def test_the_wrapper_is_what_most_trees_carry(roots, wrapper):
    bank = [Tree(root, [Tree("S", [Tree("A", (), "b")])]) for root in roots]
    assert wrapper_of(bank) == wrapper
