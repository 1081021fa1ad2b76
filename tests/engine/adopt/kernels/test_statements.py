"""Edits of the statements of a TileLang kernel in its own text."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.engine.adopt import KernelError, KernelStatements
from tilewright.engine.execute import verify
from tilewright.engine.ir import BlockRealize, TilewrightError, walk

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"


def workload(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text().split("# %% workload\n")[1].split("# %% schedule")[0]


GEMM = workload("tilelang_gemm").replace("M=512, N=512, K=1024", "M=128, N=128, K=64")
ATTENTION = workload("tilelang_attention").replace("heads=4, seq=512, dim=64", "heads=1, seq=64, dim=32, block_N=32")
CORES = (
    workload("ascend_gemm_cores")
    .replace("M=2048, N=2048, K=1024", "M=256, N=256, K=512")
    .replace("T.Pipelined(K // K_L1, num_stages=2)", "T.serial(K // K_L1)")
)
SUMS = """import tilelang.language as T


def total(n=4):
    @T.prim_func
    def main(A: T.Tensor((n, 16, 16), "float32"), B: T.Tensor((16, 16), "float32"), D: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=128) as bx:
            part = T.alloc_shared((16, 16), "float32")
            twice = T.alloc_fragment((16, 16), "float32")
            own = T.alloc_fragment((16, 16), "float32")
            T.clear(own)
            for k in T.serial(n):
                T.copy(A[k, 0, 0], part)
                for i, j in T.Parallel(16, 16):
                    twice[i, j] = part[i, j] * 2.0
                T.copy(twice, B)
                for i, j in T.Parallel(16, 16):
                    own[i, j] = own[i, j] + part[i, j]
            T.copy(own, D)

    return main


