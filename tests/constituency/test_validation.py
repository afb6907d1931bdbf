"""Validation on held-out trees that are pruned once: parses equal those of a parser."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from eigentree.constituency import validation as module
from eigentree.constituency.chart import pruning
from eigentree.constituency.decoding import decode
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.options import ParserOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions
from eigentree.constituency.validation import ValidationSet
from eigentree.errors import GrammarError
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.demo import any_length_parser, demo_parser, demo_trees

# Ordinary sentences, an unknown tag, tags without a tree, a single word, and a duplicate.
ODD = tuple(
    parse_tree(text)
    for text in (
        "(S (NP (XYZ zorgle) (NN dog)) (VP (VBZ sees)))",
        "(S (. .) (. .) (. .))",
        "(UH yes)",
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))))",
    )
)


def held_out_of(parser: ConstituencyParser, trees) -> ValidationSet:
    return ValidationSet(trees, parser.grammar.backbone, parser.options)


def without_value(parser: ConstituencyParser) -> LPCFG:
    """A grammar with the same backbone under which every sentence has the value 0."""
    parameters = parser.grammar.parameters
    return LPCFG(
        parser.grammar.backbone, parameters._replace(root=np.zeros_like(parameters.root)), True
    )


def same(parser: ConstituencyParser, trees) -> list[str | None]:
    results = held_out_of(parser, trees).parse(parser.grammar)
    assert results == [parser.parse(tree.words(), tree.tags()) for tree in trees]
    return [result.fallback for result in results]


def test_results_are_a_parser_s_own():
    trees = [*demo_trees()[:20], *ODD, ODD[0]]
    fallbacks = same(demo_parser(), trees)
    assert fallbacks[:20] == [None] * 20
    assert fallbacks[20:] == ["tags", "tags", fallbacks[22], None, "tags"]
    coarse = replace(demo_parser(), grammar=without_value(demo_parser()))
    assert same(coarse, trees)[:20] == ["coarse"] * 20


def test_what_is_relaxed_is_relaxed_alike(monkeypatch):
    # Where nothing decodes at first, further attempts are needed.
    tries = count(1)

    def failing(*given):
        return None if next(tries) % 3 else decode(*given)

    monkeypatch.setattr("eigentree.constituency.decoding.decode", failing)
    parser = demo_parser()
    trees = demo_trees()[:4]
    once = held_out_of(parser, trees).parse(parser.grammar)
    fresh = replace(parser)
    assert once == [fresh.parse(tree.words(), tree.tags()) for tree in trees]
    assert {result.fallback for result in once} == {"threshold"}


def test_long_sentences_are_parsed_in_the_same_pieces():
    words = ["ab"[number % 3 == 0] for number in range(30)]
    tree = Tree("S", [Tree(word.upper(), (), word) for word in words])
    parser = replace(any_length_parser(), options=ParserOptions(max_words=7))
    assert same(parser, [tree, *demo_trees()[:2]])[0] == "split"


def test_memory_that_runs_out_halves_the_pieces(monkeypatch):
    def cramped(sentence, *given):
        if len(sentence.words) > 10:
            raise MemoryError
        return decode(sentence, *given)

    monkeypatch.setattr("eigentree.constituency.decoding.decode", cramped)
    tree = Tree("S", [Tree("A", (), "a") for _ in range(30)])
    assert same(any_length_parser(), [tree]) == ["split"]


def test_sentences_are_pruned_once(monkeypatch):
    calls: list[int] = []

    def counting(*arguments, **named):
        calls.append(1)
        return pruning.prune(*arguments, **named)

    monkeypatch.setattr("eigentree.constituency.pruning_schedule.prune", counting)
    trees = demo_trees()[:6]
    parser = demo_parser()
    held_out = held_out_of(parser, trees)
    assert len(calls) == len(trees)
    for grammar in (parser.grammar, parser.grammar, without_value(parser)):
        held_out.parse(grammar)
    assert len(calls) == len(trees)


def test_f1_of_grammars_of_one_backbone():
    trees = demo_trees()
    settings = TrainingOptions(tagger=False)
    parsers = [
        ConstituencyParser.train(trees[:60], settings=settings, states=states) for states in (1, 6)
    ]
    judged = ValidationSet(trees[60:90], parsers[0].grammar.backbone, settings.parsing)
    for parser in parsers:
        parsed = [parser.parse(tree.words(), tree.tags()).tree for tree in trees[60:90]]
        assert judged.f1(parser.grammar) == score(trees[60:90], parsed, EVALB_COLLINS).all.f1
    nothing = ValidationSet([parse_tree("(. .)")], parsers[0].grammar.backbone, settings.parsing)
    assert nothing.f1(parsers[0].grammar) == 0.0


def test_another_backbone_is_refused():
    judged = held_out_of(demo_parser(), demo_trees()[:2])
    with pytest.raises(GrammarError, match=r"has other rules or words than .* pruned"):
        judged.f1(any_length_parser().grammar)


def test_progress_goes_to_the_end():
    calls: list[tuple[str, float]] = []
    parser = demo_parser()
    module.ValidationSet(
        demo_trees()[:4],
        parser.grammar.backbone,
        parser.options,
        progress=lambda *call: calls.append(call),
    )
    assert calls == [("held-out trees", share) for share in (0.25, 0.5, 0.75, 1.0)]
