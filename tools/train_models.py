"""Train the bundled models and write their cards.

    pip install --group models
    python tools/train_models.py TREEBANKS [--only NAME]

TREEBANKS is a folder with the folders craft, gum, ud_english_gum and ud_english_ewt, as their
READMEs of the same names describe them; ``docs/models.md`` names their sources.  The same data
give the same models, byte for byte; training takes about twenty minutes on one core.  The models
are written to ``src/eigentree/data/models``, their cards to the models and to ``docs/models.md``.

The constituency model is made in steps, since no treebank has all registers:

1. a tagger from all sources with tags, with a lexicon of word forms;
2. a first grammar from the constituency treebanks;
3. trees for the sentences of EWT, which has dependencies: the first grammar's, constrained by the
   gold tags and by the phrases that dependencies imply (`eigentree dependencies convert`);
4. the grammar of the model from all trees;
5. calibration on held-out trees.

``everyday.mrg`` holds short everyday sentences, which the treebanks lack: questions, imperatives,
short answers, the past tense of conversation.  They were written for this purpose.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import english_sources as sources
from english_sources import Part

from eigentree import DependencyParser, Parser, Sentence, Tree, score, score_attachment
from eigentree.base import available_models
from eigentree.cli.models import in_markdown
from eigentree.constituency.calibrate import calibrate
from eigentree.constituency.from_dependencies import convert_dependencies
from eigentree.constituency.learn.clustering import ClusteringOptions
from eigentree.constituency.training_options import TrainingOptions
from eigentree.data.catalogue import CONSTITUENTS, DEPENDENCIES, FOLDER
from eigentree.dependency.learn.arc_labels import ArcLabelOptions, train_arc_labels
from eigentree.dependency.options import DependencyTrainingOptions
from eigentree.dependency.training import projective_trees, train_dependencies
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.head_phrases import HeadPhrases
from eigentree.treebank.tag_schemes import tags_of
from eigentree.words.tagger import Tagger

ROOT = Path(__file__).resolve().parents[1]
LICENCE = "CC BY-SA 4.0"

# The tagger sees every third sentence of CRAFT, so that a third of its words are from articles.
CRAFT_TAGGED_EVERY = 3
# The grammar sees every second, and GUM twice.
CRAFT_EVERY = 2
GUM_REPEATED = 2
# Both see the everyday sentences, which are short, several times.
EVERYDAY_REPEATED = 3
# The price of a bracket with the best F1 on the dev parts of GUM and CRAFT, of 0.3, 0.35, 0.4, 0.5.
BRACKET_PRICE = 0.4
# Small taggers and labellers, each at the cost of a third of a point or less.
SPARSITY = 0.2
ARCS_SPARSITY = 0.7
ARC_LABELS = ArcLabelOptions(minimum_count=10, smallest=0.1)

GRAMMAR = TrainingOptions(
    method="clustering", tagger=False, clustering=ClusteringOptions(states=64)
)


def train_constituents(folder: Path) -> Parser:
    articles = sources.craft(folder, "train")
    parts = [Part("CRAFT 5, biomedical articles", "CC BY 3.0", articles[::CRAFT_EVERY])]
    genres = sources.gum(folder, "train")
    pairs = [pair for genre in sources.GUM_GENRES for pair in genres[genre]]
    parts += [
        Part(f"GUM, {genre}", licence, [tree for tree, _ in genres[genre]])
        for genre, licence in sources.GUM_GENRES.items()
    ]
    parts.append(Part("everyday sentences of this project", "MIT", sources.everyday()))
    sentences = sources.ewt(folder, "train")

    everyday = sources.everyday() * EVERYDAY_REPEATED
    first_trees = [*articles[::CRAFT_TAGGED_EVERY], *(tree for tree, _ in pairs), *everyday]
    tagged = [(tree.words(), tree.tags()) for tree in first_trees]
    tagger = Tagger.train(
        [*tagged, *map(sources.tagged, sentences)],
        sparsity=SPARSITY,
        dictionary=sources.word_forms(),
    )

    first = replace(Parser.train(first_trees, settings=GRAMMAR), tagger=tagger)
    web = web_trees(first, sentences, pairs)
    parts.append(Part("UD English EWT, converted from dependencies", "CC BY-SA 4.0", web))
    trees = weighted(articles, [tree for tree, _ in pairs], everyday, web)
    parser = Parser.train(trees, settings=GRAMMAR)
    options = replace(parser.options, bracket_price=BRACKET_PRICE)
    # Web text has addresses, and few sentences that end in an abbreviation.
    edited = [*articles[::CRAFT_TAGGED_EVERY], *(tree for tree, _ in pairs)]
    text = TokenisationScheme.of_words(tree.words() for tree in edited).to_json()
    description = {**parser.description, "text": text}
    parser = replace(parser, tagger=tagger, options=options, description=description)
    parser = calibrate(parser, calibration_trees(folder))
    card = {
        "about": "English constituency trees in Penn Treebank style, with a tagger: conversation, "
        "web text, news, interviews, speeches, textbooks, biomedical articles and more.  GUM's "
        "constituency trees were produced automatically from gold tags, those of EWT by this "
        "package from gold tags and dependencies.",
        "language": "en",
        "licence": LICENCE,
        "data": [part.to_card() for part in parts],
        "scores": [*scores_of(parser, folder)],
        "attribution": [
            sources.CRAFT_CREDIT,
            sources.GUM_CREDIT,
            sources.EWT_CREDIT,
            sources.FORMS_CREDIT,
        ],
    }
    return replace(parser, description={**parser.description, "card": card})


def web_trees(
    parser: Parser, sentences: Sequence[Sentence], pairs: Sequence[tuple[Tree, Sentence]]
) -> list[Tree]:
    """Trees for sentences with dependencies; `pairs` show what is a phrase in the trees."""
    phrases = HeadPhrases.learn((sentence, tree) for tree, sentence in pairs)
    converted = convert_dependencies(parser, sentences, phrases=phrases)
    return [each.tree for each in converted if each.tree is not None]


def weighted(
    articles: list[Tree], gum: list[Tree], everyday: list[Tree], web: list[Tree]
) -> list[Tree]:
    """The training trees of the grammar; `everyday` are repeated already."""
    return [*articles[::CRAFT_EVERY], *(gum * GUM_REPEATED), *everyday, *web]


def calibration_trees(folder: Path) -> list[Tree]:
    """Held-out trees of the registers that the model is for; few of them are from articles."""
    genres = sources.gum(folder, "dev")
    open_genres = [tree for genre in sources.GUM_GENRES for tree, _ in genres.get(genre, [])]
    return [*open_genres, *sources.craft(folder, "dev")[::8]]


def scores_of(parser: Parser, folder: Path) -> Iterator[dict[str, Any]]:
    genres = sources.gum(folder, "test")
    held_out = {
        "GUM test, same genres": [
            tree for genre in sources.GUM_GENRES for tree, _ in genres.get(genre, [])
        ],
        "GUM test, other genres": [
            tree
            for genre, pairs in genres.items()
            if genre not in sources.GUM_GENRES
            for tree, _ in pairs
        ],
        "CRAFT test, first 1,000": sources.craft(folder, "test")[:1000],
    }
    for name, trees in held_out.items():
        for given, tagged in (("tokens", False), ("gold tags", True)):
            parsed = parser.parse_many(
                (tree.words(), tree.tags() if tagged else None) for tree in trees
            )
            f1 = score(trees, [each.tree for each in parsed]).all.f1
            yield {"on": name, "from": given, "measure": "labelled F1", "value": f1}


def train_arcs(folder: Path) -> DependencyParser:
    train, dev, test = (sources.ewt(folder, part) for part in ("train", "dev", "test"))
    options = DependencyTrainingOptions(tagger=False, relations=False)
    parser = train_dependencies(train, options, dev=dev)
    trees = projective_trees(train, parser.tag_scheme)
    tagged = [(sentence.words, sentence.tags) for sentence in trees.sentences]
    parser = replace(
        parser,
        tagger=Tagger.train(tagged, sparsity=ARCS_SPARSITY, dictionary=sources.word_forms()),
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
        "attribution": [sources.EWT_CREDIT, sources.FORMS_CREDIT],
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
