"""A worker process: opens the models, then performs one task at a time.

Nothing here depends on HTTP.  A worker sends its state (`Opened`, `Compiling`, `Preparing`,
`Ready`, `Refused` or `Failed`), then `Begun` and an `Answer` for each `Task` that it receives.  It
may be killed at any time; only the current task is lost.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentree._core.processes import CACHE_REPORTED, begin
from eigentree.errors import EigentreeError
from eigentree.web.errors import as_json

if TYPE_CHECKING:
    from eigentree.tokenisation.tokens import RawSentence
    from eigentree.web.models import AnyParser, Kind, ServedModel

TaskName = Literal["split", "parse", "dependencies", "brackets", "evaluate", "symbols", "symbol"]

# Kernels of the models of each kind; the rest are compiled when they are called.
_PARTS: dict[Kind, tuple[str, ...]] = {
    "constituents": ("parsing", "k-best"),
    "dependencies": ("dependencies",),
    "brackets": (),
}
# Sentences that call every kernel.
_FIRST = (["It", "works", "."], ["It", "is", "warm", "now", ",", "so", "it", "works", "."])


class Task(NamedTuple):
    """A task: its name, the name of its model, and arguments of its function in `_FUNCTIONS`."""

    name: TaskName
    model: str
    arguments: Mapping[str, Any]


class Answer(NamedTuple):
    """The outcome of a task: JSON, or an error message in ``refused`` or ``failed``.

    ``refused`` is an error of the request, ``failed`` an error of the program.
    """

    json: bytes = b""
    refused: str | None = None
    failed: str | None = None
    no_memory: bool = False


class Opened(NamedTuple):
    """The models are open; ``about`` describes each."""

    about: list[dict[str, Any]]


class Preparing(NamedTuple):
    """The kernels of a model are being compiled or loaded; models are numbered from 1."""

    model: str
    number: int
    total: int


class Compiling(NamedTuple):
    """Kernels are being compiled, which happens once per installation; they are numbered from 1."""

    number: int
    total: int


class Ready(NamedTuple):
    """All kernels have been called once."""


class Refused(NamedTuple):
    """A model cannot be opened, and why."""

    why: str


class Failed(NamedTuple):
    """The worker cannot start, and why."""

    why: str


class Begun(NamedTuple):
    """A task has been received, and its work begins."""


def start(connection: Connection, models: Sequence[ServedModel], verify: bool) -> None:
    """The main function of a worker process.

    Parameters
    ----------
    connection
        Connection to the process that sends tasks; the worker exits when it is closed.
    models
        The models to open.
    verify
        Whether to check the digests of the files and to report a cache of compiled code that cannot
        be used; one worker does so for all.
    """
    # A signal to all processes of the service must not interrupt running tasks.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # Windows has no SIGHUP
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # There are as many workers as processors, so threads within them would only compete.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if not verify:
        os.environ[CACHE_REPORTED] = "1"
    begin(_run, (connection, models, verify))


def _run(connection: Connection, models: Sequence[ServedModel], verify: bool) -> None:
    try:
        from eigentree.web.models import describe_model, open_model

        parsers = {each.name: open_model(each, verify=verify) for each in models}
        connection.send(Opened([describe_model(each, parsers[each.name]) for each in models]))
        _compile(connection, {each.kind for each in models})
        for number, each in enumerate(models, start=1):
            connection.send(Preparing(each.name, number, len(models)))
            _warm_up(each.kind, parsers[each.name])
    except EigentreeError as error:
        connection.send(Refused(str(error)))
        return
    except Exception as error:
        connection.send(Failed(f"{type(error).__name__}: {error}"))
        return
    connection.send(Ready())
    while True:
        try:
            task: Task = connection.recv()
        except EOFError:
            return
        connection.send(Begun())
        connection.send(_answer(parsers, task))


def _answer(parsers: Mapping[str, AnyParser], task: Task) -> Answer:
    try:
        return Answer(as_json(_FUNCTIONS[task.name](parsers.get(task.model), **task.arguments)))
    except (EigentreeError, TypeError) as error:
        # The package raises both for errors that a caller can correct.
        return Answer(refused=str(error))
    except MemoryError:
        return Answer(no_memory=True)
    except Exception as error:
        return Answer(failed=f"{type(error).__name__}: {error}")


def _compile(connection: Connection, kinds: set[Kind]) -> None:
    from eigentree._core.jit import compile_parts, show_compilation

    @contextmanager
    def monitor(_: str, n_kernels: int) -> Iterator[Callable[[int], object]]:
        n_done = 0

        def advance(n_new: int) -> None:
            nonlocal n_done
            n_done += n_new
            connection.send(Compiling(min(n_done + 1, n_kernels), n_kernels))

        advance(0)
        yield advance

    show_compilation(monitor)
    compile_parts([part for kind in sorted(kinds) for part in _PARTS[kind]])


def _warm_up(kind: Kind, parser: Any) -> None:
    """Load every kernel, so that the first sentence is not slow."""
    from eigentree.treebank.constraints import Constraints

    for words in _FIRST:
        if kind == "constituents":
            parser.parse(words)
            parser.parse(words, kbest=2, marginals=0.01, constraints=Constraints.of([(0, 2)]))
        elif kind == "dependencies":
            parser.parse(words, None if parser.tagger else ["X"] * len(words))
        else:
            parser.parse(words, ["X"] * len(words))


def _split(
    parser: Any, text: str | None = None, sentences: Sequence[str | None] = ()
) -> list[dict[str, Any] | None]:
    """Tokenise a text into sentences, or sentences one by one, with character offsets."""
    from eigentree.tokenisation.sentences import split_text
    from eigentree.tokenisation.tokens import RawSentence
    from eigentree.tokenisation.words import tokenise

    if text is not None:
        return [_tokenised(text, each) for each in split_text(text, parser.tokenisation)]
    return [
        None
        if each is None
        else _tokenised(each, RawSentence(tokenise(each, parser.tokenisation), 0, 0))
        for each in sentences
    ]


def _tokenised(text: str, sentence: RawSentence) -> dict[str, Any]:
    first, last = (sentence.offsets[0][0], sentence.offsets[-1][1]) if sentence.tokens else (0, 0)
    return {
        "words": sentence.words, "offsets": sentence.offsets, "surface": text[first:last]
    }  # fmt: skip


def _parse(
    parser: Any,
    index: int,
    words: list[str],
    tags: list[Any] | None,
    constraints: Any,
    offsets: list[tuple[int, int]] | None,
    best: int | None,
    marginals: float | None,
    soft: bool,
) -> dict[str, Any]:
    from eigentree.treebank.constraints import Constraints

    result = parser.parse(
        words, tags, kbest=best, marginals=marginals, soft=soft,
        constraints=Constraints.from_json(constraints),
    )  # fmt: skip
    record = result.to_dict(
        parser.wrapper, parser.cleaning.root_name,
        several=best is not None, constrained=constraints is not None,
        where={"offsets": offsets},
    )  # fmt: skip
    record = {"index": index, **record}
    if marginals is not None:
        record["marginals"] = [each._asdict() for each in result.marginals]
    return record


def _dependencies(
    parser: Any,
    index: int,
    words: list[str],
    tags: list[str] | None,
    surface: str | None,
    offsets: list[tuple[int, int]] | None,
) -> dict[str, Any]:
    from eigentree.dependency.result import with_tree
    from eigentree.treebank.io.conllu import format_sentence, new_sentence
    from eigentree.treebank.tag_schemes import parts_of_scheme

    result = parser.parse(words, tags)
    record = {"index": index, **result.to_dict({"offsets": offsets})}
    first = offsets[0][0] if offsets else 0
    spans = offsets and [(start - first, end - first) for start, end in offsets]
    sentence = new_sentence(words, spans, surface, sent_id=str(index + 1))
    column, _ = parts_of_scheme(parser.tag_scheme)
    record["conllu"] = format_sentence(with_tree(sentence, result, column)) if words else ""
    return record


def _brackets(parser: Any, index: int, words: list[str], tags: list[str]) -> dict[str, Any]:
    return {"index": index, **parser.parse(words, tags).to_dict()}


def _evaluate(_: Any, gold: str, parsed: str) -> dict[str, Any]:
    from eigentree.evaluation.settings import EVALB_COLLINS
    from eigentree.evaluation.tables.scores import as_json as report
    from eigentree.evaluation.tables.scoring import TreeFile, score_files

    reference, parses = (
        TreeFile.of_lines(text.splitlines(keepends=True), name)
        for name, text in (("gold", gold), ("parsed", parsed))
    )
    return report("gold", [score_files(reference, parses, EVALB_COLLINS)], None)


def _symbols(parser: Any) -> list[dict[str, Any]]:
    from eigentree.web import grammar_view

    return grammar_view.symbols(parser)


def _symbol(parser: Any, label: str) -> dict[str, Any]:
    from eigentree.web import grammar_view

    return grammar_view.symbol(parser, label)


_FUNCTIONS: dict[TaskName, Callable[..., Any]] = {
    "split": _split,
    "parse": _parse,
    "dependencies": _dependencies,
    "brackets": _brackets,
    "evaluate": _evaluate,
    "symbols": _symbols,
    "symbol": _symbol,
}
