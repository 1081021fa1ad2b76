"""TE text: the block program that it computes, and its schedule as the equivalent calls on that program. Nothing is executed.

People with TE schedules have had no way forward since TVM removed them; here one is read, translated and can be scheduled on.
"""

from .program import TEProgram, is_te, parse, read_te

__all__ = ["TEProgram", "is_te", "parse", "read_te"]
