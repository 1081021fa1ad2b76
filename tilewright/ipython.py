"""IPython views of bare schedules and reports: `import tilewright` in a kernel registers them, and so does `%load_ext tilewright`.

The engine does not depend on a display. A terminal, or a kernel without the widget library, keeps the one-line text.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from .engine.hwsim import Report
from .engine.schedule import Schedule


def load_ipython_extension(shell: Any) -> None:
    """Display schedules as loop trees and reports as timelines in a kernel's outputs."""
    if getattr(shell, "kernel", None) is None or find_spec("anywidget") is None:
        return
    views = _Views()
    formatter = shell.display_formatter.ipython_display_formatter
    formatter.for_type(Schedule, views.schedule)
    formatter.for_type(Report, views.report)


def register() -> None:
    """Register the views if this process is a kernel, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        load_ipython_extension(shell)


class _Views:
    """The views of bare values; the widget libraries are imported on first use."""

    def __init__(self) -> None:
        self._bare: Any = None

    def schedule(self, schedule: Schedule) -> None:
        self._loaded().schedule(schedule)

    def report(self, report: Report) -> None:
        self._loaded().report(report)

    def _loaded(self) -> Any:
        if self._bare is None:
            from .app.jupyter import CellOutputs

            self._bare = CellOutputs()
        return self._bare
