"""What an ensemble is made of: families of members, and how their outputs are combined.

A description is a small TOML file.  A *family* is a number of models that differ in their noise
alone; a *combination* makes one tree a sentence out of those of its inputs, which are families
or other combinations, so that combinations form a network without cycles.  The last one is
what the ensemble answers::

    [[family]]
    name = "additive"
    method = "clustering"
    noise = "additive"
    sigma = [0.05, 0.1, 0.15, 0.2]
    copies = 20

    [[combination]]
    name = "parser"
    how = "maxent"
    inputs = ["additive"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    Field,
    ValidationError,
    model_validator,
)

from eigentree import data
from eigentree.constituency.ensemble.reranker import RerankerOptions
from eigentree.constituency.estimators import ESTIMATORS
from eigentree.constituency.learn.noise import Scheme
from eigentree.constituency.settings import (
    SETTINGS,
    Name,
    SettingsTable,
    States,
    WithTrainingSettings,
    distinct,
    known,
    raise_settings_error,
    read_tables,
    training_options,
)
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import SettingsError

DEFAULT = Path(data.__file__).parent / "ensemble.toml"
"""The description of an ensemble for whoever has none of his own."""

How = Literal["tree-coverage", "marginal-coverage", "maxent"]

# Bytes of a name, which leave room for a strength, a number and an ending in a file's name.
_LONGEST_NAME = 200

# The noise is the family's, nothing is held out for a search, and rules stay as they are.
_OF_MEMBERS = SETTINGS - {"noise", "jackknife", "state_search", "decomposition"}

# Trees of one sentence; memory grows with them.
_MOST_TREES = 1000

# Members of one strength of noise; the paper has 20.
_MOST_COPIES = 1000

_Method = Annotated[str, AfterValidator(lambda value: known(value, [*ESTIMATORS]))]
_Sigma = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
_Names = Annotated[list[str], AfterValidator(distinct)]


class Family(WithTrainingSettings):
    """Members that differ in their noise alone.

    Attributes
    ----------
    name
        By which combinations call it.
    method
        Estimator of the members.
    states
        Most latent states of a nonterminal; by default the method's own.
    noise
        Scheme of the noise.
    sigma
        Its strengths.
    copies
        Members for each strength.
    """

    may_set: ClassVar[set[str]] = _OF_MEMBERS

    name: Name
    method: _Method = "clustering"
    states: States | None = None
    noise: Scheme = "none"
    sigma: Annotated[list[_Sigma], AfterValidator(distinct)] = Field([0.0])
    copies: Annotated[int, Field(ge=1, le=_MOST_COPIES, strict=True)] = 1

    @model_validator(mode="after")
    def _noise_has_strength(self) -> Family:
        if (self.noise == "none") != (self.sigma == [0.0]):
            raise ValueError(
                f"family {self.name!r} has noise {self.noise!r} and sigma {self.sigma}; give both "
                "or none"
            )
        return self


class Combination(SettingsTable):
    """How the outputs of families and other combinations become one tree a sentence.

    Attributes
    ----------
    name
        By which other combinations call it.
    how
        ``tree-coverage`` and ``marginal-coverage`` as in
        `eigentree.constituency.ensemble.combine`, ``maxent``
        for a reranker.
    inputs
        Names of families and of combinations above this one.
    price
        What a bracket costs in the coverage decoders.
    best
        Of the coverage decoders: how many trees they give to rerankers below them.
    reranker
        Settings of ``maxent``.
    """

    name: Name
    how: How = "marginal-coverage"
    inputs: _Names
    price: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.5
    best: Annotated[int, Field(ge=1, le=_MOST_TREES, strict=True)] = 1
    reranker: RerankerOptions = RerankerOptions()

    @model_validator(mode="after")
    def _settings_serve(self) -> Combination:
        useless = {"price", "best"} if self.is_trained else {"reranker"}
        for name in sorted(useless & self.model_fields_set):
            raise ValueError(f"combination {self.name!r} has {name}, which is not for {self.how}")
        return self

    @property
    def is_trained(self) -> bool:
        """Whether it has a reranker."""
        return self.how == "maxent"


class Jackknife(SettingsTable):
    """On which trees, and how, rerankers are trained.

    Attributes
    ----------
    folds
        Parts of the treebank, each of which is parsed by members that have not seen it.
    trees
        Most trees that are parsed for training; drawn by the seed.
    """

    folds: Annotated[int, Field(ge=2, strict=True)] = 5
    trees: Annotated[int, Field(ge=2, strict=True)] = 20_000


class Member(NamedTuple):
    """One model of an ensemble.

    Attributes
    ----------
    name
        Family, strength of noise and number, as in ``additive-0.05-3``.
    family
        Name of its family.
    options
        What is learned.
    number
        From which, and the ensemble's seed, its own seed comes.
    """

    name: str
    family: str
    options: TrainingOptions
    number: int

    def seed(self, of_ensemble: int) -> int:
        """The member's seed, which does not depend on other families."""
        digest = sha256(f"{of_ensemble}/{self.family}/{self.number}".encode()).digest()
        return int.from_bytes(digest[:4], "little") >> 1


