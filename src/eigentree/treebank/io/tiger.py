"""TIGER-XML: sentences whose branches may cross, read and written.

Each ``<s>`` holds a graph: terminals ``<t>`` with word and part of speech, nonterminals ``<nt>``
with a category, and in each nonterminal an ``<edge>`` for each of its children.
`eigentree.treebank.syntax_graph` makes its tree continuous.  The parts of a sentence that no tree
has, such as the frames of SALSA or the matches of a query, are passed over, as is the header.

A file is never in memory as a whole: it is cut into sentences, and each is read by a parser of its
own.  So one that is malformed costs no other, and no document type is ever read: entities that
one defines stay undefined, and nothing outside the file is opened.

References
----------
König, Esther, Wolfgang Lezius and Holger Voormann (2003). TIGERSearch user's manual, chapter V:
the TIGER-XML treebank encoding format. IMS, University of Stuttgart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from eigentree._core.printable import clipped, shown
from eigentree.errors import TreebankFormatError
from eigentree.treebank.io.recognition import stray_text, without_prefix
from eigentree.treebank.io.text_files import (
    Problem,
    in_sentence,
    snippet_at,
    unreadable,
    without_marks,
)
from eigentree.treebank.syntax_graph import (
    FIRST_NODE,
    NO_VALUE,
    ROOT_LABEL,
    GraphFormat,
    GraphNode,
    GraphRecord,
    GraphWord,
    SecondaryEdge,
    SyntaxGraph,
    first_words,
)
from eigentree.treebank.tree import SEPARATORS, WHITE_SPACE

# Where something begins that matters between sentences, and within one.
_TAG = r"<(?P<close>/?)(?:[\w.-]+:)?(?P<tag>s|body|corpus|subcorpus)(?=[\s/>]|$)"
_OUTSIDE = re.compile(rf"(?P<skip><!--|<!\[CDATA\[|<\?|<!DOCTYPE)|{_TAG}")
_INSIDE = re.compile(rf"(?P<skip><!--|<!\[CDATA\[|<\?)|{_TAG}")
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}
_REST_OF_TAG = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^\"'<>])*?(?P<end>/?>|<)")
_REST_OF_TYPE = re.compile(r"[^\[>]*(?P<end>[\[>])")
_END_OF_SUBSET = re.compile(r"\]\s*>")
_EXTERNAL = re.compile(r"\sexternal\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_NODE_NUMBER = re.compile(r"(?:.*[^0-9])?([1-9][0-9]{0,8})", re.DOTALL)
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_IDENTIFIER = re.compile(r"[^\w.-]")


def read_tiger_graphs(lines: Iterable[str], *, name: str = "<input>") -> Iterator[GraphRecord]:
    """Read the sentences of a TIGER-XML file as they are, with crossing branches.

    Parameters
    ----------
    lines
        Lines of text, such as an open file.
    name
        What messages call the text.

    Yields
    ------
    GraphRecord
        One for each sentence; one that is malformed has a problem.  So has a reference to another
        file, which isn't opened, and the end of a text that is cut off.
    """
    for part in _Cutter(lines, name).parts():
        problem, graph, remarks = part.problem, None, tuple[Problem, ...]()
        if problem is None:
            try:
                graph, found = _read_sentence(part.text)
                remarks = tuple(
                    Problem(name, part.line + line - 1, 1, what, "") for line, what in found
                )
            except _SentenceError as error:
                line = part.line + error.line - 1
                snippet = snippet_at(part.text.split("\n")[error.line - 1], error.column)
                column = error.column + (part.column - 1 if error.line == 1 else 0)
                problem = Problem(name, line, column, str(error), snippet)
        yield GraphRecord(graph, part.line, problem, remarks)


class _Cutting(NamedTuple):
    """The text of a sentence, from ``<s`` on, with its place; or a problem."""

    text: str
    line: int
    column: int
    problem: Problem | None = None


class _Cutter:
    """Cuts a text into its sentences."""

    def __init__(self, lines: Iterable[str], name: str) -> None:
        self._lines = lines
        self._name = name
        self._number = 0
        self._line = ""
        self._at = 0
        self._text: list[str] = []
        self._begun: tuple[int, int] | None = None  # where a sentence begins
        self._spoiled: Problem | None = None
        self._skipping = "", 0  # how a comment or the like begins, and its line
        self._open: list[tuple[str, int]] = []  # corpora that have begun, with their lines
        self._has_ended = False

    def parts(self) -> Iterator[_Cutting]:
        """The sentences and problems of the text, in order."""
        # Each step looks at the rest of a line; those that go on get the next line first.
        awaited: re.Pattern[str] | str = ""
        in_tag: str | None = None
        tag_text: list[str] = []
        for number, line in enumerate(without_marks(self._lines), start=1):
            self._number = number
            self._line = line.rstrip("\r\n") + "\n"
            self._at = 0
            if self._begun is not None:
                self._note_bytes()
            while self._at < len(self._line):
                if awaited:
                    awaited = self._skip(awaited)
                elif in_tag is not None:
                    end = _REST_OF_TAG.match(self._line, self._at)
                    stop = len(self._line) if end is None else end.end()
                    stop -= end is not None and end["end"] == "<"
                    tag_text.append(self._take(stop))
                    if end is not None:
                        yield from self._end_of_tag(in_tag, "".join(tag_text), end["end"])
                        in_tag, tag_text = None, []
                else:
                    pattern = _OUTSIDE if self._begun is None else _INSIDE
                    found = pattern.search(self._line, self._at)
                    passed = self._take(len(self._line) if found is None else found.start())
                    yield from self._outside(passed)
                    if found is None:
                        continue
                    if skipped := found["skip"]:
                        self._take(found.end())
                        awaited = _ENDS.get(skipped) or _REST_OF_TYPE
                        self._skipping = skipped, number
                        continue
                    in_tag = found["close"] + found["tag"]
                    yield from self._start_of_tag(in_tag)
                    tag_text.append(self._take(found.end()))
        if awaited:
            start, line_number = self._skipping
            what = f"the text ends within the {start} of this line; what follows it is not read"
            yield _Cutting("", line_number, 1, Problem(self._name, line_number, 1, what, ""))
        if self._begun is not None:
            yield self._unfinished("the text ends before </s>")
        if self._open:
            tag, line_number = self._open[0]
            what = f"the text ends before the </{tag}> of this line; it may be cut off"
            yield _Cutting("", line_number, 1, Problem(self._name, line_number, 1, what, ""))

    def _take(self, stop: int) -> str:
        """Go to a place of the line; what is passed belongs to a sentence that has begun."""
        passed = self._line[self._at : stop]
        if self._begun is not None:
            self._text.append(passed)
        self._at = stop
        return passed

    def _outside(self, passed: str) -> Iterator[_Cutting]:
        """Report text after the end of a corpus, once."""
        if self._has_ended and not self._open and self._begun is None and passed.strip():
            self._has_ended = False
            what, snippet = stray_text(self._line), snippet_at(self._line, 1)
            problem = Problem(self._name, self._number, 1, what, snippet)
            yield _Cutting("", self._number, 1, problem)

    def _skip(self, awaited: re.Pattern[str] | str) -> re.Pattern[str] | str:
        """Go to the end of a comment or the like; what is still awaited comes back."""
        if isinstance(awaited, str):
            place = self._line.find(awaited, self._at)
            self._take(len(self._line) if place < 0 else place + len(awaited))
            return awaited if place < 0 else ""
        found = awaited.search(self._line, self._at)
        self._take(len(self._line) if found is None else found.end())
        if found is None:
            return awaited
        opens = awaited is _REST_OF_TYPE and found["end"] == "["
        return _END_OF_SUBSET if opens else ""

    def _note_bytes(self) -> None:
        if self._spoiled is None:
            self._spoiled = unreadable(self._name, self._number, self._line, self._at)

    def _start_of_tag(self, tag: str) -> Iterator[_Cutting]:
        if tag == "/s":
            return
        if self._begun is not None:
            yield self._unfinished(f"<{tag}> before the </s> of this sentence")
        if tag == "s":
            self._begun = self._number, self._at + 1
            self._text, self._spoiled = [], None
            self._note_bytes()

    def _end_of_tag(self, tag: str, text: str, end: str) -> Iterator[_Cutting]:
        if tag in ("/s", "s"):
            if self._begun is not None and (tag == "/s" or end == "/>"):
                line, column = self._begun
                yield _Cutting("".join(self._text), line, column, self._spoiled)
                self._begun = None
            return
        if tag in ("/corpus", "/subcorpus"):
            del self._open[-1:]
            self._has_ended = not self._open
            return
        external = _EXTERNAL.search(text) if tag == "subcorpus" else None
        if external is not None:
            file = external[1] or external[2]
            what = f"this part of the corpus is in the file {shown(file)}; name it as an input"
            problem = Problem(self._name, self._number, 1, what, snippet_at(self._line, 1))
            yield _Cutting("", self._number, 1, problem)
        if end != "/>" and tag in ("corpus", "subcorpus"):
            self._open.append((tag, self._number))

    def _unfinished(self, why: str) -> _Cutting:
        assert self._begun is not None
        line, column = self._begun
        text = "".join(self._text)
        self._begun = None
        snippet = snippet_at(text.split("\n", 1)[0], 1)
        problem = self._spoiled or Problem(self._name, line, column, why, snippet)
        return _Cutting(text, line, column, problem)


class _SentenceError(Exception):
    """Why a sentence can't be read, and where, counted from its beginning."""

    def __init__(self, message: str, line: int, column: int = 1) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class _Element(NamedTuple):
    """A terminal or nonterminal: attributes, line, and secondary edges with their lines."""

    attributes: dict[str, str]
    line: int
    secondary: list[tuple[str, str, int]]

    def value(self, name: str) -> str:
        return self.attributes.get(name) or NO_VALUE


