"""IPython views of schedules, reports and other values: `import tilewright` in a kernel registers them, and so does `%load_ext tilewright`.

`%%tilewright NAME` at the top of a cell reads its text as a program with a schedule. The engine does not depend on a display: a terminal,
or a kernel without the widget library, keeps the one-line text.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .app.actions.opening import opened_text
from .engine.hwsim import Report
from .engine.ir import Refusal, TilewrightError
from .engine.schedule import Schedule
from .rich import FORMATTERS

if TYPE_CHECKING:
    from .app.jupyter import CellOutputs


def load_ipython_extension(shell: Any) -> None:
    """Define `%%tilewright`; in a kernel, display schedules as loop trees, reports as timelines, and other values as HTML."""

    def read_cell(line: str, cell: str) -> Schedule:
        return _read_cell(shell, line, cell)

    shell.register_magic_function(read_cell, "cell", "tilewright")
    if getattr(shell, "kernel", None) is None:
        return
    for kind, html in FORMATTERS.items():
        shell.display_formatter.formatters["text/html"].for_type(kind, html)
    if find_spec("anywidget") is None:
        return
    views = _Views()
    formatter = shell.display_formatter.ipython_display_formatter
    formatter.for_type(Schedule, views.schedule)
    formatter.for_type(Report, views.report)


def _read_cell(shell: Any, line: str, cell: str) -> Schedule:
    """Return the schedule of a cell with a program, a post or a notebook: `%%tilewright NAME` assigns it to the variable NAME too.

    The text is parsed and never run. Raises the error of the text, or TilewrightError "no-workload", "bad-name".
    """
    name = line.strip()
    if name and not name.isidentifier():
        expected = "%%tilewright, or %%tilewright NAME"
        raise TilewrightError(Refusal("bad-name", "the variable of the schedule is not a name", name, expected))
    _, notebook = opened_text(cell, "")
    if notebook.error is not None:
        raise notebook.error
    assert notebook.schedule is not None
    if name:
        shell.user_ns[name] = notebook.schedule
    return notebook.schedule


def register() -> None:
    """Register the views if this process is a kernel, without importing IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        load_ipython_extension(shell)


class _Views:
    """The views of bare values; the widget libraries are imported on first use."""

    def __init__(self) -> None:
        self._outputs: CellOutputs | None = None

    def schedule(self, schedule: Schedule) -> None:
        self._loaded().schedule(schedule)

    def report(self, report: Report) -> None:
        self._loaded().report(report)

    def _loaded(self) -> CellOutputs:
        if self._outputs is None:
            from .app.jupyter import CellOutputs

            self._outputs = CellOutputs()
        return self._outputs
