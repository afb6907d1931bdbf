from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import SettingsError
from eigentree.evaluation.attachment import AttachmentOptions, align_sentences, score_attachment
from eigentree.evaluation.significance import bootstrap_interval
from eigentree.treebank.io.conllu import Sentence, Word
from tests.helpers import close
from tests.treebank.strategies import dependency_trees

WITH_SUBTYPES = AttachmentOptions(subtypes=True)


def sentence(*rows):
    """A sentence of rows "form upos head relation"."""
    words = []
    for number, row in enumerate(rows, start=1):
        form, upos, head, relation = row.split(" ")
        words.append(Word(number, form, upos=upos, head=int(head), deprel=relation))
    return Sentence(tuple(words), (f"# sent_id = {rows[0].split()[0]}",))


GOLD = sentence("she PRON 2 nsubj:pass", "left VERB 0 root", "% SYM 2 obj", "! PUNCT 2 punct")


def test_by_hand():
    parsed = GOLD.with_heads([2, 0, 4, 2], ["nsubj", "root", "obj", "dep"])
    result = score_attachment([GOLD], [parsed])
    assert (result.all.words, result.all.uas, result.all.las) == (4, 0.75, 0.5)
    # Both % and ! are punctuation to Unicode.
    assert (result.bare.words, result.bare.uas, result.bare.las) == (2, 1.0, 1.0)
    assert (result.bare.uem, result.bare.lem, result.all.uem) == (1.0, 1.0, 0.0)
    by_tags = score_attachment([GOLD], [parsed], AttachmentOptions("tags"))
    assert (by_tags.bare.words, by_tags.bare.las) == (3, 2 / 3)
    strict = score_attachment([GOLD], [parsed], WITH_SUBTYPES)
    assert (strict.all.uas, strict.all.las, strict.bare.las) == (0.75, 0.25, 0.5)
    assert result.relations == {
        "nsubj": (1, 1, 1),
        "root": (1, 1, 1),
        "obj": (1, 1, 0),
        "punct": (1, 0, 0),
        "dep": (0, 1, 0),
    }
    assert set(strict.relations) == {"nsubj:pass", "nsubj", "root", "obj", "punct", "dep"}
    assert result.notes == ()


def test_undirected_scores_count_reversed_arcs():
    gold = sentence("a X 2 x", "b X 0 root", "c X 2 x")
    parsed = gold.with_heads([0, 1, 1])
    result = score_attachment([gold], [parsed])
    # 1 -> 2 is 2 -> 1 reversed; 3 has another head, and no other root is an arc reversed.
    assert result.sentences[0].all[:4] == (3, 0, 0, 1)
    assert close(result.all.uuas, 1 / 3, rtol=1e-12)


def test_no_punctuation_is_reported():
    gold = sentence("a X 0 root", "b X 1 x")
    result = score_attachment([gold], [gold], AttachmentOptions("tags"))
    assert "no word was excluded as punctuation" in result.notes[0]
    assert result.all == result.bare


def test_punctuation_alone_has_no_score_without_it():
    gold = sentence("! PUNCT 0 root")
    result = score_attachment([gold], [gold])
    assert (result.all.uas, result.bare.uas, result.bare.uem) == (1.0, None, None)
    nothing = score_attachment([], [])
    assert (nothing.all.words, nothing.all.las, nothing.notes) == (0, None, ())


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (("a X 0 root", "c X 1 x"), "word 2 is 'b' in gold and 'c' in the parse"),
        (
            ("a X 0 root", "b\u200b X 1 x"),
            "word 2 is 'b' in gold and 'b\\u200b' in the parse (nothing and U+200B)",
        ),
        (("a X 0 root",), "2 words in gold and 1 in the parse"),
        (("a X 0 root", "b X 1 x", "c X 1 x"), "2 words in gold and 3 in the parse"),
    ],
)
def test_other_words_cannot_be_compared(rows, reason):
    gold = sentence("a X 0 root", "b X 1 x")
    result = score_attachment([gold, gold], [sentence(*rows), gold])
    assert [(one.status, one.reason) for one in result.problems] == [("error", reason)]
    assert (result.n_errors, result.all.words, result.all.uas) == (1, 2, 1.0)
    assert len(result.counts("uas")) == 1
    assert result.to_dict()["not_compared"][0]["sent_id"] == "a"