main = total()
"""
STOPPED = """import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def gemm(M, N, K, block=64):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(M // block, threads=2, is_npu=True) as (bx):
            A_ub = T.alloc_ub((block, block), "float16")  # rows
            A_L1 = T.alloc_L1((block, block), "float16")
            B_L1 = T.alloc_L1((block, N), "float16")
            C_L0 = T.alloc_L0C((block, N), "float")
            for k in T.serial(K // block):
                T.copy(A[bx * block, k * block], A_ub)
                T.copy(B[k * block, 0], B_L1)
                T.copy(A_ub, A_L1)
                T.gemm_v0(A_L1, B_L1, C_L0, init=(k == 0))
            T.copy(C_L0, C[bx * block, 0])

    return main


main = gemm(M=128, N=64, K=128)
"""
NOTED = GEMM.replace("                T.copy(B[", "                # the columns\n                T.copy(  B[")


def loop_of(statements: KernelStatements, name: str) -> int:
    return next(n for n, loop in enumerate(statements.loops) if loop.loop_var.name == name)


def changed(old: str, new: str) -> list[str]:
    lines = difflib.unified_diff(old.split("\n"), new.split("\n"), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def test_stages_are_the_literal_that_feeds_them() -> None:
    statements = KernelStatements(GEMM)
    assert changed(GEMM, statements.with_stages(loop_of(statements, "k"), 2)) == [
        "-main = gemm(M=128, N=128, K=64, num_stages=3)",
        "+main = gemm(M=128, N=128, K=64, num_stages=2)",
    ]
    direct = GEMM.replace("num_stages=num_stages", "num_stages=3")
    made = KernelStatements(direct).with_stages(loop_of(statements, "k"), 1)
    assert made == direct.replace("K, block_K), num_stages=3", "K, block_K), num_stages=1")


def test_a_statement_moves_with_its_comment_and_its_spacing() -> None:
    made = KernelStatements(NOTED).moved("B_shared_copy", "earlier")
    lines = made.split("\n")
    at = lines.index("                # the columns")
    assert lines[at + 1].startswith("                T.copy(  B[") and lines[at + 2].startswith(
        "                T.copy(A["
    )
    assert sorted(lines) == sorted(NOTED.split("\n"))
    assert KernelStatements(made).moved("B_shared_copy", "later") == NOTED


def test_a_copy_moves_into_a_loop_and_out_of_it() -> None:
    statements = KernelStatements(ATTENTION)
    inside = statements.moved_to("Q_shared_copy", loop_of(statements, "k"))
    assert changed(ATTENTION, inside) == [
        "-            T.copy(Q[by, bx * block_M, 0], Q_shared)",
        "+                T.copy(Q[by, bx * block_M, 0], Q_shared)",
    ]
    again = KernelStatements(inside)
    assert verify(again.func, statements.func).status == "tested"
    outside = again.moved_to("Q_shared_copy", loop_of(again, "by"))
    assert changed(inside, outside)[0].startswith("+            T.copy(Q[")
    assert verify(KernelStatements(outside).func, statements.func).status == "tested"


def test_a_statement_whose_last_run_counts_moves_behind_its_loop_and_back() -> None:
    statements = KernelStatements(SUMS)
    behind = KernelStatements(statements.moved_to("B_copy", loop_of(statements, "bx")))
    lines = behind.text.split("\n")
    assert lines.index("            T.copy(twice, B)") + 1 == lines.index("            T.copy(own, D)")
    assert verify(behind.func, statements.func).status == "tested"
    inside = KernelStatements(behind.moved_to("B_copy", loop_of(behind, "k")))
    assert "                T.copy(twice, B)\n            T.copy(own, D)" in inside.text
    assert verify(inside.func, statements.func).status == "tested"


def test_a_layout_is_an_entry_of_the_text() -> None:
    text = GEMM
    place = "            T.clear(C_local)"
    for buffer, layout, entries in (
        ("A_shared", "linear", "A_shared: tilelang.layout.make_linear_layout(A_shared)"),
        ("B_shared", "padded 136", "A_shared: tilelang.layout.make_linear_layout(A_shared), B_shared: lambda i, j: i * 136 + j"),
        ("A_shared", "padded 40", "A_shared: lambda i, j: i * 40 + j, B_shared: lambda i, j: i * 136 + j"),
        ("B_shared", "", "A_shared: lambda i, j: i * 40 + j"),
    ):  # fmt: skip
        text = KernelStatements(text).with_layout(buffer, layout)
        assert text == GEMM.replace(place, f"            T.annotate_layout({{{entries}}})\n{place}", 1)
    assert KernelStatements(text).with_layout("A_shared", "") == GEMM
    alone = GEMM.replace("import tilelang\n", "").replace("@tilelang.jit(out_idx=[-1])\n", "")
    made = KernelStatements(alone).with_layout("A_shared", "swizzled")
    assert changed(alone, made) == [
        "+import tilelang",
        "+            T.annotate_layout({A_shared: tilelang.layout.make_swizzled_layout(A_shared)})",
    ]


def test_a_copy_takes_what_another_one_fetched_for_it() -> None:
    made = KernelStatements(STOPPED).without_stop("A_L1_copy")
    assert changed(STOPPED, made) == [
        '-            A_ub = T.alloc_ub((block, block), "float16")  # rows',
        "-                T.copy(A[bx * block, k * block], A_ub)",
        "-                T.copy(A_ub, A_L1)",
        "+                T.copy(A[bx * block, k * block], A_L1)",
    ]
    assert verify(KernelStatements(made).func, KernelStatements(STOPPED).func).status == "tested"


def test_the_compiler_sets_the_waits_of_a_copy_that_runs_ahead() -> None:
    """The barriers between the pipes of a core go, and the options of the text stay."""
    options = "options = {tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}\n\n\n@tilelang.jit(out_idx=[-1], pass_configs=options)"
    text = CORES.replace("\n@tilelang.jit(out_idx=[-1])", options)
    first, last = "                    T.copy(A[", "                T.copy(C_L0, C["
    text = text.replace(first, f"                    T.barrier_all()\n{first}").replace(
        last, f"                    T.barrier_all()\n{last}"
    )
    assert changed(text, KernelStatements(text).with_slots("A_L1_copy", 2)) == [
        "-options = {tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}",
        "+options = {tilelang.PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True, tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}",
        "-                for k in T.serial(K // K_L1):",
        "-                    T.barrier_all()",
        "+                for k in T.Pipelined(K // K_L1, num_stages=2):",
        "-                    T.barrier_all()",
    ]


def test_slots_are_the_stages_of_the_loop_around_the_copy() -> None:
    made = KernelStatements(CORES).with_slots("A_L1_copy", 2)
    assert changed(CORES, made) == [
        "-@tilelang.jit(out_idx=[-1])",
        "+@tilelang.jit(out_idx=[-1], pass_configs={tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})",
        "-                for k in T.serial(K // K_L1):",
        "+                for k in T.Pipelined(K // K_L1, num_stages=2):",
    ]
    assert KernelStatements(made).with_slots("A_L1_copy", 3) == made.replace("num_stages=2", "num_stages=3")
    assert KernelStatements(GEMM).with_slots("B_shared_copy", 2) == GEMM.replace("num_stages=3)", "num_stages=2)")


@pytest.mark.parametrize(
    ("text", "edit", "code"),
    [
        (ATTENTION, lambda s: s.moved_to("K_shared_copy", loop_of(s, "by")), "depends-on-loop"),
        (ATTENTION, lambda s: s.moved_to("out_fill", loop_of(s, "k")), "dependence"),
        (ATTENTION, lambda s: s.moved_to("O_copy", loop_of(s, "k")), "dependence"),
        (ATTENTION, lambda s: s.moved_to("total", loop_of(s, "by")), "not-repeatable"),
        (ATTENTION, lambda s: s.moved("largest_max", "earlier"), "dependence"),
        (GEMM, lambda s: s.moved("A_shared_copy", "earlier"), "no-neighbour"),
        (GEMM, lambda s: s.moved_to("A_shared_copy", 6), "no-statement"),
        (GEMM, lambda s: s.with_scope("B_shared_copy", "local.fragment"), "bad-operand"),
        (GEMM, lambda s: s.with_scope("C_copy", "shared.dyn"), "no-scope"),
        (GEMM, lambda s: s.with_stages(0, 2), "no-stages"),
        (GEMM, lambda s: s.with_policy("A_shared_copy", "FullRow"), "no-policy"),
        (GEMM, lambda s: s.with_value("tile", "2"), "no-such-parameter"),
        (ATTENTION, lambda s: s.with_value("block_N", "128"), "other-results"),
        (GEMM, lambda s: s.moved("none", "later"), "no-statement"),
        (GEMM, lambda s: s.with_layout("C", "linear"), "no-layout"),
        (GEMM, lambda s: s.with_slots("C_copy", 2), "no-stages"),
        (SUMS, lambda s: s.moved_to("own", loop_of(s, "bx")), "not-repeatable"),
        (SUMS, lambda s: s.moved_to("twice", loop_of(s, "bx")), "dependence"),
        (CORES, lambda s: s.with_slots("A_L0_copy", 2), "no-slots"),
        (STOPPED, lambda s: s.without_stop("C_copy"), "other-use"),
        (STOPPED, lambda s: s.without_stop("B_L1_copy"), "no-copy"),
        (STOPPED.replace("T.copy(B[", "T.barrier_all()\n                T.copy(B["),
         lambda s: s.without_stop("A_L1_copy"), "passes-barrier"),
        (STOPPED.replace("block], A_ub)", "block], A_ub[0:block, :])"), lambda s: s.without_stop("A_L1_copy"), "other-use"),
        (CORES.replace("                    T.copy(A[", "                    T.wait_cross_flag(1)\n                    T.copy(A["),
         lambda s: s.with_slots("A_L1_copy", 2), "passes-barrier"),
    ],
)  # fmt: skip
def test_what_an_edit_may_not_do_is_refused(text: str, edit: Callable[[KernelStatements], str], code: str) -> None:
    with pytest.raises(KernelError) as caught:
        edit(KernelStatements(text))
    assert caught.value.code == code


def test_small_edits_change_one_place() -> None:
    statements = KernelStatements(GEMM)
    assert changed(GEMM, statements.with_panel(8)) == ["+            T.use_swizzle(8)"]
    assert KernelStatements(statements.with_panel(8)).with_panel(4) == statements.with_panel(4)
    assert changed(GEMM, statements.with_scope("A_shared_copy", "local.fragment"))[1].endswith(
        "A_shared = T.alloc_fragment((block_M, block_K), dtype)"
    )
    policy = statements.with_policy("gemm", "FullRow")
    assert changed(GEMM, policy)[1].endswith("T.gemm(A_shared, B_shared, C_local, policy=T.GemmWarpPolicy.FullRow)")
    assert KernelStatements(policy).with_policy("gemm", "Square").count("policy=") == 1
    assert changed(GEMM, statements.with_value("threads", "256"))[1].endswith("threads=256) as (bx, by):")


EDITS = st.tuples(
    st.sampled_from(
        ["stages", "earlier", "later", "into", "scope", "panel", "policy", "threads", "block_N", "slots", "layout"]
    ),
    st.integers(0, 99),
    st.integers(0, 4),
)


def edited(statements: KernelStatements, kind: str, row: int, value: int) -> str:
    names = [n.block.name for n in walk(statements.func.body) if isinstance(n, BlockRealize)]
    block, loop = names[row % len(names)], row % len(statements.loops)
    match kind:
        case "stages":
            return statements.with_stages(loop, value)
        case "earlier" | "later":
            return statements.moved(block, kind)
        case "into":
            return statements.moved_to(block, (row + 7 * value) % len(statements.loops))
        case "scope":
            return statements.with_scope(block, ("local.fragment", "shared.dyn")[value % 2])
        case "panel":
            return statements.with_panel(value + 1)
        case "slots":
            return statements.with_slots(block, value + 1)
        case "layout":
            buffer = ("A_shared", "B_shared", "part", "Q_shared", "V_shared")[row % 5]
            return statements.with_layout(
                buffer, ("linear", "swizzled", "padded 136", "half_bank_swizzled", "")[value % 5]
            )
        case "policy":
            return statements.with_policy(block, ("Square", "FullRow", "FullCol")[value % 3])
        case name:
            return statements.with_value(name, str(32 << value % 3))


@settings(deadline=None, max_examples=12)
@given(st.sampled_from([GEMM, ATTENTION, NOTED, SUMS]), st.lists(EDITS, min_size=4, max_size=12))
def test_any_sequence_of_accepted_edits_keeps_the_results_and_the_other_text(
    text: str, edits: list[tuple[str, int, int]]
) -> None:
    first = KernelStatements(text)
    statements = first
    for kind, row, value in edits:
        try:
            made = edited(statements, kind, row, value)
        except TilewrightError:
            continue
        lines = changed(statements.text, made)
        assert len(lines) <= 8, lines
        if kind in ("earlier", "later", "into"):
            assert sorted(line.strip() for line in made.split("\n")) == sorted(
                line.strip() for line in statements.text.split("\n")
            )
        statements = KernelStatements(made)
    verdict = verify(statements.func, first.func)
    assert verdict.status == "tested", verdict.detail
