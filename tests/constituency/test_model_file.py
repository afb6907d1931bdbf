"""Model files of parsers: round trips, and rejection of forged and damaged files."""

from __future__ import annotations

import copy
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from eigentree.constituency.grammar.arrays import COUNTS
from eigentree.constituency.grammar.lpcfg import LPCFG
from eigentree.constituency.model_file import CODEC, IMPLIED
from eigentree.constituency.parser import ConstituencyParser
from eigentree.constituency.training_options import TrainingOptions
from eigentree.errors import EigentreeError, ModelFileError
from eigentree.model_file import open_model, save_model
from eigentree.treebank.tree import Tree
from tests.demo import any_length_parser, demo_parser, demo_trees
from tests.helpers import close
from tests.strategies import random_lpcfg, random_pcfg

SENTENCES = [
    (["The", "dog", "sees", "the", "cat", "."], ["DT", "NN", "VBZ", "DT", "NN", "."]),
    (["Zorgle", "????"], None),
    (["She", "saw", "it", "in", "the", "old", "house", "."], None),
    (["the", "the"], [".", "XX"]),
]

# Saving and loading -----------------------------------------------------------------------


@pytest.mark.parametrize("verify", [True, False])
def test_a_loaded_parser_parses_alike(tmp_path, verify):
    path = tmp_path / "demo.egt"
    demo_parser().save(path)
    loaded = ConstituencyParser.load(path, verify=verify)
    sentences = [*SENTENCES, *((tree.words(), None) for tree in demo_trees()[:20])]
    assert list(loaded.parse_many(sentences)) == list(demo_parser().parse_many(sentences))
    assert loaded.options == demo_parser().options
    assert loaded.wrapper == demo_parser().wrapper
    assert loaded.description == demo_parser().description
    assert loaded.cleaning == demo_parser().cleaning


@pytest.mark.parametrize("wrapper", [None, "", "ROOT", "VROOT-é"])
def test_parsers_without_tagger_or_description(tmp_path, wrapper):
    path = tmp_path / "bare.egt"
    ConstituencyParser(any_length_parser().grammar, wrapper=wrapper).save(path)
    loaded = ConstituencyParser.load(path)
    assert (loaded.tagger, loaded.wrapper, loaded.description) == (None, wrapper, {})
    assert loaded.parse(["a", "b"]).tree == any_length_parser().parse(["a", "b"]).tree


def test_arrays_are_in_the_file_as_the_format_says(tmp_path):
    path = tmp_path / "demo.egt"
    demo_parser().save(path)
    file = open_model(path, kind=CODEC.kind)
    assert file.arrays["latent.dense"].dtype == np.float32
    assert set(file.blobs) == {"tagger"}
    assert file.header["kind"] == "parser"


# Forgeries --------------------------------------------------------------------------------


