"""Expectation maximisation, initialised at random or by clusters of spectral projections."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.clustering import cluster_states
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.spectral import Projections, SpectralOptions, project
from eigentree.constituency.learn.state_counts import capped_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.validation import Validation
from eigentree.types import Ints, Progress


@dataclass(frozen=True)
class EM:
    """Settings of `eigentree.constituency.learn.em` initialised at random; see `Estimator`."""

    is_latent: ClassVar[bool] = True
    is_signed: ClassVar[bool] = False
    projecting: ClassVar[None] = None
    start: ClassVar[Literal["random", "clusters"]] = "random"

    em: EMOptions

    def __post_init__(self) -> None:
        object.__setattr__(self, "em", replace(self.em, start=self.start))

    @property
    def states(self) -> int:
        """Maximum number of latent states of a nonterminal."""
        return self.em.states

    def node_states(
        self,
        examples: Examples,  # noqa: ARG002 - for estimators that assign states
        seed: int,  # noqa: ARG002
        progress: Progress | None,  # noqa: ARG002
    ) -> tuple[Ints | None, dict[str, Any]]:
        """The initial state of each node, None for a random start, and a report on them."""
        return None, {}

    def fit(
        self,
        examples: Examples,
        *,
        validation: Validation | None = None,
        projections: Projections | None = None,  # noqa: ARG002 - unused here
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
    ) -> tuple[LPCFG, dict[str, Any]]:
        """Run EM; keep the iteration with the best F1 on the held-out trees, or else the last."""
        states, report = self.node_states(examples, seed, progress)
        trace = learn_em(
            examples,
            self.em,
            states=states,
            n_states=capped_states(examples, self.em),
            scorer=None if validation is None else validation.scorer(progress),
            validation_digest="" if validation is None else validation.digest(report),
            checkpoint=checkpoint,
            jobs=jobs,
            seed=seed,
            progress=progress,
        )
        record = [
            {
                "iteration": each.number,
                "log_likelihood": each.log_likelihood,
                "f1": each.score,
                "cpu_seconds": each.cpu_seconds,
            }
            for each in trace.record
        ]
        return trace.model, {
            **report,
            "em": {"settings": asdict(self.em), "record": record, "best": trace.best_number},
        }


@dataclass(frozen=True)
class ClusteredEM(EM):
    """Settings of `eigentree.constituency.learn.em` initialised by clusters; see `Estimator`."""

    start: ClassVar[Literal["random", "clusters"]] = "clusters"

    spectral: SpectralOptions

    def node_states(
        self, examples: Examples, seed: int, progress: Progress | None
    ) -> tuple[Ints | None, dict[str, Any]]:
        """The clusters of the nodes by their spectral projections."""
        projections = project(examples, self.spectral, seed=seed, progress=progress)
        states = cluster_states(
            examples,
            projections,
            capped_states(examples, self.em),
            shrinkage=self.spectral.shrinkage,
            seed=seed,
        )
        return states, {"spectral": asdict(self.spectral), **projections.report()}
