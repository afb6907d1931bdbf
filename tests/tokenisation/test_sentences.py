"""Text into sentences, and files of text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.tokenisation.reader import read_text
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.sentences import split_text
from eigentree.tokenisation.words import tokenise
from tests.tokenisation.test_words import CONVENTIONS, MIXED, TEXTS

PENN = TokenisationScheme()
UNICODE = TokenisationScheme.of_mode("unicode")
GERMAN = replace(
    UNICODE, kept=(*UNICODE.kept, "9."), abbreviations=("dr.", "usw."), common=("der", "es")
)

# | parts sentences; what is about it in the text is a space.
CASES = [
    (PENN, "It rained. | We left."),
    (PENN, "It rained! | Did you leave? | Yes."),
    (PENN, "Mr. Smith met Dr. A. B. Jones."),
    (PENN, "He works for Acme Inc. and likes it."),
    (PENN, "He works for Acme Inc. | She doesn't."),
    (PENN, "He lives in the U.S. | It is large."),
    (PENN, "The U.S. Senate met at 5 p.m. on Monday."),
    (PENN, "She left at 5 p.m. | They stayed."),
    (PENN, "It was 3 p.m. | Mr. Smith slept. | Dr. Prof. Jones met Mr. Lee of Acme Inc. | Ms. Hu."),
    (PENN, "So do I. | You too."),
    (PENN, "He said: “It rained.” | She left."),
    (PENN, '"Why?" he asked.'),
    (PENN, "(It rained.) | We left."),
    (PENN, "Wait... what | "),
    (PENN, "Wait... | What?"),
    (PENN, "Ann Potter . . . what an honour. | She left . . . | Then it rained."),
    (PENN, "Really ? ! ? | OK ."),
    (PENN, "it rained. | we left. | ok"),
    (PENN, "It cost 3.50. | We paid."),
    (PENN, "See Fig. 3 and No. 5 of vol. 2."),
    (PENN, "Did he? | No. | But she did."),
    (PENN, "1. First we left. | 2. Then it rained."),
    (PENN, "Well!! | Really?! | OK."),
    (PENN, "Great! :-) | Thanks."),
    (PENN, "See http://a.org/b.c?d=e. | Then go."),
    (PENN, "( Who left ? ) | He said `` yes . '' | OK ."),
    (PENN, 'He said: " It rained . " | " We left . " | OK'),
    (PENN, "Regards, Ann | ---------- | It rained | __________ | so"),
    (PENN, "no end"),
    (PENN, "... and so on"),
    (PENN, "e.g. this, i.e. that."),
    (GERMAN, "Am 3. Mai kam Dr. Maier. | Es war 1990. | Der Zug fuhr."),
    (UNICODE, "¿Qué? | ¡Ay! | Sí."),
    (UNICODE, "أهلا. | كيف حالك؟ | جيد."),
    (UNICODE, "यह अच्छा है। | वह गया।"),
]


@pytest.mark.parametrize(("scheme", "line"), CASES)
def test_where_sentences_end(scheme, line):
    text = line.replace("| ", "")
    wanted = [each.strip() for each in line.split("|") if each.strip()]
    assert [text[each.start : each.end] for each in split_text(text, scheme)] == wanted


def test_no_space_is_needed_where_none_is_written():
    text = "我爱你。你呢？好。”他说。"
    found = [text[each.start : each.end] for each in split_text(text, UNICODE)]
    assert found == ["我爱你。", "你呢？", "好。”", "他说。"]


def test_an_empty_line_ends_a_sentence_and_another_does_not():
    text = "A title\n\nIt rained\nall day. We left.\n\nEnd\n \n\n"
    for end in ("\n", "\r\n", "\r"):
        own = text.replace("\n", end)
        found = [own[each.start : each.end] for each in split_text(own)]
        assert found == ["A title", f"It rained{end}all day.", "We left.", "End"]


@given(st.one_of(TEXTS, MIXED), st.sampled_from(CONVENTIONS))
def test_sentences_cover_any_text(text, scheme):
    at = 0
    for sentence in split_text(text, scheme):
        assert sentence.tokens
        assert sentence.start == sentence.tokens[0].start
        assert sentence.end == sentence.tokens[-1].end
        assert text[at : sentence.start].strip() == ""
        assert sentence.words == [each.text for each in sentence.tokens]
        assert sentence.offsets == tuple((each.start, each.end) for each in sentence.tokens)
        at = sentence.end
    assert text[at:].strip() == ""


@given(st.one_of(TEXTS, MIXED))
def test_a_sentence_alone_has_the_same_words(text):
    for sentence in split_text(text):
        alone = tokenise(text[sentence.start : sentence.end])
        assert [(t.start + sentence.start, t.end + sentence.start) for t in alone] == list(
            sentence.offsets
        )


# Files ------------------------------------------------------------------------------------


def test_each_line_is_a_text_of_its_own():
    lines = ["It rained. We left.\n", "\n", "They\n", "stayed.\r\n", "bad \udcff\n"]
    found = list(read_text(lines, PENN, name="x"))
    assert [each.sentence and each.sentence.words for each in found] == [
        ["It", "rained", "."],
        ["We", "left", "."],
        None,
        ["They"],
        ["stayed", "."],
        None,
    ]
    assert [each.line for each in found] == [1, 1, 2, 3, 4, 5]
    assert found[1].text == "It rained. We left."
    assert found[1].sentence.offsets == ((11, 13), (14, 18), (18, 19))
    assert [each.problem is None for each in found] == [True] * 5 + [False]
    assert str(found[5].problem).startswith("x:5:5: ")


def test_wrapped_sentences_go_on_over_line_ends():
    lines = ["\n", "It\n", "rained. We\r\n", "left\n", " \n", "\n", "End", "bad\n", "\udcff\n"]
    found = list(read_text(lines, PENN, name="x", wrapped=True))
    assert [each.sentence and each.sentence.words for each in found] == [
        ["It", "rained", "."],
        ["We", "left"],
        None,
    ]
    assert [each.line for each in found] == [2, 2, 7]
    assert found[0].text == "It\nrained. We\nleft"
    assert str(found[2].problem).startswith("x:9:1: ")


def test_a_line_is_read_when_its_sentences_are_wanted():
    def lines():
        yield "One. Two.\n"
        raise AssertionError("the second line was read too early")

    found = read_text(lines(), PENN, name="x")
    assert [next(found).sentence.words[0] for _ in range(2)] == ["One", "Two"]
