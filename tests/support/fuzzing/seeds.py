"""Inputs to begin from: the examples of the package, and programs, posts, traces, machines and messages of the tests."""

from __future__ import annotations

import base64
import json
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from support.pasted import carriers as carried
from support.pasted import posts
from support.pasted.old_graphs import twice_module
from support.programs import te_sources
from support.programs.real_programs import HEADER, REAL, TRANSPOSE
from support.programs.sources import ALL, MATMUL, ROW_SUM
from support.record.seeds import SEEDS
from support.sessions.hostile import EXAMPLES
from support.sessions.notebooks import MATMUL_NOTEBOOK, SYMBOLIC
from support.simulator.machines import PLAIN

from tilewright import static
from tilewright.app.links import fragment_of
from tilewright.engine.adopt import packed
from tilewright.engine.script import parse, to_script

ODD_PROGRAM = """\
from tvm.script import tir as T

N = 16
shape = (N, 8)


@T.prim_func
def odd(a: T.handle, b: T.handle, c: T.int32) -> None:
    T.func_attr({"global_symbol": "odd", "tir.noalias": True})
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32", strides=[8, 1], align=64, offset_factor=4)
    B = T.match_buffer(b, shape, "float32", axis_separators=[1])
    W = T.alloc_buffer([16, 8], dtype="float32", scope="shared")
    for i, j in T.grid(16, 8):
        with T.block("W"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 8 + j < 100)
            T.reads(A[vi, 0:8])
            T.writes(W[vi, vj])
            T.block_attr({"pragma": 1, "list": [1, "x"]})
            W[vi, vj] = T.if_then_else(vi < n, A[vi, vj] * T.float32(2) + T.exp(A[vi, vj]), T.float32(0))
    for i in T.serial(0, 16, annotations={"unroll": 4}):
        for j in T.vectorized(8):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.S((0, 8), j)
                S = T.match_buffer(W[vi, 0:8], (8,), "float32", scope="shared")
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = T.max(B[vi, vj], S[vj]) if N == 16 else S[vj]
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        x: T.int32 = tx * 4 // 3 % 2 << 1
        assert x < 9, "far"
        if T.likely(x > 2 and not x == 3):
            B[T.min(x, 15), 0:8:2] = T.Broadcast(T.float32(1), 4)
        else:
            T.evaluate(T.call_extern("int32", "f", A.access_ptr("rw"), T.address_of(B[0, 0])))
        B[0, 0:8] = B[1, T.Ramp(0, 1, 8)] + T.Select(x == 1, T.cast(x, "float32"), T.infinity("float32"))
"""
"""Many constructs of the language in few lines."""

CALLS = """\
import tilewright
tile = 64
bank = choose("bank", ["local.vtcm", "local"])
sch = tilewright.Schedule(matmul)
sizes = {"M": 256}
C = sch.get_block("C", func_name="matmul")
i, j, k = sch.get_loops(block=C)
ko, ki = sch.split(k, factors=[None, tile], names=["ko", "ki"])
sch.reorder(i, ko, j, ki)
AL = sch.cache_read(C, 0, bank)
sch.compute_at(AL, ko, preserve_unit_loops=True)
(b,) = sch.get_consumers(AL)
l = sch.get_loops(b)[0]
sch.transform_layout(AL, ("write", 0), lambda m, k: [m // 16, tilewright.AXIS_SEPARATOR, k % 64, -m], pad_value=T.float32(0))
sch.annotate(b, "x", {"a": [1, 2.5, "b", None], "c": 1 << 4})
sch.reorder(*[i, j])
order = sch.get_loops(C)
sch.fuse(*order, name="all")
# off: sch.unroll(ki)
"""
"""Schedule lines of every kind of value."""

