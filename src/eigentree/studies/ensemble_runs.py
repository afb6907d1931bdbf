"""Ensembles of a study, and the groups of members that their figures are about."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from eigentree.constituency.ensemble.config import EnsembleConfig, Member
from eigentree.studies.model_runs import Tags
from eigentree.studies.run import Run
from eigentree.treebank.cleaning import CleaningOptions

# Numbers of members whose trees are combined, to show what more members are worth.
STEPS = (1, 2, 5, 10, 20, 40, 80, 160, 320, 640)


@dataclass(frozen=True)
class EnsembleRun(Run):
    """An ensemble that is trained and scored.

    Attributes
    ----------
    ensemble
        Its name in the study.
    description
        Its members and combinations.
    tags
        Whether held-out sentences are parsed with gold tags or the ensemble's own.
    seed
        Of training.
    max_words
        Maximum number of words of a held-out sentence; None for no limit.
    """

    ensemble: str
    description: EnsembleConfig
    tags: Tags
    seed: int
    max_words: int | None

    @classmethod
    def of(
        cls,
        ensemble: str,
        description: EnsembleConfig,
        tags: Tags,
        seed: int,
        max_words: int | None = None,
    ) -> EnsembleRun:
        """A run with these attributes."""
        members = description.members()
        return cls(
            f"ensemble {ensemble}",
            {
                "members": [[each.name, each.number, asdict(each.options)] for each in members],
                "combinations": [each.model_dump(mode="json") for each in description.combination],
                "jackknife": description.jackknife.model_dump(mode="json"),
                "seed": seed,
                "tags": tags,
                "max_words": max_words,
            },
            ensemble,
            description,
            tags,
            seed,
            max_words,
            files={"heads": Path(members[0].options.treebank.heads)},
            uses_all_processes=True,
        )

    @property
    def cleaning(self) -> CleaningOptions:
        """How trees are cleaned, for all members."""
        return self.description.members()[0].options.treebank.cleaning


def groups_of(description: EnsembleConfig) -> dict[str | None, list[int]]:
    """Indices of the members of each family, and of all under None if there are several families.

    Members of all families and noise levels alternate, so that the first few are a fair sample.
    """
    families = [family.name for family in description.family]
    copies = {family.name: family.copies for family in description.family}

    def order(pair: tuple[int, Member]) -> tuple[int, int, int]:
        strength, copy = divmod(pair[1].number, copies[pair[1].family])
        return copy, strength, families.index(pair[1].family)

    members = sorted(enumerate(description.members()), key=order)
    groups: dict[str | None, list[int]] = {
        name: [place for place, member in members if member.family == name] for name in families
    }
    return groups | ({None: [place for place, _ in members]} if len(families) > 1 else {})


def steps_of(n_members: int) -> list[int]:
    """Numbers of members to combine, up to all of them."""
    return [step for step in STEPS if step < n_members] + [n_members]
