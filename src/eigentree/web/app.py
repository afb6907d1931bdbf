"""The routes of the service: requests become tasks of workers, and their answers JSON."""

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
from eigentree.web.middleware import HostMiddleware, ServiceMiddleware, error_response
from eigentree.web.models import Kind, ServedModel
from eigentree.web.openapi import add_documentation, body_of
from eigentree.web.request_body import ClientGoneError, check_content_type, read_body, read_json
from eigentree.web.requests import (
    BracketRequest,
    DependencyRequest,
    EvaluateRequest,
    ParseRequest,
    SentenceRequest,
    SentencesRequest,
)
from eigentree.web.timeouts import Timeouts
from eigentree.web.worker import Compiling, Task, TaskName
from eigentree.web.worker_pool import WorkerPool

HERE = Path(__file__).parent
# Seconds after which a refused client may retry.
_RETRY_AFTER = "2"
_CLIENT_CLOSED = 499  # nginx's status, for logs: no client receives it


class Service:
    """The state that requests share: models, workers, limits and metrics."""

    def __init__(self, models: Sequence[ServedModel], n_workers: int, limits: Limits) -> None:
        self.models = list(models)
        self.n_workers = n_workers
        self.limits = limits
        self.metrics = Metrics()
        self.timeouts = Timeouts()
        self.n_waiting = 0
        self.is_stopping = False
        self._pool: WorkerPool | None = None

    @property
    def pool(self) -> WorkerPool:
        """The workers, once the service is running."""
        assert self._pool is not None
        return self._pool

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the workers during the block."""
        self._pool = WorkerPool(
            self.models, self.n_workers, self.limits, self.metrics, self.timeouts
        )
        try:
            await self._pool.begin()
            yield
        finally:
            await self._pool.end()

    def stop(self) -> None:
        """Stop after the running requests, within `Limits.stop_seconds`."""
        if not self.is_stopping:
            self.is_stopping = True
            loop = asyncio.get_running_loop()
            loop.call_later(self.limits.stop_seconds, self.timeouts.end)

    def model_of(self, kind: Kind, name: str | None) -> str:
        """The name of the model for a request; the first of its kind by default.

        Raises
        ------
        ServiceError
            When there is no such model.
        """
        names = [each.name for each in self.models if each.kind == kind]
        if not names:
            message = f"this service has no model for {kind}"
            raise ServiceError(404, "no_such_model", message)
        if name is None:
            return names[0]
        if name not in names:
            message = f"no model {name[:60]!r} for {kind}; available: {', '.join(names)}"
            raise ServiceError(404, "no_such_model", message, where="model")
        return name

    async def body(self, request: Request) -> Any:
        """The JSON value of a request's body.

        Raises
        ------
        ServiceError, ClientGoneError
            As in `eigentree.web.request_body`.
        """
        headers = {name.lower(): value for name, value in request.headers.items()}
        check_content_type(headers)
        body = await read_body(request.receive, headers, self.limits, self.timeouts)
        return read_json(body)

    async def respond(
        self, request: Request, work: Callable[[float], Awaitable[bytes]]
    ) -> Response:
        """The response to a request that needs workers.

        The work is cancelled when the client disconnects.

        Parameters
        ----------
        request
            A request whose body has been read.
        work
            A function from the deadline, by `time.monotonic`, to JSON.

        Raises
        ------
        ServiceError
            When too many requests wait, or the work fails.
        ClientGoneError
            When the client has disconnected.
        """
        limits = self.limits
        if self.n_waiting >= limits.waiting:
            error = limits.exceeded("waiting", self.n_waiting + 1)
            error.headers["Retry-After"] = _RETRY_AFTER
            raise error
        begun = time.monotonic()
        self.n_waiting += 1
        working = asyncio.ensure_future(work(begun + limits.request_seconds))
        leaving = asyncio.ensure_future(_disconnected(request))
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
        name: TaskName,
        kind: Kind,
        request: SentencesRequest,
        sentences: str | list[SentenceRequest],
        deadline: float,
        **options: Any,
    ) -> bytes:
        """Process the sentences of a request; each gives a record or an error.

        Raises
        ------
        ServiceError
            When every sentence fails: the error of the first.
        """
        model = self.model_of(kind, request.model)
        prepared = await self._split(model, request, sentences, deadline)
        # At most one sentence per worker at a time, so that other requests have their turn.
        slots = asyncio.Semaphore(self.n_workers)

        async def one(index: int, sentence: SentenceRequest) -> bytes | ServiceError:
            try:
                requests.check_sentence(sentence, index, self.limits)
                arguments = {"index": index, **_arguments(name, sentence), **options}
                task = Task(name, model, arguments)
                async with slots:
                    record = await self.pool.run(task, deadline)
            except ServiceError as error:
                error.record.setdefault("where", f"sentences[{index}]")
                self.metrics.count("sentences", task=name, outcome=error.code)
                return error
            self.metrics.count("sentences", task=name, outcome="done")
            return record

        async with asyncio.TaskGroup() as group:
            pending = [group.create_task(one(*each)) for each in enumerate(prepared)]
        results = [each.result() for each in pending]
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
        request: SentencesRequest,
        sentences: str | list[SentenceRequest],
        deadline: float,
    ) -> list[SentenceRequest]:
        """The sentences of a request; raw text is split and tokenised."""
        if isinstance(sentences, str):
            task = Task("split", model, {"text": sentences})
            split = read_json(await self.pool.run(task, deadline))
            self.limits.check("sentences", len(split))
            return requests.with_constraints(request, [SentenceRequest(**each) for each in split])
        raw = [each.raw for each in sentences]
        if not any(each is not None for each in raw):
            return sentences
        task = Task("split", model, {"sentences": raw})
        tokenised = read_json(await self.pool.run(task, deadline))
        return [
            each if tokens is None else each._replace(**tokens)
            for each, tokens in zip(sentences, tokenised, strict=True)
        ]


def _arguments(name: TaskName, sentence: SentenceRequest) -> dict[str, Any]:
    """The arguments of a task that come from the sentence."""
    parts: dict[TaskName, tuple[str, ...]] = {
        "parse": ("words", "tags", "constraints", "offsets"),
        "dependencies": ("words", "tags", "surface", "offsets"),
        "brackets": ("words", "tags"),
    }
    return {part: getattr(sentence, part) for part in parts[name]}


async def _disconnected(request: Request) -> None:
    """Wait until the client has disconnected; the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def make_app(service: Service, hosts: Sequence[str] | None) -> ServiceMiddleware:
    """The service as an ASGI application.

    Parameters
    ----------
    service
        A service, which must be running when requests are handled.
    hosts
        Allowed names in the header Host; None for any.
    """
    limits = service.limits

    app = FastAPI(
        title="eigentree", version=__version__, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )  # fmt: skip

    async def sentences(
        request: Request, name: TaskName, kind: Kind, body: SentencesRequest, **options: Any
    ) -> Response:
        requested = requests.requested_sentences(body, limits)
        return await service.respond(
            request,
            lambda until: service.sentences(name, kind, body, requested, until, **options),
        )

    @app.post("/api/parse", openapi_extra=body_of(ParseRequest), tags=["parsing"])
    async def parse(request: Request) -> Response:
        """Parse sentences to constituency trees, with k-best trees, confidences and constraints."""
        body = requests.validated(ParseRequest, await service.body(request))
        options = {"best": body.best, "marginals": body.marginals, "soft": body.soft}
        return await sentences(request, "parse", "constituents", body, **options)

    @app.post("/api/dependencies", openapi_extra=body_of(DependencyRequest), tags=["parsing"])
    async def dependencies(request: Request) -> Response:
        """Parse sentences to dependency trees."""
        body = requests.validated(DependencyRequest, await service.body(request))
        return await sentences(request, "dependencies", "dependencies", body)

    @app.post("/api/brackets", openapi_extra=body_of(BracketRequest), tags=["parsing"])
    async def brackets(request: Request) -> Response:
        """Parse tagged sentences to unlabelled bracketings."""
        body = requests.validated(BracketRequest, await service.body(request))
        return await sentences(request, "brackets", "brackets", body)

    @app.post("/api/evaluate", openapi_extra=body_of(EvaluateRequest), tags=["scoring"])
    async def evaluate(request: Request) -> Response:
        """Score parsed trees against gold trees by labelled brackets."""
        body = requests.validated(EvaluateRequest, await service.body(request))
        task = Task("evaluate", "", body.model_dump())
        return await service.respond(request, lambda until: service.pool.run(task, until))

    @app.get("/api/models", tags=["models"])
    async def models() -> Response:
        """List the models: name, kind, method, sizes and description."""
        return _json(service.pool.about)

    @app.get("/api/models/{name}/symbols", tags=["models"])
    async def symbols(name: str, request: Request) -> Response:
        """List the nonterminals of a model, with their states and singular values."""
        task = Task("symbols", _known(service, name), {})
        return await service.respond(request, lambda until: service.pool.run(task, until))

    @app.get("/api/models/{name}/symbols/{label:path}", tags=["models"])
    async def symbol(name: str, label: str, request: Request) -> Response:
        """Show the states of a nonterminal, with the words or rules of each."""
        task = Task("symbol", _known(service, name), {"label": label})
        return await service.respond(request, lambda until: service.pool.run(task, until))

    @app.get("/api/limits", tags=["service"])
    async def table() -> Response:
        """List the limits of requests, and the error for exceeding each."""
        return _json({"limits": limits.table(), "workers": service.n_workers})

    @app.get("/api/health", tags=["service"])
    async def health() -> Response:
        """Report whether the service is ready to parse; status 503 if it is not."""
        return _health(service)

    @app.get("/api/metrics", tags=["service"])
    async def metrics() -> Response:
        """Counters and durations in the text format of Prometheus."""
        gauges = {
            "requests_waiting": ("Requests in progress or waiting.", service.n_waiting),
            "sentences_queued": ("Sentences waiting for a worker.", service.pool.n_queued),
            "workers": ("Configured workers.", service.n_workers),
            "workers_ready": ("Workers that are ready.", service.pool.n_ready),
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
        return error_response(error)

    @app.exception_handler(404)
    async def missing(request: Request, _: Exception) -> Response:
        message = f"nothing at {request.url.path[:200]}; see /docs"
        return _json({"error": {"code": "not_found", "message": message}}, 404)

    @app.exception_handler(405)
    async def wrong_method(request: Request, error: HTTPException) -> Response:
        message = f"method {request.method} is not allowed for {request.url.path[:200]}"
        record = {"code": "method_not_allowed", "message": message}
        return _json({"error": record}, 405, error.headers)

    @app.exception_handler(ClientGoneError)
    async def leave(_: Request, __: ClientGoneError) -> Response:
        return _json(
            {"error": {"code": "client_gone", "message": "the client has disconnected"}},
            _CLIENT_CLOSED,
        )

    checked = app if hosts is None else HostMiddleware(app, hosts)
    return ServiceMiddleware(checked, service.metrics)


def _known(service: Service, name: str) -> str:
    if name not in {each.name for each in service.models}:
        raise ServiceError(404, "no_such_model", f"no model {name[:60]!r}; see /api/models")
    return name


def _json(value: Any, status: int = 200, headers: Any = None) -> Response:
    return Response(as_json(value), status, headers, media_type="application/json")


def _health(service: Service) -> Response:
    n_ready = service.pool.n_ready
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
    if state == "starting" and service.pool.preparing is not None:
        doing = "compiling" if isinstance(service.pool.preparing, Compiling) else "preparing"
        record[doing] = service.pool.preparing._asdict()
    message = f"the service is {state}"
    record["error"] = {"code": "not_ready", "message": message}
    return _json(record, 503, {"Retry-After": _RETRY_AFTER})
