"""The summary of a constituency parser as text, for the command ``inspect``."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from eigentree.cli._output import plain, result_console, show_settings
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.constituency.parser import ConstituencyParser

NO_KRUSKAL_FORM = "--measure requires a model in Kruskal form, written by eigentree decompose"
_SHOWN_VALUES = 5
# Lengths at which costs of charts are measured, each this often, and until this many CPU seconds
# have passed: some clocks have a resolution of a hundredth.
_MEASURED = (10, 20, 40)
_REPEATS = 3
_MIN_SECONDS = 0.2


def add_measured(parser: ConstituencyParser, costs: dict[str, Any] | None) -> None:
    """Time both charts on sentences of random words, and add the ratios.

    Raises
    ------
    SettingsError
        When the parser has no Kruskal form, or latent states.
    """
    import numpy as np

    from eigentree.constituency.chart.arrays import Leaves
    from eigentree.constituency.chart.exhaustive import exhaustive_marginals
    from eigentree.constituency.chart.kruskal import KruskalFactors, kruskal_marginals

    if costs is None or parser.kruskal is None:
        raise SettingsError(NO_KRUSKAL_FORM)
    if parser.grammar.n_states.max() > 1:
        raise SettingsError(
            "--measure requires a grammar without latent states, as does the chart that uses every "
            "rule"
        )
    backbone, form, factors = (
        parser.grammar.backbone,
        parser.kruskal,
        KruskalFactors.of(parser.kruskal),
    )
    words, rng = backbone.words, np.random.default_rng(0)
    share = words.count / words.count.sum()
    costs["measured"] = {}
    for n in _MEASURED:
        drawn = words.word[rng.choice(len(share), n, p=share)].tolist()
        leaves = Leaves.of([words.candidates(word, 0) for word in drawn])
        by_rules = _seconds(partial(exhaustive_marginals, backbone, leaves))
        in_form = _seconds(partial(kruskal_marginals, form, leaves, factors=factors))
        costs["measured"][n] = {
            "seconds by rules": by_rules,
            "seconds in Kruskal form": in_form,
            "ratio": by_rules / in_form,
        }


def _seconds(chart: Callable[[], object]) -> float:
    """Mean CPU seconds of a chart."""
    from eigentree.linalg.threads import one_thread

    with one_thread():
        chart()  # compiles
        began, done, passed = time.process_time(), 0, 0.0
        while done < _REPEATS or passed < _MIN_SECONDS:
            chart()
            done, passed = done + 1, time.process_time() - began
    return passed / done


def show(report: dict[str, Any], limit: int, *, ascii_only: bool = False) -> None:
    """Print it, with no more than `limit` nonterminals."""
    from rich.table import Table

    from eigentree.drawing.spectrum import draw_spectrum

    console = result_console()
    trained = report["trained"]
    kind = "signed values" if report["signed"] else "probabilities"
    method = trained.get("method", "unknown method")
    console.print(f"{report['file']}: {report['bytes'] / 1e6:.2f} MB, {method}, {kind}")
    if {"trees", "words", "seed"} <= trained.keys():
        console.print(
            f"trained on {counted(trained['trees'], 'tree')}, "
            f"{counted(trained['words'], 'word')}, seed {trained['seed']}"
        )
    tagger = report["tagger"]
    console.print(
        "no tagger" if tagger is None else f"tagger with {counted(tagger['tags'], 'tag')}"
    )
    sizes = Table("size", "number", box=None, pad_edge=False)
    sizes.columns[1].justify = "right"
    for name, number in report["sizes"].items():
        sizes.add_row(name, f"{number:,}")
    console.print()
    console.print(sizes)
    for title in ("treebank", "unseen", "noise", "spectral", "clustering"):
        if trained.get(title):
            console.print(f"\n{title}", style="bold")
            show_settings(console, trained[title])
    if "state_search" in trained:
        _show_search(console, trained["state_search"], report["nonterminals"])
    if "em" in trained:
        _show_iterations(console, "em", trained["em"], trained.get("trees", 1))
    if "retraining" in trained:
        retraining = trained["retraining"]
        _show_iterations(console, "retraining", retraining, retraining.get("trees", 1))
    if report["kruskal"] is not None:
        _show_costs(console, trained.get("decomposition", {}), report["kruskal"])
    elif "decomposition" in trained:
        console.print("\nKruskal form of each rule", style="bold")
        console.print(f"  rank: {trained['decomposition']['rank']}")
        _show_decomposition(console, trained["decomposition"])
    console.print(f"\nparsing: {plain(report['parsing'])}\n")
    # Only what is learned from projections has singular values.
    has_spectra = any(row["singular_values"] for row in report["nonterminals"])
    columns = ["nonterminal", "count", "rules", "states"]
    table = Table(*columns, *(("spectrum", "singular values") if has_spectra else ()), box=None)
    for column in table.columns[1:4]:
        column.justify = "right"
    for row in report["nonterminals"][:limit]:
        cells = [row["nonterminal"], f"{row['count']:,}", f"{row['rules']:,}", str(row["states"])]
        if has_spectra:
            values = " ".join(f"{value:.2f}" for value in row["singular_values"][:_SHOWN_VALUES])
            more = " ..." if len(row["singular_values"]) > _SHOWN_VALUES else ""
            spectrum = draw_spectrum(row["singular_values"], row["states"], ascii_only=ascii_only)
            cells += [spectrum, values + more]
        table.add_row(*cells)
    console.print(table)
    if has_spectra and trained.get("method") == "clustering":
        console.print(
            "States are clusters of nodes, found in the space of the singular directions."
        )


def _show_decomposition(console: Any, decomposition: dict[str, Any]) -> None:
    """How rules were converted to Kruskal form, and their errors."""
    for name in ("method", "restarts", "seed", "rules", "stopped"):
        if name in decomposition:
            console.print(f"  {name}: {decomposition[name]}")
    for name in ("error", "relative_error", "largest_rule_error", "divergence"):
        if decomposition.get(name) is not None:
            console.print(f"  {name.replace('_', ' ')}: {decomposition[name]:.4g}")


def _show_costs(console: Any, decomposition: dict[str, Any], costs: dict[str, Any]) -> None:
    from rich.table import Table

    console.print("\nKruskal form", style="bold")
    for name in ("rank", "numbers that are not zero", "precision"):
        console.print(f"  {name}: {costs[name]}")
    _show_decomposition(console, decomposition)
    console.print("  multiplications of a chart:")
    columns = ["words", "by rules", "in Kruskal form", "ratio", "MB"]
    measured, bounds = costs.get("measured", {}), costs["bounds"]
    if measured:
        columns.append("measured ratio")
    if bounds:
        columns += ["bound of lemma 2", "error for 0.1"]
    table = Table(*columns, box=None)
    for column in table.columns:
        column.justify = "right"
    for n, cost in costs["multiplications"].items():
        cells = [
            str(n),
            f"{cost['by rules']:,}",
            f"{cost['in Kruskal form']:,}",
            f"{cost['ratio']:.1f}",
            f"{costs['bytes of a chart'][n] / 1e6:.1f}",
        ]
        if measured:
            cells.append(f"{measured[n]['ratio']:.1f}" if n in measured else "")
        if bounds:
            bound = bounds["words"][n]["sum of differences"]
            cells.append("no bound" if bound is None else f"{bound:.3g}")
            cells.append(f"{bounds['words'][n]['error for a sum of 0.1']:.3g}")
        table.add_row(*cells)
    console.print(table)
    if bounds:
        console.print(
            f"  minimum probability of a rule: {bounds['least rule']:.3g}; error of the best form "
            f"of this rank, at most: {bounds['error of the best form of this rank']:.3g}"
        )


def _show_search(console: Any, search: dict[str, Any], nonterminals: list[dict[str, Any]]) -> None:
    """The numbers of states tried for each nonterminal, each with its best F1."""
    from rich.table import Table

    console.print("\nstate_search", style="bold")
    for name, value in search["settings"].items():
        console.print(f"  {name}: {plain(value)}")
    start, end = 100 * search["start_f1"], 100 * search["f1"]
    console.print(f"  F1 on held-out trees: {start:.2f} before, {end:.2f} after")
    tried: dict[str, dict[int, float]] = {}
    for row in search["record"]:
        numbers = tried.setdefault(row["nonterminal"], {})
        numbers[row["states"]] = max(row["f1"], numbers.get(row["states"], 0.0))
    states = {row["nonterminal"]: row["states"] for row in nonterminals}
    table = Table("nonterminal", "states", "states tried, with F1", box=None)
    table.columns[1].justify = "right"
    for name, numbers in tried.items():
        shown = "  ".join(f"{number}: {100 * f1:.2f}" for number, f1 in sorted(numbers.items()))
        table.add_row(name, str(states.get(name, "")), shown)
    console.print(table)


def _show_iterations(console: Any, title: str, run: dict[str, Any], n_trees: int) -> None:
    from rich.table import Table

    console.print(f"\n{title}", style="bold")
    show_settings(console, run["settings"])
    has_f1 = any(row["f1"] is not None for row in run["record"])
    columns = ["iteration", "log-likelihood per tree", *(["F1"] if has_f1 else [])]
    table = Table(*columns, "", box=None)
    for column in table.columns[:-1]:
        column.justify = "right"
    for row in run["record"]:
        cells = [str(row["iteration"]), f"{row['log_likelihood'] / n_trees:.3f}"]
        if has_f1:
            cells.append("" if row["f1"] is None else f"{100 * row['f1']:.2f}")
        table.add_row(*cells, "kept" if row["iteration"] == run["best"] else "")
    console.print(table)
