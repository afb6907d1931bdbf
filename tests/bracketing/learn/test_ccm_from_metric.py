"""Constituent-context models initialised by a metric, against the list of all trees."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.bracketing.ccm import crosses_marks
from eigentree.bracketing.learn.ccm import ConstituentContextOptions, learn_constituent_context
from eigentree.bracketing.learn.ccm_from_metric import CONTEXT_DEFAULTS, learn_ccm_from_metric
from eigentree.bracketing.models import ContextPairModel, MetricModel
from eigentree.bracketing.root_split import by_verbs
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.errors import GrammarError, SettingsError
from eigentree.treebank.universal_tags import tag_map
from tests.helpers import close
from tests.oracles import bracketings as oracle

PENN = tag_map("penn")
# Plain and proper nouns, of which universal tags don't know.
TAGS = ("DT", "NN", "NNP", "VBD")
SENTENCES = [
    (["w"] * len(tags.split()), tags.split())
    for tags in (
        "DT NN VBD DT NN .",
        "NNP VBD DT NN",
        "DT NN VBD , NNP VBD .",
        "VBD NNP",
        "DT NNP NN VBD DT NNP NN",
    )
]


def metric(seed: int = 5) -> TreeMetric:
    rng = np.random.default_rng(seed)
    return TreeMetric(("DET", "NOUN", "VERB"), PENN, rng.normal(size=(4, 4, 6)))


def taught(charge: float, longest: int = 10) -> ContextPairModel:
    options = ConstituentContextOptions((longest,), iterations=2)
    own, universal = learn_ccm_from_metric(SENTENCES, metric(), options)
    return ContextPairModel(own, universal, PENN, charge)


def charged(span: tuple[int, int], n_words: int, marks: list[int]) -> bool:
    """Whether a span crosses punctuation, said plainly."""
    start, end = span
    ends = {0, *marks, n_words}
    return any(start < at < end for at in ends) and not {start, end} <= ends


@given(st.integers(1, 8), st.data())
def test_spans_with_a_mark_inside_must_reach_from_mark_to_mark(n_words, data):
    inner = st.sets(st.integers(1, n_words - 1)) if n_words > 1 else st.just(set())
    marks = sorted(data.draw(inner))
    found = crosses_marks(n_words, marks)
    expected = [charged(span, n_words, marks) for span in oracle.all_spans(n_words)]
    assert found.tolist() == expected
    assert not found[n_words]  # the whole sentence


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([*TAGS, "FOO"]), min_size=2, max_size=7),
    st.sampled_from([0.0, 1.0, 3.5]),
    st.data(),
)
def test_the_tree_is_that_of_the_greatest_coverage(tags, charge, data):
    model, n = taught(charge), len(tags)
    marks = sorted(data.draw(st.sets(st.integers(1, n - 1))))
    trees = oracle.binary_trees(0, n)
    spans = oracle.all_spans(n)
    coverage = np.zeros(len(trees))
    for part, seen in ((model.own, tags), (model.universal, [PENN(tag) for tag in tags])):
        odds = dict(zip(spans, part.log_odds(seen).tolist(), strict=True))
        weights = [
            np.exp(sum(odds[span] - charge * charged(span, n, marks) for span in tree))
            for tree in trees
        ]
        marginals = oracle.span_marginals(weights, trees)
        coverage += [0.5 * sum(marginals[span] for span in tree) for tree in trees]
    found = model.brackets(tags, 0, marks)
    words = frozenset((at, at + 1) for at in range(n))
    own = trees.index(found.spans | words)
    assert close(coverage[own], coverage.max(), rtol=1e-9)
    assert close(found.score, coverage.max() - n, rtol=1e-9, atol=1e-9)
    assert 1.0 - 1e-9 <= found.score <= n - 1 + 1e-9
    tops = [model.brackets(tags, top, marks) for top in range(1, n)]
    assert [each.top for each in tops] == list(range(1, n))
    assert close(max(each.score for each in tops), found.score, rtol=1e-9)


def test_first_marginals_are_the_trees_of_the_metric():
    teacher = MetricModel(metric())
    options = ConstituentContextOptions((6,), iterations=1, constituents=1.0, distituents=4.0)
    own, universal = learn_ccm_from_metric(SENTENCES, metric(), options)
    yields: Counter[tuple[str, ...]] = Counter()
    uses: Counter[tuple[str, ...]] = Counter()
    for words, given_tags in SENTENCES:
        tags = [tag for tag in given_tags if not PENN.is_punctuation(tag)]
        if len(tags) > 6:
            continue
        top = by_verbs(words, given_tags, PENN)
        tree = teacher.brackets(tags, top).spans
        for start, end in oracle.all_spans(len(tags)):
            uses[tuple(tags[start:end])] += 1
            yields[tuple(tags[start:end])] += end - start == 1 or (start, end) in tree
    assert len(own.yield_log_odds) == len(uses)
    known: list[tuple[str, ...]] = [()]
    for key in own.yield_keys.tolist():
        known.append((*known[key // len(own.tags)], own.tags[key % len(own.tags)]))
    expected = [(yields[each] + 1.0) / (uses[each] - yields[each] + 4.0) for each in known]
    assert close(own.yield_log_odds, np.log(expected), rtol=1e-12)
    assert own.tags == TAGS
    assert universal.tags == ("DET", "NOUN", "VERB")


def test_pupils_learn_what_a_consistent_teacher_says():
    # Determiners are near the words after them, and all words else are far from one another.
    table = np.ones((4, 4, 1))
    table[0, 1] = 0.1
    teacher = TreeMetric(("DET", "NOUN", "VERB"), PENN, np.repeat(table, 6, axis=2))
    text = [(["w"] * 5, ["DT", "NN", "VBD", "DT", "NN"])] * 20
    own, universal = learn_ccm_from_metric(text, teacher, CONTEXT_DEFAULTS)
    model = ContextPairModel(own, universal, PENN)
    for tags in ("DT NN VBD DT NN", "DT NNS VBZ DT NNP"):
        assert model.brackets(tags.split()).spans == {(0, 5), (0, 2), (2, 5), (3, 5)}


def test_punctuation_parts_what_else_would_be_one():
    flat = learn_constituent_context([["NN"] * 4], ConstituentContextOptions(iterations=1))
    universal = learn_constituent_context([["NOUN"] * 4], ConstituentContextOptions(iterations=1))
    model = ContextPairModel(flat, universal, PENN, 50.0)
    for at in (1, 2, 3):
        assert model.brackets(["NN"] * 4, 0, [at]).top == at


@pytest.mark.parametrize(("tags", "spans"), [([], set()), (["DT"], set()), (["DT"] * 2, {(0, 2)})])
def test_shortest_sentences(tags, spans):
    found = taught(1.0).brackets(tags)
    assert found.spans == spans
    assert found.score == pytest.approx(float(len(spans)))


def test_what_has_no_meaning_is_refused():
    with pytest.raises(GrammarError, match="no sentence of two to 2 words"):
        learn_ccm_from_metric(
            [(["w"] * 3, ["DT", "NN", "VBD"])], metric(), ConstituentContextOptions((2,))
        )
    with pytest.raises(SettingsError, match="1 trees for 2 sentences"):
        learn_constituent_context([["a", "b"]] * 2, trees=[frozenset({(0, 2)})])
    for charge in (-1.0, float("inf"), float("nan")):
        with pytest.raises(GrammarError, match="charge is"):
            taught(charge)
