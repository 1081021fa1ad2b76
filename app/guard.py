"""The server's door: who may ask it anything, looked at before any handler, so that no page, file or websocket is forgotten.

A request must name the server by a name that it goes by (else a foreign page could reach it through a name server of its own) and must not
come from another site's page. Where the server listens to other machines it must show the token; the API asks for it everywhere.
Answers carry headers that keep the page to what this server sends.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
    parse_cookie,
)
from tornado.iostream import IOStream
from tornado.web import Application, RequestHandler

from ..engine.ir import Refusal, TilewrightError
from .limits import LIMITS

SHORTEST_TOKEN = 16
"""Characters. What cannot be guessed needs no count of the guesses."""

API = "/api"
LOGIN = "/login"
EMBEDDING = re.compile(r"/autoload\.js$")
"""Bokeh's way into other sites' pages: nobody's need here, and it answers all origins."""

POLICY: Mapping[str, str] = {
    "default-src": "'none'",
    "script-src": "'self' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' blob:",
    "worker-src": "'self' blob:",
    "form-action": "'self'",
    "frame-ancestors": "'self'",
    "base-uri": "'none'",
}
"""Components are modules loaded from blobs; of what stands in a page only the scripts run that carry the word of this answer."""

HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # Not "no-referrer": a form sends no origin under it, and the door asks for one.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

_SCRIPT = re.compile(rb"<script(?P<rest>[^>]*>.*?</script>)", re.DOTALL | re.IGNORECASE)


class DoorError(TilewrightError):
    """A server that would be open to more people than it should be."""


class Answer(msgspec.Struct, frozen=True):
    """What is said at the door instead of what was asked for."""

    status: int
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    kind: str = "text/plain; charset=utf-8"


