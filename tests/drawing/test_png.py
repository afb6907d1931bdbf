"""Pictures as PNG."""

import io
import sys

import matplotlib.image
import pytest

from eigentree.drawing import png
from eigentree.drawing.arcs import Arcs, draw_arcs_svg
from eigentree.drawing.png import as_png
from eigentree.drawing.tree_svg import draw_svg
from eigentree.errors import SettingsError
from eigentree.treebank.io.brackets import parse_tree

TREE = parse_tree("(S (NP (N ice)) (VP (V melts)))")


def pixels(data):
    assert data.startswith(b"\x89PNG\r\n")
    return matplotlib.image.imread(io.BytesIO(data))


def test_size_goes_by_scale():
    svg = draw_svg(TREE)
    one, two = pixels(as_png(svg, scale=1)), pixels(as_png(svg))
    assert abs(two.shape[0] - 2 * one.shape[0]) <= 2
    assert abs(two.shape[1] - 2 * one.shape[1]) <= 2


def ink(picture):
    return int((picture[..., :3].min(axis=-1) < 0.9).sum())


def test_text_leaves_ink():
    words, blanks = (
        pixels(as_png(draw_arcs_svg([Arcs([word] * 3, [2, 0, 2])]))) for word in ("mmmm", "....")
    )
    assert ink(words) > ink(blanks) + 300


def test_the_same_drawing_gives_the_same_bytes():
    assert as_png(draw_svg(TREE)) == as_png(draw_svg(TREE))


def test_fonts_come_with_matplotlib(monkeypatch):
    import resvg_py

    render = resvg_py.svg_to_bytes

    def without_system_fonts(**settings):
        return render(**settings, skip_system_fonts=True)

    with_system = ink(pixels(as_png(draw_svg(TREE))))
    monkeypatch.setattr(resvg_py, "svg_to_bytes", without_system_fonts)
    assert ink(pixels(as_png(draw_svg(TREE)))) > 0.9 * with_system
    png._system_has_fonts.cache_clear()
    png._fonts.cache_clear()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    try:
        with pytest.raises(SettingsError, match="no font is available to draw text; install one"):
            as_png(draw_svg(TREE))
    finally:
        png._system_has_fonts.cache_clear()
        png._fonts.cache_clear()


def test_what_is_refused(monkeypatch):
    huge = draw_svg(parse_tree("(S" + " (N ice)" * 400 + ")"))
    with pytest.raises(SettingsError, match="pixels is too large for PNG; draw fewer trees"):
        as_png(huge, scale=30)
    with pytest.raises(SettingsError, match="scale is 0; it must be above 0"):
        as_png(draw_svg(TREE), scale=0)
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(SettingsError, match=r"run pip install '\.\[pictures\]' in the source"):
        as_png(draw_svg(TREE))


def test_isolates_of_words_from_right_to_left_leave_no_ink():
    def with_and_without(word: str) -> tuple[bytes, bytes]:
        svg = draw_svg(parse_tree(f"(NN {word})"))
        bare = svg.replace("\u2068", "").replace("\u2069", "")
        assert svg != bare
        return as_png(svg), as_png(bare)

    word, bare = with_and_without("ילד")
    assert word == bare
    # The final mark is on the left of the letters, as in a text from right to left.
    word, bare = with_and_without("ילד.")
    assert word != bare
