"""Classes of commands and of groups: one spelling of options, and remedies for the old ones.

Help shows N, X and TEXT for values instead of names of types, numbers out of range are reported
with their limits, American spellings of options are accepted, and an option or a command whose
name has changed is answered with the new one.  Typer makes every command and group of the command
line from these two classes, so nothing of this is repeated for a single option.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from eigentree.cli._common import BAD_INPUT

# What help shows for a value, by its type, where an option or argument doesn't name it.
_METAVARS = {int: "N", float: "X", str: "TEXT", Path: "FILE"}
# Options that had another name.  A command with both an old and its new name has the old one.
RENAMED = {
    "--separators": ("--function-separators",),
    "--least-marginal": ("--min-marginal",),
    "--least-count": ("--min-count",),
    "--least-share": ("--min-share",),
    "--most": ("--limit",),
}
# Earlier and likely names of options for files and formats.
_READ = ("--input", "--in", "--infile", "--in-file", "--input-file", "--file", "--files", "-i")
_WRITTEN = ("--output", "--out", "--outfile", "--out-file", "--out-dir", "--output-dir", "--save")
_FORMATS = ("--format", "--in-format", "--out-format", "--from", "--to", "-f")
# Options that only some commands have, and why the others need none.
_NEEDLESS = {"--on-error": "malformed input is always reported, and the rest is processed"}
_AMERICAN = (
    (re.compile(r"(?<=\w)iz(e|er|ed|ing|ation)\b"), r"is\1"),
    (re.compile(r"\bcolor"), "colour"),
    (re.compile(r"\bcenter"), "centre"),
    (re.compile(r"labeled\b"), "labelled"),
)


class Command(TyperCommand):
    """A command whose options are spelt, checked and shown as all others are."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        _name_values(self.params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = args if ctx.resilient_parsing else _current(self, ctx, args)
        if not ctx.resilient_parsing:
            self._check_values(ctx, given)
        return super().parse_args(ctx, given)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for the arguments, the options, and each group that options are in."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is None:
                continue
            title = getattr(each, "rich_help_panel", None) or "Options"
            if each.param_type_name == "argument":
                title = "Arguments"
                name = each.metavar or str(each.name).upper()
                record = (name + "..." * (each.nargs != 1), record[1])
            sections.setdefault(title, []).append(record)
        for title, rows in sections.items():
            if not rows:
                continue
            with formatter.section(title):
                formatter.write_dl(rows)

    def _check_values(self, ctx: Any, args: list[str]) -> None:
        """Report a value that is no number, out of range, or none of the choices."""
        values, _, _ = self.make_parser(ctx).parse_args(list(args))
        for option in self.params:
            kind: Any = option.type_descriptor  # type: ignore[attr-defined]  # of typer's parameters
            value = values.get(str(option.name))
            if not isinstance(value, str):
                continue
            if kind.is_choice:
                if value not in kind.choices:
                    choices = ", ".join(map(str, kind.choices))
                    ctx.fail(f"{option.opts[0]} must be one of {choices} (got {value})")
            elif kind.annotation in (int, float):
                low, high = kind.parameter_info.min, kind.parameter_info.max
                if not _is_within(kind.annotation, value, low, high):
                    what = _range(kind.annotation, low, high)
                    ctx.fail(f"{option.opts[0]} must be {what} (got {value})")


class Group(TyperGroup):
    """A group of commands: shown whole when none of them is named."""

    renamed: dict[str, str] = {}  # noqa: RUF012 - replaced by a group that has any, never changed

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(BAD_INPUT)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name in self.renamed:
            ctx.fail(f"{ctx.info_name} {name} is now {ctx.info_name} {self.renamed[name]}")
        return super().resolve_command(ctx, args)


def new_group(help: str, cls: type[Group] = Group) -> typer.Typer:
    """A group of commands without any yet."""
    return typer.Typer(cls=cls, add_completion=False, rich_markup_mode=None, help=help)


