"""Relative frequencies of the treebank's rules: a plain PCFG, one state per symbol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from eigentree.constituency.grammar.from_pcfg import one_state
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.spectral import Projections
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.validation import Validation
from eigentree.types import Progress


@dataclass(frozen=True)
class RelativeFrequencies:
    """Relative frequencies; the method has no settings.  See `Estimator`."""

    is_latent: ClassVar[bool] = False
    is_signed: ClassVar[bool] = False

    states: ClassVar[int] = 1
    projecting: ClassVar[None] = None

    def fit(
        self,
        examples: Examples,
        *,
        validation: Validation | None = None,  # noqa: ARG002 - unused here
        projections: Projections | None = None,  # noqa: ARG002
        seed: int = 0,  # noqa: ARG002
        jobs: int = 1,  # noqa: ARG002
        checkpoint: Path | None = None,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> tuple[LPCFG, dict[str, Any]]:
        """Count the rules and words of the treebank."""
        return one_state(count_pcfg(examples)), {}
