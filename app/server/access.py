"""Access control: the check of every request before a handler sees it.

The Host header must be a known name of the server (protection against DNS rebinding), the request must not come from another site's page,
must contain a credential, and must be for an address on the allowlist (`routes`). The credential is the server's token, as
`Authorization: Bearer TOKEN` or once in the page's address, where it is exchanged for a cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
from urllib.parse import parse_qsl, urlencode

import msgspec
from tornado.httputil import HTTPHeaders, parse_cookie

from ...engine.ir import Refusal, TilewrightError
from ..limits import LIMITS
from ..state.addresses import Address, address_of
from .login import login_page, return_page
from .routes import READING, Route, find_route

SHORTEST_TOKEN = 16
"""Minimum length in characters. A token of this length cannot be guessed, so failed attempts are not counted."""

COOKIE_SECONDS = 30 * 24 * 3600

HTML = "text/html; charset=utf-8"
JSON = "application/json"


class AccessError(TilewrightError):
    """Raised for server settings that would give access to too many people."""


class Answer(msgspec.Struct, frozen=True):
    """The response to a request that does not reach the application."""

    status: int
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    kind: str = "text/plain; charset=utf-8"


class Pass(msgspec.Struct, frozen=True):
    """A request that passes to the application with the address `target`."""

    target: str


class AccessPolicy(msgspec.Struct, frozen=True):
    """The rules of access. `token` is the credential of pages and API; without `requires_token` every client has access.

    `names` are further host names of the server, with or without a port. `secret` signs the cookies; with the same secret they survive a
    restart. `prefix` ("" or "/tiles") precedes every path; `is_tls`: the server itself uses HTTPS. `app_path` is the application's path for
    the page; clients use the start page.
    """

    address: str
    token: str
    names: tuple[str, ...] = ()
    secret: bytes = b""
    requires_token: bool = True
    prefix: str = ""
    is_tls: bool = False
    app_path: str = "/"

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach the server."""
        return not _is_loopback(self.address)

    @property
    def invitation(self) -> str:
        """The query of the printed address: the token, for the first visit."""
        return "?" + urlencode({"token": self.token}) if self.requires_token else ""

    def decide(self, method: str, target: str, headers: HTTPHeaders) -> Answer | Pass:
        """Decide whether a request passes, or which answer it gets. Never raises, for any input."""
        path, _, query = target.partition("?")
        if not _is_path(path):
            return Answer(400, "The address of this request is invalid.")
        host = headers.get("Host", "")
        if not self.goes_by(host):
            text = f"This server does not accept the host name {host[:80]!r}. Start it with --allow-host to allow it."
            return Answer(403, text)
        if _length(headers) > LIMITS.request_bytes:
            refusal = Refusal("too-large", "the request is too large", expected=f"at most {LIMITS.request_bytes} bytes")
            return Answer(413, _error(refusal), kind=JSON)
        if self.prefix and path == self.prefix:
            return Answer(302, "", (("Location", self.prefix + "/"),))
        inner = path.removeprefix(self.prefix) if path.startswith(self.prefix + "/") else ""
        if inner == self.app_path != "/":
            return Answer(302, "", (("Location", f"{self.prefix}/?{query}" if query else f"{self.prefix}/"),))
        route = find_route(inner)
        if not self._is_from_here(method, route, headers, host):
            return Answer(403, "This server accepts requests from its own pages only.")
        refused = self._without_credential(method, route, inner, query, headers)
        if refused is not None:
            return refused
        if route is None:
            return Answer(403, "This address does not exist.")
        if method not in route.methods:
            text = f"This address accepts {', '.join(route.methods)}."
            return Answer(405, text, (("Allow", ", ".join(route.methods)),))
        return Pass(self._inner_target(route, inner, query))

    def _without_credential(
        self, method: str, route: Route | None, path: str, query: str, headers: HTTPHeaders
    ) -> Answer | None:
        """The answer to a request without the credential that its route needs; None for all others."""
        if not self.requires_token or (route is not None and route.public) or self.has_credential(headers):
            # Remove a valid token from a page's address here too, so that it does not stay in the browser's history.
            return self._exchanged(method, path, query, headers) if self.requires_token else None
        if (exchanged := self._exchanged(method, path, query, headers)) is not None:
            return exchanged
        if route is not None and route.kind == "api":
            return Answer(401, _API_NEEDS_TOKEN, (("WWW-Authenticate", "Bearer"),), JSON)
        address = address_of(path)
        if address is None or method not in READING:
            return Answer(401, "This server requires its token.")
        if _is_from_another_site(headers):
            return Answer(401, return_page(self.prefix + address.path), kind=HTML)
        return Answer(401, login_page(self.prefix, address.path), kind=HTML)

    def _exchanged(self, method: str, path: str, query: str, headers: HTTPHeaders) -> Answer | None:
        """Exchange the token in a page's address for a cookie, and redirect to the page, or to that named by `next`. None without a valid
        token."""
        address = address_of(path)
        if address is None or method != "GET" or "token=" not in query:
            return None
        values = dict(parse_qsl(query, keep_blank_values=True))
        if not self.is_token(values.get("token", "")):
            return None
        location = self.prefix + (address_of(values.get("next", "")) or address).path
        cookie = ("Set-Cookie", self.cookie(headers.get("Host", "")))
        if _is_from_another_site(headers):
            return Answer(200, return_page(location), (cookie,), HTML)
        return Answer(302, "", (("Location", location), cookie))

    def _inner_target(self, route: Route, path: str, query: str) -> str:
        """The request target for the application. All pages are one Bokeh application, which gets the notebook to open from here and not
        from the client."""
        if route.kind == "socket":
            return f"{self.app_path.rstrip('/')}/ws"
        if route.kind in ("start", "page"):
            address = address_of(path) or Address()
            asked = urlencode({"place": address.place, "name": address.name})
            return f"{self.app_path}?{asked}" if address.place else self.app_path
        return f"{path}?{query}" if query else path

    def goes_by(self, host: str) -> bool:
        """Whether the Host header `host` names this server. A name can be rebound by DNS and must be known; a numeric address cannot."""
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

    def _is_from_here(self, method: str, route: Route | None, headers: HTTPHeaders, host: str) -> bool:
        """Whether a request comes from a page of this server or from no page; a link on another site leads to the start page only."""
        origin = headers.get("Origin")
        if origin is not None and not self._is_own_origin(origin, host):
            return False
        if _is_from_another_site(headers):
            is_link = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
            return is_link and method in READING and route is not None and route.kind == "start"
        return True

    def _is_own_origin(self, origin: str, host: str) -> bool:
        """Whether `origin` is that of this server's pages. At a name given at the start a proxy may serve HTTPS; elsewhere the scheme is
        the server's own."""
        found = _ORIGIN.fullmatch(origin.lower())
        if found is None:
            return False
        scheme, place = found.groups()
        if place in self.names or (place == host.lower() and _host_name(host) in self.names):
            return True
        return place == host.lower() and scheme == ("https" if self.is_tls else "http")

    def has_credential(self, headers: HTTPHeaders) -> bool:
        """Whether the request contains the token or its cookie."""
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(token.strip()):
            return True
        host = headers.get("Host", "")
        cookies = parse_cookie(headers.get("Cookie", ""))
        return _same(cookies.get(_cookie_name(host), ""), self._cookie_value(host))

    def is_token(self, token: str) -> bool:
        """Compare with the server's token in constant time."""
        return bool(self.token) and _same(token, self.token)

    def cookie(self, host: str) -> str:
        """The Set-Cookie header for a browser that uses the name `host`: no script reads the cookie, no other site sends it, and the token
        cannot be computed from it. Browsers send cookies to all ports of a host, so name and value depend on the port."""
        secure = "; Secure" if self.is_tls else ""
        path = self.prefix or "/"
        value = self._cookie_value(host)
        return f"{_cookie_name(host)}={value}; Path={path}; HttpOnly; SameSite=Strict; Max-Age={COOKIE_SECONDS}{secure}"

    def _cookie_value(self, host: str) -> str:
        return hmac.new(self.secret, b"cookie " + _port(host).encode(), hashlib.sha256).hexdigest()