def _name_values(parameters: list[Any]) -> None:
    for parameter in parameters:
        kind = parameter.type_descriptor
        inner = getattr(kind.annotation, "__args__", (kind.annotation,))[0]
        is_flag = getattr(parameter, "is_flag", False)
        if parameter.metavar is None and not (kind.is_choice or is_flag) and inner in _METAVARS:
            parameter.metavar = _METAVARS[inner]


def _is_within(kind: type, text: str, low: float | None, high: float | None) -> bool:
    try:
        number = kind(text)
    except ValueError:
        return False
    return (low is None or number >= low) and (high is None or number <= high)


def _range(kind: type, low: float | None, high: float | None) -> str:
    noun = "a whole number" if kind is int else "a number"
    if low is not None and high is not None:
        return f"between {low} and {high}"
    if low is not None:
        return f"{noun}, {low} or more"
    return noun if high is None else f"{noun}, {high} or less"


def _current(command: Command, ctx: Any, args: list[str]) -> list[str]:
    """The arguments, with each option as the command spells it.

    Raises
    ------
    typer.TyperException
        For an option that was renamed, or that does not exist.
    """
    options = {
        spelling: each
        for each in command.get_params(ctx)
        for spelling in (*each.opts, *each.secondary_opts)
        if spelling.startswith("-")
    }
    words = list(args)
    at = 0
    while at < len(words) and words[at] != "--":
        name, equals, value = words[at].partition("=")
        if name.startswith("--") or name in ("-i", "-f"):
            name = _known(name, options, ctx)
            words[at] = name + equals + value
        elif len(name) > 2:
            name = f"-{name[-1]}"  # the last of several in one word, as in -qo
        option = options.get(name)
        # What follows an option that has a value is that value, whatever it looks like.
        at += 1 if option is None or equals or getattr(option, "is_flag", False) else 2
    return words


def _known(name: str, options: dict[str, Any], ctx: Any) -> str:
    """The spelling of an option that the command has."""
    if name in options:
        return name
    british = name
    for pattern, spelling in _AMERICAN:
        british = pattern.sub(spelling, british)
    if british in options:
        return british
    for new in RENAMED.get(name, ()):
        if new in options:
            ctx.fail(f"{name} is now {new}")
    remedy = _remedy(name, options, ctx.command)
    if remedy:
        ctx.fail(f"no such option {name}; {remedy}")
    if name in _NEEDLESS:
        ctx.fail(f"this command has no {name}: {_NEEDLESS[name]}")
    near = get_close_matches(name, [each for each in options if each.startswith("--")], 1)
    return ctx.fail(f"no such option {name}" + (f"; did you mean {near[0]}?" if near else ""))  # type: ignore[no-any-return]  # it raises


def _remedy(name: str, options: dict[str, Any], command: Command) -> str:
    """What names files and formats in a command, where an option's name is about these."""
    arguments = [str(each.metavar) for each in command.params if each.param_type_name == "argument"]
    offers: list[tuple[bool, str]] = []
    if name in _READ:
        offers = [
            (bool(arguments), f"files as arguments ({', '.join(arguments)})"),
            ("--input-format" in options, "their format with --input-format"),
        ]
    elif name in _WRITTEN:
        offers = [
            ("--output-file" in options, "the file with --output-file (-o)"),
            ("--output-folder" in options, "the folder with --output-folder (-o)"),
            ("--output-format" in options, "its format with --output-format"),
        ]
    elif name in _FORMATS:
        offers = [
            ("--input-format" in options, "the format of the input with --input-format"),
            ("--output-format" in options, "the format of the output with --output-format"),
        ]
    elif name.removeprefix("--").upper() in arguments:
        return f"{name.removeprefix('--').upper()} is an argument"
    given = [text for applies, text in offers if applies]
    return f"name {', '.join(given)}" if given else ""
