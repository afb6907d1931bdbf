"""The documentation site: pages are built, links are valid, nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import pytest
import snowballstemmer

from tests.helpers import contrast

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"


class Page(HTMLParser):
    """Links, loaded resources and link targets of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given:
            self.places.add(given["id"] or "")
        if tag == "a" and "href" in given:
            self.links.add(given["href"] or "")
        elif tag == "link" and given.get("rel") in {"stylesheet", "icon", "preload"}:
            self.loaded.add(given["href"] or "")
        elif given.get("src"):
            self.loaded.add(given["src"] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    done = subprocess.run(
        [*command, "-c", "docs/site", "-d", folder / "read", ".", folder / "html"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if "_down" not in str(path)}


def test_every_page_of_the_docs_is_there(site):
    of_docs = {page.relative_to(ROOT) for page in (ROOT / "docs").rglob("*.md")}
    of_docs -= {Path("docs/README.md")}
    assert {page for page in of_docs if not (site / page.with_suffix(".html")).exists()} == set()
    assert "Build a treebank" in (site / "docs/index.html").read_text("utf-8")


def test_every_link_is_valid(site, pages):
    missing = set()
    for path, page in pages.items():
        for link in page.links | page.loaded:
            if re.match(r"[a-z]+:", link) or link == "#":
                continue
            file, _, place = link.partition("#")
            target = path if not file else (path.parent / unquote(file.split("?")[0])).resolve()
            found = target.exists()
            if found and place and target in pages:
                found = place in pages[target].places
            if not found:
                missing.add((str(path.relative_to(site)), link))
    assert missing == set()


def test_nothing_is_fetched_from_elsewhere(site, pages):
    loaded = {source for page in pages.values() for source in page.loaded}
    assert len(loaded) > 10
    assert {source for source in loaded if re.match(r"([a-z]+:)?//", source)} == set()
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text("utf-8"))


def test_it_can_be_searched_without_a_server(site):
    index = (site / "searchindex.js").read_text("utf-8")
    assert index.startswith("Search.setIndex(")
    assert "docs/methods/spectral" in index


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("GPU", "docs/how-to/install"),
        ("Docker", "docs/how-to/install"),
        ("container", "docs/how-to/serve"),
        ("batch", "docs/how-to/parse"),
        ("licence", "docs/how-to/install"),
        ("license", "docs/how-to/install"),
        ("citation", "docs/how-to/install"),
        ("BibTeX", "docs/bibliography"),
        ("tokenization", "docs/methods/tokenisation"),
        ("UAS", "docs/how-to/score"),
    ],
)
def test_search_finds_what_newcomers_look_for(site, word, page):
    index = (site / "searchindex.js").read_text("utf-8")
    searched = json.loads(index.removeprefix("Search.setIndex(").rstrip(";\n").removesuffix(")"))
    term = snowballstemmer.stemmer("english").stemWord(word.lower())
    places = [searched[terms].get(term, []) for terms in ("terms", "titleterms")]
    pages = [place if isinstance(place, list) else [place] for place in places]
    assert page in {searched["docnames"][number] for number in chain(*pages)}


def test_formulas_are_typeset_without_scripts(site):
    spectral = (site / "docs/methods/spectral.html").read_text("utf-8")
    assert spectral.count('display="block"') >= 8
    assert "<mi>ϕ</mi>" in spectral
    for page in sorted((site / "docs").rglob("*.html")):
        assert "$$" not in page.read_text("utf-8"), page


def test_code_stands_out(site):
    """Every colour of code has a contrast of at least 4.5 in both themes."""
    rules = (site / "_static/pygments.css").read_text("utf-8")
    light, mark, dark = rules.partition('body[data-theme="dark"]')
    assert mark
    for text in (light, dark):
        ground = re.search(r"\.highlight \{ background: #(\w{6})", text)[1]
        colours = set(re.findall(r"\.highlight \.(?!err|w )\w+ \{ color: #(\w{6})", text))
        assert len(colours) > 5
        low = {each for each in colours if contrast(*map(bytes.fromhex, (each, ground))) < 4.5}
        assert low == set()


def test_commands_are_copied_without_prompts_and_output(site):
    assert "copybutton.js" in (site / "docs/how-to/parse.html").read_text("utf-8")
    script = (site / "_static/copybutton.js").read_text("utf-8")
    (prompt,) = re.findall(r"formatCopyText\(text, '(.+?)', true, true", script)
    prompts = re.compile("^(" + prompt.replace("\\\\", "\\") + ")(.*)")
    block = (
        "$ cat > a <<'END'\n> the\n>\n> END\n$ cat a\nthe\n>>> for _ in []:\n...     pass\n...\n"
    )
    copied = [found[2] for line in block.splitlines() if (found := prompts.match(line))]
    assert copied == ["cat > a <<'END'", "the", "", "END", "cat a", "for _ in []:", "    pass", ""]


def test_a_key_of_a_work_is_a_link_to_it(pages, site):
    spectral = pages[site / "docs/methods/spectral.html"]
    assert "../bibliography.html#cohen-2013" in spectral.links
    lexical = (site / "docs/methods/lexical-modifiers.html").read_text("utf-8")
    assert re.search(r"\[<a [^>]*>luque-2012</a>, section 5.2\]", lexical)


def test_pages_outside_the_site_have_no_keys_of_works():
    """The extension for citations does not see them."""
    for name in ("README.md", "CHANGELOG.md"):
        assert "[@" not in (ROOT / name).read_text("utf-8"), name


def test_every_method_has_its_picture():
    for page in (ROOT / "docs/methods").glob("*.md"):
        shown = re.findall(r"!\[[^\]]+\]\(\.\./pictures/(.+)\)", page.read_text("utf-8"))
        assert shown == [f"{page.stem}.svg"]


@pytest.mark.slow
def test_pictures_are_those_that_the_script_draws(tmp_path):
    subprocess.run([sys.executable, PICTURES / "make_pictures.py", tmp_path], check=True)
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text("utf-8") for path in PICTURES.glob("*.svg")}
    assert drawn.keys() == kept.keys()
    hint = "run python docs/pictures/make_pictures.py"
    assert {name for name in drawn if drawn[name] != kept[name]} == set(), hint
