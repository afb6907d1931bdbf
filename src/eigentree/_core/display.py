"""What notebooks show of an object.

Trees, results and scores know nothing of pictures; those that are shown look them up by name
when a notebook asks, so that nothing of it is loaded before.
"""

from __future__ import annotations

from importlib import import_module

DRAWN_BY = "eigentree.integrations.jupyter"


class Shown:
    """Gives an object a picture in notebooks, or a table or text where it has none."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        svg: str | None = import_module(DRAWN_BY).as_svg(self)
        return svg

    def _repr_html_(self) -> str | None:
        html: str | None = import_module(DRAWN_BY).as_html(self)
        return html
