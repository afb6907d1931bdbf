"""The page in a real browser, before a real service."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from eigentree import calibrate, read_treebank
from eigentree._core.printable import visible
from eigentree.drawing.latex import trees_in_latex
from eigentree.treebank.io.brackets import format_tree, parse_tree
from eigentree.treebank.io.conllu import read_conllu
from eigentree.treebank.tree import Tree
from tests.demo import HELD_OUT, demo_parser, demo_trees
from tests.web import models
from tests.web.browser import chromium
from tests.web.running import Running

OLD_MAN = "The old man saw a cat in the house with the dog."
SLEEPING = "She said that the children were sleeping."
HEBREW = "הילד הקטן אכל תפוח בגן."
ATTACK = "<img src=x onerror=alert(1)> <script>alert(2)</script> \"' & </text>"
# Every character that CoNLL-U, LaTeX, qtree or forest takes for something else.
HARD = r"_ % & # { } \ ~ ^ $ [ ] , = . ! | < > " + '" a_b'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("page")
    held_out = read_treebank(HELD_OUT).trees
    calibrate(demo_parser(), held_out).save(folder / "demo.egt")
    clauses = models.save_dependencies(folder)
    options = ["--dependencies", clauses, "--workers", "1", "--max-tokens", "250"]
    with Running("-m", folder / "demo.egt", *options) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser, service) -> Iterator[Callable]:
    """Opens the page; all the while nothing may be wrong, and nothing asked of other places."""
    here = f"http://127.0.0.1:{service.port}/"
    contexts, wrong = [], []

    def opened(hash_: str = "", *, errors: bool = False, **options):
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 860}} | options))
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))

        def on_console(message) -> None:
            is_asked_for = errors and "Failed to load resource" in message.text
            if message.type in ("error", "warning") and not is_asked_for:
                wrong.append(message.text)

        def on_request(request) -> None:
            if not request.url.startswith((here, "blob:")):
                wrong.append(f"asked for {request.url}")

        page.on("console", on_console)
        page.on("request", on_request)
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.goto(here + hash_)
        page.wait_for_selector("#model-name:not(:text('…'))")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def page(open_page):
    return open_page()


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


def clean(tree: Tree) -> Tree:
    """Without the nameless outer bracket."""
    return tree.children[0] if tree.label == "" else tree


def module(page, name: str, body: str, *arguments):
    """What some code makes of a module of the page, named ``it``."""
    return page.evaluate(
        f"async (given) => {{ const it = await import('/static/{name}.js'); {body} }}",
        list(arguments),
    )


# Text and sentences. ---------------------------------------------------------------------


def test_an_empty_page_invites(page):
    assert page.evaluate("() => document.activeElement.id") == "text"
    assert page.locator("#model-name").text_content() == "demo"
    assert page.locator("#work").is_hidden()
    page.click("#examples button >> nth=0")
    page.wait_for_selector("svg.tree")
    assert page.input_value("#text") == page.locator("#examples button").nth(0).text_content()
    assert page.locator("#welcome").is_hidden()


def test_a_tree_appears_while_one_types(page):
    page.locator("#text").press_sequentially(SLEEPING, delay=5)
    page.wait_for_selector("svg.tree")
    words = page.locator("#frame .word text").all_text_contents()
    assert words == ["She", "said", "that", "the", "children", "were", "sleeping", "."]
    assert labels(page)[0] == "S"
    assert re.match(r"8 words · confidence \d+", page.locator("#facts").text_content())
    page.click("#clear")
    page.wait_for_selector("#welcome", state="visible")
    assert page.locator("#work").is_hidden()


def test_typing_asks_once(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#text").press_sequentially(f"{SLEEPING} {OLD_MAN} " * 3, delay=1)
    page.wait_for_selector("#sentences li >> nth=5")
    # Slow machines may pause between keys, but hardly at each of nearly three hundred.
    assert len([url for url in asked if url.endswith("/api/parse")]) < 20
    assert page.evaluate("() => history.length") <= 2


def test_several_sentences_are_a_list(page):
    write(page, f"{OLD_MAN} {SLEEPING}")
    options = page.locator("#sentences [role=option]")
    assert options.locator(".sentence").all_text_contents() == [OLD_MAN, SLEEPING]
    assert options.nth(0).get_attribute("aria-selected") == "true"
    options.nth(1).click()
    assert page.locator("#frame .word").count() == 8
    options.nth(1).press("ArrowUp")
    assert page.locator("#frame .word").count() == 13
    page.keyboard.press("n")
    assert page.locator("#frame .word").count() == 8


def test_a_late_answer_is_dropped(page):
    waiting = []

    def hold_first(route) -> None:
        if "slow" in route.request.post_data:
            waiting.append(route)
        else:
            route.continue_()

    page.route("**/api/parse", hold_first)
    with page.expect_request("**/api/parse"):
        page.fill("#text", "The slow dog saw it.")
    write(page, "The cat slept.")
    for route in waiting:
        route.abort()  # the page had given it up
    page.wait_for_timeout(200)
    assert page.locator("#frame .word text").all_text_contents() == ["The", "cat", "slept", "."]
    assert page.locator("#error").is_hidden()


def test_what_nobody_waits_for_is_given_up(page):
    write(page, SLEEPING)
    page.route(
        "**/api/parse",
        lambda route: None if "best" in route.request.post_data else route.continue_(),
    )
    page.click("#view-alternatives")
    with page.expect_event("requestfailed"):
        page.fill("#text", "It rained.")
    page.wait_for_selector(".card", state="detached")
    assert page.locator("#error").is_hidden()


# The tree. -------------------------------------------------------------------------------


def test_a_click_on_a_triangle_folds(page):
    write(page, OLD_MAN)
    before = page.locator("#frame .node").count()
    phrase(page, "The old man").locator(".fold").click()
    assert phrase(page, "The old man").get_attribute("aria-expanded") == "false"
    assert page.locator("#frame .words text").all_text_contents() == ["The old man"]
    assert page.locator("#frame .node").count() == before - 3
    phrase(page, "The old man").locator(".fold").click()
    assert page.locator("#frame .node").count() == before


def test_the_tree_can_be_worked_by_keys(page):
    write(page, OLD_MAN)

    def focused() -> str:
        return page.evaluate("() => document.activeElement.getAttribute('aria-label')")

    page.locator("#frame .node[tabindex='0']").focus()
    assert focused().startswith("S: The old man saw")
    page.keyboard.press("ArrowDown")
    assert focused().startswith("NP: The old man")
    page.keyboard.press("ArrowRight")
    assert focused().startswith("VP: saw a cat")
    page.keyboard.press("ArrowUp")
    assert focused().startswith("S: ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    assert phrase(page, "The old man").get_attribute("aria-expanded") == "false"
    page.keyboard.press("Tab")
    assert focused() == "Unfold"
    page.keyboard.press("Enter")
    assert phrase(page, "The old man").get_attribute("aria-expanded") == "true"
    page.keyboard.press("End")
    assert focused() == ".: ."
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.locator("#menu").is_visible()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.textContent") == "Forbid S here"
    page.keyboard.press("Escape")
    assert page.locator("#menu").is_hidden()
    assert focused().startswith("S: ")


def test_probabilities_are_behind_labels_and_told(page, service):
    write(page, OLD_MAN)
    record = service.post("/api/parse", {"text": OLD_MAN}).json["results"][0]
    bracket = next(each for each in record["brackets"] if (each["start"], each["end"]) == (0, 3))
    pill = phrase(page, "The old man").locator(".pill")
    share = pill.evaluate("(pill) => Number(pill.style.getPropertyValue('--share'))")
    assert share == bracket["calibrated"]
    assert pill.evaluate("(pill) => getComputedStyle(pill).fill") != "none"
    phrase(page, "The old man").hover()
    told = page.locator("#tooltip").inner_text().splitlines()
    assert told[0] == "NP “The old man”"
    assert re.fullmatch(r"calibrated confidence .*\d %", told[1])
    assert re.fullmatch(r"uncalibrated .*\d %", told[2])
    page.mouse.move(2, 2)
    assert page.locator("#tooltip").is_hidden()
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("#tooltip").inner_text().startswith("NP “The old man”")
    assert page.locator(".legend").is_visible()


def test_colours_are_those_of_the_package_s_pictures(page):
    from eigentree.drawing.tree_svg import HIGH, LOW, MIDDLE

    write(page, SLEEPING)
    page.click("#theme")  # light
    pill = page.locator("#frame .sure").nth(0)
    for share, colour in ((0, LOW), (0.5, MIDDLE), (1, HIGH)):
        found = pill.evaluate(
            "(pill, share) => { pill.style.setProperty('--share', share);"
            " return getComputedStyle(pill).fill; }",
            share,
        )
        assert colour == tuple(round(255 * float(part)) for part in re.findall(r"[\d.]+", found))


def test_zoom_and_pan(page):
    write(page, OLD_MAN)

    def width() -> float:
        return page.locator("svg.tree").bounding_box()["width"]

    first = width()
    page.click("#zoom-in")
    assert width() == pytest.approx(1.25 * first, rel=0.01)
    page.click("#zoom-out")
    assert width() == pytest.approx(first, rel=0.01)
    page.hover("svg.tree")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_timeout(100)
    assert width() > 1.5 * first
    frame = page.locator("#frame")
    box = frame.bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 60)
    before = frame.evaluate("(frame) => frame.scrollLeft")
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 60, steps=4)
    page.mouse.up()
    assert frame.evaluate("(frame) => frame.scrollLeft") == pytest.approx(before - 100, abs=2)
    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("0")
    assert width() == pytest.approx(first, rel=0.01)
    page.keyboard.press("-")
    assert width() == pytest.approx(0.8 * first, rel=0.01)


def test_text_from_right_to_left_runs_so(page):
    write(page, HEBREW)
    boxes = [each.bounding_box() for each in page.locator("#frame .word").all()]
    places = [box["x"] for box in boxes]
    assert places == sorted(places, reverse=True)
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    first = page.evaluate("() => document.activeElement.getBoundingClientRect().x")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.getBoundingClientRect().x") < first


def test_a_long_sentence_is_an_outline(page):
    clause = "and the old man saw the cat in the house with the dog"
    write(page, f"It rained {' '.join([clause] * 14)}.")
    assert page.locator("svg.tree.outline").count() == 1
    tops = [each["y"] for each in (w.bounding_box() for w in page.locator("#frame .word").all())]
    assert tops == sorted(tops)
    assert len(tops) == 3 + 14 * len(clause.split())
    page.locator("#frame .node[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    label = page.evaluate("() => document.activeElement.getAttribute('aria-level')")
    assert label in {"1", "2"}
    page.keyboard.press("l")
    page.wait_for_selector("svg.tree.top")
    assert "layout=top" in page.url
    page.click("#fold")
    assert page.locator("#frame .words").count() > 0
    page.click("#fold")
    assert page.locator("#frame .words").count() == 0


# Constraints. ----------------------------------------------------------------------------


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


def test_conflicts_are_told(page):
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


# The other views. ------------------------------------------------------------------------


def test_alternatives_stand_side_by_side(page, service):
    see(page, OLD_MAN, "alternatives")
    asked = {"sentences": [OLD_MAN], "best": 6}
    record = service.post("/api/parse", asked).json["results"][0]
    cards = page.locator(".card")
    assert cards.count() == len(record["alternatives"]) == 6
    first, second = (parse_tree(each["tree"]) for each in record["alternatives"][:2])
    spans = [{(s.label, s.start, s.end) for s in tree.spans()} for tree in (first, second)]
    told = cards.nth(1).locator(".differences dd b").all_text_contents()
    assert len(told) == len(spans[0] ^ spans[1])
    assert cards.nth(1).locator(".differs").count() == len(spans[1] - spans[0])
    tops = [cards.nth(i).bounding_box()["y"] for i in (0, 1)]
    assert tops[0] == tops[1]
    parsed_again(page, lambda: cards.nth(1).locator("text=Force this tree").click())
    page.click("#view-tree")
    wanted = json.loads(parse_qs(urlsplit(page.url).fragment)["constraints"][0])["0"]
    for kind, those in (("required", spans[1] - spans[0]), ("forbidden", spans[0] - spans[1])):
        rows = {(label, start, end) for start, end, label in wanted[kind]}
        assert rows == those


def test_the_chart_is_a_heat_map(page, service):
    see(page, OLD_MAN, "chart")
    asked = {"sentences": [OLD_MAN], "marginals": 0.002}
    record = service.post("/api/parse", asked).json["results"][0]
    spans = {(each["start"], each["end"]) for each in record["marginals"]}
    cells = page.locator(".cell")
    assert cells.count() == len(spans)
    in_tree = {(each["start"], each["end"]) for each in record["brackets"]}
    assert page.locator(".cell.in-tree").count() == len(in_tree)
    page.hover(".cell[data-cell='0 3']")
    assert re.fullmatch(
        r"“The old man”\nNP .*\d %", page.locator("#tooltip").inner_text().split("\n\n")[0]
    )
    page.locator(".cell[tabindex='0']").focus()
    assert page.evaluate("() => document.activeElement.dataset.cell") == "0 13"
    page.keyboard.press("ArrowDown")
    below = page.evaluate("() => document.activeElement.dataset.cell")
    assert below != "0 13"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("() => document.activeElement.dataset.cell") == "0 13"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.click(".cell[data-cell='4 9']")
    parsed_again(page, lambda: page.click("text=Force a phrase here"))
    page.wait_for_selector(".cell.in-tree[data-cell='4 9']")


def test_dependencies_are_arcs(page, service):
    text = "the dog sees a cat"
    see(page, text, "dependencies")
    record = service.post("/api/dependencies", {"sentences": [text]}).json["results"][0]
    told = [each.get_attribute("aria-label") for each in page.locator(".arc").all()]
    for i, (word, head) in enumerate(zip(record["words"], record["heads"], strict=True)):
        over = "the root" if head == 0 else record["words"][head - 1]
        start = f"{word}, {record['tags'][i]}, {record['relations'][i]} of {over}, confidence "
        assert told[i].startswith(start)
    labels = page.locator(".arc .label").all_text_contents()
    assert labels == record["relations"]
    page.locator(".arc >> nth=0").focus()
    page.keyboard.press("ArrowUp")
    at = page.evaluate("() => Number(document.activeElement.dataset.word)")
    assert at == record["heads"][0] - 1
    page.keyboard.press("Home")
    assert page.evaluate("() => document.activeElement.dataset.word") == "0"


def test_arcs_never_share_a_place(page):
    cases = [[0], [2, 0, 2], [2, 3, 0, 3, 4], [3, 4, 0, 3], [5, 1, 1, 3, 0, 3], [0, 1, 1, 1, 1]]
    for heads in cases:
        levels = module(page, "arcs", "return it.levelsOf(given[0]);", heads)
        arcs = [(min(h - 1, i), max(h - 1, i), levels[i]) for i, h in enumerate(heads) if h]
        for number, (left, right, level) in enumerate(arcs):
            for other_left, other_right, other in arcs[:number]:
                if left < other_right and other_left < right:
                    assert level != other
                    is_within = left <= other_left and other_right <= right
                    assert (
                        not is_within or level > other or right - left == other_right - other_left
                    )


# ExportButtons, files and links. ----------------------------------------------------------------


def test_copies_are_what_other_programs_read(page, service):
    text = f'"{SLEEPING[:-1]}," he said.'
    write(page, text)
    record = service.post("/api/parse", {"text": text}).json["results"][0]
    assert copied(page, "brackets") == record["tree"] + "\n"
    assert json.loads(copied(page, "json")) == record
    conllu = copied(page, "conllu")
    (read,) = read_conllu(conllu.splitlines(keepends=True))
    assert f"# text = {text}" in conllu
    heads = service.post("/api/dependencies", {"sentences": [text]}).json["results"][0]["heads"]
    assert [word.head for word in read.sentence.words] == heads
    tree = parse_tree(record["tree"])
    for style in ("qtree", "forest"):
        assert copied(page, style) == trees_in_latex([clean(tree)], style, fragment=True)


def test_what_can_be_shown_is_what_the_package_shows(page):
    codes = [*range(0x300), 0x301, 0xAD, *range(0x2000, 0x2070), 0xFFFE, 0x1F600, 0x1FFFF]
    texts = [*map(chr, codes), "a\u0301", "a\u202eb", "ש\u05b8"]
    found = module(page, "dom", "return given[0].map(it.visible);", texts)
    assert found == [visible(text) for text in texts]


def test_conllu_without_dependencies(page):
    record = {
        "words": ["a", "_", "x y\tz", "|"],
        "tags": ["DT", "NN", "", "SYM"],
        "offsets": [[0, 1], [1, 2], [3, 8], [9, 10]],
    }
    body = "return it.conllu(given[0], 'a_ x y\\tz |');"
    told = module(page, "formats", body, record)
    lines = told.split("\n")
    assert lines[0] == "# text = a_ x y z |"
    assert lines[1] == "1\ta\t_\t_\tDT\t_\t_\t_\t_\tSpaceAfter=No"
    assert lines[3] == "3\tx y z\t_\t_\t_\t_\t_\t_\t_\t_"
    assert all(line.count("\t") == 9 for line in lines[1:5])
    assert lines[5:] == ["", ""]


@pytest.mark.slow
@pytest.mark.parametrize("style", ["qtree", "forest"])
def test_latex_is_that_of_the_package(page, style):
    hard = " ".join(f"(X-{word} {word})" for word in [*HARD.split(), "--", "``", "\u00a0", "-LRB-"])
    trees = [parse_tree(f"(S {hard})"), parse_tree("(X w)"), *demo_trees()[:20]]
    body = (
        "const trees = await import('/static/tree_model.js');"
        "return given[0].map((text) => it[given[1]](trees.readTree(text)));"
    )
    found = module(page, "formats", body, [format_tree(tree) for tree in trees], style)
    assert found == [trees_in_latex([tree], style, fragment=True) for tree in trees]
    assert "{\\textbackslash{}}" in found[0]
    assert "{-{}-}" in found[0]


@pytest.mark.slow
def test_trees_are_read_as_the_package_writes_them(page):
    texts = [
        "( (S (NP (DT the) (NN dog)) (VP (VBZ barks))))",
        "(NP (NP (NP (NN -LRB-x-RRB-))) (NN -L\\RB-) (NN -L\\\\RB-) (NN RB-))",
        "(X w)",
        "(A|B (@X \u00a0) (NP^S ،))",
    ]
    body = (
        "return it.nodesOf(it.readTree(given[0]))"
        ".map(({label, word, start, end}) => [label, word, start, end]);"
    )
    for text in texts:
        tree = parse_tree(text)
        found = module(page, "tree_model", body, text)
        assert [word for _, word, *_ in found if word is not None] == list(tree.words())
        spans = sorted((label, start, end) for label, word, start, end in found if word is None)
        named = sorted((s.label, s.start, s.end) for s in tree.spans() if s.label)
        assert spans == named


def test_a_picture_is_a_file_of_its_own(page):
    write(page, OLD_MAN)
    page.click("#theme")
    page.click("#theme")  # dark, which the file is not
    for view in ("tree", "chart", "dependencies"):
        page.click(f"#view-{view}")
        page.wait_for_selector({"dependencies": "svg.arcs"}.get(view, f"svg.{view}"))
        with page.expect_download() as started:
            page.click("[data-copy=svg]")
        text = Path(started.value.path()).read_text("utf-8")
        assert started.value.suggested_filename == f"{view}.svg"
        root = xml.etree.ElementTree.fromstring(text)
        told = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
        assert {"house", "dog"} <= set(told)
        for foreign in (
            "var(",
            "class=",
            "color(",
            "color-mix",
            " style=",
            "tabindex",
            "aria-level",
        ):
            assert foreign not in text
        assert 'fill="#ffffff"' in text


def test_a_link_keeps_the_state(open_page, page):
    write(page, f"{SLEEPING} {OLD_MAN}")
    page.click("#sentences li >> nth=1")
    phrase(page, "the house with the dog").locator(".label").click()
    parsed_again(page, lambda: page.click("text=Forbid NP here"))
    page.click("#view-chart")
    page.wait_for_selector("svg.chart")
    link = copied(page, "link")
    assert link == page.url
    other = open_page(link[link.index("#") :])
    other.wait_for_selector("svg.chart")
    assert other.input_value("#text") == f"{SLEEPING} {OLD_MAN}"
    assert other.locator("#sentences [aria-selected=true]").get_attribute("data-sentence") == "1"
    assert chips(other) == ["not NP: “the house with the dog”"]
    assert other.url == link
    other.click("#view-tree")
    other.wait_for_selector("svg.tree")
    assert phrase(other, "the house with the dog").count() == 0
    # Another link, followed in the open page.
    other.evaluate("(hash) => { location.hash = hash; }", f"#text={quote(SLEEPING)}")
    other.wait_for_function("() => document.querySelectorAll('#frame .word').length === 8")


@pytest.mark.parametrize(
    "hash_",
    [
        "#sentence=-3&view=none&constraints=[[[&text=It%20rained.",
        '#constraints={"0":{"required":[[0,99]],"tags":[["x",1]]},"7":{"forbidden":[[0,1]]}}'
        "&sentence=9&text=It%20rained.",
        '#constraints={"0":{"required":[[0,2,"<b>x</b>"]]}}&text=It%20rained.',
        '#constraints={"0":{"required":7,"forbidden":[[2,1],[0,1,""]]},"x":null}&text=It%20rained.',
        "#model=none&text=It%20rained.&page=&layout=spiral",
    ],
)
def test_a_link_that_makes_no_sense_harms_nothing(open_page, hash_):
    page = open_page(hash_)
    page.wait_for_selector("svg.tree")
    assert page.locator("#frame .word").count() == 3
    assert page.locator("#chips b").count() == 0


# Safety, errors, and how it looks. -------------------------------------------------------


def test_text_stays_text(open_page):
    page = open_page(f"#text={quote(ATTACK)}")
    page.wait_for_selector("svg.tree")
    shown = "".join(page.locator("#frame .word text").all_text_contents())
    assert "<" in shown
    assert "onerror" in shown
    for view in ("alternatives", "chart", "dependencies"):
        page.click(f"#view-{view}")
        page.wait_for_selector(
            {"alternatives": ".card", "dependencies": "svg.arcs"}.get(view, "svg.chart")
        )
        assert page.locator("main img, main script").count() == 0


def test_misleading_characters_are_seen(page):
    write(page, "The cat \u202eslept\u202c.")
    shown = "".join(page.locator("#frame .word text").all_text_contents())
    assert "\u202e" not in shown
    assert "\ufffd" in shown


def test_errors_are_shown_and_recovered_from(open_page):
    page = open_page(errors=True)
    write(page, SLEEPING)
    page.fill("#text", "dog " * 300)
    page.wait_for_selector("#error", state="visible")
    told = page.locator("#error-message").text_content()
    assert told == "At most 250 tokens per sentence are allowed (got 300)."
    write(page, SLEEPING)
    page.wait_for_selector("#error", state="hidden")
    page.route("**/api/parse", lambda route: route.abort())
    page.fill("#text", OLD_MAN)
    page.wait_for_selector("#error", state="visible")
    assert "does not respond" in page.locator("#error-message").text_content()
    page.unroute("**/api/parse")
    page.click("#retry")
    page.wait_for_function("() => document.querySelectorAll('#frame .word').length === 13")
    assert page.locator("#error").is_hidden()
    page.route("**/api/parse", lambda route: route.fulfill(status=502, body="<b>Bad</b> gateway"))
    page.fill("#text", SLEEPING)
    page.wait_for_selector("#error", state="visible")
    assert "status 502" in page.locator("#error-message").text_content()


def test_one_bad_sentence_leaves_the_others(open_page):
    page = open_page(errors=True)
    write(page, f"{SLEEPING} {'dog ' * 300}. {OLD_MAN}")
    assert page.locator("#sentences li").count() == 3
    assert page.locator("#error").is_hidden()
    page.click("#sentences li >> nth=1")
    page.wait_for_selector("#error", state="visible")
    page.click("#sentences li >> nth=2")
    page.wait_for_selector("svg.tree")
    assert page.locator("#error").is_hidden()


def test_light_and_dark(open_page):
    def ground(page) -> str:
        return page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")

    light, dark = open_page(color_scheme="light"), open_page(color_scheme="dark")
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
    page = open_page(color_scheme=scheme)
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


@pytest.mark.parametrize("view", ["tree", "alternatives", "chart", "dependencies", "grammar"])
def test_nothing_is_wider_than_a_small_screen(open_page, view):
    page = open_page(viewport={"width": 360, "height": 740})
    if view == "grammar":
        page.click("#to-grammar")
        page.wait_for_selector(".state")
    elif view == "tree":
        write(page, f"{OLD_MAN} {SLEEPING}")
    else:
        see(page, f"{OLD_MAN} {SLEEPING}", view)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360


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


# The grammar. ----------------------------------------------------------------------------


def test_the_grammar_can_be_browsed(page, service):
    page.click("#to-grammar")
    page.wait_for_selector(".state")
    known = service.get("/api/models/demo/symbols").json
    assert page.locator("#symbol-list li").count() == len(known)
    first = known[0]
    assert page.locator(".symbol-title").text_content() == first["label"]
    assert page.locator(".state").count() == first["n_states"]
    assert page.locator(".spectrum .bar").count() == len(first["singular_values"])
    page.fill("#symbol-search", "dt")
    shown = page.locator("#symbol-list .symbol-name").all_text_contents()
    assert set(shown) == {each["label"] for each in known if "dt" in each["label"].lower()}
    page.press("#symbol-search", "ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(f".symbol-title:text-is('{shown[0]}')")
    assert "the" in page.locator(".choice").all_text_contents()
    page.select_option("#symbol-kind", "interminal")
    assert page.locator("#symbol-list li").count() == 0
    page.fill("#symbol-search", "")
    page.click("[data-symbol=VP]")
    page.wait_for_selector(".symbol-title:text-is('VP')")
    assert "symbol=VP" in page.url
    page.click(".choice a >> nth=0")
    page.wait_for_selector(".symbol-title:not(:text-is('VP'))")
    page.go_back()
    page.wait_for_selector(".symbol-title:text-is('VP')")


def test_a_nonterminal_that_is_not_there(open_page):
    page = open_page("#page=grammar&symbol=%3Cb%3E", errors=True)
    page.wait_for_selector("#error", state="visible")
    assert "<b>" in page.locator("#error-message").text_content()
    page.click("[data-symbol=NP]")
    page.wait_for_selector(".symbol-title:text-is('NP')")
    assert page.locator("#error").is_hidden()


@pytest.mark.slow
def test_the_text_is_kept_between_the_pages(page):
    write(page, SLEEPING)
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_selector(".state")
    page.keyboard.press("g")
    page.wait_for_selector("svg.tree")
    assert page.input_value("#text") == SLEEPING
