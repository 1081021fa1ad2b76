"""The address bar names what is open: reload, Back, Forward, links, drafts, and a server that is started again."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser.cell_editor import cell_editor, rewrite
from support.browser.page import choose, open_example, steps
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.served import Served, served

from tilewright.app.cli.commands.serve import free_port
from tilewright.app.links import fragment_of
from tilewright.app.server.access import make_policy
from tilewright.app.server.keys import KEY_SECONDS, Keys
from tilewright.app.storage.drafts import drafts_folder

Shoot = Callable[[Page, str], Path]

DRAFT = re.compile(r"/draft/[0-9a-f]{12}$")


@pytest.fixture
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the drafts, empty."""
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(tmp_path / "state"))
    folder = drafts_folder()
    assert folder is not None
    return folder


def tree(page: Page) -> None:
    page.get_by_role("treeitem").first.wait_for()


def test_given_an_example_then_reload_back_and_forward_keep_the_place(
    serve_page: Callable[..., str], page: Page
) -> None:
    url = serve_page()
    page.goto(url)
    open_example(page, "what_moves_what")
    expect(page).to_have_url(f"{url}/example/what_moves_what")
    page.reload()
    tree(page)
    expect(page).to_have_title(re.compile("what moves what", re.IGNORECASE))
    page.go_back()
    expect(page).to_have_url(f"{url}/")
    expect(page.locator("html")).to_have_attribute("data-screen", "gallery")
    page.go_forward()
    expect(page).to_have_url(f"{url}/example/what_moves_what")
    tree(page)


def test_given_an_edited_example_then_it_is_a_draft_that_a_reload_keeps_and_the_gallery_lists(
    serve_page: Callable[..., str], page: Page, drafts: Path, shoot: Shoot
) -> None:
    url = serve_page()
    page.goto(url)
    open_example(page, "what_moves_what")
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
    assert list(drafts.glob("*.py")) == []


def test_given_a_pasted_program_then_it_is_a_draft_at_once(
    serve_page: Callable[..., str], page: Page, drafts: Path
) -> None:
    page.goto(serve_page())
    page.get_by_label("A TVMScript program or a notebook").fill(MATMUL_NOTEBOOK)
    page.get_by_role("button", name="Open", exact=True).click()
    tree(page)
    expect(page).to_have_url(DRAFT)
    page.reload()
    tree(page)
    (draft,) = drafts.glob("*.py")
    assert draft.read_text() == MATMUL_NOTEBOOK


