"""L-PCFGs: PCFGs whose nonterminals carry latent states, probabilities or signed values alike.

Whatever learned it, a grammar with latent states is a set of arrays over a plain PCFG's
rules: for each rule a -> b c a tensor with one axis for each symbol's states, for each word
under a preterminal a vector, for each root symbol a vector.  The value of a skeletal tree is
the sum over all states of the product of entries.  For EM and clustering these are
probabilities; for the spectral estimator they are probabilities up to an invertible change
of basis of each symbol's states, and may be negative (Cohen et al. 2013, section 2.3.1).

A rule's tensor is stored in one of three exact forms:

*dense*: all K_a K_b K_c entries;

*samples*, for a rule seen n times, n small: the projections Z, Y, W (axes n K) of its
outside trees, left and right inside trees, from which the back-off smoothed tensor

    lambda E + (1 - lambda) (lambda E2 + (1 - lambda) (lambda E3 + (1 - lambda) E4))

of section 3.2 can be applied without ever being formed: with p = Y x, q = W y and bars for
means over the samples, the tensor applied to vectors x and y is ``ratio`` times

    Z' v / n + (1 - lambda)^3 H_a (F_b . x) (F_c . y),
    v = lambda p q + (1 - lambda) lambda / 3 (p mean(q) + q mean(p) + mean(p q))
        + (1 - lambda)^2 lambda mean(p) mean(q).

This takes n (K_a + K_b + K_c) numbers in place of K_a K_b K_c, and most rules of a treebank
are rare;

*means*, for a rule never seen (`eigentree.learn.unseen`): ``ratio`` times the product of the
means H_a, F_b and F_c, the form of samples with n = 0 and lambda = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigentree.errors import GrammarError
from eigentree.grammar.pcfg import PCFG
from eigentree.shapes import check_shapes, check_starts, check_types

Floats = NDArray[np.float64]

# The large arrays, which model files keep in single precision.
ROUNDED = ("dense", "samples", "lexical")


class LatentParameters(NamedTuple):
    """The arrays of a grammar with latent states.

    Vectors over the states of each symbol are stored one after another: those of symbol a
    at ``state_start[a]:state_start[a+1]``.  Rows of samples likewise, one rule after another.

    Attributes
    ----------
    state_start : int64, axes (N + 1)
    rule_symbols : int32, axes (R, 3)
        Parent, left and right symbol.
    dense_start : int64, axes (R)
        Where a rule's tensor begins in ``dense``, -1 for the other forms.
    dense : float64
        Tensors with axes (K_a, K_b, K_c), flattened.
    n_samples : int32, axes (R)
        0 for dense rules, and for those that are products of means.
    sample_start : int64, axes (R, 3)
        Where Z, Y and W of a rule begin in ``samples``.
    samples : float64
        Matrices with axes (n, K), flattened.
    ratio, smoothing : float64, axes (R)
        p(left right | parent), and lambda, of rules that are not dense.
    outside_mean, inside_mean : float64, axes (states of all symbols)
        H_a and F_a of section 3.2.
    lexical_start : int64, axes (L + 1)
    lexical : float64
        Vector of each entry of the word table, to be multiplied by p(word | symbol).
    unseen_word : float64, axes (states of all symbols)
        The same for a word never seen with the symbol.
    root : float64, axes (states of all symbols)
    """

    state_start: NDArray[np.int64]
    rule_symbols: NDArray[np.int32]
    dense_start: NDArray[np.int64]
    dense: Floats
    n_samples: NDArray[np.int32]
    sample_start: NDArray[np.int64]
    samples: Floats
    ratio: Floats
    smoothing: Floats
    outside_mean: Floats
    inside_mean: Floats
    lexical_start: NDArray[np.int64]
    lexical: Floats
    unseen_word: Floats
    root: Floats


_TYPES: dict[str, type[np.generic]] = {
    **dict.fromkeys(LatentParameters._fields, np.float64),
    **dict.fromkeys(("state_start", "dense_start", "sample_start", "lexical_start"), np.int64),
    **dict.fromkeys(("rule_symbols", "n_samples"), np.int32),
}


@dataclass(frozen=True, slots=True)
class LPCFG:
    """A PCFG refined by latent states.

    Attributes
    ----------
    backbone
        The plain PCFG: rules, words, roots, and the grammar that prunes.
    parameters
        The latent parameters.
    signed
        Whether values may be negative, as the spectral estimator's are: then they are no
        probabilities, and decoders take absolute values of marginals.
    """

    backbone: PCFG
    parameters: LatentParameters
    signed: bool

    def __post_init__(self) -> None:
        p, backbone = self.parameters, self.backbone
        # Kernels don't check what they read, so nothing may point outside its array.
        check_types("LPCFG", {name: (getattr(p, name), kind) for name, kind in _TYPES.items()})
        check_shapes(
            "LPCFG",
            {
                "state_start": (p.state_start, "bounds"),
                "dense": (p.dense, "dense"),
                "samples": (p.samples, "samples"),
                "lexical": (p.lexical, "lexical"),
                "lexical_start": (p.lexical_start, "entries"),
                "dense_start": (p.dense_start, "R"),
                "n_samples": (p.n_samples, "R"),
                "sample_start": (p.sample_start, "R modes"),
                "rule_symbols": (p.rule_symbols, "R modes"),
                "ratio": (p.ratio, "R"),
                "smoothing": (p.smoothing, "R"),
                "outside_mean": (p.outside_mean, "states"),
                "inside_mean": (p.inside_mean, "states"),
                "unseen_word": (p.unseen_word, "states"),
                "root": (p.root, "states"),
            },
            R=backbone.n_rules,
            modes=3,
            bounds=len(backbone.symbols) + 1,
            entries=len(backbone.words.word) + 1,
        )
        check_starts("LPCFG", "state_start", p.state_start)
        check_starts("LPCFG", "lexical_start", p.lexical_start)
        if p.state_start[-1] != len(p.root):
            raise GrammarError(
                f"there are {p.state_start[-1]} latent states, but vectors for {len(p.root)}"
            )
        n_states = self.n_states
        if np.any(n_states < 1):
            raise GrammarError("each symbol must have at least one latent state")
        expected = np.stack([backbone.parent, backbone.left, backbone.right], axis=1)
        if not np.array_equal(p.rule_symbols, expected):
            raise GrammarError("the latent parameters belong to other rules than the PCFG's")
        # In floating point, since forged starts could overflow integers.
        states = n_states[p.rule_symbols].astype(np.float64)
        is_dense = p.dense_start >= 0
        dense_end = np.where(is_dense, p.dense_start + states.prod(axis=1), 0.0)
        sample_end = p.sample_start + p.n_samples[:, None] * states
        if (
            dense_end.max(initial=0.0) > len(p.dense)
            or sample_end.max(initial=0.0) > len(p.samples)
            or p.sample_start.min(initial=0) < 0
        ):
            raise GrammarError("a rule's tensor reaches beyond the end of its array")
        if np.any(~is_dense & ((p.n_samples < 0) | ((p.n_samples == 0) & (p.smoothing != 0.0)))):
            raise GrammarError("a rule has neither a dense tensor nor samples")
        if np.any(is_dense & (p.n_samples != 0)) or np.any(p.dense_start < -1):
            raise GrammarError("a rule's dense_start and n_samples contradict each other")
        lengths = np.diff(p.lexical_start)
        if not np.array_equal(lengths, n_states[backbone.words.symbol]) or p.lexical_start[
            -1
        ] != len(p.lexical):
            raise GrammarError("the lexical vectors don't fit the word table")

    @property
    def n_states(self) -> NDArray[np.int32]:
        """Axes (N): number of latent states of each symbol."""
        return np.diff(self.parameters.state_start).astype(np.int32)

    @property
    def n_parameters(self) -> int:
        """Numbers stored for rules, words and roots that are not zero."""
        p = self.parameters
        arrays = (p.dense, p.samples, p.lexical, p.root)
        return sum(int(np.count_nonzero(array)) for array in arrays)

    def rounded(self) -> LPCFG:
        """The same grammar with the numbers of rules and words in single precision."""
        rounded = {
            name: getattr(self.parameters, name).astype(np.float32).astype(np.float64)
            for name in ROUNDED
        }
        return LPCFG(self.backbone, self.parameters._replace(**rounded), self.signed)

    def states(self, symbol: int) -> slice:
        """Where the vectors of a symbol stand in arrays over the states of all symbols."""
        start = self.parameters.state_start
        return slice(int(start[symbol]), int(start[symbol + 1]))

    def tensor(self, rule: int) -> Floats:
        """Axes (K_a, K_b, K_c): a rule's tensor, formed in full."""
        p = self.parameters
        symbols = p.rule_symbols[rule]
        shape = tuple(int(k) for k in self.n_states[symbols])
        start = int(p.dense_start[rule])
        if start >= 0:
            return p.dense[start : start + int(np.prod(shape))].reshape(shape)
        a, b, c = (self.states(int(symbol)) for symbol in symbols)
        backed_off = (p.outside_mean[a], p.inside_mean[b], p.inside_mean[c])
        n = int(p.n_samples[rule])
        if n == 0:
            h, f_left, f_right = backed_off
            return float(p.ratio[rule]) * h[:, None, None] * f_left[:, None] * f_right
        z, y, w = (
            p.samples[int(first) : int(first) + n * k].reshape(n, k)
            for first, k in zip(p.sample_start[rule], shape, strict=True)
        )
        smoothed = smoothed_tensor(z, y, w, np.ones(n), backed_off, float(p.smoothing[rule]))
        return float(p.ratio[rule]) * smoothed