def test_what_is_missing():
    gold = sentence("a X 0 root", "b X 1 x")
    result = score_attachment([gold, None, gold], [None, gold, gold])
    assert [one.reason for one in result.problems] == ["no parse", "no gold tree"]
    assert (result.n_errors, result.n_missing) == (1, 1)
    assert (result.all.words, result.all.uas, result.all.uem) == (4, 0.5, 0.5)
    headless = Sentence((Word(1, "a"),))
    assert score_attachment([headless], [headless]).sentences[0].reason == (
        "word 1 has no head in gold"
    )


def test_settings_and_lengths_are_checked():
    with pytest.raises(SettingsError, match="punctuation is 'all'; it must be unicode or tags"):
        AttachmentOptions("all")
    with pytest.raises(SettingsError, match="1 gold sentences and 0 parsed ones"):
        score_attachment([GOLD], [])


def test_sentences_are_aligned_by_their_words():
    a, b, c = (sentence(f"{form} X 0 root") for form in "abc")
    again = sentence("a X 0 ROOT")
    found, left_over = align_sentences([a, None, b, a], [c, again, None, b, a])
    assert found == [again, None, b, a]
    assert left_over == [0]


relations = st.sampled_from(["a", "a:x", "a:y", "b"])
forms = st.sampled_from(["go", ".", "%", "«", "3", "..."])


@st.composite
def pairs(draw):
    gold_heads = draw(dependency_trees())
    n = len(gold_heads)
    given_heads = draw(dependency_trees(n))
    told = [draw(forms) for _ in range(n)]
    return [
        Sentence(
            tuple(
                Word(i, form, head=head, deprel=draw(relations))
                for i, (form, head) in enumerate(zip(told, heads, strict=True), start=1)
            )
        )
        for heads in (gold_heads, given_heads)
    ]


def f1_of_aligned(gold, parsed, part):
    """As the shared task of 2018 computes it: recall and precision of aligned words, then F1."""
    correct = sum(part(one) == part(other) for one, other in zip(gold, parsed, strict=True))
    precision, recall = correct / len(parsed), correct / len(gold)
    return 2 * precision * recall / (precision + recall) if correct else 0.0


@given(st.lists(pairs(), min_size=1, max_size=3))
def test_scores_are_those_of_the_shared_task(bank):
    gold, parsed = zip(*bank, strict=True)
    result = score_attachment(gold, parsed)
    ours = [(i, word) for i, one in enumerate(gold) for word in one.words]
    theirs = [(i, word) for i, one in enumerate(parsed) for word in one.words]

    def universal(item):
        return item[1].head, item[1].deprel.split(":")[0]

    assert close(result.all.uas, f1_of_aligned(ours, theirs, lambda one: one[1].head), rtol=1e-12)
    assert close(result.all.las, f1_of_aligned(ours, theirs, universal), rtol=1e-12)
    strict = score_attachment(gold, parsed, WITH_SUBTYPES)
    assert strict.all.las <= result.all.las <= result.all.uas <= result.all.uuas
    assert result.bare.words <= result.all.words
    # The counts are those of the figures.
    for measure in ("uas", "las"):
        matched, words, again = result.counts(measure).sum(axis=0)
        assert words == again == result.all.words
        assert close(matched / words, getattr(result.all, measure), rtol=1e-12)


@given(pairs())
def test_gold_against_itself_is_right(pair):
    result = score_attachment(pair[:1], pair[:1], WITH_SUBTYPES)
    every = result.all
    assert (every.uas, every.las, every.uuas, every.lem, every.mean_las) == (1.0,) * 5


def test_the_interval_is_that_of_the_share_of_right_words():
    rng = np.random.default_rng(3)
    gold = [GOLD] * 30
    parsed = [GOLD.with_heads([2, 0, 2, 2 if rng.random() < 0.5 else 3]) for _ in gold]
    result = score_attachment(gold, parsed)
    low, high = bootstrap_interval(result.counts("uas"), seed=1, n_samples=500)
    assert low < result.all.uas < high
