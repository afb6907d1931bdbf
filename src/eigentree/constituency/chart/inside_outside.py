"""Inside-outside over latent states: from a forest to the marginals of its items and edges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentree.constituency.chart import _kernels_inside_outside as kernels
from eigentree.constituency.chart.forest import Forest
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.types import Floats, Longs


class Marginals(NamedTuple):
    """Marginals of a forest under a grammar.

    For a probability model these are probabilities given the sentence and the forest.  For
    a signed model they still sum to 1 over the root items, but single ones may be negative
    or exceed 1.

    Attributes
    ----------
    item : float64, axes (items)
        inside . outside / Z, the share of the trees that contain the item.
    edge : float64, axes (edges)
        The same for each use of a rule.
    log_value : float
        Natural logarithm of the absolute value of the sentence, log |Z|.
    sign : int
        Sign of Z; always 1 for a probability model.
    """

    item: Floats
    edge: Floats
    log_value: float
    sign: int


def inside_outside(forest: Forest, grammar: LPCFG) -> Marginals | None:
    """Marginals of all items and edges of a forest.

    Parameters
    ----------
    forest
        Its rules and word entries must be those of the grammar's backbone.
    grammar
        Any grammar with latent states.

    Returns
    -------
    Marginals or None
        None when the value of the sentence is zero or not finite, so that marginals are undefined.

    Cost
    ----
    O(K^3) per group and O(K^2) per edge for dense rules, O(n K) per edge for a rule with n
    samples, O(n) per edge for a rule stored as n counts.

    References
    ----------
    cohen-2013, section 2.1; baker-1979.
    """
    vectors = charts(forest, grammar)
    if vectors is None:
        return None
    vector_start, inside, exponent = vectors.inside[:3]
    item = np.empty(forest.n_items)
    kernels.item_products(vector_start, inside, vectors.outside, exponent, item)
    if not np.all(np.isfinite(item)):
        return None
    return Marginals(item, vectors.edge, vectors.log_value, vectors.sign)


class InsideChart(NamedTuple):
    """Inside vectors of all items, and further inputs of the outside pass.

    Attributes
    ----------
    vector_start : int64, axes (items + 1)
        The vector of item i is ``inside[vector_start[i]:vector_start[i+1]]``.
    inside : float64, axes (states of all items)
        To be multiplied by 2 to the power of the item's ``exponent``.
    exponent : int64, axes (items)
    backed_off, shared : float64, axes (items)
        Products with the means and with the shares of states, for back-off.
    scratch : float64, axes (5, largest rule)
    """

    vector_start: Longs
    inside: Floats
    exponent: Longs
    backed_off: Floats
    shared: Floats
    scratch: Floats


def inside_chart(forest: Forest, grammar: LPCFG) -> InsideChart:
    """The inside vectors of a forest."""
    parameters = grammar.parameters
    sizes = np.diff(parameters.state_start)
    vector_start = np.zeros(forest.n_items + 1, dtype=np.int64)
    np.cumsum(sizes[forest.item_symbol], out=vector_start[1:])
    # A matrix over a pair of symbols, a vector over one, or a number for each sample.
    n_scratch = int(sizes.max())
    chart = InsideChart(
        vector_start,
        np.zeros(vector_start[-1]),
        np.full(forest.n_items, kernels.ZERO, dtype=np.int64),
        np.zeros(forest.n_items),
        np.zeros(forest.n_items),
        np.empty((5, max(n_scratch**2, int(parameters.n_samples.max(initial=0))))),
    )
    kernels.inside_pass(forest, parameters, *chart)
    return chart


class Charts(NamedTuple):
    """Inside and outside vectors of all items.

    Attributes
    ----------
    inside
    outside : float64, axes (states of all items)
        Scaled so that products with the entries of ``inside.inside`` are marginals.
    edge : float64, axes (edges)
        Marginals.
    log_value : float
        Natural logarithm of the absolute value of the sentence.
    sign : int
    """

    inside: InsideChart
    outside: Floats
    edge: Floats
    log_value: float
    sign: int


def charts(forest: Forest, grammar: LPCFG) -> Charts | None:
    """The vectors of a forest; None when the value of the sentence is zero or not finite."""
    parameters = grammar.parameters
    chart = inside_chart(forest, grammar)
    vector_start, inside, exponent, backed_off, shared, scratch = chart
    total, reference = kernels.root_value(forest, parameters, vector_start, inside, exponent)
    if total == 0.0 or not math.isfinite(total):
        return None
    outside = np.zeros_like(inside)
    of_means, of_shares = np.zeros(forest.n_items), np.zeros(forest.n_items)
    edge = np.zeros(forest.n_edges)
    kernels.outside_pass(
        forest, parameters, vector_start, inside, exponent, backed_off, shared, total,
        reference, outside, of_means, of_shares, edge, scratch,
    )  # fmt: skip
    log_value = math.log(abs(total)) + reference * math.log(2.0)
    return Charts(chart, outside, edge, log_value, 1 if total > 0 else -1)
