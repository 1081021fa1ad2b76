"""Values of a function's parameters from the calls in a text."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import MissingValuesError, programs_in, read_nested_program

FACTORY = """\
import argparse
import math
import torch
import tilelang
import tilelang.language as T


def copy(M, N, block, dtype="float16", scale=None):
    @T.prim_func
    def main(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block)) as bx:
            shared = T.alloc_shared((block, N), dtype)
            T.copy(A[bx * block, 0], shared)
            T.copy(shared, B[bx * block, 0])
    return main


"""


def needs(text: str, number: int = 0) -> dict[str, str]:
    nested = programs_in(text, "kernel.py").programs[number].nested
    assert nested is not None
    return {need.name: need.value for need in nested.needs}


@pytest.mark.parametrize(
    ("calling", "expected"),
    [
        ("copy(1024, 256, 64, T.bfloat16)", {"M": "1024", "N": "256", "block": "64", "dtype": "'bfloat16'"}),
        ("M, N = 512, 64\nblock = N // 2\ncopy(M, N, block=block)", {"M": "512", "N": "64", "block": "32"}),
        ("def run(M=128, N=64):\n    block = min(M, 32)\n    copy(M, N, block)", {"M": "128", "N": "64", "block": "32"}),
        ("def run(M, N):\n    copy(M, N, 16)\nrun(256, N=32)", {"M": "256", "N": "32", "block": "16"}),
        ("config = {'block': 16, 'dtype': 'float32'}\ncopy(256, 32, **config)", {"M": "256", "block": "16", "dtype": "'float32'"}),
        ("config = dict(block=8)\ncopy(256, 32, config['block'])", {"M": "256", "block": "8"}),
        ("for M, N in [(64, 32), (128, 64)]:\n    copy(M, N, 16)", {"M": "64", "N": "32", "block": "16"}),
        ("x = torch.randn(4, 96, 32).cuda().half()\n_, M, N = x.shape\ncopy(M, x.size(2), 16)", {"M": "96", "N": "32"}),
        ("def run(x):\n    copy(x.shape[0], x.shape[1], 16)\nrun(torch.zeros((80, 48)))", {"M": "80", "N": "48"}),
        ("kernel = tilelang.compile(copy(64, 32, 16, scale=1 / math.sqrt(64)))", {"M": "64", "scale": "0.125"}),
        ("copy(64, read_rows(), 16)\ncopy(128, 32, 8)", {"M": "128", "N": "32", "block": "8"}),
    ],
)  # fmt: skip
def test_values_of_the_first_call_with_all_values(calling: str, expected: dict[str, str]) -> None:
    assert needs(FACTORY + calling + "\n").items() >= expected.items()


def test_a_name_has_the_value_of_the_last_assignment_before_the_call() -> None:
    assert needs(FACTORY + "M = 64\ncopy(M, 32, 16)\nM = 128\n")["M"] == "64"
    assert needs(FACTORY + "def run():\n    copy(M, 32, 16)\nM = 64\nM = 128\nrun()\n")["M"] == "128"


def test_options_of_a_command_line_have_their_defaults() -> None:
    text = (
        FACTORY
        + """\
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", "-r", type=int, default=512)
    parser.add_argument("--row-block", type=int, default=32)
    parser.add_argument("--n", type=int, default=0)
    args = parser.parse_args()
    copy(args.rows, args.n, args.row_block)
"""
    )
    assert needs(text).items() >= {"M": "512", "N": "", "block": "32"}.items()


@pytest.mark.parametrize(
    "body",
    [
        "    return [{'block': b, 'dtype': d} for b, d in itertools.product([32, 64], ['float16'])]",
        "    choices = dict(block=[32, 64])\n    return [dict(zip(choices, v)) for v in itertools.product(*choices.values())]",
        "    found = []\n    for b in [32, 64]:\n        found.append({'block': b})\n    return found",
        "    blocks = [32, 64]\n    pairs = list(itertools.product(blocks, [0, 1]))\n    return [{'block': p[0]} for p in pairs]",
    ],
)
def test_the_first_configuration_of_a_tuner(body: str) -> None:
    tuned = FACTORY.replace("def copy", f"def configs():\n{body}\n\n\n@tilelang.autotune(configs=configs())\ndef copy")
    assert needs(tuned + "copy(64, 32)\n")["block"] == "32"


EAGER = """\
import torch
import tilelang
import tilelang.language as T


