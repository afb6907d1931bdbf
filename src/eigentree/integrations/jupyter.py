"""Display of trees and results in notebooks: pictures, and tables of scores.

A tree too large for a picture is shown as text, truncated after some lines, so that notebooks stay
responsive.  All text of trees and sentences is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import islice

from eigentree._core.printable import visible
from eigentree.bracketing.result import BracketingResult
from eigentree.constituency.result import ParseResult, node_confidences
from eigentree.dependency.result import DependencyResult
from eigentree.drawing.arcs import Arcs, draw_arcs_svg, draw_arcs_text
from eigentree.drawing.tree_svg import draw_svg
from eigentree.drawing.tree_text import draw_text
from eigentree.evaluation.attachment import AttachmentResult
from eigentree.evaluation.result import ParsevalResult
from eigentree.evaluation.tables.attachment import ScoredAttachment, attachment_table
from eigentree.evaluation.tables.scores import Scored, score_table
from eigentree.evaluation.tables.table import TextTable
from eigentree.evaluation.tables.unlabelled import tables
from eigentree.evaluation.unlabelled import UnlabelledResult
from eigentree.treebank.tree import Tree

MAX_NODES = 1000
MAX_DEPTH = 60
MAX_WORDS = 200
MAX_LINES = 200
MAX_COLUMNS = 300


def as_svg(shown: object) -> str | None:
    """The picture of an object; None if it has none, or is too large for one."""
    if isinstance(shown, BracketingResult):
        shown = shown.tree
    if isinstance(shown, Tree):
        return draw_svg(shown) if _fits(shown) else None
    if isinstance(shown, ParseResult) and shown.tree is not None and _fits(shown.tree):
        sure = node_confidences(shown)
        has_any = any(value is not None for value in sure)
        return draw_svg(shown.tree, confidence=sure if has_any else None)
    if isinstance(shown, DependencyResult) and 0 < len(shown.words) <= MAX_WORDS:
        return draw_arcs_svg([arcs_of_result(shown)])
    return None


def as_html(shown: object) -> str | None:
    """A table or text for an object; None if it has a picture."""
    if isinstance(shown, ParsevalResult):
        return _table(score_table([Scored("", shown, None, [])]))
    if isinstance(shown, AttachmentResult):
        return _table(attachment_table([ScoredAttachment("", shown, {}, [])]))
    if isinstance(shown, UnlabelledResult):
        return "".join(_table(each) for each in tables({"the trees": shown}))
    if as_svg(shown) is not None:
        return None
    if isinstance(shown, DependencyResult):
        return _text(draw_arcs_text(arcs_of_result(shown))) if shown.words else _NONE
    tree = shown.tree if isinstance(shown, ParseResult | BracketingResult) else shown
    return _text(draw_text(tree, style="indented")) if isinstance(tree, Tree) else _NONE


_NONE = "<p>no tree: there are no words</p>"


def arcs_of_result(result: DependencyResult) -> Arcs:
    """The arcs of a dependency parse."""
    sure = [arc.confidence for arc in result.arcs]
    has_any = any(value is not None for value in sure)
    return Arcs(
        result.words, result.heads, result.relations, result.tags, sure if has_any else None
    )


def _fits(tree: Tree) -> bool:
    n_nodes = sum(1 for _ in islice(tree.nodes(), MAX_NODES + 1))
    return n_nodes <= MAX_NODES and tree.height() <= MAX_DEPTH


def _text(drawing: str) -> str:
    lines = drawing.split("\n")
    shown = [
        line if len(line) <= MAX_COLUMNS else line[:MAX_COLUMNS] + "…" for line in lines[:MAX_LINES]
    ]
    if len(lines) > MAX_LINES:
        shown.append(f"… {len(lines) - MAX_LINES:,} more lines")
    return f"<pre>{html.escape(chr(10).join(shown))}</pre>"


def _table(table: TextTable) -> str:
    caption = f"<caption>{_cell(table.title)}</caption>" if table.title else ""
    head = "".join(f"<th>{_cell(name)}</th>" for name in table.header)
    body = "".join(_row(row) for row in table.rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(row: Sequence[str]) -> str:
    first, *others = map(_cell, row)
    return f"<tr><th>{first}</th>{''.join(f'<td>{cell}</td>' for cell in others)}</tr>"


def _cell(text: str) -> str:
    return html.escape(visible(text))
