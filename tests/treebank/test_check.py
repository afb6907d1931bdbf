from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from eigentree.cli.app import app
from eigentree.treebank.check_constituency import examine
from eigentree.treebank.cleaning import CleaningOptions
from eigentree.treebank.reader import read_treebank

BANK = """\
( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps) (NP (-NONE- *)))))
( (S (NP-SBJ (NP (DT the) (NN dog))) (VP (VBZ barks) (ADVP-TMP (RB now)))))
( (FRAG (UH yes)))
( (S (NP-SBJ (DT the) (NN cat)) (VP (VBZ sleeps))))
( (NP (-NONE- *)))
(())
( (S (NP (NN tea milk)) (VP (Vbz cools))))
"""


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "bank.mrg"
    path.write_text(BANK, "utf-8")
    return path


@pytest.fixture
def report(bank):
    return examine(read_treebank(bank, cleaning=None))


def test_counts(report):
    expected = {
        "trees": 5,
        "words": 14,
        "distinct_words": 10,
        "words_seen_once": 7,
        "phrases": 14,
        "rules": 8,
        "rules_seen_once": 5,
        "unary_phrases": 0,
        "same_unary": 1,
        "empty_elements": 2,
        "height": 4,
        "children": 2,
        "problems": 0,
        "notices": 1,
        "vanished": 0,
        "no_parse": 1,
    }
    assert report.counts == expected


def test_tables_run_from_frequent_to_rare(report):
    assert list(report.labels.items())[:3] == [("S", 4), ("NP", 4), ("VP", 4)]
    assert report.labels["FRAG"] == 1
    assert report.tags["DT"] == 3
    assert report.function_tags == {"SBJ": 3, "TMP": 1}
    assert report.wrapper == ""
    assert report.lengths["longest"] == 4
    assert report.lengths["1"] == 1
    assert report.lengths["2-10"] == 4


def oddities(report, kind):
    return [
        (oddity.place.rsplit(":", 1)[1], oddity.detail)
        for oddity in report.oddities
        if oddity.kind == kind
    ]


def test_oddities_have_places(report, bank):
    assert report.oddities[0].place.startswith(f"{bank}:")
    assert oddities(report, "phrase over one phrase of its label") == [("2", "NP over NP")]
    assert oddities(report, "one word") == [("3", "yes")]
    assert oddities(report, "sentence seen before") == [("4", f"at {bank}:1")]
    assert oddities(report, "nothing but empty elements") == [("5", "")]
    assert oddities(report, "no parse") == [("6", "(())")]
    assert oddities(report, "labels that differ little") == [("1", "VBZ Vbz")]
    assert report.notices == [
        f"{bank}:7:14: 2 words under 'NN', read as 2 nodes: "
        "( (S (NP (NN tea milk)) (VP (Vbz cools))))"
    ]


def examined(tmp_path, text, **options):
    path = tmp_path / "bank.mrg"
    path.write_text(text, "utf-8")
    cleaning = CleaningOptions(**options)
    return examine(read_treebank(path, cleaning=None), cleaning=cleaning)


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        ("(S " + "(A b) " * 101 + ")", "long sentence", "101 words"),
        ("(S " + "(A b) " * 41 + ")", "wide node", "S with 41 children"),
        ("(X (A a) " * 41 + ")" * 41, "deep tree", "42 levels"),
        ("(S (VP (NP (X (A b) (C d)))))", "long unary chain", "S > VP > NP > X"),
        ("(S (@S (A b) (C d)) (E f))", "looks already binarised", "@S"),
        ("(S (NP|<DT-NN> (A b) (C d)) (E f))", "looks already binarised", "NP|<DT-NN>"),
        ("(S (S+VP (A b) (C d)) (E f))", "looks already binarised", "S+VP"),
        ("(S (A (A b) (C d)))", "label of phrases and of words", "A: 1 phrase, 1 tag"),
        ("(S (NP (A b)))\n" * 700 + "(S (NPP (A b)))", "rare label", "NPP, once"),
    ],
)
def test_each_oddity_is_seen(tmp_path, text, kind, detail):
    options = {"function_separators": "="} if "<" in text else {}
    report = examined(tmp_path, text, **options)
    assert detail in [oddity.detail for oddity in report.oddities if oddity.kind == kind]


