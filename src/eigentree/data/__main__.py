"""Copy the demonstration treebank to a folder, so that commands can be tried on it."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from eigentree.data import DEMO
from eigentree.errors import SettingsError


def copy_demo(folder: Path, *, force: bool = False) -> list[Path]:
    """Copy the treebank's files to a folder, and return their paths.

    Parameters
    ----------
    folder
        Created if it does not exist.
    force
        Replace files of the same names.

    Raises
    ------
    SettingsError
        When the folder has a file of the same name and other content; nothing is written then.
    OSError
        When the folder or a file can't be written.
    """
    sources = sorted(DEMO.glob("*.mrg"))
    targets = [folder / source.name for source in sources]
    for source, target in zip(sources, targets, strict=True):
        if not force and target.exists() and not _are_equal(source, target):
            raise SettingsError(
                f"{target}: exists and is another file; name a new folder, or replace it with "
                "--force"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in zip(sources, targets, strict=True):
        shutil.copyfile(source, target)
    return targets


def _are_equal(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; the exit code is 2 for a folder that can't be used."""
    parser = argparse.ArgumentParser("python -m eigentree.data", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="Created if it does not exist.")
    parser.add_argument("--force", action="store_true", help="Replace files of the same names.")
    given = parser.parse_args(arguments)
    try:
        for path in copy_demo(given.folder, force=given.force):
            if sys.stdout:  # not closed
                sys.stdout.write(f"{path}\n")
    except SettingsError as error:
        parser.error(str(error))
    except OSError as error:
        parser.error(f"{error.filename}: can't be written: {error.strerror}")


if __name__ == "__main__":
    main()
