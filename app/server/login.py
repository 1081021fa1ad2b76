"""The page of a visitor without a credential, and the page that opens the printed address in the browser."""

from __future__ import annotations

import json
from functools import cache

from ..components.esm import bundle

_STYLE = (
    "body{font:16px system-ui;margin:15vh auto;max-width:24rem;padding:0 1rem}:root{color-scheme:light dark}"
    "input,button{font:inherit;padding:.5rem;width:100%;box-sizing:border-box;margin-top:.5rem}"
    ".quiet{color:GrayText}code{font-size:.9em}"
)


@cache
def entry_page(prefix: str = "") -> str:
    """The page at every address of a server that requires a token, for a visitor without a ticket. It is the same for everybody, and has no
    credential. Its script, `static/components/shell/entry.js`, exchanges what the browser has for a ticket, else asks for the token."""
    script = f'<script type="module">{bundle("shell/entry.js")}</script>'
    return _page(f"<base href='{prefix}/'>", f"<noscript>Tilewright needs JavaScript.</noscript>{script}")


def opening_page(location: str) -> str:
    """A page that redirects to `location` and keeps the fragment after the #."""
    script = f"<script>location.replace({json.dumps(location)} + location.hash)</script>"
    return _page("", f"<main><h1>Tilewright</h1><p>Opening Tilewright…</p>{script}</main>")


def _page(head: str, body: str) -> str:
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Tilewright</title>{head}<link rel=icon href='data:,'><style>{_STYLE}</style><body>{body}</body></html>"
    )


__all__ = ["entry_page", "opening_page"]
