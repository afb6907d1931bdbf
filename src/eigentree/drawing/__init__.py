"""Drawings of trees, dependency trees, automata and plots, as text, SVG, LaTeX and PNG.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "draw_text": "tree_text",
        "draw_svg": "tree_svg",
        "draw_svg_page": "tree_svg",
        "Arcs": "arcs",
        "draw_arcs_text": "arcs",
        "draw_arcs_svg": "arcs",
        "trees_in_latex": "latex",
        "arcs_in_latex": "latex",
        "as_png": "png",
        "draw_graph_text": "automaton",
        "draw_graph_dot": "automaton",
        "draw_reliability": "reliability",
        "draw_spectrum": "spectrum",
    },
)
