"""A report as one page of HTML that needs nothing else, and as Markdown.

Both forms show the same text and tables; the page has plots as well.  Equal reports give equal
bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from eigentree._core.printable import visible
from eigentree.studies.report.tables import Section, Table


class Report(NamedTuple):
    """What a report says.

    Attributes
    ----------
    title, subtitle
    summary
        Sentences on what came out.
    paper
        What the report refers to.
    failures
        Work that failed, by name, and why.
    sections
    facts
        What it takes to do the same again, by name.
    """

    title: str
    subtitle: str
    summary: Sequence[str]
    paper: str
    failures: Mapping[str, str]
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]]


def provenance(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What it takes to do the same again, from the figures of a study made of trials."""
    told: list[tuple[str, str]] = []
    if figures["command"]:
        told.append(("command", figures["command"]))
    for part, file in figures["data"].items():
        told.append((f"{part} data", f"{file['file']}, SHA-256 {file['sha256']}"))
    for name in ("machine", "versions"):
        for text in sorted({_in_a_line(record[name]) for record in figures["records"]}):
            told.append((name, text))
    finished = [record["finished"] for record in figures["records"]]
    if finished:
        told.append(("last finished", max(finished).replace("T", " ").replace("+00:00", " UTC")))
    return told


def _in_a_line(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def as_html(report: Report) -> str:
    """The page."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    folder = files("eigentree.studies.report") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        autoescape=True,
        # Control characters have no place in a page, and some reorder what stands around them.
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Plots are made by us, with every name in them escaped.
    shown = [
        section._replace(plots=[Markup(each) for each in section.plots])
        for section in report.sections
    ]
    return environment.get_template("report.html").render({**report._asdict(), "sections": shown})


def as_markdown(report: Report) -> str:
    """The tables and the text, without plots."""
    lines = [f"# {_marked(report.title)}", "", _marked(report.subtitle), ""]
    lines += [_marked(sentence) for sentence in report.summary]
    lines += ["", _marked(report.paper)]
    if any(section.plots for section in report.sections):
        lines += ["", "Plots are in [report.html](report.html)."]
    for name, problem in report.failures.items():
        lines += ["", f"**Failed:** {_marked(name)}: {_marked(problem)}"]
    for section in report.sections:
        if not section.tables:
            continue
        lines += ["", f"## {_marked(section.title)}"]
        lines += ["", _marked(section.text)] if section.text else []
        for table in section.tables:
            lines += ["", _marked(table.caption), "", *_markdown_table(table)]
            lines += ["", _marked(table.note)] if table.note else []
    lines += ["", "## How it was made", ""]
    lines += [f"- {_marked(name)}: {_marked(value)}" for name, value in report.facts]
    return "\n".join(lines) + "\n"


def _markdown_table(table: Table) -> Iterator[str]:
    yield _markdown_row(_marked(name) for name in table.header)
    rules = ["---"] * table.text_columns + ["---:"] * (len(table.header) - table.text_columns)
    yield _markdown_row(rules)
    for row in table.rows:
        yield _markdown_row(
            f"**{_marked(cell.text)}**" if cell.best else _marked(cell.text) for cell in row
        )


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(text: str) -> str:
    """Text that Markdown takes for nothing else, on one line."""
    text = visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\`*_|[":
        text = text.replace(mark, f"\\{mark}")
    return text
