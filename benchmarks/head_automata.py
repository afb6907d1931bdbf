"""Training time of head automata.

    python benchmarks/head_automata.py FILE upos|xpos [STATES]

FILE is a treebank in CoNLL-U or CoNLL-X.  CPU seconds of one thread from symbols and heads to the
automata, including collection, the minimum of three runs; for EM also to the best of 30 iterations
by the likelihood of held-out trees (every tenth of FILE), without scoring.  An initial run compiles
the kernels.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.dependency.head_automata import HeadAutomata
from eigentree.dependency.learn.head_automata import (
    HeadAutomataModel,
    HeadAutomataOptions,
    collect_modifiers,
    learn_head_automata,
)

METHODS = ("det", "det+f", "sibling", "spectral", "em", "spectral+em")
COLUMNS = {"upos": 3, "xpos": 4}
HEAD = 6
REPEATS = 3


def main(file: Path, column: str, states: int) -> None:
    sentences = read(file, COLUMNS[column])
    held_out = sentences[9::10]
    train = [each for number, each in enumerate(sentences) if number % 10 != 9]
    symbols = sorted({symbol for own, _ in sentences for symbol in own})
    tokens = sum(len(own) for own, _ in sentences)
    print(f"{len(sentences)} sentences, {tokens} tokens, {len(symbols)} symbols")
    print("| method | states | CPU s | to the best iteration | best | log-likelihood a token |")
    print("| --- | --- | --- | --- | --- | --- |")
    groups = collect_modifiers(held_out, symbols).groups()
    n_held_out = sum(len(own) for own, _ in held_out)

    def worth(automata: HeadAutomata) -> float:
        return value(automata, groups) / n_held_out

    for method in METHODS:
        options = HeadAutomataOptions(method, states)
        learn_head_automata(sentences[:50], options)
        seconds = []
        for _ in range(REPEATS):
            began = time.process_time()
            learn_head_automata(sentences, options)
            seconds.append(time.process_time() - began)
        is_em = method.endswith("em")
        found = learn_head_automata(
            train, options, symbols=symbols, scorer=worth if is_em else None
        )
        to_best, best = until_best(found)
        n = found.automata.initial.shape[1]
        print(
            f"| {method} | {n} | {min(seconds):.2f} | {to_best} | {best} | "
            f"{worth(found.automata):.4f} |",
            flush=True,
        )


def until_best(found: HeadAutomataModel) -> tuple[str, str]:
    if not found.record:
        return "", ""
    return f"{found.record[found.best].cpu_seconds:.2f}", str(found.record[found.best].number)


def value(automata: HeadAutomata, groups: list) -> float:
    """Log-likelihood of sequences; a value that is not positive counts as 1e-9."""
    total = 0.0
    for number, group in enumerate(groups):
        if not group.n_sequences:
            continue
        name = (*automata.symbols, "")[number // 2]
        model = automata.automaton(name, number % 2)
        bounds = zip(group.start[:-1].tolist(), group.start[1:].tolist(), strict=True)
        texts = [tuple(group.symbol[first:last].tolist()) for first, last in bounds]
        memory = {
            text: model.value([automata.symbols[at] for at in text]) for text in sorted(set(texts))
        }
        total += sum(
            log if sign > 0 else np.log(1e-9) for log, sign in (memory[text] for text in texts)
        )
    return total


def read(file: Path, column: int) -> list[tuple[list[str], list[int]]]:
    """Symbols and heads of sentences, without multiword tokens and empty nodes."""
    sentences: list[tuple[list[str], list[int]]] = []
    is_open = False
    for line in file.read_text("utf-8").splitlines():
        cells = line.split("\t")
        if not line:
            is_open = False
        elif cells[0].isdigit():
            if not is_open:
                sentences.append(([], []))
                is_open = True
            sentences[-1][0].append(cells[column])
            sentences[-1][1].append(int(cells[HEAD]))
    return sentences


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in COLUMNS:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 6)
