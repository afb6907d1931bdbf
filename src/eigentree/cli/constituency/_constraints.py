"""Constraints on sentences to be parsed, from a file beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigentree.cli.constituency.parse import InputForm, Sentence
    from eigentree.constituency.ensemble.parser import EnsembleParser
    from eigentree.constituency.parser import Parser


def known_to(parser: Parser | EnsembleParser, form: InputForm) -> set[str]:
    """What a form of input has to know: labels of phrases, or tags that may have weights."""
    from eigentree.constituency.chart.decode import phrase_chains

    plain = getattr(parser, "backbones", [parser])
    tables = [each.grammar.backbone.symbols for each in plain]
    if form == "json":
        return {tag for table in tables for tag in table.tags}
    if form != "bracketed":
        return set()
    labels = {label for table in tables for chain in phrase_chains(table) for label in chain}
    return labels | ({parser.wrapper} if parser.wrapper else set())


def from_file(
    sentences: Iterable[Sentence], file: str, tell: Callable[[str], object]
) -> Iterator[Sentence]:
    """Sentences, each with the constraints of the next line of a file besides its own.

    An empty line has none. What is wrong is told; the sentence then goes without constraints.
    """
    from eigentree.errors import EigentreeError
    from eigentree.treebank.constraints import Constraints
    from eigentree.treebank.io.text_files import open_text

    name = "<standard input>" if file == "-" else file
    with open_text(file) as lines:
        number = 0
        for sentence in sentences:
            line = next(lines, None)
            if line is None:
                if number >= 0:
                    tell(f"{name}: has {number} lines, none for {sentence.place} and what follows")
                number = -1
            else:
                number += 1
            if line is None or not line.strip() or not sentence.readable:
                yield sentence
                continue
            try:
                more = Constraints.from_json(json.loads(line))
                more.check_length(len(sentence.words))
            except (EigentreeError, ValueError, RecursionError) as error:
                what = error if isinstance(error, EigentreeError) else f"is no JSON: {error}"
                tell(f"{name}:{number}: {what}; {sentence.place} is parsed without constraints")
                yield sentence._replace(constraints=None, refused=str(what))
                continue
            own = sentence.constraints or Constraints()
            yield sentence._replace(constraints=Constraints(own.each + more.each))
        if number >= 0 and next(lines, None) is not None:
            tell(f"{name}:{number + 1}: is beyond the last sentence; a line for each is expected")
