"""The chart."""

from __future__ import annotations

import re

from tests.web.browser import OLD_MAN, parsed_again, see


def test_the_chart_is_a_heat_map(page, service):
    see(page, OLD_MAN, "chart")
    asked = {"sentences": [OLD_MAN], "marginals": 0.002}
    record = service.post("/api/parse", asked).json["results"][0]
    spans = {(each["start"], each["end"]) for each in record["marginals"]}
    cells = page.locator(".cell")
    assert cells.count() == len(spans)
    in_tree = {(each["start"], each["end"]) for each in record["brackets"]}
    assert page.locator(".cell.in-tree").count() == len(in_tree)
    page.hover(".cell[data-cell='0 3']")
    assert re.fullmatch(
        r"“The old man”\nNP .*\d %", page.locator("#tooltip").inner_text().split("\n\n")[0]
    )
    page.locator(".cell[tabindex='0']").focus()
    assert page.evaluate("() => document.activeElement.dataset.cell") == "0 13"
    page.keyboard.press("ArrowDown")
    below = page.evaluate("() => document.activeElement.dataset.cell")
    assert below != "0 13"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.dataset.cell") == "0 13"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.click(".cell[data-cell='4 9']")
    parsed_again(page, lambda: page.click("text=Force a phrase here"))
    page.wait_for_selector(".cell.in-tree[data-cell='4 9']")
