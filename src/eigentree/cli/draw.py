"""The command ``draw``: trees of both kinds as text, pictures or LaTeX."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentree.cli._common import message, notice
from eigentree.cli._files import check_output, note_waiting
from eigentree.cli._options import OnError, OutputOption
from eigentree.cli._output import write_picture
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.drawing.latex import TreeStyle
    from eigentree.treebank.io.conllu import Sentence
    from eigentree.treebank.tree import Tree

OutputFormat = Literal[
    "auto", "text", "svg", "png", "latex", "latex-forest", "latex-qtree", "latex-dependency"
]
NO_PARSE = "(no parse)"
_BY_NAME: dict[str, OutputFormat] = {".svg": "svg", ".png": "png", ".tex": "latex"}
_TREE_STYLES: dict[OutputFormat, TreeStyle] = {
    "latex": "forest", "latex-forest": "forest", "latex-qtree": "qtree"
}  # fmt: skip
# Pictures in other formats.
_OTHER_PICTURES = (".jpg", ".jpeg", ".pdf", ".gif", ".webp", ".bmp", ".eps", ".ps", ".tif", ".tiff")


def draw(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="File of brackets, NEGRA export, TIGER-XML or CoNLL-U, recognised by content; - "
            "is standard input.",
        ),
    ] = "-",
    output_format: Annotated[
        OutputFormat,
        typer.Option(
            "--output-format",
            help="Format of the output. auto: by the extension of the output file (.svg, .png or "
            ".tex), else text.",
        ),
    ] = "auto",
    style: Annotated[
        Literal["auto", "tree", "indented"],
        typer.Option(
            help="Text from the root down, or one line per phrase; auto: the one that fits."
        ),
    ] = "auto",
    width: Annotated[
        int | None,
        typer.Option(min=10, help="Width of text in columns.", show_default="of the terminal"),
    ] = None,
    ascii_only: Annotated[
        bool, typer.Option("--ascii", help="Draw lines with the characters | - + >.")
    ] = False,
    fragment: Annotated[
        bool, typer.Option("--fragment", help="Write LaTeX for inclusion in a document.")
    ] = False,
    scale: Annotated[
        float, typer.Option(min=0.1, help="Pixels per unit of the drawing, for PNG.")
    ] = 2.0,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove traces, function tags and outer brackets.")
    ] = False,
    only: Annotated[
        int | None, typer.Option("--only", min=1, help="Draw only the Nth tree.")
    ] = None,
    on_error: Annotated[
        OnError, typer.Option("--on-error", help="Stop at a malformed tree, or skip it.")
    ] = "raise",
    output_file: OutputOption = "-",
) -> None:
    """Draw trees as text, as one SVG or PNG picture, or for LaTeX.

    CoNLL-U is drawn as arcs.
    """
    from eigentree.treebank.io.recognition import recognise
    from eigentree.treebank.io.text_files import displayed_name, open_text

    ends = [name for end, name in _BY_NAME.items() if output_file.lower().endswith(end)]
    if output_format == "auto":
        if output_file.lower().endswith(_OTHER_PICTURES):
            raise SettingsError(
                f"{output_file}: unsupported picture format; name it .svg, .png or .tex"
            )
        output_format = ends[0] if ends else "text"
    if fragment and not output_format.startswith("latex"):
        raise SettingsError(f"--fragment is for LaTeX, but the output format is {output_format}")
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if output_file == "-" else 100
    check_output(output_file, [file])
    note_waiting([file])
    name = displayed_name(file)
    with open_text(file, keep_bad_bytes=on_error == "skip", notice=notice) as text:
        found = recognise(text)
        lines = found.lines
        if found.format == "conllu":
            if clean or style != "auto":
                raise SettingsError("--clean and --style are for bracketed trees; this is CoNLL-U")
            sentences = _picked(_sentences(lines, name, on_error), name, only, "sentence")
            _draw_arcs(sentences, output_format, ascii_only, fragment, scale, output_file)
        else:
            trees = _picked(_trees(lines, name, on_error, clean), name, only, "tree")
            _draw_trees(
                trees, output_format, style, width, ascii_only, fragment, scale, output_file
            )  # fmt: skip


def _draw_trees(
    trees: Iterator[Tree | None],
    output_format: OutputFormat,
    style: Literal["auto", "tree", "indented"],
    width: int,
    ascii_only: bool,
    fragment: bool,
    scale: float,
    output_file: str,
) -> None:
    from eigentree.drawing.tree_svg import draw_svg_page
    from eigentree.drawing.tree_text import draw_text

    if output_format == "latex-dependency":
        raise SettingsError(
            f"--output-format {output_format} requires CoNLL-U; the input is bracketed trees"
        )

    def as_text(tree: Tree | None) -> str:
        if tree is None:
            return NO_PARSE
        return draw_text(tree, style=style, width=width, ascii_only=ascii_only)

    if output_format == "text":
        _write_texts(map(as_text, trees), output_file)
        return
    whole = [tree for tree in trees if tree is not None]
    if output_format in ("svg", "png"):
        write_picture(draw_svg_page(whole), output_file, as_png=output_format == "png", scale=scale)
        return
    from eigentree.drawing.latex import trees_in_latex

    _write(trees_in_latex(whole, _TREE_STYLES[output_format], fragment=fragment), output_file)


def _draw_arcs(
    sentences: Iterator[Sentence],
    output_format: OutputFormat,
    ascii_only: bool,
    fragment: bool,
    scale: float,
    output_file: str,
) -> None:
    from eigentree.drawing.arcs import arcs_of, draw_arcs_svg, draw_arcs_text

    if output_format in ("latex-forest", "latex-qtree"):
        raise SettingsError(
            f"--output-format {output_format} requires bracketed trees; the input is CoNLL-U"
        )
    arcs = map(arcs_of, sentences)
    if output_format == "text":
        _write_texts((draw_arcs_text(one, ascii_only=ascii_only) for one in arcs), output_file)
    elif output_format in ("svg", "png"):
        write_picture(
            draw_arcs_svg(list(arcs)), output_file, as_png=output_format == "png", scale=scale
        )
    else:
        from eigentree.drawing.latex import arcs_in_latex

        _write(arcs_in_latex(list(arcs), fragment=fragment), output_file)


def _write_texts(drawings: Iterable[str], output_file: str) -> None:
    """Write drawings one by one, so that input from a pipe is drawn as it arrives."""
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
    """All readable items, or one of them."""
    number = 0
    for item, is_good in items:
        number += 1
        if is_good and only in (None, number):
            yield item
        if only == number:
            return
    if only is not None:
        raise SettingsError(f"{name}: has {counted(number, noun)}; there is no {noun} {only}")


def _trees(
    lines: Iterable[str], name: str, on_error: OnError, clean: bool
) -> Iterator[tuple[Tree | None, bool]]:
    """Trees as they are read, each with whether it is readable."""
    from eigentree.treebank.cleaning import clean as cleaned
    from eigentree.treebank.reader import read_trees

    for record in read_trees(lines, name=name, on_error=on_error, edge_labels=not clean):
        if record.problem is not None:
            message(str(record.problem))
        tree = record.tree
        yield cleaned(tree) if clean and tree is not None else tree, record.problem is None


def _sentences(
    lines: Iterable[str], name: str, on_error: OnError
) -> Iterator[tuple[Sentence | None, bool]]:
    from eigentree.treebank.io.conllu import read_conllu

    for record in read_conllu(lines, name=name, on_error=on_error):
        if record.problem is not None:
            message(str(record.problem))
        yield record.sentence, record.sentence is not None
