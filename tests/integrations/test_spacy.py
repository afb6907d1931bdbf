"""The component for spaCy's pipelines."""

import importlib.metadata
import subprocess
import sys
import time
import tomllib
import warnings
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, Span

from eigentree.constituency.parser import ConstituencyParser
from eigentree.errors import ModelFileError, SettingsError
from eigentree.integrations import spacy as integration
from eigentree.integrations.spacy import EigentreeComponent, NoConstituentError
from eigentree.integrations.spacy.constituents import GETTERS
from eigentree.tokenisation.scheme import TokenisationScheme
from eigentree.treebank.io.brackets import format_tree, parse_tree
from tests.demo import demo_parser
from tests.samples import whole_parser

ROOT = Path(__file__).resolve().parents[2]
TEXT = "  The old man saw  the dog . \n The cat slept (on the bed) .\n\n"


def pipeline(sentencizer=True, **config):
    nlp = spacy.blank("en")
    if sentencizer:
        nlp.add_pipe("sentencizer")
    nlp.add_pipe("eigentree", config=config)
    return nlp


@pytest.fixture(scope="module")
def nlp(model):
    return pipeline(model=model)


@pytest.fixture(scope="module")
def both(model, dependencies):
    return pipeline(model=model, dependencies=dependencies)


def sentences_of(doc):
    return [sent for sent in doc.sents if sent.text.strip()]


def test_trees_are_the_parser_s(nlp):
    doc = nlp(TEXT)
    first, second = sentences_of(doc)
    for sent in (first, second):
        words = [token.text for token in sent if not token.is_space]
        assert sent._.parse_string == format_tree(demo_parser().parse(words).tree)
    assert "(-LRB- -LRB-)" in second._.parse_string


def test_constituents_labels_children_parents(nlp):
    doc = nlp("The old man saw the dog .")
    (sent,) = doc.sents
    found = list(sent._.constituents)
    assert [span.text for span in found] == [
        "The old man saw the dog .", "The old man", "The", "old", "man",
        "saw the dog", "saw", "the dog", "the", "dog", ".",
    ]  # fmt: skip
    assert all(isinstance(span, Span) for span in found)
    assert [span._.labels for span in found[:3]] == [("S",), ("NP",), ()]
    assert [child.text for child in sent._.children] == ["The old man", "saw the dog", "."]
    assert sent._.parent is None
    assert doc[4:6]._.parent == doc[3:6]
    assert doc[3:6]._.parent == sent
    assert doc[6:7]._.parent == sent
    # Parents and children say the same of every span.
    for span in found:
        assert all(child._.parent == span for child in span._.children)


def test_tokens_have_them_too(nlp):
    doc = nlp("The cat slept .")
    assert doc[1]._.parse_string == "(NN cat)"
    assert doc[1]._.parent == doc[0:2]
    # A verb alone is a phrase as well.
    assert doc[2]._.labels == ("VP",)
    assert doc[2]._.parse_string == "(VP (VBD slept))"
    assert list(doc[2]._.constituents) == [doc[2:3]]
    assert doc[2]._.children == ()


def test_confidence_is_the_bracket_s(nlp):
    doc = nlp("The old man saw the dog .")
    result = demo_parser().parse([token.text for token in doc])
    for bracket in result.brackets:
        assert doc[bracket.start : bracket.end]._.confidence == pytest.approx(bracket.confidence)
    assert doc[0]._.confidence is None
    (record,) = doc._.eigentree
    assert record["confidence"] == pytest.approx(result.confidence)
    assert (record["start"], record["end"], record["fallback"]) == (0, len(doc.text), None)
    assert record["nodes"][1][:3] == ["NP", 0, len("The old man")]


def test_white_space_is_passed_over(nlp):
    doc = nlp(TEXT)
    first, _ = sentences_of(doc)
    assert first._.labels == ("S",)
    assert doc[3:4].text == "man"
    assert doc[1:4]._.labels == doc[0:4]._.labels == ("NP",)
    assert doc[6:8].text == "the dog"
    assert [span.text for span in doc[4:8]._.children] == ["saw", "the dog"]
    blank = next(token for token in doc if token.is_space)
    assert blank._.parse_string == ""
    assert blank._.labels == blank._.children == ()
    assert list(blank._.constituents) == []
    assert blank._.parent is blank._.confidence is None


