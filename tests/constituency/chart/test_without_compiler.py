"""Kernels are valid Python: the same results without the compiler, up to rounding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eigentree.bracketing.chart.minimum_evolution import minimum_evolution
from eigentree.bracketing.learn._kernels_moments import count_pairs
from eigentree.constituency.chart.decode import OBJECTIVES, decode, gains
from eigentree.constituency.chart.inside_outside import inside_outside
from eigentree.constituency.chart.k_best import k_best
from eigentree.constituency.chart.pruning import prune
from eigentree.dependency.chart.decode import arc_scores, best_tree, viterbi
from eigentree.dependency.chart.inside_outside import head_inside_outside, of_sentence
from tests.helpers import close
from tests.strategies import random_head_automata, random_lpcfg, random_pcfg, sentence

ROOT = Path(__file__).resolve().parents[3]


def results() -> dict[str, object]:
    """Everything that kernels compute, for one grammar of mixed forms and one sentence."""
    rng = np.random.default_rng(11)
    backbone = random_pcfg(rng, 2, 2, 6)
    grammar = random_lpcfg(rng, backbone, 3, signed=True, samples=0.5)
    n_tags = len(backbone.symbols.tags)
    each = sentence(grammar, [0, 1, 2, 3, 4], [list(range(n_tags))] * 5)
    pruned = prune(backbone, each.leaves, threshold=1e-6)
    marginals = inside_outside(pruned.forest, grammar)
    words = list("abcde")
    trees = {}
    for objective in OBJECTIVES:
        if objective != "viterbi":
            own = gains(objective, pruned.forest, marginals, grammar)
            trees[objective] = decode(pruned.forest, own, backbone.symbols, words).items.tolist()
            several = k_best(pruned.forest, own, backbone.symbols, 12)
            trees[f"several by {objective}"] = [
                several.item.tolist(),
                several.forest.roots.tolist(),
            ]
    drawn = rng.normal(size=(8, 8))
    brackets = [
        minimum_evolution(drawn + drawn.T, least_squares=each).best(3) for each in (False, True)
    ]
    pairs = np.zeros((3, 3, 2), dtype=np.uint32)
    count_pairs(np.array([0, 1, 2, 1], dtype=np.int32), np.array([0, 3, 4]), pairs)
    signed = of_sentence(random_head_automata(rng, 3, signed=True), np.array([2, 0, 1, 1, 0, 2]))
    arcs = head_inside_outside(signed)
    probable = of_sentence(random_head_automata(rng, 3), np.array([1, 0, 0, 2]))
    assert arcs is not None
    best = best_tree(arc_scores(arcs.marginals)), viterbi(probable, multi_root=True)
    return {
        "brackets": [[each.spans.tolist() for each in brackets], pairs.tolist()],
        "lengths": [each.length for each in brackets],
        "coarse": pruned.marginal.tolist(),
        "items": marginals.item.tolist(),
        "edges": marginals.edge.tolist(),
        "value": [pruned.log_value, marginals.log_value, marginals.sign],
        "arcs": [*arcs.marginals.ravel().tolist(), arcs.log_value, arcs.sign],
        "heads": [each.heads.tolist() for each in best],
        "forest": [array.tolist() for array in pruned.forest],
        "trees": trees,
    }


@pytest.mark.slow
def test_kernels_give_the_same_as_plain_python():
    script = (
        "import json, numba\n"
        "assert numba.config.DISABLE_JIT\n"
        "from tests.constituency.chart.test_without_compiler import results\n"
        "print(json.dumps(results()))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    plain, compiled = json.loads(done.stdout), results()
    assert plain["forest"] == compiled["forest"]
    assert plain["trees"] == compiled["trees"]
    assert plain["brackets"] == compiled["brackets"]
    assert plain["heads"] == compiled["heads"]
    for name in ("lengths", "coarse", "items", "edges", "value", "arcs"):
        assert close(plain[name], compiled[name], rtol=1e-9, atol=1e-11)
