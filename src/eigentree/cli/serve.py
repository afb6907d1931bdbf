"""The command ``serve``: models behind HTTP."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Annotated

import typer

from eigentree.cli._common import FAILED, QuietOption, WorkFailedError, message
from eigentree.data.catalogue import CONSTITUENTS, DEPENDENCIES, bundled_path
from eigentree.errors import SettingsError

_NEEDED = ("fastapi", "uvicorn")
_MOST_WORKERS = 4


def _limit(name: str, what: str) -> typer.models.OptionInfo:
    """An option for a field of `eigentree.web.limits.Limits`, which has the default."""
    option: typer.models.OptionInfo = typer.Option(f"--max-{name}", help=what, show_default=False)
    return option


def serve(
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", help="A constituency model, or the folder of an ensemble."),
    ] = None,
    dependencies: Annotated[
        list[str] | None, typer.Option("--dependencies", help="A dependency model.")
    ] = None,
    brackets: Annotated[
        list[str] | None, typer.Option("--brackets", help="A bracketing model.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on (default: this machine only).")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 selects a free port.")
    ] = 8600,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="Allow requests to this host name; may be repeated."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of worker processes.", show_default="one per processor, at most 4"
        ),
    ] = None,
    get: Annotated[
        str | None,
        typer.Option(
            "--get", metavar="PATH", help="Print the response to a GET of this path, and exit."
        ),
    ] = None,
    body_bytes: Annotated[int | None, _limit("body-bytes", "Bytes per request body.")] = None,
    body_seconds: Annotated[
        float | None, _limit("body-seconds", "Seconds to receive a request body.")
    ] = None,
    characters: Annotated[int | None, _limit("characters", "Characters per request.")] = None,
    sentences: Annotated[int | None, _limit("sentences", "Sentences per request.")] = None,
    tokens: Annotated[int | None, _limit("tokens", "Tokens per sentence.")] = None,
    best: Annotated[int | None, _limit("best", "Best trees per sentence.")] = None,
    constraints: Annotated[int | None, _limit("constraints", "Constraints per sentence.")] = None,
    sentence_seconds: Annotated[
        float | None, _limit("sentence-seconds", "Seconds of processing per sentence.")
    ] = None,
    request_seconds: Annotated[
        float | None, _limit("request-seconds", "Seconds from the request body to the response.")
    ] = None,
    waiting: Annotated[int | None, _limit("waiting", "Requests in progress or waiting.")] = None,
    stop_seconds: Annotated[
        float | None,
        _limit("stop-seconds", "Seconds for requests to finish when the service stops."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Serve models over HTTP: JSON in and out, and a page for the browser.

    Without a model, the bundled English models are served.  Each kind of model may be given several
    times; requests select one by its file name, and the first is the default.  The service is
    reachable from this machine only, unless --host is given.  API documentation is at /docs,
    request limits at /api/limits.  Requires the extra: pip install 'eigentree[serve]'.
    """
    _check_installed()
    from eigentree.web.app import Service
    from eigentree.web.limits import Limits
    from eigentree.web.models import name_models
    from eigentree.web.server import get_once, is_loopback
    from eigentree.web.server import serve as serve_until_signal
    from eigentree.web.worker_pool import WorkerDiedError

    limits = Limits.given(
        body_bytes=body_bytes, body_seconds=body_seconds, characters=characters,
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

    def announce(address: str) -> None:
        message(f"serving at {address} (stop with Ctrl-C)", quiet=quiet)
        if not is_loopback(host):
            warning = (
                f"warning: {host} is reachable from other machines and there is no authentication"
            )
            message(warning, quiet=quiet)

    try:
        if get is not None:
            status, body = get_once(Service(models, 1, limits), get)
            typer.echo(body.decode("utf-8"))
            if status >= 400:
                raise typer.Exit(FAILED)
            return
        n_workers = workers or min(os.cpu_count() or 1, _MOST_WORKERS)
        service = Service(models, n_workers, limits)
        serve_until_signal(service, host, port, allow_host or [], announce)
    except WorkerDiedError as error:
        raise WorkFailedError(str(error)) from error


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"eigentree serve needs {' and '.join(missing)}; pip install 'eigentree[serve]'"
        )
