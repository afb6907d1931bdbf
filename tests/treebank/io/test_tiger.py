from __future__ import annotations

import re
import tracemalloc
from contextlib import suppress
from functools import partial
from itertools import repeat
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import TreebankFormatError
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.io.tiger import TIGER, read_tiger_graphs
from eigentree.treebank.reader import read_treebank, read_trees
from eigentree.treebank.syntax_graph import (
    GraphNode,
    GraphWord,
    SecondaryEdge,
    SyntaxGraph,
    graph_of_tree,
)
from eigentree.treebank.tree import Tree
from tests.treebank.strategies import trees

read_tiger = partial(read_trees, format="tiger")

# "Einen Hund hat er gesehen !": the verb phrase lies around the finite verb and the subject.
CROSSING = """\
<s id="s2">
  <graph root="s2_VROOT" discontinuous="true">
    <terminals>
      <t id="s2_1" word="Einen" pos="ART" morph="Masc.Akk.Sg" lemma="ein"/>
      <t id="s2_2" word="Hund" pos="NN"><secedge label="OA" idref="s2_502"/></t>
      <t id="s2_3" word="hat" pos="VAFIN"/>
      <t id="s2_4" word="er" pos="PPER"/>
      <t id="s2_5" word="gesehen" pos="VVPP"/>
      <t id="s2_6" word="!" pos="$."/>
    </terminals>
    <nonterminals>
      <nt id="s2_500" cat="NP">
        <edge label="NK" idref="s2_1"/><edge label="NK" idref="s2_2"/>
      </nt>
      <nt id="s2_501" cat="VP">
        <edge label="OA" idref="s2_500"/>
        <edge label="HD" idref="s2_5"/>
        <secedge label="X" idref="s2_4"/>
      </nt>
      <nt id="s2_502" cat="S">
        <edge label="HD" idref="s2_3"/>
        <edge label="SB" idref="s2_4"/>
        <edge label="OC" idref="s2_501"/>
      </nt>
      <nt id="s2_VROOT" cat="VROOT">
        <edge label="--" idref="s2_502"/>
        <edge label="--" idref="s2_6"/>
      </nt>
    </nonterminals>
  </graph>
  <matches><match subgraph="s2_500"><variable name="#n" idref="s2_500"/></match></matches>
</s>
"""
# The root is the only node at the top; there is no VROOT.
PLAIN = """\
<s id="s1"><graph root="s1_500"><terminals><t id="s1_1" word="Tee" pos="NN"/>
<t id="s1_2" word="wird" pos="VAFIN"/></terminals><nonterminals>
<nt id="s1_500" cat="S"><edge label="SB" idref="s1_1"/><edge label="HD" idref="s1_2"/></nt>
</nonterminals></graph></s>
"""
START = """\
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<!DOCTYPE corpus SYSTEM "TigerXML.dtd">
<!-- not a sentence: <s id="s0"> -->
<corpus id="TEST" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<head><meta><name>Test</name></meta>
<annotation><feature name="pos" domain="T"><value name="NN">noun &amp; so on</value></feature>
</annotation></head>
<body>
<subcorpus name="first">
"""
END = "</subcorpus>\n</body>\n</corpus>\n"
CROSSING_TREE = (
    "(VROOT (S (NP (ART Einen) (NN Hund)) (VAFIN hat) (PPER er) (VP (VVPP gesehen))) ($. !))"
)
PLAIN_TREE = "(VROOT (S (NN Tee) (VAFIN wird)))"


def corpus(*sentences):
    return "".join([START, *sentences, END])


def read(text, **options):
    return list(read_tiger(text.splitlines(keepends=True), name="bank.xml", **options))


def test_what_crosses_is_raised_to_where_it_fits():
    plain, crossing = read(corpus(PLAIN, CROSSING))
    assert format_tree(plain.tree) == PLAIN_TREE
    assert (plain.line, plain.n_crossing, plain.n_secondary) == (10, 0, 0)
    assert format_tree(crossing.tree) == CROSSING_TREE
    assert (crossing.line, crossing.n_crossing, crossing.n_secondary) == (14, 1, 2)


