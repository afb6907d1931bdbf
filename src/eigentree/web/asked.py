"""What requests hold, as it is read from JSON and checked against the limits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    Tag,
    ValidationError,
)

from eigentree.web.errors import ServiceError
from eigentree.web.limits import Limits

# Each row is [start, end], [start, end, label] or [position, tag].
ConstraintRows = dict[str, list[list[int | str | None]]]

_STRING, _OBJECT = "a string", "an object"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AskedSentence(_Strict):
    """A sentence as words or as raw text."""

    words: list[str] | None = Field(default=None, description="Tokens; they are not split again.")
    text: str | None = Field(default=None, description="One raw sentence, in place of words.")
    tags: list[str | dict[str, FiniteFloat]] | None = Field(
        default=None, description="One a word, or several with weights."
    )
    constraints: ConstraintRows | None = Field(
        default=None, description="Rows of required and forbidden spans, and of tags."
    )


def _kind_of(value: Any) -> str | None:
    if isinstance(value, str):
        return _STRING
    return _OBJECT if isinstance(value, dict | AskedSentence) else None


Asked = Annotated[
    Annotated[str, Tag(_STRING)] | Annotated[AskedSentence, Tag(_OBJECT)],
    Discriminator(
        _kind_of, custom_error_type="sentence", custom_error_message="should be a string or object"
    ),
]


class AskedSentences(_Strict):
    """What all ways to parse share."""

    text: str | None = Field(default=None, description="Raw text, which is split into sentences.")
    sentences: list[Asked] | None = Field(
        default=None, description="In place of text: sentences, raw or as objects."
    )
    model: str | None = Field(
        default=None, description="A model's name; the first of its kind if none."
    )


class ParseRequest(AskedSentences):
    """The body of /api/parse."""

    constraints: list[ConstraintRows | None] | None = Field(
        default=None, description="With text: the constraints of each of its sentences."
    )
    best: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many best trees."
    )
    marginals: Annotated[FiniteFloat, Field(ge=0)] | None = Field(
        default=None, description="Least size of the marginals of spans to be told."
    )
    soft: bool = Field(
        default=False, description="Keep as many constraints as can be where they conflict."
    )


class DependencyRequest(AskedSentences):
    """The body of /api/dependencies."""


class BracketRequest(AskedSentences):
    """The body of /api/brackets; every sentence needs tags."""


class EvaluateRequest(_Strict):
    """The body of /api/evaluate."""

    gold: str = Field(description="Gold trees in brackets.")
    parsed: str = Field(description="Parsed trees, one for each gold tree.")


Model = TypeVar("Model", bound=_Strict)


def validated(kind: type[Model], value: Any) -> Model:
    """A body's value as a request.

    Raises
    ------
    ServiceError
        With status 422 and the place of the first value that is wrong.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = _path(first["loc"])
        problem = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            problem = "is no key here"
            if len(first["loc"]) == 1:
                problem += f"; known are {', '.join(kind.model_fields)}"
        elif first["type"] == "missing":
            problem = "is missing"
        elif first["type"] != "string_unicode":
            problem += f", but is {_shown(first['input'])}"
        message = f"{where or 'the body'} {problem[:1].lower()}{problem[1:]}"
        raise ServiceError(422, "wrong_request", message, where=where or None) from None


def _path(place: Sequence[int | str]) -> str:
    """As ``sentences[3].words[0]``; the names of alternatives are left out."""
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{part[:60]}"
        for part in place
        if part not in (_STRING, _OBJECT)
    ]
    return "".join(parts).removeprefix(".")


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Wanted(NamedTuple):
    """One sentence on its way to a worker.

    Of raw sentences, ``surface`` is their part of the text, and ``offsets`` are the half-open
    characters of their words in all of it.
    """

    words: list[str]
    tags: list[str | dict[str, float]] | None = None
    constraints: ConstraintRows | None = None
    surface: str | None = None
    offsets: list[tuple[int, int]] | None = None


def check_request(request: AskedSentences, limits: Limits) -> None:
    """Refuse what can be seen to be too much before anything is split.

    Raises
    ------
    ServiceError
        With status 422.
    """
    if (request.text is None) == (request.sentences is None):
        what = "both" if request.text is not None else "neither"
        raise ServiceError(
            422, "wrong_request", f"text or sentences are expected, and there are {what}"
        )
    limits.check("characters", sum(map(len, _texts(request))))
    limits.check("sentences", len(request.sentences or ()))
    for number, sentence in enumerate(request.sentences or ()):
        if isinstance(sentence, AskedSentence) and (sentence.words is None) == (
            sentence.text is None
        ):
            where = f"sentences[{number}]"
            what = "both" if sentence.text is not None else "neither"
            message = f"{where} must have words or text, and has {what}"
            raise ServiceError(422, "wrong_request", message, where=where)
    if isinstance(request, ParseRequest):
        limits.check("best", request.best or 0)
        if request.constraints is not None and request.text is None:
            raise ServiceError(
                422, "wrong_request",
                "constraints beside text are for its sentences; put them into sentences",
                where="constraints",
            )  # fmt: skip


def _texts(request: AskedSentences) -> Iterator[str]:
    yield request.text or ""
    for sentence in request.sentences or ():
        if isinstance(sentence, str):
            yield sentence
        else:
            yield sentence.text or ""
            yield from sentence.words or ()


def check_sentence(sentence: Wanted, number: int, limits: Limits) -> None:
    """Refuse a sentence that is too much, which need not keep others from being parsed.

    Raises
    ------
    ServiceError
        With status 422.
    """
    where = f"sentences[{number}]"
    limits.check("tokens", len(sentence.words), where)
    n_constraints = sum(map(len, (sentence.constraints or {}).values()))
    limits.check("constraints", n_constraints, where)
