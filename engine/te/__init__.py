"""Reader of TE text: the block program that it computes, and its schedule as equivalent calls on that program. Nothing is executed.

TVM removed TE schedules without a migration path; this reader translates them, so that scheduling can continue.
"""

from ..script.language import has_graph, is_te
from .program import TEProgram, parse, read_te

__all__ = ["TEProgram", "has_graph", "is_te", "parse", "read_te"]
