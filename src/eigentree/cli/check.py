"""The verb ``check``: say what is in a treebank and what is wrong with it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import BAD_INPUT, JsonOption, message, result_console
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.treebank.check_constituency import TreebankReport
    from eigentree.treebank.check_dependency import DependencyReport

_Form = Literal["auto", "brackets", "export", "conllu"]
_CONLLU_NAME = re.compile(r"\.conllu?(\.gz)?$")
_MOST_LABELS = 60
_MOST_CHAINS = 12
_SHOWN_AS = {
    "trees": "tree{s}",
    "words": "word{s}",
    "distinct_words": "distinct word{s}",
    "words_seen_once": "word{s} seen once",
    "phrases": "phrase{s}",
    "rules": "distinct rule{s}, before binarisation",
    "rules_seen_once": "rule{s} seen once",
    "unary_phrases": "phrase{s} over one phrase",
    "same_unary": "of its own label, joined by cleaning",
    "empty_elements": "empty element{s} removed",
    "vanished": "tree{s} with nothing else",
    "no_parse": "mark{s} of no parse",
    "crossing_trees": "tree{s} with crossing branches",
    "crossing_nodes": "node{s} with crossing branches",
    "height": "level{s} of the highest tree",
    "children": "child{ren} of the widest node",
    "problems": "problem{s}",
    "notices": "notice{s}",
}
_DEPENDENCIES_SHOWN_AS = {
    "sentences": "sentence{s}",
    "words": "word{s}",
    "distinct_words": "distinct word{s}",
    "words_seen_once": "word{s} seen once",
    "ranges": "range{s} of words in one token",
    "empty_nodes": "empty node{s}",
    "nonprojective": "sentence{s} with crossing arcs",
    "nonprojective_arcs": "arc{s} that are not projective",
    "several_roots": "sentence{s} with several roots",
    "modifiers": "modifier{s} of the word with most",
    "problems": "problem{s}",
}
# Title, counts from frequent to rare, and how many to show.
_Tables = Iterable[tuple[str, dict[str, int], int]]


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Bracket, NEGRA export, CoNLL-U or CoNLL-X files; - is standard input; gzip is "
            "seen."
        ),
    ] = None,
    on_error: Annotated[
        Literal["skip", "raise"],
        typer.Option(help="List malformed trees and go on, or stop at the first."),
    ] = "skip",
    form: Annotated[
        _Form,
        typer.Option(
            "--format", help="Of all files. auto: conllu by names in .conllu or .conll, else seen."
        ),
    ] = "auto",
    trace_labels: Annotated[
        str, typer.Option(help="Preterminals to remove with their words; blanks between them.")
    ] = "-NONE-",
    trace_words: Annotated[
        str, typer.Option(help="Words to remove wherever they are; blanks between them.")
    ] = "",
    separators: Annotated[
        str, typer.Option(help="A phrase's label ends before the first of these characters.")
    ] = "-=",
    keep_function_tags: Annotated[
        bool, typer.Option("--keep-function-tags", help="Cut only indices off labels.")
    ] = False,
    cut_tags: Annotated[
        bool, typer.Option("--cut-tags", help="Cut the labels of words as well.")
    ] = False,
    limit: Annotated[int, typer.Option(min=0, help="Places to list of each kind of oddity.")] = 5,
    print_heads: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="Print a head table (english, negra ...) to edit, and stop."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is in a treebank, what is odd about it and which settings would suit it.

    The exit code is 2 when a tree could not be read.
    """
    if print_heads is not None:
        from eigentree.treebank.heads import head_rules

        sys.stdout.write(head_rules(print_heads).format())
        return
    if not files:
        raise SettingsError("no file was given; name at least one, or - for standard input")
    if _are_conllu(files, form):
        _check_dependencies(files, on_error, limit, as_json)
        return
    from eigentree.treebank.check_constituency import examine
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.reader import read_treebank

    cleaning = CleaningOptions(
        trace_labels=tuple(trace_labels.split()),
        trace_words=tuple(trace_words.split()),
        function_separators=separators,
        keep_function_tags=keep_function_tags,
        cut_tags=cut_tags,
    )
    assert form != "conllu"
    treebank = read_treebank(files, on_error=on_error, cleaning=None, format=form)
    report = examine(treebank, cleaning=cleaning, limit=limit)
    tables = (
        ("Phrase labels", report.labels, _MOST_LABELS),
        ("Part-of-speech tags", report.tags, _MOST_LABELS),
        ("Function tags", report.function_tags, _MOST_LABELS),
        ("Unary chains", report.unary_chains, _MOST_CHAINS),
    )
    wrapper = None if report.wrapper is None else f"outer bracket: ({report.wrapper} ...)"
    _finish(files, report, _SHOWN_AS, tables, as_json, wrapper)
    if treebank.problems:
        message(f"malformed trees: {len(treebank.problems)}")
        raise typer.Exit(BAD_INPUT)


