"""Noise on what models are learned from: many models that differ, where one seed gives one.

Spectral models of one treebank are nearly alike.  Narayan and Cohen (2015, section 4) disturb the
features before each model is estimated, and so get models that err in different places:

*dropout* sets each entry of the feature matrices to 0 with probability sigma, before the
decomposition;

*additive* and *multiplicative* disturb the projections x of the trees, after the decomposition,
with Gaussian numbers eps of standard deviation sigma: x + eps, with each coordinate of x in units
of its own standard deviation, for coordinates differ in size by orders of magnitude; and
x (1 + eps).  The decomposition serves all such models.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from eigentree.errors import SettingsError
from eigentree.types import Floats

Scheme = Literal["none", "dropout", "additive", "multiplicative"]
SCHEMES: tuple[str, ...] = get_args(Scheme)
# A strength that drowns whatever is learned from, and yet can be squared.
MOST_SIGMA = 1e6
# The last step of the path to a generator, which tells these draws from those of learning.
DRAWS = 1


@dataclass(frozen=True, slots=True)
class Noise:
    """What is disturbed, and how much.

    Attributes
    ----------
    scheme
        One of `SCHEMES`.
    sigma
        Probability of ``dropout``, below 1; standard deviation of the Gaussian schemes; 0 of
        ``none``.
    """

    scheme: Scheme = "none"
    sigma: float = 0.0

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise SettingsError(
                f"scheme is {self.scheme!r}; it must be one of {', '.join(SCHEMES)}"
            )
        if not 0 <= self.sigma <= MOST_SIGMA:
            raise SettingsError(f"sigma is {self.sigma}; it must be from 0 to {MOST_SIGMA:g}")
        if self.scheme == "none" and self.sigma > 0:
            raise SettingsError(f"sigma is {self.sigma}, but the scheme none has no noise")
        if self.scheme == "dropout" and self.sigma >= 1:
            raise SettingsError(f"sigma is {self.sigma}; dropout must leave something, so below 1")

    @property
    def on_features(self) -> bool:
        """Whether features are disturbed, so that each model has a decomposition of its own."""
        return self.scheme == "dropout" and self.sigma > 0

    @property
    def on_projections(self) -> bool:
        """Whether projections are disturbed."""
        return self.scheme in ("additive", "multiplicative") and self.sigma > 0

    def report(self) -> dict[str, Any]:
        """The noise as model files record it; nothing for none."""
        return {} if self.scheme == "none" else {"noise": asdict(self)}


NO_NOISE = Noise()


def drop_out(matrix: sparse.csr_array, sigma: float, rng: np.random.Generator) -> sparse.csr_array:
    """A copy of a matrix in which each entry is 0 with a probability.

    Parameters
    ----------
    matrix
        Any.
    sigma
        The probability.
    rng
        Draws a number for each entry.

    Cost
    ----
    Linear in the number of entries.

    References
    ----------
    narayan-2015, section 4.
    """
    kept = rng.random(matrix.nnz) >= sigma
    dropped = sparse.csr_array(
        (matrix.data * kept, matrix.indices, matrix.indptr), shape=matrix.shape
    )
    return dropped


def disturb(rows: Floats, noise: Noise, rng: np.random.Generator) -> Floats:
    """Rows of projections with Gaussian noise.

    Parameters
    ----------
    rows : float64, axes (n, K)
        Projections of the nodes of one symbol.
    noise
        Additive or multiplicative.
    rng
        Draws a number for each entry.

    References
    ----------
    narayan-2015, section 4.
    """
    drawn = noise.sigma * rng.standard_normal(rows.shape)
    if noise.scheme == "multiplicative":
        return rows * (1.0 + drawn)
    spread: Floats = rows.std(axis=0)
    return rows + drawn * spread
