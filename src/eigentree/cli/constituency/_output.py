"""What the verbs that hold a parser share: messages before it can start, and its output."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from eigentree.cli._common import message

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import Parser
    from eigentree.constituency.result import Alternative, ParseResult


def warn_of_compilation(
    *,
    quiet: bool,
    parsing: bool = True,
    em: bool = False,
    prefixes: bool = False,
    clusters: bool = False,
    bracketing: bool = False,
    dependencies: bool = False,
) -> None:
    """Say so when the first parse, or the first iteration of EM, will have to be waited for."""
    from eigentree._core.jit import needs_compiling
    from eigentree.bracketing.chart import _kernels_minimum_evolution
    from eigentree.constituency.chart import _kernels_dense, _kernels_inside_outside
    from eigentree.constituency.learn import _kernels_em
    from eigentree.dependency.chart import _kernels_head_automata
    from eigentree.words import _kernels_brown

    wanted = [
        ("expectation maximisation", em, _kernels_em.outside_pass),
        ("the parser", parsing, _kernels_inside_outside.outside_pass),
        ("prefix probabilities", prefixes, _kernels_dense.forward_of_prefixes),
        ("Brown clusters", clusters, _kernels_brown.fill_cells),
        ("shortest trees", bracketing, _kernels_minimum_evolution.fill),
        ("the dependency parser", dependencies, _kernels_head_automata.head_marginals),
    ]
    needed = [what for what, is_used, kernel in wanted if is_used and needs_compiling(kernel)]
    if needed:
        message(
            f"compiling the kernels of {' and of '.join(needed)}: once on this machine, less than "
            "a minute unless it is busy",
            quiet=quiet,
        )


def model_path(given: str | None, usual: str) -> str:
    """The path of the model that an option names, or of the usual one of the package.

    Raises
    ------
    SettingsError
        When the name is empty.
    """
    from eigentree.data.catalogue import bundled_path, resolve_model
    from eigentree.errors import SettingsError

    if given == "":
        raise SettingsError("--model is empty; give a model file, or leave the option out")
    return str(bundled_path(usual) if given is None else resolve_model(given))


def open_parser(model: str) -> Parser | EnsembleParser:
    """The parser in a model file, or that of the folder of an ensemble."""
    if Path(model).is_dir():
        from eigentree.constituency.ensemble.parser import EnsembleParser

        return EnsembleParser.load(model)
    from eigentree.constituency.parser import Parser

    return Parser.load(model)


def by_value(result: ParseResult) -> ParseResult:
    """The result with its best trees ordered by the size of their values."""

    def value(each: Alternative) -> float:
        return -math.inf if each.log_value is None else each.log_value

    ordered = sorted(result.alternatives, key=value, reverse=True)
    return replace(result, alternatives=tuple(ordered))


def in_lines(
    result: ParseResult,
    wrapper: str | None,
    root_name: str,
    order: Literal["objective", "value"],
) -> str:
    """The best trees of a sentence, one a line after the number that orders them, if it has one."""
    from eigentree.serialise import wrapped
    from eigentree.treebank.io.brackets import format_tree

    lines = []
    for each in result.alternatives:
        number = each.log_value if order == "value" else each.objective
        text = "" if number is None else f"{number:.6f}"
        lines.append(f"{text}\t{format_tree(wrapped(each.tree, wrapper, root_name))}\n")
    return "".join(lines)


def sure(result: ParseResult) -> tuple[float | None, float | None]:
    """Confidence of the brackets and of the whole tree, calibrated where that can be."""
    return result.calibrated or (result.confidence, result.tree_confidence)


def in_columns(text: str, result: ParseResult, number: int | None) -> str:
    """A line with how sure it is, and before that its number if it has one."""
    told = ("" if value is None else f"{value:.4f}" for value in sure(result))
    return "\t".join([*([] if number is None else [str(number)]), *told, text])


def marginal_rows(result: ParseResult, number: int) -> str:
    """The lines of a table of marginals for one sentence."""
    in_tree = {(each.label, each.start, each.end) for each in result.brackets}
    rows = (
        f"{number}\t{start}\t{end}\t{label}\t{marginal:.6g}\t{(label, start, end) in in_tree:d}\n"
        for label, start, end, marginal in result.marginals
    )
    return "".join(rows)


def in_json(
    result: ParseResult,
    wrapper: str | None,
    root_name: str,
    *,
    readable: bool = True,
    several: bool = False,
    constrained: bool = False,
    number: int | None = None,
    line: int | None = None,
) -> str:
    """A parse as one line of JSON; what can't be read is told apart from an empty sentence."""
    from eigentree.serialise import parse_record

    record = {
        **({} if number is None else {"number": number}),
        **parse_record(
            result,
            wrapper,
            root_name,
            several=several,
            constrained=constrained,
            where={} if line is None else {"line": line, "offsets": result.offsets},
        ),
    }
    if not readable:
        record["fallback"] = "unreadable"
    return json.dumps(record, ensure_ascii=False)


def in_drawing(result: ParseResult) -> str:
    """A parse as a drawing with its confidence, for people to look at."""
    from eigentree.drawing.tree_text import draw_text

    if result.tree is None:
        return ""
    confidence, _ = sure(result)
    told = "unknown" if confidence is None else f"{100 * confidence:.0f} %"
    mark = f", fall-back: {result.fallback}" if result.fallback else ""
    return f"{draw_text(result.tree)}\nconfidence {told}{mark}\n"
