"""The command ``inspect``, for constituency parsers."""

from __future__ import annotations

import json

import pytest

from eigentree.constituency.parser import ConstituencyParser
from eigentree.treebank.io.brackets import parse_tree
from eigentree.treebank.tree import Tree
from tests.demo import HELD_OUT, demo_parser, demo_trees, run_verb


def test_inspect_as_json(model):
    code, out, err = run_verb("inspect", model, "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert report["trained"]["trees"] == len(demo_trees())
    assert report["bytes"] == model.stat().st_size
    assert report["signed"] is True
    assert report["wrapper"] == ""
    assert len(report["nonterminals"]) == report["sizes"]["nonterminals"]
    counts = [row["count"] for row in report["nonterminals"]]
    assert counts == sorted(counts, reverse=True)
    assert sum(row["states"] for row in report["nonterminals"]) == report["sizes"]["latent states"]
    assert sum(row["rules"] for row in report["nonterminals"]) == report["sizes"]["binary rules"]
    assert report["nonterminals"][0]["singular_values"] == sorted(
        report["nonterminals"][0]["singular_values"], reverse=True
    )


def test_inspect_for_people(model):
    code, out, err = run_verb("inspect", model, "--limit", "3")
    assert (code, err) == (0, "")
    assert f"trained on {len(demo_trees())} trees" in out
    table = out[out.index("nonterminal ") :].splitlines()
    assert len([line for line in table if line.strip()]) == 4


@pytest.mark.parametrize("method", ["pcfg", "markov"])
def test_inspect_a_pcfg(treebank, tmp_path, method):
    model = tmp_path / "pcfg.egt"
    assert run_verb("train", treebank, "-o", model, "-q", "--method", method)[0] == 0
    report = json.loads(run_verb("inspect", model, "--json")[1])
    assert report["signed"] is False
    assert {row["states"] for row in report["nonterminals"]} == {1}


def test_inspect_a_parser_that_reports_nothing(tmp_path):
    model = tmp_path / "bare.egt"
    ConstituencyParser(demo_parser().grammar).save(model)
    for options in ((), ("--json",)):
        code, out, err = run_verb("inspect", model, *options)
        assert (code, err) == (0, "")
        assert out
    code, out, _ = run_verb("parse", "-m", model, "--input-format", "trees", HELD_OUT)
    assert code == 0
    assert isinstance(parse_tree(out.splitlines()[0]), Tree)
