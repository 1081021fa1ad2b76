"""Text in and out, with real TVM as the judge: what we print it reads as the same program, and what it prints we read as the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from support.programs import programs
from support.sources import CLASSIC, CURRENT
from support.tvm_text import tvm_read

from tilewright.engine.ir import IRModule, PrimFunc, first_difference
from tilewright.engine.script import parse, to_script

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm


def ours(text: str) -> IRModule | PrimFunc:
    return parse(text).program


def assert_tvm_reads_it_the_same(text: str) -> None:
    """TVM(our print(our parse(text))) = TVM(text), and our parse(TVM's print) = our parse(text)."""
    theirs = tvm_read(text)
    mine = ours(text)
    printed = to_script(mine)
    tvm.ir.assert_structural_equal(tvm.script.from_source(printed), theirs)
    difference = first_difference(ours(theirs.script()), mine)
    assert difference is None, f"{difference}\n{theirs.script()}\n{printed}"


@pytest.mark.parametrize("name", CURRENT)
def test_given_a_sample_then_tvm_reads_our_print_as_the_same_program(name: str) -> None:
    assert_tvm_reads_it_the_same(CURRENT[name])


@pytest.mark.parametrize("name", CLASSIC)
def test_given_a_classic_sample_then_tvm_reads_its_current_print(name: str) -> None:
    """TVM reads the classic dialect no more; its reading of our translation is read back by us as the same program."""
    mine = ours(CLASSIC[name])
    theirs = tvm.script.from_source(to_script(mine))
    difference = first_difference(ours(theirs.script()), mine)
    assert difference is None, difference


@given(program=programs())
@settings(max_examples=25)
def test_law_a_printed_program_means_the_same_to_tvm(program: PrimFunc) -> None:
    assert_tvm_reads_it_the_same(to_script(program))
