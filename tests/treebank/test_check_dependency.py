"""Oddities of dependency treebanks."""

from __future__ import annotations

import pytest

from eigentree.treebank.check_dependency import examine_dependencies
from eigentree.treebank.io.conllu import read_dependencies
from tests.samples import sentence, text_of


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("The dog sleeps", None),
        ("The  dog\u00a0sleeps ", None),
        ("The dog sleeps!", "'The dog sleeps!' in # text, 'The dog sleeps' in the words"),
        ("The dogs sleep", "'The dogs sleep' in # text, 'The dog sleeps' in the words"),
        ("", "'' in # text, 'The dog sleeps' in the words"),
    ],
)
def test_a_text_that_differs_from_its_words_is_odd(tmp_path, text, detail):
    rows = text_of([sentence("The/D dog/N sleeps/V", [2, 3, 0])])
    (tmp_path / "one.conllu").write_text(f"# text = {text}\n{rows}", "utf-8")
    report = examine_dependencies(read_dependencies(tmp_path / "one.conllu"))
    found = [each.detail for each in report.oddities if each.kind.startswith("text")]
    assert found == ([] if detail is None else [detail])
