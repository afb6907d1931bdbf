"""Where the focus is after what had it has been replaced, when the page is used by keys alone."""

from __future__ import annotations

import pytest

from tests.web.browser import OLD_MAN, SLEEPING, chips, parsed_again, see, write


def focused(page, attribute: str = "aria-label") -> str | None:
    body = "(all, name) => document.activeElement.getAttribute(name)"
    return page.locator("body").evaluate(body, attribute)


def choose(page, text: str) -> None:
    """Take a choice of the menu of the focused element."""
    page.keyboard.press("Enter")
    while page.evaluate("() => document.activeElement.textContent") != text:
        page.keyboard.press("ArrowDown")
    parsed_again(page, lambda: page.keyboard.press("Enter"))


def focus_node(page, name: str) -> None:
    page.locator(f'#frame .node[aria-label^="{name}"]').focus()


def test_a_forced_phrase_keeps_the_focus(page):
    write(page, OLD_MAN)
    focus_node(page, "NP: the house with the dog,")
    choose(page, "Force NP here")
    assert focused(page).startswith("NP: the house with the dog,")
    page.keyboard.press("ArrowUp")
    assert focused(page).startswith("PP: ")


def test_the_phrase_around_a_forbidden_one_has_the_focus(page):
    write(page, OLD_MAN)
    focus_node(page, "NP: the house with the dog,")
    choose(page, "Forbid NP here")
    assert page.locator('#frame .node[aria-label^="NP: the house with"]').count() == 0
    assert "the house with the dog" in focused(page)
    page.keyboard.press("ArrowUp")
    assert focused(page) is not None


def test_a_label_that_is_typed_returns_the_focus(page):
    write(page, OLD_MAN)
    focus_node(page, "PP: in the house")
    page.keyboard.press("Enter")
    page.fill("#menu input", "ADVP")
    parsed_again(page, lambda: page.press("#menu input", "Enter"))
    assert focused(page).startswith("ADVP: in the house")


def test_words_picked_by_keys_are_forced_without_losing_the_focus(page):
    write(page, OLD_MAN)
    focus_node(page, "DT: a")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    choose(page, "Force a phrase here")
    assert chips(page) == ["a phrase: “a cat in the house”"]
    assert focused(page) == "DT: a"


def test_a_cell_of_the_chart_keeps_the_focus_and_the_zoom(page):
    see(page, OLD_MAN, "chart")
    page.click("#zoom-in")
    width = page.locator("svg.chart").bounding_box()["width"]
    page.locator(".cell[data-cell='0 3']").focus()
    for text in ("Force a phrase here", "Remove “a phrase: “The old man””"):
        choose(page, text)
        page.wait_for_function("() => document.activeElement.dataset.cell === '0 3'")
        assert page.locator(".cell[tabindex='0']").count() == 1
        assert page.locator("svg.chart").bounding_box()["width"] == width


def test_an_alternative_that_is_forced_leaves_the_focus_there(page):
    see(page, OLD_MAN, "alternatives")
    page.locator(".card .quiet").nth(0).focus()
    parsed_again(page, lambda: page.keyboard.press("Enter"))
    page.wait_for_function("() => document.activeElement.closest('.card')")


def test_removing_constraints_one_by_one_leads_to_the_tree(page):
    write(page, OLD_MAN)
    for name in ("NP: The old man", "NP: a cat"):
        focus_node(page, name)
        choose(page, "Force NP here")
    page.locator("#chips button").nth(1).focus()
    parsed_again(page, lambda: page.keyboard.press("Enter"))
    assert focused(page) == "Remove: NP: “The old man”"
    parsed_again(page, lambda: page.keyboard.press("Enter"))
    assert page.locator("#frame .node:focus").count() == 1


def test_the_list_of_sentences_keeps_the_focus(page):
    write(page, f"{OLD_MAN} {SLEEPING}")
    page.locator("#sentences [aria-selected=true]").focus()
    page.keyboard.press("ArrowDown")
    assert focused(page, "data-sentence") == "1"
    page.keyboard.press("p")
    assert focused(page, "data-sentence") == "0"


def test_links_of_the_grammar_keep_the_focus(page):
    page.click("#to-grammar")
    page.wait_for_selector(".state")
    page.press("#symbol-search", "ArrowDown")
    page.keyboard.press("ArrowDown")
    label = focused(page, "data-symbol")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".symbol-title:text-is('{label}')")
    assert focused(page, "data-symbol") == label
    page.click("[data-symbol=VP]")
    page.wait_for_selector(".symbol-title:text-is('VP')")
    page.locator(".choice a").nth(0).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".symbol-title:not(:text-is('VP'))")
    assert focused(page, "class") == "symbol-title"


@pytest.mark.parametrize("key", ["Escape", "Enter"])
def test_the_help_returns_the_focus(page, key):
    page.locator("#help").focus()
    page.keyboard.press("Enter")
    page.keyboard.press(key)  # Enter closes it by its first button
    assert focused(page, "id") == "help"
