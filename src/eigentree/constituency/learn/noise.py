"""Noise on training features or projections: many different models from one treebank.

Spectral models of one treebank are nearly identical.  Narayan and Cohen (2015, section 4) perturb
the features before each model is estimated, to obtain models with different errors:

*dropout* sets each entry of the feature matrices to 0 with probability sigma, before the
decomposition;

*additive* and *multiplicative* perturb the projections x of the trees, after the decomposition,
with Gaussian numbers eps of standard deviation sigma: x + eps, with each coordinate of x in units
of its own standard deviation (coordinates differ in size by orders of magnitude); and
x (1 + eps).  The decomposition is shared by all such models.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from eigentree._core.arguments import check_choice
from eigentree.errors import SettingsError
from eigentree.types import Floats

Scheme = Literal["none", "dropout", "additive", "multiplicative"]
SCHEMES: tuple[str, ...] = get_args(Scheme)
# Much larger than any signal, but its square does not overflow.
MAX_SIGMA = 1e6
# Last element of the generator's seed path; separates these draws from those of learning.
DRAWS = 1


@dataclass(frozen=True)
class Noise:
    """A noise scheme with its strength.

    Attributes
    ----------
    scheme
        One of `SCHEMES`.
    sigma
        Probability of ``dropout``, below 1; standard deviation of the Gaussian schemes; 0 for
        ``none``.
    """

    scheme: Scheme = "none"
    sigma: float = 0.0

    def __post_init__(self) -> None:
        check_choice(SCHEMES, scheme=self.scheme)
        if not 0 <= self.sigma <= MAX_SIGMA:
            raise SettingsError(f"sigma is {self.sigma}; it must be from 0 to {MAX_SIGMA:g}")
        if self.scheme == "none" and self.sigma > 0:
            raise SettingsError(f"sigma is {self.sigma}, but the scheme none has no noise")
        if self.scheme == "dropout" and self.sigma >= 1:
            raise SettingsError(f"sigma is {self.sigma}; with dropout it must be below 1")

    @property
    def on_features(self) -> bool:
        """Whether features are perturbed, so that each model has its own decomposition."""
        return self.scheme == "dropout" and self.sigma > 0

    @property
    def on_projections(self) -> bool:
        """Whether projections are perturbed."""
        return self.scheme in ("additive", "multiplicative") and self.sigma > 0

    def report(self) -> dict[str, Any]:
        """The entry of model files about noise; empty without noise."""
        return {} if self.scheme == "none" else {"noise": asdict(self)}


NO_NOISE = Noise()


def drop_out(matrix: sparse.csr_array, sigma: float, rng: np.random.Generator) -> sparse.csr_array:
    """A copy of a matrix in which each entry is set to 0 with some probability.

    Parameters
    ----------
    matrix
        A sparse matrix.
    sigma
        The probability.
    rng
        Generator; one draw per entry.

    Cost
    ----
    Linear in the number of entries.

    References
    ----------
    narayan-2015, section 4.
    """
    is_kept = rng.random(matrix.nnz) >= sigma
    dropped = sparse.csr_array(
        (matrix.data * is_kept, matrix.indices, matrix.indptr), shape=matrix.shape
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
        Generator; one draw per entry.

    References
    ----------
    narayan-2015, section 4.
    """
    drawn = noise.sigma * rng.standard_normal(rows.shape)
    if noise.scheme == "multiplicative":
        return rows * (1.0 + drawn)
    spread: Floats = rows.std(axis=0)
    return rows + drawn * spread
