"""Score a model on everyday sentences.

    python validation/english_model/everyday.py FILE [MODEL]

A line of FILE has words with their tags, and after bars the phrases that each right tree has.
What is wrong is listed, then the shares of right tags, of these phrases, and of sentences without
a mistake.  ``dev.txt`` was looked at while the model was made; ``heldout.txt`` was not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from eigentree import Parser


class Shares(NamedTuple):
    """Fractions of what is right."""

    tags: float
    phrases: float
    sentences: float


def score_everyday(parser: Parser, path: Path, *, show: bool = False) -> Shares:
    right = {"tags": 0, "phrases": 0, "sentences": 0}
    total = dict.fromkeys(right, 0)
    for line in path.read_text("utf-8").splitlines():
        tokens, *phrases = (part.strip() for part in line.split("|"))
        words, tags = zip(*(token.rsplit("/", 1) for token in tokens.split()), strict=True)
        tree = parser.parse([*words]).tree
        assert tree is not None
        spans = {f"{s.label} {' '.join(words[s.start : s.end])}" for s in tree.spans()}
        wrong = [
            f"{word}/{found}, not {tag}"
            for word, tag, found in zip(words, tags, tree.tags(), strict=True)
            if found != tag
        ]
        missing = [phrase for phrase in phrases if phrase not in spans]
        if show and (wrong or missing):
            print("; ".join([" ".join(words), *wrong, *(f"no {each}" for each in missing)]))
        right["tags"] += len(words) - len(wrong)
        right["phrases"] += len(phrases) - len(missing)
        right["sentences"] += not wrong and not missing
        total["tags"] += len(words)
        total["phrases"] += len(phrases)
        total["sentences"] += 1
    return Shares(**{name: right[name] / total[name] for name in right})


if __name__ == "__main__":
    shares = score_everyday(
        Parser.load(sys.argv[2] if len(sys.argv) > 2 else "english"), Path(sys.argv[1]), show=True
    )
    print(", ".join(f"{name} {100 * share:.1f} %" for name, share in shares._asdict().items()))
