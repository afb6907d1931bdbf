"""Colours and widths."""

from __future__ import annotations

import pytest

from tests.web.browser import OLD_MAN, SLEEPING, module, see, write


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


def contrast(one: list[int], other: list[int]) -> float:
    """As WCAG defines it."""

    def light(colour: list[int]) -> float:
        parts = [part / 255 for part in colour]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(open_page, scheme):
    page = open_page(scheme=scheme)
    body = """
        const probe = document.createElement("i");
        document.body.append(probe);
        const of = (name) => {
          probe.style.color = `var(--${name})`;
          return getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
        };
        return Object.fromEntries(given[0].map((name) => [name, of(name)]));
    """
    names = [
        "ink",
        "soft",
        "accent",
        "bad",
        "paper",
        "card",
        "tint",
        "low",
        "middle",
        "high",
        "bad-tint",
    ]
    of = module(page, "dom", body, names)
    pairs = [(text, ground) for text in ("ink", "soft", "accent") for ground in ("paper", "card")]
    pairs += [("ink", ground) for ground in ("tint", "low", "middle", "high")]
    pairs += [("bad", "paper"), ("bad", "bad-tint"), ("accent", "tint")]
    poor = {pair: contrast(of[pair[0]], of[pair[1]]) for pair in pairs}
    assert {pair: value for pair, value in poor.items() if value < 4.5} == {}


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
