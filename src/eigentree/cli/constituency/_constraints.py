"""Constraints on sentences to be parsed, from a file beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from eigentree.cli._common import notice
from eigentree.cli._parsing import InputErrors, InputFormat, InputSentence

if TYPE_CHECKING:
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import ConstituencyParser


def known_names(parser: ConstituencyParser | EnsembleParser, input_format: InputFormat) -> set[str]:
    """The names a format refers to: labels of phrases, or tags that may have weights."""
    from eigentree.constituency.chart.decode import phrase_chains

    plain = getattr(parser, "backbones", [parser])
    tables = [each.grammar.backbone.symbols for each in plain]
    if input_format == "json":
        return {tag for table in tables for tag in table.tags}
    if input_format != "bracketed":
        return set()
    labels = {label for table in tables for chain in phrase_chains(table) for label in chain}
    return labels | ({parser.wrapper} if parser.wrapper else set())


def with_constraints(
    sentences: Iterable[InputSentence], file: str, errors: InputErrors
) -> Iterator[InputSentence]:
    """Sentences, each with the constraints in the next line of a file besides its own.

    An empty line has none.  A line that can't be used is reported, and its sentence has no
    constraints.
    """
    from eigentree._core.json_text import JsonTextError, parse_json
    from eigentree.errors import SettingsError
    from eigentree.treebank.constraints import Constraints
    from eigentree.treebank.io.text_files import displayed_name, open_text, unreadable

    name = displayed_name(file)
    with open_text(file, keep_bad_bytes=True, notice=notice) as lines:
        number, has_ended = 0, False
        for sentence in sentences:
            line = None if has_ended else next(lines, None)
            if line is None and not has_ended:
                has_ended = True
                errors.report(
                    f"{name}: has {number} lines, none for {sentence.place} and what follows"
                )
            if line is None:
                yield sentence
                continue
            number += 1
            if not line.strip() or sentence.problem is not None:
                yield sentence
                continue
            try:
                problem = unreadable(name, number, line)
                if problem is not None:
                    raise JsonTextError(problem.message, problem.column)
                more = Constraints.from_json(parse_json(line.rstrip("\r\n")))
                more.check_length(len(sentence.words))
            except (SettingsError, JsonTextError) as error:
                column = f":{error.column}" if isinstance(error, JsonTextError) else ""
                errors.report(
                    f"{name}:{number}{column}: {error}; {sentence.place} is parsed without "
                    "constraints"
                )
                yield sentence._replace(constraints=None, refused=str(error))
                continue
            given = sentence.constraints or Constraints()
            yield sentence._replace(constraints=Constraints(given.each + more.each))
        if not has_ended and next(lines, None) is not None:
            errors.report(
                f"{name}:{number + 1}: is beyond the last sentence; a line for each is expected"
            )
