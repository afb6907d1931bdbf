"""The spectral estimator, optionally with a search for numbers of states."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.noise import Noise
from eigentree.constituency.learn.spectral import Projections, SpectralOptions, learn_spectral
from eigentree.constituency.learn.state_search import StateSearchOptions
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.tuning import optimise_states
from eigentree.constituency.validation import Validation
from eigentree.errors import SettingsError
from eigentree.types import Progress


@dataclass(frozen=True)
class Spectral:
    """Settings of `eigentree.constituency.learn.spectral`; see `Estimator`."""

    is_latent: ClassVar[bool] = True
    is_signed: ClassVar[bool] = True

    spectral: SpectralOptions
    noise: Noise
    state_search: StateSearchOptions | None

    @property
    def states(self) -> int:
        """Maximum number of latent states of a nonterminal."""
        return self.spectral.states

    @property
    def projecting(self) -> SpectralOptions | None:
        """None if noise is added to the features, or numbers of states are searched."""
        is_shared = not self.noise.on_features and self.state_search is None
        return self.spectral if is_shared else None

    def fit(
        self,
        examples: Examples,
        *,
        validation: Validation | None = None,
        projections: Projections | None = None,
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,  # noqa: ARG002 - unused here
        progress: Progress | None = None,
    ) -> tuple[LPCFG, dict[str, Any]]:
        """Estimate by the method of moments; the validation trees are used by the search only."""
        if self.state_search is None:
            model = learn_spectral(
                examples,
                self.spectral,
                noise=self.noise,
                projections=projections,
                seed=seed,
                progress=progress,
            )
            report: dict[str, Any] = {"spectral": asdict(self.spectral)}
        else:
            if validation is None:
                raise SettingsError("state_search requires held-out trees; there are none")
            model, report = optimise_states(
                examples,
                self.spectral,
                self.state_search,
                validation.scorer(progress),
                seed=seed,
                jobs=jobs,
                progress=progress,
            )
        return model.grammar, report | model.projections.report() | self.noise.report()