def test_given_a_draft_that_is_saved_in_the_folder_then_the_address_is_the_files(
    serve_page: Callable[..., str], page: Page, drafts: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    url = serve_page(folder)
    page.goto(f"{url}/example/what_moves_what")
    tree(page)
    choose(page, "ii", "Parallel")
    expect(page).to_have_url(DRAFT)
    page.keyboard.press("Control+s")
    name = page.get_by_role("textbox", name="Name").or_(page.locator(".file-ask input"))
    name.first.fill("kept.py")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{url}/file/kept.py")
    expect(page.locator('[data-file="saved"]')).to_be_visible()
    assert "parallel" in (folder / "kept.py").read_text()


def test_given_a_link_then_it_stays_in_the_address_until_the_notebook_is_edited(
    serve_page: Callable[..., str], page: Page, drafts: Path
) -> None:
    url, fragment = serve_page(), fragment_of(MATMUL_NOTEBOOK)
    page.goto(f"{url}/{fragment}")
    tree(page)
    expect(page).to_have_url(f"{url}/{fragment}")
    page.reload()
    tree(page)
    assert list(drafts.glob("*.py")) == []
    choose(page, "i", "Parallel")
    expect(page).to_have_url(DRAFT)
    page.reload()
    tree(page)
    assert any("parallel" in step for step in steps(page))


def test_given_an_address_of_nothing_then_the_start_page_says_so(serve_page: Callable[..., str], page: Page) -> None:
    url = serve_page()
    for path in ("/example/nothing", "/file/nothing.py", "/draft/0123456789ab", "/draft/x%20y"):
        page.goto(f"{url}{path}")
        expect(page.get_by_role("alert").filter(has_text=re.compile("there is no|has no draft"))).to_be_visible()


def test_given_a_prefix_then_every_address_is_below_it(page: Page, drafts: Path) -> None:
    with served(policy=make_policy(prefix="/tiles/kernels")) as server:
        page.goto(server.page_url("/"))
        open_example(page, "what_moves_what")
        expect(page).to_have_url(f"{server.url}/example/what_moves_what")
        page.reload()
        tree(page)
        page.go_back()
        expect(page.locator("html")).to_have_attribute("data-screen", "gallery")
        page.goto("about:blank")


def test_given_the_token_then_it_leaves_the_address_and_another_browser_is_asked_for_it(
    open_page: Callable[..., Page], server: Served, browser: Browser, shoot: Shoot
) -> None:
    page = open_page()
    page.goto(server.page_url("/example/box_blur"))
    tree(page)
    expect(page).to_have_url(f"{server.url}/example/box_blur")
    stranger = browser.new_context().new_page()  # a 401 is an error on the console
    stranger.goto(f"{server.url}/example/box_blur#part")
    shoot(stranger, "login")
    stranger.get_by_label("Token of this server").fill("wrong")
    stranger.get_by_role("button", name="Open").click()
    expect(stranger.get_by_role("alert")).to_have_text("This is not the token.")
    stranger.get_by_label("Token of this server").fill(server.policy.token)
    stranger.get_by_role("button", name="Open").click()
    tree(stranger)
    expect(stranger).to_have_url(f"{server.url}/example/box_blur#part")
    stranger.context.close()
    page.goto("about:blank")


def test_given_the_first_visit_then_a_second_tab_needs_no_token_and_a_refused_ticket_asks_for_another(
    open_page: Callable[..., Page], server: Served
) -> None:
    page = open_page(own=True)
    page.goto(server.page_url("/example/box_blur"))
    tree(page)
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


def test_given_a_key_after_its_life_then_the_page_says_so_and_asks_for_the_token(browser: Browser) -> None:
    now = [time.time()]
    policy = msgspec.structs.replace(make_policy(), keys=Keys(now=lambda: now[0]))
    with served(policy=policy) as server:
        page = browser.new_context().new_page()
        page.goto(server.page_url("/example/box_blur"))
        tree(page)
        now[0] += KEY_SECONDS + 1
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("The access of this browser has expired")
        page.get_by_label("Token of this server").fill(server.policy.token)
        page.get_by_role("button", name="Open").click()
        tree(page)
        page.context.close()


def test_given_a_link_on_another_site_then_a_person_with_the_key_gets_in_with_the_notebook(
    browser: Browser, server: Served, serve: Callable[..., str]
) -> None:
    page = browser.new_context().new_page()
    page.goto(server.page_url("/"))
    page.locator(".card[data-example]").first.wait_for()
    target = f"{server.url}/{fragment_of(MATMUL_NOTEBOOK)}"
    foreign = server.url.replace("127.0.0.1", "localhost")  # another site to the browser
    page.route(
        f"{foreign}/foreign", lambda route: route.fulfill(body=f'<a href="{target}">link</a>', content_type="text/html")
    )
    page.goto(f"{foreign}/foreign")
    page.get_by_role("link").click()
    tree(page)
    assert page.url.endswith(fragment_of(MATMUL_NOTEBOOK))
    page.context.close()


def start(port: int, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tilewright", "serve", "--port", str(port), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def first_address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    return server.stdout.readline().split()[-1]


def test_given_a_server_that_is_started_again_then_the_page_asks_for_its_token_and_comes_back_with_what_was_typed(
    browser: Browser, drafts: Path, shoot: Shoot
) -> None:
    port = free_port(0)
    server = start(port)
    try:
        page = browser.new_context().new_page()
        page.goto(first_address(server))
        open_example(page, "what_moves_what")
        count = len(steps(page))
        choose(page, "ii", "Parallel")
        expect(page.locator(".step")).to_have_count(count + 1)
        expect(page).to_have_url(DRAFT)
        expect(page.get_by_text("Draft", exact=True).first).to_be_visible()
        page.locator(".cell.markdown").first.dblclick()
        typed = cell_editor(page)
        rewrite(typed, "# Half a senten")
        page.wait_for_timeout(500)  # the server keeps what is typed at each pause
        server.kill()
        server.communicate()
        expect(page.get_by_role("alert").filter(has_text="The server does not respond")).to_be_visible()
        typed.press("End")
        page.keyboard.type("ce")
        shoot(page, "server-lost")
        server = start(port)
        address = first_address(server)
        with page.expect_navigation(timeout=3_000):
            pass
        expect(page.get_by_role("alert")).to_contain_text("The server was started again")
        shoot(page, "server-started-again")
        other = page.context.new_page()
        other.goto(address)  # the printed address, in another tab
        other.locator(".card[data-example]").first.wait_for()
        tree(page)
        expect(page.locator(".step")).to_have_count(count + 1)
        expect(page).to_have_url(DRAFT)
        expect(typed).to_have_text("# Half a sentence")
        page.context.close()
    finally:
        server.terminate()
        server.communicate()
