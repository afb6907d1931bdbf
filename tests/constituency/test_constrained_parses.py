"""Parsers, ensembles and the command line under constraints."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from eigentree.constituency.chart.decode import OBJECTIVES
from eigentree.constituency.ensemble.combine import Chains, Evidence, combine
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.constituency.learn.decomposition import DecompositionOptions
from eigentree.constituency.parser import IN_PARTS, ConstituencyParser
from eigentree.constituency.result import ParseResult
from eigentree.errors import SettingsError
from eigentree.sentence_input import PreparedSentence
from eigentree.treebank.constraints import Constraint, Constraints
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.constituency.ensemble.samples import described, sampled_trees
from tests.constituency.ensemble.test_parser import of_parsers
from tests.demo import any_length_parser, demo_parser, demo_trees, run_verb

WORDS = ["The", "dog", "sees", "the", "old", "cat", "."]
TAGS = ["DT", "NN", "VBZ", "DT", "JJ", "NN", "."]
PLAIN = "(S (NP (DT The) (NN dog)) (VP (VBZ sees) (NP (DT the) (JJ old) (NN cat))) (. .))"
SOME = [
    Constraints.of([(0, 2, "NP")]),
    Constraints.of([(3, 5)]),
    Constraints.of([(0, 3, "S")]),
    Constraints.of([(0, 1, "NP")]),
    Constraints.of([(0, 7, "S"), (2, 6, "VP"), (4, 6)]),
    Constraints.of(forbidden=[(3, 6)]),
    Constraints.of(forbidden=[(2, 6, "VP"), (3, 6, "NP")]),
    Constraints.of(tags={1: "JJ"}),
    Constraints.of([(3, 5, "NP")], [(0, 2)], {5: "NNS"}),
]


def with_options(parser: ConstituencyParser, **changes) -> ConstituencyParser:
    return replace(parser, options=replace(parser.options, **changes))


@cache
def parsers() -> dict[str, ConstituencyParser]:
    """A parser for each class of grammar."""
    trees = demo_trees()[:200]
    found = {
        method: ConstituencyParser.train(trees, method=method, states=2)
        for method in ("pcfg", "em", "clustering", "spectral")
    }
    kruskal = found["pcfg"].in_kruskal_form(DecompositionOptions(60, "als", iterations=10))
    return {**found, "kruskal": kruskal, "no tagger": replace(found["pcfg"], tagger=None)}


def check_kept(result: ParseResult, constraints: Constraints) -> None:
    assert result.fallback not in ("flat", "split", "constraints")
    assert (result.dropped_constraints, result.conflict) == ((), None)
    assert result.tree is not None
    assert constraints.broken_by(result.tree) == ()
    assert all(constraints.broken_by(each.tree) == () for each in result.alternatives)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pcfg", "em", "clustering", "spectral", "kruskal", "no tagger"])
@pytest.mark.parametrize("constraints", SOME, ids=lambda each: ", ".join(map(str, each.each)))
def test_every_class_of_grammar_keeps_constraints(kind: str, constraints: Constraints):
    parser = parsers()[kind]
    for tags in (TAGS, None):
        check_kept(parser.parse(WORDS, tags, constraints=constraints, kbest=5), constraints)


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_keeps_constraints(objective):
    parser = with_options(parsers()["pcfg"], objective=objective)
    for constraints in SOME:
        check_kept(parser.parse(WORDS, constraints=constraints, kbest=20), constraints)


@pytest.mark.slow
def test_an_exhaustive_chart_keeps_constraints():
    parser = parsers()["pcfg"]
    exhaustive = with_options(parser, exhaustive=True)
    for constraints in SOME:
        result = exhaustive.parse(WORDS, TAGS, constraints=constraints)
        assert result.tree == parser.parse(WORDS, TAGS, constraints=constraints).tree


def test_what_holds_anyway_changes_nothing():
    parser = demo_parser()
    plain = parser.parse(WORDS, TAGS)
    assert plain.tree == parse_tree(PLAIN)
    known = Constraints.of(
        [(start, end, label) for label, start, end in plain.tree.spans()],
        [(1, 3), (2, 5)],
        dict(enumerate(TAGS)),
    )
    result = parser.parse(WORDS, TAGS, constraints=known)
    assert result.tree == plain.tree
    assert result.confidence == pytest.approx(1.0)
    assert result.log_value <= plain.log_value
    assert parser.parse(WORDS, TAGS, constraints=Constraints()) == plain


def test_the_value_is_that_of_the_trees_that_keep_them():
    parser = with_options(parsers()["pcfg"], threshold=0.0)
    whole = parser.parse(WORDS, TAGS)
    required = parser.parse(WORDS, TAGS, constraints=Constraints.of([(3, 6, "NP")]))
    forbidden = parser.parse(WORDS, TAGS, constraints=Constraints.of(forbidden=[(3, 6, "NP")]))
    parts = [math.exp(each.log_value - whole.log_value) for each in (required, forbidden)]
    assert sum(parts) == pytest.approx(1.0)
    # The confidence of a bracket is the fraction of the trees that have it.
    (confidence,) = [b.confidence for b in whole.brackets if b[:3] == ("NP", 3, 6)]
    assert parts[0] == pytest.approx(confidence)


def test_unlikely_spans_survive_pruning():
    parser = with_options(demo_parser(), threshold=0.4)
    for span in combinations(range(6), 2):
        constraints = Constraints.of([span])
        result = parser.parse(WORDS, TAGS, constraints=constraints)
        if result.conflict is None:
            check_kept(result, constraints)
        else:
            assert not parser.can_satisfy(PreparedSentence(WORDS, TAGS), constraints)


def test_wrappers_are_taken_for_granted():
    parser = replace(any_length_parser(), wrapper="TOP")
    check_kept(parser.parse(["a", "b"], constraints=Constraints.of([(0, 2, "TOP")])), Constraints())
    # Sentences without any tree are not checked.
    plain = demo_parser()
    wrapped = replace(plain, wrapper="TOP")
    found = wrapped.parse(["????"], ["DT"], constraints=Constraints.of([(0, 1, "TOP")]))
    assert found == plain.parse(["????"], ["DT"])
    result = parser.parse(["a", "b"], constraints=Constraints.of([(0, 1, "TOP")]))
    assert result.conflict == "the grammar has no tree with required TOP over 0-1"


def test_tags_go_before_given_ones():
    parser = parsers()["pcfg"]
    result = parser.parse(WORDS, TAGS, constraints=Constraints.of(tags={1: "JJ"}))
    assert result.tags == ["DT", "JJ", *TAGS[2:]]


# What can't be kept -----------------------------------------------------------------------

CONFLICTS = [
    (
        Constraints.of([(0, 3), (2, 5), (3, 6, "NP")]),
        "required span over 0-3 and required span over 2-5 cross",
        [Constraint("required", 2, 5)],
    ),
    (
        Constraints.of([(0, 2, "NP")], [(0, 2)]),
        "required NP over 0-2 and forbidden span over 0-2 contradict each other",
        [Constraint("forbidden", 0, 2)],
    ),
    (
        Constraints.of([(3, 6, "NP"), (0, 2, "XX")]),
        "the grammar has no tree with required XX over 0-2",
        [Constraint("required", 0, 2, "XX")],
    ),
    (
        Constraints.of(tags={0: "XX", 1: "NN"}),
        "the grammar has no tree with tag XX over 0-1",
        [Constraint("tag", 0, 1, "XX")],
    ),
    (
        Constraints.of([(0, 2, "NP"), (2, 6, "VP")], tags={0: "DT", 1: "IN", 2: "VBZ"}),
        "the grammar has no tree with these 2 constraints together: required NP over 0-2 and tag "
        "IN over 1-2",
        [Constraint("tag", 1, 2, "IN")],
    ),
]


@pytest.mark.parametrize(("constraints", "message", "given_up"), CONFLICTS)
def test_conflicts_are_named_and_marked(constraints, message, given_up):
    parser = demo_parser()
    plain = parser.parse(WORDS)
    result = parser.parse(WORDS, constraints=constraints)
    assert (result.tree, result.fallback) == (plain.tree, "constraints")
    assert (result.dropped_constraints, result.conflict) == (constraints.each, message)
    soft = parser.parse(WORDS, constraints=constraints, soft=True)
    assert (list(soft.dropped_constraints), soft.conflict) == (given_up, message)
    kept = tuple(each for each in constraints.each if each not in given_up)
    assert Constraints(kept).broken_by(soft.tree) == ()


def test_a_sentence_without_any_tree_is_reported():
    result = demo_parser().parse(["????"], ["."], constraints=Constraints.of([(0, 1)]))
    assert result.fallback == "flat"
    assert result.dropped_constraints == (Constraint("required", 0, 1),)
    assert result.conflict == (
        "the grammar has no tree for the sentence, with constraints or without"
    )


def test_long_sentences_keep_no_constraints():
    parser = with_options(any_length_parser(), max_words=4)
    result = parser.parse(["a"] * 5, constraints=Constraints.of([(1, 5)]), soft=True, kbest=2)
    assert result.fallback == "split"
    assert result.dropped_constraints == (Constraint("required", 1, 5),)
    assert result.conflict == IN_PARTS
    check_kept(parser.parse(["a"] * 4, constraints=Constraints.of([(1, 4)])), Constraints())


def test_spans_beyond_the_words_are_refused():
    with pytest.raises(SettingsError, match="required span over 0-8 reaches beyond the sentence"):
        demo_parser().parse(WORDS, constraints=Constraints.of([(0, 8)]))
    with pytest.raises(SettingsError, match="the sentence of 0 words"):
        demo_parser().parse([], constraints=Constraints.of([(0, 1)]))


def test_many_sentences_have_their_own():
    one, other = Constraints.of([(3, 5)]), Constraints.of([(0, 3), (2, 5)])
    given = [(WORDS, TAGS, one), (WORDS, TAGS), (WORDS, None, other), (WORDS, None, None)]
    results = list(demo_parser().parse_many(given, soft=True))
    check_kept(results[0], one)
    assert results[1].tree == results[3].tree == parse_tree(PLAIN)
    assert results[2].dropped_constraints == (Constraint("required", 2, 5),)


# Ensembles --------------------------------------------------------------------------------


@pytest.mark.slow
def test_ensembles_keep_constraints(tmp_path):
    """Families of two backbones, combinations of every kind."""
    ensemble = train_ensemble(sampled_trees()[:60], described(), tmp_path, wrapper="", seed=1)
    n_kept = 0
    for tree in sampled_trees()[60:66]:
        words, tags = tree.words(), tree.tags()
        given = [
            Constraints.of(**{kind: [span]})
            for span in combinations(range(min(len(words), 5) + 1), 2)
            for kind in ("required", "forbidden")
        ]
        for constraints, result in zip(
            given,
            ensemble.parse_many([(words, tags, each) for each in given], kbest=4),
            strict=True,
        ):
            if result.conflict is None:
                check_kept(result, constraints)
                n_kept += 1
            else:
                assert result.dropped_constraints == constraints.each
                assert result.fallback == "constraints"
                assert "the grammar has no tree with" in result.conflict
    assert n_kept > 50


def test_ensembles_give_up_as_parsers_do():
    parser = demo_parser()
    ensemble = of_parsers([parser] * 2, tagger=parser.tagger, wrapper="TOP")
    for constraints, message, given_up in CONFLICTS:
        hard = ensemble.parse(WORDS, constraints=constraints)
        assert (hard.dropped_constraints, hard.conflict) == (constraints.each, message)
        soft = ensemble.parse(WORDS, constraints=constraints, soft=True)
        assert (list(soft.dropped_constraints), soft.conflict) == (given_up, message)
    check_kept(ensemble.parse(WORDS, constraints=Constraints.of([(0, 7, "TOP")])), Constraints())
    with pytest.raises(SettingsError, match="reaches beyond"):
        ensemble.parse(WORDS, constraints=Constraints.of([(0, 8)]))
    short = replace(ensemble, backbones=[with_options(ensemble.backbones[0], max_words=4)])
    result = short.parse(WORDS, constraints=Constraints.of([(0, 2)]))
    assert (result.fallback, result.conflict) == ("split", IN_PARTS)


def test_a_coverage_has_a_required_span_whose_label_members_disagree_on():
    words, tags = ["a", "b", "c"], ["x", "y", "z"]
    evidence = Evidence(3, Chains())
    trees = [parse_tree(f"(S ({label} (x a) (y b)) (z c))") for label in ("A", "B", "C")]
    evidence.add_trees(trees)
    plain = combine(evidence, words, tags, root="S", best=9)
    assert plain.tree == parse_tree("(S (x a) (y b) (z c))")
    found = combine(evidence, words, tags, root="S", best=9, required=[(0, 2), (0, 3)])
    # Its label has a third of the weight, and the price is one half.
    assert found.tree == trees[0]
    assert found.value == pytest.approx(plain.value + 1 / 3 - 1 / 2)
    assert {found.tree, *(other.tree for other in found.others)} == set(trees)


# The command line -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "demo.egt"
    demo_parser().save(path)
    return path


def parse_lines(model: Path, tmp_path: Path, lines: list[str], *options: str | Path):
    """Exit code, one record per sentence, and messages."""
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    code, out, err = run_verb("parse", "-m", model, source, "--output-format", "json", *options)
    records = [json.loads(line) for line in out.split("\n")[:-1]]
    assert len(records) == len(lines)
    return code, records, err


def tree_of(record: dict) -> Tree:
    return parse_tree(record["tree"]).children[0]


@pytest.mark.slow
def test_square_brackets_are_kept(model, tmp_path):
    lines = ["The dog sees [the old] cat .", "[NP The] dog [sees the old cat .]", "", "The dog ["]
    code, records, err = parse_lines(model, tmp_path, lines, "--input-format", "bracketed")
    assert code == 2
    assert f"{tmp_path}/in.txt:4:9: bracket is never closed: The dog [\n" in err
    assert Constraints.of([(3, 5)]).broken_by(tree_of(records[0])) == ()
    assert Constraints.of([(0, 1, "NP"), (2, 7)]).broken_by(tree_of(records[1])) == ()
    assert [each["fallback"] for each in records] == [None, None, "empty", "unreadable"]
    assert [each["given_up"] for each in records] == [[]] * 4
    code, again, _ = parse_lines(
        model, tmp_path, lines, "--input-format", "bracketed", "--jobs", "2"
    )
    assert (code, again) == (2, records)


def test_half_trees_are_kept(model, tmp_path):
    lines = ["( (S (NP The dog) (VP sees (NP (NP-SBJ the old) (NNS cat)) .)))"]
    code, (record,), err = parse_lines(model, tmp_path, lines, "--input-format", "half-trees")
    assert (code, "constraints dropped" in err) == (0, False)
    assert record["tags"][5] == "NNS"
    expected = Constraints.of([(0, 7, "S"), (2, 7, "VP"), (3, 6, "NP"), (3, 5, "NP")])
    assert expected.broken_by(tree_of(record)) == ()


def test_lines_of_json_have_tags_weights_and_constraints(model, tmp_path):
    words = ["The", "dog", "sees", "the", "old", "cat", "."]
    tags = ["DT", {"NN": 0.7, "VBZ": 0.3}, "VBZ", "DT", "JJ", {"NNS": 1}, "."]
    lines = [
        json.dumps({"words": words, "tags": tags}),
        json.dumps({"words": words, "constraints": {"required": [[3, 5]]}}),
        json.dumps({"words": words, "tags": [{"NOUN": 1}] * 7}),
        "{",
        "",
        json.dumps({"words": words}),
    ]
    code, records, err = parse_lines(model, tmp_path, lines, "--input-format", "json")
    assert code == 2
    assert "in.txt:3:1: 'NOUN' at word 1 has a weight, but the parser has no such tag" in err
    assert "in.txt:4:2: isn't JSON: " in err
    assert records[0]["tags"] == ["DT", "NN", "VBZ", "DT", "JJ", "NNS", "."]
    assert Constraints.of([(3, 5)]).broken_by(tree_of(records[1])) == ()
    expected = [None, None, "unreadable", "unreadable", "empty", None]
    assert [each["fallback"] for each in records] == expected
    code, ignored, _ = parse_lines(
        model, tmp_path, lines[:1], "--input-format", "json", "--ignore-tags"
    )
    assert (code, ignored[0]["tags"]) == (0, records[5]["tags"])


def test_a_file_of_constraints(model, tmp_path):
    given = [
        '{"required": [[3, 5, "NP"]], "tags": [[5, "NNS"]]}',
        "",
        '{"required": [[0, 3], [2, 5]], "forbidden": [[3, 6]]}',
        '{"required": [[0, 99]]}',
        "{",
        "null",
    ]
    file = tmp_path / "constraints.jsonl"
    file.write_text("".join(f"{line}\n" for line in given), "utf-8")
    lines = [" ".join(WORDS)] * 6
    code, records, err = parse_lines(model, tmp_path, lines, "--constraints", file)
    assert code == 2
    first = Constraints.of([(3, 5, "NP")], tags={5: "NNS"})
    assert first.broken_by(tree_of(records[0])) == ()
    crossing = "required span over 0-3 and required span over 2-5 cross"
    assert records[2]["conflict"] == crossing
    assert len(records[2]["given_up"]) == 3
    assert records[2]["given_up"][0] == {
        "kind": "required", "start": 0, "end": 3, "label": None,
    }  # fmt: skip
    assert (
        f"{tmp_path}/in.txt:3: fall-back: constraints, constraints dropped: required span over"
        in err
    )
    assert crossing in err
    assert f"{file}:4: required span over 0-99 reaches beyond the sentence of 7 words" in err
    assert f"{file}:5:2: isn't JSON" in err
    assert [record["fallback"] for record in records] == [
        None, None, *["constraints"] * 3, None,
    ]  # fmt: skip
    assert {record["tree"] for record in records[1:]} == {records[1]["tree"]}

    code, soft, err = parse_lines(model, tmp_path, lines[:3], "--constraints", file, "--soft", "-q")
    assert code == 2  # for the lines that stand for no sentence
    assert f"{file}:4: is beyond the last sentence" in err
    assert "constraints dropped" not in err
    assert [each["start"] for each in soft[2]["given_up"]] == [2]
    kept = Constraints.of([(0, 3)], [(3, 6)])
    assert kept.broken_by(tree_of(soft[2])) == ()
    file.write_text("".join(f"{line}\n" for line in given[:3]), "utf-8")
    code, again, err = parse_lines(model, tmp_path, lines[:3], "--constraints", file, "--soft")
    assert (code, again) == (0, soft)
    assert "constraints dropped: required span over 2-5: " + crossing in err
    code, _, err = parse_lines(model, tmp_path, lines, "--constraints", file, "--soft", "-q")
    assert code == 2
    assert err.count("has 3 lines, none for") == 1


def test_files_and_brackets_go_together(model, tmp_path):
    file = tmp_path / "constraints.jsonl"
    file.write_text('{"forbidden": [[0, 3]]}\n', "utf-8")
    lines = ["The dog sees [the old] cat ."]
    options = ("--input-format", "bracketed", "--constraints", file, "--kbest", "5")
    code, (record,), _ = parse_lines(model, tmp_path, lines, *options)
    assert code == 0
    both = Constraints.of([(3, 5)], [(0, 3)])
    trees = [tree_of(each) for each in record["alternatives"]]
    assert len(trees) == 5
    assert [both.broken_by(tree) for tree in trees] == [()] * 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--soft"], "--soft requires"),
        (["--constraints", "-"], "can't both be standard input"),
        (["--constraints", "nowhere"], "nowhere: can't be read"),
    ],
)
def test_options_that_have_no_meaning(model, options, message):
    code, out, err = run_verb("parse", "-m", model, *options)
    assert (code, out) == (2, "")
    assert message in err
