"""A headless Chromium that the page is tested in, and what is told of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Nothing that isn't asked of it, and nothing that wants a screen or more rights than a test has.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
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
