"""Draw the pictures of the docs: ``python docs/pictures/make_pictures.py [FOLDER]``.

Whatever a picture shows of data is computed here, by the package: nothing is drawn by hand that could be
wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import of_grammars
from canvas import Canvas

import eigentree

PICTURES: dict[str, Callable[[], Canvas]] = {
    "spectral": of_grammars.spectral,
    "states": of_grammars.states,
    "em": of_grammars.em,
    "clustering": of_grammars.clustering,
    "unseen-rules": of_grammars.unseen,
}


def baker() -> str:
    """The first tree of the teacher's tutorial."""
    text = "(S (NP (DT the) (NN baker)) (VP (VBD sold) (NP (DT the) (NN bread))))"
    return eigentree.draw_svg(eigentree.parse_tree(text))


def main(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {"baker": baker()} | {name: make().document() for name, make in PICTURES.items()}
    for name, document in drawn.items():
        (folder / f"{name}.svg").write_text(document, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
