"""What each source gives to the bundled English model.

    pip install --group models
    python validation/english_model/steps.py TREEBANKS

TREEBANKS is the folder that ``tools/train_models.py`` reads.  Each row adds one source to the row
before and is scored on held-out text, with the model's own tags: the open genres of GUM dev (every
second tree), CRAFT dev (every ninth), and the 100 everyday sentences of ``dev.txt``, which are not
among the training sentences.  F1 from gold tags is in brackets.  The table is in Markdown.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))

import english_sources as sources  # beside the script that trains the models
import train_models as recipe
from everyday import score_everyday

from eigentree import Parser, Tree, score
from eigentree.constituency.learn.clustering import ClusteringOptions
from eigentree.constituency.training_options import TrainingOptions
from eigentree.words.tagger import Tagger

FIRST = TrainingOptions(method="clustering", tagger=False, clustering=ClusteringOptions(states=24))


def row(name: str, parser: Parser, folder: Path, seconds: float) -> None:
    genres = sources.gum(folder, "dev")
    gum = [tree for genre in sources.GUM_GENRES for tree, _ in genres.get(genre, [])][::2]
    cells = [name]
    for trees in (gum, sources.craft(folder, "dev")[::9]):
        own, gold = (f1(parser, trees, tagged) for tagged in (False, True))
        cells.append(f"{own:.2f} ({gold:.2f})")
    found = score_everyday(parser, HERE / "dev.txt")
    cells += [f"{100 * share:.1f}" for share in found]
    print(" | ".join(["", *cells, f"{seconds:.0f}", ""]).strip(), flush=True)


def f1(parser: Parser, trees: list[Tree], tagged: bool) -> float:
    parsed = parser.parse_many((tree.words(), tree.tags() if tagged else None) for tree in trees)
    return 100 * score(trees, [each.tree for each in parsed]).all.f1


def main() -> None:
    folder = Path(sys.argv[1])
    pairs = [pair for genre in sources.GUM_GENRES for pair in sources.gum(folder, "train")[genre]]
    gum = [tree for tree, _ in pairs]
    articles = sources.craft(folder, "train")
    few = articles[:: recipe.CRAFT_TAGGED_EVERY]
    everyday = sources.everyday() * recipe.EVERYDAY_REPEATED
    web, forms = sources.ewt(folder, "train"), sources.word_forms()
    print("| | GUM dev | CRAFT dev | tags | key phrases | all right | CPU s of training |")
    print("| --- | --- | --- | --- | --- | --- | --- |")

    def tagger_of(trees: list[Tree], *, with_web: bool = True, lexicon: bool = True) -> Tagger:
        tagged = [(tree.words(), tree.tags()) for tree in trees]
        tagged += [*map(sources.tagged, web)] if with_web else []
        dictionary = forms if lexicon else None
        return Tagger.train(tagged, sparsity=recipe.SPARSITY, dictionary=dictionary)

    start = process_time()
    grammar = Parser.train([*few, *gum], settings=FIRST)
    trees = [*few, *gum]
    for name, settings in (
        ("GUM and a third of CRAFT, 24 clusters", {"with_web": False, "lexicon": False}),
        ("and EWT for the tagger", {"lexicon": False}),
        ("and a lexicon for the tagger", {}),
    ):
        parser = replace(grammar, tagger=tagger_of(trees, **settings))
        row(name, parser, folder, process_time() - start)
        start = process_time()
    trees = [*few, *gum, *everyday]
    tagger = tagger_of(trees)
    first = replace(Parser.train(trees, settings=FIRST), tagger=tagger)
    row("and everyday sentences", first, folder, process_time() - start)
    start = process_time()
    converted = recipe.web_trees(first, web, pairs)
    grammar = Parser.train([*trees, *converted], settings=FIRST)
    row(
        "and EWT converted to trees",
        replace(grammar, tagger=tagger),
        folder,
        process_time() - start,
    )
    start = process_time()
    trees = recipe.weighted(articles, gum, everyday, converted)
    for name, settings in (
        ("and half of CRAFT; GUM twice", FIRST),
        (f"and {recipe.GRAMMAR.clustering.states} clusters: the model", recipe.GRAMMAR),
    ):
        grammar = Parser.train(trees, settings=settings)
        row(name, replace(grammar, tagger=tagger), folder, process_time() - start)
        start = process_time()


if __name__ == "__main__":
    main()