def test_edge_labels_are_kept_on_request():
    _, record = read(corpus(PLAIN, CROSSING), edge_labels=True)
    assert format_tree(record.tree) == (
        "(VROOT (S (NP-OA (ART-NK Einen) (NN-NK Hund)) (VAFIN-HD hat) (PPER-SB er) "
        "(VP-OC (VVPP-HD gesehen))) ($. !))"
    )


def test_annotation_is_in_the_graph():
    (record,) = read_tiger_graphs(CROSSING.splitlines())
    graph = record.graph
    assert graph.name == "s2"
    assert graph.words[0] == GraphWord("Einen", "ART", "ein", "Masc.Akk.Sg", "NK", 500)
    assert graph.words[1].secondary == (SecondaryEdge("OA", 502),)
    assert graph.nodes[1] == GraphNode(
        501, "VP", edge="OC", parent=502, secondary=(SecondaryEdge("X", -4),)
    )


def sentence(terminals="", nonterminals="", name="s1"):
    return (
        f'<s id="{name}"><graph><terminals>{terminals}</terminals>\n'
        f"<nonterminals>{nonterminals}</nonterminals></graph></s>\n"
    )


A = '<t id="a" word="a" pos="X"/>'


def test_several_roots_and_unattached_words_are_under_vroot():
    words = A + '<t id="b" word="b" pos="Y"/><t id="c" word="," pos="$,"/>'
    nodes = '<nt id="n" cat="NP"><edge idref="a"/></nt><nt id="m" cat="VP"><edge idref="b"/></nt>'
    (record,) = read(sentence(words, nodes))
    assert format_tree(record.tree) == "(VROOT (NP (X a)) (VP (Y b)) ($, ,))"
    assert read("<corpus><body><s id='e'><graph/></s></body></corpus>")[0][:3] == (None, 1, None)


def test_a_secondary_edge_to_nothing_costs_no_tree():
    word = A.replace("/>", '><secedge label="SB" idref="gone"/><secedge idref="a"/></t>')
    (record,) = read(sentence(word))
    assert (format_tree(record.tree), record.n_secondary) == ("(VROOT (X a))", 1)


def test_spaces_brackets_and_references_in_values():
    word = '<t id="a" word="10 000 &lt;&amp;&gt; &#x22; >" pos="$("/>'
    (record,) = read(sentence(word))
    assert record.tree == Tree("VROOT", [Tree("$LRB", (), '10\u00a0000\u00a0<&>\u00a0"\u00a0>')])


