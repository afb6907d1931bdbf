"""Real treebanks read as they stand, and as many words and nodes as their keepers counted."""

from __future__ import annotations

import time

import pytest

from eigentree.errors import TreebankFormatError
from eigentree.treebank.cleaning import CleaningOptions, clean
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.io.text_files import open_text
from eigentree.treebank.reader import Place, read_treebank
from eigentree.treebank.tree import Tree

# Treebank -> trees and words of its parts (empty elements not counted).
SIZES = {
    "wsj_sample": ((3167, 76109), (358, 8884), (389, 9091)),
    "craft": ((18951, 493385), (2780, 67652), (9099, 232619)),
    "gum": ((10224, 177410), (1575, 28119), (1464, 28397)),
    "pcc_german": ((1776, 26904), (206, 3169), (211, 3149)),
    "alpino_dutch": ((5736, 112684), (700, 13735), (700, 14361)),
    "sinica": ((8000, 81066), (1000, 10355), (1000, 10202)),
    "cess_esp": ((4848, 150774), (575, 18497), (577, 19013)),
    "icepahc_modern": ((16595, 228171), (2077, 27624), (2071, 27894)),
}
PARTS = {
    f"{bank}/{part}.mrg": size
    for bank, sizes in SIZES.items()
    for part, size in zip(("train", "dev", "test"), sizes, strict=True)
}
PARTS |= {
    "smultron_de/all.mrg": (86, 1906),
    "smultron_en/all.mrg": (79, 1786),
    "smultron_sv/all.mrg": (93, 1731),
}
# Export file -> trees with crossing branches, crossing nodes, trees unlike the bracket file,
# which other software made by the same method.
CROSSING = {
    "pcc_german/train": (534, 741, 0),
    "pcc_german/dev": (60, 84, 0),
    "pcc_german/test": (60, 78, 0),
    "alpino_dutch/train": (2765, 4967, 0),
    "alpino_dutch/dev": (339, 612, 0),
    "alpino_dutch/test": (354, 652, 0),
    "smultron_de/all": (22, 39, 0),
    "smultron_en/all": (0, 0, 1),  # there the label -LRB- was rewritten LRB
    "smultron_sv/all": (2, 2, 0),
}


@pytest.mark.parametrize("name", PARTS)
def test_every_treebank_reads_without_problems(treebanks, name):
    bank = read_treebank(treebanks / name, cleaning=None)
    assert bank.problems == []
    assert bank.no_parse == []
    # Trees are written as they stood, but for two words under one preterminal.
    with open_text(treebanks / name) as lines:
        source = [line.rstrip("\n") for line in lines]
    written = [format_tree(tree) for tree in bank.trees]
    unlike = [i for i, (line, text) in enumerate(zip(source, written, strict=True)) if line != text]
    assert [i + 1 for i in unlike] == sorted({notice.line for notice in bank.notices})
    assert len(bank.notices) == (5 if name == "craft/train.mrg" else 0)
    assert [parse_tree(written[i]) for i in unlike] == [bank.trees[i] for i in unlike]
    # No tree vanishes, and the words are as many as their keepers counted.
    cleaning = CleaningOptions(trace_words=("*0*",) if "cess_esp" in name else ())
    cleaned = [clean(tree, cleaning) for tree in bank.trees]
    assert (len(cleaned), sum(len(tree.words()) for tree in cleaned)) == PARTS[name]


@pytest.mark.parametrize("name", CROSSING)
def test_crossing_branches_are_resolved_as_elsewhere(treebanks, name):
    export = read_treebank(treebanks / f"{name}.export", cleaning=None)
    brackets = read_treebank(treebanks / f"{name}.mrg", cleaning=None)
    n_unlike = sum(
        ours != theirs for ours, theirs in zip(export.trees, brackets.trees, strict=True)
    )
    crossing = export.counts["crossing_trees"], export.counts["crossing_nodes"]
    assert (*crossing, n_unlike) == CROSSING[name]


def test_reading_and_cleaning_take_less_than_two_seconds_a_megabyte(treebanks):
    # Half a second is usual; the rest is for slow machines.
    begun = time.process_time()
    read_treebank(treebanks / "craft" / "dev.mrg")
    assert time.process_time() - begun < 2 * 1.1


# Several files at once ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "one.mrg").write_text("( (S (A b)))\n( (NP (-NONE- *)))\n% note\n(())\n")
    (tmp_path / "two.export").write_text(
        "%% a comment\n\n#BOS 1\na\tX\t--\tHD\t500\n#500\tS\t--\tOC\t0\n#EOS 1\n"
    )
    (tmp_path / "bad.mrg").write_text("(S (C d)) )\n")
    return tmp_path


