"""Whole texts that are scripts: options of a command line, named tuples, and what a text does besides its program."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import IntImm, PrimFunc
from tilewright.engine.script import ParseError
from tilewright.engine.te import TEProgram, read_te

ADD = """\
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
"""
PARSER = """\
parser = argparse.ArgumentParser(description="tunes")
parser.add_argument("--n", "-n", type=int, default="64", help="the size")
parser.add_argument("--fast", action="store_true")
group = parser.add_argument_group("target")
group.add_argument("--target", dest="arch", choices=["llvm", "cuda"])
args = parser.parse_args()
"""


def opened(text: str, **given: int | str) -> TEProgram:
    return read_te(f"import argparse, collections, sys\nimport tvm\nfrom tvm import te\n{text}", sizes=given)


def extent(found: TEProgram) -> int:
    assert isinstance(found.program, PrimFunc)
    (size,) = found.program.buffers[0].shape
    assert isinstance(size, IntImm)
    return size.value


def test_options_have_their_defaults_with_a_note() -> None:
    found = opened(f"{PARSER}n = args.n // 2 if args.arch is None and not args.fast else 1\n{ADD}")
    assert extent(found) == 32
    assert "the options of the command line are read as n=64, fast=False" in [note.text for note in found.notes]


@pytest.mark.parametrize("name", ["n", "args.n"])
def test_option_can_be_given(name: str) -> None:
    assert extent(opened(f"{PARSER}n = args.n\n{ADD}", **{name: 16})) == 16


@pytest.mark.parametrize("option", ['"n", type=int', '"--n", type=int, required=True', '"--n", default=np.zeros(4)'])
def test_option_without_a_default_is_not_certain(option: str) -> None:
    text = f"parser = argparse.ArgumentParser()\nparser.add_argument({option})\nargs, _ = parser.parse_known_args()\n"
    with pytest.raises(ParseError, match="not known for certain") as caught:
        opened(f"{text}n = args.n\n{ADD}")
    assert getattr(caught.value, "name", "") == "args.n"


def test_options_that_other_code_gets_are_not_certain() -> None:
    with pytest.raises(ParseError, match="not known for certain"):
        opened(f"{PARSER}prepare(args)\nn = args.n\n{ADD}")


def test_text_without_arguments_has_its_own_name_only() -> None:
    text = f"n = int(sys.argv[1]) if len(sys.argv) > 1 else 8\n{ADD}"
    assert extent(opened(text)) == 8
    assert extent(opened(text, **{"sys.argv[1]": 24})) == 24


@pytest.mark.parametrize("fields", ['["n", "m"]', '"n m"', '"n, m"'])
def test_named_tuple_is_read(fields: str) -> None:
    text = (
        f"Size = collections.namedtuple('Size', {fields})\nsize = Size(4, m=8)\nk, m = size\nn = size.n * m + size[1]\n"
    )
    assert extent(opened(text + ADD)) == 40


def test_named_tuple_with_other_fields_is_refused() -> None:
    with pytest.raises(ParseError, match="Size has the fields n, m"):
        opened(f"Size = collections.namedtuple('Size', 'n m')\nn = Size(4).n\n{ADD}")


def test_first_candidate_of_a_tuner_task_is_the_program() -> None:
    function = "def add(n):\n    " + ADD.replace("\n", "\n    ") + "return s, [A, B]\n"
    assert extent(opened(f"{function}task = tvm.autotvm.task.create(add, args=(12,), target='llvm')\n")) == 12


@pytest.mark.parametrize("line", ["print(B.op.body)", "assert B.op.attrs is not None", "print(B.op.__hash__() == 4)"])
def test_part_of_an_operation_that_is_printed_is_not_needed(line: str) -> None:
    assert extent(opened(f"n = 4\n{ADD}{line}\n")) == 4


def test_part_of_an_operation_that_decides_a_schedule_is_refused() -> None:
    with pytest.raises(ParseError):
        opened(f"n = 4\n{ADD}if B.op.attrs:\n    s[B].parallel(B.op.axis[0])\n")


@pytest.mark.parametrize(
    "condition", ['A.op.tag == ""', 'B.op.tag == "mine"', "isinstance(A.op, te.PlaceholderOp)", "isinstance(B.op, te.ComputeOp)"]
)  # fmt: skip
def test_kind_of_an_operation_is_known(condition: str) -> None:
    text = ADD.replace('name="B"', 'name="B", tag="mine"')
    found = opened(f"n = 4\n{text}if {condition}:\n    s[B].parallel(B.op.axis[0])\n")
    assert found.schedule.trace.steps[-1].method == "parallel"
