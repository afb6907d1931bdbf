"""Results as tables: rows that `pandas.DataFrame` takes as they are.

Rows are named tuples, so they need no pandas; `to_frame` makes a data frame of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentree._core.arguments import check_choice
from eigentree._core.optional import require
from eigentree.constituency.result import ParseResult, node_confidences
from eigentree.dependency.result import DependencyResult
from eigentree.errors import SettingsError
from eigentree.evaluation.attachment import AttachmentResult
from eigentree.evaluation.result import ParsevalResult
from eigentree.treebank.io.brackets import format_tree
from eigentree.treebank.tree import spans_of_nodes

if TYPE_CHECKING:
    import pandas as pd

Rows = Literal["brackets", "words", "sentences", "labels"]
Results = Iterable[ParseResult] | Iterable[DependencyResult] | ParsevalResult | AttachmentResult


class BracketRow(NamedTuple):
    """A phrase of a tree.

    ``sentence`` counts from 0; the span is of words and half-open.  ``confidence`` is calibrated
    where the parse is, and None where no chart has judged the phrase.
    """

    sentence: int
    label: str
    start: int
    end: int
    text: str
    confidence: float | None


class TaggedRow(NamedTuple):
    """A word of a constituency parse; ``sentence`` and ``word`` count from 0."""

    sentence: int
    word: int
    text: str
    tag: str


class WordRow(NamedTuple):
    """A word of a dependency parse.

    ``sentence`` counts from 0; ``word`` counts from 1, and the head 0 is the root, as in CoNLL-U.
    """

    sentence: int
    word: int
    text: str
    tag: str
    head: int
    relation: str | None
    confidence: float | None


class SentenceRow(NamedTuple):
    """A parsed sentence.

    ``sentence`` counts from 0.  ``tree`` is in brackets; None for an empty sentence and for
    dependencies.  ``confidence`` and ``exact`` are calibrated where the parse is; ``log_value`` is
    in nats.
    """

    sentence: int
    words: int
    text: str
    tree: str | None
    confidence: float | None
    exact: float | None
    log_value: float | None
    fallback: str | None


class ScoreRow(NamedTuple):
    """A sentence of a comparison of trees; ``sentence`` counts from 0."""

    sentence: int
    status: str
    words: int
    gold: int
    parsed: int
    matched: int
    crossing: int
    tags: int
    recall: float | None
    precision: float | None
    f1: float | None
    exact: bool
    reason: str


class AttachmentRow(NamedTuple):
    """A sentence of a comparison of dependency trees; ``sentence`` counts from 0."""

    sentence: int
    sent_id: str | None
    status: str
    words: int
    heads: int
    arcs: int
    uas: float | None
    las: float | None
    reason: str


class LabelRow(NamedTuple):
    """A label of phrases, or a relation, with how often it was found."""

    label: str
    gold: int
    parsed: int
    recall: float | None
    precision: float | None
    f1: float | None


_ROW_OF: dict[tuple[type, str], type] = {
    (ParseResult, "brackets"): BracketRow,
    (ParseResult, "words"): TaggedRow,
    (ParseResult, "sentences"): SentenceRow,
    (DependencyResult, "words"): WordRow,
    (DependencyResult, "sentences"): SentenceRow,
    (ParsevalResult, "sentences"): ScoreRow,
    (ParsevalResult, "labels"): LabelRow,
    (AttachmentResult, "sentences"): AttachmentRow,
    (AttachmentResult, "labels"): LabelRow,
}


def to_rows(results: Results, rows: Rows = "sentences") -> list[Any]:
    """Results as a list of rows.

    Parameters
    ----------
    results
        Parses, such as `Parser.parse_many` gives, or one outcome of `score` or
        `score_attachment`.
    rows
        ``"brackets"`` of parses, a row a phrase, parents before children; ``"words"``;
        ``"sentences"``; ``"labels"`` of scores.

    Returns
    -------
    list of named tuples
        `BracketRow`, `TaggedRow`, `WordRow`, `SentenceRow`, `ScoreRow`, `AttachmentRow` or
        `LabelRow`.

    Raises
    ------
    SettingsError
        When there are no such rows.
    TypeError
        For anything that is no result.
    """
    return _rows_and_kind(results, rows)[0]


def to_frame(results: Results, rows: Rows = "sentences") -> pd.DataFrame:
    """Results as a `pandas.DataFrame`, see `to_rows`.

    Raises
    ------
    SettingsError
        When there are no such rows, or pandas is not installed.
    """
    with require("pandas"):
        import pandas as pd

    made, kind = _rows_and_kind(results, rows)
    return pd.DataFrame(made, columns=list(getattr(kind, "_fields", ())))


def _rows_and_kind(results: Results, rows: Rows) -> tuple[list[Any], type | None]:
    check_choice(Rows, rows=rows)
    if isinstance(results, ParsevalResult | AttachmentResult):
        kind = _kind(type(results), rows)
        if kind is LabelRow:
            return _label_rows(results), kind
        if isinstance(results, ParsevalResult):
            return [_score_row(results, place) for place in range(len(results.sentences))], kind
        return [_attachment_row(results, place) for place in range(len(results.sentences))], kind
    if isinstance(results, ParseResult | DependencyResult):
        raise TypeError("results: a list of results is expected, not one")
    made: list[Any] = []
    kinds = {}
    for number, result in enumerate(results):
        if not isinstance(result, ParseResult | DependencyResult):
            raise TypeError(f"results: a parse is expected, not {type(result).__name__}")
        kinds[_kind(type(result), rows)] = True
        made += _rows_of(number, result, rows)
    return made, next(iter(kinds), None)


def _kind(result: type, rows: Rows) -> type:
    found = _ROW_OF.get((result, rows))
    if found is None:
        known = ", ".join(name for kind, name in _ROW_OF if kind is result)
        raise SettingsError(f"a {result.__name__} has no {rows}; it has {known}")
    return found


def _rows_of(number: int, result: ParseResult | DependencyResult, rows: Rows) -> list[Any]:
    if rows == "sentences":
        return [_sentence_row(number, result)]
    if isinstance(result, DependencyResult):
        pairs = zip(result.arcs, result.words, result.tags, strict=True)
        return [
            WordRow(number, arc.word, word, tag, arc.head, arc.relation, arc.confidence)
            for arc, word, tag in pairs
        ]
    if rows == "words":
        tagged = enumerate(zip(result.words, result.tags, strict=True))
        return [TaggedRow(number, place, *pair) for place, pair in tagged]
    if result.tree is None:
        return []
    nodes = result.tree.nodes(), spans_of_nodes(result.tree), node_confidences(result)
    return [
        BracketRow(number, *span, " ".join(result.words[span.start : span.end]), sure)
        for node, span, sure in zip(*nodes, strict=True)
        if not node.is_preterminal
    ]


def _sentence_row(number: int, result: ParseResult | DependencyResult) -> SentenceRow:
    tree, confidence, exact = None, result.confidence, None
    if isinstance(result, ParseResult):
        tree = None if result.tree is None else format_tree(result.tree)
        confidence, exact = result.calibrated or (result.confidence, result.tree_confidence)
    text = " ".join(result.words)
    about = (tree, confidence, exact, result.log_value, result.fallback)
    return SentenceRow(number, len(result.words), text, *about)


def _score_row(result: ParsevalResult, place: int) -> ScoreRow:
    one = result.sentences[place]
    counts = (one.words, one.gold, one.parsed, one.matched, one.crossing, one.tags)
    return ScoreRow(
        place, one.status, *counts, one.recall, one.precision, one.f1, one.exact, one.reason
    )


def _attachment_row(result: AttachmentResult, place: int) -> AttachmentRow:
    one = result.sentences[place]
    own = one.all
    counts = (own.words, own.heads, own.arcs)
    return AttachmentRow(place, one.sent_id, one.status, *counts, own.uas, own.las, one.reason)


def _label_rows(result: ParsevalResult | AttachmentResult) -> list[LabelRow]:
    if isinstance(result, ParsevalResult):
        found = {name: tuple(one) for name, one in result.labels.items()}
    else:
        found = {name: (*one, one.matched) for name, one in result.relations.items()}
    rows = []
    for label, (gold, parsed, recalled, precise) in found.items():
        recall, precision = (
            part / whole if whole else None for part, whole in ((recalled, gold), (precise, parsed))
        )
        both = (recalled + precise) / (gold + parsed) if gold + parsed else None
        rows.append(LabelRow(label, gold, parsed, recall, precision, both))
    return rows