class Door(msgspec.Struct, frozen=True):
    """Who gets in. `key` is the token; the screen asks for it where the server `is_open` to other machines, the API always does.
    `names` are further host names that the server is reached by, with or without a port."""

    address: str
    key: str
    names: tuple[str, ...] = ()
    salt: bytes = b""

    @property
    def is_open(self) -> bool:
        """Whether others than this machine's own users can reach it."""
        return not _is_loopback(self.address)

    @property
    def invitation(self) -> str:
        """What the address of the first visit ends with."""
        return "?" + urlencode({"token": self.key}) if self.is_open else ""

    def answer(self, method: str, target: str, headers: HTTPHeaders) -> Answer | None:
        """None for a request that may go on."""
        url = urlsplit(target)
        host = headers.get("Host", "")
        if not self.goes_by(host):
            text = f"This server does not go by the name {host[:80]!r}. Start it with --allow-host to let it."
            return Answer(403, text)
        if _length(headers) > LIMITS.request_bytes:
            refusal = Refusal("too-large", "the request is too large", expected=f"at most {LIMITS.request_bytes} bytes")
            return Answer(413, _error(refusal), kind="application/json")
        if not self._is_from_here(headers, host) or EMBEDDING.search(url.path):
            return Answer(403, "This server answers its own pages only.")
        if method not in ("GET", "HEAD", "POST", "DELETE", "OPTIONS"):
            return Answer(405, "This server knows GET, HEAD, POST and DELETE.")
        if url.path == API or url.path.startswith(API + "/"):
            return (
                None
                if self.knows(headers)
                else Answer(401, _API_NEEDS_TOKEN, (("WWW-Authenticate", "Bearer"),), "application/json")
            )
        if not self.is_open or url.path == LOGIN or self.knows(headers):
            return None
        return self._let_in(method, url.path, url.query)

    def _let_in(self, method: str, path: str, query: str) -> Answer:
        """A visit without a cookie: the token in the address is taken for one, and goes from the address."""
        if path != "/":
            return Answer(401, "This server asks for its token first.")
        values = parse_qsl(query, keep_blank_values=True)
        if method == "GET" and any(name == "token" and self.is_key(value) for name, value in values):
            rest = urlencode([(name, value) for name, value in values if name != "token"])
            return Answer(302, "", (("Location", f"/?{rest}" if rest else "/"), ("Set-Cookie", self.cookie())))
        return Answer(401, login_page(), kind="text/html; charset=utf-8")

    def goes_by(self, host: str) -> bool:
        """Whether the server answers to this Host. Numbers are nobody's to point elsewhere; names are, so they must be known."""
        name = _host_name(host)
        if not name:
            return False
        if host.lower() in self.names or name in self.names or name == "localhost":
            return True
        try:
            number = ipaddress.ip_address(name)
        except ValueError:
            return self.is_open and name in (socket.gethostname().lower(), socket.getfqdn().lower())
        return self.is_open or number.is_loopback

    def _is_from_here(self, headers: HTTPHeaders, host: str) -> bool:
        """Whether it comes from a page of ours, from no page, or is a person following a link."""
        origin = headers.get("Origin")
        if origin is not None:
            if urlsplit(origin).scheme not in ("http", "https"):
                return False
            return urlsplit(origin).netloc.lower() in (host.lower(), *self.names)
        if headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
            return headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
        return True

    def knows(self, headers: HTTPHeaders) -> bool:
        """Whether the request shows the token, or the cookie that stands for it."""
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_key(token.strip()):
            return True
        cookies = parse_cookie(headers.get("Cookie", ""))
        return self.is_open and _same(cookies.get(self._cookie_name, ""), self._cookie_value)

    def is_key(self, token: str) -> bool:
        """In a time that does not tell how much of it is right."""
        return bool(self.key) and _same(token, self.key)

    def cookie(self) -> str:
        """The cookie after the first visit: no script reads it, no other site sends it, and the token is not in it."""
        return f"{self._cookie_name}={self._cookie_value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"

    @property
    def _cookie_name(self) -> str:
        return "tilewright-" + hashlib.sha256(self.salt).hexdigest()[:8]

    @property
    def _cookie_value(self) -> str:
        return hmac.new(self.key.encode(), b"tilewright" + self.salt, hashlib.sha256).hexdigest()

    def origins(self, port: int) -> list[str]:
        """What Bokeh may accept websockets from, behind what the door has let through already."""
        if self.is_open:
            return ["*"]
        here = [f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"]
        return [*here, *self.names, *(f"{name}:{port}" for name in self.names if ":" not in name)]


def make_door(address: str = "127.0.0.1", token: str = "", names: tuple[str, ...] = ()) -> Door:
    """The door of a server that listens at `address`. Raises DoorError "token-needed", "token-too-short"."""
    if not _is_loopback(address) and not token:
        raise DoorError(
            Refusal(
                "token-needed",
                f"a server at {address} is open to other machines and needs a token",
                expected=f"--token with at least {SHORTEST_TOKEN} characters, or TILEWRIGHT_TOKEN",
                fix=(f"tilewright serve --host {address} --token {secrets.token_urlsafe(18)}",),
            )
        )
    if token and (len(token) < SHORTEST_TOKEN or not token.isprintable() or not token.isascii() or " " in token):
        raise DoorError(
            Refusal(
                "token-too-short",
                "the token could be guessed, or is no plain text",
                found=f"{len(token)} characters",
                expected=f"at least {SHORTEST_TOKEN} ASCII characters without a space",
            )
        )
    return Door(
        address, token or secrets.token_urlsafe(24), tuple(name.lower() for name in names), secrets.token_bytes(16)
    )


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def _host_name(host: str) -> str:
    """The name in a Host header, without port and brackets; "" for what is none."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?", host)
    return (found[1] or found[2]).lower() if found else ""


def _length(headers: HTTPHeaders) -> int:
    """What a request says that it holds; Tornado cuts off what holds more, and what does not say it."""
    text = headers.get("Content-Length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _error(refusal: Refusal) -> str:
    return msgspec.json.encode({"error": refusal.to_json()}).decode()


_API_NEEDS_TOKEN = _error(
    Refusal(
        "token-needed",
        "the API asks for the server's token",
        expected="Authorization: Bearer TOKEN, as `tilewright serve` wrote it down",
    )
)


def login_page(wrong: bool = False) -> str:
    """A form for the token: no script, nothing from elsewhere."""
    said = "<p role=alert>That is not it.</p>" if wrong else ""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        "<title>Tilewright</title><style>body{font:16px system-ui;margin:15vh auto;max-width:22rem;padding:0 1rem;"
        "color-scheme:light dark}input,button{font:inherit;padding:.5rem;width:100%;box-sizing:border-box;"
        "margin-top:.5rem}</style><main><h1>Tilewright</h1>"
        f"{said}<form method=post action={html.escape(LOGIN)}><label>Token of this server"
        "<input type=password name=token autocomplete=current-password autofocus required></label>"
        "<button>Open</button></form></main></html>"
    )


class Login(RequestHandler):
    """What the form at the door sends."""

    def initialize(self, door: Door) -> None:
        self._door = door

    def get(self) -> None:
        """The form."""
        self.write(login_page())

    def post(self) -> None:
        """A cookie for the token."""
        if not self._door.is_key(self.get_body_argument("token", "")):
            self.set_status(401)
            self.write(login_page(wrong=True))
            return
        self.set_header("Set-Cookie", self._door.cookie())
        self.redirect("/")


class Guard(HTTPServerConnectionDelegate):
    """Stands before an application: what the door refuses never reaches it, what it answers goes out with our headers."""

    def __init__(self, inner: Application, door: Door) -> None:
        self._inner = inner
        self._door = door

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return _Entrance(self._inner, self._door, server_conn, Dressed(request_conn))

    def on_close(self, server_conn: object) -> None:
        self._inner.on_close(server_conn)


class _Entrance(HTTPMessageDelegate):
    """One request."""

    def __init__(self, inner: Application, door: Door, server_conn: object, connection: Dressed) -> None:
        self._application = inner
        self._door = door
        self._server_conn = server_conn
        self._connection = connection
        self._inner: HTTPMessageDelegate | None = None
        self._answer: Answer | None = None

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> Awaitable[None] | None:
        assert isinstance(start_line, RequestStartLine)
        self._answer = self._door.answer(start_line.method, start_line.path, headers)
        if self._answer is not None:
            return None
        self._inner = self._application.start_request(self._server_conn, self._connection)
        return self._inner.headers_received(start_line, headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return None if self._inner is None else self._inner.data_received(chunk)

    def finish(self) -> None:
        if self._inner is not None:
            self._inner.finish()
        elif self._answer is not None:
            body = self._answer.text.encode()
            headers = HTTPHeaders({"Content-Type": self._answer.kind, "Content-Length": str(len(body))})
            for name, value in self._answer.headers:
                headers.add(name, value)
            self._connection.write_headers(ResponseStartLine("HTTP/1.1", self._answer.status, ""), headers, body)
            self._connection.finish()

    def on_connection_close(self) -> None:
        if self._inner is not None:
            self._inner.on_connection_close()


class Dressed(HTTPConnection):
    """A connection whose answers have the headers of `HEADERS` and the policy; all else is the connection's own."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def write_headers(self, start_line: Any, headers: HTTPHeaders, chunk: bytes | None = None) -> Any:
        nonce = ""
        if chunk and headers.get("Content-Type", "").startswith("text/html"):
            nonce = secrets.token_urlsafe(16)
            chunk = signed(chunk, nonce)
            headers["Content-Length"] = str(len(chunk))
        headers["Content-Security-Policy"] = policy(nonce)
        for name, value in HEADERS.items():
            headers[name] = value
        headers.pop("Server", None)
        return self._connection.write_headers(start_line, headers, chunk)

    def write(self, chunk: bytes) -> Any:
        return self._connection.write(chunk)

    def detach(self) -> IOStream:
        """The stream of a websocket, whose small frames do not wait for each other: Bokeh sends three for a message, and the kernel
        kept the second back until the browser's had acknowledged the first, which takes up to 40 ms."""
        stream: IOStream = self._connection.detach()  # pyright: ignore[reportAttributeAccessIssue]  # of HTTP/1.1
        stream.set_nodelay(True)
        return stream

    def finish(self) -> None:
        self._connection.finish()


def policy(nonce: str = "") -> str:
    """The content security policy of an answer; of a page with the word that its own scripts carry."""
    rules = {**POLICY, "script-src": f"{POLICY['script-src']} 'nonce-{nonce}'"} if nonce else POLICY
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def signed(page: bytes, nonce: str) -> bytes:
    """The page with the word on each script that stands in it as the server wrote it; what is in a script's text stays."""
    return _SCRIPT.sub(lambda found: b'<script nonce="' + nonce.encode() + b'"' + found["rest"], page)
