"""The verb ``draw``: draw trees, of constituents or dependencies, as text or pictures."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentree.cli._common import OutputOption, keep_inputs, message, write_picture
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.drawing.latex import TreeStyle
    from eigentree.treebank.io.conllu import Sentence
    from eigentree.treebank.tree import Tree

Format = Literal[
    "auto", "text", "svg", "png", "latex", "latex-forest", "latex-qtree", "latex-dependency"
]
NO_PARSE = "(no parse)"
_BY_NAME: dict[str, Format] = {".svg": "svg", ".png": "png", ".tex": "latex"}
_TREE_STYLES: dict[Format, TreeStyle] = {
    "latex": "forest", "latex-forest": "forest", "latex-qtree": "qtree"
}  # fmt: skip
# What people name pictures that aren't made here.
_OTHER_PICTURES = (".jpg", ".jpeg", ".pdf", ".gif", ".webp", ".bmp", ".eps", ".ps", ".tif", ".tiff")
# The first row of a sentence in CoNLL-U; no line of the other formats looks so.
_CONLLU_ROW = re.compile(r"(0\.1|1|1-[0-9]+)(\t[^\t]*){9}")


def draw(
    file: Annotated[
        str,
        typer.Argument(help="Bracket, NEGRA export or CoNLL-U file; - is standard input."),
    ] = "-",
    format: Annotated[
        Format,
        typer.Option(
            help="auto: by the end of the output file's name, .svg, .png or .tex, else text."
        ),
    ] = "auto",
    style: Annotated[
        Literal["auto", "tree", "indented"],
        typer.Option(help="Text from the root down, or a line for each phrase; auto: what fits."),
    ] = "auto",
    width: Annotated[
        int | None, typer.Option(min=10, help="Columns for text; else the terminal's.")
    ] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw lines with | - + >.")] = False,
    fragment: Annotated[
        bool, typer.Option("--fragment", help="LaTeX to be put into a document, no document.")
    ] = False,
    scale: Annotated[
        float, typer.Option(min=0.1, help="Pixels of a PNG for each unit of the drawing.")
    ] = 2.0,
    clean: Annotated[
        bool, typer.Option("--clean", help="Without traces, function tags and outer brackets.")
    ] = False,
    only: Annotated[
        int | None, typer.Option("--only", min=1, help="Draw this tree alone; the first is 1.")
    ] = None,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="Stop at a malformed tree, or pass over it.")
    ] = "raise",
    output_file: OutputOption = "-",
) -> None:
    """Draw trees as text, as one SVG or PNG picture, or for LaTeX.

    CoNLL-U is told from bracketed trees by its first row, and drawn as arcs.
    """
    from eigentree.treebank.io.text_files import open_text

    ends = [name for end, name in _BY_NAME.items() if output_file.lower().endswith(end)]
    if format == "auto":
        if output_file.lower().endswith(_OTHER_PICTURES):
            raise SettingsError(
                f"{output_file}: no such picture can be made; name it .svg, .png or .tex"
            )
        format = ends[0] if ends else "text"
    if fragment and not format.startswith("latex"):
        raise SettingsError(f"--fragment is for LaTeX; the format is {format}")
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if output_file == "-" else 100
    keep_inputs(output_file, [file])
    name = "<standard input>" if file == "-" else file
    with open_text(file, keep_bad_bytes=on_error == "skip") as text:
        is_conllu, lines = _told_apart(text)
        if is_conllu:
            if clean or style != "auto":
                raise SettingsError("--clean and --style are for bracketed trees; this is CoNLL-U")
            sentences = _picked(_sentences(lines, name, on_error), name, only, "sentence")
            _draw_arcs(sentences, format, ascii_only, fragment, scale, output_file)
        else:
            trees = _picked(_trees(lines, name, on_error, clean), name, only, "tree")
            _draw_trees(
                trees, format, style, width, ascii_only, fragment, scale, output_file
            )  # fmt: skip


def _told_apart(lines: Iterable[str]) -> tuple[bool, Iterator[str]]:
    """Whether lines are CoNLL-U, by the first that is no comment, and all of them."""
    rest = iter(lines)
    seen: list[str] = []
    for line in rest:
        seen.append(line)
        if line.strip() and (line[0] != "#" or line[1:2] == "\t"):
            break
    is_conllu = bool(seen) and _CONLLU_ROW.fullmatch(seen[-1].rstrip("\r\n").removeprefix("\ufeff"))
    return bool(is_conllu), chain(seen, rest)


def _draw_trees(
    trees: Iterator[Tree | None],
    format: Format,
    style: Literal["auto", "tree", "indented"],
    width: int,
    ascii_only: bool,
    fragment: bool,
    scale: float,
    output_file: str,
) -> None:
    from eigentree.drawing.tree_svg import draw_svg_page
    from eigentree.drawing.tree_text import draw_text

    if format == "latex-dependency":
        raise SettingsError(f"the format {format} draws CoNLL-U; the input holds bracketed trees")

    def as_text(tree: Tree | None) -> str:
        if tree is None:
            return NO_PARSE
        return draw_text(tree, style=style, width=width, ascii_only=ascii_only)

    if format == "text":
        _write_texts(map(as_text, trees), output_file)
        return
    whole = [tree for tree in trees if tree is not None]
    if format in ("svg", "png"):
        write_picture(draw_svg_page(whole), output_file, as_png=format == "png", scale=scale)
        return
    from eigentree.drawing.latex import trees_in_latex

    _write(trees_in_latex(whole, _TREE_STYLES[format], fragment=fragment), output_file)


def _draw_arcs(
    sentences: Iterator[Sentence],
    format: Format,
    ascii_only: bool,
    fragment: bool,
    scale: float,
    output_file: str,
) -> None:
    from eigentree.drawing.arcs import arcs_of, draw_arcs_svg, draw_arcs_text

    if format in ("latex-forest", "latex-qtree"):
        raise SettingsError(f"the format {format} draws bracketed trees; the input is CoNLL-U")
    arcs = map(arcs_of, sentences)
    if format == "text":
        _write_texts((draw_arcs_text(one, ascii_only=ascii_only) for one in arcs), output_file)
    elif format in ("svg", "png"):
        write_picture(draw_arcs_svg(list(arcs)), output_file, as_png=format == "png", scale=scale)
    else:
        from eigentree.drawing.latex import arcs_in_latex

        _write(arcs_in_latex(list(arcs), fragment=fragment), output_file)


def _write_texts(drawings: Iterable[str], output_file: str) -> None:
    """Drawings one by one as they are made, so that a pipe is drawn as it flows."""
    from eigentree.treebank.io.text_files import write_whole

    with write_whole(output_file) as out:
        for place, drawing in enumerate(drawings):
            out.write("\n" * bool(place) + drawing + "\n")
            out.flush()


def _write(text: str, output_file: str) -> None:
    from eigentree.treebank.io.text_files import write_whole

    with write_whole(output_file) as out:
        out.write(text)


def _picked(items: Iterator[Any], name: str, only: int | None, noun: str) -> Iterator[Any]:
    """All items, or one of them, of which there are problems that have been told."""
    number = 0
    for item, is_good in items:
        number += 1
        if is_good and only in (None, number):
            yield item
        if only == number:
            return
    if only is not None:
        raise SettingsError(f"{name}: has {counted(number, noun)}, so there is no {noun} {only}")


def _trees(
    lines: Iterable[str], name: str, on_error: Literal["raise", "skip"], clean: bool
) -> Iterator[tuple[Tree | None, bool]]:
    """Trees one by one as they are read, and whether they could be."""
    from eigentree.treebank.cleaning import clean as cleaned
    from eigentree.treebank.reader import read_trees

    for record in read_trees(lines, name=name, on_error=on_error, edge_labels=not clean):
        if record.problem is not None:
            message(str(record.problem))
        tree = record.tree
        yield cleaned(tree) if clean and tree is not None else tree, record.problem is None


def _sentences(
    lines: Iterable[str], name: str, on_error: Literal["raise", "skip"]
) -> Iterator[tuple[Sentence | None, bool]]:
    from eigentree.treebank.io.conllu import read_conllu

    for record in read_conllu(lines, name=name, on_error=on_error):
        if record.problem is not None:
            message(str(record.problem))
        yield record.sentence, record.sentence is not None
