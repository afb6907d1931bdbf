"""What holds for the parser of every product."""

from __future__ import annotations

from typing import Any

import pytest

from eigentree.base import load
from eigentree.errors import ModelFileError
from tests.contracts.products import PRODUCTS, Product, ensemble_folder

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
