"""The verb ``dependencies``, and ``check`` on dependency treebanks."""

from __future__ import annotations

import gzip
import json

import pytest
from typer.testing import CliRunner

from eigentree.cli.app import app

GOLD = """\
# sent_id = one
1\tshe\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\tslept\t_\tVERB\tVBD\t_\t0\troot\t_\t_
3\t.\t_\tPUNCT\t.\t_\t2\tpunct\t_\t_

1\tsnow\t_\tNOUN\tNN\t_\t2\tnsubj\t_\t_
2\tfell\t_\tVERB\tVBD\t_\t0\troot\t_\t_

"""
PARSED = GOLD.replace("\t2\tnsubj\t_\t_\n2\tfell", "\t2\tobj\t_\t_\n2\tfell")


def run(*arguments, **options):
    return CliRunner().invoke(app, list(map(str, arguments)), **options)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.conllu").write_text(text, "utf-8")
        return [f"{name}.conllu" for name in texts]

    return write


def evaluate(*arguments, **options):
    return run("dependencies", "evaluate", *arguments, "--samples", 50, **options)


def cells(out):
    return [line.split() for line in out.splitlines()]


def test_report_of_one_system(files):
    done = evaluate(*files(gold=GOLD, parsed=PARSED), "--labels")
    assert done.exit_code == 0
    assert done.stdout.startswith("gold: gold.conllu\nparsed: parsed.conllu\n")
    for row in (
        "words 5 4",
        "UAS, % 100.00 100.00",
        "LAS, % 80.00 75.00",
        "mean of sentence LAS, % 75.00 75.00",
        "exact match of heads and relations, % 50.00 50.00",
        "nsubj 2 1 50.00 100.00 66.67",
        "punctuation: forms of Unicode punctuation only",
        "relations: up to the first colon",
    ):
        assert row.split() in cells(done.stdout)


def test_two_systems_are_compared(files):
    names = files(gold=GOLD, first=PARSED, other=GOLD)
    done = evaluate(*names)
    assert done.exit_code == 0
    assert "A: first.conllu\nB: other.conllu\n" in done.stdout
    assert "B - A: +0.00 points of UAS" in done.stdout
    assert "B - A: +20.00 points of LAS" in done.stdout


def test_json_and_the_table_of_sentences(files):
    names = files(gold=GOLD, parsed=PARSED)
    done = evaluate(*names, "--json", "--per-sentence", "rows.tsv", "--subtypes")
    report = json.loads(done.stdout)
    (system,) = report["systems"]
    assert system["all_words"]["las"] == 0.8
    assert system["settings"]["subtypes"] is True
    assert set(system["intervals"]) == {"uas", "las"}
    assert (report["seed"], report["samples"], report["paired_tests"]) == (0, 50, {})
    with open("rows.tsv", encoding="utf-8") as rows:
        header, first, second = (row.rstrip("\n").split("\t") for row in rows)
    told = dict(zip(header, first, strict=True))
    assert (told["sent_id"], told["place"], told["bare_words"]) == ("one", "gold.conllu:2", "2")
    assert dict(zip(header, second, strict=True))["las"] == "0.5"


def test_mismatches_are_listed_and_the_rest_is_scored(files):
    done = evaluate(*files(gold=GOLD, parsed=PARSED.replace("she", "he")))
    assert done.exit_code == 1
    assert (
        "gold.conllu:2: sentence one: word 1 is 'she' in gold and 'he' in the parse" in done.stdout
    )
    assert ["not", "comparable", "1", "1"] in cells(done.stdout)
    assert ["words", "2", "2"] in cells(done.stdout)


def test_malformed_sentences_count_as_missing_when_asked(files):
    names = files(gold=GOLD, parsed=PARSED.replace("\t0\troot\t_\t_\n3", "\t1\troot\t_\t_\n3"))
    done = evaluate(*names)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "parsed.conllu:2:20: the heads form a cycle: 1 -> 2 -> 1" in done.stderr
    done = evaluate(*names, "--on-error", "skip")
    assert done.exit_code == 1
    assert "gold.conllu:2: sentence one: no parse" in done.stdout
    assert ["UAS,", "%", "40.00", "50.00"] in cells(done.stdout)


def test_punctuation_alone_has_no_score_and_no_interval(files):
    names = files(gold="1\t.\t_\tPUNCT\t.\t_\t0\troot\t_\t_\n\n")
    done = evaluate(*names, *names, *names)
    assert done.exit_code == 0
    (row,) = (row for row in cells(done.stdout) if row[:2] == ["UAS,", "95"])
    assert row[4:] == ["100.00", "to", "100.00", "n/a"] * 2
    (system, _), tests = (
        json.loads(evaluate(*names, *names, *names, "--json").stdout)[key]
        for key in ("systems", "paired_tests")
    )
    assert system["intervals"]["uas"] == {"all_words": [1.0, 1.0], "without_punctuation": None}
    assert tests["uas"]["interval"] == [0.0, 0.0]


def test_a_row_of_the_table_is_one_line(files):
    name = "a\tb\u2028c\x1cd"
    names = files(gold=GOLD.replace("= one", f"= {name}"), parsed=PARSED)
    done = evaluate(*names, "--per-sentence", "-")
    rows = done.stdout.splitlines()
    assert len({row.count("\t") for row in rows}) == 1
    assert rows[1].split("\t")[2] == "a b c d"


def test_without_gold_trees_there_is_nothing_to_score(files):
    names = files(gold="", parsed=PARSED)
    done = evaluate(*names)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "eigentree: gold.conllu: no gold trees to score against\n"


