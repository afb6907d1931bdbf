from __future__ import annotations

import copy
import re
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import TreebankFormatError
from eigentree.treebank.escaping import escape_token, unescape_token
from eigentree.treebank.io.brackets import format_tree, parse_tree, read_brackets
from eigentree.treebank.tree import SEPARATORS, Tree
from tests.treebank.strategies import trees, words

# Words in the last column; each text is one tree, or None for lines that are several.
BACKSLASHES = [
    (r"(S (NN C:\) (VB x))", ["C:\\", "x"]),
    (r"(S (NN C:\ ) (VB x))", ["C:\\", "x"]),
    (r"(NP (NN C:\))", ["C:\\"]),
    (r"(S (NP (NN C:\)) (VB x))", ["C:\\", "x"]),
    ("( (S\n  (NP (NN C:\\) )\n  (VB x) ))", ["C:\\", "x"]),
    ("(S\n  (NP (NN C:\\))\n  (VB x))", ["C:\\", "x"]),
    (r"(S (NN a\)) (VB b))", ["a)", "b"]),
    (r"(S (NN a\() (VB b))", ["a(", "b"]),
    (r"(S (NN \() (NN \)))", ["(", ")"]),
    (r"(S (NN a\)b) (VB x\(y))", ["a)b", "x(y"]),
    (r"(NN a\))", ["a)"]),
    (r"(NN a\)\))", ["a))"]),
    ("(S\n  (NP (NN a\\)))\n  (VB b))", ["a)", "b"]),
    ("(S\n  (NP (NN a\\))\n    (NN b\\)))\n  (VB c))", ["a)", "b)", "c"]),
    (r"(NP (NN \/) (NN \*) (NN \\))", ["\\/", "\\*", "\\\\"]),
]


@pytest.mark.parametrize(("text", "found"), BACKSLASHES)
@pytest.mark.parametrize("end", ["", "\n(S (A b))", "\n\n(NP (NN C:\\))"])
def test_brackets_behind_a_backslash(text, found, end):
    records = list(read_brackets((text + end).split("\n")))
    assert records[0].tree.words() == found
    assert len(records) == 1 + bool(end)
    assert records[-1].line == (text + end).count("\n") + 1 if end else 1


@given(st.lists(words | words.map(lambda word: word + "\\"), min_size=1, max_size=4), st.booleans())
def test_words_that_end_in_backslashes_are_read_as_they_were_written(texts, is_split):
    tree = Tree("S", [Tree("NP", [Tree("N", (), word)]) for word in texts])
    text = format_tree(tree)
    assert "\\)" not in text
    assert parse_tree(text.replace(" (NP", "\n  (NP") if is_split else text) == tree


def test_many_doubtful_brackets_take_linear_time():
    lines = ["(S", *[r"  (NP (NN a\)))"] * 20_000, "  (NN b))"] + [r"(NP (NN C:\))"] * 2_000
    start = time.perf_counter()
    records = list(read_brackets(lines))
    assert time.perf_counter() - start < 5.0
    assert len(records) == 2_001
    assert set(records[0].tree.words()) == {"a)", "b"}


CASES_FILE = Path(__file__).parents[2] / "cases" / "brackets.toml"
CASES = tomllib.loads(CASES_FILE.read_text("utf-8"))["case"]
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def read(text, **options):
    return list(read_brackets(text.split("\n"), name="bank.mrg", **options))


@by_name
def test_case_is_read_past_its_problems(case):
    notices = []
    records = read(case["text"], on_error="skip", notice=notices.append)
    written = [
        format_tree(record.tree) if record.tree else ""
        for record in records
        if record.problem is None
    ]
    assert written == case["trees"]
    assert len(notices) == case.get("notices", 0)
    problems = [str(record.problem) for record in records if record.problem]
    assert bool(problems) == ("problem" in case)
    if problems:
        assert problems[0].startswith("bank.mrg:" + case["problem"])
        assert len(problems) == case.get("problems", 1)


@by_name
def test_case_is_refused_at_its_first_problem(case):
    if "problem" not in case:
        assert len(read(case["text"])) == len(case["trees"])
        return
    with pytest.raises(TreebankFormatError, match="^bank.mrg:" + re.escape(case["problem"])):
        read(case["text"])


@by_name
def test_what_was_read_is_written_and_read_again(case):
    records = read(case["text"], on_error="skip")
    kept = [record.tree for record in records if record.tree is not None]
    text = "\n".join(format_tree(tree) for tree in kept)
    assert [record.tree for record in read(text)] == kept


@given(trees)
def test_one_line_reads_back(tree):
    assert parse_tree(format_tree(tree)) == tree


@given(st.lists(trees, max_size=5), st.sampled_from(["\n", " ", "\n\n", "\r\n"]))
def test_trees_one_after_the_other_read_back(forest, between):
    text = between.join(format_tree(tree) for tree in forest)
    assert [record.tree for record in read(text)] == forest