TRACE = [
    [
        ["GetSBlock", [], ["C", "main"], ["b0"]],
        ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
        ["SamplePerfectTile", ["l1"], [2, 16], ["v4", "v5"]],
        ["Split", ["l1", "v4", "v5"], [1, 0], ["l6", "l7"]],
        ["SampleCategorical", [], [[1, 2, 4], [0.25, 0.25, 0.5]], ["v8"]],
        ["Annotate", ["b0", "v8"], ["unroll"], []],
        ["Annotate", ["b0", {"a": [1, '"b"']}], ["more"], []],
        ["CacheRead", ["b0", ["b0"]], [0, "shared"], ["b9"]],
        ["SampleComputeLocation", ["b9"], [], ["l10"]],
        ["ComputeAt", ["b9", "l10"], [1, -1], []],
        ["GetConsumers", ["b9"], [], ["b11"]],
        ["Reorder", ["l7", "l2", "l3"], [], []],
        ["Unroll", ["l7"], [], []],
    ],
    [[2, [16, 8]], [4, 2], [8, 1]],
]
MORE_TRACES = (
    [[["GetSBlock", [], ["C", "main"], ["b0"]], ["CacheWrite", ["b0", []], [0, "local"], ["b1"]], ["GetLoops", ["b0"], [], ["l2", "l3",
    "l4"]],
      ["Fuse", ["l2", "l3"], [1], ["l5"]], ["Bind", ["l5"], ["blockIdx.x"], []], ["DecomposeReduction", ["b0", "l4"], [], ["b6"]],
      ["ReIndex", ["b0"], [0, 0], ["b7"]], ["StorageAlign", ["b0"], [0, 0, 32, 8], []], ["SetScope", ["b1"], [0, "shared"], []]], []],
    [[["GetSBlock", [], ["C", "main"], ["b0"]], ["GetLoops", ["b0"], [], ["l2", "l3", "l4"]], ["Blockize", ["l3"], [1], ["b9"]],
      ["GetChildBlocks", ["b9"], [], ["b1"]], ["AddUnitLoop", ["b1"], [], ["l8"]], ["Parallel", ["l2"], [], []], ["Vectorize", ["l3"],
      [], []],
      ["Annotate", ["l2", 1], ["pragma"], []], ["Unannotate", ["l2"], ["pragma"], []], ["RFactor", ["l4"], [0], ["b5"]],
      ["GetProducers", ["b0"], [], []], ["PadEinsum", ["b0"], [[32, 32, 32]], []], ["Tensorize", ["b0"], ["wmma", 1], []],
      ["ReorderBlockIterVar", ["b0", [1, 0, 2]], [], []], ["EnterPostproc", [], [], []]], []],
    [[["GetSBlock", [], ["C", "main"], ["b0"]], ["ComputeInline", ["b0"], [], []], ["ReverseComputeInline", ["b0"], [], []],
      ["ReadAt", ["l1", "b0"], [0, "shared"], ["b2"]], ["WriteAt", ["l1", "b0"], [0, "shared"], ["b3"]], ["RollingBuffer", ["b0"], [0], []],
      ["CacheInplace", ["b0"], [0, "local"], ["b4", "b5"]], ["CacheIndex", ["b0"], ["global", 0], ["b6"]], ["LoopPartition", ["l1", 2,
      3], [1], ["l7", "l8", "l9"]],
      ["Merge", ["l7", "l8"], [], ["l10"]], ["ReverseComputeAt", ["b0", "l1"], [1, -1], []], ["DecomposePadding", ["b0", "l1"], [],
      ["b11"]]], []],
)  # fmt: skip
TRACE_TEXT = """\
# from tvm import s_tir
def apply_trace(sch: s_tir.Schedule) -> None:
  b0 = sch.get_sblock(name="C", func_name="matmul")
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[16, 8])
  l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
  v8 = sch.sample_categorical(candidates=[1, 2, 4], probs=[0.25, 0.25, 0.5], decision=2)
  sch.annotate(block_or_loop=b0, ann_key="more", ann_val={"a": [1, "b"]})
  b9 = sch.cache_read(block=b0, read_buffer_index=0, storage_scope="shared", consumer_blocks=[b0])
  l10 = sch.sample_compute_location(block=b9, decision=1)
  sch.compute_at(block=b9, loop=l10, preserve_unit_loops=True, index=-1)
  b11, = sch.get_consumers(block=b9)
"""

