from __future__ import annotations

import dataclasses
import gzip
import io
import re
import sys
import tomllib
from pathlib import Path

import conllu
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.treebank.io.conllu import (
    COLUMNS,
    Extra,
    Sentence,
    Word,
    check_heads,
    format_sentence,
    new_sentence,
    read_conllu,
    read_dependencies,
)
from tests.treebank.strategies import dependency_trees

CASES_FILE = Path(__file__).parents[2] / "cases" / "conllu.toml"
CASES = tomllib.loads(CASES_FILE.read_text("utf-8"))["case"]
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
SHORT = re.compile(r"(\d+) (\S+) (\S+) (\S+)")


def file_of(rows):
    """Rows as the table of cases writes them, as text."""
    long = (SHORT.sub(r"\1\t\2\t_\t_\t_\t_\t\3\t\4\t_\t_", row) for row in rows)
    return "\n".join(long) + "\n"


def text_of(case):
    return case["text"] if "text" in case else file_of(case["rows"])


def read(text, **options):
    return list(read_conllu(text.split("\n"), name="bank", **options))


def sentence_of(*rows):
    (record,) = read(file_of(rows))
    return record.sentence


def heads_of(sentence):
    return [-1 if word.head is None else word.head for word in sentence.words]


@by_name
def test_case_is_read_past_its_problems(case):
    records = read(text_of(case), on_error="skip", heads=case.get("reading", "check"))
    assert [heads_of(one.sentence) for one in records if one.sentence] == case["heads"]
    assert sum(one.n_attached for one in records) == case.get("attached", 0)
    problems = [str(one.problem) for one in records if one.problem]
    assert bool(problems) == ("problem" in case)
    if problems:
        assert problems[0].startswith("bank:" + case["problem"])
        assert len(problems) == case.get("problems", 1)


@by_name
def test_case_is_refused_at_its_first_problem(case):
    if "problem" not in case:
        assert len(read(text_of(case), heads=case.get("reading", "check"))) == len(case["heads"])
        return
    with pytest.raises(TreebankFormatError, match="^bank:" + re.escape(case["problem"])):
        read(text_of(case), heads=case.get("reading", "check"))


@by_name
def test_case_is_written_as_it_was_read(case):
    records = read(text_of(case), on_error="skip", heads=case.get("reading", "check"))
    written = "".join(format_sentence(one.sentence) for one in records if one.sentence)
    if "written" in case:
        assert written == file_of(case["written"])
    elif "problem" not in case:
        assert written == text_of(case).rstrip("\n") + "\n\n"
    again = read(written, heads=case.get("reading", "check"))
    assert [one.sentence for one in again] == [one.sentence for one in records if one.sentence]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0"), min_size=1, max_size=4)
forms = cells.filter(lambda text: text.strip(" \x0b\x0c"))


@st.composite
def sentences(draw):
    heads = draw(dependency_trees())
    words = [
        Word(i, draw(forms), *(draw(cells) for _ in range(4)), head, *(draw(cells) for _ in "123"))
        for i, head in enumerate(heads, start=1)
    ]
    extras = []
    covered = 0
    for after in range(len(words) + 1):
        for i in range(draw(st.integers(0, 2)) if draw(st.booleans()) else 0):
            extras.append(Extra(after, (f"{after}.{i + 1}", "e", *["_"] * 8)))
        left = len(words) - after
        if after >= covered and left and draw(st.booleans()):
            covered = after + draw(st.integers(1, left))
            extras.append(Extra(after, (f"{after + 1}-{covered}", draw(forms), *["_"] * 8)))
    texts = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0"), max_size=6)
    comments = [f"#{text}" for text in draw(st.lists(texts, max_size=3))]
    return Sentence(tuple(words), tuple(comments), tuple(extras))


@given(st.lists(sentences(), max_size=3))
def test_what_is_written_reads_back(bank):
    text = "".join(map(format_sentence, bank))
    assert [record.sentence for record in read(text)] == bank


