"""The page in a real browser, before a real service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from eigentree import calibrate, read_treebank
from tests.demo import HELD_OUT, demo_parser
from tests.web import models
from tests.web.browser import chromium
from tests.web.running import Running

WIDE = {"width": 1280, "height": 860}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("page")
    held_out = read_treebank(HELD_OUT).trees
    calibrate(demo_parser(), held_out).save(folder / "demo.egt")
    clauses = models.save_dependencies(folder)
    options = ["--dependencies", clauses, "--workers", "1", "--max-tokens", "250"]
    with Running("-m", folder / "demo.egt", *options) as running:
        yield running


# No longer than the tests of this folder, since others run event loops of their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[object]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="package")
def context(browser) -> object:
    """The storage and cache that pages share, for pages that do not differ in these."""
    return prepared(browser.new_context())


@pytest.fixture(scope="package")
def tab(context) -> object:
    """The page that tests use one after another: a new one takes twice the time."""
    return context.new_page()


def prepared(context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(30_000)
    return context


@pytest.fixture
def open_page(browser, context, tab, service) -> Iterator[Callable]:
    """Opens the page; meanwhile no error may occur, and no request may go to other places.

    ``errors`` allows responses with an error status. ``is_alone`` is for pages whose stored
    settings are their own.
    """
    here = f"http://127.0.0.1:{service.port}/"
    opened, wrong = [], []

    def open_(
        hash_: str = "", *, errors: bool = False, is_alone: bool = False, size=WIDE, scheme="light"
    ):
        if is_alone:
            page = prepared(browser.new_context()).new_page()
        else:
            page = context.new_page() if tab in opened else tab
        opened.append(page)
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)

        def on_console(message) -> None:
            is_expected = errors and "Failed to load resource" in message.text
            if message.type in ("error", "warning") and not is_expected:
                wrong.append(message.text)

        def on_request(request) -> None:
            if not request.url.startswith((here, "blob:", "about:")):
                wrong.append(f"request to {request.url}")

        def on_dialog(dialog) -> None:
            wrong.append(dialog.message)
            dialog.dismiss()

        handlers = {
            "pageerror": lambda error: wrong.append(str(error)),
            "console": on_console,
            "request": on_request,
            "dialog": on_dialog,
        }
        for event, handler in handlers.items():
            page.on(event, handler)
        closing.callback(close, page, handlers)
        page.goto(here + hash_)
        page.wait_for_selector("#model-name:not(:text('…'))", state="attached")
        return page

    def close(page, handlers) -> None:
        if page is not tab:
            page.close() if page.context is context else page.context.close()
            return
        for event, handler in handlers.items():
            page.remove_listener(event, handler)
        page.unroute_all(behavior="ignoreErrors")
        page.evaluate("() => localStorage.clear()")
        page.goto("about:blank")
        page.mouse.move(0, 0)

    with ExitStack() as closing:
        yield open_
    assert wrong == []


@pytest.fixture
def page(open_page):
    return open_page()
