"""`panel serve app/main.py --plugins tilewright.app.server.panel_plugin`: the gate and the API for a server that Panel starts itself.

Panel's own routes import modules that a URL names, so the page refuses to run on a server without this plugin.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec
from bokeh.server.tornado import BokehTornado
from tornado.httputil import HTTPConnection, HTTPMessageDelegate, HTTPServerConnectionDelegate

from ..session.registry import SessionRegistry
from ..storage.registry import open_file_registry
from .access import AccessPolicy, make_policy
from .api import ApiContext
from .gate import Gate
from .http import handlers, sign_pages

APP_PATH = "/main"
"""Panel names an application after its file."""

IS_TLS = bool(os.environ.get("BOKEH_SSL_CERTFILE")) or any(a.partition("=")[0] == "--ssl-certfile" for a in sys.argv)
"""Whether Panel's server uses HTTPS."""

POLICY: AccessPolicy = msgspec.structs.replace(
    make_policy(token=os.environ.get("TILEWRIGHT_TOKEN", ""), is_tls=IS_TLS), app_path=APP_PATH
)
API_CONTEXT = ApiContext(SessionRegistry(), None, open_file_registry(None))

ROUTES: list[Any] = handlers(API_CONTEXT, POLICY)
"""Panel adds these routes to its own."""


class _Ungated(HTTPServerConnectionDelegate):
    """The application without the gate."""

    def __init__(self, application: BokehTornado, start: Any) -> None:
        self._application = application
        self._start = start

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return self._start(self._application, server_conn, request_conn)

    def on_close(self, server_conn: object) -> None:
        self._application.on_close(server_conn)


def install(policy: AccessPolicy) -> None:
    """Put the gate before every Bokeh application of this process."""
    start = BokehTornado.start_request

    def gated(self: BokehTornado, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        sign_pages(self, policy)
        return Gate(_Ungated(self, start), policy).start_request(server_conn, request_conn)

    BokehTornado.start_request = gated  # pyright: ignore[reportAttributeAccessIssue]


install(POLICY)
print(f"Tilewright requires a token: open the address of the server with /{POLICY.invitation}", flush=True)