def test_files_of_other_lengths_and_order(files):
    one, other, _ = GOLD.split("\n\n")
    names = files(gold=GOLD, parsed=f"{other}\n\n{one}\n\n1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    done = evaluate(*names)
    assert done.exit_code == 1
    assert "parsed.conllu has 3 sentences and gold.conllu 2, paired in order" in done.stdout
    done = evaluate(*names, "--align")
    assert done.exit_code == 1
    assert (
        "parsed.conllu: 1 sentence has words that match no remaining gold sentence, on line 9"
        in (done.stdout)
    )
    assert ["LAS,", "%", "100.00", "100.00"] in cells(done.stdout)


def test_tags_of_punctuation(files):
    names = files(gold=GOLD, parsed=PARSED)
    done = evaluate(*names, "--punctuation", "tags", "--punctuation-tags", "PRP .")
    assert ["words", "5", "3"] in cells(done.stdout)
    assert "punctuation: words with one of the gold tags PRP ." in done.stdout
    done = evaluate(*names, "--punctuation", "tags", "--punctuation-tags", "X")
    assert "no word was excluded as punctuation" in done.stdout
    assert done.exit_code == 0


def test_standard_input_is_one_of_the_files_at_most(files):
    (name,) = files(gold=GOLD)
    assert evaluate(name, "-", input=PARSED).exit_code == 0
    done = evaluate("-", "-", input=PARSED)
    assert done.exit_code == 2
    done = evaluate(name, name, "--per-sentence", name)
    assert done.exit_code == 2
    assert "is an input file, so it can't be written" in done.stderr


def test_the_group_says_what_it_has():
    done = run("dependencies", "--help")
    assert done.exit_code == 0
    assert "evaluate" in done.stdout


# check -----------------------------------------------------------------------------------

ODD = """\
# sent_id = a
1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_
1\ta\t_\tX\t_\t_\t3\tdep\t_\t_
2\tb\t_\tX\t_\t_\t0\troot\t_\t_
3\tc\t_\tX\t_\t_\t4\tDep\t_\t_
4\td\t_\tX\t_\t_\t2\troot\t_\t_
4.1\te\t_\t_\t_\t_\t_\t_\t_\t_

# sent_id = a
1\tx\t_\tX\t_\t_\t0\troot\t_\t_
2\ty\t_\tX\t_\t_\t0\troot\t_\t_

1\tx\t_\tX\t_\t_\t0\troot\t_\t_
2\ty\t_\tX\t_\t_\t1\tdep\t_\t_

1\tz\t_\tX\t_\t_\t1\tdep\t_\t_

1\tz\t_\tX\t_\t_\t0\troot\t_\t_

"""


def test_check_describes_a_dependency_treebank(files):
    (name,) = files(odd=ODD)
    done = run("check", name)
    assert done.exit_code == 2
    for row in (
        "4 sentences",
        "9 words",
        "1 range of words in one token",
        "1 empty node",
        "1 sentence with crossing arcs",
        "1 sentence with several roots",
        "1 problem",
        "Relations (3)",
        "tag column: upos (1 tag; XPOS has none)",
        "non-projective sentences: lift (25.0% of the sentences have crossing arcs)",
        "roots: several (1 sentence has more)",
    ):
        assert row.split() in cells(done.stdout)
    for line in (
        f"{name}:2: word 1",
        f"{name}:2: word 4 with head 2 is root",
        f"{name}:10: words 1, 2",
        f"{name}:10: a at {name}:2",
        f"{name}:13: at {name}:10",
        f"{name}:16:13: word 1 is its own head (sentence 4)",
        f"{name}:2: Dep dep",
    ):
        assert line in done.stdout
    assert "malformed sentences: 1" in done.stderr
    report = json.loads(run("check", name, "--json").stdout)
    assert report["counts"]["nonprojective_arcs"] == 1
    assert report["relations"] == {"root": 6, "dep": 2, "Dep": 1}


def test_check_recognises_dependencies_by_name_or_by_option(files, tmp_path):
    (name,) = files(gold=GOLD)
    packed = tmp_path / "gold.conll.gz"
    packed.write_bytes(gzip.compress(GOLD.encode()))
    for given in ([name], [packed], ["-", "--input-format", "conllu"]):
        done = run("check", *given, "--json", input=GOLD)
        assert done.exit_code == 0
        assert json.loads(done.stdout)["counts"]["words"] == 5
    done = run("check", name, packed, "--json")
    assert json.loads(done.stdout)["counts"]["words"] == 10
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (A b))\n", "utf-8")
    done = run("check", name, trees)
    assert done.exit_code == 2
    assert f"{name} has dependencies and {trees} trees" in done.stderr


def test_check_of_an_empty_file(files):
    (name,) = files(empty="")
    done = run("check", name)
    assert (done.exit_code, done.stderr) == (2, f"eigentree: {name}: no sentences\n")
    assert ["0", "sentences"] in cells(done.stdout)


def test_check_suggests_a_tag_column(files):
    rows = "".join(
        f"{i}\tw{i}\t_\tX\tt{i}\t_\t{i - 1}\t{'dep' if i > 1 else 'root'}\t_\t_\n"
        for i in range(1, 120)
    )
    few, many = files(few=GOLD, many=rows)
    assert "tag column: xpos (4 tags, 4 in UPOS)" in run("check", few).stdout
    assert "tag column: upos (1 tag; the 119 of XPOS are too many" in run("check", many).stdout
