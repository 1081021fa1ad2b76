"""The plugin of `panel serve app/main.py`, which `panel_start` adds to the command: the gate and the API in a server of Panel's.

Panel's own routes import modules that a URL names, so the page refuses to run on a server without this plugin.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
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


def address(arguments: Sequence[str], policy: AccessPolicy) -> str:
    """The address of the first visit, by Panel's command line."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--port", default=os.environ.get("BOKEH_PORT", "5006"))
    parser.add_argument("--address", default=os.environ.get("BOKEH_ADDRESS", "localhost"))
    parser.add_argument("--prefix", default=os.environ.get("BOKEH_PREFIX", ""))
    given, _ = parser.parse_known_args(arguments[1:])
    port = "PORT" if given.port == "0" else given.port
    prefix = f"/{given.prefix.strip('/')}" if given.prefix.strip("/") else ""
    return f"http{'s' * policy.is_tls}://{given.address}:{port}{prefix}/{policy.invitation}"


install(POLICY)
print(f"Tilewright is at {address(sys.argv, POLICY)}", flush=True)
