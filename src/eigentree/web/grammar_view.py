"""What the page shows of a grammar: its symbols, and what the states of each are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentree.errors import SettingsError
from eigentree.parsers import Parser

if TYPE_CHECKING:
    from eigentree.web.served import AnyParser


def symbols(parser: AnyParser) -> list[dict[str, Any]]:
    """Label, kind and number of states of each nonterminal.

    Raises
    ------
    SettingsError
        When the model has no nonterminals to show.
    """
    if not isinstance(parser, Parser):
        raise SettingsError("only models of constituents that are no ensembles have symbols")
    known = parser.grammar.backbone.symbols
    return [
        {"label": str(known[a]), "kind": known[a].kind, "n_states": int(parser.grammar.n_states[a])}
        for a in range(len(known))
    ]


def symbol(parser: AnyParser, label: str) -> dict[str, Any]:
    """One nonterminal.

    Raises
    ------
    SettingsError
        When there is none of this label.
    """
    found = next((each for each in symbols(parser) if each["label"] == label), None)
    if found is None:
        raise SettingsError(f"the model has no symbol {label[:60]!r}")
    return found
