"""L-PCFGs: PCFGs whose nonterminals have latent states, with probabilities or signed values.

Whatever its learner, a grammar with latent states is a set of arrays over a plain PCFG's
rules: a tensor for each rule a -> b c, with one axis for each symbol's states, a vector for each
word under a preterminal, and a vector for each root symbol.  The value of a skeletal tree is
the sum over all states of the product of entries.  For EM and clustering the entries are
probabilities; for the spectral estimator they are probabilities up to an invertible change
of basis of each symbol's states, and may be negative (Cohen et al. 2013, section 2.3.1).

A rule's tensor is stored in one of four exact forms:

*dense*: all K_a K_b K_c entries;

*samples*, for a rule seen n times, n small: the projections Z, Y, W (axes n K) of its
outside trees, left and right inside trees, from which the back-off smoothed tensor

    lambda E + (1 - lambda) (lambda E2 + (1 - lambda) (lambda E3 + (1 - lambda) E4))

of section 3.2 is applied without being formed: with p = Y x, q = W y and bars for
means over the samples, the tensor applied to vectors x and y is ``ratio`` times

    Z' v / n + (1 - lambda)^3 H_a (F_b . x) (F_c . y),
    v = lambda p q + (1 - lambda) lambda / 3 (p mean(q) + q mean(p) + mean(p q))
        + (1 - lambda)^2 lambda mean(p) mean(q).

This takes n (K_a + K_b + K_c) numbers instead of K_a K_b K_c, and most rules of a treebank
are rare;

*means*, for an unseen rule (`eigentree.constituency.learn.unseen_rules`): ``ratio`` times the
product of the means H_a, F_b and F_c, the form of samples with n = 0 and lambda = 0;

*counts*, if every node of the treebank has one state, or a few: the distinct triples of
states that the rule was seen with, and their counts.  This is the form of samples with rows
that are zero except for a 1 at the state, so that p and q are entries of x and y, and with
weights.  The mixture above is then a distribution p(h1, h2, h3 | a -> b c) with E4 the product of
the shares p(h | a) of the states, and the tensor is ``ratio`` times

    p(h1, h2, h3 | a -> b c) scale_a[h1],

where the scale makes the choices of each state sum to 1: it is 1 over the mean of
p(h1 | a -> b c) over the rules of a.  A rule seen n times has at most n triples, whatever the
numbers of states.

The vectors of words are likewise stored in full or as counts: the nonzero shares c of each state
in the uses of the word, and ``lean``, for

    scale_a[h] ((1 - lean) c[h] + lean p(h | a)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigentree._core.bfloat16 import round_to_bfloat16
from eigentree._core.shapes import check_shapes, check_starts, check_types
from eigentree.constituency.grammar.arrays import COUNTS, LatentParameters
from eigentree.constituency.grammar.pcfg import LARGEST_COUNT, PCFG
from eigentree.errors import GrammarError
from eigentree.types import Floats

# The large arrays, which model files store in single precision.
ROUNDED = ("dense", "samples", "lexical", "uses", "word_uses", "lean")
# States in the form of counts have 16-bit numbers.
MAX_COUNTED_STATES = 1 << 16
# The second and third sample_start of a rule that is stored as counts.
NO_MATRIX = -1


_TYPES: dict[str, type[np.generic]] = {
    **dict.fromkeys(LatentParameters._fields, np.float64),
    **dict.fromkeys(("state_start", "dense_start", "sample_start", "lexical_start"), np.int64),
    "word_use_start": np.int64,
    **dict.fromkeys(("rule_symbols", "n_samples"), np.int32),
    **dict.fromkeys(("triples", "word_state"), np.uint16),
}


@dataclass(frozen=True)
class LPCFG:
    """A PCFG refined by latent states.

    Attributes
    ----------
    backbone
        The plain PCFG: rules, words, roots, and the grammar for pruning.
    parameters
        The latent parameters.
    signed
        Whether values may be negative, as with the spectral estimator; they are then not
        probabilities, and decoders use absolute values of marginals.
    """

    backbone: PCFG
    parameters: LatentParameters
    signed: bool

    def __post_init__(self) -> None:
        p, backbone = self.parameters, self.backbone
        # Kernels do not check indices, so all must be within their arrays.
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
                "triples": (p.triples, "triples modes"),
                "uses": (p.uses, "triples"),
                "word_state": (p.word_state, "uses"),
                "word_uses": (p.word_uses, "uses"),
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
                f"there are {p.state_start[-1]} latent states but vectors for {len(p.root)}"
            )
        n_states = self.n_states
        if np.any(n_states < 1):
            raise GrammarError("each symbol must have at least one latent state")
        expected = np.stack([backbone.parent, backbone.left, backbone.right], axis=1)
        if not np.array_equal(p.rule_symbols, expected):
            raise GrammarError("the latent parameters are for other rules than the PCFG's")
        # In floating point, since forged starts could overflow integers.
        states = n_states[p.rule_symbols].astype(np.float64)
        is_dense = p.dense_start >= 0
        is_counted = self.is_counted
        dense_end = np.where(is_dense, p.dense_start + states.prod(axis=1), 0.0)
        sample_end = (p.sample_start + p.n_samples[:, None] * states)[~is_counted]
        if (
            dense_end.max(initial=0.0) > len(p.dense)
            or sample_end.max(initial=0.0) > len(p.samples)
            or p.sample_start[~is_counted].min(initial=0) < 0
        ):
            raise GrammarError("a rule's tensor exceeds the end of its array")
        if np.any(~is_dense & ((p.n_samples < 0) | ((p.n_samples == 0) & (p.smoothing != 0.0)))):
            raise GrammarError("a rule has neither a dense tensor nor samples")
        if np.any(is_dense & (p.n_samples != 0)) or np.any(p.dense_start < -1):
            raise GrammarError("a rule's dense_start and n_samples contradict each other")
        lengths, expected = np.diff(p.lexical_start), n_states[backbone.words.symbol]
        fits = lengths == expected
        if len(p.word_use_start):
            fits |= lengths == 0
        if not fits.all() or p.lexical_start[-1] != len(p.lexical):
            raise GrammarError("the lexical vectors do not match the word table")
        self._check_counts(is_counted, lengths == 0)

    def _check_counts(
        self, is_counted: NDArray[np.bool_], word_is_counted: NDArray[np.bool_]
    ) -> None:
        """Validate the form of counts."""
        p, backbone = self.parameters, self.backbone
        if not len(p.word_use_start):
            non_empty = [name for name in COUNTS if len(getattr(p, name))]
            if is_counted.any() or non_empty:
                raise GrammarError(
                    "some tensors are stored as counts, but not the states of words; "
                    "word_use_start must have an entry for each"
                )
            return
        check_shapes(
            "LPCFG",
            {
                "word_use_start": (p.word_use_start, "entries"),
                "lean": (p.lean, "L"),
                "state_share": (p.state_share, "states"),
                "state_scale": (p.state_scale, "states"),
            },
            states=len(p.root),
            L=len(backbone.words.word),
            entries=len(backbone.words.word) + 1,
        )
        check_starts("LPCFG", "word_use_start", p.word_use_start)
        # Together the rules must use each triple exactly once, so forged lengths cannot overflow.
        rules = np.flatnonzero(is_counted)
        rules = rules[np.argsort(p.sample_start[rules, 0], kind="stable")]
        n_triples = p.n_samples[rules].astype(np.int64)
        start = np.cumsum(n_triples) - n_triples
        if n_triples.sum() != len(p.uses) or not np.array_equal(p.sample_start[rules, 0], start):
            raise GrammarError(
                "the triples of rules stored as counts must be consecutive and complete"
            )
        n_states = self.n_states
        limits = n_states[p.rule_symbols[np.repeat(rules, n_triples)]]
        n_uses = np.diff(p.word_use_start)
        if p.word_use_start[-1] != len(p.word_uses) or np.any((n_uses > 0) != word_is_counted):
            raise GrammarError("the states of words stored as counts do not match the word table")
        word_limits = np.repeat(n_states[backbone.words.symbol], n_uses)
        if np.any(p.triples >= limits) or np.any(p.word_state >= word_limits):
            raise GrammarError("a count has a state that its symbol lacks")
        for name in ("uses", "word_uses"):
            if not np.all((getattr(p, name) > 0) & (getattr(p, name) < LARGEST_COUNT)):
                raise GrammarError(f"{name} has a count that is not positive or too large")

    @property
    def is_counted(self) -> NDArray[np.bool_]:
        """Axes (R): whether the tensor of a rule is stored as counts."""
        p = self.parameters
        counted: NDArray[np.bool_] = (p.dense_start < 0) & (p.n_samples > 0)
        counted &= p.sample_start[:, 1] == NO_MATRIX
        return counted

    @property
    def n_states(self) -> NDArray[np.int32]:
        """Axes (N): number of latent states of each symbol."""
        return np.diff(self.parameters.state_start).astype(np.int32)

    @property
    def n_parameters(self) -> int:
        """Number of nonzero numbers stored for rules, words and roots."""
        p = self.parameters
        arrays = (p.dense, p.samples, p.lexical, p.root, p.uses, p.word_uses, p.lean)
        return sum(int(np.count_nonzero(array)) for array in arrays)

    def rounded(self, *, compact: bool = False) -> LPCFG:
        """The same grammar with the numbers of rules and words rounded as in model files.

        Parameters
        ----------
        compact
            Round to eight significant bits instead of single precision, for half the size.
        """
        rounded: dict[str, Any] = {}
        for name in ROUNDED:
            single = getattr(self.parameters, name).astype(np.float32)
            rounded[name] = (round_to_bfloat16(single) if compact else single).astype(np.float64)
        return LPCFG(self.backbone, self.parameters._replace(**rounded), self.signed)

    def states(self, symbol: int) -> slice:
        """The range of a symbol in arrays over the states of all symbols."""
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
        n = int(p.n_samples[rule])
        if n > 0 and p.sample_start[rule, 1] == NO_MATRIX:
            first = int(p.sample_start[rule, 0])
            triples = slice(first, first + n)
            z, y, w = (
                np.eye(k)[states] for k, states in zip(shape, p.triples[triples].T, strict=True)
            )
            shares = (p.state_share[a], p.state_share[b], p.state_share[c])
            mixed = smoothed_tensor(z, y, w, p.uses[triples], shares, float(p.smoothing[rule]))
            return float(p.ratio[rule]) * mixed * p.state_scale[a][:, None, None]
        backed_off = (p.outside_mean[a], p.inside_mean[b], p.inside_mean[c])
        if n == 0:
            h, f_left, f_right = backed_off
            return float(p.ratio[rule]) * h[:, None, None] * f_left[:, None] * f_right
        z, y, w = (
            p.samples[int(first) : int(first) + n * k].reshape(n, k)
            for first, k in zip(p.sample_start[rule], shape, strict=True)
        )
        smoothed = smoothed_tensor(z, y, w, np.ones(n), backed_off, float(p.smoothing[rule]))
        return float(p.ratio[rule]) * smoothed

    def word_vector(self, entry: int) -> Floats:
        """Axes (K_a): the factor of p(word | symbol) for an entry of the word table."""
        p = self.parameters
        first, last = p.lexical_start[entry : entry + 2].tolist()
        if first < last:
            return p.lexical[first:last]
        states = self.states(int(self.backbone.words.symbol[entry]))
        seen = slice(*p.word_use_start[entry : entry + 2].tolist())
        share = np.zeros(states.stop - states.start)
        share[p.word_state[seen]] = p.word_uses[seen] / p.word_uses[seen].sum()
        lean = p.lean[entry]
        mixed: Floats = (1.0 - lean) * share + lean * p.state_share[states]
        return p.state_scale[states] * mixed


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
