"""Dependency parsers in files: the same after reading, and no forged or damaged one is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eigentree.dependency.model_file import CODEC
from eigentree.dependency.parser import DependencyParser
from eigentree.errors import ModelFileError
from eigentree.model_file import open_model, save_model
from tests.samples import plain_parser, treebank, whole_parser


@pytest.mark.parametrize("make", [plain_parser, whole_parser])
def test_a_parser_is_the_same_after_reading(make, tmp_path):
    parser = make()
    first, second = tmp_path / "first.egt", tmp_path / "second.egt"
    parser.save(first)
    for verify in (True, False):
        read = DependencyParser.load(first, verify=verify)
        assert read.options == parser.options
        assert read.description == parser.description
        assert read.tag_scheme == parser.tag_scheme
        for each in treebank(10, 4):
            tags = each.tags("upos")
            assert read.parse(each.forms(), tags) == parser.parse(each.forms(), tags)
            if parser.tagger is not None:
                assert read.parse(each.forms()) == parser.parse(each.forms())
    DependencyParser.load(first).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other"
    with pytest.raises(ModelFileError, match="can't be read"):
        DependencyParser.load(path)
    path.write_text("no model")
    with pytest.raises(ModelFileError, match="isn't an eigentree model"):
        DependencyParser.load(path)
    save_model(path, {"kind": "parser"}, {})
    hint = f"is a model of kind 'parser'; expected '{CODEC.kind}'; it is for eigentree parse$"
    with pytest.raises(ModelFileError, match=hint):
        DependencyParser.load(path)
    save_model(path, {"kind": "tagger"}, {})
    with pytest.raises(ModelFileError, match=r"expected 'dependency parser'$"):
        DependencyParser.load(path)


Change = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, _: header.pop("symbols"), "symbols"),
        (lambda header, _: header.update(tag_scheme="pos"), "unknown tag scheme"),
        (lambda header, _: header["options"].update(objective="most"), "objective"),
        (lambda header, _: header["options"].update(lexical_weight=-1.0), "lexical_weight"),
        (lambda header, _: header["symbols"].reverse(), None),
        (lambda header, _: header["symbols"].append("more"), "n_states"),
        (lambda header, _: header["symbols"].remove("unknown tag"), "n_states"),
        (lambda header, _: header.update(relations=["one"]), "labels|ArcLabels"),
        (lambda header, _: header["lexical"]["tags"].pop(), "after"),
        (lambda header, _: header["lexical"]["words"].pop(), "lexicon|word"),
        (lambda header, _: header["lexical"].update(diversity=-1.0), "diversity"),
        (lambda _, arrays: arrays.pop("automata.final"), "lacks 'automata.final'"),
        (lambda _, arrays: arrays.pop("back_off.automata.final"), "lacks 'automata.final'"),
        (lambda _, arrays: arrays.update({"automata.n_states": np.zeros(3)}), "n_states"),
        (lambda _, arrays: arrays["automata.n_states"].fill(2**40), "do not match"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: Change, message, tmp_path):
    path = tmp_path / "model.egt"
    whole_parser().save(path)
    file = open_model(path)
    header, arrays = dict(file.header), {name: np.array(each) for name, each in file.arrays.items()}
    change(header, arrays)
    save_model(path, header, arrays, file.blobs)
    if message is None:  # a harmless change, so that this test can tell
        DependencyParser.load(path)
        return
    with pytest.raises(ModelFileError, match=message) as caught:
        DependencyParser.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_a_file_may_lack_what_is_optional(tmp_path):
    path = tmp_path / "model.egt"
    plain_parser().save(path)
    file = open_model(path)
    assert (file.header["kind"], file.header["lexical"], file.blobs) == (CODEC.kind, None, {})
    read = DependencyParser.load(path)
    assert (read.lexical, read.relations, read.tagger) == (None, None, None)
