"""Minimised traces from a fuzzer: each once ended in a Python error and is now refused with its instruction."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.programs.sources import MATMUL

from tilewright import TilewrightError, from_tvm_trace
from tilewright.engine.adopt import call_of, make_call
from tilewright.engine.adopt.instructions import MAX_INSTRUCTIONS
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

BLOCK = ["GetSBlock", [], ["C", "main"], ["b0"]]
LOOPS = ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]]


def refusal_of(*instructions: Any, decisions: Any = ()) -> Any:
    with pytest.raises(TilewrightError) as caught:
        from_tvm_trace(json.dumps([list(instructions), list(decisions)]), MATMUL)
    assert caught.value.refusal.message
    return caught.value.refusal


@pytest.mark.parametrize(
    ("instructions", "decisions", "code"),
    [
        ([], [4], "not-a-trace"),
        ([], [[1, 2, 3]], "not-a-trace"),
        ([], [[{}, 2]], "not-a-trace"),
        ([["Bind", ['"'], ["x"], []]], [], "not-a-trace"),
        ([["ReIndex", ["b0"], [0, {"a": 0}], ["b7"]]], [], "not-a-trace"),
        ([["ReIndex", ["b0"], [0, 64], ["b7"]]], [], "not-a-trace"),
        ([["ReIndex", ["b0"], ["b0", "l1"], ["b7"]]], [], "not-a-trace"),
        ([["SampleCategorical", [], [3, [1]], ["v"]]], [[0, 0]], "bad-arguments"),
        ([["SampleCategorical", [], [], ["v"]]], [[0, 0]], "unsupported-instruction"),
        ([["SamplePerfectTile", [3], [], ["v"]]], [[0, 7]], "unsupported-instruction"),
        ([["SampleComputeLocation", [3], [], ["v"]]], [[0, 0]], "bad-arguments"),
        ([["GetSBlock", [], [32, "main"], ["b0"]]], [], "bad-arguments"),
        ([["GetLoops", [["b0"]], [], ["l1"]]], [], "unknown-name"),
        ([BLOCK, ["GetLoops", [[]], [], ["l1"]]], [], "bad-arguments"),
        ([BLOCK, LOOPS, ["CacheRead", ["b0", "l1"], [0, "shared"], ["b9"]]], [], "bad-arguments"),
        ([BLOCK, LOOPS, ["ComputeAt", ["b0", "l1"], [0, "x"], []]], [], "bad-arguments"),
        ([BLOCK, LOOPS, ["Bind", ["l1"], [["blockIdx.x"]], []]], [], "bad-arguments"),
        ([BLOCK, ["Annotate", ["b0", 10**30], ["k"], []]], [], "bad-arguments"),
        ([["SampleComputeLocation", ["b0"], [], ["v"]]], [[0, 0]], "unknown-name"),
    ],
)
def test_malformed_trace_is_refused_with_its_instruction(
    instructions: list[Any], decisions: list[Any], code: str
) -> None:
    refusal = refusal_of(*instructions, decisions=decisions)
    assert refusal.code == code
    assert not instructions or f"instruction {len(instructions) - 1}" in refusal.message


def test_deep_or_very_long_trace_is_refused() -> None:
    with pytest.raises(TilewrightError, match="not-a-trace"):
        from_tvm_trace("[" * 400 + "]" * 400, MATMUL)
    with pytest.raises(TilewrightError, match="not a TVM trace"):
        from_tvm_trace("[" * 100_000, MATMUL)
    refusal = refusal_of(*[["EnterPostproc", [], [], []]] * (MAX_INSTRUCTIONS + 1))
    assert refusal.code == "too-many-steps" and "2001" in refusal.found


@pytest.mark.parametrize(
    ("method", "arguments", "expected"),
    [
        ("split", {"loop": "i", "factors": 3}, "a list, each item an integer of 64 bits or an expression or None"),
        ("split", {"loop": "i", "factors": [None, "x"]}, "a list"),
        ("split", {"loop": ["i"], "factors": [None, 4]}, "a loop"),
        ("annotate", {"block_or_loop": "C", "ann_key": "k", "ann_val": {"a": [1, None]}}, "a dict with string keys"),
        ("storage_align", {"block": "C", "buffer_index": 0, "axis": "x", "factor": 32, "offset": 8}, "an integer"),
        ("transform_layout", {"block": "C", "buffer": ("write", 0), "index_map": "i"}, "lambda i, j: [j, i]"),
        ("set_scope", {"block": "C", "buffer_index": 0, "storage_scope": None}, "a name or a string"),
    ],
)
def test_refused_argument_names_accepted_types(method: str, arguments: dict[str, Any], expected: str) -> None:
    schedule = Schedule(parse(MATMUL).program)
    with pytest.raises(TilewrightError) as caught:
        make_call(schedule, call_of(method, (), arguments))
    refusal = caught.value.refusal
    assert refusal.code == "bad-arguments" and expected in refusal.expected and refusal.found
    assert not schedule.trace.steps


def test_missing_check_in_a_primitive_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a missing check")

    schedule = Schedule(parse(MATMUL).program)
    monkeypatch.setattr(schedule, "unroll", fail, raising=False)
    with pytest.raises(TilewrightError, match="a missing check") as caught:
        make_call(schedule, call_of("unroll", ("i",), {}))
    assert caught.value.code == "internal-error" and isinstance(caught.value.__cause__, KeyError)
