"""Options and arguments that several commands have, each defined once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from eigentree._core.arguments import MAX_JOBS, MAX_SAMPLES
from eigentree.errors import SettingsError

OnError = Literal["raise", "skip"]
TagColumn = Literal["xpos", "upos"]

SentencesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help="Files of sentences, plain or compressed; - or none for standard input.",
    ),
]
TreesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="Files of brackets, NEGRA export or TIGER-XML; - is standard input.",
    ),
]
OptionalModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A model file, or the name of a bundled model. May also be the first argument.",
    ),
]
OptionalModelArgument = Annotated[
    list[str] | None, typer.Argument(metavar="MODEL", help="The model, if --model isn't given.")
]
OutputOption = Annotated[
    str,
    typer.Option(
        "--output-file", "-o", metavar="FILE", help="File to write; - is standard output."
    ),
]
ModelFileOption = Annotated[
    str, typer.Option("--output-file", "-o", metavar="FILE", help="The model file to write.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, help="Random seed; the same seed gives the same bytes.")
]
JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", min=1, max=MAX_JOBS, help="Number of processes; the result is the same."
    ),
]
ThreadsOption = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", min=1, max=MAX_JOBS, help="Number of threads; the result is the same."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TreesOnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="Stop at a malformed tree, or skip it.")
]
ScoredOnErrorOption = Annotated[
    OnError, typer.Option("--on-error", help="Stop at a malformed tree, or count it as missing.")
]
DevOption = Annotated[
    str | None,
    typer.Option(
        "--dev", metavar="FILE", help="Held-out trees to score the parser on, and to tune it."
    ),
]
TaggerOption = Annotated[
    bool, typer.Option("--tagger/--no-tagger", help="Train a tagger on the same sentences.")
]
TagDictionaryOption = Annotated[
    str | None,
    typer.Option(
        "--tag-dictionary",
        metavar="FILE",
        help="A file of words and their possible tags for the tagger: a word, a tab, its tags.",
    ),
]

# Reading sentences ------------------------------------------------------------------------

WrappedOption = Annotated[
    bool,
    typer.Option(
        "--wrapped",
        help="Sentences of raw text continue across line ends; an empty line ends them.",
    ),
]
TokeniserOption = Annotated[
    str | None,
    typer.Option(
        "--tokeniser",
        metavar="NAME",
        help="How raw text is split into words: penn, unicode, or spacy: and a language, such as "
        "spacy:de.",
        show_default="as in the model's treebank",
    ),
]
TagColumnOption = Annotated[
    TagColumn, typer.Option("--tag-column", help="The column of CoNLL-U that holds the tags.")
]
IgnoreTagsOption = Annotated[
    bool, typer.Option("--ignore-tags", help="Use the model's tagger even if the input has tags.")
]

# Cleaning of trees ------------------------------------------------------------------------

_CLEANING = "Options for cleaning trees"

FunctionTagsOption = Annotated[
    bool,
    typer.Option(
        "--keep-function-tags",
        rich_help_panel=_CLEANING,
        help="Keep function tags: NP-SBJ stays NP-SBJ.",
    ),
]
CutTagsOption = Annotated[
    bool,
    typer.Option(
        "--cut-tags",
        rich_help_panel=_CLEANING,
        help="Remove function tags of part-of-speech tags too.",
    ),
]
SeparatorsOption = Annotated[
    str | None,
    typer.Option(
        "--function-separators",
        rich_help_panel=_CLEANING,
        metavar="CHARACTERS",
        show_default="-=",
        help="Function tags begin at the first of these characters in a label.",
    ),
]
TraceLabelsOption = Annotated[
    str | None,
    typer.Option(
        "--trace-labels",
        rich_help_panel=_CLEANING,
        metavar="TAGS",
        show_default="-NONE-",
        help="Tags to remove with their words, space-separated.",
    ),
]
TraceWordsOption = Annotated[
    str | None,
    typer.Option(
        "--trace-words",
        rich_help_panel=_CLEANING,
        metavar="WORDS",
        help="Words to remove everywhere, space-separated.",
    ),
]

# Scoring ----------------------------------------------------------------------------------

SecondArgument = Annotated[
    str | None, typer.Argument(metavar="PARSED2", help="Parses to compare with PARSED.")
]
SeparatorOption = Annotated[
    str,
    typer.Option(
        "--function-separators",
        metavar="CHARACTERS",
        help="A phrase's label ends before the first of these characters.",
    ),
]
AlignOption = Annotated[
    bool, typer.Option("--align", help="Pair sentences by their words instead of their order.")
]
PerSentenceOption = Annotated[
    str | None,
    typer.Option("--per-sentence", metavar="FILE", help="Write a table of all sentences (TSV)."),
]
SamplesOption = Annotated[
    int,
    typer.Option(
        "--samples",
        min=1,
        max=MAX_SAMPLES,
        help="Bootstrap samples for the intervals and the test.",
    ),
]


def model_and_files(model: str | None, arguments: list[str], names: str) -> tuple[str, list[str]]:
    """The model and the other files, where the model is an option or the first argument.

    Parameters
    ----------
    model
        The value of ``--model``.
    arguments
        All arguments of the command.
    names
        The other files as help calls them, one for each; ``...`` at the end allows more.

    Raises
    ------
    SettingsError
        When the model or a file is missing, or there are too many.
    """
    rest = list(arguments)
    if model is None:
        if not rest:
            raise SettingsError("no model given; name one with --model")
        model = rest.pop(0)
    if model == "":
        raise SettingsError("--model is empty; name a model file")
    wanted = len(names.split())
    if len(rest) < wanted:
        raise SettingsError(f"{names} missing; give the model with --model, then {names}")
    if len(rest) > wanted and not names.endswith("..."):
        raise SettingsError(f"unexpected argument: {rest[wanted]}")
    return model, rest
