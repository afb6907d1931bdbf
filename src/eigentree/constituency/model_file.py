"""Model files of constituency parsers: header, arrays, and the checks on opening.

Parameters of rules and words are stored in single precision.  `ConstituencyParser.train` rounds
them, so a loaded parser computes exactly what the trained one did.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict

from eigentree._core.bfloat16 import from_upper_halves, upper_halves
from eigentree._core.shapes import check_types
from eigentree.constituency.calibration import from_arrays, to_arrays
from eigentree.constituency.grammar.arrays import COUNTS, LatentParameters
from eigentree.constituency.grammar.kruskal import KruskalGrammar
from eigentree.constituency.grammar.lpcfg import LPCFG, NO_MATRIX, ROUNDED
from eigentree.constituency.grammar.pcfg import PCFG, WordTable
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import ModelFileError
from eigentree.model_file import Codec, ModelFile, Parts
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.binarise import Kind
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.lexicon import Lexicon, LexiconOptions
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL
from eigentree.words.tagger import Tagger

_BACKBONE = ("parent", "left", "right", "probability", "root")
_WORDS = ("word", "symbol", "count")
_KRUSKAL = ("weights", "parent", "left", "right")
# Latent parameters that are implied if all seen rules and words are stored as counts.
IMPLIED = ("dense_start", "dense", "sample_start", "samples", "lexical_start", "lexical")


def _label(text: str) -> str:
    if not FORBIDDEN_IN_LABEL.isdisjoint(text):
        raise ValueError(f"label {text!r} contains white space or a bracket")
    return text


def _convention(stored: dict[str, Any]) -> dict[str, Any]:
    TokenisationScheme.from_json(stored)
    return stored


_Label = Annotated[str, AfterValidator(_label)]


class _ExtensiblePart(BaseModel):
    """A part of the header that may have further keys, which are not checked."""

    model_config = ConfigDict(extra="allow")


class _TreebankSettings(_ExtensiblePart):
    cleaning: CleaningOptions = CleaningOptions()


class _Iteration(_ExtensiblePart):
    iteration: int
    log_likelihood: float
    f1: float | None


class _Iterations(_ExtensiblePart):
    settings: dict[str, Any]
    record: list[_Iteration]
    best: int


class _Trial(_ExtensiblePart):
    nonterminal: str
    states: int
    f1: float


class _StateSearch(_ExtensiblePart):
    settings: dict[str, Any]
    start_f1: float
    f1: float
    record: list[_Trial]


class _Description(_ExtensiblePart):
    method: str = ""
    seed: int = 0
    trees: int = 0
    words: int = 0
    symbol_counts: list[int] | None = None
    singular_values: list[list[float]] | None = None
    treebank: _TreebankSettings = _TreebankSettings()
    text: Annotated[dict[str, Any], AfterValidator(_convention)] | None = None
    spectral: dict[str, Any] = {}
    clustering: dict[str, Any] = {}
    noise: dict[str, Any] = {}
    state_search: _StateSearch | None = None
    em: _Iterations | None = None
    retraining: _Iterations | None = None


class ParserHeader(BaseModel):
    """The required keys of a parser's header."""

    kind: str
    signed: bool
    symbols: list[tuple[Kind, list[_Label], list[_Label], list[_Label]]]
    words: list[str]
    lexicon: LexiconOptions
    options: ParserOptions
    wrapper: _Label | None
    description: _Description


def _to_parts(parser: ConstituencyParser) -> Parts:
    """The header, the arrays and the tagger of a parser."""
    grammar = parser.grammar
    backbone, words = grammar.backbone, grammar.backbone.words
    header = {
        "signed": grammar.signed,
        "symbols": backbone.symbols.to_json(),
        "words": list(backbone.lexicon.entries),
        "lexicon": asdict(backbone.lexicon.options),
        "options": asdict(parser.options),
        "wrapper": parser.wrapper,
        "description": _lasting(parser.description),
    }
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    arrays.update({f"words.{name}": getattr(words, name) for name in _WORDS})
    arrays.update({f"pcfg.{name}": getattr(backbone, name) for name in _BACKBONE})
    parameters = grammar.parameters
    implied = _implied(parameters.n_samples, len(words.word))
    is_implied = all(np.array_equal(getattr(parameters, n), implied[n]) for n in implied)
    has_counts = len(parameters.word_use_start) > 0
    for name in _stored(has_counts=has_counts, counts_alone=has_counts and is_implied):
        array = getattr(parameters, name)
        arrays[f"latent.{name}"] = _rounded(array) if name in ROUNDED else array
    if parser.kruskal is not None:
        arrays |= {f"kruskal.{name}": getattr(parser.kruskal, name) for name in _KRUSKAL}
    arrays |= to_arrays(parser.calibrations)
    blobs = {} if parser.tagger is None else {"tagger": parser.tagger.to_bytes()}
    return Parts(header, arrays, blobs)


