"""The door, as a table of who gets in."""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest
from support.awaiting import awaited
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketHandler, websocket_connect

from tilewright.app.guard import HEADERS, Door, DoorError, Guard, make_door, policy, signed

TOKEN = "0123456789abcdef-token"
HERE = make_door()
OPEN = make_door("0.0.0.0", TOKEN, ("tiles.example.org", "box:8888"))


def status(door: Door, target: str = "/", method: str = "GET", **headers: str) -> int:
    """What the door says; 0 for "go on". Header names have underscores for hyphens."""
    named = {"Host": "127.0.0.1:5006", **{name.replace("_", "-"): value for name, value in headers.items()}}
    answer = door.answer(method, target, HTTPHeaders(named))
    return 0 if answer is None else answer.status


def cookie_of(door: Door) -> str:
    return door.cookie().partition(";")[0]


@pytest.mark.parametrize("host", ["127.0.0.1:5006", "localhost:5006", "localhost", "[::1]:5006", "127.0.0.1:8888"])
def test_given_a_name_of_this_machine_then_the_page_is_served(host: str) -> None:
    assert status(HERE, Host=host) == 0


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:5006",
        "127.0.0.1.evil.example",
        "10.0.0.7:5006",
        "",
        "localhost:5006@evil.example",
        "a b",
        "[::1",
        "x" * 9999,
    ],
)
def test_given_another_name_then_nothing_is_served(host: str) -> None:
    """A page of another site that points its name at this machine."""
    assert status(HERE, Host=host) == 403
    assert status(HERE, "/ws", Host=host) == 403


def test_given_an_open_server_then_numbers_and_its_own_names_are_known() -> None:
    shown = {"Cookie": cookie_of(OPEN)}
    assert status(OPEN, Host="10.0.0.7:5006", **shown) == 0
    assert status(OPEN, Host="tiles.example.org", **shown) == 0
    assert status(OPEN, Host="TILES.example.org:443", **shown) == 0
    assert status(OPEN, Host="box:8888", **shown) == 0
    assert status(OPEN, Host="box:9999", **shown) == 403
    assert status(OPEN, Host="evil.example", **shown) == 403


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Origin": "http://127.0.0.1:5006"}, 0),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:5007"}, 403),
        ({"Origin": "http://localhost:5006"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://"}, 403),
        ({"Origin": "http://127.0.0.1:5006.evil.example"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}, 0),
        ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}, 0),
    ],
)
def test_given_a_page_of_another_site_then_only_a_link_leads_here(headers: dict[str, str], expected: int) -> None:
    assert status(HERE, "/ws", **headers) == expected


def test_given_embedding_then_nobody_gets_it() -> None:
    assert status(HERE, "/autoload.js?x=1") == 403


@pytest.mark.parametrize("target", ["/api", "/api/", "/api/sessions", "/api/schema?x=1"])
def test_given_the_api_then_it_asks_for_the_token_everywhere(target: str) -> None:
    for door in (HERE, OPEN):
        assert status(door, target) == 401
        assert status(door, target, Authorization="Bearer wrong") == 401
        assert status(door, target, Authorization=f"Basic {door.key}") == 401
        assert status(door, f"{target}{'&' if '?' in target else '?'}token={door.key}") == 401
        assert status(door, target, Authorization=f"Bearer {door.key}") == 0


def test_given_an_open_server_then_pages_files_and_websockets_ask_for_the_token() -> None:
    for target in ("/", "/ws", "/static/js/bokeh.min.js", "/favicon.ico", "/?tokens=" + TOKEN, "//", "/loginx"):
        assert status(OPEN, target) == 401, target
        assert status(OPEN, target, Cookie=cookie_of(OPEN)) == 0, target
    assert status(OPEN, "/login") == 0
    other = make_door("0.0.0.0", TOKEN)
    assert status(OPEN, Cookie=cookie_of(other)) == 401, "a cookie is of one run of one server"


def test_given_the_token_in_the_address_then_it_becomes_a_cookie_and_leaves_the_address() -> None:
    answer = OPEN.answer("GET", f"/?example=box_blur&token={TOKEN}", HTTPHeaders({"Host": "10.0.0.7"}))
    assert answer is not None and answer.status == 302
    headers = dict(answer.headers)
    assert headers["Location"] == "/?example=box_blur"
    assert TOKEN not in str(answer)
    assert re.search(r"HttpOnly; SameSite=Strict", headers["Set-Cookie"])
    shown = headers["Set-Cookie"].partition(";")[0]
    assert status(OPEN, Cookie=shown) == 0


def test_given_a_redirect_then_it_never_leads_to_another_site() -> None:
    for path in ("//evil.example/", "/\\evil.example", "///evil.example"):
        answer = OPEN.answer("GET", f"{path}?token={TOKEN}", HTTPHeaders({"Host": "10.0.0.7"}))
        assert answer is not None
        assert answer.status == 401 or dict(answer.headers)["Location"] == "/"


def test_given_an_address_that_others_reach_when_there_is_no_token_then_there_is_no_server() -> None:
    for address in ("0.0.0.0", "::", "192.168.1.5", "example.org", ""):
        with pytest.raises(DoorError) as caught:
            make_door(address)
        assert caught.value.code == "token-needed"
    for token in ("short", "with a space in the middle", "tökentökentöken!!"):
        with pytest.raises(DoorError) as caught:
            make_door("0.0.0.0", token)
        assert caught.value.code == "token-too-short"
    assert not make_door("::1").is_open and not make_door("127.0.0.2").is_open


def test_given_a_page_then_only_the_scripts_that_the_server_wrote_carry_its_word() -> None:
    page = b'<script>let a = "<script>x<\\/script>";</script><SCRIPT src="a.js"></SCRIPT><p onclick="x()">'
    made = signed(page, "WORD")
    assert made.count(b'nonce="WORD"') == 2
    assert b'let a = "<script>x' in made, "what is in a script's text stays"
    rules = dict(part.split(" ", 1) for part in policy("WORD").split("; "))
    assert "'nonce-WORD'" in rules["script-src"]
    assert "unsafe" not in rules["script-src"] and "*" not in policy("WORD") and "http" not in policy("WORD")
    assert rules["default-src"] == "'none'" and rules["base-uri"] == "'none'"
    assert "nonce" not in policy()
    assert HEADERS["X-Content-Type-Options"] == "nosniff"


def test_given_a_websocket_then_its_frames_do_not_wait_for_each_other() -> None:
    """Nagle's algorithm would hold the second frame of each message back for 40 ms."""
    found: list[int] = []

    class Socket(WebSocketHandler):
        def open(self) -> None:
            stream: Any = getattr(self.ws_connection, "stream", None)
            found.append(stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            self.close()

    async def opened() -> None:
        listener, port = bind_unused_port()
        server = HTTPServer(Guard(Application([("/ws", Socket)]), HERE))
        server.add_socket(listener)
        connection = await websocket_connect(f"ws://127.0.0.1:{port}/ws")
        assert await connection.read_message() is None
        connection.close()
        server.stop()

    awaited(opened())
    assert found and all(found)
