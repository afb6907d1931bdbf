"""Training of dependency parsers: from sentences in CoNLL-U to a `DependencyParser`.

Head-automata learn tags, a lexical model words; the relations and the tagger learn apart from
both.  Charts find projective trees only, so others are made projective first, or left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, get_args

from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.learn.arc_labels import train_arc_labels
from eigentree.dependency.learn.head_automata import (
    HeadAutomataOptions,
    Method,
    learn_head_automata,
)
from eigentree.dependency.learn.lexical_modifiers import (
    MOST_WEIGHTS,
    HeadedSentence,
    LexicalOptions,
    count_lexical_modifiers,
    search_weight,
)
from eigentree.dependency.parser import UNKNOWN_TAG, DependencyOptions, DependencyParser
from eigentree.errors import GrammarError, SettingsError, counted
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.words import tokenise
from eigentree.treebank.io.conllu import EMPTY, Sentence
from eigentree.treebank.projective import projectivise
from eigentree.treebank.tag_schemes import parts_of_scheme, scheme_of, tags_of
from eigentree.types import Progress
from eigentree.words.tagger import Tagger

Crossing = Literal["lift", "skip"]
Item = TypeVar("Item")

# Sentences that iterations are judged on; more say the same and take longer.
MOST_JUDGED = 500
# And weights of a lexical model, whose charts are larger.
MOST_WEIGHED, LONGEST_WEIGHED = 200, 40
# Ranges of a treebank that its parser knows.
_MOST_CONTRACTED = 3000


def best_automata(method: Method = "spectral+em") -> HeadAutomataOptions:
    """Automata as they served best on held-out trees of six treebanks.

    To judge an iteration by parsing takes far longer than the iteration, so only some are.
    """
    return HeadAutomataOptions(method, judge_every=5)


@dataclass(frozen=True, slots=True)
class DependencyTrainingOptions:
    """Settings for training a dependency parser.

    Attributes
    ----------
    automata
        Method and states.
    lexical
        The lexical model that is combined with them; None for tags alone.
    lexical_weight
        Its exponent; None to search for the best on held-out sentences, or 1 without any.
    tag_scheme
        What the tags are, see `eigentree.treebank.tag_schemes`; None to let the treebank decide.
    crossing
        What becomes of trees with crossing arcs: ``lift`` makes them projective, ``skip``
        leaves them out.
    relations, tagger
        Whether to learn relations, and tags for words.
    parsing
        How sentences are parsed.
    """

    automata: HeadAutomataOptions = field(default_factory=best_automata)
    lexical: LexicalOptions | None = field(default_factory=LexicalOptions)
    lexical_weight: float | None = None
    tag_scheme: str | None = None
    crossing: Crossing = "lift"
    relations: bool = True
    tagger: bool = True
    parsing: DependencyOptions = field(default_factory=DependencyOptions)

    def __post_init__(self) -> None:
        if self.tag_scheme is not None:
            parts_of_scheme(self.tag_scheme)
        if self.crossing not in get_args(Crossing):
            raise SettingsError(f"crossing is {self.crossing!r}; it must be lift or skip")
        if self.lexical_weight is not None and self.lexical_weight <= 0.0:
            raise SettingsError(f"lexical_weight is {self.lexical_weight}; it must be above 0")


class ProjectiveTrees(NamedTuple):
    """Trees that a chart can find.

    ``n_lifted`` counts words that were lifted, ``n_crossing`` the trees that these, or others that
    were left out, belong to.
    """

    sentences: list[HeadedSentence]
    relations: list[list[str]]
    n_crossing: int
    n_lifted: int


def projective_trees(
    sentences: Iterable[Sentence], scheme: str, crossing: Crossing = "lift"
) -> ProjectiveTrees:
    """Words, tags and projective heads of sentences; see `DependencyTrainingOptions.crossing`."""
    kept: list[HeadedSentence] = []
    relations: list[list[str]] = []
    n_crossing = n_lifted = 0
    for sentence in sentences:
        heads, lifts = projectivise(sentence.heads())
        if any(lifts):
            n_crossing += 1
            if crossing == "skip":
                continue
            n_lifted += sum(lift > 0 for lift in lifts)
        kept.append(HeadedSentence(sentence.forms(), tags_of(sentence, scheme), heads))
        relations.append(sentence.relations())
    return ProjectiveTrees(kept, relations, n_crossing, n_lifted)


def attachment(parser: DependencyParser, sentences: Sequence[HeadedSentence]) -> float:
    """The share of words with the right head, parsed with gold tags."""
    results = parser.parse_many((words, tags) for words, tags, _ in sentences)
    n_right = n_words = 0
    for (_, _, heads), result in zip(sentences, results, strict=True):
        n_words += len(heads)
        n_right += sum(head == right for head, right in zip(result.heads, heads, strict=True))
    return n_right / max(n_words, 1)


def train_dependencies(
    sentences: Sequence[Sentence],
    options: DependencyTrainingOptions = DependencyTrainingOptions(),
    *,
    dev: Sequence[Sentence] = (),
    seed: int = 0,
    jobs: int = 1,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> DependencyParser:
    """Learn a dependency parser.

    Parameters
    ----------
    sentences
        With trees.
    options
    dev
        Held-out sentences with trees.  `MOST_JUDGED` from all over them judge iterations of
        expectation maximisation; of these, `MOST_WEIGHED` of at most `LONGEST_WEIGHED` words judge
        the weight of the lexical model.
    seed
        Same seed, same parser, to the byte.
    jobs
        Processes of expectation maximisation; the result is the same.
    checkpoint
        A file with which expectation maximisation, once stopped, can go on.
    progress
        Called with the stage and the share of it that is done, 0 to 1.

    Raises
    ------
    GrammarError
        When no sentence is left to learn from, none of its words has a tag, or relations are to be
        learnt and no word modifies another.
    ModelFileError
        When the checkpoint belongs to other work.
    """
    sentences = [sentence for sentence in sentences if len(sentence)]
    scheme = options.tag_scheme or scheme_of(sentences)
    trees = projective_trees(sentences, scheme, options.crossing)
    if not trees.sentences:
        raise GrammarError(
            f"of {counted(len(sentences), 'dependency tree')} none is left to learn from; "
            "at least one is needed"
        )
    if all(set(tree.tags) == {EMPTY} for tree in trees.sentences):
        raise GrammarError(
            f"no word has a tag by {options.tag_scheme or 'upos or xpos'}, and automata learn from "
            "tags; there must be some"
        )
    # Told before expectation maximisation, which takes long.
    if options.relations and not any(head for tree in trees.sentences for head in tree.heads):
        raise GrammarError(
            "every word of the trees is a root, and relations are learnt from arcs between words "
            "too; give trees with such arcs, or leave relations out with --no-relations"
        )
    judged = projective_trees(_spread(dev, MOST_JUDGED), scheme).sentences
    tell = progress or _tell_nobody
    pairs = [(tags, heads) for _, tags, heads in trees.sentences]
    symbols = sorted({UNKNOWN_TAG, *(tag for tags, _ in pairs for tag in tags)})
    # With another objective there may be nothing to judge signed automata by.
    parsing = replace(options.parsing, lexical_weight=options.lexical_weight or 1.0)
    plain = replace(parsing, objective="sum", lexical_alone=False)

    prior = HeadAutomataOptions("det+f", prior=options.automata.prior)
    back_off = learn_head_automata(pairs, prior, symbols=symbols).automata

    def judge(automata: HeadAutomata) -> float:
        return attachment(DependencyParser(automata, back_off, scheme, options=plain), judged)

    learned = learn_head_automata(
        pairs,
        options.automata,
        symbols=symbols,
        judge=judge if judged else None,
        judged_on=str(len(judged)),
        checkpoint=checkpoint,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    parser = DependencyParser(learned.automata, back_off, scheme, options=plain)
    if options.lexical is not None:
        tell("words", 0.0)
        parser = replace(
            parser,
            lexical=count_lexical_modifiers(trees.sentences, options.lexical),
            options=replace(plain, lexical_alone=parsing.lexical_alone),
        )
        if options.lexical_weight is None and judged and not parsing.lexical_alone:
            parser = _with_best_weight(parser, judged, tell)
        tell("words", 1.0)
    if options.relations:
        tell("relations", 0.0)
        rows = list(zip(trees.sentences, trees.relations, strict=True))
        parser = replace(parser, relations=train_arc_labels(rows, seed=seed))
        tell("relations", 1.0)
    if options.tagger:
        tell("tagger", 0.0)
        tagged = [(words, tags) for words, tags, _ in trees.sentences]
        tagger = Tagger.train(tagged, progress=lambda done, most: tell("tagger", done / most))
        parser = replace(parser, tagger=tagger)
    return replace(
        parser,
        options=replace(parsing, lexical_weight=parser.options.lexical_weight),
        description={
            "sentences": len(trees.sentences),
            "words": sum(len(tree.words) for tree in trees.sentences),
            "tag_counts": Counter(tag for tags, _ in pairs for tag in tags),
            "crossing": {"trees": trees.n_crossing, "lifted": trees.n_lifted},
            "text": scheme_of_treebank(sentences).to_json(),
            "seed": seed,
            "automata": asdict(options.automata),
            "lexical": None if options.lexical is None else options.lexical.states,
            "em": {
                "best": learned.best,
                # Without times, which differ from run to run: one seed gives one file.
                "record": [
                    {
                        "restart": each.restart,
                        "iteration": each.number,
                        "log_likelihood": each.log_likelihood,
                        "uas": each.judgement,
                    }
                    for each in learned.record
                ],
            },
        },
    )


def scheme_of_treebank(sentences: Sequence[Sentence]) -> TokenisationScheme:
    """What a treebank takes for a word, by its words and its ranges.

    A range whose words nothing in it shows, such as French ``du`` for ``de le``, is kept where it
    is more frequent than the same characters as one word.
    """
    ways: dict[str, Counter[tuple[str, ...]]] = {}
    whole: Counter[str] = Counter()
    for sentence in sentences:
        covered: set[int] = set()
        for extra in sentence.extras:
            if extra.covers is not None:
                covered.update(extra.covers)
                forms = (sentence.words[number - 1].form.lower() for number in extra.covers)
                ways.setdefault(extra.cells[1].lower(), Counter())[tuple(forms)] += 1
        whole.update(word.form.lower() for word in sentence.words if word.id not in covered)
    spaces = [each.space_after() for each in sentences]
    # A file in which nothing is joined has lost its text.
    is_told = any(not all(each[:-1]) for each in spaces)
    scheme = TokenisationScheme.of_words(
        (each.forms() for each in sentences), spaces if is_told else None
    )
    contracted = {}
    for surface, counts in ways.items():
        parts, count = counts.most_common(1)[0]
        shown = tuple(token.text.lower() for token in tokenise(surface, scheme))
        if count > whole[surface] and shown != parts and " " not in surface:
            contracted[surface] = (count, parts)
    most = sorted(contracted, key=lambda surface: -contracted[surface][0])[:_MOST_CONTRACTED]
    return replace(scheme, contracted=tuple(sorted((each, *contracted[each][1]) for each in most)))


def _with_best_weight(
    parser: DependencyParser, judged: Sequence[HeadedSentence], tell: Progress
) -> DependencyParser:
    """The parser with the weight of its lexical model that does best on held-out sentences."""
    short = [each for each in judged if len(each.words) <= LONGEST_WEIGHED]
    sentences = _spread(short, MOST_WEIGHED)
    n_tried = 0

    def score(weight: float) -> float:
        nonlocal n_tried
        tell("words", n_tried / MOST_WEIGHTS)
        n_tried += 1
        return attachment(_weighted(parser, weight), sentences)

    return _weighted(parser, search_weight(score))


def _weighted(parser: DependencyParser, weight: float) -> DependencyParser:
    return replace(parser, options=replace(parser.options, lexical_weight=weight))


def _spread(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many, from all over the sequence: neighbours in a treebank are of one text."""
    n = min(len(items), most)
    return [items[at * len(items) // n] for at in range(n)]


def _tell_nobody(stage: str, share: float) -> None:
    pass
