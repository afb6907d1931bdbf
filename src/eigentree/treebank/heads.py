"""Head rules: which child of a phrase is its head, by tables that a user can read and edit.

A table is a text file.  Each line is one step of the search for one label::

    # label  where          children
    NP       last           POS
    NP       rightmost      NN NNP NNS NML
    NP       leftmost       NP
    VP       left-by-rank   TO VBD VBN MD VBZ VB VP
    *        rightmost

Steps of a label are tried in the order of the file until one finds a child:

``leftmost``, ``rightmost``
    the first or last child whose label is in the list; without a list, any child.
``left-by-rank``, ``right-by-rank``
    the labels of the list one after the other, each from the left or from the right.
``last``
    the last child, if its label is in the list.

The label ``*`` holds the steps for labels without any and for phrases whose own steps found
nothing.  Lines that begin with ``@`` apply to the whole table: ``@punctuation``
lists children that a step without a list passes over while there are others,
``@coordination`` those after which a head gives way to the conjunct before them, and
``@head-functions`` function tags that mark the head itself (``NN-HD``).  Labels are looked up
in full and then without function tags; a ``#`` on its own begins a comment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from eigentree._core.printable import shown
from eigentree.errors import SettingsError
from eigentree.treebank.io.text_files import check_lines, open_text, without_marks

PACKAGED_TABLES = ("english", "negra", "leftmost", "rightmost")
_ANY_LABEL = "*"
_WHERE = ("leftmost", "rightmost", "left-by-rank", "right-by-rank", "last")
_SETTINGS = ("@punctuation", "@coordination", "@head-functions")
_COMMENT = "#"


class HeadStep(NamedTuple):
    """One step of the search: where to look, and for which labels (none: any)."""

    where: str
    labels: tuple[str, ...]


class HeadRules:
    """A head table.

    Parameters
    ----------
    steps
        The steps of each label, in order; ``*`` is any label.
    punctuation, coordination, head_functions
        As in the module's description.
    name
        What messages and `missing` reports call the table.

    Attributes
    ----------
    missing
        How often a label without steps of its own was looked up; the steps of ``*``
        were used instead.
    """

    def __init__(
        self,
        steps: dict[str, list[HeadStep]],
        *,
        punctuation: Iterable[str] = (),
        coordination: Iterable[str] = (),
        head_functions: Iterable[str] = (),
        name: str = "<table>",
    ) -> None:
        self.name = name
        self.missing: Counter[str] = Counter()
        self._table = steps
        self._steps = {label: own for label, own in steps.items() if label != _ANY_LABEL}
        self._known: dict[tuple[str, ...], int] = {}
        self._default = [*steps.get(_ANY_LABEL, []), HeadStep("leftmost", ())]
        self._punctuation = frozenset(punctuation)
        self._coordination = frozenset(coordination)
        self._functions = tuple(f"-{function}" for function in head_functions)

    @property
    def labels(self) -> frozenset[str]:
        """The labels that have steps of their own."""
        return frozenset(self._steps)

    @property
    def mentioned(self) -> frozenset[str]:
        """The labels that are named as children."""
        steps = (step for steps in self._table.values() for step in steps)
        listed = frozenset(label for step in steps for label in step.labels)
        return listed | self._punctuation | self._coordination

    def has(self, label: str) -> bool:
        """Whether a label has steps of its own, in full or without function tags."""
        return label in self._steps or plain_label(label) in self._steps

    def head(self, label: str, children: Sequence[str]) -> int:
        """Position of the head among the labels of a phrase's children.

        Raises
        ------
        ValueError
            When there is no child.
        """
        if not children:
            raise ValueError(f"a phrase {shown(label)} without children has no head")
        if not self.has(label):
            self.missing[label] += 1
        # Treebanks repeat their rules, so most answers are known.
        rule = (label, *children)
        position = self._known.get(rule)
        if position is None:
            position = self._known[rule] = self._search(label, children)
        return position

    def _search(self, label: str, children: Sequence[str]) -> int:
        if self._functions:
            for position, child in enumerate(children):
                if child.endswith(self._functions):
                    return position
        own = self._steps.get(label) or self._steps.get(plain_label(label)) or []
        found = (self._find(step, children) for step in (*own, *self._default))
        # The last of the default steps takes any child, so one is always found.
        return self._first_conjunct(next(each for each in found if each >= 0), children)

    def _find(self, step: HeadStep, children: Sequence[str]) -> int:
        """Where a step finds the head, or -1."""
        positions = range(len(children))
        if step.where.startswith("right"):
            positions = positions[::-1]
        if step.where == "last":
            positions = positions[-1:]
        if not step.labels:
            for position in positions:
                if not _is_one_of(children[position], self._punctuation):
                    return position
            return positions[0]
        ranks = [step.labels]
        if step.where.endswith("by-rank"):
            ranks = [(label,) for label in step.labels]
        for labels in ranks:
            for position in positions:
                if _is_one_of(children[position], labels):
                    return position
        return -1

    def _first_conjunct(self, position: int, children: Sequence[str]) -> int:
        """In ``A and B``, a head B gives way to A."""
        if position >= 2 and _is_one_of(children[position - 1], self._coordination):
            for before in range(position - 2, -1, -1):
                if not _is_one_of(children[before], self._punctuation):
                    return before
        return position

    def format(self) -> str:
        """The table as text, to be edited and read back with `read_head_rules`."""
        settings = (self._punctuation, self._coordination, {f[1:] for f in self._functions})
        lines = [
            " ".join((name, *sorted(values)))
            for name, values in zip(_SETTINGS, settings, strict=True)
            if values
        ]
        width = max((len(label) for label in self._table), default=0)
        for label, steps in self._table.items():
            for step in steps:
                words = (label.ljust(width), step.where.ljust(13), *step.labels)
                lines.append(" ".join(words).rstrip())
        return "\n".join(lines) + "\n"


def head_rules(name_or_path: str | Path) -> HeadRules:
    """A packaged table by name, or a table of one's own by path.

    Parameters
    ----------
    name_or_path
        ``"english"`` (Penn Treebank and its biomedical kin, after Collins 1999),
        ``"negra"`` (NEGRA, TIGER), ``"leftmost"``, ``"rightmost"``, or a path.

    Raises
    ------
    SettingsError
        When a line of the table has no meaning, or a name is unknown.
    TreebankFormatError
        When the file can't be read.

    References
    ----------
    Collins, Michael (1999). Head-driven statistical models for natural language parsing.
    PhD thesis, University of Pennsylvania, appendix A.
    """
    name = str(name_or_path)
    if name in PACKAGED_TABLES:
        table = resources.files("eigentree.data").joinpath("heads", f"{name}.heads")
        return read_head_rules(table.read_text("utf-8").splitlines(), name=name)
    if not Path(name).exists():
        raise SettingsError(
            f"head rules {name!r} are neither a file nor one of {', '.join(PACKAGED_TABLES)}"
        )
    with open_text(name) as lines:
        return read_head_rules(lines, name=name)


def read_head_rules(lines: Iterable[str], *, name: str = "<table>") -> HeadRules:
    """Read a table from its lines; the module's description has the format."""
    check_lines(lines)
    steps: dict[str, list[HeadStep]] = {}
    settings: dict[str, list[str]] = {setting: [] for setting in _SETTINGS}
    for number, line in enumerate(without_marks(lines), start=1):
        words = line.split()
        if not words or words[0] == _COMMENT:
            continue
        if words[0].startswith("@"):
            if words[0] not in settings:
                known = ", ".join(_SETTINGS)
                raise SettingsError(
                    f"{name}:{number}: unknown {shown(words[0])}; expected one of {known}"
                )
            settings[words[0]].extend(words[1:])
            continue
        label, where, *listed = words if len(words) > 1 else (words[0], "")
        if where not in _WHERE:
            raise SettingsError(
                f"{name}:{number}: unknown step {shown(where)} of label {shown(label)}; "
                f"expected one of {', '.join(_WHERE)}"
            )
        if not listed and where not in ("leftmost", "rightmost"):
            raise SettingsError(f"{name}:{number}: {shown(where)} requires a list of labels")
        steps.setdefault(label, []).append(HeadStep(where, tuple(listed)))
    punctuation, coordination, functions = (settings[setting] for setting in _SETTINGS)
    return HeadRules(
        steps,
        punctuation=punctuation,
        coordination=coordination,
        head_functions=functions,
        name=name,
    )


def _is_one_of(label: str, labels: Iterable[str]) -> bool:
    """Whether a label, in full or without function tags, is in a list."""
    return label in labels or plain_label(label) in labels


def plain_label(label: str) -> str:
    """A label up to the first mark of function tags, indices or alternatives.

    >>> plain_label("NP-SBJ-1"), plain_label("ADVP|PRT"), plain_label("-LRB-")
    ('NP', 'ADVP', '-LRB-')
    """
    for mark in "-=|":
        end = label.find(mark, 1)
        if end > 0 and label[0] != "-":
            label = label[:end]
    return label