class _Edge(NamedTuple):
    """An edge to a child: the number of the parent's element, the child and the label."""

    parent: int
    child: str
    label: str
    line: int


def _read_sentence(text: str) -> tuple[SyntaxGraph, list[tuple[int, str]]]:
    """The graph of the text of a sentence, and remarks with their lines in it."""
    sentence = _Sentence(text)
    try:
        graph = sentence.graph()
        return graph, [(line, what + in_sentence(graph.name)) for line, what in sentence.remarks]
    except _SentenceError as error:
        what = f"{error}{in_sentence(sentence.name)}"
        raise _SentenceError(what, error.line, error.column) from None


class _Sentence:
    """What the elements of a sentence say."""

    def __init__(self, text: str) -> None:
        self.name = ""
        self.remarks: list[tuple[int, str]] = []
        self._text = text
        self._terminals: dict[str, _Element] = {}
        self._nonterminals: dict[str, _Element] = {}
        self._edges: list[_Edge] = []
        self._current: _Element | None = None
        self._root: str | None = None  # empty for a graph that names none
        self._root_line = 1
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start

    def graph(self) -> SyntaxGraph:
        """Read the text.

        Raises
        ------
        _SentenceError
        """
        try:
            self._parser.Parse(self._text, True)
        except expat.ExpatError as error:
            what = f"malformed XML: {expat.ErrorString(error.code)}"
            raise _SentenceError(what, error.lineno, error.offset + 1) from None
        except UnicodeEncodeError:
            raise _SentenceError("the sentence contains half of a character", 1) from None
        finally:
            # Otherwise each parser would wait for the search for reference cycles.
            self._parser.StartElementHandler = None
        return self._graph()

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        tag = without_prefix(tag)
        if tag == "t":
            self._add(self._terminals, _Element(attributes, line, []), ("word", "pos"))
        elif tag == "nt":
            self._add(self._nonterminals, _Element(attributes, line, []), ("cat",))
        elif tag in ("edge", "secedge"):
            label, target = attributes.get("label") or NO_VALUE, attributes.get("idref", "")
            if not target:
                raise _SentenceError(f"<{tag}> has no idref", line)
            if tag == "secedge" and self._current is not None:
                self._current.secondary.append((label, target, line))
            elif tag == "edge" and self._nonterminals:
                self._edges.append(_Edge(len(self._nonterminals) - 1, target, label, line))
        elif tag == "s":
            self.name = attributes.get("id", "")
        elif tag == "graph":
            self._root, self._root_line = attributes.get("root", ""), line

    def _add(self, known: dict[str, _Element], element: _Element, needed: tuple[str, ...]) -> None:
        tag = "t" if known is self._terminals else "nt"
        key = element.attributes.get("id", "")
        for name in ("id", *needed):
            value = element.attributes.get(name, "")
            # Labels may be empty, as that of a nameless outer bracket.
            if not value.strip() and (name in ("id", "word") or name not in element.attributes):
                of = f" {clipped(key)}" if key and name != "id" else ""
                raise _SentenceError(f"<{tag}>{of} has no {name}", element.line)
            if name in ("pos", "cat") and not WHITE_SPACE.isdisjoint(value):
                what = f"{name} of <{tag}> {clipped(key)} is {shown(value)}"
                raise _SentenceError(f"{what}, which contains white space", element.line)
        if self._is_known(key):
            raise _SentenceError(f"duplicate id {clipped(key)}", element.line)
        known[key] = self._current = element

    def _is_known(self, key: str) -> bool:
        return key in self._terminals or key in self._nonterminals

    def _graph(self) -> SyntaxGraph:
        if self._root is None:
            raise _SentenceError("<s> has no <graph>", 1)
        keys = list(self._nonterminals)
        parents: dict[str, tuple[str, str]] = {}
        for edge in self._edges:
            parent, child = keys[edge.parent], edge.child
            if not self._is_known(child):
                what = f"edge of {clipped(parent)} to {clipped(child)}, which is missing"
                raise _SentenceError(what, edge.line)
            if child in parents:
                both = f"{clipped(parents[child][0])} and {clipped(parent)}"
                raise _SentenceError(f"{clipped(child)} has two parents, {both}", edge.line)
            if not WHITE_SPACE.isdisjoint(edge.label):
                what = f"edge label {shown(edge.label)} contains white space"
                raise _SentenceError(what, edge.line)
            parents[child] = parent, edge.label
        if self._root and keys and not self._is_known(self._root):
            what = f"the root of the graph, {clipped(self._root)}, is missing"
            self.remarks.append((self._root_line, what))
        # A nonterminal VROOT at the top is the virtual root.
        roots = {
            key: 0
            for key, element in self._nonterminals.items()
            if element.attributes["cat"] == ROOT_LABEL and key not in parents
        }
        numbers = _numbers([key for key in keys if key not in roots]) | roots
        targets = numbers | {key: -1 - place for place, key in enumerate(self._terminals)}

        def above(key: str) -> tuple[str, int]:
            parent, label = parents.get(key, ("", NO_VALUE))
            return label, numbers[parent] if parent else 0

        def secondary(element: _Element) -> tuple[SecondaryEdge, ...]:
            edges: list[SecondaryEdge] = []
            for label, target, line in element.secondary:
                if target in targets:
                    edges.append(SecondaryEdge(label, targets[target]))
                else:
                    what = f"secondary edge to {clipped(target)}, which is missing, left out"
                    self.remarks.append((line, what))
            return tuple(edges)

        words = tuple(
            GraphWord(
                each.attributes["word"].strip(SEPARATORS), each.attributes["pos"],
                each.value("lemma"), each.value("morph"), *above(key), secondary(each),
            )
            for key, each in self._terminals.items()
        )  # fmt: skip
        nodes = tuple(
            GraphNode(
                numbers[key], each.attributes["cat"], each.value("morph"), *above(key),
                secondary(each),
            )
            for key, each in self._nonterminals.items()
            if numbers[key]
        )  # fmt: skip
        return SyntaxGraph(words, nodes, self.name)


