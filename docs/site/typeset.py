"""A Sphinx extension: formulas as MathML, which browsers set without scripts or fonts of ours.

Pages write formulas in TeX between dollar signs, as repositories show them too.  Docutils
converts TeX to MathML when the site is built, so a page needs no network.
"""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def mathml(tex: str, node: nodes.Element, as_block: bool) -> str:
    """The MathML element of a formula; a warning, which ends the build, if the TeX is wrong."""
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logger.warning("formula %s: %s", tex, error, location=node)
        return ""


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(mathml(node.astext(), node, as_block=False))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own; a wide one can be scrolled."""
    writer.body.append(f'<div class="math">{mathml(node.astext(), node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name that ``html_math_renderer`` gives."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
