"""Features of the example tree of Cohen et al. (2013, figure 1), template by template.

    (S (NP (D the) (N cat)) (VP (V saw) (NP (D the) (N dog))))

The verb is the head of VP and S, the noun that of NP.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.constituency.learn.features import (
    INSIDE_TEMPLATES,
    OUTSIDE_TEMPLATES,
    WIDTH_BINS,
    FeatureOptions,
    Surroundings,
    features,
)
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.errors import SettingsError
from eigentree.treebank.binarise import binarise
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from tests.helpers import close
from tests.strategies import trees

EXAMPLE = "(S (NP (D the) (N cat)) (VP (V saw) (NP (D the) (N dog))))"


class Heads:
    def head(self, label: str, children: Sequence[str]) -> int:
        return list(children).index({"S": "VP", "VP": "V", "NP": "N"}[label])


def example() -> Examples:
    return Examples.of([binarise(parse_tree(EXAMPLE), heads=Heads())], LexiconOptions(0))


# Rows: children before parents.
D1, N1, NP1, V, D2, N2, NP2, VP, S = range(9)
# Symbols: NP 0, S 1, VP 2, then D 3, N 4, V 5.  Rules by left, right, parent:
S_NP_VP, NP_D_N, VP_V_NP = 0, 1, 2
# Lexical rules follow, by word (cat dog saw the): N cat, N dog, V saw, D the.
N_CAT, N_DOG, V_SAW, D_THE = 3, 4, 5, 6
RULES = 7  # and so many there are
TAG_D, TAG_N, TAG_V = 0, 1, 2
# Rules above a node, with its side: 0 at the root, 1 + 2 * rule + (1 on the right).
ABOVE = {
    D1: 1 + 2 * NP_D_N,
    N1: 2 + 2 * NP_D_N,
    NP1: 1 + 2 * S_NP_VP,
    V: 1 + 2 * VP_V_NP,
    D2: 1 + 2 * NP_D_N,
    N2: 2 + 2 * NP_D_N,
    NP2: 2 + 2 * VP_V_NP,
    VP: 2 + 2 * S_NP_VP,
    S: 0,
}
SIDES = 7  # 1 + 2 * 3 rules


def test_numbering_of_the_example():
    examples = example()
    assert [str(symbol) for symbol in examples.symbols.symbols] == ["NP", "S", "VP", "D", "N", "V"]
    assert examples.symbol.tolist() == [3, 4, 0, 5, 3, 4, 0, 2, 1]
    assert examples.rules.tolist() == [[1, 0, 2], [0, 3, 4], [2, 5, 0]]
    assert examples.lexicon.entries[:4] == ("cat", "dog", "saw", "the")
    assert examples.pairs.tolist() == [[0, 4], [1, 4], [2, 5], [3, 3]]


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("left", {S: 0, VP: 5, NP1: 3, NP2: 3}),
        ("right", {S: 2, VP: 0, NP1: 4, NP2: 4}),
        ("rule", {S: S_NP_VP, VP: VP_V_NP, NP1: NP_D_N, NP2: NP_D_N,
                  D1: D_THE, N1: N_CAT, V: V_SAW, D2: D_THE, N2: N_DOG}),
        # (S (NP D N) VP), (VP (V saw) NP), (NP (D the) N)
        ("rule-left", {S: S_NP_VP * RULES + NP_D_N, VP: VP_V_NP * RULES + V_SAW,
                       NP1: NP_D_N * RULES + D_THE, NP2: NP_D_N * RULES + D_THE}),
        # (S NP (VP V NP)), (VP V (NP D N)), (NP D (N cat)), (NP D (N dog))
        ("rule-right", {S: S_NP_VP * RULES + VP_V_NP, VP: VP_V_NP * RULES + NP_D_N,
                        NP1: NP_D_N * RULES + N_CAT, NP2: NP_D_N * RULES + N_DOG}),
        ("head", {S: TAG_V, VP: TAG_V, NP1: TAG_N, NP2: TAG_N, D1: TAG_D, V: TAG_V}),
        # Bins hold 0, 1, 2, 3, 4, 5, 6-7, ... words and count from 1.
        ("width", {S: 6, VP: 4, NP1: 3, NP2: 3, D1: 2}),
    ],
)  # fmt: skip
def test_inside_templates(template: str, values: dict[int, int]):
    codes = INSIDE_TEMPLATES[template](Surroundings(example()))
    assert {node: int(codes[node]) for node in values} == values


TWO_ABOVE = {
    D2: ABOVE[D2] * SIDES + ABOVE[NP2],  # (VP V (NP D* N))
    D1: ABOVE[D1] * SIDES + ABOVE[NP1],  # (S (NP D* N) VP)
    NP2: ABOVE[NP2] * SIDES + ABOVE[VP],  # (S NP (VP V NP*))
    NP1: ABOVE[NP1] * SIDES,
    S: 0,
}


@pytest.mark.parametrize(
    ("template", "values"),
    [
        ("rule", ABOVE),
        ("two-rules", TWO_ABOVE),
        # (S NP (VP V (NP D* N))); two rules above D1 is already all of them.
        ("three-rules", {D2: TWO_ABOVE[D2] * SIDES + ABOVE[VP], D1: TWO_ABOVE[D1] * SIDES, S: 0}),
        # Symbols count from 1, 0 stands for none above: NP 1, S 2, VP 3.
        ("parent", {D1: 1, NP1: 2, D2: 1, NP2: 3, V: 3, VP: 2, S: 0}),
        # (D, NP, VP) as parent * 7 + grandparent
        ("grandparent", {D2: 1 * 7 + 3, D1: 1 * 7 + 2, NP2: 3 * 7 + 2, NP1: 2 * 7, VP: 14, S: 0}),
        # Tags count from 1.  The first other head above D2 is N, above N2 and NP2 it is V.
        ("head", {D2: 1 + TAG_N, N2: 1 + TAG_V, NP2: 1 + TAG_V, D1: 1 + TAG_N, N1: 1 + TAG_V,
                  V: 0, VP: 0, S: 0}),
        ("width-left", {D1: 1, N1: 2, NP1: 1, V: 3, D2: 4, N2: 5, NP2: 4, VP: 3, S: 1}),
        ("width-right", {D1: 5, N1: 4, NP1: 4, V: 3, D2: 2, N2: 1, NP2: 1, VP: 1, S: 1}),
    ],
)  # fmt: skip
def test_outside_templates(template: str, values: dict[int, int]):
    codes = OUTSIDE_TEMPLATES[template](Surroundings(example()))
    assert {node: int(codes[node]) for node in values} == values


def test_the_templates_are_the_papers():
    assert len(INSIDE_TEMPLATES) == 7
    assert len(OUTSIDE_TEMPLATES) == 8


@pytest.mark.parametrize(
    ("words", "bins"),
    [([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]), ([6, 7, 8, 9, 10, 999], [7, 7, 8, 8, 9, 14])],
)
def test_width_bins(words: list[int], bins: list[int]):
    assert np.searchsorted(WIDTH_BINS, words, side="right").tolist() == bins
    longest = "".join(f" (t w{i})" for i in range(9))
    tree = binarise(parse_tree(f"(X{longest})"))
    examples = Examples.of([tree])
    codes = INSIDE_TEMPLATES["width"](Surroundings(examples))
    widths = examples.end - examples.start
    assert codes.tolist() == [int(np.sum(width >= WIDTH_BINS)) for width in widths]


def by_symbol(examples: Examples, options: FeatureOptions) -> dict:
    return {str(examples.symbols[each.symbol]): each for each in features(examples, options)}


def test_matrices_of_the_example():
    options = FeatureOptions(scaling=False)
    found = by_symbol(example(), options)
    noun_phrases = found["NP"]
    assert noun_phrases.rows.tolist() == [NP1, NP2]
    # left, right, rule, rule-left, head and width are shared, rule-right is not.
    inside = noun_phrases.inside.toarray()
    assert inside.shape == (2, 8)
    assert sorted(inside.sum(axis=0)) == [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    # The outside trees share nothing but their head, V.
    outside = noun_phrases.outside.toarray()
    assert outside.shape == (2, 15)
    assert sorted(outside.sum(axis=0)) == [1.0] * 14 + [2.0]
    # A word's inside tree has one feature, its rule.
    nouns = found["N"]
    assert nouns.inside.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert found["D"].inside.toarray().tolist() == [[1.0], [1.0]]


@given(st.lists(trees(max_leaves=8), min_size=1, max_size=4), st.booleans())
def test_matrices_against_a_naive_count(corpus: list, scaling: bool):
    rng = np.random.default_rng(len(corpus))
    weights = rng.uniform(0.5, 2.0, len(corpus))
    examples = Examples.of([binarise(tree) for tree in corpus], LexiconOptions(0), weights)
    options = FeatureOptions(scaling=scaling, kappa=2.0)
    shared = Surroundings(examples)
    seen = []
    for each in features(examples, options):
        is_leaf = examples.symbols[each.symbol].kind == "preterminal"
        for matrix, names, templates in (
            (each.inside, ("rule",) if is_leaf else options.inside, INSIDE_TEMPLATES),
            (each.outside, options.outside, OUTSIDE_TEMPLATES),
        ):
            expected = []
            for name in names:
                codes = templates[name](shared)[each.rows]
                for code in np.unique(codes):
                    on = codes == code
                    weight = examples.weight[each.rows]
                    scale = np.sqrt(weight.sum() / (weight[on].sum() + 2.0)) if scaling else 1.0
                    expected.append(on * scale)
            assert close(matrix.toarray(), np.array(expected).T, rtol=1e-12)
        seen.extend(each.rows.tolist())
    assert sorted(seen) == list(range(len(examples)))


def test_simple_features_are_rules_alone():
    options = FeatureOptions(inside=("rule",), outside=("rule",), scaling=False)
    found = by_symbol(example(), options)
    assert found["NP"].inside.toarray().tolist() == [[1.0], [1.0]]
    assert found["NP"].outside.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inside": ("rule", "colour")}, r"inside features \['colour'\]; choose from left, right"),
        ({"outside": ()}, "outside features are empty; choose from rule, two-rules"),
        ({"inside": ("left",)}, "inside features must include rule"),
        ({"kappa": -1.0}, "kappa is -1.0; it must be at least 0"),
    ],
)
def test_wrong_options(options: dict, message: str):
    with pytest.raises(SettingsError, match=message):
        FeatureOptions(**options)
