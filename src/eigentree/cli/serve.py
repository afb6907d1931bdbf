"""The command ``serve``: models behind HTTP."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from eigentree._core.optional import how_to_install
from eigentree.cli._common import FAILED, WorkFailedError, message
from eigentree.cli._options import QuietOption
from eigentree.data.catalogue import CONSTITUENTS, DEPENDENCIES, bundled_path
from eigentree.errors import SettingsError
from eigentree.web.limits import Limits, option_of

_NEEDED = ("fastapi", "uvicorn")
_MAX_WORKERS = 4


def _limit(name: str) -> Any:
    """An option for a field of `Limits`, with its description and default."""
    field = Limits.model_fields[name]
    description = str(field.description)
    return typer.Option(
        option_of(name),
        help=f"{description[0].upper()}{description[1:]}.",
        show_default=f"{field.default:g}"
        if isinstance(field.default, float)
        else str(field.default),
        rich_help_panel="Limits",
    )


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="A constituency model, or the folder of an ensemble; repeatable.",
        ),
    ] = None,
    dependencies: Annotated[
        list[str] | None,
        typer.Option("--dependencies", metavar="MODEL", help="A dependency model; repeatable."),
    ] = None,
    brackets: Annotated[
        list[str] | None,
        typer.Option("--brackets", metavar="MODEL", help="A bracketing model; repeatable."),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8600,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", metavar="NAME", help="Host name to accept in requests; repeatable."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of worker processes.",
            show_default="number of processors, up to 4",
        ),
    ] = None,
    get: Annotated[
        str | None,
        typer.Option(
            "--get", metavar="PATH", help="Print the response to a GET of this path, and exit."
        ),
    ] = None,
    body_bytes: Annotated[int | None, _limit("body_bytes")] = None,
    body_seconds: Annotated[float | None, _limit("body_seconds")] = None,
    characters: Annotated[int | None, _limit("characters")] = None,
    run_characters: Annotated[int | None, _limit("run_characters")] = None,
    sentences: Annotated[int | None, _limit("sentences")] = None,
    tokens: Annotated[int | None, _limit("tokens")] = None,
    best: Annotated[int | None, _limit("best")] = None,
    constraints: Annotated[int | None, _limit("constraints")] = None,
    sentence_seconds: Annotated[float | None, _limit("sentence_seconds")] = None,
    request_seconds: Annotated[float | None, _limit("request_seconds")] = None,
    waiting: Annotated[int | None, _limit("waiting")] = None,
    stop_seconds: Annotated[float | None, _limit("stop_seconds")] = None,
    quiet: QuietOption = False,
) -> None:
    """Serve models over HTTP: a JSON API and a web interface.

    The default models are the bundled English ones.  Requests name a model by its file; the first
    of each kind is the default.  The service is reachable from this machine only, unless --host is
    given.  API documentation is at /docs, request limits at /api/limits.  Requires the extra serve:
    pip install '.[serve]' in the source folder.
    """
    _check_installed()
    from eigentree.web.app import Service
    from eigentree.web.models import name_models
    from eigentree.web.server import get_once, is_loopback
    from eigentree.web.server import serve as serve_until_signal
    from eigentree.web.worker_pool import WorkerDiedError

    limits = Limits.given(
        body_bytes=body_bytes, body_seconds=body_seconds, characters=characters,
        run_characters=run_characters,
        sentences=sentences, tokens=tokens, best=best, constraints=constraints,
        sentence_seconds=sentence_seconds, request_seconds=request_seconds, waiting=waiting,
        stop_seconds=stop_seconds,
    )  # fmt: skip
    if not (model or dependencies or brackets):
        model, dependencies = [str(bundled_path(CONSTITUENTS))], [str(bundled_path(DEPENDENCIES))]
    models = name_models(
        [("constituents", path) for path in model or ()]
        + [("dependencies", path) for path in dependencies or ()]
        + [("brackets", path) for path in brackets or ()]
    )

    def report(line: str) -> None:
        message(line, quiet=quiet)

    def announce(address: str) -> None:
        message(f"serving at {address} (stop with Ctrl-C)", quiet=quiet)
        if not is_loopback(host):
            message(
                f"warning: {host} is reachable from other machines and there is no authentication",
                quiet=quiet,
            )

    try:
        if get is not None:
            status, body = get_once(Service(models, 1, limits), get)
            typer.echo(body.decode("utf-8"))
            if status >= 400:
                raise typer.Exit(FAILED)
            return
        n_workers = workers or min(os.cpu_count() or 1, _MAX_WORKERS)
        service = Service(models, n_workers, limits)
        serve_until_signal(service, host, port, allow_host or [], announce, report)
    except WorkerDiedError as error:
        raise WorkFailedError(str(error)) from error


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"eigentree serve requires {' and '.join(missing)}; {how_to_install('serve')}"
        )
