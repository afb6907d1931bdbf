"""Training: determinism, effects of settings, and unusual treebanks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from eigentree.constituency import preparation, training, tuning
from eigentree.constituency.estimators import em as em_estimator
from eigentree.constituency.learn.em import EMOptions
from eigentree.constituency.learn.noise import Noise
from eigentree.constituency.learn.spectral import SpectralOptions
from eigentree.constituency.learn.state_search import StateSearchOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions, TreebankOptions
from eigentree.constituency.tuning import tuned
from eigentree.errors import GrammarError, ModelFileError, SettingsError
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.linalg.threads import one_thread
from eigentree.treebank.binarise import BinariseOptions
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.demo import TREEBANK, demo_parser, demo_trees

# One seed, one model ----------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        ConstituencyParser.train(demo_trees()[:100], states=6, seed=7).save(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_the_seed_is_reported():
    trees = demo_trees()[:50]
    settings = TrainingOptions(tagger=False)
    parsers = [
        ConstituencyParser.train(trees, settings=settings, states=4, seed=seed) for seed in (1, 2)
    ]
    assert [parser.description["seed"] for parser in parsers] == [1, 2]


@pytest.mark.slow
def test_other_processes_and_threads_give_the_same_bytes(tmp_path):
    for threads in ("1", "2"):
        path = tmp_path / threads
        command = [sys.executable, "-c", "from eigentree.cli.app import main; main()"]
        arguments = ["train", TREEBANK, "--states", "4", "-o", path, "--quiet"]
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {
            **os.environ,
            **dict.fromkeys(names, threads),
            "PYTHONHASHSEED": threads,
        }
        subprocess.run([*command, *arguments], check=True, env=environment)
    demo_parser().save(tmp_path / "here")
    contents = {path.read_bytes() for path in tmp_path.iterdir()}
    assert len(contents) == 1


def test_linear_algebra_gets_one_thread_and_the_others_back():
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info()]

    before = threads()
    assert before
    with one_thread():
        assert set(threads()) == {1}
    assert threads() == before


def test_learning_runs_in_one_thread(monkeypatch):
    from threadpoolctl import threadpool_info

    from eigentree.constituency.learn import spectral

    seen: list[int] = []
    decompose, smooth = spectral.cross_moment_svd, spectral.smoothed_tensor

    def note() -> None:
        pools = threadpool_info()
        seen.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")

    def noting_decompose(*arguments, **named):
        note()
        return decompose(*arguments, **named)

    def noting_smooth(*arguments):
        note()
        return smooth(*arguments)

    monkeypatch.setattr(spectral, "cross_moment_svd", noting_decompose)
    monkeypatch.setattr(spectral, "smoothed_tensor", noting_smooth)
    ConstituencyParser.train(demo_trees()[:10], states=2, settings=TrainingOptions(tagger=False))
    assert set(seen) == {1}


@pytest.mark.slow
def test_clustering_runs_in_one_thread():
    """In a separate process, where scikit-learn is not loaded before it is needed."""
    script = """
import threadpoolctl
from eigentree import ConstituencyParser, TrainingOptions
from eigentree.constituency.learn import clustering
from tests.demo import demo_trees

own = clustering._standardised

def noting(columns):
    for pool in threadpoolctl.threadpool_info():
        print(pool["user_api"], pool["num_threads"])
    return own(columns)

clustering._standardised = noting
ConstituencyParser.train(
    demo_trees()[:30], states=2, settings=TrainingOptions(method="spectral+em", tagger=False)
)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "OMP_NUM_THREADS": "2"},
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == {"blas 1", "openmp 1"}


# Expectation maximisation -----------------------------------------------------------------


def f1_of(parser: ConstituencyParser, trees) -> float:
    parsed = [parser.parse(tree.words(), tree.tags()).tree for tree in trees]
    return score(trees, parsed, EVALB_COLLINS).all.f1


