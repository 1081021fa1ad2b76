"""A rule proposes calls for a schedule. All proposals are tried in the same way; those that improve it become suggestions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import getdoc
from typing import NamedTuple

import msgspec

from ..hwsim import Report
from ..lint import Fix
from ..lint.rule import fix_between
from ..lint.subject import Subject

MIN_GAIN = 0.005
"""The fraction of the cycles that a suggestion has to save."""

MOST_TRIALS = 40
"""Maximum proposals of one rule that are simulated."""


class RuleProposal(NamedTuple):
    """What the calls do, in a few words, and the subject after them; None if a call is refused. `decisions` say what they do in detail."""

    title: str
    after: Subject | None
    decisions: tuple[str, ...] = ()


Propose = Callable[[Subject], Iterator[RuleProposal]]


class Suggestion(msgspec.Struct, frozen=True, eq=False):
    """Calls that were tried on a copy of the schedule and improve it. `rule` is the code of their rule or lint, `title` says what they
    do, `decisions` in detail."""

    rule: str
    title: str
    fix: Fix
    decisions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The suggestion as JSON values."""
        return {
            "rule": self.rule,
            "title": self.title,
            "decisions": list(self.decisions),
            "calls": list(self.fix.calls),
            "replaces": self.fix.replaces,
            "cycles_before": self.fix.cycles_before,
            "cycles": self.fix.cycles,
            "fits": self.fix.fits,
            "copied_bytes_before": self.fix.copied_before,
            "copied_bytes": self.fix.copied,
        }


class Rule(msgspec.Struct, frozen=True, eq=False):
    """One row of the table. The docstring of `propose` states the precondition and the calls. With `is_refined`, each proposal replaces
    the one before it."""

    code: str
    title: str
    propose: Propose
    is_refined: bool = False

    @property
    def what(self) -> str:
        """The precondition and the calls, from the docstring of `propose`."""
        return getdoc(self.propose) or ""

    def suggestions(self, subject: Subject) -> Iterator[Suggestion | None]:
        """Yields the proposals that improve the schedule, and None after each trial, so that the caller can stop."""
        left = MOST_TRIALS
        for title, after, decisions in self.propose(subject):
            if after is not None:
                left -= 1
                if is_better(subject.report, after.report):
                    yield Suggestion(self.code, title, fix_between(subject, after), decisions)
            yield None
            if not left:
                return


def is_better(before: Report | None, after: Report | None) -> bool:
    """Whether a program improves on another one: it runs, it fits, it is nearer to fitting, or it needs fewer cycles."""
    if after is None or before is None:
        return after is not None
    if after.overflow_bytes or before.overflow_bytes:
        return after.overflow_bytes < before.overflow_bytes
    return after.is_comparable(before) and after.cycles <= before.cycles * (1 - MIN_GAIN)
