"""A server under attack: raw bytes, malformed frames, floods, paths outside the folder. It answers, and it answers the next request too."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from support.sessions.hostile import NASTY
from support.sessions.served import Served, served

from tilewright.app.limits import LIMITS
from tilewright.app.server import http
from tilewright.app.views.shell.gallery import load_examples

PLACE = next(e.text for e in load_examples() if e.name == "place_the_copies")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "mine.py").write_text(PLACE)
    (tmp_path_factory.getbasetemp() / "secret.toml").write_text('name = "secret"\nclock_hz = "top-secret-figure"\n')
    (folder / "inside.toml").symlink_to(tmp_path_factory.getbasetemp() / "secret.toml")
    for name, machine in {"sly": "../secret.toml", "linked": "inside.toml"}.items():
        (folder / f"{name}.py").write_text(PLACE.replace('machine("dual-bank-npu")', f'machine("{machine}")'))
    with served(folder) as running:
        yield running


@pytest.fixture(autouse=True)
def still_serves(server: Served) -> Iterator[None]:
    yield
    began = time.monotonic()
    assert server.ask("GET", "/api").status == 200
    assert time.monotonic() - began < 10


def get(target: str, **headers: str) -> bytes:
    lines = [f"GET {target} HTTP/1.1", "Host: 127.0.0.1", *(f"{k.replace('_', '-')}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def handshake(target: str, **headers: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    sent = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13", "Sec_WebSocket_Key": key}
    return get(target, **sent, **headers)


def frame(opcode: int, data: bytes, *, masked: bool = True, length: int | None = None, first: int = 0x80) -> bytes:
    """A frame of a websocket; `length` is its declared length."""
    claimed = len(data) if length is None else length
    head = bytes([first | opcode])
    bit = 0x80 if masked else 0
    if claimed < 126:
        head += bytes([bit | claimed])
    elif claimed < 1 << 16:
        head += bytes([bit | 126]) + struct.pack(">H", claimed)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", claimed)
    mask = b"\x01\x02\x03\x04"
    return head + (mask + bytes(b ^ mask[n % 4] for n, b in enumerate(data)) if masked else data)


def token_of(server: Served) -> str:
    page = server.ask("GET", "/").body.decode()
    found = page.partition('"token":"')[2].partition('"')[0]
    assert found, "a page carries the token of its websocket"
    return found


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 4000,
        b"GET",
        b"\xff\xfe\xfd" * 999,
        b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /api HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /api HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /api HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * (2 * LIMITS.header_bytes) + b"\r\n\r\n",
        b"GET /%00%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /\r\nHost: evil\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=range(15),
)
def test_malformed_requests_harm_nobody(server: Served, data: bytes) -> None:
    got = server.raw(data, seconds=1)
    assert b"Traceback" not in got
    assert not got or got.startswith(b"HTTP/1.1")
    if b"evil" in data:
        assert b"200 OK" not in got


@pytest.mark.parametrize(
    "target",
    [
        "/../../../../etc/passwd",
        "/static/../../../../../../etc/passwd",
        "/static/..%2f..%2f..%2f..%2f..%2fetc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
        "/static/extensions/panel/../../../../../../../etc/passwd",
        "/static/extensions/panel/..%5c..%5c..%5cetc/passwd",
        "/components/os/path/etc/passwd",
        "/components/panel.custom/JSComponent/_esm/../../../../../../etc/passwd",
        "/metadata",
        "/api/../etc/passwd",
        "/mine.py",
        "/.tilewright",
        "/api/sessions/..%2f..%2fetc",
    ],
)
def test_a_path_outside_the_served_folder_gets_no_file(server: Served, target: str) -> None:
    got = server.raw(get(target, Connection="close", Authorization=f"Bearer {server.policy.token}"))
    assert b"root:" not in got and b"def matmul" not in got and b"Traceback" not in got


def test_a_websocket_from_another_site_is_refused(server: Served) -> None:
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}):
        assert server.raw(handshake("/ws", **headers), 1).startswith(b"HTTP/1.1 403")
    assert server.raw(handshake("/ws").replace(b"Host: 127.0.0.1", b"Host: evil.example"), 1).startswith(
        b"HTTP/1.1 403"
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "frames",
    [
        frame(1, b"{}", masked=False),
        pytest.param(frame(15, b"what"), marks=pytest.mark.slow),
        pytest.param(frame(1, b"\xff\xfe not text"), marks=pytest.mark.slow),
        frame(1, b"x", length=1 << 62),
        frame(1, b"x", length=LIMITS.message_bytes * 4),
        pytest.param(frame(9, b"p" * 126), marks=pytest.mark.slow),
        pytest.param(frame(0, b"goes on with nothing"), marks=pytest.mark.slow),
        pytest.param(frame(1, b"{", first=0), marks=pytest.mark.slow),
        pytest.param(frame(1, b"[" * 200_000), marks=pytest.mark.slow),
        frame(1, b'{"msgtype":"PATCH-DOC"}') + frame(1, b"{}") + frame(1, b'{"events":[{"kind":"x"}]}'),
        pytest.param(frame(2, b"\x00" * 100_000), marks=pytest.mark.slow),
        pytest.param(
            frame(1, json.dumps({"msgid": "1", "msgtype": "EVENT", "num_buffers": 10**9}).encode())
            + frame(1, b"{}") * 3,
            marks=pytest.mark.slow,
        ),
        pytest.param(frame(8, b"\x00"), marks=pytest.mark.slow),
        pytest.param(frame(1, b"x", first=0xF0), marks=pytest.mark.slow),
        pytest.param(b"\x00" * 5000, marks=pytest.mark.slow),
    ],
    ids=range(15),
)
def test_malformed_frames_end_only_their_page(server: Served, frames: bytes) -> None:
    protocol = f"bokeh, {token_of(server)}"
    shown = {"Authorization": f"Bearer {server.policy.token}"}
    opening = handshake("/ws", Origin="http://127.0.0.1", Sec_WebSocket_Protocol=protocol, **shown)
    got = server.raw(opening + frames, seconds=1)
    assert b"101 Switching Protocols" in got


@pytest.mark.parametrize("size", [LIMITS.request_bytes + 1, 10_000_000])
def test_too_large_a_body_is_not_read(server: Served, size: int) -> None:
    head = f"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer {server.policy.token}\r\n"
    request = f"{head}Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode()
    got = server.raw(request + b"x" * size, seconds=20)
    assert got.startswith(b"HTTP/1.1 413") and b'"too-large"' in got


def test_far_too_large_a_body_ends_the_connection(server: Served) -> None:
    head = f"POST /api HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {10**12}\r\n\r\n"
    assert b"200 OK" not in server.raw(head.encode(), seconds=2)


@pytest.mark.parametrize(
    "drops", [b"", b"GET / HTTP/1.1\r\nX: a", b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nt"]
)
def test_slow_requests_are_dropped(monkeypatch: pytest.MonkeyPatch, drops: bytes) -> None:
    short = msgspec.structs.replace(LIMITS, headers_seconds=0.5, body_seconds=0.5)
    monkeypatch.setattr(http, "LIMITS", short)
    with served() as server, socket.create_connection(("127.0.0.1", server.port), timeout=30) as plug:
        plug.sendall(drops)
        assert plug.recv(100) == b"", "it is closed, without a word"


@pytest.mark.parametrize("name", ["sly.py", "linked.py"])
def test_a_machine_file_outside_the_folder_is_not_read(server: Served, name: str) -> None:
    answer = server.ask("POST", "/api/sessions?parts=notebook", {"name": name})
    assert answer.status == 201
    assert answer.json["state"]["notebook"]["error"]["code"] == "machine-elsewhere"
    assert "top-secret" not in answer.body.decode()
    server.ask("DELETE", answer.headers["location"])


def program(shape: str, loops: str, letters: str = "i", body: str = "B[{v}] = A[{v}]", schedule: str = "") -> str:
    names = ", ".join(letters)
    v = ", ".join("v" + letter for letter in letters)
    written = body.format(v=v)
    return (
        "# %% workload\n@T.prim_func(s_tir=True)\n"
        f'def f(A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32")):\n'
        f"    for {names} in T.grid({loops}):\n"
        '        with T.sblock("B"):\n'
        f'            {v} = T.axis.remap("{"S" * len(letters)}", [{names}])\n'
        f"            {written}\n\n# %% schedule\nsch = tilewright.Schedule(f)\n{schedule}"
    )


LETTERS = "abcdefghijklmnopqrstuvwxyz"

HOSTILE: dict[str, Any] = {
    "ten megabytes": "x = 1\n" * 1_700_000,
    "three megabytes": "x = 1  # a comment of some length\n" * 100_000,
    "a hundred thousand lines": "x = 1\n" * 100_000,
    "a long line": "x = " + "1 + " * 100_000 + "1",
    "deep brackets": program("(4,)", "4", body="B[{v}] = " + "(" * 5000 + "A[{v}]" + ")" * 5000),
    "deep loops": "# %% workload\n@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), 'float32')):\n"
    + "".join(f"{' ' * (4 + n)}for i{n} in range(2):\n" for n in range(900))
    + " " * 905
    + "A[0] = 1.0\n",
    "wide extents": program("(10**30,)", "1" + "0" * 30),
    "an extent with thousands of digits": program("(4,)", "9" * 5000),
    "a shape like a zip bomb": program("(" + "2000000000, " * 20 + ")", ", ".join(["2000000000"] * 20), LETTERS[:20]),
    "billions of steps": program("(2147483647,)", "2147483647"),
    "trillions of steps, tiled": program(
        "(1048576, 1048576, 1048576)",
        "1048576, 1048576, 1048576",
        "ijk",
        schedule='i, j, k = sch.get_loops("B")\nsch.split(i, factors=[None, 7])\nsch.split(j, factors=[None, 11])\n',
    ),
    "thousands of lines": program("(4096,)", "4096", schedule='i, = sch.get_loops("B")\n' * 4000),
    "an index map that doubles itself": program(
        "(64,)",
        "64",
        schedule='sch.transform_layout("B", ("write", 0), lambda i: [' + " + ".join(["i * i"] * 4000) + "])\n",
    ),
    "an index map in itself": program(
        "(64,)", "64", schedule='sch.transform_layout("B", ("write", 0), lambda i: [(lambda i: i)(i)])\n'
    ),
    "a map by zero": program("(64,)", "64", schedule='sch.transform_layout("B", ("write", 0), lambda i: [i // 0, i % 0])\n'),
    "markdown that backtracks": "# %% [markdown]\n# " + "*_`" * 20_000 + "\n" + program("(4,)", "4"),
    "markdown of beginnings": "# %% [markdown]\n# # " + "[" * 300_000 + "\n#\n# " + "[a](http://x" * 30_000 + "\n" + program("(4,)", "4"),
    "markdown with script": "# %% [markdown]\n# <script>alert(1)</script> [x](javascript:alert(1))\n" + program("(4,)", "4"),
    "names with script": program("(4,)", "4").replace('"B"):', '"<img src=x onerror=alert(1)>"):'),
    "a machine elsewhere": '# %% machine\nmachine = tilewright.machine("../secret.toml")\n' + program("(4,)", "4"),
    "a machine by its full path": '# %% machine\nmachine = tilewright.machine("/etc/passwd.toml")\n' + program("(4,)", "4"),
    "thousands of cells": "# %% [markdown]\n# x\n" * 30_000 + program("(4,)", "4"),
    "thousands of blocks": "# %% workload\n@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4,), 'float32')):\n"
    + "".join(f'    for i in range(4):\n        with T.sblock("b{n}"):\n            A[i] = 1.0\n' for n in range(1500)),
    "null characters": program("(4,)", "4") + "\x00",
    "control characters in a name": program("(4,)", "4").replace('"B"):', '"B\\x1b[2J\\u202e"):'),
}  # fmt: skip


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "thousands of blocks" else ()) for name in HOSTILE]
)
def test_a_hostile_text_is_answered(server: Served, name: str) -> None:
    began = time.monotonic()
    answer = server.ask("POST", "/api/sessions?parts=notebook,steps,tree", {"text": HOSTILE[name]})
    took = time.monotonic() - began
    print(f"\n{name}: {answer.status} in {took:.2f} s {answer.body[:100]!r}")
    assert answer.status in (201, 400, 409, 413), answer.body[:300]
    assert took < 40, "others wait for so long"
    body = answer.body.decode()
    assert "top-secret" not in body and "internal-error" not in body and "Traceback" not in body
    if answer.status == 201:
        address = answer.headers["location"]
        state = server.ask("GET", f"{address}?parts=report,verdict,python,script&wait=20")
        assert state.status in (200, 202)
        assert "internal-error" not in state.body.decode()
        assert server.ask("DELETE", address).status == 200


NASTY_IN_DEFAULT = {0, 3, 4, 13, 22}
"""Markup, a null character, a lone surrogate, a division by zero, a machine file outside the folder."""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=() if n in NASTY_IN_DEFAULT else pytest.mark.slow) for n, text in enumerate(NASTY)],
    ids=range(len(NASTY)),
)
def test_a_hostile_word_in_a_field_is_answered(server: Served, text: str) -> None:
    session = server.opened()
    word = text.encode("utf-8", "replace").decode()
    for intent in (
        {"kind": "rename", "id": "ko", "name": word},
        {"kind": "add_branch", "name": word},
        {"kind": "edit_item", "item": 1, "text": word},
        {"kind": "edit_prose", "cell": 0, "text": word},
        {"kind": "edit", "cell": 2, "body": word},
        {"kind": "set_parameter", "path": word, "value": word},
        {
            "kind": "call",
            "method": "transform_layout",
            "target": "C",
            "arguments": {"buffer": ["write", 0], "index_map": word},
        },
        {"kind": "call", "method": "annotate", "target": "ko", "arguments": {"ann_key": word, "ann_val": word}},
        {
            "kind": "call",
            "method": "split",
            "target": "mo",
            "arguments": {"factors": [None, 2], "names": [word, word + "i"]},
        },
        {"kind": "show_layout", "look": {"draft": word[:2000]}},
    ):
        answer = server.ask("POST", f"{session}?parts=notebook,steps,tree,script", intent)
        assert answer.status in (200, 202, 409), answer.body[:300]
        assert "internal-error" not in answer.body.decode()
    server.ask("DELETE", session)


def test_answers_restrict_the_page_to_our_content(server: Served) -> None:
    for target in ("/", "/static/js/bokeh.min.js", "/api", "/nothing", "/favicon.ico"):
        headers = server.ask("GET", target).headers
        assert "default-src 'none'" in headers["content-security-policy"], target
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "SAMEORIGIN"
        assert "server" not in headers
    page = server.ask("GET", "/")
    rules = page.headers["content-security-policy"]
    assert "unsafe-eval" not in rules and "script-src 'self' blob: 'nonce-" in rules
    assert server.ask("GET", "/", token=None).headers["content-security-policy"] != rules, "a word of its own"
