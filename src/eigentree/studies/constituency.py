"""Studies of constituency parsers: a grid of methods, states and settings on one treebank.

The tables of the study file are in `eigentree.studies.constituency_tables`; a run is either a
parser (`eigentree.studies.model_runs`) or an ensemble (`eigentree.studies.ensembles`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eigentree.constituency.estimators import MARKOV, learned_by
from eigentree.constituency.settings import training_options
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError
from eigentree.studies.constituency_figures import figures_of
from eigentree.studies.constituency_tables import ABLATIONS, ConstituencyTables, Model
from eigentree.studies.ensemble_runs import EnsembleRun
from eigentree.studies.ensembles import run_ensemble
from eigentree.studies.model_runs import (
    ModelRun,
    RunKey,
    StudyTrees,
    run_model,
    warm_up,
    warm_up_trees,
)
from eigentree.studies.report.constituency import constituency_report
from eigentree.studies.report.page import Report
from eigentree.studies.run import Outcome, Record, Run, Workspace, percent_headline
from eigentree.treebank.cleaning import CleaningOptions

_MARKOV = {"treebank": {"binarise": {"vertical": MARKOV.vertical, "horizontal": MARKOV.horizontal}}}
# Methods without latent states.
STATELESS = ("pcfg", "markov")


class ConstituencyStudy(ConstituencyTables):
    """A study of constituency parsers and ensembles; see `ConstituencyTables` for its fields."""

    def runs(self) -> list[Run]:
        """All models, then all ensembles.

        Raises
        ------
        SettingsError
            When the settings of a model or a family are invalid.
        """
        return [*self.model_runs(), *self.ensemble_runs()]

    def model_runs(self) -> list[ModelRun]:
        """Every training of a parser, each once."""
        runs: list[ModelRun] = []
        for model in self.model:
            runs += self._runs_of(model, self._states_of(model))
        if self.ablations is not None:
            for model in self._selected(self.ablations.models):
                if "spectral" in model.method:
                    for states in self.ablations.states or self._states_of(model):
                        whole = self._runs_of(model, [states])
                        runs += whole
                        for without in self.ablations.without:
                            ablated = self._runs_of(model, [states], without)
                            # Skip components that the model doesn't have.
                            if ablated[0].options != whole[0].options:
                                runs += ablated
        if self.learning_curve is not None:
            curve = self.learning_curve
            for model in self._selected(curve.models):
                for states in curve.states or self._states_of(model):
                    for share in curve.sizes:
                        runs += self._runs_of(model, [states], share=share)
        return list({run.key: run for run in runs}.values())

    def ensemble_runs(self) -> list[EnsembleRun]:
        """Every ensemble."""
        runs = [
            EnsembleRun.of(
                each.name, each.described(self.settings), self.tags, self.seeds[0], self.longest
            )
            for each in self.ensemble
        ]
        for run in runs:
            cleanings = {each.options.treebank.cleaning for each in run.description.members()}
            if len(cleanings) > 1:
                raise SettingsError(
                    f"{run}: its families differ in treebank.cleaning; it must be the same for all"
                )
        return runs

    def open(self, jobs: int) -> OpenConstituencyStudy:  # noqa: ARG002 - reading takes one process
        """Access to the trees, which are read on first use."""
        return OpenConstituencyStudy(self)

    def headline(self, record: Record) -> str:
        """F1 on dev; for an ensemble, that of its last combination."""
        scored = record["combinations"][-1] if "combinations" in record else record
        return percent_headline("F1", scored["scores"]["dev"]["f1"])

    def report(self, figures: Mapping[str, Any]) -> Report:
        """The report on figures of a study of this kind."""
        return constituency_report(figures)

    def _selected(self, names: list[str] | None) -> list[Model]:
        return [model for model in self.model if names is None or model.name in names]

    def _states_of(self, model: Model) -> list[int]:
        return [1] if model.method in STATELESS else model.states or self.states

    def _runs_of(
        self,
        model: Model,
        all_states: Sequence[int],
        without: str | None = None,
        share: float = 1.0,
    ) -> list[ModelRun]:
        stateless = model.method in STATELESS
        return [
            ModelRun.of(
                RunKey(model.name, None if stateless else states, without, share, seed),
                model.method,
                self.tags,
                self._options(model, states, without),
                self.longest,
            )
            for states in ([1] if stateless else all_states)
            for seed in model.seeds or self.seeds
        ]

    def _options(self, model: Model, states: int, without: str | None) -> TrainingOptions:
        layers = [self.settings, _MARKOV if model.method == "markov" else {}, model.settings]
        return training_options(
            [*layers, ABLATIONS[without] if without else {}],
            states,
            f"model {model.name!r}",
            method=learned_by(model.method),
            tagger=self.tags == "own",
        )


class OpenConstituencyStudy:
    """A study of constituency parsers with its trees."""

    def __init__(self, study: ConstituencyStudy) -> None:
        self._study = study
        self._trees = StudyTrees(study.train, study.parts)

    def prepare(self, runs: Sequence[Run]) -> None:
        """Read the trees as the first of these runs needs them."""
        cleaning = _cleaning(runs[0])
        self._trees.training(cleaning)
        for part in self._trees.parts:
            self._trees.held_out(part, cleaning, self._study.longest)

    def warm_up(self, run: Run) -> None:
        """Train and parse with the settings of a parser; ensembles warm up in their processes."""
        if isinstance(run, ModelRun):
            warm_up(run.options, warm_up_trees(run, self._trees))

    def execute(self, run: Run, workspace: Workspace) -> Record:
        """Train and score a parser or an ensemble."""
        if isinstance(run, EnsembleRun):
            return run_ensemble(run, self._trees, workspace)
        assert isinstance(run, ModelRun)
        return run_model(run, self._trees, workspace)

    def figures(self, outcome: Outcome) -> dict[str, Any]:
        """All figures of the report; see `figures_of`."""
        return figures_of(self._study, outcome)


def _cleaning(run: Run) -> CleaningOptions:
    if isinstance(run, EnsembleRun):
        return run.cleaning
    assert isinstance(run, ModelRun)
    return run.options.treebank.cleaning
