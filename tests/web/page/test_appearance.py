"""Colours and widths."""

from __future__ import annotations

import re

import pytest

from tests.helpers import contrast
from tests.web.browser import OLD_MAN, SLEEPING, module, parsed_again, see, write


def test_light_and_dark(open_page):
    def ground(page) -> str:
        return page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")

    light, dark = (open_page(scheme=scheme, is_alone=True) for scheme in ("light", "dark"))
    of_light, of_dark = ground(light), ground(dark)
    assert of_light != of_dark
    light.click("#theme")
    light.click("#theme")
    assert ground(light) == of_dark
    light.reload()
    assert ground(light) == of_dark
    dark.keyboard.press("Escape")
    dark.keyboard.press("t")
    assert ground(dark) == of_light


def poor_texts(page) -> dict[str, float]:
    """The visible texts with a contrast below 4.5 to what is behind them."""
    body = """
        const found = [];
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        const parse = (colour) => {
          const parts = colour.match(/[\\d.]+/g).map(Number);
          const most = colour.startsWith("color(") ? 255 : 1;
          return [...parts.slice(0, 3).map((part) => most * part), parts[3] ?? 1];
        };
        // A label of a drawing is on the shape before it; other texts are on their ancestors.
        const behind = (element) => {
          const shape = element.closest("g")?.querySelector(":scope > .pill, :scope > .heat");
          const fill = element.matches(".label") && shape ? getComputedStyle(shape).fill : "none";
          if (fill !== "none") return parse(fill);
          for (let each = element; each; each = each.parentElement) {
            const colour = parse(getComputedStyle(each).backgroundColor);
            if (colour[3] > 0.9) return colour;
          }
          return [255, 255, 255, 1];
        };
        while (texts.nextNode()) {
          const element = texts.currentNode.parentElement;
          const isSeen = element.checkVisibility({ visibilityProperty: true });
          if (!texts.currentNode.data.trim() || !isSeen) continue;
          if (element.closest(".unseen, title")) continue;
          const style = getComputedStyle(element);
          const colour = parse(element.matches("svg text") ? style.fill : style.color);
          found.push([texts.currentNode.data.slice(0, 30), colour, behind(element)]);
        }
        return found;
    """
    seen = module(page, "dom", body)
    assert len(seen) > 5
    values = [(text, contrast(one[:3], other[:3])) for text, one, other in seen]
    return {text: value for text, value in values if value < 4.5}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(open_page, scheme):
    page = open_page(scheme=scheme, errors=True)
    assert poor_texts(page) == {}
    write(page, f"{OLD_MAN} {SLEEPING}")
    page.locator("#frame .node.phrase > .label").nth(1).click()
    page.wait_for_selector("#menu .menu-item")
    assert poor_texts(page) == {}
    parsed_again(page, lambda: page.click("text=Force NP here"))
    assert page.locator(".node.forced").count() == 1
    page.locator("#frame .node.phrase > .label").nth(1).hover()
    assert poor_texts(page) == {}
    drawings = {"alternatives": ".card", "chart": "svg.chart", "dependencies": "svg.arcs"}
    for view, drawing in drawings.items():
        page.click(f"#view-{view}")
        page.wait_for_selector(drawing)
        assert poor_texts(page) == {}, view
    page.fill("#text", "dog " * 300)
    page.wait_for_selector("#error", state="visible")
    assert page.locator("#work").is_hidden()
    assert poor_texts(page) == {}
    page.click("#help")
    assert poor_texts(page) == {}
    page.keyboard.press("Escape")
    page.click("#to-grammar")
    page.wait_for_selector(".state")
    assert poor_texts(page) == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_stand_out_on_every_share(open_page, scheme):
    page = open_page(scheme=scheme)
    write(page, SLEEPING)
    for view, place in (("tree", ".node:has(.sure)"), ("chart", ".cell:has(.label)")):
        page.click(f"#view-{view}")
        page.wait_for_selector(place)
        for share in range(0, 101, 4):
            page.locator(place).evaluate_all(
                "(all, share) => all.forEach((each) => [each, ...each.querySelectorAll('.sure')]"
                ".forEach((e) => e.style.setProperty('--share', share)))",
                share / 100,
            )
            assert poor_texts(page) == {}, (view, share)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_choice_of_a_model_looks_like_one(open_page, service, scheme):
    """With several models there is a list in a frame with a contrast of 3, and no plain text."""
    page = open_page(scheme=scheme, errors=True)
    known = service.get("/api/models").json
    other = {**next(each for each in known if each["kind"] == "constituents"), "name": "other"}
    page.route("**/api/models", lambda route: route.fulfill(json=[*known, other]))
    page.reload()
    page.wait_for_selector("#model", state="visible")
    assert page.locator("#model-name").is_hidden()
    assert page.locator("#model").get_by_role("option").count() == 2
    colours = page.locator("#model").evaluate(
        "(model) => [getComputedStyle(model).borderTopColor,"
        " getComputedStyle(document.documentElement).backgroundColor]"
    )
    parts = [list(map(int, re.findall(r"\d+", colour))) for colour in colours]
    assert contrast(*parts) >= 3
    with page.expect_request("**/api/parse") as request:
        page.select_option("#model", "other")
        page.fill("#text", SLEEPING)
    assert request.value.post_data_json["model"] == "other"


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_every_view_opens_whole(open_page, width):
    """Nothing is cut off at the side, of a sentence of common length."""
    page = open_page(size={"width": width, "height": 740})
    tops = [page.locator(name).bounding_box()["y"] for name in ("#theme", "#help")]
    assert tops[0] == tops[1]
    write(page, OLD_MAN)
    frame = "() => { const f = document.querySelector('#frame');"
    frame += " return f.scrollWidth - f.clientWidth; }"
    assert page.evaluate(frame) <= 1
    page.click("#view-chart")
    page.wait_for_selector("svg.chart")
    assert page.evaluate(frame) <= 1
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    page.click("#view-dependencies")
    page.wait_for_selector("svg.arcs")
    assert page.evaluate(frame) <= (60 if width == 320 else 1)
    assert page.evaluate("() => document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("view", ["tree", "alternatives", "chart", "dependencies", "grammar"])
def test_nothing_is_wider_than_a_small_screen(open_page, view):
    page = open_page(size={"width": 360, "height": 740})
    if view == "grammar":
        page.click("#to-grammar")
        page.wait_for_selector(".state")
    elif view == "tree":
        write(page, f"{OLD_MAN} {SLEEPING}")
    else:
        see(page, f"{OLD_MAN} {SLEEPING}", view)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360
