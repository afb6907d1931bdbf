"""Sizes and settings of a constituency parser, for ``eigentree inspect``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eigentree.constituency.grammar.kruskal import (
    KruskalGrammar,
    Multiplications,
    error_for_bound,
    probability_bound,
    rule_tensor,
    truncation_bound,
)
from eigentree.constituency.parser import ConstituencyParser
from eigentree.linalg.multilinear import SparseTensor

# Sentence lengths for which the cost of charts is computed.
LENGTHS = (10, 20, 40, 80)


def summarise(parser: ConstituencyParser) -> dict[str, Any]:
    """The result of `ConstituencyParser.summary`."""
    grammar = parser.grammar
    backbone, parameters = grammar.backbone, grammar.parameters
    symbols = backbone.symbols
    n_states = grammar.n_states
    description = dict(parser.description)
    values = description.pop("singular_values", None)
    # The description of a parser assembled by hand may have no counts of symbols.
    count = np.array(description.pop("symbol_counts", None) or [0] * len(symbols))
    n_rules = np.bincount(backbone.parent, minlength=len(symbols))
    counted_form = grammar.is_counted
    never_seen = (parameters.dense_start < 0) & (parameters.n_samples == 0)
    table = [
        {
            "nonterminal": str(symbols[a]),
            "kind": symbols[a].kind,
            "count": round(float(count[a])),
            "states": int(n_states[a]),
            "rules": int(n_rules[a]),
            "singular_values": [] if values is None else values[a],
        }
        for a in np.lexsort((np.arange(len(symbols)), -count))
    ]
    return {
        "trained": description,
        "parsing": {
            "objective": parser.options.objective,
            "threshold": parser.options.threshold,
            "max_words": parser.options.max_words,
        },
        "wrapper": parser.wrapper,
        "tagger": None if parser.tagger is None else {"tags": len(parser.tagger.tagset)},
        "sizes": {
            "nonterminals": len(symbols),
            "preterminals": int(np.sum(symbols.tag >= 0)),
            "tags": len(symbols.tags),
            "binary rules": backbone.n_rules,
            "rules never seen": int(np.sum(never_seen)),
            "rules kept as samples": int(np.sum((parameters.n_samples > 0) & ~counted_form)),
            "rules kept as counts": int(np.sum(counted_form)),
            "words and word classes": len(backbone.lexicon),
            "words with a preterminal": len(backbone.words.word),
            "latent states": int(n_states.sum()),
            "parameters that are not zero": grammar.n_parameters,
        },
        "signed": grammar.signed or (parser.kruskal is not None and parser.kruskal.signed),
        "kruskal": None
        if parser.kruskal is None
        else _costs(parser.kruskal, description.get("decomposition", {}).get("error")),
        "nonterminals": table,
    }


def _costs(form: KruskalGrammar, error: float | None) -> dict[str, Any]:
    """Cost and error bounds of charts in Kruskal form, compared with charts over all rules."""
    tensor = rule_tensor(form.exact)
    costs = {n: Multiplications.of(form, n) for n in LENGTHS}
    return {
        "rank": form.rank,
        "numbers that are not zero": form.n_parameters,
        "precision": str(form.weights.dtype),
        "multiplications": {
            n: {
                "by rules": each.by_rules,
                "in Kruskal form": each.in_kruskal_form,
                "ratio": each.by_rules / each.in_kruskal_form,
            }
            for n, each in costs.items()
        },
        "bytes of a chart": {n: form.chart_bytes(n) for n in LENGTHS},
        "bounds": None if error is None or form.exact.signed else _bounds(form, tensor, error),
    }


def _bounds(form: KruskalGrammar, tensor: SparseTensor, error: float) -> dict[str, Any]:
    """Error bounds by word count; None for values too large for a float (cohen-2013, section 5)."""
    from eigentree.constituency.learn.decomposition import slices

    smallest, parents = float(tensor.values[tensor.values > 0].min()), form.n_inner_states
    differences = {n: probability_bound(error, smallest, parents, n) for n in LENGTHS}
    # The singular vectors of all slices are an exact form with columns of unit length.
    exact = slices(tensor, len(tensor.values)).weights
    return {
        "error": error,
        "least rule": smallest,
        "error of the best form of this rank": truncation_bound(exact, form.rank),
        "words": {
            n: {
                "sum of differences": value if math.isfinite(value) else None,
                "error for a sum of 0.1": error_for_bound(0.1, smallest, parents, n),
            }
            for n, value in differences.items()
        },
    }