EM = TrainingOptions(method="em", tagger=False, em=EMOptions(states=3, iterations=5))


def test_the_best_iteration_on_held_out_trees_is_kept_and_told():
    trees = demo_trees()
    held_out = trees[80:95]
    parser = training.train(trees[:80], EM, dev=held_out)
    em = parser.description["em"]
    assert em["settings"] == asdict(EM.em)
    assert [row["iteration"] for row in em["record"]] == [1, 2, 3, 4, 5]
    judged = {row["iteration"]: row["f1"] for row in em["record"] if row["f1"] is not None}
    assert list(judged) == [1, 2, 4, 5]
    assert em["best"] == max(judged, key=lambda number: judged[number])
    assert f1_of(parser, held_out) == judged[em["best"]]
    assert parser.grammar.signed is False
    unjudged = training.train(trees[:80], EM).description["em"]
    assert unjudged["best"] == 5
    assert {row["f1"] for row in unjudged["record"]} == {None}


def test_times_are_reported_but_not_kept(tmp_path):
    trees = demo_trees()[:80]
    parsers = [training.train(trees, EM, jobs=jobs, seed=3) for jobs in (1, 2)]
    for number, parser in enumerate(parsers):
        assert parser.description["em"]["record"][0]["cpu_seconds"] > 0
        parser.save(tmp_path / str(number))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    record = ConstituencyParser.load(tmp_path / "0").description["em"]["record"]
    assert set(record[0]) == {"iteration", "log_likelihood", "f1"}


def test_a_killed_training_ends_with_the_same_bytes(tmp_path):
    trees = demo_trees()
    held_out = trees[80:90]

    def stop(stage: str, share: float) -> None:
        if stage == "expectation maximisation" and share >= 0.4:
            raise InterruptedError

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(InterruptedError, match=r"^$"):
        training.train(trees[:80], EM, dev=held_out, checkpoint=checkpoint, progress=stop)
    resumed = training.train(trees[:80], EM, dev=held_out, checkpoint=checkpoint)
    resumed.save(tmp_path / "resumed")
    training.train(trees[:80], EM, dev=held_out).save(tmp_path / "whole")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
    with pytest.raises(
        ModelFileError, match=r"a run with other held-out trees, .*; use another file"
    ):
        training.train(trees[:80], EM, dev=trees[:5], checkpoint=checkpoint)


def test_em_may_begin_with_clusters(monkeypatch):
    asked: list[int] = []

    def by_position(examples, projections, n_states, *, shrinkage, seed):
        assert shrinkage == SpectralOptions().shrinkage
        assert len(projections.inside) == len(n_states) == len(examples.symbols)
        asked.append(seed)
        return (np.arange(len(examples)) % n_states[examples.symbol]).astype(np.int32)

    monkeypatch.setattr(em_estimator, "cluster_states", by_position)
    settings = replace(EM, method="spectral+em")
    parser = training.train(demo_trees()[:80], settings, seed=4)
    assert asked == [4]
    assert parser.description["em"]["settings"]["start"] == "clusters"
    assert len(parser.description["singular_values"]) == len(parser.grammar.n_states)
    assert parser.parse(demo_trees()[0].words(), demo_trees()[0].tags()).tree is not None


@pytest.mark.slow
def test_em_from_clusters_of_spectral_projections(tmp_path):
    trees = demo_trees()[:80]
    settings = replace(EM, method="spectral+em")
    parser = training.train(trees, settings, dev=trees[:10], seed=2)
    parser.save(tmp_path / "first")
    training.train(trees, settings, dev=trees[:10], seed=2, jobs=2).save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert parser.grammar.signed is False
    assert parser.grammar.n_states.max() == 3
    # Clusters are a better initialisation than random numbers.
    chance = training.train(trees, EM, seed=2)
    first, of_chance = (each.description["em"]["record"][0] for each in (parser, chance))
    assert first["log_likelihood"] > of_chance["log_likelihood"]
    assert f1_of(parser, trees) > 0.95
    loaded = ConstituencyParser.load(tmp_path / "first")
    assert loaded.description["method"] == "spectral+em"
    assert loaded.parse(trees[0].words(), trees[0].tags()).tree == trees[0]


