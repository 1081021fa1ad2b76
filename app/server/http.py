"""The HTTP server: page, API, login and health check on one port, all behind the gate."""

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
    """The form for the token, and the exchange of the token for a cookie."""

    def initialize(self, policy: AccessPolicy) -> None:
        self._policy = policy

    def get(self) -> None:
        """Send the form."""
        self.write(login_page(self._policy.prefix))

    def post(self) -> None:
        """Check the token, set the cookie, and redirect to the requested page."""
        wanted = address_of(self.get_body_argument("next", "/"))
        path = "/" if wanted is None else wanted.path
        if not self._policy.is_token(self.get_body_argument("token", "")):
            self.set_status(401)
            self.write(login_page(self._policy.prefix, path, wrong=True))
            return
        self.set_header("Set-Cookie", self._policy.cookie(self.request.host))
        self.redirect(self._policy.prefix + path)


class Health(RequestHandler):
    """The health check; it answers while the server's event loop runs."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"status": "ok"})


def handlers(api_context: ApiContext, policy: AccessPolicy) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """The request handlers other than the page: API, login, health check."""
    return [*patterns(api_context), ("/login", Login, {"policy": policy}), ("/healthz", Health, {})]


def open_server(
    page: Callable[[], Any], api_context: ApiContext, policy: AccessPolicy, port: int, **options: Any
) -> Any:
    """Create a Panel server without starting it; requests reach it only through the gate. `options` are Panel's."""
    server: Any = get_server(
        page,
        port=port,
        address=policy.address,
        start=False,
        verbose=False,
        extra_patterns=handlers(api_context, policy),
        websocket_max_message_size=LIMITS.message_bytes,
        # By default Bokeh writes request headers and cookies into the page, where scripts could read the credential.
        include_headers=[],
        include_cookies=[],
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
    server._tornado.websocket_origins.add("*")
    server._http.request_callback = Gate(server._tornado, policy)
    return server


__all__ = ["handlers", "open_server"]
