"""The records of the grammar viewer, on grammars whose probabilities are known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import SettingsError
from eigentree.simulation import attachment_grammar, pronoun_grammar
from eigentree.treebank.binarise import Symbol
from eigentree.web.grammar_view import symbol, symbol_names, symbols
from tests.demo import demo_parser, demo_trees
from tests.helpers import close


def choices(record, state: int) -> dict[str, float]:
    """Words, or rules as ``left right``, of a state with their values."""
    found = next(each for each in record["states"] if each["state"] == state)
    return {
        each.get("word") or f"{each['left']} {each['right']}": each["value"]
        for each in found["choices"]
    }


def same(found: dict[str, float], expected: dict[str, float]) -> bool:
    values = [found[name] for name in expected]
    return found.keys() == expected.keys() and close(values, list(expected.values()), rtol=1e-9)


def test_nonterminals_are_listed():
    rows = {each["label"]: each for each in symbols(ConstituencyParser(pronoun_grammar()))}
    assert rows["NP+PRP"] == {
        "label": "NP+PRP",
        "kind": "preterminal",
        "chain": ["NP", "PRP"],
        "n_states": 2,
        "n_choices": 3,
        "count": None,
        "singular_values": [],
    }
    assert [rows[label]["n_choices"] for label in ("S", "VP", "NP", "V")] == [2, 2, 1, 2]


def test_words_of_states_have_their_probabilities():
    record = symbol(ConstituencyParser(pronoun_grammar()), "NP+PRP")
    assert not record["signed"]
    assert same(choices(record, 0), {"she": 0.7, "it": 0.3})
    assert same(choices(record, 1), {"him": 0.6, "it": 0.4})


def test_rules_of_states_have_their_probabilities():
    parser = ConstituencyParser(pronoun_grammar())
    assert same(choices(symbol(parser, "S"), 0), {"NP+PRP VP": 0.6, "NP VP": 0.4})
    assert same(choices(symbol(parser, "VP"), 0), {"V NP": 0.7, "V NP+PRP": 0.3})


def test_shares_are_those_of_a_state_s_uses():
    # A tree has one subject, which is no pronoun with probability 0.4, and one object, with 0.7.
    record = symbol(ConstituencyParser(pronoun_grammar()), "NP")
    shares = {each["state"]: each["share"] for each in record["states"]}
    assert close([shares[0], shares[1]], [0.4 / 1.1, 0.7 / 1.1], rtol=1e-9)
    assert [each["state"] for each in record["states"]] == [1, 0]


def test_most_says_how_many():
    record = symbol(ConstituencyParser(attachment_grammar()), "N", max_choices=2)
    assert len(record["states"][0]["choices"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pcfg", "em", "clustering"])
def test_choices_of_a_learned_grammar_of_probabilities_sum_to_one(method):
    parser = ConstituencyParser.train(demo_trees()[:150], method=method, states=3)
    for label in ("NP", "VP", "DT"):
        record = symbol(parser, label, max_choices=10_000)
        assert close(sum(each["share"] for each in record["states"]), 1.0, rtol=1e-9)
        for each in record["states"]:
            values = [choice["value"] for choice in each["choices"]]
            assert min(values) > 0
            # Some is kept for what the treebank lacks; the rest belongs to rules or words.
            assert 0.9 < sum(values) <= 1 + 1e-6  # models are in single precision


@pytest.mark.slow
@pytest.mark.parametrize("method", ["clustering", "spectral"])
def test_values_of_rules_are_those_of_their_tensors(method):
    parser = ConstituencyParser.train(demo_trees()[:150], method=method, states=3)
    grammar: LPCFG = parser.grammar
    names = symbol_names(grammar.backbone.symbols)
    found = symbol(parser, "NP", max_choices=10_000)
    for rule in np.flatnonzero(grammar.backbone.parent == names.index("NP")).tolist():
        left, right = grammar.backbone.left[rule], grammar.backbone.right[rule]
        below = [grammar.parameters.outside_mean[grammar.states(a)] for a in (left, right)]
        expected = np.einsum("abc,b,c->a", grammar.tensor(rule), *below)
        for state, value in enumerate(expected.tolist()):
            told = choices(found, state).get(f"{names[left]} {names[right]}", 0.0)
            assert close(told, value, rtol=1e-9, atol=1e-15)


def test_a_signed_grammar_has_directions_and_no_shares():
    parser = demo_parser()
    record = symbol(parser, "NP")
    assert record["signed"]
    assert [each["state"] for each in record["states"]] == list(range(record["n_states"]))
    assert {each["share"] for each in record["states"]} == {None}
    values = [choice["value"] for each in record["states"] for choice in each["choices"]]
    assert min(values) < 0 < max(values)
    sizes = [abs(choice["value"]) for choice in record["states"][0]["choices"]]
    assert sizes == sorted(sizes, reverse=True)
    rows = symbols(parser)
    assert [row["count"] for row in rows] == sorted((row["count"] for row in rows), reverse=True)
    assert rows[0]["singular_values"] == sorted(rows[0]["singular_values"], reverse=True)
    json.dumps(record, allow_nan=False)


def test_names_are_unique():
    # A label may hold what names are put together with.
    table = SymbolTable.of([Symbol("interminal", ("A+B",)), Symbol("interminal", ("A", "B"))])
    assert sorted(symbol_names(table)) == ["A+B", "A+B (2)"]


def test_what_is_not_there_is_refused():
    with pytest.raises(SettingsError, match="no nonterminal 'X'"):
        symbol(demo_parser(), "X")
    with pytest.raises(SettingsError, match="no grammar of its own"):
        symbols(object())
