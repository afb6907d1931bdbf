"""What people look at: trees drawn as text and as SVG."""

from eigentree.report.drawing import draw_text
from eigentree.report.svg import draw_svg, draw_svg_page

__all__ = ["draw_svg", "draw_svg_page", "draw_text"]