def _are_conllu(files: list[str], form: _Form) -> bool:
    """Whether the files hold dependencies."""
    named = [bool(_CONLLU_NAME.search(Path(file).name)) for file in files]
    if form == "auto" and len(set(named)) > 1:
        raise SettingsError(
            f"{files[named.index(True)]} has dependencies and {files[named.index(False)]} trees; "
            "check them one by one"
        )
    return all(named) if form == "auto" else form == "conllu"


def _check_dependencies(
    files: list[str], on_error: Literal["skip", "raise"], limit: int, as_json: bool
) -> None:
    from eigentree.treebank.check_dependency import examine_dependencies
    from eigentree.treebank.io.conllu import read_dependencies

    bank = read_dependencies(files, on_error=on_error)
    report = examine_dependencies(bank, limit=limit)
    tables = (
        ("UPOS tags", report.upos, _MOST_LABELS),
        ("XPOS tags", report.xpos, _MOST_LABELS),
        ("Relations", report.relations, _MOST_LABELS),
    )
    _finish(files, report, _DEPENDENCIES_SHOWN_AS, tables, as_json)
    if bank.problems:
        message(f"malformed sentences: {len(bank.problems)}")
        raise typer.Exit(BAD_INPUT)


def _finish(
    files: list[str],
    report: TreebankReport | DependencyReport,
    shown_as: dict[str, str],
    tables: _Tables,
    as_json: bool,
    remark: str | None = None,
) -> None:
    """Print a report for people or for programs."""
    if as_json:
        json.dump({"files": files, **report.to_json()}, sys.stdout, ensure_ascii=False, indent=1)
        sys.stdout.write("\n")
    else:
        _print_report(report, shown_as, tables, remark)


def _print_report(
    report: TreebankReport | DependencyReport,
    shown_as: dict[str, str],
    tables: _Tables,
    remark: str | None,
) -> None:
    from rich.table import Table
    from rich.text import Text

    console = result_console()

    def heading(text: str) -> None:
        console.print(Text(f"\n{text}", style="bold"))

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column()
    for place, (name, shown) in enumerate(shown_as.items()):
        if report.counts.get(name) or place == 0:
            number = report.counts.get(name, 0)
            s, ren = ("", "") if number == 1 else ("s", "ren")
            table.add_row(f"{number:,}", shown.format(s=s, ren=ren))
    console.print(table)
    if remark is not None:
        console.print(Text(remark))
    if report.lengths:
        heading("Words in a sentence")
        console.print(Text("   ".join(f"{name}: {n:,}" for name, n in report.lengths.items())))
    for title, counts, most in tables:
        if counts:
            heading(f"{title} ({len(counts)})")
            console.print(Text("   ".join(_most_frequent(counts, most))))
    for title, lines in _places(report):
        heading(title)
        for line in lines:
            console.print(Text(f"  {line}"), soft_wrap=True)
    if report.suggestions:
        heading("Suggested settings")
    for suggestion in report.suggestions:
        line = f"  {suggestion.setting}: {suggestion.value} ({suggestion.reason})"
        console.print(Text(line), soft_wrap=True)


def _most_frequent(counts: dict[str, int], most: int) -> Iterator[str]:
    for label, n in list(counts.items())[:most]:
        # No break between a label and its number.
        yield f"{label or '(nameless)'}\u00a0{n:,}".replace(" > ", "\u00a0>\u00a0")
    if len(counts) > most:
        yield f"and {len(counts) - most} more"


def _places(report: TreebankReport | DependencyReport) -> Iterator[tuple[str, Iterable[str]]]:
    """Titles and lines of everything that has a place."""
    for title, lines in (
        ("Problems", report.problems),
        ("Notices", getattr(report, "notices", [])),
    ):
        count = report.counts.get(title.lower(), 0)
        if count:
            yield f"{title} ({count:,})", lines
    for kind, count in report.oddity_counts.items():
        found = (oddity for oddity in report.oddities if oddity.kind == kind)
        yield (
            f"{kind.capitalize()} ({count:,})",
            [f"{oddity.place}: {oddity.detail}" for oddity in found],
        )
