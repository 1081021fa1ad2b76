"""The allowlist of addresses, each with its reason. All others, among them those that Panel and Bokeh add for internal use, get 403."""

from __future__ import annotations

import re
from urllib.parse import unquote

import msgspec

from ..state.addresses import PATTERN

READING = ("GET", "HEAD")


class Route(msgspec.Struct, frozen=True):
    """A group of addresses. `pattern` matches a whole path behind the server's prefix; `public` routes need no credential.

    Only a `start` route is reachable by a navigation from another site's page.
    """

    pattern: str
    reason: str
    methods: tuple[str, ...] = READING
    kind: str = ""
    public: bool = False

    def match(self, path: str) -> re.Match[str] | None:
        return re.fullmatch(self.pattern, path)


ROUTES: tuple[Route, ...] = (
    Route(r"/", "the start page", kind="start"),
    Route(PATTERN, "the page at the address of a notebook", kind="page"),
    Route(rf"(?:{PATTERN})?/ws", "the websocket of a page; Bokeh asks for it below the page's address", kind="socket"),
    Route(r"/static/js/[\w.-]+", "Bokeh's scripts, as published", public=True),
    Route(
        r"/static/extensions/panel/(?:[\w@^%.~-]+/)*[\w@^%.~-]+",
        "Panel's scripts and styles, as published",
        public=True,
    ),
    Route(r"/page-[0-9a-f]{16}\.js", "the JavaScript of the page, as published", public=True),
    Route(r"/favicon\.ico", "the icon of the tab", public=True),
    Route(
        r"/login",
        "the form for the token; the exchange of a credential",
        ("GET", "HEAD", "POST"),
        kind="login",
        public=True,
    ),
    Route(r"/healthz", "the health check for a proxy or supervisor; it reports only that the server runs", public=True),
    Route(r"/api(?:/.*)?", "the action API", ("GET", "HEAD", "POST", "DELETE", "OPTIONS"), kind="api"),
)


def find_route(path: str) -> Route | None:
    """The route of a path behind the server's prefix. A path with a segment `.` or `..` or a null character, even percent-encoded, has
    none."""
    plain = unquote(path)
    if "\0" in plain or {".", ".."} & set(plain.replace("\\", "/").split("/")):
        return None
    return next((route for route in ROUTES if route.match(path)), None)


__all__ = ["READING", "ROUTES", "Route", "find_route"]
