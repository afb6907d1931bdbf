"""Settings for comparing trees, and EVALB parameter files.

There are two predefined settings.  `EVALB_COLLINS` reproduces the reference program EVALB with its
file COLLINS.prm, the standard for results on the Penn Treebank.  `OWN` suits any treebank and tag
set: it excludes punctuation by characters instead of tags, and counts a sentence without a parse
as wrong instead of skipping it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from eigentree._core.printable import shown
from eigentree.errors import SettingsError
from eigentree.treebank.io.text_files import open_text
from eigentree.treebank.tree import SEPARATORS

ROOT_LABELS = ("", "ROOT", "TOP", "VROOT")


@dataclass(frozen=True)
class ParsevalOptions:
    """What is excluded, and which labels and words are equivalent, when brackets are compared.

    Parameters
    ----------
    name
        Name of the settings in reports.
    delete_labels
        Preterminals with such a label are deleted with their words, before positions are
        counted; phrases lose their bracket but keep their content.  Empty phrases are deleted.
    drop_punctuation
        Exclude words that consist of punctuation, regardless of their tags.
    length_delete_labels
        Preterminals that do not count towards the length of a sentence, to which the cut-off
        applies.  Punctuation counts towards the length even if it is excluded from spans.
    quote_labels
        Tags between which EVALB forgives confusion: when the numbers of words differ, quote
        marks (``'``, ``"`` or ``/``) that only one side excluded are restored.
    equal_labels, equal_words
        Pairs that are equivalent; symmetric but not transitive.
    labelled
        Compare labels and spans, or spans only.
    label_separators
        The label of a phrase ends before the first of these characters.
    root_labels
        Labels of an outermost bracket that is not counted.  Empty to count it, as the reference
        program does unless the label is deleted.
    cut_off
        Maximum length, in words, of sentences in the second summary; None for no second summary.
    missing
        Treatment of a gold sentence without a comparable parse: "skip" excludes it from the
        figures, "miss" counts all its brackets as not found.
    """

    name: str = "own"
    delete_labels: tuple[str, ...] = ()
    drop_punctuation: bool = False
    length_delete_labels: tuple[str, ...] = ()
    quote_labels: tuple[str, ...] = ()
    equal_labels: tuple[tuple[str, str], ...] = ()
    equal_words: tuple[tuple[str, str], ...] = ()
    labelled: bool = True
    label_separators: str = ""
    root_labels: tuple[str, ...] = ROOT_LABELS
    cut_off: int | None = None
    missing: Literal["skip", "miss"] = "miss"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


EVALB_COLLINS = ParsevalOptions(
    name="EVALB, COLLINS.prm",
    delete_labels=("TOP", "-NONE-", ",", ":", "``", "''", "."),
    length_delete_labels=("-NONE-",),
    equal_labels=(("ADVP", "PRT"),),
    label_separators="-=",
    cut_off=40,
    missing="skip",
)

OWN = ParsevalOptions(
    name="own",
    delete_labels=("-NONE-",),
    drop_punctuation=True,
    length_delete_labels=("-NONE-",),
    label_separators="-=",
)

_LABELS = ("DELETE_LABEL", "DELETE_LABEL_FOR_LENGTH", "QUOTE_LABEL")
_PAIRS = ("EQ_LABEL", "EQ_WORD")
_NUMBERS = ("DEBUG", "MAX_ERROR", "CUTOFF_LEN", "LABELED")


def read_parameters(path: str | Path) -> ParsevalOptions:
    """Read a parameter file of the reference program EVALB.

    Each line has a keyword and its value; lines that begin with ``#`` and lines of fewer than
    three characters are ignored.  DEBUG and MAX_ERROR are accepted but have no effect: every
    sentence is reported, and there is no limit on errors.

    Parameters
    ----------
    path
        A file such as COLLINS.prm, in UTF-8.

    Raises
    ------
    SettingsError
        For an unknown keyword or a value of the wrong form, with file and line.
    TreebankFormatError
        When the file can't be read.
    """
    labels: dict[str, list[str]] = {keyword: [] for keyword in _LABELS}
    pairs: dict[str, list[tuple[str, str]]] = {keyword: [] for keyword in _PAIRS}
    numbers = {"CUTOFF_LEN": 40, "LABELED": 1}
    with open_text(path) as lines:
        rows = [line.rstrip(SEPARATORS) for line in lines]
    for number, line in enumerate(rows, start=1):
        if line.startswith("#") or len(line) < 3:
            continue
        keyword, *rest = line.split(None, 1)
        value = rest[0] if rest else ""
        where = f"{path}:{number}: {keyword}"
        if keyword in _LABELS:
            if not value:
                raise SettingsError(f"{where} has no value, which must be a label")
            labels[keyword].append(value)
        elif keyword in _PAIRS:
            words = value.split()
            if len(words) != 2:
                raise SettingsError(
                    f"{where} has the value {shown(value)}, which must be two words"
                )
            pairs[keyword].append((words[0], words[1]))
        elif keyword in _NUMBERS:
            numbers[keyword] = _integer(value, where)
        else:
            known = ", ".join((*_LABELS, *_PAIRS, *_NUMBERS))
            raise SettingsError(f"{where} is not a keyword, which must be one of {known}")
    return ParsevalOptions(
        name=f"EVALB, {Path(path).name}",
        delete_labels=tuple(labels["DELETE_LABEL"]),
        length_delete_labels=tuple(labels["DELETE_LABEL_FOR_LENGTH"]),
        quote_labels=tuple(labels["QUOTE_LABEL"]),
        equal_labels=tuple(pairs["EQ_LABEL"]),
        equal_words=tuple(pairs["EQ_WORD"]),
        labelled=numbers["LABELED"] != 0,
        label_separators="-=",
        cut_off=numbers["CUTOFF_LEN"],
        missing="skip",
    )


def _integer(value: str, where: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise SettingsError(
            f"{where} has the value {shown(value)}, which must be an integer"
        ) from None
