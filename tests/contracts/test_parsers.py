"""What holds for the parser of every product."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from eigentree.base import load
from eigentree.errors import ModelFileError, SettingsError
from eigentree.model_file import open_model, save_model
from tests.contracts.products import PRODUCTS, Product, ensemble_folder
from tests.demo import run_verb

pytestmark = pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
LONG = 300


def saved(product: Product, tmp_path: Any) -> Any:
    parser = product.make()
    if product is PRODUCTS["ensemble"]:
        return ensemble_folder()  # an ensemble is in its folder from training on
    parser.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_parser_parses_alike(product, tmp_path):
    path = saved(product, tmp_path)
    parser, loaded = product.make(), load(path)
    assert type(loaded) is type(parser)
    sentences = product.sentences()[:10]
    assert list(loaded.parse_many(sentences)) == list(parser.parse_many(sentences))


def test_no_words_are_an_empty_result(product):
    result = product.make().parse([], [])
    assert (result.words, result.tags, result.fallback) == ([], [], "empty")


@pytest.mark.parametrize("length", [1, 2, LONG])
def test_any_length_gives_a_result(product, length):
    words, tags = product.sentences()[0]
    times = 1 + length // len(words)
    words, tags = (words * times)[:length], (tags * times)[:length]
    result = product.make().parse(words, tags)
    assert (result.words, result.tags) == (words, tags)


def test_unknown_words_and_tags_give_a_result(product):
    result = product.make().parse(["zyx", "\u4e2d", "..."], ["QQ", "RR", "SS"])
    assert result.words == ["zyx", "\u4e2d", "..."]


def test_order_changes_nothing(product):
    sentences = product.sentences()[:12]
    forwards = list(product.make().parse_many(sentences))
    assert list(product.make().parse_many(sentences[::-1])) == forwards[::-1]
    assert [product.make().parse(*each) for each in sentences] == forwards


def test_batches_are_read_as_they_are_needed(product):
    def endless():
        while True:
            yield from product.sentences()

    results = product.make().parse_many(endless())
    assert next(results).words == product.sentences()[0][0]


def test_a_model_of_another_kind_is_refused(product, tmp_path):
    path = saved(product, tmp_path)
    for other in PRODUCTS.values():
        if other is not product:
            with pytest.raises(ModelFileError):
                type(other.make()).load(path)


@pytest.mark.slow
def test_processes_change_nothing(product):
    sentences = product.sentences()[:40]
    alone = list(product.make().parse_many(sentences))
    assert list(product.make().parse_many(sentences, jobs=2)) == alone


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_results_before_an_error_are_returned(product, jobs):
    good = product.sentences()[:3]
    results = product.make().parse_many([*good, (["a"], []), *good], jobs=jobs)
    assert [next(results).words for _ in good] == [words for words, _ in good]
    with pytest.raises(SettingsError, match="1 word but 0 tags"):
        next(results)


def test_wrong_numbers_of_tags_are_a_settings_error(product):
    with pytest.raises(SettingsError, match="2 words but 1 tag"):
        product.make().parse(["a", "b"], ["NN"])
    with pytest.raises(ValueError, match="tags are given for a text"):
        product.make().parse("a b", ["NN", "NN"])
    with pytest.raises(SettingsError, match="jobs is 0"):
        next(product.make().parse_many([], jobs=0))
    with pytest.raises(TypeError, match="got one string"):
        next(product.make().parse_many("a b"))


def test_results_and_summaries_are_json(product):
    parser = product.make()
    result = parser.parse(*product.sentences()[0])
    told = json.loads(json.dumps(result.to_dict()))
    assert (told["words"], told["fallback"]) == (result.words, result.fallback)
    assert json.loads(json.dumps(parser.summary()))


def test_summaries_are_what_inspect_prints(product, tmp_path):
    parser = product.make()
    path = tmp_path / "model.egt"
    parser.save(path)
    code, out, err = run_verb("inspect", path, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    sizes = {"file", "bytes", "bytes_of_work"}
    assert {name: value for name, value in report.items() if name not in sizes} == json.loads(
        json.dumps(parser.summary())
    )
    assert report["file"] == str(path)
    assert report["bytes"] > 0


def test_texts_need_a_tagger(product):
    parser = product.make()
    if product.tagger and parser.tagger is not None:
        results = parser.parse_text("The man slept.")
        assert [result.words for result in results] == [["The", "man", "slept", "."]]
        assert results[0].offsets == ((0, 3), (4, 7), (8, 13), (13, 14))
    elif not product.tagger:
        with pytest.raises(SettingsError, match="no tagger"):
            parser.parse_text("The man slept.")


def test_a_parser_can_not_be_changed(product):
    parser = product.make()
    with pytest.raises(TypeError):
        parser.description["method"] = "magic"
    assert isinstance(hash(parser), int)


def test_arguments_of_training_are_the_same(product):
    names = list(inspect.signature(type(product.make()).train).parameters)
    common = ["data", "settings", "method", "dev", "seed", "jobs", "checkpoint", "progress"]
    assert names[: len(common)] == common


def test_files_without_their_parts_are_refused(product, tmp_path):
    path = saved(product, tmp_path)
    if path.is_dir():
        return  # its members are model files of another kind
    file = open_model(path)
    forged = tmp_path / "forged"
    parts: list[tuple[dict[str, Any], dict[str, Any], dict[str, bytes]]] = [
        (file.header, {}, file.blobs),
        ({"kind": file.header["kind"]}, file.arrays, file.blobs),
        (file.header, {name: array[:1] for name, array in file.arrays.items()}, file.blobs),
        (file.header, {name: array.ravel() for name, array in file.arrays.items()}, file.blobs),
        (file.header, {name: array[..., None] for name, array in file.arrays.items()}, file.blobs),
    ]
    for header, arrays, blobs in parts:
        save_model(forged, header, arrays, blobs)
        with pytest.raises(ModelFileError, match="forged: "):
            load(forged)
