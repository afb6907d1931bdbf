"""Display of objects in notebooks.

Trees, results and scores don't import the drawing code; the module that draws them is looked up
by name when a notebook displays one, and is not loaded before.
"""

from __future__ import annotations

from importlib import import_module

DRAWN_BY = "eigentree.integrations.jupyter"


class NotebookDisplay:
    """Base class of objects that notebooks display as a picture or, without one, as a table."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        svg: str | None = import_module(DRAWN_BY).as_svg(self)
        return svg

    def _repr_html_(self) -> str | None:
        html: str | None = import_module(DRAWN_BY).as_html(self)
        return html
