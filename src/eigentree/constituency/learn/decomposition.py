"""Decomposition of a grammar into Kruskal form (Cohen, Satta and Collins 2013).

``apr``, ``als`` and ``hals`` decompose the whole rule tensor (`eigentree.linalg.cp`).  ``slices``
computes a singular value decomposition of each parent's matrix of left and right children
(section 7.3) and keeps the largest singular values overall:

    T[a, b, c] = sum over s of sigma_as left_as[b] right_as[c],

a Kruskal form with a single 1 in each column of the parent factor.  It is the best of these forms
in Frobenius norm, but each component serves one parent only.

For a grammar with latent states, each rule's tensor over its states can be decomposed instead
(Cohen and Collins 2012).  Such a rule is stored as samples, which are already a Kruskal form: one
outer product per component, without smoothing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from eigentree._core.arguments import check_choice
from eigentree.constituency.grammar.kruskal import KruskalGrammar, rule_tensor
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.errors import GrammarError, SettingsError
from eigentree.linalg.cp import STAGE, CPOptions, decompose
from eigentree.linalg.cp import Method as CPMethod
from eigentree.linalg.multilinear import Kruskal, SparseTensor
from eigentree.types import Progress

Method = Literal["apr", "als", "hals", "slices"]
METHODS: tuple[str, ...] = get_args(Method)
# Multiplicative updates leave numbers this much smaller than others of their column instead of
# zeros; charts would multiply by them, and they underflow.
DUST = 1e-12
# Progress is reported after this many rules.
_RULES_A_STEP = 64


@dataclass(frozen=True)
class DecompositionOptions:
    """Options of the decomposition of a grammar.

    Attributes
    ----------
    rank
        Number of components, at most the number of entries.
    method
        ``apr``, ``als``, ``hals`` or ``slices``.
    iterations, restarts
        Maximum iterations, and number of restarts; not used by ``slices``.
    single
        Whether charts use single precision.
    each
        Whether each rule's tensor over latent states is decomposed, instead of all rules as one
        tensor.
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
        check_choice(METHODS, method=self.method)
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
    """Decompose the rules of a grammar into Kruskal form.

    Parameters
    ----------
    grammar
        Any grammar.
    options
        Rank, method, restarts.
    seed
        Seed of all starting points.
    processes
        Number of processes that share the restarts; the form is the same for any number.
    progress
        Called with the stage and the fraction of it done.

    Returns
    -------
    KruskalGrammar
    dict
        The entry of the model file: settings, errors, progress of the method.

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
        # With as many components as entries the form is exact.
        settings = replace(options.of_cp(seed), rank=min(options.rank, len(tensor.values)))
        cp_form = decompose(tensor, settings, processes=processes, progress=progress)
        form = cp_form.kruskal
        details = {
            "objective": cp_form.objective.tolist(),
            "stopped": cp_form.stopped,
            "finals": cp_form.finals.tolist(),
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
    """Decompose the tensor of each densely stored rule into Kruskal form.

    Rules that would not get faster are unchanged: those stored as samples or counts, and those
    with so few states that the full product costs no more.

    Parameters
    ----------
    grammar
        A grammar with latent states.
    options
        Maximum rank of each rule's form, method, restarts.
    seed
        Seed of all starting points.
    progress
        Called with the stage and the fraction of it done.

    Returns
    -------
    LPCFG
        With values of either sign, if ``als`` leaves negative ones.
    dict
        The entry of the model file: settings, errors over all decomposed rules.

    Raises
    ------
    GrammarError
        When no rule would get faster.
    TensorError
        When the method is ``apr`` and the grammar has negative values.

    Cost
    ----
    That of `eigentree.linalg.cp.decompose` for each rule.  Inside and outside then take r sums of
    K products per mode, instead of K^3 and K^2.

    References
    ----------
    cohen-collins-2012.
    """
    p = grammar.parameters
    sizes = grammar.n_states[p.rule_symbols].astype(np.int64)
    full = p.dense_start >= 0
    gains = full & (options.rank * sizes.sum(axis=1) < sizes.prod(axis=1))
    if not gains.any():
        max_rank = int(((sizes.prod(axis=1) - 1) // sizes.sum(axis=1))[full].max(initial=0))
        remedy = f"the rank must be at most {max_rank}" if max_rank else "a model by em has some"
        raise GrammarError(
            f"no rule has a full tensor that a form of rank {options.rank} would make smaller; "
            f"{remedy}"
        )
    dense_start, n_samples = p.dense_start.copy(), p.n_samples.copy()
    sample_start, smoothing, ratio = p.sample_start.copy(), p.smoothing.copy(), p.ratio.copy()
    samples, dense_parts = [p.samples], []
    n_sampled, n_kept, squares, norm = len(p.samples), 0, 0.0, 0.0
    for rule in np.flatnonzero(full).tolist():
        if progress and rule % _RULES_A_STEP == 0:
            progress("decomposition", rule / len(full))
        tensor = grammar.tensor(rule)
        if not gains[rule] or not tensor.any():
            dense_start[rule] = n_kept
            dense_parts.append(tensor.ravel())
            n_kept += tensor.size
            continue
        entries = np.argwhere(tensor)
        sparse = SparseTensor(entries.astype(np.int32), tensor[tuple(entries.T)], tensor.shape)
        form = decompose(sparse, options.of_cp(seed)).kruskal.without_dust(DUST)
        squares, norm = squares + form.error(sparse) ** 2, norm + sparse.norm**2
        # Samples are averaged and multiplied by the ratio.
        parts = (form.rank * form.weights * form.factors[0], *form.factors[1:])
        for mode, part in enumerate(parts):
            sample_start[rule, mode] = n_sampled
            samples.append(part.T.ravel())
            n_sampled += part.size
        dense_start[rule], n_samples[rule] = -1, form.rank
        smoothing[rule] = ratio[rule] = 1.0
    parameters = p._replace(
        dense_start=dense_start,
        dense=np.concatenate([np.zeros(0), *dense_parts]),
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
    """Kullback-Leibler divergence of the form from the tensor; 0 if they are equal."""
    is_positive = tensor.values > 0
    values = tensor.values[is_positive]
    minimum = float(values.sum() - values @ np.log(values))
    divergence = form.divergence(tensor) - minimum
    return divergence if np.isfinite(divergence) else None


def slices(tensor: SparseTensor, rank: int) -> Kruskal:
    """The Kruskal form with the largest singular values of all slices of the first mode.

    Parameters
    ----------
    rank
        Number of components; fewer if the slices have fewer nonzero singular values.

    Returns
    -------
    Kruskal
        With columns of unit length; the error is the root of the sum of squares of the dropped
        singular values.

    Cost
    ----
    A dense SVD for each slice, over its nonzero rows and columns.
    """
    layout = tensor.by_mode(0)
    components: list[tuple[float, int, np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
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
            components.append((float(sigma[which]), int(row), by_left, by_right))
    components = sorted(components, key=lambda each: -each[0])[:rank]
    parent = np.zeros((tensor.shape[0], len(components)))
    parent[[row for _, row, _, _ in components], np.arange(len(components))] = 1.0
    weights = np.array([sigma for sigma, _, _, _ in components])
    lefts_of, rights_of = (
        np.stack([each[place] for each in components], axis=1) for place in (2, 3)
    )
    return Kruskal(weights, (parent, lefts_of, rights_of)).normalised(2)
