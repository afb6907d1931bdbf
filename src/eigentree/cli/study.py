"""The verb ``experiment``: a grid of estimators, states and settings, with a report."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from eigentree.cli._common import FAILED, check_inputs, message, progress
from eigentree.cli._options import JobsOption, QuietOption
from eigentree.cli._output import warn_of_compilation
from eigentree.cli._training import Stages
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.studies import Study
    from eigentree.studies.runner import Done, Tell
    from eigentree.studies.trials import Tried
    from eigentree.types import Progress


def experiment(
    study: Annotated[
        str | None, typer.Argument(help="A study file, in TOML; without one, options say it all.")
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output-folder", "-o", help="Folder for the report and what is done."),
    ] = "",
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where the study file's trees are, if not beside it."),
    ] = None,
    train: Annotated[str | None, typer.Option(help="Training trees.")] = None,
    dev: Annotated[
        str | None, typer.Option(help="Held-out trees that the best models are chosen on.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Held-out trees that are scored and decide nothing.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods with their default settings, with commas, in place of models."),
    ] = None,
    states: Annotated[
        str | None, typer.Option(help="Numbers of latent states, with commas.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds, with commas.")] = None,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Take parts off the spectral models, one at a time.")
    ] = False,
    sizes: Annotated[
        str | None, typer.Option(help="Learning curves: shares of the trees, such as 0.1,0.5,1.")
    ] = None,
    tags: Annotated[
        Literal["gold", "own"] | None,
        typer.Option(help="Parse with gold tags, or words alone.", show_default="gold"),
    ] = None,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Compare estimators, states and settings on a treebank.

    Options replace what the study file says.  Each cell of the grid, one training with its
    scores, is kept in the output folder once it is done, and so is each ensemble, so that the
    same command goes on where it was interrupted.  A cell that fails leaves the others be and
    makes the exit code 1.
    """
    if not output:
        raise SettingsError("no folder for the report is named; give one with --output-folder")
    if Path(output).exists() and not Path(output).is_dir():
        raise SettingsError(f"{output}: is a file; the report needs a folder")
    given = {
        "train": train,
        "dev": dev,
        "test": test,
        "model": methods and [{"method": method} for method in _split(methods)],
        "states": states and [_number(one, "--states") for one in _split(states)],
        "seeds": seeds and [_number(one, "--seeds") for one in _split(seeds)],
        "tags": tags,
    }
    kind = _kind(study, data)
    if kind is not None:
        others = {**given, "methods": methods, "ablations": ablations, "sizes": sizes}
        del others["model"]
        _run_kind(kind, study, data, others, output, jobs, quiet)
        return
    wanted = _study(study, data, given, ablations, sizes)
    check_inputs([str(path) for path in (wanted.train, *wanted.parts.values())])

    from eigentree.studies import run_study
    from eigentree.studies.report.constituency import summary

    has_em = any("em" in model.method for model in wanted.model)
    with _telling(quiet, em=has_em) as (tell, stages):
        result = run_study(
            wanted, output, jobs=jobs, progress=tell, stages=stages, command=_command()
        )
    for sentence in summary(result.figures):
        typer.echo(sentence)
    typer.echo(f"report: {result.report}")
    for name, problem in result.failures.items():
        message(f"eigentree: {name}: {problem}")
    if result.failures:
        raise typer.Exit(FAILED)


class _Kind(NamedTuple):
    """A kind of study other than of constituency parsers: what makes and what runs it."""

    make: Callable[[dict[str, Any], str], Any]
    run: Callable[..., Any]


def _kind(file: str | None, data: str | None) -> _Kind | None:
    """The kind of study that a file says it is; None for one of constituency parsers."""
    from eigentree.studies.constituency import study_tables

    name = None if file is None else study_tables(file, data).get("kind")
    if name is None:
        return None
    if name == "dependencies":
        from eigentree.studies import dependency

        return _Kind(dependency.make_dependency_study, dependency.run_dependency_study)
    if name == "bracketing":
        from eigentree.studies import bracketing

        return _Kind(bracketing.make_bracketing_study, bracketing.run_bracketing_study)
    raise SettingsError(
        f"{file}: kind is {name!r}; it must be dependencies or bracketing, or not be there"
    )


