"""What all parsers share: their protocol, batches over processes, texts, and opening by name.

Each product has a parser class that is a `SentenceParser`: an immutable object with `train`,
`parse`, `parse_many`, `parse_text`, `evaluate`, `summary`, `save` and `load`.  Parsers, training
and model files of a product know each other only through `KINDS`, which names their modules, so
that a parser loads without its learners.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from eigentree._core.arguments import check_jobs
from eigentree._core.batching import batches, map_batches
from eigentree.data.catalogue import bundled_path, model_names, resolve_model
from eigentree.errors import ModelFileError, SettingsError
from eigentree.model_file import open_model, wrong_kind
from eigentree.sentence_input import SentenceLike, Words, checked_sentences, unpack
from eigentree.tokenisation.scheme import TokenisationScheme, scheme_of_parser
from eigentree.tokenisation.sentences import split_text
from eigentree.types import Progress


class Result(Protocol):
    """What a parser returns for a sentence, whatever the parser.

    Attributes
    ----------
    words, tags
        As parsed.
    fallback
        What was given up to get a result; None for an ordinary parse.
    """

    @property
    def words(self) -> list[str]: ...
    @property
    def tags(self) -> list[str]: ...
    @property
    def fallback(self) -> str | None: ...

    def to_dict(self) -> dict[str, Any]:
        """The result in types that JSON has."""


R = TypeVar("R", bound=Result)


class Parser(Protocol[R]):
    """What every parser offers: the same names, with arguments in the same order.

    Attributes
    ----------
    kind
        As in the header of its model file, see `KINDS`.
    signed
        Whether values may lie outside those of probabilities.
    description
        Method, settings, sizes and data, as the model file stores them; read-only.
    """

    kind: ClassVar[str]

    @property
    def signed(self) -> bool: ...
    @property
    def description(self) -> Mapping[str, Any]: ...

    @classmethod
    def train(
        cls,
        data: Any,
        settings: Any = None,
        *args: Any,
        method: Any = None,
        dev: Any = (),
        seed: int = 0,
        jobs: int = 1,
        checkpoint: Path | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Self:
        """Train a parser on trees or tagged text."""

    def parse(self, words: Any, tags: Sequence[Any] | None = None, *args: Any, **options: Any) -> R:
        """Parse one sentence."""

    def parse_many(
        self, sentences: Iterable[SentenceLike], *, jobs: int = 1, **options: Any
    ) -> Iterator[R]:
        """Parse sentences, in order."""

    def parse_text(self, text: str, **options: Any) -> list[R]:
        """Parse the sentences of a text."""

    def evaluate(
        self,
        gold: Any,
        settings: Any = None,
        *args: Any,
        gold_tags: bool = True,
        jobs: int = 1,
        **options: Any,
    ) -> Any:
        """Parse the sentences of gold trees and score the result."""

    def summary(self) -> dict[str, Any]:
        """Sizes and settings, as `eigentree inspect` prints them, in types that JSON has."""

    def save(self, path: str | Path) -> None:
        """Write the parser to a model file."""

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Self:
        """Read a parser from a model file."""


class SentenceParser(ABC, Generic[R]):
    """The part of `Parser` that is the same for all products.

    A subclass is a frozen dataclass with a field ``description`` and a field ``_tokenisation``,
    None at first.
    """

    __slots__ = ()

    kind: ClassVar[str]
    description: Mapping[str, Any]
    _tokenisation: TokenisationScheme | None

    @abstractmethod
    def parse(
        self, words: Words, tags: Sequence[Any] | None = None, *args: Any, **options: Any
    ) -> R:
        """Parse one sentence."""

    @property
    def tokenisation(self) -> TokenisationScheme:
        """How text is cut into words: as in the treebank that the parser was trained on."""
        if self._tokenisation is None:
            scheme = scheme_of_parser(self.description, self._known_words())
            object.__setattr__(self, "_tokenisation", scheme)
        assert self._tokenisation is not None
        return self._tokenisation

    def _known_words(self) -> Iterable[str]:
        """Words of the training data, for models whose description has no tokenisation scheme."""
        return ()

    def parse_many(
        self, sentences: Iterable[SentenceLike], *, jobs: int = 1, **options: Any
    ) -> Iterator[R]:
        """Parse sentences; the results are in order.

        Parameters
        ----------
        sentences
            Read as they are needed.  Each is text of one sentence, a list of words, or a pair of
            words and tags or None; a third item may hold constraints, where the parser knows such.
        jobs
            Number of processes.  Each gets a copy of the parser; the results are the same.
        options
            Keyword arguments of `parse`, for all sentences.

        Raises
        ------
        TypeError
            When `sentences` is a string, or one of them neither text nor a list nor a pair.
        SettingsError
            When `jobs` is less than 1 or above 1024, and as of `parse`.  A note names the sentence.
        WorkerError
            When a worker process exits unexpectedly.

        Cost
        ----
        Processes take a second or so to start, so they pay off from some hundred sentences on.
        """
        check_jobs(jobs)
        waiting = checked_sentences(sentences)
        n_parsed = 0
        try:
            for result in self._parsed(waiting, jobs, options):
                n_parsed += 1
                yield result
        except (TypeError, SettingsError) as error:
            error.add_note(f"while parsing sentence {n_parsed + 1}")
            raise

    def _parsed(
        self, sentences: Iterator[SentenceLike], jobs: int, options: Mapping[str, Any]
    ) -> Iterator[R]:
        if jobs == 1:
            yield from self._parse_each(sentences, **options)
            return
        for results, error in map_batches(_begin, (self, options), batches(sentences), jobs):
            yield from results
            if error is not None:
                raise error

    def _parse_each(self, sentences: Iterator[SentenceLike], **options: Any) -> Iterator[R]:
        """Parse sentences in this process."""
        for sentence in sentences:
            words, tags, constraints = unpack(sentence)
            given = options if constraints is None else {**options, "constraints": constraints}
            yield self.parse(words, tags, **given)

    def parse_text(self, text: str, **options: Any) -> list[R]:
        """Parse the sentences of a text, which are found by `tokenisation`.

        Parameters
        ----------
        text
            Any text; an empty line ends a sentence, other line ends are white space.
        options
            Keyword arguments of `parse_many`.

        Returns
        -------
        list
            One result for each sentence, in order; its ``offsets`` are characters of the text.
        """
        sentences = split_text(text, self.tokenisation)
        results: Iterable[Any] = self.parse_many(
            ((sentence.words, None) for sentence in sentences), **options
        )
        return [
            replace(result, offsets=sentence.offsets)
            for sentence, result in zip(sentences, results, strict=True)
        ]

    def save(self, path: str | Path) -> None:
        """Write the parser to a model file, whole or not at all.

        Raises
        ------
        ModelFileError
            When the file can't be written; what was at `path` before is then still there.
        """
        model_file_module(self.kind).CODEC.save(self, path)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Self:
        """Read a parser from a model file.

        Parameters
        ----------
        path
            Of a file, or the name of a bundled model.
        verify
            Check the digest of the file.

        Raises
        ------
        ModelFileError
            When the file is missing, damaged, inconsistent or of another kind.
        """
        parser: Self = model_file_module(cls.kind).CODEC.load(path, verify=verify)
        return parser


def _begin(
    work: tuple[SentenceParser[R], Mapping[str, Any]],
) -> Callable[[list[SentenceLike]], list[tuple[list[R], Exception | None]]]:
    """What a worker process does with a batch."""
    parser, options = work
    return partial(_parse_batch, parser, options)


def _parse_batch(
    parser: SentenceParser[R], options: Mapping[str, Any], batch: list[SentenceLike]
) -> list[tuple[list[R], Exception | None]]:
    """The results up to the first error, and that error; as one item of a list."""
    results: list[R] = []
    try:
        results.extend(parser._parse_each(iter(batch), **options))
    except Exception as error:
        return [(results, error)]
    return [(results, None)]


class Kind(NamedTuple):
    """The modules of one kind of parser.

    Attributes
    ----------
    module, name
        Of the parser's class.
    model_file
        Module with its ``CODEC``.
    training
        Module of its learning.
    """

    module: str
    name: str
    model_file: str
    training: str


KINDS = {
    "parser": Kind(
        "eigentree.constituency.parser",
        "ConstituencyParser",
        "eigentree.constituency.model_file",
        "eigentree.constituency.training",
    ),
    "dependency parser": Kind(
        "eigentree.dependency.parser",
        "DependencyParser",
        "eigentree.dependency.model_file",
        "eigentree.dependency.training",
    ),
    "bracketing parser": Kind(
        "eigentree.bracketing.parser",
        "BracketingParser",
        "eigentree.bracketing.model_file",
        "eigentree.bracketing.training",
    ),
    "ensemble": Kind(
        "eigentree.constituency.ensemble.parser",
        "EnsembleParser",
        "eigentree.constituency.ensemble.model_folder",
        "eigentree.constituency.ensemble.training",
    ),
}
"""By the ``kind`` in the header of the model file."""


def model_file_module(kind: str) -> Any:
    """The module that reads and writes models of a kind."""
    return import_module(KINDS[kind].model_file)


def training_module(kind: str) -> Any:
    """The module that learns models of a kind."""
    return import_module(KINDS[kind].training)


def load(path: str | Path, *, verify: bool = True) -> Any:
    """Open a parser of any kind.

    Parameters
    ----------
    path
        Of a model file or the folder of an ensemble, or the name of a bundled model.
    verify
        Check the digests of files.

    Returns
    -------
    ConstituencyParser, EnsembleParser, DependencyParser or BracketingParser

    Raises
    ------
    ModelFileError
        When the file is missing, damaged, inconsistent or no parser.

    Examples
    --------
    >>> load("english").parse("the cat slept").tree.words()
    ['the', 'cat', 'slept']
    """
    path = resolve_model(path)
    kind = kind_of(path)
    if kind not in KINDS:
        raise wrong_kind(path, kind, *KINDS)
    module, name, *_ = KINDS[kind]
    return getattr(import_module(module), name).load(path, verify=verify)


def kind_of(path: str | Path) -> str:
    """The kind of a model, a key of `KINDS` if it is a parser.

    Raises
    ------
    ModelFileError
        When the file is missing, damaged or no model, or the index of an ensemble.
    """
    path = resolve_model(path)
    if path.is_dir():
        return "ensemble"
    kind = str(open_model(path, verify=False).header.get("kind"))
    if kind == "ensemble":
        raise ModelFileError(f"{path}: is the index of an ensemble; name the folder that it is in")
    return kind


class BundledModel(NamedTuple):
    """A model that is part of the package.

    Attributes
    ----------
    name
        Accepted wherever a path of a model is.
    path
    kind
        As in its header, see `KINDS`.
    n_bytes
        Size of the file.
    card
        Training data, licences and scores.
    """

    name: str
    path: Path
    kind: str
    n_bytes: int
    card: dict[str, Any]


def available_models() -> list[BundledModel]:
    """The bundled models with their cards, by name."""
    models = []
    for name in model_names():
        file = open_model(bundled_path(name), verify=False)
        card = file.header["description"]["card"]
        models.append(BundledModel(name, file.path, file.header["kind"], file.n_bytes, card))
    return models
