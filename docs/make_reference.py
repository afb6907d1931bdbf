"""Generate docs/reference.md and docs/bibliography.md.

Run it after a change of options, names or references: ``python docs/make_reference.py``.  The text
of the reference comes from help lines and docstrings; the bibliography is a readable form of
docs/references.bib.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo

import eigentree
from eigentree.cli import app

PAGE = Path(__file__).with_name("reference.md")
BIBLIOGRAPHY = Path(__file__).with_name("bibliography.md")
WORKS = Path(__file__).with_name("references.bib")
ACCENTS = {r"{\v{c}}": "č", r"{\"u}": "ü"}
INTRODUCTION = """\
# Reference

Generated from the program's help and docstrings by `docs/make_reference.py`. For tasks see the
how-to pages: [train](how-to/train.md), [partial trees](how-to/train-on-partial-trees.md),
[get more trees](how-to/get-more-trees.md), [parse](how-to/parse.md),
[constrain parses](how-to/constrain-parses.md),
[calibrate confidence](how-to/trust-a-parse.md), [score](how-to/score.md),
[compare](how-to/compare-estimators.md), [ensembles](how-to/ensembles.md),
[bracketing without a treebank](how-to/induce.md),
[word representations](how-to/word-representations.md),
[learn from sequences](how-to/learn-sequences.md),
[dependency parsing](how-to/dependencies.md), [draw](how-to/draw.md),
[use with NLTK, spaCy and pandas](how-to/use-with-nltk-and-spacy.md).
"""


def reference() -> str:
    """The whole page."""
    lines = [INTRODUCTION, "## Command line", *command_line(), "", "## Python", "", *names()]
    lines += ["", "## Settings", *settings()]
    return "\n".join(lines) + "\n"


def command_line() -> Iterator[str]:
    """A section per command: its purpose, and a table of arguments and options."""
    for name, verb in app.COMMANDS.items():
        found = getattr(import_module(verb.module), name)
        if not isinstance(found, typer.Typer):
            yield from command_section(f"### eigentree {name}", found)
            continue
        yield from ("", f"### eigentree {name}", "", str(found.info.help))
        for command in found.registered_commands:
            assert command.callback is not None
            yield from command_section(
                f"#### eigentree {name} {command.callback.__name__}", command.callback
            )


def command_section(title: str, function: Callable[..., object]) -> Iterator[str]:
    """The purpose of a command, and a table of its arguments and options."""
    yield from ("", title, "", paragraphs(inspect.getdoc(function) or ""), "")
    yield from ("| option | default | meaning |", "| --- | --- | --- |")
    hints = get_type_hints(function, include_extras=True)
    for parameter in inspect.signature(function).parameters.values():
        kind, option = get_args(hints[parameter.name])
        # Within Annotated, typer keeps the first spelling instead of a default.
        spelt = [option.default, *option.param_decls] if option.default is not ... else []
        spelt = spelt or [f"--{parameter.name.replace('_', '-')}"]
        if isinstance(option, ArgumentInfo):
            spelt = [(option.metavar or parameter.name.upper()).strip("[]")]
        spelling = ", ".join(f"`{each}`" for word in spelt for each in word.split("/"))
        choices = [choice for part in (kind, *get_args(kind)) for choice in choices_of(part)]
        meaning = option.help + (f" One of {', '.join(choices)}." if choices else "")
        yield row(spelling, default_of(parameter.default, option.show_default), meaning)


def choices_of(kind: object) -> tuple[str, ...]:
    """The words that an option may be, where they are listed."""
    return get_args(kind) if get_origin(kind) is Literal else ()


def default_of(default: object, shown: object) -> str:
    """What holds when an option isn't given; empty for a flag or a choice made later."""
    if default is inspect.Parameter.empty:
        return "required"
    value = shown if isinstance(shown, str) else default
    return "" if value is None or value is False or value == "" else f"`{value}`".lower()


