"""A program and a person at one page: what the API does is seen at once; the page runs nothing that the server did not send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect
from support.browser.page import choose, drag, steps
from support.sessions.served import Served, served

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


def opened(page: Page, server: Served, example: str = "place_the_copies") -> str:
    """The address of the page's session."""
    page.goto(server.page_url(f"/example/{example}"))
    page.get_by_role("treeitem").first.wait_for()
    for _ in range(200):
        found = [s for s in server.ask("GET", "/api/sessions").json["sessions"] if s["page"]]
        if found:
            return f"/api/sessions/{found[-1]['session']}"
        page.wait_for_timeout(50)
    raise AssertionError("the page is not among the sessions")


def call(method: str, target: str, **arguments: Any) -> dict[str, Any]:
    return {"kind": "call", "method": method, "target": target, "arguments": arguments}


def test_given_an_open_page_when_a_program_edits_then_the_person_sees_it_and_the_other_way_round(
    page: Page, server: Served
) -> None:
    session = opened(page, server)
    count = len(steps(page))
    done = server.ask("POST", f"{session}?parts=steps", call("compute_at", "A_local.vtcm", loop="ko"))
    assert done.status == 200, done.body
    expect(page.locator(".step")).to_have_count(count + 1)
    assert steps(page)[-1] == "sch.compute_at(AL, ko)"

    refused = server.ask("POST", session, call("compute_at", "C", loop="ko"))
    assert refused.status == 409
    expect(page.locator(".page-notice .notice")).to_have_count(0)
    expect(page.locator(".tw-tree .notice").locator("visible=true")).to_have_count(0)

    drag(page, "B_local.vtcm", "ko")
    expect(page.locator(".step")).to_have_count(count + 2)
    told = server.ask("GET", f"{session}?parts=steps").json["state"]["steps"]
    assert told[-1]["text"] == "sch.compute_at(BL, ko)"

    server.ask("POST", session, {"kind": "theme", "theme": "dark"})
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    server.ask("POST", session, {"kind": "undo"})
    server.ask("POST", session, {"kind": "undo"})
    expect(page.locator(".step")).to_have_count(count)
    assert server.ask("DELETE", session).json["error"]["code"] == "has-a-page"


def test_given_the_policy_of_the_page_then_every_pane_view_and_mode_works_under_it(page: Page, server: Served) -> None:
    """What it forbids would be an error on the console, which fails the test."""
    opened(page, server)
    for pane in ("Python", "Problems", "Machine", "Traffic", "TVMScript"):
        page.get_by_role("tab", name=pane).click()
    page.get_by_role("button", name="A/B").click()
    page.keyboard.press("Escape")
    page.goto(server.url)
    page.locator(".card[data-example]").first.wait_for()
    page.goto(f"{server.url}/example/what_moves_what")
    page.get_by_role("treeitem").first.wait_for()
    choose(page, "ii", "Split")
    page.keyboard.press("Escape")
    drag(page, "W_local", "ii")
    expect(page.locator(".step code").filter(has_text="sch.compute_at(WL, ii)")).to_have_count(1)
    with page.expect_download():
        page.get_by_role("button", name="Export").click()
        if page.get_by_role("menuitem").count():
            page.get_by_role("menuitem").first.click()


def test_given_a_notebook_with_scripts_in_it_then_none_is_run(page: Page, server: Served) -> None:
    session = opened(page, server)
    done = server.ask("POST", session, {"kind": "open_text", "text": SCRIPTED})
    assert done.status in (200, 202), done.body
    expect(page.get_by_role("treeitem").nth(1)).to_contain_text("<img src=x")
    page.get_by_role("treeitem").nth(1).click()
    for link in page.locator(".cell.markdown a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript")
    assert page.evaluate("window.pwned") is None


def test_given_words_of_nothing_but_beginnings_then_the_page_is_drawn_at_once(page: Page, server: Served) -> None:
    """Patterns that read over each other's beginnings took half a minute for these."""
    session = opened(page, server)
    beginnings = "# %% [markdown]\n# # Beginnings\n#\n# " + "[" * 60_000 + "\n#\n# " + "[a](http://x" * 20_000 + "\n"
    done = server.ask("POST", session, {"kind": "open_text", "text": beginnings + SCRIPTED})
    assert done.status in (200, 202), done.body
    expect(page.locator("#area-notebook").get_by_role("heading", name="Beginnings")).to_be_visible(timeout=15_000)
    page.evaluate("document.title")  # it answers


def test_given_a_server_for_others_then_the_token_opens_the_page_once_and_the_cookie_afterwards(
    open_page: Callable[..., Page],
) -> None:
    with served(policy=make_policy("0.0.0.0", TOKEN)) as server:
        page = open_page()
        page.goto(f"{server.url}/example/box_blur?token={TOKEN}")
        page.get_by_role("treeitem").first.wait_for()
        assert TOKEN not in page.url and page.url.endswith("/example/box_blur")
        page.goto(server.url)
        page.locator(".card[data-example]").first.wait_for()
        page.goto("about:blank")


def test_given_a_server_for_others_when_the_token_is_typed_then_the_page_opens(open_page: Callable[..., Page]) -> None:
    with served(policy=make_policy("0.0.0.0", TOKEN)) as server:
        page = open_page()
        page.goto(f"{server.url}/login")
        page.get_by_label("Token of this server").fill(TOKEN)
        page.get_by_role("button", name="Open").click()
        page.locator(".card[data-example]").first.wait_for()
        page.goto("about:blank")