@pytest.mark.parametrize("text", ["(S (ADVP|PRT (A b)) (NP-SBJ (C d)))", "(S (-LRB- -LRB-) (A b))"])
def test_ordinary_labels_are_not_odd(tmp_path, text):
    kinds = {oddity.kind for oddity in examined(tmp_path, text).oddities}
    assert kinds == set()


def test_depth_is_no_limit(tmp_path):
    depth = 50_000
    report = examined(tmp_path, "(A (B " * depth + "(C d)" + "))" * depth)
    assert report.counts["height"] == 2 * depth + 1
    assert report.unary_chains == {"A > B > A > B > A > B > A > (99992 more) > B": 1}


def test_only_the_first_of_many_are_listed_but_all_are_counted(bank):
    bank.write_text("(FRAG (UH yes))\n" * 30, "utf-8")
    report = examine(read_treebank(bank, cleaning=None), limit=4)
    assert report.oddity_counts["one word"] == 30
    assert len(oddities(report, "one word")) == 4


def suggested(report):
    return {suggestion.setting: suggestion.value for suggestion in report.suggestions}


def test_suggestions(tmp_path):
    plain = examined(tmp_path, "(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))\n" * 20)
    assert suggested(plain) == {"heads": "english", "method": "pcfg"}
    assert plain.suggestions[-1].reason == "60 words are too few to estimate latent states"
    german = examined(
        tmp_path, "(VROOT (S (NP-SB (ART-NK Die) (NN-NK Katze)) (VVFIN-HD rennt)) ($. .))\n"
    )
    assert suggested(german)["heads"] == "negra"
    many = examined(tmp_path, "(S (A-x a) (A-y b) (A-z c))\n")
    assert suggested(many)["cut tags"] == "yes"
    assert suggested(many)["heads"] == "rightmost"
    spanish = examined(
        tmp_path, "(S (sn.e-SUJ *0*) (sn.a (n a)) (sn.b (n b)) (sn.c (n b)) (sn.d (n b)))\n"
    )
    assert suggested(spanish)["trace words"] == "*0*"
    assert suggested(spanish)["function separators"] == "-=."
    assert "trace words" not in suggested(
        examined(tmp_path, "(S (sn.e-SUJ *0*) (v a))\n", trace_words=("*0*",))
    )


def test_states_grow_with_the_treebank(tmp_path):
    for n_trees, states in ((9, None), (10, "8"), (700, "24")):
        report = examined(tmp_path, ("(S " + "(A b) " * 100 + ")\n") * n_trees)
        assert suggested(report).get("states") == states


def test_an_empty_treebank_has_a_report(tmp_path):
    report = examined(tmp_path, "")
    assert report.counts["trees"] == 0
    assert report.lengths == {}


# The verb --------------------------------------------------------------------------------


def run(*arguments, **options):
    return CliRunner().invoke(app, ["check", *map(str, arguments)], **options)


def test_the_verb_prints_a_report(bank):
    done = run(bank)
    assert done.exit_code == 0
    for piece in ("Phrase labels (5)", "VP\u00a04", "One word (1)", f"{bank}:3: yes", "heads: "):
        assert piece in done.stdout


def test_the_verb_prints_json(bank, report):
    done = run(bank, "--json")
    found = json.loads(done.stdout)
    assert found["counts"] == report.counts
    assert found["files"] == [str(bank)]
    assert found["oddities"][0] == report.oddities[0]._asdict()


def test_the_verb_lists_problems_and_fails():
    done = run("-", input="(S (A b)\n(S (C [/bold] d))\n")
    assert done.exit_code == 2
    assert "<standard input>:1:1: this tree isn't complete" in done.stdout
    assert "malformed trees: 1" in done.stderr


def test_the_verb_hands_on_cleaning(bank):
    done = run(
        bank, "--json", "--trace-labels", "UH DT", "--cut-tags", "--function-separators", "="
    )
    found = json.loads(done.stdout)
    assert "UH" not in found["tags"]
    assert found["labels"]["NP-SBJ"] == 3


def test_the_verb_needs_a_file():
    done = run()
    assert done.exit_code == 2
    assert "no files given" in done.stderr


def test_the_verb_prints_head_tables():
    done = run("--print-heads", "english")
    assert done.exit_code == 0
    assert "WHNP" in done.stdout
