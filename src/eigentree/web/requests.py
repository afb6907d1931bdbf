"""Bodies of requests: their schemas, validation, and checks against the limits."""

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
        raise ValueError(f"contains an unpaired surrogate, {text[error.start]!a}") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]

_STRING, _OBJECT, _INTEGER, _NULL = "a string", "an object", "an integer", "null"
_ALTERNATIVES = (_STRING, _OBJECT, _INTEGER, _NULL, "[key]")
# What errors say that a value must be, by pydantic's name of the error.
_EXPECTED = {
    "string_type": _STRING,
    "string_unicode": "text that UTF-8 can hold",
    "model_type": _OBJECT,
    "dict_type": _OBJECT,
    "list_type": "a list",
    "int_type": _INTEGER,
    "int_from_float": _INTEGER,
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
}
# Larger numbers are mistakes, and would make messages unreadable.
_MAX_NUMBER = 10**9


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _kind_of(value: Any) -> str | None:
    """The name of the alternative that a value must match, so that errors are about that alone."""
    for kind, types in ((_STRING, str), (_OBJECT, dict), (_INTEGER, int), (_NULL, type(None))):
        if isinstance(value, types) and not isinstance(value, bool):
            return kind
    return None


def _by_kind(*names: str) -> Discriminator:
    return Discriminator(
        lambda value: kind if (kind := _kind_of(value)) in names else None,
        custom_error_type="kind",
        custom_error_message=f"should be {' or '.join(names)}",
    )


_AString = Annotated[Text, Tag(_STRING)]
_AWeight = Annotated[dict[Text, FiniteFloat], Tag(_OBJECT)]
_TagOrWeights = Annotated[_AString | _AWeight, _by_kind(_STRING, _OBJECT)]
_Cell = Annotated[
    _AString | Annotated[int, Tag(_INTEGER)] | Annotated[None, Tag(_NULL)],
    _by_kind(_INTEGER, _STRING, _NULL),
]
# Each row is [start, end], [start, end, label] or [position, tag].
ConstraintRows = dict[Text, list[list[_Cell]]]


class ParseSentence(_Strict):
    """A sentence to parse, as words or as raw text."""

    words: list[Text] | None = Field(
        default=None, description="Tokens; they are not split further."
    )
    text: Text | None = Field(default=None, description="Raw text, instead of words.")
    tags: list[_TagOrWeights] | None = Field(
        default=None, description="One tag per word, or several with weights."
    )
    constraints: ConstraintRows | None = Field(
        default=None, description="Required and forbidden spans, and tags, one row each."
    )


class DependencySentence(_Strict):
    """A sentence for dependency parsing, as words or as raw text."""

    words: list[Text] | None = Field(
        default=None, description="Tokens; they are not split further."
    )
    text: Text | None = Field(default=None, description="Raw text, instead of words.")
    tags: list[Text] | None = Field(default=None, description="One tag per word.")


class BracketSentence(_Strict):
    """A sentence to bracket."""

    words: list[Text] = Field(description="Tokens.")
    tags: list[Text] = Field(description="One tag per word.")


_BY_KIND = _by_kind(_STRING, _OBJECT)


class ParseRequest(_Strict):
    """The body of /api/parse: text or sentences."""

    text: Text | None = Field(default=None, description="Raw text; it is split into sentences.")
    constraints: list[ConstraintRows | None] | None = Field(
        default=None, description="With text: the constraints of each sentence."
    )
    sentences: (
        list[Annotated[_AString | Annotated[ParseSentence, Tag(_OBJECT)], _BY_KIND]] | None
    ) = Field(default=None, description="Instead of text: sentences, as raw text or objects.")
    model: Text | None = Field(default=None, description="Name of the model (default: the first).")
    best: Annotated[int, Field(ge=1, le=_MAX_NUMBER)] | None = Field(
        default=None, description="Number of best trees to return."
    )
    marginals: Annotated[FiniteFloat, Field(ge=0)] | None = Field(
        default=None, description="Return the marginals of spans that are at least this large."
    )
    soft: bool = Field(
        default=False, description="If constraints conflict, keep as many as possible."
    )


class DependencyRequest(_Strict):
    """The body of /api/dependencies: text or sentences."""

    text: Text | None = Field(default=None, description="Raw text; it is split into sentences.")
    sentences: (
        list[
            Annotated[
                _AString | Annotated[DependencySentence, Tag(_OBJECT)],
                _BY_KIND,
            ]
        ]
        | None
    ) = Field(default=None, description="Instead of text: sentences, as raw text or objects.")
    model: Text | None = Field(default=None, description="Name of the model (default: the first).")


class BracketRequest(_Strict):
    """The body of /api/brackets."""

    sentences: list[BracketSentence] = Field(description="Tagged sentences.")
    model: Text | None = Field(default=None, description="Name of the model (default: the first).")


SentencesRequest = ParseRequest | DependencyRequest | BracketRequest


