"""Sentences and trees that the tests of this folder share."""

from __future__ import annotations

SENTENCES = ["The dog sees the old cat .", "", "????", "( Who left ? )", "😀 zorgle"]
TREES = """\
( (S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat)))) )
( (S (NP (DT the) (NN cat)) (VP (VBZ runs))) )
( (S (NP (DT a) (NN man)) (VP (VBZ sees) (NP (DT a) (NN dog)))) )
"""
