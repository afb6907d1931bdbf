"""The command ``experiment``: compares models on a treebank and writes a report."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentree.cli._common import FAILED, message, progress
from eigentree.cli._files import check_inputs
from eigentree.cli._options import JobsOption, QuietOption
from eigentree.cli._output import compile_kernels
from eigentree.cli._training import Stages
from eigentree.errors import SettingsError

if TYPE_CHECKING:
    from eigentree.studies.runner import RunProgress
    from eigentree.types import Progress

CONSTITUENCY = "constituency"


def experiment(
    study: Annotated[
        str | None, typer.Argument(help="Study file (TOML); optional if options give everything.")
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output-folder", "-o", help="Folder for the report and finished runs."),
    ] = "",
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder of the data; by default that of the study file."),
    ] = None,
    train: Annotated[str | None, typer.Option(help="Training trees.")] = None,
    dev: Annotated[
        str | None, typer.Option(help="Held-out trees on which the best models are selected.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Held-out trees that are scored but not used for selection.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(help="Comma-separated methods with default settings; replace the models."),
    ] = None,
    states: Annotated[
        str | None, typer.Option(help="Comma-separated numbers of latent states.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Comma-separated seeds.")] = None,
    ablations: Annotated[
        bool,
        typer.Option("--ablations", help="Remove components of spectral models, one at a time."),
    ] = False,
    sizes: Annotated[
        str | None,
        typer.Option(help="Learning curves: fractions of the training trees, such as 0.1,0.5,1."),
    ] = None,
    tags: Annotated[
        Literal["gold", "own"] | None,
        typer.Option(help="Parse with gold tags, or words only.", show_default="gold"),
    ] = None,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Compare methods, states and settings on a treebank.

    Options override the study file. Each finished run (a model with its scores) is saved in the
    output folder, so the same command resumes an interrupted study. A failed run does not stop
    the others; the exit code is then 1.
    """
    if not output:
        raise SettingsError("no output folder; give one with --output-folder")
    if Path(output).exists() and not Path(output).is_dir():
        raise SettingsError(f"{output}: is a file; the output must be a folder")
    options = {
        "train": train,
        "dev": dev,
        "test": test,
        "methods": methods,
        "states": states,
        "seeds": seeds,
        "ablations": ablations,
        "sizes": sizes,
        "tags": tags,
    }
    tables = _tables(study, data, {name: value for name, value in options.items() if value})

    from eigentree.studies.runner import run_study
    from eigentree.studies.settings import make_study

    chosen = make_study(tables, study or "options")
    check_inputs([str(path) for path in chosen.files.values()])
    with _display(tables, quiet=quiet) as (show, stages):
        result = run_study(
            chosen, output, jobs=jobs, progress=show, stages=stages, command=_command()
        )
    for sentence in result.summary:
        typer.echo(sentence)
    typer.echo(f"report: {result.report}")
    for name, problem in result.failures.items():
        message(f"eigentree: {name}: {problem}")
    if result.failures:
        raise typer.Exit(FAILED)


def _tables(file: str | None, data: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The tables of the study file, overridden by options."""
    from eigentree.studies.settings import study_tables

    if file is None and data is not None:
        raise SettingsError("--data is the folder of a study file's data; give a study file")
    tables = {} if file is None else study_tables(file, data)
    if options and tables.get("kind", CONSTITUENCY) != CONSTITUENCY:
        raise SettingsError(
            f"--{next(iter(options))} is for studies of constituency parsers; edit {file} instead"
        )
    for name, value in options.items():
        if name == "methods":
            tables["model"] = [{"method": method} for method in _split(value)]
        elif name in ("states", "seeds"):
            tables[name] = [_number(one, f"--{name}") for one in _split(value)]
        elif name == "ablations":
            tables.setdefault("ablations", {})
        elif name == "sizes":
            shares = [_number(one, "--sizes", float) for one in _split(value)]
            tables["learning_curve"] = {**tables.get("learning_curve", {}), "sizes": shares}
        else:
            tables[name] = value
    return tables


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str, option: str, kind: type = int) -> Any:
    try:
        return kind(text)
    except ValueError:
        expected = "comma-separated integers" if kind is int else "comma-separated numbers"
        raise SettingsError(f"{option} has {text!r}; it must be {expected}") from None


def _command() -> str:
    return shlex.join(["eigentree", *sys.argv[1:]])


def _no_bar(steps: int) -> None:
    pass


@contextmanager
def _display(
    tables: dict[str, Any], *, quiet: bool
) -> Iterator[tuple[Callable[[RunProgress], None], Progress | None]]:
    """Show progress by a bar on a terminal, otherwise by a line for each run.

    Stages of runs that use all processes are shown only without a bar.
    """
    began = time.monotonic()
    has_bar = sys.stderr.isatty()
    with ExitStack() as shown:
        advance: Callable[[int], None] = _no_bar
        lines = shown.enter_context(ExitStack())
        stages: Stages | None = None

        def show_stage(stage: str, share: float) -> None:
            nonlocal stages
            if stages is None:
                stages = lines.enter_context(Stages(quiet))
            stages(stage, share)

        def begin(at: RunProgress) -> None:
            nonlocal advance
            if at.done:
                message(f"{at.done} of {at.total} runs were done before", quiet=quiet)
            if at.done < at.total:
                kind = tables.get("kind", CONSTITUENCY)
                methods = [model["method"] for model in tables.get("model", [])]
                is_em = kind == CONSTITUENCY and any("em" in method for method in methods)
                kernels = ["em"] if is_em else []
                kernels.append("parsing" if kind == CONSTITUENCY else kind)
                compile_kernels(*kernels, quiet=quiet)
            if has_bar:
                advance = shown.enter_context(
                    progress("training and parsing", at.total, unit="run", quiet=quiet)
                )
            advance(at.done)

        def show(at: RunProgress) -> None:
            nonlocal stages
            lines.close()
            stages = None
            if at.run is None:
                begin(at)
                return
            advance(1)
            so_far = f"{at.done} of {at.total} after {time.monotonic() - began:.0f} s"
            result = f"failed: {at.problem}" if at.headline is None else at.headline
            message(f"{so_far}: {at.run}: {result}", quiet=quiet or has_bar)

        yield show, None if has_bar else show_stage
