"""Training of dependency parsers: what is learned from, what is told, and what chance decides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eigentree.dependency import training
from eigentree.dependency.learn.lexical_modifiers import MAX_WEIGHTS, search_weight
from eigentree.dependency.options import DependencyOptions, DependencyTrainingOptions
from eigentree.dependency.parser import UNKNOWN_TAG, DependencyParser
from eigentree.dependency.training import attachment, projective_trees, train_dependencies
from eigentree.errors import GrammarError, ModelFileError, SettingsError
from eigentree.treebank.io.conllu import Sentence
from eigentree.treebank.projective import is_projective
from tests.samples import options, sentence, treebank

# Word 1 hangs on 3 and word 2 on 4.
CROSSING = sentence("a/A b/B c/C d/D", [3, 4, 0, 3])
PLAIN = sentence("a/A c/C", [2, 0])


def test_crossing_trees_are_lifted_or_left_out():
    lifted = projective_trees([CROSSING, PLAIN], "upos")
    assert (lifted.n_crossing, lifted.n_lifted) == (1, 1)
    assert [is_projective(each.heads) for each in lifted.sentences] == [True, True]
    assert lifted.relations == [CROSSING.relations(), PLAIN.relations()]
    skipped = projective_trees([CROSSING, PLAIN], "upos", "skip")
    assert (skipped.n_crossing, skipped.n_lifted) == (1, 0)
    assert [each.words for each in skipped.sentences] == [PLAIN.forms()]
    trained = train_dependencies([CROSSING, PLAIN], options("det"))
    assert trained.description["crossing"] == {"trees": 1, "lifted": 1}


def test_nothing_to_learn_from():
    with pytest.raises(GrammarError, match="of 0 dependency trees none is left to learn from"):
        train_dependencies([Sentence(())])
    skipping = DependencyTrainingOptions(crossing="skip")
    with pytest.raises(GrammarError, match="of 1 dependency tree none is left"):
        train_dependencies([CROSSING], skipping)
    untagged = [sentence("a/_ b/_", [0, 1])]
    with pytest.raises(GrammarError, match="no word has a tag in upos or xpos; automata are"):
        train_dependencies(untagged, options())
    with pytest.raises(GrammarError, match="no word has a tag in xpos"):
        train_dependencies(treebank(3), replace(options(), tag_scheme="xpos"))


def test_relations_need_arcs_between_words(monkeypatch):
    roots = [sentence("a/A", [0]), sentence("b/B", [0])]
    assert train_dependencies(roots, options(relations=False)).parse(["a"], ["A"]).heads == [0]
    # What takes long has not begun by then.
    monkeypatch.delattr(training, "learn_head_automata")
    with pytest.raises(GrammarError, match=r"every word of the trees is a root.*--no-relations"):
        train_dependencies(roots, options(relations=True))


def test_the_least_treebank_is_enough():
    parser = train_dependencies([PLAIN], options(lexical=True, tagger=True, relations=True))
    assert parser.automata.symbols == ("A", "C", UNKNOWN_TAG)
    result = parser.parse(["a", "c"])
    assert (result.heads, result.relations) == ([2, 0], ["dep", "root"])
    one = train_dependencies([sentence("a/A", [0])], options(tagger=True))
    assert one.parse(["a", "x"]).heads.count(0) == 1


def test_the_treebank_decides_on_tags_unless_told():
    parser = train_dependencies(treebank(20), replace(options("det"), tag_scheme="upos+Case"))
    assert parser.tag_scheme == "upos+Case"
    assert train_dependencies(treebank(20), options("det")).tag_scheme == "upos"


@pytest.mark.parametrize("method", ["det", "det+f", "sibling", "spectral", "em", "spectral+em"])
def test_every_method_does_better_than_chains(method):
    em = {"iterations": 4} if "em" in method else {}
    parser = train_dependencies(treebank(100), options(method, states=3, **em))
    held_out = projective_trees(treebank(40, 1), "upos").sentences
    reached = attachment(parser, held_out)
    n_words = sum(len(each.words) for each in held_out)
    chains = sum(head == at for each in held_out for at, head in enumerate(each.heads))
    assert reached > 0.75 > chains / n_words
    assert parser.signed == (method == "spectral")


def test_hidden_states_are_worth_something():
    # One state can't know that a determiner closes a noun's left side.
    held_out = projective_trees(treebank(60, 1), "upos").sentences
    one, hidden = (
        attachment(train_dependencies(treebank(300), options(method)), held_out)
        for method in ("det", "spectral")
    )
    assert hidden > one


@pytest.mark.parametrize("method", ["spectral", "em"])
def test_one_seed_gives_one_file_for_any_number_of_processes(method, tmp_path):
    whole = options(method, lexical=True, tagger=True, relations=True, states=3, **(
        {"iterations": 3, "restarts": 2} if method == "em" else {}
    ))  # fmt: skip
    texts = []
    for jobs in (1, 2, 2):
        parser = train_dependencies(treebank(40), whole, dev=treebank(10, 1), seed=5, jobs=jobs)
        parser.save(tmp_path / "model.egt")
        texts.append((tmp_path / "model.egt").read_bytes())
    assert texts[0] == texts[1] == texts[2]
    if method == "em":
        other = train_dependencies(treebank(40), whole, dev=treebank(10, 1), seed=6)
        other.save(tmp_path / "model.egt")
        assert (tmp_path / "model.egt").read_bytes() != texts[0]


def test_the_best_iteration_on_held_out_trees_is_kept():
    parser = train_dependencies(
        treebank(40), options("em", states=3, iterations=5), dev=treebank(20, 1)
    )
    em = parser.description["em"]
    uas = [row["uas"] for row in em["record"]]
    assert uas[em["best"]] == max(uas)
    judged = projective_trees(treebank(20, 1), "upos").sentences
    assert attachment(parser, judged) == max(uas)
    likelihoods = [row["log_likelihood"] for row in em["record"]]
    assert likelihoods == sorted(likelihoods)


def test_interrupted_work_goes_on(tmp_path):
    checkpoint = tmp_path / "work"
    em = options("em", states=2, iterations=4)

    class Stopped(Exception):  # noqa: N818
        pass

    def stop(stage, share):  # noqa: ARG001
        if share >= 0.5:
            raise Stopped

    with pytest.raises(Stopped):
        train_dependencies(treebank(30), em, checkpoint=checkpoint, progress=stop)
    assert checkpoint.exists()
    with pytest.raises(ModelFileError, match="the checkpoint of a run with other sequences"):
        train_dependencies(treebank(31), em, checkpoint=checkpoint)
    resumed = train_dependencies(treebank(30), em, checkpoint=checkpoint)
    whole = train_dependencies(treebank(30), em)
    for one, other in ((resumed, whole),):
        one.save(tmp_path / "a")
        other.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_weight_of_words_is_searched_on_held_out_trees(monkeypatch):
    asked: list[float] = []

    def fake(parser: DependencyParser, sentences) -> float:
        asked.append(parser.options.lexical_weight)
        assert len(sentences) == 4
        return -abs(parser.options.lexical_weight - 3.0)

    monkeypatch.setattr(training, "attachment", fake)
    monkeypatch.setattr(training, "MAX_WEIGHED", 4)
    told = []
    parser = train_dependencies(
        treebank(30), options(lexical=True), dev=treebank(20, 1),
        progress=lambda stage, share: told.append((stage, share)),
    )  # fmt: skip
    assert asked == [1.0, 2.0, 4.0, pytest.approx(2 * 2**-0.5), pytest.approx(2 * 2**0.5)]
    assert parser.options.lexical_weight == pytest.approx(2 * 2**0.5)
    assert [share for stage, share in told if stage == "words"] == [
        0.0, *(number / MAX_WEIGHTS for number in range(len(asked))), 1.0
    ]  # fmt: skip
    asked.clear()
    # Not where it is given, nor without anything to search on, nor without automata.
    alone = DependencyOptions(lexical_alone=True)
    for given, dev in (
        (replace(options(lexical=True), lexical_weight=0.3), treebank(20, 1)),
        (options(lexical=True), ()),
        (options(lexical=True, parsing=alone), treebank(20, 1)),
    ):
        parser = train_dependencies(treebank(30), given, dev=dev)
        assert parser.options.lexical_weight == (given.lexical_weight or 1.0)
    assert asked == []


def test_no_search_takes_longer_than_documented():
    for peak in (1e-6, 0.2, 0.6, 1.0, 1.2, 3.0, 1e6):
        asked = []

        def score(weight: float, peak: float = peak, asked: list[float] = asked) -> float:
            asked.append(weight)
            return -abs(weight - peak)

        search_weight(score)
        assert len(asked) <= MAX_WEIGHTS


def test_the_objective_requested_is_kept():
    parsing = DependencyOptions("product", several_roots=True)
    parser = train_dependencies(treebank(20), options(parsing=parsing))
    assert parser.options == parsing
    with pytest.raises(SettingsError, match="viterbi requires probability automata"):
        train_dependencies(treebank(20), options(parsing=DependencyOptions("viterbi")))
    counted = train_dependencies(treebank(20), options("det", parsing=DependencyOptions("viterbi")))
    assert counted.options.objective == "viterbi"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tag_scheme": "pos"}, "unknown tag scheme 'pos'"),
        ({"crossing": "keep"}, "crossing is 'keep'; it must be lift or skip"),
        ({"lexical_weight": -1.0}, "lexical_weight is -1.0; it must be above 0"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(SettingsError, match=message):
        DependencyTrainingOptions(**settings)


def test_judged_sentences_are_from_all_over_the_held_out_ones(monkeypatch):
    judged = []
    monkeypatch.setattr(training, "MAX_SCORED", 4)
    monkeypatch.setattr(
        training,
        "attachment",
        lambda _, sentences: judged.append([each.words for each in sentences]) or 0.0,
    )
    dev = treebank(10, 1)
    train_dependencies(treebank(20), options(lexical=True), dev=dev)
    assert judged[0] == [dev[at].forms() for at in (0, 2, 5, 7)]
