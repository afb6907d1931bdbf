"""The tree view."""

from __future__ import annotations

import re

import pytest

from tests.web.browser import HEBREW, OLD_MAN, SLEEPING, phrase, write


def places(page, axis: str) -> list[float]:
    """Coordinates of the words, in the order of the sentence."""
    body = "(all, axis) => all.map((each) => each.getBoundingClientRect()[axis])"
    return page.locator("#frame .word").evaluate_all(body, axis)


def test_a_click_on_a_triangle_folds(page):
    write(page, OLD_MAN)
    before = page.locator("#frame .node").count()
    phrase(page, "The old man").locator(".fold").click()
    assert phrase(page, "The old man").get_attribute("aria-expanded") == "false"
    assert page.locator("#frame .words text").all_text_contents() == ["The old man"]
    assert page.locator("#frame .node").count() == before - 3
    phrase(page, "The old man").locator(".fold").click()
    assert page.locator("#frame .node").count() == before


def test_the_tree_can_be_worked_by_keys(page):
    write(page, OLD_MAN)

    def focused() -> str:
        return page.evaluate("() => document.activeElement.getAttribute('aria-label')")

    page.locator("#frame .node[tabindex='0']").focus()
    assert focused().startswith("S: The old man saw")
    page.keyboard.press("ArrowDown")
    assert focused().startswith("NP: The old man")
    page.keyboard.press("ArrowRight")
    assert focused().startswith("VP: saw a cat")
    page.keyboard.press("ArrowUp")
    assert focused().startswith("S: ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    assert phrase(page, "The old man").get_attribute("aria-expanded") == "false"
    page.keyboard.press("Tab")
    assert focused() == "Unfold"
    page.keyboard.press("Enter")
    assert phrase(page, "The old man").get_attribute("aria-expanded") == "true"
    page.keyboard.press("End")
    assert focused() == ".: ."
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.locator("#menu").is_visible()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.textContent") == "Forbid S here"
    page.keyboard.press("Escape")
    assert page.locator("#menu").is_hidden()
    assert focused().startswith("S: ")


def test_probabilities_are_behind_labels_and_told(page, service):
    write(page, OLD_MAN)
    record = service.post("/api/parse", {"text": OLD_MAN}).json["results"][0]
    bracket = next(each for each in record["brackets"] if (each["start"], each["end"]) == (0, 3))
    pill = phrase(page, "The old man").locator(".pill")
    share = pill.evaluate("(pill) => Number(pill.style.getPropertyValue('--share'))")
    assert share == bracket["calibrated"]
    assert pill.evaluate("(pill) => getComputedStyle(pill).fill") != "none"
    phrase(page, "The old man").hover()
    told = page.locator("#tooltip").inner_text().splitlines()
    assert told[0] == "NP “The old man”"
    assert re.fullmatch(r"calibrated confidence .*\d %", told[1])
    assert re.fullmatch(r"uncalibrated .*\d %", told[2])
    page.mouse.move(2, 2)
    assert page.locator("#tooltip").is_hidden()
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#tooltip").inner_text().startswith("NP “The old man”")
    assert page.locator(".legend").is_visible()


def test_colours_are_those_of_the_package_s_pictures(page):
    from eigentree.drawing.tree_svg import HIGH, LOW, MIDDLE

    write(page, SLEEPING)
    page.click("#theme")  # light
    pill = page.locator("#frame .sure").nth(0)
    for share, colour in ((0, LOW), (0.5, MIDDLE), (1, HIGH)):
        found = pill.evaluate(
            "(pill, share) => { pill.style.setProperty('--share', share);"
            " return getComputedStyle(pill).fill; }",
            share,
        )
        assert colour == tuple(round(255 * float(part)) for part in re.findall(r"[\d.]+", found))


def test_zoom_and_pan(page):
    write(page, OLD_MAN)

    def width() -> float:
        return page.locator("svg.tree").bounding_box()["width"]

    first = width()
    page.click("#zoom-in")
    assert width() == pytest.approx(1.25 * first, rel=0.01)
    page.click("#zoom-out")
    assert width() == pytest.approx(first, rel=0.01)
    page.hover("svg.tree")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    assert width() > 1.5 * first
    frame = page.locator("#frame")
    box = frame.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 60)
    before = frame.evaluate("(frame) => frame.scrollLeft")
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 60, steps=4)
    page.mouse.up()
    assert frame.evaluate("(frame) => frame.scrollLeft") == pytest.approx(before - 100, abs=2)
    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("0")
    assert width() == pytest.approx(first, rel=0.01)
    page.keyboard.press("-")
    assert width() == pytest.approx(0.8 * first, rel=0.01)


def test_text_from_right_to_left_runs_so(page):
    write(page, HEBREW)
    lefts = places(page, "x")
    assert lefts == sorted(lefts, reverse=True)
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    first = page.evaluate("() => document.activeElement.getBoundingClientRect().x")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.getBoundingClientRect().x") < first


def test_a_long_sentence_is_an_outline(open_page):
    page = open_page(size={"width": 700, "height": 700})
    clause = "and the old man saw the cat in the house with the dog"
    write(page, f"It rained {' '.join([clause] * 7)}.")
    assert page.locator("svg.tree.outline").count() == 1
    tops = places(page, "y")
    assert tops == sorted(tops)
    assert len(tops) == 3 + 7 * len(clause.split())
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    label = page.evaluate("() => document.activeElement.getAttribute('aria-level')")
    assert label in {"1", "2"}
    page.keyboard.press("l")
    page.wait_for_selector("svg.tree.top")
    assert "layout=top" in page.url
    page.click("#fold")
    assert page.locator("#frame .words").count() > 0
    page.click("#fold")
    assert page.locator("#frame .words").count() == 0
