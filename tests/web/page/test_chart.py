"""The chart."""

from __future__ import annotations

import re

import pytest

from tests.web.browser import OLD_MAN, parsed_again, see, write


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


@pytest.mark.parametrize("width", [390, 1280])
def test_the_chart_of_a_long_sentence_opens_where_cells_are(open_page, service, width):
    """The response is made up: cells of 151 words, as long as the chart is high or short."""
    words = ["word"] * 151
    record = service.post("/api/parse", {"sentences": [{"words": words[:3]}]}).json["results"][0]
    spans = [(0, 151), *((i, i + 2) for i in range(0, 150, 3))]
    leaves = " ".join("(NN word)" for _ in words)
    made = {**record, "words": words, "tree": f"(S {leaves})", "brackets": []}
    made["marginals"] = [
        {"label": "NP", "start": start, "end": end, "marginal": 0.9} for start, end in spans
    ]
    made["alternatives"] = []
    page = open_page(size={"width": width, "height": 740})
    page.route("**/api/parse", lambda route: route.fulfill(json={"results": [made]}))
    write(page, " ".join(words))
    page.click("#view-chart")
    page.wait_for_selector("svg.chart")
    body = """(frame) => {
      const box = frame.getBoundingClientRect();
      const isSeen = (each) => {
        const { left, right, top, bottom } = each.getBoundingClientRect();
        return left >= box.left && right <= box.right && top >= box.top && bottom <= box.bottom;
      };
      return [...frame.querySelectorAll(".heat")].filter(isSeen).length;
    }"""
    seen = page.locator("#frame").evaluate(body)
    assert seen == len(spans) if width == 1280 else seen >= 12
    box = page.locator("#frame .heat").nth(0).bounding_box()
    assert box["width"] >= 5
