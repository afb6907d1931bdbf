"""The command ``train``: from a treebank to a model file."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentree._core.printable import shown
from eigentree.cli._common import message
from eigentree.cli._files import check_checkpoint, check_output
from eigentree.cli._options import (
    CutTagsOption,
    DevOption,
    FunctionTagsOption,
    ModelFileOption,
    QuietOption,
    SeedOption,
    SeparatorsOption,
    TagDictionaryOption,
    TaggerOption,
    ThreadsOption,
    TraceLabelsOption,
    TraceWordsOption,
    TreesArgument,
    TreesOnErrorOption,
)
from eigentree.cli._output import compile_kernels
from eigentree.cli._training import (
    Stages,
    UsedBy,
    changed,
    check_used,
    method_option,
)
from eigentree.cli.constituency._training import (
    cleaning_settings,
    dev_trees_of,
    report_iterations,
    report_treebank,
    score_on,
)
from eigentree.constituency.estimators import METHODS
from eigentree.errors import SettingsError, TreebankFormatError

if TYPE_CHECKING:
    from eigentree.constituency.learn.em import EMOptions
    from eigentree.treebank.binarise import BinariseOptions

    Method = str
else:
    Method = Literal[METHODS]  # the choices of the option

_GRAMMAR = "Options of the grammar"
_ENTRY = re.compile(r"\s*(\S+?)=([0-9]{1,9})(?:\s*(?:,\s*|$)|\s+)")
_SPECTRAL = ("spectral",)
_CLUSTERING = ("clustering",)
_MOMENTS = ("spectral", "clustering")
_SINGULAR_VALUES = ("spectral", "spectral+em", "clustering")
_EM = ("em", "spectral+em")
_STATES = ("spectral", "clustering", "em", "spectral+em")
USED_BY: UsedBy = {
    "states": _STATES,
    "states_of": _STATES,
    "smoothing": _STATES,
    "unseen_rules": _STATES,
    "cut": _SINGULAR_VALUES,
    "shrinkage": _SINGULAR_VALUES,
    "kappa": _SINGULAR_VALUES,
    "word_smoothing": _MOMENTS,
    "noise": _MOMENTS,
    "sigma": _MOMENTS,
    "tune": _SPECTRAL,
    "optimise_states": _SPECTRAL,
    "beam": _SPECTRAL,
    "rank": _CLUSTERING,
    "restarts": _CLUSTERING,
    "assignment": _CLUSTERING,
    "iterations": _EM,
    "checkpoint": _EM,
}


def train(
    files: TreesArgument,
    output: ModelFileOption,
    dev: DevOption = None,
    method: Annotated[
        Method,
        typer.Option(
            help="Estimator of the grammar; markov is pcfg with --vertical 2 --horizontal 1."
        ),
    ] = "spectral",
    states: Annotated[
        int | None,
        method_option(
            USED_BY,
            "states",
            min=1,
            show_default="24; 16 for em",
            help="Maximum latent states per nonterminal; starting point of --optimise-states.",
        ),
    ] = None,
    states_of: Annotated[
        list[str] | None,
        method_option(
            USED_BY,
            "states_of",
            metavar="LIST",
            help='States of single nonterminals, as "NP=32,VP=48"; repeatable.',
        ),
    ] = None,
    smoothing: Annotated[
        float | None,
        method_option(USED_BY, "smoothing", help="Back-off constant C of rare rules; 0 for none."),
    ] = None,
    unseen_rules: Annotated[
        bool | None,
        method_option(
            USED_BY,
            "unseen_rules",
            "--unseen-rules/--no-unseen-rules",
            help="Give probability to rules that the treebank lacks.",
            show_default="unseen-rules",
        ),
    ] = None,
    cut: Annotated[
        float | None,
        method_option(
            USED_BY,
            "cut",
            help="Drop singular values below this share of the nonterminal's largest.",
        ),
    ] = None,
    shrinkage: Annotated[
        float | None,
        method_option(USED_BY, "shrinkage", help="Damping r of small singular values; 0 for none."),
    ] = None,
    kappa: Annotated[
        float | None,
        method_option(USED_BY, "kappa", help="Pseudo-count in the scaling of features."),
    ] = None,
    word_smoothing: Annotated[
        float | None,
        method_option(
            USED_BY,
            "word_smoothing",
            help="Weight nu of a rare word's own vector, 1 for no smoothing; with clustering, a "
            "pseudo-count.",
        ),
    ] = None,
    noise: Annotated[
        Literal["dropout", "additive", "multiplicative"] | None,
        method_option(
            USED_BY, "noise", help="Noise added to what is learned from; requires --sigma."
        ),
    ] = None,
    sigma: Annotated[
        float | None,
        method_option(
            USED_BY, "sigma", help="Dropout probability, or standard deviation of other noise."
        ),
    ] = None,
    tune: Annotated[
        bool,
        method_option(USED_BY, "tune", help="Tune the smoothing constants on the --dev trees."),
    ] = False,
    optimise_states: Annotated[
        bool,
        method_option(
            USED_BY,
            "optimise_states",
            help="Search for the best number of states per nonterminal on the --dev trees.",
        ),
    ] = False,
    beam: Annotated[
        int | None,
        method_option(
            USED_BY, "beam", min=1, help="Beam width of --optimise-states.", show_default="1"
        ),
    ] = None,
    rank: Annotated[
        int | None,
        method_option(
            USED_BY,
            "rank",
            min=1,
            help="Number of singular vectors to cluster by.",
            show_default="8",
        ),
    ] = None,
    restarts: Annotated[
        int | None,
        method_option(
            USED_BY,
            "restarts",
            min=1,
            help="Restarts of k-means; the best is kept.",
            show_default="10",
        ),
    ] = None,
    assignment: Annotated[
        Literal["hard", "soft"] | None,
        method_option(
            USED_BY, "assignment", help="One state per node of a tree, or a distribution."
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        method_option(
            USED_BY,
            "iterations",
            min=1,
            show_default="20 or 4, depending on initialisation",
            help="EM iterations; the best on --dev is kept.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        method_option(
            USED_BY,
            "checkpoint",
            metavar="FILE",
            help="File from which an interrupted EM run resumes.",
        ),
    ] = None,
    binarise: Annotated[
        Literal["left", "right", "head"] | None,
        typer.Option(rich_help_panel=_GRAMMAR, help="Direction of binarisation."),
    ] = None,
    vertical: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_GRAMMAR,
            min=1,
            help="Vertical Markovisation: labels towards the root in a symbol.",
        ),
    ] = None,
    horizontal: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_GRAMMAR,
            min=0,
            help="Horizontal Markovisation: siblings in an intermediate symbol.",
            show_default="0 or 1, by the size of the treebank",
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_GRAMMAR,
            metavar="NAME",
            help="Head table: auto, english, negra, leftmost, rightmost, or a file.",
        ),
    ] = None,
    rare: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=_GRAMMAR,
            min=0,
            help="Words seen up to N times are replaced by word classes.",
        ),
    ] = None,
    keep_function_tags: FunctionTagsOption = False,
    cut_tags: CutTagsOption = False,
    function_separators: SeparatorsOption = None,
    trace_labels: TraceLabelsOption = None,
    trace_words: TraceWordsOption = None,
    tagger: TaggerOption = True,
    tag_dictionary: TagDictionaryOption = None,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact",
            help="Round parameters to eight significant bits, for a smaller model.",
        ),
    ] = False,
    jackknife: Annotated[
        bool,
        typer.Option(
            "--jackknife",
            help="Train the grammar on jackknifed tags, so that it sees realistic tagging errors.",
        ),
    ] = False,
    on_error: TreesOnErrorOption = "raise",
    jobs: ThreadsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Train a constituency parser on a treebank.

    The default settings are those with the best results on held-out trees.
    """
    from eigentree.constituency.estimators import MARKOV, learned_by
    from eigentree.constituency.learn.noise import Noise
    from eigentree.constituency.learn.state_search import StateSearchOptions
    from eigentree.constituency.training import train as learn
    from eigentree.constituency.training_options import TrainingOptions
    from eigentree.constituency.tuning import tuned
    from eigentree.treebank.reader import read_treebank

    check_used(method, USED_BY, {**locals(), "unseen_rules": unseen_rules or None})
    for option, given in (("--tune", tune), ("--optimise-states", optimise_states)):
        if given and dev is None:
            raise SettingsError(f"{option} requires held-out trees; name them with --dev")
    if beam is not None and not optimise_states:
        raise SettingsError("--beam requires --optimise-states")
    if (noise is None) != (sigma is None):
        raise SettingsError("--noise and --sigma require each other")
    if "em" not in method and not optimise_states and jobs > 1:
        raise SettingsError(
            f"--jobs is for --method em and spectral+em and for --optimise-states, not for {method}"
        )
    states_by_name = None if states_of is None else _states_of(states_of)
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
        tag_dictionary=tag_dictionary,
        compact=compact,
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
            states_of=states_by_name,
            cut=cut,
            shrinkage=shrinkage,
            smoothing=smoothing,
            word_smoothing=word_smoothing if method == "spectral" else None,
            features=changed(defaults.spectral.features, kappa=kappa),
        ),
        clustering=changed(
            defaults.clustering,
            states=states,
            states_of=states_by_name,
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
            states_of=states_by_name,
            iterations=iterations,
            smoothing=smoothing,
        ),
    )
    read = [*files, *(each for each in (dev, tag_dictionary) if each is not None)]
    check_output(output, read, model=True)
    check_checkpoint(checkpoint, output, read)
    notes = {} if checkpoint is None else _resumption(checkpoint, options.em_settled)
    started = time.process_time()
    treebank = read_treebank(files, cleaning=cleaning, on_error=on_error)
    report_treebank(treebank, quiet)
    if not treebank.trees:
        raise TreebankFormatError(f"{files[0]}: no trees to train on")
    # Read before the training, so that its errors are reported at once.
    dev_pairs = None if dev is None else dev_trees_of(dev, cleaning, on_error)
    clean_trees = [clean for _, clean in dev_pairs or []]
    message(f"reading: {time.process_time() - started:.1f} CPU s", quiet=quiet)
    if tune and dev_pairs is not None:
        compile_kernels("parsing", quiet=quiet)
        with Stages(quiet) as stages:
            options = tuned(treebank.trees, clean_trees, options, seed=seed, progress=stages)
        chosen = options.spectral
        message(
            f"chosen: --shrinkage {chosen.shrinkage:g} --smoothing {chosen.smoothing:g} "
            f"--word-smoothing {chosen.word_smoothing:g}",
            quiet=quiet,
        )
    # Some methods parse while they learn; for the others the parser is compiled afterwards.
    parses = dev_pairs is not None and (optimise_states or "em" in method)
    parts = [*(["em"] if "em" in method else []), *(["parsing"] if parses else [])]
    compile_kernels(*parts, quiet=quiet)
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
        _report_states(parser.description, quiet)
    if "em" in parser.description:
        report_iterations(parser.description["em"], parser.description["trees"], quiet)
    parser.save(output)
    message(f"wrote {output}", quiet=quiet)
    if dev_pairs is not None:
        score_on(parser, str(dev), dev_pairs, quiet)