# Settings ---------------------------------------------------------------------------------


def test_shortcuts_change_the_settings():
    settings = TrainingOptions(tagger=False)
    parser = ConstituencyParser.train(demo_trees()[:40], settings=settings, states=3)
    assert parser.description["method"] == "spectral"
    assert parser.description["spectral"]["states"] == 3
    assert parser.grammar.n_states.max() == 3
    assert parser.tagger is None
    plain = ConstituencyParser.train(demo_trees()[:40], settings=settings, method="pcfg")
    assert plain.description["method"] == "pcfg"
    assert plain.grammar.n_states.max() == 1
    assert "spectral" not in plain.description
    iterated = ConstituencyParser.train(demo_trees()[:40], settings=settings, method="em", states=3)
    assert iterated.description["em"]["settings"]["states"] == 3
    markov = ConstituencyParser.train(demo_trees()[:40], settings=settings, method="markov")
    assert markov.description["method"] == "pcfg"
    binarise = markov.description["treebank"]["binarise"]
    assert (binarise["vertical"], binarise["horizontal"]) == (2, 1)
    with pytest.raises(SettingsError, match="method is 'bayes'; it must be one of spectral"):
        ConstituencyParser.train(demo_trees()[:40], method="bayes")
    assert iterated.grammar.n_states.max() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 0}, "states is 0; it must be at least 1"),
        ({"smoothing": -1.0}, "smoothing is -1.0; it must be at least 0"),
        ({"smoothing": float("nan")}, "smoothing is nan; it must be at least 0"),
        ({"shrinkage": float("inf")}, "shrinkage is inf; it must be at least 0"),
        ({"word_smoothing": 1.5}, "word_smoothing is 1.5; it must be between 0 and 1"),
        ({"word_smoothing": float("nan")}, "word_smoothing is nan"),
    ],
)
def test_settings_without_a_meaning(options, message):
    with pytest.raises(SettingsError, match=message):
        SpectralOptions(**options)


def test_an_unknown_method():
    with pytest.raises(SettingsError, match="method is 'neural'; it must be one of spectral, cl"):
        ConstituencyParser.train(demo_trees()[:5], method="neural")


def test_no_trees():
    with pytest.raises(GrammarError, match="there are no trees to learn from"):
        ConstituencyParser.train([])


@pytest.mark.parametrize(
    ("labels", "heads"), [("S NP VP", "english"), ("CS CNP CPP", "negra"), ("X Y Z", "rightmost")]
)
def test_heads_are_chosen_by_the_labels(labels, heads):
    s, np_, vp = labels.split()
    text = f"({s} ({np_} (A a) (B b)) ({vp} (C c) ({np_} (A a) (B b))))"
    parser = ConstituencyParser.train([parse_tree(text)] * 2, states=2)
    assert parser.description["treebank"]["heads"] == heads


def test_siblings_are_remembered_where_few_rules_are_likely_to_lack():
    few = demo_trees()[:10]
    lacking = preparation.prepare(few, TreebankOptions())
    assert lacking.options.binarise == BinariseOptions()
    # Every rule occurs twice, so the Good-Turing estimate of unseen rules is 0.
    complete = preparation.prepare([*few, *few], TreebankOptions())
    assert complete.options.binarise == BinariseOptions(horizontal=1)
    outward = preparation.prepare([*few, *few], TreebankOptions(direction="head"))
    assert outward.options.binarise == BinariseOptions("head", horizontal=1)
    own = TreebankOptions(binarise=BinariseOptions("head", 2, 3))
    assert preparation.prepare(few, own).options.binarise == own.binarise


