"""A notebook with few holes and a small program, for tests that search it."""

from __future__ import annotations

from unittest.mock import patch

from msgspec.structs import replace
from support.sessions.paper import PaperClock

from tilewright.app.actions.exploring import Explore
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.jobs.exploration import Searches
from tilewright.app.limits import LIMITS
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.state.search_results import Found, found_now

HOLES = """# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 64), "float32"), C: T.Buffer((256, 64), "float32")):
    for m, n, k in T.grid(256, 64, 256):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            T.reads(A[vm, vk], B[vk, vn])
            T.writes(C[vm, vn])
            with T.init():
                C[vm, vn] = T.float32(0)
            C[vm, vn] = C[vm, vn] + A[vm, vk] * B[vk, vn]


# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
tile = tilewright.choose("tile", [64, 32])
mo, mi = sch.split(m, factors=[None, tile], names=["mo", "mi"])
ko, ki = sch.split(k, factors=[None, 64], names=["ko", "ki"])
sch.reorder(mo, ko, mi, n, ki)
AL = sch.cache_read(C, 0, "local.vtcm")
BL = sch.cache_read(C, 1, "local.vtcm")
CL = sch.cache_write(C, 0, "local.acc")
place = tilewright.choose("A at", ["ko", "mo", "nowhere"])
sch.compute_at(AL, place)
sch.compute_at(BL, "ko")
sch.reverse_compute_at(CL, "mo")
slots = tilewright.choose("slots", [1, 2])
sch.double_buffer(AL, slots=slots)
"""
"""Of twelve candidates four are refused: there is no loop "nowhere"."""

SMALL_HOLES = HOLES.replace("[64, 32]", "[16, 8]").replace("256", "16").replace("64", "16")
"""The same with loops of 16 iterations. A schedule is derived in a tenth of the time."""

DOUBLE = """# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)


# %% schedule
sch = tilewright.Schedule(double)
B = sch.get_block("B")
(i,) = sch.get_loops(B)
io, ii = sch.split(i, factors=[None, 16], names=["io", "ii"])
"""
"""The cheapest program with a tile: a schedule is derived in a fifth of a second, and its derived space has 80 points."""


def with_holes() -> State:
    """The page with that notebook."""
    return act(State(), OpenText(HOLES))


def searched(state: State | None = None, requested: Explore | None = None) -> tuple[State, Store, Found]:
    """The result of a complete search."""
    state = act(state or with_holes(), requested or Explore())
    assert state.exploration is not None, state.notice
    exploration = state.exploration
    store, event_loop = Store(), PaperClock()
    store.simulated(state)
    searches = Searches(store, event_loop, lambda: None)

    def over() -> bool:
        found = found_now(exploration, store)
        return found is not None and found.status in ("ended", "failed")

    with patch("tilewright.app.jobs.exploration.LIMITS", replace(LIMITS, search_workers=0)):  # no worker process
        searches.update(state)
        event_loop.run_until(over)
    searches.close()
    found = found_now(exploration, store)
    assert found is not None
    return state, store, found
