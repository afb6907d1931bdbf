"""Trees and arcs for LaTeX, read back by a reader that knows a little TeX."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree._core.printable import visible
from eigentree.drawing.arcs import Arcs
from eigentree.drawing.latex import arcs_in_latex, escape, trees_in_latex
from eigentree.drawing.tree_text import NAMELESS
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.drawing.test_arcs import HEADS, RELATIONS, WORDS
from tests.drawing.test_tree_text import deep, trees

MACROS = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\symbol{38}": "&",
    r"\symbol{34}": '"',
    r"\{": "{",
    r"\}": "}",
    r"\$": "$",
    r"\#": "#",
    r"\%": "%",
    r"\_": "_",
    "{}": "",  # keeps letters apart
    "~": "\u00a0",
}
TOKEN = re.compile("|".join(map(re.escape, sorted(MACROS, key=len, reverse=True))) + "|.", re.S)
# What some font would join.
LIGATURES = ("--", "``", "''", ",,", "<<", ">>", "!`", "?`")
HARD = "\\{}$&#^_%~\"-`',<>!?[]=.,\u00a0ab é日"

hard_texts = st.text(st.sampled_from(HARD.replace(" ", "")), min_size=1, max_size=6)


def printed(tex):
    """What TeX prints of a text; anything that it would obey instead is an error."""
    out = []
    for token in TOKEN.findall(tex):
        if token in MACROS:
            out.append(MACROS[token])
            continue
        assert token not in set('\\{}$&#^_%"'), f"{token!r} in {tex!r}"
        out.append(token)
    assert not any(pair in tex for pair in LIGATURES), tex
    return "".join(out)


def group(text, at):
    """The content of a group in braces that begins at a place, and the place after it."""
    assert text[at] == "{", text[at : at + 20]
    depth, place = 0, at
    while True:
        if text[place] == "\\":
            place += 1
        elif text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return text[at + 1 : place], place + 1
        place += 1


class Reader:
    """Reads what stands in brackets: forest's or tikz-qtree's."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] in " \n":
            self.at += 1

    def take(self, what):
        self.skip()
        assert self.text.startswith(what, self.at), self.text[self.at : self.at + 30]
        self.at += len(what)

    def word(self):
        self.skip()
        found, self.at = group(self.text, self.at)
        return printed(found)

    def sees(self, what):
        self.skip()
        return self.text.startswith(what, self.at)

    def forest(self):
        self.take("[")
        label = self.word()
        below = []
        while self.sees("["):
            below.append(self.forest())
        if self.sees(", tier=word"):
            self.take(", tier=word")
        self.take("]")
        return (label, below)

    def qtree(self):
        self.take("[.")
        label = self.word()
        below = []
        while not self.sees("]"):
            below.append(self.qtree() if self.sees("[.") else (self.word(), []))
        assert self.text[self.at - 1] == " "  # the package wants a blank there
        self.take("]")
        return (label, below)


def shown(tree):
    below = [shown(child) for child in tree.children] or [(visible(tree.word), [])]
    return (visible(tree.label) or NAMELESS, below)


def body(document, begin, end):
    found = re.findall(re.escape(begin) + "(.*?)" + re.escape(end), document, re.S)
    return found


@given(hard_texts)
def test_every_character_is_printed(text):
    assert printed(escape(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a_b", r"a\_b"),
        ("50%", r"50\%"),
        ("--", "-{}-"),
        ("x-y", "x-y"),
        ("\\n", r"\textbackslash{}n"),
        ("\u00a0", "~"),
        ("``", "`{}`"),
    ],
)
def test_escapes(text, tex):
    assert escape(text) == tex


hard_trees = trees() | st.builds(
    lambda label, words: Tree(label, [Tree(word, word=word) for word in words]),
    hard_texts,
    st.lists(hard_texts, min_size=1, max_size=4),
)


@given(hard_trees)
def test_forest(tree):
    (found,) = body(trees_in_latex([tree]), "\\begin{forest}", "\\end{forest}")
    reader = Reader(found)
    assert reader.forest() == shown(tree)
    reader.skip()
    assert reader.at == len(found)


@given(hard_trees)
def test_qtree(tree):
    (found,) = body(trees_in_latex([tree], "qtree"), "\\Tree", "\\end{tikzpicture}")
    reader = Reader(found)
    assert reader.qtree() == shown(tree)
    reader.skip()
    assert reader.at == len(found)


def test_documents_and_fragments():
    tree = parse_tree("(S (N ice) (V melts))")
    document = trees_in_latex([tree, tree])
    assert document.startswith("\\documentclass")
    assert document.count("\\begin{forest}") == document.count("\\end{forest}") == 2
    assert document.endswith("\\end{document}\n")
    fragment = trees_in_latex([tree], "qtree", fragment=True)
    assert fragment.startswith("% requires \\usepackage{tikz-qtree}\n\\begin{tikzpicture}")
    assert "documentclass" not in fragment
    assert trees_in_latex([deep(5000)]).count("[{X}") > 4900


def test_arcs():
    document = arcs_in_latex([Arcs(WORDS, HEADS, RELATIONS)])
    edges = re.findall(r"\\depedge\{(\d+)\}\{(\d+)\}\{([^}]*)\}", document)
    roots = re.findall(r"\\deproot\{(\d+)\}\{([^}]*)\}", document)
    assert [(int(h), int(w), r) for h, w, r in edges] == [
        (head, word, relation)
        for word, (head, relation) in enumerate(zip(HEADS, RELATIONS, strict=True), start=1)
        if head
    ]
    assert roots == [("4", "root")]
    assert "\\deproot{1}{root}" in arcs_in_latex([Arcs(["go"], [0])], fragment=True)


@given(st.lists(hard_texts, min_size=1, max_size=5))
def test_rows_of_arcs(words):
    tree = Arcs(words, list(range(len(words))), words, words[::-1])
    (text,) = body(arcs_in_latex([tree]), "\\begin{deptext}[column sep=1em]", "\\end{deptext}")
    rows = text.strip("\n ").split("\n")
    for row, expected in zip(rows, (words, words[::-1]), strict=True):
        assert row.endswith(" \\\\")
        cells = row[: -len(" \\\\")].strip().split(r" \& ")
        assert [printed(group(cell, 0)[0]) for cell in cells] == list(map(visible, expected))


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("forest", lambda: trees_in_latex([_hard_tree()] * 2)),
        ("tikz-qtree", lambda: trees_in_latex([_hard_tree()] * 2, "qtree")),
        ("tikz-dependency", lambda: arcs_in_latex([Arcs(list(HARD[:20]), list(range(20)))] * 2)),
    ],
)
def test_latex_takes_it(tmp_path, package, make):
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        pytest.skip("no LaTeX on this machine")
    for style in (f"{package}.sty", "standalone.cls"):
        if subprocess.run(["kpsewhich", style], capture_output=True).returncode:
            pytest.skip(f"this LaTeX has no {style}")
    (tmp_path / "it.tex").write_text(make(), "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "it.tex"],
        cwd=tmp_path,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    log = (tmp_path / "it.log").read_text("latin-1")
    assert done.returncode == 0, log[-2000:]
    assert re.search(r"Output written on it\.pdf\s+\(2\s+pages", log), log[-2000:]


def _hard_tree():
    words = [sign for sign in HARD if sign not in " 日"]
    return Tree("A_B", [Tree(f"{word}x", word=word * 2) for word in words])
