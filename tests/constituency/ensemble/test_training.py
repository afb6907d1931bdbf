"""Training of ensembles: determinism, resumption, and rerankers trained on held-out folds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from eigentree.constituency.ensemble import training as training
from eigentree.constituency.ensemble.config import EnsembleConfig, make_config
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.ensemble.stacking import Stacking
from eigentree.constituency.ensemble.training import train_ensemble
from eigentree.constituency.grammar.pcfg import equal_backbones
from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import EigentreeError, SettingsError
from eigentree.model_file import open_model
from eigentree.treebank.tree import Tree, fold
from tests.constituency.ensemble.samples import (
    ADDITIVE,
    COARSE,
    DROPOUT,
    RERANKER,
    contents,
    described,
    sampled_trees,
)

SMALL: dict[str, Any] = {
    "family": [{**ADDITIVE, "copies": 1, "states": 2}],
    "combination": [
        {"name": "one", "how": "maxent", "inputs": ["additive"], "reranker": RERANKER},
        {"name": "two", "how": "maxent", "inputs": ["one", "additive"], "reranker": RERANKER},
    ],
    "jackknife": {"folds": 3},
}
TREES = sampled_trees(16)[:45]


def small(**changes: Any) -> EnsembleConfig:
    return make_config({**SMALL, **changes})


def train_small(
    folder: Path, trees: Sequence[Tree] = TREES, description: EnsembleConfig | None = None, **named
) -> EnsembleParser:
    return train_ensemble(trees, description or small(), folder, tagger=False, **named)


# Only the reranker has the same file name as in SMALL.
OTHER = small(family=[DROPOUT], combination=[{**SMALL["combination"][0], "inputs": ["dropout"]}])


@pytest.fixture(scope="module")
def small_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    train_small(folder)
    return folder


@pytest.fixture
def learned(monkeypatch) -> list[str]:
    """A list to which each further training adds "member" or "reranker"."""
    record: list[str] = []
    for name, what in (("learn_grammar", "member"), ("train_reranker", "reranker")):
        monkeypatch.setattr(training, name, noting(getattr(training, name), record, what))
    return record


def noting(function: Callable[..., Any], record: list[str], what: str) -> Callable[..., Any]:
    def noted(*arguments: Any, **named: Any) -> Any:
        record.append(what)
        return function(*arguments, **named)

    return noted


# One seed, one ensemble -------------------------------------------------------------------


@pytest.mark.slow
def test_more_processes_write_the_same_bytes(tmp_path, ensemble_folder):
    train_ensemble(sampled_trees()[:60], described(), tmp_path / "two", wrapper="", seed=1, jobs=2)
    assert contents(tmp_path / "two") == contents(ensemble_folder)


@pytest.mark.slow
def test_members_tell_how_often_symbols_were_seen(small_folder):
    member = ConstituencyParser.load(small_folder / "members/additive-1-1.egt")
    symbols = member.grammar.backbone.symbols.symbols
    pairs = zip(symbols, member.description["symbol_counts"], strict=True)
    n_tags = sum(number for symbol, number in pairs if symbol.kind == "preterminal")
    assert n_tags == sum(len(tree.words()) for tree in TREES)


def test_what_a_folder_holds(ensemble_folder):
    names = set(contents(ensemble_folder))
    members = {f"members/{each.name}.egt" for each in described().members()}
    predictions = {
        f"work/fold-{number}/{family.name}-1.egt"
        for number in (1, 2)
        for family in described().family
    }
    rerankers = {"rerankers/first.egt", "rerankers/second.egt"}
    assert names == {"ensemble.egt", *members, *predictions, *rerankers}


@pytest.mark.slow
def test_work_that_is_done_is_not_done_again(tmp_path, small_folder, learned):
    folder = copytree(small_folder, tmp_path / "copy")
    calls: list[tuple[str, float]] = []
    train_small(folder, progress=lambda stage, share: calls.append((stage, share)), jobs=2)
    assert learned == []
    assert contents(folder) == contents(small_folder)
    assert {stage for stage, _ in calls} == {"members", "tagger"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["ensemble.egt"], []),
        (["members/additive-1-1.egt"], ["member"]),
        (["work/fold-2/additive-1.egt"], ["member"] * 2),
        # If the first member is stored, only its copies for folds are trained.
        (["rerankers/two.egt"], ["reranker"] * 4),
        (["rerankers/one.egt"], ["reranker"]),
        (["rerankers/one.egt", "rerankers/two.egt"], ["reranker"] * 5),
        (
            ["members/additive-0.5-1.egt", "work/fold-1/additive-1.egt", "rerankers/two.egt"],
            ["member"] * 3 + ["reranker"] * 4,
        ),
    ],
)
@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_what_is_missing_or_damaged_is_done_again(
    tmp_path, small_folder, learned, names, expected, how
):
    folder = copytree(small_folder, tmp_path / "copy")
    for name in names:
        path = folder / name
        if how == "gone":
            path.unlink()
        else:
            content = bytearray(path.read_bytes())
            content[-40] ^= 1  # among the numbers
            path.write_bytes(content)
    train_small(folder)
    assert learned == expected
    assert contents(folder) == contents(small_folder)


@pytest.mark.slow
@pytest.mark.parametrize("when", [3, 11])
def test_work_that_was_stopped_goes_on(tmp_path, small_folder, when):
    calls = 0

    def stop(_stage: str, _share: float) -> None:
        nonlocal calls
        calls += 1
        if calls > when:
            raise InterruptedError

    folder = tmp_path / "stopped"
    with pytest.raises(InterruptedError, match=r"^$"):
        train_small(folder, progress=stop)
    assert not (folder / "ensemble.egt").exists()
    train_small(folder)
    assert contents(folder) == contents(small_folder)


OTHERS: dict[str, dict[str, Any]] = {
    "seed": {"seed": 5},
    "trees": {"trees": [*TREES[1:], TREES[0]]},
    "states": {"description": small(family=[{**SMALL["family"][0], "states": 3}])},
    "asked": {"description": small(jackknife={"folds": 3, "trees": 30})},
    "reranker": {
        "description": small(
            combination=[
                {**SMALL["combination"][0], "reranker": {"least": 2}},
                SMALL["combination"][1],
            ]
        )
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS)
def test_work_for_another_ensemble_is_no_use(tmp_path, small_folder, other):
    folder = copytree(small_folder, tmp_path / "used")
    train_small(folder, **OTHERS[other])
    train_small(tmp_path / "new", **OTHERS[other])
    used, new = contents(folder), contents(tmp_path / "new")
    assert new.items() <= used.items()
    assert used["ensemble.egt"] != (small_folder / "ensemble.egt").read_bytes()
    if other != "reranker":
        assert (
            used["work/fold-1/additive-1.egt"]
            != contents(small_folder)["work/fold-1/additive-1.egt"]
        )
    assert used["rerankers/two.egt"] != contents(small_folder)["rerankers/two.egt"]


@pytest.mark.slow
def test_rerankers_by_other_heads_are_others(tmp_path):
    """The heads are those of the first family, even if it is not an input of a reranker."""
    names = ["english", "leftmost"]
    for heads in names:
        first = {"name": "first", "states": 2, "treebank": {"heads": heads}}
        others = small(family=[first, *SMALL["family"]], combination=SMALL["combination"][:1])
        train_small(tmp_path / "used", description=others)
        train_small(tmp_path / heads, description=others)
    used, (old, new) = contents(tmp_path / "used"), [contents(tmp_path / each) for each in names]
    assert used["rerankers/one.egt"] == new["rerankers/one.egt"] != old["rerankers/one.egt"]


CHAIN = [
    *SMALL["combination"],
    {"name": "three", "how": "maxent", "inputs": ["two", "additive"], "reranker": RERANKER},
]


@pytest.mark.slow
def test_a_reranker_far_down_a_chain_is_trained_again(tmp_path):
    train_small(tmp_path, description=small(combination=CHAIN))
    expected = contents(tmp_path)
    (tmp_path / "rerankers/three.egt").unlink()
    train_small(tmp_path, description=small(combination=CHAIN))
    assert contents(tmp_path) == expected


@pytest.mark.slow
def test_combinations_that_only_combinations_need(tmp_path):
    covers = [
        {"name": "trees", "how": "tree-coverage", "inputs": ["additive"]},
        {"name": "more", "how": "tree-coverage", "inputs": ["trees", "additive"]},
    ]
    reranker = {**SMALL["combination"][0], "inputs": ["more", "additive"]}
    parser = train_small(tmp_path, description=small(combination=[*covers, reranker]))
    assert parser.parse(TREES[0].words(), TREES[0].tags()).tree is not None


def test_an_edited_head_table_is_another_one(tmp_path, learned):
    table = tmp_path / "mine.heads"
    description = small(combination=[], treebank={"heads": str(table)})
    for lines, expected in (("* leftmost\n", 2), ("* rightmost\n", 2), ("* rightmost\n", 0)):
        table.write_text(lines)
        learned.clear()
        train_small(tmp_path / "ensemble", description=description)
        assert len(learned) == expected


def test_an_ensemble_that_is_trained_anew_is_none_until_the_end(tmp_path, small_folder):
    folder = copytree(small_folder, tmp_path / "copy")

    def stop(stage: str, share: float) -> None:
        if stage == "members" and share > 0:
            raise InterruptedError

    with pytest.raises(InterruptedError, match=r"^$"):
        train_small(folder, seed=2, progress=stop)
    with pytest.raises(EigentreeError, match="its training is not finished"):
        EnsembleParser.load(folder)


def stop_at_tagger(stage: str, _share: float) -> None:
    if stage == "tagger":
        raise InterruptedError


@pytest.mark.slow
def test_an_ensemble_stays_until_something_of_it_is_overwritten(tmp_path, small_folder):
    folder = copytree(small_folder, tmp_path / "copy")
    sentence = TREES[0].words(), TREES[0].tags()
    expected = EnsembleParser.load(folder).parse(*sentence)
    table = tmp_path / "mine.heads"
    table.write_text("* nowhere\n")
    failing: list[dict[str, Any]] = [
        {"trees": []},
        {"trees": TREES[:5]},
        {"description": small(treebank={"heads": str(table)})},
        {"trees": [TREES[1]] * 10, "description": OTHER},
    ]
    for named in failing:
        with pytest.raises(EigentreeError):
            train_small(folder, **named)
        assert EnsembleParser.load(folder).parse(*sentence) == expected
    # Parts of another ensemble do not interfere, wherever training is interrupted.
    with pytest.raises(InterruptedError):
        train_small(
            folder, description=small(family=[COARSE], combination=[]), progress=stop_at_tagger
        )
    assert EnsembleParser.load(folder).parse(*sentence) == expected
    reranker = {**SMALL["combination"][0], "reranker": {"least": 2}}
    with pytest.raises(InterruptedError):
        train_small(folder, description=small(combination=[reranker]), progress=stop_at_tagger)
    with pytest.raises(EigentreeError, match="its training is not finished"):
        EnsembleParser.load(folder)


@pytest.mark.slow
def test_what_is_left_of_an_earlier_ensemble_goes_at_the_end(tmp_path, small_folder):
    folder = copytree(small_folder, tmp_path / "copy")
    for name in ("notes.txt", "members/notes.txt", "rerankers/one.txt"):
        (folder / name).write_text("mine")
    for name in (".ensemble.egt.00aa.part", "work/fold-1/.x.egt.00aa.part"):
        (folder / name).write_text("killed")
    old = {name: each for name, each in contents(folder).items() if not name.endswith(".part")}
    with pytest.raises(InterruptedError):
        train_small(folder, description=OTHER, progress=stop_at_tagger)
    assert old.keys() <= contents(folder).keys() | {"ensemble.egt"}
    train_small(folder, description=OTHER)
    parts = {name for name in contents(folder) if not name.startswith("work/")}
    assert not [name for name in contents(folder) if name.endswith(".part")]
    assert parts == {
        "ensemble.egt",
        *(f"members/dropout-0.3-{number}.egt" for number in (1, 2, 3)),
        "rerankers/one.egt",
        "notes.txt",
        "members/notes.txt",
        "rerankers/one.txt",
    }


@pytest.mark.slow
def test_progress_reaches_the_end_of_each_stage(tmp_path):
    calls: list[tuple[str, float]] = []
    train_small(tmp_path, progress=lambda stage, share: calls.append((stage, share)))
    stages = list(dict.fromkeys(stage for stage, _ in calls))
    assert stages == ["members", "reranker one", "reranker two", "tagger"]
    for stage in stages[:3]:
        shares = [share for other, share in calls if other == stage]
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [share for stage, share in calls if stage == "members"][1:-1] != []


# Nobody judges himself --------------------------------------------------------------------


def with_own_words(trees: Sequence[Tree]) -> list[Tree]:
    """The same trees with words renamed so that no two trees share a word."""

    def renamed(number: int) -> Callable[[Tree, list[Tree]], Tree]:
        def rebuild(node: Tree, children: list[Tree]) -> Tree:
            word = node.word and f"{node.word}{number}"
            return Tree(node.label, children, word)

        return rebuild

    return [fold(tree, renamed(number)) for number, tree in enumerate(trees)]


@pytest.mark.slow
def test_members_parse_each_tree_once_and_are_not_trained_on_it(tmp_path, monkeypatch):
    trees = with_own_words(TREES)
    seen: list[set[str]] = []
    parsed: list[str] = []
    prepare, predictor = training.prepare, training.Predictor

    def recording_prepare(given, options):
        seen.append({word for tree in given for word in tree.words()})
        return prepare(given, options)

    def recording_predictor(sentences, plain):
        words = [word for sentence in sentences for word in sentence.words]
        assert sentences
        assert seen[-1].isdisjoint(words)
        parsed.extend(words)
        return predictor(sentences, plain)

    monkeypatch.setattr(training, "prepare", recording_prepare)
    monkeypatch.setattr(training, "Predictor", recording_predictor)
    train_small(tmp_path, trees)
    assert sorted(parsed) == sorted(word for tree in trees for word in tree.words())
    # All trees to choose the treebank options and for the members; all but a fold for rerankers.
    every = {word for tree in trees for word in tree.words()}
    assert [words == every for words in seen].count(True) == 2
    assert len(seen) == 5


@pytest.mark.slow
def test_no_reranker_learns_from_outputs_of_one_trained_on_the_sentence(tmp_path, monkeypatch):
    trees = with_own_words(TREES)
    first_word = {tree.words()[0]: tree for tree in trees}
    train_reranker, output = training.train_reranker, Stacking.output
    learned_from: list[tuple[Any, set[str]]] = []
    reranked: list[str] = []

    def recording_train(sentences, gold, names, *arguments, **named):
        reranker = train_reranker(sentences, gold, names, *arguments, **named)
        for each, tree in zip(sentences, gold, strict=True):
            assert {tuple(candidate.words()) for candidate in each.trees} <= {tuple(tree.words())}
        learned_from.append((reranker, {tree.words()[0] for tree in gold}))
        return reranker

    def recording_output(self, combination, queries, *arguments):
        used = self.rerankers[combination.name]
        (known,) = [words for reranker, words in learned_from if reranker is used]
        assert len(known) == 30
        for query in queries:
            assert query.words[0] not in known
            reranked.append(query.words[0])
        return output(self, combination, queries, *arguments)

    monkeypatch.setattr(training, "train_reranker", recording_train)
    monkeypatch.setattr(Stacking, "output", recording_output)
    train_small(tmp_path, trees)
    assert sorted(reranked) == sorted(first_word)
    # The stored rerankers, first and last, are trained on all trees.
    assert [len(known) for _, known in learned_from] == [45, 30, 30, 30, 45]


@pytest.mark.slow
def test_maximum_number_of_trees_that_members_parse(tmp_path):
    description = small(
        family=[*SMALL["family"], {**COARSE, "copies": 1}], jackknife={"folds": 3, "trees": 30}
    )
    train_small(tmp_path, description=description)
    asked = {
        family: [
            len(open_model(tmp_path / f"work/fold-{fold}/{family}-1.egt").arrays["trees"])
            for fold in (1, 2, 3)
        ]
        for family in ("additive", "coarse")
    }
    assert sum(asked["additive"]) == 30
    assert asked["additive"] == asked["coarse"]


@pytest.mark.slow
def test_sentences_that_are_cut_are_not_asked_about(tmp_path):
    longest = sorted(len(tree.words()) for tree in TREES)[-10]
    description = small(parsing={"max_words": longest})
    train_small(tmp_path, description=description)
    n_asked = sum(
        len(open_model(tmp_path / f"work/fold-{fold}/additive-1.egt").arrays["trees"])
        for fold in (1, 2, 3)
    )
    assert n_asked == sum(len(tree.words()) <= longest for tree in TREES) < len(TREES)


@pytest.mark.slow
def test_folds_without_training_data_of_rerankers(tmp_path):
    description = small(jackknife={"folds": 10, "trees": 12}, combination=SMALL["combination"][:1])
    train_small(tmp_path, description=description)
    sizes = [
        len(open_model(tmp_path / f"work/fold-{fold}/additive-1.egt").arrays["trees"])
        for fold in range(1, 11)
    ]
    assert 0 in sizes
    assert sum(sizes) == 12


@pytest.mark.slow
def test_groups_of_many_members_are_joined(tmp_path, monkeypatch, small_folder):
    monkeypatch.setattr(training, "GROUP", 1)
    train_small(tmp_path)
    one, two = contents(tmp_path), contents(small_folder)
    assert {name for name in one if name.startswith("work")} == {
        f"work/fold-{fold}/additive-{number}.egt" for fold in (1, 2, 3) for number in (1, 2)
    }
    kept = [name for name in two if not name.startswith("work")]
    assert all(one[name] == two[name] for name in kept)


# What is learned --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_trees", "message"),
    [
        (5, "5 trees for 3 folds: rerankers need at least two trees per fold"),
        (1, "1 tree for 3 folds: "),
    ],
)
def test_too_few_trees(tmp_path, n_trees, message):
    with pytest.raises(SettingsError, match=message):
        train_small(tmp_path / "few", TREES[:n_trees])
    assert not (tmp_path / "few").exists()


def test_no_trees(tmp_path):
    with pytest.raises(EigentreeError, match="no trees"):
        train_small(tmp_path, [], small(combination=[]))


def test_trees_without_choice_teach_no_reranker(tmp_path):
    message = "^combination 'one': no sentence has two different candidates; a reranker"
    with pytest.raises(SettingsError, match=message):
        train_small(tmp_path, [TREES[1]] * 10)


def grammars(folder: Path) -> dict[str, Any]:
    return {
        path.stem: ConstituencyParser.load(path).grammar for path in (folder / "members").iterdir()
    }


def test_families_of_several_backbones(ensemble_folder):
    found = grammars(ensemble_folder)
    same = equal_backbones(found["additive-1-1"].backbone, found["dropout-0.3-2"].backbone)
    assert same
    assert not equal_backbones(found["additive-1-1"].backbone, found["coarse-1"].backbone)
    entries = open_model(ensemble_folder / "ensemble.egt").header["members"]
    assert [each["backbone"] for each in entries] == [0] * 7 + [1] * 2


@pytest.mark.slow
def test_members_without_latent_states_among_others(tmp_path):
    """The plain grammar is estimated from the treebank, without unseen rules."""
    description = small(
        family=[*SMALL["family"], {"name": "plain", "method": "pcfg"}],
        combination=[
            {"name": "both", "how": "maxent", "inputs": ["plain", "additive"], "reranker": RERANKER}
        ],
        unseen={"least": 1e-9},
    )
    ensemble = train_small(tmp_path, description=description)
    found = grammars(tmp_path)
    assert found["plain-1"].backbone.n_rules < found["additive-0.5-1"].backbone.n_rules
    ((predictions, _),) = ensemble.every_output([(TREES[0].words(), TREES[0].tags())])
    assert predictions["plain"].members == 1
    assert predictions["plain"].trees == [
        ConstituencyParser.load(tmp_path / "members/plain-1.egt")
        .parse(TREES[0].words(), TREES[0].tags())
        .tree
    ]


def test_copies_without_noise_differ_by_their_seeds(ensemble_folder):
    found = grammars(ensemble_folder)
    one, two = found["coarse-1"].parameters, found["coarse-2"].parameters
    assert any(not np.array_equal(getattr(one, name), getattr(two, name)) for name in one._fields)


def test_members_are_those_that_would_be_trained_alone(ensemble_folder):
    from eigentree.constituency.training import train

    for member in (described().members()[0], described().members()[5]):
        alone = train(sampled_trees()[:60], member.options, seed=member.seed(1)).grammar.parameters
        among = grammars(ensemble_folder)[member.name].parameters
        for name in alone._fields:
            assert np.array_equal(getattr(alone, name), getattr(among, name)), (member.name, name)


def test_what_an_ensemble_says_about_itself(ensemble_folder):
    header = open_model(ensemble_folder / "ensemble.egt").header
    trees = sampled_trees()[:60]
    assert header["about"]["seed"] == 1
    assert header["about"]["trees"] == 60
    assert header["about"]["words"] == sum(len(tree.words()) for tree in trees)
    assert make_config(header["description"]) == described()
    member = open_model(ensemble_folder / "members/dropout-0.3-2.egt").header["description"]
    assert member["noise"] == {"scheme": "dropout", "sigma": 0.3}
    assert member["member"] == "dropout-0.3-2"
    assert json.dumps(header)


def test_trees_that_are_all_too_long_for_members(tmp_path):
    with pytest.raises(SettingsError, match=r"^all trees have more words than parsing\.max_words"):
        train_small(
            tmp_path / "long",
            [tree for tree in TREES if len(tree.words()) > 2],
            small(parsing={"max_words": 2}),
        )
    assert not (tmp_path / "long").exists()
