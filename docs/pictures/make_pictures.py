"""Draw the pictures of the docs: ``python docs/pictures/make_pictures.py [FOLDER [NAME ...]]``.

Whatever a picture shows of data is computed here, by the package, so that nothing is drawn by hand
that could be wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import of_charts
import of_grammars
import of_words
from canvas import Canvas

import eigentree

PICTURES: dict[str, Callable[[], Canvas]] = {
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
    "ensembles": of_words.ensemble,
}


def baker() -> str:
    """The first tree of the teacher's tutorial."""
    text = "(S (NP (DT the) (NN baker)) (VP (VBD sold) (NP (DT the) (NN bread))))"
    return eigentree.draw_svg(eigentree.parse_tree(text))


def main(folder: Path, *only: str) -> None:
    """Write every picture into a folder, or only some."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        if not only or name in only:
            (folder / f"{name}.svg").write_text(make().document(), encoding="utf-8")
    (folder / "baker.svg").write_text(baker(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent, *sys.argv[2:])
