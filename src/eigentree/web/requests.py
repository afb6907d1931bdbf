"""What requests hold, as it is read from JSON and checked against the limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
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


def _whole(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"has half a character, {text[error.start]!a}") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]

# Each row is [start, end], [start, end, label] or [position, tag].
ConstraintRows = dict[Text, list[list[int | Text | None]]]

_STRING, _OBJECT = "a string", "an object"
# More of anything is a slip; longer numbers have no good way into messages.
_MOST = 10**9


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ParseSentence(_Strict):
    """A sentence to parse, as words or as raw text."""

    words: list[Text] | None = Field(default=None, description="Tokens; they are not split.")
    text: Text | None = Field(default=None, description="Raw text, in place of words.")
    tags: list[Text | dict[Text, FiniteFloat]] | None = Field(
        default=None, description="One a word, or several with weights."
    )
    constraints: ConstraintRows | None = Field(
        default=None, description="Rows of required and forbidden spans, and of tags."
    )


class DependencySentence(_Strict):
    """A sentence to parse to dependencies, as words or as raw text."""

    words: list[Text] | None = Field(default=None, description="Tokens; they are not split.")
    text: Text | None = Field(default=None, description="Raw text, in place of words.")
    tags: list[Text] | None = Field(default=None, description="One a word.")


class BracketSentence(_Strict):
    """A sentence to bracket."""

    words: list[Text] = Field(description="Tokens.")
    tags: list[Text] = Field(description="One a word.")


def _kind_of(value: Any) -> str | None:
    if isinstance(value, str):
        return _STRING
    return _OBJECT if isinstance(value, dict) else None


_BY_KIND = Discriminator(
    _kind_of, custom_error_type="sentence", custom_error_message="should be a string or object"
)


class ParseRequest(_Strict):
    """The body of /api/parse: text or sentences."""

    text: Text | None = Field(default=None, description="Raw text, to be split into sentences.")
    constraints: list[ConstraintRows | None] | None = Field(
        default=None, description="With text: the constraints of each of its sentences."
    )
    sentences: (
        list[
            Annotated[
                Annotated[Text, Tag(_STRING)] | Annotated[ParseSentence, Tag(_OBJECT)], _BY_KIND
            ]
        ]
        | None
    ) = Field(default=None, description="In place of text: sentences, raw or as objects.")
    model: Text | None = Field(default=None, description="Its name; the first by default.")
    best: Annotated[int, Field(ge=1, le=_MOST)] | None = Field(
        default=None, description="How many of the best trees."
    )
    marginals: Annotated[FiniteFloat, Field(ge=0)] | None = Field(
        default=None, description="Least size of the marginals of spans to be told."
    )
    soft: bool = Field(
        default=False, description="Keep as many constraints as can be where they conflict."
    )


class DependencyRequest(_Strict):
    """The body of /api/dependencies: text or sentences."""

    text: Text | None = Field(default=None, description="Raw text, to be split into sentences.")
    sentences: (
        list[
            Annotated[
                Annotated[Text, Tag(_STRING)] | Annotated[DependencySentence, Tag(_OBJECT)],
                _BY_KIND,
            ]
        ]
        | None
    ) = Field(default=None, description="In place of text: sentences, raw or as objects.")
    model: Text | None = Field(default=None, description="Its name; the first by default.")


class BracketRequest(_Strict):
    """The body of /api/brackets."""

    sentences: list[BracketSentence] = Field(description="Tagged sentences.")
    model: Text | None = Field(default=None, description="Its name; the first by default.")


AskedSentences = ParseRequest | DependencyRequest | BracketRequest


class EvaluateRequest(_Strict):
    """The body of /api/evaluate."""

    gold: Text = Field(description="Gold trees in brackets.")
    parsed: Text = Field(description="Parsed trees, one for each gold tree.")


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
        elif first["type"] != "value_error":
            problem += f", but is {_shown(first['input'])}"
        message = f"{where or 'the body'} {problem[:1].lower()}{problem[1:]}"
        raise _wrong(message, where or None) from None


def _path(place: Sequence[int | str]) -> str:
    """As ``sentences[3].words[0]``; the names of alternatives are left out."""
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{part[:60]}"
        for part in place
        if part not in (_STRING, _OBJECT)
    ]
    return "".join(parts).removeprefix(".")


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Wanted(NamedTuple):
    """One sentence on its way to a worker.

    Of a raw one, ``raw`` is its text until it has words; ``surface`` is then its part of the text,
    and ``offsets`` are the half-open characters of its words in all of it.
    """

    words: list[str]
    tags: Sequence[str | dict[str, float]] | None = None
    constraints: ConstraintRows | None = None
    raw: str | None = None
    surface: str | None = None
    offsets: list[tuple[int, int]] | None = None


def sentences_of(request: AskedSentences, limits: Limits) -> str | list[Wanted]:
    """The sentences of a request, or the text that is to be split into some.

    Raises
    ------
    ServiceError
        With status 422, for what can be seen to be wrong or too much before anything is split.
    """
    text = None if isinstance(request, BracketRequest) else request.text
    if (text is None) == (request.sentences is None):
        problem = "both" if text is not None else "neither"
        raise _wrong(f"text or sentences are expected, and there are {problem}")
    if isinstance(request, ParseRequest):
        limits.check("best", request.best or 0)
        if request.constraints is not None and text is None:
            raise _wrong(
                "constraints beside text are for its sentences; put them into sentences",
                "constraints",
            )
    if text is not None or request.sentences is None:
        limits.check("characters", len(text or ""))
        return text or ""
    limits.check("sentences", len(request.sentences))
    wanted = [_wanted(each, number) for number, each in enumerate(request.sentences)]
    n_characters = sum(len(each.raw or "") + sum(map(len, each.words)) for each in wanted)
    limits.check("characters", n_characters)
    return wanted


def _wanted(
    sentence: str | ParseSentence | DependencySentence | BracketSentence, number: int
) -> Wanted:
    if isinstance(sentence, str):
        return Wanted([], raw=sentence)
    if isinstance(sentence, BracketSentence):
        return Wanted(sentence.words, sentence.tags)
    if (sentence.words is None) == (sentence.text is None):
        where = f"sentences[{number}]"
        problem = "both" if sentence.text is not None else "neither"
        raise _wrong(f"{where} must have words or text, and has {problem}", where)
    rows = sentence.constraints if isinstance(sentence, ParseSentence) else None
    return Wanted(sentence.words or [], sentence.tags, rows, sentence.text)


def with_constraints(request: AskedSentences, sentences: list[Wanted]) -> list[Wanted]:
    """The sentences of a text with the constraints that came beside it.

    Raises
    ------
    ServiceError
        When there are more or fewer.
    """
    rows = request.constraints if isinstance(request, ParseRequest) else None
    if rows is None:
        return sentences
    if len(rows) != len(sentences):
        raise _wrong(
            f"there are constraints for {len(rows)} sentences, and the text has {len(sentences)}",
            "constraints",
        )
    return [each._replace(constraints=own) for each, own in zip(sentences, rows, strict=True)]


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


def _wrong(message: str, where: str | None = None) -> ServiceError:
    return ServiceError(422, "wrong_request", message, where=where)
