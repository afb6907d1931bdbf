"""The grammar viewer."""

from __future__ import annotations

import pytest

from tests.web.browser import SLEEPING, write


def test_the_grammar_can_be_browsed(page, service):
    page.click("#to-grammar")
    page.wait_for_selector(".state")
    known = service.get("/api/models/demo/symbols").json
    assert page.locator("#symbol-list li").count() == len(known)
    first = known[0]
    assert page.locator(".symbol-title").text_content() == first["label"]
    assert page.locator(".state").count() == first["n_states"]
    assert page.locator(".spectrum .bar").count() == len(first["singular_values"])
    page.fill("#symbol-search", "dt")
    shown = page.locator("#symbol-list .symbol-name").all_text_contents()
    assert set(shown) == {each["label"] for each in known if "dt" in each["label"].lower()}
    page.press("#symbol-search", "ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".symbol-title:text-is('{shown[0]}')")
    assert "the" in page.locator(".choice").all_text_contents()
    page.select_option("#symbol-kind", "interminal")
    assert page.locator("#symbol-list li").count() == 0
    page.fill("#symbol-search", "")
    page.click("[data-symbol=VP]")
    page.wait_for_selector(".symbol-title:text-is('VP')")
    assert "symbol=VP" in page.url
    page.click(".choice a >> nth=0")
    page.wait_for_selector(".symbol-title:not(:text-is('VP'))")
    page.go_back()
    page.wait_for_selector(".symbol-title:text-is('VP')")


def test_a_nonterminal_that_is_not_there(open_page):
    page = open_page("#page=grammar&symbol=%3Cb%3E", errors=True)
    page.wait_for_selector("#error", state="visible")
    assert "<b>" in page.locator("#error-message").text_content()
    page.click("[data-symbol=NP]")
    page.wait_for_selector(".symbol-title:text-is('NP')")
    assert page.locator("#error").is_hidden()


@pytest.mark.slow
def test_the_text_is_kept_between_the_pages(page):
    write(page, SLEEPING)
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_selector(".state")
    page.keyboard.press("g")
    page.wait_for_selector("svg.tree")
    assert page.input_value("#text") == SLEEPING
