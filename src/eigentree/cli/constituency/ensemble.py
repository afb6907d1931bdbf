"""The verb ``ensemble``: many parsers that differ, trained and looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentree.cli._common import (
    JobsOption,
    JsonOption,
    QuietOption,
    SeedOption,
    check_inputs,
    message,
    result_console,
    track,
)
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
    cleaning_settings,
    held_out_trees,
    tell_of_treebank,
)
from eigentree.errors import SettingsError, TreebankFormatError, counted

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.config import Combination, Description
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.ensemble.reranker import Reranker
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.tree import Tree


ensemble = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Train many parsers that differ and combine their trees.",
)


@ensemble.command()
def train(
    files: TreesArgument,
    output: Annotated[
        str, typer.Option("--output-folder", "-o", help="The folder of the ensemble.")
    ],
    description: Annotated[
        str | None,
        typer.Option(
            "--description",
            help="A TOML file with members and combinations; without one, the package's own.",
        ),
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="Held-out trees to score members and combinations on.")
    ] = None,
    keep_function_tags: FunctionTagsOption = False,
    cut_tags: CutTagsOption = False,
    function_separators: SeparatorsOption = None,
    trace_labels: TraceLabelsOption = None,
    trace_words: TraceWordsOption = None,
    tagger: Annotated[
        bool, typer.Option("--tagger/--no-tagger", help="Train a tagger on the same trees.")
    ] = True,
    on_error: OnErrorOption = "raise",
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    quiet: QuietOption = False,
) -> None:
    """Learn an ensemble of parsers from a treebank.

    What is done is kept in the folder, so that the same command goes on where it was interrupted.
    """
    from eigentree.constituency.ensemble.training import train_ensemble
    from eigentree.treebank.reader import read_treebank

    folder = Path(output)
    _check_folder(folder)
    check_inputs([*files, *([] if dev is None else [dev])])
    cleaning_given = cleaning_settings(
        keep_function_tags, cut_tags, function_separators, trace_labels, trace_words
    )
    described = _described(description, cleaning_given)
    cleaning = _cleaning_of(described, cleaning_given)
    treebank = read_treebank(files, cleaning=cleaning, on_error=on_error)
    tell_of_treebank(treebank, quiet)
    if not treebank.trees:
        raise TreebankFormatError(f"{files[0]}: no tree to learn from; at least one is needed")
    # Read before anything is learned, so that what is wrong with it is told at once.
    held_out = None if dev is None else held_out_trees(dev, cleaning, on_error)
    has_em = any("em" in family.method for family in described.family)
    warn_of_compilation(quiet=quiet, parsing=described.has_rerankers, em=has_em)
    notes = _going_on(folder, described)
    with Stages(quiet, notes) as stages, _interruptible(folder, quiet):
        parser = train_ensemble(
            treebank.trees,
            described,
            folder,
            wrapper=treebank.wrapper,
            tagger=tagger,
            seed=seed,
            jobs=jobs,
            progress=stages,
        )
    _tell_written(folder, described, quiet)
    if held_out is not None:
        _score(parser, str(dev), held_out, quiet)


@ensemble.command()
def info(
    folder: Annotated[str, typer.Argument(help="The folder of an ensemble.")],
    as_json: JsonOption = False,
) -> None:
    """Say what is in an ensemble: members, combinations and rerankers.

    The weights of a reranker are those of what members say of a tree, in units of a standard
    deviation within a sentence; those of its other features have no names to be told by.
    """
    from eigentree.constituency.ensemble.parser import EnsembleParser

    parser = EnsembleParser.load(folder, low_memory=True, verify=False)
    report = _report(parser, Path(folder))
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _show(report)


# train ------------------------------------------------------------------------------------


def _check_folder(folder: Path) -> None:
    """Refuse a place for the ensemble before the work rather than after it."""
    from eigentree.constituency.ensemble.model_folder import (
        index_path,
        member_path,
        readings_path,
        reranker_path,
    )

    of_fold = readings_path(folder, 0, "any").parent
    parts = (member_path(folder, "any"), reranker_path(folder, "any"), of_fold)
    for path in (folder, *(part.parent for part in parts), of_fold):
        if path.exists() and not path.is_dir():
            raise SettingsError(f"{path}: is a file; an ensemble needs a folder")
    if not os.access(folder if folder.exists() else folder.parent, os.W_OK):
        raise SettingsError(f"{folder}: can't be written; name a folder within one of your own")
    begun = (index_path(folder), member_path(folder, "any").parent)
    if folder.exists() and any(folder.iterdir()) and not any(path.exists() for path in begun):
        raise SettingsError(f"{folder}: holds other files than an ensemble's; name a new folder")


def _described(path: str | None, cleaning_given: dict[str, Any]) -> Description:
    from eigentree.constituency.ensemble.config import DEFAULT, make_description
    from eigentree.constituency.settings import merged, read_tables

    tables = read_tables(DEFAULT if path is None else path)
    given = {"treebank": {"cleaning": cleaning_given}} if cleaning_given else {}
    return make_description(merged([tables, given]), path or "the package's description")


def _cleaning_of(described: Description, given: dict[str, Any]) -> CleaningOptions:
    """How trees are cleaned, which must be the same for all members."""
    members = described.members()
    cleaning = members[0].options.treebank.cleaning
    if any(member.options.treebank.cleaning != cleaning for member in members):
        raise SettingsError(
            "families have treebank.cleaning of their own that differ; all members of an ensemble "
            "must learn from the same trees"
        )
    for name, value in given.items():
        if getattr(cleaning, name) != value:
            raise SettingsError(
                f"the families of the description say {name} themselves; say it there, or at its "
                "top, or by an option"
            )
    return cleaning


def _going_on(folder: Path, described: Description) -> dict[str, str]:
    """What is to be said when the work begins in a folder where some was done before."""
    from eigentree.constituency.ensemble.model_folder import member_path

    members = described.members()
    there = sum(member_path(folder, member.name).exists() for member in members)
    if not there:
        return {}
    return {
        "members": f"{folder} has {there} of {counted(len(members), 'member')}; what was made from "
        "the same trees, settings and seed is kept"
    }


@contextmanager
def _interruptible(folder: Path, quiet: bool) -> Iterator[None]:
    """Say how to go on after an interruption."""
    try:
        yield
    except KeyboardInterrupt:
        message(f"interrupted; the same command goes on with what is in {folder}", quiet=quiet)
        raise


def _tell_written(folder: Path, described: Description, quiet: bool) -> None:
    kept, work = _sizes(folder, described)
    parts = [
        counted(len(described.members()), "member"),
        counted(len(described.combination), "combination"),
        f"{kept / 1e6:.1f} MB",
    ]
    message(f"wrote {folder}: {', '.join(parts)}", quiet=quiet)
    if work:
        message(f"{folder / 'work'} ({work / 1e6:.1f} MB) is for more training alone", quiet=quiet)


def _sizes(folder: Path, described: Description) -> tuple[int, int]:
    """Bytes of the files that the ensemble is made of, and of those of ``work``."""
    from eigentree.constituency.ensemble.model_folder import index_path, member_path, reranker_path

    # The folder may hold parts of another ensemble, whose training was begun later.
    parts = [index_path(folder)]
    parts += [member_path(folder, member.name) for member in described.members()]
    parts += [reranker_path(folder, each.name) for each in described.combination if each.is_trained]
    work = (folder / "work").rglob("*.egt")
    return sum(path.stat().st_size for path in parts), sum(path.stat().st_size for path in work)


def _score(
    parser: EnsembleParser, dev: str, held_out: Sequence[tuple[Tree, Tree]], quiet: bool
) -> None:
    """Parse the held-out trees by their own tags, and by the tagger's, and score all answers."""
    warn_of_compilation(quiet=quiet)
    most = parser.options.max_words
    fitting = [pair for pair in held_out if len(pair[1].words()) <= most]
    if len(fitting) < len(held_out):
        number = counted(len(held_out) - len(fitting), "sentence")
        message(f"{dev}: {number} of more than {most} words left out", quiet=quiet)
    ways = [("gold tags", False)] if fitting else []
    if fitting and parser.tagger is not None:
        ways.append(("own tags", True))
    for name, own in ways:
        rows = _scores(parser, fitting, own=own, doing=f"parsing {dev}", quiet=quiet)
        message(f"{dev}, {name} (EVALB, all lengths):", quiet=quiet)
        width = max(len(what) for what, _ in rows)
        for what, f1 in rows:
            shown = "not defined" if f1 is None else f"F1 {100 * f1:.2f}"
            message(f"  {what:<{width}}  {shown}", quiet=quiet)