GOOD = PLAIN
BAD = {
    "no end": ('<s id="s9"><graph>\n', "<s> before the </s> of this sentence: <s id"),
    "no end of the corpus": (
        '<s id="s9">\n</subcorpus>\n<subcorpus>',
        "</subcorpus> before the </s>",
    ),
    "tags that cross": (
        '<s id="s9"><graph>\n  </terminals></graph></s>\n',
        "malformed XML: mismatched tag (sentence s9)",
    ),
    "no graph": ('<s id="s9"/>', "<s> has no <graph> (sentence s9)"),
    "text": ('<s id="s9">Tee wird kalt</s>', "<s> has no <graph> (sentence s9)"),
    "no word": (
        sentence('\n<t id="a" pos="X"/>', name="s9"),
        "<t> a has no word (sentence s9)",
    ),
    "blank word": (sentence('<t id="a" word=" " pos="X"/>'), "<t> a has no word"),
    "no part of speech": (sentence('<t id="a" word="a"/>'), "<t> a has no pos"),
    "no category": (sentence(A, '<nt id="n"/>'), "<nt> n has no cat"),
    "no id": (sentence('<t word="a" pos="X"/>'), "<t> has no id"),
    "id twice": (sentence(A + A), "duplicate id a"),
    "edge to nothing": (
        sentence(A, '<nt id="n" cat="N"><edge label="HD" idref="x"/></nt>'),
        "edge of n to x, which is missing",
    ),
    "edge without a child": (sentence(A, '<nt id="n" cat="N"><edge/></nt>'), "<edge> has no"),
    "two parents": (
        sentence(
            A,
            '<nt id="n" cat="N"><edge idref="a"/></nt><nt id="m" cat="M"><edge idref="a"/></nt>',
        ),
        "a has two parents, n and m",
    ),
    "nodes in a circle": (
        sentence(
            A,
            '<nt id="n" cat="N"><edge idref="m"/></nt><nt id="m" cat="M"><edge idref="n"/></nt>',
        ),
        "nodes #500, #501 form a cycle",
    ),
    "blank in a tag": (sentence('<t id="a" word="a" pos="X Y"/>'), "pos of <t> a is 'X Y', which"),
    "undefined entity": (sentence('<t id="a" word="&w;" pos="X"/>'), "malformed XML: undefined"),
    "document type": (
        '<s id="s9"><!DOCTYPE s [<!ENTITY w "word">]>\n</s>',
        "malformed XML: ",
    ),
    "byte that isn't UTF-8": (sentence('<t id="a" word="\udcfc" pos="X"/>'), "byte 0xfc is not"),
    "half a character": (sentence('<t id="a" word="\ud800" pos="X"/>'), "half of a character"),
    "other file": ('<subcorpus name="x" external="file:x.xml"/>', "in the file 'file:x.xml'; name"),
}


@pytest.mark.parametrize(("text", "problem"), BAD.values(), ids=BAD.keys())
def test_a_malformed_sentence_costs_no_other(text, problem):
    whole = corpus(GOOD, text, GOOD)
    pattern = r"^bank\.xml:1[3-5]:[0-9]+: .*" + re.escape(problem)
    with pytest.raises(TreebankFormatError, match=pattern):
        read(whole)
    records = read(whole, on_error="skip")
    found = [str(record.problem) for record in records if record.problem is not None]
    assert len(found) == 1
    assert re.search(pattern, found[0])
    assert [format_tree(record.tree) for record in records if record.tree] == [PLAIN_TREE] * 2


def test_places_are_of_the_file():
    text = corpus(GOOD, sentence('\n  <t id="a" pos="X"/>', name="s9"))
    (problem,) = (record.problem for record in read(text, on_error="skip") if record.problem)
    assert (problem.line, problem.column) == (15, 1)
    text = "<corpus>   " + '<s id="s9"></t></s></corpus>'
    (record,) = read(text, on_error="skip")
    assert (record.problem.line, record.problem.column) == (1, 25)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (START + GOOD, "4:1: the text ends before the </corpus> of this line; it may be cut off"),
        (START + GOOD[:-6], "the text ends before </s>"),
        (START + "<!-- " + GOOD + END, "10:1: the text ends within the <!-- of this line"),
        (f"<corpus>{PLAIN[:20]}<![CDATA[", "1:1: the text ends within the <!.CDATA. of this line"),
    ],
)
def test_a_text_that_is_cut_off_is_reported(text, problem):
    with pytest.raises(TreebankFormatError, match=problem):
        read(text)


def test_texts_one_after_the_other_are_read():
    text = "\ufeff" + corpus(PLAIN) + "\ufeff" + corpus(CROSSING)
    assert [format_tree(record.tree) for record in read(text)] == [PLAIN_TREE, CROSSING_TREE]


def test_comments_and_sections_hide_what_looks_like_a_sentence():
    hidden = "<!-- <s id='x'>\n</s> --><![CDATA[</s>]]><?pi <s> ?>"
    text = corpus(hidden, PLAIN.replace("<graph", f"{hidden}<graph", 1))
    assert [format_tree(record.tree) for record in read(text)] == [PLAIN_TREE]


