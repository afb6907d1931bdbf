"""A parse of a constituency parser as text: brackets, k-best lists, JSON, a drawing, a graph."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from eigentree.cli._parsing import json_result

if TYPE_CHECKING:
    from eigentree.constituency.result import Alternative, ParseResult
    from eigentree.treebank.syntax_graph import GraphFormat
    from eigentree.treebank.tree import Tree


def by_value(result: ParseResult) -> ParseResult:
    """The result with its trees in order of their values under the grammar."""

    def value(each: Alternative) -> float:
        return -math.inf if each.log_value is None else each.log_value

    ordered = sorted(result.alternatives, key=value, reverse=True)
    return replace(result, alternatives=tuple(ordered))


def in_lines(
    result: ParseResult,
    wrapper: str | None,
    root_name: str,
    order: Literal["objective", "value"],
) -> str:
    """The best trees of a sentence, one per line, each after the number that ranks it."""
    from eigentree.constituency.result import wrapped
    from eigentree.treebank.io.brackets import format_tree

    lines = []
    for each in result.alternatives:
        number = each.log_value if order == "value" else each.objective
        text = "" if number is None else f"{number:.6f}"
        lines.append(f"{text}\t{format_tree(wrapped(each.tree, wrapper, root_name))}\n")
    return "".join(lines)


def confidences(result: ParseResult) -> tuple[float | None, float | None]:
    """Confidence of the brackets and of the whole tree, calibrated if the parser is."""
    return result.calibrated or (result.confidence, result.tree_confidence)


def in_columns(text: str, result: ParseResult, number: int | None) -> str:
    """A tree after its sentence number, if that is given, and its two confidences."""
    columns = ("" if value is None else f"{value:.4f}" for value in confidences(result))
    return "\t".join([*([] if number is None else [str(number)]), *columns, text])


def marginal_rows(result: ParseResult, number: int) -> str:
    """The lines of a table of marginals for one sentence."""
    in_tree = {(each.label, each.start, each.end) for each in result.brackets}
    rows = (
        f"{number}\t{start}\t{end}\t{label}\t{marginal:.6g}\t{(label, start, end) in in_tree:d}\n"
        for label, start, end, marginal in result.marginals
    )
    return "".join(rows)


def in_json(
    result: ParseResult,
    wrapper: str | None,
    root_name: str,
    *,
    problem: str | None = None,
    several: bool = False,
    constrained: bool = False,
    number: int | None = None,
    line: int | None = None,
) -> str:
    """A parse as one line of JSON."""
    record = {
        **({} if number is None else {"number": number}),
        **result.to_dict(
            wrapper,
            root_name,
            several=several,
            constrained=constrained,
            where={} if line is None else {"line": line, "offsets": result.offsets},
        ),
    }
    return json_result(record, problem)


def graph_format(output_format: str) -> GraphFormat | None:
    """How files of a format with crossing branches are written; None for other formats."""
    from eigentree.treebank.io.negra import EXPORT
    from eigentree.treebank.io.tiger import TIGER

    return {"export": EXPORT, "tiger": TIGER}.get(output_format)


def in_graph(
    tree: Tree | None,
    output_format: str,
    number: int,
    *,
    edge_labels: bool,
) -> str:
    """A tree as a sentence of NEGRA export or TIGER-XML; one without a tree is empty.

    Raises
    ------
    TreebankFormatError
        When a word can't be in the format.
    """
    from eigentree.treebank.syntax_graph import SyntaxGraph, graph_of_tree

    graph = SyntaxGraph(())
    if tree is not None:
        graph = graph_of_tree(tree, edge_labels=edge_labels)
    form = graph_format(output_format)
    assert form is not None
    return form.sentence(graph, str(number)).removesuffix("\n")


def in_drawing(result: ParseResult) -> str:
    """A parse as a drawing with the confidence of the whole tree and the mean of its brackets."""
    from eigentree.drawing.tree_text import draw_text

    if result.tree is None:
        return ""
    mean, whole = confidences(result)
    known = [
        f"{100 * value:.0f} % ({what})"
        for what, value in (("whole tree", whole), ("mean of brackets", mean))
        if value is not None
    ]
    mark = f", fall-back: {result.fallback}" if result.fallback else ""
    return f"{draw_text(result.tree)}\nconfidence {', '.join(known) or 'unknown'}{mark}\n"
