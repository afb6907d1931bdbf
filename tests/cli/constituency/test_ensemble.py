"""The commands of ensembles, and parse with an ensemble: outputs, messages and errors."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from eigentree._core.batching import batches
from eigentree.cli import _parsing
from eigentree.cli.constituency import ensemble
from eigentree.constituency.ensemble.config import DEFAULT, read_ensemble_config
from eigentree.constituency.ensemble.parser import EnsembleParser
from eigentree.constituency.parser import ConstituencyParser
from eigentree.evaluation.parseval import score
from eigentree.evaluation.settings import EVALB_COLLINS
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.reader import read_treebank
from tests.cli.constituency.samples import answers_one_by_one
from tests.demo import HELD_OUT, TREEBANK, blocks_of, demo_parser, demo_trees, run_verb

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
NET = """
title = "Small"
states = 3
jackknife = { folds = 2 }
[[family]]
name = "dropout"
method = "clustering"
noise = "dropout"
sigma = [0.1, 0.3]
copies = 2
clustering.restarts = 2
[[family]]
name = "spectral"
method = "spectral"
treebank.binarise.direction = "head"
[[combination]]
name = "vote"
how = "tree-coverage"
inputs = ["dropout", "spectral"]
[[combination]]
name = "parser"
how = "maxent"
inputs = ["vote", "dropout"]
reranker.least = 2
"""
SMALLEST = """
[[family]]
name = "one"
states = 2
clustering.restarts = 1
"""
MEMBERS = ["dropout-0.1-1", "dropout-0.1-2", "dropout-0.3-1", "dropout-0.3-2", "spectral-1"]


class Trained:
    """A trained ensemble, the messages of its training, and its inputs."""

    def __init__(self, folder: Path) -> None:
        self.description, self.trees = folder / "net.toml", folder / "trees.mrg"
        self.dev, self.folder = folder / "dev.mrg", folder / "net"
        self.description.write_text(NET)
        for path, source, number in ((self.trees, TREEBANK, 80), (self.dev, HELD_OUT, 15)):
            lines = source.read_text("utf-8").splitlines(keepends=True)
            path.write_text("".join(lines[:number]), "utf-8")
        self.message = self.train("--dev", self.dev)

    def train(self, *options: str | Path) -> str:
        arguments = (self.trees, "-o", self.folder, "--description", self.description)
        code, out, err = run_verb("ensemble", "train", *arguments, *options)
        assert (code, out) == (0, ""), err
        return err


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Trained:
    return Trained(tmp_path_factory.mktemp("trained"))


@pytest.fixture
def copy(trained, tmp_path) -> Path:
    """A copy of the ensemble, which tests may damage."""
    shutil.copytree(trained.folder, tmp_path / "copy")
    return tmp_path / "copy"


def refused(*arguments: str | Path) -> str:
    """The one-line message for arguments that are rejected."""
    code, out, err = run_verb(*arguments)
    assert (code, out) == (2, ""), err
    assert err.startswith("eigentree: ")
    assert err.count("\n") == 1
    return err


# train ------------------------------------------------------------------------------------


def scores_of(message: str, tags: str) -> dict[str, float]:
    table = re.search(rf"{tags} tags \(EVALB, all lengths\):\n((?:  .*\n)+)", message)
    assert table is not None, message
    rows = re.findall(r"^  (.*?) +F1 (\d+\.\d\d)$", table[1], re.MULTILINE)
    return {name: float(f1) for name, f1 in rows}


@pytest.mark.slow
def test_stages_and_a_summary_are_reported(trained):
    stages = re.findall(r"^([a-z ]+): \d+\.\d CPU s$", trained.message, re.MULTILINE)
    assert stages == ["members", "reranker parser", "tagger"]
    assert trained.message.startswith("80 trees\n")
    assert f"wrote {trained.folder}: 5 members, 2 combinations, " in trained.message
    assert f"{trained.folder / 'work'} (" in trained.message


@pytest.mark.slow
@pytest.mark.parametrize("tags", ["gold", "own"])
def test_held_out_trees_score_every_answer(trained, tags):
    scores = scores_of(trained.message, tags)
    names = list(scores)
    assert names[0] == "mean of 5 members"
    assert names[1].removeprefix("best member, ") in MEMBERS
    assert names[2:] == ["vote", "parser, the ensemble", "best trees of all members"]
    assert scores[names[0]] < scores[names[1]] < scores[names[-1]]
    # An independent computation: each model parses alone, and its trees are scored.
    gold = list(read_treebank(trained.dev, cleaning=None).trees)
    sentences = [
        (tree.words(), tree.tags() if tags == "gold" else None)
        for tree in read_treebank(trained.dev).trees
    ]
    parser = EnsembleParser.load(trained.folder)
    given = [(sentence, None if tags == "own" else own) for sentence, own in sentences]
    trees = [result.tree for result in parser.parse_many(given)]
    f1 = score(gold, trees, EVALB_COLLINS).all.f1
    assert f1 is not None
    assert scores["parser, the ensemble"] == round(100 * f1, 2)
    of_members = []
    for name in MEMBERS:
        path = trained.folder / "members" / f"{name}.egt"
        member = ConstituencyParser.load(path)
        alone = ConstituencyParser(member.grammar, parser.tagger, member.options)
        trees = [result.tree for result in alone.parse_many(given)]
        of_members.append(100 * (score(gold, trees, EVALB_COLLINS).all.f1 or 0.0))
    assert max(of_members) == pytest.approx(scores[names[1]], abs=0.006)
    assert sum(of_members) / 5 == pytest.approx(scores[names[0]], abs=0.006)


def test_what_is_done_is_not_done_again(trained):
    members = trained.folder / "members"
    before = {path: path.stat().st_mtime_ns for path in members.iterdir()}
    again = trained.train("--no-tagger")
    kept = (
        f"{trained.folder} has 5 of 5 members; those of the same trees, settings and seed are kept"
    )
    assert kept in again
    assert {path: path.stat().st_mtime_ns for path in members.iterdir()} == before
    assert EnsembleParser.load(trained.folder).tagger is None
    trained.train("--quiet")
    assert EnsembleParser.load(trained.folder).tagger is not None
    assert " has " not in trained.message


def test_an_interruption_reports_how_to_go_on(trained, tmp_path, monkeypatch):
    def stop(*_arguments, **_named):
        raise KeyboardInterrupt

    monkeypatch.setattr("eigentree.constituency.ensemble.training.train_ensemble", stop)
    folder = tmp_path / "net"
    code, _, err = run_verb("ensemble", "train", trained.trees, "-o", folder)
    assert code == 130
    assert f"interrupted; the same command resumes from {folder}\n" in err


def test_quiet_training_reports_nothing(trained, tmp_path):
    description = tmp_path / "net.toml"
    description.write_text(SMALLEST)
    arguments = (trained.trees, "-o", tmp_path / "net", "--description", description)
    dev = ("--dev", trained.dev)
    assert run_verb("ensemble", "train", *arguments, *dev, "-q") == (0, "", "")
    parser = EnsembleParser.load(tmp_path / "net")
    assert [each.name for each in parser.stacking.config.combination] == ["all"]


def test_long_sentences_are_left_out_of_scores(trained, tmp_path):
    description = tmp_path / "net.toml"
    description.write_text("parsing.max_words = 10\n" + SMALLEST)
    arguments = (trained.trees, "-o", tmp_path / "net", "--description", description)
    lengths = [len(tree.words()) for tree in read_treebank(trained.dev).trees]
    n_long = sum(length > 10 for length in lengths)
    assert 0 < n_long < len(lengths)
    code, _, err = run_verb("ensemble", "train", *arguments, "--dev", trained.dev, "--no-tagger")
    assert code == 0
    assert f"{trained.dev}: {n_long} sentences of more than 10 words skipped\n" in err
    assert "mean of 1 member " in err
    long = tmp_path / "long.mrg"
    long.write_text(max(trained.dev.read_text("utf-8").splitlines(), key=len))
    code, _, err = run_verb("ensemble", "train", *arguments, "--dev", long, "--no-tagger")
    assert code == 0
    assert "1 sentence of more than 10 words skipped\n" in err
    assert "EVALB" not in err


def test_options_clean_trees(tmp_path):
    trees, description, folder = (tmp_path / name for name in ("in.mrg", "net.toml", "net"))
    trees.write_text("(S (NP.x (D the) (N dog)) (VP (V runs) (T *0*)))\n" * 6)
    description.write_text(SMALLEST)
    options = ("--function-separators", ".", "--trace-words", "*0* *1*", "--cut-tags", "-q")
    arguments = (trees, "-o", folder, "--description", description)
    assert run_verb("ensemble", "train", *arguments, *options) == (0, "", "")
    parser = EnsembleParser.load(folder)
    assert parser.cleaning.function_separators == "."
    assert parser.cleaning.trace_words == ("*0*", "*1*")
    assert parser.cleaning.cut_tags
    code, out, _ = run_verb("parse", "-m", folder, "--input-format", "trees", trees)
    assert code == 0
    assert parse_tree(out.splitlines()[0]) == parse_tree("(S (NP (D the) (N dog)) (VP (V runs)))")


def test_families_must_clean_alike(trained, tmp_path):
    description = tmp_path / "net.toml"
    arguments = (trained.trees, "-o", tmp_path / "net", "--description", description)
    family = '[[family]]\nname = "{}"\ntreebank.cleaning.function_separators = "{}"\n'
    description.write_text(family.format("a", "-") + family.format("b", "="))
    assert "families have different treebank.cleaning" in refused("ensemble", "train", *arguments)
    description.write_text(family.format("a", "-"))
    message = refused("ensemble", "train", *arguments, "--function-separators", "=")
    assert "the families of the description set function_separators themselves" in message
    assert not (tmp_path / "net").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[family]]\nname = 'a'\ncopy = 2\n", "copy isn't a key of an ensemble"),
        ("title = 'none'\n", "family is missing; it is required in an ensemble"),
        ("[[family]]\nname = 'a'\nstates = 0\n", "states is 0; it must be"),
        ("family", "isn't TOML"),
    ],
)
def test_descriptions_that_can_t_be_used(trained, tmp_path, text, message):
    description = tmp_path / "net.toml"
    description.write_text(text)
    arguments = ("ensemble", "train", trained.trees, "-o", tmp_path / "net")
    err = refused(*arguments, "--description", description)
    assert message in err
    assert str(description) in err
    assert not (tmp_path / "net").exists()


def test_places_that_can_t_be_used(trained, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("dear")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "members").write_text("mine")
    for name, message in (
        ("file", "is a file; an ensemble requires a folder"),
        ("mine", "contains other files than those of an ensemble; name a new folder"),
        ("no/where", "can't be written; name a folder in a writable one"),
        ("taken", "members: is a file; an ensemble requires a folder"),
    ):
        assert message in refused("ensemble", "train", trained.trees, "-o", tmp_path / name)
    (tmp_path / "empty.mrg").write_text("")
    new = tmp_path / "new"
    assert "no trees to train on" in run_verb(
        "ensemble", "train", tmp_path / "empty.mrg", "-o", new
    )[2]  # fmt: skip
    assert "can't be read" in refused("ensemble", "train", tmp_path / "none.mrg", "-o", new)
    assert "can't be read" in refused(
        "ensemble", "train", trained.trees, "-o", new, "--description", tmp_path / "none.toml"
    )
    assert not new.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fly",), "no such command 'fly'; see eigentree ensemble --help"),
        (("train",), "missing argument 'FILES'; see eigentree ensemble train --help"),
        (("info", "--jsno"), "no such option --jsno; did you mean --json?"),
    ],
)
def test_words_that_mean_nothing(arguments, message):
    assert message in refused("ensemble", *arguments)


# info -------------------------------------------------------------------------------------


def test_info_as_json(trained):
    code, out, err = run_verb("ensemble", "info", trained.folder, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert (report["title"], report["wrapper"]) == ("Small", "")
    assert report["trained"]["trees"] == 80
    assert [member["name"] for member in report["members"]] == MEMBERS
    files = list(trained.folder.rglob("*.egt"))
    assert report["bytes"] + report["bytes_of_work"] == sum(path.stat().st_size for path in files)
    assert report["bytes_of_work"] > 0
    for member in report["members"]:
        path = trained.folder / "members" / f"{member['name']}.egt"
        parser = ConstituencyParser.load(path)
        assert member["bytes"] == path.stat().st_size
        assert member["parameters"] == parser.grammar.n_parameters
        assert member["states"] == parser.grammar.n_states.max() == 3
        assert member["method"] == parser.description["method"]
        noise = parser.description.get("noise", {"scheme": "none", "sigma": 0.0})
        assert (member["noise"], member["sigma"]) == (noise["scheme"], noise["sigma"])
    vote, last = report["combinations"]
    assert vote == {
        "name": "vote",
        "how": "tree-coverage",
        "inputs": ["dropout", "spectral"],
        "price": 0.5,
    }
    assert (last["how"], last["inputs"]) == ("maxent", ["vote", "dropout"])
    assert last["features"] > 50
    assert {"votes: vote", "expected gain: spectral", "least share"} <= last["weights"].keys()


def test_info_for_people(trained):
    code, out, err = run_verb("ensemble", "info", trained.folder)
    assert (code, err) == (0, "")
    assert "Small, 5 members, " in out
    assert "trained on 80 trees, " in out
    assert re.search(r"^tagger with \d+ tags$", out, re.MULTILINE)
    rows = re.findall(r"^(\w+) +(\w+) +(\w+) +([\d.]+) +(\d) +3 +[\d,]+ +\d\.\d\d", out, re.M)
    assert rows == [
        ("dropout", "clustering", "dropout", "0.1", "2"),
        ("dropout", "clustering", "dropout", "0.3", "2"),
        ("spectral", "spectral", "none", "0", "1"),
    ]
    outline = "parser: maxent of\n  vote: tree-coverage of\n    dropout\n    spectral\n  dropout\n"
    assert outline in out
    assert re.search(r"^  [\d,]+ features", out, re.MULTILINE)


def test_a_network_is_drawn_once_however_often_it_is_used():
    def entry(name, *inputs):
        return {"name": name, "how": "maxent", "inputs": list(inputs)}

    lines = ensemble._network(
        [entry("a", "x"), entry("idle", "a"), entry("b", "a", "y"), entry("c", "b", "a")]
    )
    assert "\n".join(lines) == (
        "c: maxent of\n  b: maxent of\n    a: maxent of\n      x\n    y\n  a, as above\n"
        "idle: maxent of\n  a, as above"
    )


# parse ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "sentences.txt"
    lines = [" ".join(tree.words()) for tree in demo_trees()[100:140]]
    lines[3:3] = ["", "????", "( Who left ? )"]
    path.write_text("".join(line + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def records(trained, texts) -> str:
    code, out, _ = run_verb("parse", "-m", trained.folder, texts, "--output-format", "json")
    assert code == 0
    return out


@pytest.mark.slow
def test_a_record_for_every_line(trained, texts, records):
    lines = texts.read_text("utf-8").split("\n")[:-1]
    found = [json.loads(line) for line in records.split("\n")[:-1]]
    assert [record["words"] for record in found] == [line.split() for line in lines]
    assert found[3]["fallback"] == "empty"
    parser = EnsembleParser.load(trained.folder)
    for record in found:
        assert (record["log_value"], record["sign"]) == (None, None)
        result = parser.parse(record["words"])
        if result.tree is not None:
            assert record["tree"] == f"( {format_tree(result.tree)})"
            assert record["tags"] == result.tags
    assert 0 < found[0]["confidence"] <= 1
    assert found[0]["brackets"][-1]["label"] == "S"


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--lean",), ("--jobs", "2"), ("--lean", "--jobs", "2")])
def test_every_way_of_asking_gives_the_same(trained, texts, records, options):
    arguments = ("parse", "-m", trained.folder, texts, "--output-format", "json", *options, "-q")
    assert run_verb(*arguments) == (0, records, "")


def test_brackets_and_drawings(trained, tmp_path):
    path = tmp_path / "input"
    path.write_text("the_DT dog_NN sees_VBZ it_PRP\nbad_XX_\n\n")
    code, out, err = run_verb("parse", "-m", trained.folder, "--input-format", "tagged", path)
    tree = parse_tree(out.split("\n")[0])
    assert tree.words() == ["the", "dog", "sees", "it"]
    assert out.count("\n") == 3
    assert f"{path}:3: fall-back: empty" in err
    path.write_text("the_DT dog_NN sees_VBZ it_PRP\n")
    arguments = ("--input-format", "tagged", "--output-format", "drawing", path)
    code, out, _ = run_verb("parse", "-m", trained.folder, *arguments)
    assert code == 0
    assert re.search(r"^confidence \d+ %", out, re.MULTILINE)


def test_long_sentences_are_parsed_in_pieces(trained, tmp_path):
    path = tmp_path / "input"
    path.write_text("the dog sees the cat and the dog sees the cat\n")
    options = ("--output-format", "json", "--max-words", "6")
    code, out, _ = run_verb("parse", "-m", trained.folder, path, *options)
    assert code == 0
    assert json.loads(out)["fallback"] == "split"
    assert "max_words is 1" in refused("parse", "-m", trained.folder, path, "--max-words", "1")


@pytest.mark.slow
def test_a_slow_pipe_is_not_waited_for(trained, texts):
    lines = texts.read_text("utf-8").split("\n")[:3]
    answers = answers_one_by_one(trained.folder, lines)
    assert [parse_tree(line).words() for line in answers] == [text.split() for text in lines]


def test_lots_are_as_large_as_can_be():
    assert list(batches(iter("abcde"), 2)) == [["a", "b"], ["c", "d"], ["e"]]
    more = iter([True, False, True, True, True])
    parts = batches(iter("abcde"), 3, lambda: next(more))
    assert list(parts) == [["a", "b"], ["c", "d", "e"]]
    assert list(batches(iter(""), 3)) == []


def test_input_that_reports_nothing_is_read_on(monkeypatch):
    for stream in (io.StringIO("a\n"), None):
        monkeypatch.setattr(sys, "stdin", stream)
        assert _parsing._more_to_read()


@pytest.mark.slow
def test_several_trees_of_an_ensemble(trained, texts):
    options = ("parse", "-q", "-m", trained.folder, texts)
    code, alone, _ = run_verb(*options)
    assert code == 0
    for jobs in ("1", "2"):
        code, out, _ = run_verb(*options, "--kbest", "3", "-j", jobs)
        assert code == 0
        trees = [[tree for _, tree in own] for own in blocks_of(out)]
        assert ["".join(own[:1]) for own in trees] == alone.split("\n")[:-1]
        assert all(len(set(own)) == len(own) <= 3 for own in trees)


def test_options_of_single_models_and_of_ensembles(trained, texts, tmp_path):
    arguments = ("parse", "-m", trained.folder, texts)
    for option, value in (("--objective", "spans"), ("--threshold", "0.01")):
        message = refused(*arguments, option, value)
        assert f"{option} requires a single model; the members of an ensemble parse as" in message
    message = refused(*arguments, "--kbest", "2", "--kbest-order", "value")
    assert "--kbest-order value requires a single model" in message
    model = tmp_path / "demo.egt"
    demo_parser().save(model)
    message = refused("parse", "-m", model, texts, "--lean")
    assert "--lean requires an ensemble" in message


def test_output_never_goes_over_a_part_of_the_ensemble(copy, texts):
    path = copy / "members" / "spectral-1.egt"
    before = path.read_bytes()
    assert "is an input file, so it can't be written" in refused(
        "parse", "-m", copy, texts, "-o", path
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize("options", [(), ("--lean",)])
@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("ensemble.egt", "it is not an ensemble, or its training is not finished"),
        ("members/dropout-0.3-2.egt", "dropout-0.3-2.egt: can't be read: No such file"),
        ("rerankers/parser.egt", "rerankers/parser.egt: can't be read: No such file"),
    ],
)
def test_ensembles_that_are_not_whole(copy, texts, part, message, options):
    (copy / part).unlink()
    assert message in refused("parse", "-m", copy, texts, *options)
    assert message in refused("ensemble", "info", copy)


def test_a_damaged_member_is_found(copy, texts):
    path = copy / "members" / "dropout-0.1-1.egt"
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    for options in ((), ("--lean",)):
        message = refused("parse", "-m", copy, texts, *options)
        assert f"{path}: is damaged: its content doesn't match its digest" in message


def test_a_foreign_member_is_found(copy, texts):
    members = copy / "members"
    shutil.copy(members / "dropout-0.1-1.egt", members / "dropout-0.3-1.egt")
    message = f"{members / 'dropout-0.3-1.egt'}: is not a member of this ensemble"
    assert message in refused("parse", "-m", copy, texts)
    assert message in refused("ensemble", "info", copy)


def test_members_of_an_earlier_description_do_not_count(copy):
    before = run_verb("ensemble", "info", copy)
    shutil.copy(copy / "members" / "spectral-1.egt", copy / "members" / "another-1.egt")
    shutil.copy(copy / "rerankers" / "parser.egt", copy / "rerankers" / "another.egt")
    assert run_verb("ensemble", "info", copy) == before


def test_work_may_be_deleted(copy, texts, records):
    shutil.rmtree(copy / "work")
    assert run_verb("parse", "-m", copy, texts, "--output-format", "json", "-q") == (0, records, "")
    assert run_verb("ensemble", "info", copy)[0] == 0


def test_inspect_describes_ensembles_as_info_does(trained):
    for options in ((), ("--json",)):
        described = run_verb("inspect", trained.folder, *options)
        assert described == run_verb("ensemble", "info", trained.folder, *options)
        assert described[0] == 0
    assert run_verb("inspect", trained.folder, "--measure")[0] == 2


# descriptions -----------------------------------------------------------------------------


def test_the_example_of_an_ensemble_is_the_default():
    given, default = (read_ensemble_config(path) for path in (EXAMPLES / "ensemble.toml", DEFAULT))
    assert given == default
    assert default.needed_by("parser") == {family.name for family in default.family}
    directions = [member.options.treebank.direction for member in default.members()]
    assert set(directions) == {"left", "head", "right"}


def test_the_example_of_a_hierarchy_is_the_paper_s():
    described = read_ensemble_config(EXAMPLES / "hierarchy.toml")
    members = described.members()
    assert len(members) == 240
    assert {member.options.method for member in members} == {"clustering"}
    assert {member.options.clustering.states for member in members} == {24}
    noises = [family.noise for family in described.family]
    assert noises == ["dropout", "additive", "multiplicative"]
    for family in described.family:
        assert (family.sigma, family.copies) == ([0.05, 0.1, 0.15, 0.2], 20)
    *rerankers, last = described.combination
    assert [each.how for each in rerankers] == ["maxent"] * 4
    assert [each.inputs for each in rerankers] == [*([noise] for noise in noises), noises]
    assert last.how == "tree-coverage"
    assert last.inputs == [each.name for each in rerankers]
