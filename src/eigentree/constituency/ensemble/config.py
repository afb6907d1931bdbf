"""Descriptions of ensembles: families of members, and combinations of their parses.

A description is a TOML file.  The members of a *family* differ only in their noise.  A
*combination* computes one tree per sentence from those of its inputs, which are families or
combinations above it in the file.  The last combination gives the parses of the ensemble::

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
"""The bundled description, which is the default."""

How = Literal["tree-coverage", "marginal-coverage", "maxent"]

# Bytes of a name; file names add a noise strength, a number and an extension.
_MAX_NAME_BYTES = 200

# Settings of members.  Noise is set by the family; the others do not apply to members.
_OF_MEMBERS = SETTINGS - {"noise", "jackknife", "state_search", "decomposition"}

# Trees per sentence; memory is linear in them.
_MAX_TREES = 1000

# Members per noise strength; narayan-2015 uses 20.
_MAX_COPIES = 1000

_Method = Annotated[str, AfterValidator(lambda value: known(value, [*ESTIMATORS]))]
_Sigma = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
_Names = Annotated[list[str], AfterValidator(distinct)]


class Family(WithTrainingSettings):
    """Members that differ only in their noise.

    Attributes
    ----------
    name
        Name of the family in the inputs of combinations.
    method
        Estimator of the members.
    states
        Maximum number of latent states per nonterminal; None for the default of the method.
    noise
        Noise scheme.
    sigma
        Noise strengths.
    copies
        Number of members for each strength.
    """

    may_set: ClassVar[set[str]] = _OF_MEMBERS

    name: Name
    method: _Method = "clustering"
    states: States | None = None
    noise: Scheme = "none"
    sigma: Annotated[list[_Sigma], AfterValidator(distinct)] = Field([0.0])
    copies: Annotated[int, Field(ge=1, le=_MAX_COPIES, strict=True)] = 1

    @model_validator(mode="after")
    def _noise_has_strength(self) -> Family:
        if (self.noise == "none") != (self.sigma == [0.0]):
            raise ValueError(
                f"family {self.name!r} has noise {self.noise!r} and sigma {self.sigma}; set both "
                "or neither"
            )
        return self


class Combination(SettingsTable):
    """Combination of the parses of families and other combinations to one tree per sentence.

    Attributes
    ----------
    name
        Name of the combination in the inputs of others.
    how
        ``tree-coverage`` or ``marginal-coverage``, see `eigentree.constituency.ensemble.combine`;
        ``maxent`` for a reranker.
    inputs
        Names of families, and of combinations above this one.
    price
        Cost of a bracket (coverage only).
    best
        Maximum number of trees that become candidates of rerankers below (coverage only).
    reranker
        Settings of the reranker (``maxent`` only).
    """

    name: Name
    how: How = "marginal-coverage"
    inputs: _Names
    price: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.5
    best: Annotated[int, Field(ge=1, le=_MAX_TREES, strict=True)] = 1
    reranker: RerankerOptions = RerankerOptions()

    @model_validator(mode="after")
    def _settings_serve(self) -> Combination:
        useless = {"price", "best"} if self.is_trained else {"reranker"}
        for name in sorted(useless & self.model_fields_set):
            raise ValueError(
                f"combination {self.name!r} has {name}; {self.how} has no such setting"
            )
        return self

    @property
    def is_trained(self) -> bool:
        """Whether it is a reranker, which has to be trained."""
        return self.how == "maxent"


class Jackknife(SettingsTable):
    """The training data of rerankers.

    Attributes
    ----------
    folds
        Number of folds of the treebank; each is parsed by members trained on the others.
    trees
        Maximum number of trees that are parsed; a random sample by the seed.
    """

    folds: Annotated[int, Field(ge=2, strict=True)] = 5
    trees: Annotated[int, Field(ge=2, strict=True)] = 20_000


class Member(NamedTuple):
    """One model of an ensemble.

    Attributes
    ----------
    name
        Family, noise strength and number, such as ``additive-0.05-3``.
    family
        Name of its family.
    options
        Settings of training.
    number
        Number within the family, which determines the seed together with the ensemble's seed.
    """

    name: str
    family: str
    options: TrainingOptions
    number: int

    def seed(self, of_ensemble: int) -> int:
        """The seed of the member, which does not depend on other families."""
        digest = sha256(f"{of_ensemble}/{self.family}/{self.number}".encode()).digest()
        return int.from_bytes(digest[:4], "little") >> 1


class EnsembleConfig(WithTrainingSettings):
    """Families and combinations of an ensemble.

    Attributes
    ----------
    title
        A title for display.
    states
        Default of ``states`` in families.
    family
        The families, at least one.
    combination
        The combinations; the last one gives the parses.  By default, a marginal coverage of all
        families.
    jackknife
        Training data of rerankers.
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
        """Add the default combination of all families if there is none."""
        if not isinstance(given, Mapping) or given.get("combination"):
            return given
        families = given.get("family")
        if not isinstance(families, Sequence):
            return given
        names = [each.get("name") for each in families if isinstance(each, Mapping)]
        # Invalid and repeated names are reported later, by the checks of the families.
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
                        "marginals; the inputs of marginal-coverage must be families"
                    )
            names.append(combination.name)
            known_names.add(combination.name)
        for name, number in Counter(names).items():
            if number > 1:
                raise ValueError(f"{number} families or combinations have the name {name!r}")
            if "/" in name or name.startswith("."):
                raise ValueError(f"name {name!r} must be valid as a file name")
            if len(name.encode()) > _MAX_NAME_BYTES:
                raise ValueError(
                    f"a family or combination has a name of {len(name.encode())} bytes; it must be "
                    f"at most {_MAX_NAME_BYTES}, because it becomes part of file names"
                )
        return self

    @property
    def has_rerankers(self) -> bool:
        """Whether any combination is a reranker."""
        return any(combination.is_trained for combination in self.combination)

    def members(self) -> list[Member]:
        """All members of the ensemble.

        Raises
        ------
        SettingsError
            When the settings of a family are invalid, or two members would have the same name.
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
                    f"{times} members would have the name {name!r}; use other names of families, "
                    "or strengths that differ in the first 6 digits"
                )
        return members

    def tables(self) -> dict[str, Any]:
        """The tables of a description of the same ensemble."""
        tables = self.model_dump(mode="json", exclude_defaults=True)
        for table in (tables, *tables["family"]):
            table.update(table.pop("settings", {}))
        return tables

    def with_inputs(self, names: Iterable[str]) -> set[str]:
        """The given combinations together with their direct and indirect inputs."""
        combinations = {each.name: each for each in self.combination}
        needed: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in combinations and name not in needed:
                needed.add(name)
                waiting.extend(combinations[name].inputs)
        return needed

    def needed_by(self, name: str) -> set[str]:
        """The families that are direct or indirect inputs of a family or combination."""
        if any(family.name == name for family in self.family):
            return {name}
        combination = next(each for each in self.combination if each.name == name)
        return set().union(*(self.needed_by(each) for each in combination.inputs))


def make_config(given: Mapping[str, Any], name: str = "ensemble") -> EnsembleConfig:
    """Check the tables of a description.

    Parameters
    ----------
    given
        The tables of a file.
    name
        Name of the description in messages.

    Raises
    ------
    SettingsError
        When a setting is invalid; the message has the key, its value and valid values.
    """
    try:
        description = EnsembleConfig.model_validate(dict(given))
        description.members()  # checks the settings of the learners
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
        When the file or a setting is invalid; the message has the file, the key, its value and
        valid values.
    """
    return make_config(read_tables(path), str(path))
