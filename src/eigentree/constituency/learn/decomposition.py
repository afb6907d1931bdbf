"""From a grammar to one in Kruskal form (Cohen, Satta and Collins 2013).

``apr``, ``als`` and ``hals`` bring the whole rule tensor into Kruskal form
(`eigentree.linalg.cp`).  ``slices`` takes a singular value decomposition of each parent's matrix
of left and right children (section 7.3) and keeps the largest singular values of all:

    T[a, b, c] = sum over s of sigma_as left_as[b] right_as[c],

a Kruskal form whose parent factor holds one 1 a column.  It is the best of those forms, in
Frobenius norm, but each component serves one parent.

Of a grammar with latent states, each rule's tensor over its states can be decomposed instead
(Cohen and Collins 2012).  Such a rule is stored as samples, which are a Kruskal form already: one
outer product for each component, and nothing to smooth.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from eigentree.constituency.grammar.kruskal import KruskalGrammar, rule_tensor
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.errors import GrammarError, SettingsError
from eigentree.linalg.cp import STAGE, CPOptions, decompose
from eigentree.linalg.cp import Method as CPMethod
from eigentree.linalg.multilinear import Kruskal, SparseTensor
from eigentree.types import Progress

Method = Literal["apr", "als", "hals", "slices"]
METHODS: tuple[str, ...] = get_args(Method)
# Multiplicative updates leave numbers this much smaller than others of their column where there
# should be zeros; charts would multiply with them, and they become too small for numbers.
DUST = 1e-12
# Progress is told after so many rules.
_RULES_A_STEP = 64


@dataclass(frozen=True, slots=True)
class DecompositionOptions:
    """How a grammar is brought into Kruskal form.

    Attributes
    ----------
    rank
        Number of components, at most that of the entries.
    method
        ``apr``, ``als``, ``hals`` or ``slices``.
    iterations, restarts
        Of all methods but ``slices``: most iterations, and how often to begin anew.
    single
        Whether charts are to be of single precision.
    each
        Whether each rule's tensor over latent states is decomposed, and not the grammar's rules
        as one tensor.
    """

    rank: int = 260
    method: Method = "apr"
    iterations: int = 100
    restarts: int = 1
    single: bool = False
    each: bool = False

    def __post_init__(self) -> None:
        if self.each and (self.single or self.method == "slices"):
            raise SettingsError(
                "each rule's tensor is decomposed in double precision, by apr, als or hals"
            )
        if self.method not in METHODS:
            raise SettingsError(
                f"method is {self.method!r}; it must be one of {', '.join(METHODS)}"
            )
        self.of_cp(0)

    def of_cp(self, seed: int) -> CPOptions:
        """The options of a CP decomposition."""
        method: CPMethod = "als" if self.method == "slices" else self.method
        return CPOptions(
            self.rank, method, iterations=self.iterations, restarts=self.restarts, seed=seed
        )


def decompose_grammar(
    grammar: LPCFG,
    options: DecompositionOptions = DecompositionOptions(),
    *,
    seed: int = 0,
    processes: int = 1,
    progress: Progress | None = None,
) -> tuple[KruskalGrammar, dict[str, Any]]:
    """Bring the rules of a grammar into Kruskal form.

    Parameters
    ----------
    grammar
        Any grammar.
    options
        Rank, method, restarts.
    seed
        Of all starts.
    processes
        Restarts are shared out among as many; the form is the same for any number.
    progress
        Called with the stage and the share of it that is done.

    Returns
    -------
    KruskalGrammar
    dict
        What a model file says of it: settings, errors, how the method went.

    Raises
    ------
    GrammarError
        When there are no rules, or they have too many entries.
    TensorError
        When the method is ``apr`` and the grammar has negative values.

    Cost
    ----
    That of `eigentree.linalg.cp.decompose`, or of a dense SVD for each parent.
    """
    if progress:
        progress(STAGE, 0.0)
    tensor = rule_tensor(grammar)
    details: dict[str, Any] = {}
    if options.method == "slices":
        form = slices(tensor, options.rank)
    else:
        # As many components as entries are exact already.
        settings = replace(options.of_cp(seed), rank=min(options.rank, len(tensor.values)))
        found = decompose(tensor, settings, processes=processes, progress=progress)
        form = found.kruskal
        details = {
            "objective": found.objective.tolist(),
            "stopped": found.stopped,
            "finals": found.finals.tolist(),
        }
    form = form.without_dust(DUST)
    kruskal = KruskalGrammar.of(grammar, form, single=options.single)
    error = form.error(tensor)
    return kruskal, {
        **asdict(options),
        "rank": form.rank,
        "seed": seed,
        "error": error,
        "relative_error": error / tensor.norm,
        "largest_rule_error": float(np.abs(form.at(tensor.subscripts) - tensor.values).max()),
        "divergence": None if kruskal.signed else _divergence(form, tensor),
        **details,
    }


def decompose_each(
    grammar: LPCFG,
    options: DecompositionOptions,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[LPCFG, dict[str, Any]]:
    """Bring the tensor of each rule that is stored in full into Kruskal form.

    Rules that would not gain by it stay as they are: those stored as samples or counts, and those
    with so few states that a full product is no more work.

    Parameters
    ----------
    grammar
        With latent states.
    options
        Rank of each rule's form, at most, method, restarts.
    seed
        Of all starts.
    progress
        Called with the stage and the share of it that is done.

    Returns
    -------
    LPCFG
        With values of either sign where ``als`` leaves some.
    dict
        What a model file says of it: settings, errors over all rules decomposed.

    Raises
    ------
    GrammarError
        When no rule would gain by it.
    TensorError
        When the method is ``apr`` and the grammar has negative values.

    Cost
    ----
    That of `eigentree.linalg.cp.decompose` for each rule.  Inside and outside then take r sums of
    K products a mode, in place of K^3 and K^2.

    References
    ----------
    cohen-collins-2012.
    """
    p = grammar.parameters
    sizes = grammar.n_states[p.rule_symbols].astype(np.int64)
    full = p.dense_start >= 0
    gains = full & (options.rank * sizes.sum(axis=1) < sizes.prod(axis=1))
    if not gains.any():
        most = int(((sizes.prod(axis=1) - 1) // sizes.sum(axis=1))[full].max(initial=0))
        right = f"the rank must be at most {most}" if most else "a model by em has some"
        raise GrammarError(
            f"no rule has a full tensor that a form of rank {options.rank} would make smaller; "
            f"{right}"
        )
    dense_start, n_samples = p.dense_start.copy(), p.n_samples.copy()
    sample_start, smoothing, ratio = p.sample_start.copy(), p.smoothing.copy(), p.ratio.copy()
    samples, kept = [p.samples], []
    n_sampled, n_kept, squares, norm = len(p.samples), 0, 0.0, 0.0
    for rule in np.flatnonzero(full).tolist():
        if progress and rule % _RULES_A_STEP == 0:
            progress("decomposition", rule / len(full))
        tensor = grammar.tensor(rule)
        if not gains[rule] or not tensor.any():
            dense_start[rule] = n_kept
            kept.append(tensor.ravel())
            n_kept += tensor.size
            continue
        entries = np.argwhere(tensor)
        sparse = SparseTensor(entries.astype(np.int32), tensor[tuple(entries.T)], tensor.shape)
        form = decompose(sparse, options.of_cp(seed)).kruskal.without_dust(DUST)
        squares, norm = squares + form.error(sparse) ** 2, norm + sparse.norm**2
        # Samples are averaged, and multiplied by the ratio.
        parts = (form.rank * form.weights * form.factors[0], *form.factors[1:])
        for mode, part in enumerate(parts):
            sample_start[rule, mode] = n_sampled
            samples.append(part.T.ravel())
            n_sampled += part.size
        dense_start[rule], n_samples[rule] = -1, form.rank
        smoothing[rule] = ratio[rule] = 1.0
    parameters = p._replace(
        dense_start=dense_start,
        dense=np.concatenate([np.zeros(0), *kept]),
        n_samples=n_samples,
        sample_start=sample_start,
        samples=np.concatenate(samples),
        ratio=ratio,
        smoothing=smoothing,
    )
    signed = grammar.signed or bool(np.any(parameters.samples < 0.0))
    return LPCFG(grammar.backbone, parameters, signed), {
        **asdict(options),
        "seed": seed,
        "rules": int(gains.sum()),
        "error": float(np.sqrt(squares)),
        "relative_error": float(np.sqrt(squares / norm)),
    }


def _divergence(form: Kruskal, tensor: SparseTensor) -> float | None:
    """Kullback-Leibler divergence of the form from the tensor, 0 where they are the same."""
    own = tensor.values > 0
    values = tensor.values[own]
    least = float(values.sum() - values @ np.log(values))
    found = form.divergence(tensor) - least
    return found if np.isfinite(found) else None


def slices(tensor: SparseTensor, rank: int) -> Kruskal:
    """The Kruskal form with the largest singular values of all slices of the first mode.

    Parameters
    ----------
    rank
        Components; there are fewer where the slices have fewer singular values that are not 0.

    Returns
    -------
    Kruskal
        With columns of unit length, and an error of the root of the sum of squares of the singular
        values that were left out.

    Cost
    ----
    A dense SVD for each slice, of its rows and columns that are not 0.
    """
    layout = tensor.by_mode(0)
    found: list[tuple[float, int, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
    for row, first, last in zip(layout.rows, layout.start, layout.start[1:], strict=False):
        here = slice(int(first), int(last))
        lefts, left = np.unique(layout.left[here], return_inverse=True)
        rights, right = np.unique(layout.right[here], return_inverse=True)
        matrix = np.zeros((len(lefts), len(rights)))
        matrix[left, right] = layout.values[here]
        u, sigma, v = np.linalg.svd(matrix, full_matrices=False)
        for which in np.flatnonzero(sigma > 1e-14 * sigma[0]):
            by_left, by_right = np.zeros(tensor.shape[1]), np.zeros(tensor.shape[2])
            by_left[lefts], by_right[rights] = u[:, which], v[which]
            found.append((float(sigma[which]), int(row), by_left, by_right))
    found = sorted(found, key=lambda each: -each[0])[:rank]
    parent = np.zeros((tensor.shape[0], len(found)))
    parent[[row for _, row, _, _ in found], np.arange(len(found))] = 1.0
    weights = np.array([sigma for sigma, _, _, _ in found])
    lefts_of, rights_of = (np.stack([each[place] for each in found], axis=1) for place in (2, 3))
    return Kruskal(weights, (parent, lefts_of, rights_of)).normalised(2)
