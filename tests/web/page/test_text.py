"""Text and sentences."""

from __future__ import annotations

import re
from urllib.parse import quote

from tests.web.browser import OLD_MAN, SLEEPING, labels, write

ATTACK = "<img src=x onerror=alert(1)> <script>alert(2)</script> \"' & </text>"


def test_an_empty_page_invites(page):
    assert page.evaluate("() => document.activeElement.id") == "text"
    assert page.locator("#model-name").text_content() == "demo"
    assert page.locator("#work").is_hidden()
    page.click("#examples button >> nth=0")
    page.wait_for_selector("svg.tree")
    assert page.input_value("#text") == page.locator("#examples button").nth(0).text_content()
    assert page.locator("#welcome").is_hidden()


def test_a_tree_appears_while_one_types(page):
    page.locator("#text").press_sequentially(SLEEPING, delay=5)
    page.wait_for_selector("svg.tree")
    words = page.locator("#frame .word text").all_text_contents()
    assert words == ["She", "said", "that", "the", "children", "were", "sleeping", "."]
    assert labels(page)[0] == "S"
    assert re.match(
        r"8 words · whole tree \d+ % · mean of brackets \d+ %",
        page.locator("#facts").text_content(),
    )
    page.click("#clear")
    page.wait_for_selector("#welcome", state="visible")
    assert page.locator("#work").is_hidden()


def test_typing_asks_once(page):
    before = page.evaluate("() => history.length")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#text").press_sequentially(f"{SLEEPING} {OLD_MAN} " * 3, delay=1)
    page.wait_for_selector("#sentences li >> nth=5")
    # Slow machines may pause between keys, but hardly at each of nearly three hundred.
    assert len([url for url in asked if url.endswith("/api/parse")]) < 20
    assert page.evaluate("() => history.length") <= before + 1


def test_several_sentences_are_a_list(page):
    write(page, f"{OLD_MAN} {SLEEPING}")
    options = page.locator("#sentences [role=option]")
    assert options.locator(".sentence").all_text_contents() == [OLD_MAN, SLEEPING]
    assert options.nth(0).get_attribute("aria-selected") == "true"
    options.nth(1).click()
    assert page.locator("#frame .word").count() == 8
    options.nth(1).press("ArrowUp")
    assert page.locator("#frame .word").count() == 13
    page.keyboard.press("n")
    assert page.locator("#frame .word").count() == 8


def test_a_late_answer_is_dropped(page):
    waiting = []

    def hold_first(route) -> None:
        if "slow" in route.request.post_data:
            waiting.append(route)
        else:
            route.continue_()

    page.route("**/api/parse", hold_first)
    with page.expect_request("**/api/parse"):
        page.fill("#text", "The slow dog saw it.")
    write(page, "The cat slept.")
    for route in waiting:
        route.abort()  # the page had given it up
    page.wait_for_timeout(200)
    assert page.locator("#frame .word text").all_text_contents() == ["The", "cat", "slept", "."]
    assert page.locator("#error").is_hidden()


def test_what_nobody_waits_for_is_given_up(page):
    write(page, SLEEPING)
    page.route(
        "**/api/parse",
        lambda route: None if "best" in route.request.post_data else route.continue_(),
    )
    page.click("#view-alternatives")
    with page.expect_event("requestfailed"):
        page.fill("#text", "It rained.")
    page.wait_for_selector(".card", state="detached")
    assert page.locator("#error").is_hidden()


def test_text_stays_text(open_page):
    page = open_page(f"#text={quote(ATTACK)}")
    page.wait_for_selector("svg.tree")
    shown = "".join(page.locator("#frame .word text").all_text_contents())
    assert "<" in shown
    assert "onerror" in shown
    for view in ("alternatives", "chart", "dependencies"):
        page.click(f"#view-{view}")
        page.wait_for_selector(
            {"alternatives": ".card", "dependencies": "svg.arcs"}.get(view, "svg.chart")
        )
        assert page.locator("main img, main script").count() == 0


def test_misleading_characters_are_seen(page):
    write(page, "The cat \u202eslept\u202c.")
    shown = "".join(page.locator("#frame .word text").all_text_contents())
    assert "\u202e" not in shown
    assert "\ufffd" in shown
