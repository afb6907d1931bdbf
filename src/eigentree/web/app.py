"""The routes of the service: from a request to jobs for workers, and from their answers to JSON."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import HTTPException
from fastapi.responses import FileResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles

from eigentree import __version__
from eigentree.web import requests
from eigentree.web.errors import ServiceError, as_json
from eigentree.web.limits import Limits
from eigentree.web.metrics import Metrics
from eigentree.web.middleware import Guard
from eigentree.web.models import Kind, Served
from eigentree.web.openapi import add_documentation, body_of
from eigentree.web.request_body import ClientGoneError, check_content_type, read_body, read_json
from eigentree.web.requests import (
    AskedSentences,
    BracketRequest,
    DependencyRequest,
    EvaluateRequest,
    ParseRequest,
    Wanted,
)
from eigentree.web.timeouts import Timeouts
from eigentree.web.worker import Doing, Job
from eigentree.web.worker_pool import Crew

HERE = Path(__file__).parent
# Seconds after which one that was sent away may ask again.
_RETRY_AFTER = "2"
_GONE = 499  # as other servers call it; nobody gets it


class Service:
    """What all requests share: models, workers, limits and counts."""

    def __init__(self, models: Sequence[Served], n_workers: int, limits: Limits) -> None:
        self.models = list(models)
        self.n_workers = n_workers
        self.limits = limits
        self.metrics = Metrics()
        self.timeouts = Timeouts()
        self.n_waiting = 0
        self.is_stopping = False
        self._crew: Crew | None = None

    @property
    def crew(self) -> Crew:
        """The workers, once the service has begun."""
        assert self._crew is not None
        return self._crew

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Have workers while this lasts."""
        self._crew = Crew(self.models, self.n_workers, self.limits, self.metrics, self.timeouts)
        try:
            await self._crew.begin()
            yield
        finally:
            await self._crew.end()

    def stop(self) -> None:
        """Let running requests end, but not for long."""
        if not self.is_stopping:
            self.is_stopping = True
            loop = asyncio.get_running_loop()
            loop.call_later(self.limits.stop_seconds, self.timeouts.end)

    def model_of(self, kind: Kind, name: str | None) -> str:
        """The model of a request.

        Raises
        ------
        ServiceError
            When there is none.
        """
        names = [each.name for each in self.models if each.kind == kind]
        if not names:
            message = f"this service has no model of {kind}"
            raise ServiceError(404, "no_such_model", message)
        if name is None:
            return names[0]
        if name not in names:
            message = f"there is no model {name[:60]!r} of {kind}; there are {', '.join(names)}"
            raise ServiceError(404, "no_such_model", message, where="model")
        return name

    async def body(self, request: Request) -> Any:
        """The JSON of a request.

        Raises
        ------
        ServiceError, ClientGoneError
            As of `eigentree.web.request_body`.
        """
        headers = {name.lower(): value for name, value in request.headers.items()}
        check_content_type(headers)
        body = await read_body(request.receive, headers, self.limits, self.timeouts)
        return read_json(body)

    async def worked(self, request: Request, work: Callable[[float], Awaitable[bytes]]) -> Response:
        """The answer to a request that workers are asked for.

        Work is cancelled when the client goes away.

        Parameters
        ----------
        request
            Its body has been read.
        work
            Given the time when its answer must be there, gives JSON.

        Raises
        ------
        ServiceError
            When too many wait, or the work gives up.
        ClientGoneError
            When the client has gone.
        """
        limits = self.limits
        if self.n_waiting >= limits.waiting:
            error = limits.passed("waiting", self.n_waiting + 1)
            error.headers["Retry-After"] = _RETRY_AFTER
            raise error
        begun = time.monotonic()
        self.n_waiting += 1
        working = asyncio.ensure_future(work(begun + limits.request_seconds))
        leaving = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self.metrics.count("clients_gone")
                raise ClientGoneError
            return Response(working.result(), media_type="application/json")
        finally:
            working.cancel()
            leaving.cancel()
            self.n_waiting -= 1
            self.metrics.time(time.monotonic() - begun)

    async def sentences(
        self,
        doing: Doing,
        kind: Kind,
        request: AskedSentences,
        sentences: str | list[Wanted],
        deadline: float,
        **given: Any,
    ) -> bytes:
        """All sentences of a request, one by one, each with its record or its error.

        Raises
        ------
        ServiceError
            When no sentence came out: what was wrong with the first.
        """
        model = self.model_of(kind, request.model)
        wanted = await self._split(model, request, sentences, deadline)
        # No more at a time than there are workers, so that all who wait have their turn.
        turns = asyncio.Semaphore(self.n_workers)

        async def one(index: int, sentence: Wanted) -> bytes | ServiceError:
            try:
                requests.check_sentence(sentence, index, self.limits)
                job = Job(doing, model, {"index": index, **_given(doing, sentence), **given})
                async with turns:
                    record = await self.crew.ask(job, deadline)
            except ServiceError as error:
                error.record.setdefault("where", f"sentences[{index}]")
                self.metrics.count("sentences", requests=doing, outcome=error.code)
                return error
            self.metrics.count("sentences", requests=doing, outcome="done")
            return record

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*each)) for each in enumerate(wanted)]
        results = [task.result() for task in tasks]
        errors = [each for each in results if isinstance(each, ServiceError)]
        if errors and len(errors) == len(results):
            raise errors[0]
        for each in errors:
            self.metrics.count("errors", code=each.code)
        records = (
            as_json({"index": index, "error": each.record})
            if isinstance(each, ServiceError)
            else each
            for index, each in enumerate(results)
        )
        return b'{"model":%s,"results":[%s]}' % (as_json(model), b",".join(records))

    async def _split(
        self,
        model: str,
        request: AskedSentences,
        sentences: str | list[Wanted],
        deadline: float,
    ) -> list[Wanted]:
        """The sentences of a request, raw ones as tokens."""
        if isinstance(sentences, str):
            job = Job("split", model, {"text": sentences})
            found = read_json(await self.crew.ask(job, deadline))
            self.limits.check("sentences", len(found))
            return requests.with_constraints(request, [Wanted(**each) for each in found])
        raw = [each.raw for each in sentences]
        if not any(each is not None for each in raw):
            return sentences
        found = read_json(await self.crew.ask(Job("split", model, {"sentences": raw}), deadline))
        return [
            each if tokens is None else each._replace(**tokens)
            for each, tokens in zip(sentences, found, strict=True)
        ]


