"""A program that needs values asks for all of them at once, with examples with which it opens."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tilewright.engine.adopt import MissingValuesError, programs_in, read_nested_program

HEAD = "import tilelang\nimport tilelang.language as T\n\n"
BODY = """
    @T.prim_func
    def main(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
            for i in T.Parallel(64):
                Y[bx * 64 + i] = {value}
"""


def opens(text: str) -> Mapping[str, str]:
    """Return the examples of the one form of a text, and require that the program opens with them."""
    (program,) = programs_in(text).programs
    with pytest.raises(MissingValuesError) as asked:
        read_nested_program(program, "", {})
    examples = {need.name: need.example for need in asked.value.needs}
    read_nested_program(program, "", {name: int(v) if v.isdigit() else v for name, v in examples.items()})
    return examples


def made(parameters: str, before: str = "", value: str = "X[bx * 64 + i]") -> str:
    return f"{HEAD}def make({parameters}):\n{before}{BODY.format(value=value)}\n    return main\n"


def test_a_type_in_an_or_is_a_type() -> None:
    text = made("N, dtype, out=None", "    out = out or dtype\n")
    assert opens(text) == {"N": "128", "dtype": "float16"}


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        ("not flag", "0"),
        ("flag and dtype", "128"),
        ('flag == "mean"', "mean"),
        ('flag in ("sum", "max")', "sum"),
    ],
)
def test_conditions_around_the_program_give_examples(test: str, wanted: str) -> None:
    """Another name for a parameter counts as the parameter."""
    before = f"    flag, other = FLAG, 3\n    if not ({test}):\n        return None\n    if {test}:\n"
    inside = "\n".join(f"    {line}" for line in BODY.format(value="X[bx * 64 + i]").split("\n"))
    assert opens(f"{HEAD}def make(N, dtype, FLAG):\n{before}{inside}\n    return main\n")["FLAG"] == wanted


def test_further_values_join_the_first_form() -> None:
    text = HEAD + "from settings import LIMIT\n\n" + made("N, dtype", value="X[bx * 64 + i] * LIMIT")[len(HEAD) :]
    assert opens(text) == {"N": "128", "dtype": "float16", "LIMIT": "128"}


def test_sizes_that_are_too_large_together_become_smaller() -> None:
    text = made("A, B, C, E, F, dtype", "    N = A * B * C * E * F\n", "T.if_then_else(bx * 64 + i < N, X[0], 1)")
    assert {name: value for name, value in opens(text).items() if name in "ABCEF"} == dict.fromkeys("ABCEF", "32")


def test_a_type_that_the_operations_need() -> None:
    assert opens(made("N, dtype", value="X[bx * 64 + i] >> 1"))["dtype"] == "int32"


def test_a_function_is_given_by_its_name() -> None:
    text = made("N, dtype, op", value="op(X[bx * 64 + i], X[0])")
    assert opens(text)["op"] == "T.max"
    (program,) = programs_in(text).programs
    found, used = read_nested_program(program, "", {"N": 64, "dtype": "int32", "op": "T.min"})
    assert "T.min(" in str(found.program)
    assert used == {"N", "dtype", "op"}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("assert count == 3", "3"),
        ("assert 0 < count and count <= 64", "64"),
        ("if count != 96: raise ValueError(count)", "96"),
        ("assert count % 32 == 0", "128"),
    ],
)
def test_assertions_on_a_number_hold(line: str, wanted: str) -> None:
    assert opens(made("N, dtype, count", f"    {line}\n", "X[bx * 64 + i] * count"))["count"] == wanted


def test_threads_are_as_many_as_the_groups_in_the_code() -> None:
    groups = """
            tx = T.get_thread_binding()
            if tx < 128:
                Y[tx] = X[tx]
            elif tx >= 128 and tx < 256:
                Y[tx] = X[tx]
            else:
                Y[tx] = X[tx]"""
    text = made("N, dtype, threads=128").replace("threads=64", "threads=threads")
    text = text.replace(
        "            for i in T.Parallel(64):\n                Y[bx * 64 + i] = X[bx * 64 + i]", groups[1:]
    )
    assert opens(text)["threads"] == "384"
