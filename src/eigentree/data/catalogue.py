"""The models that are part of the package, each a model file whose header holds its card.

Wherever the path of a model is expected, the bare name of one of them is accepted.  They are
made by ``tools/train_models.py``, byte for byte, from treebanks whose licences allow it.
`eigentree.base.available_models` opens them.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from eigentree._core.arguments import check_type

FOLDER = Path(__file__).parent / "models"
CONSTITUENTS = "english"
DEPENDENCIES = "english-dependencies"


def model_names() -> list[str]:
    """The names of the bundled models, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.egt"))


def resolve_model(model: str | Path) -> Path:
    """The path of a model: that of a bundled one if no file has the name, else the name."""
    check_type(model, (str, PathLike), "model", "a path or the name of a bundled model")
    path = Path(model)
    if len(path.parts) == 1 and path.name in model_names() and not path.exists():
        return bundled_path(path.name)
    return path


def displayed_model(path: str | Path) -> str:
    """How messages call a model: by its name if it is bundled, otherwise by its path."""
    path = Path(path)
    return path.stem if path.parent == FOLDER else str(path)


def bundled_path(name: str) -> Path:
    """The path of the bundled model of this name, whatever files the working folder holds."""
    return FOLDER / f"{name}.egt"
