"""The verb ``automaton``: automata of any sequences, learned and asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._common import (
    BAD_INPUT,
    JobsOption,
    OutputOption,
    QuietOption,
    SeedOption,
    check_inputs,
    keep_inputs,
    message,
)
from eigentree.errors import GrammarError, SettingsError, counted

if TYPE_CHECKING:
    from eigentree.automata.model import OperatorModel
    from eigentree.automata.sequences import Sequences

END = "<end>"

automaton = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Learn automata from sequences of words, tags or other symbols, and ask them.",
)


@automaton.command()
def learn(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files of sequences, one a line, symbols separated by white space, plain or "
            "gzipped; - or none for standard input. An empty line is an empty sequence."
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output-file", "-o", help="The model file to write.")
    ] = "",
    method: Annotated[
        Literal["spectral", "em", "spectral+em"],
        typer.Option(
            help="Spectral learning, expectation maximisation from a random start, or from the "
            "spectral states."
        ),
    ] = "spectral",
    states: Annotated[int, typer.Option(min=1, help="Most hidden states.")] = 6,
    back_off: Annotated[
        float,
        typer.Option(help="Weight of a smoothed automaton with one state; 0 for none."),
    ] = 0.1,
    noise: Annotated[
        float,
        typer.Option(help="Spectral: least singular value of a state, in times the noise."),
    ] = 0.5,
    dev: Annotated[
        str | None,
        typer.Option(help="em: held-out sequences that the best iteration is chosen by."),
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="em: how many.")] = 30,
    restarts: Annotated[
        int, typer.Option(min=1, help="em: how often to begin anew; the best is kept.")
    ] = 1,
    checkpoint: Annotated[
        str | None, typer.Option(help="em: a file by which a stopped run goes on.")
    ] = None,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn an automaton from sequences.

    It gives each sequence a value: an estimate of its probability among all sequences of any
    length.  Values of spectral automata may be negative.
    """
    from pathlib import Path

    from eigentree.automata.em import SequenceEMOptions, learn_sequence_em
    from eigentree.automata.model_file import save_operators
    from eigentree.automata.sequences import Sequences
    from eigentree.automata.spectral import OperatorOptions, learn_operators
    from eigentree.cli.constituency._training import Stages, check_writable

    if not output:
        raise SettingsError("no model file is named; give one with --output-file")
    inputs = files or ["-"]
    if method == "spectral" and (dev is not None or checkpoint is not None):
        raise SettingsError(
            "--dev and --checkpoint are for em; the spectral method has no iterations"
        )
    check_inputs([*inputs, *([] if dev is None else [dev])])
    keep_inputs(output, [*inputs, *([] if dev is None else [dev])])
    check_writable(output, [])
    given = [sequence for _, sequence in read(inputs)]
    held_out = None if dev is None else [sequence for _, sequence in read([dev])]
    # Held-out sequences may have symbols of their own, which the back-off gives a value.
    symbols = sorted({symbol for part in (given, held_out or []) for own in part for symbol in own})
    sequences = Sequences.of(given, symbols)
    if method == "spectral":
        options = OperatorOptions(states, noise=noise, back_off=back_off)
        model = learn_operators(sequences, options, seed=seed)
    else:
        em = SequenceEMOptions(
            states, iterations, "random" if method == "em" else "spectral", restarts
        )
        with Stages(quiet) as stages:
            model = learn_sequence_em(
                sequences,
                em,
                held_out=None if held_out is None else Sequences.of(held_out, symbols),
                back_off=back_off,
                checkpoint=None if checkpoint is None else Path(checkpoint),
                jobs=jobs,
                seed=seed,
                progress=stages,
            ).model
    save_operators(model, output, _description(method, seed, sequences))
    message(
        f"{output}: {counted(model.n_states, 'state')}, {counted(len(symbols), 'symbol')}, from "
        f"{counted(sequences.n_sequences, 'sequence')}",
        quiet=quiet,
    )


def _description(method: str, seed: int, sequences: Sequences) -> dict[str, str | int]:
    return {"method": method, "seed": seed, "sequences": sequences.n_sequences}


@automaton.command()
def value(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Files of sequences as above; - or none for standard input."),
    ] = None,
    model: Annotated[str, typer.Option("--model", "-m", help="A model file made by learn.")] = "",
    following: Annotated[
        int,
        typer.Option(
            "--next", min=0, help="Tell so many of the most probable next symbols instead."
        ),
    ] = 0,
    output_file: OutputOption = "-",
) -> None:
    """Say what an automaton makes of each sequence.

    The output is a table with tabs between columns and a line of their names.  Each sequence has
    the logarithm of its absolute value in nats, and the sign.  With --next it is taken for a
    beginning, and the most probable symbols that follow are told, each with its probability,
    where <end> is the end.
    """
    from eigentree.automata.model_file import load_operators
    from eigentree.treebank.io.text_files import write_whole

    if not model:
        raise SettingsError("no model is named; give one with --model, as made by automaton learn")
    inputs = files or ["-"]
    check_inputs(inputs)
    keep_inputs(output_file, [model, *inputs])
    found = load_operators(model)
    failed = False
    with write_whole(output_file) as out:
        out.write("sequence\tnext\tprobability\n" if following else "sequence\tlog_value\tsign\n")
        for number, (place, sequence) in enumerate(read(inputs), start=1):
            if not following:
                log_value, sign = found.value(sequence)
                out.write(f"{number}\t{log_value:.6f}\t{sign}\n")
                continue
            try:
                for name, probability in _following(found, sequence, following):
                    out.write(f"{number}\t{name}\t{probability:.6f}\n")
            except GrammarError as error:
                message(f"eigentree: {place}: {error}")
                failed = True
    if failed:
        raise typer.Exit(BAD_INPUT)


def _following(model: OperatorModel, sequence: list[str], most: int) -> Iterator[tuple[str, float]]:
    probability = model.following(sequence)
    names = (*model.symbols, END)
    for at in (-probability).argsort(kind="stable")[:most].tolist():
        yield names[at], float(probability[at])


def read(files: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The sequences of files with their places."""
    from eigentree.treebank.io.sentences import read_sentences
    from eigentree.treebank.io.text_files import open_text

    for file in files:
        with open_text(file) as lines:
            for sentence in read_sentences(lines, "tokens", name=file):
                yield f"{file}:{sentence.line}", sentence.words