@given(st.lists(sentences(), max_size=2), st.data())
def test_a_damaged_text_is_read_or_refused_but_breaks_nothing(bank, data):
    text = "".join(map(format_sentence, bank)) or "1\n"
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = (
        text[:at] + data.draw(st.sampled_from(["", "\t", "\n", "-", "9", "#"])) + text[at + 1 :]
    )
    records = read(damaged, on_error="skip")
    assert all((one.sentence is None) != (one.problem is None) for one in records)
    for one in records:
        if one.sentence:
            check_heads(one.sentence.heads())
            assert [each.sentence for each in read(format_sentence(one.sentence))] == [one.sentence]


@given(sentences())
def test_another_reader_finds_the_same_columns(sentence):
    plain = dataclasses.replace(
        sentence,
        comments=(),
        words=tuple(
            word._replace(
                form=f"f{word.id}", lemma="l", xpos="T", feats="A=b|C=d", deps="_", misc="X=y"
            )
            for word in sentence.words
        ),
    )
    (theirs,) = conllu.parse(format_sentence(plain))
    words = [token for token in theirs if isinstance(token["id"], int)]
    assert [token["head"] for token in words] == plain.heads()
    assert [token["form"] for token in words] == plain.forms()
    assert [token["feats"] for token in words] == [{"A": "b", "C": "d"}] * len(words)
    assert len(theirs) - len(words) == len(plain.extras)


def test_a_sentence_comes_as_soon_as_its_blank_line():
    seen = []

    def lines():
        for line in file_of(["1 a 0 root", "", "1 b 0 root", ""]).splitlines(keepends=True):
            seen.append(line)
            yield line

    records = read_conllu(lines())
    assert next(records).sentence.forms() == ["a"]
    assert len(seen) == 2


def test_the_reader_keeps_no_state_after_a_problem():
    for _ in range(2):
        assert [one.problem is None for one in read("x\n\n", on_error="skip")] == [False]
        assert read(file_of(["1 a 0 root"]))[0].sentence.forms() == ["a"]


def test_one_string_is_not_taken_for_lines():
    with pytest.raises(TypeError, match="one string"):
        next(read_conllu("1\ta"))
    with pytest.raises(SettingsError, match="heads is 'x'; it must be one of check, attach"):
        next(read_conllu([], heads="x"))


# Sentences -------------------------------------------------------------------------------


def test_sentences_do_not_change():
    sentence = sentence_of("1 a 0 root")
    with pytest.raises(dataclasses.FrozenInstanceError):
        sentence.words = ()


def test_columns_of_a_sentence():
    rows = ["# sent_id = x 1", "1\tgo\tgo\tVERB\tVB\tF\t0\troot\t0:root\t_", "2 on 1 advmod", ""]
    sentence = sentence_of(*rows)
    assert (sentence.sent_id, len(sentence), sentence.n_roots()) == ("x 1", 2, 1)
    assert sentence.tags("upos") == ["VERB", "_"]
    assert sentence.tags("xpos") == ["VB", "_"]
    assert sentence.relations() == ["root", "advmod"]
    with pytest.raises(SettingsError, match="unknown tag column 'pos'"):
        sentence.tags("pos")


def test_space_after_is_exact_and_a_matter_of_ranges():
    text = (
        "1-2\tab\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\ta\t_\t_\t_\t_\t0\tr\t_\t_\n2\tb\t_\t_\t_\t_\t1\tr\t_\t_\n"
        "3\tc\t_\t_\t_\t_\t1\tr\t_\tX=y|SpaceAfter=No\n"
        "4\td\t_\t_\t_\t_\t1\tr\t_\tSpaceAfter=No name=O\n"
        "5\te\t_\t_\t_\t_\t1\tr\t_\tSpaceAfter=\\n\n"
    )
    (record,) = read(text)
    assert record.sentence.space_after() == [False, False, False, True, True]
    assert record.sentence.surface() == "abcd e"


def test_new_heads_leave_all_but_the_enhanced_graph():
    rows = [
        "# sent_id = a",
        "1-2\tab\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        "1\ta\tA\tX\tY\tF=g\t0\troot\t0:root\tM=n",
        "2\tb\tB\tX\tY\tF=g\t1\tobj\t1:obj\tM=n",
        "2.1\te\t_\t_\t_\t_\t_\t_\t1:dep\t_",
        "3\tc\tC\tX\tY\tF=g\t1\tpunct\t1:punct\tM=n",
        "",
    ]
    sentence = sentence_of(*rows)
    changed = sentence.with_heads([2, 0, 1])
    assert format_sentence(changed) == file_of(
        [
            *rows[:2],
            "1\ta\tA\tX\tY\tF=g\t2\tdep\t_\tM=n",
            "2\tb\tB\tX\tY\tF=g\t0\troot\t_\tM=n",
            "3\tc\tC\tX\tY\tF=g\t1\tpunct\t_\tM=n",
            "",
        ]
    )
    named = sentence.with_heads([2, 0, 1], ["nsubj", "ROOT", "p"])
    assert named.relations() == ["nsubj", "ROOT", "p"]
    assert sentence.heads() == [0, 1, 1]


