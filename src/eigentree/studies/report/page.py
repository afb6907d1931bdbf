"""Reports as a self-contained HTML page and as Markdown.

Both have the same text and tables; the page also has plots.  Equal reports give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from eigentree._core.printable import visible
from eigentree.studies.report.tables import Section, Table


class Report(NamedTuple):
    """The content of a report.

    Attributes
    ----------
    title, subtitle
    summary
        The main results in sentences.
    paper
        The papers that the report refers to.
    failures
        Error messages of failed runs by name.
    sections
    facts
        What is needed to reproduce the study, by name.
    """

    title: str
    subtitle: str
    summary: Sequence[str]
    paper: str
    failures: Mapping[str, str]
    sections: Sequence[Section]
    facts: Sequence[tuple[str, str]]


def provenance(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is needed to reproduce a study, from its figures."""
    facts: list[tuple[str, str]] = []
    if figures["command"]:
        facts.append(("command", figures["command"]))
    for part, file in figures["data"].items():
        facts.append((f"{part} data", f"{file['file']}, SHA-256 {file['sha256']}"))
    for name in ("machine", "versions"):
        for text in sorted({_in_a_line(record[name]) for record in figures["records"]}):
            facts.append((name, text))
    finished = [record["finished"] for record in figures["records"]]
    if finished:
        facts.append(("last finished", max(finished).replace("T", " ").replace("+00:00", " UTC")))
    return facts


def _in_a_line(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def as_html(report: Report) -> str:
    """The report as an HTML page."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    folder = files("eigentree.studies.report") / "templates"
    environment = Environment(
        loader=FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        autoescape=True,
        # Control characters are invalid in a page, and some reorder the text around them.
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Plots are generated with every name in them escaped.
    shown = [
        section._replace(plots=[Markup(each) for each in section.plots])
        for section in report.sections
    ]
    return environment.get_template("report.html").render({**report._asdict(), "sections": shown})


def as_markdown(report: Report) -> str:
    """The report as Markdown, without plots."""
    lines = [f"# {_escaped(report.title)}", "", _escaped(report.subtitle), ""]
    lines += [_escaped(sentence) for sentence in report.summary]
    lines += ["", _escaped(report.paper)]
    if any(section.plots for section in report.sections):
        lines += ["", "Plots are in [report.html](report.html)."]
    for name, problem in report.failures.items():
        lines += ["", f"**Failed:** {_escaped(name)}: {_escaped(problem)}"]
    for section in report.sections:
        if not section.tables:
            continue
        lines += ["", f"## {_escaped(section.title)}"]
        lines += ["", _escaped(section.text)] if section.text else []
        for table in section.tables:
            lines += ["", _escaped(table.caption), "", *_markdown_table(table)]
            lines += ["", _escaped(table.note)] if table.note else []
    lines += ["", "## Provenance", ""]
    lines += [f"- {_escaped(name)}: {_escaped(value)}" for name, value in report.facts]
    return "\n".join(lines) + "\n"


def _markdown_table(table: Table) -> Iterator[str]:
    yield _markdown_row(_escaped(name) for name in table.header)
    rules = ["---"] * table.text_columns + ["---:"] * (len(table.header) - table.text_columns)
    yield _markdown_row(rules)
    for row in table.rows:
        yield _markdown_row(
            f"**{_escaped(cell.text)}**" if cell.best else _escaped(cell.text) for cell in row
        )


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text on one line, with everything escaped that Markdown would interpret."""
    text = visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
    for mark in "\\`*_|[":
        text = text.replace(mark, f"\\{mark}")
    return text