@cache
def parts() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a small parser that has rules in both forms and no tagger."""
    import tempfile
    from pathlib import Path

    settings = TrainingOptions(tagger=False)
    parser = ConstituencyParser.train(demo_trees()[:120], settings=settings, states=4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.egt"
        parser.save(path)
        file = open_model(path, kind=CODEC.kind)
        return file.header, {name: array.copy() for name, array in file.arrays.items()}


@cache
def counted_parts() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a parser whose seen rules and words are stored as counts."""
    import tempfile
    from pathlib import Path

    settings = TrainingOptions(method="clustering", tagger=False)
    parser = ConstituencyParser.train(demo_trees()[:120], settings=settings, states=4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small.egt"
        parser.save(path)
        file = open_model(path, kind=CODEC.kind)
        return file.header, {name: array.copy() for name, array in file.arrays.items()}


def survives(path) -> bool:
    """True if a model can be loaded and used; False if it is rejected with a `ModelFileError`."""
    try:
        parser = ConstituencyParser.load(path)
    except ModelFileError as error:
        message = str(error)
        in_order = message.startswith(f"{path}: ") and "\n" not in message
        return not in_order
    with np.errstate(all="ignore"):
        for words, tags in SENTENCES:
            result = parser.parse(words, tags)
            assert isinstance(result.tree, Tree)
            assert result.tree.words() == words
    return True


def first_to(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array.flat[0] = np.array(value).astype(array.dtype)
        return array

    return change


def last_to(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array.flat[-1] = np.array(value).astype(array.dtype)
        return array

    return change


def all_largest(array: np.ndarray) -> np.ndarray:
    kind = np.finfo if array.dtype.kind == "f" else np.iinfo
    return np.full_like(array, kind(array.dtype).max)


def all_lowest(array: np.ndarray) -> np.ndarray:
    kind = np.finfo if array.dtype.kind == "f" else np.iinfo
    return np.full_like(array, kind(array.dtype).min)


def shuffled(array: np.ndarray) -> np.ndarray:
    return np.random.default_rng(3).permutation(array)


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "first negative": first_to(-1),
    "first far below": first_to(-(2**31)),
    "first far beyond": first_to(2**31 - 1),
    "last negative": last_to(-1),
    "last beyond": last_to(10**6),
    "largest": all_largest,
    "lowest": all_lowest,
    "zero": np.zeros_like,
    "one more each": lambda array: array + np.ones_like(array),
    "shuffled": shuffled,
    "reversed": lambda array: array[::-1],
    "shorter": lambda array: array[:-1],
    "longer": lambda array: np.concatenate([array, array[-1:]]),
    "empty": lambda array: array[:0],
    "other axes": lambda array: array[None],
    "flat": lambda array: array.reshape(-1)[:1].reshape(()),
    "wider": lambda array: array.astype("f8" if array.dtype.kind == "f" else "u8"),
    "narrower": lambda array: array.astype("f4" if array.dtype.kind == "f" else "i2"),
    "other kind": lambda array: array.astype("i8" if array.dtype.kind == "f" else "f8"),
    "truth values": lambda array: array.astype(bool),
}
ARRAYS = [
    *(f"words.{name}" for name in ("word", "symbol", "count")),
    *(f"pcfg.{name}" for name in ("parent", "left", "right", "probability", "root")),
    *(
        f"latent.{name}"
        for name in (
            "state_start", "rule_symbols", "dense_start", "dense", "n_samples", "sample_start",
            "samples", "ratio", "smoothing", "outside_mean", "inside_mean", "lexical_start",
            "lexical", "unseen_word", "root",
        )
    ),
]  # fmt: skip
# Arrays of indices for kernels: every change must be detected.
INDICES = {
    "words.word", "words.symbol", "pcfg.parent", "pcfg.left", "pcfg.right", "latent.state_start",
    "latent.rule_symbols", "latent.n_samples", "latent.lexical_start",
}  # fmt: skip


def test_every_array_is_tampered_with():
    _, arrays = parts()
    assert sorted(arrays) == sorted(ARRAYS)
    starts = arrays["latent.dense_start"]
    assert 0 < np.sum(starts < 0) < len(starts)


def test_the_small_parser_works(tmp_path):
    header, arrays = parts()
    save_model(tmp_path / "small.egt", header, arrays)
    assert survives(tmp_path / "small.egt")


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ARRAYS)
def test_forged_arrays_are_refused_or_harmless(tmp_path, name, change):
    header, arrays = parts()
    with np.errstate(all="ignore"):
        forged = np.ascontiguousarray(CHANGES[change](arrays[name]))
    if change == "flat":
        forged = forged.reshape(())
    path = tmp_path / "forged.egt"
    save_model(path, header, {**arrays, name: forged})
    used = survives(path)
    if forged.dtype == arrays[name].dtype and np.array_equal(forged, arrays[name]):
        assert used
        return
    has_spare_end = change == "longer" and name in ("latent.dense", "latent.samples")
    other_shape = forged.shape != arrays[name].shape and not has_spare_end
    if name in INDICES or other_shape or forged.dtype != arrays[name].dtype:
        assert not used


COUNTED = [f"latent.{name}" for name in COUNTS]


def test_counts_are_in_a_file_only_where_they_are_used(tmp_path):
    header, arrays = counted_parts()
    left_out = {f"latent.{name}" for name in IMPLIED}
    assert sorted(arrays) == sorted({*ARRAYS, *COUNTED} - left_out)
    assert arrays["latent.triples"].dtype == arrays["latent.word_state"].dtype == np.uint16
    # Small whole numbers lose nothing in half the space.
    assert arrays["latent.uses"].dtype == np.uint16
    save_model(tmp_path / "small.egt", header, arrays)
    assert survives(tmp_path / "small.egt")


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", [*COUNTED, "latent.n_samples"])
def test_forged_counts_are_refused_or_harmless(tmp_path, name, change):
    header, arrays = counted_parts()
    with np.errstate(all="ignore"):
        forged = np.ascontiguousarray(CHANGES[change](arrays[name]))
    if change == "flat":
        forged = forged.reshape(())
    path = tmp_path / "forged.egt"
    save_model(path, header, {**arrays, name: forged})
    used = survives(path)
    if forged.dtype == arrays[name].dtype and np.array_equal(forged, arrays[name]):
        assert used
        return
    if forged.shape != arrays[name].shape or forged.dtype != arrays[name].dtype:
        assert not used
    if name in ("latent.word_use_start", "latent.n_samples"):
        assert not used


@pytest.mark.parametrize("name", COUNTED)
def test_a_missing_array_of_counts_is_named(tmp_path, name):
    header, arrays = counted_parts()
    path = tmp_path / "less.egt"
    save_model(path, header, {other: arrays[other] for other in arrays if other != name})
    with pytest.raises(ModelFileError, match=r"the model's parts don't fit: lacks 'latent\."):
        ConstituencyParser.load(path)


@pytest.mark.slow
def test_a_parser_of_counts_comes_back_to_the_bit(tmp_path):
    trees = demo_trees()
    parser = ConstituencyParser.train(trees[:120], method="clustering", states=4)
    path = tmp_path / "counts.egt"
    parser.save(path)
    loaded = ConstituencyParser.load(path)
    for name, array in parser.grammar.parameters._asdict().items():
        assert np.array_equal(array, getattr(loaded.grammar.parameters, name)), name
    for tree in trees[120:140]:
        assert loaded.parse(tree.words()) == parser.parse(tree.words())


def test_counts_beside_other_forms_come_back_too(tmp_path):
    rng = np.random.default_rng(4)
    backbone = random_pcfg(rng, 2, 2, 6)
    is_part = np.array([symbol.kind == "intermediate" for symbol in backbone.symbols.symbols])
    backbone = replace(backbone, root=np.where(is_part, 0.0, backbone.root))
    grammar = random_lpcfg(rng, backbone, 3, signed=True, samples=0.3, counts=0.6).rounded()
    assert 0 < grammar.is_counted.sum() < backbone.n_rules
    path = tmp_path / "mixed.egt"
    ConstituencyParser(grammar).save(path)
    for name, array in grammar.parameters._asdict().items():
        assert np.array_equal(
            array, getattr(ConstituencyParser.load(path).grammar.parameters, name)
        ), name


def test_compact_grammars_have_half_the_size_and_come_back(tmp_path):
    rng = np.random.default_rng(6)
    backbone = random_pcfg(rng, 3, 3, 6)
    is_part = np.array([symbol.kind == "intermediate" for symbol in backbone.symbols.symbols])
    backbone = replace(backbone, root=np.where(is_part, 0.0, backbone.root))
    grammar = random_lpcfg(rng, backbone, 8, signed=True, samples=0.2)
    compact = grammar.rounded(compact=True)
    whole, half = tmp_path / "whole.egt", tmp_path / "half.egt"
    ConstituencyParser(grammar.rounded()).save(whole)
    ConstituencyParser(compact).save(half)
    loaded = ConstituencyParser.load(half).grammar.parameters
    for name, array in compact.parameters._asdict().items():
        assert np.array_equal(array, getattr(loaded, name)), name
    assert close(loaded.dense, grammar.parameters.dense, rtol=2.0**-8)
    saved = whole.stat().st_size - half.stat().st_size
    assert saved >= 2 * (grammar.parameters.dense.size + grammar.parameters.lexical.size) - 256


def test_infinite_upper_halves_are_refused(tmp_path):
    header, arrays = parts()
    halves = np.full(arrays["latent.dense"].shape, 0x7F80, dtype=np.uint16)
    path = tmp_path / "infinite.egt"
    save_model(path, header, {**arrays, "latent.dense": halves})
    with pytest.raises(ModelFileError, match=r"latent\.dense holds values that aren't finite"):
        ConstituencyParser.load(path)


@pytest.mark.parametrize("name", ARRAYS)
def test_a_missing_array_is_named(tmp_path, name):
    header, arrays = parts()
    path = tmp_path / "less.egt"
    save_model(path, header, {other: arrays[other] for other in arrays if other != name})
    with pytest.raises(ModelFileError, match=f"the model's parts don't fit: lacks '{name}'"):
        ConstituencyParser.load(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["latent.dense", "latent.root", "words.count", "pcfg.root"])
def test_values_that_are_no_numbers_cannot_be_stored(tmp_path, name, value):
    header, arrays = parts()
    with pytest.raises(ModelFileError, match=f"array '{name}' holds values that aren't finite"):
        save_model(tmp_path / "nan.egt", header, {**arrays, name: last_to(value)(arrays[name])})


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        (lambda p: p.lexical_start - 1, "lexical_start must begin with 0"),
        (lambda p: np.r_[0, p.lexical_start[1:-1][::-1], p.lexical_start[-1]], "never decrease"),
        (lambda p: p.lexical_start * 2, "do not match the word table"),
    ],
)
def test_starts_are_checked(starts, message):
    grammar = any_length_parser().grammar
    forged = grammar.parameters._replace(lexical_start=starts(grammar.parameters))
    with pytest.raises(EigentreeError, match=message):
        LPCFG(grammar.backbone, forged, signed=True)


