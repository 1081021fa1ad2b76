"""The address bar names the open notebook: reload, Back, Forward, links, drafts, and a restarted server."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser.cell_editor import cell_editor, rewrite
from support.browser.page import choose, go_to_gallery, open_example, open_text, steps, until
from support.browser.sizes import wrong_texts
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.served import Served, served

from tilewright.app.cli.commands.serve import free_port
from tilewright.app.links import fragment_of
from tilewright.app.server.access import make_policy
from tilewright.app.server.keys import KEY_SECONDS, Keys
from tilewright.app.storage.drafts import drafts_folder

Shoot = Callable[[Page, str], Path]

DRAFT = re.compile(r"/draft/[0-9a-f]{12}$")


class Place(NamedTuple):
    """A server without a token: its address, the served folder, and the folder of its drafts."""

    url: str
    folder: Path
    drafts: Path


@pytest.fixture(scope="module")
def server_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        drafts = drafts_folder()
        assert drafts is not None
        with served(folder, make_policy(requires_token=False)) as server:
            yield Place(server.url, folder, drafts)


@pytest.fixture
def place(server_of_all: Place) -> Place:
    """Without drafts."""
    for draft in server_of_all.drafts.glob("*"):
        draft.unlink()
    return server_of_all


def tree(page: Page) -> None:
    page.get_by_role("treeitem").first.wait_for()


@pytest.mark.slow
def test_an_edited_example_is_a_draft_in_reload_and_gallery(place: Place, page: Page, shoot: Shoot) -> None:
    go_to_gallery(page, place.url)
    open_example(page, "what_moves_what")
    expect(page).to_have_url(f"{place.url}/example/what_moves_what")
    expect(page).to_have_title(re.compile("what moves what", re.IGNORECASE))
    page.go_back()
    expect(page).to_have_url(f"{place.url}/")
    expect(page.locator("html")).to_have_attribute("data-screen", "gallery")
    page.go_forward()
    expect(page).to_have_url(f"{place.url}/example/what_moves_what")
    tree(page)
    count = len(steps(page))
    choose(page, "ii", "Parallel")
    expect(page.locator(".step")).to_have_count(count + 1)
    expect(page).to_have_url(DRAFT)
    expect(page.get_by_text("Draft", exact=True).first).to_be_visible()
    shoot(page, "draft")
    page.reload()
    tree(page)
    expect(page.locator(".step")).to_have_count(count + 1)
    page.get_by_label("Undo (Ctrl+Z)").click()
    expect(page.locator(".step")).to_have_count(count)
    page.go_back()
    expect(page.get_by_role("heading", name="Continue where you left off")).to_be_visible()
    shoot(page, "gallery-drafts")
    page.locator("[data-draft]").click()
    tree(page)
    expect(page).to_have_url(DRAFT)
    page.go_back()
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("[data-draft]").hover()
    page.get_by_role("button", name="Discard the draft").click()
    expect(page.locator("[data-draft]")).to_have_count(0)
    assert list(place.drafts.glob("*.py")) == []


def test_a_pasted_program_is_a_draft_until_it_is_saved(place: Place, page: Page) -> None:
    open_text(page, place.url, MATMUL_NOTEBOOK)
    expect(page).to_have_url(DRAFT)
    until(page, lambda: [draft.read_text() for draft in place.drafts.glob("*.py")] == [MATMUL_NOTEBOOK])
    choose(page, "i", "Parallel")
    expect(page.locator(".step", has_text="parallel")).to_be_visible()
    page.keyboard.press("Control+s")
    name = page.get_by_role("textbox", name="Name").or_(page.locator(".file-ask input"))
    name.first.fill("kept.py")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{place.url}/file/kept.py")
    expect(page.locator('[data-file="saved"]')).to_be_visible()
    assert "parallel" in (place.folder / "kept.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if n else ())
        for n, path in enumerate(["/draft/0123456789ab", "/example/nothing", "/file/nothing.py", "/draft/x%20y"])
    ],
)
def test_start_page_reports_an_unknown_address(place: Place, page: Page, path: str) -> None:
    page.goto(f"{place.url}{path}")
    expect(page.get_by_role("alert").filter(has_text=re.compile("there is no|has no draft"))).to_be_visible()
    if path == "/example/nothing":
        page.goto(f"{place.url}/example/box_blue")
        expect(page.get_by_role("alert").filter(has_text="box_blur")).to_be_visible()
        page.locator(".card .thumb-block").first.wait_for()
        assert not wrong_texts(page, "an unknown address")


@pytest.mark.slow
def test_every_address_is_below_the_prefix(page: Page) -> None:
    with served(policy=make_policy(prefix="/tiles/kernels")) as server:
        page.goto(server.page_url("/"))
        open_example(page, "what_moves_what")
        expect(page).to_have_url(f"{server.url}/example/what_moves_what")
        page.reload()
        tree(page)
        page.go_back()
        expect(page.locator("html")).to_have_attribute("data-screen", "gallery")
        page.goto("about:blank")


@pytest.mark.slow
def test_a_page_asks_for_the_token_until_it_is_correct(browser: Browser, shoot: Shoot) -> None:
    now = [time.time()]
    policy = msgspec.structs.replace(make_policy(), keys=Keys(now=lambda: now[0]))
    with served(policy=policy) as server:
        page = browser.new_context().new_page()  # a 401 is an error on the console
        page.goto(f"{server.url}/example/box_blur#part")
        shoot(page, "login")
        assert not wrong_texts(page, "login")
        page.get_by_label("Token of this server").fill("wrong")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("alert")).to_have_text("This is not the token.")
        page.get_by_label("Token of this server").fill(server.policy.token)
        page.get_by_role("button", name="Open").click()
        tree(page)
        expect(page).to_have_url(f"{server.url}/example/box_blur#part")
        assert page.context.cookies() == []
        now[0] += KEY_SECONDS + 1
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("The access of this browser has expired")
        expect(page.get_by_label("Token of this server")).to_be_visible()
        page.context.close()


@pytest.mark.slow
def test_a_second_tab_needs_no_token_and_renews_its_ticket(open_page: Callable[..., Page], server: Served) -> None:
    page = open_page(own=True)
    page.goto(server.page_url("/example/box_blur"))
    tree(page)
    expect(page).to_have_url(f"{server.url}/example/box_blur")
    assert page.context.cookies() == []
    second = page.context.new_page()
    second.goto(f"{server.url}/example/what_moves_what?ticket=of-yesterday")
    tree(second)
    expect(second).to_have_url(f"{server.url}/example/what_moves_what")
    second.reload()
    tree(second)
    second.goto(f"{server.url}/")
    open_example(second, "box_blur")
    second.reload()
    tree(second)
    second.go_back()
    expect(second.locator("html")).to_have_attribute("data-screen", "gallery")
    second.go_forward()
    expect(second).to_have_url(f"{server.url}/example/box_blur")
    tree(second)
    second.close()
    page.goto("about:blank")


@pytest.mark.slow
def test_a_link_on_another_site_opens_with_the_key(browser: Browser, server: Served) -> None:
    page = browser.new_context().new_page()
    page.goto(server.page_url("/"))
    page.locator(".card[data-example]").first.wait_for()
    target = f"{server.url}/{fragment_of(MATMUL_NOTEBOOK)}"
    foreign = server.url.replace("127.0.0.1", "localhost")  # cross-site for the browser
    page.route(
        f"{foreign}/foreign", lambda route: route.fulfill(body=f'<a href="{target}">link</a>', content_type="text/html")
    )
    page.goto(f"{foreign}/foreign")
    page.get_by_role("link").click()
    tree(page)
    assert page.url.endswith(fragment_of(MATMUL_NOTEBOOK))
    page.context.close()


@pytest.mark.slow
def test_a_page_keeps_its_text_across_a_server_restart(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shoot: Shoot
) -> None:
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(tmp_path))
    port = free_port(0)
    page = browser.new_context().new_page()
    with served(port=port) as server:
        page.goto(server.page_url())
        open_example(page, "what_moves_what")
        count = len(steps(page))
        choose(page, "ii", "Parallel")
        expect(page.locator(".step")).to_have_count(count + 1)
        expect(page).to_have_url(DRAFT)
        page.locator(".cell.markdown").first.dblclick()
        typed = cell_editor(page)
        rewrite(typed, "# Half a senten")
        page.wait_for_timeout(500)  # the server stores typed text at each pause
    expect(page.get_by_role("alert").filter(has_text="The server does not respond")).to_be_visible()
    typed.press("End")
    page.keyboard.type("ce")
    shoot(page, "server-lost")
    with served(port=port) as server:
        with page.expect_navigation(timeout=10_000):
            pass
        expect(page.get_by_role("alert")).to_contain_text("The server was started again")
        shoot(page, "server-started-again")
        page.get_by_label("Token of this server").fill(server.policy.token)
        page.get_by_role("button", name="Open").click()
        tree(page)
        expect(page.locator(".step")).to_have_count(count + 1)
        expect(page).to_have_url(DRAFT)
        expect(typed).to_have_text("# Half a sentence")
        page.context.close()
