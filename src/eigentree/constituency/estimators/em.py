"""Expectation maximisation, initialised at random or by clusters of spectral projections."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.learn.clustering import cluster_states
from eigentree.constituency.learn.em import EMOptions, learn_em
from eigentree.constituency.learn.spectral import Projections, SpectralOptions, project
from eigentree.constituency.learn.state_counts import capped_states
from eigentree.constituency.learn.treebank_arrays import Examples
from eigentree.constituency.validation import Validation
from eigentree.types import Ints, Progress


@dataclass(frozen=True, slots=True)
class EM:
    """Settings of `eigentree.constituency.learn.em` initialised at random; see `Estimator`."""

    is_latent: ClassVar[bool] = True
    is_signed: ClassVar[bool] = False
    projecting: ClassVar[None] = None

    em: EMOptions

    def __post_init__(self) -> None:
        object.__setattr__(self, "em", replace(self.em, start="random"))

    @property
    def states(self) -> int:
        """Maximum number of latent states of a nonterminal."""
        return self.em.states

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
        return _iterate(examples, self.em, None, {}, validation, seed, jobs, checkpoint, progress)


@dataclass(frozen=True, slots=True)
class ClusteredEM:
    """Settings of `eigentree.constituency.learn.em` initialised by clusters; see `Estimator`."""

    is_latent: ClassVar[bool] = True
    is_signed: ClassVar[bool] = False
    projecting: ClassVar[None] = None

    em: EMOptions
    spectral: SpectralOptions

    def __post_init__(self) -> None:
        object.__setattr__(self, "em", replace(self.em, start="clusters"))

    @property
    def states(self) -> int:
        """Maximum number of latent states of a nonterminal."""
        return self.em.states

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
        """Cluster the nodes, then run EM as `EM.fit` does."""
        projections = project(examples, self.spectral, seed=seed, progress=progress)
        states = cluster_states(
            examples,
            projections,
            capped_states(examples, self.em),
            shrinkage=self.spectral.shrinkage,
            seed=seed,
        )
        report = {"spectral": asdict(self.spectral), **projections.report()}
        return _iterate(
            examples, self.em, states, report, validation, seed, jobs, checkpoint, progress
        )


def _iterate(
    examples: Examples,
    em: EMOptions,
    states: Ints | None,
    report: dict[str, Any],
    validation: Validation | None,
    seed: int,
    jobs: int,
    checkpoint: Path | None,
    progress: Progress | None,
) -> tuple[LPCFG, dict[str, Any]]:
    """The grammar of the kept iteration, and the report with a record of all iterations."""
    trace = learn_em(
        examples,
        em,
        states=states,
        n_states=capped_states(examples, em),
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
        "em": {"settings": asdict(em), "record": record, "best": trace.best_number},
    }
