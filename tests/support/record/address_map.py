"""Writes docs/pictures/address_map.svg: the timeline of a program whose buffers share addresses. Run it when a test reports that the
picture is out of date:

PYTHONPATH=tests python -m support.record.address_map
"""

from __future__ import annotations

from pathlib import Path

from support.sessions.pages import painted

from tilewright.app.document import evaluate, read_document
from tilewright.app.state.model import State
from tilewright.app.views.drawings import timeline_svg
from tilewright.app.views.timeline.value import drawn_window, timeline_value

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "address_map.svg"

NOTEBOOK = """# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu").replace("vtcm.banks", 1).replace("vtcm.capacity_bytes", 57_344)

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def stages(X: T.Buffer((16384,), "float32"), W: T.Buffer((16384,), "float32"), Y: T.Buffer((16384,), "float32")):
    A = T.sblock_alloc_buffer((16384,), "float32", scope="local.vtcm")
    B = T.sblock_alloc_buffer((16384,), "float32", scope="local.vtcm")
    C = T.sblock_alloc_buffer((16384,), "float32", scope="local.vtcm")
    D = T.sblock_alloc_buffer((16384,), "float32", scope="local.vtcm")
    for i in range(16384):
        with T.sblock("A"):
            vi = T.axis.spatial(16384, i)
            A[vi] = X[vi]
    for i in range(16384):
        with T.sblock("B"):
            vi = T.axis.spatial(16384, i)
            B[vi] = T.exp(A[vi])
    for i in range(16384):
        with T.sblock("C"):
            vi = T.axis.spatial(16384, i)
            C[vi] = W[vi]
    for i in range(16384):
        with T.sblock("D"):
            vi = T.axis.spatial(16384, i)
            D[vi] = B[vi] * C[vi]
    for i in range(16384):
        with T.sblock("Y"):
            vi = T.axis.spatial(16384, i)
            Y[vi] = D[vi]


# %% schedule
sch = tilewright.Schedule(stages)
(i,) = sch.get_loops("Y")
io, ii = sch.split(i, [None, 4096], names=["io", "ii"])
sch.compute_at("D", io)
sch.compute_at("C", io)
sch.compute_at("B", io)
sch.compute_at("A", io)
"""


def address_map() -> str:
    """Returns the picture."""
    notebook = evaluate(read_document(NOTEBOOK))
    state, store = painted(State(notebook=notebook, shown=notebook))
    return timeline_svg(timeline_value(state, store), drawn_window(state, store), title="stages")


if __name__ == "__main__":
    PICTURE.write_text(address_map(), encoding="utf-8")
    print(f"{PICTURE.name} is written")
