"""The verb ``inspect``: what is in a model."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentree.cli._common import JsonOption, result_console
from eigentree.errors import SettingsError, counted

if TYPE_CHECKING:
    from eigentree.constituency.grammar.kruskal import KruskalGrammar
    from eigentree.constituency.parser import Parser
    from eigentree.linalg.multilinear import SparseTensor

_NO_KRUSKAL_FORM = "--measure needs a model in Kruskal form, made by eigentree decompose"
_SHOWN_VALUES = 5
# Words of the sentences for which costs of charts are told.
_LENGTHS = (10, 20, 40, 80)
# And for which they are measured, so often, and on until so many CPU seconds have gone by:
# some clocks tell no less than a hundredth.
_MEASURED = (10, 20, 40)
_REPEATS = 3
_LEAST_SECONDS = 0.2


def inspect(
    model: Annotated[
        str,
        typer.Argument(
            help="A model file made by train or induce train, or the name of one that comes with "
            "eigentree."
        ),
    ],
    most: Annotated[
        int, typer.Option(min=0, help="Nonterminals or tags to list, the most frequent first.")
    ] = 20,
    ascii_only: Annotated[
        bool, typer.Option("--ascii", help="Draw spectra with punctuation.")
    ] = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Measure how much faster charts in Kruskal form are, on random words."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is in a model: sizes, settings, states and singular values of nonterminals.

    Of a dependency model the states of each tag's automata are told.
    A spectrum shows the singular values of a nonterminal beside the largest; behind a line stand
    those that have no states.  Of a model in Kruskal form the errors of its rules are told, what
    charts cost, and how far values of sentences can be from the exact ones at most.  Of a model of
    brackets what it was learned from is told, and how.
    """
    from eigentree.cli.bracketing.inspect import describe_brackets, show_brackets
    from eigentree.cli.dependency.inspect import describe_dependencies, show_dependencies
    from eigentree.constituency.parser import Parser
    from eigentree.data.catalogue import resolve_model
    from eigentree.model_file import open_model

    model = str(resolve_model(model))
    if Path(model).is_dir():
        raise SettingsError(
            f"{model}: is a folder; eigentree ensemble info tells what is in an ensemble"
        )
    kind = open_model(model, verify=False).header.get("kind")
    if kind in ("dependency parser", "bracketing parser"):
        if measure:
            raise SettingsError(_NO_KRUSKAL_FORM)
        is_brackets = kind == "bracketing parser"
        report = describe_brackets(model) if is_brackets else describe_dependencies(model)
        if as_json:
            typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
        elif is_brackets:
            show_brackets(report)
        else:
            show_dependencies(report, most)
        return
    parser = Parser.load(model)
    report = _describe(parser, model)
    if measure:
        _add_measured(parser, report["kruskal"])
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _show(report, most, ascii_only or not _encodes_bars())


def _describe(parser: Parser, path: str) -> dict[str, Any]:
    import numpy as np

    grammar = parser.grammar
    backbone, parameters = grammar.backbone, grammar.parameters
    symbols = backbone.symbols
    n_states = grammar.n_states
    description = dict(parser.description)
    values = description.pop("singular_values", None)
    # A parser that was put together by hand need not say how often its symbols were seen.
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
        "file": path,
        "bytes": Path(path).stat().st_size,
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
    """What charts in Kruskal form cost beside those that look at every rule, and how far off."""
    from eigentree.constituency.grammar.kruskal import Multiplications, rule_tensor

    tensor = rule_tensor(form.exact)
    at = {n: Multiplications.of(form, n) for n in _LENGTHS}
    return {
        "rank": form.rank,
        "numbers that are not zero": form.n_parameters,
        "precision": str(form.weights.dtype),
        "multiplications": {
            n: {
                "by rules": found.by_rules,
                "in Kruskal form": found.in_kruskal_form,
                "ratio": found.by_rules / found.in_kruskal_form,
            }
            for n, found in at.items()
        },
        "bytes of a chart": {n: form.chart_bytes(n) for n in _LENGTHS},
        "bounds": None if error is None or form.exact.signed else _bounds(form, tensor, error),
    }


def _bounds(form: KruskalGrammar, tensor: SparseTensor, error: float) -> dict[str, Any]:
    """The bounds of the paper's section 5, null where one is too large for a number."""
    from eigentree.constituency.grammar.kruskal import (
        error_for_bound,
        probability_bound,
        truncation_bound,
    )
    from eigentree.constituency.learn.decomposition import slices

    least, parents = float(tensor.values[tensor.values > 0].min()), form.n_inner_states
    differences = {n: probability_bound(error, least, parents, n) for n in _LENGTHS}
    # Singular vectors of all slices make an exact form with columns of unit length.
    exact = slices(tensor, len(tensor.values)).weights
    return {
        "error": error,
        "least rule": least,
        "error of the best form of this rank": truncation_bound(exact, form.rank),
        "words": {
            n: {
                "sum of differences": value if math.isfinite(value) else None,
                "error for a sum of 0.1": error_for_bound(0.1, least, parents, n),
            }
            for n, value in differences.items()
        },
    }


