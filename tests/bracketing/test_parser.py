"""The bracketing parser, its model file, and the verbs induce train and induce parse."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentree import format_tree, parse_tree, sentence_input
from eigentree.bracketing.learn.ccm import ConstituentContextOptions, learn_constituent_context
from eigentree.bracketing.learn.ccm_from_metric import METRIC_DEFAULTS, learn_ccm_from_metric
from eigentree.bracketing.models import ContextModel, ContextPairModel, MetricModel
from eigentree.bracketing.options import BracketingOptions, BracketingTrainingOptions
from eigentree.bracketing.parser import BracketingParser
from eigentree.bracketing.result import BracketingResult
from eigentree.bracketing.tree_metric import TreeMetric
from eigentree.errors import GrammarError, ModelFileError, SettingsError
from eigentree.evaluation.unlabelled import gold_bracketing, score_unlabelled
from eigentree.model_file import open_model, save_model
from eigentree.treebank.io.unlabelled import bracketing_of
from eigentree.treebank.universal_tags import read_tag_map, tag_map
from eigentree.words.brown import BrownOptions, learn_brown
from eigentree.words.vectors import parse_vectors
from tests.demo import TREEBANK, demo_trees, run_verb


@cache
def parser() -> BracketingParser:
    """Distances of its own for each pair of tags, so that ties are rare."""
    rng = np.random.default_rng(8)
    tags = ("ADJ", "DET", "NOUN", "VERB")
    metric = TreeMetric(tags, tag_map("penn"), rng.normal(size=(5, 5, 6)))
    return BracketingParser(MetricModel(metric))


@cache
def context_parser() -> BracketingParser:
    return BracketingParser.train(demo_text(), method="constituent-context")


def demo_text() -> list[tuple[list[str], list[str]]]:
    return [(tree.words(), tree.tags()) for tree in demo_trees()]


@cache
def learned() -> BracketingParser:
    words = ([word.lower() for word in own] for own, _ in demo_text())
    vectors = learn_brown(words, BrownOptions(20)).vectors()
    return BracketingParser.train(demo_text(), method="metric", vectors=vectors)


@cache
def taught_parser() -> BracketingParser:
    words = ([word.lower() for word in own] for own, _ in demo_text())
    vectors = learn_brown(words, BrownOptions(20)).vectors()
    return BracketingParser.train(demo_text(), vectors=vectors)


def parse(sentence: str, **given: int) -> BracketingResult:
    pairs = [token.rsplit("_", 1) for token in sentence.split()]
    return parser().parse([word for word, _ in pairs], [tag for _, tag in pairs], **given)


@pytest.mark.parametrize(
    ("sentence", "top", "tree"),
    [
        ("the_DT man_NN", 1, "(X (DT the) (NN man))"),
        ("``_`` the_DT ,_, man_NN ._.", 1, "(X (`` ``) (DT the) (, ,) (NN man) (. .))"),
        # The comma stands between the phrase and the verb, the quote within the phrase.
        (
            "the_DT ``_`` man_NN ,_, slept_VBD ._.",
            2,
            "(X (X (DT the) (`` ``) (NN man)) (, ,) (VBD slept) (. .))",
        ),
        # Marks at the end of a phrase stand outside it.
        ("a_DT b_NN c_NN ''_''", 2, "(X (X (DT a) (NN b)) (NN c) ('' ''))"),
        ("man_NN", 0, "(X (NN man))"),
        ("man_NN ._.", 0, "(X (NN man) (. .))"),
        (",_, ._.", 0, "(X (, ,) (. .))"),
    ],
)
def test_punctuation_stands_where_it_is_documented(sentence, top, tree):
    result = parse(sentence, top=top)
    assert format_tree(result.tree) == tree
    assert result.top == top
    assert result.fallback is None


TAGS = ("DT", "NN", "VBD", "JJ", "FOO", ",", "``")


@pytest.mark.parametrize("made", [parser, context_parser, taught_parser])
@given(tags=st.lists(st.sampled_from(TAGS), min_size=1, max_size=14))
def test_trees_have_the_words_and_are_binary_without_punctuation(made, tags):
    words = [f"w{at}" for at in range(len(tags))]
    result = made().parse(words, tags)
    tree = result.tree
    assert tree is not None
    assert (tree.words(), tree.tags()) == (words, tags)
    kept = [tag not in (",", "``") for tag in tags]
    place = np.concatenate([[0], np.cumsum(kept)]).tolist()
    spans = [(place[start], place[end]) for _, start, end in tree.spans()]
    wide = [span for span in spans if span[1] - span[0] > 1]
    assert len(set(wide)) == len(wide) == max(0, sum(kept) - 1)
    # No phrase but the whole begins or ends with a mark.
    for _, start, end in tree.spans()[:-1]:
        assert kept[start]
        assert kept[end - 1]


def test_nothing_gives_nothing():
    result = parser().parse([], [])
    assert (result.tree, result.fallback) == (None, "empty")


def test_long_sentences_are_parsed_in_pieces(monkeypatch):
    short = BracketingParser(parser().model, BracketingOptions(max_words=8))
    tags = ["DT", "NN", "VBD", "DT", "NN", ","] * 5
    result = short.parse(["w"] * 30, tags)
    assert result.fallback == "split"
    assert result.tree is not None
    assert result.tree.tags() == tags
    assert max(len(child.words()) for child in result.tree.children) <= 8
    # Parts of 120 words would take longer than one sentence of 120.
    long = parser().parse(["w"] * 300, ["NN"] * 300)
    assert long.fallback == "split"
    assert long.tree is not None
    assert [len(child.words()) for child in long.tree.children] == [75] * 4
    monkeypatch.setattr(sentence_input, "MAX_PARSED", 25)
    flat = parser().parse(["w"] * 30, tags)
    assert flat.fallback == "flat"
    assert [child.label for child in flat.tree.children] == tags


@pytest.mark.parametrize("made", [parser, context_parser, taught_parser])
def test_the_root_is_where_the_options_put_it(made):
    words, tags = ["the", "old", "man", "slept"], ["DT", "JJ", "NN", "VBD"]
    for top in (1, 2, 3):
        result = made().parse(words, tags, top=top)
        assert result.top == top
        assert result.tree is not None
        left = [span for span in result.tree.spans(preterminals=True) if span.start == 0]
        assert (0, top) in [(span.start, span.end) for span in left]
    free = made().parse(words, tags, top=0)
    scores = [made().parse(words, tags, top=top).score for top in (1, 2, 3)]
    assert free.score == pytest.approx(max(scores))
    with pytest.raises(SettingsError, match="at position 4; it must be 1 to 3"):
        made().parse(words, tags, top=4)


def test_what_is_no_sentence_is_refused():
    with pytest.raises(SettingsError, match="2 words but 1 tag"):
        parser().parse(["a", "b"], ["NN"])
    with pytest.raises(SettingsError, match="tags are given for a text"):
        parser().parse("a", ["NN"])
    for words in ("a", ["a"]):
        with pytest.raises(SettingsError, match="needs one tag for each word"):
            parser().parse(words)
    with pytest.raises(SettingsError, match="top is 'nouns'"):
        BracketingOptions(top="nouns")
    with pytest.raises(SettingsError, match="max_words is 1"):
        BracketingOptions(max_words=1)
    with pytest.raises(SettingsError, match="label is"):
        BracketingOptions(label="")


def test_training_describes_what_it_learned():
    found = learned()
    assert isinstance(found.model, MetricModel)
    assert found.model.tag_map.name == "penn"
    assert "NOUN" in found.model.metric.tags
    assert "." not in found.model.metric.tags
    about = found.description
    is_mark = found.model.tag_map.is_punctuation
    assert about["words"] == sum(not is_mark(tag) for _, tags in demo_text() for tag in tags)
    assert 0.0 < about["quartet_excess"] < 0.5
    first = next(iter(found.parse_many(demo_text())))
    assert first.words == demo_text()[0][0]


def test_contexts_are_learned_from_short_sentences_without_punctuation():
    found = context_parser()
    assert isinstance(found.model, ContextModel)
    assert found.options.top == "free"
    assert found.model.tag_map.name == "penn"
    is_mark = tag_map("penn").is_punctuation
    kept = [[tag for tag in tags if not is_mark(tag)] for _, tags in demo_text()]
    used = [tags for tags in kept if 2 <= len(tags) <= 10]
    expected = learn_constituent_context(used)
    assert found.model.constituents.tags == expected.tags
    own = found.model.constituents.to_arrays()
    for name, array in expected.to_arrays().items():
        assert np.array_equal(own[name], array)
    assert found.description["sentences"] == len(used)
    best = found.model.brackets(used[0])
    assert best.spans == expected.brackets(used[0])
    assert best.top in range(1, len(used[0]))
    longer = BracketingParser.train(
        demo_text(),
        BracketingTrainingOptions(
            "constituent-context", contexts=ConstituentContextOptions((10, 20), 2)
        ),
    )
    assert longer.description["sentences"] == sum(2 <= len(tags) <= 20 for tags in kept)
    with pytest.raises(GrammarError, match="no sentence of two to 10 words"):
        BracketingParser.train([(["a"], ["NN"])], method="constituent-context")


def test_context_files_give_the_parser_back(tmp_path):
    path, again = tmp_path / "a.egt", tmp_path / "b.egt"
    context_parser().save(path)
    loaded = BracketingParser.load(path)
    assert loaded.options == context_parser().options
    assert loaded.model.tag_map == context_parser().model.tag_map
    words, tags = ["the", "old", "man", "slept", "."], ["DT", "FOO", "NN", "VBD", "."]
    assert loaded.parse(words, tags) == context_parser().parse(words, tags)
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()
    file = open_model(path)
    wrong = {**file.arrays, "constituents.unseen_log_odds": np.zeros(2)}
    save_model(tmp_path / "c.egt", file.header, wrong)
    with pytest.raises(ModelFileError, match="unseen_log_odds"):
        BracketingParser.load(tmp_path / "c.egt")
    save_model(tmp_path / "d.egt", file.header, {})
    with pytest.raises(ModelFileError, match="lacks"):
        BracketingParser.load(tmp_path / "d.egt")


def test_distances_teach_models_of_short_sentences():
    found = taught_parser()
    assert isinstance(found.model, ContextPairModel)
    assert found.options.top == "free"
    is_mark = tag_map("penn").is_punctuation
    kept = [[tag for tag in tags if not is_mark(tag)] for _, tags in demo_text()]
    about = found.description
    assert about["method"] == "taught-contexts"
    assert about["sentences"] == sum(2 <= len(tags) <= 10 for tags in kept)
    assert about["words"] == sum(map(len, kept))
    assert (about["metric"]["rank"], about["constituent_context"]["iterations"]) == (15, 2)
    words = ([word.lower() for word in own] for own, _ in demo_text())
    teacher = BracketingParser.train(
        demo_text(),
        BracketingTrainingOptions("metric", metric=METRIC_DEFAULTS),
        vectors=learn_brown(words, BrownOptions(20)).vectors(),
    )
    assert isinstance(teacher.model, MetricModel)
    own, universal = learn_ccm_from_metric(demo_text(), teacher.model.metric)
    for learned_one, expected in ((found.model.own, own), (found.model.universal, universal)):
        assert learned_one.tags == expected.tags
        for name, array in expected.to_arrays().items():
            assert np.array_equal(learned_one.to_arrays()[name], array)


def test_punctuation_is_passed_to_the_model():
    heavy = BracketingParser(replace(taught_parser().model, charge=100.0))
    tags = ["NN", "NN", "NN", ",", "NN"]
    assert heavy.parse(["w"] * 5, tags, top=0).top == 3


def test_files_give_taught_models_back(tmp_path):
    path, again = tmp_path / "a.egt", tmp_path / "b.egt"
    taught_parser().save(path)
    loaded = BracketingParser.load(path)
    words, tags = ["the", "old", "man", ",", "slept", "."], ["DT", "FOO", "NN", ",", "VBD", "."]
    assert loaded.parse(words, tags) == taught_parser().parse(words, tags)
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()
    file = open_model(path)
    for header, dropped, message in (
        ({"charge": -1.0}, "", "charge is -1"),
        ({"universal_tags": ["NOUN"]}, "", "must be 2"),
        ({}, "universal.yield_keys", r"lacks 'yield_keys'"),
    ):
        arrays = {name: array for name, array in file.arrays.items() if name != dropped}
        save_model(tmp_path / "c.egt", {**file.header, **header}, arrays)
        with pytest.raises(ModelFileError, match=message):
            BracketingParser.load(tmp_path / "c.egt")


def test_models_of_other_kinds_are_not_saved(tmp_path):
    class Other:
        tag_map = tag_map("penn")

    with pytest.raises(GrammarError, match="type Other cannot be saved"):
        BracketingParser(Other()).save(tmp_path / "a.egt")


def test_files_give_the_parser_back(tmp_path):
    path, again = tmp_path / "a.egt", tmp_path / "b.egt"
    own = read_tag_map(["NN\tNOUN", "V*\tVERB", "VPP\tVERB\tparticiple"], name="own")
    options = BracketingOptions("free", 30, "Y")
    table = np.random.default_rng(0).normal(size=(3, 3, 2))
    model = MetricModel(TreeMetric(("NOUN", "VERB"), own, table), least_squares=True)
    BracketingParser(model, options, {"words": 3}).save(path)
    loaded = BracketingParser.load(path)
    assert loaded.options == options
    assert isinstance(loaded.model, MetricModel)
    assert loaded.model.least_squares
    assert loaded.model.metric.tags == model.metric.tags
    assert loaded.model.tag_map == own
    assert np.array_equal(loaded.model.metric.table, table)
    assert loaded.description == {"words": 3}
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tags": ["NOUN"]}, "must be 2"),
        ({"tag_map": {"name": "x", "patterns": [["a", "b"]], "participles": []}}, "maps to 'b'"),
        ({"options": {"top": "left"}}, "top"),
        ({"tags": 3}, "header's tags"),
        ({"kind": "parser"}, "kind 'parser'"),
        ({"method": "magic"}, "header's method"),
    ],
)
def test_forged_files_are_refused(tmp_path, change, message):
    path = tmp_path / "a.egt"
    parser().save(path)
    file = open_model(path)
    save_model(tmp_path / "b.egt", {**file.header, **change}, file.arrays)
    with pytest.raises(ModelFileError, match=message):
        BracketingParser.load(tmp_path / "b.egt")
    save_model(tmp_path / "c.egt", file.header, {})
    with pytest.raises(ModelFileError, match=r"lacks 'metric\.table'"):
        BracketingParser.load(tmp_path / "c.egt")


def test_without_vectors_clusters_are_learned_from_the_text():
    settings = BracketingTrainingOptions(clusters=20)
    own, expected = BracketingParser.train(demo_text(), settings), taught_parser()
    assert own.description == expected.description
    for each in demo_text()[:20]:
        assert own.parse(*each) == expected.parse(*each)


def test_what_has_no_meaning_in_training_is_refused():
    with pytest.raises(SettingsError, match="without checkpoints"):
        BracketingParser.train(demo_text(), checkpoint=Path("x"))
    vectors = learn_brown([["a", "b"]], BrownOptions(2)).vectors()
    with pytest.raises(SettingsError, match="leave out vectors"):
        BracketingParser.train(demo_text(), method="constituent-context", vectors=vectors)
    with pytest.raises(SettingsError, match="method is 'magic'"):
        BracketingParser.train(demo_text(), method="magic")
    with pytest.raises(ValueError, match="clusters is 1"):
        BracketingTrainingOptions(clusters=1)


@pytest.mark.slow
def test_parsers_score_themselves_and_can_not_be_changed():
    gold = demo_trees()
    result = learned().evaluate(gold, [10])
    marks = {tag for tree in gold for tag in tree.tags() if tag_map("penn").is_punctuation(tag)}
    expected = score_unlabelled(
        [gold_bracketing(tree, punctuation=marks) for tree in gold],
        [bracketing_of(learned().parse(tree.words(), tree.tags()).tree) for tree in gold],
        lengths=[10],
    )
    assert result == expected
    with pytest.raises(SettingsError, match="requires gold tags"):
        learned().evaluate(gold, gold_tags=False)
    assert isinstance(hash(learned()), int)
    with pytest.raises(TypeError):
        learned().description["words"] = 3
    assert learned().summary()["kind"] == "bracketing parser"


def test_results_are_dictionaries_of_what_json_has():
    result = parse("the_DT man_NN")
    assert json.loads(json.dumps(result.to_dict())) == {
        "words": ["the", "man"],
        "tags": ["DT", "NN"],
        "tree": "(X (DT the) (NN man))",
        "score": result.score,
        "top": 1,
        "fallback": None,
    }


# The verbs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "demo.egt"
    code, out, err = run_verb(
        "induce", "train", "--input-format", "trees", TREEBANK, "-o", path, "--clusters", "20",
        "--method", "metric",
    )  # fmt: skip
    assert (code, out) == (0, "")
    assert "by the tag map penn" in err
    assert "distances deviate from those of a tree by 0." in err
    return path


def test_what_the_verb_trains_is_what_python_trains(model):
    own = BracketingParser.load(model).model
    assert np.array_equal(own.metric.table, learned().model.metric.table)
    shown = run_verb("inspect", model)
    assert shown[0] == 0
    assert "MB, brackets, metric" in shown[1]
    assert "tag map: penn" in shown[1]
    assert "parsing: top verbs, max_words 120" in shown[1]


@pytest.mark.slow
def test_the_verb_trains_taught_contexts_unless_told_otherwise(tmp_path):
    path = tmp_path / "taught.egt"
    given = ["--input-format", "trees", TREEBANK, "-o", path, "--clusters", "20"]
    code, out, err = run_verb("induce", "train", *given)
    assert (code, out) == (0, "")
    assert "by the tag map penn" in err
    own, expected = BracketingParser.load(path), taught_parser()
    for each in demo_text():
        assert own.parse(*each) == expected.parse(*each)
    assert "brackets, taught-contexts" in run_verb("inspect", path)[1]
    settings = ["--rank", "3", "--iterations", "1", "--longest", "8", "--charge", "0.5"]
    assert run_verb("induce", "train", *given, *settings, "-q")[0] == 0
    changed = BracketingParser.load(path)
    assert isinstance(changed.model, ContextPairModel)
    assert changed.model.charge == 0.5
    about = changed.description
    assert about["metric"]["rank"] == 3
    assert about["constituent_context"]["lengths"] == [8]
    assert about["constituent_context"]["iterations"] == 1
    assert about["constituent_context"]["distituents"] == 4.0


def test_the_verb_trains_contexts_from_a_pipe_too(tmp_path, monkeypatch):
    path = tmp_path / "context.egt"
    lines = [" ".join(f"{w}_{t}" for w, t in zip(*each, strict=True)) for each in demo_text()]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    code, out, err = run_verb("induce", "train", "--method", "constituent-context", "-o", path)
    assert (code, out) == (0, "")
    assert "sentences, " in err
    loaded = BracketingParser.load(path)
    sentence = "the_DT old_FOO man_NN slept_VBD ._."
    words, tags = zip(*(token.split("_") for token in sentence.split()), strict=True)
    assert loaded.parse(words, tags).tree == context_parser().parse(words, tags).tree
    text = tmp_path / "text"
    text.write_text(sentence + "\n", "utf-8")
    code, out, err = run_verb("induce", "parse", "-m", path, text, "-q")
    assert (code, err) == (0, "")
    assert parse_tree(out) == loaded.parse(words, tags).tree
    told = json.loads(run_verb("inspect", path, "--json")[1])
    assert told["trained"]["method"] == "constituent-context"
    assert told["trained"]["constituent_context"]["lengths"] == [10]
    assert run_verb("inspect", path, "--measure")[0] == 2


@pytest.mark.slow
def test_a_line_out_for_each_line_in(model, tmp_path):
    path = tmp_path / "text"
    path.write_text("the_DT man_NN slept_VBD ._.\n\nno tags\ndogs/NNS bark/VBP\n", "utf-8")
    code, out, err = run_verb("induce", "parse", "-m", model, path)
    lines = out.split("\n")
    assert code == 2
    assert len(lines) == 5
    assert parse_tree(lines[0]).words() == ["the", "man", "slept", "."]
    assert lines[1:3] == ["", ""]
    assert lines[3] == "(X (NNS dogs) (VBP bark))"
    assert f"{path}:2: fall-back: empty" in err
    assert f"{path}:3:1: token 1" in err
    again = run_verb("induce", "parse", "-m", model, path, "--jobs", "2")
    assert again[:2] == (code, out)


def test_trees_as_input_give_their_words_and_tags(model, tmp_path):
    path, out_path = tmp_path / "text", tmp_path / "out"
    path.write_text("(S (NP-SBJ (DT the) (NN man)) (VP (VBD slept) (-NONE- *)) (. .))\n", "utf-8")
    code, out, _ = run_verb("induce", "parse", "-m", model, "--input-format", "trees", path)
    assert (code, out) == (0, "(X (X (DT the) (NN man)) (VBD slept) (. .))\n")
    code, _, _ = run_verb(
        "induce", "parse", "-m", model, "--input-format", "trees", path, "--top", "free",
        "--max-words", "2", "-o", out_path, "-q",
    )  # fmt: skip
    assert code == 0
    assert out_path.read_text("utf-8").startswith("(X (X (DT the) (NN man)) (X (VBD slept) (. .)))")


def test_sentences_without_tags_are_reported(model, tmp_path):
    path = tmp_path / "text.conllu"
    path.write_text("1\tdogs\t" + "\t".join("_" * 8) + "\n", "utf-8")
    code, out, err = run_verb("induce", "parse", "-m", model, "--input-format", "conllu", path)
    assert (code, out) == (2, "\n")
    assert "has no tags" in err
    code, _, err = run_verb(
        "induce",
        "train",
        "--input-format",
        "conllu",
        path,
        "-o",
        tmp_path / "m.egt",
        "--vectors",
        "-",
    )
    assert code == 2


def test_untagged_text_is_reported_where_no_clusters_can_be_made(tmp_path):
    path, output = tmp_path / "plain.txt", tmp_path / "m.egt"
    path.write_text("the dog slept\n", encoding="utf-8")
    code, _, err = run_verb("induce", "train", path, "-o", output)
    assert code == 2
    assert err.count("plain.txt:1:1: token 1 isn't word_TAG") == 1
    assert not output.exists()


def test_vectors_of_other_words_are_refused():
    vectors = parse_vectors(["hund 1 0", "katze 0 1"])
    with pytest.raises(GrammarError, match=r"no word of the first .* sentences has a vector"):
        BracketingParser.train(demo_text(), vectors=vectors)


def test_training_goes_on_after_what_cannot_be_read(tmp_path):
    path, output = tmp_path / "text", tmp_path / "m.egt"
    path.write_text("a_NN b_VBZ ._.\nbad\nb_NN a_VBZ\n", "utf-8")
    code, _, err = run_verb(
        "induce", "train", path, "-o", output, "--clusters", "2", "--method", "metric"
    )
    assert code == 2
    assert f"{path}:2:1: " in err
    assert err.count("isn't word_TAG") == 1
    assert BracketingParser.load(output).model.metric.tags == ("NOUN", "VERB")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "TEXT"], "no model file given"),
        (["train", "-o", "m.egt"], "can be read only once"),
        (
            ["train", "TEXT", "-o", "m.egt", "--method", "constituent-context", "--brown", "TEXT"],
            "--brown is for --method taught-contexts and metric",
        ),
        (
            ["train", "TEXT", "-o", "m.egt", "--vectors", "a", "--brown", "b"],
            "are mutually exclusive",
        ),
        (["train", "TEXT", "-o", "m.egt", "--tag-map", "x"], "'x' is neither a file nor"),
        (["train", "TEXT", "-o", "m.egt", "--floor", "0"], "floor 0.0"),
        (["train", "TEXT", "-o", "TEXT"], "name another"),
        (["train", "NONE", "-o", "m.egt"], "can't be read"),
        (["parse", "TEXT"], "no model given"),
        (["parse", "TEXT", "-m", "TEXT"], "isn't an eigentree model"),
    ],
)
def test_options_without_meaning_are_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("TEXT").write_text("a_NN b_VBZ\n", "utf-8")
    code, out, err = run_verb("induce", *arguments)
    assert (code, out) == (2, "")
    assert message in err