@tilelang.jit
def scale(A, B, block, factor=2.0):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float16)
    B: T.Tensor((M, N), T.float16)
    with T.Kernel(T.ceildiv(M, block)) as bx:
        local = T.alloc_fragment((block, N), T.float16)
        T.copy(A[bx * block, 0], local)
        for i, j in T.Parallel(block, N):
            local[i, j] = local[i, j] * factor
        T.copy(local, B[bx * block, 0])


def main():
    rows = 96
    a = torch.randn(rows, 64).cuda().half()
    b = torch.empty_like(a)
    scale(a, b, 32)
"""


def test_the_sizes_of_an_eager_kernel_follow_from_its_tensors() -> None:
    program = programs_in(EAGER, "kernel.py").programs[0]
    assert needs(EAGER) == {"block": "32", "factor": "2.0", "M": "96", "N": "64"}
    found, _ = read_nested_program(program, "kernel.py", {}, None)
    assert found.notes[-1].text == "scale is read with block=32, factor=2.0, M=96, N=64"
    other = EAGER.replace('T.const("M, N")', 'T.const("M, N")\n    rows, columns = M, N').replace(
        "T.Tensor((M, N)", "T.Tensor((rows, columns)"
    )
    assert needs(other) == needs(EAGER)


def test_the_sizes_of_a_method_of_autograd_follow_from_its_tensors() -> None:
    text = (
        FACTORY
        + """\
class _Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, block):
        M, N = x.shape
        return copy(M, N, block)(x)


run = _Copy.apply
x = torch.randn(48, 16)
run(x, 8)
"""
    )
    assert needs(text).items() >= {"M": "48", "N": "16", "block": "8"}.items()


def test_names_that_go_in_a_circle_end() -> None:
    assert needs(FACTORY + "def a(M):\n    b(M)\n\ndef b(M):\n    a(M)\n    copy(M, 32, 16)\n")["M"] == ""


def test_what_no_call_gives_is_asked_for() -> None:
    program = programs_in(FACTORY + "copy(read(), 32, 16)\n", "kernel.py").programs[0]
    with pytest.raises(MissingValuesError, match=r"main needs values for M \(size\)"):
        read_nested_program(program, "kernel.py", {}, None)


TEST = """
def test_copy(m):
    @T.prim_func
    def copy(A: T.Buffer((m,), "float32"), B: T.Buffer((m,), "float32")):
        for i in range(m):
            with T.block("B"):
                vi = T.axis.spatial(m, i)
                B[vi] = A[vi]
"""
IMPORTS = "import pytest\nimport tvm.testing\nfrom tvm.script import tir as T\n"
PARAMETERS = {
    "a fixture": ("@pytest.fixture(params=[16, 32])\ndef m(request):\n    return request.param\n", "16"),
    "a fixture of a constant": (
        "N = 24\n@pytest.fixture(params=(N, 32), ids=['a', 'b'])\ndef m(request):\n    return request.param\n",
        "24",
    ),
    "a parameter of TVM": ("m = tvm.testing.parameter(24, 48)\n", "24"),
    "a fixture that computes": (
        "@pytest.fixture(params=[16, 32])\ndef m(request):\n    return request.param * 2\n",
        "",
    ),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_test_takes_the_first_values_of_its_fixtures(name: str) -> None:
    made, value = PARAMETERS[name]
    assert needs(IMPORTS + made + TEST) == {"m": value}


def test_names_of_parameters_may_be_a_tuple() -> None:
    mark = "\n@pytest.mark.parametrize(('n', 'm'), ((4, 16), (8, 32)))"
    assert needs(IMPORTS + mark + TEST.replace("(m):", "(n, m):", 1))["m"] == "16"
