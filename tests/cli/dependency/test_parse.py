"""The verbs ``dependencies train`` and ``dependencies parse``, and ``inspect`` on their models."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from eigentree.cli.app import app
from eigentree.treebank.io.conllu import read_conllu
from tests.samples import plain_parser, sentence, text_of, treebank, whole_parser


def run(*arguments, **options):
    return CliRunner().invoke(app, list(map(str, arguments)), **options)


def parse(*arguments, model="whole.egt", **options):
    form = () if "--input-format" in arguments else ("--input-format", "conllu")
    return run("dependencies", "parse", "--model", model, *form, *arguments, **options)


def train(*arguments):
    return run("dependencies", "train", *arguments)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    whole_parser().save(folder / "whole.egt")
    plain_parser().save(folder / "plain.egt")
    (folder / "train.conllu").write_text(text_of(treebank(60)), "utf-8")
    (folder / "dev.conllu").write_text(text_of(treebank(12, 1)), "utf-8")
    return folder


@pytest.fixture(autouse=True)
def folder(models, monkeypatch):
    monkeypatch.chdir(models)
    return models


def read(text):
    return [record.sentence for record in read_conllu(text.splitlines())]


# parse -----------------------------------------------------------------------------------

RICH = """\
# sent_id = rich
# text = the dog sawit.
# newpar
1\tthe\tthe\tDET\tDT\tDefinite=Def\t_\t_\t_\t_
2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t1\twrong\t1:wrong\tGloss=Hund
3-4\tsawit\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
3\tsaw\tsee\tVERB\tVBD\t_\t2\twrong\t2:wrong|5:more\tConfidence=9|Kept=Yes
4\tit\tit\tPRON\tPRP\t_\t_\t_\t_\t_
4.1\tgone\t_\t_\t_\t_\t_\t_\t0:root\t_
5\t.\t.\tPUNCT\t.\t_\t_\t_\t_\t_