def smoothed_tensor(
    z: Floats,
    y: Floats,
    w: Floats,
    weight: Floats,
    backed_off: tuple[Floats, Floats, Floats],
    smoothing: float,
) -> Floats:
    """The back-off smoothed moment of a rule (Cohen et al. 2013, section 3.2).

    Parameters
    ----------
    z, y, w : float64, axes (n, K_a), (n, K_b), (n, K_c)
        Projections of the outside trees, and of the left and right inside trees.
    weight : float64, axes (n)
        Weight of each sample.
    backed_off
        H_a, F_b and F_c: means over all occurrences of the three symbols.
    smoothing
        lambda; 1 for no smoothing.

    Returns
    -------
    float64, axes (K_a, K_b, K_c)

    Cost
    ----
    O(n K^3) time; memory for 4096 samples of K^2 numbers at a time.
    """
    total = float(weight.sum())
    moment = np.zeros((z.shape[1], y.shape[1] * w.shape[1]))
    for first in range(0, len(z), 4096):
        rows = slice(first, first + 4096)
        pairs = (y[rows, :, None] * w[rows, None, :]).reshape(-1, moment.shape[1])
        moment += (z[rows] * weight[rows, None]).T @ pairs
    third = moment.reshape(z.shape[1], y.shape[1], w.shape[1]) / total
    if smoothing == 1.0:
        return third
    share = weight / total
    mean_z, mean_y, mean_w = share @ z, share @ y, share @ w
    zy, zw, yw = (z.T * share) @ y, (z.T * share) @ w, (y.T * share) @ w
    return back_off(third, (zy, zw, yw), (mean_z, mean_y, mean_w), backed_off, smoothing)


