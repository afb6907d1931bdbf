"""A headless Chromium in which the page is tested, and common steps of the tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# No requests of its own, and nothing that requires a screen or more rights than a test has.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OLD_MAN = "The old man saw a cat in the house with the dog."
SLEEPING = "She said that the children were sleeping."
HEBREW = "הילד הקטן אכל תפוח בגן."

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str:
    """Where Chromium is.

    Without it the test is skipped; it fails instead where EIGENTREE_REQUIRE_CHROMIUM=1 says that it
    must be there.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        reason = f"no Chromium on the path: neither {' nor '.join(NAMES)}"
        if os.environ.get("EIGENTREE_REQUIRE_CHROMIUM") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, as of Playwright."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def write(page, text: str) -> None:
    page.fill("#text", text)
    page.wait_for_selector("svg.tree")


def see(page, text: str, view: str):
    """The drawing of a view."""
    write(page, text)
    page.click(f"#view-{view}")
    return page.wait_for_selector(
        {"chart": "svg.chart", "dependencies": "svg.arcs", "alternatives": ".card"}[view]
    )


def labels(page) -> list[str]:
    return page.locator("#frame .node.phrase > .label").all_text_contents()


def phrase(page, words: str, label: str = "NP"):
    """The node of a phrase."""
    return page.locator(f'#frame .node.phrase[aria-label^="{label}: {words},"]')


def chips(page) -> list[str]:
    return page.locator("#chips .chip > span").all_text_contents()


def parsed_again(page, act: Callable[[], object]) -> None:
    with page.expect_response("**/api/parse"):
        act()
    page.wait_for_selector("#work:not([aria-busy])")


def drag(page, first: int, last: int) -> None:
    boxes = [page.locator("#frame .word").nth(i).bounding_box() for i in (first, last)]
    middles = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes]
    page.mouse.move(*middles[0])
    page.mouse.down()
    page.mouse.move(*middles[1], steps=6)
    page.mouse.up()


def copied(page, what: str) -> str:
    page.click(f"[data-copy={what}]")
    page.wait_for_selector(f"[data-copy={what}][data-done=Copied]")
    return page.evaluate("() => navigator.clipboard.readText()")


def module(page, name: str, body: str, *arguments):
    """What some code makes of a module of the page, named ``it``."""
    return page.evaluate(
        f"async (given) => {{ const it = await import('/static/{name}.js'); {body} }}",
        list(arguments),
    )
