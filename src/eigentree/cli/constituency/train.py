"""The verb ``train``: from a treebank to a model file."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentree.cli._common import QuietOption, SeedOption, message
from eigentree.cli.constituency._output import warn_of_compilation
from eigentree.cli.constituency._training import (
    CutTagsOption,
    FunctionTagsOption,
    OnErrorOption,
    SeparatorsOption,
    Stages,
    TraceLabelsOption,
    TraceWordsOption,
    TreesArgument,
    changed,
    check_writable,
    cleaning_settings,
    held_out_trees,
    score_on,
    tell_iterations,
    tell_of_treebank,
)
from eigentree.errors import SettingsError, TreebankFormatError

if TYPE_CHECKING:
    from eigentree.constituency.learn.em import EMOptions
    from eigentree.treebank.binarise import BinariseOptions

_ENTRY = re.compile(r"\s*(\S+?)=(\d+)(?:\s*(?:,\s*|$)|\s+)")


def train(
    files: TreesArgument,
    output: Annotated[str, typer.Option("--output-file", "-o", help="The model file to write.")],
    dev: Annotated[
        str | None, typer.Option(help="Held-out trees to score the parser on, and to tune it.")
    ] = None,
    method: Annotated[
        Literal["spectral", "clustering", "em", "spectral+em", "pcfg", "markov"],
        typer.Option(help="markov is pcfg with --vertical 2 --horizontal 1."),
    ] = "spectral",
    states: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most latent states of a nonterminal; 24, or 16 with em. A search starts there.",
        ),
    ] = None,
    states_of: Annotated[
        list[str] | None,
        typer.Option(help='States of single nonterminals, as "NP=32,VP=48"; may be repeated.'),
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option(help="Drop singular values below this part of a nonterminal's largest."),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(min=1, help="Singular vectors that clustering looks at; 8."),
    ] = None,
    restarts: Annotated[
        int | None,
        typer.Option(min=1, help="How often clustering begins anew, for the best clusters; 10."),
    ] = None,
    assignment: Annotated[
        Literal["hard", "soft"] | None,
        typer.Option(help="Whether a node of clustering has one state or may have several."),
    ] = None,
    noise: Annotated[
        Literal["dropout", "additive", "multiplicative"] | None,
        typer.Option(help="Disturb what spectral and clustering learn from; needs --sigma."),
    ] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Probability of dropout, or size of other noise.")
    ] = None,
    optimise_states: Annotated[
        bool,
        typer.Option("--optimise-states", help="Search states of nonterminals on the --dev trees."),
    ] = False,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Assignments that --optimise-states keeps; 1.")
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="Of em, 20 or 4 by its start; the best on --dev is kept."),
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="A file with which em, once stopped, can go on.")
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", min=1, help="Threads of em and --optimise-states; same result."
        ),
    ] = 1,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the smoothing constants on the --dev trees.")
    ] = False,
    shrinkage: Annotated[
        float | None,
        typer.Option(help="r, by which small singular values are damped; 0 for none."),
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(help="C, the back-off of rare rules; 0 for none.")
    ] = None,
    word_smoothing: Annotated[
        float | None,
        typer.Option(
            help="nu, a rare word's own share of its vector; 1 for all. A count with clustering."
        ),
    ] = None,
    kappa: Annotated[
        float | None, typer.Option(help="Pseudo-count in the scaling of features.")
    ] = None,
    binarise: Annotated[
        Literal["left", "right", "head"] | None, typer.Option(help="Direction of binarisation.")
    ] = None,
    vertical: Annotated[
        int | None, typer.Option(min=1, help="Labels on the way to the root in a symbol.")
    ] = None,
    horizontal: Annotated[
        int | None,
        typer.Option(min=0, help="Siblings remembered by intermediate symbols; 0 or 1 by need."),
    ] = None,
    unseen_rules: Annotated[
        bool | None,
        typer.Option(
            "--unseen-rules/--no-unseen-rules",
            help="Expect rules that the treebank lacks, too; pcfg and markov never do.",
            show_default="unseen-rules",
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(help="Head table: auto, english, negra, leftmost, rightmost, or a file."),
    ] = None,
    rare: Annotated[
        int | None, typer.Option(min=0, help="Words seen at most this often share classes.")
    ] = None,
    keep_function_tags: FunctionTagsOption = False,
    cut_tags: CutTagsOption = False,
    function_separators: SeparatorsOption = None,
    trace_labels: TraceLabelsOption = None,
    trace_words: TraceWordsOption = None,
    tagger: Annotated[
        bool, typer.Option("--tagger/--no-tagger", help="Train a tagger on the same trees.")
    ] = True,
    jackknife: Annotated[
        bool, typer.Option("--jackknife", help="Learn the grammar from a tagger's tags.")
    ] = False,
    on_error: OnErrorOption = "raise",
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn a parser from a treebank.

    Settings that are not given are those that served best on held-out trees.
    """
    from eigentree.constituency.estimators import MARKOV, learned_by
    from eigentree.constituency.learn.noise import Noise
    from eigentree.constituency.learn.state_search import StateSearchOptions
    from eigentree.constituency.training import train as learn
    from eigentree.constituency.training_options import TrainingOptions
    from eigentree.constituency.tuning import tuned
    from eigentree.treebank.reader import read_treebank

    if tune and method != "spectral":
        raise SettingsError(f"--tune is for --method spectral; {method} has nothing to tune")
    if tune and dev is None:
        raise SettingsError("--tune needs held-out trees; name them with --dev")
    if optimise_states and method != "spectral":
        raise SettingsError(
            f"--optimise-states is for --method spectral; with {method} there is no such search"
        )
    if optimise_states and dev is None:
        raise SettingsError("--optimise-states needs held-out trees; name them with --dev")
    if beam is not None and not optimise_states:
        raise SettingsError("--beam is for --optimise-states; give both or none")
    if method in ("pcfg", "markov"):
        for option, given in (
            ("--states", states),
            ("--states-of", states_of),
            ("--smoothing", smoothing),
            ("--unseen-rules", unseen_rules or None),  # to want none is no mistake
        ):
            if given is not None:
                raise SettingsError(f"{option} is for grammars with states; {method} has none")
    if word_smoothing is not None and method not in ("spectral", "clustering"):
        raise SettingsError(
            f"--word-smoothing is for --method spectral and clustering, not for {method}"
        )
    of_clusters = {"--rank": rank, "--restarts": restarts, "--assignment": assignment}
    for option, setting in of_clusters.items():
        if setting is not None and method != "clustering":
            raise SettingsError(f"{option} is for --method clustering; {method} has no clusters")
    if (noise is None) != (sigma is None):
        raise SettingsError("--noise and --sigma say what is disturbed and how much; give both")
    if noise is not None and method not in ("spectral", "clustering"):
        raise SettingsError(f"--noise is for --method spectral and clustering, not for {method}")
    for option, value in (("--cut", cut), ("--shrinkage", shrinkage), ("--kappa", kappa)):
        if value is not None and "spectral" not in method and method != "clustering":
            raise SettingsError(
                f"{option} is for --method spectral, spectral+em and clustering; "
                f"{method} has no singular values"
            )
    if "em" not in method and (iterations is not None or checkpoint is not None):
        raise SettingsError(
            "--iterations and --checkpoint are for --method em and spectral+em; "
            f"{method} has no iterations"
        )
    if "em" not in method and not optimise_states and jobs > 1:
        raise SettingsError(
            "--jobs is for --method em and spectral+em and for --optimise-states; "
            f"{method} alone has no use for threads"
        )
    own_states = None if states_of is None else _states_of(states_of)
    defaults = TrainingOptions()
    treebank_options = defaults.treebank
    if method == "markov":
        vertical = vertical or MARKOV.vertical
        horizontal = MARKOV.horizontal if horizontal is None else horizontal
    cleaning = replace(
        treebank_options.cleaning,
        **cleaning_settings(
            keep_function_tags, cut_tags, function_separators, trace_labels, trace_words
        ),
    )
    options = replace(
        defaults,
        method=learned_by(method),
        unseen=None if unseen_rules is False else defaults.unseen,
        tagger=tagger,
        jackknife=jackknife,
        treebank=changed(
            treebank_options,
            cleaning=cleaning,
            heads=heads,
            binarise=_binarise_options(binarise, vertical, horizontal),
            direction=binarise or "left",
            lexicon=changed(treebank_options.lexicon, rare_threshold=rare),
        ),
        spectral=changed(
            defaults.spectral,
            states=states,
            states_of=own_states,
            cut=cut,
            shrinkage=shrinkage,
            smoothing=smoothing,
            word_smoothing=word_smoothing if method == "spectral" else None,
            features=changed(defaults.spectral.features, kappa=kappa),
        ),
        clustering=changed(
            defaults.clustering,
            states=states,
            states_of=own_states,
            rank=rank,
            cut=cut,
            shrinkage=shrinkage,
            restarts=restarts,
            assignment=assignment,
            smoothing=smoothing,
            word_smoothing=word_smoothing if method == "clustering" else None,
            features=changed(defaults.clustering.features, kappa=kappa),
        ),
        noise=defaults.noise if noise is None or sigma is None else Noise(noise, sigma),
        state_search=changed(StateSearchOptions(), beam=beam) if optimise_states else None,
        em=changed(
            defaults.em,
            states=states,
            states_of=own_states,
            iterations=iterations,
            smoothing=smoothing,
        ),
    )
    read = [*files, *([] if dev is None else [dev])]
    check_writable(output, read)
    if checkpoint is not None:
        check_writable(str(checkpoint), read, model=False)
    if checkpoint is not None and str(checkpoint) == "-":
        raise SettingsError("--checkpoint is -; it must be a file, for it is read again")
    if checkpoint is not None and checkpoint.resolve() == Path(output).resolve():
        raise SettingsError(f"{checkpoint}: can't be the model and its checkpoint; name another")
    notes = {} if checkpoint is None else _going_on(checkpoint, options.em_settled)
    started = time.process_time()
    treebank = read_treebank(files, cleaning=cleaning, on_error=on_error)
    tell_of_treebank(treebank, quiet)
    if not treebank.trees:
        raise TreebankFormatError(f"{files[0]}: no tree to learn from; at least one is needed")
    # Read before anything is learned, so that what is wrong with it is told at once.
    held_out = None if dev is None else held_out_trees(dev, cleaning, on_error)
    clean_trees = [clean for _, clean in held_out or []]
    message(f"reading: {time.process_time() - started:.1f} CPU s", quiet=quiet)
    if tune and held_out is not None:
        warn_of_compilation(quiet=quiet)
        with Stages(quiet) as stages:
            options = tuned(treebank.trees, clean_trees, options, seed=seed, progress=stages)
        chosen = options.spectral
        message(
            f"chosen: --shrinkage {chosen.shrinkage:g} --smoothing {chosen.smoothing:g} "
            f"--word-smoothing {chosen.word_smoothing:g}",
            quiet=quiet,
        )
    # Parsing serves some methods while they learn; otherwise it is told of when it begins.
    judged = held_out is not None and (optimise_states or "em" in method)
    warn_of_compilation(quiet=quiet, parsing=judged, em="em" in method)
    with Stages(quiet, notes) as stages, _interruptible(checkpoint, quiet):
        parser = learn(
            treebank.trees,
            options,
            dev=clean_trees,
            wrapper=treebank.wrapper,
            seed=seed,
            progress=stages,
            jobs=jobs,
            checkpoint=checkpoint,
        )
    if optimise_states:
        _tell_states(parser.description, quiet)
    if "em" in parser.description:
        tell_iterations(parser.description["em"], parser.description["trees"], quiet)
    parser.save(output)
    message(f"wrote {output}", quiet=quiet)
    if held_out is not None:
        score_on(parser, str(dev), held_out, quiet)


