"""The command ``train``: its methods, and numbers of states."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from eigentree.constituency.learn.unseen_rules import UnseenRuleOptions
from eigentree.constituency.parser import ConstituencyParser
from eigentree.treebank.io.brackets import format_tree
from tests.demo import demo_trees, run_verb


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--method", "pcfg"), {"method": "pcfg"}),
        (("--states", "1"), {"method": "spectral"}),
        (("--binarise", "head", "--heads", "rightmost"), {}),
    ],
)
def test_methods_of_training(treebank, tmp_path, options, expected):
    model = tmp_path / "small.egt"
    assert run_verb("train", treebank, "-o", model, "-q", "--no-tagger", *options) == (0, "", "")
    parser = ConstituencyParser.load(model)
    assert parser.tagger is None
    assert expected.items() <= parser.description.items()
    direction = "head" if "--binarise" in options else "left"
    assert parser.description["treebank"]["binarise"]["direction"] == direction
    assert parser.parse(["the", "dog", "sees", "the", "cat"]).fallback is None


def test_markov_is_a_pcfg_with_more_context(treebank, tmp_path):
    model = tmp_path / "markov.egt"
    assert run_verb("train", treebank, "-o", model, "-q", "--method", "markov")[0] == 0
    parser = ConstituencyParser.load(model)
    assert parser.description["method"] == "pcfg"
    binarise = parser.description["treebank"]["binarise"]
    assert (binarise["vertical"], binarise["horizontal"]) == (2, 1)
    assert any(symbol.parents for symbol in parser.grammar.backbone.symbols.symbols)
    assert run_verb("train", treebank, "-o", model, "-q", "--method", "markov",
                    "--vertical", "3", "--horizontal", "0")[0] == 0  # fmt: skip
    binarise = ConstituencyParser.load(model).description["treebank"]["binarise"]
    assert (binarise["vertical"], binarise["horizontal"]) == (3, 0)


def test_tuning_on_held_out_trees(tmp_path):
    path, model = tmp_path / "some.mrg", tmp_path / "model.egt"
    path.write_text("".join(f"{format_tree(tree)}\n" for tree in demo_trees()[:60]), "utf-8")
    held_out = tmp_path / "held_out.mrg"
    held_out.write_text("".join(f"{format_tree(tree)}\n" for tree in demo_trees()[60:68]))
    code, _, err = run_verb(
        "train", path, "-o", model, "--dev", held_out, "--tune", "--states", "2", "--no-tagger"
    )
    assert code == 0
    names = ("shrinkage", "smoothing", "word_smoothing")
    options = " ".join(f"--{name.replace('_', '-')} (\\S+)" for name in names)
    chosen = re.search(f"^chosen: {options}$", err, re.MULTILINE)
    assert chosen is not None
    spectral = ConstituencyParser.load(model).description["spectral"]
    found = [float(number) for number in chosen.groups()]
    assert found == [spectral[name] for name in names]


@pytest.fixture
def parts(tmp_path) -> tuple[Path, Path]:
    """The first trees of the demonstration treebank, to learn from and held out."""
    paths = tmp_path / "part.mrg", tmp_path / "part-dev.mrg"
    for path, first, last in zip(paths, (0, 80), (80, 105), strict=True):
        path.write_text("".join(f"{format_tree(tree)}\n" for tree in demo_trees()[first:last]))
    return paths


@pytest.mark.slow
def test_states_are_optimised_and_can_be_requested_again(parts, tmp_path):
    trees, dev = parts
    model = tmp_path / "model.egt"
    options = ("--states", "3", "--optimise-states", "--beam", "2", "--jobs", "2", "--no-tagger")
    code, _, err = run_verb("train", trees, "-o", model, "--dev", dev, *options)
    assert code == 0
    told = re.search(r"^chosen: --states-of (\S+) \(F1 (\S+) to (\S+)\)$", err, re.MULTILINE)
    assert told is not None
    assert float(told[3]) > float(told[2])
    assert f"gold tags: F1 {told[3]} (EVALB" in err
    code, out, _ = run_verb("inspect", model, "--json")
    report = json.loads(out)
    search = report["trained"]["state_search"]
    assert search["settings"]["beam"] == 2
    assert {row["beside"] for row in search["record"]} == {0, 1}
    assert f"{100 * search['f1']:.2f}" == told[3]
    states = {row["nonterminal"]: row["states"] for row in report["nonterminals"]}
    for entry in told[1].split(","):
        name, number = entry.split("=")
        assert states[name] == int(number)
    code, out, _ = run_verb("inspect", model)
    assert f"F1 on held-out trees: {told[2]} before, {told[3]} after" in out
    assert re.search(r"^ NP +\d+  1?\d: \d\d\.\d\d  ", out, re.MULTILINE)
    again = tmp_path / "again.egt"
    options = ("--states", "3", "--states-of", told[1], "--no-tagger", "-q")
    assert run_verb("train", trees, "-o", again, *options) == (0, "", "")
    grammars = [ConstituencyParser.load(path).grammar for path in (model, again)]
    assert grammars[0].n_states.tolist() == grammars[1].n_states.tolist()
    assert grammars[0].parameters.dense.tolist() == grammars[1].parameters.dense.tolist()


def test_nothing_better_is_reported_too(tmp_path, treebank):
    options = ("--optimise-states", "--dev", treebank, "--no-tagger")
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "model.egt", *options)
    assert code == 0
    same = "chosen: the same states as without --optimise-states (F1 100.00 to 100.00)\n"
    assert same in err


def test_names_of_states_may_hold_what_parts_them(tmp_path):
    path, model = tmp_path / "in.mrg", tmp_path / "model.egt"
    path.write_text("(S (A=B a) (, ,) (C c) (= =) (D=2 d))\n" * 20 + "(S (A=B x) (C c) (D=2 z))\n")
    given = ("--states-of", "A=B=2,,=1, @S[,]=2 ==1", "--states-of", "D=2=3,")
    options = ("--horizontal", "1", "--cut-tags", "--function-separators", "-", "--no-tagger")
    code, _, err = run_verb("train", path, "-o", model, "-q", *given, *options)
    assert (code, err) == (0, "")
    assert ConstituencyParser.load(model).description["spectral"]["states_of"] == {
        "A=B": 2,
        ",": 1,
        "@S[,]": 2,
        "=": 1,
        "D=2": 3,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--optimise-states"], "--optimise-states requires held-out trees; name them with --dev"),
        (
            ["--optimise-states", "--method", "em", "--dev", "x"],
            "--optimise-states is for --method spectral, not for em",
        ),
        (["--beam", "2"], "--beam requires --optimise-states"),
        (
            ["--states-of", "NP=2,VP"],
            "--states-of must be names with numbers of states, as NP=32,VP=48 .got 'VP'",
        ),
        (["--states-of", "NP=0"], "states_of gives 'NP' 0; it must be at least 1"),
        (["--states-of", "NX=2"], "has the name 'NX', which is not a nonterminal"),
        (["--states-of", "NP=2", "--method", "pcfg"], "--states-of is for .*, not for pcfg"),
        (["--cut", "0.1", "--method", "em"], "--cut is for .*, not for em"),
        (["--kappa", "1", "--method", "em"], "--kappa is for .*, not for em"),
        (["--shrinkage", "1", "--method", "pcfg"], "--shrinkage is for .*, not for pcfg"),
        (
            ["--word-smoothing", "1", "--method", "spectral+em"],
            "--word-smoothing is for --method spectral and clustering, not for spectral.em\n",
        ),
        (["--states", "2", "--method", "pcfg"], "--states is for .*, not for pcfg"),
        (["--smoothing", "2", "--method", "markov"], "--smoothing is for .*, not for markov"),
        (["--unseen-rules", "--method", "pcfg"], "--unseen-rules is for .*, not for pcfg"),
        (["--cut", "1.5"], r"cut is 1.5; it must be at least 0 and below 1"),
        (["--rank", "2"], "--rank is for --method clustering, not for spectral"),
        (["--restarts", "2", "--method", "em"], "--restarts is for .*, not for em"),
        (["--assignment", "soft"], "--assignment is for --method clustering"),
        (["--noise", "dropout"], "--noise and --sigma require each other"),
        (["--sigma", "0.1"], "--noise and --sigma require each other"),
        (
            ["--noise", "dropout", "--sigma", "0.1", "--method", "em"],
            "--noise is for --method spectral and clustering, not for em",
        ),
        (["--noise", "additive", "--sigma", "inf"], "sigma is inf; it must be from 0 to"),
        (["--noise", "dropout", "--sigma", "1"], "sigma is 1.0; with dropout it must be"),
    ],
)
def test_states_that_can_t_be_had(tmp_path, treebank, options, message):
    code, _, err = run_verb("train", treebank, "-o", tmp_path / "model.egt", "-q", *options)
    assert code == 2
    assert err.count("\n") == 1
    assert re.search(message, err)


def test_a_cut_takes_states_and_inspect_shows_where(tmp_path, parts):
    model = tmp_path / "model.egt"
    options = ("--states", "12", "--cut", "0.3", "--no-tagger", "-q")
    assert run_verb("train", parts[0], "-o", model, *options)[0] == 0
    rows = json.loads(run_verb("inspect", model, "--json")[1])["nonterminals"]
    assert any(row["states"] < len(row["singular_values"]) <= 12 for row in rows)
    for row in rows:
        values, n = row["singular_values"], row["states"]
        assert values[n - 1] > 0.3 * values[0]
        assert all(value <= 0.3 * values[0] for value in values[n:])
    out = run_verb("inspect", model, "--limit", "1")[1]
    assert re.search(r"█[▁-█]*│[▁-█]+ ", out)
    out = run_verb("inspect", model, "--limit", "1", "--ascii")[1]
    assert re.search(r" #[-_.:=+*#]*\|[-_.:=+*#]+ ", out)
    assert out.isascii()


def test_clustering_with_all_its_options(tmp_path, parts):
    model = tmp_path / "model.egt"
    options = {"states": 5, "rank": 4, "restarts": 2, "assignment": "soft", "cut": 0.01}
    options |= {"shrinkage": 1.5, "smoothing": 3.0, "word-smoothing": 12.0}
    arguments = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    arguments += ["--method", "clustering", "--noise", "additive", "--sigma", "0.1"]
    assert run_verb("train", parts[0], "-o", model, *arguments, "--no-tagger", "-q")[0] == 0
    report = json.loads(run_verb("inspect", model, "--json")[1])
    assert report["signed"] is False
    settings = report["trained"]["clustering"]
    assert {name.replace("-", "_"): value for name, value in options.items()}.items() <= (
        settings.items()
    )
    assert report["trained"]["noise"] == {"scheme": "additive", "sigma": 0.1}
    sizes = report["sizes"]
    assert sizes["rules kept as counts"] == sizes["binary rules"] - sizes["rules never seen"]
    assert max(row["states"] for row in report["nonterminals"]) == 5
    shown = run_verb("inspect", model, "--limit", "1")[1]
    assert "\nnoise\n  scheme: additive\n" in shown
    assert "\nclustering\n" in shown


def write(folder: Path) -> Path:
    """A sentence of which no tree has only rules that were seen."""
    path = folder / "sentence.txt"
    path.write_text("the_DT cat_NN sees_VBZ dogs_NN\n")
    return path


@pytest.mark.parametrize("method", ["spectral", "em"])
def test_rules_never_seen_can_be_left_out(tmp_path, method):
    # VP -> VBZ NP and VP -> VBD NP+NN; what lacks is each verb with the other noun phrase.
    path = tmp_path / "in.mrg"
    path.write_text(
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))))\n"
        "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (NN dogs))))\n"
    )
    for option, n_new in (("--unseen-rules", 2), ("--no-unseen-rules", 0)):
        model = tmp_path / "model.egt"
        arguments = ("--method", method, "--states", "2", "--no-tagger", "-q")
        assert run_verb("train", path, "-o", model, *arguments, option) == (0, "", "")
        report = json.loads(run_verb("inspect", model, "--json")[1])
        sizes = report["sizes"]
        assert sizes["rules never seen"] == n_new
        assert (sizes["binary rules"], sizes["rules kept as samples"]) == (4 + n_new, 0)
        settings = asdict(UnseenRuleOptions()) if n_new else None
        assert report["trained"]["unseen"] == settings
        _, shown, _ = run_verb("inspect", model)
        assert ("\nunseen\n  chance: 50.0\n" in shown) is bool(n_new)
        _, out, err = run_verb("parse", "-m", model, "--input-format", "tagged", write(tmp_path))
        assert ("fall-back" in err) is not bool(n_new)
        if n_new:
            assert out == "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NN dogs))))\n"
