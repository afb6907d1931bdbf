"""The estimators: methods of learning a grammar from the arrays of a treebank.

An estimator is a class that holds the settings that it uses, named as in
`eigentree.constituency.training_options.TrainingOptions`, and learns a grammar from them.  To add
one, write a module with such a class in this package and add a row to `ESTIMATORS`.  The command
line, files of studies and ensembles, and tests take their methods from here, so this module loads
no learner.
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

# Method -> module of this package and class.
ESTIMATORS: Mapping[str, tuple[str, str]] = {
    "spectral": ("spectral", "Spectral"),
    "clustering": ("clustering", "Clustering"),
    "em": ("em", "EM"),
    "spectral+em": ("em", "ClusteredEM"),
    "pcfg": ("pcfg", "RelativeFrequencies"),
}


class Variant(NamedTuple):
    """An estimator on symbols that remember their surroundings.

    Attributes
    ----------
    method
        The estimator.
    vertical, horizontal
        As of `eigentree.treebank.binarise.BinariseOptions`.
    """

    method: str
    vertical: int
    horizontal: int


# Symbols that remember a parent and a sibling, as in the paper's section 4.3.
MARKOV = Variant("pcfg", vertical=2, horizontal=1)
VARIANTS: Mapping[str, Variant] = {"markov": MARKOV}

METHODS: tuple[str, ...] = (*ESTIMATORS, *VARIANTS)
"""All names of methods, variants last."""


class Estimator(Protocol):
    """The settings of a method, and how a grammar is learned with them.

    Attributes
    ----------
    is_latent
        Whether grammars have latent states, and may have rules that the treebank lacks.
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
            Those by `projecting`, where they are known already.
        seed
            One seed gives one grammar.
        jobs
            Threads; the grammar is the same for any number.
        checkpoint
            A file from which an interrupted run resumes; methods without iterations ignore it.
        progress
            Called with the stage and the share of it that is done.

        Returns
        -------
        grammar, report
            The report is what the model file records about learning: a mapping for JSON.
        """


def estimator_class(method: str) -> type[Estimator]:
    """The class of an estimator, whose learner is loaded now.

    Raises
    ------
    KeyError
        When there is no such estimator.
    """
    module, name = ESTIMATORS[method]
    found: type[Estimator] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


def learned_by(method: str) -> str:
    """The estimator of a method, which may be a variant."""
    return VARIANTS[method].method if method in VARIANTS else method