def test_files_of_both_formats_make_one_treebank(folder):
    bank = read_treebank([folder / "one.mrg", folder / "two.export", folder / "bad.mrg"][:2])
    assert [format_tree(tree) for tree in bank.trees] == ["(S (A b))", "(S (X a))"]
    assert bank.places == [
        Place(str(folder / "one.mrg"), 1),
        Place(str(folder / "two.export"), 3),
    ]
    assert bank.vanished == [Place(str(folder / "one.mrg"), 2)]
    assert bank.no_parse == [Place(str(folder / "one.mrg"), 4)]
    assert [str(notice) for notice in bank.notices] == [
        f"{folder}/one.mrg:3:1: comment passed over: % note"
    ]
    assert bank.counts == {
        "trees": 2,
        "problems": 0,
        "notices": 1,
        "vanished": 1,
        "no_parse": 1,
        "crossing_trees": 0,
        "crossing_nodes": 0,
        "secondary_edges": 0,
    }


def test_edge_labels_come_with_function_tags(folder):
    path = folder / "two.export"
    kept = read_treebank(path, cleaning=CleaningOptions(keep_function_tags=True))
    assert [format_tree(tree) for tree in kept.trees] == ["(S-OC (X-HD a))"]
    assert [format_tree(tree) for tree in read_treebank(path, cleaning=None).trees] == [
        "(VROOT (S-OC (X-HD a)))"
    ]


def test_problems_stop_the_reading_or_are_collected(folder):
    with pytest.raises(TreebankFormatError, match=r"bad\.mrg:1:11: closing bracket without"):
        read_treebank(folder / "bad.mrg")
    bank = read_treebank([str(folder / "bad.mrg"), folder / "one.mrg"], on_error="skip")
    assert [str(place) for place in bank.places] == [f"{folder}/bad.mrg:1", f"{folder}/one.mrg:1"]
    assert [problem.column for problem in bank.problems] == [11]


@pytest.mark.parametrize(
    ("content", "words", "found"),
    [
        # The second bad byte shares its line with two good trees.
        (
            b"(S (A b))\n(S\n (A caf\xe9))\n(S (A c)) (S (A \xff\xfe)) (S (A \xc3\xa9))\n",
            ["b", "c", "é"],
            [(3, 8, "0xe9", " (A café))"), (4, 17, "0xff", "(S (A c)) (S (A ÿþ)) (S (A é))")],
        ),
        (
            b"% caf\xe9\n(S (A b))\n(\xe9 (A c)) x\xe9\n",
            ["b"],
            [(3, 2, "0xe9", ""), (3, 12, "0xe9", "")],
        ),
        (
            b"#BOS 1\n\xe9\tA\t--\tHD\t0\n#EOS 1\n#BOS 2 \xe9\nb\tA\t--\tHD\t0\n#EOS 2\n",
            ["b"],
            [(2, 1, "0xe9", "é")],
        ),
    ],
)
def test_a_byte_that_is_not_utf8_costs_one_tree(tmp_path, content, words, found):
    path = tmp_path / "bytes"
    path.write_bytes(content)
    with pytest.raises(TreebankFormatError, match=r"bytes:\d:\d+: byte 0xe9 is not UTF-8"):
        read_treebank(path)
    bank = read_treebank(path, on_error="skip")
    assert [word for tree in bank.trees for word in tree.words()] == words
    for problem, (line, column, byte, snippet) in zip(bank.problems, found, strict=True):
        assert (problem.line, problem.column) == (line, column)
        assert f"byte {byte}" in problem.message
        assert snippet in problem.snippet
    # Whatever is told can be printed.
    "".join(map(str, [*bank.problems, *bank.notices])).encode("utf-8")


def test_a_format_can_be_forced(folder):
    message = r"two\.export:[0-9]+:1: text outside any tree; NEGRA export"
    with pytest.raises(TreebankFormatError, match=message):
        read_treebank(folder / "two.export", format="brackets")


@pytest.mark.slow
def test_a_tree_of_any_depth_is_read_and_cleaned(tmp_path):
    path = tmp_path / "deep.mrg"
    depth = 100_000
    path.write_text("( " + "(S-X (A b) " * depth + ")" * depth + ")\n")
    (tree,) = read_treebank(path).trees
    assert tree.height() == depth + 1
    assert isinstance(tree, Tree)