def _run_kind(
    kind: _Kind,
    file: str | None,
    data: str | None,
    given: dict[str, Any],
    output: str,
    jobs: int,
    quiet: bool,
) -> None:
    from eigentree.studies.constituency import study_tables

    for name, value in given.items():
        if value:
            raise SettingsError(
                f"--{name} is for studies of constituency parsers; {file} says it all itself"
            )
    study = kind.make(study_tables(str(file), data), str(file))
    check_inputs([str(path) for path in study.files.values()])
    began = time.monotonic()

    def tell(tried: Tried) -> None:
        if tried.trial is None:
            if tried.done:
                message(f"{tried.done} of {tried.total} were done before", quiet=quiet)
            return
        so_far = f"{tried.done} of {tried.total} after {time.monotonic() - began:.0f} s"
        what = "done" if tried.problem is None else f"failed: {tried.problem}"
        message(f"{so_far}: {tried.trial}: {what}", quiet=quiet)

    result = kind.run(study, output, jobs=jobs, progress=tell, command=_command())
    typer.echo(f"report: {result.report}")
    for name, problem in result.failures.items():
        message(f"eigentree: {name}: {problem}")
    if result.failures:
        raise typer.Exit(FAILED)


def _study(
    file: str | None,
    data: str | None,
    given: dict[str, Any],
    ablations: bool,
    sizes: str | None,
) -> Study:
    """The study of the file, with what the options say in its place."""
    from eigentree.studies.constituency import make_study, study_tables

    tables: dict[str, Any] = {}
    if file is not None:
        tables = study_tables(file, data)
    elif data is not None:
        raise SettingsError("--data says where a study file's trees are; there is no study file")
    tables |= {name: value for name, value in given.items() if value}
    if ablations:
        tables.setdefault("ablations", {})
    if sizes is not None:
        shares = [_number(one, "--sizes", float) for one in _split(sizes)]
        tables["learning_curve"] = {**tables.get("learning_curve", {}), "sizes": shares}
    return make_study(tables, file or "options")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str, option: str, kind: type = int) -> Any:
    try:
        return kind(text)
    except ValueError:
        right = "whole numbers" if kind is int else "numbers"
        raise SettingsError(f"{option} has {text!r}; it must be {right} with commas") from None


def _command() -> str:
    return shlex.join(["eigentree", *sys.argv[1:]])


def _without_bar(steps: int) -> None:
    pass


@contextmanager
def _telling(quiet: bool, *, em: bool) -> Iterator[tuple[Tell, Progress | None]]:
    """Tell how far the work is: by a bar on a terminal, else by a line for each cell.

    Stages of an ensemble are told where there is no bar.
    """
    began = time.monotonic()
    has_bar = sys.stderr.isatty()
    with ExitStack() as shown:
        advance: Callable[[int], None] = _without_bar
        lines = shown.enter_context(ExitStack())
        stages: Stages | None = None

        def tell_stage(stage: str, share: float) -> None:
            nonlocal stages
            if stages is None:
                stages = lines.enter_context(Stages(quiet))
            stages(stage, share)

        def tell(done: Done) -> None:
            nonlocal advance, stages
            lines.close()
            stages = None
            if done.cell is None:
                if done.done:
                    message(f"{done.done} of {done.total} cells were done before", quiet=quiet)
                if done.done < done.total:
                    warn_of_compilation(*(["em"] if em else []), "parsing", quiet=quiet)
                if has_bar:
                    advance = shown.enter_context(progress("cells", done.total, quiet=quiet))
                advance(done.done)
                return
            advance(1)
            so_far = f"{done.done} of {done.total} after {time.monotonic() - began:.0f} s"
            what = f"failed: {done.problem}"
            if done.record is not None:
                f1 = done.dev_f1
                what = "F1 not defined" if f1 is None else f"F1 {100 * f1:.2f} on dev"
            message(f"{so_far}: {done.cell}: {what}", quiet=quiet or has_bar)

        yield tell, None if has_bar else tell_stage
