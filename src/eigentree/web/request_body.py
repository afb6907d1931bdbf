"""A request's body: counted while it comes, then read as JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, NoReturn

from eigentree.web.errors import ServiceError
from eigentree.web.limits import Limits
from eigentree.web.timeouts import Timeouts

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

# So many times too large a body is read to its end, for many clients read no answer before.
_READ_ON = 8


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def read_body(
    receive: Receive, headers: Mapping[str, str], limits: Limits, timeouts: Timeouts
) -> bytes:
    """The body of a request.

    Parameters
    ----------
    receive
        The next message of the request, as of ASGI.
    headers
        By names in lower case.
    limits
        `Limits.body_bytes` and `Limits.body_seconds`.
    timeouts
        Of all that waits.

    Raises
    ------
    ServiceError
        When it is too large, as told or as counted, or too slow, or the service ends.
    ClientGoneError
        When the client has gone.
    """
    most = limits.body_bytes
    told = headers.get("content-length", "")
    n_told = int(told) if told.isascii() and told.isdigit() else 0
    # What isn't read to its end would be taken for the next request.
    last = {"Connection": "close"}
    if n_told > most * _READ_ON:
        raise _with(limits.passed("body_bytes", n_told), last)
    parts: list[bytes] = []
    n_read = 0
    try:
        async with timeouts.within(limits.body_seconds):
            more = True
            while more and n_read <= most * _READ_ON:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGoneError
                part = message.get("body", b"")
                n_read += len(part)
                if n_read <= most:
                    parts.append(part)
                more = message.get("more_body", False)
    except TimeoutError:
        name = "stop_seconds" if timeouts.have_ended else "body_seconds"
        raise _with(limits.passed(name), last) from None
    if n_read > most:
        raise _with(limits.passed("body_bytes", max(n_read, n_told)), last)
    return b"".join(parts)


def _with(error: ServiceError, headers: dict[str, str]) -> ServiceError:
    error.headers |= headers
    return error


def check_content_type(headers: Mapping[str, str]) -> None:
    """Refuse what isn't told to be JSON in UTF-8.

    A form of another site's page can't send this type without being asked first, and there is no
    answer to that.

    Raises
    ------
    ServiceError
        With status 415.
    """
    kind, _, parameters = headers.get("content-type", "").partition(";")
    charset = parameters.partition("charset=")[2].strip(' "').lower()
    if kind.strip().lower() != "application/json" or charset not in ("", "utf-8", "utf8"):
        seen = headers.get("content-type", "none")[:60]
        raise ServiceError(
            415, "not_json", f"the content type is {seen}; application/json in UTF-8 is expected"
        )
    coding = headers.get("content-encoding", "identity")
    if coding != "identity":
        raise ServiceError(
            415, "not_json", f"the content encoding is {coding[:60]}; send the body as it is"
        )


def read_json(body: bytes) -> Any:
    """The value that a body holds.

    Raises
    ------
    ServiceError
        With status 400, when it is no JSON in UTF-8, has NaN or infinite numbers, is nested too
        deeply, or an object has a key twice.
    """
    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is no UTF-8"
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:]
        problem = f"line {error.lineno}, column {error.colno}: {what}"
    except RecursionError:
        problem = "it is nested too deeply"
    except ValueError as error:
        problem = str(error).partition(";")[0]
    raise ServiceError(400, "malformed_json", f"the body is no JSON: {problem}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} is there twice")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
