"""What the errors of the package say."""

from __future__ import annotations

import math

import pytest

import eigentree
from eigentree._core.arguments import MAX_SAMPLES
from eigentree.errors import SettingsError, check_range, counted
from eigentree.treebank.io.brackets import read_brackets
from eigentree.treebank.io.sentences import read_sentences
from eigentree.treebank.io.text_files import OpenText
from eigentree.treebank.io.unlabelled import read_bracketings


def test_one_of_anything_is_singular():
    assert (counted(1, "tree"), counted(2, "tree")) == ("1 tree", "2 trees")
    assert counted(2, "child", "children") == "2 children"


def test_settings_within_their_range():
    check_range(1, states=1, iterations=10**400)
    check_range(0, 1, cut=0.0, threshold=0.999)


@pytest.mark.parametrize(
    ("low", "below", "value", "message"),
    [
        (1, math.inf, 0, "states is 0; it must be at least 1"),
        (0, math.inf, math.nan, "states is nan; it must be at least 0"),
        (0, math.inf, math.inf, "states is inf; it must be at least 0"),
        (0, 1, 1.0, "states is 1.0; it must be at least 0 and below 1"),
    ],
)
def test_a_setting_outside_its_range_is_named(low, below, value, message):
    with pytest.raises(SettingsError) as found:
        check_range(low, below, other=0.5 if below == 1 else 1, states=value)
    assert str(found.value) == message


TREES = [eigentree.Tree("NN", (), "a")]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eigentree.score("a", "b"), "gold must be a list of Tree or None (got str 'a')"),
        (lambda: eigentree.score(TREES, TREES, 1), "options must be ParsevalOptions (got int 1)"),
        (lambda: eigentree.score_attachment([], [], 1), "options must be AttachmentOptions"),
        (lambda: eigentree.binarise(TREES[0], "left"), "options must be BinariseOptions (got str"),
        (lambda: eigentree.unbinarise(TREES[0]), "binary must be a BinaryTree, as of binarise"),
        (lambda: eigentree.read_treebank([], cleaning=1), "cleaning must be CleaningOptions, or"),
        (lambda: eigentree.learn_brown([["a"]], 5), "options must be BrownOptions (got int 5)"),
        (lambda: eigentree.load(5), "model must be a path or the name of a bundled model (got int"),
        (lambda: eigentree.bootstrap_interval("a", seed=1), "counts must be an array of integers"),
        *(
            (lambda kind=kind: kind.train(TREES, 5), "Options or None (got int 5)")
            for kind in (
                eigentree.ConstituencyParser,
                eigentree.DependencyParser,
                eigentree.BracketingParser,
            )
        ),
        (lambda: eigentree.EnsembleParser.train(TREES, 5), "settings must be EnsembleConfig or No"),
    ],
)
def test_arguments_of_another_type_are_named(call, message):
    with pytest.raises(TypeError) as found:
        call()
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eigentree.read_dependencies(OpenText("t", []), on_error="x"), "on_error is 'x'"),
        (lambda: eigentree.read_dependencies(OpenText("t", []), heads="x"), "heads is 'x'; it mu"),
        (lambda: list(read_brackets([], on_error="x")), "on_error is 'x'; it must be one of ra"),
        (lambda: list(read_sentences([], "raw", on_error="x")), "on_error is 'x'; it must be on"),
        (lambda: list(read_bracketings([], notation="x")), "notation is 'x'; it must be one of t"),
        (lambda: eigentree.read_treebank([], on_error="x"), "on_error is 'x'; it must be one of "),
        (lambda: eigentree.read_treebank([], format="x"), "format is 'x'; it must be one of auto"),
        (
            lambda: eigentree.bootstrap_interval([[1, 1, 1]], seed=0, n_samples=MAX_SAMPLES + 1),
            "n_samples is 1000001; it must be at least 1 and below 1000001",
        ),
    ],
)
def test_choices_and_limits_are_named(call, message):
    with pytest.raises(SettingsError, match=message):
        call()
