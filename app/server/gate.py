"""The gate before an application: it checks every request against the access policy and adds the security headers to every response."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Mapping
from typing import Any

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream

from .access import AccessPolicy, Answer

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
    "base-uri": "'self'",
}
"""Components are modules loaded from blobs; inline scripts of a page run only with the nonce of its response."""

HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # Not "no-referrer": with it forms omit the origin, which the access policy checks.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

_SCRIPT = re.compile(rb"<script(?P<rest>[^>]*>.*?</script>)", re.DOTALL | re.IGNORECASE)


class Gate(HTTPServerConnectionDelegate):
    """Wraps an application: it does not see requests that the policy refuses, and its responses get the security headers."""

    def __init__(self, inner: HTTPServerConnectionDelegate, policy: AccessPolicy) -> None:
        self._inner = inner
        self._policy = policy

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return _GatedRequest(self._inner, self._policy, server_conn, SecuredConnection(request_conn))

    def on_close(self, server_conn: object) -> None:
        self._inner.on_close(server_conn)


class _GatedRequest(HTTPMessageDelegate):
    """The check of one request: it is passed to the application or answered here."""

    def __init__(
        self,
        application: HTTPServerConnectionDelegate,
        policy: AccessPolicy,
        server_conn: object,
        connection: SecuredConnection,
    ) -> None:
        self._application = application
        self._policy = policy
        self._server_conn = server_conn
        self._connection = connection
        self._inner: HTTPMessageDelegate | None = None
        self._answer: Answer | None = None
        self._is_head = False

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> Awaitable[None] | None:
        assert isinstance(start_line, RequestStartLine)
        decision = self._policy.decide(start_line.method, start_line.path, headers)
        if isinstance(decision, Answer):
            self._answer, self._is_head = decision, start_line.method == "HEAD"
            return None
        self._inner = self._application.start_request(self._server_conn, self._connection)
        return self._inner.headers_received(start_line._replace(path=decision.target), headers)

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return None if self._inner is None else self._inner.data_received(chunk)

    def finish(self) -> None:
        if self._inner is not None:
            self._inner.finish()
        elif self._answer is not None:
            body = self._answer.text.encode()
            headers = HTTPHeaders(
                {"Content-Type": self._answer.kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
            )
            for name, value in self._answer.headers:
                headers.add(name, value)
            chunk = None if self._is_head else body
            self._connection.write_headers(ResponseStartLine("HTTP/1.1", self._answer.status, ""), headers, chunk)
            self._connection.finish()

    def on_connection_close(self) -> None:
        if self._inner is not None:
            self._inner.on_connection_close()


class SecuredConnection(HTTPConnection):
    """A connection that adds `HEADERS` and the content security policy to responses; it delegates all else."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def write_headers(self, start_line: Any, headers: HTTPHeaders, chunk: bytes | None = None) -> Any:
        nonce = ""
        if chunk and headers.get("Content-Type", "").startswith("text/html"):
            nonce = secrets.token_urlsafe(16)
            chunk = with_nonce(chunk, nonce)
            headers["Content-Length"] = str(len(chunk))
        headers["Content-Security-Policy"] = content_security_policy(nonce)
        for name, value in HEADERS.items():
            headers[name] = value
        headers.pop("Server", None)
        return self._connection.write_headers(start_line, headers, chunk)

    def write(self, chunk: bytes) -> Any:
        return self._connection.write(chunk)

    def detach(self) -> IOStream:
        """The stream of a websocket, without Nagle's algorithm: Bokeh sends three frames for a message, and the kernel would hold the
        second one back until the browser has acknowledged the first, up to 40 ms."""
        stream: IOStream = self._connection.detach()  # pyright: ignore[reportAttributeAccessIssue]  # of HTTP/1.1
        stream.set_nodelay(True)
        return stream

    def finish(self) -> None:
        self._connection.finish()


def content_security_policy(nonce: str = "") -> str:
    """The content security policy of a response; for a page, with the nonce of its scripts."""
    rules = {**POLICY, "script-src": f"{POLICY['script-src']} 'nonce-{nonce}'"} if nonce else POLICY
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def with_nonce(page: bytes, nonce: str) -> bytes:
    """The page with the nonce on each script element; the text of scripts is unchanged."""
    return _SCRIPT.sub(lambda found: b'<script nonce="' + nonce.encode() + b'"' + found["rest"], page)


__all__ = ["HEADERS", "Gate", "content_security_policy", "with_nonce"]
