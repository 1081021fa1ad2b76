"""Windows clamped at edges: counted by their period inside, and one by one at the edges, as if all were listed."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import few

from tilewright.engine.hwsim import Lost, Machine, Moved, load_machine, simulate
from tilewright.engine.hwsim.access import lanes
from tilewright.engine.hwsim.tasks import boxes
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SOURCE = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def window(A: T.Buffer(({h}, {w}, {c}), "{dtype}"), B: T.Buffer(({h}, {w}, {c}), "{dtype}")):
    L = T.sblock_alloc_buffer(({h}, {w}, {c}), "{dtype}", scope="{scope}")
    R = T.sblock_alloc_buffer(({h}, {w}, {c}), "{dtype}", scope="{scope}")
    for y, x, c in T.grid({h}, {w}, {c}):
        with T.sblock("load"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            L[vy, vx, vc] = A[vy, vx, vc]
    for {order} in T.grid({grid}):
        with T.sblock("work"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            R[vy, vx, vc] = L[{first}] + L[{second}]
    for y, x, c in T.grid({h}, {w}, {c}):
        with T.sblock("store"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            B[vy, vx, vc] = R[vy, vx, vc]
"""

MACHINES = (("matrix-vector-npu", "local"), ("gpu-sm", "shared"))


def held_back(rng: Random, h: int, w: int) -> str:
    """An index near [vy, vx, vc], inside of the image."""
    y, x = (f"v{name} + {rng.randint(-3, 3)}" for name in "yx")
    rows = rng.choice([f"T.max(T.min({y}, {h - 1}), 0)", f"T.min(T.max({y}, 0), {h - 1})"])
    columns = f"T.max(T.min({x}, {w - 1}), 0)" if rng.random() < 0.7 else "vx"
    return f"{rows}, {columns}, vc"


def drawn(seed: int) -> tuple[PrimFunc, Machine]:
    rng = Random(seed)
    sizes = {"h": rng.choice([5, 16, 33, 64]), "w": rng.choice([7, 32, 64]), "c": rng.choice([1, 8, 32, 64])}
    order = rng.sample("yxc", 3)
    name, scope = rng.choice(MACHINES)
    extents = {"y": sizes["h"], "x": sizes["w"], "c": sizes["c"]}
    text = SOURCE.format(
        **sizes,
        scope=scope,
        dtype=rng.choice(["uint8", "float16", "float32"]),
        order=", ".join(order),
        grid=", ".join(str(extents[v]) for v in order),
        first=held_back(rng, sizes["h"], sizes["w"]),
        second=held_back(rng, sizes["h"], sizes["w"]),
    )
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    sch = Schedule(program)
    if rng.random() < 0.5:
        sch.transform_layout("work", ("write", 0), lambda y, x, c: [x, c, y])
    return sch.func, load_machine(name)


def counted(seed: int) -> tuple[tuple[Lost, ...], tuple[Moved, ...], int]:
    report = simulate(*drawn(seed))
    return report.conflicts, report.bursts, report.cycles


@few(4)
@given(st.integers(0, 2**32))
def test_law_conflicts_of_boxes_and_rest_are_those_of_all_accesses(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes, "FEW", 0)
        found = counted(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lanes, "inside", lambda *_: None)
        assert counted(seed) == found


@pytest.mark.slow
def test_random_windows_have_boxes_and_conflicts() -> None:
    with_box = 0
    lost = 0

    def noted(*args: object) -> object:
        nonlocal with_box
        box = boxes.inside(*args)  # type: ignore[arg-type]
        with_box += box is not None
        return box

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes, "FEW", 0)
        patch.setattr(lanes, "inside", noted)
        for seed in range(40):
            lost += bool(counted(seed)[0])
    assert with_box > 5 and lost > 5
