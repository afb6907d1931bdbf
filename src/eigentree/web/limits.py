"""Limits of requests, each with the error that exceeding it gives."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eigentree.errors import SettingsError
from eigentree.web.errors import ServiceError


class _Refusal(NamedTuple):
    """HTTP status and error code of a request that exceeds a limit."""

    status: int
    code: str


_Count = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Limits(BaseModel):
    """The limits of a service; each field has a description."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body_bytes: Annotated[_Count, _Refusal(413, "body_too_large")] = Field(
        1 << 20, description="bytes per request body"
    )
    body_seconds: Annotated[_Seconds, _Refusal(408, "body_too_slow")] = Field(
        20.0, description="seconds to receive a request body"
    )
    characters: Annotated[_Count, _Refusal(422, "too_many_characters")] = Field(
        100_000, description="characters per request"
    )
    run_characters: Annotated[_Count, _Refusal(422, "run_too_long")] = Field(
        20_000, description="characters without white space between them"
    )
    sentences: Annotated[_Count, _Refusal(422, "too_many_sentences")] = Field(
        200, description="sentences per request"
    )
    tokens: Annotated[_Count, _Refusal(422, "too_many_tokens")] = Field(
        200, description="tokens per sentence"
    )
    best: Annotated[_Count, _Refusal(422, "best_too_large")] = Field(
        50, description="best trees per sentence"
    )
    constraints: Annotated[_Count, _Refusal(422, "too_many_constraints")] = Field(
        200, description="constraints per sentence"
    )
    sentence_seconds: Annotated[_Seconds, _Refusal(504, "sentence_out_of_time")] = Field(
        20.0, description="seconds of processing per sentence"
    )
    request_seconds: Annotated[_Seconds, _Refusal(504, "request_out_of_time")] = Field(
        60.0, description="seconds from the request body to the response"
    )
    waiting: Annotated[_Count, _Refusal(503, "too_many_waiting")] = Field(
        64, description="requests in progress or waiting"
    )
    stop_seconds: Annotated[_Seconds, _Refusal(503, "stopping")] = Field(
        10.0, description="seconds for requests to finish when the service stops"
    )

    @classmethod
    def given(cls, **values: float | None) -> Limits:
        """The default limits, except those given; None stands for the default.

        Raises
        ------
        SettingsError
            When a limit is invalid.
        """
        try:
            return cls.model_validate(
                {name: value for name, value in values.items() if value is not None}
            )
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            is_count = cls.model_fields[name].annotation is int
            right = "a whole number, 1 or more" if is_count else "a finite number above 0"
            raise SettingsError(
                f"{option_of(name)} must be {right} (got {first['input']})"
            ) from None

    def table(self) -> list[dict[str, Any]]:
        """One row per limit: name, value, description, and status and code of its error."""
        return [
            {
                "name": name,
                "value": getattr(self, name),
                "what": Limits.model_fields[name].description,
                **refusal_of(name)._asdict(),
            }
            for name in Limits.model_fields
        ]

    def exceeded(
        self, name: str, seen: float | None = None, where: str | None = None
    ) -> ServiceError:
        """The error for exceeding a limit."""
        limit = getattr(self, name)
        status, code = refusal_of(name)
        what = Limits.model_fields[name].description
        place = "" if where is None else f"{where}: "
        got = "" if seen is None else f" (got {_number(seen)})"
        message = f"{place}at most {_number(limit)} {what} are allowed{got}"
        return ServiceError(status, code, message, limit=limit, seen=seen, where=where)

    def check(self, name: str, seen: float, where: str | None = None) -> None:
        """Refuse a value above its limit.

        Raises
        ------
        ServiceError
            With the limit's status and code.
        """
        if seen > getattr(self, name):
            raise self.exceeded(name, seen, where)


def option_of(name: str) -> str:
    """The command-line option of a limit."""
    return f"--max-{name.replace('_', '-')}"


def refusal_of(name: str) -> _Refusal:
    """Status and code of the error for exceeding a limit."""
    return next(each for each in Limits.model_fields[name].metadata if isinstance(each, _Refusal))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
