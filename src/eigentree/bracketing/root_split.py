"""Where the root parts a sentence: rules on its words, tags and punctuation.

A rule is a function of the words and tags of a whole sentence and of the map that tells what its
tags are.  It answers with a position among the words that are left without punctuation, of which
those before it and the rest are the two parts; 0 means that it has nothing to say.  Anything else
that gives such positions, learned ones among them, may stand in the place of `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from eigentree.treebank.tree import Tree
from eigentree.treebank.universal_tags import TagMap

Rule = Callable[[Sequence[str], Sequence[str], TagMap], int]

# Commas, semicolons and colons, in Chinese and Arabic typography as well.
_BREAKS = frozenset(",;:，；：،؛")


def by_verbs(words: Sequence[str], tags: Sequence[str], tag_map: TagMap) -> int:
    """The rule of Parikh et al. (2014), section 4.1.

    The part before and the part after the last comma, semicolon or colon that has a verb before it
    and, after it, a noun that a verb follows; else what is before and after the first verb that is
    no participle; else the first word and the rest.  A verb at the beginning gives the last, too.

    Examples
    --------
    >>> from eigentree.treebank.universal_tags import tag_map
    >>> by_verbs("the man slept .".split(), "DT NN VBD .".split(), tag_map("penn"))
    2
    """
    kept = [at for at, tag in enumerate(tags) if not tag_map.is_punctuation(tag)]
    if len(kept) < 2:
        return 0

    def before(at: int) -> int:
        """The position of a token among the words that are left, never at an end."""
        return min(max(sum(each < at for each in kept), 1), len(kept) - 1)

    verbs = [at for at in kept if tag_map.is_verb(tags[at])]
    for at in reversed(range(len(words))):
        if words[at] in _BREAKS and verbs and verbs[0] < at:
            nouns = (each for each in kept if each > at and tag_map.is_noun(tags[each]))
            noun = next(nouns, None)
            if noun is not None and verbs[-1] > noun:
                return before(at)
    predicate = next((at for at in verbs if tag_map.is_predicate(tags[at])), None)
    return 1 if predicate is None else before(predicate)


def free(words: Sequence[str], tags: Sequence[str], tag_map: TagMap) -> int:  # noqa: ARG001 - a rule
    """No rule: wherever the tree is best."""
    return 0


RULES: dict[str, Rule] = {"verbs": by_verbs, "free": free}


def gold_top_bracket(tree: Tree, tag_map: TagMap) -> int:
    """Where a gold tree parts the words that are left without punctuation, 0 where it does not.

    That is the inner end of the longest phrase of two words or more that stands at the beginning or
    end of the sentence and isn't all of it.
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
