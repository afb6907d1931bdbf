"""Constituency trees from dependency trees, for more training data.

Many languages have a large dependency treebank and a small constituency treebank.  A constituency
parser trained on the small one parses the sentences of the large one, under constraints from the
gold dependencies: the gold tags, and the phrases that they imply.  Trees that keep all of them can
be added to the small treebank.

Which spans of heads and dependents are phrases is learned, not assumed; see
`eigentree.treebank.head_phrases`.  Best from sentences with trees of both kinds.  Without such
sentences, the parser's own trees take that place: many mistakes of a parser are not systematic, so
a span that it makes a phrase in most sentences is probably one by the conventions of its treebank,
and is then required in the other sentences too.  The trees parsed under these constraints have
fewer mistakes, so the shares of phrases are learned again from them, in a few rounds: hard EM, with
the borders of phrases as what is hidden.

A sentence is left out, with a reason, where the grammar has no tree under its constraints, or only
one that ignores tags, where it is too long for one chart, and where the tree's confidence is below
a minimum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from eigentree._core.arguments import check_choice, check_jobs
from eigentree._core.batching import batches, map_batches
from eigentree.constituency.chart.decode import phrase_chains
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.result import Fallback, ParseResult
from eigentree.errors import SettingsError, check_range, counted
from eigentree.sentence_input import prepare
from eigentree.treebank.constraints import Constraints
from eigentree.treebank.head_phrases import HeadPhrases
from eigentree.treebank.io.conllu import Sentence
from eigentree.treebank.io.sentences import Tag, check_words
from eigentree.treebank.tag_schemes import Column
from eigentree.treebank.tree import Tree
from eigentree.types import Progress

# On the dev part of GUM, of which both kinds of trees exist, these gave the best trees.
SHARE_IN_TREES = 0.85
SHARE_IN_PARSES = 0.65
# Smaller probabilities of a word's tags are left out.
_MIN_PROBABILITY = 1e-3

Reason = Literal[
    "empty sentence",
    "word that can't be in a tree",
    "unknown tag",
    "no tree with these phrases",
    "no tree with these tags",
    "too long",
    "low confidence",
]

# Fall-backs whose trees may break constraints.
_REASONS: dict[Fallback, Reason] = {
    "flat": "no tree with these phrases",
    "tags": "no tree with these tags",
    "split": "too long",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionOptions:
    """Options of `convert_dependencies`.

    Attributes
    ----------
    tag_column
        The column of CoNLL-U with tags as in the parser's treebank.
    min_share
        How often a span of a head and dependents must be a phrase elsewhere to be required, 0..1.
        None for `SHARE_IN_TREES` where phrases are learned from given trees, and for
        `SHARE_IN_PARSES` where they are learned from the parser's own.
    max_share
        How often a span of several heads may be a phrase elsewhere and is forbidden all the same.
    rounds
        How often the parser's trees with constraints are made when phrases are learned from the
        parser's own trees; all but the last are only learned from.
    min_confidence
        Minimum mean confidence of the brackets of a tree, given the constraints, 0..1.

    Raises
    ------
    SettingsError
        When a value is outside its range.
    """

    tag_column: Column = "xpos"
    min_share: float | None = None
    max_share: float = 0.05
    rounds: int = 3
    min_confidence: float = 0.0

    def __post_init__(self) -> None:
        check_choice(Column, tag_column=self.tag_column)
        check_range(1, rounds=self.rounds)
        for name in ("min_share", "max_share", "min_confidence"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise SettingsError(f"{name} is {value}; it must be from 0 to 1")


class Converted(NamedTuple):
    """The constituency tree of a sentence with dependencies.

    Attributes
    ----------
    tree
        None where the sentence is left out.
    reason
        Why; None for a tree.
    constraints
        The phrases that were required, and the spans that were forbidden.
    confidence, tree_confidence
        Of the brackets and of the whole tree given the constraints, as in `ParseResult`; not
        calibrated.
    free_tags
        Tags that the parser doesn't know, whose words were tagged by its tagger.
    """

    tree: Tree | None
    reason: Reason | None = None
    constraints: Constraints = Constraints()
    confidence: float | None = None
    tree_confidence: float | None = None
    free_tags: tuple[str, ...] = ()

    @property
    def n_required(self) -> int:
        """Number of phrases that were required."""
        return sum(each.kind == "required" for each in self.constraints.each)


def convert_dependencies(
    parser: ConstituencyParser,
    sentences: Sequence[Sentence],
    options: ConversionOptions = ConversionOptions(),
    *,
    phrases: HeadPhrases | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Iterator[Converted]:
    """Parse sentences under the constraints of their gold dependencies and tags.

    Parameters
    ----------
    parser
        Of a treebank with the same tags.
    sentences
        With heads.
    options
    phrases
        Which spans are phrases, see `HeadPhrases.learn`; None to learn them from the parser's own
        trees of these sentences.
    jobs
        Number of processes; the trees are the same.
    progress
        Called with the name of the stage and the fraction of the sentences that are done.

    Returns
    -------
    iterator of Converted
        For every sentence, in order.

    Raises
    ------
    SettingsError
        When the parser lacks the tags of most words, or `jobs` is less than 1 or above 1024.
    TreebankFormatError
        When a sentence has no heads.
    WorkerError
        When a worker process exits unexpectedly.

    Cost
    ----
    One parse of each sentence; without `phrases`, one more and one for each further round.
    """
    check_jobs(jobs)
    known = frozenset(parser.grammar.backbone.symbols.tags)
    _check_tags(sentences, options.tag_column, known)
    inputs = [_tagged(sentence, parser, options.tag_column, known) for sentence in sentences]
    chains = phrase_chains(parser.grammar.backbone.symbols)
    labels = {label for chain in chains for label in chain}

    def parsed(
        learned: HeadPhrases | None, share: float, stage: str
    ) -> Iterator[tuple[_Input, ParseResult | None]]:
        given = inputs
        if learned is not None:
            given = [
                each._replace(
                    constraints=learned.constraints(sentence, share, options.max_share, labels)
                )
                for each, sentence in zip(inputs, sentences, strict=True)
            ]
        results = _parsed(parser, given, jobs)
        for number, pair in enumerate(zip(given, results, strict=True), start=1):
            yield pair
            if progress is not None:
                progress(stage, number / len(given))

    usual = SHARE_IN_PARSES if phrases is None else SHARE_IN_TREES
    share = usual if options.min_share is None else options.min_share
    for number in range(options.rounds if phrases is None else 0):
        stage = f"round {number} with constraints" if number else "parsing without constraints"
        pairs = zip(sentences, parsed(phrases, share, stage), strict=True)
        phrases = HeadPhrases.learn(
            (sentence, result.tree)
            for sentence, (_, result) in pairs
            if result is not None and result.tree is not None and result.fallback not in _REASONS
        )
    for given, result in parsed(phrases, share, "parsing with constraints"):
        yield _judged(given, result, options.min_confidence)


class _Input(NamedTuple):
    """A sentence for the parser; without tags where it can't be parsed, for a reason."""

    words: list[str]
    tags: list[Tag]
    free_tags: tuple[str, ...] = ()
    reason: Reason | None = None
    constraints: Constraints = Constraints()


