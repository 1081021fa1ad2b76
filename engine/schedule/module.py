"""The module of a schedule, with TVM's methods for its text."""

from __future__ import annotations

from ..ir import IRModule
from ..script import to_script


class ScheduledModule(IRModule, frozen=True, eq=False):
    """Functions by name, in order; `print` shows them as TVMScript."""

    def script(self) -> str:
        """Return the functions as TVMScript of current TVM."""
        return to_script(self)

    def show(self) -> None:
        """Print the functions as TVMScript."""
        print(self.script())

    def __str__(self) -> str:
        return self.script()


__all__ = ["ScheduledModule"]
