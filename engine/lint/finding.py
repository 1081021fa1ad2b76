"""The results of lints: findings, and the calls that fix them with their measured effect."""

from __future__ import annotations

import msgspec

from ..export import step_text
from ..hwsim import Finding
from ..ir import ScheduleCall, Var
from .revisions import Revision

SEVERITIES = ("error", "warning", "info")
"""The worst first: does not run as it is; runs and wastes; information."""


class Peak(msgspec.Struct, frozen=True):
    """The peak use of a memory (or of one of its physical blocks), before and after."""

    memory: str
    before: int
    after: int


class Fix(msgspec.Struct, frozen=True, eq=False):
    """Calls that were tried on a copy of the schedule: legal, and the finding is gone after them. Cycles are those of the whole program;
    `cycles_before` is None if the machine could not run it. `fitted` and `fits`: whether the program stayed within the memories before, and
    does so with the fix. `copied_before` and `copied` are the bytes that DMA engines copy, `overflow` the bytes above the capacities of
    memories with the fix.

    `steps` includes the queries between the calls, for handles; with a `revision` there are none: it replaces an earlier call. `text` is
    that of a TileLang kernel after an edit in place of calls, `lines` are those that it replaces, and those that it writes.
    """

    steps: tuple[ScheduleCall, ...]
    cycles_before: int | None
    cycles: int
    peaks: tuple[Peak, ...]
    revision: Revision | None = None
    fits: bool = True
    fitted: bool = True
    copied_before: int | None = None
    copied: int = 0
    overflow: int = 0
    lines: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    text: str = ""

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls in Python, on `sch`, loops by name; or the new lines of a kernel."""
        if self.text:
            return self.lines[1]
        steps = self.steps if self.revision is None else (self.revision.step,)
        return tuple(step_text(step) for step in steps if step is not None and step.changes)

    @property
    def replaces(self) -> str:
        """The call of the schedule or the lines of a kernel that are replaced or left out; "" if the calls are appended."""
        return "\n".join(self.lines[0]) if self.revision is None else step_text(self.revision.before)

    @property
    def gain(self) -> float:
        """The fraction of the cycles that is saved; negative if the fix costs cycles."""
        return 1 - self.cycles / self.cycles_before if self.cycles_before else 0.0


class LintFinding(msgspec.Struct, frozen=True, eq=False):
    """A finding about a schedule on a machine. Blocks and buffers are names, loops are variables; `memory` is the row of memory concerned,
    if any. `hints` are calls as the simulator suggests them, not tried; `fixes` were tried, best first. Without fixes, `no_fix` is the
    reason. `saved` are the cycles that the program takes less without the cause, if a simulation proved it. `place` tells findings about
    statements of a text apart that are no blocks."""

    code: str
    severity: str
    message: str
    blocks: tuple[str, ...] = ()
    loops: tuple[Var, ...] = ()
    buffers: tuple[str, ...] = ()
    memory: str = ""
    hints: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    no_fix: str = ""
    saved: int = 0
    place: str = ""

    def to_json(self) -> dict[str, object]:
        """The finding as JSON values."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "blocks": list(self.blocks),
            "loops": [loop.name for loop in self.loops],
            "buffers": list(self.buffers),
            "memory": self.memory,
            "fixes": [
                {
                    "calls": list(fix.calls),
                    "replaces": fix.replaces,
                    "cycles_before": fix.cycles_before,
                    "cycles": fix.cycles,
                    "fits": fix.fits,
                    "fitted": fix.fitted,
                    "peaks": msgspec.to_builtins(fix.peaks),
                }
                for fix in self.fixes
            ],
            "no_fix": self.no_fix,
            "saved": self.saved,
        }


def bytes_text(size: int) -> str:
    """`128 KiB`; in bytes unless the size is a multiple of a quarter of the unit."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale and size % (scale // 4) == 0:
            return f"{size / scale:g} {unit}"
    return f"{size:,} bytes"


def lint_finding(finding: Finding) -> LintFinding:
    """A finding of the simulator as a lint's finding."""
    blocks = tuple(name for name in finding.blocks if name)
    return LintFinding(
        finding.code,
        finding.severity,
        finding.message,
        blocks,
        (),
        finding.buffers,
        finding.memory,
        finding.fix,
        saved=finding.saved,
    )


def same(one: LintFinding, other: LintFinding) -> bool:
    """Whether two findings report the same problem, in programs of which one is derived from the other."""
    return (
        one.code == other.code
        and one.memory == other.memory
        and one.place == other.place
        and _meet(one.buffers, other.buffers)
        and _meet(one.blocks, other.blocks)
    )


def _meet(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return not some or not others or not set(some).isdisjoint(others)