def _add_measured(parser: Parser, costs: dict[str, Any] | None) -> None:
    """Time both charts on sentences of random words, and add the ratios."""
    import numpy as np

    from eigentree.constituency.chart.arrays import Leaves
    from eigentree.constituency.chart.exhaustive import exhaustive_marginals
    from eigentree.constituency.chart.kruskal import KruskalFactors, kruskal_marginals

    if costs is None or parser.kruskal is None:
        raise SettingsError(_NO_KRUSKAL_FORM)
    if parser.grammar.n_states.max() > 1:
        raise SettingsError(
            "--measure needs a grammar without latent states: the chart that looks at every rule "
            "is for those"
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
    """CPU seconds of a chart, the mean of a few."""
    from eigentree.linalg.threads import one_thread

    with one_thread():
        chart()  # compiles
        began, done, passed = time.process_time(), 0, 0.0
        while done < _REPEATS or passed < _LEAST_SECONDS:
            chart()
            done, passed = done + 1, time.process_time() - began
    return passed / done


def _encodes_bars() -> bool:
    try:
        "█│".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _show(report: dict[str, Any], most: int, ascii_only: bool) -> None:
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
    console.print(f"\nparsing: {_plain(report['parsing'])}\n")
    # Only what is learned from projections has singular values.
    has_spectra = any(row["singular_values"] for row in report["nonterminals"])
    columns = ["nonterminal", "count", "rules", "states"]
    table = Table(*columns, *(("spectrum", "singular values") if has_spectra else ()), box=None)
    for column in table.columns[1:4]:
        column.justify = "right"
    for row in report["nonterminals"][:most]:
        cells = [row["nonterminal"], f"{row['count']:,}", f"{row['rules']:,}", str(row["states"])]
        if has_spectra:
            values = " ".join(f"{value:.2f}" for value in row["singular_values"][:_SHOWN_VALUES])
            more = " ..." if len(row["singular_values"]) > _SHOWN_VALUES else ""
            spectrum = draw_spectrum(row["singular_values"], row["states"], ascii_only=ascii_only)
            cells += [spectrum, values + more]
        table.add_row(*cells)
    console.print(table)


def show_settings(console: Any, settings: dict[str, Any]) -> None:
    """A line for each setting, without those that hold nothing by name."""
    for name, value in settings.items():
        if value != {}:
            console.print(f"  {name}: {_plain(value)}")


def _show_decomposition(console: Any, decomposition: dict[str, Any]) -> None:
    """How rules were brought into Kruskal form, and how far off they are."""
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
    for n, found in costs["multiplications"].items():
        cells = [
            str(n),
            f"{found['by rules']:,}",
            f"{found['in Kruskal form']:,}",
            f"{found['ratio']:.1f}",
            f"{costs['bytes of a chart'][n] / 1e6:.1f}",
        ]
        if measured:
            cells.append(f"{measured[n]['ratio']:.1f}" if n in measured else "")
        if bounds:
            most = bounds["words"][n]["sum of differences"]
            cells.append("no bound" if most is None else f"{most:.3g}")
            cells.append(f"{bounds['words'][n]['error for a sum of 0.1']:.3g}")
        table.add_row(*cells)
    console.print(table)
    if bounds:
        console.print(
            f"  least probability of a rule: {bounds['least rule']:.3g}; error of the best form of "
            f"this rank, at most: {bounds['error of the best form of this rank']:.3g}"
        )


def _show_search(console: Any, search: dict[str, Any], nonterminals: list[dict[str, Any]]) -> None:
    """What was tried for each nonterminal, each number with its best F1."""
    from rich.table import Table

    console.print("\nstate_search", style="bold")
    for name, value in search["settings"].items():
        console.print(f"  {name}: {_plain(value)}")
    start, found = 100 * search["start_f1"], 100 * search["f1"]
    console.print(f"  F1 on held-out trees: {start:.2f} before, {found:.2f} after")
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
    is_judged = any(row["f1"] is not None for row in run["record"])
    columns = ["iteration", "log-likelihood a tree", *(["F1"] if is_judged else [])]
    table = Table(*columns, "", box=None)
    for column in table.columns[:-1]:
        column.justify = "right"
    for row in run["record"]:
        cells = [str(row["iteration"]), f"{row['log_likelihood'] / n_trees:.3f}"]
        if is_judged:
            cells.append("" if row["f1"] is None else f"{100 * row['f1']:.2f}")
        table.add_row(*cells, "kept" if row["iteration"] == run["best"] else "")
    console.print(table)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain_item(inner)}" for name, inner in value.items())
    return _plain_item(value)


def _plain_item(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(item) for item in value) or "none"
    return str(value)
