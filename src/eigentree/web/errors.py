"""Errors of the service, all of one shape: ``{"error": {"code": ..., "message": ...}}``."""

from __future__ import annotations

import json
from typing import Any

from eigentree.errors import EigentreeError


class ServiceError(EigentreeError):
    """An error of a request, or of one sentence of a request.

    Parameters
    ----------
    status
        HTTP status; for an error of a sentence, used if every sentence of the request fails.
    code
        Machine-readable name.
    message
        One sentence for users.
    limit, seen
        The largest allowed value, and the requested one.
    where
        Path of the value in the request, such as ``sentences[3].words[0]``.
    headers
        Additional response headers.
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
        fields = {"code": code, "message": message, "where": where, "limit": limit, "seen": seen}
        self.record: dict[str, Any] = {
            key: value for key, value in fields.items() if value is not None
        }


def as_json(value: Any) -> bytes:
    """A value as UTF-8 JSON; unpaired surrogates, which UTF-8 cannot encode, become ``?``."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")