def _numbers(keys: list[str]) -> dict[str, int]:
    """The numbers of nodes: those in their names, if these are as in the treebanks."""
    marks = [_NODE_NUMBER.fullmatch(key) for key in keys]
    named = [int(mark[1]) if mark else 0 for mark in marks]
    if len(set(named)) < len(named) or min(named, default=FIRST_NODE) < FIRST_NODE:
        named = [FIRST_NODE + place for place in range(len(keys))]
    return dict(zip(keys, named, strict=True))


def _sentence(graph: SyntaxGraph, name: str) -> str:
    """The element of a sentence."""
    title = _identifier(graph.name or name)
    words = [f"{title}_{place}" for place in range(1, len(graph.words) + 1)]
    first = max(FIRST_NODE, len(words) + 1)  # words and nodes count in one series
    own = [node.number for node in graph.nodes]
    if min(own, default=first) < first:
        own = [first + place for place in range(len(own))]
    numbers = {node.number: f"{title}_{at}" for node, at in zip(graph.nodes, own, strict=True)}
    every: list[GraphWord | GraphNode] = [*graph.words, *graph.nodes]
    at_root = [each for each in every if not each.parent]
    root = f"{title}_{ROOT_LABEL}"
    if len(at_root) == 1 and isinstance(at_root[0], GraphNode) and at_root[0].edge == NO_VALUE:
        root = numbers[at_root[0].number]
    names = {**numbers, 0: root, **{-1 - place: word for place, word in enumerate(words)}}
    starts, crosses = first_words(graph)
    order = [*range(len(words)), *(starts[node.number] for node in graph.nodes)]
    keys = [*words, *numbers.values()]
    children: dict[int, list[tuple[str, str]]] = {}
    for place in sorted(range(len(every)), key=order.__getitem__):
        children.setdefault(every[place].parent, []).append((every[place].edge, keys[place]))
    crossing = ' discontinuous="true"' if crosses else ""
    lines = [f"<s id={_quoted(title)}>", f"<graph root={_quoted(root)}{crossing}>", "<terminals>"]
    for word, key in zip(graph.words, words, strict=True):
        start = (
            f"<t id={_quoted(key)} word={_quoted(word.word)} lemma={_quoted(word.lemma)} "
            f"pos={_quoted(word.tag)} morph={_quoted(word.morph)}"
        )
        inner = _secedges(word.secondary, names)
        lines += [f"{start}>", *inner, "</t>"] if inner else [f"{start}/>"]
    lines += ["</terminals>", "<nonterminals>"]
    for node in graph.nodes:
        morph = "" if node.morph == NO_VALUE else f" morph={_quoted(node.morph)}"
        lines.append(f"<nt id={_quoted(numbers[node.number])} cat={_quoted(node.label)}{morph}>")
        lines += _edges("edge", children.get(node.number, ()))
        lines += _secedges(node.secondary, names)
        lines.append("</nt>")
    if root.endswith(ROOT_LABEL) and at_root:
        lines.append(f"<nt id={_quoted(root)} cat={_quoted(ROOT_LABEL)}>")
        lines += [*_edges("edge", children[0]), "</nt>"]
    return "\n".join([*lines, "</nonterminals>", "</graph>", "</s>", ""])


