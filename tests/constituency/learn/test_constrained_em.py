"""Retraining on partial trees against lists of all trees, counting, and its own laws."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eigentree.constituency.chart.arrays import Leaves
from eigentree.constituency.chart.pruning import prune
from eigentree.constituency.grammar.lexical_candidates import under_tags
from eigentree.constituency.learn import em
from eigentree.constituency.learn.constrained_em import (
    ConstrainedEMOptions,
    ForestFinder,
    Start,
    brackets_of,
    expect,
    learn_constrained_em,
)
from eigentree.constituency.learn.counting import count_pcfg
from eigentree.constituency.learn.em_arrays import Values
from eigentree.constituency.learn.em_layout import lay_out
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.preparation import prepare
from eigentree.constituency.retraining import retrain
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.errors import EigentreeError, GrammarError, SettingsError
from eigentree.simulation import attachment_grammar, sample_trees
from eigentree.treebank.binarise import BinariseOptions, BinaryTree, unbinarise
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.lexicon import LexiconOptions
from eigentree.treebank.tree import Tree, fold
from tests.demo import HELD_OUT, TREEBANK, demo_parser, demo_trees, run_verb
from tests.helpers import close
from tests.oracles.enumeration import Leaf, Node, Numbers, all_trees
from tests.strategies import grammars

# No derivation of their grammar has a phrase that could be missing here.
TEXTS = (
    "(S (NP (D the) (N fox)) (VP (V saw) (NP (D a) (N hen))))",
    "(S (NP (N hens)) (VP (V saw) (NP (D the) (N fox))))",
    "(S (NP (D the) (N fox)) (VP (V ran)))",
    "(S (NP (D the) (N fox) (N den)) (VP (V ran)))",
    "(S (NP (D a) (N den)) (VP (V ran)))",
)
KNOW_ALL = TrainingOptions(
    treebank=TreebankOptions(binarise=BinariseOptions(), lexicon=LexiconOptions(rare_threshold=0)),
    tagger=False,
    unseen=None,
)
# Next to nothing of the initial model.
LITTLE = 1e-9


def thinned(tree: Tree, share: float, rng: random.Random, blank: float = 0.0) -> Tree:
    """A tree without a share of its phrases, the root apart, and some of the others unlabelled."""

    def build(node: Tree, below: list[list[Tree]]) -> list[Tree]:
        if node.word is not None:
            return [node]
        children = [child for part in below for child in part]
        if node is not tree and rng.random() < share:
            return children
        return [Tree("" if rng.random() < blank else node.label, children)]

    return fold(tree, build)[0]


def trained(texts=TEXTS, **settings) -> ConstituencyParser:
    return ConstituencyParser.train(
        [parse_tree(text) for text in texts], settings=KNOW_ALL, **settings
    )


# Against lists of all trees ---------------------------------------------------------------


def as_tree(top: Node, grammar, words: list[str]) -> Tree:
    """The tree that people draw for a skeletal tree."""
    symbols = grammar.backbone.symbols
    nodes = list(top.nodes())[::-1]
    leaves = sorted((node for node in nodes if node.leaf), key=lambda node: node.start)
    order = leaves + [node for node in nodes if not node.leaf]
    place = {id(node): number for number, node in enumerate(order)}
    return unbinarise(
        BinaryTree(
            [symbols[node.symbol] for node in order],
            [-1 if node.left is None else place[id(node.left)] for node in order],
            [-1 if node.right is None else place[id(node.right)] for node in order],
            None,
            words,
        )
    )


def compatible(partial: Tree, tree: Tree) -> bool:
    """Whether all phrases of a partial tree, but for a root without a label, are in a tree."""
    spans = partial.spans()
    if partial.label == "":
        del spans[-1]
    own = set(tree.spans())
    anywhere = {(start, end) for _, start, end in own}
    return all(span in own or (span[0] == "" and span[1:] in anywhere) for span in spans)


def by_hand(grammar, trees: list[Node]) -> tuple[float, Counter]:
    """Log-value of some trees together, and the expected uses of all that has a probability."""
    numbers = Numbers(grammar)
    counts: Counter = Counter()
    total = 0.0
    for tree in trees:
        nodes = list(tree.nodes())
        place = {id(node): at for at, node in enumerate(nodes)}
        for states in product(*(range(int(grammar.n_states[node.symbol])) for node in nodes)):
            uses = [("root", tree.symbol, states[0])]
            value = float(numbers.root(tree.symbol)[states[0]])
            for at, node in enumerate(nodes):
                if node.leaf:
                    value *= float(numbers.leaf(node.leaf)[states[at]])
                    uses.append(("word", node.leaf.entry, states[at]))
                else:
                    below = states[place[id(node.left)]], states[place[id(node.right)]]
                    value *= float(numbers.tensors[node.rule][states[at], below[0], below[1]])
                    uses.append(("rule", node.rule, states[at], *below))
            total += value
            for use in uses:
                counts[use] += value
    return float(np.log(total)), Counter({use: value / total for use, value in counts.items()})


@st.composite
def partial_sentences(draw):
    """A grammar of positive numbers, a tree that is partial to one of its own, and that one."""
    grammar = draw(grammars(signed=False, max_states=2, counts=0.3, n_more=5))
    # Only whole phrases stand at the root of a parser's grammar.
    is_part = grammar.backbone.symbols.of_kind("intermediate")
    root = np.where(is_part, 0.0, grammar.backbone.root)
    assume(root.any())
    grammar = replace(grammar, backbone=replace(grammar.backbone, root=root))
    table = grammar.backbone.words
    n_words = draw(st.integers(1, 4))
    entries = draw(
        st.lists(st.integers(0, len(table.lexicon) - 2), min_size=n_words, max_size=n_words)
    )
    n_tags = len(grammar.backbone.symbols.tags)
    tags = draw(st.lists(st.integers(0, n_tags - 1), min_size=n_words, max_size=n_words))
    words = [table.lexicon.entries[entry] for entry in entries]
    leaves = [
        [
            Leaf(int(a), float(p), int(entry))
            for a, p, entry in zip(*table.candidates(word, tag), strict=True)
        ]
        for word, tag in zip(entries, tags, strict=True)
    ]
    trees = all_trees(grammar.backbone, leaves)
    assume(trees)
    rng = random.Random(draw(st.integers(0, 10_000)))
    chosen = as_tree(rng.choice(trees), grammar, words)
    return grammar, thinned(chosen, draw(st.sampled_from([0.0, 0.5, 1.0])), rng, 0.3)


@given(partial_sentences())
def test_expectations_are_sums_over_all_compatible_trees(case):
    grammar, partial = case
    forest = ForestFinder(grammar, 0.0, ("",))(partial)
    assert not isinstance(forest, str)
    start = Start.of(grammar, [partial], [forest], 1.0)
    dense = start.grammar(start.values)
    with ThreadPoolExecutor(1) as threads:
        log_value, counts = expect(dense, [start.renumbered(partial, forest)], threads)

    words, symbols = partial.words(), dense.backbone.symbols
    ids = dense.backbone.lexicon.ids(words)
    pairs = list(zip(start.words.word.tolist(), start.words.symbol.tolist(), strict=True))
    leaves = [
        [
            Leaf(symbol, 1.0, entry)
            for entry, (word, symbol) in enumerate(pairs)
            if word == own and symbols[symbol].label == tag
        ]
        for own, tag in zip(ids, partial.tags(), strict=True)
    ]
    trees = [
        tree
        for tree in all_trees(dense.backbone, leaves)
        if compatible(partial, as_tree(tree, dense, words))
    ]
    expected_log, expected = by_hand(dense, trees)
    assert close(log_value, expected_log, rtol=1e-10, atol=1e-12)
    found: Counter = Counter()
    for rule in range(dense.backbone.n_rules):
        numbers, shape = start.layout.of_rule(rule)
        for states, value in np.ndenumerate(counts.rules[numbers].reshape(shape)):
            found["rule", rule, *states] = value
    for entry, (first, last) in enumerate(pairwise(start.layout.word_start.tolist())):
        for state in range(last - first):
            found["word", entry, state] = counts.words[first + state]
    for symbol in range(len(symbols)):
        for state, value in enumerate(counts.roots[dense.states(symbol)]):
            found["root", symbol, state] = value
    for use in found.keys() | expected.keys():
        assert close(found[use], expected[use], rtol=1e-9, atol=1e-13), use


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (A a) (B b))", ["required S over 0-2"]),
        ("( (A a) (X (B b)))", ["required X over 1-2"]),
        (
            "( (S (VP (A a) ( (B b) (C c)))))",
            ["required span over 1-3", "required VP over 0-3", "required S over 0-3"],
        ),
        ("(UH yes)", []),
    ],
)
def test_brackets_are_demands(text, expected):
    assert [str(each) for each in brackets_of(parse_tree(text), ("",)).each] == expected


# Complete trees ---------------------------------------------------------------------------


def test_complete_trees_give_relative_frequencies():
    initial = trained(method="pcfg")
    trees = [parse_tree(text) for text in TEXTS for _ in range(1 + TEXTS.index(text))]
    found = retrain(initial, trees, ConstrainedEMOptions(iterations=2, weight=LITTLE))
    assert found.skipped == {}
    counted = count_pcfg(prepare(trees, KNOW_ALL.treebank).examples)
    own = found.parser.grammar.backbone
    assert [str(s) for s in own.symbols.symbols] == [str(s) for s in counted.symbols.symbols]
    for name in ("parent", "left", "right"):
        assert np.array_equal(getattr(own, name), getattr(counted, name))
    assert close(own.probability, counted.probability, rtol=1e-7)
    assert close(own.root, counted.root, rtol=1e-7)
    share = own.words.count / own.words.symbol_count[own.words.symbol]
    expected = counted.words.count / counted.words.symbol_count[counted.words.symbol]
    seen = own.words.count > 1e-3
    assert close(share[seen], expected, rtol=1e-7)


def test_the_initial_model_counts_as_its_trees():
    initial = trained(method="pcfg")
    found = retrain(
        initial, [parse_tree(text) for text in TEXTS], ConstrainedEMOptions(iterations=1)
    )
    before, after = initial.grammar.backbone, found.parser.grammar.backbone
    assert close(after.probability, before.probability, rtol=1e-7)  # rules are rounded
    assert close(after.words.count[after.words.count > 0.5], 2 * before.words.count, rtol=1e-7)
    assert close(after.root, before.root, rtol=1e-9)


@pytest.mark.slow
def test_complete_trees_are_counted_as_expectation_maximisation_does():
    settings = TrainingOptions(
        method="em", treebank=KNOW_ALL.treebank, unseen=None, tagger=False
    ).with_shortcuts(None, 2)
    trees = [parse_tree(text) for text in TEXTS * 4]
    grammar = ConstituencyParser.train(trees, settings=settings, seed=3).grammar
    finder = ForestFinder(grammar, 0.0, ("",))
    forests = [finder(tree) for tree in trees]
    start = Start.of(grammar, trees, forests, 1.0)
    numbered = [start.renumbered(*pair) for pair in zip(trees, forests, strict=True)]
    examples = prepare(trees, settings.treebank).examples
    skeletons, layout = lay_out(examples, count_pcfg(examples), grammar.n_states)
    assert np.array_equal(layout.rule_symbols, start.layout.rule_symbols)
    pairs = list(zip(start.words.word.tolist(), start.words.symbol.tolist(), strict=True))
    kept = [pairs.index(pair) for pair in map(tuple, examples.pairs.tolist())]
    words = np.concatenate([np.arange(*start.layout.word_start[pair : pair + 2]) for pair in kept])
    with ThreadPoolExecutor(1) as threads:
        found = expect(start.grammar(start.values), numbered, threads)
        values = start.values._replace(words=start.values.words[words])
        expected = em.TreeExpectation(skeletons, layout, threads).step(values)
    assert close(found[0], expected[0], rtol=1e-12)
    counts = found[1]._replace(words=found[1].words[words])
    for name in Values._fields:
        assert close(getattr(counts, name), getattr(expected[1], name), rtol=1e-9, atol=1e-12)


# Laws -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pcfg", "em", "clustering"])
@pytest.mark.parametrize("weight", [1e-3, 1.0])
def test_the_objective_never_falls(method, weight):
    trees = demo_trees()
    initial = ConstituencyParser.train(trees[:250], method=method, states=3)
    rng = random.Random(1)
    partial = [thinned(tree, 0.6, rng, 0.1) for tree in trees[250:350]]
    options = ConstrainedEMOptions(iterations=6, weight=weight)
    found = learn_constrained_em(initial.grammar, partial, options)
    objective = [row.objective for row in found.trace.record]
    assert len(objective) == 6
    assert all(b >= a - 1e-9 * abs(a) for a, b in pairwise(objective))
    assert objective[-1] > objective[0] + 1.0
    assert len(found.skipped) < len(partial) / 2
    p = found.trace.model.parameters
    assert np.isfinite(p.dense).all()
    assert np.all(p.dense >= 0)


def test_each_state_has_choices_of_1_in_sum():
    trees = demo_trees()
    initial = ConstituencyParser.train(trees[:60], method="em", states=2)
    grammar = learn_constrained_em(
        initial.grammar, trees[60:120], ConstrainedEMOptions(iterations=2)
    ).trace.model
    total = np.zeros(len(grammar.parameters.root))
    for rule, symbol in enumerate(grammar.backbone.parent.tolist()):
        total[grammar.states(symbol)] += grammar.tensor(rule).sum(axis=(1, 2))
    inner = grammar.backbone.symbols.tag < 0
    states = np.concatenate([total[grammar.states(a)] for a in np.flatnonzero(inner).tolist()])
    assert close(states, np.ones(len(states)), rtol=1e-5)
    # No rule and no word of the initial model is lost.
    before = initial.grammar.backbone
    assert grammar.backbone.n_rules == before.n_rules
    assert np.all(grammar.backbone.probability > 0)
    pairs = set(zip(before.words.word.tolist(), before.words.symbol.tolist(), strict=True))
    words = grammar.backbone.words
    assert pairs <= set(zip(words.word.tolist(), words.symbol.tolist(), strict=True))


def test_any_number_of_threads_gives_the_same_model(monkeypatch):
    monkeypatch.setattr("eigentree.constituency.learn.constrained_em.BATCH", 7)
    initial = ConstituencyParser.train(demo_trees()[:60], method="em", states=2)
    partial = [thinned(tree, 0.5, random.Random(2)) for tree in demo_trees()[60:100]]
    one, three = (
        learn_constrained_em(
            initial.grammar, partial, ConstrainedEMOptions(iterations=2), jobs=jobs
        ).trace.model
        for jobs in (1, 3)
    )
    for own, other in zip(one.parameters, three.parameters, strict=True):
        assert np.array_equal(own, other)


def test_the_best_judged_iteration_is_kept():
    initial = ConstituencyParser.train(demo_trees()[:60], method="pcfg")
    answers = iter([0.1, 0.3, 0.2])
    judged = []

    def judge(grammar) -> float:
        judged.append(grammar)
        return next(answers)

    found = learn_constrained_em(
        initial.grammar, demo_trees()[60:80], ConstrainedEMOptions(iterations=3), scorer=judge
    )
    assert found.trace.best_number == 2
    assert found.trace.model is judged[1]
    assert [row.score for row in found.trace.record] == [0.1, 0.3, 0.2]


def log_likelihood(parser: ConstituencyParser, trees: list[Tree]) -> float:
    backbone, total = parser.grammar.backbone, 0.0
    for tree in trees:
        tags = backbone.tag_numbers(tree.tags())
        leaves = Leaves.of(under_tags(backbone, tree.words(), tags, free=False))
        pruned = prune(backbone, leaves, 0.0)
        assert pruned is not None
        total += pruned.log_value
    return total


def test_partial_trees_improve_a_model_of_a_known_grammar():
    trees = [unbinarise(tree) for tree in sample_trees(attachment_grammar(), 700, seed=5)]
    held_out = trees[500:]
    initial = ConstituencyParser.train(trees[:20], settings=KNOW_ALL, method="pcfg")
    rng = random.Random(0)
    partial = [thinned(tree, 0.6, rng) for tree in trees[20:100]]
    found = retrain(initial, partial, ConstrainedEMOptions())
    assert found.skipped == {}
    gain = log_likelihood(found.parser, held_out) - log_likelihood(initial, held_out)
    assert gain > 0.05 * len(held_out)
    # More brackets help more, and all of them most.
    supervised = ConstituencyParser.train(trees[:100], settings=KNOW_ALL, method="pcfg")
    assert log_likelihood(supervised, held_out) > log_likelihood(initial, held_out) + gain / 2


# What can't be used -----------------------------------------------------------------------

UNFIT = {
    1: "(S (QP (D the) (N fox)) (VP (V ran)))",
    2: "(S (D the) (XP (N fox) (V ran)))",
    4: "(S (NP (D the) (NEW fox)) (VP (V ran)))",
    5: "(S (V ran) (V ran) (V ran))",
}


def test_trees_without_a_derivation_are_left_out_and_reported():
    initial = trained(method="pcfg")
    texts = [UNFIT.get(number, TEXTS[2]) for number in range(6)]
    found = learn_constrained_em(initial.grammar, [parse_tree(text) for text in texts])
    assert sorted(found.skipped) == sorted(UNFIT)
    assert "NEW" in found.skipped[4]
    assert found.skipped[5] == "the model has no derivation of the sentence"
    assert "none with all its brackets" in found.skipped[1]
    alone = learn_constrained_em(initial.grammar, [parse_tree(TEXTS[2])] * 2)
    assert found.trace.record[-1].objective == alone.trace.record[-1].objective
    with pytest.raises(GrammarError, match="none of 1 tree"):
        learn_constrained_em(initial.grammar, [parse_tree(UNFIT[1])])


def test_only_grammars_of_probabilities_are_retrained():
    with pytest.raises(SettingsError, match="spectral and its values are signed"):
        demo_parser().retrained(demo_trees())
    with pytest.raises(GrammarError, match="signed"):
        learn_constrained_em(demo_parser().grammar, demo_trees())
    with pytest.raises(SettingsError, match="no trees"):
        trained(method="pcfg").retrained([])


@pytest.mark.parametrize(
    "wrong", [{"iterations": 0}, {"weight": 0.0}, {"threshold": 1.0}, {"smoothing": -1.0}]
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(EigentreeError, match=next(iter(wrong))):
        ConstrainedEMOptions(**wrong)


# The verb ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_verb_reports_what_it_leaves_out_and_writes_a_model(tmp_path):
    model, better, partial = (tmp_path / name for name in ("a.egt", "b.egt", "partial.mrg"))
    assert run_verb("train", TREEBANK, "-o", model, "--method", "pcfg", "-q")[0] == 0
    rng = random.Random(3)
    trees = [thinned(tree, 0.5, rng) for tree in demo_trees()[:30]]
    lines = [format_tree(tree) for tree in trees]
    lines.insert(10, "(S (XX (NNP Tom)) (VP (VBD slept)) (. .))")
    partial.write_text("\n".join(lines) + "\n", "utf-8")
    command = ("retrain", partial, "-m", model, "-o", better, "--dev", HELD_OUT)
    code, out, err = run_verb(*command, "--iterations", "3")
    assert (code, out) == (0, "")
    assert f"skipped: {partial}:11: " in err
    assert "1 tree of 31 skipped" in err
    assert "kept" in err
    assert "F1" in err
    first = better.read_bytes()
    found = ConstituencyParser.load(better)
    assert found.description["retraining"]["unfit"] == 1
    assert len(found.description["retraining"]["record"]) == 3
    code, out, _ = run_verb("inspect", better)
    assert code == 0
    assert "retraining" in out
    # Chance and the number of threads have no part in it.
    assert run_verb(*command, "--iterations", "3", "-j", "2", "-q")[0] == 0
    assert better.read_bytes() == first


def test_the_verb_refuses_signed_models(tmp_path):
    model = tmp_path / "signed.egt"
    demo_parser().save(model)
    code, _, err = run_verb("retrain", TREEBANK, "-m", model, "-o", tmp_path / "new.egt")
    assert code == 2
    assert f"{model}: the model's method is spectral" in err
    assert not (tmp_path / "new.egt").exists()