def test_lines_matter_as_little_as_in_any_xml():
    joined = corpus(PLAIN, CROSSING).replace("\n", " ")
    split = corpus(PLAIN, CROSSING).replace(" ", "\n")
    expected = [PLAIN_TREE, CROSSING_TREE]
    assert [format_tree(record.tree) for record in read(joined)] == expected
    assert [format_tree(record.tree) for record in read(split)] == expected
    lines = corpus(PLAIN, CROSSING).splitlines()  # without their ends
    assert [format_tree(record.tree) for record in read_tiger(lines)] == expected


def test_entities_are_never_expanded():
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    start = START.replace(
        'SYSTEM "TigerXML.dtd"', f'[<!ENTITY l0 "ha"> {laughs} <!ENTITY f SYSTEM "/etc/passwd">]'
    )
    for name in ("l9", "f"):
        bad = sentence(f'<t id="a" word="&{name};" pos="X"/>')
        good, problem = read(start + GOOD + bad + END, on_error="skip")
        assert format_tree(good.tree) == PLAIN_TREE
        assert "undefined entity" in problem.problem.message


def test_memory_is_that_of_one_sentence():
    crossing = CROSSING.splitlines()

    def lines(number):
        yield from START.splitlines()
        for _ in repeat(None, number):
            yield from crossing
        yield from END.splitlines()

    def peak(number):
        tracemalloc.start()
        assert sum(record.tree is not None for record in read_tiger(lines(number))) == number
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few = peak(20)
    assert peak(600) < few + 250_000


@pytest.mark.parametrize(
    "encoding", ["iso-8859-1", "windows-1252", "GB18030", "utf-8", "utf-8-sig"]
)
def test_declared_encodings_are_followed(tmp_path, encoding):
    text = corpus(PLAIN.replace("Tee", "Tüte")).replace("UTF-8", encoding.removesuffix("-sig"))
    path = tmp_path / "bank"
    path.write_bytes(text.encode(encoding))
    (tree,) = read_treebank(path).trees
    assert tree.words() == ["Tüte", "wird"]


@pytest.mark.parametrize(
    ("encoding", "content", "message"),
    [
        ("ISO-2022-JP", "Tee", "declares the encoding ISO-2022-JP, which isn't supported; convert"),
        ("windows-1252", "T\x81", "byte 0x81 is not cp1252, the encoding that XML declares$"),
    ],
)
def test_declared_encodings_that_are_wrong(tmp_path, encoding, content, message):
    text = corpus(PLAIN.replace("Tee", content)).replace("UTF-8", encoding)
    (tmp_path / "bank").write_bytes(text.encode("latin-1"))
    with pytest.raises(TreebankFormatError, match=message):
        read_treebank(tmp_path / "bank")


def test_elements_may_have_a_prefix():
    text = re.sub(r"<(/?)(?=[a-z])", r"<\1tig:", corpus(PLAIN, CROSSING))
    lines = text.splitlines(keepends=True)
    assert [format_tree(record.tree) for record in read_trees(lines)] == [PLAIN_TREE, CROSSING_TREE]


def test_references_to_nothing_are_noticed():
    missing = PLAIN.replace('root="s1_500"', 'root="s1_9"').replace(
        "</nt>", '<secedge label="SB" idref="s1_8"/></nt>'
    )
    notices = []
    (record,) = read(corpus(missing), notice=notices.append)
    assert (format_tree(record.tree), record.n_secondary) == (PLAIN_TREE, 0)
    assert [str(notice) for notice in notices] == [
        "bank.xml:10:1: the root of the graph, s1_9, is missing (sentence s1)",
        "bank.xml:12:1: secondary edge to s1_8, which is missing, left out (sentence s1)",
    ]


