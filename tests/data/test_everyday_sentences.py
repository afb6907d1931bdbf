"""The everyday sentences that the bundled model is trained on."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from eigentree.treebank.reader import read_treebank
from eigentree.treebank.tree import Tree

ROOT = Path(__file__).resolve().parents[2]
TREES = ROOT / "tools" / "everyday.mrg"
LABELS = (
    "S SBARQ SQ SINV FRAG INTJ NP VP ADJP ADVP PP SBAR WHNP WHADVP WHADJP WHPP PRT PRN QP UCP "
    "CONJP X NAC NX"
)
TAGS = (
    "NN NNS NNP NNPS PRP PRP$ DT PDT JJ JJR JJS RB RBR RBS RP IN TO MD VB VBD VBP VBZ VBN VBG CD "
    "EX UH WP WP$ WDT WRB CC POS $ . , : `` ''"
)


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return read_treebank(TREES).trees


def words_of(words: list[str]) -> tuple[str, ...]:
    """Words in lower case, without punctuation."""
    return tuple(word.lower() for word in words if re.search(r"\w", word))


def test_labels_and_tags_are_those_of_penn_treebank(trees: list[Tree]) -> None:
    assert len(trees) > 1500
    assert {span.label for tree in trees for span in tree.spans()} <= set(LABELS.split())
    assert {tag for tree in trees for tag in tree.tags()} <= set(TAGS.split())


def test_no_sentence_occurs_twice(trees: list[Tree]) -> None:
    sentences = sorted(" ".join(tree.words()).lower() for tree in trees)
    assert not [one for one, next_one in pairwise(sentences) if one == next_one]


def test_prepositions_are_told_from_infinitives(trees: list[Tree]) -> None:
    # As in the treebanks that they are trained with: TO only before a verb.
    for tree in trees:
        text = str(tree)
        assert not re.search(r"\(PP (\(\w+ \S+\) )?\(TO ", text), text


def check_that_none_is_among(trees: list[Tree], path: Path) -> None:
    """No four words in a row, and no whole sentence, of sentences that models are judged by."""
    judged = [
        words_of([token.rsplit("/", 1)[0] for token in line.split("|")[0].split()])
        for line in path.read_text("utf-8").splitlines()
    ]
    assert len(judged) >= 50
    runs = {words[i : i + 4] for words in judged for i in range(len(words) - 3)}
    for tree in trees:
        words = words_of(tree.words())
        assert words not in judged
        assert runs.isdisjoint(words[i : i + 4] for i in range(len(words) - 3)), words


@pytest.mark.parametrize("name", ["dev.txt", "heldout.txt"])
def test_no_sentence_is_among_those_of_the_check(trees: list[Tree], name: str) -> None:
    check_that_none_is_among(trees, ROOT / "validation" / "english_model" / name)


def test_no_sentence_is_among_those_of_others(trees: list[Tree], treebanks: Path) -> None:
    check_that_none_is_among(trees, treebanks.parent / "inputs" / "everyday" / "sentences.txt")
