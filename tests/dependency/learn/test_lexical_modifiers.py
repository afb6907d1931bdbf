"""Lexical models of modifiers: counts, back-off, states, and what is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from eigentree.dependency.learn.lexical_modifiers import (
    HeadedSentence,
    LexicalModifierOptions,
    count_lexical_modifiers,
    search_weight,
)
from eigentree.dependency.lexical_modifiers import LexicalModifiers
from eigentree.errors import GrammarError, SettingsError, ShapeError
from eigentree.model_file import open_model, save_model
from eigentree.treebank.lexicon import UNKNOWN, LexiconOptions
from tests.helpers import close

STATES = ("one-state", "first", "coordination-punctuation")
TREES = [
    HeadedSentence(words.split(), tags.split(), [int(head) for head in heads.split()])
    for words, tags, heads in [
        ("the dog saw the cat .", "DET NOUN VERB DET NOUN PUNCT", "2 3 0 5 3 3"),
        ("the old , grey dog and cat slept", "DET ADJ PUNCT ADJ NOUN CCONJ NOUN VERB",
         "5 5 5 5 8 5 5 0"),
        ("saw it the old saw", "VERB PRON DET ADJ NOUN", "0 1 5 5 1"),
        ("cat and dog and saw , it said .", "NOUN CCONJ NOUN CCONJ NOUN PUNCT PRON VERB PUNCT",
         "8 1 1 1 1 8 8 0 8"),
        ("the dog 's cat", "DET NOUN PART NOUN", "2 4 2 0"),
        ("Yes", "INTJ", "0"),
        ("a b c", "X Y Z", "3 0 2"),  # crosses the arc of the root
    ]
]  # fmt: skip
OPTIONS = LexicalModifierOptions(lexicon=LexiconOptions(rare_threshold=1))


def counted(states: str = "coordination-punctuation", **settings: float) -> LexicalModifiers:
    return count_lexical_modifiers(TREES, replace(OPTIONS, states=states, **settings))


def sequences(sentence: HeadedSentence):
    """Head, direction and modifiers from the head outwards; words count from 1."""
    n = len(sentence.words)
    for head in range(n + 1):
        own = [m for m in range(1, n + 1) if sentence.heads[m - 1] == head]
        if head:
            yield head, 0, [m for m in reversed(own) if m < head]
        yield head, 1, [m for m in own if m > head]


class PlainModel:
    """The model of the paper with dictionaries, one formula after the other."""

    def __init__(self, model: LexicalModifiers, states: str, diversity: float) -> None:
        self.model, self.states, self.diversity = model, states, diversity
        self.counts: dict[tuple, Counter] = defaultdict(Counter)
        for sentence in TREES:
            words, tags = self.names(sentence)
            for head, direction, modifiers in sequences(sentence):
                state = 0
                for m in [*modifiers, None]:
                    tag, word = ("STOP", None) if m is None else (tags[m], words[m])
                    fine = (words[head], tags[head], direction, state)
                    coarse = (tags[head], direction, state)
                    for given in (fine, coarse):
                        self.counts[given][tag] += 1
                        if m is not None:
                            self.counts[(tag, *given)][word] += 1
                    if m is not None:
                        self.counts[tag,][word] += 1
                        state = self.after(tag)

    def names(self, sentence: HeadedSentence) -> tuple[list[str], list[str]]:
        entries = self.model.lexicon.entries
        words = [entries[at] for at in self.model.lexicon.ids(sentence.words)]
        return ["*", *words], ["*", *sentence.tags]

    def after(self, tag: str) -> int:
        if self.states == "one-state":
            return 0
        if self.states == "first":
            return 1
        return {"CCONJ": 1, "PUNCT": 2}.get(tag, 3)

    def mixed(self, outcome: str, levels: list[tuple], n_outcomes: int) -> float:
        *finer, coarsest = (self.counts.get(level, Counter()) for level in levels)
        p = (coarsest[outcome] + 1 / n_outcomes) / (coarsest.total() + 1)
        for counts in reversed(finer):
            total, distinct = counts.total(), len(counts)
            if total:
                weight = total / (total + self.diversity * distinct)
                p = weight * counts[outcome] / total + (1 - weight) * p
        return p

    def step(self, head: tuple[str, str], direction: int, state: int, word: str, tag: str) -> float:
        fine, coarse = (*head, direction, state), (head[1], direction, state)
        return self.mixed(tag, [fine, coarse], len(self.model.tags) + 2) * self.mixed(
            word, [(tag, *fine), (tag, *coarse), (tag,)], len(self.model.lexicon)
        )

    def stop(self, head: tuple[str, str], direction: int, state: int) -> float:
        fine, coarse = (*head, direction, state), (head[1], direction, state)
        return self.mixed("STOP", [fine, coarse], len(self.model.tags) + 2)


NEW = HeadedSentence(
    ["The", "old", "dog", "barked", "and", "the", "cat", "hissed", "!"],
    ["DET", "ADJ", "NOUN", "VERB", "CCONJ", "DET", "NOUN", "VERB", "NEW"],
    [3, 3, 4, 0, 4, 7, 8, 4, 4],
)


@pytest.mark.parametrize("diversity", [5.0, 0.5])
@pytest.mark.parametrize("states", STATES)
def test_probabilities_are_those_of_the_formulas(states, diversity):
    model = counted(states, diversity=diversity)
    plain = PlainModel(model, states, diversity)
    for sentence in (*TREES, NEW):
        words, tags = plain.names(sentence)
        found = model.of_sentence(sentence.words, sentence.tags)
        n = len(words)
        assert found.step.shape == (n, n, model.n_states)
        for h in range(n):
            for s in range(model.n_states):
                for d in (0, 1):
                    expected = plain.stop((words[h], tags[h]), d, s)
                    assert close(found.stop[h, d, s], expected, rtol=1e-13)
                for m in range(n):
                    expected = 0.0
                    if m not in (0, h):
                        d = int(m > h)
                        expected = plain.step((words[h], tags[h]), d, s, words[m], tags[m])
                        assert expected > 0.0
                    assert close(found.step[h, m, s], expected, rtol=1e-13)
        assert found.after[1:].tolist() == [plain.after(tag) for tag in tags[1:]]


@pytest.mark.parametrize("states", STATES)
def test_outcomes_sum_to_one(states):
    # All tags and an unknown one, with all entries as words, once each, and then the end.
    model = counted(states)
    tags, entries = [*model.tags, "NEW"], [*model.lexicon.entries]
    pairs = [(entry, tag) for tag in tags for entry in entries]
    words = ["old", *(entry for entry, _ in pairs)]
    found = model.of_sentence(words, ["ADJ", *(tag for _, tag in pairs)])
    for head in (0, 1):
        total = found.step[head, 2:].sum(axis=0) + found.stop[head, 1]
        assert close(total, np.ones(model.n_states), rtol=1e-12)


def test_a_hand_count():
    # Ten nouns have ten modifiers to their left, and ten ends; four of them are cats, which have
    # an article, a noun, and the ends.
    model = counted("one-state")
    coarse = (10 + 1 / (len(model.tags) + 2)) / (20 + 1)
    found = model.of_sentence(["cat"], ["NOUN"]).stop[1, 0, 0]
    assert close(found, (4 + 5 * 3 * coarse) / (6 + 5 * 3), rtol=1e-14)


def test_states_follow_the_previous_modifier():
    model = counted()
    tags = ["CCONJ", "PUNCT", "NOUN", "NEW"]
    assert model.of_sentence(["x"] * 4, tags).after.tolist() == [0, 1, 2, 3, 3]
    penn = count_lexical_modifiers(
        [HeadedSentence(["a", "b", "c", "d"], ["NN", "CC", ",", "VB"], [0, 1, 1, 1])]
    )
    assert dict(zip((*penn.tags, "other"), penn.after.tolist(), strict=True)) == {
        "CC": 1, ",": 2, "NN": 3, "VB": 3, "other": 3
    }  # fmt: skip
    named = replace(OPTIONS, coordination=("ADJ",), punctuation=("CCONJ",))
    found = count_lexical_modifiers(TREES, named).of_sentence(["x"] * 3, ["ADJ", "CCONJ", "PUNCT"])
    assert found.after.tolist() == [0, 1, 2, 3]


def test_unknown_words_share_a_class():
    model = counted()
    assert UNKNOWN in model.lexicon.entries
    tags = ["NOUN", "VERB"]
    first, second = model.of_sentence(["qat", "zzz"], tags), model.of_sentence(["yyy", "xx"], tags)
    assert np.array_equal(first.step, second.step)
    known = model.of_sentence(["dog", "saw"], tags)
    assert not np.array_equal(first.step, known.step)


def test_an_empty_sentence_has_only_its_root():
    found = counted().of_sentence([], [])
    assert found.step.shape == (1, 1, 4)
    assert np.all(found.stop[0, 1] > 0.0)


def test_a_model_file_gives_the_model_back(tmp_path):
    model = counted()
    save_model(tmp_path / "model", {"kind": "test"}, model.to_arrays())
    arrays = open_model(tmp_path / "model").arrays
    again = LexicalModifiers.from_arrays(model.tags, model.lexicon, model.diversity, arrays)
    for one, other in zip(
        model.of_sentence(NEW.words, NEW.tags), again.of_sentence(NEW.words, NEW.tags), strict=True
    ):
        assert np.array_equal(one, other)
    assert again.n_parameters == model.n_parameters
    with pytest.raises(KeyError):
        LexicalModifiers.from_arrays(model.tags, model.lexicon, 5.0, {})


def test_impossible_trees_are_refused():
    for sentence, problem in [
        (HeadedSentence(["a", "b"], ["X"], [0, 1]), "2 words and 1 tags"),
        (HeadedSentence(["a", "b"], ["X", "X"], [0]), "sentence 1 must have one head per word"),
        (HeadedSentence(["a", "b"], ["X", "X"], [0, 3]), "from 0 to 2"),
        (HeadedSentence(["a", "b"], ["X", "X"], [0, -1]), "from 0 to 2"),
    ]:
        with pytest.raises(GrammarError, match=problem):
            count_lexical_modifiers([sentence])
    with pytest.raises(GrammarError, match="no sentence"):
        count_lexical_modifiers([])
    with pytest.raises(GrammarError, match="1 words and 0 tags"):
        counted().of_sentence(["a"], [])


def test_impossible_settings_are_refused():
    with pytest.raises(SettingsError, match="states is 'two'; it must be one of one-state"):
        LexicalModifierOptions(states="two")  # type: ignore[arg-type]
    for diversity in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(SettingsError, match="diversity"):
            LexicalModifierOptions(diversity=diversity)


def changed(array, at, value):
    array = array.copy()
    array[at] = value
    return array


def test_impossible_models_are_refused():
    model = counted()
    for changes, problem in [
        ({"tags": ("NOUN",) * len(model.tags)}, "must be distinct"),
        ({"after": -model.after}, "outside 0 to"),
        ({"after": model.after + 2**31}, "outside 0 to"),
        ({"diversity": 0.0}, "diversity"),
        ({"by_nothing": model.by_tag}, "by_nothing"),
    ]:
        with pytest.raises(GrammarError, match=problem):
            replace(model, **changes)
    with pytest.raises(ShapeError):
        replace(model, after=model.after[1:])
    level = model.by_word
    for changes, problem in [
        ({"context": level.context[::-1].copy()}, "context must increase"),
        ({"context": changed(level.context, -1, 10**12)}, "outside 0"),
        ({"tag": changed(level.tag, 0, len(model.tags) + 2)}, "outside 0"),
        ({"tag": changed(level.tag, slice(None), 0)}, "tag must increase|do not sum"),
        ({"tag_count": level.tag_count + np.int32(1)}, "do not sum"),
        ({"word_count": changed(level.word_count, 0, 0)}, "below 1"),
        ({"word_start": changed(level.word_start, -1, 10**6)}, "ends with"),
        ({"word": changed(level.word, 0, -1)}, "outside 0"),
    ]:
        with pytest.raises(GrammarError, match=problem):
            replace(model, by_word=level._replace(**changes))
    for changes in (
        {"word": level.word.astype(np.int64)},
        {"tag_start": level.tag_start[1:]},
        {"tag_start": level.tag_start[::-1].copy()},
    ):
        with pytest.raises(ShapeError):
            replace(model, by_word=level._replace(**changes))


@pytest.mark.parametrize("top", [0.11, 0.5, 1.0, 2.9, 30.0])
def test_the_weight_climbs_to_the_best(top):
    tried = []

    def score(weight: float) -> float:
        tried.append(weight)
        return -abs(np.log(weight / top))

    found = search_weight(score)
    assert found in tried
    assert score(found) == max(map(score, list(tried)))
    assert len(set(tried)) <= 8
    within = min(max(top, 1 / 8), 8.0)
    assert abs(np.log2(found / within)) <= 0.5 + 1e-9
    with pytest.raises(SettingsError, match="first weight"):
        search_weight(score, first=0.0)
