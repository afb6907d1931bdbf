"""Errors of the service, and of single sentences."""

from __future__ import annotations

from tests.web.browser import OLD_MAN, SLEEPING, write


def test_errors_are_shown_and_recovered_from(open_page):
    page = open_page(errors=True)
    write(page, SLEEPING)
    page.fill("#text", "dog " * 300)
    page.wait_for_selector("#error", state="visible")
    told = page.locator("#error-message").text_content()
    assert told == "At most 250 tokens per sentence are allowed (got 300)."
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
