"""The command ``check``: what is in a treebank and what is wrong with it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import BAD_INPUT, message, notice
from eigentree.cli._options import (
    CutTagsOption,
    FunctionTagsOption,
    JsonOption,
    SeparatorsOption,
    TraceLabelsOption,
    TraceWordsOption,
)
from eigentree.cli._output import result_console
from eigentree.cli.constituency._training import cleaning_settings
from eigentree.errors import SettingsError
from eigentree.treebank.io.text_files import displayed_name

if TYPE_CHECKING:
    from eigentree.treebank.check_constituency import TreebankReport
    from eigentree.treebank.check_dependency import DependencyReport
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.io.text_files import OpenText
    from eigentree.treebank.reader import TreeFormat

InputFormat = Literal["auto", "brackets", "export", "tiger", "conllu"]
_CONLLU_NAME = re.compile(r"\.conllu?(\.gz|\.xz)?$")
_MAX_LABELS = 60
_MAX_CHAINS = 12
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
    "no_parse": "marker{s} of no parse",
    "crossing_trees": "tree{s} with crossing branches",
    "crossing_nodes": "node{s} with crossing branches",
    "secondary_edges": "secondary edge{s}, not in the trees",
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
    "notices": "notice{s}",
}
# Title, counts from frequent to rare, and how many to show.
_Tables = Iterable[tuple[str, dict[str, int], int]]


def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILES",
            help="Files of brackets, NEGRA export, TIGER-XML, CoNLL-U or CoNLL-X; - is standard "
            "input; gzip and xz are detected automatically.",
        ),
    ] = None,
    input_format: Annotated[
        InputFormat,
        typer.Option(
            "--input-format",
            help="Format of all input files. auto: by content.",
        ),
    ] = "auto",
    trace_labels: TraceLabelsOption = None,
    trace_words: TraceWordsOption = None,
    function_separators: SeparatorsOption = None,
    keep_function_tags: FunctionTagsOption = False,
    cut_tags: CutTagsOption = False,
    limit: Annotated[
        int, typer.Option(min=0, help="Maximum number of places to list per kind of oddity.")
    ] = 5,
    print_heads: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="Print a head table (english, negra ...) for editing, and exit."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Report what is in a treebank, what is wrong with it, and which settings suit it.

    All malformed trees are listed.  The exit code is 2 if there are any, or no trees at all.
    """
    if print_heads is not None:
        from eigentree.treebank.heads import head_rules

        sys.stdout.write(head_rules(print_heads).format())
        return
    if not files:
        raise SettingsError("no files given; name at least one, or - for standard input")
    from eigentree.treebank.cleaning import CleaningOptions

    cleaning = CleaningOptions(
        **cleaning_settings(
            keep_function_tags, cut_tags, function_separators, trace_labels, trace_words
        )
    )
    with ExitStack() as stack:
        sources, input_format = _recognised(files, input_format, stack)
        if input_format == "conllu":
            _check_dependencies(files, sources, limit, as_json)
        else:
            _check_trees(files, sources, input_format, cleaning, limit, as_json)


def _check_trees(
    files: list[str],
    sources: list[str | OpenText],
    input_format: TreeFormat,
    cleaning: CleaningOptions,
    limit: int,
    as_json: bool,
) -> None:
    from eigentree.treebank.check_constituency import examine
    from eigentree.treebank.reader import read_treebank

    treebank = read_treebank(sources, on_error="skip", cleaning=None, format=input_format)
    report = examine(treebank, cleaning=cleaning, limit=limit)
    tables = (
        ("Phrase labels", report.labels, _MAX_LABELS),
        ("Part-of-speech tags", report.tags, _MAX_LABELS),
        ("Function tags", report.function_tags, _MAX_LABELS),
        ("Unary chains", report.unary_chains, _MAX_CHAINS),
    )
    wrapper = None if report.wrapper is None else f"outer bracket: ({report.wrapper} ...)"
    _finish(files, report, _SHOWN_AS, tables, as_json, wrapper)
    _leave(files, "tree", len(treebank.problems), n_read=report.counts["trees"])


