"""Samples of a known automaton, and how close models learned from them come.

    python validation/operators/run.py FOLDER sample       writes samples and true values
    python validation/operators/run.py FOLDER eigentree    errors of this package
    python validation/operators/run.py FOLDER splearn      errors of scikit-splearn

The last is run by a Python that has scikit-splearn; it needs nothing of this package.  The error
is the sum over all strings of up to four symbols of the absolute difference from the true value,
and its mean over five samples is printed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

SYMBOLS, TRUE_STATES, LONGEST = "abcd", 3, 4
SIZES, STATES, SEEDS = (100, 1_000, 10_000, 100_000), (1, 2, 3, 4, 6), range(5)
STRINGS = [text for n in range(LONGEST + 1) for text in product(range(len(SYMBOLS)), repeat=n)]
Learn = Callable[[list[list[int]], int], Callable[[tuple[int, ...]], float]]


def sample(folder: Path) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n, wide = TRUE_STATES, len(SYMBOLS) * TRUE_STATES
        final = rng.uniform(0.1, 0.4, n)
        going_on = rng.dirichlet(np.full(wide, 0.3), size=n) * (1.0 - final[:, None])
        initial = rng.dirichlet(np.ones(n))
        # Outcome number symbol * n + state goes to that state and gives that symbol.
        operators = going_on.T.reshape(len(SYMBOLS), n, n)
        values = []
        for text in STRINGS:
            vector = initial
            for symbol in text:
                vector = operators[symbol] @ vector
            values.append(float(final @ vector))
        cumulative = np.cumsum(going_on, axis=1)
        sequences = []
        for _ in range(max(SIZES)):
            state, own = int(np.searchsorted(np.cumsum(initial)[:-1], rng.random())), []
            while (outcome := int(np.searchsorted(cumulative[state], rng.random()))) < wide:
                own.append(outcome // n)
                state = outcome % n
            sequences.append(own)
        content = json.dumps({"values": values, "sequences": sequences})
        (folder / f"{seed}.json").write_text(content)


def compare(folder: Path, learners: dict[str, Learn], most: int) -> None:
    runs = [json.loads((folder / f"{seed}.json").read_text()) for seed in SEEDS]
    print("| method | sequences | " + " | ".join(f"n = {n}" for n in STATES) + " | CPU s, n = 3 |")
    print("| --- | --- |" + " --- |" * (len(STATES) + 1))
    for name, learn in learners.items():
        for size in (size for size in SIZES if size <= most):
            errors, seconds = [], 0.0
            for n in STATES:
                own = []
                for run in runs:
                    began = time.process_time()
                    value = learn(run["sequences"][:size], n)
                    if n == TRUE_STATES:
                        seconds += (time.process_time() - began) / len(runs)
                    pairs = zip(STRINGS, run["values"], strict=True)
                    own.append(sum(abs(value(text) - true) for text, true in pairs))
                errors.append(f"{np.mean(own):.4f}")
            print(f"| {name} | {size} | {' | '.join(errors)} | {seconds:.2f} |", flush=True)


def of_eigentree() -> dict[str, Learn]:
    from eigentree.automata.em import SequenceEMOptions, learn_sequence_em
    from eigentree.automata.sequences import Sequences
    from eigentree.automata.spectral import OperatorOptions, learn_operators

    def values(model):
        def value(text):
            log_value, sign = model.value([SYMBOLS[symbol] for symbol in text])
            return sign * np.exp(log_value)

        return value

    def numbered(sequences):
        return Sequences.of([[SYMBOLS[symbol] for symbol in own] for own in sequences], SYMBOLS)

    def spectral(**settings):
        def learn(sequences, n):
            options = OperatorOptions(n, back_off=0.0, **settings)
            return values(learn_operators(numbered(sequences), options))

        return learn

    def em(start):
        def learn(sequences, n):
            options = SequenceEMOptions(n, 60, start)
            return values(learn_sequence_em(numbered(sequences), options, back_off=0.0).model)

        return learn

    return {
        "spectral": spectral(),
        "no noise limit": spectral(noise=0.0),
        "nor scaling": spectral(noise=0.0, scaled=False),
        "em": em("random"),
        "spectral+em": em("spectral"),
    }


def of_splearn() -> dict[str, Learn]:
    from splearn.datasets.data_sample import SplearnArray
    from splearn.spectral import Spectral

    def of(version: str, longest: int) -> Learn:
        def learn(sequences, n):
            table = np.full((len(sequences), max(map(len, sequences))), -1.0)
            for row, own in zip(table, sequences, strict=True):
                row[: len(own)] = own
            array = SplearnArray(table, nbL=len(SYMBOLS), nbEx=len(sequences))
            model = Spectral(
                rank=n,
                lrows=longest,
                lcolumns=longest,
                version=version,
                partial=True,
                sparse=False,
                mode_quiet=True,
            )
            model.fit(array)
            return lambda text: float(model.automaton.val(list(text)))

        return learn

    return {
        f"{version}, up to {k}": of(version, k) for version in ("classic", "factor") for k in (2, 3)
    }


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("sample", "eigentree", "splearn"):
        sys.exit(__doc__)
    where = Path(sys.argv[1])
    if sys.argv[2] == "sample":
        sample(where)
    else:
        # Of 100,000 sequences scikit-splearn would take many minutes.
        is_own = sys.argv[2] == "eigentree"
        compare(where, of_eigentree() if is_own else of_splearn(), max(SIZES) if is_own else 10_000)
