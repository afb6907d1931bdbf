"""What people look at: trees drawn as text and as SVG."""

from eigentree.drawing.tree_svg import draw_svg, draw_svg_page
from eigentree.drawing.tree_text import draw_text

__all__ = ["draw_svg", "draw_svg_page", "draw_text"]
