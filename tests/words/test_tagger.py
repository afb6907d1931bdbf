"""The tagger learns, gives only tags it has seen, and comes back from bytes."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree.errors import GrammarError, ModelFileError, SettingsError
from eigentree.treebank.io.sentences import read_sentences
from eigentree.treebank.io.text_files import open_text
from eigentree.words import tagger as tagger_module
from eigentree.words.tagger import Tagger, jackknife
from tests.helpers import close

Sentences = list[tuple[list[str], list[str]]]


def small_language(rng: np.random.Generator, n_sentences: int) -> Sentences:
    """Determiner, adjectives, noun, verb; `light` is a noun or a verb by its place."""
    nouns = ["dog", "cat", "light", "station", "Vienna", "nation"]
    verbs = ["sees", "walks", "light", "hears"]
    sentences = []
    for _ in range(n_sentences):
        pairs = [("The", "DT")] if rng.random() < 0.9 else [("A", "DT")]
        pairs += [(str(rng.choice(["old", "green"])), "JJ") for _ in range(rng.integers(0, 3))]
        pairs += [(str(rng.choice(nouns)), "NN"), (str(rng.choice(verbs)), "VB")]
        pairs += [("the", "DT"), (str(rng.choice(nouns)), "NN"), (".", ".")]
        sentences.append(([word for word, _ in pairs], [tag for _, tag in pairs]))
    return sentences


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    return small_language(np.random.default_rng(5), 80)


@pytest.fixture(scope="module")
def trained(sentences: Sentences) -> Tagger:
    return Tagger.train(sentences)


@pytest.fixture(scope="module")
def word_by_word(sentences: Sentences) -> Tagger:
    """The same as `trained`, as if its five tags were many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tagger_module, "MAX_CHAINED_TAGS", 4)
        return Tagger.train(sentences)


@pytest.fixture(params=["trained", "word_by_word"])
def either(request: pytest.FixtureRequest) -> Tagger:
    tagger: Tagger = request.getfixturevalue(request.param)
    return tagger


def test_training_data_are_learnt(either: Tagger, sentences: Sentences) -> None:
    assert set(either.tagset) == {"DT", "JJ", "NN", "VB", "."}
    for words, tags in sentences:
        assert either.tag(words) == tags


def test_place_and_ending_tell_new_words(either: Tagger) -> None:
    words = ["The", "green", "relation", "light", "the", "old", "light", "."]
    assert either.tag(words) == ["DT", "JJ", "NN", "VB", "DT", "JJ", "NN", "."]


def test_capitals_at_the_beginning_are_no_obstacle(either: Tagger) -> None:
    # "Old" was never seen with a capital.
    assert either.tag(["Old", "dog", "sees", "the", "cat", "."])[0] == "JJ"


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6))
def test_any_words_get_known_tags(trained: Tagger, words: list[str]) -> None:
    tags = trained.tag(words)
    assert len(tags) == len(words)
    assert set(tags) <= set(trained.tagset)


def test_marginals_are_probabilities_of_the_best_first(either: Tagger) -> None:
    words = ["The", "light", "light", "the", "zzz", "."]
    everything = either.marginals(words, minimum=0.0)
    assert len(everything) == len(words)
    for found in everything:
        assert {tag for tag, _ in found} == set(either.tagset)
        assert close(sum(probability for _, probability in found), 1.0, rtol=1e-9)
        assert found == sorted(found, key=lambda item: -item.probability)
    assert [found[0].tag for found in everything] == either.tag(words)
    likely = either.marginals(words, minimum=0.01)
    assert likely == [[item for item in found if item[1] >= 0.01] for found in everything]
    only_best = either.marginals(words, minimum=1.1)
    assert only_best == [found[:1] for found in everything]


def test_marginals_sum_over_whole_taggings(trained: Tagger) -> None:
    # The chain's own probability of every tagging, summed by brute force.
    words = ["The", "light", "light"]
    crf = trained._crf
    crf.set(tagger_module._features(words))
    expected = dict.fromkeys(trained.tagset, 0.0)
    for first in trained.tagset:
        for second in trained.tagset:
            for third in trained.tagset:
                expected[second] += crf.probability([first, second, third])
    actual = dict(trained.marginals(words, minimum=0.0)[1])
    for tag, probability in expected.items():
        assert close(actual[tag], probability, rtol=1e-6)


def test_no_words_and_one_word(either: Tagger) -> None:
    assert either.tag([]) == []
    assert either.marginals([]) == []
    (tag,) = either.tag(["dog"])
    assert tag in either.tagset


def test_one_tag_and_one_word_to_learn_from() -> None:
    tagger = Tagger.train([(["Yes"], ["UH"]), ([], [])])
    assert tagger.tag(["No", "never"]) == ["UH", "UH"]
    assert tagger.marginals(["No"])[0] == [("UH", 1.0)]


def test_bytes_are_the_tagger(either: Tagger, sentences: Sentences) -> None:
    words = [words for words, _ in sentences]
    expected = [either.marginals(sentence) for sentence in words]
    again = Tagger.from_bytes(either.to_bytes())
    gc.collect()  # the model's bytes must live as long as the tagger
    noise = [bytes(1000) for _ in range(1000)]
    assert [again.marginals(sentence) for sentence in words] == expected
    assert len(noise) == 1000
    assert again.to_bytes() == either.to_bytes()


