"""Lints of flags, barriers and waits: each finds its problem, says nothing of right kernels, and its fix holds."""

from __future__ import annotations

from support.tile_kernels import KERNELS

from tilewright.engine.adopt import kernel_text, read_statements
from tilewright.engine.hwsim import Machine, load_machine
from tilewright.engine.lint import Fix, LintFinding, lint
from tilewright.engine.schedule import Schedule

CORE = load_machine("ascend-910b")
CODES = ("missing-wait", "unmatched-flag", "needless-flag", "serial-barrier")
FLAGS = (KERNELS / "ascend_copies.py").read_text().rpartition("\n@tilelang.jit")[2]
FLAGS = f"import tilelang\nimport tilelang.language as T\n\n@tilelang.jit{FLAGS}\n\nmain = scaled(512, 256)\n"
BARRIERS = """import tilelang.language as T


def scaled(M, N, rows=16):
    @T.prim_func
    def main(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((2, rows, N), "float32")
            y = T.alloc_ub((2, rows, N), "float32")
            with T.Scope("V"):
                for k in T.serial(M // 2 // rows):
                    T.copy(X[vid * (M // 2) + k * rows, 0], x[k % 2, :, :])
                    T.barrier_all()
                    T.tile.mul(y[k % 2, :, :], x[k % 2, :, :], 2.0)
                    T.barrier_all()  # before the copy
                    T.copy(y[k % 2, :, :], Y[vid * (M // 2) + k * rows, 0])
                    T.barrier_all()

    return main


main = scaled(512, 256)
"""
WAIT = '                        T.wait_flag("v", "mte2", k % 2)\n'


def found(text: str, machine: Machine = CORE) -> dict[str, LintFinding]:
    findings = lint(Schedule(read_statements(text).func), machine, kernel=kernel_text(text))
    return {f.code: f for f in findings if f.code in CODES}


def groups_of_warps(call: str) -> dict[str, LintFinding]:
    """Return the findings about a kernel of two or three groups of warps."""
    head, *kernels = (KERNELS / "threads.py").read_text().split("@tilelang.jit")
    own = next(text for text in kernels if f"def {call.partition('.')[0]}(" in text)
    return found(f"{head}@tilelang.jit{own}\n\nmain = {call}\n", load_machine("sm90"))


def lines(fix: Fix) -> tuple[str, ...]:
    return tuple(line.strip() for line in fix.calls)


def test_flags_that_order_what_is_needed_are_right() -> None:
    assert found(FLAGS) == {}


def test_a_tile_that_is_overwritten_before_its_wait() -> None:
    text = FLAGS.replace(WAIT, "                        pass\n", 1)
    problems = found(text)
    assert {*problems} == {"missing-wait", "unmatched-flag"}
    missing = problems["missing-wait"]
    assert missing.severity == "error" and missing.buffers == ("x",)
    assert "x_copy (line 20) overwrites x before y_mul (line 27) is done with it" in missing.message
    fix = missing.fixes[0]
    assert fix.replaces == "" and lines(fix) == ('T.set_flag("v", "mte2", 2)', 'T.wait_flag("v", "mte2", 2)')
    assert "missing-wait" not in found(fix.text)


def test_a_read_before_its_wait() -> None:
    text = BARRIERS.replace(
        "                    T.barrier_all()\n                    T.tile", "                    T.tile", 1
    )
    problem = found(text)["missing-wait"]
    assert "y_mul" in problem.message and "reads x before x_copy" in problem.message
    assert lines(problem.fixes[0]) == ('T.set_flag("mte2", "v", 0)', 'T.wait_flag("mte2", "v", 0)')


def test_an_option_by_which_the_compiler_adds_flags() -> None:
    text = "import tilelang\npass_configs = {tilelang.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}\n" + FLAGS.replace(
        WAIT, WAIT.replace(WAIT.strip(), "pass"), 1
    )
    assert found(text) == {}


def test_a_flag_that_nothing_sets() -> None:
    text = FLAGS.replace('                    T.set_flag("v", "mte2", 1)\n', "", 1)
    assert "is waited for" not in found(text)["unmatched-flag"].message
    assert "for a flag that nothing has set" in found(text)["unmatched-flag"].message


def test_barriers_become_flags_or_go() -> None:
    problems = found(BARRIERS)
    assert {*problems} == {"needless-flag", "serial-barrier"}
    needless, serial = problems["needless-flag"].fixes[0], problems["serial-barrier"].fixes[0]
    assert needless.calls == () and needless.replaces.strip() == "T.barrier_all()"
    assert (needless.cycles_before, needless.cycles) == (31_504, 19_474)
    assert BARRIERS.count("\n") == needless.text.count("\n") + 1
    assert "T.barrier_all()  # before the copy" in needless.text
    assert serial.cycles == 19_474 and 'T.wait_flag("mte2", "v", 0)' in lines(serial)
    assert found(serial.text) == {}


def test_paths_that_do_not_run_for_these_sizes_are_not_judged() -> None:
    assert found(BARRIERS.replace("scaled(512, 256)", "scaled(16, 256)")) == {}


def test_barriers_that_order_what_is_needed_are_right() -> None:
    assert groups_of_warps("gemm.compile(M=128, N=64, K=256, stages=3)") == {}
    assert groups_of_warps("branches.compile(M=96, N=32)") == {}


def test_a_product_that_does_not_wait_for_its_copies() -> None:
    problem = groups_of_warps("gemm.compile(M=128, N=64, K=256, waits=False)")["missing-wait"]
    assert problem.message == (
        "gemm (line 29) reads B_shared before B_shared_copy (line 24) has filled it: "
        "nothing orders copies of threads 128 to 255 and threads 0 to 127"
    )


def test_a_copy_into_a_slot_that_is_still_read() -> None:
    problem = groups_of_warps("gemm.compile(M=128, N=64, K=256, frees=False)")["missing-wait"]
    assert problem.message.startswith(
        "B_shared_copy (line 24) overwrites B_shared before gemm (line 29) is done with it"
    )


def test_a_wait_for_the_wrong_phase() -> None:
    assert (
        "reads high before high_copy"
        in groups_of_warps("branches.compile(M=96, N=32, later=1)")["missing-wait"].message
    )


SCALARS = """import tilelang.language as T


def first(N):
    @T.prim_func
    def main(A: T.Tensor((N,), "int32"), B: T.Tensor((2,), "int32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((N,), "int32")
            b = T.alloc_ub((1,), "int32")
            with T.Scope("V"):
                T.copy(A[0], a)
                T.barrier_all()
                value = a[0]
                T.barrier_all()
                b[0] = value
                T.copy(b, B[vid])

    return main


main = first(64)
"""


def test_an_element_is_read_where_it_gets_its_name() -> None:
    """The first barrier stands before the read of the element, the second one between statements of the scalar unit."""
    assert "in line 14 order" in found(SCALARS)["needless-flag"].message


def test_barriers_between_buffers_that_share_memory_are_not_blamed() -> None:
    address = "            T.annotate_address({x: 0, y: 65536})\n            with T.Scope"
    assert found(BARRIERS) and found(BARRIERS.replace("            with T.Scope", address)) == {}