def make_policy(
    address: str = "127.0.0.1",
    token: str = "",
    names: tuple[str, ...] = (),
    *,
    requires_token: bool = True,
    prefix: str = "",
    is_tls: bool = False,
    secret: bytes = b"",
) -> AccessPolicy:
    """The policy of a server that listens at `address`. Without a `token` a random one is generated; `secret` keeps the cookies of earlier
    servers valid, unless a different token is given.

    Raises AccessError "token-needed", "token-too-short", "bad-prefix".
    """
    if not _is_loopback(address) and not (token and requires_token):
        raise AccessError(
            Refusal(
                "token-needed",
                f"a server at {address} accepts connections from other computers and needs a token",
                expected=f"--token with at least {SHORTEST_TOKEN} characters, or TILEWRIGHT_TOKEN",
                fix=(f"tilewright serve --host {address} --token {secrets.token_urlsafe(18)}",),
            )
        )
    if token and (len(token) < SHORTEST_TOKEN or not token.isprintable() or not token.isascii() or " " in token):
        raise AccessError(
            Refusal(
                "token-too-short",
                "the token is too short, or has invalid characters",
                found=f"{len(token)} characters",
                expected=f"at least {SHORTEST_TOKEN} ASCII characters without spaces",
            )
        )
    if prefix and not re.fullmatch(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+", prefix):
        raise AccessError(
            Refusal(
                "bad-prefix",
                "the prefix is not a path",
                found=prefix[:80],
                expected="/tiles, without a slash at the end",
            )
        )
    key = hashlib.sha256((secret or secrets.token_bytes(32)) + b"\0" + token.encode()).digest()
    return AccessPolicy(
        address,
        token or secrets.token_urlsafe(24),
        tuple(name.lower() for name in names),
        key,
        requires_token,
        prefix,
        is_tls,
    )


def _is_path(path: str) -> bool:
    """Whether a request target names a path of this server: no other host, no control characters, nothing but ASCII."""
    return path.startswith("/") and not path.startswith("//") and path.isascii() and path.isprintable()


def _is_from_another_site(headers: HTTPHeaders) -> bool:
    """Whether the browser says that a page of another site began the request; other ports of this host count as another site."""
    return headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


_ORIGIN = re.compile(r"(https?)://([^/?#@\\\s,]+)")

_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?")


def _host_name(host: str) -> str:
    """The name in a Host header, without port and brackets; "" for a malformed one."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def _port(host: str) -> str:
    """The port in a Host header; "" for the scheme's own."""
    found = _HOST.fullmatch(host)
    return (found[3] or "") if found else ""


def _cookie_name(host: str) -> str:
    return f"tilewright-{_port(host) or 'web'}"


def _length(headers: HTTPHeaders) -> int:
    """The declared length of a request's body; Tornado cuts off longer bodies, and those without a declared length."""
    text = headers.get("Content-Length", "0")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _error(refusal: Refusal) -> str:
    return msgspec.json.encode({"error": refusal.to_json()}).decode()


_API_NEEDS_TOKEN = _error(
    Refusal(
        "token-needed",
        "the API requires the server's token",
        expected="Authorization: Bearer TOKEN, which `tilewright serve` stored in its runtime file",
    )
)

__all__ = ["AccessError", "AccessPolicy", "Answer", "Pass", "make_policy"]
