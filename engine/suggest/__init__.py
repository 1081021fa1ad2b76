"""Next steps: rules propose calls for a schedule on a machine; each proposal is tried on a copy and simulated, and the best are offered."""

from .rule import Rule, Suggestion, is_better
from .table import RULES, best_first, from_findings, next_steps, suggest, suggesting

__all__ = [
    "RULES",
    "Rule",
    "Suggestion",
    "best_first",
    "from_findings",
    "is_better",
    "next_steps",
    "suggest",
    "suggesting",
]