def _scores(
    parser: EnsembleParser,
    pairs: Sequence[tuple[Tree, Tree]],
    *,
    own: bool,
    doing: str,
    quiet: bool,
) -> list[tuple[str, float | None]]:
    """F1 of members and combinations on held-out trees, as they stand and cleaned."""
    import numpy as np

    from eigentree.constituency.ensemble.diversity import compare
    from eigentree.evaluation.parseval import score
    from eigentree.evaluation.settings import EVALB_COLLINS
    from eigentree.sentence_input import PreparedSentence

    described = parser.network.description
    names: dict[str, list[str]] = {family.name: [] for family in described.family}
    for member in described.members():
        names[member.family].append(member.name)
    matched, total = ({name: np.zeros(len(own)) for name, own in names.items()} for _ in range(2))
    answers: dict[str, list[Tree]] = {each.name: [] for each in described.combination}
    best: list[Tree] = []
    given = [(tree.words(), None if own else tree.tags()) for _, tree in pairs]
    found = parser.every_answer(given)
    for (gold, clean), (readings, combined) in zip(
        pairs, track(found, doing, len(pairs), quiet=quiet), strict=True
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


def _is_last(name: str, described: Description) -> str:
    return f"{name}, the ensemble" if name == described.combination[-1].name else name


# info -------------------------------------------------------------------------------------


def _report(parser: EnsembleParser, folder: Path) -> dict[str, Any]:
    described = parser.network.description
    about = dict(parser.description)
    about.pop("members")
    members = _members(parser, folder)
    kept, work = _sizes(folder, described)
    return {
        "folder": str(folder),
        "title": described.title,
        "bytes": kept,
        "bytes_of_work": work,
        "trained": about,
        "wrapper": parser.wrapper,
        "tagger": None if parser.tagger is None else {"tags": len(parser.tagger.tagset)},
        "members": members,
        "combinations": [
            _combination(each, parser.network.rerankers.get(each.name))
            for each in described.combination
        ],
    }


def _members(parser: EnsembleParser, folder: Path) -> list[dict[str, Any]]:
    from eigentree.constituency.ensemble.model_folder import member_path

    # Opened by the parser, which finds those that are not its own.
    found: dict[str, list[tuple[int, int]]] = {}
    for number in range(len(parser.backbones)):
        for family, grammar in parser.members(number):
            sizes = int(grammar.n_states.max()), grammar.n_parameters
            found.setdefault(family, []).append(sizes)
    waiting = {family: iter(sizes) for family, sizes in found.items()}
    members = []
    for member in parser.network.description.members():
        states, parameters = next(waiting[member.family])
        members.append(
            {
                "name": member.name,
                "family": member.family,
                "method": member.options.method,
                "noise": member.options.noise.scheme,
                "sigma": member.options.noise.sigma,
                "states": states,
                "parameters": parameters,
                "bytes": member_path(folder, member.name).stat().st_size,
            }
        )
    return members


def _combination(combination: Combination, reranker: Reranker | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": combination.name,
        "how": combination.how,
        "inputs": combination.inputs,
    }
    if reranker is None:
        return told | {"price": combination.price}
    weights = zip(reranker.column_names, reranker.model.dense_weights.tolist(), strict=True)
    return told | {
        "features": len(reranker.table),
        "schemata": list(reranker.table.options.schemata),
        "converged": reranker.model.converged,
        "weights": dict(weights),
    }


def _show(report: dict[str, Any]) -> None:
    from rich.table import Table

    console = result_console()
    trained, tagger, members = report["trained"], report["tagger"], report["members"]
    work = report["bytes_of_work"]
    console.print(
        f"{report['folder']}: {report['title']}, {counted(len(members), 'member')}, "
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
    """The combinations as an outline, the last on top and the inputs of each below it."""
    by_name = {each["name"]: each for each in combinations}
    shown: set[str] = set()
    # Combinations that nothing is made of stand beside the last one.
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
    table = Table("what members say", "weight", box=None)
    table.columns[1].justify = "right"
    for name, weight in combination["weights"].items():
        table.add_row(name, f"{weight:.3f}")
    console.print(table)
