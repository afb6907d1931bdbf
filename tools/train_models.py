"""Train the bundled models and write their cards.

    python tools/train_models.py TREEBANKS [--only NAME]

TREEBANKS is a folder with the folders craft, gum, ud_english_gum and ud_english_ewt, as their
READMEs of the same names describe them; ``docs/models.md`` names their sources.  The same data
give the same models, byte for byte; training takes about ten minutes on one core.  The models are
written to ``src/eigentree/data/models``, their cards to the models and to ``docs/models.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from eigentree import (
    DependencyParser,
    Parser,
    Sentence,
    Tree,
    read_dependencies,
    read_treebank,
    score,
    score_attachment,
)
from eigentree.base import available_models
from eigentree.cli.models import in_markdown
from eigentree.constituency.training_options import TrainingOptions
from eigentree.data.catalogue import CONSTITUENTS, DEPENDENCIES, FOLDER
from eigentree.dependency.learn.arc_labels import ArcLabelOptions, train_arc_labels
from eigentree.dependency.options import DependencyTrainingOptions
from eigentree.dependency.training import projective_trees, train_dependencies
from eigentree.treebank.cleaning import clean
from eigentree.treebank.tag_schemes import tags_of
from eigentree.words.tagger import Tagger

ROOT = Path(__file__).resolve().parents[1]
LICENCE = "CC BY-SA 4.0"

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
# removed.
NOT_IN_BOTH = {"NML", "CAPTION", "CIT", "HEADING", "TITLE"}
# Every third sentence of CRAFT, so that half of the words are from articles.
CRAFT_EVERY = 3
# Small taggers and labellers, each at the cost of a third of a point or less.
SPARSITY = 0.7
ARC_LABELS = ArcLabelOptions(minimum_count=10, smallest=0.1)

WITHOUT_TAGGER = TrainingOptions(tagger=False)

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


def gum(folder: Path, part: str) -> dict[str, list[Tree]]:
    """The trees by genre, which the names of documents tell in the same sentences' dependencies."""
    trees = read_treebank(folder / "gum" / f"{part}.mrg").trees
    genres = []
    for sentence in read_dependencies(folder / "ud_english_gum" / f"{part}.conllu").sentences:
        assert sentence.sent_id is not None
        genres.append(sentence.sent_id.split("_")[1].split("-")[0])
    by_genre: dict[str, list[Tree]] = {}
    for genre, tree in zip(genres, trees, strict=True):
        by_genre.setdefault(genre, []).append(without(tree, NOT_IN_BOTH | {"ROOT"}))
    return by_genre


def train_constituents(folder: Path) -> Parser:
    genres = gum(folder, "train")
    articles = craft(folder, "train")[::CRAFT_EVERY]
    parts = [Part("CRAFT 5, biomedical articles", "CC BY 3.0", articles)]
    parts += [
        Part(f"GUM, {genre}", licence, genres[genre]) for genre, licence in GUM_GENRES.items()
    ]
    trees = [tree for part in parts for tree in part.trees]
    parser = Parser.train(trees, method="clustering", states=24, settings=WITHOUT_TAGGER)
    tagger = Tagger.train([(tree.words(), tree.tags()) for tree in trees], sparsity=SPARSITY)
    parser = replace(parser, tagger=tagger)
    held_out = {
        "CRAFT test, first 1,000": craft(folder, "test")[:1000],
        "GUM test, genres as above": [
            tree for genre in GUM_GENRES for tree in gum(folder, "test").get(genre, [])
        ],
        "GUM test, other genres": [
            tree
            for genre, trees in gum(folder, "test").items()
            if genre not in GUM_GENRES
            for tree in trees
        ],
    }
    scores = []
    for name, trees in held_out.items():
        for given, tagged in (("tokens", False), ("gold tags", True)):
            parsed = parser.parse_many(
                (tree.words(), tree.tags() if tagged else None) for tree in trees
            )
            f1 = score(trees, [each.tree for each in parsed]).all.f1
            scores.append({"on": name, "from": given, "measure": "labelled F1", "value": f1})
    card = {
        "about": "English constituency trees in Penn Treebank style, with a tagger: biomedical "
        "articles, news, interviews, speeches, textbooks and more.  GUM's constituency trees were "
        "produced automatically from gold tags.",
        "language": "en",
        "licence": LICENCE,
        "data": [part.to_card() for part in parts],
        "scores": scores,
        "attribution": [CRAFT_CREDIT, GUM_CREDIT],
    }
    return replace(parser, description={**parser.description, "card": card})


def train_arcs(folder: Path) -> DependencyParser:
    train, dev, test = (
        read_dependencies(folder / "ud_english_ewt" / f"{part}.conllu").sentences
        for part in ("train", "dev", "test")
    )
    options = DependencyTrainingOptions(tagger=False, relations=False)
    parser = train_dependencies(train, options, dev=dev)
    trees = projective_trees(train, parser.tag_scheme)
    tagged = [(sentence.words, sentence.tags) for sentence in trees.sentences]
    parser = replace(
        parser,
        tagger=Tagger.train(tagged, sparsity=SPARSITY),
        relations=train_arc_labels(zip(*trees[:2], strict=True), ARC_LABELS),
    )
    scores = []
    for given, tagged in (("tokens", False), ("gold tags", True)):
        result = score_attachment(test, [*parsed_like(parser, test, tagged)])
        for measure, value in (("UAS", result.all.uas), ("LAS", result.all.las)):
            scores.append({"on": "EWT test", "from": given, "measure": measure, "value": value})
    card = {
        "about": "English Universal Dependencies, with a tagger: weblogs, newsgroups, e-mail, "
        "reviews, answers.",
        "language": "en",
        "licence": LICENCE,
        "data": [
            {
                "name": "UD English EWT",
                "licence": "CC BY-SA 4.0",
                "sentences": len(train),
                "words": sum(map(len, train)),
            }
        ],
        "scores": scores,
        "attribution": [EWT_CREDIT],
    }
    return replace(parser, description={**parser.description, "card": card})


def parsed_like(
    parser: DependencyParser, gold: Sequence[Sentence], tagged: bool
) -> Iterator[Sentence]:
    """Gold sentences with the parser's heads and relations, from their tags or its own."""
    for sentence in gold:
        tags = tags_of(sentence, parser.tag_scheme) if tagged else None
        result = parser.parse(sentence.forms(), tags)
        yield sentence.with_heads(result.heads, result.relations)


def page() -> str:
    """The part of ``docs/models.md`` after its introduction."""
    return "\n".join(in_markdown(model) for model in available_models())


def main() -> None:
    options = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    options.add_argument("treebanks", type=Path, help="the folder that holds the treebanks")
    options.add_argument("--only", choices=[CONSTITUENTS, DEPENDENCIES], help="train this one")
    given = options.parse_args()
    trainers = {CONSTITUENTS: train_constituents, DEPENDENCIES: train_arcs}
    for name, trainer in trainers.items():
        if given.only in (None, name):
            trainer(given.treebanks).save(FOLDER / f"{name}.egt")
    path = ROOT / "docs" / "models.md"
    introduction = path.read_text("utf-8").partition("\n## ")[0]
    path.write_text(f"{introduction}\n{page()}", "utf-8")


if __name__ == "__main__":
    main()
