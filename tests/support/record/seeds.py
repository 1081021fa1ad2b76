"""docs/seeds.md: the five forum discussions through the public doors. `make seeds` writes it; a test holds it true."""

# ruff: noqa: E501

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from support.pasted.posts import (
    EARLY_MATMUL_POST,
    RELAX_LOWERED,
    RELAX_SCHEDULE_POST,
    RELAX_SCHEDULED_POST,
    SEPARATED_POST,
    SPLIT_EINSUM_POST,
)
from support.programs.te_sources import (
    BOX_BLUR,
    BOX_BLUR_SCHEDULE,
    MATMUL_VTCM,
    STAGED_COPIES,
    TRANSPOSED,
    TRANSPOSED_STORAGE,
    VTA_MATMUL,
)

import tilewright
from tilewright.app.document import Converted, Notebook, converted, evaluate, read_document
from tilewright.engine.ir import build
from tilewright.engine.lower import Allocation, allocations, with_sizes

MATMUL_SIZES = {"M": 256, "K": 512, "N": 256}
BLUR_SIZES = {"rows": 64, "cols": 64, "chans": 3}

BOTH_BUFFERED = "s[AL].double_buffer()\ns[BL].double_buffer()\n"
BANKED = """\
s[AL].transform_layout(lambda m, k: [k // 64 % 2, te.AXIS_SEPARATOR, m, k // 128, k % 64])
s[BL].transform_layout(lambda k, n: [k // 64 % 2, te.AXIS_SEPARATOR, k // 128, k % 64, n])
"""
LOCAL_MATMUL = """\
sch = tvm.tir.Schedule(mod_lowered)
sch.work_on("fused_matmul_add_relu")
sch.compute_inline("T_add")
i0, i1, k = sch.get_loops("matmul")
i1_outer, i1_inner = sch.split(i1, factors=[None, 16])
sch.reorder(i0, i1_outer, k, i1_inner)
sch.reverse_compute_at("compute", i1_outer)
sch.set_scope("matmul", 0, "local")
x_shared = sch.cache_read("matmul", 0, "shared")
w_shared = sch.cache_read("matmul", 1, "shared")
bias_local = sch.cache_read("compute", 1, "local")
result_local = sch.cache_write("compute", 0, "local")
sch.compute_at(w_shared, i1_outer)
"""
NAMED_SPLITS = (
    EARLY_MATMUL_POST.partition('"""Print')[0]
    + 's = tir.Schedule(matmul)\nZ = s.get_block("Z")\naxes, j, k = s.get_axes(Z)\n'
    + 'a, b, c, d = s.split(axes, factors=[None, 2, 4, 8], names=["a", "b", "c", "d"])\n'
)
EINSUM_SPLITS = (
    EARLY_MATMUL_POST.partition('"""Print')[0]
    + "s = tir.Schedule(matmul)\n"
    + SPLIT_EINSUM_POST.replace("i => i0,", "i0 => i0,")
)


class Case(msgspec.Struct, frozen=True):
    """A pasted text, and its label in a row of the page."""

    title: str
    text: str
    sizes: Mapping[str, int] = {}
    early: bool = False
    """The sizes are inserted when the text is read: its schedule is not legal for all."""


class Seed(msgspec.Struct, frozen=True):
    """One discussion. `calls_of` is the case whose calls are listed."""

    title: str
    asked: str
    cases: Sequence[Case]
    calls_of: int
    said: str


