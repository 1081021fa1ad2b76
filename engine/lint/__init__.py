"""Lints: findings about a schedule on a machine, each with fixes that were tried on a copy of the schedule."""

from .finding import Fix, LintFinding, Peak
from .machines import NOT_ABOUT_THE_SCHEDULE
from .rule import Lint
from .stalls import Stall, reason, remedies
from .subject import Subject
from .table import LINTS, lint, linting, simulator_findings

__all__ = [
    "LINTS",
    "NOT_ABOUT_THE_SCHEDULE",
    "Fix",
    "Lint",
    "LintFinding",
    "Peak",
    "Stall",
    "Subject",
    "lint",
    "linting",
    "reason",
    "remedies",
    "simulator_findings",
]
