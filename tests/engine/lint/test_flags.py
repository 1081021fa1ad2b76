"""Lints of the flags and barriers of kernels for AI cores: each finds its problem, says nothing of right kernels, and its fix holds."""

from __future__ import annotations

from support.tile_kernels import KERNELS

from tilewright.engine.adopt import kernel_text, read_statements
from tilewright.engine.hwsim import load_machine
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


def found(text: str) -> dict[str, LintFinding]:
    findings = lint(Schedule(read_statements(text).func), CORE, kernel=kernel_text(text))
    return {f.code: f for f in findings if f.code in CODES}


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
