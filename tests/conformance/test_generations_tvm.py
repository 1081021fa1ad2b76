"""The export's tables of TVM's methods, against the installed TVM; every primitive with its entry."""

from __future__ import annotations

import inspect

import pytest

from tilewright.engine.export.generations import METHODS, NEWEST
from tilewright.engine.export.tvm import EQUIVALENTS
from tilewright.engine.schedule import PRIMITIVES

tvm = pytest.importorskip("tvm")
pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.last is None])
def test_parameters_and_results_are_those_of_the_installed_tvm(name: str) -> None:
    signature = inspect.signature(getattr(tvm.s_tir.Schedule, name))
    method = METHODS[name]
    assert tuple(signature.parameters)[1:] == method.parameters
    given = str(signature.return_annotation)
    gives = "nothing" if "None" in given else "list" if given.startswith("list") else "one"
    assert gives == method.gives


def test_removed_methods_are_missing() -> None:
    for name, method in METHODS.items():
        assert method.is_in(NEWEST) == hasattr(tvm.s_tir.Schedule, name)


def test_every_primitive_of_tvm_is_in_the_table() -> None:
    theirs = {name for name in PRIMITIVES if hasattr(tvm.s_tir.Schedule, name)}
    assert theirs <= METHODS.keys()
    assert not EQUIVALENTS.keys() & METHODS.keys()