def test_share_of_unseen_rules():
    # S -> A B once, S -> A C twice: one of three occurrences is the only one of its rule.
    trees = [parse_tree(text) for text in ("(S (A a) (B b))", *["(S (A a) (C c))"] * 2)]
    assert preparation.unseen_share(preparation.prepare(trees, TreebankOptions()).examples) == 1 / 3
    alone = preparation.prepare([parse_tree("(S (A a))")], TreebankOptions())
    assert preparation.unseen_share(alone.examples) == 0.0


def test_progress_goes_from_stage_to_stage():
    calls: list[tuple[str, float]] = []
    ConstituencyParser.train(
        demo_trees()[:40], states=2, progress=lambda stage, share: calls.append((stage, share))
    )
    assert list(dict.fromkeys(stage for stage, _ in calls)) == [
        "binary trees",
        "projections",
        "rules",
        "words",
        "tagger",
    ]
    for stage in ("projections", "rules"):
        shares = [share for name, share in calls if name == stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
    assert all(0.0 <= share <= 1.0 for _, share in calls)


# Tags -------------------------------------------------------------------------------------


def test_the_grammar_may_learn_from_a_tagger_s_tags(monkeypatch):
    trees = list(demo_trees()[:40])
    asked: list[object] = []

    def all_nouns(sentences, **_options):
        asked.extend(sentences)
        return [["NN"] * len(words) for words, _ in sentences]

    monkeypatch.setattr(training, "jackknife", all_nouns)
    parser = training.train(trees, TrainingOptions(method="pcfg", jackknife=True))
    assert asked == [(tree.words(), tree.tags()) for tree in trees]
    assert parser.grammar.backbone.symbols.tags == ("NN",)
    assert set(parser.tagger.tagset) == {tag for tree in trees for tag in tree.tags()}
    assert parser.description["jackknife"] is True
    assert parser.parse(trees[0].words()).tree is not None


# Tuning -----------------------------------------------------------------------------------


def test_tuning_reports_how_far_it_is_and_changes_nothing_else():
    trees = demo_trees()
    settings = TrainingOptions().with_shortcuts(None, 3)
    calls: list[tuple[str, float]] = []
    chosen = tuned(trees[:80], trees[80:100], settings, progress=lambda *call: calls.append(call))
    for name, values in tuning.TUNED.items():
        assert getattr(chosen.spectral, name) in values
    assert replace(chosen, spectral=settings.spectral) == settings
    shares = [share for stage, share in calls if stage == "tuning"]
    steps = sum(len(values) for values in tuning.TUNED.values())
    assert shares == [(step + 1) / steps for step in range(steps)]


def test_tuning_leaves_bad_constants_and_keeps_good_ones(monkeypatch):
    trees = [*demo_trees()[:60]]
    good = TrainingOptions().with_shortcuts(None, 8)
    # Word smoothing of 0 ignores the vectors of words, and a very large C the moments of rules.
    bad = replace(good, spectral=replace(good.spectral, smoothing=1e9, word_smoothing=0.0))
    monkeypatch.setattr(tuning, "TUNED", {"smoothing": (3.0,), "word_smoothing": (0.8,)})
    chosen = tuned(trees, trees, bad)
    assert (chosen.spectral.smoothing, chosen.spectral.word_smoothing) == (3.0, 0.8)
    monkeypatch.setattr(tuning, "TUNED", {"smoothing": (1e9,), "word_smoothing": (0.0,)})
    assert tuned(trees, trees, good) == good


def test_tuning_needs_trees():
    with pytest.raises(SettingsError, match="there are no held-out trees to tune on"):
        tuned(demo_trees()[:5], [], TrainingOptions())


# Any treebank -----------------------------------------------------------------------------


def learns_by_heart(texts: list[str], **settings) -> None:
    trees = [parse_tree(text) for text in texts]
    parser = ConstituencyParser.train(trees * 2, states=4, **settings)
    for tree in trees:
        result = parser.parse(tree.words(), tree.tags())
        assert result.tree == tree
        assert parser.parse(tree.words()).tree is not None


@pytest.mark.parametrize(
    "texts",
    [
        ["(NN dog)"],
        ["(S (NN dog))"],
        ["(S (NN dog))", "(S (VB run))", "(UH yes)"],
        ["(A (B (C (D (E e)))))"],
        ["(S (NP (D the) (N dog)) (VP (V ran)))"],
        ["(S (A a) (A a) (A a) (A a) (A a) (A a) (A a))"],
        # a label that is both tag and phrase
        ["(X (X a) (X (X b) (X c)))"],
        ["(NP (NP dog) (S (NP (NP a) (NN b))))"],
        # labels that look like marks of a transform
        ["(A|B (@A (A+B x) (A^C y)) (A|<B-C> (@ z) (^ w) (+ v)))"],
        ["(S+VP (@S (a|b x) (c y)) (S^ROOT (|| z)))"],
        # other scripts
        ["(文 (名詞句 (名詞 犬) (助詞 が)) (動詞 走る))"],
        ["(Ω (δ שלום) (é 😀) (и (ё д) (ю е)))"],
        ["(-LRB- (-LRB- -LRB-) (-NONE- 0))"],
        ["(ROOT (ROOT dog))", "(ROOT (ROOT a) (ROOT b))"],
    ],
)
def test_small_and_odd_treebanks(texts):
    learns_by_heart(texts)
    learns_by_heart(texts, method="pcfg")
    learns_by_heart(texts, method="em")


@pytest.mark.parametrize("direction", ["left", "right", "head"])
@pytest.mark.parametrize(("vertical", "horizontal"), [(1, 0), (2, 1), (3, 2)])
def test_every_way_to_binarise(direction, vertical, horizontal):
    texts = ["(S (A a) (NP (B b) (C c) (D d) (E e)) (F f))", "(S (NP (B b) (C c)) (F f) (F f))"]
    binarise = BinariseOptions(direction, vertical, horizontal)
    learns_by_heart(texts, settings=TrainingOptions(treebank=TreebankOptions(binarise=binarise)))


def test_deep_trees():
    tree = Tree("N", (), "x")
    for _ in range(3000):
        tree = Tree("A", [tree])
    parser = ConstituencyParser.train([tree, parse_tree("(S (N x) (N x))")], states=2)
    assert parser.parse(["x"], ["N"]).tree == tree
    tree = Tree("N", (), "x")
    for _ in range(300):
        tree = Tree("A", [Tree("N", (), "x"), tree])
    parser = ConstituencyParser.train([tree], states=2)
    assert parser.parse(["x"] * 301, ["N"] * 301).tree == tree


def test_numbers_of_a_trained_parser_are_finite():
    parameters = demo_parser().grammar.parameters
    assert all(np.isfinite(array).all() for array in parameters)


def test_what_the_model_reports_itself():
    description = demo_parser().description
    symbols = demo_parser().grammar.backbone.symbols
    assert description["trees"] == len(demo_trees())
    assert description["words"] == sum(len(tree.words()) for tree in demo_trees())
    assert len(description["symbol_counts"]) == len(symbols)
    assert len(description["singular_values"]) == len(symbols)
    for values, n in zip(
        description["singular_values"], demo_parser().grammar.n_states, strict=True
    ):
        assert values[n - 1] > 1e-3 * values[0]
        assert all(0.0 < value <= 1e-3 * values[0] for value in values[n:])


# Numbers of states ------------------------------------------------------------------------


SEARCH = TrainingOptions(
    tagger=False,
    spectral=SpectralOptions(states=3),
    state_search=StateSearchOptions(most=4, numbers=(1, 6, 12)),
)


@pytest.mark.slow
def test_states_are_searched_on_held_out_trees(tmp_path):
    trees = demo_trees()
    held_out = trees[80:110]
    plain = training.train(trees[:80], replace(SEARCH, state_search=None))
    parser = training.train(trees[:80], SEARCH, dev=held_out)
    search = parser.description["state_search"]
    assert search["settings"] == json.loads(json.dumps(asdict(SEARCH.state_search)))
    assert search["start_f1"] == f1_of(plain, held_out)
    # The grammar is rounded to single precision in the model file, which must not change parses.
    assert abs(search["f1"] - f1_of(parser, held_out)) < 1e-3
    assert search["f1"] > search["start_f1"]
    names = list(dict.fromkeys(row["nonterminal"] for row in search["record"]))
    counts = dict(
        zip(
            map(str, parser.grammar.backbone.symbols.symbols),
            parser.description["symbol_counts"],
            strict=True,
        )
    )
    assert names == sorted(counts, key=lambda name: -counts[name])[:4]
    assert search["f1"] == pytest.approx(max(row["f1"] for row in search["record"]), abs=0)
    # Any number of threads gives the same bytes, and the numbers by name the same grammar.
    parser.save(tmp_path / "one")
    training.train(trees[:80], SEARCH, dev=held_out, jobs=3).save(tmp_path / "three")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "three").read_bytes()
    states_of = parser.description["spectral"]["states_of"]
    assert states_of
    by_name = replace(SEARCH.spectral, states_of=states_of)
    again = training.train(trees[:80], replace(SEARCH, state_search=None, spectral=by_name))
    for one, other in zip(again.grammar.parameters, parser.grammar.parameters, strict=True):
        assert np.array_equal(one, other)
    assert ConstituencyParser.load(tmp_path / "one").description == parser.description


