"""The pages of a visitor without a credential: the form for the token, and the page that repeats a navigation from another site.

Browsers do not send a SameSite=Strict cookie with a navigation that began on another site. The second page restarts it on this site.
"""

from __future__ import annotations

import html
import json

_STYLE = (
    "body{font:16px system-ui;margin:15vh auto;max-width:24rem;padding:0 1rem;color-scheme:light dark}"
    "input,button{font:inherit;padding:.5rem;width:100%;box-sizing:border-box;margin-top:.5rem}"
    "p{color:GrayText}code{font-size:.9em}"
)

_KEEP_FRAGMENT = "document.forms[0].action += location.hash"
"""Keeps the fragment of a link, which contains the notebook and is lost by the form's submission otherwise."""


def login_page(prefix: str = "", next_path: str = "/", *, wrong: bool = False) -> str:
    """A page with a form for the token; it redirects to `next_path` behind the prefix."""
    alert = "<p role=alert>This is not the token.</p>" if wrong else ""
    return _page(
        f"{alert}<form method=post action={html.escape(prefix)}/login>"
        f'<input type=hidden name=next value="{html.escape(next_path)}">'
        "<label>Token of this server"
        "<input type=password name=token autocomplete=current-password autofocus required></label>"
        "<button>Open</button></form>"
        "<p>The address that <code>tilewright serve</code> printed contains the token.</p>"
        f"<script>{_KEEP_FRAGMENT}</script>"
    )


def return_page(location: str) -> str:
    """A page that restarts the navigation to `location` on this site. The query makes the address differ from the requested one, which the
    browser would not load again."""
    return opening_page(f"{location}?from=link")


def opening_page(location: str) -> str:
    """A page that redirects to `location` and keeps the fragment after the #."""
    return _page(f"<p>Opening Tilewright…</p><script>location.replace({json.dumps(location)} + location.hash)</script>")


def _page(body: str) -> str:
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Tilewright</title><link rel=icon href='data:,'><style>{_STYLE}</style><main><h1>Tilewright</h1>{body}</main></html>"
    )


__all__ = ["login_page", "opening_page", "return_page"]
