"""A tree metric: distances between words, by their tags and positions.

The distance of two words is looked up by the tag of the first, the tag of the second and the
number of words from one to the other, without punctuation.  It estimates a distance along
the edges of the sentence's tree; `eigentree.bracketing.learn.tree_metric` describes the estimation,
`eigentree.bracketing.chart.minimum_evolution` the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from eigentree._core.shapes import check_shapes, check_types
from eigentree.errors import GrammarError
from eigentree.treebank.universal_tags import TagMap
from eigentree.types import Floats


@dataclass(frozen=True)
class TreeMetric:
    """Distances between words by tags and positions.

    Attributes
    ----------
    tags
        Known tags, after the map.
    tag_map
        Maps the tags of sentences.
    table : float64, axes (T + 1, T + 1, delta)
        ``table[s, t, d - 1]`` is the distance between a word with tag s and a word with tag t that
        is d words to the right.  The last tag index is for unknown tags, the last d for all larger
        ones.  All entries are finite.

    Raises
    ------
    ShapeError
        When the table does not match the tags.
    GrammarError
        When a distance is not finite, a tag is repeated, or there are no distances.
    """

    tags: tuple[str, ...]
    tag_map: TagMap
    table: Floats
    _number: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size = len(self.tags) + 1
        check_types("TreeMetric", {"table": (self.table, np.float64)})
        check_shapes("TreeMetric", {"table": (self.table, "S S delta")}, S=size)
        number = {tag: at for at, tag in enumerate(self.tags)}
        object.__setattr__(self, "_number", number)
        if len(number) < len(self.tags):
            raise GrammarError("a tree metric has a tag twice; tags must be distinct")
        if not self.table.size or not np.all(np.isfinite(self.table)):
            raise GrammarError("a tree metric has no distances, or one that is not finite")

    @property
    def largest_distance(self) -> int:
        """The largest distance in words with its own entries."""
        return int(self.table.shape[2])

    def distances(self, tags: Sequence[str]) -> Floats:
        """Axes (n, n): distances between the words of a sentence, 0 on the diagonal.

        Parameters
        ----------
        tags
            Tags of the words without punctuation, before the map.
        """
        n, unknown = len(tags), len(self.tags)
        numbers = np.array(
            [self._number.get(self.tag_map(tag), unknown) for tag in tags], dtype=int
        )
        first, second = np.triu_indices(n, 1)
        places = np.minimum(second - first, self.largest_distance) - 1
        distances = np.zeros((n, n))
        distances[first, second] = self.table[numbers[first], numbers[second], places]
        return distances + distances.T


def quartet_excess(distances: Floats) -> float:
    """The mean deviation of distances from those of any tree, from 0 to 1.

    Four words have three sums of paired distances, of which the two largest are equal in
    every tree.  The difference of these as a share of that between the largest and the smallest,
    averaged over all quartets, is 0 for a tree; for random numbers it is about 1/2.  Constants
    added to all distances of a word have no effect.

    Returns
    -------
    float
        NaN for fewer than four words.

    Cost
    ----
    O(n^4) time and memory.

    References
    ----------
    holland-huber-2002.
    """
    quartets = np.array(list(combinations(range(len(distances)), 4)), dtype=int).reshape(-1, 4)
    if not len(quartets):
        return float("nan")
    a, b, c, d = quartets.T
    sums = np.stack(
        [
            distances[a, b] + distances[c, d],
            distances[a, c] + distances[b, d],
            distances[a, d] + distances[b, c],
        ]
    )
    sums.sort(axis=0)
    spread = sums[2] - sums[0]
    share = np.divide(sums[2] - sums[1], spread, out=np.zeros_like(spread), where=spread > 0.0)
    return float(share.mean())