class EnsembleConfig(WithTrainingSettings):
    """An ensemble's members and combinations.

    Attributes
    ----------
    title
        For people.
    states
        Of families that do not say their own.
    family
        At least one.
    combination
        The last is what the ensemble answers; by default the marginal coverage of all families.
    jackknife
        For rerankers.
    """

    may_set: ClassVar[set[str]] = _OF_MEMBERS

    title: Name = "Ensemble"
    states: States | None = None
    family: Annotated[list[Family], Field(min_length=1)]
    combination: list[Combination] = Field([])
    jackknife: Jackknife = Jackknife()

    @model_validator(mode="before")
    @classmethod
    def _combined(cls, given: Any) -> Any:
        """Without a combination, that of all families."""
        if not isinstance(given, Mapping) or given.get("combination"):
            return given
        families = given.get("family")
        if not isinstance(families, Sequence):
            return given
        names = [each.get("name") for each in families if isinstance(each, Mapping)]
        # Names that are there twice, or are no text, are refused where they are given.
        inputs = list(dict.fromkeys(name for name in names if isinstance(name, str)))
        return {**given, "combination": [{"name": "all", "inputs": inputs}]}

    @model_validator(mode="after")
    def _names_agree(self) -> EnsembleConfig:
        names = [family.name for family in self.family]
        families, known_names = set(names), set(names)
        for combination in self.combination:
            for name in combination.inputs:
                if name not in known_names:
                    raise ValueError(
                        f"combination {combination.name!r} has the input {name!r}; families and "
                        f"combinations above it are {', '.join(names)}"
                    )
                if combination.how == "marginal-coverage" and name not in families:
                    raise ValueError(
                        f"combination {combination.name!r} has the input {name!r}, which has no "
                        "marginals; marginal-coverage is for families"
                    )
            names.append(combination.name)
            known_names.add(combination.name)
        for name, number in Counter(names).items():
            if number > 1:
                raise ValueError(f"{number} families or combinations are called {name!r}")
            if "/" in name or name.startswith("."):
                raise ValueError(f"{name!r} can't name a file, as names must")
            if len(name.encode()) > _LONGEST_NAME:
                raise ValueError(
                    f"a family or combination has a name of {len(name.encode())} bytes; names of "
                    f"files, which they become, have room for {_LONGEST_NAME}"
                )
        return self

    @property
    def has_rerankers(self) -> bool:
        """Whether any combination has to be trained."""
        return any(combination.is_trained for combination in self.combination)

    def members(self) -> list[Member]:
        """Every model of the ensemble.

        Raises
        ------
        SettingsError
            When the settings of a family make no sense, or two members would have one name.
        """
        members: list[Member] = []
        for family in self.family:
            number = 0
            for sigma in family.sigma:
                options = training_options(
                    [self.settings, family.settings],
                    family.states or self.states,
                    f"family {family.name!r}",
                    method=family.method,
                    noise={"scheme": family.noise, "sigma": sigma},
                    tagger=False,
                )
                for copy in range(1, family.copies + 1):
                    parts = [family.name] + ([f"{sigma:g}"] if family.noise != "none" else [])
                    members.append(
                        Member("-".join([*parts, str(copy)]), family.name, options, number)
                    )
                    number += 1
        for name, times in Counter(member.name for member in members).items():
            if times > 1:
                raise SettingsError(
                    f"{times} members would be called {name!r}; other names of "
                    "families, or strengths that differ more, would tell them apart"
                )
        return members

    def tables(self) -> dict[str, Any]:
        """The tables of a file that describes the same ensemble."""
        tables = self.model_dump(mode="json", exclude_defaults=True)
        for table in (tables, *tables["family"]):
            table.update(table.pop("settings", {}))
        return tables

    def with_inputs(self, names: Iterable[str]) -> set[str]:
        """Some combinations, and those that they get trees from in the end."""
        combinations = {each.name: each for each in self.combination}
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in combinations and name not in found:
                found.add(name)
                waiting.extend(combinations[name].inputs)
        return found

    def needed_by(self, name: str) -> set[str]:
        """Families that an input or combination gets its trees from."""
        if any(family.name == name for family in self.family):
            return {name}
        combination = next(each for each in self.combination if each.name == name)
        return set().union(*(self.needed_by(each) for each in combination.inputs))


def make_config(given: Mapping[str, Any], name: str = "ensemble") -> EnsembleConfig:
    """Check the tables of a description.

    Parameters
    ----------
    given
        As a file has them.
    name
        What messages call it.

    Raises
    ------
    SettingsError
        With the key, its value and what would be right.
    """
    try:
        description = EnsembleConfig.model_validate(dict(given))
        description.members()  # finds settings that no learner takes
    except ValidationError as error:
        raise_settings_error(error, f"{name}: ", EnsembleConfig, "an ensemble")
    except SettingsError as error:
        raise SettingsError(f"{name}: {error}") from None
    return description


def read_ensemble_config(path: str | Path) -> EnsembleConfig:
    """Read the description of an ensemble from a TOML file.

    Raises
    ------
    SettingsError
        With the file, the key, its value and what would be right.
    """
    return make_config(read_tables(path), str(path))