def test_training_is_deterministic_in_every_process(sentences: Sentences) -> None:
    code = (
        "import hashlib, sys; from eigentree.words.tagger import Tagger; "
        f"print(hashlib.sha256(Tagger.train({sentences[:20]!r}).to_bytes()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("cut", [0, 5, 24, 25, 40, 1000, -1])
def test_bytes_that_are_cut(trained: Tagger, cut: int) -> None:
    with pytest.raises(ModelFileError, match="not a whole tagger of this version"):
        Tagger.from_bytes(trained.to_bytes()[:cut])


def test_bytes_of_something_else(trained: Tagger) -> None:
    content = trained.to_bytes()
    for other in (b"x" * 100, content + b"x", content.replace(b"tagger 1", b"tagger 2")):
        with pytest.raises(ModelFileError, match="not a whole tagger of this version"):
            Tagger.from_bytes(other)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "no tagged word"),
        ([([], [])], "no tagged word"),
        ([(["a"], ["X"]), (["b", "c"], ["X"])], "sentence 2 .* has 2 words and 1 tags"),
        ([(["a"], ["X"]), ([], ["X"])], "sentence 2 .* has 0 words and 1 tags"),
    ],
)
def test_training_data_that_cannot_train(sentences: Any, message: str) -> None:
    with pytest.raises(GrammarError, match=message):
        Tagger.train(sentences)


def test_one_string_is_not_a_sentence(trained: Tagger) -> None:
    for action in (trained.tag, trained.marginals):
        with pytest.raises(TypeError, match="a list of words is expected, not one string"):
            action("The dog")


def test_straight_quotes_open_and_close_in_turn() -> None:
    # Only the first of two quotes is ever seen before a comma or a verb.
    opened = [(['"', "yes", '"', "says", "he"], ["``", "UH", "''", "VBZ", "PRP"])] * 5
    opened += [(["he", "says", '"', ",", '"'], ["PRP", "VBZ", "``", ",", "''"])] * 5
    tagger = Tagger.train(opened)
    words = ['"', "yes", ",", '"', "he", "says", '"', "yes", '"']
    quotes = [tagger.tag(words)[place] for place in (0, 3, 6, 8)]
    assert quotes == ["``", "''", "``", "''"]
    best = [row[0].tag for row in tagger.marginals(words, minimum=0.0)]
    assert best == tagger.tag(words)
    for row in tagger.marginals(words, minimum=0.0):
        assert close(sum(each.probability for each in row), 1.0, rtol=1e-9)
    # A quote alone is tagged as any word.
    assert tagger.tag(["he", "says", '"'])[2] in ("``", "''")


def test_half_of_a_character_is_refused(trained: Tagger) -> None:
    with pytest.raises(SettingsError, match="half of a character"):
        trained.tag(["a", "\ud800"])


def test_progress_is_reported(sentences: Sentences) -> None:
    told: list[tuple[int, int]] = []
    Tagger.train(sentences, progress=lambda done, most: told.append((done, most)))
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert 5 < len(told) <= told[0][1]
    assert len({most for _, most in told}) == 1


def test_threads_may_share_a_tagger(trained: Tagger, sentences: Sentences) -> None:
    expected = [trained.marginals(words) for words, _ in sentences]
    wrong: list[int] = []

    def work() -> None:
        for number, (words, _) in enumerate(sentences):
            if trained.marginals(words) != expected[number]:
                wrong.append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_jackknife_never_tags_what_it_has_seen() -> None:
    # Every sentence is one word of its own, tagged with its own tag: what a tagger saw it
    # knows, so a right tag would betray it.
    sentences = [([word], [word.upper()]) for word in ("ab", "cd", "ef", "gh", "ij", "kl")]
    told: list[tuple[int, int]] = []
    tagged = jackknife(sentences, folds=3, progress=lambda done, all_: told.append((done, all_)))
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert [len(tags) for tags in tagged] == [1] * 6
    for fold in range(3):
        unseen = {tag for _, tags in sentences[2 * fold : 2 * fold + 2] for tag in tags}
        assert unseen.isdisjoint(tag for tags in tagged[2 * fold : 2 * fold + 2] for tag in tags)


def test_jackknife_is_each_fold_by_the_others(sentences: Sentences) -> None:
    tagged = jackknife(sentences[:9], folds=2)
    first, second = sentences[:4], sentences[4:9]
    by_second, by_first = Tagger.train(second), Tagger.train(first)
    assert tagged[:4] == [by_second.tag(words) for words, _ in first]
    assert tagged[4:] == [by_first.tag(words) for words, _ in second]


@pytest.mark.parametrize("folds", [-1, 0, 1, 4])
def test_folds_that_make_no_sense(folds: int, sentences: Sentences) -> None:
    with pytest.raises(GrammarError, match="3 sentences can't be split into"):
        jackknife(sentences[:3], folds=folds)


def test_a_real_treebank(treebanks: Path) -> None:
    # Trained on a tenth of it; all of it gives 96.4 %.
    def tagged(part: str) -> Sentences:
        with open_text(treebanks / "wsj_sample" / f"{part}.mrg") as lines:
            return [
                (sentence.words, sentence.tags or [])
                for sentence in read_sentences(lines, "trees", on_error="skip")
            ]

    tagger = Tagger.train(tagged("train")[::10])
    n_words = n_right = 0
    for words, tags in tagged("dev"):
        n_words += len(words)
        n_right += sum(map(str.__eq__, tagger.tag(words), tags))
    assert n_right / n_words > 0.91


def test_features_do_not_depend_on_the_segments(monkeypatch):
    words = ["A", "dog", "--", "3.5", "sees", "it", "."]
    for length in range(len(words) + 1):
        whole = tagger_module._features(words[:length])
        for longest in (1, 2, 3, 10):
            monkeypatch.setattr(tagger_module, "_MAX_SEGMENT", longest)
            segments = list(tagger_module._segments(words[:length], None))
            assert [row for _, rows in segments for row in rows] == whole
            assert [word for some, _ in segments for word in some] == words[:length]
