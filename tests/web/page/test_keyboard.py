"""Keys, focus and names."""

from __future__ import annotations

from tests.web.browser import OLD_MAN, SLEEPING, module, write


def test_keys_and_their_sheet(page):
    write(page, f"{OLD_MAN} {SLEEPING}")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#help-sheet").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#help-sheet").is_hidden()
    for key, view in (("2", "alternatives"), ("3", "chart"), ("4", "dependencies"), ("1", "tree")):
        page.keyboard.press(key)
        assert page.locator("[role=tab][aria-selected=true]").get_attribute("data-view") == view
    page.locator("#view-tree").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.id") == "view-alternatives"
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "text"
    page.keyboard.type("?2")
    assert page.input_value("#text").endswith("?2")


def test_all_that_can_be_used_has_a_name(page):
    write(page, f"{OLD_MAN} {SLEEPING}")
    body = """
        const seen = document.querySelectorAll(
          "button, a, input, textarea, select, [tabindex], [role=tree], [role=treeitem]");
        const nameOf = (each) =>
          each.getAttribute("aria-label") ?? each.labels?.[0]?.textContent ?? each.textContent;
        return [...seen].filter((each) => each.checkVisibility() && !nameOf(each).trim())
          .map((each) => each.outerHTML.slice(0, 120));
    """
    assert module(page, "dom", body) == []
    assert page.locator("svg.tree").get_attribute("role") == "tree"
    assert page.locator("#frame .node[tabindex='0']").count() == 1
    assert page.locator("#facts").get_attribute("role") == "status"
    assert page.locator("#error").get_attribute("role") == "alert"


def test_focus_can_be_seen(page):
    write(page, OLD_MAN)
    page.keyboard.press("Escape")
    page.locator("#help").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
        style = "(all) => { const s = getComputedStyle(document.activeElement);"
        style += " return [s.outlineStyle, s.outlineWidth]; }"
        outline = page.evaluate(style)
        assert outline[0] != "none"
        assert outline[1] != "0px"
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    pill = page.locator("#frame .node:focus .pill")
    assert pill.evaluate("(pill) => getComputedStyle(pill).strokeWidth") == "2.6px"
