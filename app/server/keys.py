"""The credentials of pages. None of them is a cookie, which a browser sends to every port of the host, and so to servers of other users.

A visitor exchanges the server's token for a key. The browser stores it for the origin, thus for this port only, and a script sends it in
the body of a request. Each load of a page, and each websocket, needs a credential that such a request or page brought:

- entry: once, for seconds; in the address that the token's address redirects to, exchanged for a key.
- key: for hours, until the server ends; exchanged for a ticket and a renewed key.
- ticket: once, for seconds; in the address of one load of a page.
- page token: Bokeh's, signed, for minutes; in the page, for its websocket.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from typing import Literal

from bokeh.util.token import check_token_signature, get_token_payload

KEY_SECONDS = 12 * 3600
"""The life of a key. Each load of a page renews it, and an open page does so every `KEY_RENEWAL_SECONDS`."""

KEY_RENEWAL_SECONDS = 3600

TICKET_SECONDS = 30.0

MOST_TICKETS = 1_000

Kind = Literal["entry", "page"]
Refused = Literal["", "wrong", "restarted", "expired"]


class Keys:
    """The keys and tickets of one run of a server: its secret is random, so nothing outlives the server. `now` is the time in seconds."""

    def __init__(self, life_s: float = KEY_SECONDS, now: Callable[[], float] = time.time) -> None:
        self._now, self._life_s = now, life_s
        self._secret = secrets.token_bytes(32)
        self._run = secrets.token_hex(8)
        self._tickets: dict[str, tuple[Kind, float]] = {}

    @property
    def page_secret(self) -> bytes:
        """The key that signs Bokeh's page tokens."""
        return self._digest("page").encode()

    def new_key(self) -> str:
        """A key that is valid from now on."""
        body = f"{self._run}.{int(self._now() + self._life_s)}"
        return f"{body}.{self._digest(body)}"

    def why_refused(self, key: str) -> Refused:
        """The reason why a key is not valid; "" for a valid one."""
        body, _, digest = key.rpartition(".")
        run, _, until = body.partition(".")
        if not same(digest, self._digest(body)):
            is_of_earlier_run = run != self._run and len(run) == len(self._run) and until.isdecimal()
            return "restarted" if is_of_earlier_run else "wrong"
        return "" if self._now() < int(until) else "expired"

    def new_ticket(self, kind: Kind) -> str:
        """A ticket for one use."""
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = (kind, self._now() + TICKET_SECONDS)
        for old in list(self._tickets)[:-MOST_TICKETS]:
            del self._tickets[old]
        return ticket

    def redeem(self, kind: Kind, ticket: str) -> bool:
        """Use up a ticket. Returns whether it was valid."""
        made, until = self._tickets.pop(ticket, ("", 0.0))
        return made == kind and self._now() < until

    def is_page_token(self, token: str) -> bool:
        """Whether a token of Bokeh is that of a page that this server sent a short time ago."""
        try:
            if not check_token_signature(token, self.page_secret, signed=True):
                return False
            return time.time() < get_token_payload(token)["session_expiry"]  # Bokeh's clock
        except Exception:  # Bokeh raises many types for malformed tokens
            return False

    def _digest(self, body: str) -> str:
        return hmac.new(self._secret, body.encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def same(given: str, wanted: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


__all__ = ["KEY_RENEWAL_SECONDS", "KEY_SECONDS", "TICKET_SECONDS", "Keys", "same"]
