"""Copy the demonstration treebank to a folder, so that commands can be tried on it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from eigentree.data import DEMO


def copy_demo(folder: Path) -> None:
    """Copy the treebank's files, over files of the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(DEMO.glob("*.mrg")):
        sys.stdout.write(f"{shutil.copy(source, folder)}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m eigentree.data FOLDER")
    try:
        copy_demo(Path(sys.argv[1]))
    except OSError as error:
        sys.exit(f"{error.filename}: can't be written: {error.strerror}")
