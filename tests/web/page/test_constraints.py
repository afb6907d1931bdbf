"""Constraints on a sentence."""

from __future__ import annotations

from tests.web.browser import OLD_MAN, SLEEPING, chips, drag, parsed_again, phrase, write


def test_a_phrase_is_forbidden_and_allowed_again(page):
    write(page, OLD_MAN)
    phrase(page, "the house with the dog").locator(".label").click()
    parsed_again(page, lambda: page.click("text=Forbid NP here"))
    assert phrase(page, "the house with the dog").count() == 0
    assert chips(page) == ["not NP: “the house with the dog”"]
    parsed_again(page, lambda: page.click("#chips button"))
    assert phrase(page, "the house with the dog").count() == 1
    assert page.locator("#constraints-panel").is_hidden()


def test_words_are_dragged_over_to_force_a_phrase(page):
    write(page, OLD_MAN)
    drag(page, 4, 8)
    assert page.locator(".word.picked").count() == 5
    assert page.locator(".menu-title").text_content() == "“a cat in the house”"
    parsed_again(page, lambda: page.click("text=Force a phrase here"))
    node = phrase(page, "a cat in the house")
    assert node.count() == 1
    assert "forced" in node.get_attribute("class")
    assert chips(page) == ["a phrase: “a cat in the house”"]


def test_words_are_picked_by_keys_too(page):
    write(page, OLD_MAN)
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator(".word.picked").count() == 2
    page.keyboard.press("Enter")
    assert page.locator(".menu-title").text_content() == "“The old”"
    page.keyboard.press("Escape")
    assert page.locator(".word.picked").count() == 0


def test_another_label_and_another_tag_are_forced(page):
    write(page, OLD_MAN)
    phrase(page, "in the house with the dog", "PP").locator(".label").click()
    page.wait_for_selector("#menu datalist option", state="attached")
    options = page.locator("#menu datalist option").evaluate_all("(all) => all.map((o) => o.value)")
    assert {"NP", "ADVP"} <= set(options)
    assert "@NP" not in options
    page.fill("#menu input", "ADVP")
    parsed_again(page, lambda: page.press("#menu input", "Enter"))
    assert phrase(page, "in the house with the dog", "ADVP").count() == 1
    page.locator("#frame .word").nth(1).click()
    page.fill("#menu form:nth-of-type(1) input", "NN")
    parsed_again(page, lambda: page.press("#menu form:nth-of-type(1) input", "Enter"))
    assert page.locator("#frame .node.tag > .label").all_text_contents()[1] == "NN"
    assert chips(page) == ["ADVP: “in the house with the dog”", "old is NN"]
    parsed_again(page, lambda: page.click("#clear-chips"))
    assert page.locator("#frame .node.tag > .label").all_text_contents()[1] == "JJ"


def test_conflicts_are_reported(page):
    write(page, OLD_MAN)
    for first, last in ((4, 8), (0, 4)):
        drag(page, first, last)
        parsed_again(page, lambda: page.click("text=Force a phrase here"))
    told = page.locator("#conflict-message").text_content()
    assert told == (
        "No tree satisfies all constraints: a phrase over “a cat in the house” and a phrase over "
        "“The old man saw a” cross. None are kept."
    )
    assert page.locator(".chip.given-up").count() == 2
    parsed_again(page, lambda: page.check("#soft"))
    assert page.locator(".chip.given-up").count() == 1
    assert "soft=1" in page.url


def test_constraints_stay_with_their_sentence(page):
    write(page, f"{OLD_MAN} {SLEEPING}")
    phrase(page, "The old man").locator(".label").click()
    parsed_again(page, lambda: page.click("text=Force NP here"))
    with page.expect_response("**/api/parse"):
        page.fill("#text", f"It rained. {OLD_MAN}")
    page.wait_for_function("() => document.querySelectorAll('#sentences li').length === 2")
    page.wait_for_selector("#sentences li:nth-child(2) >> text=◆")
    assert page.locator("#constraints-panel").is_hidden()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    assert chips(page) == ["NP: “The old man”"]
    page.fill("#text", "It rained. We stayed.")
    page.wait_for_selector("#sentences >> text=We stayed.")
    assert "constraints" not in page.url
