"""Trees of NLTK, and a parser in the place of one of NLTK's."""

import itertools
import math
import re
import sys
from dataclasses import replace

import nltk
import pytest
from hypothesis import given
from nltk.tree import ProbabilisticTree

from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.integrations.nltk_parser import NLTKParser, to_pcfg
from eigentree.integrations.nltk_trees import from_nltk, read_nltk, to_nltk
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.tree import Tree
from tests.demo import any_length_parser, demo_parser, demo_trees
from tests.drawing.test_tree_text import deep, trees

WORDS = ["The", "old", "man", "saw", "the", "dog", "."]


@given(trees())
def test_there_and_back(tree):
    assert from_nltk(to_nltk(tree)) == tree
    assert from_nltk(to_nltk(tree, escaped=True), escaped=True) == tree
    assert to_nltk(tree).leaves() == tree.words()
    assert [tag for _, tag in to_nltk(tree).pos()] == tree.tags()


@pytest.mark.slow
def test_deep_trees_and_chains():
    tree = deep(20_000)
    assert from_nltk(to_nltk(tree)) == tree
    chain = parse_tree("(S (S (VP (VP (V (V go))))))")
    assert from_nltk(to_nltk(chain)) == chain
    assert str(to_nltk(chain)) == "(S (S (VP (VP (V (V go))))))"


def test_odd_words_and_labels():
    tree = Tree("A|B", [Tree("@X^S+VP", word="(a\u00a0b)"), Tree("", word="-LRB-")])
    made = to_nltk(tree)
    assert made.leaves() == ["(a\u00a0b)", "-LRB-"]
    assert from_nltk(made) == tree


def test_printed_trees_are_read_by_nltk():
    tree = parse_tree("(S (-LRB- -LRB-) (NN a) (X -L\\RB-))")
    assert tree.words() == ["(", "a", "-LRB-"]
    read = nltk.Tree.fromstring(str(to_nltk(tree, escaped=True)))
    assert from_nltk(read, escaped=True) == tree


@pytest.mark.parametrize("word", ["C:\\", "\\", "a)", "(", "a\\b", "x\\\\"])
def test_nltk_reads_what_is_written(word):
    tree = from_nltk(nltk.Tree("S", [nltk.Tree("NN", [word]), nltk.Tree("VB", ["x"])]))
    read = nltk.Tree.fromstring(format_tree(tree))
    assert from_nltk(read, escaped=True) == tree


@pytest.mark.parametrize("word", ["a\\)", "\\(", "a\\)b", "\\(\\)"])
def test_escapes_of_nltk_are_read(word):
    printed = str(nltk.Tree("S", [nltk.Tree("NN", [word]), nltk.Tree("VB", ["x"])]))
    tree = Tree("S", [Tree("NN", word=word.replace("\\", "")), Tree("VB", word="x")])
    assert parse_tree(printed) == tree
    read = nltk.Tree.fromstring(printed)
    assert read.leaves() == [word, "x"]
    assert from_nltk(read, escaped=True) == tree
    assert from_nltk(read).words() == [word, "x"]


def test_leaves_of_chunk_trees_are_words_with_tags():
    chunks = nltk.Tree("S", [nltk.Tree("NP", [("the", "DT"), ("dog", "NN")]), ("barks", "VBZ")])
    assert from_nltk(chunks) == parse_tree("(S (NP (DT the) (NN dog)) (VBZ barks))")
    (tree,) = read_nltk([nltk.Tree("S", [("-LRB-", "-LRB-"), ("a", "NN")])])
    assert tree.words() == ["(", "a"]


@pytest.mark.parametrize("leaf", [("a", "NN", "B-NP"), ("a", None), 3, ("a",)])
def test_other_leaves_are_shown(leaf):
    with pytest.raises(
        TypeError, match=re.escape(f"or a pair (word, tag) of strings (got {leaf!r}")
    ):
        from_nltk(nltk.Tree("S", [leaf, nltk.Tree("NN", ["b"])]))


def test_labels_that_are_no_strings():
    assert from_nltk(nltk.Tree(nltk.Nonterminal("NN"), ["ice"])) == parse_tree("(NN ice)")


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (nltk.Tree("S", []), "node 'S' has no children"),
        (nltk.Tree("S", [nltk.Tree("NP", ["the", "ice"])]), "'NP' has words among 2 children"),
        (nltk.Tree("S", ["a", nltk.Tree("N", ["b"])]), "'S' has words among 2 children"),
        (nltk.Tree("N", ["New York"]), "holds white space"),
        (nltk.Tree("N P", ["a"]), "label 'N P' holds white space"),
    ],
)
def test_what_no_tree_can_hold(tree, told):
    with pytest.raises(TreebankFormatError, match=told):
        from_nltk(tree)


def test_no_tree_at_all():
    with pytest.raises(TypeError, match=r"expected an nltk\.Tree .got str."):
        from_nltk("(S a)")
    with pytest.raises(TypeError, match="got 3"):
        from_nltk(nltk.Tree("S", [3]))


def test_a_sentence_without_words_has_no_tree_to_give():
    with pytest.raises(TypeError, match=r"expected a Tree, as in a parse result .got None."):
        to_nltk(demo_parser().parse([]).tree)


def test_nltk_is_requested_where_it_is_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(SettingsError, match=r"nltk is not installed; run pip install '\.\[nltk\]'"):
        to_nltk(parse_tree("(NN ice)"))


