"""The sources of the bundled English models, brought into one style of annotation."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from eigentree import Sentence, Tree, read_dependencies, read_treebank
from eigentree.treebank.cleaning import clean
from eigentree.treebank.tag_schemes import tags_of
from eigentree.words.tag_dictionary import TagDictionary

EVERYDAY = Path(__file__).parent / "everyday.mrg"

# Genres of GUM whose texts may be used by anybody for anything, if credited: essays, fiction,
# letters, podcasts and how-to guides are for non-commercial use, conversations may not be changed.
GUM_GENRES = {
    "academic": "CC BY 4.0",
    "bio": "CC BY-SA 3.0",
    "court": "CC BY 4.0",
    "interview": "CC BY 2.5",
    "news": "CC BY 2.5",
    "speech": "public domain",
    "textbook": "CC BY 4.0",
    "vlog": "CC BY 3.0",
    "voyage": "CC BY-SA 3.0",
}
# Only CRAFT has noun phrases within noun phrases and labels for parts of an article, so they are
# removed, and so is X, the label of fragments that fit no other.
NOT_IN_BOTH = {"NML", "CAPTION", "CIT", "HEADING", "TITLE", "X"}
# Tags of EWT that GUM's trees lack, and theirs for such words.
EWT_TAGS = {"ADD": "NNP", "NFP": ":", "GW": "FW", "AFX": "JJ"}

CRAFT_CREDIT = (
    "CRAFT 5: Verspoor et al. 2012, A corpus of full-text journal articles is a robust evaluation "
    "tool, BMC Bioinformatics 13:207; annotation CC BY 3.0, articles of the PubMed Central open "
    "access subset, each under its own notice"
)
GUM_CREDIT = (
    "GUM: Zeldes 2017, The GUM Corpus, Language Resources and Evaluation 51(3), 581-612; "
    "annotation CC BY 4.0, texts by genre as listed"
)
EWT_CREDIT = (
    "UD English EWT, CC BY-SA 4.0: Natalia Silveira, Timothy Dozat, Christopher Manning, Sebastian "
    "Schuster, Ethan Chi, John Bauer, Miriam Connor, Marie-Catherine de Marneffe, Nathan "
    "Schneider, Sam Bowman, Hanzhi Zhu, Daniel Galbraith"
)
FORMS_CREDIT = (
    "Word forms: the SPECIALIST Lexicon of the U.S. National Library of Medicine, as extracted by "
    "LemmInflect 0.2.3 (Brad Jascob, MIT licence)"
)


class Part(NamedTuple):
    """Trees of one source, with their row of the card."""

    name: str
    licence: str
    trees: list[Tree]

    def to_card(self) -> dict[str, Any]:
        words = sum(len(tree.words()) for tree in self.trees)
        return {
            "name": self.name,
            "licence": self.licence,
            "sentences": len(self.trees),
            "words": words,
        }


def without(tree: Tree, labels: set[str]) -> Tree:
    """A clean tree without phrases of these labels; their children move up to the parents."""

    def remaining(node: Tree) -> Iterator[Tree]:
        if node.is_preterminal:
            yield node
            return
        children = [each for child in node.children for each in remaining(child)]
        if node.label in labels:
            yield from children
        else:
            yield Tree(node.label, children)

    top = [*remaining(tree)]
    single = len(top) == 1 and not top[0].is_preterminal
    cleaned = clean(top[0] if single else Tree("FRAG", top))
    assert cleaned is not None
    return cleaned


def craft(folder: Path, part: str) -> list[Tree]:
    trees = read_treebank(folder / "craft" / f"{part}.mrg").trees
    return [without(tree, NOT_IN_BOTH) for tree in trees]


def gum(folder: Path, part: str) -> dict[str, list[tuple[Tree, Sentence]]]:
    """By genre: the trees, and the dependencies of the same sentences, whose names tell it."""
    trees = read_treebank(folder / "gum" / f"{part}.mrg").trees
    sentences = read_dependencies(folder / "ud_english_gum" / f"{part}.conllu").sentences
    by_genre: dict[str, list[tuple[Tree, Sentence]]] = {}
    for tree, sentence in zip(trees, sentences, strict=True):
        assert sentence.sent_id is not None
        genre = sentence.sent_id.split("_")[1].split("-")[0]
        pair = without(tree, NOT_IN_BOTH | {"ROOT"}), sentence
        by_genre.setdefault(genre, []).append(pair)
    return by_genre


def ewt(folder: Path, part: str) -> list[Sentence]:
    return read_dependencies(folder / "ud_english_ewt" / f"{part}.conllu").sentences


def tagged(sentence: Sentence) -> tuple[list[str], list[str]]:
    """The words of a sentence of EWT, and their tags as in GUM's trees."""
    tags = tags_of(sentence, "xpos")
    return sentence.forms(), [EWT_TAGS.get(tag, tag) for tag in tags]


def everyday() -> list[Tree]:
    return read_treebank(EVERYDAY).trees


def word_forms() -> TagDictionary:
    """The possible Penn tags of 70,000 word forms.

    The rows of LemmInflect's table are a lemma, its part of speech, and its forms in the order of
    the tags below, with alternatives separated by slashes.  A participle that is missing equals
    the past tense.
    """
    package = find_spec("lemminflect")
    assert package is not None
    assert package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0], "resources", "infl_lu.csv.gz")
    tags_of: dict[str, set[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for lemma, part, *forms in csv.reader(lines, quoting=csv.QUOTE_NONE):
            tags = _TAGS["name" if part == "noun" and lemma[:1].isupper() else part]
            if part == "verb" and not forms[1]:
                forms[1] = forms[0]
            tags_of.setdefault(lemma, set()).add(tags[0])
            for tag, alternatives in zip(tags[1:], forms, strict=False):
                for form in alternatives.split("/"):
                    # A plural like its lemma is a noun without a plural of its own.
                    if form and (form != lemma or part != "noun"):
                        tags_of.setdefault(form, set()).add(tag)
    return TagDictionary(tags_of)


_TAGS = {
    "name": ("NNP", "NNPS"),
    "noun": ("NN", "NNS"),
    "verb": ("VB", "VBD", "VBN", "VBG", "VBZ"),
    "adj": ("JJ", "JJR", "JJS"),
    "adv": ("RB", "RBR", "RBS"),
}
