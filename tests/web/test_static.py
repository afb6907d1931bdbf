"""What the page is made of: no outside assets, nothing inline, and text stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import eigentree
from tests.web import browser

WEB = Path(eigentree.__file__).parent / "web"
STATIC = sorted((WEB / "static").iterdir())
MODULES = [path for path in STATIC if path.suffix == ".js"]
PAGE = WEB / "templates" / "index.html"
NAMESPACE = "http://www.w3.org/2000/svg"

# Ways by which a text becomes elements or code.
UNSAFE = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "DOMParser",
    "createContextualFragment",
    "setHTMLUnsafe",
    "eval(",
    "new Function",
    "javascript:",
)


class Reader(HTMLParser):
    """Elements with their attributes, and the ids that stand twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def elements() -> list[tuple[str, dict[str, str | None]]]:
    return Reader(PAGE.read_text("utf-8")).elements


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_text_is_put_in_as_text(path):
    text = path.read_text("utf-8")
    assert [name for name in UNSAFE if name in text] == []


@pytest.mark.parametrize("path", [*STATIC, PAGE], ids=lambda path: path.name)
def test_nothing_is_fetched_from_elsewhere(path):
    text = path.read_text("utf-8").replace(NAMESPACE, "")
    assert re.findall(r"(?:https?:)?//(?=\w+\.)[^\s\"']*", text) == []


def test_nothing_is_inline(elements):
    assert [tag for tag, attributes in elements if tag == "style" or "style" in attributes] == []
    assert [
        attributes for tag, attributes in elements if tag == "script" and "src" not in attributes
    ] == []
    handlers = [name for _, attributes in elements for name in attributes if name.startswith("on")]
    assert handlers == []


def test_what_the_page_names_is_there(elements):
    names = [
        a.get("src") or a.get("href") for tag, a in elements if tag in {"script", "link", "img"}
    ]
    assert len(names) >= 4
    assert [name for name in names if not (WEB / name).is_file()] == []
    imported = {
        name for path in MODULES for name in re.findall(r'from "\./(.+)";', path.read_text("utf-8"))
    }
    assert imported - {path.name for path in MODULES} == set()
    assert {path.name for path in MODULES} - imported == {"app.js", "theme.js"}


def test_ids_are_unique_and_those_of_the_modules(elements):
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    asked = {
        name
        for path in MODULES
        for name in re.findall(r'byId\("([\w-]+)"\)', path.read_text("utf-8"))
    }
    assert asked - set(ids) == set()


def test_controls_have_names(elements):
    labelled = {attributes.get("for") for tag, attributes in elements if tag == "label"}
    unnamed = [
        attributes
        for tag, attributes in elements
        if tag in {"input", "select", "textarea"}
        and attributes.get("id") not in labelled | {"soft"}
    ]
    assert unnamed == []
    assert dict(elements)["html"]["lang"] == "en"


def test_a_browser_that_is_missing_is_reported(monkeypatch):
    monkeypatch.setattr(browser, "NAMES", ("no-such-browser",))
    monkeypatch.delenv("EIGENTREE_REQUIRE_CHROMIUM", raising=False)
    with pytest.raises(pytest.skip.Exception, match="neither no-such-browser"):
        browser.find_chromium()
    monkeypatch.setenv("EIGENTREE_REQUIRE_CHROMIUM", "1")
    with pytest.raises(pytest.fail.Exception, match="neither no-such-browser"):
        browser.find_chromium()


def test_modules_stay_small():
    sizes = {path.name: len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > 350} == {}
