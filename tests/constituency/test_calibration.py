"""Calibration curves, and parsers with a calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.calibrate import calibrate, measure_confidence
from eigentree.constituency.calibration import (
    GROUPS,
    UNCHANGED,
    Calibration,
    Curve,
    from_arrays,
    to_arrays,
)
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import Bracket, ParseResult
from eigentree.errors import EigentreeError, ModelFileError, SettingsError
from eigentree.model_file import open_model, save_model
from eigentree.treebank.constraints import Constraint, Constraints
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.reader import read_treebank
from tests.demo import HELD_OUT, any_length_parser, demo_parser
from tests.helpers import close

GRID = np.linspace(0.0, 1.0, 101)
SENTENCE = ["The", "dog", "sees", "the", "old", "cat", "."]
TAGS = ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]


# Curves -----------------------------------------------------------------------------------

examples = st.lists(
    st.tuples(st.sampled_from([0.0, 0.3, 1.0]) | st.floats(0, 1), st.booleans()), min_size=1
)


@given(examples)
def test_a_curve_never_falls_and_stays_within_bounds(pairs):
    raw, right = map(np.array, zip(*pairs, strict=True))
    found = Curve.fit(raw, right)(GRID)
    assert np.all(np.diff(found) >= 0)
    assert np.all((found >= 0) & (found <= 1))


@given(examples, st.randoms())
def test_the_order_of_examples_does_not_matter(pairs, chance):
    raw, right = map(np.array, zip(*pairs, strict=True))
    curve = Curve.fit(raw, right)
    chance.shuffle(pairs)
    raw, right = map(np.array, zip(*pairs, strict=True))
    if len(set(raw)) == len(raw):
        assert close(Curve.fit(raw, right)(GRID), curve(GRID), rtol=1e-6, atol=1e-6)


def test_what_is_calibrated_stays_as_it_is():
    rng = np.random.default_rng(7)
    raw = rng.random(100_000)
    curve = Curve.fit(raw, rng.random(len(raw)) < raw)
    assert len(curve.raw) == GROUPS + 2
    assert close(curve(GRID), GRID, rtol=0.0, atol=0.02)


def test_what_is_too_sure_is_brought_down():
    rng = np.random.default_rng(8)
    raw = rng.random(100_000)
    curve = Curve.fit(raw, rng.random(len(raw)) < raw**2)
    inner = GRID[(GRID > 0.06) & (GRID < 0.94)]
    assert close(curve(inner), inner**2, rtol=0.0, atol=0.02)


def test_a_curve_by_hand():
    # Twenty examples in ten groups of two; each gets two more that agree with its mean, and one
    # with the overall accuracy, which is 0.
    raw = np.arange(20) / 20
    right = np.zeros(20, dtype=bool)
    curve = Curve.fit(raw, right)
    knots = raw[::2] + 0.025
    # Residuals are minus the raw confidences.
    parts = np.stack([-raw, -raw * (raw - raw.mean())])
    total = parts.sum(axis=1)
    weight = 1.0 - (2.0 / (total @ np.linalg.solve(parts @ parts.T, total))) ** 2
    assert 0.5 < weight < 0.99  # below `CERTAIN`
    assert close(curve.raw, [0.0, *knots, 1.0], rtol=1e-12)
    shrunk = weight * UNCHANGED * knots / (3 + UNCHANGED) + (1.0 - weight) * knots
    assert close(curve.right[1:-1], shrunk, rtol=1e-9)


def test_brackets_of_one_sentence_are_one_observation():
    raw = np.full(60, 0.8)
    right = np.arange(60) % 2 == 0
    alone = Curve.fit(raw, right)
    together = Curve.fit(raw, right, np.arange(60) // 20)
    assert alone([0.8]) < together([0.8]) < 0.8


@pytest.mark.parametrize("n_examples", [1, 2, 5])
def test_very_few_examples_change_nothing(n_examples):
    rng = np.random.default_rng(9)
    raw = 0.5 + 0.4 * rng.random(n_examples)
    right = rng.random(n_examples) < raw
    assert close(Curve.fit(raw, right)(GRID), GRID, rtol=0.0, atol=0.1)


@pytest.mark.parametrize("n_trees", [40, 100, 300])
def test_calibrating_what_is_calibrated_costs_little(n_trees):
    rng = np.random.default_rng(10)
    costs = []
    for _ in range(40):
        raw = rng.beta(0.7, 2.0, n_trees)  # as of whole trees: many low, some high
        curve = Curve.fit(raw, rng.random(n_trees) < raw)
        new = rng.beta(0.7, 2.0, 5_000)
        costs.append(np.mean((curve(new) - new) ** 2))
    assert np.sqrt(np.mean(costs)) < 0.05


def test_nothing_to_calibrate_on_is_refused():
    with pytest.raises(SettingsError, match="no brackets to calibrate on"):
        Curve.fit([], [])


# Parsers ----------------------------------------------------------------------------------


def held_out():
    return read_treebank(HELD_OUT).trees[:40]


@pytest.fixture(scope="module")
def calibrated() -> ConstituencyParser:
    return calibrate(demo_parser(), held_out())


@pytest.mark.parametrize("tags", [TAGS, None])
def test_results_tell_raw_and_calibrated(calibrated, tags):
    raw, found = demo_parser().parse(SENTENCE, tags), calibrated.parse(SENTENCE, tags)
    condition = "untagged" if tags is None else "tagged"
    curves = calibrated.calibrations[condition]
    assert raw.calibrated is None
    assert found.tree == raw.tree
    assert (found.confidence, found.tree_confidence) == (raw.confidence, raw.tree_confidence)
    assert [each._replace(calibrated=None) for each in found.brackets] == list(raw.brackets)
    values = curves.brackets([each.confidence for each in raw.brackets])
    assert [each.calibrated for each in found.brackets] == values.tolist()
    assert close(found.calibrated.confidence, np.mean(values), rtol=1e-12)
    assert close(found.calibrated.tree_confidence, curves.trees(raw.tree_confidence), rtol=1e-12)
    assert close(
        raw.tree_confidence, np.prod([each.confidence for each in raw.brackets]), rtol=1e-12
    )


def test_ways_have_curves_of_their_own(calibrated):
    assert set(calibrated.calibrations) == {"tagged", "untagged"}
    pcfg = ConstituencyParser(any_length_parser().grammar)
    trees = [parse_tree("(S (A a) (S (B b)))")] * 3
    assert set(calibrate(pcfg, trees).calibrations) == {"tagged"}
    assert calibrate(pcfg, trees).parse(["a", "b"]).calibrated is None
    assert calibrate(pcfg, trees).parse(["a", "b"], ["A", "B"]).calibrated is not None


def test_what_no_chart_has_judged_is_not_calibrated(calibrated):
    for words in ([], ["????"] * 3):
        result = calibrated.parse(words, ["XX"] * len(words))
        assert result.fallback in ("empty", "flat", "tags")
        assert (result.calibrated is None) == (not result.brackets)
    short = replace(calibrated, options=replace(calibrated.options, max_words=4))
    split = short.parse(SENTENCE, TAGS)
    assert split.fallback == "split"
    assert split.tree_confidence is None
    assert split.calibrated.tree_confidence is None
    assert all(each.calibrated is not None for each in split.brackets)


def test_under_constraints_nothing_was_counted(calibrated):
    required = Constraints((Constraint("required", 3, 6, "NP"),))
    result = calibrated.parse(SENTENCE, TAGS, constraints=required, marginals=0.5)
    assert ("NP", 3, 6) in {each[:3] for each in result.marginals}
    assert result.brackets
    assert result.calibrated is None


def test_under_weights_of_tags_nothing_was_counted(calibrated):
    result = calibrated.parse(SENTENCE, [{TAGS[0]: 1}, *TAGS[1:]])
    assert result.tags == TAGS
    assert result.brackets
    assert result.calibrated is None


def test_another_form_of_the_grammar_is_to_be_calibrated_anew(calibrated):
    options = DecompositionOptions(4, "als", iterations=2)
    assert calibrated.in_kruskal_form(options).calibrations == {}


def test_judging_by_hand():
    gold = [parse_tree("(S (NP (D a) (N b)) (VP (V c)))")] * 3
    sure = [("NP", 0, 2, 0.5), ("VP", 2, 3, 1.0), ("S", 0, 3, 0.5)]
    exact = ParseResult([], [], None, tuple(Bracket(*each) for each in sure))
    wrong = ParseResult([], [], None, (Bracket("NP", 0, 2, 0.9), Bracket("X", 0, 3, 0.8)))
    flat = ParseResult([], [], None, fallback="flat")
    brackets, trees = measure_confidence([exact, wrong, flat], gold)
    assert brackets.raw.tolist() == [0.5, 1.0, 0.5, 0.9, 0.8]
    assert brackets.right.tolist() == [True, True, True, True, False]
    assert brackets.sentence.tolist() == [0, 0, 0, 1, 1]
    assert brackets.calibrated is None
    assert close(trees.raw, [0.25, 0.72], rtol=1e-12)
    assert trees.right.tolist() == [True, False]
    # One sentence is no evidence against the raw confidences.
    assert close(brackets.cross_fitted(), brackets.raw, rtol=1e-12)
    missing = replace(exact, brackets=exact.brackets[:2])
    assert measure_confidence([missing], gold[:1]).trees.right.tolist() == [False]


# Marginals --------------------------------------------------------------------------------


def test_marginals_of_the_tree_are_its_confidences():
    result = demo_parser().parse(SENTENCE, TAGS, marginals=0.0)
    known = {each[:3]: each.marginal for each in result.marginals}
    for each in result.brackets:
        assert close(np.clip(known[each[:3]], 0, 1), each.confidence, rtol=1e-12)
    assert demo_parser().parse(SENTENCE, TAGS).marginals == ()
    assert replace(result, marginals=()) == demo_parser().parse(SENTENCE, TAGS)


@pytest.mark.parametrize("method", ["pcfg", "clustering"])
def test_marginals_of_probabilities_are_probabilities(method):
    from tests.demo import demo_trees

    parser = ConstituencyParser.train(
        demo_trees()[:100], method=method, states=None if method == "pcfg" else 2
    )
    assert not parser.signed
    for tags in (TAGS, None):
        values = [each.marginal for each in parser.parse(SENTENCE, tags, marginals=0.0).marginals]
        assert values
        assert all(0 <= value <= 1 for value in values)


def test_marginals_of_pieces_stand_where_the_pieces_do():
    parser = any_length_parser()
    short = replace(parser, options=replace(parser.options, max_words=3))
    result = short.parse(["a", "b"] * 4, marginals=0.5)
    assert result.fallback == "split"
    assert {each[:3] for each in result.marginals} >= {each[:3] for each in result.brackets}
    assert max(each.end for each in result.marginals) == 8
    uses = short.rule_marginals(["a", "b"] * 4, minimum=0.5)
    assert max(each.end for each in uses) == 8


def test_every_inner_node_uses_one_rule():
    uses = any_length_parser().rule_marginals(["a", "b", "a"], minimum=0.0)
    assert close(sum(each.marginal for each in uses), 2.0, rtol=1e-9)
    assert all(each.start < each.split < each.end for each in uses)


def test_marginals_that_cannot_be_had_are_refused():
    kruskal = demo_parser().in_kruskal_form(DecompositionOptions(8, "als", iterations=2))
    assert kruskal.parse(SENTENCE, TAGS, marginals=0.01).marginals
    with pytest.raises(SettingsError, match="no marginals of rules"):
        kruskal.rule_marginals(SENTENCE)
    for least in (-0.1, float("nan"), float("inf")):
        with pytest.raises(SettingsError, match="minimum of marginals"):
            demo_parser().parse(SENTENCE, marginals=least)


# Files ------------------------------------------------------------------------------------


def test_a_calibration_comes_back_from_a_file(calibrated, tmp_path):
    path, again = tmp_path / "calibrated.egt", tmp_path / "again.egt"
    calibrated.save(path)
    loaded = ConstituencyParser.load(path)
    for tags in (TAGS, None):
        assert loaded.parse(SENTENCE, tags) == calibrated.parse(SENTENCE, tags)
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()


def test_a_model_without_one_loads(tmp_path):
    demo_parser().save(tmp_path / "plain.egt")
    assert ConstituencyParser.load(tmp_path / "plain.egt").calibrations == {}


CHANGES = {
    "none": lambda array: array[:0],
    "shorter": lambda array: array[:-1],
    "falling": lambda array: np.ascontiguousarray(array[::-1]),
    "beyond 1": lambda array: array + 1.0,
    "below 0": lambda array: array - 1.0,
    "single precision": lambda array: array.astype(np.float32),
    "integers": lambda array: array.astype(np.int64),
    "more axes": lambda array: array[None],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("of", ["brackets", "trees"])
@pytest.mark.parametrize("part", ["raw", "right"])
def test_forged_curves_are_refused(calibrated, tmp_path, change, of, part):
    path = tmp_path / "forged.egt"
    calibrated.save(path)
    file = open_model(path)
    name = f"calibration.tagged.{of}.{part}"
    arrays = {**file.arrays, name: CHANGES[change](file.arrays[name])}
    save_model(path, file.header, arrays, file.blobs)
    with pytest.raises(ModelFileError) as caught:
        ConstituencyParser.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_curve_with_what_is_no_number_is_refused():
    with pytest.raises(EigentreeError):
        Curve(np.array([np.nan]), np.array([0.5]))


def test_half_a_calibration_is_refused(calibrated, tmp_path):
    path = tmp_path / "half.egt"
    calibrated.save(path)
    file = open_model(path)
    arrays = dict(file.arrays)
    del arrays["calibration.untagged.trees.right"]
    save_model(path, file.header, arrays, file.blobs)
    with pytest.raises(ModelFileError, match=r"lacks 'calibration\.untagged\.trees\.right'"):
        ConstituencyParser.load(path)


def test_arrays_of_curves_are_read_among_others():
    curve = Curve(np.array([0.1, 0.9]), np.array([0.2, 0.7]))
    arrays = to_arrays({"untagged": Calibration(curve, curve)}) | {"other": np.zeros(3)}
    found = from_arrays(arrays)
    assert set(found) == {"untagged"}
    assert close(found["untagged"].trees([0.0, 0.5, 1.0]), [0.2, 0.45, 0.7], rtol=1e-12)
