"""Speed and growth of charts over split head automata.

    python benchmarks/head_chart.py

Sentences over 45 symbols and automata are random: all automata have the same number of states, and
probabilities or signed entries.  Columns: milliseconds of one thread per sentence, the minimum of
many runs, for marginals and for the best tree by them; the ratio to the previous row; sentences per
second for both together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentree.dependency.chart.decode import arc_scores, best_tree
from eigentree.dependency.chart.inside_outside import head_inside_outside, of_sentence
from eigentree.dependency.head_automata import HeadAutomata

N_SYMBOLS = 45
# A newspaper's sentences have 24 words on average.
AVERAGE = 24
LENGTHS = (6, 12, 24, 48, 96, 192)
STATES = (1, 2, 4, 6, 8, 12, 24)
SECONDS = 0.3


def random_automata(n_states: int, *, signed: bool, seed: int = 0) -> HeadAutomata:
    """Automata that stop with a probability of about 1/2."""
    rng = np.random.default_rng(seed)
    n_automata = 2 * (N_SYMBOLS + 1)
    initial = rng.dirichlet(np.ones(n_states), n_automata)
    operators = rng.dirichlet(np.full(N_SYMBOLS * n_states, 0.5), (n_automata, n_states)) / 2
    operators = operators.reshape(n_automata, n_states, N_SYMBOLS, n_states).transpose(0, 2, 3, 1)
    if signed:
        operators += rng.normal(0.0, 0.1 * operators.std(), operators.shape)
    states = np.full(n_automata, n_states)
    states[2 * N_SYMBOLS] = 0
    final = np.full((n_automata, n_states), 0.5)
    for array in (initial, final, operators):
        array[2 * N_SYMBOLS] = 0.0
    symbols = tuple(f"T{number}" for number in range(N_SYMBOLS))
    return HeadAutomata(symbols, states, initial, final, np.ascontiguousarray(operators))


def milliseconds(work: Callable[[], object]) -> float:
    """The minimum of many runs, since other processes can only increase the time."""
    began = time.process_time()
    work()
    repeats = 2 + int(SECONDS / max(time.process_time() - began, 1e-5))
    least = np.inf
    for _ in range(repeats):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return 1e3 * float(least)


def table(title: str, rows: dict[str, tuple[HeadAutomata, int]]) -> None:
    print(f"\n| {title} | marginals | tree | times the row before | sentences a second |")
    print("| --- | --- | --- | --- | --- |")
    before = None
    for name, (automata, n_words) in rows.items():
        symbols = np.random.default_rng(n_words).integers(0, N_SYMBOLS, n_words)

        def marginals(automata=automata, symbols=symbols):
            return head_inside_outside(of_sentence(automata, symbols))

        found = marginals()
        assert found is not None
        first = milliseconds(marginals)
        second = milliseconds(lambda found=found: best_tree(arc_scores(found.marginals)))
        growth = "" if before is None else f"{first / before:.2f}"
        rate = 1e3 / (first + second)
        print(f"| {name} | {first:.3f} | {second:.3f} | {growth} | {rate:,.0f} |", flush=True)
        before = first


def main() -> None:
    for signed in (False, True):
        six = random_automata(6, signed=signed)
        kind = "signed" if signed else "probabilities"
        table(f"words, 6 states, {kind}", {str(n): (six, n) for n in LENGTHS})
    several = {str(k): (random_automata(k, signed=True), AVERAGE) for k in STATES}
    table(f"states, {AVERAGE} words, signed", several)


if __name__ == "__main__":
    main()