def test_nul_is_in_no_tree(both):
    doc = both("the d\0og sees \0 .")
    (sentence,) = doc.sents
    assert "d\ufffdog" in sentence._.parse_string
    assert parse_tree(sentence._.parse_string).words() == [
        "the",
        "d\ufffdog",
        "sees",
        "\ufffd",
        ".",
    ]
    assert all(token.dep_ for token in doc)


def test_what_is_no_constituent(nlp):
    doc = nlp("The old man saw the dog .")
    with pytest.raises(NoConstituentError, match="'old man saw' is no constituent of the parse"):
        _ = doc[1:4]._.labels
    with pytest.raises(NoConstituentError, match="no constituents: the component eigentree"):
        _ = Doc(nlp.vocab, words=["a"])[0]._.parse_string
    two = nlp("The cat slept . The man saw the dog .")
    with pytest.raises(NoConstituentError):
        _ = two[:]._.parse_string


def test_merged_tokens(nlp):
    doc = nlp.make_doc("The cat slept on the bed .")
    with doc.retokenize() as retokeniser:
        retokeniser.merge(doc[0:2])
    doc = nlp(doc)
    assert next(doc.sents)._.parse_string.count("The\u00a0cat") == 1


OLD_MAN = "The old man saw the dog in the park ."


def phrases_of(doc):
    """The phrases of all sentences, with the text of their words."""
    found = {}
    for sent in doc.sents:
        for span in sent._.constituents:
            assert all(child._.parent == span for child in span._.children)
            if span._.labels:
                found[span.text] = span._.labels
    return found


def test_constituents_move_along_when_tokens_are_merged(nlp):
    doc = nlp(OLD_MAN)
    before = phrases_of(doc)
    with doc.retokenize() as retokeniser:
        retokeniser.merge(doc[1:3])
    assert doc[0:2].text == "The old man"
    assert phrases_of(doc) == before
    assert doc[0:2]._.parse_string == "(NP (DT The) (JJ+NN old\u00a0man))"
    assert [child.text for child in doc[0:2]._.children] == ["The", "old man"]
    assert doc[1]._.labels == ()
    assert doc[1]._.parent == doc[0:2]


def test_a_merged_constituent_is_one_word(nlp):
    doc = nlp(OLD_MAN)
    with doc.retokenize() as retokeniser:
        retokeniser.merge(doc[0:3])
        retokeniser.merge(doc[4:6])
    assert doc[0]._.labels == doc[2]._.labels == ("NP",)
    assert doc[0]._.children == ()
    assert doc[2]._.parse_string == "(NP (DT+NN the\u00a0dog))"
    assert next(doc.sents)._.parse_string.count("(NP ") == nlp(OLD_MAN).text.count("the") + 1


def test_what_begins_inside_a_token_is_left_out(nlp):
    doc = nlp("The old man saw the dog .")
    with doc.retokenize() as retokeniser:
        retokeniser.merge(doc[3:5])  # across the edge of a phrase
    assert doc[3:5].text == "saw the dog"
    assert doc[3:5]._.parse_string == "(VP (VBD+DT saw\u00a0the) (NN dog))"
    assert [child.text for child in doc[3:5]._.children] == ["saw the", "dog"]
    assert "the dog" not in phrases_of(doc)


def test_constituents_move_along_when_a_token_is_split(nlp):
    doc = nlp(OLD_MAN)
    before = phrases_of(doc)
    with doc.retokenize() as retokeniser:
        retokeniser.split(doc[2], ["m", "an"], heads=[(doc[2], 1), doc[3]])
    assert phrases_of(doc) == before
    assert doc[0:4]._.labels == ("NP",)
    assert doc[2:4]._.parse_string == "(NN man)"
    assert doc[2:4]._.labels == ()
    with pytest.raises(NoConstituentError, match="'an' is no constituent"):
        _ = doc[3]._.labels


@pytest.mark.parametrize("name", ["merge_entities", "merge_noun_chunks"])
def test_components_behind_may_merge_tokens(both, name):
    doc = both("the dog saw the old cat .")
    assert phrases_of(doc)
    doc.ents = [Span(doc, 0, 2, label="X"), Span(doc, 3, 6, label="X")]
    before = phrases_of(doc)
    merged = spacy.blank("en").create_pipe(name)(doc)
    assert [token.text for token in merged] == ["the dog", "saw", "the old cat", "."]
    assert phrases_of(merged) == before