SEEDS = (
    Seed(
        "Compute_at vs set_scope",
        "What do `compute_at`, `set_scope` and `cache_read` do differently, and is VTA's staging by extra `te.compute` copies the same as `cache_read`?",
        (
            Case("the two lines that the post quotes", STAGED_COPIES),
            Case("the tutorial that they are of, with its schedule", VTA_MATMUL),
        ),
        1,
        "`set_scope` says in which memory a buffer lies, `compute_at` under which loop its copy runs and so how much of it is held: 16 B of A and 1 KiB of B, "
        "not all of them. The calls after a `cache_read` would be the same; TE's extra stages are copy blocks already. "
        "`tensorize` stands commented out there; the GEMM unit takes the block as it is.",
    ),
    Seed(
        "TensorIR: names for splits, strings for blocks, splits twice",
        "Why is `get_block` given a string, can `split` give names, and must splits be repeated for `compute_at`?",
        (
            Case("the program of 2021 and its sketch of a schedule", EARLY_MATMUL_POST),
            Case("solution 1: names=[…]", NAMED_SPLITS),
            Case("solution 2: the einsum form", EINSUM_SPLITS),
        ),
        1,
        "`split(…)` with three dots is a sketch: the program opens, the line is named and stays as a comment. Both proposals for names are calls here, names are "
        "kept to the export, and `get_loop(name)` finds a loop again. Splits need not be repeated: `compute_at(block, loop, keep_tiling=True)` keeps those of the moved block.",
    ),
    Seed(
        "TIR - Non contiguous memory",
        "VTCM has two physical blocks. How is a tile allocated as `[2][4096]`, and double buffered, when TVM's pass wants flat buffers?",
        (
            Case("the TE matmul with its schedule", MATMUL_VTCM, MATMUL_SIZES),
            Case("… and `s[AL].double_buffer()`, B's too", MATMUL_VTCM + BOTH_BUFFERED, MATMUL_SIZES),
            Case("… and AXIS_SEPARATOR in a layout of both", MATMUL_VTCM + BANKED, MATMUL_SIZES, early=True),
            Case(
                "… and both: `tile_k = 64`, the layout, `double_buffer`",
                MATMUL_VTCM.replace("tile_k = 128", "tile_k = 64") + BANKED + BOTH_BUFFERED,
                MATMUL_SIZES,
                early=True,
            ),
            Case("the answer's `before_vectorize`", SEPARATED_POST),
        ),
        0,
        "The scopes of the post are those of `dual-bank-npu`: `local.vtcm` is the whole memory, `local.vtcm_Block_2` its second block. M, K and N stay symbolic in the "
        "program and get numbers when it is simulated (`--size M=256,K=512,N=256`); only a layout that divides K "
        "needs them when it is read. In the fourth row each buffer is `[2][4096]`, a slot in each block: the next tiles are loaded while these are computed with.",
    ),
    Seed(
        "Matrix and vector unit with a shared local buffer",
        "The intermediate of a fused matmul goes local → global → local, though both units share one buffer. How is it kept there?",
        (
            Case("the lowered module with the post's schedule", RELAX_LOWERED + "\n" + RELAX_SCHEDULE_POST),
            Case("the scheduled module as printed, its indentation lost", RELAX_SCHEDULED_POST),
            Case("without `cache_write`: `set_scope` on the matmul itself", RELAX_LOWERED + "\n" + LOCAL_MATMUL),
        ),
        2,
        "256 bytes of `matmul_intermediate` go out and are read back by the scalar unit, because `cache_write` keeps the buffer in global memory and adds a copy to it. "
        '`set_scope(matmul, 0, "local")` moves the buffer itself; the vector unit then reads the tile where the matrix unit left it.',
    ),
    Seed(
        "How to control data layout of intermediate values",
        "A box blur computed in the order [y, x, c], whose intermediate `x_blur` is to be stored as [x, c, y], without changing the algorithm.",
        (
            Case("as posted, up to the build that TVM refused", BOX_BLUR_SCHEDULE, BLUR_SIZES),
            Case("with that build: strides for `x_blur`, `chans = 3`", BOX_BLUR, BLUR_SIZES, early=True),
            Case("the first answer: computed and stored in the other order", TRANSPOSED),
            Case("the second answer: only stored in it", TRANSPOSED_STORAGE),
        ),
        1,
        "`x_blur` shrinks to the three rows that a pixel needs. The strides of the post are `(rows + 2) * 3` where `chans` would be `3`, so they name an order of axes "
        "only for three channels: without that size the line is refused, with it they become `set_layout`. The answers of the post give the layout through a cache.",
    ),
)