TREEBANK = """
( (S (NP-SBJ (NN ice)) (VP (VBZ melts) (NP (-NONE- *))) (-RRB- -RRB-)))
( (S (NP-SBJ (NN snow)) (VP (VBZ falls))))
( (X (-NONE- 0)))
"""


def treebank():
    return [nltk.Tree.fromstring(line) for line in TREEBANK.split("\n") if line]


def test_a_corpus_of_nltk_is_cleaned():
    assert read_nltk(treebank()) == [
        parse_tree("(S (NP (NN ice)) (VP (VBZ melts)) (-RRB- -RRB-))"),
        parse_tree("(S (NP (NN snow)) (VP (VBZ falls)))"),
    ]
    with pytest.raises(TreebankFormatError, match="tree 2: the nltk"):
        read_nltk([nltk.Tree("S", ["a"]), nltk.Tree("S", [])])


@pytest.mark.slow
def test_a_corpus_of_nltk_makes_a_parser():
    trees = read_nltk(to_nltk(tree, escaped=True) for tree in demo_trees())
    assert trees == list(demo_trees())
    parser = ConstituencyParser.train(read_nltk(treebank()) * 5, method="pcfg")
    assert NLTKParser(parser).parse_one(["ice", "falls"]).label() == "S"


# The parser ------------------------------------------------------------------------------


def pcfg_parser(objective="viterbi", tagger=False):
    parser = ConstituencyParser.train(demo_trees(), method="pcfg")
    return replace(
        parser,
        options=ParserOptions(objective=objective),
        tagger=parser.tagger if tagger else None,
    )


@pytest.fixture(scope="module")
def plain():
    return pcfg_parser()


def test_it_is_a_parser_of_nltk():
    parser = NLTKParser(demo_parser())
    assert isinstance(parser, nltk.parse.api.ParserI)
    expected = to_nltk(demo_parser().parse(WORDS).tree)
    assert parser.parse_one(WORDS) == expected
    assert next(parser.parse(WORDS)) == expected
    assert [next(found) for found in parser.parse_sents([WORDS, WORDS])] == [expected] * 2
    several = parser.parse_all(WORDS)
    assert several[0] == expected
    assert len(several) == len({str(tree) for tree in several}) > 1


@pytest.mark.slow
def test_trees_are_those_of_the_k_best_list(plain):
    wanted = plain.parse(WORDS, kbest=7).alternatives
    found = NLTKParser(plain, most=7).parse_all(WORDS)
    assert [from_nltk(tree) for tree in found] == [each.tree for each in wanted]
    logs = [tree.logprob() * math.log(2) for tree in found]
    assert logs == pytest.approx([each.log_value for each in wanted])
    assert logs == sorted(logs, reverse=True)


@pytest.mark.slow
def test_few_are_found_where_few_are_wanted(plain, monkeypatch):
    asked = []
    parse = ConstituencyParser.parse

    def watched(self, *given, kbest=None, **more):
        asked.append(kbest)
        return parse(self, *given, kbest=kbest, **more)

    monkeypatch.setattr(ConstituencyParser, "parse", watched)
    found = NLTKParser(plain, most=20).parse(WORDS)
    assert asked == []
    next(found)
    assert asked == [1]
    list(itertools.islice(found, 3))
    assert asked == [1, 4]
    list(found)
    assert asked == [1, 4, 16]  # there are fewer trees than that


def test_a_sentence_with_one_tree_has_one():
    assert len(NLTKParser(any_length_parser()).parse_all(["a"])) == 1
    assert NLTKParser(any_length_parser()).parse_all([]) == []
    assert NLTKParser(any_length_parser()).parse_one([]) is None


def test_probabilities_are_those_of_nltk(plain):
    # The same grammar in NLTK's own parser, in the words of the lexicon.
    tags = plain.parse(WORDS).tags
    (best,) = NLTKParser(plain, most=1).parse(list(zip(WORDS, tags, strict=True)))
    assert isinstance(best, ProbabilisticTree)
    lexicon = plain.grammar.backbone.lexicon
    grammar = NLTKParser(plain).grammar()
    entries = [lexicon.entries[entry] for entry in lexicon.ids(WORDS)]
    viterbi = next(nltk.ViterbiParser(grammar).parse(entries))
    assert best.logprob() == pytest.approx(viterbi.logprob(), abs=1e-6)
    assert best.prob() == pytest.approx(viterbi.prob())


def test_the_grammar_sums_to_one(plain):
    grammar = to_pcfg(plain.grammar.backbone)
    totals = {}
    for production in grammar.productions():
        totals[production.lhs()] = totals.get(production.lhs(), 0.0) + production.prob()
    assert all(total == pytest.approx(1.0) for total in totals.values())
    assert grammar.start() in totals
    assert len(totals) == len(plain.grammar.backbone.symbols) + 1


def test_signed_grammars_have_no_probabilities():
    assert demo_parser().signed
    assert not isinstance(NLTKParser(demo_parser()).parse_one(WORDS), ProbabilisticTree)


def test_what_it_refuses():
    parser = NLTKParser(any_length_parser())
    with pytest.raises(TypeError, match="not a string"):
        parser.parse("a b")
    with pytest.raises(TypeError, match="a sentence only"):
        parser.parse(["a"], 3)
    with pytest.raises(SettingsError, match="most is 0"):
        NLTKParser(any_length_parser(), most=0)
    with pytest.raises(TypeError, match=r"expected a parser, .*got 'demo.egt'"):
        NLTKParser("demo.egt")
