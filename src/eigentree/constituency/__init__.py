"""Constituency parsing: latent-variable PCFGs, charts, learning and the parser.

The public names are loaded on first use.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "ConstituencyParser": "parser",
        "Retrained": "parser",
        "ParseResult": "result",
        "Bracket": "result",
        "Alternative": "result",
        "Calibrated": "result",
        "ParserOptions": "options",
        "TreebankOptions": "training_options",
        "TrainingOptions": "training_options",
        "convert_dependencies": "from_dependencies",
        "ConversionOptions": "from_dependencies",
        "Converted": "from_dependencies",
        "Marginal": "chart.marginals",
        "RuleMarginal": "chart.marginals",
        "Surprisal": "chart.prefix",
        "PCFG": "grammar.pcfg",
        "LPCFG": "grammar.lpcfg",
        "KruskalGrammar": "grammar.kruskal",
        "decompose_grammar": "learn.decomposition",
        "DecompositionOptions": "learn.decomposition",
    },
)
