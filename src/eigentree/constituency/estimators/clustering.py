"""The clustering estimator: states are clusters of nodes with similar projections."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.clustering import ClusteringOptions, learn_clustering
from eigentree.constituency.learn.noise import Noise
from eigentree.constituency.learn.spectral import Projections, SpectralOptions
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.validation import Validation
from eigentree.types import Progress


@dataclass(frozen=True)
class Clustering:
    """Settings of `eigentree.constituency.learn.clustering`; see `Estimator`."""

    is_latent: ClassVar[bool] = True
    is_signed: ClassVar[bool] = False

    clustering: ClusteringOptions
    noise: Noise

    @property
    def states(self) -> int:
        """Maximum number of latent states of a nonterminal."""
        return self.clustering.states

    @property
    def projecting(self) -> SpectralOptions | None:
        """None if noise is added to the features."""
        return None if self.noise.on_features else self.clustering.projecting

    def fit(
        self,
        examples: Examples,
        *,
        validation: Validation | None = None,  # noqa: ARG002 - unused here
        projections: Projections | None = None,
        seed: int = 0,
        jobs: int = 1,  # noqa: ARG002
        checkpoint: Path | None = None,  # noqa: ARG002
        progress: Progress | None = None,
    ) -> tuple[LPCFG, dict[str, Any]]:
        """Cluster the nodes of each symbol; rule probabilities are relative frequencies."""
        model = learn_clustering(
            examples,
            self.clustering,
            noise=self.noise,
            projections=projections,
            seed=seed,
            progress=progress,
        )
        report = {"clustering": asdict(self.clustering), **model.projections.report()}
        return model.grammar, report | self.noise.report()
