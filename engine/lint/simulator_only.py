"""Lints: simulator findings for which no fixing schedule call is known."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import LintFinding, lint_finding
from .subject import Subject


def find_uncoalesced(subject: Subject) -> Iterator[LintFinding]:
    """Neighbouring lanes do not access neighbouring addresses, in a memory that transfers whole bursts: far more bytes are transferred than
    requested. Bind another loop to the lanes, or stage a tile in shared memory."""
    return map(lint_finding, subject.findings("uncoalesced"))


def find_wrapped_parts(subject: Subject) -> Iterator[LintFinding]:
    """A layout has more parts than the memory has physical blocks, so some parts share a block."""
    return map(lint_finding, subject.findings("more-parts-than-blocks"))


def find_bounded_iterations(subject: Subject) -> Iterator[LintFinding]:
    """Conditions of a block leave out iterations, too many to count: the cycles are an upper bound."""
    return map(lint_finding, subject.findings("iterations-bounded"))


def find_caches_left_out(subject: Subject) -> Iterator[LintFinding]:
    """The caches of the machine could not be simulated, so the cycles exclude cache misses."""
    return map(lint_finding, subject.findings("caches-left-out"))


def find_assumed_data(subject: Subject) -> Iterator[LintFinding]:
    """Trip counts or addresses depend on data, for which a mean or an array was given: the cycles are those of this data."""
    return map(lint_finding, subject.findings("data-assumed"))