def _states_of(given: list[str]) -> dict[str, int]:
    """Numbers of states by name, from options such as "NP=32,@NP[PP,SBAR]=8".

    Names may hold commas and equals signs themselves, so a number ends an entry.
    """
    found: dict[str, int] = {}
    for text in given:
        at = 0
        while at < len(text):
            entry = _ENTRY.match(text, at)
            if entry is None:
                raise SettingsError(
                    f"--states-of has {text[at:]!r}; it must be names with numbers of states, as "
                    "NP=32,VP=48"
                )
            found[entry[1]] = int(entry[2])
            at = entry.end()
    return found


def _binarise_options(
    direction: Literal["left", "right", "head"] | None,
    vertical: int | None,
    horizontal: int | None,
) -> BinariseOptions | None:
    """None, to choose by the size of the treebank, when nothing is given."""
    from eigentree.treebank.binarise import BinariseOptions

    if vertical is None and horizontal is None:
        return None
    return BinariseOptions(direction or "left", vertical or 1, horizontal or 0)


def _going_on(checkpoint: Path, options: EMOptions) -> dict[str, str]:
    """What is to be said of a checkpoint when the iterations begin, if there is one.

    Not before, for only then has it been found to be of this run.
    """
    from eigentree.constituency.learn.em import STAGE
    from eigentree.learning.em_checkpoint import n_done

    done = n_done(checkpoint)
    if done >= options.n_iterations:
        return {STAGE: f"{checkpoint} has iteration {done} already; nothing is left to do"}
    return {STAGE: f"going on from {checkpoint} after iteration {done}"} if done else {}


@contextmanager
def _interruptible(checkpoint: Path | None, quiet: bool) -> Iterator[None]:
    """Say how to go on after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            message(f"interrupted; the same command goes on from {checkpoint}", quiet=quiet)
        raise


def _tell_states(description: dict[str, Any], quiet: bool) -> None:
    """What a search has found, as an option that asks for it again."""
    search, found = description["state_search"], description["spectral"]["states_of"]
    gain = f"F1 {100 * search['start_f1']:.2f} to {100 * search['f1']:.2f}"
    if search["f1"] > search["start_f1"]:
        given = ",".join(f"{name}={number}" for name, number in found.items())
        message(f"chosen: --states-of {shlex.quote(given)} ({gain})", quiet=quiet)
    else:
        message(f"chosen: the same states as without --optimise-states ({gain})", quiet=quiet)