def _check_tags(sentences: Sequence[Sentence], column: Column, known: Collection[str]) -> None:
    """Refuse sentences with the tags of another treebank."""
    tags = Counter(tag for sentence in sentences for tag in sentence.tags(column))
    unknown = Counter({tag: count for tag, count in tags.items() if tag not in known})
    if 2 * unknown.total() > tags.total():
        examples = ", ".join(tag for tag, _ in unknown.most_common(3))
        raise SettingsError(
            f"{unknown.total()} of {counted(tags.total(), 'word')} have tags in {column.upper()} "
            f"that the model doesn't know, such as {examples}; use the other column, or a model of "
            "a treebank with these tags"
        )


def _tagged(
    sentence: Sentence, parser: ConstituencyParser, column: Column, known: Collection[str]
) -> _Input:
    """The words of a sentence with their tags; the tagger's for tags that the parser lacks."""
    words = sentence.forms()
    try:
        check_words(words)
    except SettingsError:
        return _Input(words, [], reason="word that can't be in a tree")
    if not words:
        return _Input(words, [], reason="empty sentence")
    tags: list[Tag] = [*sentence.tags(column)]
    unknown = [place for place, tag in enumerate(tags) if tag not in known]
    if not unknown:
        return _Input(words, tags)
    if parser.tagger is None:
        return _Input(words, [], reason="unknown tag")
    guesses = parser.tagger.marginals(words, minimum=_MIN_PROBABILITY)
    free = tuple(str(tags[place]) for place in unknown)
    for place in unknown:
        tags[place] = {tag: probability for tag, probability in guesses[place] if tag in known}
    return _Input(words, tags, free)


def _judged(given: _Input, result: ParseResult | None, min_confidence: float) -> Converted:
    """The tree of a sentence, if it may be trained on."""
    constraints, free = given.constraints, given.free_tags
    if result is None:
        return Converted(None, given.reason, constraints, free_tags=free)
    confidence, whole = result.confidence, result.tree_confidence
    reason = None if result.fallback is None else _REASONS.get(result.fallback)
    if reason is None and min_confidence > (confidence or 0.0):
        reason = "low confidence"
    tree = result.tree if reason is None else None
    return Converted(tree, reason, constraints, confidence, whole, free)


def _parsed(
    parser: ConstituencyParser, inputs: Iterable[_Input], jobs: int
) -> Iterator[ParseResult | None]:
    """The parse of each sentence, in order; None for those that have a reason not to be parsed."""
    if jobs == 1:
        yield from (_parse(parser, each) for each in inputs)
    else:
        yield from map_batches(_begin, parser, batches(iter(inputs)), jobs)


def _begin(parser: ConstituencyParser) -> Callable[[list[_Input]], list[ParseResult | None]]:
    """What a worker process does with a batch."""
    return partial(_parse_batch, parser)


def _parse_batch(parser: ConstituencyParser, batch: list[_Input]) -> list[ParseResult | None]:
    return [_parse(parser, each) for each in batch]


def _parse(parser: ConstituencyParser, given: _Input) -> ParseResult | None:
    """Parse a sentence; a conflict between constraints is not explained, which takes long."""
    if given.reason is not None:
        return None
    known = parser.grammar.backbone.symbols.tags
    sentence = prepare(given.words, given.tags, parser.tagger, known)
    return parser.parse_sentence(sentence.under(given.constraints))
