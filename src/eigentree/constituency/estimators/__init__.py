"""The registry of estimators: methods that learn a grammar from the arrays of a treebank.

An estimator is a class whose fields are the settings that it uses, named as in
`eigentree.constituency.training_options.TrainingOptions`.  To add one, write a module with such a
class in this package and add a row to `ESTIMATORS`.  The command line, studies, ensembles and tests
take the names of methods from here, so this module does not import the learners.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from eigentree.constituency.grammar.lpcfg import LPCFG
    from eigentree.constituency.learn.spectral import Projections, SpectralOptions
    from eigentree.constituency.learn.treebank_arrays import Examples
    from eigentree.constituency.validation import Validation
    from eigentree.types import Progress

# Method -> module in this package, class.
ESTIMATORS: Mapping[str, tuple[str, str]] = {
    "spectral": ("spectral", "Spectral"),
    "clustering": ("clustering", "Clustering"),
    "em": ("em", "EM"),
    "spectral+em": ("em", "ClusteredEM"),
    "pcfg": ("pcfg", "RelativeFrequencies"),
}


class Variant(NamedTuple):
    """An estimator applied to symbols that are annotated with their context.

    Attributes
    ----------
    method
        The estimator.
    vertical, horizontal
        Orders of Markovisation, as in `eigentree.treebank.binarise.BinariseOptions`.
    """

    method: str
    vertical: int
    horizontal: int


# Symbols annotated with a parent and a sibling.
MARKOV = Variant("pcfg", vertical=2, horizontal=1)
VARIANTS: Mapping[str, Variant] = {"markov": MARKOV}

METHODS: tuple[str, ...] = (*ESTIMATORS, *VARIANTS)
"""The names of all methods, variants last."""


class Estimator(Protocol):
    """The settings of a method, and learning with them.

    Attributes
    ----------
    is_latent
        Whether grammars have latent states and support unseen rules.
    is_signed
        Whether values may be negative.
    """

    is_latent: ClassVar[bool]
    is_signed: ClassVar[bool]

    @property
    def states(self) -> int:
        """Maximum number of latent states of a nonterminal."""

    @property
    def projecting(self) -> SpectralOptions | None:
        """Settings of projections that models with other noise or seeds can share, if any."""

    def fit(
        self,
        examples: Examples,
        *,
        validation: Validation | None = None,
        projections: Projections | None = None,
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
    ) -> tuple[LPCFG, dict[str, Any]]:
        """Learn a grammar.

        Parameters
        ----------
        examples
            The treebank.
        validation
            Held-out trees; None for none.  Methods without iterations or search ignore them.
        projections
            Projections with the settings `projecting`, if already computed.
        seed
            The same seed gives the same grammar.
        jobs
            Number of threads; the grammar does not depend on it.
        checkpoint
            File from which an interrupted run resumes; methods without iterations ignore it.
        progress
            Called with the stage and the completed fraction of it.

        Returns
        -------
        grammar, report
            The report describes learning for the model file, in JSON types.
        """


def estimator_class(method: str) -> type[Estimator]:
    """The class of an estimator; imports its learner.

    Raises
    ------
    KeyError
        When there is no such estimator.
    """
    module, name = ESTIMATORS[method]
    estimator: type[Estimator] = getattr(import_module(f"{__name__}.{module}"), name)
    return estimator


def learned_by(method: str) -> str:
    """The name of the estimator of a method or variant."""
    return VARIANTS[method].method if method in VARIANTS else method