def change_of(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(header: dict[str, Any]) -> None:
        place: Any = header
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_of("signed", to="perhaps"), "its header's signed should be "),
        (change_of("symbols", to="S"), "its header's symbols should be "),
        (change_of("symbols", 0, to=["interminal", [], [], []]), "has a label that is empty or"),
        (change_of("symbols", 0, to=["interminal", ["A B"], [], []]), "label 'A B' contains white"),
        (
            change_of("symbols", 0, to=["sort", ["A"], [], []]),
            "its header's symbols.0.0 should be ",
        ),
        (change_of("symbols", 0, to=["preterminal", ["A"], [], []]), "must be last"),
        (
            change_of("symbols", 0, to=["interminal", "A", [], []]),
            "its header's symbols.0.1 should be ",
        ),
        (change_of("symbols", to=[]), "under|range|axis|zero|symbol"),
        (change_of("words", to=[1, 2]), "its header's words.0 should be "),
        (change_of("words", to=["a", "b"]), "lacks '< >'"),
        (change_of("words", to=["< >", "a", "a"]), "has a duplicate entry"),
        (change_of("words", to=["< >"]), "the pairs of words and symbols are unsorted"),
        (change_of("lexicon", to={"rare_threshold": -1}), "rare_threshold is -1"),
        (change_of("lexicon", to=None), "its header's lexicon should be "),
        (change_of("options", "threshold", to=2.0), "threshold is 2.0"),
        (change_of("options", "max_words", to=0), "max_words is 0"),
        (change_of("options", "objective", to="best"), "its header's options.objective should be "),
        (change_of("wrapper", to="(S"), "its header's wrapper: "),
        (change_of("wrapper", to=["S"]), "its header's wrapper should be "),
        (change_of("description", to=[]), "its header's description should be "),
        (
            change_of("description", "treebank", to=3),
            "its header's description.treebank should be ",
        ),
        (change_of("description", "treebank", "cleaning", to=3), "description.treebank.cleaning"),
        (
            change_of("description", "treebank", "cleaning", "root_labels", to=7),
            "description.treebank.cleaning.root_labels",
        ),
        (change_of("description", "symbol_counts", to=[1]), "symbol_counts has 1 entries for"),
        (change_of("description", "singular_values", to=[[1.0]]), "singular_values has 1"),
        (change_of("description", "trees", to="many"), "its header's description.trees should be "),
        (change_of("description", "em", to=[]), "its header's description.em should be "),
        (change_of("description", "em", to={"best": 1}), "its header's description.em.settings: "),
        (change_of("description", "state_search", to={"f1": 1}), "state_search.settings"),
        (change_of("kind", to="tagger"), "is a model of kind 'tagger'; expected 'parser'"),
    ],
)
def test_forged_headers_are_refused(tmp_path, change, message):
    header, arrays = parts()
    header = copy.deepcopy(header)
    change(header)
    path = tmp_path / "forged.egt"
    save_model(path, header, arrays)
    with pytest.raises(ModelFileError, match=f"^{re.escape(str(path))}: .*({message})"):
        ConstituencyParser.load(path)


