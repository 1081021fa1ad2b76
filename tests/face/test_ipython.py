"""Rich representations of schedules and reports are registered only in kernels; widgets report their missing dependencies."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from support.programs.sources import MATMUL

import tilewright
from tilewright.engine.execute import Verdict
from tilewright.engine.hwsim import Report
from tilewright.engine.ir import structural_equal
from tilewright.engine.schedule import Schedule


class Formatter:
    def __init__(self) -> None:
        self.types: dict[type, Any] = {}

    def for_type(self, kind: type, shown: Any) -> None:
        self.types[kind] = shown


def shell(**fields: Any) -> tuple[Any, Formatter]:
    formatter = Formatter()
    magics: dict[str, Any] = {}
    html = Formatter()
    display = SimpleNamespace(ipython_display_formatter=formatter, formatters={"text/html": html})
    define = lambda function, kind, name: magics.update({f"{kind} {name}": function})
    return SimpleNamespace(
        display_formatter=display, register_magic_function=define, magics=magics, user_ns={}, **fields
    ), formatter


def test_a_kernel_shows_schedules_and_reports() -> None:
    kernel, formatter = shell(kernel=object())
    tilewright.load_ipython_extension(kernel)
    assert set(formatter.types) == {Schedule, Report}


def test_a_terminal_keeps_the_line_of_text() -> None:
    terminal, formatter = shell()
    tilewright.load_ipython_extension(terminal)
    assert formatter.types == {}


def html_of(value: object) -> str | None:
    kernel, _ = shell(kernel=object())
    tilewright.load_ipython_extension(kernel)
    formats = kernel.display_formatter.formatters["text/html"].types
    return next(format_of(value) for kind, format_of in formats.items() if isinstance(value, kind))


def test_a_kernel_shows_programs_machines_and_verdicts_as_html() -> None:
    program = tilewright.parse(MATMUL)
    sch = Schedule(program)
    assert "T.axis.remap" in (html_of(program) or "") and (html_of(sch.mod) or "").startswith("<pre>")
    machine = html_of(tilewright.machine("dual-bank-npu")) or ""
    assert machine.count("<table>") == 2 and "dual-bank-npu" in machine and "256 KiB" in machine
    assert "tested" in (html_of(sch.verify()) or "")
    hostile = Verdict("failed", "<script>alert(1)</script>", 0.5)
    assert html_of(hostile) == (
        '<p><b style="color:#c62828">failed</b> &lt;script&gt;alert(1)&lt;/script&gt;; largest error 0.5</p>'
    )


def test_findings_are_html_and_other_tuples_keep_their_text() -> None:
    findings = tilewright.lint(tilewright.parse(MATMUL), "dual-bank-npu")
    found = html_of(findings) or ""
    assert found.count("<p>") == len(findings) > 0
    assert found.count("<details>") == sum(len(finding.fixes) for finding in findings)
    assert html_of((1, 2)) is None and html_of(()) is None


def test_a_program_has_the_text_methods_of_tvm(capsys: pytest.CaptureFixture[str]) -> None:
    program = tilewright.parse(MATMUL)
    sch = Schedule(program)
    for shown in (program, sch.func, sch.mod):
        shown.show()
        assert capsys.readouterr().out == f"{shown.script()}\n" == f"{shown}\n"
        assert structural_equal(tilewright.parse(shown.script()), shown)


def test_schedule_of_a_text_cell_is_a_variable() -> None:
    terminal, _ = shell()
    tilewright.load_ipython_extension(terminal)
    read = terminal.magics["cell tilewright"]
    parsed = read(" sch ", MATMUL)
    assert isinstance(parsed, Schedule) and terminal.user_ns == {"sch": parsed}
    assert read("", f"This is the program that I mean:\n\n{MATMUL}").func_name == parsed.func_name
    with pytest.raises(tilewright.TilewrightError, match="bad-name"):
        read("1 2", MATMUL)
    with pytest.raises(tilewright.TilewrightError):
        read("", "no program")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_no_ui_library() -> None:
    found = run(
        "import sys, tilewright; print(sorted({'panel', 'bokeh', 'IPython', 'anywidget'} & sys.modules.keys()))"
    )
    assert found.strip() == "[]"


@pytest.mark.slow
def test_missing_widgets_are_an_error_with_the_install_command() -> None:
    code = (
        "import sys\nsys.modules['anywidget'] = None\nimport tilewright\n"
        "try:\n    tilewright.LoopTree\nexcept tilewright.TilewrightError as error:\n    print(error.refusal.code, error.refusal.expected)"
    )
    assert run(code).strip() == 'no-widgets pip install "tilewright[jupyter]"'


def test_an_unknown_name_is_no_attribute() -> None:
    assert not hasattr(tilewright, "Nothing") and hasattr(tilewright, "LoopTree")
