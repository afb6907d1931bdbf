"""The models that come with the package, each a model file whose header holds its card.

Wherever a model is asked for, the bare name of one of them may stand in place of a path.  They
are made by ``tools/train_models.py``, byte for byte, from treebanks whose licences allow it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "models"
CONSTITUENTS = "english"
DEPENDENCIES = "english-dependencies"


class Bundled(NamedTuple):
    """A model of the package.

    Attributes
    ----------
    name
    path
    kind
        As in its header: ``parser`` or ``dependency parser``.
    n_bytes
        Size of the file.
    card
        What it was trained on, under which licences, and how well it does.
    """

    name: str
    path: Path
    kind: str
    n_bytes: int
    card: dict[str, Any]


def names() -> list[str]:
    """The names of the models that come with the package, in the order of the alphabet."""
    return sorted(path.stem for path in FOLDER.glob("*.egt"))


def bundled() -> list[Bundled]:
    """The models that come with the package, with their cards."""
    from eigentree.model_file import open_model

    found = []
    for name in names():
        file = open_model(own(name), verify=False)
        card = file.header["description"]["card"]
        found.append(Bundled(name, file.path, file.header["kind"], file.n_bytes, card))
    return found


def resolved(model: str | Path) -> Path:
    """The path of a model: that of the package's where no file has the name, else the name."""
    path = Path(model)
    if len(path.parts) == 1 and path.name in names() and not path.exists():
        return own(path.name)
    return path


def own(name: str) -> Path:
    """The path of the package's model of this name, whatever files lie about."""
    return FOLDER / f"{name}.egt"