def back_off(
    third: Floats,
    pairs: tuple[Floats, Floats, Floats],
    means: tuple[Floats, Floats, Floats],
    backed_off: tuple[Floats, Floats, Floats],
    smoothing: float,
) -> Floats:
    """Mix a third moment with products of lower ones: lambda E + (1 - lambda) (... E4).

    Parameters
    ----------
    third : float64, axes (K_a, K_b, K_c)
        E.
    pairs : float64, axes (K_a, K_b), (K_a, K_c), (K_b, K_c)
        Second moments of the rule's samples, for E2.
    means : float64, axes (K_a), (K_b), (K_c)
        First moments of the rule's samples, for E2 and E3.
    backed_off
        H_a, F_b and F_c, for E4.
    smoothing
        lambda.
    """
    (zy, zw, yw), (mean_z, mean_y, mean_w) = pairs, means
    second = (
        zy[:, :, None] * mean_w + zw[:, None, :] * mean_y[:, None] + mean_z[:, None, None] * yw
    ) / 3.0
    first_order = mean_z[:, None, None] * mean_y[:, None] * mean_w
    h, f_left, f_right = backed_off
    zeroth = h[:, None, None] * f_left[:, None] * f_right
    rest = 1.0 - smoothing
    return smoothing * third + rest * (
        smoothing * second + rest * (smoothing * first_order + rest * zeroth)
    )
