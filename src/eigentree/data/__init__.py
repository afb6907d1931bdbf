"""The small English treebank of the package, for demonstrations, documentation and tests.

Its trees were written for eigentree in the manner of the Penn Treebank, and are under the
package's licence.  ``python -m eigentree.data FOLDER`` copies the files to a folder,
and replaces no other file of their names without ``--force``.
"""

from __future__ import annotations

from pathlib import Path

DEMO = Path(__file__).parent / "demo"
"""Folder of ``train.mrg`` and ``heldout.mrg``."""