def names() -> Iterator[str]:
    """A table for each group of the public names of the package ``eigentree``."""
    for group, modules in eigentree.PUBLIC_NAMES.items():
        yield from ("", f"### {group[0].upper()}{group[1:]}", "")
        yield from ("| name | what it is |", "| --- | --- |")
        for name in modules:
            value = getattr(eigentree, name)
            call = "()" if inspect.isfunction(value) else ""
            yield row(f"`{name}{call}`", first_sentence(value))


def settings() -> Iterator[str]:
    """A table for each public class of options: its fields, their defaults and meanings."""
    for name in eigentree.__all__:
        kind = getattr(eigentree, name)
        if not dataclasses.is_dataclass(kind) or not name.endswith(("Options", "Noise")):
            continue
        yield from ("", f"### {name}", "", first_sentence(kind), "")
        yield from ("| field | default | meaning |", "| --- | --- | --- |")
        meanings = described(kind)
        for field in dataclasses.fields(kind):
            default = field.default
            if field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            is_nested = dataclasses.is_dataclass(default)
            shown = f"{type(default).__name__}()" if is_nested else repr(default)
            yield row(f"`{field.name}`", f"`{shown}`", meanings[field.name])


def described(kind: type) -> dict[str, str]:
    """The meanings of a class's fields, from the section of its docstring that lists them."""
    document = inspect.getdoc(kind) or ""
    section = re.search(r"(?:Attributes|Parameters)\n-+\n(.*?)(?:\n\n\S|\Z)", document, re.DOTALL)
    meanings: dict[str, str] = {}
    parts = re.split(r"^(\w[^\n]*)\n", section[1] if section else "", flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        for field in heading.split(" : ")[0].split(","):
            meanings[field.strip()] = text
    return meanings


def first_sentence(value: object) -> str:
    """The first paragraph of a docstring."""
    return (inspect.getdoc(value) or "").split("\n\n")[0]


def paragraphs(text: str) -> str:
    """Help text with each paragraph on one line."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def row(*cells: str) -> str:
    """A row of a table, each cell on one line."""
    texts = (" ".join(cell.split()).replace("``", "`").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |"


def bibliography() -> str:
    """A section for each work, under its key, in the order of keys."""
    text = WORKS.read_text("utf-8")
    for written, letter in ACCENTS.items():
        text = text.replace(written, letter)
    assert "\\" not in text, "an accent that ACCENTS lacks"
    lines = [
        "# Bibliography",
        "",
        "Works cited by these keys in pages and docstrings, generated from "
        "[references.bib](references.bib) by `docs/make_reference.py`.",
    ]
    for key, body in sorted(re.findall(r"^@\w+\{([\w-]+),\n(.*?)^\}$", text, re.M | re.DOTALL)):
        fields = dict(re.findall(r"^ *(\w+) *= *\{(.*)\},?$", body, re.M))
        lines += ["", f"## {key}", "", work({name: plain(is_) for name, is_ in fields.items()})]
    return "\n".join(lines) + "\n"


def work(fields: dict[str, str]) -> str:
    """Authors, year, title and where a work appeared, on one line."""
    people = [" ".join(reversed(each.split(", "))) for each in fields["author"].split(" and ")]
    where = [fields[name] for name in ("booktitle", "journal", "school") if name in fields]
    if "volume" in fields:
        number = f"({fields['number']})" if "number" in fields else ""
        where[-1] += f" {fields['volume']}{number}"
    where += [fields[name] for name in ("publisher", "pages") if name in fields]
    return f"{', '.join(people)} ({fields['year']}). *{fields['title']}.* {', '.join(where)}."


def plain(text: str) -> str:
    """A field of BibTeX without what only BibTeX needs."""
    return text.replace("{", "").replace("}", "").replace("--", "–")


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
    BIBLIOGRAPHY.write_text(bibliography(), encoding="utf-8")
