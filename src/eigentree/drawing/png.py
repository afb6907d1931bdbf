"""PNG pictures, rendered by resvg.

System fonts are preferred; the DejaVu fonts that come with matplotlib are the fallback.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from eigentree._core.optional import require
from eigentree.errors import SettingsError

MAX_PIXELS = 100_000_000  # four bytes each in memory
_SIZE = re.compile(r'<svg[^>]*? viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def as_png(svg: str, *, scale: float = 2.0) -> bytes:
    """Render an SVG document as PNG.

    Parameters
    ----------
    svg
        A document drawn by a function of this package.
    scale
        Pixels per unit of the drawing.

    Raises
    ------
    SettingsError
        When the picture would have more than a hundred million pixels, when scale is not
        positive, or when resvg-py or a font is missing.
    """
    found = _SIZE.search(svg)
    assert found is not None
    # The renderer aborts the process when it runs out of memory.
    across, down = (float(size) * scale for size in found.groups())
    if not scale > 0.0:
        raise SettingsError(f"scale is {scale}; it must be above 0")
    if across * down > MAX_PIXELS:
        raise SettingsError(
            f"a picture of {across:,.0f} x {down:,.0f} pixels is too large for PNG; "
            "draw fewer trees, with a smaller scale, or as SVG"
        )
    with require("pictures"):
        import resvg_py
    fonts = _fonts()
    if not fonts and not _system_has_fonts():
        raise SettingsError(
            "no font is available to draw text; install one, or matplotlib, which includes some"
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=scale, font_files=fonts))


@cache
def _fonts() -> list[str]:
    """Font files of matplotlib; none if it is not installed."""
    try:
        from matplotlib import get_data_path
    except ModuleNotFoundError:
        return []
    folder = Path(get_data_path()) / "fonts" / "ttf"
    return [str(folder / name) for name in ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf")]


@cache
def _system_has_fonts() -> bool:
    """Whether rendered text is visible."""
    import resvg_py

    blank, written = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{text}</svg>'
        for text in ("", '<text y="15" font-family="sans-serif">A</text>')
    )
    return bytes(resvg_py.svg_to_bytes(svg_string=blank)) != bytes(
        resvg_py.svg_to_bytes(svg_string=written)
    )
