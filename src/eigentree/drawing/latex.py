r"""Trees and arcs for LaTeX: the packages forest, tikz-qtree and tikz-dependency.

Labels and words are printed literally: characters special to TeX are escaped, and characters that
fonts would join (``--`` to a dash, two backquotes to a quote) are separated.  Non-Latin scripts
require XeLaTeX or LuaLaTeX, and a font that covers them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from eigentree._core.printable import visible
from eigentree.drawing.arcs import TO_ROOT, Arcs
from eigentree.drawing.tree_text import shown_label
from eigentree.treebank.io.conllu import ROOT
from eigentree.treebank.tree import Tree

TreeStyle = Literal["forest", "qtree"]

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    # In tikz-dependency an escaped ampersand ends a word.
    "&": r"\symbol{38}",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    '"': r"\symbol{34}",
    "\u00a0": "~",
}
_LIGATURE = re.compile(r"([-`',<>!?])(?=[-`',<>])")
_DOCUMENT = r"""\documentclass[tikz,border=6pt]{standalone}
\usepackage{iftex}
\iftutex\usepackage{fontspec}\else\usepackage[T1]{fontenc}\usepackage[utf8]{inputenc}\fi
"""
_PACKAGES = {
    "forest": r"\usepackage{forest}",
    "qtree": r"\usepackage{tikz-qtree}",
    "dependency": r"\usepackage{tikz-dependency}",
}


def escape(text: str) -> str:
    """Escape a text for TeX."""
    apart = _LIGATURE.sub("\\1\0", visible(text))
    return "".join(_ESCAPED.get(sign, sign) for sign in apart).replace("\0", "{}")


def trees_in_latex(
    trees: Sequence[Tree], style: TreeStyle = "forest", *, fragment: bool = False
) -> str:
    """Trees as a LaTeX document with one page each, or as a fragment for another document.

    Parameters
    ----------
    trees
        Trees of any depth; TeX itself fails at some hundreds of levels.
    style
        ``forest``, or ``qtree`` for tikz-qtree.
    fragment
        Omit the preamble; a comment names the required package.
    """
    draw = _forest if style == "forest" else _qtree
    return _document(style, [draw(tree) for tree in trees], fragment)


def arcs_in_latex(trees: Sequence[Arcs], *, fragment: bool = False) -> str:
    """Dependency trees for tikz-dependency; see `trees_in_latex`."""
    return _document("dependency", [_dependency(tree) for tree in trees], fragment)


def _document(package: str, bodies: Sequence[str], fragment: bool) -> str:
    if fragment:
        return "".join([f"% requires {_PACKAGES[package]}\n", *bodies])
    head = f"{_DOCUMENT}{_PACKAGES[package]}\n\\begin{{document}}\n"
    return "".join([head, *bodies, "\\end{document}\n"])


def _forest(tree: Tree) -> str:
    """For the package forest; words are aligned at the bottom."""
    inner = _nested(tree, "[{{{label}}}", "[{{{label}}} [{{{word}}}, tier=word]]", "]")
    return f"\\begin{{forest}}\n{inner}\n\\end{{forest}}\n"


def _qtree(tree: Tree) -> str:
    # The package requires a space before each closing bracket.
    inner = _nested(tree, "[.{{{label}}}", "[.{{{label}}} {{{word}}} ]", " ]")
    return f"\\begin{{tikzpicture}}\n\\Tree {inner}\n\\end{{tikzpicture}}\n"


def _nested(tree: Tree, opening: str, leaf: str, closing: str) -> str:
    pieces: list[str] = []
    stack: list[tuple[Tree | None, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if node is None:
            pieces.append(closing)
            continue
        before = "\n" + " " * min(2 * depth, 40) if pieces else ""
        label = escape(shown_label(node))
        if node.word is not None:
            pieces.append(before + leaf.format(label=label, word=escape(node.word)))
            continue
        pieces.append(before + opening.format(label=label))
        stack.append((None, depth))
        stack.extend((child, depth + 1) for child in reversed(node.children))
    return "".join(pieces)


def _dependency(tree: Arcs) -> str:
    rows = [tree.words, *([] if tree.tags is None else [tree.tags])]
    relations = tree.relations or [""] * len(tree.words)
    lines = ["\\begin{dependency}", "  \\begin{deptext}[column sep=1em]"]
    for row in rows:
        cells = r" \& ".join(f"{{{escape(cell)}}}" for cell in row)
        lines.append(f"    {cells} \\\\")
    lines.append("  \\end{deptext}")
    for word, (head, relation) in enumerate(zip(tree.heads, relations, strict=True), start=1):
        if head == ROOT:
            lines.append(f"  \\deproot{{{word}}}{{{escape(relation or TO_ROOT)}}}")
        else:
            lines.append(f"  \\depedge{{{head}}}{{{word}}}{{{escape(relation)}}}")
    return "\n".join([*lines, "\\end{dependency}", ""])
