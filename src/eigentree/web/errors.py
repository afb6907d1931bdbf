"""The one shape of what the service refuses: ``{"error": {"code": ..., "message": ...}}``."""

from __future__ import annotations

import json
from typing import Any

from eigentree.errors import EigentreeError


class ServiceError(EigentreeError):
    """A request, or a sentence of one, that is not answered.

    Parameters
    ----------
    status
        Of HTTP; of a sentence's error where no sentence came out.
    code
        For programs.
    message
        One sentence, for people.
    limit, seen
        What is allowed at most, and what was asked for.
    where
        The place in the request, as ``sentences[3].words[0]``.
    headers
        Of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        limit: float | None = None,
        seen: float | None = None,
        where: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}
        told = {"code": code, "message": message, "where": where, "limit": limit, "seen": seen}
        self.record: dict[str, Any] = {
            key: value for key, value in told.items() if value is not None
        }


def as_json(value: Any) -> bytes:
    """JSON as it is sent; half a surrogate pair, which UTF-8 has no form for, as ``?``."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
