"""The server that is opened: page, API, login and health check on one port, all behind the gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from panel.io.server import get_server
from tornado.web import RequestHandler

from ..limits import LIMITS
from ..state.addresses import address_of
from .access import AccessPolicy
from .api import ApiContext, patterns
from .gate import Gate
from .login import login_page


class Login(RequestHandler):
    """The form for the token, and what it sends."""

    def initialize(self, policy: AccessPolicy) -> None:
        self._policy = policy

    def get(self) -> None:
        """The form."""
        self.write(login_page(self._policy.prefix))

    def post(self) -> None:
        """A cookie for the token."""
        wanted = address_of(self.get_body_argument("next", "/"))
        path = "/" if wanted is None else wanted.path
        if not self._policy.is_token(self.get_body_argument("token", "")):
            self.set_status(401)
            self.write(login_page(self._policy.prefix, path, wrong=True))
            return
        self.set_header("Set-Cookie", self._policy.cookie(self.request.host))
        self.redirect(self._policy.prefix + path)


class Health(RequestHandler):
    """Answers as long as the server's loop runs."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"status": "ok"})


def handlers(api_context: ApiContext, policy: AccessPolicy) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """What the server answers beside the page."""
    return [*patterns(api_context), ("/login", Login, {"policy": policy}), ("/healthz", Health, {})]


def open_server(
    page: Callable[[], Any], api_context: ApiContext, policy: AccessPolicy, port: int, **options: Any
) -> Any:
    """A Panel server that is not started yet; requests reach it through the gate only. `options` are Panel's."""
    server: Any = get_server(
        page,
        port=port,
        address=policy.address,
        start=False,
        verbose=False,
        extra_patterns=handlers(api_context, policy),
        websocket_max_message_size=LIMITS.message_bytes,
        # Bokeh writes request headers and cookies into the page unless it is told not to: the cookie is nobody's to read there.
        include_headers=[],
        include_cookies=[],
        # The gate refuses larger bodies with an explanation; much larger ones are not even read.
        http_server_kwargs={
            "max_body_size": 4 * LIMITS.request_bytes,
            "max_header_size": LIMITS.header_bytes,
            "idle_connection_timeout": LIMITS.headers_seconds,
            "body_timeout": LIMITS.body_seconds,
        },
        **options,
    )
    # The socket is bound, but the loop has not run: no request came in before. The gate has checked the origin of each by the time
    # that Bokeh does.
    server._tornado.websocket_origins.add("*")
    server._http.request_callback = Gate(server._tornado, policy)
    return server


__all__ = ["handlers", "open_server"]
