"""The kernels that are compiled together, by the part of the package that calls them."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """Kernels that are used together.

    Attributes
    ----------
    name
        What messages call the part.
    kernels
        The kernels called from Python, those that take longest to compile first.
    """

    name: str
    kernels: tuple[str, ...]


def _in(module: str, *names: str) -> tuple[str, ...]:
    return tuple(f"eigentree.{module}.{name}" for name in names)


PARTS = {
    "parsing": Part(
        "the parser",
        (
            *_in("constituency.chart._kernels_inside_outside", "inside_pass"),
            *_in("constituency.chart._kernels_pruning", "inside_pass"),
            *_in("constituency.chart._kernels_inside_outside", "outside_pass"),
            *_in("constituency.chart._kernels_pruning", "outside_pass", "link_items", "list_items"),
            *_in("constituency.chart._kernels_inside_outside", "root_value", "item_products"),
            *_in("constituency.chart._kernels_decode", "collect", "best_edges"),
            *_in("constituency.chart._kernels_spans", "span_number", "first_span"),
        ),
    ),
    "k-best": Part(
        "lists of the best trees",
        _in("constituency.chart._kernels_k_best", "find", "begin", "enter", "mark"),
    ),
    "combination": Part(
        "the combination of parsers",
        _in("constituency.ensemble._kernels_combine", "best_trees", "chains_of_tree"),
    ),
    "prefixes": Part(
        "prefix probabilities",
        (
            *_in(
                "constituency.chart._kernels_dense",
                "forward_of_prefixes", "inside_of_prefixes", "add_corners", "scale_rows",
            ),
            *_in("constituency.chart._kernels_spans", "first_span"),
        ),
    ),
    "exhaustive": Part(
        "charts without pruning",
        _in(
            "constituency.chart._kernels_dense",
            "outside_by_rules", "inside_by_rules", "drop_forbidden", "scale_rows",
        ),
    ),
    "kruskal": Part(
        "charts of tensors in Kruskal form",
        _in(
            "constituency.chart._kernels_dense",
            "kruskal_outside", "kruskal_inside", "multiply", "row_products", "sum_rows",
        ),
    ),
    "em": Part(
        "EM",
        _in(
            "constituency.learn._kernels_em",
            "outside_pass", "inside_pass", "count_rules", "count_others", "divide",
            "count_states",
        ),
    ),
    "constrained-em": Part(
        "EM on charts", _in("constituency.chart._kernels_inside_outside", "add_expected")
    ),
    "tensors": Part(
        "tensor decompositions",
        _in(
            "linalg._kernels_cp",
            "poisson_rows", "coordinate_rows", "mttkrp_rows", "entries", "positive_places",
        ),
    ),
    "dependencies": Part(
        "the dependency parser",
        (
            *_in("dependency.chart._kernels_head_automata", "head_marginals", "best_heads"),
            *_in("dependency._kernels_lexical_modifiers", "fill_probabilities"),
            *_in("dependency._kernels_arc_labels", "add_weights"),
            *_in("dependency.chart._kernels_lexical_product", "fill_products"),
        ),
    ),
    "automata": Part(
        "EM of automata",
        _in(
            "automata._kernels_em",
            "count_operators", "backward_pass", "forward_pass", "end_pass", "root_pass",
        ),
    ),
    "clusters": Part(
        "Brown clusters",
        _in(
            "words._kernels_brown",
            "cluster_words", "losses_of_words", "join_clusters", "fill", "fill_cells",
            "fill_corners", "prepare", "link", "loss", "find",
        ),
    ),
    "bracketing": Part(
        "minimum evolution",
        (
            *_in("bracketing.chart._kernels_minimum_evolution", "fill", "best_top", "trace"),
            *_in("bracketing.learn._kernels_moments", "count_pairs"),
        ),
    ),
    "constituent-context": Part(
        "the constituent-context model",
        _in(
            "bracketing.chart._kernels_binary_trees", "bracket_marginals", "best_splits", "row_of"
        ),
    ),
}  # fmt: skip


def part_of(kernel: str) -> str | None:
    """The first part that a kernel belongs to; None for one that is compiled alone."""
    return next((name for name, part in PARTS.items() if kernel in part.kernels), None)
