"""Records for browsing a grammar: nonterminals, their states, and the choices of states.

The value of a choice (a word or a rule) in state h of a nonterminal a is

    p(choice | a) times the total inside vector of a over trees that begin with the choice, at h.

In a probabilistic grammar this is p(choice | a, h), apart from the smoothing mass of unknown words.
In a signed grammar the states are singular directions: a value is the projection of the choice on
its direction, may be negative, and is only comparable with other values of the same state.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.grammar.symbols import SymbolTable
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import SettingsError
from eigentree.types import Floats

MAX_CHOICES = 12
# Only this many rules of a nonterminal are considered, the most probable in the plain grammar: a
# value contains that probability as a factor, so rarer rules have small values.
_MAX_RULES = 256


def symbols(parser: object) -> list[dict[str, Any]]:
    """A record for each nonterminal, most frequent first.

    Returns
    -------
    list of dict
        ``label``, a unique name; ``kind``; ``chain``, the collapsed labels, top-down; ``n_states``;
        ``n_choices``, rules or words; ``count`` in training, None if unknown;
        ``singular_values``, empty if it was not learned from projections.  In a spectral grammar
        each state is one of the singular directions; in one learned by clustering, states are
        clusters in the space of all of them, and may be more.

    Raises
    ------
    SettingsError
        When the model has no grammar of its own, such as ensembles and dependency models.
    """
    parser = _with_grammar(parser)
    backbone = parser.grammar.backbone
    table = backbone.symbols
    n_choices = np.bincount(backbone.parent, minlength=len(table))
    n_choices += np.bincount(backbone.words.symbol, minlength=len(table))
    count = parser.description.get("symbol_counts")
    values = parser.description.get("singular_values")
    order = list(range(len(table)))
    if count is not None:
        order.sort(key=lambda a: -count[a])
    names = symbol_names(table)
    return [
        {
            "label": names[a],
            "kind": table[a].kind,
            "chain": list(table[a].chain),
            "n_states": int(parser.grammar.n_states[a]),
            "n_choices": int(n_choices[a]),
            "count": None if count is None else round(float(count[a])),
            "singular_values": [] if values is None else values[a],
        }
        for a in order
    ]


def symbol(parser: object, label: str, *, max_choices: int = MAX_CHOICES) -> dict[str, Any]:
    """One nonterminal with its states.

    Parameters
    ----------
    parser
        A `Parser`; other models have no grammar of their own.
    label
        As in the records of `symbols`.
    max_choices
        Maximum number of words or rules per state.

    Returns
    -------
    dict
        The record of `symbols`, with ``method``, how the grammar was learned, ``signed``, whether
        values are not probabilities, and ``states``, largest share first: each with its number
        ``state``, counted from 0, its ``share`` of the uses
        of the nonterminal (None if signed), and ``choices`` in descending order of absolute
        values.  A choice is a ``word``, or ``left`` and ``right`` of a rule, with its ``value``.

    Raises
    ------
    SettingsError
        When the grammar has no such nonterminal, or the model no grammar of its own.

    Cost
    ----
    The size of the tensors of up to 256 rules.
    """
    parser = _with_grammar(parser)
    grammar = parser.grammar
    names = symbol_names(grammar.backbone.symbols)
    if label not in names:
        raise SettingsError(f"the grammar has no nonterminal {label[:60]!r}")
    number = names.index(label)
    is_word = bool(grammar.backbone.symbols.tag[number] >= 0)
    choices, values = _words(grammar, number) if is_word else _rules(grammar, number, names)
    share = None if grammar.signed else _shares(grammar, number)
    n_states = int(grammar.n_states[number])
    states = []
    for state in range(n_states) if share is None else np.argsort(-share, kind="stable").tolist():
        column = values[:, state]
        best = np.argsort(-np.abs(column), kind="stable")[:max_choices].tolist()
        states.append(
            {
                "state": state,
                "share": None if share is None else float(share[state]),
                "choices": [
                    {**choices[place], "value": float(column[place])}
                    for place in best
                    if column[place]
                ],
            }
        )
    record = next(each for each in symbols(parser) if each["label"] == label)
    method = parser.description.get("method")
    return {**record, "method": method, "signed": grammar.signed, "states": states}


def _with_grammar(parser: object) -> ConstituencyParser:
    if not isinstance(parser, ConstituencyParser):
        raise SettingsError(
            "the model has no grammar of its own; only single grammars can be viewed"
        )
    return parser


def symbol_names(table: SymbolTable) -> list[str]:
    """A unique name for each nonterminal; repeated names are numbered."""
    seen: Counter[str] = Counter()
    names = []
    for name in map(str, table.symbols):
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _shares(grammar: LPCFG, symbol: int) -> Floats:
    """Axes (K): the share of each state among the uses of a nonterminal."""
    states = grammar.states(symbol)
    uses = grammar.parameters.outside_mean[states] * grammar.parameters.inside_mean[states]
    return np.asarray(uses / uses.sum())


def _words(grammar: LPCFG, symbol: int) -> tuple[list[dict[str, str]], Floats]:
    """The words of a preterminal, and their values, axes (words, K)."""
    words = grammar.backbone.words
    rows = np.flatnonzero(words.symbol == symbol)
    probability = words.entry_probability()[rows]
    choices = [{"word": words.lexicon.entries[word]} for word in words.word[rows].tolist()]
    vectors = np.stack([grammar.word_vector(row) for row in rows.tolist()])
    return choices, probability[:, None] * vectors


def _rules(grammar: LPCFG, symbol: int, names: list[str]) -> tuple[list[dict[str, str]], Floats]:
    """The rules of an interminal or intermediate symbol, and their values, axes (rules, K)."""
    backbone = grammar.backbone
    rows = np.flatnonzero(backbone.parent == symbol)
    rows = rows[np.argsort(-backbone.probability[rows], kind="stable")[:_MAX_RULES]]
    choices = [
        {"left": names[backbone.left[row]], "right": names[backbone.right[row]]}
        for row in rows.tolist()
    ]
    values = np.zeros((len(rows), int(grammar.n_states[symbol])))
    for place, row in enumerate(rows.tolist()):
        values[place] = _rule_values(grammar, row)
    return choices, values


def _rule_values(grammar: LPCFG, rule: int) -> Floats:
    """Axes (K_a): the value of a rule in each state of its parent, all below it summed out."""
    p = grammar.parameters
    a, b, c = (grammar.states(int(symbol)) for symbol in p.rule_symbols[rule])
    if grammar.is_counted[rule]:
        # All below sums to 1, and the four terms of the mixture to two: no tensor is needed.
        first, n = int(p.sample_start[rule, 0]), int(p.n_samples[rule])
        triples = slice(first, first + n)
        own = np.bincount(p.triples[triples, 0], p.uses[triples], a.stop - a.start)
        rest = (1.0 - p.smoothing[rule]) ** 3
        mixed = (1.0 - rest) * own / own.sum() + rest * p.state_share[a]
        return np.asarray(p.ratio[rule] * p.state_scale[a] * mixed)
    # Summed over all trees below a node, inside vectors give the mean outside projection.
    left, right = p.outside_mean[b], p.outside_mean[c]
    return np.asarray(grammar.tensor(rule) @ right @ left)
