"""The view of alternative trees."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

from eigentree.treebank.io.brackets import parse_tree
from tests.web.browser import OLD_MAN, parsed_again, see


def test_alternatives_stand_side_by_side(page, service):
    see(page, OLD_MAN, "alternatives")
    asked = {"sentences": [OLD_MAN], "best": 6}
    record = service.post("/api/parse", asked).json["results"][0]
    cards = page.locator(".card")
    assert cards.count() == len(record["alternatives"]) == 6
    first, second = (parse_tree(each["tree"]) for each in record["alternatives"][:2])
    spans = [{(s.label, s.start, s.end) for s in tree.spans()} for tree in (first, second)]
    told = cards.nth(1).locator(".differences dd b").all_text_contents()
    assert len(told) == len(spans[0] ^ spans[1])
    assert cards.nth(1).locator(".differs").count() == len(spans[1] - spans[0])
    tops = [cards.nth(i).bounding_box()["y"] for i in (0, 1)]
    assert tops[0] == tops[1]
    parsed_again(page, lambda: cards.nth(1).locator("text=Force this tree").click())
    page.click("#view-tree")
    wanted = json.loads(parse_qs(urlsplit(page.url).fragment)["constraints"][0])["0"]
    for kind, those in (("required", spans[1] - spans[0]), ("forbidden", spans[0] - spans[1])):
        rows = {(label, start, end) for start, end, label in wanted[kind]}
        assert rows == those
