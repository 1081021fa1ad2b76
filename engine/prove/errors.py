"""Why a proof ends early: it is out of reach, or a place was found where the programs differ."""

from __future__ import annotations


class Unknown(Exception):  # noqa: N818
    """Neither proved nor refuted; the text says what is out of reach."""


class Differs(Exception):  # noqa: N818
    """The symbolic comparison found two instances that do not compute the same; the text names them."""
