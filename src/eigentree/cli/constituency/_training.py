"""What the commands that train constituency parsers share: treebanks, EM tables, scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from eigentree.cli._common import message, track
from eigentree.cli._output import compile_kernels
from eigentree.cli._training import report_notices
from eigentree.errors import TreebankFormatError, counted

if TYPE_CHECKING:
    from eigentree.constituency.parser import ConstituencyParser
    from eigentree.treebank.cleaning import CleaningOptions
    from eigentree.treebank.reader import Treebank
    from eigentree.treebank.tree import Tree


def cleaning_settings(
    keep_function_tags: bool,
    cut_tags: bool,
    function_separators: str | None,
    trace_labels: str | None,
    trace_words: str | None,
) -> dict[str, Any]:
    """The fields of `CleaningOptions` that options of the command line set."""
    given = {
        "keep_function_tags": keep_function_tags or None,
        "cut_tags": cut_tags or None,
        "function_separators": function_separators,
        "trace_labels": None if trace_labels is None else tuple(trace_labels.split()),
        "trace_words": None if trace_words is None else tuple(trace_words.split()),
    }
    return {name: value for name, value in given.items() if value is not None}


def dev_trees_of(
    dev: str, cleaning: CleaningOptions, on_error: Literal["raise", "skip"]
) -> list[tuple[Tree, Tree]]:
    """Held-out trees as written and cleaned, without those that are empty after cleaning."""
    from eigentree.treebank.cleaning import clean
    from eigentree.treebank.reader import read_treebank

    treebank = read_treebank(dev, cleaning=None, on_error=on_error)
    for problem in treebank.problems:
        message(f"eigentree: skipped: {problem}")
    pairs = [(tree, clean(tree, cleaning)) for tree in treebank.trees]
    scorable = [(tree, cleaned) for tree, cleaned in pairs if cleaned is not None]
    if not scorable:
        raise TreebankFormatError(f"{dev}: no trees to score on")
    return scorable


def report_treebank(treebank: Treebank, quiet: bool) -> None:
    """Report what was skipped, notices, and the number of trees."""
    for problem in treebank.problems:
        message(f"eigentree: skipped: {problem}")
    report_notices(treebank.notices, quiet=quiet)
    message(counted(len(treebank.trees), "tree"), quiet=quiet)


def report_iterations(run: dict[str, Any], n_trees: int, quiet: bool) -> None:
    """Print the EM iterations as a table, with the one that was kept."""
    message("iteration  log-likelihood per tree     F1  CPU s", quiet=quiet)
    for row in run["record"]:
        f1 = "" if row["f1"] is None else f"{100 * row['f1']:.2f}"
        kept = "  kept" if row["iteration"] == run["best"] else ""
        message(
            f"{row['iteration']:9}  {row['log_likelihood'] / n_trees:23.3f}  {f1:>5}  "
            f"{row['cpu_seconds']:5.1f}{kept}",
            quiet=quiet,
        )


def score_on(
    parser: ConstituencyParser, dev: str, pairs: list[tuple[Tree, Tree]], quiet: bool
) -> None:
    """Parse the held-out trees with gold tags, and with the tagger's, and report both scores."""
    from eigentree.evaluation.parseval import score
    from eigentree.evaluation.settings import EVALB_COLLINS

    compile_kernels("parsing", quiet=quiet)
    gold, clean = ([pair[side] for pair in pairs] for side in (0, 1))
    conditions = [("gold tags", False)]
    if parser.tagger is not None:
        conditions.append(("own tags", True))
    for name, untagged in conditions:
        results = [
            parser.parse(tree.words(), None if untagged else tree.tags())
            for tree in track(clean, f"parsing {dev}", len(clean), quiet=quiet)
        ]
        fallbacks = [result.fallback is not None for result in results]
        scores = score(
            gold, [result.tree for result in results], EVALB_COLLINS, fallbacks=fallbacks
        )
        f1 = scores.all.f1
        shown = "not defined" if f1 is None else f"{100 * f1:.2f}"
        message(
            f"{dev}, {name}: F1 {shown} (EVALB, all lengths), "
            f"{counted(sum(fallbacks), 'fall-back')} in {counted(len(clean), 'sentence')}",
            quiet=quiet,
        )
