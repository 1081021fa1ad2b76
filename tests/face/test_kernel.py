"""`tilewright.Kernel`: a live kernel, read by its printed text."""

from __future__ import annotations

import pytest

import tilewright
from tilewright.app.views.shell.gallery import FOLDER

TEXT = (FOLDER / "tilelang_gemm.py").read_text().split("# %% workload\n")[1].split("# %% schedule")[0]
SMALL = TEXT.replace("M=512, N=512, K=1024", "M=64, N=64, K=64")


class Printed:
    """A PrimFunc, as far as a kernel needs it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def script(self) -> str:
        return self.text


class Compiled:
    def __init__(self, text: str) -> None:
        self.prim_func = Printed(text)


class Eager:
    def get_tir(self, num_stages: int) -> Printed:
        return Printed(SMALL.replace("num_stages=3)\n", f"num_stages={num_stages})\n"))


class Tuned:
    """What `@autotune` makes of an eager kernel: a call would compile it."""

    def __init__(self) -> None:
        self.jit_impl = Eager()


def factory(num_stages: int) -> Printed:
    return Eager().get_tir(num_stages)


def test_a_live_kernel_is_simulated() -> None:
    kernels = [tilewright.Kernel(SMALL), tilewright.Kernel(Printed(SMALL)), tilewright.Kernel(Compiled(SMALL)),
               *(tilewright.Kernel(made, num_stages=3) for made in (Eager(), Tuned(), factory))]  # fmt: skip
    assert len({kernel.simulate().cycles for kernel in kernels}) == 1
    assert kernels[0].simulate(tilewright.machine("sm90")).cycles > 0
    assert "PrimFunc('main'" in repr(kernels[0]) and "T.sblock" in kernels[0].script
    assert all(finding.code for finding in kernels[0].lint())


def test_results_are_compared_with_another_kernel() -> None:
    kernel = tilewright.Kernel(Eager(), num_stages=3)
    assert kernel.check().status == "tested"
    assert kernel.check(Eager(), num_stages=1).status in ("proved", "tested")
    assert kernel.check(SMALL.replace("T.clear(C_local)", "T.fill(C_local, 99)")).status == "failed"


def test_other_objects_are_refused() -> None:
    with pytest.raises(tilewright.TilewrightError) as caught:
        tilewright.Kernel(3)
    assert caught.value.code == "not-a-program"


def test_a_kernel_is_shown() -> None:
    pytest.importorskip("anywidget")
    widget = tilewright.Kernel(SMALL).show()
    assert isinstance(widget, tilewright.ScheduleNotebook)
