"""Text into words: hard cases, and what holds for any string."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.sentences import split_text
from eigentree.tokenisation.words import tokenise

PENN = TokenisationScheme()
UNICODE = TokenisationScheme.of_mode("unicode")
# As where a treebank cuts at hyphens and slashes, but for some words.
SPLIT = replace(
    PENN,
    kept=tuple(shape for shape in PENN.kept if shape not in ("a-a", "a-9", "9-a", "a/a")),
    whole=("e-mail", "t-shirt"),
    prefixes=("non", "co"),
    units=("am", "km"),
)
FRACTIONS = replace(
    PENN, kept=tuple(shape for shape in PENN.kept if shape != "9/9"), whole=("1/2",)
)
FINAL = replace(PENN, kept=(*PENN.kept, "a.a."))
FRENCH = replace(
    UNICODE,
    kept=(*UNICODE.kept, "a-a"),
    before=("l'", "d'", "qu'"),
    after=("-ce", "-t-il"),
    whole=("aujourd'hui",),
)
GERMAN = replace(UNICODE, kept=(*UNICODE.kept, "a-a", "a-", "9."), abbreviations=("dr.", "usw."))
CHINESE = replace(UNICODE, spaceless=("北京", "大学", "北京大学", "学生"))

# Of each line, what is a space here is one in the text, and | parts words that have none between.
CASES = [
    (PENN, "I do|n't know|."),
    (PENN, "We ca|n't|, wo|n't|, and should|n't|'ve|."),
    (PENN, "I|'m sure they|'ll say we|'ve won and he|'d lose|."),
    (PENN, "Mr. O'Brien|'s dogs|' food"),
    (PENN, "can|not and CAN|NOT and can not"),
    (PENN, "gon|na wan|na got|ta lem|me gim|me du|n|no"),
    (PENN, "'t|is true"),
    (PENN, "it 's cut already"),
    (PENN, "do|n’t it|’s"),
    (PENN, "Mr. and Mrs. Smith met Dr. Jones at 5 p.m. today|."),
    (PENN, "He left the U.S. in May|."),
    (PENN, "He left the U.S|."),
    (PENN, "He left the U.S|.|)"),
    (PENN, "J. R. R. Tolkien"),
    (PENN, "So do I|."),
    (PENN, "It cost $|5|, or US$|3.50|, or €|4|."),
    (PENN, "up 5|% to 10.5|%"),
    (PENN, "1,000,000 and 3.14 and .5 and 1/2 and 10:30"),
    (PENN, "one|, two|, three"),
    (PENN, "well-known 30-year-old A-10 and/or AT&T"),
    (PENN, "He said|: |\"|Yes|, |``|no|''|.|\"".replace("|: |", "|: ").replace("|, |", "|, ")),
    (PENN, "Well|... no|…"),
    (PENN, "What|?!? No|!!!"),
    (PENN, "a|--|b and c|—|d and e|–|f"),
    (PENN, "see http://example.com/a?b=c&d=(e)|, or www.example.org/x|."),
    (PENN, "mail jane.doe+x@example.co.uk|; or ask @jane about #parsing"),
    (PENN, "(|see https://example.com/|)"),
    (PENN, "example.com|, read.me"),
    (PENN, "fine :-) or :( or <3"),
    (PENN, "👍🏽 👩‍👩‍👧|🇩🇪|🇫🇷 1️⃣"),
    (PENN, "(|a|)|[|b|]|{|c|}"),
    (PENN, "(|(|a|)|)"),
    (PENN, "the '90s and 'em"),
    (PENN, "rock 'n|' roll"),
    (PENN, "a|;|b|:|c"),
    (PENN, "C++ or C#|, g++|; F#|. C|+|, C|+++"),
    (PENN, "#1 and #a"),
    (PENN, "x|=|y|+|z|*|2"),
    (PENN, "file_name_2.txt v2.0b"),
    (PENN, "10|€ and 20|°|C"),
    (PENN, "etc., etc|.".replace("etc.,", "etc.|,")),
    (PENN, "&amp; and &|c"),
    (PENN, "Jerry|&#39;|s &#x1F600; &|#|x|;"),
    (PENN, "2nd 8am B2"),
    (PENN, "He paused|.|.".replace(".|.", "..")),
    (PENN, "Dr|."),
    (PENN, "O.K|."),
    (PENN, "l'homme d'accord"),
    (SPLIT, "well|-|known e-mail T-shirt non-profit co-worker"),
    (SPLIT, "non-e-mail"),
    (SPLIT, "an e-mail|-|like thing"),
    (SPLIT, "and|/|or 9/11 10-12"),
    (SPLIT, "8|am 5|km 2nd"),
    (FRACTIONS, "1/2 and 3/4 of 2 1/8|, but 4|/|3 on 10|/|12|/|2012 or 6|/|7|/|8"),
    (replace(FRACTIONS, whole=("9/11",)), "9/11 and 3/4 of 24|/|7"),
    (replace(FRACTIONS, whole=("e-mail",)), "1|/|2 and 3|/|4"),
    (FINAL, "He left the U.S."),
    (FINAL, "He left Washington D.C.|)"),
    (FINAL, "At 3 p.m. he said no|."),
    (FRENCH, "L'|homme d'|accord qu'|il aujourd'hui"),
    (FRENCH, "est|-ce vrai|, va|-t-il"),
    (FRENCH, "l'|d'|a"),
    (GERMAN, "Haupt- und Neben-Eingang am 3. Mai"),
    (GERMAN, "Dr. Maier z.B. kam|, usw. und so weiter|."),
    (GERMAN, "am 3|."),
    (UNICODE, "do|n't".replace("|", "")),
    (UNICODE, "état naïve Straße İstanbul"),
    (UNICODE, "Türkiye'nin 5|'|i".replace("5|'|i", "5|'|i")),
    (UNICODE, "soft\u00adhyphen zero\u200bwidth"),
    (UNICODE, "e\u0301te\u0301"),
    (UNICODE, "مرحبا|، كيف حالك|؟"),
    (UNICODE, "हिन्दी में लिखा|।"),
    (UNICODE, "안녕하세요 세계"),
    (UNICODE, "我|爱|你|。"),
    (UNICODE, "これは|テスト|です".replace("これは|", "これは|")),
    (UNICODE, "iPhone|手|机|5|G".replace("5|G", "5G")),
    (UNICODE, "ภาษาไทย"),
    (UNICODE, "“|quoted|” «|so|» „|und|“"),
    (UNICODE, "¿|Qué|? ¡|Ay|!"),
    (UNICODE, "well|-|known"),
    (CHINESE, "北京大学|学生"),
    (CHINESE, "北京|的|大学"),
    (PENN, "a\u00a0b\u2028c\u3000d\tf"),
    (PENN, "\0|a"),
    (PENN, ""),
    (PENN, " \t "),
]


def split_case(line: str) -> tuple[str, list[str]]:
    words = [word for word in regex.split(r"[|\s\x1c-\x1f]+", line) if word]
    return line.replace("|", ""), words


@pytest.mark.parametrize(("scheme", "line"), CASES)
def test_hard_cases(scheme, line):
    text, words = split_case(line)
    assert [text[each.start : each.end] for each in tokenise(text, scheme)] == words


def test_there_are_many_hard_cases():
    assert len(CASES) >= 60


# What a treebank writes -------------------------------------------------------------------

WSJ = replace(PENN, marks=("``", "''", "--", "'", "`", "..."))
EWT = replace(PENN, marks=('"', "'", "-", "...", "--"))


@pytest.mark.parametrize(
    ("scheme", "text", "words"),
    [
        (WSJ, 'He said "yes" and “no”.', "He said `` yes '' and `` no '' ."),
        (WSJ, '"Yes," he said, "no."', "`` Yes , '' he said , `` no . ''"),
        (WSJ, '("a")("b")', "( `` a '' ) ( `` b '' )"),
        (WSJ, "It’s—well…", "It 's -- well ..."),
        (WSJ, "‘a’ ''b''", "` a ' '' b ''"),
        (EWT, "``Yes,'' he said, “no.”", '" Yes , " he said , " no . "'),
        (EWT, "don’t", "do n't"),
        (PENN, "“It’s”", "“ It ’s ”"),
    ],
)
def test_marks_are_written_as_the_treebank_has_them(scheme, text, words):
    assert [each.text for each in tokenise(text, scheme)] == words.split()


def test_words_that_stand_for_several():
    french = replace(
        FRENCH, contracted=(("du", "de", "le"), ("des", "de", "les"), ("dámelo", "dá", "me", "lo"))
    )
    tokens = tokenise("Du pain, DES, dámelo", french)
    assert [each.text for each in tokens] == [
        "De",
        "le",
        "pain",
        ",",
        "DE",
        "LES",
        ",",
        "dá",
        "me",
        "lo",
    ]
    spans = [(each.start, each.end) for each in tokens]
    assert spans[:2] == [(0, 2), (0, 2)]
    assert spans[-3:] == [(14, 16), (16, 18), (18, 20)]


# What holds for any string ----------------------------------------------------------------

LETTERS = st.one_of(
    st.characters(),
    st.sampled_from("aZ9.,-'’\"/ \n\t\0\u200b\u00ad\u0301\u200d\ufe0f手กñ👩🇩$%@:#_&(“”?!"),
)
TEXTS = st.text(LETTERS, max_size=60)
PIECES = ("can't", "e-mail", "http://", "a@b.c", "...", "l'", "U.S.", " ", "''", "8am", "非", "du")
MIXED = st.lists(st.one_of(st.sampled_from(PIECES), st.text(LETTERS, max_size=4))).map("".join)
CONVENTIONS = [PENN, UNICODE, SPLIT, FRENCH, GERMAN, CHINESE, WSJ]


def check(text, scheme):
    tokens = tokenise(text, scheme)
    at = 0
    for token in tokens:
        assert at <= token.start < token.end <= len(text)
        assert text[at : token.start] == "" or text[at : token.start].isspace()
        assert not any(each.isspace() for each in text[token.start : token.end])
        assert token.text
        at = token.end
    assert text[at:] == "" or text[at:].isspace()
    clusters = {match.end() for match in regex.finditer(r"\X", text)}
    for first, second in pairwise(tokens):
        # White space parts words even from a mark that would join it.
        assert first.end < second.start or first.end in clusters


@given(st.one_of(TEXTS, MIXED), st.sampled_from(CONVENTIONS))
def test_any_text_is_covered_by_disjoint_tokens(text, scheme):
    check(text, scheme)


@given(st.one_of(TEXTS, MIXED))
def test_tokens_of_tokens_are_themselves(text):
    # Words that the penn scheme finds hold nothing to be cut but for a last full stop.
    for token in tokenise(text, UNICODE):
        surface = text[token.start : token.end]
        if not surface.endswith("."):
            assert all(each.text in surface for each in tokenise(surface, UNICODE))


PARTS = [
    "a",
    "a-",
    ".",
    "a@",
    "'s",
    "x.com",
    "手",
    "e\u0301",
    "(a. ",
    "n't",
    "http://",
    "9a",
    "a. ' ",
]


@pytest.mark.parametrize("scheme", CONVENTIONS[:6])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("cut", [tokenise, split_text])
def test_long_lines_take_linear_time(cut, scheme, part):
    # Twice the work for twice the line, counted as lines of Python that are run.
    steps = [count_steps(cut, part * n, scheme) for n in (300, 600)]
    assert steps[1] <= 2.2 * steps[0] + 200


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_patterns_take_linear_time(part):
    # What Python's lines don't show: a pattern that goes back would take hours here.
    for scheme in (PENN, UNICODE):
        tokens = tokenise(part * 30_000, scheme)
        assert tokens[-1].end >= 30_000 * len(part) - 1
        assert split_text(part * 30_000, scheme)


def count_steps(cut, text, scheme):
    n_steps = 0

    def trace(*_):
        nonlocal n_steps
        n_steps += 1
        return trace

    cut("warm", scheme)
    sys.settrace(trace)
    try:
        cut(text, scheme)
    finally:
        sys.settrace(None)
    return n_steps


# Characters whose patterns look far back or ahead; a scheme with some known words of each script.
SCRIPTS = replace(
    UNICODE, spaceless=("กก", "日本", "かな"), whole=("e-mail", "l'a"), kept=(*UNICODE.kept, "a-a")
)
RUNS = [
    *("กิ", "က", "カ", "日", "한", "क्", "🇬", "👩\u200d", "\u0301", "-\u0301", "\u0600"),
    *("1,", ".", "''", "^_", "http://)", "co-"),
]


def test_runs_without_a_blank_take_linear_time():
    for run in RUNS:
        seconds = []
        for n in (6_000, 24_000):
            text = run * (n // len(run)) + "“"
            begun = time.process_time()
            sentences = split_text(text, SCRIPTS)
            seconds.append(time.process_time() - begun)
            assert sentences[-1].end == len(text)
        # Four times the text takes four times as long, or sixteen times if it is quadratic.
        assert seconds[1] < 8 * seconds[0] + 0.4, run


def test_trailing_brackets_of_addresses():
    text = "http://a.b/(c)" + ")" * 5
    assert [each.text for each in tokenise(text, PENN)] == ["http://a.b/(c)", *(")" * 5)]


@pytest.mark.slow
def test_a_line_of_a_megabyte():
    text = "The well-known dog's e-mail (no. 5) said: \"I can't.\" " * 20_000
    tokens = tokenise(text, PENN)
    assert tokens[-1].end == len(text) - 1
    assert len(tokens) == 20_000 * 17


# spaCy ------------------------------------------------------------------------------------


def test_without_spacy_one_sentence_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(SettingsError, match="the package spacy is not installed"):
        tokenise("a", PENN.with_mode("spacy:xx"))


def test_spacy_cuts_words_where_it_is_installed():
    pytest.importorskip("spacy")
    tokens = tokenise(" Das ist  z.B. gut. ", PENN.with_mode("spacy:de"))
    assert [each.text for each in tokens] == ["Das", "ist", "z.B.", "gut", "."]
    assert tokens[2] == ("z.B.", 10, 14)
    long = tokenise('Ja "' + '"' * 3000 + " nein", PENN.with_mode("spacy:de"))
    assert [each.text for each in (long[0], long[-1])] == ["Ja", "nein"]
    assert [each.text for each in long[1:-1]] == ['"'] * 3001
    with pytest.raises(SettingsError, match="spaCy has no rules for the language 'zz'"):
        tokenise("a", PENN.with_mode("spacy:zz"))
