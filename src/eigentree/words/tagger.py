"""Tags for words: a conditional random field over features of the word and its neighbours.

The tagger is trained on the parser's trees, so both have the same tags.  It has no knowledge of any
language but what a tag dictionary adds: its features are spelling, shape and neighbours, with a
dictionary the tags that it gives to the word and its neighbours, and every word, known or not, gets
one of the tags of the training data.

With up to `MAX_CHAINED_TAGS` tags, neighbouring tags depend on each other (a linear chain).
Training a chain is quadratic in the number of tags, so larger tag sets, whose tags largely follow
from the word's form, are predicted word by word from the same features.

References
----------
Lafferty, McCallum and Pereira 2001 for conditional random fields; Okazaki 2007 for CRFsuite,
which implements them.
"""

from __future__ import annotations

import math
import struct
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pycrfsuite

from eigentree._core.word_cache import cached_by_word
from eigentree.errors import GrammarError, ModelFileError, SettingsError
from eigentree.treebank.io.sentences import check_text
from eigentree.treebank.tree import FORBIDDEN_IN_LABEL
from eigentree.words.crfsuite_check import check_model
from eigentree.words.quotes import CLOSING, OPENING, STRAIGHT, alternating
from eigentree.words.tag_dictionary import TagDictionary

MAX_CHAINED_TAGS = 100

_ITERATIONS = 60
_SETTINGS = {"c2": 0.01, "max_iterations": _ITERATIONS}
_MAGIC = {True: b"eigentree tagger 1 chain\n", False: b"eigentree tagger 1 words\n"}
_DICTIONARY = b"eigentree tagger dictionary\n"  # before a tagger that has one
_SIZE = struct.Struct("<Q")
_CRFSUITE_START = struct.Struct("<4sI4s")  # name, size in bytes, kind of model
_LONGEST_AFFIX = 4
# Words of a sentence that are tagged together: features take some kB per word.
_MAX_SEGMENT = 10_000

IterationProgress = Callable[[int, int], object]


class TagProbability(NamedTuple):
    """A tag that a word may have."""

    tag: str
    probability: float


