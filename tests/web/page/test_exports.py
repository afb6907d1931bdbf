"""Copies, pictures, and the formats that they are in."""

from __future__ import annotations

import json
import xml.etree.ElementTree
from pathlib import Path

import pytest

from eigentree._core.printable import visible
from eigentree.drawing.latex import trees_in_latex
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.io.conllu import read_conllu
from eigentree.treebank.tree import Tree
from tests.demo import demo_trees
from tests.web.browser import OLD_MAN, SLEEPING, copied, module, write

# Every character that CoNLL-U, LaTeX, qtree or forest takes for something else.
HARD = r"_ % & # { } \ ~ ^ $ [ ] , = . ! | < > " + '" a_b'


def clean(tree: Tree) -> Tree:
    """Without the nameless outer bracket."""
    return tree.children[0] if tree.label == "" else tree


def test_copies_are_what_other_programs_read(page, service):
    text = f'"{SLEEPING[:-1]}," he said.'
    write(page, text)
    record = service.post("/api/parse", {"text": text}).json["results"][0]
    assert copied(page, "brackets") == record["tree"] + "\n"
    assert json.loads(copied(page, "json")) == record
    conllu = copied(page, "conllu")
    (read,) = read_conllu(conllu.splitlines(keepends=True))
    assert f"# text = {text}" in conllu
    heads = service.post("/api/dependencies", {"sentences": [text]}).json["results"][0]["heads"]
    assert [word.head for word in read.sentence.words] == heads
    tree = parse_tree(record["tree"])
    for style in ("qtree", "forest"):
        assert copied(page, style) == trees_in_latex([clean(tree)], style, fragment=True)


def test_what_can_be_shown_is_what_the_package_shows(page):
    codes = [*range(0x300), 0x301, 0xAD, *range(0x2000, 0x2070), 0xFFFE, 0x1F600, 0x1FFFF]
    texts = [*map(chr, codes), "a\u0301", "a\u202eb", "ש\u05b8"]
    found = module(page, "dom", "return given[0].map(it.visible);", texts)
    assert found == [visible(text) for text in texts]


def test_conllu_without_dependencies(page):
    record = {
        "words": ["a", "_", "x y\tz", "|"],
        "tags": ["DT", "NN", "", "SYM"],
        "offsets": [[0, 1], [1, 2], [3, 8], [9, 10]],
    }
    body = "return it.conllu(given[0], 'a_ x y\\tz |');"
    told = module(page, "formats", body, record)
    lines = told.split("\n")
    assert lines[0] == "# text = a_ x y z |"
    assert lines[1] == "1\ta\t_\t_\tDT\t_\t_\t_\t_\tSpaceAfter=No"
    assert lines[3] == "3\tx y z\t_\t_\t_\t_\t_\t_\t_\t_"
    assert all(line.count("\t") == 9 for line in lines[1:5])
    assert lines[5:] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("style", ["qtree", "forest"])
def test_latex_is_that_of_the_package(page, style):
    hard = " ".join(f"(X-{word} {word})" for word in [*HARD.split(), "--", "``", "\u00a0", "-LRB-"])
    trees = [parse_tree(f"(S {hard})"), parse_tree("(X w)"), *demo_trees()[:20]]
    body = (
        "const trees = await import('/static/tree_model.js');"
        "return given[0].map((text) => it[given[1]](trees.readTree(text)));"
    )
    found = module(page, "formats", body, [format_tree(tree) for tree in trees], style)
    assert found == [trees_in_latex([tree], style, fragment=True) for tree in trees]
    assert "{\\textbackslash{}}" in found[0]
    assert "{-{}-}" in found[0]


@pytest.mark.slow
def test_trees_are_read_as_the_package_writes_them(page):
    texts = [
        "( (S (NP (DT the) (NN dog)) (VP (VBZ barks))))",
        "(NP (NP (NP (NN -LRB-x-RRB-))) (NN -L\\RB-) (NN -L\\\\RB-) (NN RB-))",
        "(X w)",
        "(A|B (@X \u00a0) (NP^S ،))",
    ]
    body = (
        "return it.nodesOf(it.readTree(given[0]))"
        ".map(({label, word, start, end}) => [label, word, start, end]);"
    )
    for text in texts:
        tree = parse_tree(text)
        found = module(page, "tree_model", body, text)
        assert [word for _, word, *_ in found if word is not None] == list(tree.words())
        spans = sorted((label, start, end) for label, word, start, end in found if word is None)
        named = sorted((s.label, s.start, s.end) for s in tree.spans() if s.label)
        assert spans == named


def test_a_picture_is_a_file_of_its_own(page):
    write(page, OLD_MAN)
    page.click("#theme")
    page.click("#theme")  # dark, which the file is not
    for view in ("tree", "chart", "dependencies"):
        page.click(f"#view-{view}")
        page.wait_for_selector({"dependencies": "svg.arcs"}.get(view, f"svg.{view}"))
        with page.expect_download() as started:
            page.click("[data-copy=svg]")
        text = Path(started.value.path()).read_text("utf-8")
        assert started.value.suggested_filename == f"{view}.svg"
        root = xml.etree.ElementTree.fromstring(text)
        told = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"house", "dog"} <= set(told)
        for foreign in (
            "var(",
            "class=",
            "color(",
            "color-mix",
            " style=",
            "tabindex",
            "aria-level",
        ):
            assert foreign not in text
        assert 'fill="#ffffff"' in text
