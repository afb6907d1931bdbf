"""Training of dependency parsers: from sentences in CoNLL-U to a `DependencyParser`.

Head-automata are learned from tags, a lexical model from words; relations and the tagger are
learned independently of both.  Charts find projective trees only, so other trees are made
projective first, or skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from eigentree._core.arguments import listed, settings_or_default
from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.learn.arc_labels import train_arc_labels
from eigentree.dependency.learn.head_automata import (
    HeadAutomataOptions,
    Method,
    learn_head_automata,
)
from eigentree.dependency.learn.lexical_modifiers import (
    MAX_WEIGHTS,
    HeadedSentence,
    count_lexical_modifiers,
    search_weight,
)
from eigentree.dependency.options import Crossing, DependencyTrainingOptions
from eigentree.dependency.parser import UNKNOWN_TAG, DependencyParser
from eigentree.errors import GrammarError, counted
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.tokenisation.words import tokenise
from eigentree.treebank.io.conllu import EMPTY, Sentence
from eigentree.treebank.projective import projectivise
from eigentree.treebank.tag_schemes import scheme_of, tags_of
from eigentree.types import Progress
from eigentree.words.tag_dictionary import dictionary_for
from eigentree.words.tagger import Tagger

Item = TypeVar("Item")

# Held-out sentences that score iterations; more take longer and change little.
MAX_SCORED = 500
# Held-out sentences that score weights of a lexical model, whose charts are larger.
MAX_WEIGHED, MAX_WEIGHED_LENGTH = 200, 40
# Maximum number of contractions in a parser.
_MAX_CONTRACTED = 3000


class ProjectiveTrees(NamedTuple):
    """Trees that a chart can find.

    ``n_lifted`` counts words that were lifted, ``n_crossing`` the trees with crossing arcs, whether
    lifted or skipped.
    """

    sentences: list[HeadedSentence]
    relations: list[list[str]]
    n_crossing: int
    n_lifted: int


def projective_trees(
    sentences: Iterable[Sentence], scheme: str, crossing: Crossing = "lift"
) -> ProjectiveTrees:
    """Words, tags and projective heads of sentences; see `DependencyTrainingOptions.crossing`."""
    projective: list[HeadedSentence] = []
    relations: list[list[str]] = []
    n_crossing = n_lifted = 0
    for sentence in sentences:
        heads, lifts = projectivise(sentence.heads())
        if any(lifts):
            n_crossing += 1
            if crossing == "skip":
                continue
            n_lifted += sum(lift > 0 for lift in lifts)
        projective.append(HeadedSentence(sentence.forms(), tags_of(sentence, scheme), heads))
        relations.append(sentence.relations())
    return ProjectiveTrees(projective, relations, n_crossing, n_lifted)


def attachment(parser: DependencyParser, sentences: Sequence[HeadedSentence]) -> float:
    """The share of words with the correct head, parsed with gold tags."""
    results = parser.parse_many((words, tags) for words, tags, _ in sentences)
    n_right = n_words = 0
    for (_, _, heads), result in zip(sentences, results, strict=True):
        n_words += len(heads)
        n_right += sum(head == right for head, right in zip(result.heads, heads, strict=True))
    return n_right / max(n_words, 1)


def train_dependencies(
    data: Sequence[Sentence],
    settings: DependencyTrainingOptions | None = None,
    *,
    method: Method | None = None,
    dev: Sequence[Sentence] = (),
    seed: int = 0,
    jobs: int = 1,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> DependencyParser:
    """Train a dependency parser.

    Parameters
    ----------
    data
        Sentences with trees.
    settings
        None for the defaults.
    method
        Shortcut for the method of learning automata in `settings`.
    dev
        Held-out sentences with trees.  `MAX_SCORED` of them, evenly spread, score EM iterations; of
        these, `MAX_WEIGHED` of at most `MAX_WEIGHED_LENGTH` words score the weight of the lexical
        model.
    seed
        The same seed gives the same parser, byte for byte.
    jobs
        Number of processes of EM; the result is the same for any number.
    checkpoint
        A file from which an interrupted EM can resume.
    progress
        Called with the stage and the fraction of it done, 0 to 1.

    Raises
    ------
    GrammarError
        When no sentence remains to learn from, no word has a tag, or relations are requested and
        no word modifies another.
    ModelFileError
        When the checkpoint is from another training run.
    """
    options = settings_or_default(settings, DependencyTrainingOptions).with_method(method)
    given = listed(data, Sentence, "data", "sentences, as read_dependencies gives")
    sentences = [sentence for sentence in given if len(sentence)]
    scheme = options.tag_scheme or scheme_of(sentences)
    trees = projective_trees(sentences, scheme, options.crossing)
    if not trees.sentences:
        raise GrammarError(
            f"of {counted(len(sentences), 'dependency tree')} none is left to learn from; "
            "at least one is needed"
        )
    if all(set(tree.tags) == {EMPTY} for tree in trees.sentences):
        raise GrammarError(
            f"no word has a tag in {options.tag_scheme or 'upos or xpos'}; automata are learned "
            "from tags"
        )
    # Checked before EM, which takes long.
    if options.relations and not any(head for tree in trees.sentences for head in tree.heads):
        raise GrammarError(
            "every word of the trees is a root, but relations are learned from arcs between words; "
            "provide trees with such arcs, or leave relations out with --no-relations"
        )
    dictionary = dictionary_for(options.tagger, options.tag_dictionary)
    scored = projective_trees(_spread(dev, MAX_SCORED), scheme).sentences
    report = progress or _ignore
    pairs = [(tags, heads) for _, tags, heads in trees.sentences]
    symbols = sorted({UNKNOWN_TAG, *(tag for tags, _ in pairs for tag in tags)})
    # Signed automata may have no value under other objectives.
    parsing = replace(options.parsing, lexical_weight=options.lexical_weight or 1.0)
    plain = replace(parsing, objective="sum", lexical_alone=False)

    prior = HeadAutomataOptions("det+f", prior=options.automata.prior)
    back_off = learn_head_automata(pairs, prior, symbols=symbols).automata

    def judge(automata: HeadAutomata) -> float:
        return attachment(DependencyParser(automata, back_off, scheme, options=plain), scored)

    learned = learn_head_automata(
        pairs,
        options.automata,
        symbols=symbols,
        scorer=judge if scored else None,
        validation_digest=str(len(scored)),
        checkpoint=checkpoint,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    parser = DependencyParser(learned.automata, back_off, scheme, options=plain)
    if options.lexical is not None:
        report("words", 0.0)
        parser = replace(
            parser,
            lexical=count_lexical_modifiers(trees.sentences, options.lexical),
            options=replace(plain, lexical_alone=parsing.lexical_alone),
        )
        if options.lexical_weight is None and scored and not parsing.lexical_alone:
            parser = _with_best_weight(parser, scored, report)
        report("words", 1.0)
    if options.relations:
        report("relations", 0.0)
        rows = list(zip(trees.sentences, trees.relations, strict=True))
        parser = replace(parser, relations=train_arc_labels(rows, seed=seed))
        report("relations", 1.0)
    if options.tagger:
        report("tagger", 0.0)
        tagged = [(words, tags) for words, tags, _ in trees.sentences]
        tagger = Tagger.train(
            tagged,
            dictionary=dictionary,
            progress=lambda done, total: report("tagger", done / total),
        )
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
                # Without times, which differ between runs: one seed gives one file.
                "record": [
                    {
                        "restart": each.restart,
                        "iteration": each.number,
                        "log_likelihood": each.log_likelihood,
                        "uas": each.score,
                    }
                    for each in learned.record
                ],
            },
        },
    )


def scheme_of_treebank(sentences: Sequence[Sentence]) -> TokenisationScheme:
    """How a treebank splits text into words, from its words and its ranges.

    A range whose words are not substrings of it, such as French ``du`` for ``de le``, is kept as a
    contraction if it is more frequent than the same characters as one word.
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
    # A file without joined words has lost its text.
    has_spacing = any(not all(each[:-1]) for each in spaces)
    scheme = TokenisationScheme.of_words(
        (each.forms() for each in sentences), spaces if has_spacing else None
    )
    contracted = {}
    for surface, counts in ways.items():
        parts, count = counts.most_common(1)[0]
        shown = tuple(token.text.lower() for token in tokenise(surface, scheme))
        if count > whole[surface] and shown != parts and " " not in surface:
            contracted[surface] = (count, parts)
    frequent = sorted(contracted, key=lambda surface: -contracted[surface][0])[:_MAX_CONTRACTED]
    return replace(
        scheme, contracted=tuple(sorted((each, *contracted[each][1]) for each in frequent))
    )


def _with_best_weight(
    parser: DependencyParser, scored: Sequence[HeadedSentence], report: Progress
) -> DependencyParser:
    """The parser with the weight of its lexical model that scores best on held-out sentences."""
    short = [each for each in scored if len(each.words) <= MAX_WEIGHED_LENGTH]
    sentences = _spread(short, MAX_WEIGHED)
    n_tried = 0

    def score(weight: float) -> float:
        nonlocal n_tried
        report("words", n_tried / MAX_WEIGHTS)
        n_tried += 1
        return attachment(_weighted(parser, weight), sentences)

    return _weighted(parser, search_weight(score))


def _weighted(parser: DependencyParser, weight: float) -> DependencyParser:
    return replace(parser, options=replace(parser.options, lexical_weight=weight))


def _spread(items: Sequence[Item], max_items: int) -> list[Item]:
    """At most ``max_items``, spread evenly: neighbours in a treebank are from one text."""
    n = min(len(items), max_items)
    return [items[at * len(items) // n] for at in range(n)]


def _ignore(stage: str, share: float) -> None:
    pass
