"""Where the root parts a sentence, by rule and by gold trees."""

from __future__ import annotations

import pytest

from eigentree import parse_tree
from eigentree.bracketing.root_split import by_verbs, free, gold_top_bracket
from eigentree.treebank.universal_tags import tag_map

PENN = tag_map("penn")


@pytest.mark.parametrize(
    ("sentence", "top"),
    [
        # The first verb.
        ("the_DT man_NN slept_VBD ._.", 2),
        # Participles are passed over, quotes don't count.
        ("``_`` tired_VBN men_NNS must_MD sleep_VB", 2),
        # A comma with a verb before it, and a noun and then a verb after it; the last of them.
        ("it_PRP rained_VBD ,_, the_DT man_NN slept_VBD ._.", 2),
        ("it_PRP rained_VBD ,_, the_DT man_NN slept_VBD ;_: dogs_NNS bark_VBP ._.", 5),
        # After this comma the verb comes before the noun.
        ("she_PRP went_VBD ,_, saw_VBD the_DT man_NN", 1),
        # No verb before the comma.
        ("today_NN ,_, the_DT man_NN slept_VBD", 3),
        # No verb at all; a verb in first place.
        ("the_DT old_JJ man_NN", 1),
        ("sleep_VB well_RB !_.", 1),
        # Only participles.
        ("tired_VBN of_IN talking_VBG", 1),
        ("man_NN ._.", 0),
        ("", 0),
    ],
)
def test_rule_for_verbs(sentence, top):
    pairs = [token.rsplit("_", 1) for token in sentence.split()]
    words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
    assert by_verbs(words, tags, PENN) == top
    assert free(words, tags, PENN) == 0


@pytest.mark.parametrize(
    ("tree", "top"),
    [
        ("(S (NP (DT the) (NN man)) (VP (VBD slept) (ADVP (RB well))) (. .))", 2),
        ("(S (`` ``) (NP (PRP he)) (VP (VBD slept) (ADVP (RB well))) ('' ''))", 1),
        # The longest of those at both ends; the part in the middle ends nowhere.
        ("(S (NP (DT a) (NN b)) (VP (VBD c) (RB d)) (NP (DT e) (JJ f) (NN g)))", 4),
        ("(S (NP (NN a)) (VBD b) (RB c))", 0),
        ("(S (NN a) (. .))", 0),
    ],
)
def test_gold_trees_part_where_their_longest_outer_phrase_ends(tree, top):
    assert gold_top_bracket(parse_tree(tree), PENN) == top
