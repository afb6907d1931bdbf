"""Spectral parsing: from a treebank to a latent-variable grammar to trees.

The public names are loaded when they are first asked for, so that importing the package
costs nothing that the caller does not use.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# In reading order: data, transforms, parsers, scores, known grammars, drawing, other libraries,
# errors.  One row is one public name.
_PUBLIC = {
    "Tree": "eigentree.corpus.trees",
    "Span": "eigentree.corpus.trees",
    "parse_tree": "eigentree.corpus.brackets",
    "format_tree": "eigentree.corpus.brackets",
    "read_treebank": "eigentree.corpus.treebank",
    "Treebank": "eigentree.corpus.treebank",
    "CleaningOptions": "eigentree.corpus.cleaning",
    "Sentence": "eigentree.corpus.conllu",
    "Word": "eigentree.corpus.conllu",
    "DependencyTreebank": "eigentree.corpus.conllu",
    "read_dependencies": "eigentree.corpus.conllu",
    "format_sentence": "eigentree.corpus.conllu",
    "is_projective": "eigentree.corpus.projective",
    "projectivise": "eigentree.corpus.projective",
    "binarise": "eigentree.corpus.binarise",
    "unbinarise": "eigentree.corpus.binarise",
    "BinariseOptions": "eigentree.corpus.binarise",
    "LexiconOptions": "eigentree.corpus.lexicon",
    "Constraints": "eigentree.corpus.constraints",
    "Constraint": "eigentree.corpus.constraints",
    "TokenConvention": "eigentree.text.convention",
    "tokenise": "eigentree.text.tokenise",
    "split_text": "eigentree.text.sentences",
    "Token": "eigentree.text.tokens",
    "RawSentence": "eigentree.text.tokens",
    "Parser": "eigentree.parsers",
    "ParseResult": "eigentree.parse_results",
    "Bracket": "eigentree.parse_results",
    "Calibrated": "eigentree.parse_results",
    "Marginal": "eigentree.chart.spans",
    "RuleMarginal": "eigentree.chart.spans",
    "Retrained": "eigentree.parsers",
    "Surprisal": "eigentree.chart.prefix",
    "Alternative": "eigentree.parse_results",
    "ParserOptions": "eigentree.parsers",
    "TreebankOptions": "eigentree.training",
    "TrainingOptions": "eigentree.training",
    "SpectralOptions": "eigentree.learn.spectral",
    "StateSearchOptions": "eigentree.learn.state_search",
    "FeatureOptions": "eigentree.learn.features",
    "EMOptions": "eigentree.learn.em",
    "PartialOptions": "eigentree.learn.partial",
    "UnseenOptions": "eigentree.learn.unseen",
    "BracketingParser": "eigentree.bracketing_parser",
    "BracketingResult": "eigentree.bracketing_parser",
    "BracketingOptions": "eigentree.bracketing_parser",
    "MetricOptions": "eigentree.learn.tree_metric",
    "DependencyParser": "eigentree.dependency_parser",
    "DependencyResult": "eigentree.dependency_parser",
    "Arc": "eigentree.dependency_parser",
    "DependencyOptions": "eigentree.dependency_parser",
    "DependencyTrainingOptions": "eigentree.dependency_training",
    "HeadAutomataOptions": "eigentree.learn.head_automata",
    "LexicalOptions": "eigentree.learn.lexical_modifiers",
    "EnsembleParser": "eigentree.ensemble.parser",
    "train_ensemble": "eigentree.ensemble.train",
    "read_description": "eigentree.ensemble.description",
    "calibrate": "eigentree.judging",
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
    "score": "eigentree.evaluate",
    "align_by_words": "eigentree.evaluate",
    "ParsevalOptions": "eigentree.evaluate",
    "ParsevalResult": "eigentree.evaluate",
    "score_attachment": "eigentree.evaluate",
    "AttachmentOptions": "eigentree.evaluate",
    "AttachmentResult": "eigentree.evaluate",
    "Study": "eigentree.experiment.study",
    "read_study": "eigentree.experiment.study",
    "run_study": "eigentree.experiment.run",
    "StudyResult": "eigentree.experiment.run",
    "sample_trees": "eigentree.simulate",
    "pronoun_grammar": "eigentree.simulate",
    "attachment_grammar": "eigentree.simulate",
    "sample_dependencies": "eigentree.simulate",
    "clauses": "eigentree.simulate",
    "draw_text": "eigentree.report.drawing",
    "draw_svg": "eigentree.report.svg",
    "Arcs": "eigentree.report.arcs",
    "draw_arcs_text": "eigentree.report.arcs",
    "draw_arcs_svg": "eigentree.report.arcs",
    "to_rows": "eigentree.plugs.frames",
    "to_frame": "eigentree.plugs.frames",
    "to_nltk": "eigentree.plugs.nltk_trees",
    "from_nltk": "eigentree.plugs.nltk_trees",
    "read_nltk": "eigentree.plugs.nltk_trees",
    "EigentreeError": "eigentree.errors",
    "TreebankFormatError": "eigentree.errors",
    "GrammarError": "eigentree.errors",
    "ModelFileError": "eigentree.errors",
    "SettingsError": "eigentree.errors",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'eigentree' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
