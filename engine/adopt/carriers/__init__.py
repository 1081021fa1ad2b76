"""Carriers: forms in which people keep and send programs, such as notebooks of Jupyter, saved web pages, e-mail and diffs.

The content of a text decides which carrier it is, never its name. A carrier is taken apart as data; nothing in it is run or fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import msgspec

from ...ir import Refusal, TilewrightError, refusing_faults
from ...processes import isolated
from ...script import MAX_CARRIER_BYTES, is_text
from .archive import archive_text, is_archive, packed, read_archive
from .content import CarrierError, Content, Origin, Piece
from .diff import is_diff, read_diff
from .jupyter import is_notebook, read_notebook
from .mail import is_mail, read_mail
from .tuning import has_records_only, is_module_json, is_tuning, read_module_json, read_tuning, records_of
from .web_page import is_web_page, read_web_page

Unwrap = Callable[[str], Content | None]

LONG_CHARACTERS = 100_000
"""A longer carrier is read in a child process."""
SECONDS = 10.0
"""Maximum processor time to read a carrier."""
MOST_LEVELS = 3
"""Maximum number of carriers in each other, such as a notebook in a patch in an e-mail."""


class Carrier(msgspec.Struct, frozen=True):
    """A kind of carrier: whether a text, without leading white space, is one, and what it has. `unwrap` reads what is inside of it."""

    fits: Callable[[str], bool]
    read: Callable[[str, Unwrap], Content]


CARRIERS: tuple[Carrier, ...] = (
    Carrier(is_notebook, lambda text, _: read_notebook(text)),
    Carrier(is_web_page, lambda text, _: read_web_page(text)),
    Carrier(is_mail, read_mail),
    Carrier(is_diff, read_diff),
    Carrier(is_archive, read_archive),
    Carrier(is_tuning, lambda text, _: read_tuning(text)),
    Carrier(is_module_json, lambda text, _: read_module_json(text)),
)
"""The carriers; the first that fits reads a text."""


def is_carrier(text: str) -> bool:
    """Whether a text is a carrier of programs."""
    return _carrier_of(text) is not None


@lru_cache(maxsize=2)
def unwrapped(text: str) -> Content | None:
    """Return what a carrier has; None for a text that is none. Raises CarrierError, and OverBudgetError."""
    if _carrier_of(text) is None:
        return None
    if len(text) > MAX_CARRIER_BYTES:
        raise CarrierError(
            Refusal(
                "file-too-large",
                "the text is too large",
                f"{len(text)} characters",
                f"at most {MAX_CARRIER_BYTES} characters",
            )
        )
    if not is_text(text):
        raise CarrierError(Refusal("not-text", "the text has characters that no file can have",
                                   expected="no lone surrogates and no null characters"))  # fmt: skip
    if len(text) <= LONG_CHARACTERS:
        return _unwrapped(text)
    return isolated(_unwrapped, text, seconds=SECONDS, what="reading this text")


@refusing_faults(CarrierError, "reading this text")
def _unwrapped(text: str, level: int = 0) -> Content | None:
    carrier = _carrier_of(text) if level < MOST_LEVELS else None
    return None if carrier is None else carrier.read(text, partial(_inside, level=level + 1))


def _inside(text: str, level: int) -> Content | None:
    """What a text in a carrier carries; one that is damaged is read as text."""
    try:
        return _unwrapped(text, level)
    except TilewrightError:
        return None


def _carrier_of(text: str) -> Carrier | None:
    bare = text.lstrip("\ufeff \t\r\n")
    return next((carrier for carrier in CARRIERS if carrier.fits(bare)), None)


__all__ = [
    "CARRIERS",
    "Carrier",
    "CarrierError",
    "Content",
    "Origin",
    "Piece",
    "archive_text",
    "has_records_only",
    "is_carrier",
    "packed",
    "records_of",
    "unwrapped",
]