def _states_of(given: list[str]) -> dict[str, int]:
    """Numbers of states by name, from options such as "NP=32,@NP[PP,SBAR]=8".

    Names may hold commas and equals signs themselves, so a number ends an entry.
    """
    numbers: dict[str, int] = {}
    for text in given:
        at = 0
        while at < len(text):
            entry = _ENTRY.match(text, at)
            if entry is None:
                raise SettingsError(
                    f"--states-of must be names with numbers of states, as NP=32,VP=48 (got "
                    f"{shown(text[at:])})"
                )
            numbers[entry[1]] = int(entry[2])
            at = entry.end()
    return numbers


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


def _resumption(checkpoint: Path, options: EMOptions) -> dict[str, str]:
    """The message about a checkpoint, by the stage at whose beginning it is printed.

    Not earlier: only then is the checkpoint known to be of the same run.
    """
    from eigentree.constituency.learn.em import STAGE
    from eigentree.constituency.learn.em_checkpoint import n_done

    done = n_done(checkpoint)
    if done >= options.n_iterations:
        return {STAGE: f"{checkpoint} already has iteration {done}; nothing is left to do"}
    return {STAGE: f"resuming from {checkpoint} after iteration {done}"} if done else {}


@contextmanager
def _interruptible(checkpoint: Path | None, quiet: bool) -> Iterator[None]:
    """Report how to resume after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            message(f"interrupted; the same command resumes from {checkpoint}", quiet=quiet)
        raise


def _report_states(description: Mapping[str, Any], quiet: bool) -> None:
    """Report the result of the search, as an option for the next training."""
    search, chosen = description["state_search"], description["spectral"]["states_of"]
    gain = f"F1 {100 * search['start_f1']:.2f} to {100 * search['f1']:.2f}"
    if search["f1"] > search["start_f1"]:
        given = ",".join(f"{name}={number}" for name, number in chosen.items())
        message(f"chosen: --states-of {shlex.quote(given)} ({gain})", quiet=quiet)
    else:
        message(f"chosen: the same states as without --optimise-states ({gain})", quiet=quiet)