@pytest.mark.parametrize("place", ["s1_1", "s1_500", "SB", "NN", 'id="s1"'])
def test_long_values_are_cut_in_messages(place):
    long = PLAIN.replace(place, f"{place[:-1]}{'1' * 5000}{place[-1:]}", 1)
    for broken in (long, long.replace("Tee", ""), long.replace("NN", "N N")):
        for record in read(corpus(broken), on_error="skip"):
            assert len(str(record.problem)) < 400


def written(*graphs):
    return "".join(TIGER.text(graphs))


def test_graphs_are_written_as_they_were_read():
    graphs = [record.graph for record in read_tiger_graphs(corpus(PLAIN, CROSSING).splitlines())]
    text = written(*graphs)
    assert [record.graph for record in read_tiger_graphs(text.splitlines())] == graphs
    root = ElementTree.fromstring(text)
    first, second = root.findall("./body/s/graph")
    assert first.attrib == {"root": "s1_500"}
    assert second.attrib == {"root": "s2_VROOT", "discontinuous": "true"}
    assert [each.get("name") for each in root.findall("./head/annotation/feature")] == [
        "word", "lemma", "pos", "morph", "cat"
    ]  # fmt: skip


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp"))
    .filter(lambda mark: mark not in "\ufffe\uffff()\ufeff"),
    min_size=1,
    max_size=6,
)  # fmt: skip


@given(trees, st.booleans())
def test_trees_are_read_as_they_were_written(tree, edge_labels):
    graph = graph_of_tree(tree, edge_labels=edge_labels)
    with suppress(TreebankFormatError):  # for characters that XML can't hold
        text = written(graph)
        (record,) = read_tiger(text.split("\n"), edge_labels=edge_labels)
        is_top = tree.word is None and tree.label in ("", "ROOT", "TOP", "VROOT")
        assert record.tree == Tree("VROOT", tree.children if is_top else [tree])


@st.composite
def graphs(draw):
    n_words, n_nodes = draw(st.integers(1, 7)), draw(st.integers(0, 5))
    numbers = [500 + place for place in range(n_nodes)]
    words = tuple(
        GraphWord(
            draw(NAMES), draw(NAMES), draw(NAMES), draw(NAMES), draw(NAMES),
            draw(st.sampled_from([0, *numbers])),
        )
        for _ in range(n_words)
    )  # fmt: skip
    nodes = tuple(
        GraphNode(
            number, draw(NAMES), edge=draw(NAMES), parent=draw(st.sampled_from([0, *later])),
            secondary=(SecondaryEdge("X", draw(st.sampled_from([-1, *numbers]))),),
        )
        for place, number in enumerate(numbers)
        for later in [numbers[place + 1 :]]
    )  # fmt: skip
    return SyntaxGraph(words, nodes, "s3")


@given(st.lists(graphs(), max_size=2))
def test_crossing_branches_survive(given_graphs):
    text = written(*given_graphs)
    assert [record.graph for record in read_tiger_graphs(text.split("\n"))] == given_graphs


def test_what_xml_cant_hold_is_refused():
    with pytest.raises(
        TreebankFormatError, match=r"'a\\x01' contains U\+0001, which XML can't hold"
    ):
        written(SyntaxGraph((GraphWord("a\x01", "X"),)))


@pytest.mark.parametrize("name", ["", "7", "a b", "-1", "süß"])
def test_names_become_identifiers(name):
    text = written(SyntaxGraph((GraphWord("a", "X"),), (), name))
    (found,) = (record.graph.name for record in read_tiger_graphs(text.splitlines()))
    assert found == {"": "s1", "7": "s7", "a b": "a_b", "-1": "s-1"}.get(name, name)


def test_long_sentences_have_room_for_their_words():
    tree = Tree("S", [Tree("NP", [Tree("N", (), str(i))]) for i in range(700)])
    text = written(graph_of_tree(tree))
    (record,) = read_tiger(text.splitlines())
    assert record.tree == Tree("VROOT", [tree])