def seeds_page() -> str:
    """The whole page."""
    head = (
        "# The five discussions\n\n"
        "Code of five discussions of TVM's forum, pasted as it was posted, with only the prose taken off. This page is written by `make seeds` and held true by a test.\n"
        "Each text opens in the app (*Open*, or pasted into a workload cell) and runs as `tilewright run FILE`; cycles, peaks and bytes are those it prints.\n"
    )
    return "\n".join([head, *map(_section, SEEDS)])


def _section(seed: Seed) -> str:
    rows = [_row(case) for case in seed.cases]
    table = "| text | read as TVMScript | machine | cycles | most on chip | copied | verdict | allocated when lowered |\n|---|---|---|---:|---|---|---|---|\n"
    calls = "\n".join(_calls(seed.cases[seed.calls_of]))
    title = seed.cases[seed.calls_of].title
    return f"## {seed.title}\n\n{seed.asked}\n\n{table}{''.join(rows)}\n{seed.said}\n\nThe calls of *{title}*:\n\n```python\n{calls}\n```\n"


def made(case: Case) -> tuple[Converted, Notebook]:
    """The case's notebook. Raises the error of its text."""
    text = (
        converted(read_document(case.text), "dual-bank-npu", case.sizes)
        if case.early
        else converted(read_document(case.text), "dual-bank-npu")
    )
    return text, evaluate(text.document)


def _row(case: Case) -> str:
    try:
        document, notebook = made(case)
    except tilewright.TilewrightError as error:
        return f"| {case.title} | {_refused(error)} | – | – | – | – | – | – |\n"
    assert notebook.schedule is not None and notebook.machine is not None and notebook.error is None, notebook.error
    sizes = {} if document.sizes_used else case.sizes
    changes = sum(step.changes for step in notebook.schedule.trace.steps)
    reads = f"{len(tilewright.to_script(notebook.program).splitlines())} lines, {changes} change" + "s" * (changes != 1)
    if document.notes:
        reads += f"; {len(document.notes)} note" + "s" * (len(document.notes) > 1)
    if document.stopped is not None:
        reads += f"; stops: {_refused(document.stopped)}"
    report = tilewright.simulate(notebook, sizes=sizes)
    verdict = notebook.schedule.check(sizes)
    cells = (case.title, reads, f"`{notebook.machine.name}`", f"{report.cycles:,}, overlap {report.overlap:.0%}", _peaks(report), _traffic(report),
             f"{verdict.status}: {verdict.detail}", _lowered(notebook, sizes))  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def _refused(error: tilewright.TilewrightError) -> str:
    place = error.refusal.place
    return f"line {place.line}: {error.refusal.message}" if place else error.refusal.message


def _peaks(report: tilewright.Report) -> str:
    found = [
        f"{name} {memory.peak_bytes:,} B"
        for name, memory in report.memory.items()
        if memory.scope != "global" and memory.peak_bytes
    ]
    return ", ".join(found) or "nothing"


def _traffic(report: tilewright.Report) -> str:
    found = [f"{row.buffer} {'→' if row.source == 'global' else '←'} {row.bytes:,} B" for row in report.traffic]
    return ", ".join(found) or "nothing"


def _lowered(notebook: Notebook, sizes: Mapping[str, int]) -> str:
    assert notebook.schedule is not None
    func = with_sizes(notebook.schedule.described, sizes).func
    found = [
        f"{a.buffer.name} {_tile(a)} as " + "".join(f"[{build.int_value(e)}]" for e in a.lowered.shape)
        for a in allocations(func)
    ]
    return ", ".join(found) or "nothing"


def _tile(allocation: Allocation) -> str:
    return " × ".join(map(str, allocation.tile)) or "1"


def _calls(case: Case) -> list[str]:
    _, notebook = made(case)
    assert notebook.schedule is not None
    steps = notebook.schedule.trace.steps
    return [
        step.text
        for step in notebook.steps
        if step.first_trace_step is not None and steps[step.first_trace_step].changes
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(seeds_page(), encoding="utf-8")
