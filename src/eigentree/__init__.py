"""Spectral parsing: from a treebank to a latent-variable grammar to trees.

The public names are loaded when they are first asked for, so that importing the package
costs nothing that the caller does not use.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.2.0"

# In reading order: data, transforms, parsers, scores, known grammars, drawing, other libraries,
# errors.  One row is one public name.
_PUBLIC = {
    "Tree": "eigentree.treebank.tree",
    "Span": "eigentree.treebank.tree",
    "parse_tree": "eigentree.treebank.io.brackets",
    "format_tree": "eigentree.treebank.io.brackets",
    "read_treebank": "eigentree.treebank.reader",
    "Treebank": "eigentree.treebank.reader",
    "CleaningOptions": "eigentree.treebank.cleaning",
    "Sentence": "eigentree.treebank.io.conllu",
    "Word": "eigentree.treebank.io.conllu",
    "DependencyTreebank": "eigentree.treebank.io.conllu",
    "read_dependencies": "eigentree.treebank.io.conllu",
    "format_sentence": "eigentree.treebank.io.conllu",
    "is_projective": "eigentree.treebank.projective",
    "projectivise": "eigentree.treebank.projective",
    "binarise": "eigentree.treebank.binarise",
    "unbinarise": "eigentree.treebank.binarise",
    "BinariseOptions": "eigentree.treebank.binarise",
    "LexiconOptions": "eigentree.treebank.lexicon",
    "Constraints": "eigentree.treebank.constraints",
    "Constraint": "eigentree.treebank.constraints",
    "TokenisationScheme": "eigentree.tokenisation.scheme",
    "tokenise": "eigentree.tokenisation.words",
    "split_text": "eigentree.tokenisation.sentences",
    "Token": "eigentree.tokenisation.tokens",
    "RawSentence": "eigentree.tokenisation.tokens",
    "ConstituencyParser": "eigentree.constituency.parser",
    "Parser": "eigentree.constituency.parser:ConstituencyParser",
    "ParseResult": "eigentree.constituency.result",
    "Bracket": "eigentree.constituency.result",
    "Calibrated": "eigentree.constituency.result",
    "Marginal": "eigentree.constituency.chart.marginals",
    "RuleMarginal": "eigentree.constituency.chart.marginals",
    "Retrained": "eigentree.constituency.parser",
    "Surprisal": "eigentree.constituency.chart.prefix",
    "Alternative": "eigentree.constituency.result",
    "ParserOptions": "eigentree.constituency.options",
    "TreebankOptions": "eigentree.constituency.training_options",
    "TrainingOptions": "eigentree.constituency.training_options",
    "SpectralOptions": "eigentree.constituency.learn.spectral",
    "StateSearchOptions": "eigentree.constituency.learn.state_search",
    "FeatureOptions": "eigentree.constituency.learn.features",
    "EMOptions": "eigentree.constituency.learn.em",
    "ConstrainedEMOptions": "eigentree.constituency.learn.constrained_em",
    "UnseenOptions": "eigentree.constituency.learn.unseen_rules",
    "BracketingParser": "eigentree.bracketing.parser",
    "BracketingResult": "eigentree.bracketing.parser",
    "BracketingOptions": "eigentree.bracketing.parser",
    "MetricOptions": "eigentree.bracketing.learn.tree_metric",
    "DependencyParser": "eigentree.dependency.parser",
    "DependencyResult": "eigentree.dependency.parser",
    "Arc": "eigentree.dependency.parser",
    "DependencyOptions": "eigentree.dependency.parser",
    "DependencyTrainingOptions": "eigentree.dependency.training",
    "HeadAutomataOptions": "eigentree.dependency.learn.head_automata",
    "LexicalModifierOptions": "eigentree.dependency.learn.lexical_modifiers",
    "EnsembleParser": "eigentree.constituency.ensemble.parser",
    "train_ensemble": "eigentree.constituency.ensemble.training",
    "read_ensemble_config": "eigentree.constituency.ensemble.config",
    "calibrate": "eigentree.constituency.calibrate",
    "learn_brown": "eigentree.words.brown",
    "assign_words": "eigentree.words.brown",
    "BrownClusters": "eigentree.words.brown",
    "BrownOptions": "eigentree.words.brown",
    "read_clusters": "eigentree.words.brown_files",
    "write_clusters": "eigentree.words.brown_files",
    "learn_cca": "eigentree.words.cca",
    "CCAOptions": "eigentree.words.cca",
    "WordVectors": "eigentree.words.vectors",
    "read_vectors": "eigentree.words.vectors",
    "write_vectors": "eigentree.words.vectors",
    "score": "eigentree.evaluation",
    "align_by_words": "eigentree.evaluation",
    "ParsevalOptions": "eigentree.evaluation",
    "ParsevalResult": "eigentree.evaluation",
    "score_attachment": "eigentree.evaluation",
    "AttachmentOptions": "eigentree.evaluation",
    "AttachmentResult": "eigentree.evaluation",
    "Study": "eigentree.studies.constituency",
    "read_study": "eigentree.studies.constituency",
    "run_study": "eigentree.studies.runner",
    "StudyResult": "eigentree.studies.runner",
    "sample_trees": "eigentree.simulation.sampling",
    "pronoun_grammar": "eigentree.simulation.grammars",
    "attachment_grammar": "eigentree.simulation.grammars",
    "sample_dependencies": "eigentree.simulation.dependencies",
    "clauses": "eigentree.simulation.dependencies",
    "draw_text": "eigentree.drawing.tree_text",
    "draw_svg": "eigentree.drawing.tree_svg",
    "Arcs": "eigentree.drawing.arcs",
    "draw_arcs_text": "eigentree.drawing.arcs",
    "draw_arcs_svg": "eigentree.drawing.arcs",
    "to_rows": "eigentree.integrations.pandas",
    "to_frame": "eigentree.integrations.pandas",
    "to_nltk": "eigentree.integrations.nltk_trees",
    "from_nltk": "eigentree.integrations.nltk_trees",
    "read_nltk": "eigentree.integrations.nltk_trees",
    "EigentreeError": "eigentree.errors",
    "TreebankFormatError": "eigentree.errors",
    "GrammarError": "eigentree.errors",
    "ModelFileError": "eigentree.errors",
    "SettingsError": "eigentree.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'eigentree' has no attribute {name!r}")
    module, _, original = _PUBLIC[name].partition(":")
    value: object = getattr(import_module(module), original or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
