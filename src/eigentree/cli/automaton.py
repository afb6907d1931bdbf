"""The group ``automaton``: weighted automata and hidden Markov models of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentree.cli._commands import Command, Group, new_group
from eigentree.cli._common import message, notice
from eigentree.cli._files import check_checkpoint, check_inputs, check_output, note_waiting
from eigentree.cli._options import (
    JobsOption,
    ModelFileOption,
    OutputOption,
    QuietOption,
    SeedOption,
)
from eigentree.cli._parsing import InputErrors
from eigentree.cli._training import (
    Stages,
    UsedBy,
    changed,
    check_used,
    method_option,
)
from eigentree.errors import GrammarError, SettingsError, counted

if TYPE_CHECKING:
    from eigentree.automata.model import OperatorModel
    from eigentree.treebank.io.brackets import OnError
    from eigentree.treebank.io.sentences import InputFormat, TaggedSentence

END = "<end>"

SequencesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILES",
        help="Files of sequences, one per line, symbols separated by white space, plain or "
        "compressed; - or none for standard input. An empty line is an empty sequence.",
    ),
]
_EM = ("em", "spectral+em")
_OF_OPERATORS = ("spectral", *_EM)
USED_BY: UsedBy = {
    "states": _OF_OPERATORS,
    "back_off": _OF_OPERATORS,
    "noise": ("spectral",),
    "dev": _EM,
    "iterations": _EM,
    "restarts": _EM,
    "checkpoint": _EM,
    "order": ("hmm",),
    "rank": ("hmm",),
}


class _Automaton(Group):
    renamed = {"learn": "train", "value": "score"}  # noqa: RUF012 - as in Group


automaton = new_group(
    "Train weighted automata on sequences of words, tags or other symbols, and query them.",
    _Automaton,
)


@automaton.command(cls=Command)
def train(
    files: SequencesArgument = None,
    output: ModelFileOption = "",
    method: Annotated[
        Literal["spectral", "em", "spectral+em", "hmm"],
        typer.Option(
            help="Spectral learning, EM from a random initialisation, EM initialised by spectral "
            "learning, or a hidden Markov model of tagged sentences."
        ),
    ] = "spectral",
    states: Annotated[
        int | None,
        method_option(
            USED_BY, "states", min=1, show_default="6", help="Maximum number of hidden states."
        ),
    ] = None,
    back_off: Annotated[
        float | None,
        method_option(
            USED_BY,
            "back_off",
            show_default="0.1",
            help="Interpolation weight of an automaton with one state; 0 for none.",
        ),
    ] = None,
    noise: Annotated[
        float | None,
        method_option(
            USED_BY,
            "noise",
            show_default="0.5",
            help="Minimum singular value of a state, as a multiple of the noise level.",
        ),
    ] = None,
    dev: Annotated[
        str | None,
        method_option(
            USED_BY,
            "dev",
            metavar="FILE",
            help="Held-out sequences to choose the best iteration on.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        method_option(USED_BY, "iterations", min=1, show_default="30", help="EM iterations."),
    ] = None,
    restarts: Annotated[
        int | None,
        method_option(
            USED_BY, "restarts", min=1, show_default="1", help="EM restarts; the best is kept."
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        method_option(
            USED_BY,
            "checkpoint",
            metavar="FILE",
            help="File from which an interrupted EM run resumes.",
        ),
    ] = None,
    order: Annotated[
        int | None,
        method_option(
            USED_BY,
            "order",
            min=2,
            show_default="3",
            help="Length of the tag n-grams: 2 for bigrams, 3 for trigrams.",
        ),
    ] = None,
    rank: Annotated[
        int | None,
        method_option(
            USED_BY,
            "rank",
            min=1,
            show_default="the full matrix",
            help="Approximate the transition matrix by two matrices of this rank.",
        ),
    ] = None,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Train an automaton on sequences.

    Its value of a sequence estimates the probability of the sequence among all sequences of any
    length.  Values of spectral automata may be negative.  With --method hmm the input is tagged
    sentences, each token as word_TAG; CoNLL-U and trees are recognised by content.
    """
    from pathlib import Path

    from eigentree.automata.em import SequenceEMOptions, learn_sequence_em
    from eigentree.automata.model_file import save_automaton
    from eigentree.automata.sequences import Sequences
    from eigentree.automata.spectral import OperatorOptions, learn_operators

    if not output:
        raise SettingsError("no model file given; name one with --output-file")
    inputs = files or ["-"]
    check_used(method, USED_BY, locals())
    read_files = [*inputs, *([] if dev is None else [dev])]
    note_waiting(inputs, quiet=quiet)
    check_inputs(read_files)
    check_output(output, read_files, model=True)
    check_checkpoint(checkpoint, output, read_files)
    if method == "hmm":
        _train_hidden_markov(inputs, output, order, rank, seed, quiet)
        return
    given = [sentence.words for _, sentence in _read(inputs, "tokens")]
    held_out = None if dev is None else [each.words for _, each in _read([dev], "tokens")]
    # Held-out sequences may have other symbols, to which the back-off gives a value.
    symbols = sorted(
        {symbol for part in (given, held_out or []) for each in part for symbol in each}
    )
    sequences = Sequences.of(given, symbols)
    if method == "spectral":
        options = changed(OperatorOptions(), states=states, back_off=back_off, noise=noise)
        model = learn_operators(sequences, options, seed=seed)
    else:
        em = changed(
            SequenceEMOptions(start="random" if method == "em" else "spectral"),
            states=states,
            iterations=iterations,
            restarts=restarts,
        )
        with Stages(quiet) as stages:
            model = learn_sequence_em(
                sequences,
                em,
                dev=None if held_out is None else Sequences.of(held_out, symbols),
                back_off=0.1 if back_off is None else back_off,
                checkpoint=None if checkpoint is None else Path(checkpoint),
                jobs=jobs,
                seed=seed,
                progress=stages,
            ).model
    save_automaton(model, output, _description(method, seed, sequences.n_sequences))
    message(
        f"{output}: {counted(model.n_states, 'state')}, {counted(len(symbols), 'symbol')}, from "
        f"{counted(sequences.n_sequences, 'sequence')}",
        quiet=quiet,
    )


