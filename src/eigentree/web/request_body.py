"""Request bodies: size-limited while they are received, then parsed as JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NoReturn

from eigentree.web.errors import ServiceError
from eigentree.web.limits import Limits
from eigentree.web.timeouts import Timeouts

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

# A body up to this many times the limit is read to its end before it is refused, because many
# clients do not read a response before they have sent everything.
_READ_ON = 8


class ClientGoneError(Exception):
    """The client has disconnected."""


async def read_body(
    receive: Receive, headers: Mapping[str, str], limits: Limits, timeouts: Timeouts
) -> bytes:
    """Read the body of a request.

    Parameters
    ----------
    receive
        The ASGI function that gives the next message of the request.
    headers
        Header values by lower-case name.
    limits
        `Limits.body_bytes` and `Limits.body_seconds`.
    timeouts
        The active time-outs of the service.

    Raises
    ------
    ServiceError
        When the body is too large, by its header or as received, or too slow, or the service stops.
    ClientGoneError
        When the client has disconnected.
    """
    max_bytes = limits.body_bytes
    length = headers.get("content-length", "")
    n_declared = int(length) if length.isascii() and length.isdigit() else 0
    # The unread rest of a body would be taken for the next request.
    last = {"Connection": "close"}
    if n_declared > max_bytes * _READ_ON:
        raise _with(limits.exceeded("body_bytes", n_declared), last)
    parts: list[bytes] = []
    n_read = 0
    try:
        async with timeouts.within(limits.body_seconds):
            more = True
            while more and n_read <= max_bytes * _READ_ON:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGoneError
                part = message.get("body", b"")
                n_read += len(part)
                if n_read <= max_bytes:
                    parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        name = "stop_seconds" if timeouts.have_ended else "body_seconds"
        raise _with(limits.exceeded(name), last) from None
    if n_read > max_bytes:
        raise _with(limits.exceeded("body_bytes", max(n_read, n_declared)), last)
    return b"".join(parts)


def _with(error: ServiceError, headers: dict[str, str]) -> ServiceError:
    error.headers |= headers
    return error


def check_content_type(headers: Mapping[str, str]) -> None:
    """Refuse a body that is not declared as JSON in UTF-8.

    Browsers send this content type across sites only after a preflight request, which the service
    does not answer.

    Raises
    ------
    ServiceError
        With status 415.
    """
    kind, _, parameters = headers.get("content-type", "").partition(";")
    charset = parameters.partition("charset=")[2].strip(' "').lower()
    if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
        declared = headers.get("content-type", "none")[:60]
        raise ServiceError(
            415, "not_json", f"the content type is {declared}; expected application/json in UTF-8"
        )
    coding = headers.get("content-encoding", "identity")
    if coding != "identity":
        raise ServiceError(
            415,
            "not_json",
            f"the content encoding {coding[:60]} is not supported; send the body unencoded",
        )


def read_json(body: bytes) -> Any:
    """The JSON value of a body.

    Raises
    ------
    ServiceError
        With status 400, when the body is not JSON in UTF-8, contains NaN or infinite numbers, is
        nested too deeply, or an object has a duplicate key.
    """
    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8"
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:]
        problem = f"line {error.lineno}, column {error.colno}: {what}"
    except RecursionError:
        problem = "it is nested too deeply"
    except ValueError as error:
        problem = str(error).partition(";")[0]
    raise ServiceError(400, "malformed_json", f"the body is not valid JSON: {problem}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"duplicate key {key[:60]!r}")
        result[key] = value
    return result


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
