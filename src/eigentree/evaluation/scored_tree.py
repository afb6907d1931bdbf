"""A tree prepared for scoring: its words, which of them count, and its brackets."""

from __future__ import annotations

import unicodedata

from eigentree.evaluation.settings import ParsevalOptions
from eigentree.treebank.tree import Span, Tree

QUOTE_MARKS = frozenset("'\"/")
SIGNS = frozenset("#%&*@/\\§¶‰†‡")  # punctuation by Unicode category, but read as words
ACCENTS = frozenset("`´¨")  # not punctuation by Unicode category, but quote marks in treebanks


def is_punctuation(word: str) -> bool:
    """Whether a word consists of punctuation by Unicode category, in any script.

    Signs that are read as words (``%``, ``&``, ``#``, ...) are not punctuation; grave and acute
    accents, which are quote marks in treebanks, are.
    """
    return all(
        character in ACCENTS
        or (unicodedata.category(character)[0] == "P" and character not in SIGNS)
        for character in word
    )


class ScoredTree:
    """The tokens of a tree, which of them count, and its brackets over all tokens."""

    def __init__(self, tree: Tree, options: ParsevalOptions) -> None:
        self.tokens: list[tuple[str, str]] = []  # word, tag
        self.root: str | None = None
        brackets: list[Span] = []
        top = tree
        while not top.is_preterminal and top.label in options.root_labels:
            self.root = top.label
            if len(top.children) > 1:
                break
            top = top.children[0]
        is_root = not top.is_preterminal and top.label in options.root_labels
        stack: list[tuple[Tree, int]] = [(top, -1)]
        while stack:
            node, opened = stack.pop()
            if opened >= 0:
                brackets[opened] = brackets[opened]._replace(end=len(self.tokens))
            elif node.word is not None:
                self.tokens.append((node.word, node.label))
            else:
                if not (is_root and node is top):
                    stack.append((node, len(brackets)))
                    brackets.append(Span(node.label, len(self.tokens), -1))
                stack.extend((child, -1) for child in reversed(node.children))
        self.all_brackets = brackets  # parents before children
        self.length = sum(tag not in options.length_delete_labels for _, tag in self.tokens)
        self.kept = [
            tag not in options.delete_labels
            and not (options.drop_punctuation and is_punctuation(word))
            for word, tag in self.tokens
        ]

    def words(self) -> list[str]:
        return [word for (word, _), kept in zip(self.tokens, self.kept, strict=True) if kept]

    def tags(self) -> list[str]:
        return [tag for (_, tag), kept in zip(self.tokens, self.kept, strict=True) if kept]

    def quotes(self, options: ParsevalOptions) -> list[int]:
        return [
            place
            for place, (word, tag) in enumerate(self.tokens)
            if tag in options.quote_labels and word in QUOTE_MARKS
        ]


def restore_quotes(gold: ScoredTree, parsed: ScoredTree, options: ParsevalOptions) -> None:
    """Restore quote marks that only one side excluded because of their tags.

    Quotes are identified by the number of counted words before them.  Where EVALB restores the
    first of several adjacent quotes twice, each is restored once.
    """
    gold_quotes, parsed_quotes = gold.quotes(options), parsed.quotes(options)
    for theirs in parsed_quotes:
        for ours in gold_quotes:
            if sum(gold.kept[:ours]) == sum(parsed.kept[:theirs]):
                if parsed.kept[theirs] and not gold.kept[ours]:
                    gold.kept[ours] = True
                    break
                if gold.kept[ours] and not parsed.kept[theirs]:
                    parsed.kept[theirs] = True
                    break
