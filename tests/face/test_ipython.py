"""What a bare schedule or report shows is registered in kernels, and only there; the widgets' names say what they need."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import tilewright
from tilewright.engine.hwsim import Report
from tilewright.engine.schedule import Schedule


class Formatter:
    def __init__(self) -> None:
        self.types: dict[type, Any] = {}

    def for_type(self, kind: type, shown: Any) -> None:
        self.types[kind] = shown


def shell(**fields: Any) -> tuple[Any, Formatter]:
    formatter = Formatter()
    return SimpleNamespace(display_formatter=SimpleNamespace(ipython_display_formatter=formatter), **fields), formatter


def test_given_a_kernel_then_schedules_and_reports_are_shown() -> None:
    kernel, formatter = shell(kernel=object())
    tilewright.load_ipython_extension(kernel)
    assert set(formatter.types) == {Schedule, Report}


def test_given_a_terminal_then_it_keeps_its_line_of_text() -> None:
    terminal, formatter = shell()
    tilewright.load_ipython_extension(terminal)
    assert formatter.types == {}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_given_an_import_then_no_library_of_the_screen_is_loaded() -> None:
    found = run(
        "import sys, tilewright; print(sorted({'panel', 'bokeh', 'IPython', 'anywidget'} & sys.modules.keys()))"
    )
    assert found.strip() == "[]"


def test_given_no_library_of_widgets_then_the_error_says_what_to_install() -> None:
    code = (
        "import sys\nsys.modules['anywidget'] = None\nimport tilewright\n"
        "try:\n    tilewright.LoopTree\nexcept tilewright.TilewrightError as error:\n    print(error.refusal.code, error.refusal.expected)"
    )
    assert run(code).strip() == 'no-widgets pip install "tilewright[jupyter]"'


def test_given_an_unknown_name_then_it_is_no_attribute() -> None:
    assert not hasattr(tilewright, "Nothing") and hasattr(tilewright, "LoopTree")
