"""Kernel of `eigentree.dependency.arc_labels`."""

from __future__ import annotations

from eigentree._core.jit import kernel
from eigentree.types import Floats2, Ints, Keys, Keys2, Longs, Singles


@kernel
def add_weights(
    keys: Keys2,
    feature: Keys,
    start: Longs,
    label: Ints,
    weight: Singles,
    scores: Floats2,
) -> None:
    """Add the weights of each arc's features to its scores.

    Parameters
    ----------
    keys : uint64, axes (n, D)
        Features of each arc; those unknown to the model are ignored.
    feature : uint64, axes (F)
        Features of the model, increasing.
    start : int64, axes (F + 1)
        Start of the weights of each feature.
    label : int32, weight : float32, axes (W)
    scores : float64, axes (n, L)
        Updated in place.
    """
    for arc in range(keys.shape[0]):
        for which in range(keys.shape[1]):
            key = keys[arc, which]
            low, high = 0, len(feature)
            while low < high:
                middle = (low + high) // 2
                if feature[middle] < key:
                    low = middle + 1
                else:
                    high = middle
            if low < len(feature) and feature[low] == key:
                for at in range(start[low], start[low + 1]):
                    scores[arc, label[at]] += weight[at]