def _secedges(edges: Iterable[SecondaryEdge], names: dict[int, str]) -> list[str]:
    return _edges("secedge", [(label, names[at]) for label, at in edges if at in names])


def _edges(tag: str, edges: Iterable[tuple[str, str]]) -> list[str]:
    return [f"<{tag} label={_quoted(label)} idref={_quoted(target)}/>" for label, target in edges]


def _identifier(name: str) -> str:
    """A name as XML allows it for an element; names from numbers begin with ``s``."""
    name = _NO_IDENTIFIER.sub("_", name)
    return name if name[:1].isalpha() or name[:1] == "_" else f"s{name}"


def _quoted(value: str) -> str:
    """An attribute's value in quotation marks."""
    found = _NO_XML.search(value)
    if found is not None:
        what = f"{shown(value)} contains U+{ord(found[0]):04X}, which XML can't hold"
        raise TreebankFormatError(what)
    return quoteattr(value)


TIGER = GraphFormat(
    """<?xml version="1.0" encoding="UTF-8"?>
<corpus id="corpus">
<head>
<annotation>
<feature name="word" domain="T"/>
<feature name="lemma" domain="T"/>
<feature name="pos" domain="T"/>
<feature name="morph" domain="T"/>
<feature name="cat" domain="NT"/>
<edgelabel/>
<secedgelabel/>
</annotation>
</head>
<body>
""",
    _sentence,
    "</body>\n</corpus>\n",
)
"""TIGER-XML, for writing."""
