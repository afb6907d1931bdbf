"""Spectral and latent-variable parsing: from a treebank to a grammar to trees.

The public names are loaded on first use, so importing the package costs nothing that the caller
does not use.  More names are in the sub-packages: `eigentree.treebank`, `eigentree.tokenisation`,
`eigentree.words`, `eigentree.automata`, `eigentree.evaluation`, `eigentree.drawing`,
`eigentree.simulation`, `eigentree.studies`, `eigentree.integrations`, and those of the three
kinds of parsers, `eigentree.constituency`, `eigentree.dependency` and `eigentree.bracketing`.
"""

from __future__ import annotations

from eigentree._core.lazy import attach

__version__ = "0.2.0"

PUBLIC_NAMES = {
    "models of any kind": {
        "load": "base",
        "available_models": "base",
    },
    "data": {
        "Tree": "treebank.tree",
        "parse_tree": "treebank.io.brackets",
        "format_tree": "treebank.io.brackets",
        "read_treebank": "treebank.reader",
        "CleaningOptions": "treebank.cleaning",
        "binarise": "treebank.binarise",
        "unbinarise": "treebank.binarise",
        "BinariseOptions": "treebank.binarise",
        "LexiconOptions": "treebank.lexicon",
        "Constraint": "treebank.constraints",
        "Constraints": "treebank.constraints",
        "Sentence": "treebank.io.conllu",
        "read_dependencies": "treebank.io.conllu",
    },
    "constituency parsing": {
        "ConstituencyParser": "constituency.parser",
        "Parser": "constituency.parser",
        "ParseResult": "constituency.result",
        "EnsembleParser": "constituency.ensemble.parser",
        "calibrate": "constituency.calibrate",
        "ParserOptions": "constituency.options",
        "TreebankOptions": "constituency.training_options",
        "TrainingOptions": "constituency.training_options",
        "SpectralOptions": "constituency.learn.spectral",
        "FeatureOptions": "constituency.learn.features",
        "ClusteringOptions": "constituency.learn.clustering",
        "EMOptions": "constituency.learn.em",
        "StateSearchOptions": "constituency.learn.state_search",
        "Noise": "constituency.learn.noise",
        "UnseenRuleOptions": "constituency.learn.unseen_rules",
        "ConstrainedEMOptions": "constituency.learn.constrained_em",
        "DecompositionOptions": "constituency.learn.decomposition",
    },
    "dependency parsing": {
        "DependencyParser": "dependency.parser",
        "DependencyResult": "dependency.result",
        "DependencyOptions": "dependency.options",
        "DependencyTrainingOptions": "dependency.options",
        "HeadAutomataOptions": "dependency.learn.head_automata",
        "LexicalModifierOptions": "dependency.learn.lexical_modifiers",
    },
    "bracketing without a treebank": {
        "BracketingParser": "bracketing.parser",
        "BracketingResult": "bracketing.result",
        "BracketingOptions": "bracketing.options",
        "BracketingTrainingOptions": "bracketing.options",
        "MetricOptions": "bracketing.learn.tree_metric",
        "ConstituentContextOptions": "bracketing.learn.ccm",
    },
    "words": {
        "learn_brown": "words.brown",
        "BrownOptions": "words.brown",
    },
    "scores": {
        "score": "evaluation.parseval",
        "ParsevalOptions": "evaluation.settings",
        "EVALB_COLLINS": "evaluation.settings",
        "score_attachment": "evaluation.attachment",
        "AttachmentOptions": "evaluation.attachment",
        "score_unlabelled": "evaluation.unlabelled",
        "bootstrap_interval": "evaluation.significance",
        "paired_test": "evaluation.significance",
    },
    "errors": {
        "EigentreeError": "errors",
        "TreebankFormatError": "errors",
        "GrammarError": "errors",
        "ModelFileError": "errors",
        "SettingsError": "errors",
        "ShapeError": "errors",
        "TensorError": "errors",
        "WorkerError": "errors",
    },
}
"""The public names by group, each with the module below the package that defines it."""

_MODULES = {name: module for group in PUBLIC_NAMES.values() for name, module in group.items()}

__getattr__, __dir__, _names = attach(__name__, _MODULES)
__all__ = ["__version__", *_names]
