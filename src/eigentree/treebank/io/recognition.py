r"""The format of a text, recognised by its content.

The first line that is neither blank nor a comment decides, whatever the file is called.  Of XML,
the header may be long, so more lines are read until it is clear what the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal, NamedTuple

from eigentree.treebank.io.text_files import Problem, snippet_at, without_marks

TextFormat = Literal["brackets", "export", "tiger", "conllu", "xml"]
Kind = Literal["constituents", "dependencies"]

# The first row of a sentence in CoNLL-U; no line of the other formats matches.  A row with another
# number of columns, as programs for other shared tasks write them, is for its reader to refuse.
_CONLLU_ROW = re.compile(r"(0\.1|1|1-[0-9]+)(\t[^\t]*){9}|1(\t[^\s]+){5,}")
_EXPORT_MARK = re.compile(r"#(?:FORMAT|BOS|BOT)(?=\s|$)")
_CONLLU_LINE = re.compile(r"[0-9]+(\t[^\t]*){9}$")
_COMMENT = re.compile(r"#(?!\t)|%|;|//|\*x\*")
_XML_START = re.compile(r"<(?:\?xml|!DOCTYPE|(?:[\w.-]+:)?(?:corpus|subcorpus)[\s/>])")
_TAG = re.compile(r"<([A-Za-z_][\w:.-]*)(?:\s[^<>]*)?>")
_ELEMENT = re.compile(r"<([A-Za-z_][\w:.-]*)")
_TIGER_ROOTS = ("corpus", "subcorpus", "body", "s")
_TIGER_PARTS = frozenset(("graph", "terminals", "nonterminals"))
_TIGER_HEADER = frozenset(("head", "body", "annotation"))
_MAX_HEADER = 2_000_000  # characters of XML before the first sentence
# How a tree begins, up to its first word: brackets with labels, then a tag with a word.
_OPENING = re.compile(r"(?:\s*\([^\s()]*)+\s*")
_FIRST_WORD = re.compile(r"(?:\s*\([^\s()]*)+\s*\([^\s()]+\s+[^\s()]+\s*\)\s*(?:[()]|$)")
_MAX_OPENING = 20  # lines
_GRAPH = re.compile(r"<graph\b")
_STARTS = ("(", "<", "#")
_NAMES = {
    "brackets": "bracketed trees",
    "export": "NEGRA export",
    "tiger": "TIGER-XML",
    "conllu": "CoNLL-U",
}


class Recognised(NamedTuple):
    """What a text is, and the whole text.

    Attributes
    ----------
    format
        ``"xml"`` for XML other than TIGER-XML; None for anything else.
    lines
        All lines, also those that were read to find out.
    line
        The number, from 1, of the line that decided; 0 for a text without one.
    start
        That line.
    root
        The root element of XML, or of a text that may be XML.
    """

    format: TextFormat | None
    lines: Iterator[str]
    line: int = 0
    start: str = ""
    root: str = ""


def recognise(lines: Iterable[str]) -> Recognised:
    """Recognise a file of trees by its content.

    Parameters
    ----------
    lines
        Lines of text, such as an open file.  No more are read than are needed to find out.
    """
    rest = without_marks(lines)
    read: list[str] = []
    for line in rest:
        read.append(line)
        text = line.strip()
        if not text or (_COMMENT.match(text) and not _EXPORT_MARK.match(text)):
            continue
        number = len(read)
        if text[0] == "<":
            found, root = _format_of_xml(read, rest)
            return Recognised(found, chain(read, rest), number, line, root)
        form = "brackets" if text[0] == "(" else _format_of_line(line)
        return Recognised(form, chain(read, rest), number, line)
    return Recognised(None, iter(read))


def recognise_trees_in_text(lines: Iterable[str]) -> Recognised:
    """Recognise trees where text is expected, which may begin with a bracket or ``<`` as well.

    Parameters
    ----------
    lines
        As of `recognise`.
    """
    rest = without_marks(lines)
    read: list[str] = []
    for line in rest:
        read.append(line)
        text = line.strip()
        # Comments of CoNLL-U and NEGRA export, which may be headings of a text.
        if not text or (text.startswith(("#", "%%")) and not _EXPORT_MARK.match(text)):
            continue
        if text[0] == "(":
            return _tree_in_text(read, rest)
        number = len(read)
        if _XML_START.match(text):
            found, root = _format_of_xml(read, rest)
            return Recognised(found, chain(read, rest), number, line, root)
        element = _TAG.match(text)
        root = element[1] if element else ""
        return Recognised(_format_of_line(line), chain(read, rest), number, line, root)
    return Recognised(None, iter(read))


def _format_of_line(line: str) -> TextFormat | None:
    """The format that the first line of content shows, other than brackets and XML."""
    line = line.rstrip("\r\n")
    if _EXPORT_MARK.match(line.lstrip()):
        return "export"
    return "conllu" if _CONLLU_ROW.fullmatch(line) else None


def _tree_in_text(read: list[str], rest: Iterator[str]) -> Recognised:
    """A bracket begins a tree if only brackets and labels are before a word with its tag."""
    number = len(read)
    text = read[-1]
    while _OPENING.fullmatch(text) and len(read) - number < _MAX_OPENING:
        line = next(rest, None)
        if line is None:
            break
        read.append(line)
        text += line
    found: TextFormat | None = "brackets" if _FIRST_WORD.match(text) else None
    return Recognised(found, chain(read, rest), number, read[number - 1])


def _format_of_xml(read: list[str], rest: Iterator[str]) -> tuple[TextFormat | None, str]:
    """What a text is that begins with ``<``, and its root element; lines are read as needed.

    Brackets may follow lines of SGML, as in the Chinese treebank, which declares nothing.
    """
    is_declared = read[-1].lstrip().startswith(("<?", "<!"))
    root = ""
    is_header = False
    n_characters = 0
    line = read[-1]
    while True:
        text = line.lstrip()
        if text.startswith("(") and not is_declared:
            return "brackets", root
        for element in _ELEMENT.findall(line):
            root = root or element
            part = without_prefix(element)
            if without_prefix(root) in _TIGER_ROOTS and part in _TIGER_PARTS:
                return "tiger", root
            is_header = is_header or part in _TIGER_HEADER
        n_characters += len(line)
        following = next(rest, None) if n_characters < _MAX_HEADER else None
        if following is None:
            is_tiger = is_header and without_prefix(root) in _TIGER_ROOTS
            return ("tiger" if is_tiger else "xml"), root
        read.append(following)
        line = following


def without_prefix(element: str) -> str:
    """The name of an element of XML without the prefix of its namespace."""
    return element.rpartition(":")[2]


def wrong_kind(found: Recognised, kind: Kind, name: str) -> Problem | None:
    """What is wrong with a text that holds trees of the other kind, or XML of another sort.

    Parameters
    ----------
    found
        As recognised.
    kind
        What is to be read from the text.
    name
        What messages call the text.
    """
    if found.format is None:
        return None
    if kind == "dependencies":
        expected, is_expected = "CoNLL-U", found.format == "conllu"
        remedy = "for constituency trees, use the command without 'dependencies' (in Python, "
        remedy += "read_treebank)"
    else:
        expected = "bracketed trees, NEGRA export or TIGER-XML"
        is_expected = found.format not in ("conllu", "xml")
        remedy = "for dependency trees, use eigentree dependencies (in Python, read_dependencies)"
    if is_expected:
        return None
    seen = format_name(found.format)
    if found.format == "xml":
        seen = name_of_xml(found)
        remedy = "convert the trees first" if found.root else "the file may be cut off"
    what = f"expected {expected}, not {seen}; {remedy}"
    return Problem(name, found.line, 1, what, snippet_at(found.start, 1))


def name_of_xml(found: Recognised) -> str:
    """What messages call XML other than TIGER-XML."""
    return f"XML with the root element <{found.root}>" if found.root else "XML without any element"


def other_format(line: str) -> TextFormat | None:
    """The format of which a line outside all trees is certainly a part, though not brackets."""
    if line.lstrip().startswith("#BOS"):
        return "export"
    if _GRAPH.search(line):
        return "tiger"
    return "conllu" if _CONLLU_LINE.match(line) else None


def stray_text(line: str) -> str:
    """The message about a line outside all trees, where another format may begin."""
    found = other_format(line)
    hint = ""
    if found == "conllu":
        hint = "; CoNLL-U is for dependencies"
    elif found is not None:
        hint = f"; {format_name(found)} must be in a file of its own"
    elif line.lstrip().startswith(_STARTS):
        hint = "; each format must be in a file of its own"
    return f"text outside any tree{hint}"


def format_name(form: TextFormat) -> str:
    """What messages call a format."""
    return _NAMES.get(form, "XML")