def test_constituents_go_to_other_docs(nlp):
    first, second = nlp("The cat slept . The old man saw the dog ."), nlp(OLD_MAN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        joined = Doc.from_docs([first, second])
    assert [sent._.parse_string for sent in joined.sents] == [
        sent._.parse_string for doc in (first, second) for sent in doc.sents
    ]
    assert [record["start"] for record in joined._.eigentree][0::2] == [0, len(first.text) + 1]
    piece = first[4:8].as_doc(copy_user_data=True)
    assert piece[0:3]._.labels == ("NP",)
    assert piece[0:3]._.parse_string == first[4:7]._.parse_string
    assert [child.text for child in piece[0:3]._.children] == ["The", "old", "man"]
    assert piece[0:3]._.parent is None  # it ends outside
    with pytest.raises(NoConstituentError, match=r"Span\.as_doc\(copy_user_data=True\) includes"):
        _ = first[4:8].as_doc()[0]._.labels
    assert second.copy()[0:3]._.labels == ("NP",)


def test_boundaries_of_sentences_may_change(nlp):
    doc = nlp("The cat slept . The old man saw the dog .")
    doc[4].is_sent_start = False
    assert doc[4:7]._.labels == ("NP",)
    with pytest.raises(NoConstituentError):
        _ = doc[:]._.labels
    nlp.get_pipe("eigentree")(doc)  # the earlier sentences are forgotten
    assert len(doc._.eigentree) == 1


def test_quotes_are_written_as_the_treebank_s(nlp, monkeypatch):
    given = []
    parse = ConstituencyParser.parse

    def watched(self, words, tags=None, **more):
        given.append(list(words))
        return parse(self, words, tags, **more)

    monkeypatch.setattr(ConstituencyParser, "parse", watched)
    monkeypatch.setattr(
        ConstituencyParser,
        "tokenisation",
        property(lambda _: TokenisationScheme(marks=("``", "''"))),
    )
    doc = nlp('The man saw "the dog" .')
    assert given == [["The", "man", "saw", "``", "the", "dog", "''", "."]]
    # Nodes stand over tokens, and these keep their text.
    assert ' ")' in next(doc.sents)._.parse_string


def test_sentences_are_found_and_told_once(model):
    nlp = pipeline(sentencizer=False, model=model)
    with pytest.warns(UserWarning, match='add_pipe."sentencizer", before="eigentree"') as told:
        doc = nlp("The cat slept . The man saw the dog .")
    assert len(told) == 1
    assert len(list(doc.sents)) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(nlp("The cat slept . The man saw it .").sents)) == 2


def test_sentences_that_are_there_stay(nlp):
    doc = Doc(nlp.vocab, words=["The", "cat", ".", "slept", "."], sent_starts=[True, *[False] * 4])
    component = nlp.get_pipe("eigentree")
    assert len(component(doc)._.eigentree) == 1


def test_empty_docs(nlp, both):
    for pipes in (nlp, both):
        assert pipes("")._.eigentree == []
        assert pipes(" \n ")._.eigentree == []


def test_tags_are_set_where_there_are_none(nlp):
    doc = nlp("The cat slept .")
    assert [token.tag_ for token in doc] == demo_parser().parse(["The", "cat", "slept", "."]).tags
    tagged = Doc(nlp.vocab, words=["The", "cat"], tags=["X", "Y"], sent_starts=[True, False])
    assert [token.tag_ for token in nlp.get_pipe("eigentree")(tagged)] == ["X", "Y"]


def test_tags_of_the_doc_are_used_on_demand(model, dependencies):
    component = EigentreeComponent("it", model, use_tags=True)
    vocab = spacy.blank("en").vocab
    words = ["The", "cat", "slept"]
    doc = Doc(vocab, words=words, tags=["DT", "NN", "NN"], sent_starts=[True, False, False])
    assert "(NN slept)" in component(doc)[2]._.parse_string
    with pytest.raises(SettingsError, match="token 0, 'The', has no tag_, which use_tags requires"):
        component(Doc(vocab, words=words, sent_starts=[True, False, False]))
    component = EigentreeComponent("it", dependencies=dependencies, use_tags=True)
    with pytest.raises(SettingsError, match="has no pos_"):
        component(Doc(vocab, words=words, sent_starts=[True, False, False]))
    pos = ["DET", "NOUN", "VERB"]
    doc = component(Doc(vocab, words=words, pos=pos, sent_starts=[True, False, False]))
    assert [token.head.i for token in doc] == [head - 1 if head else place for place, head in
            enumerate(whole_parser().parse(words, pos).heads)]  # fmt: skip