@given(sentences(), st.data())
def test_any_sentence_with_any_tree_is_valid(sentence, data):
    n = len(sentence)
    heads = data.draw(dependency_trees(n, single_root=True))
    roots = ["root" if head == 0 else "x" for head in sentence.heads()]
    sentence = sentence.with_heads(sentence.heads(), roots)
    (block,) = format_sentence(sentence.with_heads(heads)).split("\n\n")[:-1]
    rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
    words = [row for row in rows if row[0].isdecimal()]
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert all(cell and "\t" not in cell for row in rows for cell in row)
    assert [int(row[0]) for row in words] == [*range(1, n + 1)]
    assert [row[7] for row in words if row[6] == "0"].count("root") == 1
    assert all((row[6] == "0") == (row[7] == "root") for row in words)


@pytest.mark.parametrize(
    ("heads", "relations", "message"),
    [
        ([0], None, "1 heads for 2 words: expected one for each"),
        ([0, 1], ["root"], "1 relations for 2 words"),
        ([0, 1], ["root", "a b"], "relation 'a b' of word 2 is empty or holds white space"),
        ([0, 1], ["root", ""], "relation '' of word 2 is empty"),
        ([0, 3], None, r"head 3 of word 2 is none of 0 \(the root\) to 2"),
        ([-1, 0], None, "0 they would make a tree, but word 1 is the first and 0 the root"),
        ([2, 1], None, "the heads form a cycle: 1 -> 2 -> 1$"),
    ],
)
def test_new_heads_are_checked(heads, relations, message):
    with pytest.raises(TreebankFormatError, match=message):
        sentence_of("1 a 0 root", "2 b 1 x").with_heads(heads, relations)


def test_heads_of_words_without_any():
    (record,) = read(file_of(["1 a 0 root", "2 b _ _"]), heads="ignore")
    with pytest.raises(TreebankFormatError, match="word 2 has no head"):
        record.sentence.heads()


@given(st.lists(st.integers(-1, 6), min_size=1, max_size=5))
def test_heads_are_refused_exactly_when_a_word_does_not_reach_the_root(heads):
    n = len(heads)

    def reaches_root(word):
        for _ in range(n + 1):
            if word == 0 or not 1 <= word <= n:
                return word == 0
            word = heads[word - 1]
        return False

    if all(reaches_root(word) for word in range(1, n + 1)):
        check_heads(heads)
    else:
        with pytest.raises(TreebankFormatError):
            check_heads(heads)


