"""What hypothesis draws here: labels, words and trees that try a bracket file's escapes."""

from __future__ import annotations

from hypothesis import strategies as st

from eigentree.treebank.tree import Tree
from tests.strategies import labels as plain_labels
from tests.strategies import words as plain_words

labels = plain_labels() | st.sampled_from(["ROOT", "VP", "NP-SBJ", "ADVP|PRT", "-LRB-", "-NONE-"])
WHOLE = ["(", ")", "-LRB-", "-RRB-", "-L\\RB-", "-LRB", "RB-", "*T*-1", "0", "#", "\u00a0", "\\/"]
# Pieces of escapes in all orders.
PIECES = ["-", "L", "R", "RB", "B", "\\", "(", ")", "x"]
words = (
    st.sampled_from(WHOLE)
    | st.lists(st.sampled_from(PIECES), min_size=1).map("".join)
    | plain_words()
)
trees = st.recursive(
    st.builds(Tree, labels, st.just(()), words),
    lambda below: st.builds(Tree, labels, st.lists(below, min_size=1, max_size=4)),
    max_leaves=12,
)


@st.composite
def dependency_trees(
    draw: st.DrawFn, n: int | None = None, *, single_root: bool = False, most: int = 7
) -> list[int]:
    """Heads of any tree over n words, counted from 1: each word hangs below an earlier one."""
    if n is None:
        n = draw(st.integers(1, most))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i, word in enumerate(order[1:], start=1):
        heads[word - 1] = draw(st.sampled_from([*order[:i], *([] if single_root else [0])]))
    return heads
