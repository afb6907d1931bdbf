"""The verb ``draw``: draw trees as text or SVG."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import OutputOption, keep_inputs, message

if TYPE_CHECKING:
    from eigentree.corpus.trees import Tree

NO_PARSE = "(no parse)"


def draw(
    file: Annotated[
        str, typer.Argument(help="Bracket or NEGRA export file; - is standard input.")
    ] = "-",
    format: Annotated[
        Literal["auto", "text", "svg"],
        typer.Option(help="auto: svg when the output file's name ends so, else text."),
    ] = "auto",
    style: Annotated[
        Literal["auto", "tree", "indented"],
        typer.Option(help="Text from the root down, or a line for each phrase; auto: what fits."),
    ] = "auto",
    width: Annotated[
        int | None, typer.Option(min=10, help="Columns for text; else the terminal's.")
    ] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="Draw lines with | - +.")] = False,
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
    """Draw trees as text or as one SVG picture."""
    from eigentree.corpus.files import write_whole
    from eigentree.report import draw_svg_page, draw_text

    as_svg = format == "svg" or (format == "auto" and output_file.lower().endswith(".svg"))
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if output_file == "-" else 100
    keep_inputs(output_file, [file])
    trees = _trees(file, on_error, clean, only)
    with write_whole(output_file) as out:
        if as_svg:
            out.write(draw_svg_page([tree for tree in trees if tree is not None]))
            return
        for place, tree in enumerate(trees):
            drawing = NO_PARSE
            if tree is not None:
                drawing = draw_text(tree, style=style, width=width, ascii_only=ascii_only)
            out.write("\n" * bool(place) + drawing + "\n")
            out.flush()


def _trees(
    file: str, on_error: Literal["raise", "skip"], clean: bool, only: int | None
) -> Iterator[Tree | None]:
    """Trees one by one as they are read, so that a pipe is drawn as it flows."""
    from eigentree.corpus.cleaning import clean as cleaned
    from eigentree.corpus.files import open_text
    from eigentree.corpus.treebank import read_trees
    from eigentree.errors import SettingsError, counted

    name = "<standard input>" if file == "-" else file
    number = 0
    with open_text(file, keep_bad_bytes=on_error == "skip") as lines:
        for record in read_trees(lines, name=name, on_error=on_error, edge_labels=not clean):
            number += 1
            if record.problem is not None:
                message(str(record.problem))
                continue
            if only in (None, number):
                tree = record.tree
                yield cleaned(tree) if clean and tree is not None else tree
            if only == number:
                return
    if only is not None:
        raise SettingsError(f"{name}: has {counted(number, 'tree')}, so there is no tree {only}")
