"""Each schedule method has TVM's parameters: the same names, in the same order, with the same defaults."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tilewright.engine.schedule import PRIMITIVES, Schedule

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm

QUERIES = {
    "get_sblock", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks", "work_on", "copy",
    "can_decompose_padding", "seed", "fork_seed", "sample_categorical", "sample_perfect_tile", "sample_partitioned_tile",
    "sample_compute_location", "enter_postproc",
}  # fmt: skip
OURS_ALONE = {"double_buffer", "pipeline", "tile", "set_layout", "set_axis_separator"}
"""Primitives that TVM does not have (docs/differences.md)."""

ADDED = {
    "split": {"names": None},
    "loop_partition": {"names": None},
    "fuse": {"name": None},
    "compute_at": {"keep_tiling": False},
    "reverse_compute_at": {"keep_tiling": False},
}
"""Keyword-only parameters of Tilewright, with their defaults: TVM's calls do not use them."""

DEFAULTS = {"get_output_blocks": {"scope_block": "root"}}
"""Parameters that are optional here and required in TVM."""


def parameters(method: Any) -> list[tuple[str, Any, Any]]:
    """(name, kind, default) of each but self."""
    return [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()][1:]


@pytest.mark.parametrize("name", sorted({*PRIMITIVES, *QUERIES} - OURS_ALONE))
def test_the_signature_is_that_of_tvm(name: str) -> None:
    theirs = parameters(getattr(tvm.s_tir.Schedule, name))
    ours = parameters(getattr(Schedule, name))
    for added, default in ADDED.get(name, {}).items():
        ours.remove((added, inspect.Parameter.KEYWORD_ONLY, default))
    allowed = DEFAULTS.get(name, {})
    theirs = [(n, kind, allowed.get(n, default)) for n, kind, default in theirs]
    assert ours == theirs


def test_the_exceptions_are_real() -> None:
    for name in OURS_ALONE:
        assert name in PRIMITIVES and not hasattr(tvm.s_tir.Schedule, name)
    assert Schedule.get_block is Schedule.get_sblock, "TVM's name before 0.24 stays"


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_help_has_what_a_primitive_does_and_returns(name: str) -> None:
    text = inspect.getdoc(getattr(Schedule, name)) or ""
    for part in ("Rewrite", "Returns", "Source"):
        assert part in text, f"{name} has no {part}"