def test_dependencies(both):
    doc = both(TEXT)
    for sent in sentences_of(doc):
        tokens = [token for token in sent if not token.is_space]
        result = whole_parser().parse([token.text for token in tokens])
        for token, arc in zip(tokens, result.arcs, strict=True):
            expected = token if arc.head == 0 else tokens[arc.head - 1]
            assert token.head == expected
            assert token.dep_ == ("ROOT" if arc.head == 0 else arc.relation)
        assert [token.pos_ for token in tokens] == result.tags
        assert sent.root.dep_ == "ROOT"
    # White space hangs on its neighbour, within its sentence, and sentences stay as they were.
    for token in doc:
        assert token.head in token.sent
        if token.is_space and token.head != token:
            assert abs(token.head.i - token.i) == 1
    assert [sent.text for sent in doc.sents] == [sent.text for sent in both.get_pipe(
        "sentencizer")(both.make_doc(TEXT)).sents]  # fmt: skip
    assert doc.has_annotation("DEP")


def test_dependencies_alone(dependencies):
    doc = pipeline(dependencies=dependencies)("the old dog saw it .")
    assert [token.dep_ for token in doc] == ["det", "amod", "nsubj", "ROOT", "obj", "punct"]
    with pytest.raises(NoConstituentError, match="has no constituents"):
        _ = doc[0]._.labels


def test_docs_go_to_bytes_and_to_disk(both, tmp_path):
    doc = both(TEXT)
    again = Doc(both.vocab).from_bytes(doc.to_bytes())
    doc.to_disk(tmp_path / "doc")
    read = Doc(both.vocab).from_disk(tmp_path / "doc")
    for other in (again, read):
        assert [list(sent._.constituents) for sent in sentences_of(other)] == [
            [other[span.start : span.end] for span in sent._.constituents]
            for sent in sentences_of(doc)
        ]
        assert [s._.parse_string for s in other.sents] == [s._.parse_string for s in doc.sents]


def test_several_processes(nlp):
    texts = ["The cat slept .", "The old man saw the dog .", "", "The dog saw the cat ."] * 2
    alone = [[sent._.parse_string for sent in doc.sents] for doc in nlp.pipe(texts)]
    shared = nlp.pipe(texts, n_process=2, batch_size=2)
    assert [[sent._.parse_string for sent in doc.sents] for doc in shared] == alone


def test_pipelines_go_to_disk_without_models(nlp, tmp_path):
    nlp.to_disk(tmp_path / "pipe")
    written = [path for path in (tmp_path / "pipe" / "eigentree").rglob("*") if path.is_file()]
    assert [path.name for path in written] == ["cfg"]
    assert written[0].stat().st_size < 500
    again = spacy.load(tmp_path / "pipe")
    text = "The old man saw the dog ."
    assert next(again(text).sents)._.parse_string == next(nlp(text).sents)._.parse_string
    assert again.get_pipe("eigentree").to_bytes() == nlp.get_pipe("eigentree").to_bytes()
    (tmp_path / "pipe" / "eigentree" / "cfg").write_text('{"model": "other.egt"}')
    with pytest.raises(SettingsError, match="must be model, dependencies, use_tags"):
        spacy.load(tmp_path / "pipe")


def test_spawned_processes_are_sent_no_model(nlp):
    component = nlp.get_pipe("eigentree")
    data = ForkingPickler.dumps(component)  # what spawned processes get
    assert len(data) < 1000
    again = ForkingPickler.loads(data)
    assert again.to_bytes() == component.to_bytes()


def test_long_docs_take_linear_time(nlp):
    text = "The old man saw the dog . " * 20
    nlp(text)

    def seconds(times):
        begun = time.process_time()
        doc = nlp(text * times)
        for sent in sentences_of(doc):
            for span in sent._.constituents:
                assert span._.parse_string
        return time.process_time() - begun

    short = min(seconds(2) for _ in range(2))
    assert seconds(16) < 8 * 3 * short