class Tagger:
    """A trained tagger, immutable and safe to share between threads.

    Created by `Tagger.train` and `Tagger.from_bytes`.
    """

    def __init__(
        self, model: bytes, *, is_chain: bool, dictionary: TagDictionary | None = None
    ) -> None:
        self._model = model  # CRFsuite refers to these bytes and doesn't keep them alive
        self.dictionary = dictionary
        self._is_chain = is_chain
        self._crf = pycrfsuite.Tagger()
        self._crf.open_inmemory(model)
        self._lock = threading.Lock()  # CRFsuite holds one sentence at a time
        self.tagset: tuple[str, ...] = tuple(self._crf.labels())

    def __reduce__(self) -> tuple[Callable[[bytes], Tagger], tuple[bytes]]:
        # A CRFsuite object can't be sent to another process.
        return Tagger.from_bytes, (self.to_bytes(),)

    @classmethod
    def train(
        cls,
        sentences: Iterable[tuple[Sequence[str], Sequence[str]]],
        *,
        sparsity: float = 0.1,
        dictionary: TagDictionary | None = None,
        progress: IterationProgress | None = None,
    ) -> Tagger:
        """Train on tagged sentences.

        Training is deterministic: the same sentences in the same order give the same tagger.

        Parameters
        ----------
        sentences
            Pairs of words and their tags.
        sparsity
            L1 regularisation, which makes most weights zero: with 0.5 a tagger has half the size of
            one with 0.1, and with 1 a quarter, at the cost of a tenth and a third of a point of
            accuracy.
        dictionary
            Possible tags of words, which become part of the tagger; None for none.
        progress
            Called with the number of iterations done and the maximum.

        Raises
        ------
        SettingsError
            When `sparsity` is negative or not finite.
        GrammarError
            When there is no word, or a sentence has more or fewer tags than words.

        Cost
        ----
        For n words and T tags, n T^2 an iteration for a chain and n T word by word:
        about 20 s for 76,000 words and 45 tags on one core.
        """
        if not 0.0 <= sparsity < math.inf:
            raise SettingsError(f"sparsity is {sparsity}; it must be a finite number of at least 0")
        examples = [(words, tags) for words, tags in sentences if words or tags]
        for number, (words, tags) in enumerate(examples, start=1):
            if len(words) != len(tags):
                raise GrammarError(
                    f"sentence {number} of the tagger's training data has {len(words)} words and "
                    f"{len(tags)} tags; there must be one tag per word"
                )
        tagset = {tag for _, tags in examples for tag in tags}
        if not tagset:
            raise GrammarError("there are no tagged words to train a tagger on")
        is_chain = len(tagset) <= MAX_CHAINED_TAGS
        trainer = _Trainer(sparsity, progress)
        for words, tags in examples:
            for piece, piece_tags in _pieces(_features(words, dictionary), tags, is_chain):
                trainer.append(piece, piece_tags)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "tagger.crfsuite")
            trainer.train(str(path))
            return cls(path.read_bytes(), is_chain=is_chain, dictionary=dictionary)

    def tag(self, words: Sequence[str]) -> list[str]:
        """The most probable tags of a sentence, one for each word.

        Several straight quotes in a sentence open and close in turn, by `eigentree.words.quotes`.

        Raises
        ------
        SettingsError
            When a word holds an unpaired surrogate or NUL.

        Cost
        ----
        Linear in the words and in their characters.
        """
        tags: list[str] = []
        for some, features in _segments(words, self.dictionary):
            best = self._best(features)
            for place, opening in self._opening_quotes(some, features).items():
                if best[place] in (OPENING, CLOSING):
                    best[place] = OPENING if opening > 0.5 else CLOSING
            tags += best
        return tags

    def _best(self, features: list[list[str]]) -> list[str]:
        """The most probable tags by the model alone."""
        with self._lock:
            if self._is_chain:
                tags: list[str] = self._crf.tag(features)
                return tags
            return [self._crf.tag([feature])[0] for feature in features]

    def _opening_quotes(self, words: Sequence[str], features: list[list[str]]) -> dict[int, float]:
        """Places of straight quotes, if there are several, with the probability that each opens."""
        places = [place for place, word in enumerate(words) if word == STRAIGHT]
        if len(places) < 2 or not {OPENING, CLOSING} <= set(self.tagset):
            return {}
        shares = {}
        with self._lock:
            if self._is_chain:
                self._crf.set(features)
            for place in places:
                if not self._is_chain:
                    self._crf.set([features[place]])
                at = place if self._is_chain else 0
                opening, closing = (self._crf.marginal(tag, at) for tag in (OPENING, CLOSING))
                if opening + closing > 0.5:
                    shares[place] = opening / (opening + closing)
        return dict(zip(shares, alternating(list(shares.values())), strict=True))

    def marginals(
        self, words: Sequence[str], *, minimum: float = 0.01
    ) -> list[list[TagProbability]]:
        """The possible tags of each word in this sentence, the most probable first.

        Parameters
        ----------
        minimum
            Tags with a lower probability are left out, except the most probable one.  With 0 the
            probabilities of each word sum to 1.
        """
        found: list[list[TagProbability]] = []
        for some, features in _segments(words, self.dictionary):
            first, opening = len(found), self._opening_quotes(some, features)
            with self._lock:
                for piece, _ in _pieces(features, features, self._is_chain):
                    self._crf.set(piece)
                    for position in range(len(piece)):
                        chances = {tag: self._crf.marginal(tag, position) for tag in self.tagset}
                        if (share := opening.get(len(found) - first)) is not None:
                            either = chances[OPENING] + chances[CLOSING]
                            chances[OPENING] = either * share
                            chances[CLOSING] = either * (1.0 - share)
                        ordered = sorted((-chance, tag) for tag, chance in chances.items())
                        least = min(minimum, -ordered[0][0])
                        found.append([TagProbability(t, -p) for p, t in ordered if -p >= least])
        return found

    def to_bytes(self) -> bytes:
        """The tagger as a byte string, the same for the same training data."""
        content = _MAGIC[self._is_chain] + self._model
        if self.dictionary is None:
            return content
        compressed = self.dictionary.to_bytes()
        return _DICTIONARY + _SIZE.pack(len(compressed)) + compressed + content

    @classmethod
    def from_bytes(cls, content: bytes) -> Tagger:
        """The tagger that `to_bytes` wrote.

        Raises
        ------
        ModelFileError
            When the bytes are no tagger, are truncated or contain invalid offsets.  Other changes
            are detected by the digest of the model file only.
        """
        rest, dictionary = content, None
        if content.startswith(_DICTIONARY):
            start = len(_DICTIONARY) + _SIZE.size
            size = sum(_SIZE.unpack(content[len(_DICTIONARY) : start].ljust(_SIZE.size, b"\0")))
            dictionary = TagDictionary.from_bytes(content[start : start + size])
            rest = content[start + size :]
        for is_chain, magic in _MAGIC.items():
            model = rest[len(magic) :]
            if rest.startswith(magic) and len(model) >= _CRFSUITE_START.size:
                name, size, kind = _CRFSUITE_START.unpack_from(model)
                if (name, size, kind) == (b"lCRF", len(model), b"FOMC"):
                    check_model(model)
                    return cls._of_checked(model, is_chain, dictionary)
        raise ModelFileError(
            f"{len(content)} bytes beginning with {content[:16]!r} are not a whole tagger of this "
            "version"
        )

    @classmethod
    def _of_checked(cls, model: bytes, is_chain: bool, dictionary: TagDictionary | None) -> Tagger:
        try:
            tagger = cls(model, is_chain=is_chain, dictionary=dictionary)
            if all(tag and FORBIDDEN_IN_LABEL.isdisjoint(tag) for tag in tagger.tagset):
                # Each tag must be found by its name, too.
                tagger.marginals(["word"], minimum=1.0)
                return tagger
        except (RuntimeError, ValueError):  # CRFsuite's, and names that are no UTF-8
            pass
        raise ModelFileError("the tagger is damaged (tags); train the parser again")


