"""Files of Brown clusters: round trips, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from eigentree.errors import EigentreeError, ModelFileError, TreebankFormatError
from eigentree.model_file import save_model
from eigentree.words.brown import BrownClusters
from eigentree.words.brown_files import KIND, parse_clusters, read_clusters, write_clusters

TEXT = "00\tthe\t9\n01\tdog\t5\n01\tcat\t1\n1\tMay\u00a0day\t3\n"


def small() -> BrownClusters:
    return BrownClusters(
        ("the", "dog", "May\u00a0day", "cat"),
        np.array([0, 1, 2, 1], dtype=np.int32),
        np.array([9, 5, 3, 1]),
        ("00", "01", "1"),
    )


def same(one: BrownClusters, other: BrownClusters) -> bool:
    arrays = np.array_equal(one.cluster, other.cluster) and np.array_equal(one.count, other.count)
    return (one.words, one.paths) == (other.words, other.paths) and arrays


@pytest.mark.parametrize("name", ["clusters.tsv", "clusters.egt"])
def test_files_give_back_what_was_written(tmp_path, name):
    write_clusters(small(), tmp_path / name)
    assert same(read_clusters(tmp_path / name), small())


def test_text_is_path_word_and_count_by_cluster(tmp_path):
    write_clusters(small(), tmp_path / "clusters.tsv")
    assert (tmp_path / "clusters.tsv").read_text("utf-8") == TEXT
    assert same(parse_clusters(reversed(TEXT.splitlines())), small())


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["0\ta\t1", "1\tb"], "<input>:2: has 2 columns"),
        (["0 a 1"], "<input>:1: has 1 columns"),
        (["0\ta\t1", "", "12\tb\t1"], "<input>:3: '12' isn't a path"),
        (["\ta\t1"], "<input>:1: '' isn't a path"),
        (["0\t\t1"], "<input>:1: the word is empty"),
        (["0\ta\t-1"], "<input>:1: '-1' isn't a count"),
        (["0\ta\t99999999999999999999"], "isn't a count"),
        (["0\ta\t" + "9" * 5000], "9... isn't a count"),
        (["0\ta\t1", "1\ta\t2"], "<input>:2: 'a' has a path in line 1 too"),
        (["0\ta\t1", "01\tb\t2"], "<input>: the path '0' is a prefix of '01'"),
        ([""], "<input>: has no word"),
    ],
)
def test_text_that_is_refused(lines, why):
    with pytest.raises(TreebankFormatError) as caught:
        parse_clusters(lines)
    assert why in str(caught.value)


def test_models_that_are_refused(tmp_path):
    path = tmp_path / "clusters.egt"
    arrays = {"cluster": np.zeros(1, np.int32), "count": np.ones(1, np.int64)}
    for header, blobs, why in (
        ({"kind": "parser"}, {"words": b"a"}, "is a model of kind 'parser'"),
        ({"kind": KIND, "paths": [1]}, {"words": b"a"}, "paths aren't"),
        ({"kind": KIND, "paths": ["0"]}, {}, "lacks 'words'"),
        ({"kind": KIND}, {"words": b"a"}, "lacks 'paths'"),
        ({"kind": KIND, "paths": ["0"]}, {"words": b"\xff"}, "utf-8"),
        ({"kind": KIND, "paths": ["0"]}, {"words": b"a\nb"}, "axis 0 of cluster"),
    ):
        save_model(path, header, arrays, blobs)
        with pytest.raises(ModelFileError, match=why):
            read_clusters(path)


@pytest.mark.parametrize("word", ["a\tb", "a\n", ""])
def test_words_that_files_can_not_hold(tmp_path, word):
    clusters = BrownClusters(
        (word, "b"), np.arange(2, dtype=np.int32), np.ones(2, np.int64), ("0", "1")
    )
    for name in ("clusters.tsv", "clusters.egt"):
        with pytest.raises(EigentreeError, match="can't be written"):
            write_clusters(clusters, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