"""


def test_all_but_the_tree_stays_as_it_is():
    done = parse(input=RICH)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        "# sent_id = rich\n# text = the dog sawit.\n# newpar\n"
        "1\tthe\tthe\tDET\tDT\tDefinite=Def\t2\tdet\t_\t_\n"
        "2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t3\tnsubj\t_\tGloss=Hund\n"
        "3-4\tsawit\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "3\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\tConfidence=9|Kept=Yes\n"
        "4\tit\tit\tPRON\tPRP\t_\t3\tobj\t_\t_\n"
        "5\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_\n\n"
    )


def test_confidences_are_written_on_request():
    (parsed,) = read(parse("--confidence", input=RICH).stdout)
    cells = [word.misc for word in parsed.words]
    assert cells[1].startswith("Gloss=Hund|Confidence=")
    assert cells[2].startswith("Kept=Yes|Confidence=")
    assert all(0.0 <= float(cell.partition("Confidence=")[2]) <= 1.0 for cell in cells)


def test_tokens_get_tags_and_the_comments_of_universal_dependencies():
    done = parse("--input-format", "tokens", input="she saw the old dog .\n\nit left\n")
    assert done.exit_code == 0
    assert done.stderr == "eigentree: <standard input>:2: fall-back: empty\n"
    first, second = read(done.stdout)
    assert first.comments == ("# sent_id = 1", "# text = she saw the old dog .")
    assert second.comments[0] == "# sent_id = 3"
    assert first.tags("upos") == ["PRON", "VERB", "DET", "ADJ", "NOUN", "PUNCT"]
    assert first.heads() == [2, 0, 5, 5, 2, 2]
    assert first.relations() == ["nsubj", "root", "det", "amod", "obj", "punct"]


def test_tagged_words_keep_their_tags():
    (parsed,) = read(parse("--input-format", "tagged", input="dog_PRON saw_VERB x_???\n").stdout)
    assert parsed.forms() == ["dog", "saw", "x"]
    assert parsed.tags("upos") == ["PRON", "VERB", "???"]
    (parsed,) = read(
        parse("--input-format", "tagged", "--ignore-tags", input="dog_PRON saw_VERB\n").stdout
    )
    assert parsed.tags("upos") == ["NOUN", "VERB"]


def test_tags_of_the_file_or_of_the_model():
    wrong = RICH.replace("DET", "VERB").replace("NOUN", "PUNCT")
    by_file, by_model = (
        read(parse(*given, input=wrong).stdout)[0] for given in ((), ("--ignore-tags",))
    )
    assert by_model.heads() == [2, 3, 0, 3, 3]
    assert by_file.heads() != by_model.heads()
    # The cells stay as they are in both cases.
    assert (
        by_file.tags("upos") == by_model.tags("upos") == ["VERB", "PUNCT", "VERB", "PRON", "PUNCT"]
    )
    bare = "1\tdog\t_\t_\t_\t_\t_\t_\t_\t_\n2\tsaw\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    (parsed,) = read(parse(input=bare).stdout)
    assert parsed.tags("upos") == ["NOUN", "VERB"]


def test_sentences_without_features_are_tagged_where_tags_have_some(folder):
    rows = treebank(60)
    marked = [
        replace(each, words=tuple(
            word._replace(feats="Case=Nom" if word.deprel == "nsubj" else "_")
            for word in each.words
        ))
        for each in rows
    ]  # fmt: skip
    (folder / "case.conllu").write_text(text_of(marked), "utf-8")
    assert "tags from upos+Case" in train("case.conllu", "-o", "case.egt").stderr
    text = text_of([rows[0]])
    for form, kept in (("conllu", rows[0].tags("upos")), ("tokens", None)):
        given = text if form == "conllu" else " ".join(rows[0].forms()) + "\n"
        done = parse(
            "--input-format", form, "--output-format", "json", model="case.egt", input=given
        )
        record = json.loads(done.stdout)
        assert "|Case=Nom" in "".join(record["tags"])
        (parsed,) = read(parse("--input-format", form, model="case.egt", input=given).stdout)
        assert "|" not in "".join(parsed.tags("upos"))
        assert kept is None or parsed.tags("upos") == kept
        # Cells of CoNLL-U input are kept, whatever tags the parser used.
        predicted = [tag.partition("|")[2] or "_" for tag in record["tags"]]
        feats = [word.feats for word in parsed.words]
        assert feats == (predicted if kept is None else ["_"] * len(predicted))


BAD = RICH + "1\tx\ttoo few columns\n\n" + RICH + "1\ty\t_\tNOUN\t_\t_\t_\t_\t_\t_\n3\tz\n\n" + RICH


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_malformed_sentences_are_reported_and_the_others_come_out(jobs):
    done = parse("--jobs", jobs, input=BAD)
    assert done.exit_code == 2
    assert [each.sent_id for each in read(done.stdout)] == ["rich"] * 3
    first, second = done.stderr.splitlines()
    assert first.startswith("eigentree: <standard input>:12:")
    assert "expected 10" in first
    assert "<standard input>:26" in second
    done = parse("--jobs", jobs, "--output-format", "json", input=BAD)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(each["words"]) for each in records] == [5, 0, 5, 0, 5]
    assert ["problem" in each for each in records] == [False, True, False, True, False]
    assert done.exit_code == 2


def test_bad_bytes_cost_one_sentence():
    text = b"she left .\nsh\xffe left .\nit left .\n"
    done = parse("--input-format", "tokens", "--output-format", "json", input=text)
    assert done.exit_code == 2
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(each["words"]) for each in records] == [3, 0, 3]
    assert "UTF-8" in records[1]["problem"]
    assert records[1]["fallback"] == "unreadable"


def test_comments_after_the_last_sentence_are_kept():
    for form in ("conllu", "json"):
        done = parse("--output-format", form, input=RICH + "# the end\n# bye\n")
        assert (done.exit_code, done.stdout.endswith("\n\n# the end\n# bye\n")) == (
            0,
            form == "conllu",
        )
        assert len(done.stdout.splitlines()) == (1 if form == "json" else 12)


def test_byte_order_marks_between_sentences_are_mentioned():
    done = parse(input=f"{RICH}\ufeff{RICH}")
    assert done.stdout == 2 * parse(input=RICH).stdout
    assert (
        done.stderr == "eigentree: <standard input>:12:1: byte-order mark inside the text dropped\n"
    )


def test_json_has_an_object_a_line():
    done = parse("--input-format", "tokens", "--output-format", "json", input="she left .\n\nx\n")
    first, empty, last = map(json.loads, done.stdout.splitlines())
    assert first["heads"] == [2, 0, 2]
    assert first["relations"] == ["nsubj", "root", "punct"]
    assert len(first["confidences"]) == 3
    assert 0.0 < first["confidence"] <= 1.0
    assert (first["sign"], first["fallback"]) == (1, None)
    assert empty == {
        "words": [], "tags": [], "heads": [], "relations": [], "confidences": [],
        "confidence": None, "log_value": None, "sign": None, "fallback": "empty",
    }  # fmt: skip
    assert last["heads"] == [0]


def test_output_keeps_the_rules_of_universal_dependencies():
    for form, text in (
        ("conllu", text_of(treebank(20, 2))),
        ("tokens", "".join(f"{' '.join(each.forms())}\n" for each in treebank(20, 2))),
    ):
        for parsed in read(parse("--input-format", form, input=text).stdout):
            roots = [word for word in parsed.words if word.head == 0]
            assert len(roots) == 1
            assert [word.deprel == "root" for word in parsed.words] == [
                word.head == 0 for word in parsed.words
            ]
            assert {word.deps for word in parsed.words} == {"_"}


def test_fall_backs_are_reported_and_written():
    done = parse("--max-words", 4, "--input-format", "tokens", input="she saw the old dog .\n")
    assert done.exit_code == 0
    assert done.stderr == "eigentree: <standard input>:1: fall-back: split\n"
    (parsed,) = read(done.stdout)
    assert parsed.comments[-1] == "# fallback = split"
    done = parse(
        "--max-words", 4, "-q", "--input-format", "tokens", input="she saw the old dog .\n"
    )
    assert done.stderr == ""


def test_a_model_without_tagger_and_relations():
    done = parse(input=RICH, model="plain.egt")
    assert done.exit_code == 0
    (parsed,) = read(done.stdout)
    assert parsed.relations() == ["dep", "dep", "root", "dep", "dep"]
    for given in (["--ignore-tags"], ["--input-format", "tokens"]):
        done = parse(*given, input="", model="plain.egt")
        assert done.exit_code == 2
        assert (
            "plain.egt has no tagger; give tags with --input-format tagged or conllu" in done.stderr
        )
    bare = "1\tdog\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    done = parse(input=bare + RICH, model="plain.egt")
    assert done.exit_code == 2
    told = "eigentree: <standard input>:1: no tags by upos, and the model has no tagger\n"
    assert done.stderr == told
    assert len(read(done.stdout)) == 1
    done = parse("--output-format", "json", input=bare, model="plain.egt")
    assert json.loads(done.stdout)["problem"] == told[len("eigentree: ") : -1]


def test_other_ways_of_decoding():
    assert parse("--objective", "product", input=RICH).exit_code == 0
    done = parse("--objective", "viterbi", input=RICH)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "objective viterbi requires probability automata; these are signed" in done.stderr


def test_several_roots_when_asked(folder):
    two = text_of([sentence("a/VERB ./PUNCT b/VERB ./PUNCT", [0, 1, 0, 3])])
    (folder / "two.conllu").write_text(two * 3, "utf-8")
    plain = ("--lexical", "none", "--no-tagger", "--no-relations", "-o", "two.egt")
    assert "3 trees with several roots" in train("two.conllu", "--method", "det", *plain).stderr
    heads = [
        read(parse(*given, model="two.egt", input=two).stdout)[0].heads()
        for given in (["--several-roots"], [])
    ]
    assert heads[0] == [0, 1, 0, 3]
    assert heads[1].count(0) == 1


def test_held_out_files_without_a_tree_are_refused(folder):
    (folder / "nothing.conllu").write_text("\n", "utf-8")
    done = train("train.conllu", "--dev", "nothing.conllu", "-o", "unmade.egt", "-q")
    assert done.exit_code == 2
    assert done.stderr == ("eigentree: nothing.conllu: no trees to score on\n")
    assert not (folder / "unmade.egt").exists()


def test_models_of_other_kinds_are_refused(folder):
    from tests.demo import demo_parser

    for verb in ("parse", "surprisal", "calibrate"):
        more = ["--gold", "dev.conllu"] if verb == "calibrate" else []
        done = run(verb, "--model", "whole.egt", *more, input="she left\n")
        assert done.exit_code == 2
    done = run("parse", "--model", "whole.egt", input="she left\n")
    assert done.stderr == (
        "eigentree: whole.egt: is a model of kind 'dependency parser'; expected 'parser'; "
        "it is for eigentree dependencies parse\n"
    )
    demo_parser().save(folder / "trees.egt")
    done = parse(model="trees.egt", input=RICH)
    assert done.exit_code == 2
    assert done.stderr == (
        "eigentree: trees.egt: is a model of kind 'parser'; expected 'dependency parser'; "
        "it is for eigentree parse\n"
    )
    done = parse("train.conllu", model="train.conllu")
    assert "train.conllu: isn't an eigentree model" in done.stderr
    done = parse("train.conllu", "--output-file", "train.conllu")
    assert done.exit_code == 2
    assert "is an input file, so it can't be written" in done.stderr


# train -----------------------------------------------------------------------------------


def test_training_reports_what_it_does():
    done = train("train.conllu", "--dev", "dev.conllu", "-o", "new.egt", "--lexical", "lex+f")
    assert (done.exit_code, done.stdout) == (0, "")
    told = done.stderr
    assert told.startswith("60 trees, ")
    for part in ("new.egt: tags from upos, ", "lexical weight ", "dev, gold tags: UAS ", "LAS ",
                 "dev, words alone: UAS "):  # fmt: skip
        assert part in told
    parsed = parse("dev.conllu", "-o", "parsed.conllu", model="new.egt")
    assert parsed.exit_code == 0
    scores = run("dependencies", "evaluate", "dev.conllu", "parsed.conllu", "--json")
    uas = json.loads(scores.stdout)["systems"][0]["all_words"]["uas"]
    assert f"dev, gold tags: UAS {100 * uas:.2f}" in told
    quiet = train("train.conllu", "-o", "new.egt", "-q", "--method", "det", "--lexical", "none",
                  "--no-tagger", "--no-relations")  # fmt: skip
    assert (quiet.exit_code, quiet.stderr) == (0, "")


def test_a_slip_in_the_name_of_a_model():
    done = parse("dev.conllu", model="engish-dependencies")
    assert done.exit_code == 2
    assert "; english and english-dependencies come with eigentree" in done.stderr


CROSSING = text_of([sentence("a/A b/B c/C d/D", [3, 4, 0, 3]), sentence("a/A c/C", [2, 0])])


def test_crossing_arcs_are_reported(folder):
    (folder / "crossing.conllu").write_text(CROSSING, "utf-8")
    plain = ("--method", "det", "--lexical", "none", "--no-tagger", "--no-relations")
    done = train("crossing.conllu", "-o", "new.egt", *plain)
    assert "trees with crossing arcs: 1, 1 word lifted" in done.stderr
    done = train("crossing.conllu", "-o", "new.egt", *plain, "--crossing", "skip")
    assert "trees with crossing arcs: 1, left out" in done.stderr


def test_malformed_training_trees(folder):
    (folder / "bad.conllu").write_text(CROSSING.replace("\t3\tdep", "\t9\tdep", 1), "utf-8")
    plain = ("--method", "det", "--lexical", "none", "--no-tagger", "--no-relations", "-o", "n.egt")
    done = train("bad.conllu", *plain)
    assert done.exit_code == 2
    assert "bad.conllu:1:" in done.stderr
    assert "head 9 of word 1" in done.stderr
    assert not (folder / "n.egt").exists()
    done = train("bad.conllu", *plain, "--on-error", "skip")
    assert done.exit_code == 0
    assert done.stderr.startswith("eigentree: skipped: bad.conllu:1:")
    assert "head 9 of word 1" in done.stderr
    assert "1 tree, 2 words" in done.stderr
    (folder / "good.conllu").write_text(CROSSING, "utf-8")
    done = train("good.conllu", *plain, "--dev", "bad.conllu")
    assert (done.exit_code, "head 9 of word 1" in done.stderr) == (2, True)
    done = train("good.conllu", *plain, "--dev", "bad.conllu", "--on-error", "skip")
    assert done.exit_code == 0
    assert "eigentree: skipped: bad.conllu:1:" in done.stderr
    assert "dev, gold tags: UAS " in done.stderr
    done = train("good.conllu", *plain[:-1], "bad.conllu", "--dev", "bad.conllu")
    assert (done.exit_code, "bad.conllu: is an input file" in done.stderr) == (2, True)
    (folder / "headless.conllu").write_text(CROSSING.replace("\t3\tdep", "\t_\tdep", 1), "utf-8")
    assert train("headless.conllu", *plain).exit_code == 2
    done = train("headless.conllu", *plain, "--heads", "attach")
    assert done.exit_code == 0
    assert "1 word attached to the root, 1 tree with several roots" in done.stderr
    (folder / "empty.conllu").write_text("", "utf-8")
    done = train("empty.conllu", *plain)
    assert (done.exit_code, "no dependency trees" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--method", "spectral", "--iterations", 3],
            "--iterations is for --method em and spectral+em, not for spectral",
        ),
        (["--method", "det", "--restarts", 3], "--restarts is for --method em"),
        (["--lexical", "none", "--lexical-weight", 2], "--lexical-weight requires a lexical model"),
        (["--method", "sibling"], "--method sibling has a state for each tag"),
        (["--tags", "pos"], "unknown tag scheme 'pos'"),
        (["--tags", "xpos"], "no word has a tag in xpos"),
        (["--back-off", 1.5], "back_off is 1.5"),
        (
            ["--method", "spectral", "--objective", "viterbi"],
            "objective viterbi requires probability automata",
        ),
        (["--dev", "missing.conllu"], "missing.conllu: can't be read"),
        (["-o", "train.conllu"], "train.conllu: is an input file, so it can't be written"),
        (["-o", "no/folder.egt"], "no/folder.egt: can't be written"),
    ],
)
def test_options_that_can_not_be_used(given, message):
    done = train("train.conllu", "-o", "never.egt", *given)
    assert done.exit_code == 2
    assert message in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("eigentree: ")]
    assert message in line


# inspect ---------------------------------------------------------------------------------


def test_inspect_says_what_is_in_a_model():
    done = run("inspect", "whole.egt", "--limit", 3)
    assert done.exit_code == 0
    for part in (
        "dependency parser, spectral, signed values",
        "trained on 200 trees, ",
        "tags from upos; tagger with 7 tags",
        "lexical model: coordination-punctuation, weight ",
        "states: 6",
        "objective: sum",
        "relations",
    ):
        assert part in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    heads = rows[rows.index("head count states to the left to the right".split()) + 1 :]  # noqa: SIM905
    assert [row[0] for row in heads] == ["root", "NOUN", "DET", "PUNCT"]
    done = run("inspect", "plain.egt")
    assert "no tagger" in done.stdout
    assert "no lexical model" in done.stdout


def test_inspect_as_json():
    report = json.loads(run("inspect", "whole.egt", "--json").stdout)
    parser = whole_parser()
    assert report["kind"] == "dependency parser"
    assert report["relations"] == list(parser.relations.labels)
    assert report["sizes"]["tags"] == 8
    assert report["sizes"]["states of automata"] == int(parser.automata.n_states.sum())
    counts = {row["tag"]: row["count"] for row in report["tags"]}
    assert counts["VERB"] == 200
    assert sum(counts.values()) == report["trained"]["words"]
    rows = {row["tag"]: row for row in report["tags"]}
    own = parser.automata.automaton("NOUN", 0).n_states
    assert rows["NOUN"]["left states"] == own
    assert report["lexical"]["weight"] == parser.options.lexical_weight


def test_inspect_measures_no_dependency_model():
    done = run("inspect", "whole.egt", "--measure")
    assert done.exit_code == 2
    assert "--measure requires a model in Kruskal form" in done.stderr
