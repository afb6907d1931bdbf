"""Links, which keep the state of the page."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.web.browser import OLD_MAN, SLEEPING, chips, copied, parsed_again, phrase, write


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
