"""The group ``ensemble``: many parsers that are combined."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentree.cli._commands import Command, new_group
from eigentree.cli._common import message, track
from eigentree.cli._files import check_inputs, check_name
from eigentree.cli._options import (
    CutTagsOption,
    DevOption,
    FunctionTagsOption,
    JobsOption,
    JsonOption,
    OptionalModelArgument,
    OptionalModelOption,
    QuietOption,
    SeedOption,
    SeparatorsOption,
    TagDictionaryOption,
    TaggerOption,
    TraceLabelsOption,
    TraceWordsOption,
    TreesArgument,
    TreesOnErrorOption,
)
from eigentree.cli._output import compile_kernels, result_console
from eigentree.cli._training import Stages
from eigentree.cli.constituency._training import cleaning_settings, dev_trees_of, report_treebank
from eigentree.errors import SettingsError, TreebankFormatError, counted

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.config import EnsembleConfig
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.tree import Tree


ensemble = new_group("Train and inspect ensembles of parsers, whose trees are combined.")


@ensemble.command(cls=Command)
def train(
    files: TreesArgument,
    output: Annotated[
        str,
        typer.Option("--output-folder", "-o", metavar="FOLDER", help="The folder of the ensemble."),
    ],
    description: Annotated[
        str | None,
        typer.Option(
            "--description",
            metavar="FILE",
            help="A TOML file of members and combinations.",
            show_default="a bundled one",
        ),
    ] = None,
    dev: DevOption = None,
    keep_function_tags: FunctionTagsOption = False,
    cut_tags: CutTagsOption = False,
    function_separators: SeparatorsOption = None,
    trace_labels: TraceLabelsOption = None,
    trace_words: TraceWordsOption = None,
    tagger: TaggerOption = True,
    tag_dictionary: TagDictionaryOption = None,
    on_error: TreesOnErrorOption = "raise",
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Train an ensemble of parsers on a treebank.

    Finished parts are kept in the folder, so that the same command resumes an interrupted training.
    """
    from eigentree.constituency.ensemble.training import train_ensemble
    from eigentree.treebank.reader import read_treebank

    folder = Path(output)
    check_name(output)
    _check_folder(folder)
    check_inputs([*files, *(each for each in (dev, tag_dictionary) if each is not None)])
    cleaning_given = cleaning_settings(
        keep_function_tags, cut_tags, function_separators, trace_labels, trace_words
    )
    described = _described(description, cleaning_given)
    cleaning = _cleaning_of(described, cleaning_given)
    treebank = read_treebank(files, cleaning=cleaning, on_error=on_error)
    report_treebank(treebank, quiet)
    if not treebank.trees:
        raise TreebankFormatError(f"{files[0]}: no trees to train on")
    # Read before the training, so that its errors are reported at once.
    dev_pairs = None if dev is None else dev_trees_of(dev, cleaning, on_error)
    has_em = any("em" in family.method for family in described.family)
    parts = [*(["em"] if has_em else []), *(["parsing"] if described.has_rerankers else [])]
    compile_kernels(*parts, quiet=quiet)
    notes = _resumption(folder, described)
    with Stages(quiet, notes) as stages, _interruptible(folder, quiet):
        parser = train_ensemble(
            treebank.trees,
            described,
            folder,
            wrapper=treebank.wrapper,
            tagger=tagger,
            tag_dictionary=tag_dictionary,
            seed=seed,
            jobs=jobs,
            progress=stages,
        )
    _report_folder(folder, described, quiet)
    if dev_pairs is not None:
        _score(parser, str(dev), dev_pairs, quiet)