def jackknife(
    sentences: Sequence[tuple[Sequence[str], Sequence[str]]],
    *,
    folds: int = 5,
    dictionary: TagDictionary | None = None,
    progress: IterationProgress | None = None,
) -> list[list[str]]:
    """Tag training sentences as if they were new.

    The sentences are split into `folds` contiguous folds, since neighbours share their topic; each
    fold is tagged by a tagger trained on all the others.

    Parameters
    ----------
    sentences
        Pairs of words and their tags.
    dictionary
        As in `Tagger.train`.
    progress
        Called with the number of folds done and `folds`.

    Returns
    -------
    list of list of str
        The tags of each sentence, in order.

    Raises
    ------
    GrammarError
        When there are fewer than two folds or fewer sentences than folds.
    """
    if not 2 <= folds <= len(sentences):
        raise GrammarError(
            f"{len(sentences)} sentences can't be split into {folds} folds; there must be at "
            "least 2 folds, and a sentence for each"
        )
    tagged: list[list[str]] = []
    for fold in range(folds):
        start, end = (len(sentences) * part // folds for part in (fold, fold + 1))
        tagger = Tagger.train([*sentences[:start], *sentences[end:]], dictionary=dictionary)
        fold_words = (words for words, _ in sentences[start:end])
        tagged.extend(tagger._best(_features(words, dictionary)) for words in fold_words)
        if progress is not None:
            progress(fold + 1, folds)
    return tagged


class _Trainer(pycrfsuite.Trainer):  # type: ignore[misc]  # the base class has no types
    """CRFsuite's trainer, with reports of progress."""

    def __new__(cls, sparsity: float, progress: IterationProgress | None) -> _Trainer:
        del sparsity, progress  # the compiled base class would read them as its own
        trainer: _Trainer = super().__new__(cls)
        return trainer

    def __init__(self, sparsity: float, progress: IterationProgress | None) -> None:
        settings = {**_SETTINGS, "c1": sparsity}
        super().__init__(algorithm="lbfgs", params=settings, verbose=False)
        self._progress = progress
        self._n_iterations = 0

    def message(self, message: str) -> None:
        """Count the iterations in what CRFsuite would print."""
        if self._progress is not None and message.startswith("***** Iteration #"):
            self._n_iterations += 1
            self._progress(self._n_iterations, _ITERATIONS)


def _pieces(
    features: list[list[str]], tags: Sequence[object], is_chain: bool
) -> Iterator[tuple[list[list[str]], Sequence[object]]]:
    """The sequences for CRFsuite: the sentence, or each word by itself."""
    if is_chain:
        yield features, tags
    else:
        for position, feature in enumerate(features):
            yield [feature], tags[position : position + 1]


def _segments(
    words: Sequence[str], dictionary: TagDictionary | None
) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """The words of a sentence and their features, in segments if it is very long.

    Features need much more memory than words.
    """
    for start in range(0, max(len(words), 1), _MAX_SEGMENT):
        if features := _features(words, dictionary, start, start + _MAX_SEGMENT):
            yield words[start : start + _MAX_SEGMENT], features


def _features(
    words: Sequence[str],
    dictionary: TagDictionary | None = None,
    start: int = 0,
    end: int | None = None,
) -> list[list[str]]:
    """The features of the words of a sentence from start to end."""
    if isinstance(words, str):
        raise TypeError("words: a list of words is expected, not one string")
    end = len(words) if end is None else min(end, len(words))
    for word in words[start:end]:
        check_text(word, "word")  # which CRFsuite cannot encode, or would cut
    first, last = max(start - 2, 0), min(end + 2, len(words))
    lower = [word.lower() for word in words[first:last]]
    lower = [*("<<", "<")[start - first :], *lower, *(">", ">>")[: end + 2 - last]]
    shapes = ["<" if start == 0 else _shape(words[start - 1]), *map(_shape, words[start:end])]
    shapes.append(">" if end == len(words) else _shape(words[end]))
    rows: list[list[str]] = []
    for position, word in enumerate(words[start:end]):
        before2, before, this, after, after2 = lower[position : position + 5]
        row = [
            *_word_features(word),
            f"-2={before2}",
            f"-1={before}",
            f"+1={after}",
            f"+2={after2}",
            f"-1,0={before} {this}",
            f"0,+1={this} {after}",
            f"-1s={before[-3:]}",
            f"+1s={after[-3:]}",
            f"-1c={shapes[position]}",
            f"+1c={shapes[position + 2]}",
        ]
        if start + position == 0:
            row.append(f"first={shapes[1]}")
        rows.append(row)
    if dictionary is not None:
        _add_dictionary_features(rows, words, dictionary, start)
    return rows


def _add_dictionary_features(
    rows: list[list[str]], words: Sequence[str], dictionary: TagDictionary, start: int
) -> None:
    """Add the dictionary's tags of each word and of its neighbours to the words' features."""
    end = start + len(rows)
    tags = [dictionary.tags(word) for word in words[max(start - 1, 0) : end + 1]]
    tags = [*(["<"] if start == 0 else []), *tags, *([">"] if end == len(words) else [])]
    for row, before, this, after in zip(rows, tags, tags[1:], tags[2:], strict=False):
        row += [f"d={this}", f"-1d={before}", f"+1d={after}", f"0,+1d={this},{after}"]
        row += [f"d:{tag}" for tag in this.split()]


@cached_by_word(1 << 16)
def _word_features(word: str) -> tuple[str, ...]:
    """Features of a word's characters; the lower-case form helps at the beginning of sentences."""
    lower = word.lower()
    features = [f"w={word}", f"l={lower}", f"c={_shape(word)}"]
    for length in range(1, min(_LONGEST_AFFIX, len(lower) - 1) + 1):
        features += [f"p={lower[:length]}", f"s={lower[-length:]}"]
    if any(map(str.isdigit, word)):
        features.append("digit")
    if word[:1].isupper():
        features.append("capital")
    _, hyphen, last = lower.rpartition("-")
    if hyphen:
        features.append(f"-={last}")
    return tuple(features)


@cached_by_word(1 << 16)
def _shape(word: str) -> str:
    """``Xx`` for capitals and small letters, ``d`` for digits; runs count as two at most."""
    shape = ""
    for character in word:
        if character.isupper():
            kind = "X"
        elif character.islower():
            kind = "x"
        elif character.isdigit():
            kind = "d"
        else:
            kind = character
        if not shape.endswith(kind * 2):
            shape += kind
    return shape
