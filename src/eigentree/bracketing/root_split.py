"""Rules for the position at which the root splits a sentence, from words, tags and punctuation.

A rule is a function of the words and tags of a whole sentence and of its tag map.  It returns a
position among the words without punctuation, at which the root splits them; 0 means that the rule
does not apply.  Any other function that returns such positions, such as a learned one, can replace
those in `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eigentree.treebank.tree import Tree
from eigentree.treebank.universal_tags import TagMap

Rule = Callable[[Sequence[str], Sequence[str], TagMap], int]

# Commas, semicolons and colons, including Chinese and Arabic ones.
_BREAKS = frozenset(",;:，；：،؛")


def by_verbs(words: Sequence[str], tags: Sequence[str], tag_map: TagMap) -> int:
    """The rule of Parikh et al. (2014), section 4.1.

    Splits at the last comma, semicolon or colon that has a verb before it and, after it, a noun
    that is followed by a verb; otherwise before the first verb that is not a participle; otherwise
    after the first word.  A verb at the beginning also results in the last rule.

    Examples
    --------
    >>> from eigentree.treebank.universal_tags import tag_map
    >>> by_verbs("the man slept .".split(), "DT NN VBD .".split(), tag_map("penn"))
    2
    """
    positions = [at for at, tag in enumerate(tags) if not tag_map.is_punctuation(tag)]
    if len(positions) < 2:
        return 0

    def before(at: int) -> int:
        """The position of a token among the remaining words, never at an end."""
        return min(max(sum(each < at for each in positions), 1), len(positions) - 1)

    verbs = [at for at in positions if tag_map.is_verb(tags[at])]
    for at in reversed(range(len(words))):
        if words[at] in _BREAKS and verbs and verbs[0] < at:
            nouns = (each for each in positions if each > at and tag_map.is_noun(tags[each]))
            noun = next(nouns, None)
            if noun is not None and verbs[-1] > noun:
                return before(at)
    predicate = next((at for at in verbs if tag_map.is_predicate(tags[at])), None)
    return 1 if predicate is None else before(predicate)


def free(words: Sequence[str], tags: Sequence[str], tag_map: TagMap) -> int:  # noqa: ARG001 - interface
    """No rule: the position with the best tree."""
    return 0


RULES: dict[str, Rule] = {"verbs": by_verbs, "free": free}


def gold_top_bracket(tree: Tree, tag_map: TagMap) -> int:
    """The position at which a gold tree splits the words without punctuation; 0 if it does not.

    It is the inner end of the longest phrase of two or more words that is at the beginning or
    end of the sentence and is not the whole sentence.
    """
    is_kept = [not tag_map.is_punctuation(tag) for tag in tree.tags()]
    place = [0]
    for kept in is_kept:
        place.append(place[-1] + kept)
    n, longest, top = place[-1], 1, 0
    for _, start, end in sorted(tree.spans(), key=lambda span: (span.start, span.end)):
        first, last = place[start], place[end]
        if longest < last - first < n and (first == 0 or last == n):
            longest, top = last - first, last if first == 0 else first
    return top
