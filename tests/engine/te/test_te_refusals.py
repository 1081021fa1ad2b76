"""Refused TE text: the code and the line of the refusal."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import TilewrightError
from tilewright.engine.te import read_te

BASE = """\
A = te.placeholder((16, 16), name="A")
k = te.reduce_axis((0, 16), "k")
B = te.compute((16, 16), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((16, 16), lambda i, j: te.sum(B[i, k] * A[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
i, j = s[C].op.axis
"""

CASES = {
    "tensorize": ("s[C].tensorize(i, 16)", "wrong-type"),
    "an endless loop": ("while True: s[C].unroll(i)", "too-large"),
    "a loop over what is not known": ("for x in A: s[C].unroll(i)", "unsupported"),
    "a loop that only running decides": ("for x in np.random.rand(3): s[C].unroll(i)", "unsupported"),
    "a condition that only running decides": ("if tvm.cuda(0).exist: s[C].unroll(i)", "unsupported"),
    "a condition on an axis": ("if i > 3: s[C].unroll(i)", "unsupported"),
    "an axis twice": ("s[C].reorder(i, i)", "wrong-arguments"),
    "an axis that is gone": ("s[C].split(i, 4); s[C].unroll(i)", "unknown-axis"),
    "an axis of another stage": ("s[B].unroll(i)", "unknown-axis"),
    "a second schedule": ("t = te.create_schedule(C.op)", "unsupported"),
    "prefetch": ("s[C].prefetch(A, i, 1)", "unsupported"),
    "no stage": ("s[k].unroll(i)", "unknown-name"),
    "axes apart fused": ("s[C].fuse(i, k)", "wrong-arguments"),
    "axes of two kinds fused": ("s[C].fuse(j, k)", "wrong-arguments"),
    "a factor of nought": ("s[C].split(i, factor=0)", "out-of-range"),
    "no factor": ("s[C].split(i)", "wrong-arguments"),
    "itself": ("s[C].compute_at(s[C], i)", "wrong-arguments"),
    "an input scheduled": ("s[A].compute_at(s[C], i)", "unsupported"),
    "a cache nobody reads": ('s.cache_read(A, "local", [])', "wrong-arguments"),
    "a cache of a reader that does not read": ('AL = s.cache_read(B, "local", [B])', "wrong-arguments"),
    "a cache of split axes": ('s[B].split(s[B].op.axis[0], 4); s.cache_write(B, "local")', "unsupported"),
    "a reduction inlined": ("D = s[C].compute_inline()", "has-init"),
    "a reduction run in parallel": ("s[C].parallel(k)", "reduction-in-parallel"),
    "a module": ("D = te.compute((te,), lambda i: i)", "wrong-type"),
    "no end": ("f = lambda x: f(x); f(1)", "too-deep"),
    "a scan of no state": ("te.scan(B, C, B)", "wrong-type"),
    "integers divided": ("D = te.compute((4,), lambda i: i / 2)", "wrong-type"),
    "a sum inside": ("D = te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1.0)", "wrong-type"),
    "a missing index": ("D = te.compute((4,), lambda i: A[i] + 1.0)", "wrong-arguments"),
    "an input left out": ("tvm.lower(s, [C])", "not-a-program"),
}


@pytest.mark.parametrize("name", CASES)
def test_unreadable_line_is_refused_at_its_place(name: str) -> None:
    line, code = CASES[name]
    with pytest.raises(TilewrightError) as caught:
        read_te(BASE + line + "\n")
    refusal = caught.value.refusal
    assert refusal.code == code
    assert refusal.place is not None
    assert refusal.place.line == (1 if name == "an input left out" else len(BASE.splitlines()) + 1)
    assert refusal.expected or refusal.fix


def test_lines_that_double_a_value_are_too_large() -> None:
    doubled = "def f(x):\n" + "    x = x * x\n" * 60 + "    return x\n"
    with pytest.raises(TilewrightError) as caught:
        read_te(BASE + doubled + "D = te.compute((16,), lambda i: f(A[i, i]))\n")
    assert caught.value.code == "too-large"


@pytest.mark.parametrize(
    "growth",
    [
        "x = [x, x]",
        "x = [*zip((x,), (x,))][0]",
        "x = {'a': x, 'b': x}",
        "x = [x for _ in range(4000)]",
        "t = t + t",
        "t = f'{t}{t}'",
        "l = l + l",
    ],
)
def test_values_that_grow_in_a_loop_are_too_large(growth: str) -> None:
    text = f"x, t, l = (1, 2), 'ab', [1, 2]\nfor n in range(100):\n    {growth}\nif x == 1:\n    pass\n"
    with pytest.raises(TilewrightError) as caught:
        read_te(BASE + text)
    assert caught.value.code == "too-large"
