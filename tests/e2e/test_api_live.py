"""A program and a person at one page: changes by the API appear at once; the page runs only scripts of the server."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect
from support.browser.page import drag, open_small, open_text, steps, until
from support.sessions.served import served

from tilewright.app.server.access import make_policy

TOKEN = "a-token-of-some-length"

SCRIPTED = """\
# %% [markdown]
# # <img src=x onerror="window.pwned=1"> Title
#
# <script>window.pwned=2</script> [a link](javascript:window.pwned=3) ![x](x" onerror="window.pwned=4)
# %% workload
@T.prim_func(s_tir=True)
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("<img src=x onerror=window.pwned=5>"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi]

# %% schedule
sch = tilewright.Schedule(f)
"""


def ask(url: str, method: str, target: str, body: object = None) -> tuple[int, Any]:
    """Send a request of a program to the server: the status and the answer."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def session_of(page: Page, url: str) -> str:
    """The address of the only page with a notebook."""
    found: list[str] = []

    def is_there() -> bool:
        sessions = ask(url, "GET", "/api/sessions")[1]["sessions"]
        found[:] = [s["session"] for s in sessions if s["page"] and s["title"]]
        return len(found) == 1

    until(page, is_there, timeout=10_000)
    return f"/api/sessions/{found[0]}"


def call(method: str, target: str, **arguments: Any) -> dict[str, Any]:
    return {"kind": "call", "method": method, "target": target, "arguments": arguments}


@pytest.mark.slow
def test_page_and_api_share_edits_and_run_no_scripts(page: Page, app_url: str) -> None:
    open_small(page, app_url, "place_the_copies")
    session = session_of(page, app_url)
    count = len(steps(page))
    status, answer = ask(app_url, "POST", f"{session}?parts=steps", call("compute_at", "A_local.vtcm", loop="ko"))
    assert status == 200, answer
    expect(page.locator(".step")).to_have_count(count + 1)
    assert steps(page)[-1] == "sch.compute_at(AL, ko)"

    assert ask(app_url, "POST", session, call("compute_at", "C", loop="ko"))[0] == 409
    expect(page.locator(".page-notice .notice")).to_have_count(0)
    expect(page.locator(".tw-tree .notice").locator("visible=true")).to_have_count(0)

    drag(page, "B_local.vtcm", "ko")
    expect(page.locator(".step")).to_have_count(count + 2)
    listed = ask(app_url, "GET", f"{session}?parts=steps")[1]["state"]["steps"]
    assert listed[-1]["text"] == "sch.compute_at(BL, ko)"

    for theme in ("dark", "light"):
        ask(app_url, "POST", session, {"kind": "theme", "theme": theme})
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    ask(app_url, "POST", session, {"kind": "undo"})
    ask(app_url, "POST", session, {"kind": "undo"})
    expect(page.locator(".step")).to_have_count(count)
    assert ask(app_url, "DELETE", session)[1]["error"]["code"] == "has-a-page"

    status, answer = ask(app_url, "POST", session, {"kind": "open_text", "text": SCRIPTED})
    assert status in (200, 202), answer
    expect(page.get_by_role("treeitem").nth(1)).to_contain_text("<img src=x")
    page.get_by_role("treeitem").nth(1).click()
    for link in page.locator(".cell.markdown a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript")
    assert page.evaluate("window.pwned") is None


@pytest.mark.slow
def test_unclosed_brackets_are_drawn_at_once(page: Page, app_url: str) -> None:
    """Patterns with quadratic backtracking needed half a minute for these."""
    beginnings = "# %% [markdown]\n# # Beginnings\n#\n# " + "[" * 60_000 + "\n#\n# " + "[a](http://x" * 20_000 + "\n"
    open_text(page, app_url, beginnings + SCRIPTED)
    expect(page.locator("#area-notebook").get_by_role("heading", name="Beginnings")).to_be_visible()


@pytest.mark.slow  # tests/app/server/test_access.py asks a server without a browser
def test_token_opens_the_page_by_link_and_by_form(page: Page) -> None:
    with served(policy=make_policy("0.0.0.0", TOKEN)) as server:
        page.goto(f"{server.url}/login")
        page.get_by_label("Token of this server").fill(TOKEN)
        page.get_by_role("button", name="Open").click()
        page.locator(".card[data-example]").first.wait_for()
        page.context.clear_cookies()
        page.goto(f"{server.url}/example/box_blur?token={TOKEN}")
        page.get_by_role("treeitem").first.wait_for()
        assert TOKEN not in page.url and page.url.endswith("/example/box_blur")
        page.goto(server.url)
        page.locator(".card[data-example]").first.wait_for()
        page.goto("about:blank")