def _given(doing: Doing, sentence: Wanted) -> dict[str, Any]:
    """What the worker's function is told of a sentence."""
    parts: dict[Doing, tuple[str, ...]] = {
        "parse": ("words", "tags", "constraints", "offsets"),
        "dependencies": ("words", "tags", "surface", "offsets"),
        "brackets": ("words", "tags"),
    }
    return {name: getattr(sentence, name) for name in parts[doing]}


async def _gone(request: Request) -> None:
    """Wait until the client has gone; the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def make_app(service: Service, hosts: Sequence[str] | None) -> Guard:
    """The service as an application of ASGI.

    Parameters
    ----------
    service
        Runs while requests come.
    hosts
        Names that requests may call the service by; None for any.
    """
    limits = service.limits

    app = FastAPI(
        title="eigentree", version=__version__, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip

    async def sentences(
        request: Request, doing: Doing, kind: Kind, given: AskedSentences, **options: Any
    ) -> Response:
        wanted = requests.sentences_of(given, limits)
        return await service.worked(
            request,
            lambda until: service.sentences(doing, kind, given, wanted, until, **options),
        )

    @app.post("/api/parse", openapi_extra=body_of(ParseRequest), tags=["parsing"])
    async def parse(request: Request) -> Response:
        """Parse sentences: trees, the best few, confidences, under constraints."""
        given = requests.validated(ParseRequest, await service.body(request))
        options = {"best": given.best, "marginals": given.marginals, "soft": given.soft}
        return await sentences(request, "parse", "constituents", given, **options)

    @app.post("/api/dependencies", openapi_extra=body_of(DependencyRequest), tags=["parsing"])
    async def dependencies(request: Request) -> Response:
        """Parse sentences to dependency trees."""
        given = requests.validated(DependencyRequest, await service.body(request))
        return await sentences(request, "dependencies", "dependencies", given)

    @app.post("/api/brackets", openapi_extra=body_of(BracketRequest), tags=["parsing"])
    async def brackets(request: Request) -> Response:
        """Bracket tagged sentences without labels."""
        given = requests.validated(BracketRequest, await service.body(request))
        return await sentences(request, "brackets", "brackets", given)

    @app.post("/api/evaluate", openapi_extra=body_of(EvaluateRequest), tags=["scoring"])
    async def evaluate(request: Request) -> Response:
        """Score parsed trees against gold trees by labelled brackets."""
        given = requests.validated(EvaluateRequest, await service.body(request))
        job = Job("evaluate", "", given.model_dump())
        return await service.worked(request, lambda until: service.crew.ask(job, until))

    @app.get("/api/models", tags=["models"])
    async def models() -> Response:
        """Every model served: name, kind, method, sizes and what it says of itself."""
        return _json(service.crew.about)

    @app.get("/api/models/{name}/symbols", tags=["models"])
    async def symbols(name: str, request: Request) -> Response:
        """The nonterminals of a model, with their states and singular values."""
        job = Job("symbols", _known(service, name), {})
        return await service.worked(request, lambda until: service.crew.ask(job, until))

    @app.get("/api/models/{name}/symbols/{label:path}", tags=["models"])
    async def symbol(name: str, label: str, request: Request) -> Response:
        """The states of a nonterminal: what each is made of."""
        job = Job("symbol", _known(service, name), {"label": label})
        return await service.worked(request, lambda until: service.crew.ask(job, until))

    @app.get("/api/limits", tags=["service"])
    async def table() -> Response:
        """What a request may ask for, and what is answered where it asks for more."""
        return _json({"limits": limits.table(), "workers": service.n_workers})

    @app.get("/api/health", tags=["service"])
    async def health() -> Response:
        """Whether the service is ready to parse; 503 while it isn't."""
        return _health(service)

    @app.get("/api/metrics", tags=["service"])
    async def metrics() -> Response:
        """Counts and times, as Prometheus reads them."""
        gauges = {
            "requests_waiting": ("Requests that are worked on or wait for it.", service.n_waiting),
            "sentences_queued": ("Sentences that wait for a worker.", service.crew.n_queued),
            "workers": ("Workers wanted.", service.n_workers),
            "workers_ready": ("Workers that are ready.", service.crew.n_ready),
        }
        return PlainTextResponse(service.metrics.text(gauges))

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(HERE / "templates" / "index.html")

    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    add_documentation(app)

    @app.exception_handler(ServiceError)
    async def refuse(_: Request, error: ServiceError) -> Response:
        service.metrics.count("errors", code=error.code)
        return _json({"error": error.record}, error.status, error.headers)

    @app.exception_handler(404)
    async def missing(request: Request, _: Exception) -> Response:
        message = f"there is nothing at {request.url.path[:200]}; /docs tells what there is"
        return _json({"error": {"code": "not_found", "message": message}}, 404)

    @app.exception_handler(405)
    async def wrong_method(request: Request, error: HTTPException) -> Response:
        message = f"{request.method} is no method of {request.url.path[:200]}"
        record = {"code": "method_not_allowed", "message": message}
        return _json({"error": record}, 405, error.headers)

    @app.exception_handler(ClientGoneError)
    async def leave(_: Request, __: ClientGoneError) -> Response:
        return _json({"error": {"code": "client_gone", "message": "the client has gone"}}, _GONE)

    return Guard(app, service.metrics, hosts)


def _known(service: Service, name: str) -> str:
    if name not in {each.name for each in service.models}:
        raise ServiceError(404, "no_such_model", f"there is no model {name[:60]!r}")
    return name


def _json(value: Any, status: int = 200, headers: Any = None) -> Response:
    return Response(as_json(value), status, headers, media_type="application/json")


def _health(service: Service) -> Response:
    n_ready = service.crew.n_ready
    state = "ready" if n_ready else "starting"
    if service.is_stopping:
        state = "stopping"
    record: dict[str, Any] = {
        "status": state,
        "workers": {"ready": n_ready, "wanted": service.n_workers},
        "version": __version__,
    }
    if state == "ready":
        return _json(record)
    message = f"the service is {state}"
    record["error"] = {"code": "not_ready", "message": message}
    return _json(record, 503, {"Retry-After": _RETRY_AFTER})
