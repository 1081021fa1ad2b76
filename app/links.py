"""A link that carries a notebook: its text, compressed, behind the # of the app's address, which browsers never send to a server.

The text is what a file would be: read, never executed. `static/components/shell/links.js` opens and makes the same links in the browser.
"""

from __future__ import annotations

import base64
import re
import zlib

from ..engine.ir import Refusal
from .document import DocumentError
from .limits import LIMITS

KEY = "#notebook="

MAX_LINK = 32_000
"""Characters behind the #: what browsers and most mail and chat programs keep whole. A notebook of some 80 kB fits, without pictures."""


def fragment_of(text: str) -> str:
    """`#notebook=…`. Raises DocumentError "too-large-for-a-link"."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    data = packer.compress(text.encode("utf-8")) + packer.flush()
    found = KEY + base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
    if len(found) > MAX_LINK:
        raise DocumentError(
            Refusal(
                "too-large-for-a-link",
                "the notebook is too large for a link",
                f"{len(found):,} characters, compressed",
                f"at most {MAX_LINK:,}",
                fix=("send the file",),
            )
        )
    return found


def is_link(text: str) -> bool:
    """Whether it is an address with a notebook in it, or the part of one from the # on."""
    return KEY in text and re.fullmatch(r"\S+", text.strip()) is not None


def text_of(link: str) -> str:
    """The notebook in a link. Raises DocumentError "bad-link", "text-too-long"."""
    packed = link.strip().partition(KEY)[2]
    unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        # A few bytes can decompress to very many.
        text = unpacker.decompress(data, 4 * LIMITS.text_characters + 1)
    except (zlib.error, ValueError) as error:
        raise DocumentError(Refusal("bad-link", "the link is damaged: it contains no notebook")) from error
    if unpacker.unconsumed_tail:
        raise _too_long()
    if not unpacker.eof:
        raise DocumentError(Refusal("bad-link", "the link is truncated", f"{len(packed):,} characters"))
    try:
        whole = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(Refusal("bad-link", "the link is damaged: it contains no text")) from error
    if len(whole) > LIMITS.text_characters:
        raise _too_long()
    return whole


def _too_long() -> DocumentError:
    return DocumentError(
        Refusal("text-too-long", "the notebook in the link is too long", expected=f"at most {LIMITS.text_characters}")
    )
