"""The ensembles that take part in a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from eigentree import __version__
from eigentree.constituency.ensemble.config import EnsembleConfig, Member
from eigentree.studies.runs import FORMAT, digest_of, longest_of
from eigentree.treebank.cleaning import CleaningOptions

# Numbers of members whose trees are combined to see what more members are worth.
STEPS = (1, 2, 5, 10, 20, 40, 80, 160, 320, 640)


@dataclass(frozen=True, slots=True)
class Entrant:
    """An ensemble that takes part in a study.

    Attributes
    ----------
    name
        In the study.
    description
        Its members and combinations.
    tags
        What held-out sentences come with: gold tags, or none.
    seed
        Of training.
    longest
        Most words of a held-out sentence; None for any number.
    """

    name: str
    description: EnsembleConfig
    tags: Literal["gold", "own"]
    seed: int
    longest: int | None = None

    def __str__(self) -> str:
        return f"ensemble {self.name}"

    @property
    def cleaning(self) -> CleaningOptions:
        return self.description.members()[0].options.treebank.cleaning

    def digest(self, data: Mapping[str, str]) -> str:
        """Hexadecimal digest of all that decides the result; see `Cell.digest`."""
        description = self.description
        members = description.members()
        decisive = {
            "format": FORMAT,
            "version": __version__,
            "data": dict(data),
            "members": [[each.name, each.number, asdict(each.options)] for each in members],
            "combinations": [each.model_dump(mode="json") for each in description.combination],
            "jackknife": description.jackknife.model_dump(mode="json"),
            "seed": self.seed,
            "tags": self.tags,
            **longest_of(self.longest),
        }
        return digest_of(decisive, members[0].options.treebank.heads)


def groups_of(description: EnsembleConfig) -> dict[str | None, list[int]]:
    """Places of the members of each family, and of all under None where there are several.

    They are in an order in which any first few are of all families and strengths of noise alike.
    """
    families = [family.name for family in description.family]
    copies = {family.name: family.copies for family in description.family}

    def turn(pair: tuple[int, Member]) -> tuple[int, int, int]:
        strength, copy = divmod(pair[1].number, copies[pair[1].family])
        return copy, strength, families.index(pair[1].family)

    members = sorted(enumerate(description.members()), key=turn)
    groups: dict[str | None, list[int]] = {
        name: [place for place, member in members if member.family == name] for name in families
    }
    return groups | ({None: [place for place, _ in members]} if len(families) > 1 else {})


def steps_of(n_members: int) -> list[int]:
    """Numbers of members to look at, up to all of them."""
    return [step for step in STEPS if step < n_members] + [n_members]