def test_the_start_stays_where_no_other_numbers_are_better():
    trees = demo_trees()
    settings = replace(SEARCH, state_search=StateSearchOptions(most=2, numbers=(3,)))
    parser = training.train(trees[:60], settings, dev=trees[60:70])
    plain = training.train(trees[:60], replace(SEARCH, state_search=None))
    assert parser.description["spectral"] == plain.description["spectral"]
    search = parser.description["state_search"]
    assert search["f1"] == search["start_f1"] == f1_of(plain, trees[60:70])
    for one, other in zip(plain.grammar.parameters, parser.grammar.parameters, strict=True):
        assert np.array_equal(one, other)


def test_a_search_needs_trees_and_spectra():
    with pytest.raises(SettingsError, match="state_search requires held-out trees; there are none"):
        training.train(demo_trees()[:10], SEARCH)
    with pytest.raises(SettingsError, match=r"requires the method spectral; .* spectral\+em"):
        replace(SEARCH, method="spectral+em")


@pytest.mark.parametrize("method", ["spectral", "em", "spectral+em"])
def test_every_method_with_states_takes_them_by_name(method):
    own = {"NP": 7, "VP": 1}
    settings = TrainingOptions(
        method=method,
        tagger=False,
        spectral=SpectralOptions(states=3, states_of=own),
        em=EMOptions(states=3, states_of=own, iterations=2),
    )
    grammar = training.train(demo_trees()[:80], settings).grammar
    names = [str(symbol) for symbol in grammar.backbone.symbols.symbols]
    assert grammar.n_states[names.index("NP")] == 7
    assert grammar.n_states[names.index("VP")] == 1
    assert sorted(grammar.n_states)[-2:] == [3, 7]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "em"}, "noise requires the method spectral or clustering; the method is em"),
        ({"state_search": StateSearchOptions()}, "noise and state_search are mutually exclusive"),
    ],
)
def test_noise_that_nothing_would_have(settings, message):
    with pytest.raises(SettingsError, match=message):
        TrainingOptions(noise=Noise("dropout", 0.1), **settings)


def test_shortcuts_reach_clustering():
    options = TrainingOptions().with_shortcuts("clustering", 7)
    assert (options.method, options.clustering.states) == ("clustering", 7)
