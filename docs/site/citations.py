"""A Sphinx extension: ``[@key]`` becomes a link to the work's entry in the bibliography.

In the repository it is displayed literally, in Pandoc's syntax.  Several works are separated by
semicolons, and text after a comma is kept: ``[@key, section 5]``.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

PAGE = "docs/bibliography"
CITATION = re.compile(r"\[(@[\w-]+[^\]]*)\]")
WORK = re.compile(r"@([\w-]+)")
logger = logging.getLogger(__name__)


def works() -> dict[str, str]:
    """The key of each work, and its entry in the bibliography without Markdown markup."""
    text = Path(__file__).parents[1].joinpath("bibliography.md").read_text("utf-8")
    return {
        key: entry.replace("*", "") for key, entry in re.findall(r"^## (.*)\n\n(.*)$", text, re.M)
    }


class Citations(SphinxTransform):
    """Replaces citations by links."""

    default_priority = 400

    def apply(self) -> None:
        known = works()
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(
                text.parent, nodes.literal | nodes.literal_block | nodes.FixedTextElement
            ):
                continue
            parts: list[nodes.Node] = []
            for place, piece in enumerate(CITATION.split(str(text))):
                parts += self.linked(piece, known) if place % 2 else [nodes.Text(piece)]
            if len(parts) > 1:
                text.parent.replace(text, parts)

    def linked(self, cited: str, known: dict[str, str]) -> list[nodes.Node]:
        parts: list[nodes.Node] = [nodes.Text("[")]
        for place, piece in enumerate(WORK.split(cited)):
            if place % 2 == 0:
                parts.append(nodes.Text(piece))
                continue
            if piece not in known:
                logger.warning("no work %s in the bibliography", piece, location=self.env.docname)
            page = self.app.builder.get_relative_uri(self.env.docname, PAGE)
            link = nodes.reference(
                "", piece, refuri=f"{page}#{piece}", internal=True, reftitle=known.get(piece, "")
            )
            parts.append(link)
        return [*parts, nodes.Text("]")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(Citations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
