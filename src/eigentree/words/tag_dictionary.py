"""Tag dictionaries: the tags that words may have, by a lexicon of word forms.

A treebank holds a small part of a language's words.  A lexicon of inflected forms, which exists for
many languages, has the past tenses and plurals that the tagger has never seen.  The
tagger learns from its training data how far the dictionary can be trusted: the dictionary's tags
are features, so they need neither be complete nor have the names of the treebank's tags.

A dictionary is a text of lines of a word, a tab and its tags, separated by blanks::

    bark	NN VB
    barked	VBD VBN
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from eigentree._core.printable import shown
from eigentree.errors import ModelFileError, SettingsError, TreebankFormatError
from eigentree.treebank.io.text_files import displayed_name, open_text, without_marks

# More would not be a dictionary; a damaged file must not fill the memory.
_MOST_BYTES = 1 << 26


class TagDictionary:
    """The possible tags of words, immutable.

    Parameters
    ----------
    tags_of
        The tags of each word; their order does not matter.
    """

    def __init__(self, tags_of: Mapping[str, Iterable[str]]) -> None:
        self._tags_of = {word: " ".join(sorted({*tags})) for word, tags in tags_of.items()}

    def __len__(self) -> int:
        return len(self._tags_of)

    def tags(self, word: str) -> str:
        """The sorted tags of a word, joined by blanks: as written, or else in lower case.

        An empty string if the dictionary has neither.
        """
        return self._tags_of.get(word) or self._tags_of.get(word.lower(), "")

    def to_bytes(self) -> bytes:
        """The compressed text, the same for equal dictionaries."""
        lines = (f"{word}\t{tags}\n" for word, tags in sorted(self._tags_of.items()))
        return zlib.compress("".join(lines).encode("utf-8"), 9)

    @classmethod
    def from_bytes(cls, content: bytes) -> TagDictionary:
        """The dictionary that `to_bytes` wrote.

        Raises
        ------
        ModelFileError
            When the bytes are damaged.
        """
        reader = zlib.decompressobj()
        try:
            text = reader.decompress(content, _MOST_BYTES).decode("utf-8")
            if not reader.eof or reader.unused_data:
                raise ValueError
            dictionary = cls.__new__(cls)
            # Sorted and joined when they were written.
            pairs = (line.split("\t") for line in text.split("\n")[:-1])
            dictionary._tags_of = {word: tags for word, tags in pairs}
        except (zlib.error, ValueError) as error:
            raise ModelFileError(
                "the tagger's dictionary is damaged; train the parser again"
            ) from error
        return dictionary


def dictionary_for(tagger: bool, path: str | Path | None) -> TagDictionary | None:
    """The dictionary of a training option, None if there is none.

    Parameters
    ----------
    tagger
        Whether a tagger is trained.
    path
        As of `read_tag_dictionary`.

    Raises
    ------
    SettingsError
        When there is a dictionary but no tagger to use it.
    """
    if path is None:
        return None
    if not tagger:
        raise SettingsError("tag_dictionary requires a tagger, and tagger is off")
    return read_tag_dictionary(path)


def read_tag_dictionary(path: str | Path) -> TagDictionary:
    """Read a dictionary from text: on each line a word, a tab and its tags.

    Parameters
    ----------
    path
        A file, possibly compressed; ``-`` is standard input.  Empty lines are skipped; the tags of
        a word on several lines are combined.

    Raises
    ------
    TreebankFormatError
        With file and line, when a line has another form or there is no word.
    """
    name = displayed_name(path)
    tags_of: dict[str, set[str]] = {}
    with open_text(path) as lines:
        for number, line in enumerate(without_marks(lines), start=1):
            if not line.strip():
                continue
            word, tab, tags = line.rstrip("\r\n").partition("\t")
            if not (word and tab and tags.split()) or "\t" in tags:
                raise TreebankFormatError(
                    f"{name}:{number}: expected a word, a tab and the word's tags, separated by "
                    f"blanks (got {shown(line.rstrip())})"
                )
            tags_of.setdefault(word, set()).update(tags.split())
    if not tags_of:
        raise TreebankFormatError(f"{name}: has no word with tags; at least one is needed")
    return TagDictionary(tags_of)