@pytest.mark.parametrize(
    "name", ["signed", "symbols", "words", "lexicon", "options", "wrapper", "description"]
)
def test_a_missing_part_of_the_header_is_named(tmp_path, name):
    header, arrays = parts()
    path = tmp_path / "less.egt"
    save_model(path, {key: header[key] for key in header if key != name}, arrays)
    with pytest.raises(ModelFileError, match=f"its header's {name}: "):
        ConstituencyParser.load(path)


@pytest.mark.parametrize(
    "blob", [b"", b"tagger", b"eigentree tagger 1 chain\n", b"eigentree tagger 1 chain\nlCRF"]
)
def test_a_forged_tagger_is_refused(tmp_path, blob):
    header, arrays = parts()
    path = tmp_path / "forged.egt"
    save_model(path, header, arrays, {"tagger": blob})
    with pytest.raises(ModelFileError, match="are not a whole tagger of this version"):
        ConstituencyParser.load(path)


# Files that are no models -----------------------------------------------------------------


def pickled(path) -> None:
    # The first bytes of a pickle of protocol 4, which must never be unpickled.
    path.write_bytes(b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00cos\nsystem\n")


def zipped(path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.txt", "no model")


def cut_off(path) -> None:
    demo_parser().save(path)
    path.write_bytes(path.read_bytes()[:-1000])


def damaged(path) -> None:
    demo_parser().save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "can't be read: No such file or directory"),  # noqa: ARG005
        (lambda path: path.mkdir(), "is a folder; expected a model file of kind 'parser'"),
        (lambda path: path.write_bytes(b""), "is empty, so it isn't an eigentree model"),
        (lambda path: path.write_text("(S (NN dog))\n" * 99), "isn't an eigentree model"),
        (pickled, "looks like a pickle, which could run code"),
        (zipped, "isn't an eigentree model"),
        (cut_off, "is damaged: it has .* bytes and should have"),
        (damaged, "is damaged: its content doesn't match its digest"),
    ],
)
def test_other_files_are_refused(tmp_path, make, message):
    path = tmp_path / "model.egt"
    make(path)
    with pytest.raises(ModelFileError, match=f"^{re.escape(str(path))}: {message}"):
        ConstituencyParser.load(path)


def test_an_older_model_stays_when_saving_fails(tmp_path):
    path = tmp_path / "model.egt"
    demo_parser().save(path)
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="the header can't be written as JSON"):
        replace(demo_parser(), description={"trees": object()}).save(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.egt"]
