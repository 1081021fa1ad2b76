"""The HTTP server: page, API, login and health check on one port, all behind the gate."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
from bokeh.server.tornado import BokehTornado
from panel.io.server import get_server
from tornado.web import HTTPError, RequestHandler

from ..components.esm import bundle
from ..components.page_root import MODULE
from ..limits import LIMITS
from .access import AccessPolicy
from .api import ApiContext, Handler, patterns
from .gate import Gate
from .login import entry_page


class Credential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a browser has: the server's token, the entry of an address, or a key."""

    token: str = ""
    entry: str = ""
    key: str = ""


class Login(Handler):
    """The form for the token, and the exchange of a credential for a key and a ticket."""

    def initialize(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, api_context: ApiContext, policy: AccessPolicy
    ) -> None:
        super().initialize(api_context)
        self._policy = policy

    def get(self) -> None:
        """Send the page with the form for the token."""
        self.write(entry_page(self._policy.prefix))

    def post(self) -> None:
        """{"key", "ticket"}: a new key, and a ticket for one load of a page. 401 with the reason if the credential is not valid."""
        try:
            given = msgspec.json.decode(self.body(), type=Credential)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise HTTPError(400, str(error).replace("%", "%%")) from None
        refusal = self._policy.why_not_admitted(given.token, given.entry, given.key)
        if refusal is not None:
            self.answer({"error": refusal.to_json()}, 401)
            return
        keys = self._policy.keys
        self.answer({"key": keys.new_key(), "ticket": keys.new_ticket("page")})


class PageModule(RequestHandler):
    """The JavaScript of the page. Its address contains its digest, so browsers keep it."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/javascript; charset=utf-8")
        self.set_header("Cache-Control", "public, max-age=31536000, immutable")
        self.write(bundle("page_root.js"))


PAGE_MODULE: tuple[str, type[RequestHandler], dict[str, Any]] = (f"/{re.escape(MODULE)}", PageModule, {})


class Health(RequestHandler):
    """The health check; it answers while the server's event loop runs."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"status": "ok"})


def handlers(api_context: ApiContext, policy: AccessPolicy) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """The request handlers other than the page: its module, API, login, health check."""
    return [
        PAGE_MODULE,
        *patterns(api_context),
        ("/login", Login, {"api_context": api_context, "policy": policy}),
        ("/healthz", Health, {}),
    ]


def sign_pages(application: BokehTornado, policy: AccessPolicy) -> None:
    """Let an application sign the tokens of its pages, which are the credentials of their websockets. By default Bokeh accepts any token,
    and writes request headers and cookies into it, where scripts could read them."""
    for name, value in {
        "_sign_sessions": True,
        "_secret_key": policy.keys.page_secret,
        "_include_headers": [],
        "_include_cookies": [],
    }.items():
        assert hasattr(application, name), f"Bokeh has renamed {name}"
        setattr(application, name, value)


def open_server(
    page: Callable[[], Any], api_context: ApiContext, policy: AccessPolicy, port: int, **options: Any
) -> Any:
    """Create a Panel server without starting it; requests reach it only through the gate. `options` are Panel's."""
    server: Any = get_server(
        page,
        port=port,
        address=policy.address,
        start=False,
        location=False,
        verbose=False,
        extra_patterns=handlers(api_context, policy),
        websocket_max_message_size=LIMITS.message_bytes,
        # The gate refuses larger bodies with an explanation; Tornado does not read much larger ones.
        http_server_kwargs={
            "max_body_size": 4 * LIMITS.request_bytes,
            "max_header_size": LIMITS.header_bytes,
            "idle_connection_timeout": LIMITS.headers_seconds,
            "body_timeout": LIMITS.body_seconds,
        },
        **options,
    )
    # The socket is bound, but the loop has not run, so no request precedes this line. The gate checks each origin before Bokeh does.
    sign_pages(server._tornado, policy)
    server._tornado.websocket_origins.add("*")
    server._http.request_callback = Gate(server._tornado, policy)
    return server


__all__ = ["PAGE_MODULE", "handlers", "open_server", "sign_pages"]