def test_very_long_chains_and_cycles():
    n = 100_000
    check_heads(list(range(n)))
    with pytest.raises(TreebankFormatError, match=r"cycle: 1 -> 100000 .*\(99990 more\) -> 1"):
        check_heads([n, *range(1, n)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": " "}, "the form of word 1 is ' ', empty or white space"),
        ({"form": "a\tb"}, r"FORM of row 1 is 'a\\tb', not a CoNLL-U cell"),
        ({"misc": "a\nb"}, "MISC of row 1"),
        ({"lemma": ""}, "LEMMA of row 1 is ''"),
        ({"id": 2}, "word 1 has the number 2; words count from 1 without gaps"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(change, message):
    word = Word(1, "a", head=0)._replace(**change)
    with pytest.raises(TreebankFormatError, match=message):
        format_sentence(Sentence((word,), ("# sent_id = q",)))


@pytest.mark.parametrize("comment", ["no sign", "# a\nb", "#\tword", ""])
def test_what_is_no_comment_is_not_written(comment):
    with pytest.raises(TreebankFormatError, match=r"comment 1 is .* must be one line"):
        format_sentence(Sentence((Word(1, "a", head=0),), (comment,)))


@pytest.mark.parametrize("mark", "\t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029")
def test_the_comment_with_the_text_is_one_line_by_any_rule(mark):
    text = f"Go{mark}home\u00a0."
    offsets = [(0, 2), (3, 7), (8, 9)]
    for sentence in (
        new_sentence(["Go", "home", "."], offsets, text),
        new_sentence([f"Go{mark}home\u00a0."]),
    ):
        assert sentence.comments == ("# text = Go home\u00a0.",)


def test_comments_after_the_last_sentence_are_given_at_the_end(tmp_path):
    rows = ["# a", "1 a 0 root", "", "# the end", "# bye"]
    comments: list[str] = []
    lines = file_of(rows).split("\n")
    (record,) = read_conllu(lines, at_end=comments.extend)
    assert record.sentence is not None
    assert format_sentence(record.sentence) + "# the end\n# bye\n" == file_of(rows)
    assert comments == ["# the end", "# bye"]
    path = tmp_path / "a.conllu"
    path.write_text(file_of(rows), "utf-8")
    assert read_dependencies([path, path]).comments == comments * 2


# Files -----------------------------------------------------------------------------------


def test_files_are_read_with_counts_and_places(tmp_path):
    one, other = tmp_path / "one.conllu", tmp_path / "other.conllu.gz"
    rows = ["# text", "1 a 0 root", "2 b 0 root", "", "1 c 1 x", "", "1 d _ _", ""]
    one.write_text(file_of(rows), "utf-8")
    other.write_bytes(gzip.compress(file_of(["1 e 0 root", ""]).encode()))
    bank = read_dependencies([one, other], on_error="skip", heads="attach")
    assert bank.counts == {
        "sentences": 4, "problems": 0, "notices": 0, "attached": 2, "several_roots": 1,
    }  # fmt: skip
    assert [str(place) for place in bank.places] == [f"{one}:{i}" for i in (2, 5, 7)] + [
        f"{other}:1"
    ]
    bank = read_dependencies(one, on_error="skip")
    assert [problem.line for problem in bank.problems] == [5, 7]
    with pytest.raises(TreebankFormatError, match=r"one.conllu:5:13: word 1 is its own head"):
        read_dependencies(one)


def test_a_byte_that_is_not_utf_8_costs_one_sentence(tmp_path):
    path = tmp_path / "bad.conllu"
    text = file_of(
        ["# x", "1 a 0 root", "", "1 fürs 0 root", "", "# sent_id = ü", "1 b 0 root", ""]
    )
    path.write_bytes(text.encode("latin-1"))
    bank = read_dependencies(path, on_error="skip")
    assert bank.counts["sentences"] == 1
    assert [(each.line, each.column) for each in bank.problems] == [(4, 4), (6, 13)]
    assert "(sentence ü)" in str(bank.problems[1])
    assert "byte 0xfc is not UTF-8" in str(bank.problems[0])
    with pytest.raises(TreebankFormatError, match=r"4:4: byte 0xfc is not UTF-8"):
        read_dependencies(path)


def test_standard_input_may_be_a_pipe(monkeypatch):
    class Pipe(io.BytesIO):
        def seek(self, *_):
            raise OSError("no seeking in a pipe")

    stream = io.TextIOWrapper(Pipe(gzip.compress(file_of(["1 a 0 root"]).encode())))
    monkeypatch.setattr(sys, "stdin", stream)
    bank = read_dependencies("-")
    assert str(bank.places[0]) == "<standard input>:1"


# Real treebanks --------------------------------------------------------------------------

FILES = (
    *("ud_arabic_padt/test", "ud_chinese_pud/test", "ud_english_gum/dev", "ud_english_ewt/test"),
    *("ud_french_sequoia/train", "ud_german_gsd/test", "ud_spanish_ancora/test"),
    *("ud_swedish_talbanken/dev", "ud_turkish_imst/train"),
)


@pytest.mark.parametrize(
    "name", [*(f"{file}.conllu" for file in FILES), "wsj_sample_dep/dev.conll"]
)
def test_real_treebanks_are_written_as_they_were(treebanks, name):
    text = (treebanks / name).read_bytes().decode()
    bank = read_dependencies(treebanks / name)
    assert "".join(map(format_sentence, bank.sentences)) == text
