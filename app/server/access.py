"""Access control: the check of every request before a handler sees it.

The Host header must be a known name of the server (protection against DNS rebinding), the request must not come from another site's page,
must contain a credential, and must be for an address on the allowlist (`routes`). The credential of programs is the server's token, as
`Authorization: Bearer TOKEN`; `keys` describes those of pages, for which the token in a page's address is exchanged. There are no cookies.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from urllib.parse import parse_qsl, urlencode

import msgspec
from tornado.httputil import HTTPHeaders

from ...engine.ir import Refusal, TilewrightError
from ..limits import LIMITS
from ..state.addresses import Address, address_of
from .keys import Keys, same
from .login import entry_page, opening_page
from .routes import READING, Route, find_route

SHORTEST_TOKEN = 16
"""Minimum length in characters. A token of this length cannot be guessed, so failed attempts are not counted."""

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


class PassOn(msgspec.Struct, frozen=True):
    """A request that passes to the application with the address `target`."""

    target: str


class AccessPolicy(msgspec.Struct, frozen=True):
    """The rules of access. `token` admits programs, and browsers once; without `requires_token` every client has access.

    `names` are further host names of the server, with or without a port. `prefix` ("" or "/tiles") precedes every path. `is_tls`: the
    server itself uses HTTPS. `app_path` is the application's path for the page; clients use the start page. `keys` are the credentials of
    pages.
    """

    address: str
    token: str
    names: tuple[str, ...] = ()
    requires_token: bool = True
    prefix: str = ""
    is_tls: bool = False
    app_path: str = "/"
    keys: Keys = msgspec.field(default_factory=Keys)

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach the server."""
        return not _is_loopback(self.address)

    @property
    def invitation(self) -> str:
        """The query of the printed address: the token, for the first visit."""
        return "?" + urlencode({"token": self.token}) if self.requires_token else ""

    def decide(self, method: str, target: str, headers: HTTPHeaders) -> Answer | PassOn:
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
        return PassOn(self._inner_target(route, inner, query))

    def _without_credential(
        self, method: str, route: Route | None, path: str, query: str, headers: HTTPHeaders
    ) -> Answer | None:
        """The answer to a request without the credential that its route needs; None for all others."""
        if not self.requires_token:
            return None
        if (redirect := self._exchanged(method, path, query, headers)) is not None:
            return redirect
        if self._is_credible(method, route, query, headers):
            return None
        if route is not None and route.kind == "api":
            return Answer(401, _API_NEEDS_TOKEN, (("WWW-Authenticate", "Bearer"),), JSON)
        if route is None or route.kind not in ("start", "page") or method not in READING:
            return Answer(401, "This server requires its token.")
        return Answer(200, entry_page(self.prefix), kind=HTML)

    def _is_credible(self, method: str, route: Route | None, query: str, headers: HTTPHeaders) -> bool:
        """Whether a request has a credential for its route: the token, the ticket of a page, or the page token of a websocket."""
        if self.has_token(headers) or (route is not None and route.public):
            return True
        if route is None:
            return False
        if route.kind == "socket":
            protocols = [part.strip() for part in headers.get("Sec-WebSocket-Protocol", "").split(",")]
            return len(protocols) == 2 and protocols[0] == "bokeh" and self.keys.is_page_token(protocols[1])
        is_load = route.kind in ("start", "page") and method == "GET"
        return is_load and self.keys.redeem("page", dict(parse_qsl(query)).get("ticket", ""))

    def _exchanged(self, method: str, path: str, query: str, headers: HTTPHeaders) -> Answer | None:
        """Exchange the token in a page's address for an entry, and redirect to the page, or to that named by `next`: the token leaves the
        address. None without a valid token."""
        address = address_of(path)
        if address is None or method != "GET" or "token=" not in query:
            return None
        values = dict(parse_qsl(query, keep_blank_values=True))
        if not self.is_token(values.get("token", "")):
            return None
        location = self.prefix + (address_of(values.get("next", "")) or address).path
        location = f"{location}?entry={self.keys.new_ticket('entry')}"
        if _is_from_another_site(headers):  # a redirect would count as the other site's too
            return Answer(200, opening_page(location), kind=HTML)
        return Answer(302, "", (("Location", location),))

    def why_not_admitted(self, token: str = "", entry: str = "", key: str = "") -> Refusal | None:
        """The reason why a visitor with one of these credentials gets no key; None if it is valid."""
        if not self.requires_token:
            return None
        if token:
            return None if self.is_token(token) else _WRONG_TOKEN
        if entry:
            return None if self.keys.redeem("entry", entry) else _KEY_REFUSED["expired"]
        return _KEY_REFUSED.get(self.keys.why_refused(key))

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

    def has_token(self, headers: HTTPHeaders) -> bool:
        """Whether a program's request contains the token."""
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.is_token(token.strip())

    def is_token(self, token: str) -> bool:
        """Compare with the server's token in constant time."""
        return bool(self.token) and same(token, self.token)


def make_policy(
    address: str = "127.0.0.1",
    token: str = "",
    names: tuple[str, ...] = (),
    *,
    requires_token: bool = True,
    prefix: str = "",
    is_tls: bool = False,
) -> AccessPolicy:
    """The policy of a server that listens at `address`. Without a `token` a random one is generated.

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
    return AccessPolicy(
        address,
        token or secrets.token_urlsafe(24),
        tuple(name.lower() for name in names),
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

_WRONG_TOKEN = Refusal("wrong-token", "This is not the token")

_FRESH = "the address that the server printed when it started, or its token"

_KEY_REFUSED = {
    "restarted": Refusal(
        "restarted", "The server was started again, which ended the access of this browser", expected=_FRESH
    ),
    "expired": Refusal("expired", "The access of this browser has expired", expected=_FRESH),
    "wrong": Refusal("wrong-key", "This browser has no access to this server", expected=_FRESH),
}

__all__ = ["AccessError", "AccessPolicy", "Answer", "PassOn", "make_policy"]
