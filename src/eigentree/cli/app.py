"""The ``eigentree`` command: a table of verbs, each of which is loaded when it is called.

Help must come at once, so nothing here imports numpy or anything that does; a verb's file is
imported only when that verb runs or when its own help is asked for.  A new verb is a row in
`VERBS` and a file that defines a function of the verb's name with typer annotations; a verb
with verbs of its own defines a typer group of that name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from eigentree.cli._common import guarded


class Verb(NamedTuple):
    """Where a verb is defined, and what the list of verbs says of it."""

    module: str
    help: str


VERBS = {
    "check": Verb("eigentree.cli.check", "Say what is in a treebank and what is wrong with it."),
    "train": Verb("eigentree.cli.constituency.train", "Learn a parser from a treebank."),
    "retrain": Verb(
        "eigentree.cli.constituency.retrain",
        "Improve a model with trees in which phrases may be missing.",
    ),
    "parse": Verb("eigentree.cli.constituency.parse", "Parse sentences with a model."),
    "models": Verb("eigentree.cli.models", "List the models that come with eigentree."),
    "surprisal": Verb(
        "eigentree.cli.constituency.surprisal",
        "Say how surprising each word of a sentence is to a model.",
    ),
    "ensemble": Verb(
        "eigentree.cli.constituency.ensemble",
        "Train many parsers that differ and combine their trees.",
    ),
    "automaton": Verb(
        "eigentree.cli.automaton", "Learn automata from sequences of symbols, and ask them."
    ),
    "decompose": Verb(
        "eigentree.cli.constituency.decompose",
        "Bring a model's rules into Kruskal form, for fast charts.",
    ),
    "calibrate": Verb(
        "eigentree.cli.constituency.calibrate",
        "Turn a model's confidences into probabilities of being right.",
    ),
    "reliability": Verb(
        "eigentree.cli.constituency.reliability",
        "Say how far a model's confidences can be trusted.",
    ),
    "words": Verb(
        "eigentree.cli.words", "Learn clusters or vectors of words from text, and look at them."
    ),
    "induce": Verb(
        "eigentree.cli.bracketing.evaluate", "Find trees in sentences of tags, without a treebank."
    ),
    "evaluate": Verb(
        "eigentree.cli.constituency.evaluate", "Score parsed trees against gold trees."
    ),
    "dependencies": Verb("eigentree.cli.dependency.evaluate", "Work with dependency trees."),
    "inspect": Verb("eigentree.cli.inspect", "Say what is in a model."),
    "experiment": Verb("eigentree.cli.study", "Compare estimators on a treebank."),
    "serve": Verb("eigentree.cli.serve", "Serve models over HTTP, with a page for the browser."),
    "draw": Verb("eigentree.cli.draw", "Draw trees as text, as a picture or for LaTeX."),
}


class _LateCommand(TyperCommand):
    """Stands in the list for a verb, and turns into it once there are arguments to read."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        return _load(str(self.name)).make_context(info_name, args, *rest, **extra)


class _VerbGroup(TyperGroup):
    """The verbs of `VERBS`, behind the boundary that turns errors into exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - typer's signature
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:  # noqa: ARG002
        verb = VERBS.get(cmd_name)
        return verb and _LateCommand(cmd_name, help=verb.help, short_help=verb.help)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        def make() -> Any:
            return TyperGroup.make_context(self, info_name, args, *rest, **extra)

        # No words at all are no error, but a wish for help that typer grants.
        return guarded(make, debug=False) if args else make()

    def invoke(self, ctx: Any) -> Any:
        return guarded(lambda: TyperGroup.invoke(self, ctx), debug=ctx.params["debug"])


def _load(name: str) -> Any:
    found = getattr(import_module(VERBS[name].module), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name)(found)
    return typer.main.get_command(single)


def _show_version(wanted: bool) -> None:
    if wanted:
        from eigentree import __version__

        typer.echo(f"eigentree {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=_VerbGroup,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def eigentree(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """From a treebank to a spectral parser to trees.

    Results go to standard output, messages to standard error.  The exit code is 2 for input or
    options that can't be used and 1 for work that failed.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave Python with the exit code."""
    stream = sys.stdout
    if isinstance(stream, TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
        # Trees are UTF-8 on the way in, and so on the way out, whatever the terminal's locale.
        stream.reconfigure(encoding="utf-8")
    app(_debug_first(sys.argv[1:] if arguments is None else arguments), prog_name="eigentree")


def _debug_first(arguments: Sequence[str]) -> list[str]:
    """Let ``--debug`` stand anywhere before ``--``, since it is an afterthought by nature."""
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    if "--debug" not in given[:end]:
        return given
    return ["--debug", *(word for word in given[:end] if word != "--debug"), *given[end:]]