class EvaluateRequest(_Strict):
    """The body of /api/evaluate."""

    gold: Text = Field(description="Gold trees: brackets, NEGRA export or TIGER-XML.")
    parsed: Text = Field(description="Parsed trees, one for each gold tree.")


Model = TypeVar("Model", bound=_Strict)


def validated(kind: type[Model], value: Any) -> Model:
    """Validate the JSON value of a body.

    Raises
    ------
    ServiceError
        With status 422 and the path of the first invalid value.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = _path(first["loc"])
        problem = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
        if first["type"] in _EXPECTED:
            problem = f"should be {_EXPECTED[first['type']]}"
        if first["type"] == "extra_forbidden":
            problem = "is not a known key"
            if len(first["loc"]) == 1:
                problem += f"; known keys: {', '.join(kind.model_fields)}"
        elif first["type"] == "missing":
            problem = "is missing"
        elif first["type"] != "value_error":
            problem += f" (got {_formatted(first['input'])})"
        message = f"{where or 'the body'} {problem[:1].lower()}{problem[1:]}"
        raise _invalid(message, where or None) from None


def _path(place: Sequence[int | str]) -> str:
    """A path such as ``sentences[3].words[0]``, without the names of alternatives."""
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{part[:60]}"
        for part in place
        if part not in _ALTERNATIVES
    ]
    return "".join(parts).removeprefix(".")


def _formatted(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class SentenceRequest(NamedTuple):
    """One sentence of a request.

    A raw sentence has its text in ``raw`` until it is tokenised; ``surface`` is then its part of
    the text, and ``offsets`` are the half-open character spans of its words in the whole text.
    """

    words: list[str]
    tags: Sequence[str | dict[str, float]] | None = None
    constraints: ConstraintRows | None = None
    raw: str | None = None
    surface: str | None = None
    offsets: list[tuple[int, int]] | None = None


def requested_sentences(request: SentencesRequest, limits: Limits) -> str | list[SentenceRequest]:
    """The sentences of a request, or the text to split into sentences.

    Raises
    ------
    ServiceError
        With status 422, for errors and exceeded limits that are known before text is split.
    """
    text = None if isinstance(request, BracketRequest) else request.text
    if (text is None) == (request.sentences is None):
        problem = "both" if text is not None else "neither"
        raise _invalid(f"exactly one of text and sentences is required (got {problem})")
    if isinstance(request, ParseRequest):
        limits.check("best", request.best or 0)
        if request.constraints is not None and text is None:
            raise _invalid(
                "top-level constraints require text; put those of sentences into sentences",
                "constraints",
            )
    if text is not None or request.sentences is None:
        _check_characters([text or ""], limits)
        return text or ""
    limits.check("sentences", len(request.sentences))
    requests = [_sentence_request(each, number) for number, each in enumerate(request.sentences)]
    _check_characters([part for each in requests for part in (each.raw or "", *each.words)], limits)
    return requests


def _check_characters(texts: Sequence[str], limits: Limits) -> None:
    """Check the characters of a request, before any work."""
    limits.check("characters", sum(map(len, texts)))
    if any(len(text) > limits.run_characters for text in texts):
        runs = (len(run) for text in texts for run in text.split())
        limits.check("run_characters", max(runs, default=0))


def _sentence_request(
    sentence: str | ParseSentence | DependencySentence | BracketSentence, number: int
) -> SentenceRequest:
    if isinstance(sentence, str):
        return SentenceRequest([], raw=sentence)
    if isinstance(sentence, BracketSentence):
        return SentenceRequest(sentence.words, sentence.tags)
    if (sentence.words is None) == (sentence.text is None):
        where = f"sentences[{number}]"
        problem = "both" if sentence.text is not None else "neither"
        raise _invalid(f"{where} must have exactly one of words and text (got {problem})", where)
    rows = sentence.constraints if isinstance(sentence, ParseSentence) else None
    return SentenceRequest(sentence.words or [], sentence.tags, rows, sentence.text)


def with_constraints(
    request: SentencesRequest, sentences: list[SentenceRequest]
) -> list[SentenceRequest]:
    """Attach the constraints of a request to the sentences of its text.

    Raises
    ------
    ServiceError
        When their numbers differ.
    """
    rows = request.constraints if isinstance(request, ParseRequest) else None
    if rows is None:
        return sentences
    if len(rows) != len(sentences):
        raise _invalid(
            f"constraints are given for {len(rows)} sentences, but the text has {len(sentences)}",
            "constraints",
        )
    return [each._replace(constraints=row) for each, row in zip(sentences, rows, strict=True)]


def check_sentence(sentence: SentenceRequest, number: int, limits: Limits) -> None:
    """Check a sentence against the limits; the other sentences of the request are still parsed.

    Raises
    ------
    ServiceError
        With status 422.
    """
    where = f"sentences[{number}]"
    limits.check("tokens", len(sentence.words), where)
    n_constraints = sum(map(len, (sentence.constraints or {}).values()))
    limits.check("constraints", n_constraints, where)


def _invalid(message: str, where: str | None = None) -> ServiceError:
    return ServiceError(422, "wrong_request", message, where=where)