@ensemble.command(cls=Command)
def info(
    arguments: OptionalModelArgument = None,
    model: OptionalModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Describe an ensemble, as inspect does: members, combinations and rerankers.

    The weights of a reranker are listed for the members' scores of a tree, in units of a standard
    deviation within a sentence; its other features have no readable names.
    """
    from eigentree.cli.inspect import inspect

    inspect(arguments, model, as_json=as_json)


# train ------------------------------------------------------------------------------------


def _check_folder(folder: Path) -> None:
    """Refuse an output folder before the work rather than after it."""
    from eigentree.constituency.ensemble.model_folder import check_folder

    check_folder(folder)
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise SettingsError(f"{folder}: can't be written; name a folder in a writable one")


def _described(path: str | None, cleaning_given: dict[str, Any]) -> EnsembleConfig:
    from eigentree.constituency.ensemble.config import DEFAULT, make_config
    from eigentree.constituency.settings import merged, read_tables

    tables = read_tables(DEFAULT if path is None else path)
    given = {"treebank": {"cleaning": cleaning_given}} if cleaning_given else {}
    return make_config(merged([tables, given]), path or "the bundled description")


def _cleaning_of(described: EnsembleConfig, given: dict[str, Any]) -> CleaningOptions:
    """How trees are cleaned; it must be the same for all members."""
    members = described.members()
    cleaning = members[0].options.treebank.cleaning
    if any(member.options.treebank.cleaning != cleaning for member in members):
        raise SettingsError(
            "families have different treebank.cleaning; all members of an ensemble must be trained "
            "on the same trees"
        )
    for name, value in given.items():
        if getattr(cleaning, name) != value:
            raise SettingsError(
                f"the families of the description set {name} themselves; set it there, at the top "
                "level, or by an option"
            )
    return cleaning


def _resumption(folder: Path, described: EnsembleConfig) -> dict[str, str]:
    """The message for a folder with finished members, by the stage at whose beginning it is."""
    from eigentree.constituency.ensemble.model_folder import member_path

    members = described.members()
    n_finished = sum(member_path(folder, member.name).exists() for member in members)
    if not n_finished:
        return {}
    return {
        "members": f"{folder} has {n_finished} of {counted(len(members), 'member')}; those of the "
        "same trees, settings and seed are kept"
    }


@contextmanager
def _interruptible(folder: Path, quiet: bool) -> Iterator[None]:
    """Report how to resume after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        message(f"interrupted; the same command resumes from {folder}", quiet=quiet)
        raise


def _report_folder(folder: Path, described: EnsembleConfig, quiet: bool) -> None:
    from eigentree.constituency.ensemble.model_folder import sizes_of

    size, work = sizes_of(folder, described)
    parts = [
        counted(len(described.members()), "member"),
        counted(len(described.combination), "combination"),
        f"{size / 1e6:.1f} MB",
    ]
    message(f"wrote {folder}: {', '.join(parts)}", quiet=quiet)
    if work:
        message(
            f"{folder / 'work'} ({work / 1e6:.1f} MB) is needed for further training only",
            quiet=quiet,
        )


def _score(
    parser: EnsembleParser, dev: str, pairs: Sequence[tuple[Tree, Tree]], quiet: bool
) -> None:
    """Parse held-out trees with gold tags, and with the tagger's, and report all scores."""
    compile_kernels("parsing", quiet=quiet)
    max_words = parser.options.max_words
    fitting = [pair for pair in pairs if len(pair[1].words()) <= max_words]
    if len(fitting) < len(pairs):
        number = counted(len(pairs) - len(fitting), "sentence")
        message(f"{dev}: {number} of more than {max_words} words skipped", quiet=quiet)
    conditions = [("gold tags", False)] if fitting else []
    if fitting and parser.tagger is not None:
        conditions.append(("own tags", True))
    for name, untagged in conditions:
        rows = _scores(parser, fitting, untagged=untagged, doing=f"parsing {dev}", quiet=quiet)
        message(f"{dev}, {name} (EVALB, all lengths):", quiet=quiet)
        width = max(len(what) for what, _ in rows)
        for what, f1 in rows:
            shown = "not defined" if f1 is None else f"F1 {100 * f1:.2f}"
            message(f"  {what:<{width}}  {shown}", quiet=quiet)


def _scores(
    parser: EnsembleParser,
    pairs: Sequence[tuple[Tree, Tree]],
    *,
    untagged: bool,
    doing: str,
    quiet: bool,
) -> list[tuple[str, float | None]]:
    """F1 of members and combinations on held-out trees, given as written and cleaned."""
    import numpy as np

    from eigentree.constituency.ensemble.diversity import compare
    from eigentree.evaluation.parseval import score
    from eigentree.evaluation.settings import EVALB_COLLINS
    from eigentree.sentence_input import PreparedSentence

    described = parser.stacking.config
    names: dict[str, list[str]] = {family.name: [] for family in described.family}
    for member in described.members():
        names[member.family].append(member.name)
    matched, total = (
        {name: np.zeros(len(members_of)) for name, members_of in names.items()} for _ in range(2)
    )
    answers: dict[str, list[Tree]] = {each.name: [] for each in described.combination}
    best: list[Tree] = []
    given = [(tree.words(), None if untagged else tree.tags()) for _, tree in pairs]
    every = parser.every_output(given)
    for (gold, clean), (readings, combined) in zip(
        pairs, track(every, doing, len(pairs), quiet=quiet), strict=True
    ):
        for name, answer in combined.items():
            answers[name].append(answer.tree)
        tags = answers[described.combination[-1].name][-1].tags()
        flat = parser.backbones[0].flat(PreparedSentence(clean.words(), tags)).tree
        assert flat is not None  # there are words
        candidates: list[Tree] = []
        for family, reading in readings.items():
            # The place of members without a tree is -1, so the last tree is theirs.
            trees = [*reading.trees, flat]
            candidates += trees
            compared = compare([gold], trees, EVALB_COLLINS)
            matched[family] += compared.matched[0][reading.choice]
            total[family] += compared.total[0][reading.choice]
        best.append(candidates[int(np.argmax(compare([gold], candidates, EVALB_COLLINS).f1[0]))])
    members = [name for of_family in names.values() for name in of_family]
    of_members = np.concatenate(
        [2.0 * matched[name] / np.maximum(1.0, total[name]) for name in names]
    )
    golds = [gold for gold, _ in pairs]
    highest = int(np.argmax(of_members))
    return [
        (f"mean of {counted(len(members), 'member')}", float(of_members.mean())),
        (f"best member, {members[highest]}", float(of_members[highest])),
        *((_is_last(name, described), score(golds, answers[name]).all.f1) for name in answers),
        ("best trees of all members", score(golds, best).all.f1),
    ]


def _is_last(name: str, described: EnsembleConfig) -> str:
    return f"{name}, the ensemble" if name == described.combination[-1].name else name


# info, and inspect ------------------------------------------------------------------------


def show(report: dict[str, Any], limit: int = 0, *, ascii_only: bool = False) -> None:  # noqa: ARG001
    """Print it; there is nothing that is limited, or beyond ASCII."""
    from rich.table import Table

    console = result_console()
    trained, tagger, members = report["trained"], report["tagger"], report["members"]
    work = report["bytes_of_work"]
    console.print(
        f"{report['file']}: {report['title']}, {counted(len(members), 'member')}, "
        f"{report['bytes'] / 1e6:.2f} MB" + (f" and {work / 1e6:.2f} MB of work" if work else "")
    )
    console.print(
        f"trained on {counted(trained['trees'], 'tree')}, {counted(trained['words'], 'word')}, "
        f"seed {trained['seed']}"
    )
    console.print(
        "no tagger" if tagger is None else f"tagger with {counted(tagger['tags'], 'tag')}"
    )
    columns = ("family", "method", "noise", "sigma", "members", "states", "parameters", "MB")
    table = Table(*columns, box=None, pad_edge=False)
    for column in table.columns[3:]:
        column.justify = "right"
    alike: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for member in members:
        alike.setdefault((member["family"], member["sigma"]), []).append(member)
    for (family, sigma), group in alike.items():
        first, number = group[0], len(group)
        table.add_row(
            family,
            first["method"],
            first["noise"],
            f"{sigma:g}",
            str(number),
            str(max(member["states"] for member in group)),
            f"{sum(member['parameters'] for member in group) / number:,.0f}",
            f"{sum(member['bytes'] for member in group) / number / 1e6:.2f}",
        )
    console.print()
    console.print(table)
    console.print("\nparameters that are not zero and MB are means over members")
    console.print()
    for line in _network(report["combinations"]):
        console.print(line)
    for combination in report["combinations"]:
        if "weights" in combination:
            _show_reranker(console, combination)


def _network(combinations: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The combinations as an outline, from the last one down to the inputs."""
    by_name = {each["name"]: each for each in combinations}
    shown: set[str] = set()
    # Combinations that are no inputs are at the same level as the last one.
    used = {name for each in combinations for name in each["inputs"]}
    waiting = [(each["name"], 0) for each in combinations if each["name"] not in used]
    while waiting:
        name, depth = waiting.pop()
        indent = "  " * depth
        if name not in by_name:
            yield f"{indent}{name}"
        elif name in shown:
            yield f"{indent}{name}, as above"
        else:
            shown.add(name)
            yield f"{indent}{name}: {by_name[name]['how']} of"
            waiting.extend((each, depth + 1) for each in reversed(by_name[name]["inputs"]))


def _show_reranker(console: Any, combination: dict[str, Any]) -> None:
    from rich.table import Table

    console.print(f"\n{combination['name']}", style="bold")
    end = "" if combination["converged"] else ", training not converged"
    console.print(f"  {combination['features']:,} features{end}")
    table = Table("feature of members", "weight", box=None)
    table.columns[1].justify = "right"
    for name, weight in combination["weights"].items():
        table.add_row(name, f"{weight:.3f}")
    console.print(table)
