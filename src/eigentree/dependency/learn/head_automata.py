"""Learning head-automata from dependency trees: by counting, spectrally, or by EM.

A treebank provides, for each token and each direction, the sequence of its modifiers, the closest
first; empty sequences count too.  All tokens of one symbol share an automaton for each
direction, and the root has one to its right, so there is one sequence learning problem for each
automaton:

``det``, ``det+f``, ``sibling``
    The state is observed: a single one, or one before the first modifier and one after it, or
    the previous modifier (`eigentree.automata.counting`).
``spectral``
    Hidden states by the spectral method (`eigentree.automata.spectral`), Luque et al. 2012.
``em``, ``spectral+em``
    Hidden states by expectation maximisation, from a random start or from the spectral states
    (`eigentree.automata.em`); all automata together, so that a scorer can parse trees.

Counted automata are smoothed, so that each sequence has a positive value.  Those with hidden
states are mixed with ``det+f``, with the weight `HeadAutomataOptions.back_off`.  A symbol that was
never seen, such as one for unknown words, has ``det+f`` counted from the modifiers of all tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from eigentree._core.arguments import check_choice
from eigentree.automata.arrays import Automata
from eigentree.automata.counting import PRIOR, count_first, count_one_state, count_previous
from eigentree.automata.em import SequenceEMOptions, extract_model, learn_automata
from eigentree.automata.model import OperatorModel, mixture
from eigentree.automata.prefix_tree import build_prefix_tree
from eigentree.automata.sequences import Sequences
from eigentree.automata.spectral import OperatorOptions, count_substrings, from_substrings
from eigentree.dependency.head_automata import DIRECTIONS, RIGHT, ROOT, HeadAutomata
from eigentree.errors import GrammarError, SettingsError
from eigentree.learning.em_loop import EMIteration
from eigentree.linalg.threads import one_thread
from eigentree.types import Longs, Progress

Method = Literal["det", "det+f", "sibling", "spectral", "em", "spectral+em"]
Scorer = Callable[[HeadAutomata], float]

COUNTED = {"det": count_one_state, "det+f": count_first, "sibling": count_previous}
STAGE = "automata"


@dataclass(frozen=True)
class HeadAutomataOptions:
    """Settings for learning head-automata.

    Attributes
    ----------
    method
        ``det``, ``det+f``, ``sibling``, ``spectral``, ``em`` or ``spectral+em``.
    states
        Maximum hidden states of an automaton, not counting those that are mixed in.
    back_off
        Weight of ``det+f`` against hidden states; above 0.
    prior
        Pseudo-count of each outcome of counted automata.
    relative_cut, noise, scaled
        Selection of singular values and of the matrix they belong to, see `OperatorOptions`.
    iterations, restarts, judge_every
        Of expectation maximisation, see `SequenceEMOptions`.
    """

    method: Method = "spectral"
    states: int = 6
    back_off: float = 0.1
    prior: float = PRIOR
    relative_cut: float = 1e-3
    noise: float = 0.5
    scaled: bool = True
    iterations: int = 30
    restarts: int = 1
    judge_every: int = 1

    def __post_init__(self) -> None:
        check_choice(Method, method=self.method)
        if not 0.0 < self.back_off < 1.0:
            raise SettingsError(f"back_off is {self.back_off}; it must be between 0 and 1")
        # The other settings are checked by the options they are passed to.
        _ = self.spectral, self.em

    @property
    def spectral(self) -> OperatorOptions:
        """The options of the spectral method."""
        return OperatorOptions(
            self.states, self.relative_cut, self.noise, self.scaled, 0.0, self.prior
        )

    @property
    def em(self) -> SequenceEMOptions:
        """The options of expectation maximisation."""
        return SequenceEMOptions(
            self.states,
            self.iterations,
            "spectral" if self.method == "spectral+em" else "random",
            self.restarts,
            judge_every=self.judge_every,
        )


class HeadAutomataModel(NamedTuple):
    """The result of learning.

    Attributes
    ----------
    automata
        The grammar.
    record
        The iterations of expectation maximisation; empty for other methods.
    best
        Index in the record of the iteration that was kept, from 0.
    """

    automata: HeadAutomata
    record: list[EMIteration]
    best: int


class Modifiers(NamedTuple):
    """The modifiers in a treebank.

    Attributes
    ----------
    sequences
        One for each token and each direction, and one for each root; sorted by automaton.
    automaton : int64, axes (sequences)
        2 h + d for head symbol h and direction d; for the root, h is the number of symbols.
    """

    sequences: Sequences
    automaton: Longs

    def groups(self) -> list[Sequences]:
        """The sequences of each automaton."""
        n_automata = 2 * (len(self.sequences.symbols) + 1)
        start = np.searchsorted(self.automaton, np.arange(n_automata + 1)).tolist()
        return [self.sequences.between(first, last) for first, last in pairwise(start)]


def collect_modifiers(
    sentences: Sequence[tuple[Sequence[str], Sequence[int]]], symbols: Sequence[str] | None = None
) -> Modifiers:
    """Collect the sequences of modifiers of dependency trees.

    Parameters
    ----------
    sentences
        Symbols of the tokens of each, and their heads: 0 for the root, 1 for the first token.
    symbols
        All symbols, which may include unseen ones; by default those seen, sorted.

    Raises
    ------
    GrammarError
        When the numbers of heads and symbols of a sentence differ, a head is out of range, or a
        symbol is empty or missing from `symbols`.

    Cost
    ----
    O(T log T) for T tokens.
    """
    for number, (token_symbols, heads) in enumerate(sentences, start=1):
        if len(token_symbols) != len(heads):
            raise GrammarError(
                f"sentence {number} has {len(token_symbols)} symbols and {len(heads)} heads; it "
                "must have one of each for each token"
            )
    tokens = Sequences.of((token_symbols for token_symbols, _ in sentences), symbols)
    if ROOT in tokens.symbols:
        raise GrammarError("a token has an empty symbol, which is the name of the root")
    n_symbols, length = len(tokens.symbols), tokens.length
    head = np.fromiter(chain.from_iterable(heads for _, heads in sentences), dtype=np.int64)
    sentence = np.repeat(np.arange(len(length)), length)
    position = np.arange(len(head)) - tokens.start[sentence] + 1
    wrong = np.flatnonzero((head < 0) | (head > length[sentence]) | (head == position))
    if len(wrong):
        at = wrong[0]
        raise GrammarError(
            f"sentence {sentence[at] + 1}: the head of token {position[at]} is {head[at]}; it must "
            f"be another token, 1 to {length[sentence[at]]}, or 0 for the root"
        )
    # Nodes are the tokens of all sentences, each sentence's root before them.
    root = tokens.start[:-1] + np.arange(len(length))
    node, head_node = root[sentence] + position, root[sentence] + head
    symbol_of = np.full(len(head) + len(length), n_symbols, dtype=np.int64)
    symbol_of[node] = tokens.symbol
    automaton = (2 * symbol_of[:, None] + np.arange(2)).ravel()
    side = 2 * head_node + (node > head_node)
    order = np.lexsort((np.abs(node - head_node), side, automaton[side]))
    by_automaton = np.argsort(automaton, kind="stable")
    # The root has no modifiers to its left.
    by_automaton = by_automaton[automaton[by_automaton] != 2 * n_symbols]
    lengths = np.bincount(side, minlength=len(automaton))[by_automaton]
    start = np.concatenate([[0], np.cumsum(lengths)])
    return Modifiers(
        Sequences(tokens.symbols, start, tokens.symbol[order]), automaton[by_automaton]
    )


def learn_head_automata(
    sentences: Sequence[tuple[Sequence[str], Sequence[int]]],
    options: HeadAutomataOptions = HeadAutomataOptions(),
    *,
    symbols: Sequence[str] | None = None,
    scorer: Scorer | None = None,
    validation_digest: str = "",
    checkpoint: Path | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> HeadAutomataModel:
    """Learn head-automata from dependency trees.

    Parameters
    ----------
    sentences, symbols
        As in `collect_modifiers`.
    options
        Method and settings.
    scorer
        Scores automata, to choose among EM iterations; higher is better.
    validation_digest, checkpoint, jobs, seed
        For expectation maximisation, as in `learn_automata`.
    progress
        Called with the stage's name and the fraction done, 0 to 1.

    Raises
    ------
    GrammarError
        When there are no tokens, or a tree is invalid.
    ModelFileError
        When the checkpoint was made from other trees or with other settings.

    Cost
    ----
    For V symbols there are 2 V + 1 automata of V operators each, in dense arrays.

    References
    ----------
    luque-2012.
    """
    modifiers = collect_modifiers(sentences, symbols)
    if not len(modifiers.sequences.symbol):
        raise GrammarError("there are no dependency trees to learn from; at least one is needed")
    groups = modifiers.groups()
    weak = _counted(groups, "det+f", options.prior)
    names = (*modifiers.sequences.symbols, ROOT)

    def whole(models: Sequence[OperatorModel]) -> HeadAutomata:
        return HeadAutomata.make(
            {
                (name, direction): models[2 * head + direction]
                for head, name in enumerate(names)
                for direction in range(len(DIRECTIONS))
                if (name, direction) != (ROOT, 1 - RIGHT)
            }
        )

    def mixed(number: int, model: OperatorModel) -> OperatorModel:
        return mixture(model, weak[number], options.back_off)

    if options.method in COUNTED:
        return HeadAutomataModel(whole(_counted(groups, options.method, options.prior)), [], 0)
    if options.method == "spectral":
        models = list(weak)
        with one_thread():
            for number, group in enumerate(groups):
                if group.n_sequences:
                    statistics = count_substrings(group)
                    spectral = from_substrings(
                        group.symbols, statistics, options.spectral, seed=seed
                    )
                    models[number] = mixed(number, spectral)
                if progress:
                    progress(STAGE, (number + 1) / len(groups))
        return HeadAutomataModel(whole(models), [], 0)

    tree = build_prefix_tree(modifiers.sequences, modifiers.automaton, len(groups))

    def assembled(automata: Automata) -> HeadAutomata:
        return whole(
            [
                mixed(number, extract_model(automata, tree, number, group.symbols))
                if group.n_sequences
                else weak[number]
                for number, group in enumerate(groups)
            ]
        )

    trace = learn_automata(
        groups,
        tree,
        options.em,
        scorer=None if scorer is None else lambda automata: scorer(assembled(automata)),
        validation_digest=f"{validation_digest} {options.back_off} {options.prior}",
        checkpoint=checkpoint,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    return HeadAutomataModel(assembled(trace.model), trace.record, trace.best)


def _counted(groups: Sequence[Sequences], method: str, prior: float) -> list[OperatorModel]:
    """The automaton of each group; for an empty group, that of all tokens in its direction."""
    pooled = [_pooled(groups[direction:-2:2]) for direction in range(len(DIRECTIONS))]
    return [
        COUNTED[method](group, prior)
        if group.n_sequences
        else COUNTED["det+f"](pooled[number % len(DIRECTIONS)], prior)
        for number, group in enumerate(groups)
    ]


def _pooled(groups: Sequence[Sequences]) -> Sequences:
    """The sequences of several groups over the same symbols, concatenated."""
    lengths = np.concatenate([group.length for group in groups])
    return Sequences(
        groups[0].symbols,
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([group.symbol for group in groups]),
    )