def _recognised(
    files: list[str], input_format: InputFormat, stack: ExitStack
) -> tuple[list[str | OpenText], InputFormat]:
    """The files, of which standard input is open already, and ``conllu`` for dependencies."""
    from eigentree.treebank.io.recognition import recognise
    from eigentree.treebank.io.text_files import (
        STANDARD_STREAM,
        OpenText,
        displayed_name,
        open_text,
    )

    if input_format != "auto":
        return [*files], input_format
    sources: list[str | OpenText] = []
    kinds: dict[bool, str] = {}
    for file in files:
        if file == STANDARD_STREAM:
            # It can be read only once.
            text = stack.enter_context(open_text(file, keep_bad_bytes=True, notice=notice))
            found = recognise(text)
            sources.append(OpenText(displayed_name(file), found.lines))
        else:
            with open_text(file, keep_bad_bytes=True) as lines:
                found = recognise(lines)
            sources.append(file)
        if found.format is not None or _CONLLU_NAME.search(file):
            kinds.setdefault(found.format in ("conllu", None), file)
    if len(kinds) > 1:
        raise SettingsError(
            f"{kinds[True]} has dependencies and {kinds[False]} trees; check them separately"
        )
    return sources, "conllu" if True in kinds else "auto"


def _check_dependencies(
    files: list[str], sources: list[str | OpenText], limit: int, as_json: bool
) -> None:
    from eigentree.treebank.check_dependency import examine_dependencies
    from eigentree.treebank.io.conllu import read_dependencies

    bank = read_dependencies(sources, on_error="skip")
    report = examine_dependencies(bank, limit=limit)
    tables = (
        ("UPOS tags", report.upos, _MAX_LABELS),
        ("XPOS tags", report.xpos, _MAX_LABELS),
        ("Relations", report.relations, _MAX_LABELS),
    )
    _finish(files, report, _DEPENDENCIES_SHOWN_AS, tables, as_json)
    _leave(files, "sentence", len(bank.problems), n_read=report.counts["sentences"])


def _leave(files: list[str], noun: str, n_malformed: int, n_read: int) -> None:
    """End with exit code 2 if anything is malformed, or there is nothing."""
    if n_malformed:
        message(f"malformed {noun}s: {n_malformed}")
    elif not n_read:
        message(f"eigentree: {', '.join(map(displayed_name, files))}: no {noun}s")
    if n_malformed or not n_read:
        raise typer.Exit(BAD_INPUT)


def _finish(
    files: list[str],
    report: TreebankReport | DependencyReport,
    shown_as: dict[str, str],
    tables: _Tables,
    as_json: bool,
    remark: str | None = None,
) -> None:
    """Print a report as text or as JSON."""
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
    for title, counts, max_labels in tables:
        if counts:
            heading(f"{title} ({len(counts)})")
            console.print(Text("   ".join(_most_frequent(counts, max_labels))))
    for title, lines in _places(report):
        heading(title)
        for line in lines:
            console.print(Text(f"  {line}"), soft_wrap=True)
    if report.suggestions:
        heading("Suggested settings")
    for suggestion in report.suggestions:
        line = f"  {suggestion.setting}: {suggestion.value} ({suggestion.reason})"
        console.print(Text(line), soft_wrap=True)


def _most_frequent(counts: dict[str, int], max_labels: int) -> Iterator[str]:
    for label, n in list(counts.items())[:max_labels]:
        # No break between a label and its number.
        yield f"{label or '(nameless)'}\u00a0{n:,}".replace(" > ", "\u00a0>\u00a0")
    if len(counts) > max_labels:
        yield f"and {len(counts) - max_labels} more"


def _places(report: TreebankReport | DependencyReport) -> Iterator[tuple[str, Iterable[str]]]:
    """Titles and lines of everything that has a place."""
    for title, lines in (
        ("Problems", report.problems),
        ("Notices", report.notices),
    ):
        count = report.counts.get(title.lower(), 0)
        if count:
            yield f"{title} ({count:,})", lines
    for kind, count in report.oddity_counts.items():
        of_kind = (oddity for oddity in report.oddities if oddity.kind == kind)
        yield (
            f"{kind.capitalize()} ({count:,})",
            [f"{oddity.place}: {oddity.detail}" for oddity in of_kind],
        )
