"""The dependency view."""

from __future__ import annotations

from tests.web.browser import module, see


def test_dependencies_are_arcs(page, service):
    text = "the dog sees a cat"
    see(page, text, "dependencies")
    record = service.post("/api/dependencies", {"sentences": [text]}).json["results"][0]
    told = [each.get_attribute("aria-label") for each in page.locator(".arc").all()]
    for i, (word, head) in enumerate(zip(record["words"], record["heads"], strict=True)):
        over = "the root" if head == 0 else record["words"][head - 1]
        start = f"{word}, {record['tags'][i]}, {record['relations'][i]} of {over}, confidence "
        assert told[i].startswith(start)
    labels = page.locator(".arc .label").all_text_contents()
    assert labels == record["relations"]
    page.locator(".arc >> nth=0").focus()
    page.keyboard.press("ArrowUp")
    at = page.evaluate("() => Number(document.activeElement.dataset.word)")
    assert at == record["heads"][0] - 1
    page.keyboard.press("Home")
    assert page.evaluate("() => document.activeElement.dataset.word") == "0"


def test_arcs_never_share_a_place(page):
    cases = [[0], [2, 0, 2], [2, 3, 0, 3, 4], [3, 4, 0, 3], [5, 1, 1, 3, 0, 3], [0, 1, 1, 1, 1]]
    for heads in cases:
        levels = module(page, "arcs", "return it.levelsOf(given[0]);", heads)
        arcs = [(min(h - 1, i), max(h - 1, i), levels[i]) for i, h in enumerate(heads) if h]
        for number, (left, right, level) in enumerate(arcs):
            for other_left, other_right, other in arcs[:number]:
                if left < other_right and other_left < right:
                    assert level != other
                    is_within = left <= other_left and other_right <= right
                    assert (
                        not is_within or level > other or right - left == other_right - other_left
                    )