@given(words)
def test_escaping_a_word_is_undone(word):
    escaped = escape_token(word)
    assert "(" not in escaped
    assert ")" not in escaped
    assert unescape_token(escaped) == word


@given(words.map(lambda word: word.replace("(", "-").replace(")", "-")))
def test_unescaping_a_token_is_undone(token):
    assert escape_token(unescape_token(token)) == token


@pytest.mark.parametrize(
    ("word", "token"),
    [
        ("(", "-LRB-"),
        (")", "-RRB-"),
        ("-LRB-", "-L\\RB-"),
        ("-L\\RB-", "-L\\\\RB-"),
        ("(713)853-7041", "-LRB-713-RRB-853-7041"),
        ("Solano(r)", "Solano-LRB-r-RRB-"),
        ("-LRB(", "-L\\RB-LRB-"),
        ("(LRB-", "-LRB-LRB-"),
        ("-LRB", "-LRB"),
    ],
)
def test_escapes(word, token):
    assert escape_token(word) == token
    assert unescape_token(token) == word


@given(st.text(alphabet="()AB \n-x%", max_size=40))
def test_any_text_is_read_or_refused_but_never_breaks(text):
    records = read(text, on_error="skip")
    if all(record.problem is None for record in records):
        assert read(text) == records
    else:
        with pytest.raises(TreebankFormatError, match=r"^bank\.mrg:\d+:\d+: \w"):
            read(text)


@given(st.text(alphabet="()AB \n-x", max_size=40), trees)
def test_a_reader_remembers_nothing(text, tree):
    read(text, on_error="skip")
    assert [record.tree for record in read(format_tree(tree))] == [tree]


def test_a_tree_comes_as_soon_as_it_is_complete():
    def lines():
        yield "(S (A b))\n"
        raise AssertionError("read too far")

    assert next(read_brackets(lines())).tree == parse_tree("(S (A b))")


def test_lines_are_those_where_trees_begin():
    text = "\n(S (A b))\n\n(S\n(A b)) (S\n (C d))\n"
    assert [record.line for record in read(text)] == [2, 4, 5]


def test_problem_says_where_and_shows_what():
    record = read("(S (A b))\n(S (A b) + (C d))", on_error="skip")[1]
    assert record.problem._asdict() == {
        "file": "bank.mrg",
        "line": 2,
        "column": 10,
        "message": "word '+' without a tag beside nodes under 'S'",
        "snippet": "(S (A b) + (C d))",
    }


def test_snippet_of_a_long_line_is_short():
    text = "(S " + "(A b) " * 10_000 + "+ " + "(A b) " * 10_000 + ")"
    problem = read(text, on_error="skip")[0].problem
    assert problem.column == 60_004
    assert problem.snippet == "…) (A b) (A b) (A b) + (A b) (A b) (A b) (A b) (A b…"


def test_missing_brackets_everywhere_take_linear_time():
    # Each bad tree would be read to the end of the file again and again.
    n_trees = 3_000
    text = "(S (A b)\n" * n_trees
    begun = time.process_time()
    records = read(text, on_error="skip")
    assert time.process_time() - begun < 2  # a few hundredths, or else many seconds
    assert len(records) == n_trees
    assert all(record.problem for record in records)


@pytest.mark.parametrize(
    ("text", "held"), [("", "0 trees"), ("(A b) (C d)", "2 trees"), ("(())", "no parse")]
)
def test_parse_tree_wants_one_tree(text, held):
    with pytest.raises(TreebankFormatError, match=f"^expected one tree, not {held}"):
        parse_tree(text)


@pytest.fixture(scope="module")
def deep_tree():
    tree = Tree("NN", (), "core")
    for _ in range(100_000):
        tree = Tree("S", [tree, Tree(".", (), ".")])
    return tree


@pytest.mark.slow
def test_depth_is_no_limit(deep_tree):
    text = format_tree(deep_tree)
    again = parse_tree(text)
    assert again == deep_tree
    assert hash(again) == hash(deep_tree)
    assert copy.deepcopy(again) == again
    assert repr(again).startswith("(S (S (S ")


def test_unclosed_depth_is_a_problem_like_any_other():
    with pytest.raises(TreebankFormatError, match="100000 brackets are still open"):
        read("(S " * 100_000)


def test_separators_are_ascii():
    assert [separator for separator in map(chr, range(0x3001)) if separator in SEPARATORS] == list(
        "\t\n\x0b\x0c\r "
    )


def test_a_printed_tree_is_brackets():
    tree = Tree("S", [Tree("-LRB-", (), "("), Tree("NN", (), "-RRB-"), Tree("X", (), "a\\")])
    assert str(tree) == format_tree(tree) == r"(S (-LRB- -LRB-) (NN -R\RB-) (X a\ ))"
    assert parse_tree(repr(tree)) == tree
