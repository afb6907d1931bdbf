"""Maps to universal tags: those of the package and those of users."""

from __future__ import annotations

import pytest

from eigentree.errors import SettingsError, TreebankFormatError
from eigentree.treebank.universal_tags import (
    PACKAGED_MAPS,
    UNIVERSAL,
    TagMap,
    fitting_map,
    read_tag_map,
    tag_map,
)

SOME = {
    "penn": "DT DET; NN NOUN; NNPS NOUN; VBZ VERB; MD VERB; JJR ADJ; RB ADV; WRB ADV; PRP$ PRON; "
    "WP PRON; WDT DET; IN ADP; TO PRT; POS PRT; CD NUM; CC CONJ; UH X; -LRB- .; `` .; $ .",
    "stts": "ART DET; NN NOUN; NE NOUN; VVPP VERB; VMFIN VERB; ADJD ADJ; ADV ADV; PPER PRON; "
    "PROAV PRON; PTKVZ PRT; APPRART ADP; CARD NUM; KOUS CONJ; FM X; $, .; $( .; $LRB .",
    "sinica": "Nab NOUN; Nhaa PRON; Neqa DET; Ng ADP; P21 ADP; VC2[+ASP] VERB; Dbb ADV; DM NUM; "
    "Caa[P1] CONJ; Ta PRT; DE X; A ADJ; COMMACATEGORY .",
    "ud": "PROPN NOUN; AUX VERB; SCONJ CONJ; PART PRT; INTJ X; PUNCT .",
}


@pytest.mark.parametrize("name", PACKAGED_MAPS)
def test_packaged_maps_know_their_tags(name):
    found = tag_map(name)
    for pair in SOME[name].split("; "):
        tag, universal = pair.split()
        assert found(tag) == universal, tag
        assert found.is_punctuation(tag) == (universal == ".")
    assert found.find("no such tag") is None
    assert found("no such tag") == "X"
    assert {universal for _, universal in found.patterns} <= set(UNIVERSAL)


def test_the_tag_itself_counts_before_longer_and_shorter_patterns():
    found = TagMap("own", (("N*", "NOUN"), ("Nx", "NUM"), ("Nxy*", "ADJ")))
    assert [found(tag) for tag in ("N", "Nx", "Nxz", "Nxy", "Nxyz")] == [
        *("NOUN", "NUM", "NOUN", "ADJ", "ADJ")
    ]


def test_tags_may_be_left_as_they_are():
    found = tag_map("none")
    assert [found(tag) for tag in ("NN", "PUNCT", ",", "``", "-LRB-")] == [
        *("NN", ".", ".", ".", "-LRB-")
    ]


def test_predicates_are_verbs_but_no_participles():
    found = tag_map("penn")
    assert [found.is_predicate(tag) for tag in ("VBD", "MD", "VBG", "VBN", "NN")] == [
        *(True, True, False, False, False)
    ]
    assert found.is_verb("VBN")
    assert found.is_noun("NNP")


def test_participles_may_have_a_star():
    lines = ["V*\tVERB\tparticiple", "VBD\tVERB", "N*\tNOUN"]
    found = read_tag_map(lines)
    assert not found.is_predicate("VBN")
    assert found.is_verb("VBN")
    assert found.is_predicate("VBD")


def test_a_map_that_fits_is_chosen():
    assert fitting_map(["DT", "NN", "VBZ", "RB", "."]).name == "penn"
    assert fitting_map(["ART", "NN", "VVFIN", "ADV", "$."]).name == "stts"
    assert fitting_map(["DET", "NOUN", "AUX", "PUNCT"]).name == "ud"
    assert fitting_map(["a", "b", "c"]).name == "none"
    assert fitting_map([]).name == "none"


def test_a_map_can_be_read(tmp_path):
    path = tmp_path / "own.map"
    path.write_text("% a comment\nsubst\tNOUN\n\nverb*\tVERB\nverbpp\tVERB\tparticiple\n", "utf-8")
    found = tag_map(path)
    assert found.find("subst") == "NOUN"
    assert found.is_predicate("verbfin")
    assert not found.is_predicate("verbpp")
    assert found.name == str(path)


@pytest.mark.parametrize(
    ("lines", "error", "message"),
    [
        (["NN NOUN"], TreebankFormatError, "<map>:1: expected a tag, a tab, a universal tag"),
        (["NN\tNOUN", "VB\tVERB\tpart"], TreebankFormatError, "<map>:2: "),
        (["NN\tNOMEN"], SettingsError, "'NN' maps to 'NOMEN'; universal tags are NOUN"),
        (["NN\tNOUN", "NN\tVERB"], SettingsError, "duplicate entry 'NN'"),
        (["%"], TreebankFormatError, "is empty"),
    ],
)
def test_maps_that_are_none_are_refused(lines, error, message):
    with pytest.raises(error, match=message):
        read_tag_map(lines)


def test_an_unknown_name_is_refused():
    with pytest.raises(SettingsError, match="'stuts' is neither a file nor one of penn, stts"):
        tag_map("stuts")