def _rounded(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A large array in single precision, or as upper halves if nothing is lost."""
    single = array.astype(np.float32)
    halves = upper_halves(single)
    return single if halves is None else halves


def _stored(*, has_counts: bool, counts_alone: bool) -> list[str]:
    """The names of the latent parameters that a file contains."""
    omitted = {*(() if has_counts else COUNTS), *(IMPLIED if counts_alone else ())}
    return [name for name in LatentParameters._fields if name not in omitted]


def _implied(n_samples: np.ndarray[Any, Any], n_words: int) -> dict[str, np.ndarray[Any, Any]]:
    """The parameters that are implied if all rules are counts or means and all words are counts.

    The other forms are then empty, and samples are in the order of their rules.
    """
    counted = n_samples > 0
    start = np.zeros((len(n_samples), 3), dtype=np.int64)
    start[counted, 0] = np.cumsum(n_samples[counted]) - n_samples[counted]
    start[counted, 1:] = NO_MATRIX
    return {
        "dense_start": np.full(len(n_samples), -1, dtype=np.int64),
        "dense": np.zeros(0),
        "sample_start": start,
        "samples": np.zeros(0),
        "lexical_start": np.zeros(n_words + 1, dtype=np.int64),
        "lexical": np.zeros(0),
    }


def _lasting(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description without running times, so that the same seed gives the same file."""
    lasting = dict(description)
    for name in ("em", "retraining"):
        if name in description:
            record = [
                {key: value for key, value in row.items() if key != "cpu_seconds"}
                for row in description[name]["record"]
            ]
            lasting[name] = {**description[name], "record": record}
    return lasting


def _from_parts(header: ParserHeader, file: ModelFile) -> ConstituencyParser:
    """The parser of an open file, after checks that its parts are consistent."""
    symbols = SymbolTable.from_json(header.symbols)
    lexicon = Lexicon(tuple(header.words), header.lexicon)
    for name in ("symbol_counts", "singular_values"):
        listed = getattr(header.description, name)
        if listed is not None and len(listed) != len(symbols):
            raise ModelFileError(
                f"description.{name} has {len(listed)} entries for {len(symbols)} symbols"
            )

    def arrays(prefix: str, names: tuple[str, ...]) -> list[np.ndarray[Any, Any]]:
        # Copied, because kernels are compiled for ordinary arrays, not for memory-mapped ones.
        return [np.array(file.arrays[f"{prefix}.{name}"]) for name in names]

    words = WordTable(symbols, lexicon, *arrays("words", _WORDS))
    backbone = PCFG(words, *arrays("pcfg", _BACKBONE))
    has_counts = "latent.word_use_start" in file.arrays
    counts_alone = has_counts and "latent.dense_start" not in file.arrays
    names = _stored(has_counts=has_counts, counts_alone=counts_alone)
    stored = dict(zip(names, arrays("latent", tuple(names)), strict=True))
    for name in ROUNDED:
        if name in stored and stored[name].dtype == np.uint16:
            stored[name] = from_upper_halves(stored[name])
            if not np.isfinite(stored[name]).all():
                raise ModelFileError(f"latent.{name} holds values that aren't finite")
    check_types("latent", {name: (stored[name], np.float32) for name in ROUNDED if name in stored})
    latent: dict[str, np.ndarray[Any, Any]] = {
        name: array.astype(np.float64) if name in ROUNDED else array
        for name, array in stored.items()
    }
    if counts_alone:
        latent |= _implied(stored["n_samples"], len(words.word))
    grammar = LPCFG(backbone, LatentParameters(**latent), signed=header.signed)
    tagger = Tagger.from_bytes(file.blobs["tagger"]) if "tagger" in file.blobs else None
    # Unparsed, because it may have keys that are not checked.
    description = file.header["description"]
    kruskal = None
    if "kruskal.weights" in file.arrays:
        kruskal = KruskalGrammar(grammar, *arrays("kruskal", _KRUSKAL))
    calibrations = from_arrays(file.arrays)
    return ConstituencyParser(
        grammar, tagger, header.options, header.wrapper, description, kruskal, calibrations
    )


CODEC = Codec("parser", ParserHeader, _to_parts, _from_parts)
