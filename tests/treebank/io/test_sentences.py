"""Sentences come in every input format, in order, none left out."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.escaping import escape_token
from eigentree.treebank.io.sentences import InputFormat, TaggedSentence, check_tags, read_sentences
from eigentree.treebank.io.text_files import open_text


def read(text: str, form: InputFormat, **options: Any) -> list[TaggedSentence]:
    return list(read_sentences(text.split("\n"), form, **options))


def words_of(text: str, form: InputFormat, **options: Any) -> list[list[str]]:
    return [sentence.words for sentence in read(text, form, **options)]


def conllu(*rows: tuple[str, str, str, str]) -> str:
    """Ten columns from number, form, UPOS and XPOS."""
    return "\n".join(
        "\t".join([number, form, form.lower(), upos, xpos, "_", "_", "_", "_", "_"])
        for number, form, upos, xpos in rows
    )


# --- tokens


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("The  dog\t barks . ", ["The", "dog", "barks", "."]),
        ("  ", []),
        ("", []),
        ("10\u00a0000 a\u2028b full\u3000width next\u0085line", None),
        ("zero\u200bwidth soft\u00adhyphen \U0001f600\ufe0f", None),
        ("-LRB- a -RRB- f-LRB-x-RRB- ( )", ["(", "a", ")", "f(x)", "(", ")"]),
        ("A/B and_C 1\\/2 # % ;", None),
        ("carriage return\r\n", ["carriage", "return"]),
        ("form\x0cfeed vertical\x0btab", ["form", "feed", "vertical", "tab"]),
    ],
)
def test_tokens_separate_at_ascii_space_only(line: str, words: list[str] | None) -> None:
    # Where no words are given, those between single spaces are meant.
    expected = line.split(" ") if words is None else words
    assert list(read_sentences([line], "tokens")) == [TaggedSentence(expected, None, 1)]


@given(
    st.lists(
        st.lists(st.text(min_size=1).filter(lambda w: not set(w) & set(" \t\r\n\v\f\0\ufeff")))
    )
)
def test_any_words_come_back_from_tokens(sentences: list[list[str]]) -> None:
    lines = [" ".join(escape_token(word) for word in words) + "\n" for words in sentences]
    assert [sentence.words for sentence in read_sentences(lines, "tokens")] == sentences


def test_lines_are_counted_and_empty_ones_kept() -> None:
    sentences = read("a b\n\n\nc", "tokens")
    assert [(sentence.words, sentence.line) for sentence in sentences] == [
        (["a", "b"], 1),
        ([], 2),
        ([], 3),
        (["c"], 4),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfThe dog\r\n\r\nbarks",
        b"The dog\n\nbarks\n",
        b"The dog\r\rbarks\r",
        gzip.compress(b"The dog\n\nbarks\n"),
    ],
    ids=["mark and CRLF", "LF", "CR", "gzip"],
)
def test_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    with open_text(path) as lines:
        words = [sentence.words for sentence in read_sentences(lines, "tokens")]
    assert words == [["The", "dog"], [], ["barks"]]


def test_utf_16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("The dog\n".encode("utf-16"))
    with (
        pytest.raises(TreebankFormatError, match="UTF-16; convert it to UTF-8"),
        open_text(path) as lines,
    ):
        list(read_sentences(lines, "tokens"))


# --- every format gives a sentence as soon as it is there

# Lines as they come, and for each sentence the number of lines that had come by then.
STREAMS: dict[InputFormat, tuple[list[str], list[int]]] = {
    "tokens": (["a\n", "\n", "b c\n"], [1, 2, 3]),
    "tagged": (["a/X\n", "\n", "b/Y c/Z\n"], [1, 2, 3]),
    "conllu": ([conllu(("1", "a", "X", "_")) + "\n", "\n", "# text\n"], [2]),
    "trees": (["(S (X a)", ")\n", "(S (X a)) (S (X b))\n"], [2, 3, 3]),
    "json": (['{"words": ["a"]}\n', "\n", '{"words": []}\n'], [1, 2, 3]),
}


@pytest.mark.parametrize("form", STREAMS)
def test_sentences_do_not_wait_for_later_lines(form: InputFormat) -> None:
    lines, arrivals = STREAMS[form]
    taken: list[str] = []

    def source() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    assert [len(taken) for _ in read_sentences(source(), form)] == arrivals


# --- JSON


def test_json_has_words_tags_weights_and_constraints() -> None:
    lines = [
        '{"words": ["the", "-LRB-", "ma\u00a0n"]}',
        '{"words": ["a", "b"], "tags": ["D", {"N": 3, "V": 0, "A": 0.5}]}',
        '{"words": ["a", "b"], "tags": null, "constraints": {"required": [[0, 2, "NP"]]}}',
    ]
    first, second, third = read("\n".join(lines), "json", labels={"N", "V", "A"})
    assert first == TaggedSentence(["the", "-LRB-", "ma\xa0n"], None, 1)
    assert second == TaggedSentence(["a", "b"], ["D", {"N": 3.0, "A": 0.5}], 2)
    constraints = Constraints.of([(0, 2, "NP")])
    assert third == TaggedSentence(["a", "b"], None, 3, constraints=constraints)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"words": ["a"]', "isn't JSON: "),
        ('{"words": [' + "1" * 5000 + "]}", "has a number of 5000 digits, more than 4300"),
        ("[" * 100_000, "is nested too deeply"),
        ('["a", "b"]', "expected an object with words and, optionally, tags and constraints"),
        ('{"tags": ["N"]}', "an object with words"),
        ('{"words": ["a"], "tag": ["N"]}', "an object with words"),
        ('{"words": "a b"}', "words is one string; expected a list of words"),
        ('{"words": 3}', "words is 3; expected a list of words"),
        ('{"words": ["a", 3]}', "word 2 is 3; all words must be strings"),
        ('{"words": ["a", "b c"]}', "word 2 is 'b c'; split it at its white space"),
        (r'{"words": ["a\ud800"]}', r"word 1 is 'a\ud800', which holds U+D800, half"),
        (r'{"words": ["a\u0000"]}', r"word 1 is 'a\x00', which holds U+0000, NUL"),
        (r'{"words": ["a"], "tags": ["\udfff"]}', r"tag 1 is '\udfff', which holds U+DFFF"),
        ('{"words": ["a"], "tags": []}', "1 word but 0 tags"),
        ('{"words": ["a"], "tags": ["N N"]}', "is empty or holds white space or brackets"),
        ('{"words": ["a"], "tags": [null]}', "tag 1 is None; all tags must be strings, or"),
        ('{"words": ["a"], "tags": [{"N": "x"}]}', "the weight of 'N' at word 1 is 'x'"),
        ('{"words": ["a"], "tags": [{"N": true}]}', "the weight of 'N' at word 1 is True"),
        ('{"words": ["a"], "tags": [{"N": -1}]}', "the weight of 'N' at word 1 is -1; it must be"),
        ('{"words": ["a"], "tags": [{"N": NaN}]}', "the weight of 'N' at word 1 is nan"),
        ('{"words": ["a"], "tags": [{"N": Infinity}]}', "the weight of 'N' at word 1 is inf"),
        (
            '{"words": ["a"], "tags": [{"N": 1' + "0" * 400 + "}]}",
            "the weight of 'N' at word 1 is 1",
        ),
        ('{"words": ["a"], "tags": [{"N": 0}]}', "the weights at word 1 are {'N': 0}; their sum"),
        ('{"words": ["a"], "tags": [{}]}', "the weights at word 1 are {}; their sum must be"),
        ('{"words": ["a"], "tags": [{"X": 1}]}', "'X' at word 1 has a weight, but the parser has"),
        (
            '{"words": ["a"], "constraints": 3}',
            "constraints are 3; expected an object with the keys",
        ),
        ('{"words": ["a"], "constraints": {"required": [[0, 2]]}}', "beyond the sentence"),
    ],
)
def test_json_that_is_wrong_is_reported(line: str, told: str) -> None:
    lines = [line, '{"words": ["a"]}']
    bad, good = read_sentences(lines, "json", name="in", on_error="skip", labels={"N"})
    assert (bad.words, bad.tags, good.words) == ([], None, ["a"])
    assert bad.problem is not None
    assert str(bad.problem).startswith("in:1:")
    assert told in str(bad.problem)


def test_the_sum_of_weights_is_finite() -> None:
    with pytest.raises(SettingsError, match="their sum must be finite"):
        check_tags([{"N": 1e308, "V": 1e308}], 1)
    with pytest.raises(SettingsError, match="the tag '' at word 1 is empty"):
        check_tags([{"": 1.0}], 1)


# --- tagged tokens


@pytest.mark.parametrize(
    ("line", "words", "tags"),
    [
        ("The_DT dog_NN", ["The", "dog"], ["DT", "NN"]),
        ("The/DT dog/NN", ["The", "dog"], ["DT", "NN"]),
        ("A/B/NN snake_case/NN", ["A/B", "snake_case"], ["NN", "NN"]),
        ("and/or_CC the_DT", ["and/or", "the"], ["CC", "DT"]),
        ("/_: __:", ["/", "_"], [":", ":"]),
        ("1\\/2/CD //:", ["1\\/2", "/"], ["CD", ":"]),
        ("-LRB-/-LRB- x/NN )/-RRB-", ["(", "x", ")"], ["-LRB-", "NN", "-RRB-"]),
        ("a/V_11 b/N", ["a", "b"], ["V_11", "N"]),
        ("a_P|Q b_PRP$", ["a", "b"], ["P|Q", "PRP$"]),
        ("a/X b_Y", ["a", "b"], ["X", "Y"]),
        ("", [], []),
    ],
)
def test_tagged_tokens(line: str, words: list[str], tags: list[str]) -> None:
    assert read(line, "tagged") == [TaggedSentence(words, tags, 1)]


def test_a_separator_that_is_said() -> None:
    assert read("a/V_11", "tagged", separator="/") == [TaggedSentence(["a"], ["V_11"], 1)]
    assert read("a/V_11", "tagged", separator="_") == [TaggedSentence(["a/V"], ["11"], 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("The/DT dog barks/VBZ", r"in:2:8: token 2 isn't word_TAG or word/TAG: The/DT dog"),
        ("The_DT dog_", r"in:2:8: token 2 isn't word_TAG: "),
        ("/DT", r"in:2:1: token 1 isn't word/TAG: "),
        ("(/$(", r"in:2:1: token 1 isn't word/TAG: "),
    ],
)
def test_tokens_without_a_tag(line: str, message: str) -> None:
    text = f"a/X\n{line}\nb/Y"
    with pytest.raises(TreebankFormatError, match=message):
        read(text, "tagged", name="in")
    sentences = read(text, "tagged", name="in", on_error="skip")
    assert [sentence.words for sentence in sentences] == [["a"], [], ["b"]]
    assert [sentence.problem is None for sentence in sentences] == [True, False, True]


def test_sentences_before_a_problem_are_given_first() -> None:
    sentences = read_sentences(["a/X", "b"], "tagged")
    assert next(sentences).words == ["a"]
    with pytest.raises(TreebankFormatError, match="token 1"):
        next(sentences)


# --- CoNLL-U


def test_conllu_words_and_either_tag_column() -> None:
    text = "# text = Vamos al mar\n" + conllu(
        ("1", "Vamos", "VERB", "V"),
        ("2-3", "al", "_", "_"),
        ("2", "a", "ADP", "P"),
        ("3", "el", "DET", "D"),
        ("3.1", "gran", "ADJ", "A"),
        ("4", "mar", "NOUN", "N"),
    )
    words = ["Vamos", "a", "el", "mar"]
    assert read(text, "conllu") == [TaggedSentence(words, ["V", "P", "D", "N"], 2)]
    assert read(text, "conllu", tag_column="upos")[0].tags == ["VERB", "ADP", "DET", "NOUN"]


def test_conllu_problems_name_the_row_past_ranges() -> None:
    text = conllu(
        ("1-2", "ab", "_", "_"), ("1", "a", "X", "X"), ("1.1", "e", "_", "_"), ("2", "b", "X", ")")
    )
    with pytest.raises(TreebankFormatError, match=r"in:4:1: column XPOS holds .* \(word 2"):
        read(text, "conllu", name="in")


def test_conllu_without_tags() -> None:
    text = conllu(("1", "a", "X", "_"), ("2", "b", "X", "_"))
    assert read(text, "conllu") == [TaggedSentence(["a", "b"], None, 1)]


def test_conllu_blank_lines_comments_and_odd_words() -> None:
    text = "\n\n".join(
        [
            "# one",
            conllu(("1", "#", "SYM", "#"), ("2", "(", "PUNCT", "-LRB-")) + "\n",
            "# newpar\n#x\n" + conllu(("1", "10 000", "NUM", "CD"), ("2", "-LRB-", "X", "X")),
            "",
        ]
    )
    assert words_of(text, "conllu") == [["#", "("], ["10\u00a0000", "-LRB-"]]
    assert words_of("#\tnot\ta\tcomment", "conllu", on_error="skip") == [[]]
    assert words_of("", "conllu") == []


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("2\tb b\tX\tX\t_\t_\t_\t_\t_", r"in:2:1: 9 columns separated by tabs, expected 10"),
        (conllu(("3", "b", "X", "X")), r"in:2:1: word number 2 was expected"),
        (conllu(("x", "b", "X", "X")), r"in:2:1: word number 2 was expected"),
        (conllu(("2", " ", "X", "X")), r"in:2:3: the word is empty or white space"),
        (conllu(("2", "", "X", "X")), r"in:2:3: the word is empty or white space"),
        (conllu(("2", "b", "X", "")), r"in:2:9: column XPOS is empty"),
        (conllu(("2", "b", "X", "$(")), r"in:2:1: column XPOS holds white space or brackets"),
        (conllu(("2", "b\vc", "X", "X")), r"in:2:1: the word holds white space: 'b\\x0bc'"),
        (conllu(("2", "b", "X", "_")), r"in:2:1: the word has no tag, but others have \(word 2"),
    ],
)
def test_conllu_problems(row: str, message: str) -> None:
    text = conllu(("1", "a", "X", "X")) + f"\n{row}\n{conllu(('3', 'c', 'X', 'X'))}\n\n"
    text += conllu(("1", "d", "X", "X"))
    with pytest.raises(TreebankFormatError, match=message):
        read(text, "conllu", name="in")
    assert words_of(text, "conllu", name="in", on_error="skip") == [[], ["d"]]


# --- trees


def test_trees_give_words_and_tags_after_cleaning() -> None:
    text = (
        "(S (NP-SBJ (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *))))\n(())\n"
        "(S (NP (-NONE- *T*-1))) (X (-LRB- -LRB-))"
    )
    assert read(text, "trees") == [
        TaggedSentence(["The", "dog", "barks"], ["DT", "NN", "VBZ"], 1),
        TaggedSentence([], [], 2),
        TaggedSentence([], [], 3),
        TaggedSentence(["("], ["-LRB-"], 3),
    ]
    kept = CleaningOptions(trace_labels=())
    assert words_of(text, "trees", cleaning=kept)[0] == ["The", "dog", "barks", "*"]


def test_broken_trees_keep_their_place() -> None:
    text = "(S (X a))\n(S (X b)))\n(S (X c))"
    with pytest.raises(TreebankFormatError, match=r"in:2:10: "):
        read(text, "trees", name="in")
    sentences = read(text, "trees", name="in", on_error="skip")
    assert sentences[0].words == ["a"]
    assert sentences[-1].words == ["c"]
    assert sum(sentence.problem is not None for sentence in sentences) == 1


# --- settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"form": "raw"},
            "unknown input format 'raw'; expected one of tokens, tagged, conllu, trees",
        ),
        ({"form": "conllu", "tag_column": "deps"}, "unknown tag column 'deps'"),
        ({"form": "tagged", "separator": "|"}, r"'\|' can't separate words from tags"),
    ],
)
def test_settings_without_meaning(options: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        read_sentences([], **options)


def test_one_string_is_not_lines() -> None:
    lines: Iterable[str] = "The dog barks"
    with pytest.raises(TypeError, match="a list of lines, not one string"):
        read_sentences(lines, "tokens")