def _train_hidden_markov(
    inputs: list[str], output: str, order: int | None, rank: int | None, seed: int, quiet: bool
) -> None:
    from eigentree.automata.hidden_markov import count_hidden_markov
    from eigentree.automata.model_file import save_automaton

    tagged = [
        (sentence.words, [str(tag) for tag in sentence.tags])
        for _, sentence in _read(inputs, "tagged")
        if sentence.words and sentence.tags is not None
    ]
    model = count_hidden_markov(tagged, order=3 if order is None else order)
    description: dict[str, str | int] = _description("hmm", seed, len(tagged))
    about = ""
    if rank is not None:
        model = model.in_low_rank(rank, seed=seed)
        description["rank"], about = rank, f", rank {rank}"
    save_automaton(model, output, description)
    message(
        f"{output}: {counted(model.n_states, 'state')}{about}, {counted(len(model.tags), 'tag')}, "
        f"from {counted(len(tagged), 'sentence')}",
        quiet=quiet,
    )


def _description(method: str, seed: int, n_sequences: int) -> dict[str, str | int]:
    return {"method": method, "seed": seed, "sequences": n_sequences}


@automaton.command(cls=Command)
def score(
    files: SequencesArgument = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", "-m", metavar="MODEL", help="A model file written by automaton train."
        ),
    ] = "",
    following: Annotated[
        int,
        typer.Option("--next", min=0, help="Print the N most probable next symbols instead."),
    ] = 0,
    output_file: OutputOption = "-",
) -> None:
    """Compute an automaton's value of each sequence.

    The output is a tab-separated table with a header.  Each sequence has the logarithm of its
    absolute value in nats, and the sign.  With --next, a sequence is a prefix, and the most
    probable next symbols are printed with their probabilities; <end> is the end.  An unreadable
    sequence has a number but no row and is reported, and the exit code is 2.
    """
    from eigentree.automata.hidden_markov import HiddenMarkovModel
    from eigentree.automata.model_file import load_automaton
    from eigentree.treebank.io.text_files import write_whole

    if not model:
        raise SettingsError("no model given; name one, written by automaton train, with --model")
    inputs = files or ["-"]
    check_inputs(inputs)
    note_waiting(inputs)
    check_output(output_file, [model, *inputs])
    trained = load_automaton(model)
    if following and isinstance(trained, HiddenMarkovModel):
        raise SettingsError("--next is not available for hidden Markov models")
    errors = InputErrors()
    with write_whole(output_file) as out:
        out.write("sequence\tnext\tprobability\n" if following else "sequence\tlog_value\tsign\n")
        for number, (place, sequence) in enumerate(_readable(inputs, errors), start=1):
            if sequence is None:
                continue
            if not following or isinstance(trained, HiddenMarkovModel):
                log_value, sign = trained.value(sequence)
                out.write(f"{number}\t{log_value:.6f}\t{sign}\n")
                continue
            try:
                for name, probability in _following(trained, sequence, following):
                    out.write(f"{number}\t{name}\t{probability:.6f}\n")
            except GrammarError as error:
                errors.report(f"{place}: {error}")
    errors.leave()


def _following(
    model: OperatorModel, sequence: list[str], limit: int
) -> Iterator[tuple[str, float]]:
    probability = model.following(sequence)
    names = (*model.symbols, END)
    for at in (-probability).argsort(kind="stable")[:limit].tolist():
        yield names[at], float(probability[at])


def _readable(files: list[str], errors: InputErrors) -> Iterator[tuple[str, list[str] | None]]:
    """The sequences of files, each with its file and line; None for one that can't be read."""
    for place, sentence in _read(files, "tokens", skip=True):
        if sentence.problem is not None:
            errors.report(str(sentence.problem))
        yield place, sentence.words if sentence.problem is None else None


def _read(
    files: list[str], form: InputFormat, *, skip: bool = False
) -> Iterator[tuple[str, TaggedSentence]]:
    from eigentree.treebank.io.recognition import recognise_trees_in_text
    from eigentree.treebank.io.sentences import read_sentences
    from eigentree.treebank.io.text_files import displayed_name, open_text

    for file in files:
        name = displayed_name(file)
        with open_text(file, keep_bad_bytes=skip, notice=notice) as lines:
            found = recognise_trees_in_text(lines) if form == "tagged" else None
            text: Iterable[str] = lines if found is None else found.lines
            form_of_file = form
            if found is not None and found.format is not None:
                form_of_file = "conllu" if found.format == "conllu" else "trees"
            on_error: OnError = "skip" if skip else "raise"
            for sentence in read_sentences(text, form_of_file, name=name, on_error=on_error):
                yield f"{name}:{sentence.line}", sentence
