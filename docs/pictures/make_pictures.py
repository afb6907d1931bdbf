"""Draw the pictures of the docs: ``python docs/pictures/make_pictures.py [FOLDER [NAME ...]]``.

All data in a picture are computed by the package; nothing is drawn by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import of_charts
import of_grammars
import of_words
from canvas import Canvas

from eigentree import Parser, TrainingOptions, parse_tree, read_treebank
from eigentree.constituency.result import node_confidences
from eigentree.drawing import draw_svg
from eigentree.drawing.arcs import Arcs, draw_arcs_svg
from eigentree.drawing.tree_svg import draw_svg_page

PICTURES: dict[str, Callable[[], Canvas]] = {
    "study": of_grammars.study,
    "spectral": of_grammars.spectral,
    "states": of_grammars.states,
    "em": of_grammars.em,
    "clustering": of_grammars.clustering,
    "unseen-rules": of_grammars.unseen,
    "parsing": of_charts.parsing,
    "prefix-probabilities": of_charts.prefix,
    "kruskal-form": of_charts.kruskal,
    "tensor-decomposition": of_charts.decomposition,
    "constituent-context": of_words.constituents,
    "head-automata": of_words.heads,
    "operators": of_words.operators,
    "lexical-modifiers": of_words.lexical,
    "tree-metrics": of_words.metric,
    "word-representations": of_words.brown,
    "tokenisation": of_words.tokenisation,
    "ensembles": of_words.ensemble,
}


LETTERS = "(NP (DT the) (NNS letters))"
UNDER = "(PP (IN under) (NP (DT the) (NN bed)))"
MOTHER = "(PP (IN under) (NP (NP (DT the) (NN bed)) (PP (IN of) (NP (PRP$ his) (NN mother)))))"
HOUSE = "(NP (DT the) (NN house))"
BISHOP = "(PP (IN of) (NP (DT the) (NN bishop)))"
STREET = "(PP (IN in) (NP (DT the) (NN street)))"
# Trees drawn by commands in the tutorials.
DRAWN = {
    "baker": ["(S (NP (DT the) (NN baker)) (VP (VBD sold) (NP (DT the) (NN bread))))"],
    "letters": [f"(S (NP (PRP We)) (VP (VBD found) (NP {LETTERS} {MOTHER})) (. .))"],
    "museum": [f"(S (NP (PRP He)) (VP (VBD left) (NP {HOUSE} {BISHOP}) {STREET}) (. .))"],
    "two-trees": [
        f"(S (NP (PRP We)) (VP (VBD found) {LETTERS} {UNDER}) (. .))",
        f"(S (NP (PRP We)) (VP (VBD found) (NP {LETTERS} {UNDER})) (. .))",
    ],
}
ARCS = Arcs(
    ["the", "old", "baker", "sold", "fresh", "bread", "to", "her", "."],
    [3, 3, 4, 0, 6, 4, 8, 4, 4],
    ["det", "amod", "nsubj", "root", "amod", "obj", "case", "obl", "punct"],
)


def unsure() -> str:
    """A tree with confidences, by a model of the bundled treebank."""
    trees = read_treebank(of_grammars.DEMO).trees
    parser = Parser.train(trees, states=8, settings=TrainingOptions(tagger=False))
    words = ["We", "found", "the", "letters", "under", "the", "bed", "of", "his", "mother", "."]
    tags = ["PRP", "VBD", "DT", "NNS", "IN", "DT", "NN", "IN", "PRP$", "NN", "."]
    result = parser.parse(words, tags)
    assert result.tree is not None
    return draw_svg(result.tree, confidence=node_confidences(result))


def main(folder: Path, *only: str) -> None:
    """Write every picture into a folder, or only some."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        if not only or name in only:
            (folder / f"{name}.svg").write_text(make().document(), encoding="utf-8")
    (folder / "unsure.svg").write_text(unsure(), encoding="utf-8")
    for name, texts in DRAWN.items():
        drawing = draw_svg_page([parse_tree(text) for text in texts])
        (folder / f"{name}.svg").write_text(drawing, encoding="utf-8")
    (folder / "arcs.svg").write_text(draw_arcs_svg([ARCS]), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent, *sys.argv[2:])
