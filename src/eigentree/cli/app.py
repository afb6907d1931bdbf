"""The ``eigentree`` command: a table of commands, each of which is loaded when it is called.

Help must appear at once, so nothing here imports numpy or anything that does; a command's module
is imported only when the command runs or its own help is printed.  A new command is a row in
`COMMANDS` and a module that defines a function of the command's name with typer annotations; a
group of commands is a module that defines a typer group of that name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from eigentree.cli._address_space import check_address_space
from eigentree.cli._commands import Command, Group
from eigentree.cli._common import error_boundary
from eigentree.cli._streams import prepare_streams


class Row(NamedTuple):
    """Where a command is defined, and its line in the list of commands."""

    module: str
    help: str


COMMANDS = {
    "check": Row("eigentree.cli.check", "Report what is in a treebank and what is wrong with it."),
    "train": Row("eigentree.cli.constituency.train", "Train a parser on a treebank."),
    "retrain": Row(
        "eigentree.cli.constituency.retrain",
        "Improve a model with trees in which phrases may be missing.",
    ),
    "parse": Row("eigentree.cli.constituency.parse", "Parse sentences with a model."),
    "models": Row("eigentree.cli.models", "List the bundled models."),
    "surprisal": Row(
        "eigentree.cli.constituency.surprisal", "Compute the surprisal of each word of a sentence."
    ),
    "ensemble": Row(
        "eigentree.cli.constituency.ensemble", "Train and inspect ensembles of parsers."
    ),
    "automaton": Row(
        "eigentree.cli.automaton", "Train weighted automata on sequences and query them."
    ),
    "decompose": Row(
        "eigentree.cli.constituency.decompose",
        "Convert a model's rules to Kruskal form, for fast charts.",
    ),
    "calibrate": Row(
        "eigentree.cli.constituency.calibrate", "Calibrate a model's confidences on held-out trees."
    ),
    "reliability": Row(
        "eigentree.cli.constituency.reliability", "Measure how reliable a model's confidences are."
    ),
    "words": Row("eigentree.cli.words", "Learn word clusters or word vectors, and look them up."),
    "induce": Row(
        "eigentree.cli.bracketing.group",
        "Induce bracketings from tagged text, without a treebank.",
    ),
    "evaluate": Row(
        "eigentree.cli.constituency.evaluate", "Score parsed trees against gold trees."
    ),
    "dependencies": Row(
        "eigentree.cli.dependency.group", "Train, use and evaluate dependency parsers."
    ),
    "inspect": Row("eigentree.cli.inspect", "Describe a model."),
    "experiment": Row("eigentree.cli.study", "Compare estimators on a treebank."),
    "serve": Row("eigentree.cli.serve", "Serve models over HTTP, with a web interface."),
    "compile": Row(
        "eigentree.cli.compile", "Compile the numerical kernels now rather than at first use."
    ),
    "draw": Row("eigentree.cli.draw", "Draw trees as text, as pictures or for LaTeX."),
}


class _LazyCommand(Command):
    """A command in the list that loads its module when its arguments are read."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        return load_command(str(self.name)).make_context(info_name, args, *rest, **extra)


class _Root(Group):
    """The commands of `COMMANDS`, behind the boundary that turns errors into exit codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {
            name: _LazyCommand(name=name, help=row.help, short_help=row.help)
            for name, row in COMMANDS.items()
        }

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        def make() -> Any:
            return Group.make_context(self, info_name, args, *rest, **extra)

        return error_boundary(make, debug=False)

    def invoke(self, ctx: Any) -> Any:
        def run() -> Any:
            check_address_space()
            return Group.invoke(self, ctx)

        return error_boundary(run, debug=ctx.params["debug"])


def load_command(name: str) -> Any:
    """The command or group of a name, with all its options."""
    defined = getattr(import_module(COMMANDS[name].module), name)
    if isinstance(defined, typer.Typer):
        return typer.main.get_command(defined)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, cls=Command)(defined)
    return typer.main.get_command(single)


def _show_version(requested: bool) -> None:
    if requested:
        from eigentree import __version__

        typer.echo(f"eigentree {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_Root,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def eigentree(
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the traceback of a failure.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Print the version.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Train constituency and dependency parsers from treebanks, and use them.

    Results go to standard output, messages to standard error.  The exit code is 2 for input or
    options that can't be used, and 1 for work that failed.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave Python with the exit code."""
    prepare_streams()
    app(_debug_first(sys.argv[1:] if arguments is None else arguments), prog_name="eigentree")


def _debug_first(arguments: Sequence[str]) -> list[str]:
    """Accept ``--debug`` anywhere before ``--``, since it is added to a command that failed."""
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    if "--debug" not in given[:end]:
        return given
    return ["--debug", *(word for word in given[:end] if word != "--debug"), *given[end:]]
