"""The tour for TileLang: a GEMM, its stages on the timeline, another number of stages, a swizzle and its bank conflicts, the text."""

from __future__ import annotations

from .....engine.hwsim.tile_layouts import layouts_given
from .....engine.ir import For, IntImm, PrimFunc, walk
from ...labels.numbers import grouped
from .step import TIMELINE, Change, Step, TourPlan, row_of

PROSE = """\
# %% [markdown]
# # TileLang tour: stages and swizzles of a GEMM
#
# The kernel below is read as it is, and never run. What you change on the page is an edit of its text; undo takes it back.

"""
STAGES = "num_stages"


def _stages(func: PrimFunc) -> int:
    notes = [dict(loop.annotations).get(STAGES) for loop in walk(func.body) if isinstance(loop, For)]
    return next((note.value for note in notes if isinstance(note, IntImm)), 0)


def _has_one_stage(func: PrimFunc) -> bool:
    return _stages(func) == 1


def _has_other_stages(func: PrimFunc) -> str:
    found = _stages(func)
    return "" if found in (1, 3) else f"The loop has {found} stages now, and the task asks for 1."


def _is_linear(func: PrimFunc) -> bool:
    return layouts_given(func).get("A_shared") == "linear"


def _cycles(change: Change) -> str:
    return "" if change.cost is None else f"The kernel takes {grouped(change.cost.cycles)} cycles now. "


def _result_stages(change: Change) -> str:
    return (
        "The last line of the workload says `num_stages=1`; nothing else changed. `A_shared` and `B_shared` have one slot each, so a "
        "copy waits until the product before it has read its tile, and the tensor cores idle meanwhile. "
        f"{_cycles(change)}Undo (Ctrl+Z) takes it back."
    )


def _result_linear(change: Change) -> str:
    return (
        "The text has a new line, `T.annotate_layout({A_shared: …})`. `ldmatrix` reads eight rows at once, and in row-major order several "
        "of them lie in the same banks; the swizzle, which the compiler chooses by itself, has no conflicts. "
        f"{_cycles(change)}Undo (Ctrl+Z) takes it back."
    )


STEPS = (
    Step(
        "A GEMM in tiles",
        "Each line of the kernel is a row: a block of threads copies a tile of `A` and one of `B` to shared memory, and multiplies them. "
        "`k` is the loop of `T.Pipelined`. Its badges are the stages and the order that TileLang's compiler plans for its statements.",
        (row_of("k"),),
    ),
    Step(
        "Stages on the timeline",
        "Each engine has a row. With three stages the copies of later iterations run while the tensor cores use the present tiles; the "
        "memories show three slots of each tile.",
        (TIMELINE,),
        task="Point at a bar, or focus the timeline with Tab.",
        notice="timeline",
    ),
    Step(
        "Another number of stages",
        "How much does the pipeline hide? The value `num_stages` stands in the last line of the text.",
        (row_of("k"),),
        task="Open the menu of `k` (⋮), choose Stages…, and enter 1.",
        keys="With the keyboard: press 1 in the menu of `k`.",
        test=_has_one_stage,
        hint=_has_other_stages,
        result=_result_stages,
        edit=("kernel_stages", "k", {"stages": 1}),
    ),
    Step(
        "Swizzles and bank conflicts",
        "How a tile is stored decides how many of its rows one bank has. The layouts of a buffer are compared in the inspector, each with "
        "its bank conflicts and the cycles of the whole kernel.",
        (row_of("A_shared_copy"),),
        task="Click `A_shared` in the row of `A_shared_copy`, then the card `linear`.",
        test=_is_linear,
        result=_result_linear,
        edit=("kernel_layout", "A_shared_copy", {"buffer": "A_shared", "layout": "linear"}),
    ),
    Step(
        "Take the text",
        "Export gives the kernel's own text with your edits, comments and spacing kept, or the tile IR that TileLang prints. The pane "
        "Next has values that make this kernel faster, Explore searches all of them.",
        ('#area-headline [aria-label="Export"]', "#area-headline .figures"),
    ),
)  # fmt: skip

TILES = TourPlan("tile_tour", "tilelang_gemm", PROSE, STEPS)

__all__ = ["TILES"]
