"""Copy the first N trees of a file: ``python first.py N FROM TO``."""

from __future__ import annotations

import sys
from itertools import islice

from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.io.text_files import open_text, write_whole
from eigentree.treebank.reader import read_trees


def main(number: str, source: str, target: str) -> None:
    with open_text(source) as text, write_whole(target) as out:
        trees = (record.tree for record in read_trees(text, name=source))
        out.writelines(f"{format_tree(tree)}\n" for tree in islice(trees, int(number)) if tree)


if __name__ == "__main__":
    main(*sys.argv[1:])
