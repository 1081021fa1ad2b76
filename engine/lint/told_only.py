"""Lints: simulator findings for which no fixing schedule call is known."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import LintFinding, told
from .subject import Subject


def find_uncoalesced(subject: Subject) -> Iterator[LintFinding]:
    """Lanes next to each other access elements that are not next to each other in a memory that moves whole bursts: far more bytes move
    than are asked for. Which loop is bound to the lanes, or a tile in shared memory, decides that."""
    return map(told, subject.findings("uncoalesced"))


def find_wrapped_parts(subject: Subject) -> Iterator[LintFinding]:
    """A layout has more parts than the memory has physical blocks: they go round, and some share a block."""
    return map(told, subject.findings("more-parts-than-blocks"))


def find_caches_left_out(subject: Subject) -> Iterator[LintFinding]:
    """The caches of the machine could not be followed, so the cycles are without the waiting for them."""
    return map(told, subject.findings("caches-left-out"))
