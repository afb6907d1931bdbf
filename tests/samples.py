"""Small dependency treebanks that many tests share."""

from __future__ import annotations

from functools import cache

from eigentree.dependency.learn.head_automata import HeadAutomataOptions
from eigentree.dependency.learn.lexical_modifiers import LexicalModifierOptions
from eigentree.dependency.options import DependencyOptions, DependencyTrainingOptions
from eigentree.dependency.parser import DependencyParser
from eigentree.dependency.training import train_dependencies
from eigentree.simulation import clauses
from eigentree.treebank.io.conllu import Sentence, Word, format_sentence

DECODING = DependencyOptions()


def sentence(text: str, heads: list[int], relations: str = "") -> Sentence:
    """A sentence of ``form/TAG`` with its tree."""
    cells = [word.split("/") for word in text.split()]
    names = relations.split() or ["dep" if head else "root" for head in heads]
    return Sentence(
        tuple(
            Word(number, form, upos=tag, head=head, deprel=name)
            for number, ((form, tag), head, name) in enumerate(
                zip(cells, heads, names, strict=True), start=1
            )
        )
    )


def text_of(sentences) -> str:
    return "".join(map(format_sentence, sentences))


@cache
def treebank(n: int = 200, seed: int = 0) -> tuple[Sentence, ...]:
    return tuple(clauses(n, seed=seed))


def options(
    method: str = "spectral", *, lexical: bool = False, tagger: bool = False,
    relations: bool = False, parsing: DependencyOptions = DECODING, **automata: object,
) -> DependencyTrainingOptions:  # fmt: skip
    """Quick ones unless asked otherwise."""
    return DependencyTrainingOptions(
        HeadAutomataOptions(method, **automata),
        LexicalModifierOptions() if lexical else None,
        relations=relations,
        tagger=tagger,
        parsing=parsing,
    )


@cache
def whole_parser() -> DependencyParser:
    """A parser that has every part."""
    return train_dependencies(
        treebank(), options(lexical=True, tagger=True, relations=True), dev=treebank(20, 1)
    )


@cache
def plain_parser() -> DependencyParser:
    """Automata alone."""
    return train_dependencies(treebank(), options())


def rows_of(text: str) -> Sentence:
    """A sentence from lines of form, UPOS, XPOS, head and relation."""
    rows = [line.split() for line in text.strip().splitlines()]
    return Sentence(
        tuple(
            Word(number, form, upos=upos, xpos=xpos, head=int(head), deprel=relation)
            for number, (form, upos, xpos, head, relation) in enumerate(rows, start=1)
        )
    )
