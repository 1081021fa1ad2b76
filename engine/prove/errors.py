"""Why a proof ends early: it is out of reach, or the programs differ."""

from __future__ import annotations


class UndecidedError(Exception):
    """Neither proved nor refuted; the text gives the reason."""


class Differs(Exception):  # noqa: N818
    """The symbolic comparison found two instances that do not compute the same; the text names them."""
