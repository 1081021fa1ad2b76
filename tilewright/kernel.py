"""A TileLang kernel in Python: its printed IR is read, so TileLang itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .engine.execute import Verdict
from .engine.hwsim import Machine, Report, load_machine, simulate
from .engine.ir import IRModule, PrimFunc, Refusal, TilewrightError
from .engine.lint import LintFinding, lint
from .engine.lower import with_sizes
from .engine.schedule import Schedule
from .engine.script import from_tvm, to_script

if TYPE_CHECKING:
    from .app.jupyter import ScheduleNotebook

MACHINE = "sm80"


class Kernel:
    """A kernel of TileLang, to show, simulate and check: `tilewright.Kernel(matmul(1024, 1024, 1024)).simulate()`.

    `func` is a compiled kernel, a PrimFunc, or its text; an eager kernel or a factory with the values of its parameters:
    `Kernel(matmul, M=1024, block_M=64)`. It is read from the text of `.script()`. Raises ParseError, TilewrightError "not-a-program".
    """

    def __init__(self, func: Any, **values: Any) -> None:
        self.program: IRModule | PrimFunc = from_tvm(_printed(func, values))
        self.schedule = Schedule(self.program)

    @property
    def script(self) -> str:
        """The kernel as text of the block program."""
        return to_script(self.program)

    def simulate(self, machine: Machine | str | Path = MACHINE, *, sizes: Mapping[str, int] | None = None) -> Report:
        """Simulate the kernel on a machine; see `tilewright.simulate`."""
        func = with_sizes(self.schedule.described, sizes or {}).func
        return simulate(func, _machine(machine))

    def lint(
        self, machine: Machine | str | Path = MACHINE, *, sizes: Mapping[str, int] | None = None
    ) -> tuple[LintFinding, ...]:
        """Find errors and waste on a machine; see `tilewright.lint`."""
        return lint(self.schedule, _machine(machine), sizes or {})

    def check(self, other: Any = None, *, sizes: Mapping[str, int] | None = None, **values: Any) -> Verdict:
        """Compare the results with those of another kernel, such as the one before a change; without one, run the kernel."""
        original = None if other is None else Kernel(other, **values).schedule.func
        return self.schedule.check(sizes, original) if original is not None else self.schedule.verify(sizes=sizes)

    def show(self, machine: Machine | str | Path = MACHINE) -> ScheduleNotebook:
        """Show the kernel in Jupyter: loops, timeline, memories. Needs the extra `jupyter`."""
        try:
            from .app.jupyter import ScheduleNotebook
        except ModuleNotFoundError as error:
            missing = Refusal(
                "no-widgets", f"Kernel.show needs {error.name}", expected='pip install "tilewright[jupyter]"'
            )
            raise TilewrightError(missing) from error
        return ScheduleNotebook(self.schedule, machine=_machine(machine))

    def __repr__(self) -> str:
        return f"Kernel({self.schedule.func!r})"


def _machine(machine: Machine | str | Path) -> Machine:
    return machine if isinstance(machine, Machine) else load_machine(machine)


def _printed(func: Any, values: Mapping[str, Any]) -> Any:
    """Return what prints the IR of a kernel: the object itself, its PrimFunc, or that of an eager kernel with values."""
    if isinstance(func, Kernel):
        return func.program
    func = getattr(func, "jit_impl", func)  # under `@autotune`
    if values or callable(getattr(func, "get_tir", None)):
        return func.get_tir(**values) if hasattr(func, "get_tir") else func(**values)
    return getattr(func, "prim_func", func)