def test_the_bundled_model_is_the_default():
    nlp = pipeline()
    doc = nlp("The old man saw the dog.")
    assert doc[0:3]._.labels == ("NP",)
    assert [token.tag_ for token in doc[:4]] == ["DT", "JJ", "NN", "VBD"]
    assert nlp.get_pipe("eigentree").to_bytes() == EigentreeComponent("it").to_bytes()


def chunks_of(nlp, text):
    return [chunk.text for chunk in nlp(text).noun_chunks]


def test_noun_chunks_are_complete():
    nlp = pipeline(dependencies="english-dependencies")
    assert chunks_of(nlp, "The old man gave her a very good book on the train.") == [
        "The old man", "her", "a very good book", "the train",
    ]  # fmt: skip
    assert chunks_of(nlp, "Her brother's car hit two trees and a wall.") == [
        "Her brother's car", "two trees", "a wall",
    ]  # fmt: skip
    assert chunks_of(nlp, "\n  The cat  slept .")[0] == "The cat"
    doc = nlp("She is only a doctor.")
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    for each in (doc, again, doc[:].as_doc()):
        assert [chunk.text for chunk in each.noun_chunks] == ["She", "only a doctor"]
    assert doc[0].morph.to_dict() == {"Case": "Nom"}


def test_noun_chunks_of_other_docs_follow_spacy_s_rules():
    nlp = pipeline(dependencies="english-dependencies")
    words, heads = ["He", "sat", "on", "the", "mat"], [1, 1, 1, 4, 2]
    deps = ["nsubj", "ROOT", "prep", "det", "pobj"]
    pos = ["PRON", "VERB", "ADP", "DET", "NOUN"]
    doc = Doc(nlp.vocab, words=words, heads=heads, deps=deps, pos=pos)
    assert [chunk.text for chunk in doc.noun_chunks] == ["He", "the mat"]
    other = spacy.blank("xx")  # without rules of its own
    other.add_pipe("sentencizer")
    other.add_pipe("eigentree", config={"dependencies": "english-dependencies"})
    assert chunks_of(other, "The cat saw it.") == ["The cat", "it"]


def test_what_is_refused(tmp_path, model):
    with pytest.raises(SettingsError, match="for English, and the pipeline's language is 'de'"):
        spacy.blank("de").add_pipe("eigentree")
    with pytest.raises(ModelFileError, match="No such file"):
        pipeline(model=str(tmp_path / "absent.egt"))
    with pytest.raises(ModelFileError):
        pipeline(dependencies=model)


def test_attributes_of_others_are_left_alone(model):
    getters = Span.get_extension("labels")
    Span.set_extension("labels", getter=len, force=True)
    try:
        with pytest.raises(SettingsError, match=r"Span\._\.labels belongs to another package"):
            pipeline(model=model)
    finally:
        Span.set_extension("labels", getter=getters[2], force=True)


@pytest.mark.slow
def test_spacy_finds_the_component_by_its_entry_point(tmp_path, model):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    points = project["entry-points"]["spacy_factories"]
    assert points == {"eigentree": "eigentree.integrations.spacy:make_eigentree"}
    folder = tmp_path / "pretended-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pretended\nVersion: 1.0\n")
    lines = [f"{name} = {target}" for name, target in points.items()]
    (folder / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines, ""]))
    script = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT / 'src')!r}]\n"
        "import spacy\n"
        "nlp = spacy.blank('en')\n"
        "nlp.add_pipe('sentencizer')\n"
        f"nlp.add_pipe('eigentree', config={{'model': {model!r}}})\n"
        "print(next(nlp('The cat slept .').sents)._.labels)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "('S',)"
    assert importlib.metadata.version("spacy").startswith("3.")


def test_spacy_is_requested_where_it_is_absent():
    script = (
        "import sys; sys.modules['spacy'] = None\n"
        "from eigentree.errors import SettingsError\n"
        "try:\n    import eigentree.integrations.spacy\n"
        "except SettingsError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "; run pip install '.[spacy]' in the source folder of eigentree" in done.stdout


def test_its_attributes_are_those_told_of():
    told = integration.__doc__
    assert all(f"``{name}``" in told for name in GETTERS)
