"""Errors of the service, and of single sentences."""

from __future__ import annotations

from tests.web.browser import OLD_MAN, SLEEPING, chips, parsed_again, phrase, write


def test_errors_are_shown_and_recovered_from(open_page):
    page = open_page(errors=True)
    write(page, SLEEPING)
    page.fill("#text", "dog " * 300)
    page.wait_for_selector("#error", state="visible")
    told = page.locator("#error-message").text_content()
    assert told == "At most 250 tokens per sentence are allowed (got 300)."
    assert page.locator("#retry").is_hidden()
    write(page, SLEEPING)
    page.wait_for_selector("#error", state="hidden")
    page.route("**/api/parse", lambda route: route.abort())
    page.fill("#text", OLD_MAN)
    page.wait_for_selector("#error", state="visible")
    assert "does not respond" in page.locator("#error-message").text_content()
    page.unroute("**/api/parse")
    page.click("#retry")
    page.wait_for_function("() => document.querySelectorAll('#frame .word').length === 13")
    assert page.locator("#error").is_hidden()
    page.route("**/api/parse", lambda route: route.fulfill(status=502, body="<b>Bad</b> gateway"))
    page.fill("#text", SLEEPING)
    page.wait_for_selector("#error", state="visible")
    assert "status 502" in page.locator("#error-message").text_content()


def test_one_bad_sentence_leaves_the_others(open_page):
    page = open_page(errors=True)
    write(page, f"{SLEEPING} {'dog ' * 300}. {OLD_MAN}")
    assert page.locator("#sentences li").count() == 3
    assert page.locator("#error").is_hidden()
    page.click("#sentences li >> nth=1")
    page.wait_for_selector("#error", state="visible")
    page.click("#sentences li >> nth=2")
    page.wait_for_selector("svg.tree")
    assert page.locator("#error").is_hidden()


def test_no_tree_of_another_text_is_below_an_error(open_page):
    page = open_page(errors=True)
    write(page, OLD_MAN)
    phrase(page, "The old man").locator(".label").click()
    parsed_again(page, lambda: page.click("text=Force NP here"))
    page.fill("#text", "dog " * 300)
    page.wait_for_selector("#error", state="visible")
    assert page.locator("#work").is_hidden()
    assert page.locator("#welcome").is_hidden()
    page.locator("#text").blur()
    for key in ("n", "2", "f", "+", "1"):
        page.keyboard.press(key)
    assert page.locator("#work").is_hidden()
    # Constraints belong to the words that they were made for, whatever was between.
    write(page, f"{SLEEPING} {OLD_MAN}")
    page.wait_for_selector("#sentences li:nth-child(2) >> text=◆")
    assert chips(page) == []
    page.click("#sentences li >> nth=1")
    assert chips(page) == ["NP: “The old man”"]


def test_the_tree_of_a_sentence_stays_when_constraints_fail(open_page):
    page = open_page(errors=True)
    write(page, OLD_MAN)
    page.route("**/api/parse", lambda route: route.abort())
    phrase(page, "The old man").locator(".label").click()
    page.click("text=Force NP here")
    page.wait_for_selector("#error", state="visible")
    assert page.locator("#frame .word").count() == 13
    page.unroute("**/api/parse")
    page.locator("#retry").focus()
    parsed_again(page, lambda: page.keyboard.press("Enter"))
    assert page.evaluate("() => document.activeElement.tagName") == "MAIN"
    assert "forced" in phrase(page, "The old man").get_attribute("class")


def test_a_sentence_without_a_tree_has_nothing_to_copy(open_page):
    page = open_page(errors=True)
    write(page, f"{SLEEPING} {'dog ' * 300}.")
    page.click("#sentences li >> nth=1")
    page.wait_for_selector("#error", state="visible")
    assert page.locator("#export").is_hidden()
    assert page.locator("#panel").is_hidden()
    page.click("#sentences li >> nth=0")
    page.wait_for_selector("svg.tree")
    assert page.locator("#export").is_visible()
