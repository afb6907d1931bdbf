"""Universal tags: twelve parts of speech that the tags of any treebank map to.

NOUN VERB ADJ ADV PRON DET ADP NUM CONJ PRT X and ``.``, punctuation (Petrov et al. 2012).  A table
of the package, or of the user, has patterns of tags, in which a star at the end stands for
anything; of several that fit a tag the longest counts.  A user's file has a pattern, a tab and a
universal tag a line, and perhaps a tab and the word ``participle``; lines that begin with ``%`` or
are empty are passed over.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from eigentree._core.printable import shown
from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.treebank.io.text_files import check_lines, open_text, without_marks

UNIVERSAL = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", ".")
PUNCTUATION = "."
OTHER = "X"
PACKAGED_MAPS = ("penn", "stts", "sinica", "ud")
AS_THEY_ARE = "none"
_COMMENT = "%"
_PARTICIPLE = "participle"
# A packaged map fits a text when it knows so much of it.
FITS = 0.98


@dataclass(frozen=True)
class TagMap:
    """A map from tags to universal tags.

    Attributes
    ----------
    name
        For messages.
    patterns
        Pairs of a tag, perhaps with a star at its end, and a universal tag.  None at all is the
        map that leaves tags as they are, and takes ``.``, ``PUNCT`` and whatever has no letter or
        digit for punctuation.
    participles
        Tags of verbs that don't begin a predicate, perhaps with a star at their end.

    Raises
    ------
    SettingsError
        When a pattern is there twice, or has no universal tag.

    Examples
    --------
    >>> tag_map("penn")("VBZ")
    'VERB'
    """

    name: str
    patterns: tuple[tuple[str, str], ...] = ()
    participles: frozenset[str] = frozenset()
    _known: dict[str, str | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        twice = [tag for tag, n in Counter(tag for tag, _ in self.patterns).items() if n > 1]
        if twice:
            raise SettingsError(f"tag map {self.name}: duplicate entry {shown(twice[0])}")
        for tag, universal in self.patterns:
            if universal not in UNIVERSAL:
                known = " ".join(UNIVERSAL)
                raise SettingsError(
                    f"tag map {self.name}: {shown(tag)} maps to {shown(universal)}; "
                    f"universal tags are {known}"
                )
        object.__setattr__(self, "_known", {})

    def __call__(self, tag: str) -> str:
        """The universal tag; X for one that the map does not know."""
        return self.find(tag) or OTHER

    def find(self, tag: str) -> str | None:
        """The universal tag; None for one that the map does not know."""
        if tag not in self._known:
            self._known[tag] = self._find(tag)
        return self._known[tag]

    def _find(self, tag: str) -> str | None:
        if not self.patterns:
            is_mark = tag == "PUNCT" or not any(character.isalnum() for character in tag)
            return PUNCTUATION if is_mark else tag
        return dict(self.patterns).get(self._pattern(tag))

    def _pattern(self, tag: str) -> str:
        """The tag itself where it is listed, else the longest pattern that fits, else ``""``."""
        listed = [pattern for pattern, _ in self.patterns]
        if tag in listed:
            return tag
        fitting = (
            each for each in listed if each.endswith("*") and tag.startswith(each.removesuffix("*"))
        )
        return max(fitting, key=len, default="")

    def is_punctuation(self, tag: str) -> bool:
        return self.find(tag) == PUNCTUATION

    def is_predicate(self, tag: str) -> bool:
        """Whether a tag is that of a verb, and not of a participle."""
        return self.is_verb(tag) and self.participles.isdisjoint((tag, self._pattern(tag)))

    def is_verb(self, tag: str) -> bool:
        return self(tag) in ("VERB", "AUX")

    def is_noun(self, tag: str) -> bool:
        return self(tag) in ("NOUN", "PROPN")


def tag_map(name_or_path: str | Path) -> TagMap:
    """A map of the package (`PACKAGED_MAPS`), ``none``, or one in a file.

    Raises
    ------
    SettingsError
        When the name is unknown, or a line of the file is invalid.
    TreebankFormatError
        When the file can't be read.

    References
    ----------
    petrov-das-2012.
    """
    name = str(name_or_path)
    if name == AS_THEY_ARE:
        return TagMap(name)
    if name in PACKAGED_MAPS:
        text = resources.files("eigentree.data").joinpath("universal_tags.toml")
        table: dict[str, str] = tomllib.loads(text.read_text("utf-8"))[name]
        participles = frozenset(table.pop("participles").split())
        patterns = [(tag, universal) for universal in table for tag in table[universal].split()]
        return TagMap(name, tuple(patterns), participles)
    if not Path(name).exists():
        raise SettingsError(
            f"tag map {name!r} is neither a file nor one of {', '.join(PACKAGED_MAPS)}, none"
        )
    with open_text(name) as lines:
        return read_tag_map(lines, name=name)


def read_tag_map(lines: Iterable[str], *, name: str = "<map>") -> TagMap:
    """Read a user's map from its lines; the top of this file has the format.

    Raises
    ------
    TreebankFormatError
        For a line that isn't two or three words with tabs between them.
    SettingsError
        When a tag is there twice or maps to no universal tag.
    """
    check_lines(lines)
    patterns: list[tuple[str, str]] = []
    participles: set[str] = set()
    for number, line in enumerate(without_marks(lines), start=1):
        line = line.strip()
        if not line or line.startswith(_COMMENT):
            continue
        tag, *rest = line.split("\t")
        if not rest or rest[1:] not in ([], [_PARTICIPLE]):
            raise TreebankFormatError(
                f"{name}:{number}: expected a tag, a tab, a universal tag and optionally a "
                f"tab and the word {_PARTICIPLE}; got {shown(line)}"
            )
        patterns.append((tag, rest[0]))
        if rest[1:]:
            participles.add(tag)
    if not patterns:
        raise TreebankFormatError(f"{name}: is empty; at least one tag is required")
    return TagMap(name, tuple(patterns), frozenset(participles))


def fitting_map(tags: Sequence[str]) -> TagMap:
    """The packaged map that knows most of a text's tags; ``none`` where none knows nearly all."""
    counts = Counter(tags)
    best, most = TagMap(AS_THEY_ARE), FITS * counts.total()
    for name in PACKAGED_MAPS:
        found = tag_map(name)
        known = sum(n for tag, n in counts.items() if found.find(tag) is not None)
        if known > most:
            best, most = found, known
    return best
