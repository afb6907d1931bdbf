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
    titles = sorted(page.locator(".state h4").all_text_contents())
    assert titles == [f"State {i}" for i in range(1, first["n_states"] + 1)]
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


def test_more_states_than_singular_values_are_explained(page, service):
    record = service.get("/api/models/demo/symbols/NP").json
    states = [{**record["states"][0], "state": state, "share": 1 / 24} for state in range(24)]
    made = {**record, "n_states": 24, "states": states, "signed": False}
    page.route("**/symbols/NP", lambda route: route.fulfill(json={**made, "method": "clustering"}))
    page.click("#to-grammar")
    page.click("[data-symbol=NP]")
    page.wait_for_selector(".symbol-title:text-is('NP')")
    n = len(record["singular_values"])
    assert f"The 24 states are clusters of nodes, found in the space of these {n} directions." in (
        page.locator("#symbol .note").all_text_contents()
    )
    assert page.locator(".bar.cut").count() == 0


def test_a_grammar_is_short_on_a_phone(open_page, service):
    record = service.get("/api/models/demo/symbols/NP").json
    states = [{**record["states"][0], "state": state} for state in range(24)]
    assert len(states[0]["choices"]) > 9
    page = open_page(size={"width": 390, "height": 844})
    page.route("**/symbols/NP", lambda route: route.fulfill(json={**record, "states": states}))
    page.click("#to-grammar")
    page.click("[data-symbol=NP]")
    page.wait_for_selector(".state >> nth=23")
    assert page.evaluate("() => document.documentElement.scrollHeight") < 3200
    assert page.locator(".state[open]").count() == 2
    last = page.locator(".state >> nth=23")
    assert last.locator("li").nth(0).is_hidden()
    assert last.locator(".most").is_visible()
    last.locator("summary").focus()
    page.keyboard.press("Enter")
    assert last.locator("li").nth(0).is_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
