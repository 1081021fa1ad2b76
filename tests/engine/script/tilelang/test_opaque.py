"""What is read without a meaning declares what it reads and writes, and is not run."""

from __future__ import annotations

import pytest
from support.tile_kernels import kernel

from tilewright.engine.adopt import MissingValuesError
from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import Block, TilewrightError, walk


def test_number_of_multiprocessors_is_asked_for() -> None:
    with pytest.raises(MissingValuesError) as caught:
        kernel("opaque", "sparse")
    assert [need.name for need in caught.value.needs] == ["num_sms"]
    assert "--size num_sms=132" in caught.value.refusal.fix


def test_operation_declares_its_regions() -> None:
    program = kernel("opaque", "sparse", num_sms=2)
    block = next(node for node in walk(program) if isinstance(node, Block) and node.name == "gemm_sp")
    assert [region.buffer.name for region in block.reads] == ["a", "e", "b", "c"]
    assert [region.buffer.name for region in block.writes] == ["c"]


@pytest.mark.parametrize(("function", "given"), [("sparse", {"num_sms": 2}), ("retyped", {}), ("rounded", {})])
def test_program_without_a_meaning_is_not_run(function: str, given: dict[str, int]) -> None:
    program = kernel("opaque", function, **given)
    with pytest.raises(TilewrightError) as caught:
        run(program, random_inputs(program))
    assert caught.value.refusal.code in ("opaque-part", "unsupported")