FORMS: tuple[Any, ...] = (
    {"kind": "call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}},
    {"kind": "call", "method": "split", "target": "mo", "arguments": {"factors": [None, 2], "names": ["a", "b"]}},
    {"kind": "call", "method": "reorder", "arguments": {"loops": ["ko", "mo"]}},
    {"kind": "call_sequence", "calls": [{"method": "unroll", "target": "ki"}, {"method": "parallel", "target": "mo", "arguments": {}}]},
    {"kind": "call", "method": "transform_layout", "target": "A_local.vtcm", "arguments": {"buffer": ["write", 0],
    "index_map": "lambda i, j: [j, i]", "pad_value": "0.0"}},
    {"kind": "call", "method": "annotate", "target": "C", "arguments": {"ann_key": "k", "ann_val": {"x": [1]}}},
    {"kind": "call", "method": "storage_align", "target": "A_local.vtcm", "arguments": {"buffer_index": 0, "axis": 0, "factor": 32,
    "offset": 8}},
    {"kind": "repair", "method": "compute_at", "target": "B_local.vtcm", "arguments": {"loop": "ki"}},
    {"kind": "rename", "id": "ko", "name": "outer"},
    {"kind": "fix", "calls": ["sch.compute_at(AL, ko)"], "replaces": ""},
    {"kind": "open_text", "text": MATMUL, "title": "x"},
    {"kind": "compare", "a": "now", "b": "step:1"},
    {"kind": "open", "name": "box_blur"},
    {"kind": "undo"}, {"kind": "redo"},
    {"kind": "view", "count": 2}, {"kind": "select", "id": "ko", "buffer": "A"},
    {"kind": "set_parameter", "path": "memories.vtcm.banks", "value": 4},
    {"kind": "machine", "name": "gemmini"},
    {"kind": "edit", "cell": 1, "body": "x = 1"}, {"kind": "edit_item", "item": 2, "text": "sch.unroll(ki)"},
    {"kind": "insert_cell", "cell": 1, "cell_kind": "markdown"}, {"kind": "move_item", "item": 1, "target": 3, "after": True},
    {"kind": "add_branch", "name": "b", "steps": 2}, {"kind": "switch_item", "item": 3, "on": False},
)  # fmt: skip

MESSAGES: tuple[Any, ...] = (
    {"kind": "move", "primitive": "compute_at", "block": "A_local.vtcm", "loop": "ko"},
    {"kind": "moves", "rows": ["A_local.vtcm", "B_local.vtcm"], "loop": "ko"},
    {"kind": "call", "method": "split", "target": "mo", "arguments": {"factors": [None, 2], "names": ["a", "b"]}},
    {"kind": "calls", "method": "unroll", "targets": ["ki", "ko"], "arguments": {}},
    {"kind": "reorder", "loops": ["ko", "mo"]}, {"kind": "rename", "id": "ko", "name": "outer"},
    {"kind": "select", "id": "ko", "buffer": "A"}, {"kind": "select_stall", "engine": "dma", "cause": "data", "buffer": "A", "block": "C",
    "row": "C"},
    {"kind": "show_layout", "look": {"row": 1, "column": 2}}, {"kind": "undo"}, {"kind": "redo"}, {"kind": "machine", "name": "gemmini"},
    {"kind": "gallery"}, {"kind": "view", "count": 2},
    {"kind": "repair", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ki"}},
    {"kind": "fix", "calls": ["sch.unroll(ki)"], "replaces": ""}, {"kind": "edit", "cell": 3, "body": "x = 1"}, {"kind": "theme",
    "theme": "dark"},
    {"kind": "pane", "pane": "machine"}, {"kind": "compare", "a": "now", "b": "step:1"}, {"kind": "end_compare"}, {"kind": "show_span",
    "start": 0, "end": 3},
    {"kind": "set_parameter", "path": "memories.vtcm.banks", "value": "4"},
    {"kind": "reset_parameter", "path": "memories.vtcm.banks"}, {"kind": "measure"}, {"kind": "dismiss"},
    {"kind": "draft_cell", "cell": 2, "text": "y = 2"}, {"kind": "draft_item", "item": 1, "text": "sch.unroll(ki)"}, {"kind": "drop_draft"},
    {"kind": "edit_prose", "cell": 0, "text": "# words"}, {"kind": "edit_item", "item": 1, "text": "sch.unroll(ki)"},
    {"kind": "insert_cell", "cell": 1, "cell_kind": "markdown"}, {"kind": "remove_cell", "cell": 1}, {"kind": "move_cell", "cell": 1,
    "to": 2},
    {"kind": "switch_item", "item": 2, "on": False}, {"kind": "remove_item", "item": 2}, {"kind": "move_item", "item": 1, "target": 3,
    "after": True},
    {"kind": "apply_suggestion"}, {"kind": "skip_conflicts"}, {"kind": "stop_here"}, {"kind": "restore_step", "step": 1},
    {"kind": "add_branch",
    "name": "b", "steps": 2},
    {"kind": "choose_branch", "name": "b"}, {"kind": "rename_branch", "name": "b", "new": "c"}, {"kind": "delete_branch", "name": "c"},
    {"kind": "begin_drag", "rows": ["A_local.vtcm"], "near": "ko"}, {"kind": "drag_over", "row": "ko"}, {"kind": "end_drag"},
    {"kind": "open", "name": "box_blur"}, {"kind": "open_text", "text": MATMUL}, {"kind": "cancel_work"}, {"kind": "resume"},
    {"kind": "save"}, {"kind": "save_as", "name": "x.py", "replacing": True}, {"kind": "new_file", "name": "y.py"}, {"kind": "download"},
    {"kind": "resolve", "choices": ["ours"]}, {"kind": "dismiss_file_message"}, {"kind": "show_versions"},
    {"kind": "version", "version": 1},
    {"kind": "restore_version", "version": 1},
    {"kind": "export", "to": "tvm"},
    {"kind": "window", "ticket": 1, "start": 0, "end": 100, "folded": True}, {"kind": "find", "ticket": 1, "template": 0,
    "place": [1, 2]},
    {"kind": "show_trial", "trial": 1}, {"kind": "open_point", "point": [1]}, {"kind": "make_fast", "seconds": 1},
    {"kind": "stop_exploring"},
)  # fmt: skip


@cache
def scripts() -> tuple[str, ...]:
    """Programs in TVMScript of every dialect."""
    real = [HEADER + text for text in REAL.values() if isinstance(text, str)]
    printed = [to_script(parse(text).program, "classic") for text in (MATMUL, ROW_SUM, ODD_PROGRAM)]
    posted = [posts.EARLY_MATMUL_POST.partition('"""Print')[0], posts.RELAX_LOWERED, posts.RELAX_SCHEDULED_POST]
    return (ODD_PROGRAM, *ALL.values(), *real, TRANSPOSE, *printed, *posted)


@cache
def te_texts() -> tuple[str, ...]:
    """Programs in TE with their schedules."""
    named = (getattr(te_sources, name) for name in dir(te_sources) if name.isupper())
    return tuple(text for text in named if isinstance(text, str))


@cache
def notebooks() -> tuple[str, ...]:
    """Notebook files, the smaller ones first."""
    templates = [
        f.read_text("utf-8") for f in (resources.files(static) / "templates").iterdir() if f.name.endswith(".py")
    ]
    return (MATMUL_NOTEBOOK, SYMBOLIC, *sorted(templates, key=len), *(e.text for e in EXAMPLES))


@cache
def pasted() -> tuple[str, ...]:
    """Programs with schedule code in one text, like posts."""
    return tuple(case.text for seed in SEEDS for case in seed.cases)


@cache
def machines() -> tuple[str, ...]:
    folder = resources.files(static) / "machines"
    return (PLAIN, *(f.read_text("utf-8") for f in folder.iterdir() if f.name.endswith(".toml")))


@cache
def links() -> tuple[str, ...]:
    damaged = base64.urlsafe_b64encode(b"no deflate").decode()
    return (
        *(fragment_of(text) for text in (*notebooks()[:4], "", "é" * 99)),
        f"#notebook={damaged}",
        "http://127.0.0.1:5006/#notebook=",
    )


@cache
def traces() -> tuple[str, ...]:
    return tuple(json.dumps(trace) for trace in (TRACE, *MORE_TRACES))


@cache
def carriers() -> tuple[str, ...]:
    """A program in each form in which people keep and send it."""
    twice, page = carried.TWICE, escape(carried.TWICE + carried.SCHEDULE)
    workload = json.dumps(["1", base64.b64encode(twice_module().encode()).decode()])
    lines = "".join(f"+{line}\n" for line in twice.splitlines())
    return (
        carried.notebook(carried.markdown("# Twice"), carried.code("%time\n!ls\n" + twice), indent=None),
        f"<html><body><main><p>Slow:</p><pre><code class='lang-auto'>{page}</code></pre></main></body></html>",
        f"From: a@example.org\nSubject: slow\nMIME-Version: 1.0\n\nIt is slow here:\n\n{twice}",
        f"diff --git a/k.py b/k.py\n--- /dev/null\n+++ b/k.py\n@@ -0,0 +1,{twice.count(chr(10))} @@\n{lines}",
        twice_module(),
        f"{workload}\n{json.dumps([0, [TRACE, [1e-5], {'kind': 'llvm'}, []]])}\n",
        packed({"k.py": twice.encode()}),
    )
