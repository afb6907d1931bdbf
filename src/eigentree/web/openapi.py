"""Documentation of the API: OpenAPI, and a page without external resources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader
from pydantic import BaseModel

_REFERENCE = "#/components/schemas/{model}"
_TEMPLATES = Path(__file__).parent / "templates"

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "where": {"type": "string"},
                "limit": {"type": "number"},
                "seen": {"type": "number"},
            },
        }
    },
}

_bodies: dict[str, dict[str, Any]] = {}


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The OpenAPI description of a route's body, which the route reads itself."""
    schema = model.model_json_schema(ref_template=_REFERENCE)
    _bodies.update(schema.pop("$defs", {}))
    _bodies[model.__name__] = schema
    reference = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": reference}}},
        "responses": {
            "4XX": {
                "description": "The request is invalid or exceeds a limit.",
                "content": _content("Error"),
            },
            "5XX": {
                "description": "The service failed or is overloaded.",
                "content": _content("Error"),
            },
        },
    }


def _content(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=name)}}}


def add_documentation(app: FastAPI) -> None:
    """Add the page /docs, and the schemas of bodies in /openapi.json."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        schema = described()
        schema.setdefault("components", {}).setdefault("schemas", {}).update(_bodies, Error=_ERROR)
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
    pages = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True)

    @app.get("/docs", include_in_schema=False)
    async def page() -> Response:
        return HTMLResponse(pages.get_template("docs.html").render(api=app.openapi()))
