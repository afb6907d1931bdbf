"""What a request may ask for: one table, with the answer to those that ask for more."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eigentree.errors import SettingsError
from eigentree.web.errors import ServiceError


class _Answer(NamedTuple):
    """What is answered where a limit is passed."""

    status: int
    code: str


_Count = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Limits(BaseModel):
    """The limits of a service; each field's description says of what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: Annotated[_Count, _Answer(413, "body_too_large")] = Field(
        1 << 20, description="bytes of a request's body"
    )
    body_seconds: Annotated[_Seconds, _Answer(408, "body_too_slow")] = Field(
        20.0, description="seconds until a request's body has come"
    )
    characters: Annotated[_Count, _Answer(422, "too_many_characters")] = Field(
        100_000, description="characters of all text and words of a request"
    )
    sentences: Annotated[_Count, _Answer(422, "too_many_sentences")] = Field(
        200, description="sentences of a request"
    )
    tokens: Annotated[_Count, _Answer(422, "too_many_tokens")] = Field(
        200, description="tokens of a sentence"
    )
    best: Annotated[_Count, _Answer(422, "best_too_large")] = Field(
        50, description="best trees of a sentence"
    )
    constraints: Annotated[_Count, _Answer(422, "too_many_constraints")] = Field(
        200, description="constraints of a sentence"
    )
    sentence_seconds: Annotated[_Seconds, _Answer(504, "sentence_out_of_time")] = Field(
        20.0, description="seconds that a worker takes for a sentence"
    )
    request_seconds: Annotated[_Seconds, _Answer(504, "request_out_of_time")] = Field(
        60.0, description="seconds from a request's body to its answer"
    )
    waiting: Annotated[_Count, _Answer(503, "too_many_waiting")] = Field(
        64, description="requests that are worked on or wait for it"
    )
    stop_seconds: Annotated[_Seconds, _Answer(503, "stopping")] = Field(
        10.0, description="seconds that requests have to end when the service is stopped"
    )

    @classmethod
    def given(cls, **values: float | None) -> Limits:
        """The default limits but for those that are given.

        Raises
        ------
        SettingsError
            When one has no meaning.
        """
        try:
            return cls.model_validate(
                {name: value for name, value in values.items() if value is not None}
            )
        except ValidationError as error:
            first = error.errors()[0]
            right = first["msg"].removeprefix("Input should be ")
            raise SettingsError(
                f"the limit {first['loc'][0]} is {first['input']}; it must be {right}"
            ) from None

    def table(self) -> list[dict[str, Any]]:
        """A row for each limit: name, value, what it limits, and status and code of the answer."""
        return [
            {
                "name": name,
                "value": getattr(self, name),
                "what": Limits.model_fields[name].description,
                **answer_of(name)._asdict(),
            }
            for name in Limits.model_fields
        ]

    def passed(
        self, name: str, seen: float | None = None, where: str | None = None
    ) -> ServiceError:
        """The error for a limit that was passed."""
        limit = getattr(self, name)
        status, code = answer_of(name)
        what = Limits.model_fields[name].description
        place = "" if where is None else f"{where}: "
        saw = "" if seen is None else f", not {_number(seen)}"
        message = f"{place}at most {_number(limit)} {what} are allowed{saw}"
        return ServiceError(status, code, message, limit=limit, seen=seen, where=where)

    def check(self, name: str, seen: float, where: str | None = None) -> None:
        """Refuse what passes a limit.

        Raises
        ------
        ServiceError
            With the limit's status and code.
        """
        if seen > getattr(self, name):
            raise self.passed(name, seen, where)


def answer_of(name: str) -> _Answer:
    """Status and code of the answer where a limit is passed."""
    return next(each for each in Limits.model_fields[name].metadata if isinstance(each, _Answer))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
