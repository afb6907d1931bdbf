"""What is shown while the service starts, and while it works."""

from __future__ import annotations

import json

from tests.web.browser import OLD_MAN, SLEEPING, write


def starting(model: str | None = None, number: int = 1, kernel: int | None = None) -> str:
    record = {"status": "starting", "error": {"code": "not_ready", "message": "starting"}}
    if model:
        record["preparing"] = {"model": model, "number": number, "total": 2}
    if kernel:
        record["compiling"] = {"number": kernel, "total": 21}
    return json.dumps(record)


def test_the_page_shows_that_the_service_starts(open_page):
    states = [
        starting(), starting(kernel=3), starting(kernel=21), starting("english"),
        starting("english-dependencies", 2),
    ]  # fmt: skip
    page = open_page(errors=True)
    page.route(
        "**/api/health",
        lambda route: (
            route.fulfill(status=503, body=states[0], content_type="application/json")
            if states
            else route.continue_()
        ),
    )
    requests = []
    page.on("request", lambda request: requests.append(request.url.rpartition("/")[2]))
    page.reload()
    page.wait_for_selector("#waiting.on")
    assert page.locator("#waiting-for").text_content() == "The service is starting…"
    page.fill("#text", OLD_MAN)
    for which in (
        "compiling kernel 3 of 21, once per installation.",
        "compiling kernel 21 of 21",
        "preparing english (1 of 2).",
        "preparing english-dependencies (2 of 2).",
    ):
        states.pop(0)
        page.wait_for_selector(f"#waiting-for:text('The service is starting: {which}')")
    page.wait_for_selector("#waiting-seconds:text-matches('^[0-9]+ s$')")
    assert "parse" not in requests
    states.clear()
    page.wait_for_selector("svg.tree")
    assert requests.count("parse") == 1
    assert page.locator("#waiting.on").count() == 0
    assert page.locator("#waiting-for").text_content() == ""


def test_a_service_that_stops_while_it_starts_is_reported(open_page):
    page = open_page(errors=True)
    page.route("**/api/health", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("#error", state="visible")
    assert "does not respond" in page.locator("#error-message").text_content()
    page.unroute("**/api/health")
    page.locator("#retry").focus()
    page.keyboard.press("Enter")
    write(page, OLD_MAN)
    assert page.locator("#error").is_hidden()


def test_the_first_parse_has_a_busy_sign(page):
    held = []
    page.route("**/api/parse", lambda route: held.append(route))
    page.fill("#text", SLEEPING)
    page.wait_for_selector("#waiting.on #waiting-for:text-is('Parsing…')")
    held.pop().continue_()
    page.wait_for_selector("svg.tree")
    assert page.locator("#waiting.on").count() == 0


def test_views_that_take_time_have_a_busy_sign(page):
    write(page, OLD_MAN)
    held = []
    page.route("**/api/parse", lambda route: held.append(route))
    page.click("#view-chart")
    page.wait_for_selector("#waiting.on #waiting-for:text-is('Computing the chart…')")
    assert page.locator("#work").get_attribute("aria-busy") == "true"
    held.pop().continue_()
    page.wait_for_selector("svg.chart")
    page.wait_for_selector("#work:not([aria-busy])")
